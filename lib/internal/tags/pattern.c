/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Patterns and templates of tag rules. */
#include "lib/internal/tags/tags_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Intervals and repetitions inside of each other multiply the size of a compiled pattern, and
 * back-references make matching exponential: a rule file needs none of them. */
#define NESTING_MAX 5
static const char *find_forbidden(const char *pattern)
{
    bool bracket = false;
    int depth = 0; /* a pattern may not close the frame that it is put into */
    for (const char *p = pattern; *p; p++) {
        if (bracket) {
            bracket = *p != ']' || p[-1] == '[' || (p[-1] == '^' && p[-2] == '[');
            continue;
        }
        if (*p == '[')
            bracket = true;
        else if (*p == '{' || *p == '}')
            return "intervals {} are not allowed";
        else if (*p == '\\' && isdigit((unsigned char)p[1]))
            return "back-references are not allowed in a pattern";
        else if (*p == '\\' && p[1])
            p++;
        else if (strchr("*+?", *p) && p[1] && strchr("*+?", p[1]))
            return "a repetition of a repetition";
        else if (*p == '(' && ++depth > NESTING_MAX)
            return "nested too deeply";
        else if (*p == ')' && --depth < 0)
            return "a ) without its (";
    }
    return bracket || depth ? "a ( or [ that is not closed" : NULL;
}

int ocv_tag_pattern_compile(const char *pattern, const char *separators, regex_t *out,
                            struct ocv_error *err)
{
    char framed[OCV_TAG_PATTERN_MAX + 64];
    const char *wrong =
        strlen(pattern) > OCV_TAG_PATTERN_MAX ? "is too long" : find_forbidden(pattern);
    if (wrong)
        return ocv_error_set(err, OCV_ERR_CONFIG, "pattern '%.80s': %s", pattern, wrong);
    if (separators)
        snprintf(framed, sizeof(framed), "^(%s)([%s]|$)", pattern, separators);
    else
        snprintf(framed, sizeof(framed), "^(%s)$", pattern);
    int code = regcomp(out, framed, REG_EXTENDED);
    if (code == 0)
        return OCV_OK;
    if (code == REG_ESPACE)
        return ocv_error_nomem(err);
    char why[128];
    regerror(code, out, why, sizeof(why));
    return ocv_error_set(err, OCV_ERR_CONFIG, "pattern '%.80s': %s", pattern, why);
}

/* Does the text begin otherwise than all that the pattern matches? Compiling costs a hundred times
 * as much as a look at the characters that stand for themselves before anything else. */
static bool begins_otherwise(const char *pattern, const char *text)
{
    int depth = 0;
    for (const char *p = pattern; *p; p++) { /* another branch may begin as it likes */
        if (*p == '\\' && p[1]) {
            p++;
        } else if (*p == '[') {
            p += p[1] == '^' ? 2 : 1;
            p += *p ? strcspn(p + 1, "]") + 1 : 0; /* a ] that comes first is a member */
            if (!*p)
                return false;
        } else if (*p == '|' && depth == 0)
            return false;
        else
            depth += (*p == '(') - (*p == ')');
    }
    for (const char *p = pattern; *p && !strchr("[].*+?(){}|^$", *p); p++, text++) {
        if (*p == '\\' && (!p[1] || isalnum((unsigned char)p[1])))
            return false;
        p += *p == '\\';
        if (p[1] && strchr("*+?{", p[1])) /* it may be missing */
            return false;
        if (*p != *text)
            return true;
    }
    return false;
}

bool ocv_tag_pattern_may(const char *pattern, const char *text)
{
    regmatch_t captures[OCV_TAG_CAPTURES];
    regex_t regex;
    if (begins_otherwise(pattern, text))
        return false;
    if (ocv_tag_pattern_compile(pattern, NULL, &regex, NULL) < 0)
        return true;
    bool nomem = false, match = ocv_tag_match(&regex, text, captures, &nomem);
    regfree(&regex);
    return match || nomem;
}

bool ocv_tag_match(const regex_t *regex, const char *text, regmatch_t captures[OCV_TAG_CAPTURES],
                   bool *nomem)
{
    int code = regexec(regex, text, OCV_TAG_CAPTURES, captures, 0);
    *nomem = *nomem || code == REG_ESPACE;
    return code == 0;
}

int ocv_tag_template(const char *format, const char *text, const regmatch_t *captures, bool lower,
                     char out[OCV_TAG_TEXT_MAX])
{
    size_t n = 0;
    for (const char *p = format; *p; p++) {
        const char *from = p;
        size_t len = 1;
        if (*p == '\\' && isdigit((unsigned char)p[1])) {
            const regmatch_t *c = &captures[p[1] - '0' + 1]; /* the frame is capture 0 */
            from = c->rm_so < 0 ? "" : text + c->rm_so;
            len = c->rm_so < 0 ? 0 : (size_t)(c->rm_eo - c->rm_so);
            p++;
        }
        if (n + len >= OCV_TAG_TEXT_MAX)
            return OCV_ERR_DATA;
        for (size_t i = 0; i < len; i++)
            out[n++] = lower ? (char)tolower((unsigned char)from[i]) : from[i];
    }
    out[n] = '\0';
    return OCV_OK;
}

bool ocv_tag_glob(const char *pattern, const char *text)
{
    const char *star = NULL, *mark = NULL; /* the last star and where its text ends so far */
    bool deep = false;
    for (;;) {
        if (*pattern == '*') {
            deep = pattern[1] == '*';
            pattern += deep ? 2 : 1;
            star = pattern;
            mark = text;
        } else if (*text && *pattern == *text) {
            pattern++;
            text++;
        } else if (!*text && !*pattern) {
            return true;
        } else if (star && *mark && (deep || *mark != '/')) {
            pattern = star;
            text = ++mark;
        } else {
            return false;
        }
    }
}

/* A run of digits counts as a number, "rc", "a", "b", "dev" and "alpha" stand before the end. */
static int rank_of(const char *p)
{
    if (isdigit((unsigned char)*p))
        return 3;
    if (!*p)
        return 1;
    return strncmp(p, "rc", 2) == 0 || strncmp(p, "dev", 3) == 0 || strncmp(p, "a", 1) == 0 ||
                   strncmp(p, "b", 1) == 0
               ? 0
               : 2;
}

int ocv_tag_version_compare(const char *a, const char *b)
{
    for (;;) {
        a += strspn(a, "._-+");
        b += strspn(b, "._-+");
        int ra = rank_of(a), rb = rank_of(b);
        if (ra != rb)
            return ra < rb ? -1 : 1;
        if (ra == 1)
            return 0;
        size_t na = ra == 3 ? strspn(a, "0123456789") : 1,
               nb = rb == 3 ? strspn(b, "0123456789") : 1;
        if (ra == 3) {
            while (na > 1 && *a == '0')
                a++, na--;
            while (nb > 1 && *b == '0')
                b++, nb--;
            if (na != nb)
                return na < nb ? -1 : 1;
        }
        int order = memcmp(a, b, na);
        if (order != 0)
            return order < 0 ? -1 : 1;
        a += na;
        b += nb;
    }
}
