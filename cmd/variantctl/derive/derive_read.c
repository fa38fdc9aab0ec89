/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/derive/derive_verb.h"

#include "lib/base/cleanup.h"
#include "lib/internal/content/image_config.h"

#include <stdlib.h>

int derive_read_path(struct cli *cli, const char *path, struct ocv_content_report *out,
                     struct ocv_error *err)
{
    struct scanner scanner;
    ocv_auto_buffer answer;
    ocv_buffer_init(&answer, OCV_CONTENT_REPORT_MAX);
    const struct scanner_job job = {.arguments = {path}, .in = -1, .out = -1, .size = -1};
    int status = scanner_start(cli, &job, &scanner, err);
    if (status >= 0)
        status = scanner_finish(&scanner, &answer, NULL, err);
    scanner_drop(&scanner);
    return status < 0 ? status : ocv_content_report_read(answer.data, answer.len, out, err);
}

int derive_read_content(struct cli *cli, const struct image *image,
                        const struct manifest_doc *child, const struct ocv_buffer *config,
                        const struct ocv_properties *given, struct ocv_content *out,
                        struct ocv_error *err)
{
    struct ocv_image_version version;
    size_t n = given ? ocv_properties_count(given) : 0;
    ocv_auto_free struct ocv_property *list = calloc(n + 1, sizeof(*list));
    struct ocv_content_told told = {.n_given = n, .given = list};
    if (!list)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++)
        list[i] = ocv_properties_get(given, i);
    OCV_TRY(layers_read(cli, image, child->manifest, &out->report, err));
    if (config) {
        /* One that cannot be read states nothing here; the command that lists the image reports
         * it. */
        ocv_auto(ocv_image_config) parsed = NULL;
        int status =
            ocv_image_config_parse(config->data ? config->data : "", config->len, &parsed, err);
        if (status == OCV_ERR_NOMEM)
            return status;
        if (parsed && ocv_image_config_version_of(parsed, "cuda", &version))
            told.cuda = version.version;
    }
    return ocv_content_derive(&out->report, &told, &out->derived, err);
}
