/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Properties against the code in the images' files, where that was read (OCV701 to 709). */
#include "lib/internal/lint/lint_internal.h"

#include "lib/internal/content/content.h"
#include "lib/internal/content/derived.h"

#include <stdlib.h>
#include <string.h>

static const struct ocv_content *content_of(const struct ocv_lint *lint, size_t entry)
{
    const struct ocv_lint_child *child = ocv_lint_child(lint, entry);
    return child ? child->content : NULL;
}

static void report_claim(struct ocv_lint *lint, size_t i, struct ocv_property p,
                         const struct ocv_content_evidence *claim)
{
    switch (claim->keeping) {
    case OCV_CONTENT_BROKEN:
        ocv_lint_entry_at(lint, OCV_LINT_PROMISE_NOT_KEPT, i, "",
                          "%s :: %s :: %s is claimed, but its files are built for %s (%s)", p.ns,
                          p.feature, p.value, claim->found, claim->path ? claim->path : "all");
        ocv_lint_hint(lint, "claim what 'variantctl derive' proposes, or list the right image");
        break;
    case OCV_CONTENT_PARTLY:
        ocv_lint_entry_at(lint, OCV_LINT_PROMISE_PARTLY_KEPT, i, "",
                          "%zu of %zu files do not run on %s :: %s :: %s, %s for one",
                          claim->lacking, claim->files, p.ns, p.feature, p.value, claim->path);
        break;
    case OCV_CONTENT_NO_CODE:
        ocv_lint_entry_at(
            lint, OCV_LINT_CODE_MADE_AT_RUN_TIME, i, "",
            "no file has code for %s :: %s; it is compiled when a program runs, or not "
            "in this image",
            p.ns, p.feature);
        break;
    case OCV_CONTENT_NO_WORD:
    case OCV_CONTENT_KEPT:
        break;
    }
}

#define MORE_MAX 2000u /* what is beyond it is left out */

static void check_claims(struct ocv_lint *lint, size_t i, const struct ocv_content *content)
{
    const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
    struct ocv_property *claims = calloc(entry->n_properties + 1, sizeof(*claims));
    const struct ocv_lint_child *child = ocv_lint_child(lint, i);
    const json_t *annotations = child ? json_object_get(child->manifest, "annotations") : NULL;
    const char *base = ocv_json_text(annotations, "org.opencontainers.image.base.digest");
    /* Of an image's second entry, for older drivers, the first one claims the rest. And is the
     * image another one of this index, of which code was taken out (variantctl slim), what is left
     * beside its targets' code is not what it is for. */
    bool broken =
        ocv_lint_minor_base(lint, entry) || (base && ocv_index_find_digest(lint->index, base));
    if (!claims) {
        lint->status = ocv_error_nomem(lint->err);
        return;
    }
    for (size_t k = 0; k < entry->n_properties; k++) {
        struct ocv_content_evidence claim;
        claims[k] = ocv_index_property(lint->index, entry->properties[k]);
        ocv_content_check(content, claims[k], &claim);
        /* one finding for a feature is enough where there is no code at all */
        bool told = false;
        for (size_t m = 0; m < k; m++)
            told = told || (!strcmp(claims[m].ns, claims[k].ns) &&
                            !strcmp(claims[m].feature, claims[k].feature));
        if (claim.keeping != OCV_CONTENT_NO_CODE || !told)
            report_claim(lint, i, claims[k], &claim);
        broken = broken || claim.keeping == OCV_CONTENT_BROKEN;
    }
    /* What the files run on and nothing claims: "nvidia :: sm_arch :: 70_real, 75_real". */
    const char *more, *before = "";
    ocv_auto_buffer all;
    ocv_buffer_init(&all, MORE_MAX);
    for (size_t k = 0;
         !broken && (more = ocv_content_unsaid(content, claims, entry->n_properties, k)); k++) {
        const char *value = strrchr(more, ' ') + 1; /* alone, where the feature was just named */
        bool same = !strncmp(before, more, (size_t)(value - more));
        if (ocv_buffer_printf(&all, NULL, "%s%s", k ? ", " : "", same ? value : more) < 0)
            break;
        before = more;
    }
    if (all.len)
        ocv_lint_entry_at(lint, OCV_LINT_CODE_RUNS_ON_MORE, i, "", "its files run on %s, too",
                          all.data);
    free(claims);
}

void ocv_lint_check_content(struct ocv_lint *lint)
{
    for (size_t i = 0; i < ocv_index_count(lint->index) && lint->status == OCV_OK; i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        const struct ocv_content *content = content_of(lint, i);
        if (!content || entry->code != OCV_REJECT_NONE)
            continue;
        check_claims(lint, i, content);
        const struct ocv_content_derived *d = &content->derived;
        /* Files of another architecture only: an image of tools may have some of several. */
        const char *wanted = entry->platform.architecture;
        const struct ocv_content_finding *most = NULL;
        bool own = !wanted;
        for (size_t k = 0; k < d->machines.n && !own; k++) {
            const struct ocv_content_finding *it = &d->machines.list[k];
            own = !strcmp(it->value, wanted);
            if (ocv_content_is_processor(it->value) && (!most || it->count > most->count))
                most = it;
        }
        if (most && !own)
            ocv_lint_entry_at(lint, OCV_LINT_CODE_FOR_ANOTHER_MACHINE, i, "/platform",
                              "%lld files have code for %s, none for %s", (long long)most->count,
                              most->value, wanted);
        const char *compat = ocv_content_idle_compat(content), *maker = NULL;
        const struct ocv_content_file *driver = NULL;
        size_t drivers = ocv_content_drivers(content, &driver, &maker);
        for (size_t a = 0; a < d->n_needs; a++)
            for (size_t b = a + 1; d->mixed && b < d->n_needs; b++)
                if (!strcmp(d->needs[a].is, d->needs[b].is) &&
                    strcmp(d->needs[a].version, d->needs[b].version) != 0) {
                    ocv_lint_entry_at(lint, OCV_LINT_LIBRARY_VERSIONS_MIXED, i, "",
                                      "%s needs %s, %s needs %s", d->needs[a].path,
                                      d->needs[a].name, d->needs[b].path, d->needs[b].name);
                    a = d->n_needs;
                    break;
                }
        if (drivers)
            ocv_lint_entry_at(lint, OCV_LINT_DRIVER_IN_IMAGE, i, "",
                              "%s is of the driver of %s, which the host has to bring (%zu file%s)",
                              driver->path, maker, drivers, drivers == 1 ? "" : "s");
        if (compat)
            ocv_lint_entry_at(lint, OCV_LINT_COMPAT_NOT_USED, i, "",
                              "%s is a forward-compatibility library that nothing loads", compat);
        for (size_t k = 0; k < i; k++) {
            const struct ocv_entry *other = ocv_index_entry(lint->index, k);
            const struct ocv_content *its = content_of(lint, k);
            if (!its || other->code != OCV_REJECT_NONE || !ocv_lint_same_platform(entry, other) ||
                !strcmp(entry->digest, other->digest) || !ocv_content_same_code(content, its))
                continue;
            ocv_lint_entry_at(lint, OCV_LINT_SAME_CODE_TWICE, i, "",
                              "its code for accelerators is that of manifests[%zu] (%s)", k,
                              ocv_lint_label(lint, k));
            break;
        }
    }
}
