/* SPDX-License-Identifier: GPL-3.0-or-later */
/* References: the parsed form, written as text, parses to itself. Also platforms. */
#include "ocivariant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static void check_reference(const char *text)
{
    ocv_auto(ocv_reference) ref = NULL;
    ocv_auto(ocv_reference) again = NULL;
    ocv_auto(ocv_reference) familiar = NULL;
    char written[4096];
    if (ocv_reference_parse(text, &ref, NULL) < 0)
        return;
    for (int form = 0; form < 2; form++) {
        struct ocv_reference **out = form ? &familiar : &again;
        snprintf(written, sizeof(written), "%s%s%s%s%s", form ? ref->familiar : ref->name,
                 ref->tag ? ":" : "", ref->tag ? ref->tag : "", ref->digest ? "@" : "",
                 ref->digest ? ref->digest : "");
        if (strlen(written) > 1024)
            continue;
        if (ocv_reference_parse(written, out, NULL) < 0 || !same(ref->name, (*out)->name) ||
            !same(ref->tag, (*out)->tag) || !same(ref->digest, (*out)->digest) ||
            !same(ref->familiar, (*out)->familiar))
            abort();
    }
    if (strstr(ref->repository, "..") || ref->repository[0] == '/')
        abort(); /* repositories become paths */
}

static void check_platform(const char *text)
{
    ocv_auto(ocv_platform) p = NULL;
    ocv_auto(ocv_platform) again = NULL;
    char written[512];
    if (ocv_platform_parse(text, &p, NULL) < 0)
        return;
    ocv_platform_format(p, written, sizeof(written));
    if (ocv_platform_match(p, p, NULL) < 0)
        abort();
    if (strlen(written) < 200 && ocv_platform_parse(written, &again, NULL) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    if (!text)
        return 0;
    check_reference(text);
    check_platform(text);
    ocv_digest_wellformed(text);
    ocv_reference_tag_valid(text);
    free(text);
    return 0;
}
