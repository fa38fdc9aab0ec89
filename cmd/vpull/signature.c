/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose signature the image has: as `trust` asks, and as the lock says. */
#include "cmd/common/image/image.h"
#include "cmd/vpull/vpull.h"
#include "lib/base/cleanup.h"
#include "lib/internal/records/records.h"

#include <string.h>

int pull_check_signature(struct pull *pull, struct ocv_error *err)
{
    /* What is locked of the image that is pulled, if it has a signature. */
    const struct lock_choice *locked = pull->options->choice;
    const struct lock_image *image = pull->options->locked;
    for (size_t i = 0; image && !locked && i < image->n_choices; i++)
        if (!strcmp(image->choices[i].digest, pull->entry->digest) && image->choices[i].signature)
            locked = &image->choices[i];
    if (locked && !locked->signature)
        locked = NULL;
    struct ocv_error warning = {0};
    const char *subject = locked ? locked->subject : image_subject(&pull->image, pull->entry);
    pull->subject = subject;
    OCV_TRY(image_verify(pull->cli, pull->image.reference, subject,
                         locked ? locked->signature : NULL, &pull->signature, &warning, err));
    if (warning.status)
        progress_warn(pull->progress, pull->cli->program, "%s", warning.message);
    if (locked && strcmp(pull->signature.key, locked->key) != 0) {
        ocv_error_set(err, OCV_ERR_UNTRUSTED, "%s is locked with a signature by the key %s",
                      pull->image.text, locked->key);
        ocv_error_hint(err, "name its file in `trust` of the configuration (docs/trust.md)");
        return OCV_ERR_UNTRUSTED;
    }
    /* Does the signed document name what is pulled? It does where the choice was made in it, which
     * --lock-profile does not, and a lock may say another. */
    const char *digest = pull->entry->digest, *own = image_subject(&pull->image, pull->entry);
    bool chosen_in = !pull->options->choice && !strcmp(subject, own);
    if (!*pull->signature.key || !strcmp(digest, subject) || chosen_in)
        return OCV_OK;
    struct ocv_descriptor found;
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    OCV_TRY(
        ocv_registry_get(pull->cli->registry, pull->image.reference, subject, &body, &found, err));
    OCV_TRY(ocv_index_parse(body.data, body.len, found.media_type, &index, err));
    for (size_t i = 0; i < ocv_index_count(index); i++)
        if (!strcmp(ocv_index_entry(index, i)->digest, digest))
            return OCV_OK;
    return ocv_error_set(err, OCV_ERR_UNTRUSTED, "%s is not in %s, which is signed",
                         pull->image.text, subject);
}
