/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single flight: requests for one tag under one identity share one look-up. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/clock.h"
#include "lib/internal/records/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct flight {
    struct job job; /* first */
    struct mirror *mirror;
    struct flight *next; /* in its bucket */
    struct lookup_target question;
    atomic_bool want_body;
    struct mirror_request *waiters;
    struct lookup_result *known; /* while it is recorded */
    int64_t known_until_ms;      /* when the answers are due that wait for this */
    uint64_t unattended;         /* requests under `choose: shadow`, which do not wait */
    size_t bucket;
};

static size_t bucket_of(const struct lookup_target *q)
{
    size_t h = 2166136261u + (size_t)q->identity;
    const char *texts[] = {q->reference->name, q->reference->tag, q->child.digest};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        for (const char *p = texts[i]; p && *p; p++)
            h = (h ^ (unsigned char)*p) * 16777619u;
    return h % FLIGHT_BUCKETS;
}

static bool same_question(const struct lookup_target *a, const struct lookup_target *b)
{
    return a->identity == b->identity && !strcmp(a->reference->name, b->reference->name) &&
           !strcmp(a->reference->tag, b->reference->tag) &&
           !strcmp(a->child.digest, b->child.digest);
}

static void free_flight(struct flight *f)
{
    ocv_reference_free(f->question.reference);
    free(f);
}

/* With the lock held. */
static void take_off(struct flight *f)
{
    struct flight **at = &f->mirror->flights[f->bucket];
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
}

static void log_failure(const struct mirror *m, int status, const struct ocv_error *err)
{
    static atomic_bool told; /* a failure of the directory is logged once */
    if (status < 0)
        metrics_add(m->metrics, METRIC_UNRECORDED_CHOICES_TOTAL, 1);
    if (status < 0 && !atomic_exchange(&told, true))
        log_line(LOG_LEVEL_WARNING, "choices are not recorded: %s", err->message);
}

static void run_lookup(struct job *job)
{
    struct flight *f = (struct flight *)job;
    struct mirror *m = f->mirror;
    struct ocv_record_note *note = NULL;
    /* The answer is not needed if all clients timed out or hung up while the job was queued. Later
     * requests then ask again. */
    pthread_mutex_lock(&m->lock);
    bool ask = f->unattended > 0;
    for (const struct mirror_request *r = f->waiters; r && !ask; r = r->next_waiter)
        ask = request_wanted(r);
    if (!ask)
        take_off(f);
    pthread_mutex_unlock(&m->lock);
    struct lookup_result *result = !ask ? lookup_result_busy()
                                   : *f->question.child.digest
                                       ? lookup_child(m, &f->question)
                                       : lookup_tag(m, &f->question, &f->want_body, &note);
    if (note && result) {
        /* A node that pulls has a busy disk: clients wait a while for the record, and then no
         * longer. */
        pthread_mutex_lock(&m->lock);
        f->known = result;
        f->known_until_ms = ocv_clock_ms() + RECORD_ANSWER_MS;
        for (struct mirror_request *r = f->waiters; r; r = r->next_waiter)
            request_hurry(r, f->known_until_ms);
        pthread_mutex_unlock(&m->lock);
        struct ocv_error err = {0};
        log_failure(m, ocv_record_note_write(note, m->settings->records, &err), &err);
    }
    choice_drop_note(note);
    pthread_mutex_lock(&m->lock);
    if (ask)
        take_off(f);
    while (f->waiters) {
        struct mirror_request *r = f->waiters;
        f->waiters = r->next_waiter;
        r->flight = NULL;
        r->result = refcounted_ref(result);
        request_wake(r);
    }
    pthread_mutex_unlock(&m->lock);
    if (f->unattended && result)
        shadow_log(m, f->question.reference, result, f->unattended);
    refcounted_unref(result);
    free_flight(f);
}

bool flight_leave(struct mirror_request *r)
{
    struct flight *f = r->flight;
    if (!f)
        return false;
    struct mirror_request **at = &f->waiters;
    while (*at != r)
        at = &(*at)->next_waiter;
    *at = r->next_waiter;
    r->flight = NULL;
    if (f->known)
        r->result = refcounted_ref(f->known);
    return f->known;
}

enum identity request_identity(const struct mirror_request *r)
{
    const struct mirror *m = r->mirror;
    bool private = m->private[r->route.upstream - m->settings->upstreams];
    bool tag_head = r->head && r->route.kind == ROUTE_TAG;
    return private && (tag_head || m->settings->serve_private) ? IDENTITY_DAEMON
                                                               : IDENTITY_ANONYMOUS;
}

static void make_question(const struct mirror_request *r, const struct ocv_descriptor *child,
                          struct lookup_target *out)
{
    *out = (struct lookup_target){.identity = request_identity(r),
                                  .upstream = r->route.upstream,
                                  .reference = r->route.reference};
    if (child)
        out->child = *child;
}

static struct flight *make_flight(struct mirror *m, const struct lookup_target *q, size_t bucket)
{
    struct flight *f = calloc(1, sizeof(*f));
    char text[512];
    if (!f)
        return NULL;
    f->mirror = m;
    f->bucket = bucket;
    f->question = *q;
    f->question.reference = NULL;
    snprintf(text, sizeof(text), "%s:%s", q->reference->name, q->reference->tag);
    f->job.work = WORK_DOCUMENT;
    f->job.upstream = (size_t)(q->upstream - m->settings->upstreams);
    f->job.run = run_lookup;
    atomic_init(&f->want_body, false);
    if (ocv_reference_parse(text, &f->question.reference, NULL) == OCV_OK)
        return f;
    free_flight(f);
    return NULL;
}

/* The running look-up of that question, or a new one. Call with the lock held. */
static struct flight *find_or_start(struct mirror *m, const struct lookup_target *q,
                                    unsigned client)
{
    size_t bucket = bucket_of(q);
    struct flight *f = m->flights[bucket];
    /* One whose record has hung for long is passed over: upstream may say something else by now. */
    while (f && (!same_question(&f->question, q) ||
                 (f->known && ocv_clock_ms() - f->known_until_ms > FLIGHT_MS)))
        f = f->next;
    if (f && !client) /* a trusted client must not wait within another client's share */
        workers_favour(m->workers, &f->job);
    if (!f && !m->stopping && (f = make_flight(m, q, bucket))) {
        f->job.client = client;
        f->next = m->flights[bucket];
        m->flights[bucket] = f;
        if (!workers_submit(m->workers, &f->job)) {
            take_off(f);
            free_flight(f);
            f = NULL;
        }
    }
    return f;
}

void flight_shadow(const struct mirror_request *r)
{
    struct mirror *m = r->mirror;
    struct lookup_target q;
    make_question(r, NULL, &q);
    unsigned client = connections_client(r->connection);
    pthread_mutex_lock(&m->lock);
    struct flight *f = find_or_start(m, &q, client);
    if (f)
        f->unattended++;
    pthread_mutex_unlock(&m->lock);
}

bool flight_join(struct mirror_request *r, const struct ocv_descriptor *child)
{
    struct mirror *m = r->mirror;
    struct lookup_target q;
    make_question(r, child, &q);
    unsigned client = connections_client(r->connection);
    bool joined = false;
    pthread_mutex_lock(&m->lock);
    struct flight *f = find_or_start(m, &q, client);
    if (f && !m->stopping) {
        if (!r->head)
            atomic_store(&f->want_body, true);
        r->flight = f;
        r->next_waiter = f->waiters;
        f->waiters = r;
        request_sleep(r, r->started_us / 1000 + TAG_ANSWER_MS);
        if (f->known)
            request_hurry(r, f->known_until_ms);
        joined = true;
    }
    pthread_mutex_unlock(&m->lock);
    return joined;
}

/* Records choices for hooks and verify. */

void choice_note(struct mirror_choice *choice, const struct mirror *mirror,
                 const struct source *from, const struct ocv_reference *reference,
                 const struct ocv_index *index, const struct ocv_entry *entry)
{
    char name[1024];
    struct ocv_error err = {0};
    struct ocv_record_note *note = NULL;
    bool secret = client_is_daemon(from->client) && !mirror->settings->serve_private;
    snprintf(name, sizeof(name), "%s%s%s", reference->name, reference->tag ? ":" : "",
             reference->tag ? reference->tag : "");
    const struct ocv_record where = {
        .repository = reference->name, .reference = name, .secret = secret};
    log_failure(mirror, ocv_record_note_new(index, entry, &where, &note, &err), &err);
    if (note && !budget_acquire(ocv_record_note_size(note))) {
        ocv_record_note_free(note);
        note = NULL;
    }
    atomic_store(&choice->note, note);
}

void choice_drop_note(struct ocv_record_note *note)
{
    if (note)
        budget_release(ocv_record_note_size(note));
    ocv_record_note_free(note);
}
