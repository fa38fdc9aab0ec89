/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One lock guards all of it, and is never held while a program runs. A caller whose answer is
 * missing starts a run, or joins the one for the same image, and looks again whenever a run ends. A
 * run belongs to its thread and to its waiting callers. The thread may outlive all of them, and
 * ocv_credential_providers_free, too: the last owner frees. */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/registry/auth/credentials.h"
#include "lib/registry/auth/providers_internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_MS 60000 /* kubelet's */
#define RUNS_MAX 4u      /* of one program at a time */
#define KEPT_MAX 128u    /* answers of one program */
#define FAILED_MS 10000  /* a failure stands so long */
#define FRESH_MS 5000    /* an answer younger than this is not asked for again */
#define UNKEPT_MS 60000  /* how long a caller may use an answer that is not cached */
#define LOOK_MS 100      /* how often to check that the caller still waits */
#define STACK_SIZE (256u * 1024)

/* An answer, or the reason of a failure. */
struct kept {
    struct kept *next;
    enum ocv_provider_scope scope;
    char *key; /* image, registry, or "" for all that the program serves */
    struct ocv_provider_answer answer;
    uint64_t issue; /* 0: it failed */
    int64_t made_ms, until_ms;
    char why[160];
};

struct provider_run {
    struct provider_run *next;
    struct ocv_credential_providers *providers;
    struct provider_state *state;
    char *image;
    unsigned refs;
    bool done;
    struct kept *unkept; /* its answer, where it may not be shared */
};

/* What is known of a program. */
struct provider_state {
    const struct ocv_provider *provider;
    struct kept *kept; /* the newest first */
    struct provider_run *runs;
    unsigned running;
};

struct ocv_credential_providers {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a run has ended */
    struct ocv_provider_config config;
    struct provider_state *states; /* one for each of its providers */
    char *bin_dir;
    unsigned timeout_ms;
    void (*ended)(void *data, const char *provider, enum ocv_credential_run how, const char *why);
    void *data;
    unsigned refs;        /* the owner's and one for each run */
    volatile int closing; /* the owner has gone */
    uint64_t issues;
};

static void free_kept(struct kept *kept)
{
    while (kept) {
        struct kept *next = kept->next;
        ocv_provider_answer_free(&kept->answer);
        free(kept->key);
        free(kept);
        kept = next;
    }
}

/* How much of the image's name is the key. */
static size_t key_len(enum ocv_provider_scope scope, const char *image)
{
    return scope == OCV_SCOPE_IMAGE      ? strlen(image)
           : scope == OCV_SCOPE_REGISTRY ? strcspn(image, "/")
                                         : 0;
}

static struct kept *find_kept(struct provider_state *state, const char *image)
{
    int64_t now = ocv_clock_ms();
    for (struct kept *k = state->kept; k; k = k->next) {
        size_t len = key_len(k->scope, image);
        if (k->until_ms > now && strlen(k->key) == len && !memcmp(k->key, image, len))
            return k;
    }
    return NULL;
}

bool ocv_providers_renew(struct ocv_credential_providers *providers, uint64_t issue)
{
    bool others = issue != 0;
    if (!providers || !issue)
        return false;
    pthread_mutex_lock(&providers->lock);
    int64_t now = ocv_clock_ms();
    for (size_t i = 0; i < providers->config.n; i++)
        for (struct kept *k = providers->states[i].kept; k; k = k->next) {
            if (k->issue != issue || k->until_ms <= now)
                continue;
            others = now - k->made_ms >= FRESH_MS;
            if (others)
                k->until_ms = 0;
        }
    pthread_mutex_unlock(&providers->lock);
    return others;
}

/* Unlocks, and frees everything with the last reference. */
static void unlock_and_drop(struct ocv_credential_providers *p)
{
    bool last = --p->refs == 0;
    pthread_mutex_unlock(&p->lock);
    if (!last)
        return;
    for (size_t i = 0; p->states && i < p->config.n; i++)
        free_kept(p->states[i].kept);
    free(p->states);
    ocv_provider_config_free(&p->config);
    free(p->bin_dir);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static void drop_run(struct provider_run *run)
{
    if (!run || --run->refs)
        return;
    free_kept(run->unkept);
    free(run->image);
    free(run);
}

/* The result of a run, to be cached or handed over; NULL without memory. */
static struct kept *make_kept(const struct provider_run *run, int status,
                              struct ocv_provider_answer *answer, const char *why)
{
    struct kept *out = calloc(1, sizeof(*out));
    if (!out)
        return NULL;
    out->scope = status < 0 ? OCV_SCOPE_IMAGE : answer->scope;
    out->key = strndup(run->image, key_len(out->scope, run->image));
    if (!out->key) {
        free(out);
        return NULL;
    }
    int64_t keep_ms = status < 0            ? FAILED_MS
                      : answer->keep_ms < 0 ? run->state->provider->keep_ms
                                            : answer->keep_ms;
    out->answer = *answer;
    *answer = (struct ocv_provider_answer){0};
    out->made_ms = ocv_clock_ms();
    out->until_ms = keep_ms ? out->made_ms + keep_ms : 0;
    snprintf(out->why, sizeof(out->why), "%s", status < 0 ? why : "");
    return out;
}

static void *run_main(void *data)
{
    struct provider_run *run = data;
    struct provider_state *state = run->state;
    struct ocv_credential_providers *p = run->providers;
    struct ocv_error err = {0};
    struct ocv_provider_answer answer;
    int status = ocv_provider_run(state->provider, p->bin_dir, run->image, p->timeout_ms,
                                  &p->closing, &answer, &err);
    struct kept *fresh = make_kept(run, status, &answer, err.message);
    pthread_mutex_lock(&p->lock);
    if (fresh && status == OCV_OK)
        fresh->issue = ++p->issues;
    if (fresh && fresh->until_ms) {
        /* Kept at the head; the one that it replaces goes, expired ones, and the oldest above the
         * limit. */
        unsigned n = 1;
        fresh->next = state->kept;
        state->kept = fresh;
        for (struct kept **at = &fresh->next; *at;) {
            struct kept *k = *at;
            if (n < KEPT_MAX && k->until_ms > fresh->made_ms &&
                (k->scope != fresh->scope || strcmp(k->key, fresh->key) != 0)) {
                at = &k->next;
                n++;
                continue;
            }
            *at = k->next;
            k->next = NULL;
            free_kept(k);
        }
    } else {
        run->unkept = fresh;
    }
    run->done = true;
    struct provider_run **at = &state->runs;
    while (*at && *at != run)
        at = &(*at)->next;
    if (*at)
        *at = run->next;
    state->running--;
    if (p->ended && !p->closing)
        p->ended(p->data, state->provider->name,
                 status == OCV_OK            ? OCV_CREDENTIAL_RUN_OK
                 : status == OCV_ERR_NETWORK ? OCV_CREDENTIAL_RUN_TIMEOUT
                                             : OCV_CREDENTIAL_RUN_FAILED,
                 status < 0 ? err.message : "");
    drop_run(run);
    pthread_cond_broadcast(&p->changed);
    unlock_and_drop(p);
    ocv_provider_answer_free(&answer);
    return NULL;
}

/* With the lock held. */
static int start_run(struct ocv_credential_providers *p, struct provider_state *state,
                     const char *image, struct provider_run **out, struct ocv_error *err)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    struct provider_run *run = calloc(1, sizeof(*run));
    char *copy = strdup(image);
    if (!run || !copy) {
        free(run);
        free(copy);
        return ocv_error_nomem(err);
    }
    *run =
        (struct provider_run){.next = state->runs, .providers = p, .state = state, .image = copy};
    run->refs = 1;
    int code = pthread_attr_init(&attributes) ? ENOMEM : 0;
    if (!code) { /* it takes no signals: they are for the program's own threads */
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, STACK_SIZE);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        code = pthread_create(&thread, &attributes, run_main, run);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    if (code) {
        drop_run(run);
        return ocv_error_set(err, OCV_ERR_IO, "cannot start a thread: %s", strerror(code));
    }
    state->runs = run;
    state->running++;
    p->refs++;
    *out = run;
    return OCV_OK;
}

static int wait_a_little(struct ocv_credential_providers *p,
                         const struct ocv_providers_patience *patience, struct ocv_error *err)
{
    struct timespec at;
    if (patience->interrupted && __atomic_load_n(patience->interrupted, __ATOMIC_RELAXED))
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    int64_t left = patience->until_ms ? patience->until_ms - ocv_clock_ms() : LOOK_MS;
    if (left <= 0) {
        ocv_error_set(err, OCV_ERR_NETWORK, "it has not answered yet");
        if (err)
            err->http_status = 504;
        return OCV_ERR_NETWORK;
    }
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += (left < LOOK_MS ? left : LOOK_MS) * 1000000L;
    at.tv_sec += at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&p->changed, &p->lock, &at);
    return OCV_OK;
}

static int ask_provider(struct ocv_credential_providers *p, struct provider_state *state,
                        const char *image, const struct ocv_providers_patience *patience,
                        struct ocv_credentials *out, char *note, size_t note_size,
                        struct ocv_error *err)
{
    struct provider_run *run = NULL;
    const struct kept *kept = NULL;
    int status = OCV_OK;
    while (status == OCV_OK && !(kept = find_kept(state, image)) && !(run && run->done)) {
        if (!run) { /* joined, or made where there is room for one more */
            for (run = state->runs; run && strcmp(run->image, image) != 0;)
                run = run->next;
            if (!run && state->running < RUNS_MAX)
                status = start_run(p, state, image, &run, err);
            if (run)
                run->refs++;
        }
        if (status == OCV_OK)
            status = wait_a_little(p, patience, err);
    }
    if (status == OCV_OK && !kept)
        kept = run->unkept;
    if (status == OCV_OK && kept && kept->issue) {
        status = ocv_provider_answer_find(&kept->answer, image, out, err);
        out->issue = kept->issue;
        out->until_ms = kept->until_ms ? kept->until_ms : kept->made_ms + UNKEPT_MS;
    } else if (status == OCV_OK) {
        snprintf(note, note_size, "credential provider %s: %s", state->provider->name,
                 kept ? kept->why : "out of memory");
    }
    drop_run(run);
    return status < 0 ? ocv_error_prefix(err, "credential provider %s", state->provider->name)
                      : OCV_OK;
}

int ocv_providers_find(struct ocv_credential_providers *p, const char *image,
                       const struct ocv_providers_patience *patience, struct ocv_credentials *out,
                       char *note, size_t note_size, struct ocv_error *err)
{
    int status = OCV_OK;
    *out = (struct ocv_credentials){0};
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; status == OCV_OK && ocv_credentials_empty(out) && i < p->config.n; i++)
        if (ocv_provider_serves(&p->config.providers[i], image))
            status = ask_provider(p, &p->states[i], image, patience, out, note, note_size, err);
    pthread_mutex_unlock(&p->lock);
    return status;
}

int ocv_credential_providers_new(const struct ocv_credential_providers_options *options,
                                 struct ocv_credential_providers **out, struct ocv_error *err)
{
    struct ocv_credential_providers *p = calloc(1, sizeof(*p));
    pthread_condattr_t clock;
    if (!p)
        return ocv_error_nomem(err);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &clock);
    pthread_condattr_destroy(&clock);
    p->refs = 1;
    p->timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;
    p->ended = options->ended;
    p->data = options->data;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROVIDER_CONFIG_MAX);
    int status = ocv_file_read(options->config, OCV_FILE_REGULAR, &text, err);
    if (status == OCV_ERR_DATA && err)
        err->status = OCV_ERR_CONFIG;
    if (status == OCV_ERR_DATA)
        status = OCV_ERR_CONFIG;
    if (status == OCV_OK)
        status = ocv_provider_config_read(options->config, text.data ? text.data : "", text.len,
                                          &p->config, err);
    struct stat st;
    if (status == OCV_OK && stat(options->bin_dir, &st) < 0)
        status = ocv_error_set(err, errno == ENOENT ? OCV_ERR_NOT_FOUND : OCV_ERR_IO, "%s: %s",
                               options->bin_dir, strerror(errno));
    else if (status == OCV_OK && !S_ISDIR(st.st_mode))
        status = ocv_error_set(err, OCV_ERR_CONFIG, "%s: not a directory", options->bin_dir);
    p->bin_dir = strdup(options->bin_dir);
    p->states = calloc(p->config.n + 1, sizeof(*p->states));
    if (status == OCV_OK && (!p->bin_dir || !p->states))
        status = ocv_error_nomem(err);
    for (size_t i = 0; p->states && i < p->config.n; i++)
        p->states[i].provider = &p->config.providers[i];
    if (status < 0) {
        ocv_credential_providers_free(p);
        return status;
    }
    for (size_t i = 0; p->ended && i < p->config.n; i++) {
        const struct ocv_provider *provider = &p->config.providers[i];
        struct ocv_error why = {0};
        char path[4096];
        if (provider->for_service_account)
            p->ended(p->data, provider->name, OCV_CREDENTIAL_RUN_UNUSABLE,
                     "it requires a pod's service account, which is unknown here");
        else if (ocv_provider_check(p->bin_dir, provider->name, path, &why) < 0)
            p->ended(p->data, provider->name, OCV_CREDENTIAL_RUN_UNUSABLE, why.message);
    }
    *out = p;
    return OCV_OK;
}

void ocv_credential_providers_free(struct ocv_credential_providers *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    __atomic_store_n(&p->closing, 1, __ATOMIC_RELAXED);
    unlock_and_drop(p);
}

bool ocv_credential_providers_cover(const struct ocv_credential_providers *p, const char *host)
{
    for (size_t i = 0; p && i < p->config.n; i++)
        for (size_t k = 0; k < p->config.providers[i].n_globs; k++)
            if (!p->config.providers[i].for_service_account &&
                ocv_image_glob_covers(p->config.providers[i].globs[k], host))
                return true;
    return false;
}
