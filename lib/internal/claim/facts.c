/* SPDX-License-Identifier: LGPL-3.0-or-later */
#define OCV_DEVICE_TABLES
#include "lib/internal/claim/claim_internal.h"

#include <limits.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define MINOR_MAX 1000u

const struct ocv_device_driver *ocv_device_driver_at(size_t i)
{
    return i < COUNT(ocv_device_drivers) ? &ocv_device_drivers[i] : NULL;
}

size_t ocv_fact_place(const struct ocv_fact *fact)
{
    return fact->feature ? (size_t)(fact->feature - ocv_device_features)
                         : COUNT(ocv_device_features);
}

/* "12", "12.8" */
static bool parse_version(const char *text, unsigned *out)
{
    unsigned parts[2] = {0, 0};
    for (size_t part = 0; part < 2; part++) {
        size_t digits = strspn(text, "0123456789");
        if (digits < 1 || digits > 3)
            return false;
        for (; digits; digits--)
            parts[part] = parts[part] * 10 + (unsigned)(*text++ - '0');
        if (*text != '.')
            break;
        text++;
    }
    *out = parts[0] * MINOR_MAX + parts[1];
    return *text == '\0';
}

static void set_bit(struct ocv_fact *fact, size_t bit)
{
    if (bit < sizeof(fact->bits) * 8)
        fact->bits[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* The first place of a word among all words of the feature. */
static size_t word_place(const struct ocv_device_feature *feature, const char *word, size_t len)
{
    size_t place = 0;
    for (size_t i = 0; i < feature->n; i++)
        for (const char *w = ocv_device_words[feature->first + i].words; *w; place++) {
            size_t n = strcspn(w, " ");
            if (n == len && !memcmp(w, word, n))
                return place;
            w += n + strspn(w + n, " ");
        }
    return place;
}

static bool learn_value(struct ocv_fact *fact, const char *value)
{
    unsigned version;
    switch (fact->feature->test) {
    case OCV_DEVICE_AT_LEAST:
    case OCV_DEVICE_BELOW:
        if (!parse_version(value, &version))
            return false;
        fact->from = fact->feature->test == OCV_DEVICE_AT_LEAST ? version : 0;
        fact->below = fact->feature->test == OCV_DEVICE_BELOW ? version : UINT_MAX;
        return true;
    case OCV_DEVICE_CAPABILITY: {
        struct ocv_capability code;
        if (!ocv_capability_parse(value, &code))
            return false;
        for (unsigned i = 0; i < OCV_CAPABILITIES; i++)
            if (ocv_capability_fits(&code, i))
                set_bit(fact, i);
        return true;
    }
    case OCV_DEVICE_IS:
    case OCV_DEVICE_MODEL: {
        const struct ocv_device_feature *feature = fact->feature;
        for (size_t i = 0; i < feature->n && !fact->words; i++)
            if (!strcmp(ocv_device_words[feature->first + i].value, value))
                fact->words = ocv_device_words[feature->first + i].words;
        for (const char *w = fact->words; w && *w;) {
            size_t n = strcspn(w, " ");
            set_bit(fact, word_place(feature, w, n));
            w += n + strspn(w + n, " ");
        }
        return fact->words != NULL;
    }
    case OCV_DEVICE_ANY:
        return true;
    case OCV_DEVICE_NOTHING:
        break;
    }
    return false;
}

int ocv_facts_make(struct ocv_arena *arena, const struct ocv_index *index, struct ocv_fact **out,
                   struct ocv_error *err)
{
    size_t n = ocv_index_property_count(index);
    struct ocv_fact *facts = ocv_arena_alloc(arena, n + 1, sizeof(*facts));
    if (!facts)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        struct ocv_property p = ocv_index_property(index, (uint32_t)i);
        for (size_t k = 0; k < COUNT(ocv_device_drivers) && !facts[i].driver; k++)
            if (!strcmp(ocv_device_drivers[k].ns, p.ns))
                facts[i].driver = &ocv_device_drivers[k];
        for (size_t k = 0; k < COUNT(ocv_device_features) && !facts[i].feature; k++)
            if (&ocv_device_drivers[ocv_device_features[k].driver] == facts[i].driver &&
                !strcmp(ocv_device_features[k].name, p.feature))
                facts[i].feature = &ocv_device_features[k];
        facts[i].known = facts[i].feature && learn_value(&facts[i], p.value);
    }
    *out = facts;
    return OCV_OK;
}

bool ocv_fact_within(const struct ocv_fact *a, const struct ocv_fact *b)
{
    for (size_t i = 0; i < COUNT(a->bits); i++)
        if (a->bits[i] & ~b->bits[i])
            return false;
    return a->from >= b->from && a->below <= b->below;
}

bool ocv_fact_apart(const struct ocv_fact *a, const struct ocv_fact *b)
{
    switch (a->feature->test) {
    case OCV_DEVICE_AT_LEAST:
    case OCV_DEVICE_BELOW:
        return a->from >= b->below || b->from >= a->below;
    case OCV_DEVICE_CAPABILITY:
    case OCV_DEVICE_IS:
    case OCV_DEVICE_MODEL:
        break;
    case OCV_DEVICE_ANY:
    case OCV_DEVICE_NOTHING:
        return false;
    }
    for (size_t i = 0; i < COUNT(a->bits); i++)
        if (a->bits[i] & b->bits[i])
            return false;
    return true;
}

static size_t value_place(const struct ocv_device_feature *feature, const char *value)
{
    size_t i = 0;
    while (i < feature->n && strcmp(ocv_device_words[feature->first + i].value, value) != 0)
        i++;
    return i;
}

int ocv_fact_order(const struct ocv_fact *fact, const char *a, const char *b)
{
    struct ocv_capability x, y;
    switch (fact->feature ? fact->feature->test : OCV_DEVICE_NOTHING) {
    case OCV_DEVICE_AT_LEAST:
    case OCV_DEVICE_BELOW: {
        unsigned m = 0, n = 0;
        bool first = parse_version(a, &m), second = parse_version(b, &n);
        if (first != second)
            return first ? -1 : 1;
        if (m != n)
            return m > n ? -1 : 1;
        return (strchr(b, '.') != NULL) - (strchr(a, '.') != NULL); /* a bare major comes last */
    }
    case OCV_DEVICE_CAPABILITY:
        if (!ocv_capability_parse(a, &x) || !ocv_capability_parse(b, &y))
            return strcmp(a, b);
        return ocv_capability_order(&x, &y);
    case OCV_DEVICE_IS:
    case OCV_DEVICE_MODEL: {
        size_t i = value_place(fact->feature, a), k = value_place(fact->feature, b);
        return (i > k) - (i < k);
    }
    case OCV_DEVICE_ANY:
    case OCV_DEVICE_NOTHING:
        break;
    }
    return strverscmp(b, a); /* newer first */
}
