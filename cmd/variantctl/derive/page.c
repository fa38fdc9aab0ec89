/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of --report: tables, and bars (SVG) with the bytes of each target. No script and no
 * external resources; light and dark. */
#include "cmd/common/progress/progress_internal.h"
#include "cmd/variantctl/derive/derive_verb.h"

#include <string.h>

#define BAR_WIDTH 560

struct derive_page {
    struct page page;
    size_t stated; /* by the image */
};

static const char style[] =
    ":root { --bar: #2f6f4f; --rest: #b58900; }\n"
    "rect.all { fill: var(--bar); } rect.some { fill: var(--rest); } text { fill: currentColor; "
    "font: 13px system-ui, sans-serif; }\n";

static void put_raw(struct derive_page *p, const char *text)
{
    page_raw(&p->page, text);
}

static void put_text(struct derive_page *p, const char *text)
{
    page_text(&p->page, text);
}

static void put_number(struct derive_page *p, long long number)
{
    page_number(&p->page, number);
}

/* A bar per target with its bytes; the largest has full width. */
static void put_picture(struct derive_page *p, const struct ocv_content_derived *d)
{
    int64_t largest = 1;
    char bytes[FORMAT_NUMBER_MAX], name[OCV_CONTENT_TARGET_MAX];
    for (size_t i = 0; i < d->n_targets; i++)
        if (d->targets[i].bytes > largest)
            largest = d->targets[i].bytes;
    put_raw(
        p,
        "<svg role=\"img\" aria-label=\"bytes of code for each target\" width=\"100%\" viewBox=\"0 "
        "0 860 ");
    put_number(p, (long long)d->n_targets * 26 + 4);
    put_raw(p, "\">\n");
    for (size_t i = 0; i < d->n_targets; i++) {
        const struct ocv_content_target *it = &d->targets[i];
        long long y = (long long)i * 26 + 4;
        long long width = (long long)((double)it->bytes / (double)largest * BAR_WIDTH);
        put_raw(p, "<text x=\"0\" y=\"");
        put_number(p, y + 15);
        put_raw(p, "\">");
        put_text(p, ocv_content_target_name(it, name, sizeof(name)));
        put_raw(p, " ");
        put_raw(p, derive_kind(it->fact));
        put_raw(p, it->proposed ? "</text><rect class=\"all\" x=\"200\" y=\""
                                : "</text><rect class=\"some\" x=\"200\" y=\"");
        put_number(p, y);
        put_raw(p, "\" height=\"20\" width=\"");
        put_number(p, width > 1 ? width : 1);
        put_raw(p, "\"/><text x=\"");
        put_number(p, 208 + (width > 1 ? width : 1));
        put_raw(p, "\" y=\"");
        put_number(p, y + 15);
        put_raw(p, "\">");
        put_raw(p, format_bytes(it->bytes, bytes));
        put_raw(p, "</text>\n");
    }
    put_raw(p, "</svg>\n");
}

static void put_targets(struct derive_page *p, const struct derive_result *result)
{
    const struct ocv_content_derived *d = &result->content.derived;
    char bytes[FORMAT_NUMBER_MAX], name[OCV_CONTENT_TARGET_MAX], setting[128];
    put_raw(p,
            "<table><tr><th>Target</th><th>Code</th><th>Files</th><th>Size</th><th>Runs on it</th>"
            "<th>Alone saves</th><th>Build setting</th></tr>\n");
    for (size_t i = 0; i < d->n_targets; i++) {
        const struct ocv_content_target *it = &d->targets[i];
        put_raw(p, "<tr><td><code>");
        put_text(p, ocv_content_target_name(it, name, sizeof(name)));
        put_raw(p, "</code></td><td>");
        put_raw(p, derive_kind(it->fact));
        put_raw(p, "</td><td class=\"n\">");
        put_number(p, (long long)it->files);
        put_raw(p, "</td><td class=\"n\">");
        put_raw(p, format_bytes(it->bytes, bytes));
        put_raw(p, "</td><td>");
        if (it->proposed) {
            put_raw(p, "all");
        } else if (it->fact == OCV_CONTENT_SYCL_CODE) {
            put_raw(p, "named, not claimed");
        } else if (it->lacking) {
            put_raw(p, "all but ");
            put_number(p, (long long)it->lacking);
            put_raw(p, ": <code>");
            put_text(p, it->without);
            put_raw(p, "</code>");
        } else {
            put_raw(p, "not known");
        }
        put_raw(p, "</td><td class=\"n\">");
        if (it->proposed && it->fact != OCV_CONTENT_CUDA_PTX) {
            put_number(p, derive_saving(result, it));
            put_raw(p, " %");
        }
        put_raw(p, "</td><td>");
        for (size_t k = 0; it->proposed && ocv_content_setting(it, k, setting, sizeof(setting));
             k++) {
            put_raw(p, k ? "<br><code>" : "<code>");
            put_text(p, setting);
            put_raw(p, "</code>");
        }
        put_raw(p, "</td></tr>\n");
    }
    put_raw(p, "</table>\n");
}

static void put_words(void *data, const char *source, const char *words)
{
    struct derive_page *p = data;
    put_raw(p, p->stated++ ? "<li><code>" : "<h2>Stated by the image</h2>\n<ul>\n<li><code>");
    put_text(p, source);
    put_raw(p, "</code>: ");
    put_text(p, words);
    put_raw(p, "</li>\n");
}

static void put_list(struct derive_page *p, const char *title, char *const *list, size_t n)
{
    if (!n)
        return;
    put_raw(p, "<h2>");
    put_text(p, title);
    put_raw(p, "</h2>\n<ul>\n");
    for (size_t i = 0; i < n; i++) {
        put_raw(p, "<li><code>");
        put_text(p, list[i]);
        put_raw(p, "</code></li>\n");
    }
    put_raw(p, "</ul>\n");
}

int derive_format_page(const struct derive_result *results, size_t n, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    struct derive_page page = {.page = {.out = out, .err = err}}, *p = &page;
    char bytes[FORMAT_NUMBER_MAX];
    page_begin(&p->page, "variantctl derive", style);
    for (const struct derive_result *result = results; result < results + n; result++) {
        const struct ocv_content_derived *d = &result->content.derived;
        const struct ocv_content_report *report = &result->content.report;
        put_raw(p, "<h1>");
        put_text(p, result->name);
        put_raw(p, "</h1>\n<p>");
        put_number(p, (long long)report->members);
        put_raw(p, report->members == 1 ? " file, " : " files, ");
        put_raw(p, format_bytes(report->bytes, bytes));
        put_raw(p, "</p>\n");
        if (d->n_targets) {
            put_picture(p, d);
            put_raw(p,
                    "<p>Green: every file with code for such devices runs there. Yellow: some do "
                    "not.</p>\n");
            put_targets(p, result);
        }
        put_list(p, "Proposed properties", d->properties, d->n_properties);
        put_list(p, "A second entry, for older drivers", d->base, d->n_base);
        if (!d->n_properties) {
            put_raw(p, "<p>");
            put_raw(p, derive_no_property(result));
            put_raw(p, "</p>\n");
        }
        for (size_t i = 0; i < d->n_needs; i++) {
            put_raw(p, i ? "<li>" : "<h2>Needs</h2>\n<ul>\n<li>");
            put_text(p, d->needs[i].is);
            put_raw(p, ": <code>");
            put_text(p, d->needs[i].name);
            put_raw(p, "</code>, as <code>");
            put_text(p, d->needs[i].path);
            put_raw(p, i + 1 < d->n_needs ? "</code> does</li>\n" : "</code> does</li>\n</ul>\n");
        }
        p->stated = 0;
        derive_words(result, put_words, p);
        if (p->stated)
            put_raw(p, "</ul>\n");
        for (size_t i = 0; i < report->notes.n; i++) {
            put_raw(p, "<p>Not looked at: ");
            put_text(p, report->notes.list[i].value);
            put_raw(p, "</p>\n");
        }
    }
    put_raw(p, "</html>\n");
    return p->page.status;
}
