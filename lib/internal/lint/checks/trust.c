/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Attestations and signatures (OCV601 to 607). */
#include "lib/internal/lint/lint_internal.h"

#include "lib/base/text.h"

#include <string.h>

#define REFERENCE_DIGEST "vnd.docker.reference.digest"

static bool is_attested(const struct ocv_lint *lint, const char *digest)
{
    for (size_t i = 0; i < ocv_index_count(lint->index); i++) {
        const char *subject =
            ocv_lint_attests(lint, i) ? ocv_lint_annotation(lint, i, REFERENCE_DIGEST) : NULL;
        if (subject && !strcmp(subject, digest))
            return true;
    }
    return false;
}

static bool is_signed(const struct ocv_lint_input *input, const char *digest)
{
    for (size_t i = 0; i < input->n_signatures; i++)
        if (!strcmp(input->signatures[i], digest))
            return true;
    return false;
}

void ocv_lint_check_trust(struct ocv_lint *lint)
{
    size_t n = ocv_index_count(lint->index), with = 0;
    for (size_t i = 0; i < n && lint->status == OCV_OK; i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        if (!ocv_lint_attests(lint, i))
            continue;
        if (!ocv_text_same(entry->platform.os, "unknown") ||
            !ocv_text_same(entry->platform.architecture, "unknown")) {
            char name[128];
            ocv_platform_format(&entry->platform, name, sizeof(name));
            ocv_lint_entry_at(lint, OCV_LINT_ATTESTATION_PLATFORM, i,
                              entry->has_platform ? "/platform" : "", "the platform is %s",
                              entry->has_platform ? name : "missing");
            ocv_lint_hint(lint, "--fix writes unknown/unknown");
        }
        if (ocv_lint_annotation(lint, i, OCV_ANNOTATION_LABEL) ||
            ocv_lint_annotation(lint, i, OCV_ANNOTATION_PROPERTIES)) {
            ocv_lint_entry_at(lint, OCV_LINT_ATTESTATION_ANNOTATED, i, "/annotations",
                              "an attestation with a variant's annotations");
            ocv_lint_hint(lint, "--fix removes them");
        }
        const char *digest = ocv_lint_annotation(lint, i, REFERENCE_DIGEST);
        const struct ocv_entry *subject =
            digest ? ocv_index_find_digest(lint->index, digest) : NULL;
        if (!digest) {
            ocv_lint_entry_at(lint, OCV_LINT_ATTESTATION_SUBJECT_MISSING, i, "/annotations",
                              "%s is missing", REFERENCE_DIGEST);
        } else if (!subject) {
            ocv_lint_entry_at(lint, OCV_LINT_ATTESTATION_DANGLING, i,
                              "/annotations/" REFERENCE_DIGEST, "%.140s is not in the index",
                              digest);
            ocv_lint_hint(lint, "--fix removes the attestation");
        } else if (subject->position > i) {
            ocv_lint_entry_at(lint, OCV_LINT_ATTESTATION_FIRST, i, "",
                              "it comes before entry %zu, which it describes", subject->position);
            ocv_lint_hint(lint, "--fix moves it behind the images");
        }
    }

    for (size_t i = 0; i < n; i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        with += entry->code == OCV_REJECT_NONE && is_attested(lint, entry->digest);
    }
    for (size_t i = 0; with && i < n; i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        if (entry->code == OCV_REJECT_NONE && !is_attested(lint, entry->digest))
            ocv_lint_entry_at(lint, OCV_LINT_ATTESTATION_PARTIAL, i, "",
                              "it has no attestation, and %zu other%s", with,
                              with == 1 ? " has one" : "s have");
    }

    if (!lint->input->signatures || !is_signed(lint->input, ocv_index_digest(lint->index)))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        if (entry->code != OCV_REJECT_NONE || is_signed(lint->input, entry->digest))
            continue;
        ocv_lint_entry_at(lint, OCV_LINT_CHILDREN_UNSIGNED, i, "/digest",
                          "the index is signed and %s is not", entry->digest);
        ocv_lint_hint(lint, "cosign sign --recursive, or sign this digest, too");
    }
}
