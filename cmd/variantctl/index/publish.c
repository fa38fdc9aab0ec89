/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No registry in use changes a tag only if no other writer did (distribution 2.8 ignores
 * If-Match). So: compare right before, put, read back. Two writers within the same few milliseconds
 * are seen by at least the one whose bytes are gone when it reads back. A layout compares under its
 * lock. */
#include "cmd/variantctl/index/index_publish.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BACK_TRIES 4u /* a registry with replicas may show the old tag for a moment */

int write_option(struct write_options *options, int value)
{
    switch (value) {
    case WRITE_OPTION_DRY_RUN:
        options->dry_run = true;
        return 1;
    case 'q':
        options->quiet = true;
        return 1;
    case WRITE_OPTION_NO_LINT:
        options->no_lint = true;
        return 1;
    case WRITE_OPTION_REFERRERS:
        options->referrers = true;
        return 1;
    case WRITE_OPTION_FORMAT:
        return cli_format(optarg, &options->json) ? 1 : -1;
    case WRITE_OPTION_EXPECT:
        options->expect = optarg;
        return !strcmp(optarg, "none") || ocv_digest_known(optarg) ? 1 : -1;
    case WRITE_OPTION_LAYOUT:
        options->has_layout = true;
        options->layout = !strcmp(optarg, "hidden") ? OCV_EDIT_HIDDEN : OCV_EDIT_SAME_PLATFORM;
        return !strcmp(optarg, "hidden") || !strcmp(optarg, "same-platform") ? 1 : -1;
    default:
        return 0;
    }
}

enum progress_mode write_progress(const struct cli *cli, const struct write_options *options)
{
    if (options->quiet || options->json)
        return PROGRESS_QUIET;
    if (cli->verbose)
        return PROGRESS_PLAIN;
    return isatty(STDERR_FILENO) ? PROGRESS_AUTO : PROGRESS_QUIET;
}

/* What the tag names now; empty for nothing. */
static int look(struct publication *p, char out[OCV_DIGEST_MAX], struct ocv_error *err)
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

static int moved(const struct publication *p, const char *wanted, const char *now,
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
    int status = look(p, p->before, err);
    const char *expect = options->expect;
    if (status < 0 || !expect)
        return status;
    expect = !strcmp(expect, "none") ? "" : expect;
    if (!strcmp(expect, p->before))
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_DENIED, "%s:%s names %s and not %s as expected", to->name,
                         to->tag, *p->before ? p->before : "nothing", *expect ? expect : "nothing");
}

int publication_based_on(struct publication *p, const char *digest, struct ocv_error *err)
{
    return strcmp(p->before, digest) ? moved(p, p->before, digest, err) : OCV_OK;
}

/* Another writer may have written right after, or a replica is late. Who comes after in a layout
 * has seen ours under its lock: there the bytes are read, whatever the tag names by now. */
static int read_back(struct publication *p, struct ocv_error *err)
{
    const char *object = p->to->reference ? p->to->tag : p->descriptor.digest;
    for (unsigned tried = 1;; tried++) {
        struct ocv_descriptor now;
        ocv_auto_buffer body;
        ocv_buffer_init(&body, OCV_MANIFEST_MAX);
        int status = place_get(p->to, object, &body, &now, err);
        if (status < 0 && status != OCV_ERR_NOT_FOUND)
            return ocv_error_prefix(err, "reading back what was written");
        if (status == OCV_OK && !strcmp(now.digest, p->descriptor.digest))
            return OCV_OK;
        bool old = status < 0 || !strcmp(now.digest, p->before);
        if (!old || tried == READ_BACK_TRIES)
            return ocv_error_set(err, OCV_ERR_DENIED,
                                 "%s:%s was written as %s, but names %s: another writer came after",
                                 p->to->name, p->to->tag, p->descriptor.digest,
                                 status < 0 ? "nothing" : now.digest);
        sleep(1);
    }
}

static int put(struct publication *p, struct ocv_error *err)
{
    char now[OCV_DIGEST_MAX] = "";
    bool was_moved = false;
    int status = place_move(p->to, p->before, &p->descriptor, p->bytes->data, p->bytes->len,
                            &was_moved, err);
    return was_moved && look(p, now, NULL) == OCV_OK ? moved(p, p->before, now, err) : status;
}

int publication_write(struct publication *p, const char *media_type, const struct ocv_buffer *bytes,
                      struct ocv_error *err)
{
    char now[OCV_DIGEST_MAX];
    p->bytes = bytes;
    p->descriptor.size = (int64_t)bytes->len;
    snprintf(p->descriptor.media_type, sizeof(p->descriptor.media_type), "%s", media_type);
    int status = ocv_digest_bytes(bytes->data, bytes->len, p->descriptor.digest, err);
    if (status < 0 || p->options->dry_run)
        return status;
    if (p->to->cli->interrupted && *p->to->cli->interrupted)
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    status = look(p, now, err);
    if (status < 0)
        return status;
    if (strcmp(now, p->before) != 0)
        return moved(p, p->before, now, err);
    p->unchanged = !strcmp(now, p->descriptor.digest);
    if (!p->unchanged)
        status = put(p, err);
    return status == OCV_OK ? read_back(p, err) : status;
}

/* ---- the result --------------------------------------------------------------------------------
 */

/* "4 entries", or "one image" for a manifest that stands alone. */
static const char *describe(const struct publication *p, char *out, size_t size)
{
    ocv_auto(ocv_index) index = NULL;
    bool is_index = ocv_index_parse(p->bytes->data, p->bytes->len, NULL, &index, NULL) == OCV_OK;
    size_t n = is_index ? ocv_index_count(index) : 0;
    snprintf(out, size, "%zu entr%s", n, n == 1 ? "y" : "ies");
    return is_index ? out : "one image";
}

static int print_text(const struct publication *p, const struct copier *copier,
                      struct ocv_error *err)
{
    const struct place *to = p->to;
    char summary[200], what[48];
    printf("%s:%s  %s  (%s%s)\n", to->name, to->tag, p->descriptor.digest,
           describe(p, what, sizeof(what)),
           p->options->dry_run ? "; nothing was written"
           : p->unchanged      ? "; unchanged"
                               : "");
    bool copied = copier && (copier->manifests || copier->bytes_present);
    if (copied && !p->options->dry_run && to->reference)
        printf("%s\n", copier_summary(copier, summary, sizeof(summary)));
    if (to->reference && !p->options->dry_run)
        printf("sign it with everything in it: cosign sign --recursive %s@%s\n", to->name,
               p->descriptor.digest);
    return cli_print("", 0, err);
}

static int print_json(const struct publication *p, const struct copier *copier, json_t *extra,
                      struct ocv_error *err)
{
    json_t *document = json_loadb(p->bytes->data, p->bytes->len, 0, NULL);
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
    if (root && extra)
        json_object_update(root, extra);
    json_decref(extra);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text)
        return ocv_error_nomem(err);
    int status = cli_print(text, strlen(text), err);
    free(text);
    return status == OCV_OK ? cli_print("\n", 1, err) : status;
}

int publication_print(const struct publication *p, const struct copier *copier, json_t *extra,
                      struct ocv_error *err)
{
    if (p->options->json)
        return print_json(p, copier, extra, err);
    json_decref(extra);
    if (!p->options->quiet)
        return print_text(p, copier, err);
    printf("%s\n", p->descriptor.digest);
    return cli_print("", 0, err);
}
