/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sources are tried from the nearest on: given properties, the node's own record of its choice,
 * indexes kept in the cache, the index at the reference, the image's own labels. A registry is
 * asked only if the node knows nothing, or to find what would fit instead.
 *
 * A fact counts only for the repository in which it was learnt: anyone who can publish somewhere
 * can list another publisher's digest with properties of their choice. Only an index identified by
 * its own digest counts everywhere. If the repository is unknown, entries that were not chosen are
 * ignored.
 *
 * A client that may not see what the daemon's credentials can read learns only "fits" or "misfit"
 * of an image that was chosen here (HEAD of a tag gives its digest anyway), and nothing of other
 * entries. */
#include "cmd/variantd/fit/image_fit.h"
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/fit/image_fit_internal.h"
#include "lib/base/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The image runs; check whether this node would get a better one. */
static void weigh_entry(const struct ocv_fit_place *entry, const char *digest,
                        struct fit_answer *out)
{
    const char *better = ocv_fit_better(entry, digest);
    if (out->verdict != OCV_VERDICT_FITS || out->each_pod || !better)
        return;
    out->verdict = OCV_VERDICT_LESSER;
    snprintf(out->fit, sizeof(out->fit), "%s", entry->fit);
    snprintf(out->reason, sizeof(out->reason), "%s fits it better", better);
}

/* What an index says about the digest. If the answer is known already, only the better entry is
 * taken from it. */
static void take_entry(const struct instance *instance, const struct fit_question *q,
                       const struct ocv_fit_place *entry, const char *where, struct fit_answer *out)
{
    if (out->verdict == OCV_VERDICT_FITS) {
        weigh_entry(entry, q->digest, out);
    } else if (out->verdict != OCV_VERDICT_OPEN) {
        if (strcmp(entry->fit, out->label) != 0)
            snprintf(out->fit, sizeof(out->fit), "%s", entry->fit);
    } else if (!entry->variants) {
        out->verdict = OCV_VERDICT_NONE;
        out->alone = entry->alone;
    } else if (entry->is_index && q->held && entry->default_digest[0]) {
        /* An engine that asks the registry directly takes the default. */
        out->verdict = OCV_VERDICT_FITS;
        weigh_entry(entry, entry->default_digest, out);
    } else if (entry->is_index) {
        out->verdict = OCV_VERDICT_INDEX;
        snprintf(out->fit, sizeof(out->fit), "%s", entry->fit);
        snprintf(out->reason, sizeof(out->reason), "unresolved variant index");
    } else if (!entry->found) {
        out->verdict = OCV_VERDICT_UNKNOWN;
        snprintf(out->reason, sizeof(out->reason), "%s is not in the index at %s",
                 q->digest ? q->digest : "it", where);
    } else {
        snprintf(out->fit, sizeof(out->fit), "%s", entry->fit);
        fit_by_properties(instance, q->reference ? q->reference : where, q->given, &entry->said,
                          out);
        weigh_entry(entry, q->digest, out);
    }
}

/* By the indexes resolved here. True if one of them has the digest. */
static bool fit_by_kept_index(const struct instance *instance, const struct fit_question *q,
                              const char *repository, struct fit_answer *out)
{
    struct ocv_record_index kept;
    struct ocv_fit_place entry = {0};
    budget_read_begin(SIZE_MAX); /* kept indexes can have any size */
    bool known = ocv_record_find(instance->settings->records, repository, q->digest, &kept, NULL) ==
                     OCV_OK &&
                 (q->trusted || !kept.secret) &&
                 mirror_describe(instance->mirror, repository ? repository : kept.repository,
                                 kept.index, kept.digest, q->digest, &entry, NULL) == OCV_OK &&
                 (entry.is_index || (entry.found && repository));
    if (known)
        take_entry(instance, q, &entry, kept.reference, out);
    ocv_record_free(&entry.said);
    ocv_record_index_free(&kept);
    budget_read_end(SIZE_MAX);
    return known;
}

static void fit_in_index(const struct instance *instance, const struct fit_question *q,
                         const char *reference, struct fit_answer *out)
{
    struct ocv_fit_place entry = {0};
    struct ocv_error err = {0};
    int status = mirror_find(instance->mirror, reference, q->digest, q->trusted, &entry, &err);
    if (status == OCV_OK) {
        take_entry(instance, q, &entry, reference, out);
    } else if (out->verdict == OCV_VERDICT_OPEN) {
        out->verdict = OCV_VERDICT_UNKNOWN;
        snprintf(out->reason, sizeof(out->reason), "%s", err.message);
    }
    ocv_record_free(&entry.said);
}

/* The node has no record: ask the registry. */
static void fit_by_upstream(const struct instance *instance, const struct fit_question *q,
                            const char *reference, struct fit_answer *out)
{
    /* "NAME:TAG", and "NAME@DIGEST" if the digest is the one asked about */
    char tagged[1024] = "", pinned[1024] = "";
    ocv_auto(ocv_reference) name = NULL;
    if (reference && ocv_reference_parse(reference, &name, NULL) == OCV_OK) {
        if (name->tag && name->digest)
            snprintf(tagged, sizeof(tagged), "%s:%s", name->name, name->tag);
        if (q->digest)
            snprintf(pinned, sizeof(pinned), "%s@%s", name->name, q->digest);
    }
    if (tagged[0] && q->digest) {
        fit_in_index(instance, q, tagged, out);
        if (out->verdict == OCV_VERDICT_FITS || out->verdict == OCV_VERDICT_LESSER ||
            out->verdict == OCV_VERDICT_MISFIT || out->verdict == OCV_VERDICT_INDEX)
            return;
        /* the tag names another image now */
        *out = (struct fit_answer){.verdict = OCV_VERDICT_OPEN};
    }
    fit_in_index(instance, q, reference, out);
    if (!pinned[0])
        return;
    if (out->verdict == OCV_VERDICT_UNKNOWN) {
        /* the tag now names another image, or this is an index */
        struct fit_answer again = {.verdict = OCV_VERDICT_OPEN};
        fit_in_index(instance, q, pinned, &again);
        if (again.verdict == OCV_VERDICT_INDEX ||
            (q->held && (again.verdict == OCV_VERDICT_FITS || again.verdict == OCV_VERDICT_LESSER)))
            *out = again;
    } else if (out->alone) {
        /* By the image's own labels: only a hint, since images inherit labels. */
        struct ocv_fit_place entry = {0};
        struct fit_answer by_labels = {.verdict = OCV_VERDICT_OPEN, .labels_only = true};
        if (mirror_labels(instance->mirror, pinned, q->trusted, &entry, NULL) == OCV_OK &&
            entry.found &&
            fit_by_properties(instance, pinned, q->given, &entry.said, &by_labels) == OCV_OK)
            *out = by_labels;
        ocv_record_free(&entry.said);
    }
}

static void find_answer(const struct instance *instance, const struct fit_question *q,
                        const struct ocv_reference *name, struct fit_answer *out)
{
    char recorded[1024] = "";
    bool kept = false;
    const char *repository = name ? name->name : NULL;
    const struct ocv_record given = {.label = q->label, .properties = q->properties};
    if (q->properties)
        fit_by_properties(instance, q->reference, q->given, &given, out);
    else if (q->digest)
        fit_by_record(instance, repository, q, out, recorded, sizeof(recorded));
    bool ours =
        out->verdict == OCV_VERDICT_MISFIT || (out->verdict == OCV_VERDICT_FITS && repository);
    if (q->digest && (out->verdict == OCV_VERDICT_OPEN || ours))
        kept = fit_by_kept_index(instance, q, repository, out);
    const char *reference = q->reference ? q->reference : recorded[0] ? recorded : NULL;
    if (out->verdict == OCV_VERDICT_OPEN && q->held && name && q->digest &&
        local_images_is_ordinary(name, q->digest))
        out->verdict = OCV_VERDICT_NONE;
    if (out->verdict == OCV_VERDICT_OPEN && reference)
        fit_by_upstream(instance, q, reference, out);
    if (kept || out->verdict != OCV_VERDICT_MISFIT || out->fit[0])
        return;
    if (reference) /* to find what would fit */
        fit_in_index(instance, q, reference, out);
    /* pinned, or under its own tag: use the name that was resolved */
    if (!out->fit[0] && recorded[0] && reference != recorded)
        fit_in_index(instance, q, recorded, out);
}

/* An image that a trusted client has on the node; others could fill the log. */
static void report(const struct fit_question *q, const struct ocv_reference *reference,
                   const struct fit_answer *answer)
{
    char line[2048];
    const char *image = q->reference ? q->reference : q->digest ? q->digest : "an image";
    bool index = answer->verdict == OCV_VERDICT_INDEX,
         lesser = answer->verdict == OCV_VERDICT_LESSER;
    bool fit = answer->fit[0] && !lesser, none = answer->verdict == OCV_VERDICT_NONE, news = false;
    if (!q->trusted)
        return;
    if (reference && q->digest && !q->properties &&
        (lesser || none || answer->verdict == OCV_VERDICT_FITS)) {
        bool on = answer->choose == OCV_CHOOSE_ON; /* else the node is meant to use the default */
        news = local_images_report(reference, q->digest,
                                   on && lesser ? HERE_LESSER
                                   : on && none ? HERE_ORDINARY
                                                : HERE_FITS);
    }
    /* Under `warn` nothing else reports it: runtimes discard the output of hooks that succeed. */
    if (!index && answer->verdict != OCV_VERDICT_MISFIT && !(lesser && news))
        return;
    snprintf(line, sizeof(line), "%.600s%s%s%s %s%s%s%s", image, answer->label[0] ? " (" : "",
             answer->label, answer->label[0] ? ")" : "",
             index    ? "is an "
             : lesser ? "is not the best for this node: "
                      : "does not fit this node: ",
             answer->reason, fit ? "; what would fit: " : "",
             fit ? ocv_verdict_fit_words(answer->fit) : "");
    ocv_text_clean(line);
    log_line(LOG_LEVEL_WARNING, "%s", line);
}

/* An image that runs is not wanted if it lacks what the configuration requires. */
static void apply_required(const struct instance *instance, const struct fit_question *q,
                           struct fit_answer *out)
{
    const char *unmet = out->verdict == OCV_VERDICT_FITS || out->verdict == OCV_VERDICT_LESSER
                            ? fit_unmet(instance, q->reference, q->given, out->properties)
                            : NULL;
    if (!unmet)
        return;
    snprintf(out->required, sizeof(out->required), "%s", unmet);
    if (out->verdict == OCV_VERDICT_LESSER) {
        size_t n = strlen(out->reason);
        snprintf(out->reason + n, sizeof(out->reason) - n, ", and %s is required", unmet);
        return;
    }
    out->verdict = OCV_VERDICT_MISFIT;
    snprintf(out->reason, sizeof(out->reason), "%s is required, but nothing here that uses it fits",
             unmet);
}

struct strictest_choice {
    const struct settings *settings;
    enum ocv_choose choose;
    bool any;
};

static int take_strictest(void *data, const struct ocv_record *record)
{
    struct strictest_choice *all = data;
    enum ocv_choose one = ocv_config_choose(settings_for_text(all->settings, record->repository));
    if (!all->any || one < all->choose)
        all->choose = one;
    all->any = true;
    return OCV_OK;
}

/* An image without a name may come from any repository for which the node has a record of its
 * digest. The strictest of their settings applies, so `shadow` in one never lifts a refusal in
 * another. */
static enum ocv_choose find_choose(const struct instance *instance, const struct fit_question *q)
{
    struct strictest_choice all = {.settings = instance->settings};
    if (!q->reference && q->digest &&
        ocv_record_walk(instance->settings->records, NULL, q->digest, take_strictest, &all, NULL) ==
            OCV_OK &&
        all.any)
        return all.choose;
    return ocv_config_choose(settings_for_text(instance->settings, q->reference));
}

/* Whatever fits: is it signed? NULL where no rule asks. */
static json_t *fit_trust(const struct instance *instance, const struct fit_question *q,
                         const struct ocv_reference *reference)
{
    struct ocv_error why = {0};
    if (!ocv_config_trust_required(instance->settings->config, reference))
        return NULL;
    int status = q->digest
                     ? mirror_trusted(instance->mirror, reference, q->digest, q->trusted, &why)
                     : ocv_error_set(&why, OCV_ERR_UNTRUSTED,
                                     "its digest is not known, so nothing says that it is signed");
    ocv_text_clean(why.message);
    return status < 0 ? json_pack("{s:s, s:s}", "verdict", "bad", "reason", why.message)
                      : json_pack("{s:s}", "verdict", "good");
}

int fit_answer(const struct instance *instance, const struct fit_question *asked,
               struct ocv_buffer *json, struct ocv_error *err)
{
    struct fit_answer answer = {.verdict = OCV_VERDICT_OPEN};
    struct fit_question question = *asked, *q = &question;
    ocv_auto(ocv_reference) reference = NULL;
    if (q->digest && !ocv_digest_wellformed(q->digest))
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not a digest", q->digest);
    if (q->reference && ocv_reference_parse(q->reference, &reference, NULL) < 0)
        reference = NULL;
    if (reference && !q->digest && !q->properties) /* a pinned image is wanted as it is */
        q->digest = reference->digest;
    enum ocv_choose choose = find_choose(instance, q);
    if (choose == OCV_CHOOSE_OFF) { /* nothing is chosen here, so nothing is checked */
        answer.verdict = OCV_VERDICT_NONE;
        snprintf(answer.reason, sizeof(answer.reason), "choose is off for it");
    } else {
        find_answer(instance, q, reference, &answer);
        apply_required(instance, q, &answer);
        /* Whatever is there: the configuration never takes that tag. What it says of the build
         * itself has been looked at with its properties. */
        const char *glob, *origin;
        const struct ocv_preferences own =
            ocv_config_preferences_for(instance->settings->config, reference);
        if (ocv_preferences_deny(&own, NULL, NULL, &glob, &origin)) {
            answer.verdict = OCV_VERDICT_MISFIT;
            snprintf(answer.reason, sizeof(answer.reason),
                     "never taken here: deny has '%s' (%.300s)", glob, origin);
        }
    }
    answer.choose = choose;
    if (answer.each_pod) /* each pod gets its own build, so the node as a whole is no measure */
        answer.fit[0] = '\0';
    if (answer.verdict == OCV_VERDICT_OPEN) {
        answer.verdict = OCV_VERDICT_UNKNOWN;
        snprintf(answer.reason, sizeof(answer.reason), "nothing is known about this image here");
    }
    ocv_text_clean(answer.label); /* text from outside, which may be cut within a character */
    ocv_text_clean(answer.reason);
    report(q, reference, &answer);
    json_t *root = json_pack("{s:s, s:s, s:s, s:s}", "verdict", ocv_verdict_name(answer.verdict),
                             "label", answer.label, "fit", answer.fit, "reason", answer.reason);
    if (root && answer.labels_only)
        json_object_set_new(root, "source", json_string("labels"));
    if (root && answer.choose != OCV_CHOOSE_ON)
        json_object_set_new(root, "choose", json_string(ocv_choose_name(answer.choose)));
    bool ordinary = answer.verdict == OCV_VERDICT_NONE || answer.verdict == OCV_VERDICT_UNKNOWN;
    json_t *config =
        root && ordinary && choose != OCV_CHOOSE_OFF ? fit_by_config(instance, q) : NULL;
    if (config)
        json_object_set_new(root, "config", config);
    if (root && answer.required[0])
        json_object_set_new(root, "required", json_string(answer.required));
    json_t *trust = root && reference ? fit_trust(instance, q, reference) : NULL;
    if (trust)
        json_object_set_new(root, "trust", trust);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    int status = text ? ocv_buffer_printf(json, err, "%s\n", text) : ocv_error_nomem(err);
    free(text);
    return status;
}
