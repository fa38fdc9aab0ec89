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
    .end = "\n"
           "Examples:\n"
           "  variantctl index show registry.example/app:1.0\n"
           "  variantctl index show --json oci:images:app\n"
           "  variantctl index show --index index.json\n"};

static int format_properties(const struct image *image, const struct ocv_entry *entry,
                             struct ocv_buffer *out, struct ocv_error *err)
{
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(image->index, entry->properties[i]);
        OCV_TRY(ocv_buffer_printf(out, err, "        %s :: %s :: %s\n", p.ns, p.feature, p.value));
    }
    return OCV_OK;
}

/* What its name does not say; NULL: nothing. */
static const char *kind_of(const struct ocv_index *index, const struct ocv_entry *e)
{
    if (e->code != OCV_REJECT_NONE)
        return e->detail ? e->detail : ocv_reject_name(e->code);
    if (!ocv_index_has_variants(index))
        return "an image without variants";
    return ocv_entry_is_unfinished(e) ? "no annotations" : NULL;
}

static int format_entry(const struct image *image, size_t i, struct ocv_buffer *out,
                        struct ocv_error *err)
{
    const struct ocv_entry *e = ocv_index_entry(image->index, i);
    char name[80], platform[128];
    const char *kind = kind_of(image->index, e);
    OCV_TRY(ocv_buffer_printf(
        out, err, "%4zu  %-20s  %-24s  %s%s%s\n", i,
        explain_name(image->index, e, name, sizeof(name)),
        e->has_platform ? ocv_platform_format(&e->platform, platform, sizeof(platform)) : "-",
        e->digest, kind ? "  " : "", kind ? kind : ""));
    return format_properties(image, e, out, err);
}

/* The index's annotations, except the namespaces. */
static int format_annotations(const struct image *image, struct ocv_buffer *out,
                              struct ocv_error *err)
{
    char name[256], text[1024];
    const char *key;
    json_t *value;
    ocv_auto_json *root =
        ocv_json_load_any(image->body.data, image->body.len, OCV_JSON_VALUES_MAX, 0, NULL);
    int status = OCV_OK;
    json_object_foreach(json_object_get(root, "annotations"), key, value)
    {
        if (status == OCV_OK && json_is_string(value) && strcmp(key, OCV_ANNOTATION_SCHEMA) != 0 &&
            strcmp(key, OCV_ANNOTATION_NAMESPACES) != 0)
            status = ocv_buffer_printf(out, err, "%s: %s\n", cli_text(key, name, sizeof(name)),
                                       cli_text(json_string_value(value), text, sizeof(text)));
    }
    return status;
}

static int format_index(const struct image *image, struct ocv_buffer *out, struct ocv_error *err)
{
    const char *const *names;
    bool declared;
    size_t n = ocv_index_namespaces(image->index, &names, &declared);
    int status = ocv_buffer_printf(out, err, "%s  %s\nNamespaces%s: ",
                                   image->kind == OCV_DOCUMENT_INDEX ? "Index" : "Manifest",
                                   image->top.digest, declared ? "" : " (by the default rule)");
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = ocv_buffer_printf(out, err, "%s%s", i ? ", " : "", names[i]);
    if (status == OCV_OK)
        status = ocv_buffer_printf(out, err, "%s\n", n ? "" : "none");
    if (status == OCV_OK)
        status = format_annotations(image, out, err);
    if (status == OCV_OK)
        status = ocv_buffer_printf(out, err, "\n");
    for (size_t i = 0; i < ocv_index_count(image->index) && status == OCV_OK; i++)
        status = format_entry(image, i, out, err);
    return status;
}

static int show_index(struct cli *cli, const char *file, const char *name, bool json,
                      struct image *image, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OUTPUT_MAX);
    int status = cli_load(cli, err);
    if (status == OCV_OK)
        status = image_open_either(cli, file, name, image, false, err);
    if (status == OCV_OK && json)
        return cli_print(image->body.data, image->body.len, err);
    if (status == OCV_OK)
        status = format_index(image, &text, err);
    if (status == OCV_OK)
        status = cli_print(text.data, text.len, err);
    const char *const *warnings;
    size_t n = status == OCV_OK ? ocv_index_warnings(image->index, &warnings) : 0;
    for (size_t i = 0; i < n; i++)
        cli_warn(cli, "%s", warnings[i]);
    return status;
}

int cmd_index_show(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct show_options r = {0};
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    if ((r.file != NULL) + cli->n_arguments != 1) {
        ocv_error_set(&err, OCV_ERR_INVALID,
                      "index show: give one IMAGE, oci:DIR[:TAG] or --index");
        return cli_fail(cli, &err);
    }
    struct image image = {0};
    int status = show_index(cli, r.file, *cli->arguments, r.json, &image, &err);
    image_close(&image);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
