/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Tags of one family, or of one repository that no rule knows, against each other (OCV302, 303). */
#include "lib/internal/lint/lint_internal.h"

#include "lib/base/arena.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 128
#define WORDS_MAX 65536u /* distinct parts of an input's tags; more are not compared */

/* A part of a tag, how often it occurs, and where first. */
struct tag_word {
    const char *family; /* or, where no rule knows it, the repository */
    char text[WORD_MAX], skeleton[WORD_MAX];
    int notation; /* of ocv_lint_notations, -1: none */
    size_t count, first;
};

struct tag_word_list {
    struct tag_word *list;
    size_t n;
    regex_t regexes[OCV_LINT_COUNT(ocv_lint_notations)];
    size_t compiled;
};

/* Characters that look alike count as one. */
static void make_skeleton(const char *text, char out[WORD_MAX])
{
    size_t n = 0;
    for (; *text && n < WORD_MAX - 1; text++) {
        char c = (char)tolower((unsigned char)*text);
        out[n++] = c == 'l' || c == 'i' ? '1' : c == 'o' ? '0' : c;
    }
    out[n] = '\0';
}

static int by_text(const void *a, const void *b)
{
    const struct tag_word *x = a, *y = b;
    int order = strcmp(x->family, y->family);
    if (order == 0)
        order = strcmp(x->text, y->text);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

static void merge_words(struct tag_word_list *words)
{
    size_t n = 0;
    qsort(words->list, words->n, sizeof(*words->list), by_text);
    for (size_t i = 0; i < words->n; i++) {
        const struct tag_word *word = &words->list[i];
        struct tag_word *last = n ? &words->list[n - 1] : NULL;
        if (last && !strcmp(last->text, word->text) && !strcmp(last->family, word->family)) {
            last->count += word->count;
            continue;
        }
        size_t k = 0;
        while (k < words->compiled && regexec(&words->regexes[k], word->text, 0, NULL, 0) != 0)
            k++;
        words->list[n] = *word;
        words->list[n++].notation = k < words->compiled ? (int)k : -1;
    }
    words->n = n;
}

static int by_appearance(const struct tag_word *x, const struct tag_word *y)
{
    int order = strcmp(x->family, y->family);
    return order ? order : strcmp(x->skeleton, y->skeleton);
}

static int by_skeleton(const void *a, const void *b)
{
    const struct tag_word *x = a, *y = b;
    int order = by_appearance(x, y);
    if (order == 0)
        order = (x->count < y->count) - (x->count > y->count); /* most used first */
    return order ? order : strcmp(x->text, y->text);
}

/* Parts between dashes, and between dashes and underscores where a tag has both; x86_64 is one. */
static bool collect_words(struct tag_word_list *words, const struct ocv_lint_input *input,
                          const char *const *families)
{
    for (size_t i = 0; i < input->n_tags; i++) {
        const struct ocv_reference *reference = input->tags[i].reference;
        const char *family = families[i] ? families[i] : reference->name;
        for (const char *at = reference->tag; at && *at;) {
            bool x86 = !strncmp(at, "x86_64", 6);
            size_t n = x86 ? 6 : strcspn(at, "-_");
            /* cuda-12 is cuda12 in another notation */
            if (at[n] == '-' && isdigit((unsigned char)at[n + 1]) && n == 4 &&
                (!strncmp(at, "cuda", 4) || !strncmp(at, "rocm", 4)))
                n += 1 + strcspn(at + n + 1, "-_");
            if (words->n == WORDS_MAX)
                merge_words(words);
            if (n > 0 && n < WORD_MAX && words->n < WORDS_MAX) {
                struct tag_word *word = ocv_array_grow(&words->list, words->n);
                if (!word)
                    return false;
                words->n++;
                *word = (struct tag_word){.family = family, .notation = -1, .count = 1, .first = i};
                memcpy(word->text, at, n);
                word->text[n] = '\0';
                make_skeleton(word->text, word->skeleton);
            }
            at += n + (at[n] == '-' || at[n] == '_');
            if (x86 && *at && at[-1] != '-' && at[-1] != '_')
                at += strcspn(at, "-_");
        }
    }
    return true;
}

static bool has_letter(const char *text)
{
    for (; *text; text++)
        if (isalpha((unsigned char)*text))
            return true;
    return false;
}

/* Once for each notation of a family that is not its usual one: that which most tags of the family
 * have, the earlier one of two alike. */
static void check_drift(struct ocv_lint *lint, const struct tag_word_list *words, size_t start,
                        size_t end)
{
    size_t counts[OCV_LINT_COUNT(ocv_lint_notations)] = {0};
    const struct tag_word *found[OCV_LINT_COUNT(ocv_lint_notations)] = {NULL};
    for (size_t i = start; i < end; i++) {
        int k = words->list[i].notation;
        if (k < 0)
            continue;
        counts[k] += words->list[i].count;
        found[k] = found[k] ? found[k] : &words->list[i];
    }
    for (size_t i = start; i < end; i++) {
        const struct tag_word *word = &words->list[i];
        if (word->notation < 0 || found[word->notation] != word)
            continue;
        const char *kind = ocv_lint_notations[word->notation].a;
        size_t best = (size_t)word->notation;
        for (size_t k = OCV_LINT_COUNT(counts); k-- > 0;)
            if (!strcmp(ocv_lint_notations[k].a, kind) && counts[k] >= counts[best])
                best = k;
        if (best == (size_t)word->notation)
            continue;
        ocv_lint_tag_at(lint, OCV_LINT_TAG_NOTATION_DRIFT, word->first,
                        "%s is written '%s' here and '%s' in %zu other tag%s", kind, word->text,
                        found[best]->text, counts[best], counts[best] == 1 ? "" : "s");
    }
}

void ocv_lint_check_tag_drift(struct ocv_lint *lint, const char *const *families)
{
    struct tag_word_list words = {0};
    for (; words.compiled < OCV_LINT_COUNT(ocv_lint_notations); words.compiled++)
        if (regcomp(&words.regexes[words.compiled], ocv_lint_notations[words.compiled].c,
                    REG_EXTENDED | REG_NOSUB) != 0)
            break;
    if (words.compiled < OCV_LINT_COUNT(ocv_lint_notations) ||
        !collect_words(&words, lint->input, families))
        lint->status = ocv_error_nomem(lint->err);
    else if (words.n) {
        merge_words(&words);
        for (size_t i = 0, end; i < words.n; i = end) {
            for (end = i; end < words.n && !strcmp(words.list[i].family, words.list[end].family);
                 end++)
                ;
            check_drift(lint, &words, i, end);
        }
        qsort(words.list, words.n, sizeof(*words.list), by_skeleton);
        for (size_t i = 1, head = 0; i < words.n; i++) {
            const struct tag_word *most = &words.list[head], *word = &words.list[i];
            if (strcmp(most->family, word->family) != 0 ||
                strcmp(most->skeleton, word->skeleton) != 0) {
                head = i;
                continue;
            }
            if (!has_letter(most->text) || !has_letter(word->text))
                continue; /* 10 and 1o: numbers are not read as words */
            ocv_lint_tag_at(lint, OCV_LINT_TAG_LOOKALIKE, word->first,
                            "'%s' looks like '%s' (%zu tag%s)", word->text, most->text, most->count,
                            most->count == 1 ? "" : "s");
            ocv_lint_hint(lint, "did you mean %s?", most->text);
        }
        /* "300l" where nothing of the family is spelt "300I": a difference in case alone is not a
         * mistake. */
        for (size_t i = 0; i < words.n; i++)
            for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_tag_spellings); k++) {
                const struct tag_word *word = &words.list[i];
                const char *right = ocv_lint_tag_spellings[k].a;
                char skeleton[WORD_MAX];
                bool alike = (i && !by_appearance(word, &words.list[i - 1])) ||
                             (i + 1 < words.n && !by_appearance(word, &words.list[i + 1]));
                make_skeleton(right, skeleton);
                if (alike || !has_letter(word->text) || strcmp(skeleton, word->skeleton) != 0 ||
                    !strcasecmp(right, word->text))
                    continue; /* alike: already reported */
                ocv_lint_tag_at(lint, OCV_LINT_TAG_LOOKALIKE, word->first,
                                "'%s' looks like '%s', a product", word->text, right);
                ocv_lint_hint(lint, "did you mean %s?", right);
            }
    }
    for (size_t k = 0; k < words.compiled; k++)
        regfree(&words.regexes[k]);
    free(words.list);
}
