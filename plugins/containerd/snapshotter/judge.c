/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who unpacks a layer says so by labels (core/unpack of containerd): the chain id wanted, with CRI
 * the image's reference and manifest digest, and whatever the author annotated the layer with. Who
 * starts a container names a parent only: it is judged by the variants that were unpacked there,
 * and allowed if any of them fits, since images share layers. */
#include "judge.h"

#include "records.h"
#include "verdict.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LABEL_VARIANT SNAP_LABEL_PREFIX OCV_ANNOTATION_LABEL
#define LABEL_PROPERTIES SNAP_LABEL_PREFIX OCV_ANNOTATION_PROPERTIES
#define LABEL_REFERENCE SNAP_LABEL_PREFIX "cri.image-ref"
#define LABEL_DIGEST SNAP_LABEL_PREFIX "cri.manifest-digest"
#define LABEL_LAYERS SNAP_LABEL_PREFIX "cri.image-layers"

#define REMEMBERED 16u   /* answers: the layers of an image come one after the other */
#define REMEMBER_MS 2000 /* for so long */
#define VARIANTS_MAX 64u /* of one chain that are asked about */

struct remembered {
    char *key;
    int64_t at;
    struct verdict_answer answer;
};

struct counters {
    unsigned long long fits, misfit, none, index, unknown, refused, warned;
};

struct snap_judge {
    struct snap_judge_options options;
    char *config_file, *records, *metrics;
    struct snap_meta *meta;
    pthread_rwlock_t policy_lock;
    struct verdict_policy policy;
    int reload; /* atomic */
    pthread_mutex_t lock;
    struct remembered remembered[REMEMBERED];
    size_t next;
    struct counters counters;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void say(const struct snap_judge *j, const char *what, const char *text)
{
    char line[OCV_ERROR_MESSAGE_MAX + 64];
    snprintf(line, sizeof(line), "%s: %s", what, text);
    if (j->options.log)
        j->options.log(line);
}

/* ---- counting ----------------------------------------------------------------------------------
 */

static void write_metrics(const struct snap_judge *j)
{
    const struct counters *c = &j->counters;
    char *temporary = NULL;
    if (!j->metrics || asprintf(&temporary, "%s.tmp", j->metrics) < 0)
        return;
    FILE *file = fopen(temporary, "we");
    bool ok = file &&
              fprintf(file,
                      "# TYPE ocivariant_snapshotter_verdicts_total counter\n"
                      "ocivariant_snapshotter_verdicts_total{verdict=\"fits\"} %llu\n"
                      "ocivariant_snapshotter_verdicts_total{verdict=\"misfit\"} %llu\n"
                      "ocivariant_snapshotter_verdicts_total{verdict=\"none\"} %llu\n"
                      "ocivariant_snapshotter_verdicts_total{verdict=\"index\"} %llu\n"
                      "ocivariant_snapshotter_verdicts_total{verdict=\"unknown\"} %llu\n"
                      "# TYPE ocivariant_snapshotter_actions_total counter\n"
                      "ocivariant_snapshotter_actions_total{action=\"refused\"} %llu\n"
                      "ocivariant_snapshotter_actions_total{action=\"warned\"} %llu\n",
                      c->fits, c->misfit, c->none, c->index, c->unknown, c->refused, c->warned) > 0;
    if (file && (fclose(file) != 0 || !ok || rename(temporary, j->metrics) < 0))
        say(j, "metrics", "cannot be written");
    free(temporary);
}

static void count(struct snap_judge *j, const struct verdict_answer *answer)
{
    pthread_mutex_lock(&j->lock);
    unsigned long long *const by_verdict[] = {
        [VERDICT_FITS] = &j->counters.fits,       [VERDICT_MISFIT] = &j->counters.misfit,
        [VERDICT_NONE] = &j->counters.none,       [VERDICT_INDEX] = &j->counters.index,
        [VERDICT_UNKNOWN] = &j->counters.unknown,
    };
    ++*by_verdict[answer->verdict];
    j->counters.refused += answer->action == VERDICT_REFUSE;
    j->counters.warned += answer->action == VERDICT_WARN;
    write_metrics(j);
    pthread_mutex_unlock(&j->lock);
}

/* ---- asking ------------------------------------------------------------------------------------
 */

static bool recall(struct snap_judge *j, const char *key, struct verdict_answer *out)
{
    bool found = false;
    pthread_mutex_lock(&j->lock);
    for (size_t i = 0; !found && i < REMEMBERED; i++) {
        const struct remembered *r = &j->remembered[i];
        found = r->key && strcmp(r->key, key) == 0 && now_ms() - r->at < REMEMBER_MS;
        if (found)
            *out = r->answer;
    }
    pthread_mutex_unlock(&j->lock);
    return found;
}

/* Takes `key` over. */
static void remember(struct snap_judge *j, char *key, const struct verdict_answer *answer)
{
    pthread_mutex_lock(&j->lock);
    struct remembered *r = &j->remembered[j->next++ % REMEMBERED];
    free(r->key);
    *r = (struct remembered){.key = key, .at = now_ms(), .answer = *answer};
    pthread_mutex_unlock(&j->lock);
}

static void forget(struct snap_judge *j)
{
    for (size_t i = 0; i < REMEMBERED; i++) {
        free(j->remembered[i].key);
        j->remembered[i] = (struct remembered){0};
    }
}

static void read_policy_again(struct snap_judge *j)
{
    struct verdict_policy policy;
    struct ocv_error err = {0};
    if (!__atomic_exchange_n(&j->reload, 0, __ATOMIC_ACQ_REL))
        return;
    if (verdict_policy_read(j->config_file, &policy, &err) < 0) {
        say(j, "the old configuration stays", err.message);
        return;
    }
    pthread_rwlock_wrlock(&j->policy_lock);
    struct verdict_policy old = j->policy;
    j->policy = policy;
    pthread_rwlock_unlock(&j->policy_lock);
    pthread_mutex_lock(&j->lock);
    forget(j);
    pthread_mutex_unlock(&j->lock);
    verdict_policy_free(&old);
}

/* By what is known beside the label; the records of this node know what a lone label means. */
static void ask(struct snap_judge *j, const struct verdict_question *q, struct verdict_answer *out)
{
    struct record_set set = {0};
    if (q->digest || q->reference || q->properties || !q->label ||
        !records_by_label(j->records, q->label, &set)) {
        verdict_ask(&j->policy, q, out);
        return;
    }
    for (size_t i = 0; i < set.n; i++) {
        struct verdict_question one = *q;
        one.digest = set.records[i].digest;
        one.reference = set.records[i].reference;
        verdict_ask(&j->policy, &one, out);
        if (out->verdict == VERDICT_FITS) /* two images may call different things the same */
            break;
    }
    records_free(&set);
}

static char *question_key(const struct verdict_question *q)
{
    char *key = NULL;
    int n = asprintf(&key, "%s\n%s\n%s\n%s", q->reference ? q->reference : "",
                     q->digest ? q->digest : "", q->label ? q->label : "",
                     q->properties ? q->properties : "");
    return n < 0 ? NULL : key;
}

static void ask_once(struct snap_judge *j, const struct verdict_question *q,
                     struct verdict_answer *out)
{
    char *key = question_key(q);
    if (key && recall(j, key, out)) {
        free(key);
        return;
    }
    ask(j, q, out);
    count(j, out);
    if (out->action != VERDICT_ALLOW)
        say(j, out->action == VERDICT_REFUSE ? "refused" : "warning", out->reason);
    if (key)
        remember(j, key, out);
}

/* ---- what follows ------------------------------------------------------------------------------
 */

static enum grpc_code act(const struct verdict_answer *answer, struct ocv_buffer *labels,
                          struct ocv_error *err)
{
    if (answer->action == VERDICT_REFUSE)
        return snap_fail(err, GRPC_FAILED_PRECONDITION, "ocivariant: %s", answer->reason);
    if (answer->action == VERDICT_ALLOW)
        return GRPC_OK;
    enum grpc_code code =
        snap_labels_set(labels, SNAP_LABEL_VERDICT, verdict_name(answer->verdict), err);
    return code == GRPC_OK ? snap_labels_set(labels, SNAP_LABEL_REASON, answer->reason, err) : code;
}

/* The last layer of the image: only it stands for the image. */
static bool is_top(const struct ocv_buffer *labels)
{
    const char *layers = snap_labels_get(labels, LABEL_LAYERS);
    return layers ? !strchr(layers, ',') : snap_labels_get(labels, LABEL_VARIANT) != NULL;
}

static void note_variant(struct snap_judge *j, const char *ns, const char *chain,
                         const struct verdict_question *q, const struct verdict_answer *answer)
{
    struct ocv_error err = {0};
    const char *label = answer->label[0] ? answer->label : q->label;
    const struct snap_variant variant = {
        .ns = (char *)(uintptr_t)ns,
        .chain = (char *)(uintptr_t)chain,
        .label = (char *)(uintptr_t)(label ? label : ""),
        .properties = (char *)(uintptr_t)(q->properties ? q->properties : ""),
        .digest = (char *)(uintptr_t)(q->digest ? q->digest : ""),
        .reference = (char *)(uintptr_t)(q->reference ? q->reference : "")};
    if (snap_meta_variant_add(j->meta, &variant, &err) != GRPC_OK)
        say(j, "variant not recorded", err.message);
}

static enum grpc_code judge_unpack(struct snap_judge *j, const char *ns, const char *chain,
                                   struct ocv_buffer *labels, struct ocv_error *err)
{
    const struct verdict_question q = {.reference = snap_labels_get(labels, LABEL_REFERENCE),
                                       .digest = snap_labels_get(labels, LABEL_DIGEST),
                                       .label = snap_labels_get(labels, LABEL_VARIANT),
                                       .properties = snap_labels_get(labels, LABEL_PROPERTIES)};
    struct verdict_answer answer;
    if (!q.digest && !q.label && !q.properties)
        return GRPC_OK; /* a lower layer, or an image that nobody described */
    ask_once(j, &q, &answer);
    bool ours = answer.verdict == VERDICT_FITS || answer.verdict == VERDICT_MISFIT ||
                (answer.verdict == VERDICT_UNKNOWN && q.label);
    if (answer.action != VERDICT_REFUSE && ours && is_top(labels))
        note_variant(j, ns, chain, &q, &answer);
    return act(&answer, labels, err); /* invalidates what `q` borrows */
}

/* ---- containers --------------------------------------------------------------------------------
 */

struct variants {
    struct snap_variant list[VARIANTS_MAX];
    size_t n;
};

static int keep_variant(void *data, const struct snap_variant *v)
{
    struct variants *all = data;
    const char *const from[] = {v->label, v->properties, v->digest, v->reference};
    char *copy[4];
    for (size_t i = 0; i < 4; i++)
        copy[i] = strdup(from[i] ? from[i] : "");
    all->list[all->n++] = (struct snap_variant){
        .label = copy[0], .properties = copy[1], .digest = copy[2], .reference = copy[3]};
    return all->n == VARIANTS_MAX;
}

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

/* "NS/SEQ/CHAIN", as containerd's metadata names what it keeps in back ends. */
static bool split_name(const char *name, char ns[80], const char **chain)
{
    size_t len = strcspn(name, "/");
    const char *last = strrchr(name, '/');
    if (!last || len >= 80 || !ocv_digest_wellformed(last + 1))
        return false;
    memcpy(ns, name, len);
    ns[len] = '\0';
    *chain = last + 1;
    return true;
}

static enum grpc_code judge_container(struct snap_judge *j, const char *parent,
                                      struct ocv_buffer *labels, struct ocv_error *err)
{
    struct variants all = {.n = 0};
    struct verdict_answer answer = {.action = VERDICT_ALLOW}, worst = {.action = VERDICT_ALLOW};
    const char *chain = NULL;
    char ns[80];
    bool allowed = !split_name(parent, ns, &chain);
    if (!allowed && snap_meta_variants(j->meta, ns, chain, keep_variant, &all, NULL) != GRPC_OK)
        allowed = true;
    for (size_t i = 0; i < all.n; i++) {
        const struct snap_variant *v = &all.list[i];
        const struct verdict_question q = {.reference = or_null(v->reference),
                                           .digest = or_null(v->digest),
                                           .label = or_null(v->label),
                                           .properties = or_null(v->properties)};
        if (!allowed) {
            ask(j, &q, &answer);
            allowed = answer.action == VERDICT_ALLOW;
            if (i == 0 || allowed)
                worst = answer;
        }
        free(v->label);
        free(v->properties);
        free(v->digest);
        free(v->reference);
    }
    if (all.n == 0)
        return GRPC_OK;
    count(j, &worst);
    if (worst.action != VERDICT_ALLOW)
        say(j, worst.action == VERDICT_REFUSE ? "refused" : "warning", worst.reason);
    return act(&worst, labels, err);
}

enum grpc_code snap_judge_prepare(struct snap_judge *j, const char *ns, const char *parent,
                                  struct ocv_buffer *labels, struct ocv_error *err)
{
    const char *ref = snap_labels_get(labels, SNAP_LABEL_REF);
    char *chain = ref ? strdup(ref) : NULL;
    enum grpc_code code = GRPC_OK;
    read_policy_again(j);
    pthread_rwlock_rdlock(&j->policy_lock);
    if (ref && !chain)
        code = snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    else if (!j->policy.off && chain)
        code = judge_unpack(j, ns ? ns : "", chain, labels, err);
    else if (!j->policy.off && *parent)
        code = judge_container(j, parent, labels, err);
    pthread_rwlock_unlock(&j->policy_lock);
    free(chain);
    return code;
}

void snap_judge_removed(struct snap_judge *j, const char *name)
{
    const char *chain;
    char ns[80];
    if (split_name(name, ns, &chain))
        (void)snap_meta_variants_drop(j->meta, ns, chain, NULL);
}

/* ---- life --------------------------------------------------------------------------------------
 */

int snap_judge_new(const struct snap_judge_options *options, struct snap_meta *meta,
                   struct snap_judge **out, struct ocv_error *err)
{
    struct snap_judge *j = calloc(1, sizeof(*j));
    if (!j)
        return ocv_error_nomem(err);
    j->options = *options;
    j->meta = meta;
    pthread_rwlock_init(&j->policy_lock, NULL);
    pthread_mutex_init(&j->lock, NULL);
    j->config_file = options->config_file ? strdup(options->config_file) : NULL;
    j->records = options->records ? strdup(options->records) : NULL;
    j->metrics = options->metrics ? strdup(options->metrics) : NULL;
    int status = verdict_policy_read(j->config_file, &j->policy, err);
    if (status < 0) {
        snap_judge_free(j);
        return status;
    }
    write_metrics(j);
    *out = j;
    return OCV_OK;
}

void snap_judge_free(struct snap_judge *j)
{
    if (!j)
        return;
    forget(j);
    verdict_policy_free(&j->policy);
    pthread_rwlock_destroy(&j->policy_lock);
    pthread_mutex_destroy(&j->lock);
    free(j->config_file);
    free(j->records);
    free(j->metrics);
    free(j);
}

void snap_judge_reload(struct snap_judge *j)
{
    __atomic_store_n(&j->reload, 1, __ATOMIC_RELEASE);
}
