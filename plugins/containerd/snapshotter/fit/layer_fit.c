/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A client that unpacks a layer sends labels (containerd's core/unpack): the chain id, with CRI the
 * image's reference and manifest digest, and the layer's annotations. A client that starts a
 * container only names a parent: the variants unpacked there decide. The container is allowed if
 * any of them fits, since images share layers. */
#include "plugins/containerd/snapshotter/fit/layer_fit.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/internal/records/records.h"
#include "ocivariant.h"
#include "plugins/containerd/snapshotter/fit/layer_fit_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LABEL_VARIANT SNAP_LABEL_PREFIX OCV_ANNOTATION_LABEL
#define LABEL_PROPERTIES SNAP_LABEL_PREFIX OCV_ANNOTATION_PROPERTIES
#define LABEL_REFERENCE SNAP_LABEL_PREFIX "cri.image-ref"
#define LABEL_DIGEST SNAP_LABEL_PREFIX "cri.manifest-digest"
#define LABEL_LAYERS SNAP_LABEL_PREFIX "cri.image-layers"

#define REMEMBER_MS 2000 /* one answer serves all layers of an image */

void snap_fit_log(const struct snap_fit *f, const char *what, const char *text)
{
    char line[OCV_ERROR_MESSAGE_MAX + 64];
    snprintf(line, sizeof(line), "%s: %s", what, text);
    if (f->options.log)
        f->options.log(line);
}

static void write_metrics(const struct snap_fit *f)
{
    const struct counters *c = &f->counters;
    char *temporary = NULL;
    if (!f->metrics || asprintf(&temporary, "%s.tmp", f->metrics) < 0)
        return;
    (void)unlink(temporary); /* left by a killed writer, or a link planted by others */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); /* umask is 0 here */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    bool ok = file && fprintf(file,
                              "# TYPE ocivariant_snapshotter_verdicts_total counter\n"
                              "ocivariant_snapshotter_verdicts_total{verdict=\"fits\"} %llu\n"
                              "ocivariant_snapshotter_verdicts_total{verdict=\"lesser\"} %llu\n"
                              "ocivariant_snapshotter_verdicts_total{verdict=\"misfit\"} %llu\n"
                              "ocivariant_snapshotter_verdicts_total{verdict=\"none\"} %llu\n"
                              "ocivariant_snapshotter_verdicts_total{verdict=\"index\"} %llu\n"
                              "ocivariant_snapshotter_verdicts_total{verdict=\"unknown\"} %llu\n"
                              "# TYPE ocivariant_snapshotter_actions_total counter\n"
                              "ocivariant_snapshotter_actions_total{action=\"refused\"} %llu\n"
                              "ocivariant_snapshotter_actions_total{action=\"warned\"} %llu\n",
                              c->fits, c->lesser, c->misfit, c->none, c->index, c->unknown,
                              c->refused, c->warned) > 0;
    if (!file && fd >= 0)
        close(fd);
    if (file && (fclose(file) != 0 || !ok || rename(temporary, f->metrics) < 0))
        snap_fit_log(f, "metrics", "cannot be written");
    free(temporary);
}

void snap_fit_count(struct snap_fit *f, const struct verdict_answer *answer)
{
    pthread_mutex_lock(&f->lock);
    unsigned long long *const by_verdict[] = {
        [OCV_VERDICT_FITS] = &f->counters.fits,       [OCV_VERDICT_MISFIT] = &f->counters.misfit,
        [OCV_VERDICT_NONE] = &f->counters.none,       [OCV_VERDICT_INDEX] = &f->counters.index,
        [OCV_VERDICT_UNKNOWN] = &f->counters.unknown, [OCV_VERDICT_LESSER] = &f->counters.lesser,
    };
    ++*by_verdict[answer->verdict];
    f->counters.refused += answer->action == VERDICT_REFUSE;
    f->counters.warned += answer->action == VERDICT_WARN;
    write_metrics(f);
    pthread_mutex_unlock(&f->lock);
}

static void forget_answers(struct snap_fit *f)
{
    for (size_t i = 0; i < REMEMBERED; i++) {
        free(f->remembered[i].key);
        f->remembered[i] = (struct cached_verdict){0};
    }
}

#define RECORDS_MAX 16u /* different meanings of one label that are considered */

/* A search in this node's records by vpull and variantd, and its result: when containerd's own
 * client unpacks, it names neither image nor digest, only the layer's annotations. */
struct record_search {
    const char *label;
    struct ocv_record records[RECORDS_MAX];
    size_t n;
    bool full; /* there are more than RECORDS_MAX */
};

static int take_record(void *data, const struct ocv_record *record)
{
    struct record_search *set = data;
    if (!record->label || strcmp(record->label, set->label) != 0 || !record->properties)
        return OCV_OK;
    for (size_t i = 0; i < set->n; i++) /* it is known */
        if (strcmp(set->records[i].properties, record->properties) == 0 &&
            strcmp(set->records[i].statics ? set->records[i].statics : "",
                   record->statics ? record->statics : "") == 0)
            return OCV_OK;
    if (set->n == RECORDS_MAX) {
        set->full = true;
        return 1;
    }
    struct ocv_record one = *record;
    one.reference = record->reference ? record->reference : record->repository;
    int status = ocv_record_copy(&one, &set->records[set->n], NULL);
    set->n += status == OCV_OK;
    return status;
}

/* Decide by reference and digest as well as the label; for a label alone this node's records are
 * used. */
void snap_fit_ask(struct snap_fit *f, const struct ocv_verdict_question *q,
                  struct verdict_answer *out)
{
    struct record_search set = {.label = q->label};
    struct ocv_error err = {0};
    bool alone = q->label && !q->digest && !q->reference && !q->properties;
    int status = alone ? ocv_record_walk(f->records, NULL, NULL, take_record, &set, &err) : OCV_OK;
    if (status < 0)
        verdict_set_unknown(&f->policy, q, err.message, out);
    else if (set.n == 0)
        verdict_ask(&f->policy, q, out);
    for (size_t i = 0; status >= 0 && i < set.n; i++) {
        struct ocv_verdict_question one = *q;
        one.digest = set.records[i].child;
        one.reference = set.records[i].reference;
        verdict_ask(&f->policy, &one, out);
        /* two images may use one label for different things */
        if (out->verdict == OCV_VERDICT_FITS ||
            (out->verdict == OCV_VERDICT_LESSER && out->action == VERDICT_ALLOW))
            break;
    }
    /* with more records the right one may be missing */
    if (status >= 0 && set.full && out->verdict == OCV_VERDICT_MISFIT)
        verdict_set_unknown(&f->policy, q, "too many images have that label here", out);
    for (size_t i = 0; i < set.n; i++)
        ocv_record_free(&set.records[i]);
}

static void ask_once(struct snap_fit *f, const struct ocv_verdict_question *q,
                     struct verdict_answer *out)
{
    char *key = NULL;
    if (asprintf(&key, "%s\n%s\n%s\n%s", q->reference ? q->reference : "",
                 q->digest ? q->digest : "", q->label ? q->label : "",
                 q->properties ? q->properties : "") < 0)
        key = NULL;
    bool found = false;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; key && !found && i < REMEMBERED; i++) {
        const struct cached_verdict *r = &f->remembered[i];
        found = r->key && strcmp(r->key, key) == 0 && ocv_clock_ms() - r->at < REMEMBER_MS;
        if (found)
            *out = r->answer;
    }
    pthread_mutex_unlock(&f->lock);
    if (found) {
        free(key);
        return;
    }
    snap_fit_ask(f, q, out);
    snap_fit_count(f, out);
    if (out->action != VERDICT_ALLOW)
        snap_fit_log(f, out->action == VERDICT_REFUSE ? "refused" : "warning", out->reason);
    if (key) {
        /* Takes over `key`. */
        pthread_mutex_lock(&f->lock);
        struct cached_verdict *r = &f->remembered[f->next++ % REMEMBERED];
        free(r->key);
        *r = (struct cached_verdict){.key = key, .at = ocv_clock_ms(), .answer = *out};
        pthread_mutex_unlock(&f->lock);
    }
}

enum grpc_code snap_fit_act(const struct verdict_answer *answer, struct ocv_buffer *labels,
                            struct ocv_error *err)
{
    if (answer->action == VERDICT_REFUSE)
        return snap_fail(err, GRPC_FAILED_PRECONDITION, "ocivariant: %s", answer->reason);
    if (answer->action == VERDICT_ALLOW)
        return GRPC_OK;
    enum grpc_code code =
        snap_labels_set(labels, SNAP_LABEL_VERDICT, ocv_verdict_name(answer->verdict), err);
    return code == GRPC_OK ? snap_labels_set(labels, SNAP_LABEL_REASON, answer->reason, err) : code;
}

static enum grpc_code fit_unpack(struct snap_fit *f, const char *ns, const char *chain,
                                 struct ocv_buffer *labels, struct ocv_error *err)
{
    const struct ocv_verdict_question q = {.reference = snap_labels_get(labels, LABEL_REFERENCE),
                                           .digest = snap_labels_get(labels, LABEL_DIGEST),
                                           .label = snap_labels_get(labels, LABEL_VARIANT),
                                           .properties = snap_labels_get(labels, LABEL_PROPERTIES)};
    struct verdict_answer answer = {.action = VERDICT_ALLOW};
    if (!q.digest && !q.label && !q.properties)
        return GRPC_OK; /* a lower layer, or an image without a description */
    ask_once(f, &q, &answer);
    bool ours = answer.verdict == OCV_VERDICT_FITS || answer.verdict == OCV_VERDICT_LESSER ||
                answer.verdict == OCV_VERDICT_MISFIT ||
                (answer.verdict == OCV_VERDICT_UNKNOWN && q.label);
    /* the image's last layer represents the image */
    const char *layers = snap_labels_get(labels, LABEL_LAYERS);
    bool top = layers ? !strchr(layers, ',') : q.label || q.properties;
    if (answer.action != VERDICT_REFUSE && ours && top) {
        struct ocv_error failure = {0};
        const char *label = answer.label[0] ? answer.label : q.label;
        const struct snap_variant variant = {
            .ns = (char *)(uintptr_t)ns,
            .chain = (char *)(uintptr_t)chain,
            .label = (char *)(uintptr_t)(label ? label : ""),
            .properties = (char *)(uintptr_t)(q.properties ? q.properties : ""),
            .digest = (char *)(uintptr_t)(q.digest ? q.digest : ""),
            .reference = (char *)(uintptr_t)(q.reference ? q.reference : "")};
        if (snap_meta_variant_add(f->meta, &variant, &failure) != GRPC_OK)
            snap_fit_log(f, "variant not recorded", failure.message);
    }
    return snap_fit_act(&answer, labels, err); /* invalidates what `q` borrows */
}

enum grpc_code snap_fit_prepare(struct snap_fit *f, const char *ns, const char *parent,
                                struct ocv_buffer *labels, struct ocv_error *err)
{
    const char *ref = snap_labels_get(labels, SNAP_LABEL_REF);
    char *chain = ref ? strdup(ref) : NULL;
    enum grpc_code code = GRPC_OK;
    bool again = __atomic_exchange_n(&f->reload, 0, __ATOMIC_ACQ_REL);
    struct verdict_policy policy;
    struct ocv_error why = {0};
    if (again && verdict_policy_read(f->config_file, &policy, &why) < 0) {
        snap_fit_log(f, "keeping the old configuration", why.message);
    } else if (again) {
        pthread_rwlock_wrlock(&f->policy_lock);
        struct verdict_policy old = f->policy;
        f->policy = policy;
        pthread_rwlock_unlock(&f->policy_lock);
        pthread_mutex_lock(&f->lock);
        forget_answers(f);
        pthread_mutex_unlock(&f->lock);
        verdict_policy_free(&old);
    }
    pthread_rwlock_rdlock(&f->policy_lock);
    if (ref && !chain)
        code = snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    else if (!f->policy.off && chain)
        code = fit_unpack(f, ns ? ns : "", chain, labels, err);
    else if (!f->policy.off && *parent)
        code = snap_fit_container(f, parent, labels, err);
    pthread_rwlock_unlock(&f->policy_lock);
    free(chain);
    return code;
}

OCV_DEFINE_CLEANUP(snap_fit)

int snap_fit_new(const struct snap_fit_options *options, struct snap_meta *meta,
                 struct snap_fit **out, struct ocv_error *err)
{
    ocv_auto(snap_fit) f = calloc(1, sizeof(*f));
    if (!f)
        return ocv_error_nomem(err);
    f->options = *options;
    f->meta = meta;
    pthread_rwlock_init(&f->policy_lock, NULL);
    pthread_mutex_init(&f->lock, NULL);
    f->config_file = options->config_file ? strdup(options->config_file) : NULL;
    f->metrics = options->metrics ? strdup(options->metrics) : NULL;
    OCV_TRY(verdict_policy_read(f->config_file, &f->policy, err));
    char path[4096];
    const char *state = ocv_config_get(f->policy.config, "state_dir");
    f->records = strdup(options->records ? options->records
                                         : ocv_record_directory(state, path, sizeof(path)));
    if (!f->records)
        return ocv_error_nomem(err);
    write_metrics(f);
    *out = ocv_steal(&f);
    return OCV_OK;
}

void snap_fit_free(struct snap_fit *f)
{
    if (!f)
        return;
    forget_answers(f);
    verdict_policy_free(&f->policy);
    pthread_rwlock_destroy(&f->policy_lock);
    pthread_mutex_destroy(&f->lock);
    free(f->config_file);
    free(f->records);
    free(f->metrics);
    free(f);
}

void snap_fit_reload(struct snap_fit *f)
{
    __atomic_store_n(&f->reload, 1, __ATOMIC_RELEASE);
}
