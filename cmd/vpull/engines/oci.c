/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --to oci:DIR[:TAG]: an OCI layout, blobs shared between its images. */
#include "cmd/vpull/engines/engine.h"

#include <stdlib.h>
#include <string.h>

/* The tag in the layout: the given one, else the tag asked for, else the variant's label. */
static const char *layout_tag(const struct pull *pull, const char *tag)
{
    const char *colon = pull->name ? strrchr(pull->name, ':') : NULL;
    if (tag)
        return tag;
    if (colon)
        return colon + 1;
    if (pull->image.layout_tag)
        return pull->image.layout_tag;
    return pull->entry->label ? pull->entry->label : "latest";
}

static int pull_oci(struct pull *pull, const char *argument, char *where, size_t size,
                    struct ocv_error *err)
{
    char *dir = NULL, *tag = NULL, *text = NULL;
    ocv_auto(ocv_layout) layout = NULL;
    if (asprintf(&text, "oci:%s", argument) < 0)
        return ocv_error_nomem(err);
    bool ok = image_split_layout(text, &dir, &tag);
    free(text);
    int status = OCV_OK;
    if (!ok || !dir)
        status = ocv_error_set(err, OCV_ERR_INVALID, "--to oci:%s: give oci:DIR[:TAG]", argument);
    else if (tag && !ocv_reference_tag_valid(tag))
        status =
            ocv_error_set(err, OCV_ERR_INVALID, "--to oci:%s: '%s' is not a tag", argument, tag);
    if (status == OCV_OK)
        status = ocv_layout_open(
            dir, OCV_LAYOUT_CREATE | (pull->options->verify ? OCV_LAYOUT_VERIFY : 0), &layout, err);
    if (status == OCV_OK)
        status = pull_to_layout(pull, layout, err);
    const char *name = layout_tag(pull, tag);
    if (status == OCV_OK)
        status = ocv_layout_tag(layout, name, pull->name, &pull->child.descriptor,
                                pull->entry->has_platform ? &pull->entry->platform : NULL, err);
    if (status == OCV_OK)
        snprintf(where, size, "into oci:%s:%s", dir, name);
    free(dir);
    free(tag);
    return status;
}

const struct destination destination_oci = {"oci", "DIR[:TAG]", NULL, pull_oci};
