/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --to oci:DIR[:TAG]: an OCI layout, blobs shared between its images. */
#include "cmd/vpull/engines/engine.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

static int pull_oci(struct pull *pull, const char *argument, char *where, size_t size,
                    struct ocv_error *err)
{
    ocv_auto_free char *dir = NULL, *tag = NULL, *text = NULL;
    ocv_auto(ocv_layout) layout = NULL;
    if (asprintf(&text, "oci:%s", argument) < 0)
        return ocv_error_nomem(err);
    if (!image_split_layout(text, &dir, &tag) || !dir)
        return ocv_error_set(err, OCV_ERR_INVALID, "--to oci:%s: give oci:DIR[:TAG]", argument);
    if (tag && !ocv_reference_tag_valid(tag))
        return ocv_error_set(err, OCV_ERR_INVALID, "--to oci:%s: '%s' is not a tag", argument, tag);
    OCV_TRY(ocv_layout_open(
        dir, OCV_LAYOUT_CREATE | (pull->options->verify ? OCV_LAYOUT_VERIFY : 0), &layout, err));
    OCV_TRY(pull_to_layout(pull, layout, err));
    /* the given tag, else the tag asked for, else the variant's label */
    const char *colon = pull->name ? strrchr(pull->name, ':') : NULL;
    const char *name = tag                      ? tag
                       : colon                  ? colon + 1
                       : pull->image.layout_tag ? pull->image.layout_tag
                       : pull->entry->label     ? pull->entry->label
                                                : "latest";
    OCV_TRY(ocv_layout_tag(layout, name, pull->name, &pull->child.descriptor,
                           pull->entry->has_platform ? &pull->entry->platform : NULL, err));
    snprintf(where, size, "into oci:%s:%s", dir, name);
    return OCV_OK;
}

const struct destination destination_oci = {"oci", "DIR[:TAG]", NULL, pull_oci};
