/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of --report: a row for each class of machines, a column for each image. */
#include "cmd/common/progress/progress.h"
#include "cmd/variantctl/coverage/coverage.h"

#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/core/core_internal.h"
#include "ocivariant/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MAX (64u * 1024 * 1024)
#define DETAILS_MAX 1000u /* names of a class that are listed */

/* Machines that nothing tells apart. */
struct row {
    char class[OCV_CLASS_MAX];
    size_t first; /* host */
    size_t nodes;
};

/* What a row gets of an image. */
struct cell {
    char name[80];
    int64_t bytes; /* to pull; -1: not known */
    bool none, only_default;
    char note[256];
};

struct column {
    const char *image;
    struct cell *cells; /* by row */
    int64_t bytes;      /* of the default; -1: there is none */
};

struct report {
    struct coverage *c;
    struct row *rows;
    size_t *row_of; /* by host */
    size_t n_rows;
    struct column *columns;
    size_t n_columns;
};

/* Bytes to pull of an entry; -1 where its manifest cannot be read. */
static int64_t entry_bytes(struct cli *cli, const struct image *image,
                           const struct ocv_entry *entry)
{
    ocv_auto_child child = {0};
    struct ocv_descriptor descriptor;
    struct ocv_error err = {0};
    return child_descriptor(entry, &descriptor, &err) == OCV_OK &&
                   child_read(cli, image, &descriptor, &child, &err) == OCV_OK
               ? child_bytes(&child)
               : -1;
}

static void fill_cell(const struct coverage_host *host, const struct image *image,
                      struct cell *cell)
{
    const struct ocv_entry *entry = coverage_gets(host);
    char unused[128] = "", missed[80];
    size_t used = 0;
    cell->bytes = -1;
    cell->none = !entry;
    if (!entry) {
        snprintf(cell->note, sizeof(cell->note), "%.200s",
                 host->undecided ? host->undecided : "nothing fits");
        return;
    }
    explain_choice(image->index, entry, cell->name, sizeof(cell->name));
    cell->only_default = entry->kind != OCV_ENTRY_VARIANT;
    /* Devices that the chosen image has no build for: "amd, nvidia". */
    for (size_t k = 0; k < host->profile->n_namespaces; k++) {
        const struct ocv_namespace *ns = &host->profile->namespaces[k];
        bool has = false;
        for (size_t p = 0; !cell->only_default && p < entry->n_properties; p++)
            has =
                has || !strcmp(ocv_index_property(image->index, entry->properties[p]).ns, ns->name);
        if (ns->n_devices && !has && used < sizeof(unused))
            used += (size_t)snprintf(unused + used, sizeof(unused) - used, "%s%s", used ? ", " : "",
                                     ns->name);
    }
    size_t i = ocv_decision_missed(host->decision);
    if (i < ocv_decision_rejected_count(host->decision))
        snprintf(cell->note, sizeof(cell->note), "%s does not fit: its driver or devices differ",
                 explain_name(image->index, ocv_decision_rejected(host->decision, i).entry, missed,
                              sizeof(missed)));
    else if (*unused)
        snprintf(cell->note, sizeof(cell->note), "no build for %s", unused);
}

static int fill_column(struct report *r, struct cli *cli, struct image *image,
                       struct column *column, struct ocv_error *err)
{
    const struct ocv_entry *base = NULL;
    OCV_TRY(coverage_decide(cli, image, r->c, err));
    column->bytes = -1;
    for (size_t i = 0; i < ocv_index_count(image->index) && !base; i++) {
        const struct ocv_entry *entry = ocv_index_entry(image->index, i);
        if (coverage_candidate(entry) && entry->kind != OCV_ENTRY_VARIANT)
            base = entry;
    }
    if (base)
        column->bytes = entry_bytes(cli, image, base);
    for (size_t k = 0; k < r->n_rows; k++) {
        const struct coverage_host *host = &r->c->hosts[r->rows[k].first];
        const struct ocv_entry *entry = coverage_gets(host);
        fill_cell(host, image, &column->cells[k]);
        for (size_t m = 0; entry && m < k; m++) /* each image once */
            if (coverage_gets(&r->c->hosts[r->rows[m].first]) == entry)
                column->cells[k].bytes = column->cells[m].bytes;
        if (entry && column->cells[k].bytes < 0)
            column->cells[k].bytes = entry == base ? column->bytes : entry_bytes(cli, image, entry);
    }
    coverage_forget(r->c);
    return OCV_OK;
}

static const char style[] =
    "body { max-width: none; }\n"
    ":root { --fit: #2f6f4f22; --less: #b5890033; --none: #c0392b33; }\n"
    "div.wide { overflow-x: auto; }\n"
    "td.fit { background: var(--fit); } td.less { background: var(--less); }\n"
    "td.none { background: var(--none); }\n"
    "td, th { padding: .3rem .8rem; vertical-align: top; } tbody th { font-weight: normal; }\n"
    "td small, th small { display: block; opacity: .8; }\n";

static void put_row_head(struct page *p, const struct report *r, size_t k)
{
    const struct row *row = &r->rows[k];
    const struct coverage_host *host = &r->c->hosts[row->first];
    size_t shown = 0;
    page_raw(p, "<th scope=\"row\">");
    if (row->nodes > 1)
        page_raw(p, "<details><summary>");
    page_text(p, host->name);
    if (row->nodes > 1) {
        page_raw(p, " and ");
        page_number(p, (long long)row->nodes - 1);
        page_raw(p, " more</summary>");
        for (size_t i = row->first + 1; i < r->c->n && shown < DETAILS_MAX; i++)
            if (r->row_of[i] == k) {
                page_raw(p, shown++ ? ", " : "");
                page_text(p, r->c->hosts[i].name);
            }
        page_raw(p, shown ? "</details>" : "all of one class</details>");
    }
    page_raw(p, "<small>");
    size_t named = 0;
    for (size_t i = 0; i < host->profile->n_namespaces; i++) {
        const struct ocv_namespace *ns = &host->profile->namespaces[i];
        if (!ns->n_devices)
            continue;
        page_raw(p, named++ ? ", " : "");
        page_text(p, ns->name);
        page_raw(p, " × ");
        page_number(p, (long long)ns->n_devices);
    }
    page_raw(p, named ? "</small></th>" : "no accelerator</small></th>");
}

static void put_cell(struct page *p, const struct column *column, const struct cell *cell)
{
    char bytes[FORMAT_NUMBER_MAX];
    page_raw(p, cell->none    ? "<td class=\"none\">"
                : *cell->note ? "<td class=\"less\">"
                              : "<td class=\"fit\">");
    page_text(p, cell->none ? "nothing" : cell->name);
    if (cell->bytes >= 0) {
        page_raw(p, "<small>");
        page_raw(p, format_bytes(cell->bytes, bytes));
        if (column->bytes > 0 && !cell->only_default) {
            page_raw(p, ", ");
            page_number(p, (long long)((double)cell->bytes * 100 / (double)column->bytes + .5));
            page_raw(p, " % of the default");
        }
        page_raw(p, "</small>");
    }
    if (*cell->note) {
        page_raw(p, "<small>");
        page_raw(p, cell->only_default ? "only the default fits; " : "");
        page_text(p, cell->note);
        page_raw(p, "</small>");
    }
    page_raw(p, "</td>");
}

static int put_page(const struct report *r, struct ocv_buffer *out, struct ocv_error *err)
{
    struct page page = {.out = out, .err = err}, *p = &page;
    size_t nodes = 0;
    for (size_t k = 0; k < r->n_rows; k++)
        nodes += r->rows[k].nodes;
    page_begin(p, "variantctl coverage", style);
    page_raw(p, "<h1>What each machine gets</h1>\n<p>");
    page_number(p, (long long)nodes);
    page_raw(p, nodes == 1 ? " machine of " : " machines of ");
    page_number(p, (long long)r->n_rows);
    page_raw(p, r->n_rows == 1 ? " class" : " classes");
    page_raw(p, ". Green: a build for all that the machine has. Yellow: something of it is not "
                "used. Red: nothing fits.</p>\n"
                "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"machines and "
                "images\">\n<table>\n<thead><tr><th scope=\"col\">Machines</th>");
    for (size_t i = 0; i < r->n_columns; i++) {
        char bytes[FORMAT_NUMBER_MAX];
        page_raw(p, "<th scope=\"col\">");
        page_text(p, r->columns[i].image);
        page_raw(p, "<small>");
        if (r->columns[i].bytes >= 0) {
            page_raw(p, "the default: ");
            page_raw(p, format_bytes(r->columns[i].bytes, bytes));
        } else {
            page_raw(p, "no default");
        }
        page_raw(p, "</small></th>");
    }
    page_raw(p, "</tr></thead>\n<tbody>\n");
    for (size_t k = 0; k < r->n_rows; k++) {
        page_raw(p, "<tr>");
        put_row_head(p, r, k);
        for (size_t i = 0; i < r->n_columns; i++)
            put_cell(p, &r->columns[i], &r->columns[i].cells[k]);
        page_raw(p, "</tr>\n");
    }
    page_raw(p, "</tbody></table></div>\n</html>\n");
    return p->status;
}

static void report_free(struct report *r)
{
    for (size_t i = 0; i < r->n_columns; i++)
        free(r->columns[i].cells);
    free(r->columns);
    free(r->rows);
    free(r->row_of);
}

int coverage_report(const struct coverage_request *request, struct coverage *c,
                    struct ocv_error *err)
{
    __attribute__((cleanup(report_free))) struct report r = {.c = c};
    ocv_auto_buffer out;
    ocv_buffer_init(&out, PAGE_MAX);
    r.row_of = calloc(c->n + 1, sizeof(*r.row_of));
    if (!r.row_of)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < c->n; i++) { /* a row for each class */
        char class[OCV_CLASS_MAX];
        size_t k = 0;
        OCV_TRY(ocv_profile_class(c->hosts[i].profile, class, err));
        while (k < r.n_rows && strcmp(r.rows[k].class, class) != 0)
            k++;
        if (k == r.n_rows) {
            struct row *row = ocv_array_grow(&r.rows, r.n_rows);
            if (!row)
                return ocv_error_nomem(err);
            memcpy(row->class, class, sizeof(class));
            row->first = i;
            r.n_rows++;
        }
        r.rows[k].nodes += c->hosts[i].nodes;
        r.row_of[i] = k;
    }
    size_t n = request->index_file ? 1 : request->n_images;
    for (size_t i = 0; i < n; i++) {
        ocv_auto_image image = {0};
        struct column *column = ocv_array_grow(&r.columns, r.n_columns);
        if (!column || !(column->cells = calloc(r.n_rows + 1, sizeof(*column->cells))))
            return ocv_error_nomem(err);
        r.n_columns++;
        column->image = request->index_file ? request->index_file : request->images[i];
        OCV_TRY(image_open_either(request->cli, request->index_file,
                                  request->index_file ? NULL : request->images[i], &image, true,
                                  err));
        OCV_TRY(fill_column(&r, request->cli, &image, column, err));
    }
    OCV_TRY(put_page(&r, &out, err));
    return ocv_file_write(request->report, out.data, out.len, err);
}
