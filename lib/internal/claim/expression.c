/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* CEL for a group. An error on one device leaves a pod without a node anywhere, so that each
 * attribute is read behind the question whether the device has it. */
#include "lib/base/cleanup.h"
#include "lib/internal/claim/claim_internal.h"

#include <string.h>

static bool term_within(const struct ocv_claim_work *work, const struct ocv_claim_term *a,
                        const struct ocv_claim_term *b)
{
    if (work->facts[a->ids[0]].feature != work->facts[b->ids[0]].feature)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        bool found = false;
        for (size_t k = 0; k < b->n && !found; k++)
            found = ocv_fact_within(&work->facts[a->ids[i]], &work->facts[b->ids[k]]);
        if (!found)
            return false;
    }
    return true;
}

static bool product_within(const struct ocv_claim_work *work, const struct ocv_claim_product *a,
                           const struct ocv_claim_product *b)
{
    for (size_t i = 0; i < b->n; i++) {
        bool found = false;
        for (size_t k = 0; k < a->n && !found; k++)
            found = term_within(work, &a->terms[k], &b->terms[i]);
        if (!found)
            return false;
    }
    return true;
}

/* The one term in which two products of the same features differ; their number: none or several. */
static size_t only_difference(const struct ocv_claim_work *work, const struct ocv_claim_product *a,
                              const struct ocv_claim_product *b)
{
    size_t at = a->n;
    if (a->n != b->n)
        return a->n;
    for (size_t i = 0; i < a->n; i++) {
        if (work->facts[a->terms[i].ids[0]].feature != work->facts[b->terms[i].ids[0]].feature)
            return a->n;
        if (term_within(work, &a->terms[i], &b->terms[i]) &&
            term_within(work, &b->terms[i], &a->terms[i]))
            continue;
        if (at < a->n)
            return a->n;
        at = i;
    }
    return at;
}

static int print_capability(struct ocv_buffer *out, const char *name, const char *value,
                            struct ocv_error *err)
{
    struct ocv_capability code = {0};
    (void)!ocv_capability_parse(value, &code); /* it is one, since the fact is known */
    unsigned major = code.code / 10, minor = code.code % 10;
    if (code.form == 'v')
        return ocv_buffer_printf(out, err, "a.%s.compareTo(semver('%u.%u.0')) >= 0", name, major,
                                 minor);
    OCV_TRY(ocv_buffer_printf(out, err, "a.%s.major() == %u", name, major));
    unsigned fits[10], n = 0, last = 0;
    for (unsigned m = 0; m < 10; m++)
        if (ocv_capability_fits(&code, major * 10 + m))
            fits[n++] = last = m;
    if (n == 10)
        return OCV_OK;
    if (last < 9) { /* a few, not all that come later */
        OCV_TRY(ocv_buffer_printf(out, err, " && a.%s.minor() in [", name));
        for (unsigned i = 0; i < n; i++)
            OCV_TRY(ocv_buffer_printf(out, err, "%s%u", i ? ", " : "", fits[i]));
        return ocv_buffer_printf(out, err, "]");
    }
    if (fits[0] > 0)
        OCV_TRY(ocv_buffer_printf(out, err, " && a.%s.minor() >= %u", name, fits[0]));
    for (unsigned m = fits[0]; m < 9; m++)
        if (!ocv_capability_fits(&code, major * 10 + m))
            OCV_TRY(ocv_buffer_printf(out, err, " && a.%s.minor() != %u", name, m));
    return OCV_OK;
}

static int print_term(struct ocv_buffer *out, const struct ocv_claim_work *work,
                      const struct ocv_claim_term *term, struct ocv_error *err)
{
    const struct ocv_device_feature *feature = work->facts[term->ids[0]].feature;
    const char *name = feature->attribute;
    OCV_TRY(ocv_buffer_printf(out, err, "'%s' in a && ", name));
    if (feature->test == OCV_DEVICE_IS || feature->test == OCV_DEVICE_MODEL) {
        bool model = feature->test == OCV_DEVICE_MODEL, first = true;
        const char *between = model ? "|" : ", ", *quote = model ? "" : "'";
        OCV_TRY(ocv_buffer_printf(out, err, model ? "a.%s.matches('(^|_)(" : "a.%s in [", name));
        for (size_t i = 0; i < term->n; i++)
            for (const char *w = work->facts[term->ids[i]].words; *w; first = false) {
                size_t n = strcspn(w, " ");
                OCV_TRY(ocv_buffer_printf(out, err, "%s%s%.*s%s", first ? "" : between, quote,
                                          (int)n, w, quote));
                w += n + strspn(w + n, " ");
            }
        return ocv_buffer_printf(out, err, model ? ")([^0-9]|$)')" : "]");
    }
    if (term->n > 1)
        OCV_TRY(ocv_buffer_printf(out, err, "("));
    for (size_t i = 0; i < term->n; i++) {
        const struct ocv_fact *fact = &work->facts[term->ids[i]];
        bool below = feature->test == OCV_DEVICE_BELOW;
        unsigned version = below ? fact->below : fact->from; /* "12.8" -> 12.8.0 */
        if (i)
            OCV_TRY(ocv_buffer_printf(out, err, " ||\n      "));
        OCV_TRY(feature->test == OCV_DEVICE_CAPABILITY
                    ? print_capability(out, name,
                                       ocv_index_property(work->index, term->ids[i]).value, err)
                    : ocv_buffer_printf(out, err, "a.%s.compareTo(semver('%u.%u.0')) %s 0", name,
                                        version / 1000, version % 1000, below ? "<" : ">="));
    }
    return term->n > 1 ? ocv_buffer_printf(out, err, ")") : OCV_OK;
}

static int print_products(struct ocv_buffer *out, const struct ocv_claim_work *work,
                          const char *driver, const struct ocv_claim_product *list, size_t n,
                          struct ocv_error *err)
{
    OCV_TRY(ocv_buffer_printf(out, err, "cel.bind(a, device.attributes['%s'],", driver));
    for (size_t i = 0; i < n; i++) {
        OCV_TRY(ocv_buffer_printf(out, err, "%s%s", i ? " ||\n  " : "\n  ", n > 1 ? "(" : ""));
        for (size_t k = 0; k < list[i].n; k++) {
            if (k)
                OCV_TRY(ocv_buffer_printf(out, err, " &&\n  %s", n > 1 ? " " : ""));
            OCV_TRY(print_term(out, work, &list[i].terms[k], err));
        }
        if (n > 1)
            OCV_TRY(ocv_buffer_printf(out, err, ")"));
    }
    return ocv_buffer_printf(out, err, ")");
}

int ocv_claim_express(const struct ocv_claim_work *work, const struct ocv_claim_group *group,
                      const char **out, struct ocv_error *err)
{
    size_t n = group->n_products;
    struct ocv_claim_product *list = group->products;
    *out = NULL;
    for (size_t i = 0; i < n;) {
        bool covered = false;
        for (size_t k = 0; k < n && !covered; k++)
            covered = k != i && product_within(work, &list[i], &list[k]);
        if (covered)
            memmove(&list[i], &list[i + 1], (--n - i) * sizeof(*list));
        else
            i++;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n;) {
            size_t at = only_difference(work, &list[i], &list[k]);
            if (at == list[i].n) {
                k++;
                continue;
            }
            /* unite them: those of `b` that `a` does not cover, behind those of `a` */
            struct ocv_claim_term *a = &list[i].terms[at], *b = &list[k].terms[at];
            uint32_t *ids = ocv_arena_alloc(&work->claim->arena, a->n + b->n, sizeof(*ids));
            size_t n_ids = 0;
            if (!ids)
                return ocv_error_nomem(err);
            for (size_t t = 0; t < a->n; t++)
                if (!term_within(work, &(struct ocv_claim_term){&a->ids[t], 1}, b))
                    ids[n_ids++] = a->ids[t];
            memcpy(ids + n_ids, b->ids, b->n * sizeof(*ids));
            *a = (struct ocv_claim_term){ids, n_ids + b->n};
            memmove(&list[k], &list[k + 1], (--n - k) * sizeof(*list));
            k = i + 1;
        }
    for (size_t i = 0; i < n; i++)
        if (list[i].n == 0)
            return OCV_OK; /* whatever the driver has */
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_CLAIM_EXPRESSION_MAX);
    int status = print_products(&text, work, group->driver->name, list, n, err);
    if (status == OCV_ERR_DATA)
        return ocv_error_set(err, status, "%s: the expression for its devices exceeds %u bytes",
                             group->labels[0], OCV_CLAIM_EXPRESSION_MAX);
    if (status < 0)
        return status;
    *out = ocv_arena_copy(&work->claim->arena, text.data, text.len);
    return *out ? OCV_OK : ocv_error_nomem(err);
}
