/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Platform matching as containerd/platforms v1.0.0-rc.5 does it: Only(host), Match and Less. The
 * host's preference order is a vector of (architecture, variant); the place of an entry in it is
 * its score. */

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/core/core_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct alias {
    const char *from, *architecture, *variant;
};

/* containerd/platforms database.go normalizeArch */
static const struct alias aliases[] = {
    {"i386", "386", ""},     {"i686", "386", ""},     {"x86", "386", ""},
    {"x86_64", "amd64", ""}, {"x86-64", "amd64", ""}, {"aarch64", "arm64", ""},
    {"armhf", "arm", "v7"},  {"armel", "arm", "v6"},  {"loongarch64", "loong64", ""},
};

bool ocv_platform_is_hidden(const char *variant)
{
    return variant && !strncmp(variant, "x-", 2);
}

bool ocv_platform_is_other_format(const struct ocv_platform *platform)
{
    return platform->n_os_features && (!platform->os || strcmp(platform->os, "windows") != 0);
}

void ocv_platform_hide(const char *label, char out[OCV_PLATFORM_HIDDEN_MAX])
{
    snprintf(out, OCV_PLATFORM_HIDDEN_MAX, "x-%s", label);
    for (char *p = out; (p = strchr(p, '.')) != NULL;)
        *p = '-';
}

/* The variant in containerd's normal form. `x-...` is the mark that writers of variant indexes put
 * on entries so that older clients do not see them: it has no meaning for the processor. */
static const char *normal_variant(const char *architecture, const char *variant)
{
    const char *v = ocv_or_empty(variant);
    if (ocv_platform_is_hidden(v))
        v = "";
    if (!strcmp(architecture, "amd64") && !strcmp(v, "v1"))
        return "";
    if (!strcmp(architecture, "arm64") &&
        (!strcmp(v, "8") || !strcmp(v, "v8") || !strcmp(v, "v8.0")))
        return "";
    if (!strcmp(architecture, "arm64") &&
        (!strcmp(v, "9") || !strcmp(v, "9.0") || !strcmp(v, "v9.0")))
        return "v9";
    if (!strcmp(architecture, "arm")) {
        if (!*v || !strcmp(v, "7"))
            return "v7";
        if (!strcmp(v, "5"))
            return "v5";
        if (!strcmp(v, "6"))
            return "v6";
        if (!strcmp(v, "8"))
            return "v8";
    }
    return v;
}

/* That of a platform whose architecture may be an alias: "armel" is arm v6. */
static const char *variant_of(const struct ocv_platform *platform)
{
    const char *architecture = ocv_or_empty(platform->architecture);
    for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
        if (!strcmp(architecture, aliases[i].from))
            return *aliases[i].variant ? aliases[i].variant
                                       : normal_variant(aliases[i].architecture, platform->variant);
    return normal_variant(architecture, platform->variant);
}

int ocv_platform_compare(const struct ocv_platform *a, const struct ocv_platform *b)
{
    int order = strcmp(ocv_or_empty(a->os_version), ocv_or_empty(b->os_version));
    if (order == 0)
        order = strcmp(variant_of(a), variant_of(b));
    if (order == 0 && a->n_os_features != b->n_os_features)
        order = a->n_os_features < b->n_os_features ? -1 : 1;
    for (size_t i = 0; order == 0 && i < a->n_os_features; i++)
        order = strcmp(a->os_features[i], b->os_features[i]);
    return order;
}

const char *ocv_platform_architecture(const char *architecture)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
        if (!strcmp(architecture, aliases[i].from))
            return aliases[i].architecture;
    return architecture;
}

/* "v3" -> 3 for MIN <= n <= MAX, else -1. An empty variant is `none`. */
static int variant_level(const char *variant, int none, int min, int max)
{
    if (!*variant)
        return none;
    if (variant[0] != 'v' || !isdigit((unsigned char)variant[1]) || variant[2])
        return -1;
    int n = variant[1] - '0';
    return n >= min && n <= max ? n : -1;
}

/* arm64 versions as major and minor; "" is v8.0. False if the text is not a version. */
static bool arm64_version(const char *variant, int *major, int *minor)
{
    const char *s = *variant ? variant : "v8";
    if (s[0] != 'v' || (s[1] != '8' && s[1] != '9'))
        return false;
    *major = s[1] - '0';
    *minor = 0;
    if (!s[2])
        return true;
    if (s[2] != '.' || !isdigit((unsigned char)s[3]) || s[4])
        return false;
    *minor = s[3] - '0';
    return true;
}

/* Number of own-architecture places, after which the compatible architecture's begin. */
static int own_places(const char *architecture, const char *variant)
{
    int major, minor;
    if (!strcmp(architecture, "arm64") && arm64_version(variant, &major, &minor))
        return major == 9 ? minor + 1 + (minor + 5 < 9 ? minor + 5 : 9) + 1 : minor + 1;
    int n = variant_level(variant, 1, 1, 4);
    return n > 0 ? n : 2; /* the same text, or none */
}

bool ocv_platform_same_architecture(const struct ocv_platform *a, const struct ocv_platform *b)
{
    return !strcmp(ocv_platform_architecture(ocv_or_empty(a->architecture)),
                   ocv_platform_architecture(ocv_or_empty(b->architecture)));
}

static int match_architecture(const struct ocv_platform *host, const struct ocv_platform *entry,
                              const char **why)
{
    const char *ha = ocv_platform_architecture(ocv_or_empty(host->architecture));
    const char *ea = ocv_platform_architecture(ocv_or_empty(entry->architecture));
    const char *hv = variant_of(host), *ev = variant_of(entry);
    *why = "variant";
    if (!strcmp(ha, ea)) {
        int h = -1, e = -1;
        if (!strcmp(ha, "arm64")) {
            /* place in the order of the host's version: v9.k .. v9.0, v8.(5+k) .. v8.0 */
            int hmajor, hminor, emajor, eminor;
            if (!strcmp(hv, ev))
                return 0;
            if (!arm64_version(ev, &emajor, &eminor))
                return -1;
            if (!arm64_version(hv, &hmajor, &hminor))
                return *ev ? -1 : 1;
            if (hmajor == emajor)
                return eminor <= hminor ? hminor - eminor : -1;
            if (hmajor < emajor)
                return -1;
            int top = hminor + 5 < 9 ? hminor + 5 : 9; /* v9.4 and newer include v8.9 */
            return eminor <= top ? hminor + 1 + top - eminor : -1;
        }
        if (!strcmp(ha, "amd64")) {
            h = variant_level(hv, 1, 1, 4);
            e = variant_level(ev, 1, 1, 4);
        } else if (!strcmp(ha, "arm")) {
            h = variant_level(hv, 7, 5, 8);
            e = variant_level(ev, 7, 5, 8);
        }
        if (h > 0 && e > 0)
            return e <= h ? h - e : -1;
        if (!strcmp(hv, ev))
            return 0;
        return *ev ? -1 : 1; /* an entry that asks for nothing special runs everywhere */
    }
    if (!strcmp(ha, "amd64") && !strcmp(ea, "386"))
        return *ev ? -1 : own_places(ha, hv);
    if (!strcmp(ha, "arm64") && !strcmp(ea, "arm")) {
        int e = variant_level(ev, 7, 5, 8);
        return e < 0 ? -1 : own_places(ha, hv) + 8 - e;
    }
    *why = "architecture";
    return -1;
}

int ocv_platform_match(const struct ocv_platform *host, const struct ocv_platform *entry,
                       const char **why)
{
    const char *ignored;
    const char **reason = why ? why : &ignored;
    *reason = "os";
    if (strcmp(ocv_or_empty(host->os), ocv_or_empty(entry->os)) != 0)
        return -1;
    int place = match_architecture(host, entry, reason);
    for (size_t i = 0; place >= 0 && i < entry->n_os_features; i++) {
        size_t k = 0;
        while (k < host->n_os_features && strcmp(entry->os_features[i], host->os_features[k]) != 0)
            k++;
        if (k == host->n_os_features) {
            *reason = "os.features";
            place = -1;
        }
    }
    return place;
}

bool ocv_index_has_levels(const struct ocv_index *index, const struct ocv_platform *platform)
{
    const char *first = NULL, *variant;
    for (size_t i = 0; i < index->n_entries; i++) {
        const struct ocv_entry *entry = &index->entries[i];
        if (entry->code != OCV_REJECT_NONE || !entry->has_platform ||
            strcmp(platform->os ? platform->os : "linux", ocv_or_empty(entry->platform.os)) != 0 ||
            !ocv_platform_same_architecture(platform, &entry->platform))
            continue;
        variant = variant_of(&entry->platform);
        if (first && strcmp(first, variant) != 0)
            return true;
        first = variant;
    }
    return false;
}

int ocv_platform_parse(const char *text, struct ocv_platform **out, struct ocv_error *err)
{
    size_t len = strnlen(text, 200);
    ocv_auto_free struct ocv_platform *platform = calloc(1, sizeof(*platform) + len + 1);
    if (!platform)
        return ocv_error_nomem(err);
    char *copy = (char *)(platform + 1), *parts[4] = {0};
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        copy[i] = (char)tolower((unsigned char)text[i]);
    bool ok = len > 0 && len < 200;
    for (char *p = copy; p && n < 4;) {
        parts[n++] = p;
        if ((p = strchr(p, '/')))
            *p++ = '\0';
    }
    for (size_t i = 0; i < n; i++) {
        ok = ok && *parts[i];
        for (const char *s = parts[i]; *s; s++)
            ok = ok && (isalnum((unsigned char)*s) || strchr("_.-", *s));
    }
    if (!ok || n == 0 || n > 3)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "'%.100s' is not a platform (OS/ARCHITECTURE[/VARIANT])", text);
    static const char *const systems[] = {"linux", "windows", "darwin", "freebsd", "unknown"};
    /* containerd/platforms database.go isKnownArch, and the aliases */
    static const char *const architectures[] = {
        "386",      "amd64",  "arm",   "arm64",   "loong64", "mips",  "mips64",
        "mips64le", "mipsle", "ppc",   "ppc64",   "ppc64le", "riscv", "riscv64",
        "s390",     "s390x",  "sparc", "sparc64", "wasm",
    };
    bool known = ocv_platform_architecture(parts[0]) != parts[0];
    for (size_t i = 0; i < sizeof(architectures) / sizeof(*architectures); i++)
        known = known || !strcmp(parts[0], architectures[i]);
    bool has_os = n == 3 || (n == 2 && !known);
    for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++)
        has_os = has_os || !strcmp(parts[0], systems[i]);
    if (has_os && n == 1)
        return ocv_error_set(err, OCV_ERR_INVALID, "platform '%.100s' names no architecture", text);
    platform->os = has_os ? parts[0] : "linux";
    platform->architecture = parts[has_os ? 1 : 0];
    platform->variant = parts[has_os ? 2 : 1];
    for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
        if (strcmp(platform->architecture, aliases[i].from) != 0)
            continue;
        platform->architecture = aliases[i].architecture;
        if (!platform->variant && *aliases[i].variant)
            platform->variant = aliases[i].variant;
        break;
    }
    *out = ocv_steal(&platform);
    return OCV_OK;
}

void ocv_platform_free(struct ocv_platform *platform)
{
    free(platform);
}

const char *ocv_platform_format(const struct ocv_platform *platform, char *out, size_t size)
{
    const char *variant = ocv_or_empty(platform->variant);
    snprintf(out, size, "%s/%s%s%s", platform->os ? platform->os : "unknown",
             platform->architecture ? platform->architecture : "unknown", *variant ? "/" : "",
             variant);
    if (size)
        ocv_text_clean(out); /* an index's platform may be any text */
    return out;
}
