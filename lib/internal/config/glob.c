/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The globs of `repositories`: HOST/PATH, in which `*` stands for any part of a component and a
 * component `**` for any number of them. */
#include "lib/internal/config/config_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GLOB_BYTES_MAX 255u /* as the name of an image */

/* What is wrong with the component at `s`, which is not a host; NULL: nothing. */
static const char *wrong_component(const char *s, size_t n)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyz0123456789._-*";
    size_t good = strspn(s, known);
    if (n == 0)
        return "has an empty component";
    if (good < n)
        return s[good] == ':' || s[good] == '@' ? "must name repositories, without tag or digest"
                                                : "is not a glob of repositories (HOST/PATH)";
    return n != 2 && memmem(s, n, "**", 2) ? "has '**' beside something else in a component" : NULL;
}

int ocv_glob_canonical(const char *glob, char **out, struct ocv_error *err)
{
    char host[GLOB_BYTES_MAX + 1];
    if (strlen(glob) > GLOB_BYTES_MAX)
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s...' is longer than %u bytes", glob,
                             GLOB_BYTES_MAX);
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(glob, "/"), glob);
    const char *wrong = NULL, *path = glob + strlen(host), *at = path;
    if (strchr(host, '*'))
        wrong = wrong_component(host, strlen(host));
    else if (!ocv_reference_host_valid(host) ||
             (!strpbrk(host, ".:[") && strcmp(host, "localhost") != 0))
        wrong = "must begin with a registry (docker.io/...) or with '*'";
    else if (!*path)
        wrong = "names a registry: its repositories are HOST/**";
    while (!wrong && *at) {
        size_t n = strcspn(++at, "/");
        wrong = wrong_component(at, n);
        at += n;
    }
    if (wrong)
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.100s' %s", glob, wrong);
    const char *canonical = ocv_reference_host_canonical(host);
    bool official = !strcasecmp(canonical, "docker.io") && *path && !strchr(path + 1, '/') &&
                    strcmp(path, "/**") != 0;
    if (asprintf(out, "%s%s%s", canonical, official ? "/library" : "", path) < 0) {
        *out = NULL;
        return ocv_error_nomem(err);
    }
    return OCV_OK;
}

/* All positions in the pattern that a name may have come to are followed at once, so that no
 * pattern takes longer than its length times the name's. Of a component "**" the first is before
 * it, the second within it. */
struct positions {
    bool at[GLOB_BYTES_MAX + 16]; /* "library/" may have been put in */
};

static bool is_deep(const char *pattern, size_t i)
{
    return !strncmp(pattern + i, "**", 2) && (i == 0 || pattern[i - 1] == '/');
}

static bool within_deep(const char *pattern, size_t i)
{
    return i > 0 && is_deep(pattern, i - 1);
}

static void enter_state(struct positions *p, const char *pattern, size_t i)
{
    if (p->at[i])
        return;
    p->at[i] = true;
    if (is_deep(pattern, i)) {
        p->at[i + 1] = true;
        if (pattern[i + 2] == '/')
            enter_state(p, pattern, i + 3); /* no component at all */
    } else if (pattern[i] == '*' && !within_deep(pattern, i)) {
        enter_state(p, pattern, i + 1);
    }
}

bool ocv_glob_match(const char *pattern, const char *name)
{
    struct positions now = {0};
    size_t n = strlen(pattern);
    enter_state(&now, pattern, 0);
    for (; *name; name++) {
        struct positions next = {0};
        for (size_t i = 0; i < n; i++) {
            if (!now.at[i] || is_deep(pattern, i))
                continue; /* the position within it goes on */
            if (within_deep(pattern, i)) {
                next.at[i] = true;
                if (*name == '/' && pattern[i + 1] == '/')
                    enter_state(&next, pattern, i + 2);
            } else if (pattern[i] == '*') {
                if (*name != '/')
                    enter_state(&next, pattern, i);
            } else if (tolower((unsigned char)pattern[i]) == tolower((unsigned char)*name)) {
                enter_state(&next, pattern, i + 1);
            }
        }
        now = next;
    }
    return now.at[n] || (n > 1 && within_deep(pattern, n - 1) && now.at[n - 1]);
}

bool ocv_glob_more_specific(const char *a, const char *b)
{
    size_t prefix_a = strcspn(a, "*"), prefix_b = strcspn(b, "*");
    bool host_a = strcspn(a, "/") < prefix_a, host_b = strcspn(b, "/") < prefix_b;
    if (host_a != host_b)
        return host_a;
    if (prefix_a != prefix_b)
        return prefix_a > prefix_b;
    size_t stars_a = 0, stars_b = 0;
    while (*a)
        stars_a += *a++ == '*';
    while (*b)
        stars_b += *b++ == '*';
    return stars_a < stars_b;
}
