/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PullImage: the registry is asked with the request's own credentials, and the engine then pulls
 * the child with them, so no pod gets an image that it may not read. */
#include "plugins/containerd/cri-proxy/workload/workload_internal.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/internal/records/records.h"
#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* State of a pull. */
struct workload_pull {
    struct work *work;
    struct ocv_registry *registry;
    struct ocv_buffer body;
    struct ocv_descriptor found;
    struct ocv_index *index; /* for a single image it has one entry */
    struct ocv_profile *profile;
    const struct ocv_entry *entry;
    struct state_value value;
    bool secret;
};

/* The entry, and the user that it and all other possible entries run as; kept for the pod. */
static int choose_for_pod(struct workload_pull *p, struct wire_auth *auth, struct ocv_error *err)
{
    struct work *work = p->work;
    const struct workload_call *call = work->call;
    const struct ocv_reference *reference = call->reference;
    const struct ocv_entry *all[USERS_ENTRIES_MAX];
    enum ocv_document_kind kind = OCV_DOCUMENT_INDEX;
    char digest[OCV_DIGEST_MAX], dir[4096];
    struct ocv_error local = {0};
    size_t n = 0;
    OCV_TRY(pinned_credentials(auth, reference->host, err));
    p->secret = auth->username || auth->identity_token || auth->registry_token;
    OCV_TRY(decide_open_registry(call->decide->config, auth, call->interrupted, &p->registry, err));
    OCV_TRY(ocv_registry_get(p->registry, reference, reference->digest, &p->body, &p->found, err));
    OCV_TRY(decide_signed(call->decide, p->registry, reference, p->found.digest, err));
    OCV_TRY(ocv_document_kind(p->body.data, p->body.len, p->found.media_type, &kind, err));
    OCV_TRY(kind == OCV_DOCUMENT_INDEX
                ? ocv_index_parse(p->body.data, p->body.len, p->found.media_type, &p->index, err)
                : ocv_index_of_manifest(&p->found, &p->index, err));
    if (kind == OCV_DOCUMENT_INDEX)
        OCV_TRY(decide_walk(p->registry, reference, &p->index, err));

    OCV_TRY(decide_profile(call->decide, &p->profile, digest, err));
    const struct choose_question question = {.name = call->text,
                                             .config = call->config,
                                             .tag = reference->tag,
                                             .wishes = &work->wishes,
                                             .devices = work->devices,
                                             .index = p->index,
                                             .profile = p->profile};
    OCV_TRY(choose_entry(&question, &p->entry, err));
    OCV_TRY(choose_possible(p->index, p->profile, all, USERS_ENTRIES_MAX, &n, err));
    OCV_TRY(users_same(&work->workload->users, p->registry, reference, call->text, all, n,
                       p->value.user, err));
    /* from an index without variants the engine chooses by platform, as without us */
    bool variants = ocv_index_has_variants(p->index);
    snprintf(p->value.child, sizeof(p->value.child), "%s",
             variants ? p->entry->digest : p->found.digest);
    snprintf(p->value.index, sizeof(p->value.index), "%s", p->found.digest);

    const struct state_key key = work_key(work);
    const struct state_pod pod = work_pod(work);
    OCV_TRY(
        state_put_choice(work->workload->state, &key, &p->value, p->body.data, p->body.len, err));
    if (*work->pod.uid)
        OCV_TRY(state_put_pod(work->workload->state, call->text, &pod, &p->value, err));
    /* For hooks that see only the child. */
    const struct ocv_record where = {.repository = reference->name,
                                     .index = p->value.index,
                                     .reference = call->text,
                                     .secret = p->secret};
    if (variants && ocv_record_chosen(decide_records(call->decide, dir, sizeof(dir)), p->index,
                                      p->entry, &where, &local) < 0)
        log_line("the choice is not recorded: %s", local.message);
    decide_tell_signed(call->decide, reference, p->found.digest, p->index);
    return OCV_OK;
}

/* A choice that was kept is of an index that is signed today, too. */
static int check_kept(const struct work *work, const struct state_value *value,
                      struct wire_auth *auth, struct ocv_error *err)
{
    const struct workload_call *call = work->call;
    ocv_auto(ocv_registry) registry = NULL;
    if (!ocv_config_trust_required(call->decide->config, call->reference))
        return OCV_OK;
    OCV_TRY(pinned_credentials(auth, call->reference->host, err));
    OCV_TRY(decide_open_registry(call->decide->config, auth, call->interrupted, &registry, err));
    return decide_signed(call->decide, registry, call->reference, value->index, err);
}

/* A misspelt annotation asks for nothing, and whoever wrote it waits for another build. Once for
 * each pod, since kubelet pulls again and again. */
static void warn_unknown(const struct work *work)
{
    static const char own[] = WORKLOAD_PREFIX;
    struct workload *w = work->workload;
    const struct request_text *unknown = &work->request.unknown;
    char name[81], key[STATE_POD_MAX + sizeof(name) + 1], question[OCV_NEAREST_QUESTION_MAX];
    size_t at = sizeof(own) - 1;
    if (!unknown->at)
        return;
    snprintf(name, sizeof(name), "%.*s", (int)(unknown->len - at < 80 ? unknown->len - at : 80),
             unknown->at + at);
    snprintf(key, sizeof(key), "%s\n%s", work->pod.uid, name);
    bool first = true;
    char *copy = strdup(key);
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < WARNED_MAX && first; i++)
        first = !w->warned[i] || strcmp(w->warned[i], key) != 0;
    if (first && copy) { /* in the place of the oldest one */
        char *oldest = w->warned[w->next_warned];
        w->warned[w->next_warned] = copy;
        w->next_warned = (w->next_warned + 1) % WARNED_MAX;
        copy = oldest;
    }
    pthread_mutex_unlock(&w->lock);
    free(copy);
    if (!first)
        return;
    counts_add(w->counts, COUNT_UNKNOWN);
    log_line(
        "warning: pod %s/%s: there is no annotation " WORKLOAD_PREFIX "%s, it is ignored%s",
        work->pod.name_space, work->pod.name, name,
        ocv_nearest_question(ocv_nearest(name, workload_wish_names, WORKLOAD_WISHES), question));
}

void workload_pull(struct workload *workload, const struct workload_call *call,
                   struct wire_auth *auth, struct workload_answer *answer)
{
    struct work work = {.workload = workload, .call = call};
    *answer = (struct workload_answer){0};
    struct state_value value;
    struct ocv_error err = {0};
    bool begun = work_begin(&work, answer);
    warn_unknown(&work);
    /* A pod that has a choice keeps it. The pull fails if a pod with a new config.seen (after a
     * restart of kubelet) cannot be recorded. */
    const struct state_pod pod = work_pod(&work);
    bool kept = begun && *work.pod.uid && state_find_pod(workload->state, call->text, &pod, &value);
    if (kept && (check_kept(&work, &value, auth, &err) < 0 ||
                 state_put_pod(workload->state, call->text, &pod, &value, &err) < 0)) {
        answer_error(answer, &err);
    } else if (kept) {
        log_line("%s -> %s, as before, for pod %s/%s", call->text, value.child, work.pod.name_space,
                 work.pod.name);
        answer_child(&work, value.child, answer);
    } else if (begun && work_find_devices(&work, answer)) {
        struct workload_pull p = {.work = &work};
        ocv_buffer_init(&p.body, OCV_MANIFEST_MAX);
        if (choose_for_pod(&p, auth, &err) == OCV_OK) {
            log_line("%s -> %s (%s) for pod %s/%s, devices %s", call->text, p.value.child,
                     p.entry->label ? p.entry->label : "the default", work.pod.name_space,
                     work.pod.name, work.devices);
            answer_child(&work, p.value.child, answer);
            snprintf(answer->fresh, sizeof(answer->fresh), "%s", work.pod.uid);
        } else {
            answer_error(answer, &err);
            answer->silent = p.registry && ocv_registry_was_silent(p.registry);
            refusal_keep(&work, answer);
        }
        ocv_profile_free(p.profile);
        ocv_index_free(p.index);
        ocv_registry_free(p.registry);
        ocv_buffer_free(&p.body);
    }
    counts_add(workload->counts, answer->way == WORKLOAD_REFUSE ? COUNT_REFUSED
                                 : *answer->fresh               ? COUNT_CHOSEN
                                                                : COUNT_KEPT);
    workload_wishes_free(&work.wishes);
}
