/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Labels, and tags of repositories that no rule knows: what "cuda12.8", "cu128" or "rocm7.1" in
 * them says without any rule, against the properties of the entry (OCV127, 301). */
#include "lib/internal/lint/lint_internal.h"
#include "ocivariant/vocabulary.h"

#include <stdio.h>
#include <string.h>

/* "cuda12.8.1", "cu128" -> "12.8"; a major version alone leaves the minor open. Of two digits more
 * the last is a patch release's, "rocm624" and "rocm613"; but there was no ROCm 7.1.2, so "rocm714"
 * is 7.14, and no 1.x has images, so "rocm100" is 10.0. */
static bool read_version(const char *part, size_t len, const struct lint_fact *word, char out[32])
{
    size_t skip = strcspn(word->a, "0"), major = strlen(word->a) - skip;
    if (len <= skip || strncmp(part, word->a, skip) != 0)
        return false;
    const char *number = part + skip;
    size_t rest = len - skip, digits = strspn(number, "0123456789");
    digits = digits < rest ? digits : rest;
    if (major == 1 && digits > 1 && *number == '1')
        major = 2;
    if (digits == 0 || strspn(number, "0123456789.") < rest || digits > major + 2)
        return false;
    if (digits < rest) /* a dot divides them */
        snprintf(out, 32, "%.*s", (int)(rest < 31 ? rest : 31), number);
    else if (digits <= major)
        snprintf(out, 32, "%.*s.999", (int)digits, number);
    else {
        bool two = digits == 3 && number[0] == '7' && number[1] == '1' && number[2] > '1';
        snprintf(out, 32, "%.*s.%.*s", (int)major, number, two ? 2 : 1, number + major);
    }
    return true;
}

static bool is_namespace(struct ocv_property p, const char *feature)
{
    size_t n = strlen(p.ns);
    return !strncmp(p.ns, feature, n) && feature[n] == ' ';
}

/* Does the entry ask for other accelerators and not for this one? */
static bool is_of_another(const struct ocv_lint *lint, const struct ocv_entry *entry,
                          const char *feature)
{
    bool other = false;
    for (size_t k = 0; k < entry->n_properties; k++) {
        struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
        if (is_namespace(p, feature))
            return false;
        for (size_t i = 0; i < OCV_LINT_COUNT(ocv_lint_tag_words); i++)
            other = other || is_namespace(p, ocv_lint_tag_words[i].b);
    }
    return other;
}

/* What a part of a tag says, and why the entry is another image. */
struct tag_doubt {
    const char *part, *feature, *value;
    const char *why; /* NULL: the entry is for other accelerators */
    size_t len;
};

static bool tag_disagrees(const struct ocv_lint *lint, const struct ocv_entry *entry,
                          const char *tag, struct tag_doubt *out)
{
    for (const char *at = tag; at && *at;) {
        size_t n = strcspn(at, "-_");
        bool said = false, named = false; /* by the part, by the entry */
        for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_tag_words) && !named; k++) {
            const struct lint_fact *word = &ocv_lint_tag_words[k];
            char version[32];
            if (!read_version(at, n, word, version))
                continue;
            const char *value = ocv_lint_lowest(lint, entry, word->b);
            const char *why = value ? ocv_lint_contradiction(word->c, value, version) : NULL;
            *out = (struct tag_doubt){at, word->b, value, why, n};
            said = true;
            named = value;
            if (why)
                return true;
        }
        if (said && !named && is_of_another(lint, entry, out->feature))
            return true;
        at += n + (at[n] != '\0');
    }
    return false;
}

void ocv_lint_check_label_words(struct ocv_lint *lint, size_t i)
{
    const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
    struct tag_doubt doubt = {0};
    for (size_t k = 0; k < entry->n_properties; k++) {
        struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
        if (ocv_vocabulary_check(p.ns, p.feature, p.value, NULL) == OCV_WORD_VALUE)
            return; /* for an unknown value there is no correction */
    }
    if (!entry->label || !tag_disagrees(lint, entry, entry->label, &doubt))
        return;
    if (doubt.why)
        ocv_lint_entry_at(lint, OCV_LINT_LABEL_DISAGREES, i, "/annotations/" OCV_ANNOTATION_LABEL,
                          "the label says '%.*s'; its %s :: %s %s", (int)doubt.len, doubt.part,
                          doubt.feature, doubt.value, doubt.why);
    else
        ocv_lint_entry_at(lint, OCV_LINT_LABEL_DISAGREES, i, "/annotations/" OCV_ANNOTATION_LABEL,
                          "the label says '%.*s'; its properties are of other accelerators",
                          (int)doubt.len, doubt.part);
}

/* Of an image under several labels one that agrees is enough. */
void ocv_lint_check_tag_words(struct ocv_lint *lint, size_t i)
{
    const struct ocv_lint_tag *tag = &lint->input->tags[i];
    const struct ocv_entry *found = NULL;
    struct tag_doubt doubt = {0}, next;
    for (size_t k = 0; lint->index && tag->digest && k < ocv_index_count(lint->index); k++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, k);
        if (entry->code != OCV_REJECT_NONE || strcmp(entry->digest, tag->digest) != 0)
            continue;
        if (!tag_disagrees(lint, entry, tag->reference->tag, &next))
            return;
        doubt = found ? doubt : next;
        found = found ? found : entry;
    }
    if (!found)
        return;
    const char *name = ocv_lint_name(lint, found->position);
    const char *label = *name ? name : "no label";
    if (doubt.why)
        ocv_lint_tag_at(lint, OCV_LINT_TAG_DISAGREES, i,
                        "it says '%.*s'; %s :: %s of entry %zu (%s) %s", (int)doubt.len, doubt.part,
                        doubt.feature, doubt.value, found->position, label, doubt.why);
    else
        ocv_lint_tag_at(lint, OCV_LINT_TAG_DISAGREES, i,
                        "it says '%.*s'; entry %zu (%s) is for other accelerators", (int)doubt.len,
                        doubt.part, found->position, label);
    ocv_lint_hint(lint, "move the tag to the right image, or variantctl index annotate");
}
