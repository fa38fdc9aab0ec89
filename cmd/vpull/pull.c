/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/vpull.h"

#include "cmd/common/image/image.h"
#include "cmd/common/lazy/registry_load.h"
#include "cmd/common/names.h"
#include "cmd/vpull/engines/engine.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (64u * 1024)
#define REJECTIONS_SHOWN 10u
#define PRINT_REF_TOLD_MS 5000u /* scripts see a message only after a long wait */

const char *pull_label(const struct pull *pull)
{
    const struct lock_choice *choice = pull->options->choice;
    return !pull->entry->label && choice ? choice->label : pull->entry->label;
}

static int no_match(struct pull *pull, struct ocv_error *err)
{
    size_t n = ocv_decision_rejected_count(pull->decision);
    int status =
        names_no_match(pull->cli, pull->image.text, pull->image.reference, pull->image.index,
                       pull->decision, image_ruled_tag(&pull->image), err);
    if (pull->options->quiet || status == OCV_ERR_CONFIG) /* the label does not exist */
        return status;
    progress_hold(pull->progress);
    for (size_t i = 0; i < n && i < REJECTIONS_SHOWN; i++) {
        char name[80];
        ocv_auto_buffer reason;
        ocv_buffer_init(&reason, TEXT_MAX);
        struct ocv_rejection r = ocv_decision_rejected(pull->decision, i);
        if (ocv_decision_reason(pull->decision, i, &reason, NULL) < 0 || !reason.data)
            continue;
        explain_name(pull->image.index, r.entry, name, sizeof(name));
        if (progress_is_json(pull->progress))
            progress_event(pull->progress, "rejected",
                           json_pack("{s:s, s:s, s:s, s:s}", "name", name, "digest",
                                     r.entry->digest, "code", ocv_reject_name(r.code), "reason",
                                     reason.data));
        else
            progress_message(pull->progress, "  %s: %s", name, reason.data);
    }
    if (n > REJECTIONS_SHOWN && !progress_is_json(pull->progress))
        progress_message(pull->progress, "  and %zu more", n - REJECTIONS_SHOWN);
    progress_release(pull->progress);
    return status;
}

static int resolve_entry(struct pull *pull, struct ocv_error *err)
{
    const struct pull_options *options = pull->options;
    OCV_TRY(image_resolve(pull->cli, &pull->image, &pull->decision, err));
    const char *const *warnings;
    size_t n = ocv_index_warnings(pull->image.index, &warnings);
    for (size_t i = 0; i < n && !options->quiet; i++)
        progress_warn(pull->progress, pull->cli->program, "%s: %s", pull->image.text, warnings[i]);
    pull->entry = ocv_decision_selected(pull->decision);
    if (pull->entry && pull->cli->unchecked)
        progress_warn(pull->progress, pull->cli->program,
                      "%s: variant %s was not checked against this host", pull->image.text,
                      pull->cli->label);
    if (!pull->entry)
        return no_match(pull, err);
    /* The document and the choice must be the locked ones. */
    const struct lock_image *locked = options->locked;
    char name[80];
    if (locked && !locked->n_tags && strcmp(pull->image.top.digest, locked->top) != 0)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "%s: is %s, but %s is locked",
                             locked->reference, pull->image.top.digest, locked->top);
    if (locked && !lock_holds(locked, pull->entry->digest)) {
        ocv_error_set(err, OCV_ERR_NO_MATCH,
                      "%s: this machine would get %s (%s), which is not locked", locked->reference,
                      explain_choice(pull->image.index, pull->entry, name, sizeof(name)),
                      pull->entry->digest);
        ocv_error_hint(err,
                       "lock it for this machine, too: variantctl lock --profile NAME=FILE ...");
        return OCV_ERR_NO_MATCH;
    }
    OCV_TRY(pull_check_signature(pull, err));
    /* Always show a choice by tag rule: nothing in the registry tells of it. */
    const char *tag = image_tag(&pull->image, pull->entry);
    char place[300];
    const struct ocv_reference *reference = pull->image.reference;
    const char *of = NULL;
    if (!tag && !options->quiet && !options->print_ref && reference && reference->tag &&
        !reference->digest && !ocv_index_has_variants(pull->image.index))
        of = image_mirrors(pull->cli, reference, place, sizeof(place));
    if (of) /* a tag that rules of another registry would know was taken as it is */
        progress_message(pull->progress,
                         "note: tag %s was taken as it is, since no tag rules are for %s; if that "
                         "mirrors %s, say so: registries: {%s: {mirror_of: %s}}",
                         reference->tag, place, of, place, of);
    if (tag && (options->print_ref || options->quiet))
        fprintf(stderr, "%s: %s: tag %s by the tag rules of %s\n", pull->cli->program,
                pull->image.text, tag, ocv_tag_choice_family(pull->image.choice));
    else if (tag)
        progress_message(pull->progress, "%s: tag %s by the tag rules of %s", pull->image.text, tag,
                         ocv_tag_choice_family(pull->image.choice));
    return OCV_OK;
}

static int print_reference(const struct pull *pull, char *reference, struct ocv_error *err)
{
    ocv_auto_free char *text = reference;
    return text ? ocv_buffer_printf(pull->prints, err, "%s\n", text) : ocv_error_nomem(err);
}

static int print_result(const struct pull *pull, const struct destination *destination,
                        const char *where, struct ocv_error *err)
{
    if (progress_is_json(pull->progress)) {
        progress_event(pull->progress, "done",
                       json_pack("{s:s, s:s, s:s?, s:s?, s:s, s:b}", "image", pull->image.text,
                                 "digest", pull->entry->digest, "label", pull_label(pull), "name",
                                 pull->name, "where", where, "cached", pull->cached));
        return OCV_OK;
    }
    const struct ocv_reference *reference = pull->image.reference;
    if (pull->options->quiet) {
        /* docker and podman may not find an image by its manifest digest alone */
        bool named =
            reference && (destination == &destination_docker || destination == &destination_podman);
        return ocv_buffer_printf(pull->prints, err, "%s%s%s\n", named ? reference->name : "",
                                 named ? "@" : "", pull->entry->digest);
    }
    bool engine = pull->cached && !strncmp(where, "into ", 5);
    int status = ocv_buffer_printf(
        pull->prints, err, "Digest: %s\nStatus: %s%s\n%s%s", pull->entry->digest,
        engine         ? "already there, in "
        : pull->cached ? "already there, "
                       : "pulled ",
        engine ? where + 5 : where, pull->name ? pull->name : "", pull->name ? "\n" : "");
    if (!pull->name && destination != &destination_oci && destination != &destination_archive)
        progress_message(pull->progress, "note: it has no name there: --tag NAME gives it one");
    return status;
}

/* The chosen image's manifest; where the place lacks it and may, the next best one that it has. */
static int read_child(struct pull *pull, struct ocv_error *err)
{
    struct ocv_descriptor descriptor;
    const struct ocv_entry *best = pull->entry;
    char name[80], other[80];
    OCV_TRY(child_descriptor(best, &descriptor, err));
    int status = child_read(pull->cli, &pull->image, &descriptor, &pull->child, err);
    bool next = status == OCV_ERR_NOT_FOUND && pull->image.reference && !pull->options->locked &&
                !pull->options->choice && !pull->cli->label &&
                ocv_config_takes_next(pull->cli->config, pull->image.reference);
    size_t n = ocv_decision_order_count(pull->decision), i = 0;
    while (next && i < n && ocv_decision_order(pull->decision, i) != best)
        i++;
    for (i++; next && status == OCV_ERR_NOT_FOUND && i < n; i++) {
        pull->entry = ocv_decision_order(pull->decision, i);
        child_free(&pull->child);
        OCV_TRY(child_descriptor(pull->entry, &descriptor, err));
        status = child_read(pull->cli, &pull->image, &descriptor, &pull->child, err);
    }
    if (status == OCV_OK && pull->entry != best) {
        OCV_TRY(pull_check_signature(pull, err)); /* it may be another tag's */
        progress_warn(pull->progress, pull->cli->program,
                      "%s: %s fits best and is not mirrored here; %s is the next best",
                      pull->image.text, explain_name(pull->image.index, best, name, sizeof(name)),
                      explain_name(pull->image.index, pull->entry, other, sizeof(other)));
    }
    if (status == OCV_ERR_NOT_FOUND && best->label) {
        ocv_error_prefix(err, "variant %s", best->label);
        ocv_error_hint(err, "the index names it, and it is not here, as in a sparse copy: 'sparse: "
                            "next' of the registry takes the next best, --label another, "
                            "'variantctl index copy --for FLEET --update' brings it");
    }
    return status;
}

static int pull_one(struct pull *pull, const struct destination *destination, const char *argument,
                    struct ocv_error *err)
{
    char where[512] = "";
    /* "host/repo:tag" for the result: --tag, else the name asked for. A digest alone names nothing.
     */
    const char *tag = pull->options->tag;
    const struct ocv_reference *ref = pull->image.reference;
    ocv_auto(ocv_reference) named = NULL;
    if (tag && ocv_reference_parse(tag, &named, err) < 0)
        return ocv_error_prefix(err, "--tag");
    if (tag && !named->tag)
        return ocv_error_set(err, OCV_ERR_INVALID, "--tag %s: expected a name without a digest",
                             tag);
    ref = named ? named : ref;
    if (ref && ref->tag && asprintf(&pull->name, "%s:%s", ref->name, ref->tag) < 0) {
        pull->name = NULL;
        return ocv_error_nomem(err);
    }
    OCV_TRY(read_child(pull, err));
    OCV_TRY(pull_announce(pull, err));
    if (!pull->entry->has_platform)
        OCV_TRY(pull_check_lone(pull, err));
    if (pull->options->dry_run)
        return OCV_OK;
    int status = destination->pull(pull, argument, where, sizeof(where), err);
    progress_finish(pull->progress);
    if (status < 0) {
        char size[FORMAT_NUMBER_MAX];
        bool keeps = destination == &destination_oci || destination == &destination_containerd ||
                     destination == &destination_archive;
        if (!err || err->hint[0])
            return status;
        if (err->status == OCV_ERR_INTERRUPTED && keeps)
            ocv_error_hint(err, "run it again to resume: what has arrived is kept");
        else if (err->status == OCV_ERR_MISMATCH && pull->image.reference)
            ocv_error_hint(err, "the content on %s is damaged: its publisher can push it again",
                           pull->image.reference->name);
        else if (strstr(err->message, strerror(ENOSPC)))
            ocv_error_hint(err, "the image has %s to store",
                           format_bytes(child_bytes(&pull->child), size));
        return status;
    }
    pull_record(pull);
    return print_result(pull, destination, where, err);
}

static void pull_free(struct pull *pull)
{
    child_free(&pull->child);
    ocv_decision_free(pull->decision);
    image_close(&pull->image);
    free(pull->name);
}

int pull_image(struct cli *cli, const struct pull_options *options, struct progress *progress,
               const char *text, const struct destination *destination, const char *argument,
               struct ocv_buffer *prints, struct ocv_error *err)
{
    __attribute__((cleanup(pull_free))) struct pull pull = {
        .cli = cli, .options = options, .progress = progress, .prints = prints};
    char *chosen = options->print_ref && !options->locked && !image_has_trust(cli, text)
                       ? daemon_choose(cli, text, options->quiet)
                       : NULL;
    if (chosen)
        return print_reference(&pull, chosen, err);
    if (strncmp(text, "oci:", 4) != 0)
        progress_status(progress, "resolving", text, "%s: resolving", text);
    if (options->print_ref && !options->quiet)
        progress_late(progress, PRINT_REF_TOLD_MS, "%s: %s: still resolving after %u s",
                      cli->program, text, PRINT_REF_TOLD_MS / 1000);
    cli_profile_begin(cli);
    if (strncmp(text, "oci:", 4) != 0)
        (void)!registry_load(NULL); /* cli_registry tries again, and reports it */
    int status = options->locked && options->locked->n_tags
                     ? image_open_locked(cli, text, options->locked, &pull.image, err)
                     : image_open_by_rule(cli, text, &pull.image, err);
    progress_late_end(progress);
    if (status < 0)
        return status;
    OCV_TRY(resolve_entry(&pull, err));
    if (options->print_ref && pull.image.reference &&
        ocv_config_takes_next(cli->config, pull.image.reference))
        OCV_TRY(read_child(&pull, err));
    return options->print_ref ? print_reference(&pull, pull_digest_reference(&pull), err)
                              : pull_one(&pull, destination, argument, err);
}
