/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Platforms and order of entries (OCV501 to 505, 507 to 509, 514, 521 to 524): what clients that
 * know nothing of variants take. */
#include "lib/internal/lint/lint_internal.h"

#include <stdio.h>
#include <string.h>

static bool is_plain(const struct ocv_entry *entry)
{
    const char *variant = entry->platform.variant;
    return !variant || !*variant;
}

static const struct ocv_entry *entry_at(const struct ocv_lint *lint, size_t i)
{
    return ocv_index_entry(lint->index, i);
}

#define NO_DEFAULT                                                                              \
    "hosts that no variant fits find nothing, nor do Docker and containerd; crane, ko, kaniko " \
    "and cosign take the first variant, whatever it needs"
#define BY_NATURE                                                                \
    "; if these images need an accelerator by nature: level: {OCV501: warning} " \
    "in " OCV_LINT_CONFIG_FILE

static void check_default(struct ocv_lint *lint, size_t i)
{
    const struct ocv_entry *entry = entry_at(lint, i);
    char name[128];
    if (!entry->has_platform)
        return;
    /* the first of the entries that an operator would count to this platform speaks for all */
    for (size_t k = 0; k < i; k++)
        if (entry_at(lint, k)->code == OCV_REJECT_NONE &&
            ocv_lint_same_platform(entry, entry_at(lint, k)))
            return;
    for (size_t k = 0; k < ocv_index_count(lint->index); k++)
        if (ocv_entry_is_default(entry_at(lint, k)) &&
            ocv_lint_same_platform(entry, entry_at(lint, k)))
            return;
    struct ocv_platform platform = {.os = entry->platform.os,
                                    .architecture = entry->platform.architecture};
    ocv_platform_format(&platform, name, sizeof(name));
    ocv_lint_entry_at(lint, OCV_LINT_DEFAULT_MISSING, i, "/platform",
                      "no default for %s: " NO_DEFAULT, name);
    if (lint->input->draft)
        ocv_lint_hint(lint,
                      lint->input->yaml ? "add a build for %s with 'label: null'" BY_NATURE
                                        : "--default IMAGE, built for %s" BY_NATURE,
                      name);
    else
        ocv_lint_hint(lint, "variantctl index add %s --default IMAGE, built for %s" BY_NATURE,
                      ocv_lint_target(lint), name);
}

static bool is_bare(const struct ocv_lint *lint, size_t i)
{
    const struct ocv_entry *entry = entry_at(lint, i);
    return ocv_entry_is_default(entry) && !ocv_platform_is_hidden(entry->platform.variant) &&
           !json_object_get(ocv_lint_entry_json(lint, i), "annotations");
}

/* Some readers take every annotated descriptor for an attestation. */
static void check_bare(struct ocv_lint *lint, size_t i)
{
    const struct ocv_entry *entry = entry_at(lint, i);
    if (!ocv_entry_is_default(entry) || !entry->has_platform ||
        ocv_platform_is_hidden(entry->platform.variant) || is_bare(lint, i))
        return;
    for (size_t k = 0; k < ocv_index_count(lint->index); k++)
        if (ocv_lint_same_platform(entry, entry_at(lint, k)) &&
            (is_bare(lint, k) || (k < i && ocv_entry_is_default(entry_at(lint, k)))))
            return;
    ocv_lint_entry_at(lint, OCV_LINT_DEFAULT_ANNOTATED, i, "/annotations",
                      "readers that drop annotated entries find no image for %s/%s",
                      entry->platform.os ? entry->platform.os : "",
                      entry->platform.architecture ? entry->platform.architecture : "");
    if (entry->kind == OCV_ENTRY_NULL)
        ocv_lint_hint(lint, "variantctl index annotate --relayout %s removes its annotations",
                      ocv_lint_target(lint));
}

static void check_variant_platform(struct ocv_lint *lint, size_t i)
{
    const struct ocv_entry *entry = entry_at(lint, i);
    char wanted[OCV_PLATFORM_HIDDEN_MAX];
    if (is_plain(entry))
        return;
    ocv_platform_hide(entry->label, wanted);
    char feature[128];
    const char *level =
        ocv_lint_level(entry->platform.architecture, entry->platform.variant, feature);
    if (level) {
        ocv_lint_entry_at(lint, OCV_LINT_PLATFORM_LEVEL, i, "/platform/variant",
                          "%s as platform.variant of a variant", entry->platform.variant);
        ocv_lint_hint(lint, "--fix writes %s, and adds the property %s", wanted, level);
        return;
    }
    if (strcmp(entry->platform.variant, wanted) != 0) {
        ocv_lint_entry_at(lint, OCV_LINT_PLATFORM_VARIANT_NOT_LABEL, i, "/platform/variant",
                          "platform.variant is %.64s, the label makes %s", entry->platform.variant,
                          wanted);
        ocv_lint_hint(lint, "--fix writes %s", wanted);
    }
}

/* Do clients that know nothing of variants take the one where they would take the other? */
static bool shares_platform(const struct ocv_entry *entry, const struct ocv_entry *other)
{
    return other->code == OCV_REJECT_NONE && ocv_lint_same_platform(entry, other) &&
           is_plain(other) && !ocv_platform_is_other_format(&other->platform) &&
           !strcmp(entry->platform.os_version ? entry->platform.os_version : "",
                   other->platform.os_version ? other->platform.os_version : "");
}

/* The image without label that comes before this one on its platform; -1: none does. */
static int reached_instead(const struct ocv_lint *lint, size_t i)
{
    const struct ocv_entry *entry = entry_at(lint, i);
    for (size_t k = 0; entry->kind == OCV_ENTRY_NON_VARIANT && k < i; k++)
        if (entry_at(lint, k)->kind == OCV_ENTRY_NON_VARIANT &&
            shares_platform(entry, entry_at(lint, k)))
            return (int)k;
    return -1;
}

static void check_shared(struct ocv_lint *lint, size_t i)
{
    const struct ocv_entry *entry = entry_at(lint, i);
    size_t n = 0, variants = 0;
    char name[128];
    if (!entry->has_platform || !is_plain(entry) || ocv_platform_is_other_format(&entry->platform))
        return;
    ocv_platform_format(&entry->platform, name, sizeof(name));
    int instead = reached_instead(lint, i);
    if (instead >= 0) {
        const char *digest = entry_at(lint, i)->digest;
        ocv_lint_entry_at(
            lint, OCV_LINT_IMAGE_UNREACHED, i, "",
            "like manifests[%d] it has no label and no properties: every client takes "
            "that one for %s, and never this one",
            instead, name);
        ocv_lint_hint(lint,
                      "variantctl index annotate --label %s=LABEL %s '%s=NAMESPACE :: FEATURE :: "
                      "VALUE', or index remove %s %s",
                      digest, ocv_lint_target(lint), digest, ocv_lint_target(lint), digest);
        return;
    }
    /* Of the usable entries that have exactly this platform the first one speaks for all. */
    for (size_t k = 0; k < ocv_index_count(lint->index); k++) {
        const struct ocv_entry *other = entry_at(lint, k);
        if (!shares_platform(entry, other) || reached_instead(lint, k) >= 0)
            continue;
        if (k < i)
            return;
        variants += other->kind == OCV_ENTRY_VARIANT;
        n++;
    }
    if (n < 2)
        return;
    ocv_lint_entry_at(lint, OCV_LINT_PLATFORM_SHARED, i, "/platform",
                      "%zu entries for %s: %zu extra image%s on containerd 2.1 and newer", n, name,
                      n - 1, n == 2 ? "" : "s");
    if (variants)
        ocv_lint_hint(lint, "--fix gives each variant the platform variant x-LABEL");
}

static void check_entry(struct ocv_lint *lint, size_t i)
{
    const struct ocv_entry *entry = entry_at(lint, i);
    const char *variant = entry->platform.variant;
    if (!entry->has_platform) {
        ocv_lint_entry_at(lint, OCV_LINT_PLATFORM_MISSING, i, "", "an image without platform");
        ocv_lint_hint(lint, "rewrite the index: variantctl index create reads it from the image");
    }
    const char *name = ocv_lint_architecture(entry->platform.architecture);
    if (name) {
        ocv_lint_entry_at(lint, OCV_LINT_ARCHITECTURE_NAME, i, "/platform/architecture",
                          "the architecture is called %s: did you mean %s?",
                          entry->platform.architecture, name);
        ocv_lint_hint(lint, "--fix writes %s", name);
    }
    if (variant && !strcmp(variant, "v1") && entry->platform.architecture &&
        !strcmp(entry->platform.architecture, "amd64")) {
        ocv_lint_entry_at(lint, OCV_LINT_AMD64_V1, i, "/platform/variant", "amd64 with variant v1");
        ocv_lint_hint(lint, "--fix leaves the variant out");
    } else if (entry->kind == OCV_ENTRY_VARIANT) {
        check_variant_platform(lint, i);
    }
    bool hidden = ocv_platform_is_hidden(entry->platform.variant), plain = false;
    for (size_t k = 0; hidden && k < ocv_index_count(lint->index); k++)
        plain = plain || (ocv_entry_is_default(entry_at(lint, k)) &&
                          !ocv_platform_is_hidden(entry_at(lint, k)->platform.variant) &&
                          ocv_lint_same_platform(entry, entry_at(lint, k)));
    if (!hidden && ocv_platform_is_other_format(&entry->platform))
        ocv_lint_entry_at(lint, OCV_LINT_OS_FEATURES, i, "/platform/os.features",
                          "os.features are ignored by most clients");
    /* Not a variant, though its platform says so. */
    if (hidden && ocv_entry_is_unfinished(entry)) {
        ocv_lint_entry_at(lint, OCV_LINT_VARIANT_UNANNOTATED, i, "/annotations",
                          "platform.variant %.64s and no annotations: it is never chosen", variant);
        ocv_lint_hint(lint,
                      "variantctl index annotate --label %s=LABEL %s "
                      "'%s=NAMESPACE :: FEATURE :: VALUE'",
                      entry->digest, ocv_lint_target(lint), entry->digest);
    } else if (hidden && entry->kind == OCV_ENTRY_NULL && !plain) {
        ocv_lint_entry_at(lint, OCV_LINT_DEFAULT_NOT_PLAIN, i, "/platform/variant",
                          "the default has platform.variant %.64s", variant);
        ocv_lint_hint(lint, "variantctl index annotate --relayout %s makes it plain",
                      ocv_lint_target(lint));
    }
    check_shared(lint, i);
}

void ocv_lint_check_platforms(struct ocv_lint *lint)
{
    bool variants = ocv_index_has_variants(lint->index);
    for (size_t i = 0; i < ocv_index_count(lint->index) && lint->status == OCV_OK; i++) {
        if (entry_at(lint, i)->code != OCV_REJECT_NONE)
            continue;
        if (variants) {
            check_default(lint, i);
            check_bare(lint, i);
        }
        check_entry(lint, i);
    }
    if (variants) {
        /* any variant before it, of any platform: defaults come first of all */
        const struct ocv_entry *first = NULL;
        for (size_t i = 0; i < ocv_index_count(lint->index); i++) {
            const struct ocv_entry *entry = entry_at(lint, i);
            if (entry->code == OCV_REJECT_NONE && entry->kind == OCV_ENTRY_VARIANT && !first)
                first = entry;
            if (!first || !ocv_entry_is_default(entry))
                continue;
            ocv_lint_entry_at(lint, OCV_LINT_DEFAULT_NOT_FIRST, i, "",
                              "it comes after the variant %s", first->label);
            ocv_lint_hint(lint, "--fix moves defaults to the front");
        }
    }
}

void ocv_lint_check_source_default(struct ocv_lint *lint)
{
    for (size_t i = 0; i < ocv_index_count(lint->index); i++)
        if (ocv_entry_is_default(entry_at(lint, i)))
            return;
    ocv_lint_index_at(lint, OCV_LINT_DEFAULT_MISSING, "/manifests",
                      "no build has the label null: " NO_DEFAULT);
    ocv_lint_hint(lint, "add a build with 'label: null'" BY_NATURE);
}
