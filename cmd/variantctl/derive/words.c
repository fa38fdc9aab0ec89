/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statements of an image about itself: in its configuration, and in files of frameworks. */
#include "cmd/common/progress/progress.h"
#include "cmd/variantctl/derive/derive_verb.h"

#include "gen/content-rules.h"
#include "lib/base/format/json.h"
#include "ocivariant/digest.h"

#include <string.h>

#define CONFIG_MAX ((size_t)8 << 20)
#define WORDS_MAX 400u
#define TOLD_MAX 32u /* statements of one kind */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool begins_with_any(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(text, list[i], strlen(list[i])))
            return true;
    return false;
}

/* The quoted value of a line that begins with `key`: `cuda: Optional[str] = '12.8'` in
 * torch/version.py. */
static void visit_version(const struct ocv_content_text *text, const char *key,
                          void (*visit)(void *data, const char *source, const char *words),
                          void *data)
{
    char words[64];
    for (const char *line = text->text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t n = strcspn(line, "\n");
        const char *equals = memchr(line, '=', n);
        const char *quote = equals ? memchr(equals, '\'', n - (size_t)(equals - line)) : NULL;
        if (strncmp(line, key, strlen(key)) != 0 || !quote ||
            (line[strlen(key)] != ':' && line[strlen(key)] != ' '))
            continue;
        snprintf(words, sizeof(words), "%s %.*s", key, (int)strcspn(quote + 1, "'\n"), quote + 1);
        visit(data, text->path, words);
    }
}

void derive_told(const struct derive_result *result, enum ocv_content_fact fact, const char *before,
                 const char *after,
                 void (*visit)(void *data, const char *source, const char *words), void *data)
{
    const struct ocv_content_report *report = &result->content.report;
    struct ocv_content_facts seen = {0};
    const char *paths[TOLD_MAX] = {0};
    for (size_t i = 0; i < report->n_files; i++)
        for (size_t k = 0; k < report->files[i].facts.n; k++) {
            const struct ocv_content_finding *it = &report->files[i].facts.list[k];
            size_t known = seen.n;
            if (it->fact != fact || ocv_content_facts_add(&seen, fact, it->value, 0, 1, NULL) < 0)
                continue;
            if (seen.n > known && known < TOLD_MAX)
                paths[known] = report->files[i].path;
        }
    for (size_t i = 0; i < seen.n && i < TOLD_MAX; i++) {
        char words[WORDS_MAX];
        int n = snprintf(words, sizeof(words), "%s%s%s", before, seen.list[i].value, after);
        if (n > 0 && (size_t)n < sizeof(words) && seen.list[i].count > 1)
            snprintf(words + n, sizeof(words) - (size_t)n, " (%lld files)",
                     (long long)seen.list[i].count);
        visit(data, paths[i], words);
    }
    ocv_content_facts_free(&seen);
}

/* "17.5 MB of code beside its sections for it: cuda-code 70, cuda-code 80". */
static void tell_outside(const struct derive_result *result,
                         void (*visit)(void *data, const char *source, const char *words),
                         void *data)
{
    const struct ocv_content_report *report = &result->content.report;
    for (size_t i = 0, told = 0; i < report->n_files && told < TOLD_MAX; i++) {
        const struct ocv_content_facts *facts = &report->files[i].facts;
        char words[WORDS_MAX], size[FORMAT_NUMBER_MAX], list[WORDS_MAX / 2] = "";
        int64_t bytes = 0;
        for (size_t k = 0; k < facts->n; k++) {
            size_t at = strlen(list);
            if (facts->list[k].fact != OCV_CONTENT_OUTSIDE)
                continue;
            ocv_content_sum(&bytes, facts->list[k].bytes);
            snprintf(list + at, sizeof(list) - at, "%s%s", at ? ", " : "", facts->list[k].value);
        }
        if (!bytes)
            continue;
        snprintf(words, sizeof(words), "%s of code beside its sections for it: %s",
                 format_bytes(bytes, size), list);
        visit(data, report->files[i].path, words);
        told++;
    }
}

bool derive_all_seen(const struct derive_result *result)
{
    const struct ocv_content_report *report = &result->content.report;
    for (size_t i = 0; i < report->n_files; i++)
        for (size_t k = 0; k < report->files[i].facts.n; k++)
            if (report->files[i].facts.list[k].fact == OCV_CONTENT_UNSEEN)
                return false;
    return report->notes.n == 0;
}

const char *derive_no_property(const struct derive_result *result)
{
    const struct ocv_content_derived *d = &result->content.derived;
    if (d->cuda_files || d->hip_files)
        return "No GPU runs all of its files that have code for GPUs.";
    if (!result->content.report.members)
        return derive_all_seen(result) ? "There is no file in it." : "Nothing of it was looked at.";
    return derive_all_seen(result) ? "Its files need no particular machine."
                                   : "What was looked at needs no particular machine.";
}

void derive_words(const struct derive_result *result,
                  void (*visit)(void *data, const char *source, const char *words), void *data)
{
    ocv_auto_json *root = NULL;
    size_t i;
    json_t *it;
    const char *key;
    char words[WORDS_MAX];
    bool read =
        result->config && ocv_json_load_counted("image config", result->config, result->config_len,
                                                CONFIG_MAX, OCV_JSON_VALUES_MAX, &root, NULL) >= 0;
    const json_t *config = read ? json_object_get(root, "config") : NULL;
    json_array_foreach(json_object_get(config, "Env"), i, it)
    {
        if (!json_is_string(it) || !begins_with_any(json_string_value(it), content_environment,
                                                    COUNT(content_environment)))
            continue;
        snprintf(words, sizeof(words), "%s", json_string_value(it));
        visit(data, "config", words);
    }
    json_object_foreach(json_object_get(config, "Labels"), key, it)
    {
        if (!json_is_string(it) || !begins_with_any(key, content_labels, COUNT(content_labels)))
            continue;
        snprintf(words, sizeof(words), "%s=%s", key, json_string_value(it));
        visit(data, "label", words);
    }
    for (i = 0; i < result->content.report.n_texts; i++) {
        const struct ocv_content_text *text = &result->content.report.texts[i];
        size_t len = strlen(text->path);
        if (len > 3 && !strcmp(text->path + len - 3, ".py")) {
            visit_version(text, "cuda", visit, data);
            visit_version(text, "hip", visit, data);
        } else {
            visit(data, text->path, "variant.json: stated by the publisher");
        }
    }
    derive_told(result, OCV_CONTENT_COMPILER, "", ": code is compiled when the program runs", visit,
                data);
    derive_told(result, OCV_CONTENT_NPU_KERNEL, "kernels for ", "", visit, data);
    derive_told(result, OCV_CONTENT_DRIVER, "of the driver of ",
                ", which a host brings in the version that it needs", visit, data);
    derive_told(result, OCV_CONTENT_HWCAPS, "libraries for ", " alone", visit, data);
    tell_outside(result, visit, data);
}

const char *derive_kind(enum ocv_content_fact fact)
{
    switch (fact) {
    case OCV_CONTENT_CUDA_PTX:
        return "PTX";
    case OCV_CONTENT_CUDA_IR:
        return "LTO";
    case OCV_CONTENT_SYCL_CODE:
        return "SYCL";
    default:
        return "machine";
    }
}

int derive_saving(const struct derive_result *result, const struct ocv_content_target *target)
{
    const struct ocv_content_derived *d = &result->content.derived;
    bool cuda = target->fact == OCV_CONTENT_CUDA_CODE || target->fact == OCV_CONTENT_CUDA_PTX;
    int64_t all = result->content.report.bytes, code = 0; /* for GPUs that the same maker makes */
    for (size_t i = 0; i < d->n_targets; i++) {
        enum ocv_content_fact fact = d->targets[i].fact;
        if (fact == target->fact ||
            (cuda && (fact == OCV_CONTENT_CUDA_CODE || fact == OCV_CONTENT_CUDA_PTX)))
            ocv_content_sum(&code, d->targets[i].bytes);
    }
    double percent = all > 0 ? (double)(code - target->bytes) * 100 / (double)all : 0;
    return percent < 0 ? 0 : percent > 100 ? 100 : (int)percent; /* sizes in files may be wrong */
}
