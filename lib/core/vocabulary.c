/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Look-ups in the vocabulary: is a word in it, and if not, which one was meant? */
#include "gen/vocabulary.h"
#include "lib/base/text.h"
#include "ocivariant/vocabulary.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

typedef const struct ocv_vocabulary_feature *feature_ref;

static bool matches_pattern(const char *pattern, const char *text)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return true; /* out of memory: say nothing */
    bool match = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return match;
}

/* The next of "a,b,c", "" past the last. */
static const char *next_value(const char **list, char out[OCV_WORD_MAX])
{
    size_t n = strcspn(*list, ",");
    snprintf(out, OCV_WORD_MAX, "%.*s", (int)n, *list);
    *list += n + ((*list)[n] != '\0');
    return out;
}

/* Of a pattern, what the wrong value becomes by small changes that people get wrong: a prefix of
 * letters too many ("sm_90"), a dot missing ("128"), a suffix missing or too many. A number is
 * never cut: it would be a lower one. */
static bool repair_value(feature_ref feature, const char *value, char out[OCV_WORD_MAX])
{
    const char *pattern = feature->pattern;
    size_t digits = strcspn(value, "0123456789"), len = strlen(value);
    /* The letters have to name the unit of the number ("sm_90", "compute_90"). Those that begin a
     * product's name do not: H100 has compute capability 9.0. */
    size_t unit = digits && value[digits - 1] == '_' ? digits - 1 : digits;
    if (feature->names && strncmp(feature->name, value, unit) != 0 &&
        (unit != 7 || strncmp(value, "compute", unit) != 0))
        return false;
    for (size_t start = 0; start <= digits; start += digits ? digits : 1) {
        for (size_t cut = len - start; cut > 0 && cut + 4 >= len - start; cut--) {
            static const char *const suffixes[] = {"", "_real", ".0"};
            const char *at = value + start;
            bool in_number =
                at[cut] >= '0' && at[cut] <= '9' && at[cut - 1] >= '0' && at[cut - 1] <= '9';
            for (size_t s = 0; s < COUNT(suffixes) && !in_number; s++) {
                snprintf(out, OCV_WORD_MAX, "%.*s%s", (int)cut, at, suffixes[s]);
                if (matches_pattern(pattern, out))
                    return true;
            }
        }
        snprintf(out, OCV_WORD_MAX, "%.*s.%s", (int)(len - start) - 1, value + start,
                 len > start ? value + len - 1 : "");
        if (len - start > 1 && matches_pattern(pattern, out))
            return true;
    }
    return false;
}

static const char *meant_value(feature_ref feature, const char *value, char out[OCV_WORD_MAX])
{
    struct ocv_nearest nearest = {.wanted = value};
    char words[64][OCV_WORD_MAX];
    const char *list = feature->values;
    /* a product's name: "H100", "rtx_4090" */
    char plain[OCV_WORD_MAX], word[OCV_WORD_MAX];
    size_t n = 0;
    for (const char *c = value; *c && n + 1 < sizeof(plain); c++)
        if (*c != '_')
            plain[n++] = (char)tolower((unsigned char)*c);
    plain[n] = '\0';
    for (const char *names = feature->names ? feature->names : ""; *names;) {
        const char *equals = strchr(next_value(&names, word), '=');
        if (equals && (size_t)(equals - word) == n && !memcmp(word, plain, n)) {
            snprintf(out, OCV_WORD_MAX, "%s", equals + 1);
            return out;
        }
    }
    if (!list)
        return strlen(value) < OCV_WORD_MAX - 16 && repair_value(feature, value, out) ? out : NULL;
    for (size_t i = 0; *list && i < COUNT(words); i++)
        ocv_nearest_offer(&nearest, next_value(&list, words[i]));
    const char *meant = ocv_nearest_meant(&nearest);
    if (meant)
        snprintf(out, OCV_WORD_MAX, "%s", meant);
    return meant ? out : NULL;
}

static enum ocv_word offer_instead(enum ocv_word part, const char *instead, char *meant)
{
    if (meant)
        snprintf(meant, OCV_WORD_MAX, "%s", instead ? instead : "");
    return part;
}

enum ocv_word ocv_vocabulary_check(const char *ns, const char *feature, const char *value,
                                   char meant[OCV_WORD_MAX])
{
    char word[OCV_WORD_MAX];
    if (!ocv_vocabulary_owns(ns))
        return offer_instead(
            OCV_WORD_NAMESPACE,
            ocv_nearest(ns, ocv_vocabulary_namespaces, COUNT(ocv_vocabulary_namespaces)), meant);
    feature_ref found = NULL;
    for (size_t i = 0; feature && !found && i < COUNT(ocv_vocabulary_features); i++)
        if (!strcmp(ocv_vocabulary_features[i].ns, ns) &&
            !strcmp(ocv_vocabulary_features[i].name, feature))
            found = &ocv_vocabulary_features[i];
    if (feature && !found) {
        struct ocv_nearest nearest = {.wanted = feature};
        for (size_t i = 0; i < COUNT(ocv_vocabulary_features); i++)
            if (!strcmp(ocv_vocabulary_features[i].ns, ns))
                ocv_nearest_offer(&nearest, ocv_vocabulary_features[i].name);
        return offer_instead(OCV_WORD_FEATURE, ocv_nearest_meant(&nearest), meant);
    }
    if (!found || !value || (!found->values && matches_pattern(found->pattern, value)))
        return OCV_WORD_KNOWN;
    for (const char *list = found->values ? found->values : ""; *list;)
        if (!strcmp(next_value(&list, word), value))
            return OCV_WORD_KNOWN;
    return offer_instead(OCV_WORD_VALUE, meant_value(found, value, word), meant);
}
