/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "cmd/common/image/image.h"
#include "cmd/common/image/nested_index.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "lib/internal/records/daemon.h"
#include "lib/internal/records/records.h"
#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS 5000u
#define RETRIES 1u

/* State of one request. */
struct pinned_choice {
    const struct decide *decide;
    struct ocv_reference *reference;
    char key[PINNED_TEXT_MAX];
    struct ocv_buffer body; /* of the index */
    struct ocv_index *index;
    struct ocv_profile *profile;
    struct ocv_decision *decision;
    const struct ocv_entry *entry; /* the chosen entry, or NULL */
    struct ocv_registry *registry; /* that is asked; NULL: for a kept index */
    bool secret;                   /* read with the request's credentials */
    bool no_profile;               /* it is not known what this node is */
};

static void question_free(struct pinned_choice *q)
{
    ocv_decision_free(q->decision);
    ocv_profile_free(q->profile);
    ocv_index_free(q->index);
    ocv_registry_free(q->registry);
    ocv_buffer_free(&q->body);
    ocv_reference_free(q->reference);
}

#define auto_question __attribute__((cleanup(question_free))) struct pinned_choice

int decide_profile(const struct decide *d, struct ocv_profile **out, char digest[OCV_DIGEST_MAX],
                   struct ocv_error *err)
{
    long http = 200;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    int status = d->profile_file ? ocv_file_read(d->profile_file, OCV_FILE_ANY, &text, err)
                                 : ocv_daemon_get(d->socket, "/v1/profile", DECIDE_PROFILE_MS,
                                                  &http, &text, err);
    if (status < 0)
        return ocv_error_prefix(err, "no profile of this node");
    if (http != 200)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND,
                             "no profile of this node: variantd answers HTTP %ld", http);
    ocv_auto(ocv_profile) plain = NULL;
    OCV_TRY(ocv_digest_bytes(text.data ? text.data : "", text.len, digest, err));
    OCV_TRY(ocv_profile_parse(text.data ? text.data : "", text.len, &plain, err));
    return ocv_config_override_profile(d->config, plain, out, err);
}

int decide_walk(struct ocv_registry *registry, const struct ocv_reference *reference,
                struct ocv_index **index, struct ocv_error *err)
{
    const struct nested_place place = {.registry = registry, .reference = reference};
    struct ocv_index *flat = NULL;
    if (!registry && nested_index_is(*index, ocv_index_has_variants(*index)))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "the registry has a part of its index");
    int status = nested_place_walk(&place, *index, false, &flat, err);
    if (flat) {
        ocv_index_free(*index);
        *index = flat;
    }
    return status;
}

/* Choose among the entries of q->body. An ordinary image leaves q->entry NULL. */
static int decide_choose(struct pinned_choice *q, const char *media_type, struct ocv_error *err)
{
    enum ocv_document_kind kind;
    char digest[OCV_DIGEST_MAX];
    ocv_auto(ocv_reference) reference = pinned_parse(q->key, strlen(q->key));
    const struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences_for(q->decide->config, reference)};
    OCV_TRY(ocv_document_kind(q->body.data, q->body.len, media_type, &kind, err));
    if (kind != OCV_DOCUMENT_INDEX)
        return OCV_OK;
    OCV_TRY(ocv_index_parse(q->body.data, q->body.len, media_type, &q->index, err));
    OCV_TRY(decide_walk(q->registry, q->reference, &q->index, err));
    if (!ocv_index_has_variants(q->index))
        return OCV_OK;
    if (!q->profile && decide_profile(q->decide, &q->profile, digest, err) < 0) {
        q->no_profile = true;
        return err->status;
    }
    OCV_TRY(ocv_resolve(q->index, q->profile, &options, &q->decision, err));
    q->entry = ocv_decision_selected(q->decision);
    return q->entry ? OCV_OK : ocv_error_set(err, OCV_ERR_NO_MATCH, "no entry fits this node");
}

const char *decide_records(const struct decide *decide, char *out, size_t size)
{
    return decide->records
               ? decide->records
               : ocv_record_directory(ocv_config_get(decide->config, "state_dir"), out, size);
}

static int keep_choice(const struct pinned_choice *q, struct ocv_error *err)
{
    char dir[4096];
    struct ocv_error local = {0};
    OCV_TRY(state_put_pinned(q->decide->state, q->key, q->entry->digest, q->body.data, q->body.len,
                             err));
    /* For hooks that see only the child. */
    ocv_auto(ocv_reference) reference = pinned_parse(q->key, strlen(q->key));
    const struct ocv_record where = {.repository = reference ? reference->name : NULL,
                                     .index = ocv_index_digest(q->index),
                                     .reference = q->key,
                                     .secret = q->secret};
    if (reference && ocv_record_chosen(decide_records(q->decide, dir, sizeof(dir)), q->index,
                                       q->entry, &where, &local) < 0)
        log_line("the choice is not recorded: %s", local.message);
    return OCV_OK;
}

/* What is known of a pin before any registry is asked. */
enum kept {
    KEPT_NONE, /* ask a registry */
    KEPT_SAME, /* the previous child is the current profile's, too */
    KEPT_BLIND /* there is one, and no profile to say whether it still is this node's */
};

/* The previous child, resolved again from the kept index with the current profile. */
static enum kept choose_kept(const struct decide *decide, const char *key,
                             char child[OCV_DIGEST_MAX], struct ocv_error *err)
{
    auto_question q = {.decide = decide};
    ocv_buffer_init(&q.body, STATE_INDEX_MAX);
    snprintf(q.key, sizeof(q.key), "%s", key);
    if (!state_find_pinned(decide->state, key, child) ||
        state_index(decide->state, strrchr(key, '@') + 1, &q.body, err) < 0)
        return KEPT_NONE;
    int status = decide_choose(&q, NULL, err);
    if (q.no_profile)
        return KEPT_BLIND;
    return status == OCV_OK && q.entry && strcmp(q.entry->digest, child) == 0 &&
                   state_checked(decide->state, key, child)
               ? KEPT_SAME
               : KEPT_NONE;
}

/* The node's profile is not known, and this pin has been another image than the engine's choice:
 * `fail` decides. Open: the image that it was, so that a pod which starts again is what it was. */
static bool pull_blind(const struct decide *decide, const char *text, const char *child,
                       const struct ocv_error *why, char out[PINNED_TEXT_MAX],
                       char refused[DECIDE_REASON_MAX])
{
    if (decide->closed) {
        snprintf(refused, DECIDE_REASON_MAX, "ocivariant: %.200s: %.150s", text, why->message);
        log_line("refused: %s", refused);
        return false;
    }
    if (!pinned_rewrite(text, strlen(text), child, out))
        return false;
    log_line("%s -> %s, as before: %s", text, child, why->message);
    return true;
}

/* No entry meets the requirements, or one that would is denied: the engine must not choose by
 * itself either. */
static void refuse_pin(const struct pinned_choice *q, const char *text,
                       char refused[DECIDE_REASON_MAX])
{
    const char *const *required = NULL;
    const struct ocv_config *config = ocv_config_for_reference(q->decide->config, q->reference);
    struct ocv_rejection denied = {0};
    if (!q->decide->enforce)
        return;
    /* The first entry that only `deny` keeps away. */
    for (size_t i = 0; q->decision && i < ocv_decision_rejected_count(q->decision); i++)
        if ((denied = ocv_decision_rejected(q->decision, i)).code == OCV_REJECT_DENIED)
            break;
    if (denied.code == OCV_REJECT_DENIED)
        snprintf(refused, DECIDE_REASON_MAX,
                 "ocivariant: %.200s: nothing fits this node but what deny has ('%.128s', %.100s)",
                 text, denied.required, denied.origin);
    else if (ocv_config_list(config, "require", &required))
        snprintf(refused, DECIDE_REASON_MAX,
                 "ocivariant: %.200s: no entry that fits this node uses %.100s, which is required",
                 text, required[0]);
    else
        return;
    log_line("%s: %s",
             q->decide->choose == OCV_CHOOSE_SHADOW ? "shadow: would be refused" : "refused",
             refused);
    if (q->decide->choose == OCV_CHOOSE_SHADOW)
        refused[0] = '\0';
}

static void registry_log(void *data, const char *line)
{
    (void)data;
    log_debug("%s", line);
}

int decide_open_registry(const struct ocv_config *config, const struct wire_auth *auth,
                         const volatile int *interrupted, struct ocv_registry **out,
                         struct ocv_error *err)
{
    char agent[64];
    struct ocv_registry_options options = {
        .user_agent = agent,
        .username = auth->username,
        .password = auth->password,
        .identity_token = auth->username ? NULL : auth->identity_token,
        .registry_token = auth->username || auth->identity_token ? NULL : auth->registry_token,
        .given_only = true,
        .retries = RETRIES,
        .connect_timeout_ms = CONNECT_MS,
        .interrupted = interrupted,
        .log = registry_log,
    };
    snprintf(agent, sizeof(agent), "ocivariant-cri-proxy/%s", ocv_version());
    options.n_registries = ocv_config_registries(config, &options.registries);
    OCV_TRY(ocv_registry_new(&options, out, err));
    ocv_registry_deadline(*out, DECIDE_MS);
    return OCV_OK;
}

int decide_signed(const struct decide *decide, struct ocv_registry *registry,
                  const struct ocv_reference *reference, const char *digest, struct ocv_error *err)
{
    char key[OCV_DIGEST_MAX], document[OCV_DIGEST_MAX];
    struct ocv_trust_rule rules[2];
    size_t n = ocv_config_trust(decide->config, reference, rules);
    for (size_t i = 0; i < n; i++) {
        struct ocv_signature signature = {.key = ""};
        ocv_auto(ocv_signature_keys) keys = NULL;
        bool named = false;
        if (!rules[i].require || !rules[i].n_keys)
            continue;
        OCV_TRY(trust_keys(&rules[i], &keys, err));
        if (ocv_trusted_find(decide->own, reference->name, digest, key, document, &named) &&
            (!rules[i].match || named) && ocv_signature_keys_have(keys, key))
            continue;
        OCV_TRY(trust_verify(registry, decide->config, reference, &rules[i], keys, digest, NULL,
                             &signature, err));
        const struct ocv_trusted record = {.repository = reference->name,
                                           .digest = digest,
                                           .key = signature.key,
                                           .signature = signature.document,
                                           .named = rules[i].match};
        struct ocv_error why = {0};
        if (ocv_trusted_write(decide->own, &record, &why) < 0)
            log_debug("not recorded: %s", why.message);
    }
    return OCV_OK;
}

void decide_tell_signed(const struct decide *decide, const struct ocv_reference *reference,
                        const char *digest, const struct ocv_index *index)
{
    char dir[4096], key[OCV_DIGEST_MAX], document[OCV_DIGEST_MAX];
    struct ocv_error why = {0};
    struct ocv_trusted record = {
        .repository = reference->name, .digest = digest, .key = key, .signature = document};
    if (!ocv_config_trust_required(decide->config, reference) ||
        !ocv_trusted_find(decide->own, reference->name, digest, key, document, &record.named))
        return;
    ocv_auto_json *members = record.members = json_array();
    for (size_t i = 0; index && i < ocv_index_count(index); i++)
        json_array_append_new(members, json_string(ocv_index_entry(index, i)->digest));
    if (ocv_trusted_write(decide_records(decide, dir, sizeof(dir)), &record, &why) < 0)
        log_line("the signature is not recorded: %s", why.message);
}

/* Before anything else, whatever was chosen before. */
static int check_signature(struct pinned_choice *q, struct wire_auth *auth,
                           const volatile int *interrupted, struct ocv_error *err)
{
    if (!ocv_config_trust_required(q->decide->config, q->reference))
        return OCV_OK;
    OCV_TRY(pinned_credentials(auth, q->reference->host, err));
    OCV_TRY(decide_open_registry(q->decide->config, auth, interrupted, &q->registry, err));
    OCV_TRY(decide_signed(q->decide, q->registry, q->reference, q->reference->digest, err));
    ocv_registry_deadline(q->registry, DECIDE_MS); /* the choice has its own time */
    return OCV_OK;
}

/* Fetch the index with the request's own credentials, choose, and check the child. */
static int decide_ask(struct pinned_choice *q, const struct wire_auth *auth,
                      const volatile int *interrupted, struct ocv_error *err)
{
    ocv_auto(ocv_reference) child = NULL;
    char text[PINNED_TEXT_MAX];
    struct ocv_descriptor found;
    if (!q->registry)
        OCV_TRY(decide_open_registry(q->decide->config, auth, interrupted, &q->registry, err));
    OCV_TRY(
        ocv_registry_get(q->registry, q->reference, q->reference->digest, &q->body, &found, err));
    OCV_TRY(decide_choose(q, found.media_type, err));
    if (!q->entry)
        return OCV_OK;
    /* Engines do not fall back if a child does not exist. */
    snprintf(text, sizeof(text), "%s@%s", q->reference->name, q->entry->digest);
    OCV_TRY(ocv_reference_parse(text, &child, err));
    OCV_TRY(ocv_registry_head(q->registry, child, &found, err));
    if (strcmp(found.digest, q->entry->digest) != 0 || found.size != q->entry->size ||
        strcmp(found.media_type, q->entry->media_type) != 0)
        return ocv_error_set(err, OCV_ERR_MISMATCH,
                             "the registry's %s is not what the index says it is", text);
    return OCV_OK;
}

bool decide_pull(const struct decide *decide, const char *text, struct wire_auth *auth,
                 const volatile int *interrupted, char out[PINNED_TEXT_MAX], bool *known,
                 bool *silent, char refused[DECIDE_REASON_MAX])
{
    auto_question q = {.decide = decide};
    struct ocv_error err = {0};
    char child[OCV_DIGEST_MAX];
    bool shadow = decide->choose == OCV_CHOOSE_SHADOW;
    ocv_buffer_init(&q.body, OCV_MANIFEST_MAX);
    q.reference = pinned_parse(text, strlen(text));
    *known = *silent = false;
    refused[0] = '\0';
    if (!q.reference || !pinned_key(q.reference, q.key)) {
        if (ocv_config_trust_anywhere(decide->config))
            snprintf(refused, DECIDE_REASON_MAX,
                     "ocivariant: %.200s: the name cannot be read, so no signature is known", text);
        return false;
    }
    if (check_signature(&q, auth, interrupted, &err) < 0) {
        *silent = q.registry && ocv_registry_was_silent(q.registry);
        snprintf(refused, DECIDE_REASON_MAX, "ocivariant: %.200s: %.250s", text, err.message);
        log_line("refused: %s", refused);
        return false;
    }
    if (decide->choose == OCV_CHOOSE_OFF || state_checked(decide->state, q.key, ""))
        return false;
    enum kept kept = shadow ? KEPT_NONE : choose_kept(decide, q.key, child, &err);
    if (kept == KEPT_BLIND)
        return *known = pull_blind(decide, text, child, &err, out, refused);
    if (kept == KEPT_SAME && pinned_rewrite(text, strlen(text), child, out)) {
        log_line("%s -> %s, as before", text, child);
        return *known = true;
    }
    err = (struct ocv_error){0};
    int status = pinned_credentials(auth, q.reference->host, &err);
    q.secret = auth->username || auth->identity_token || auth->registry_token;
    if (status == OCV_OK)
        status = decide_ask(&q, auth, interrupted, &err);
    *silent = status < 0 && q.registry && ocv_registry_was_silent(q.registry);
    bool found =
        status == OCV_OK && q.entry && pinned_rewrite(text, strlen(text), q.entry->digest, out);
    if (found && !shadow) /* a choice that is not stored would not be found by ImageStatus */
        status = keep_choice(&q, &err);
    if (found && status == OCV_OK && !shadow) {
        state_set_checked(decide->state, q.key, q.entry->digest);
        decide_tell_signed(decide, q.reference, q.reference->digest, q.index);
    }
    if (status == OCV_OK && !q.entry)
        state_set_checked(decide->state, q.key, ""); /* without variants */
    if (status == OCV_ERR_NO_MATCH)
        refuse_pin(&q, text, refused);
    if (status < 0 && !refused[0])
        log_line("%s passes unchanged: %s", text, err.message);
    else if (found && q.entry) {
        log_line("%s %s %s (%s)", text,
                 q.decide->choose == OCV_CHOOSE_SHADOW ? "shadow: would be pulled as" : "->",
                 q.entry->digest, q.entry->label ? q.entry->label : "the default");
    } else
        log_debug("%s has no variants", text);
    return found && status == OCV_OK && !shadow;
}

void decide_again(const struct decide *decide, char last[OCV_DIGEST_MAX])
{
    char digest[OCV_DIGEST_MAX] = "", key[PINNED_TEXT_MAX] = "", child[OCV_DIGEST_MAX];
    struct ocv_error err = {0};
    ocv_auto(ocv_profile) profile = NULL;
    if (decide_profile(decide, &profile, digest, &err) < 0 || strcmp(digest, last) == 0)
        return;
    snprintf(last, OCV_DIGEST_MAX, "%s", digest);
    while (state_next_pinned(decide->state, key, child)) {
        struct pinned_choice q = {.decide = decide, .profile = profile, .secret = true};
        struct ocv_error why = {0};
        if (ocv_config_choose_text(decide->config, key) != OCV_CHOOSE_ON)
            continue;
        ocv_buffer_init(&q.body, STATE_INDEX_MAX);
        snprintf(q.key, sizeof(q.key), "%s", key);
        int status = state_index(decide->state, strrchr(key, '@') + 1, &q.body, &why);
        if (status == OCV_OK)
            status = decide_choose(&q, NULL, &why);
        if (status == OCV_OK && q.entry && strcmp(q.entry->digest, child) != 0) {
            status = keep_choice(&q, &why);
            if (status == OCV_OK)
                log_line("the node has changed: %s -> %s (%s)", key, q.entry->digest,
                         q.entry->label ? q.entry->label : "the default");
        }
        if (status < 0 && status != OCV_ERR_NOT_FOUND)
            log_line("%s stays %s: %s", key, child, why.message);
        q.profile = NULL; /* it is for all of them */
        question_free(&q);
    }
}
