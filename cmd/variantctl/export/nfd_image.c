/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl export nfd --compatibility: what the variants of an image need, as an image
 * compatibility specification of node-feature-discovery (v1alpha1). Its rules ask for the features
 * that `export nfd` writes on a node. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/export/export_verbs.h"
#include "cmd/variantctl/place/place.h"
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"

#include <string.h>

#define ARTIFACT_TYPE "application/vnd.nfd.image-compatibility.v1alpha1"
#define LAYER_TYPE "application/vnd.nfd.image-compatibility.spec.v1alpha1+yaml"
#define SPEC_MAX (4u * 1024 * 1024)
#define HEAD "version: v1alpha1\ncompatibilities:\n"

static bool same_feature(struct ocv_property a, struct ocv_property b)
{
    return !strcmp(a.ns, b.ns) && !strcmp(a.feature, b.feature);
}

/* All features have to match. */
static int put_variant(const struct ocv_index *index, const struct ocv_entry *entry,
                       struct ocv_buffer *out, struct ocv_error *err)
{
    bool any = false;
    OCV_TRY(ocv_buffer_printf(out, err, "- tag: \"%s\"\n  rules:", entry->label));
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(index, entry->properties[i]);
        bool done = false; /* a static one, or one that was put before */
        for (size_t k = 0; k < index->n_statics && !done; k++)
            done = !strcmp(index->statics[k].name, p.ns);
        for (size_t k = 0; k < i && !done; k++)
            done = same_feature(p, ocv_index_property(index, entry->properties[k]));
        if (done)
            continue;
        if (!any)
            OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
        any = true;
        /* Any value of the feature will do. */
        OCV_TRY(ocv_buffer_printf(out, err, "  - name: \"%s :: %s\"\n    matchAny:\n", p.ns,
                                  p.feature));
        for (size_t k = i; k < entry->n_properties; k++) {
            struct ocv_property q = ocv_index_property(index, entry->properties[k]);
            if (same_feature(p, q))
                OCV_TRY(ocv_buffer_printf(out, err,
                                          "    - matchFeatures:\n"
                                          "      - feature: local.feature\n"
                                          "        matchExpressions:\n"
                                          "          \"" NFD_PREFIX "%s.%s.%s\": {op: IsTrue}\n",
                                          q.ns, q.feature, q.value));
        }
    }
    return any ? OCV_OK : ocv_buffer_printf(out, err, " []\n");
}

static bool is_variant(const struct ocv_entry *entry)
{
    return entry->kind == OCV_ENTRY_VARIANT && entry->code == OCV_REJECT_NONE;
}

static int attach_to(struct place *place, const struct ocv_index *index,
                     const struct ocv_entry *entry, struct ocv_error *err)
{
    ocv_auto_buffer spec;
    struct ocv_descriptor subject;
    char digest[OCV_DIGEST_MAX];
    ocv_buffer_init(&spec, SPEC_MAX);
    OCV_TRY(child_descriptor(entry, &subject, err));
    OCV_TRY(ocv_buffer_printf(&spec, err, HEAD));
    OCV_TRY(put_variant(index, entry, &spec, err));
    OCV_TRY(attach_layer(place, &subject, ARTIFACT_TYPE, LAYER_TYPE, &spec, digest, err));
    char line[512];
    int n =
        snprintf(line, sizeof(line), "%s  %s  attached %s\n", entry->label, entry->digest, digest);
    return cli_print(line, (size_t)n, err);
}

int export_nfd_image(struct cli *cli, const char *text, bool attach, struct ocv_buffer *out,
                     struct ocv_error *err)
{
    ocv_auto_image image = {0};
    OCV_TRY(image_open(cli, text, &image, err));
    size_t n = 0;
    for (size_t i = 0; i < ocv_index_count(image.index); i++)
        n += is_variant(ocv_index_entry(image.index, i));
    if (!n)
        return ocv_error_set(err, OCV_ERR_DATA, "%s has no variants: there is nothing to write",
                             text);
    if (!attach) {
        OCV_TRY(ocv_buffer_printf(out, err, HEAD));
        for (size_t i = 0; i < ocv_index_count(image.index); i++)
            if (is_variant(ocv_index_entry(image.index, i)))
                OCV_TRY(put_variant(image.index, ocv_index_entry(image.index, i), out, err));
        return OCV_OK;
    }
    /* Each manifest gets its own, as a referrer. */
    struct place place = {.cli = cli,
                          .reference = image.reference,
                          .name = image.reference ? image.reference->name
                                                  : (char *)(uintptr_t)image.text};
    int status = OCV_OK;
    if (image.layout) {
        place.dir = (char *)(uintptr_t)ocv_layout_path(image.layout);
        status = place_prepare(&place, err);
    }
    for (size_t i = 0; i < ocv_index_count(image.index) && status >= 0; i++)
        if (is_variant(ocv_index_entry(image.index, i)))
            status = attach_to(&place, image.index, ocv_index_entry(image.index, i), err);
    ocv_layout_free(place.layout);
    return status < 0 ? ocv_error_prefix(err, "--attach: %s", image.text) : OCV_OK;
}
