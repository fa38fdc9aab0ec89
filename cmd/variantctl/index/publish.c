/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No registry in use supports conditional tag updates (distribution 2.8 ignores If-Match). So:
 * compare just before, put, read back. If two writers are within milliseconds, the one that lost
 * notices when it reads back. In a layout the comparison is made under its lock. */
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BACK_TRIES 4u /* a replica may return the old tag for a moment */

static int take_expect(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)err;
    *(const char **)given->into = given->value;
    return !strcmp(given->value, "none") || ocv_digest_known(given->value) ? OCV_OK
                                                                           : OCV_OPTION_WRONG;
}

static int take_layout(const struct ocv_option_given *given, struct ocv_error *err)
{
    static const enum ocv_edit_layout layouts[] = {OCV_EDIT_HIDDEN, OCV_EDIT_SAME_PLATFORM};
    struct write_options *options = given->into;
    int word = ocv_option_word(given->option, given->value);
    (void)err;
    if (word < 0)
        return OCV_OPTION_WRONG;
    options->has_layout = true;
    options->layout = layouts[word];
    return OCV_OK;
}

const struct ocv_option write_rows[] = {
    {.name = "dry-run",
     .help = "show what would be written, and its digest",
     OCV_OPTION_FLAG(struct write_options, dry_run)},
    {.name = "referrers",
     .help = "copy signatures and other referrers, too",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct write_options, referrers)},
    {.name = "expect",
     .value = "DIGEST|none",
     .help = "refuse unless the tag points to this now",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(take_expect, struct write_options, expect)},
    {.name = "quiet",
     .letter = 'q',
     .help = "print the digest only",
     OCV_OPTION_FLAG(struct write_options, quiet)},
    CLI_FORMAT(struct write_options, json, "json: what was written, for programs"),
    OCV_OPTIONS_END};

const struct ocv_option layout_rows[] = {{.name = "layout",
                                          .value = "hidden|same-platform",
                                          .help = "hidden (default): with platform.variant\n"
                                                  "x-LABEL, where old clients do not look",
                                          .flags = OCV_OPTION_MORE,
                                          OCV_OPTION_CALL(take_layout)},
                                         OCV_OPTIONS_END};

const struct ocv_option lint_rows[] = {{.name = "no-lint",
                                        .help = "publish even if lint finds errors",
                                        OCV_OPTION_FLAG(struct write_options, no_lint)},
                                       OCV_OPTIONS_END};

enum progress_mode write_progress(const struct cli *cli, const struct write_options *options)
{
    if (options->quiet || options->json)
        return PROGRESS_QUIET;
    if (cli->verbose)
        return PROGRESS_PLAIN;
    return isatty(STDERR_FILENO) ? PROGRESS_AUTO : PROGRESS_QUIET;
}

/* The digest that the tag names now; empty if it does not exist. */
static int read_target_digest(struct publication *p, char out[OCV_DIGEST_MAX],
                              struct ocv_error *err)
{
    struct ocv_descriptor now;
    struct ocv_error local = {0};
    int status = place_head(p->to, p->to->tag, &now, &local);
    out[0] = '\0';
    if (status == OCV_OK)
        memcpy(out, now.digest, OCV_DIGEST_MAX);
    if (status < 0 && status != OCV_ERR_NOT_FOUND) {
        if (err)
            *err = local;
        return status;
    }
    return OCV_OK;
}

static int fail_moved(const struct publication *p, const char *wanted, const char *now,
                      struct ocv_error *err)
{
    ocv_error_set(err, OCV_ERR_DENIED, "%s:%s was changed meanwhile: it named %s, now %s",
                  p->to->name, p->to->tag, *wanted ? wanted : "nothing", *now ? now : "nothing");
    ocv_error_hint(err, "nothing was overwritten; look at it, then run this again");
    return OCV_ERR_DENIED;
}

int publication_begin(struct publication *p, struct place *to, const struct write_options *options,
                      struct ocv_error *err)
{
    *p = (struct publication){.to = to, .options = options};
    OCV_TRY(read_target_digest(p, p->before, err));
    const char *expect = options->expect;
    if (!expect)
        return OCV_OK;
    expect = !strcmp(expect, "none") ? "" : expect;
    if (!strcmp(expect, p->before))
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_DENIED, "%s:%s names %s and not %s as expected", to->name,
                         to->tag, *p->before ? p->before : "nothing", *expect ? expect : "nothing");
}

int publication_based_on(struct publication *p, const char *digest, struct ocv_error *err)
{
    return strcmp(p->before, digest) ? fail_moved(p, p->before, digest, err) : OCV_OK;
}

int publication_write(struct publication *p, const char *media_type, const struct ocv_buffer *bytes,
                      struct ocv_error *err)
{
    char now[OCV_DIGEST_MAX];
    p->bytes = bytes;
    p->descriptor.size = (int64_t)bytes->len;
    snprintf(p->descriptor.media_type, sizeof(p->descriptor.media_type), "%s", media_type);
    OCV_TRY(ocv_digest_bytes(bytes->data, bytes->len, p->descriptor.digest, err));
    if (p->options->dry_run)
        return OCV_OK;
    if (cli_interrupted(p->to->cli))
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    OCV_TRY(read_target_digest(p, now, err));
    if (strcmp(now, p->before) != 0)
        return fail_moved(p, p->before, now, err);
    p->unchanged = !strcmp(now, p->descriptor.digest);
    if (!p->unchanged) {
        bool was_moved = false;
        int status =
            place_move(p->to, p->before, &p->descriptor, bytes->data, bytes->len, &was_moved, err);
        if (was_moved && read_target_digest(p, now, NULL) == OCV_OK)
            return fail_moved(p, p->before, now, err);
        if (status < 0)
            return status;
    }
    /* Another writer may have written since, or a replica may be late. In a layout later writers
     * compare under its lock, so only the bytes are checked, not the tag. */
    const char *object = p->to->reference ? p->to->tag : p->descriptor.digest;
    for (unsigned tried = 1;; tried++) {
        struct ocv_descriptor found;
        ocv_auto_buffer body;
        ocv_buffer_init(&body, OCV_MANIFEST_MAX);
        int status = place_get(p->to, object, &body, &found, err);
        if (status < 0 && status != OCV_ERR_NOT_FOUND)
            return ocv_error_prefix(err, "reading back what was written");
        if (status == OCV_OK && !strcmp(found.digest, p->descriptor.digest))
            return OCV_OK;
        bool old = status < 0 || !strcmp(found.digest, p->before);
        if (!old || tried == READ_BACK_TRIES)
            return ocv_error_set(
                err, OCV_ERR_DENIED,
                "%s:%s was written as %s, but names %s: another writer changed it since",
                p->to->name, p->to->tag, p->descriptor.digest,
                status < 0 ? "nothing" : found.digest);
        sleep(1);
    }
}

static int print_text(const struct publication *p, const struct copier *copier,
                      const json_t *changes, struct ocv_error *err)
{
    const struct place *to = p->to;
    bool dry = p->options->dry_run;
    char what[48];
    ocv_auto(ocv_index) index = NULL;
    bool is_index = ocv_index_parse(p->bytes->data, p->bytes->len, NULL, &index, NULL) == OCV_OK;
    size_t n = is_index ? ocv_index_count(index) : 0;
    snprintf(what, sizeof(what), "%zu entr%s", n, n == 1 ? "y" : "ies");
    printf("%s:%s  %s  (%s%s)\n", to->name, to->tag, p->descriptor.digest,
           is_index ? what : "one image",
           dry            ? "; nothing was written"
           : p->unchanged ? "; unchanged"
                          : "");
    if (*p->before && strcmp(p->before, p->descriptor.digest) != 0) {
        printf("%s %s\n", dry ? "would replace" : "was", p->before);
        if (changes)
            changes_print(changes, stdout);
    }
    bool copied = copier && (copier->manifests || copier->bytes_present);
    if (copied && !dry && to->reference) {
        char sent[FORMAT_NUMBER_MAX], mounted[FORMAT_NUMBER_MAX], present[FORMAT_NUMBER_MAX];
        printf("%zu manifest%s written; blobs: %s sent, %s mounted, %s there before\n",
               copier->manifests, copier->manifests == 1 ? "" : "s",
               format_bytes(copier->bytes_sent, sent), format_bytes(copier->bytes_mounted, mounted),
               format_bytes(copier->bytes_present, present));
    }
    if (to->reference && !dry)
        printf("sign it with everything in it: %s %s@%s\n",
               p->options->signer ? p->options->signer : "cosign sign --recursive", to->name,
               p->descriptor.digest);
    return cli_print("", 0, err);
}

static int print_json(const struct publication *p, const struct copier *copier, json_t *extra,
                      json_t *changes, struct ocv_error *err)
{
    json_t *document =
        ocv_json_load_any(p->bytes->data, p->bytes->len, OCV_JSON_VALUES_MAX, 0, NULL);
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:s?, s:b, s:b, s:o*}", "schema",
                  "dev.ocivariant.publication/v1", "name", p->to->name, "tag", p->to->tag, "digest",
                  p->descriptor.digest, "size", (json_int_t)p->descriptor.size, "previous",
                  *p->before ? p->before : NULL, "dryRun", p->options->dry_run, "unchanged",
                  p->unchanged, "document", document);
    if (root && copier)
        json_object_set_new(root, "copied",
                            json_pack("{s:I, s:I, s:I, s:I}", "manifests",
                                      (json_int_t)copier->manifests, "bytesSent",
                                      (json_int_t)copier->bytes_sent, "bytesMounted",
                                      (json_int_t)copier->bytes_mounted, "bytesPresent",
                                      (json_int_t)copier->bytes_present));
    if (root && changes) /* in the format of `index diff` */
        json_object_set(root, "changes", changes);
    if (root && extra)
        json_object_update(root, extra);
    return print_document(root, err);
}

int publication_print(const struct publication *p, const struct copier *copier, json_t *extra,
                      struct ocv_error *err)
{
    ocv_auto_json *more = extra;
    /* Compared with the tag's previous document, if that was an index and can still be read. */
    ocv_auto(ocv_index) old = NULL;
    ocv_auto(ocv_index) new = NULL;
    ocv_auto_buffer body;
    struct ocv_descriptor descriptor;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    const struct ocv_buffer *before = p->old ? p->old : &body;
    bool moved = *p->before && strcmp(p->before, p->descriptor.digest) != 0 &&
                 (p->old || place_get(p->to, p->before, &body, &descriptor, NULL) == OCV_OK) &&
                 ocv_index_parse(before->data, before->len, NULL, &old, NULL) == OCV_OK &&
                 ocv_index_parse(p->bytes->data, p->bytes->len, NULL, &new, NULL) == OCV_OK;
    const struct changes_side a = {old, before, p->before},
                              b = {new, p->bytes, p->descriptor.digest};
    ocv_auto_json *changes = moved ? changes_between(&a, &b) : NULL;
    bool dry = p->options->dry_run;
    char names[600];
    /* Warn of entries that are gone without having been removed by name: they may be a
     * colleague's. */
    if (!p->old && *changes_gone(changes, names, sizeof(names))) {
        cli_warn(p->to->cli, "%s:%s %s %s", p->to->name, p->to->tag,
                 dry ? "would lose" : "has lost", names);
        if (!dry && p->to->reference)
            fprintf(stderr, "hint: variantctl index copy %s@%s %s:%s restores it\n", p->to->name,
                    p->before, p->to->name, p->to->tag);
    }
    if (p->options->json)
        return print_json(p, copier, more, changes, err);
    if (!p->options->quiet)
        return print_text(p, copier, changes, err);
    printf("%s\n", p->descriptor.digest);
    return cli_print("", 0, err);
}
