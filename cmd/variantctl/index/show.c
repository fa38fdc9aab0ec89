/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index show: lists an index without choosing. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/core/resolve/resolve_internal.h"

#include <jansson.h>
#include <string.h>

#define OUTPUT_MAX (64u * 1024 * 1024)

struct show_options {
    const char *file;
    bool json;
};

static const struct ocv_option options[] = {
    CLI_INDEX(struct show_options, file),
    CLI_FORMAT(struct show_options, json, "json: the bytes as they are"), OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl index show [OPTIONS] IMAGE | oci:DIR[:TAG] | --index FILE\n"
             "\n"
             "List the entries of an index: label, platform, digest and properties.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .arguments = {"one IMAGE, oci:DIR[:TAG] or --index FILE", 1, 1,
                  CLI_INSTEAD(struct show_options, file), NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl index show registry.example/app:1.0\n"
           "  variantctl index show --json oci:images:app\n"
           "  variantctl index show --index index.json\n"};

static int format_index(const struct image *image, struct ocv_buffer *out, struct ocv_error *err)
{
    const char *const *names;
    bool declared;
    size_t n = ocv_index_namespaces(image->index, &names, &declared);
    OCV_TRY(ocv_buffer_printf(out, err, "%s  %s\nNamespaces%s: ",
                              image->kind == OCV_DOCUMENT_INDEX ? "Index" : "Manifest",
                              image->top.digest, declared ? "" : " (by the default rule)"));
    for (size_t i = 0; i < n; i++)
        OCV_TRY(ocv_buffer_printf(out, err, "%s%s", i ? ", " : "", names[i]));
    OCV_TRY(ocv_buffer_printf(out, err, "%s\n", n ? "" : "none"));
    /* The index's annotations, except the namespaces. */
    const char *key;
    json_t *value;
    ocv_auto_json *root =
        ocv_json_load_any(image->body.data, image->body.len, OCV_JSON_VALUES_MAX, 0, NULL);
    json_object_foreach(json_object_get(root, "annotations"), key, value)
    {
        char name[256], text[1024];
        if (json_is_string(value) && strcmp(key, OCV_ANNOTATION_SCHEMA) != 0 &&
            strcmp(key, OCV_ANNOTATION_NAMESPACES) != 0)
            OCV_TRY(ocv_buffer_printf(out, err, "%s: %s\n", cli_text(key, name, sizeof(name)),
                                      cli_text(json_string_value(value), text, sizeof(text))));
    }
    OCV_TRY(ocv_buffer_printf(out, err, "\n"));
    for (size_t i = 0; i < ocv_index_count(image->index); i++) {
        const struct ocv_entry *e = ocv_index_entry(image->index, i);
        char name[80], platform[128];
        /* what its name does not say; NULL: nothing */
        const char *kind = e->code != OCV_REJECT_NONE
                               ? (e->detail ? e->detail : ocv_reject_name(e->code))
                           : !ocv_index_has_variants(image->index) ? "an image without variants"
                           : ocv_entry_is_unfinished(e)            ? "no annotations"
                                                                   : NULL;
        OCV_TRY(ocv_buffer_printf(
            out, err, "%4zu  %-20s  %-24s  %s%s%s\n", i,
            explain_name(image->index, e, name, sizeof(name)),
            e->has_platform ? ocv_platform_format(&e->platform, platform, sizeof(platform)) : "-",
            e->digest, kind ? "  " : "", kind ? kind : ""));
        for (size_t k = 0; k < e->n_properties; k++) {
            struct ocv_property p = ocv_index_property(image->index, e->properties[k]);
            OCV_TRY(
                ocv_buffer_printf(out, err, "        %s :: %s :: %s\n", p.ns, p.feature, p.value));
        }
    }
    return OCV_OK;
}

int cmd_index_show(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct show_options r = {0};
    ocv_auto_image image = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OUTPUT_MAX);
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    OCV_TRY(cli_load(cli, err));
    OCV_TRY(image_open_either(cli, r.file, *cli->arguments, &image, false, err));
    if (r.json)
        return cli_print(image.body.data, image.body.len, err);
    OCV_TRY(format_index(&image, &text, err));
    OCV_TRY(cli_print(text.data, text.len, err));
    const char *const *warnings;
    size_t n = ocv_index_warnings(image.index, &warnings);
    for (size_t i = 0; i < n; i++)
        cli_warn(cli, "%s", warnings[i]);
    return OCV_OK;
}
