/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of the matrix, and which of them are equal. */
#include "cmd/variantctl/coverage/coverage.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum coverage_cell coverage_cell(const struct coverage_host *host, const struct ocv_entry *entry)
{
    if (host->undecided)
        return COVERAGE_UNDECIDED;
    if (ocv_decision_selected(host->decision) == entry)
        return COVERAGE_CHOSEN;
    for (size_t i = 0; i < ocv_decision_order_count(host->decision); i++)
        if (ocv_decision_order(host->decision, i) == entry)
            return COVERAGE_FITS;
    return COVERAGE_NOT_FIT;
}

bool coverage_candidate(const struct ocv_entry *entry)
{
    switch (entry->code) {
    case OCV_REJECT_ATTESTATION:
    case OCV_REJECT_ARTIFACT:
    case OCV_REJECT_UNKNOWN_PLATFORM:
    case OCV_REJECT_MEDIA_TYPE:
    case OCV_REJECT_NESTED:
        return false;
    default:
        return true;
    }
}

/* The host's column as text, for comparison. */
struct column {
    const char *cells;
    size_t host, n;
};

static int by_cells(const void *a, const void *b)
{
    const struct column *x = a, *y = b;
    int order = memcmp(x->cells, y->cells, x->n);
    return order ? order : (x->host > y->host) - (x->host < y->host);
}

int coverage_share_columns(struct coverage *c, struct ocv_error *err)
{
    size_t n = ocv_index_count(c->image->index);
    ocv_auto_free char *cells = calloc(c->n, n + 1);
    ocv_auto_free struct column *columns = calloc(c->n + 1, sizeof(*columns));
    if (!cells || !columns)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < c->n; i++) {
        char *own = cells + i * (n + 1);
        columns[i] = (struct column){.cells = own, .host = i, .n = n};
        for (size_t k = 0; k < n; k++) {
            const struct ocv_entry *entry = ocv_index_entry(c->image->index, k);
            own[k] = coverage_candidate(entry) ? (char)coverage_cell(&c->hosts[i], entry)
                                               : (char)COVERAGE_NOT_FIT;
        }
    }
    qsort(columns, c->n, sizeof(*columns), by_cells);
    for (size_t i = 0, first = 0; i < c->n; i++) {
        if (memcmp(columns[i].cells, columns[first].cells, n) != 0)
            first = i;
        struct coverage_host *host = &c->hosts[columns[i].host];
        host->of = columns[first].host;
        host->alike = 0;
        c->hosts[host->of].alike++;
    }
    return OCV_OK;
}
