/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/derive/derive_verb.h"

#include "cmd/variantctl/place/place.h"
#include "lib/base/cleanup.h"

int derive_attach(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                  struct ocv_content_report *report, char digest[OCV_DIGEST_MAX],
                  struct ocv_error *err)
{
    ocv_auto_buffer findings;
    ocv_buffer_init(&findings, OCV_CONTENT_REPORT_MAX);
    struct place place = {.cli = cli,
                          .reference = image->reference,
                          .name = image->reference ? image->reference->name
                                                   : (char *)(uintptr_t)image->text};
    int status = ocv_content_report_write(report, &findings, err);
    if (status >= 0 && image->layout) {
        place.dir = (char *)(uintptr_t)ocv_layout_path(image->layout);
        status = place_prepare(&place, err);
    }
    struct ocv_descriptor subject = child->descriptor;
    subject.size = (int64_t)child->body.len;
    if (status >= 0)
        status = attach_document(&place, &subject, OCV_CONTENT_MEDIA_TYPE, &findings, digest, err);
    ocv_layout_free(place.layout);
    return status < 0 ? ocv_error_prefix(err, "--attach: %s", image->text) : OCV_OK;
}
