/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/cli.h"
#include "cmd/common/progress/progress_internal.h"
#include "cmd/variantctl/derive/derive_verb.h"

#include "gen/toolkits.h"

#include <string.h>

struct text {
    struct ocv_buffer *out;
    struct ocv_error *err;
    int status;
    char shown[4][512]; /* used in turn */
    unsigned turn;
    const char *before; /* what begins a line of put_words */
};

/* Untrusted text from the image. */
static const char *shown_text(struct text *t, const char *text)
{
    char *out = t->shown[t->turn++ % 4];
    return cli_text(text, out, sizeof(t->shown[0]));
}

static void put_line(struct text *t, const char *format, ...) OCV_PRINTF(2, 3);
static void put_line(struct text *t, const char *format, ...)
{
    char line[1024];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    if (t->status >= 0 && n > 0)
        t->status = ocv_buffer_append(
            t->out, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1, t->err);
}

static void put_targets(struct text *t, const struct derive_result *result)
{
    const struct ocv_content_derived *d = &result->content.derived;
    char name[OCV_CONTENT_TARGET_MAX], bytes[FORMAT_NUMBER_MAX];
    if (!d->n_targets) {
        put_line(t, derive_all_seen(result) ? "its files have no GPU code\n"
                                            : "no GPU code in what was looked at\n");
        return;
    }
    put_line(t, "\n%-28s %-8s %6s %10s  %s\n", "TARGET", "CODE", "FILES", "SIZE", "RUNS ON IT");
    for (size_t i = 0; i < d->n_targets; i++) {
        const struct ocv_content_target *it = &d->targets[i];
        put_line(t, "%-28s %-8s %6zu %10s  ", ocv_content_target_name(it, name, sizeof(name)),
                 derive_kind(it->fact), it->files, format_bytes(it->bytes, bytes));
        if (it->proposed)
            put_line(t, "all\n");
        else if (it->fact == OCV_CONTENT_SYCL_CODE)
            put_line(t, "named, not claimed\n");
        else if (it->lacking)
            put_line(t, "all but %zu: %s\n", it->lacking, shown_text(t, it->without));
        else
            put_line(t, "not known\n");
    }
}

static void put_properties(struct text *t, const struct derive_result *result)
{
    const struct ocv_content_derived *d = &result->content.derived;
    if (!d->n_properties) {
        put_line(t, "\n%s\n", derive_no_property(result));
        return;
    }
    put_line(t, "\nProposed properties%s%s:\n", d->label[0] ? ", label " : "", d->label);
    for (size_t i = 0; i < d->n_properties; i++)
        put_line(t, "  %s\n", d->properties[i]);
    if (derive_has_two_makers(d))
        put_line(t, "No machine has all of these: make an entry for each maker's devices.\n");
    if (!d->n_base)
        return;
    put_line(t, "\nFor older drivers, which compile none of its PTX, a second entry%s%s%s:\n",
             d->label[0] ? ", label " : "", d->label, d->label[0] ? OCV_TOOLKIT_MINOR_LABEL : "");
    for (size_t i = 0; i < d->n_base; i++)
        put_line(t, "  %s\n", d->base[i]);
}

static void put_highest(struct text *t, const char *what, const struct ocv_content_highest *highest)
{
    if (highest->value)
        put_line(t, "  %s %s  (%s)\n", what, shown_text(t, highest->value),
                 shown_text(t, highest->path));
}

static void put_needs(struct text *t, const struct derive_result *result)
{
    const struct ocv_content_derived *d = &result->content.derived;
    put_line(t, "\nNeeds:\n");
    for (size_t i = 0; i < d->machines.n; i++)
        put_line(t, "  %s code in %lld file%s\n", d->machines.list[i].value,
                 (long long)d->machines.list[i].count, d->machines.list[i].count == 1 ? "" : "s");
    put_highest(t, "x86-64 level", &d->level);
    put_highest(t, "C library", &d->glibc);
    put_highest(t, "C++ library", &d->glibcxx);
    for (size_t i = 0; i < d->n_needs; i++)
        put_line(t, "  %s: %s  (%zu file%s: %s)\n", d->needs[i].is, shown_text(t, d->needs[i].name),
                 d->needs[i].files, d->needs[i].files == 1 ? "" : "s",
                 shown_text(t, d->needs[i].path));
    if (d->mixed)
        put_line(t, "  different major versions of one library: no version property is proposed\n");
    if (d->ptx.value)
        put_line(t, "  PTX %s%s%s  (%s)\n", shown_text(t, d->ptx.value),
                 d->toolkit ? ", written by CUDA " : "", d->toolkit ? d->toolkit : "",
                 shown_text(t, d->ptx.path));
    put_highest(t, "CUDA toolkit", &d->cubin);
    if (d->zstd.value)
        put_line(
            t,
            "  code that is compressed with zstd, which drivers read from CUDA " OCV_TOOLKIT_ZSTD
            " on  (%s)\n",
            shown_text(t, d->zstd.path));
}

static void put_words(void *data, const char *source, const char *words)
{
    struct text *t = data;
    put_line(t, "%s%s: %s\n", t->before, shown_text(t, source), shown_text(t, words));
}

int derive_format_text(const struct derive_result *result, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    struct text t = {.out = out, .err = err};
    const struct ocv_content_derived *d = &result->content.derived;
    char bytes[FORMAT_NUMBER_MAX], setting[128], name[OCV_CONTENT_TARGET_MAX];
    put_line(&t, "%s: %lld file%s, %s\n", result->name, (long long)result->content.report.members,
             result->content.report.members == 1 ? "" : "s",
             format_bytes(result->content.report.bytes, bytes));
    put_targets(&t, result);
    put_properties(&t, result);
    if (d->machines.n || d->n_needs)
        put_needs(&t, result);
    bool any = false;
    for (size_t i = 0; i < d->n_targets; i++) {
        const struct ocv_content_target *it = &d->targets[i];
        if (!it->proposed || it->fact == OCV_CONTENT_CUDA_PTX || derive_saving(result, it) < 1)
            continue;
        if (!any)
            put_line(&t, "\nA build for one target alone saves:\n");
        any = true;
        put_line(&t, "  %-28s %3d %%  ", ocv_content_target_name(it, name, sizeof(name)),
                 derive_saving(result, it));
        for (size_t k = 0; ocv_content_setting(it, k, setting, sizeof(setting)); k++)
            put_line(&t, "%s%s", k ? " " : "", setting);
        put_line(&t, "\n");
    }
    size_t before = out->len;
    put_line(&t, "\n"
                 "Stated by the image:\n");
    size_t title = out->len;
    t.before = "  ";
    derive_words(result, put_words, &t);
    if (t.status >= 0 && out->len == title) {
        out->len = before;
        out->data[before] = '\0';
    }
    for (size_t i = 0; i < result->content.report.notes.n; i++)
        put_line(&t, "%snot looked at: %s\n", i ? "" : "\n",
                 shown_text(&t, result->content.report.notes.list[i].value));
    t.before = "not looked at: ";
    derive_told(result, OCV_CONTENT_UNSEEN, "", "", put_words, &t);
    if (result->attached[0])
        put_line(&t, "\nAttached: %s\n", result->attached);
    return t.status;
}
