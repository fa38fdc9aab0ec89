/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl derive: what an image, a directory or a file can run on, from its bytes. */
#include "cmd/variantctl/derive/derive_verb.h"

#include "cmd/variantctl/verbs.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct derive_options {
    bool json, attach;
    const char *page, *label;
};

static const struct ocv_option options[] = {
    CLI_FORMAT(struct derive_options, json, "what is printed (text)"),
    {.name = "report",
     .value = "FILE",
     .help = "write a page (HTML) as well",
     OCV_OPTION_TEXT(struct derive_options, page)},
    {.name = "attach",
     .help = "write the findings beside the image, as a referrer",
     OCV_OPTION_FLAG(struct derive_options, attach)},
    {.name = "label",
     .value = "LABEL",
     .help = "only this variant of an index",
     OCV_OPTION_TEXT(struct derive_options, label)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl derive [OPTIONS] IMAGE | oci:DIR[:TAG] | DIR | FILE\n"
             "\n"
             "Read the code in an image, a directory or a file, and say which machines it\n"
             "can run on: GPU targets with their bytes, libraries needed, and properties to\n"
             "publish it with. Of an index each variant is read. Layers are streamed and\n"
             "remembered by digest; nothing is unpacked. A FILE may be a wheel, a zip or a tar\n"
             "archive, and a DIR may have such in it.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .arguments = {"one image, directory or file", 1, 1, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl derive registry.example/app:1.0\n"
           "  variantctl derive --report app.html --label cuda12.8 oci:images:app\n"
           "  variantctl derive --attach registry.example/app:1.0\n"};

#define OUTPUT_MAX ((size_t)64 << 20)
#define CONFIG_MAX ((size_t)8 << 20)

struct derive {
    struct cli *cli;
    struct derive_options request;
    struct derive_result *results;
    size_t n;
};

static struct derive_result *new_result(struct derive *d, const char *name, const char *label)
{
    struct derive_result *list = reallocarray(d->results, d->n + 1, sizeof(*list));
    if (!list)
        return NULL;
    d->results = list;
    struct derive_result *result = &list[d->n];
    *result = (struct derive_result){0};
    char *text;
    if (asprintf(&text, "%s%s%s", name, label ? "  " : "", label ? label : "") < 0)
        return NULL;
    result->name = text;
    d->n++;
    return result;
}

static int derive_child(struct derive *d, const struct image *image,
                        const struct ocv_descriptor *descriptor, const char *label,
                        struct ocv_error *err)
{
    ocv_auto_child child = {0};
    ocv_auto_buffer config;
    ocv_buffer_init(&config, CONFIG_MAX);
    struct derive_result *result = new_result(d, image->text, label);
    if (!result)
        return ocv_error_nomem(err);
    OCV_TRY(derive_manifest(d->cli, image, descriptor, &child, err));
    OCV_TRY(derive_config(d->cli, image, &child, &config, err));
    OCV_TRY(derive_read_content(d->cli, image, &child, &config, NULL, &result->content, err));
    if (d->request.attach)
        OCV_TRY(
            derive_attach(d->cli, image, &child, &result->content.report, result->attached, err));
    result->config = config.data;
    result->config_len = config.len;
    ocv_buffer_init(&config, CONFIG_MAX); /* the result takes it over */
    return OCV_OK;
}

static int print_results(const struct derive *d, struct ocv_error *err)
{
    ocv_auto_buffer out, page;
    ocv_buffer_init(&out, OUTPUT_MAX);
    ocv_buffer_init(&page, OUTPUT_MAX);
    if (d->request.json) {
        json_t *list = json_array();
        for (size_t i = 0; i < d->n; i++)
            json_array_append_new(list, derive_format_json(&d->results[i]));
        OCV_TRY(format_document(
            json_pack("{s:s, s:o}", "schema", "dev.ocivariant.derive/v1", "images", list), &out,
            err));
    }
    for (size_t i = 0; i < d->n && !d->request.json; i++) {
        if (i)
            OCV_TRY(ocv_buffer_append(&out, "\n", 1, err));
        OCV_TRY(derive_format_text(&d->results[i], &out, err));
    }
    OCV_TRY(cli_print(out.data, out.len, err));
    if (!d->request.page)
        return OCV_OK;
    OCV_TRY(derive_format_page(d->results, d->n, &page, err));
    return ocv_file_write(d->request.page, page.data, page.len, err);
}

/* An existing path takes precedence over a short name; a path that does not exist is not an image.
 */
static int derive_argument(struct derive *d, const char *what, struct ocv_error *err)
{
    bool layout = strncmp(what, "oci:", 4) == 0;
    struct stat st;
    if (!layout && stat(what, &st) == 0) {
        if (d->request.attach)
            return ocv_error_set(err, OCV_ERR_INVALID,
                                 "derive: --attach is for images; %s is a path", what);
        struct derive_result *result = new_result(d, what, NULL);
        if (!result)
            return ocv_error_nomem(err);
        if (faccessat(AT_FDCWD, what, R_OK, AT_EACCESS) < 0 && errno == EACCES)
            return ocv_error_set(err, OCV_ERR_IO, "%s: %s", what, strerror(errno));
        int status = derive_read_path(d->cli, what, &result->content.report, err);
        if (status == OCV_ERR_DATA && S_ISREG(st.st_mode))
            ocv_error_prefix(err, "%s", what);
        OCV_TRY(status);
        return ocv_content_derive(&result->content.report, NULL, &result->content.derived, err);
    }
    if (!layout && image_is_path(what))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: %s", what, strerror(errno));
    ocv_auto_image image = {0};
    OCV_TRY(cli_load(d->cli, err));
    OCV_TRY(image_open(d->cli, what, &image, err));
    OCV_TRY(image_flatten(d->cli, &image, err));
    if (image.kind != OCV_DOCUMENT_INDEX)
        return derive_child(d, &image, &image.top, NULL, err);
    /* Every runnable entry, or the one with --label. */
    const char *wanted = d->request.label;
    size_t found = 0;
    for (size_t i = 0; i < ocv_index_count(image.index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(image.index, i);
        const char *label = entry->label;
        struct ocv_descriptor descriptor;
        if ((wanted && (!label || strcmp(label, wanted) != 0)) ||
            entry->code == OCV_REJECT_ATTESTATION || entry->code == OCV_REJECT_ARTIFACT ||
            entry->code == OCV_REJECT_NESTED || entry->code == OCV_REJECT_MEDIA_TYPE)
            continue;
        found++;
        OCV_TRY(child_descriptor(entry, &descriptor, err));
        OCV_TRY(derive_child(d, &image, &descriptor, label, err));
    }
    if (found)
        return OCV_OK;
    return wanted ? ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no variant '%s'", image.text, wanted)
                  : ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no image in it", image.text);
}

int cmd_derive(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct derive d = {.cli = cli};
    int code = cli_read(cli, &command, &d.request, argc, argv);
    if (code >= 0)
        return code;
    int status = derive_argument(&d, *cli->arguments, &err);
    if (status >= 0)
        status = print_results(&d, &err);
    for (size_t i = 0; i < d.n; i++) {
        ocv_content_free(&d.results[i].content);
        free((char *)(uintptr_t)d.results[i].config);
        free((char *)(uintptr_t)d.results[i].name);
    }
    free(d.results);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
