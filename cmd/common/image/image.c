/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/image.h"

#include "cmd/common/image/document_cache.h"
#include "cmd/common/image/nested_index.h"
#include "cmd/common/names.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

bool image_split_layout(const char *text, char **dir, char **tag)
{
    *dir = *tag = NULL;
    if (strncmp(text, "oci:", 4) != 0 || !text[4])
        return false;
    const char *path = text + 4, *slash = strrchr(path, '/');
    const char *colon = strchr(slash ? slash : path, ':');
    *dir = colon ? strndup(path, (size_t)(colon - path)) : strdup(path);
    if (colon && colon[1])
        *tag = strdup(colon + 1);
    return true;
}

/* Compute the digest of a document that came without one; an index has its own. */
static int name_body(struct image *image, struct ocv_error *err)
{
    if (image->top.digest[0])
        return OCV_OK;
    image->top.size = (int64_t)image->body.len;
    if (!image->index)
        return ocv_digest_bytes(image->body.data, image->body.len, image->top.digest, err);
    snprintf(image->top.digest, sizeof(image->top.digest), "%s", ocv_index_digest(image->index));
    return OCV_OK;
}

/* Most documents, and the largest ones, are indexes: parse as one first, and look for another type
 * only if that fails. */
static int parse_body(struct image *image, struct ocv_error *err)
{
    const char *type = image->top.media_type[0] ? image->top.media_type : NULL;
    int status = ocv_index_parse(image->body.data, image->body.len, type, &image->parsed, err);
    image->kind = OCV_DOCUMENT_INDEX;
    image->index = image->parsed;
    if (status == OCV_OK)
        return name_body(image, err);
    if (status != OCV_ERR_DATA ||
        ocv_document_kind(image->body.data, image->body.len, type, &image->kind, NULL) < 0 ||
        image->kind != OCV_DOCUMENT_MANIFEST)
        return ocv_error_prefix(err, "%s", image->text);
    if (!type)
        snprintf(image->top.media_type, sizeof(image->top.media_type), "%s",
                 OCV_MEDIA_TYPE_MANIFEST);
    OCV_TRY(name_body(image, err));
    status = ocv_index_of_manifest(&image->top, &image->parsed, err);
    image->index = image->parsed;
    return status;
}

/* Ask with HEAD if the tag is cached: `*same` if it is unchanged and its bytes are in the cache. */
static int seen_before(struct cli *cli, struct image *image, bool *same, struct ocv_error *err)
{
    struct ocv_descriptor now;
    struct ocv_error failure = {0};
    *same = false;
    if (!cache_read(image->reference, &image->top, &image->body))
        return OCV_OK;
    int status = ocv_registry_head(cli->registry, image->reference, &now, &failure);
    *same = status == OCV_OK && !strcmp(now.digest, image->top.digest) &&
            !strcmp(now.media_type, image->top.media_type);
    if (*same) {
        cli_log(cli, "%s is unchanged: %s", image->text, now.digest);
        return OCV_OK;
    }
    ocv_buffer_free(&image->body);
    /* the error of a HEAD may only repeat with GET, after as many retries */
    bool final = failure.status == OCV_ERR_INTERRUPTED || failure.status == OCV_ERR_DENIED ||
                 failure.status == OCV_ERR_TLS ||
                 failure.http_status >= 400 || /* GET was tried, too */
                 (failure.status == OCV_ERR_NETWORK && failure.http_status == 0);
    if (status == OCV_OK || !final)
        return OCV_OK;
    if (err)
        *err = failure;
    return status;
}

/* Credentials from standard input belong to one registry. Another one that asks for a login, as
 * Docker Hub always does, must not get them. */
int image_bind_credentials(struct cli *cli, const struct ocv_reference *reference,
                           struct ocv_error *err)
{
    if (!cli->creds_stdin)
        return OCV_OK;
    if (!cli->creds_host)
        return (cli->creds_host = strdup(reference->host)) ? OCV_OK : ocv_error_nomem(err);
    if (!strcmp(cli->creds_host, reference->host))
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_INVALID, "%s: --creds-stdin applies to %s only", reference->familiar,
                  cli->creds_host);
    ocv_error_hint(err, "--authfile takes the credentials of several registries");
    return OCV_ERR_INVALID;
}

/* "./out" is a layout, or nothing: no registry has it. */
static int refuse_path(const char *text, struct ocv_error *err)
{
    struct stat st;
    if (stat(text, &st) < 0)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no such file", text);
    ocv_error_set(err, OCV_ERR_INVALID, "%s: a %s, not an image", text,
                  S_ISDIR(st.st_mode) ? "directory" : "file");
    if (S_ISDIR(st.st_mode))
        ocv_error_hint(err, "an OCI layout in the directory of that name is oci:%.200s", text);
    return OCV_ERR_INVALID;
}

int image_check_name(const char *text, struct ocv_error *err)
{
    ocv_auto(ocv_reference) reference = NULL;
    if (!strncmp(text, "oci:", 4))
        return OCV_OK;
    return image_is_path(text) ? refuse_path(text, err)
                               : ocv_reference_parse(text, &reference, err);
}

int image_open(struct cli *cli, const char *text, struct image *out, struct ocv_error *err)
{
    ocv_auto_free char *dir = NULL;
    *out = (struct image){.text = text};
    ocv_buffer_init(&out->body, OCV_MANIFEST_MAX);
    if (!image_split_layout(text, &dir, &out->layout_tag)) {
        if (image_is_path(text))
            return refuse_path(text, err);
        OCV_TRY(ocv_reference_parse(text, &out->reference, err));
        OCV_TRY(image_bind_credentials(cli, out->reference, err));
        OCV_TRY(cli_registry(cli, err));
        bool same = false;
        OCV_TRY(seen_before(cli, out, &same, err));
        if (!same) { /* the registry library names the image itself */
            OCV_TRY(
                ocv_registry_get(cli->registry, out->reference, NULL, &out->body, &out->top, err));
            cache_write(out->reference, &out->top, &out->body);
        }
        return parse_body(out, err);
    }
    if (!dir)
        return ocv_error_nomem(err);
    int status = ocv_layout_open(dir, OCV_LAYOUT_READ, &out->layout, err);
    if (status == OCV_OK)
        status = ocv_layout_resolve(out->layout, out->layout_tag, &out->top, err);
    if (status == OCV_OK)
        status = ocv_layout_read_blob(out->layout, out->top.digest, &out->body, err);
    return status < 0 ? ocv_error_prefix(err, "%s", text) : parse_body(out, err);
}

int image_flatten(struct cli *cli, struct image *image, struct ocv_error *err)
{
    const struct nested_place place = {.registry = cli->registry,
                                       .reference = image->reference,
                                       .layout = image->layout,
                                       .digest = image->top.digest,
                                       .body = &image->body};
    int status = nested_place_walk(&place, image->parsed, cli->platform != NULL, &image->flat, err);
    if (image->flat)
        image->index = image->flat;
    return status < 0 ? ocv_error_prefix(err, "%s", image->text) : OCV_OK;
}

/* Replace the image's index with the one made from tags. */
static void take_choice(struct image *image)
{
    image->index = ocv_tag_choice_index(image->choice);
    image->kind = OCV_DOCUMENT_INDEX;
    snprintf(image->top.digest, sizeof(image->top.digest), "%s", ocv_index_digest(image->index));
    snprintf(image->top.media_type, sizeof(image->top.media_type), "%s", OCV_MEDIA_TYPE_INDEX);
}

static int choose_tag(struct cli *cli, struct image *image, bool *unlisted, struct ocv_error *err)
{
    int status = rules_load(cli, image->reference, &image->rules, err);
    if (status < 0 || ocv_tag_rules_count(image->rules) == 0)
        return status;
    struct rules_source data;
    struct ocv_tag_source source = rules_source(cli, image->reference, &data);
    if (image->parsed)
        data.top = image->top;
    status = ocv_tag_choice_new(image->rules, image->reference, &source, &image->choice, err);
    if (status == OCV_OK && image->choice)
        take_choice(image);
    *unlisted = data.unlisted || status == OCV_ERR_DENIED || status == OCV_ERR_NOT_FOUND;
    return status;
}

/* Tag rules are tried only if the index has no variants. If the registry does not list tags, or too
 * many, the image stays as it is. */
int image_open_by_rule(struct cli *cli, const char *text, struct image *out, struct ocv_error *err)
{
    struct ocv_error failure = {0}, reason = {0};
    int status = image_open(cli, text, out, &failure);
    if (status == OCV_OK && (status = image_flatten(cli, out, &failure)) < 0) {
        if (err)
            *err = failure;
        return status;
    }
    const struct ocv_reference *ref = out->reference;
    const char *rules = ocv_config_get(ocv_config_for_reference(cli->config, ref), "tag_rules");
    bool may = ref && ref->tag && !ref->digest && (!rules || strcmp(rules, "off") != 0);
    bool asked = status == OCV_OK ? !ocv_index_has_variants(out->index)
                                  : status == OCV_ERR_NOT_FOUND && cli->registry;
    bool unlisted = false;
    int second = may && asked ? choose_tag(cli, out, &unlisted, &reason) : OCV_OK;
    if (out->choice)
        return OCV_OK;
    if (unlisted && status == OCV_OK)
        cli_warn(cli, "%s is used unchanged, since its tags cannot be listed: %s", text,
                 reason.message);
    else if (unlisted && second < 0 && second != OCV_ERR_NOT_FOUND)
        cli_warn(cli, "%s is looked for as a single tag, since its tags cannot be listed: %s", text,
                 reason.message);
    if (second < 0 && !unlisted) {
        status = second;
        failure = reason;
    }
    if (status == OCV_ERR_NOT_FOUND && ref)
        image_explain_missing(cli, ref, &failure);
    if (status < 0 && err)
        *err = failure;
    return status;
}

/* A repository with the tags that a lock fixes. */
struct locked_source {
    struct rules_source registry; /* first: what reads by digest takes it */
    const struct lock_image *locked;
};

static int locked_tags(void *data, int (*visit)(void *, const char *), void *visit_data,
                       struct ocv_error *err)
{
    const struct locked_source *s = data;
    int stop = 0;
    (void)err;
    for (size_t i = 0; i < s->locked->n_tags && !stop; i++)
        stop = visit(visit_data, s->locked->tags[i].tag);
    return OCV_OK;
}

static int locked_head(void *data, const char *tag, struct ocv_descriptor *out,
                       struct ocv_error *err)
{
    const struct locked_source *s = data;
    for (size_t i = 0; i < s->locked->n_tags; i++)
        if (!strcmp(s->locked->tags[i].tag, tag)) {
            *out = s->locked->tags[i].descriptor;
            return OCV_OK;
        }
    return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s is not locked", tag);
}

int image_open_locked(struct cli *cli, const char *text, const struct lock_image *locked,
                      struct image *out, struct ocv_error *err)
{
    struct locked_source data = {.locked = locked};
    *out = (struct image){.text = text};
    ocv_buffer_init(&out->body, OCV_MANIFEST_MAX);
    OCV_TRY(ocv_reference_parse(text, &out->reference, err));
    OCV_TRY(image_bind_credentials(cli, out->reference, err));
    OCV_TRY(cli_registry(cli, err));
    OCV_TRY(rules_load(cli, out->reference, &out->rules, err));
    struct ocv_tag_source source = rules_source(cli, out->reference, &data.registry);
    source.data = &data;
    source.tags = locked_tags;
    source.head = locked_head;
    OCV_TRY(ocv_tag_choice_new(out->rules, out->reference, &source, &out->choice, err));
    if (!out->choice) {
        ocv_error_set(err, OCV_ERR_DATA, "%s: the tag rules here form no set of the locked tags",
                      text);
        ocv_error_hint(err, "--lock-profile NAME selects what is locked for a machine");
        return OCV_ERR_DATA;
    }
    take_choice(out);
    return OCV_OK;
}

const char *image_tag(const struct image *image, const struct ocv_entry *entry)
{
    return image->choice ? ocv_tag_choice_tag(image->choice, entry, NULL) : NULL;
}

/* "index.json" is a valid image name on Docker Hub, but a user who types it means the file. */
int image_open_either(struct cli *cli, const char *file, const char *text, struct image *out,
                      bool by_rule, struct ocv_error *err)
{
    struct stat st;
    int status = file ? image_open_file(file, out, err) : OCV_OK;
    if (file)
        return status == OCV_OK && by_rule ? image_flatten(cli, out, err) : status;
    status = by_rule ? image_open_by_rule(cli, text, out, err) : image_open(cli, text, out, err);
    if (status < 0 && err && !err->hint[0] && stat(text, &st) == 0) {
        if (S_ISREG(st.st_mode))
            ocv_error_hint(err, "to read the file of that name: --index %.200s", text);
        else if (S_ISDIR(st.st_mode))
            ocv_error_hint(err, "an OCI layout in the directory of that name is oci:%.200s", text);
    }
    return status;
}

bool image_is_path(const char *text)
{
    static const char *const ends[] = {".so", ".whl", ".zip", ".tar", ".tar.gz", ".tgz"};
    const char *dots = text + (text[0] == '.' && text[1] == '.');
    size_t len = strlen(text);
    if (*text == '/' || !strncmp(dots, "./", 2) || !strncmp(text, "~/", 2))
        return true;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        size_t n = strlen(ends[i]);
        if (len > n && !strcmp(text + len - n, ends[i]) && !strchr(text, '/'))
            return true;
    }
    return false;
}

const char *image_ruled_tag(const struct image *image)
{
    return image->choice && image->parsed ? image->reference->tag : NULL;
}

int image_open_file(const char *path, struct image *out, struct ocv_error *err)
{
    *out = (struct image){.text = path};
    ocv_buffer_init(&out->body, OCV_MANIFEST_MAX);
    OCV_TRY(cli_read_file(path, &out->body, err));
    return parse_body(out, err);
}

void image_close(struct image *image)
{
    ocv_reference_free(image->reference);
    ocv_layout_free(image->layout);
    free(image->layout_tag);
    ocv_buffer_free(&image->body);
    ocv_index_free(image->parsed);
    ocv_index_free(image->flat);
    ocv_tag_choice_free(image->choice);
    ocv_tag_rules_free(image->rules);
}

int image_resolve_for(struct cli *cli, struct image *image, const struct ocv_profile *profile,
                      struct ocv_decision **out, struct ocv_error *err)
{
    struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences_for(cli->config, image->reference),
        .platform = cli->platform,
        .label = names_label(image->index, cli->label),
        .unchecked = cli->unchecked};
    if (!image->choice)
        return ocv_resolve(image->index, profile, &options, out, err);
    struct rules_source data;
    struct ocv_tag_source source = rules_source(cli, image->reference, &data);
    int status = ocv_tag_choice_resolve(image->choice, &source, profile, &options, out, err);
    take_choice(image);
    /* the image's own configuration overrides its name; warn a user who asked by that name */
    struct ocv_tag_note note;
    for (size_t i = 0; status == OCV_OK && ocv_tag_choice_note(image->choice, i, &note); i++)
        if (note.contradiction)
            cli_warn(cli, "%s:%s: %s", image->reference->familiar, note.tag, note.contradiction);
    return status;
}

int image_finish(struct cli *cli, struct image *image, struct ocv_error *err)
{
    static const char any[] = "{\"schema\": \"dev.ocivariant.profile/v1\", \"namespaces\": [], "
                              "\"platform\": {\"os\": \"linux\", \"architecture\": \"amd64\"}}";
    ocv_auto(ocv_profile) profile = NULL;
    if (!image->choice)
        return OCV_OK;
    OCV_TRY(ocv_profile_parse(any, strlen(any), &profile, err));
    for (size_t i = 0; i < ocv_index_count(image->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(image->index, i);
        const char *wanted = names_label(image->index, cli->label);
        const char *name = entry->label ? entry->label : "null";
        char label[128]; /* the index, which has the name, goes */
        if (entry->code != OCV_REJECT_NONE || entry->has_platform ||
            (wanted && strcmp(wanted, name) != 0) ||
            snprintf(label, sizeof(label), "%s", name) >= (int)sizeof(label))
            continue;
        /* resolve unchecked, only to load the entry's configuration */
        bool in_doubt = ocv_index_doubt(image->index, entry);
        struct rules_source data;
        struct ocv_tag_source source = rules_source(cli, image->reference, &data);
        const struct ocv_resolve_options options = {.label = label, .unchecked = true};
        ocv_auto(ocv_decision) decision = NULL;
        int status =
            ocv_tag_choice_resolve(image->choice, &source, profile, &options, &decision, err);
        take_choice(image);
        if (status < 0 && !(status == OCV_ERR_DATA && in_doubt)) /* whoever gets it is told */
            return status;
    }
    return OCV_OK;
}

int image_resolve(struct cli *cli, struct image *image, struct ocv_decision **out,
                  struct ocv_error *err)
{
    OCV_TRY(cli_profile(cli, err));
    if (!cli->platform && !ocv_profile_platform(cli->profile).architecture) {
        /* A profile without a platform (PEP 825 has none) gets this machine's platform. */
        struct utsname machine;
        if (uname(&machine) != 0)
            return ocv_error_set(err, OCV_ERR_IO, "uname failed");
        OCV_TRY(ocv_platform_parse(machine.machine, &cli->platform, err));
    }
    OCV_TRY(names_check(cli, ocv_config_for_reference(cli->config, image->reference), cli->plain,
                        image->index, err));
    return image_resolve_for(cli, image, cli->profile, out, err);
}
