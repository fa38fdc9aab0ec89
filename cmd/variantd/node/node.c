/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread watches for reasons to probe again; readers only see complete snapshots. A failed
 * probe keeps the last snapshot: a node does not lose its GPUs because a file could not be read. */
#include "cmd/variantd/node/node.h"

#include "cmd/variantd/common/log.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "ocivariant-probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SETTLE_MS 500 /* loading a driver is a burst of events: probe after it */
#define REASON_BYTES 128

struct shared_snapshot {
    struct snapshot snapshot; /* first member: node_put gets its address */
    atomic_int references;
};

struct node {
    const char *profile_file;
    const char *datadir;
    const struct ocv_config *config;
    int64_t interval_ms;
    bool once, whole_node;
    struct metrics *metrics;
    atomic_uint_fast64_t generation;
    pthread_mutex_t lock; /* current */
    struct shared_snapshot *current;
    int stop; /* eventfd: readable when it is time to stop */
    int uevents;
    pthread_t thread;
    bool started;
    bool due; /* it starts with another node's snapshot: probe first */
};

void node_put(const struct snapshot *snapshot)
{
    struct shared_snapshot *held = (struct shared_snapshot *)(uintptr_t)snapshot;
    if (!held || atomic_fetch_sub(&held->references, 1) > 1)
        return;
    ocv_profile_free(held->snapshot.profile);
    ocv_buffer_free(&held->snapshot.json);
    free(held);
}

const struct snapshot *node_get(struct node *node)
{
    pthread_mutex_lock(&node->lock);
    struct shared_snapshot *held = node->current;
    atomic_fetch_add(&held->references, 1);
    pthread_mutex_unlock(&node->lock);
    return &held->snapshot;
}

uint64_t node_generation(const struct node *node)
{
    return atomic_load_explicit(&node->generation, memory_order_acquire);
}

/* The current profile. The configuration's overrides are in `profile` but not in `json`, whose
 * readers have a configuration of their own. */
static int take_snapshot(const struct node *node, struct node *last, struct shared_snapshot **out,
                         struct ocv_error *err)
{
    struct shared_snapshot *held = calloc(1, sizeof(*held));
    if (!held)
        return ocv_error_nomem(err);
    ocv_auto(ocv_profile) plain = NULL;
    struct ocv_buffer *json = &held->snapshot.json;
    int status;
    atomic_init(&held->references, 1);
    ocv_buffer_init(json, OCV_PROFILE_MAX);
    if (node->profile_file) {
        status = ocv_file_read(node->profile_file, OCV_FILE_ANY, json, err);
    } else if (last) {
        const ocv_auto(snapshot) known = node_get(last);
        status = ocv_buffer_append(json, known->json.data, known->json.len, err);
    } else {
        const struct ocv_probe_options options = {.datadir = node->datadir,
                                                  .deep = true,
                                                  .no_environment = true,
                                                  .whole_node = node->whole_node};
        status = ocv_probe(&options, json, err);
    }
    if (status == OCV_OK)
        status = ocv_profile_parse(json->data ? json->data : "", json->len, &plain, err);
    if (status < 0 && node->profile_file)
        ocv_error_prefix(err, "profile %s", node->profile_file);
    if (status == OCV_OK)
        status = ocv_config_override_profile(node->config, plain, &held->snapshot.profile, err);
    held->snapshot.probed_at = ocv_clock_ms();
    if (status < 0) {
        node_put(&held->snapshot);
        return status;
    }
    *out = held;
    return OCV_OK;
}

static void report_change(const char *why, struct ocv_buffer *changes)
{
    char *line = changes->data, *end;
    for (; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        log_line(LOG_LEVEL_INFO, "profile changed (%s): %s", why, line);
    }
}

void node_compare(struct node *old, struct node *fresh, const char *why, struct metrics *metrics)
{
    ocv_auto_buffer changes;
    ocv_buffer_init(&changes, 64u * 1024);
    const struct snapshot *a = node_get(old), *b = node_get(fresh);
    if (node_diff(&a->json, &b->json, &changes)) {
        metrics_add(metrics, METRIC_PROFILE_CHANGES_TOTAL, 1);
        report_change(why, &changes);
    }
    node_put(a);
    node_put(b);
}

/* Replace the current snapshot if the machine has changed. */
static void probe_again(struct node *node, const char *why)
{
    struct ocv_error err = {0};
    struct shared_snapshot *fresh = NULL;
    int64_t started = ocv_clock_ms();
    if (take_snapshot(node, NULL, &fresh, &err) < 0) {
        log_line(LOG_LEVEL_WARNING, "cannot probe this node (%s), keeping the last profile: %s",
                 why, err.message);
        metrics_raise(node->metrics, METRICS_FAILURES, "probe", NULL, 1);
        return;
    }
    ocv_auto_buffer changes;
    ocv_buffer_init(&changes, 64u * 1024);
    const struct snapshot *old = node_get(node);
    node_diff_failures(&fresh->snapshot.json, node->metrics);
    bool changed = node_diff(&old->json, &fresh->snapshot.json, &changes);
    node_put(old);
    metrics_probe(node->metrics, ocv_clock_ms(), ocv_clock_ms() - started, changed);
    report_change(why, &changes);
    pthread_mutex_lock(&node->lock);
    struct shared_snapshot *last = node->current;
    fresh->snapshot.generation = last->snapshot.generation + (changed ? 1 : 0);
    node->current = fresh;
    atomic_store_explicit(&node->generation, fresh->snapshot.generation, memory_order_release);
    pthread_mutex_unlock(&node->lock);
    node_put(&last->snapshot);
}

/* Wait for a reason to probe; false when it is time to stop. */
static bool wait_for_reason(struct node *node, char why[REASON_BYTES])
{
    struct pollfd fds[] = {{.fd = node->stop, .events = POLLIN},
                           {.fd = node->uevents, .events = POLLIN}};
    int64_t due = node->interval_ms > 0 ? ocv_clock_ms() + node->interval_ms : 0;
    for (;;) {
        int64_t left = due ? due - ocv_clock_ms() : -1;
        if (due && left <= 0) {
            snprintf(why, REASON_BYTES, "interval");
            return true;
        }
        if (poll(fds, 2, left < 0 ? -1 : (int)(left < 3600000 ? left : 3600000)) < 0)
            continue;
        if (fds[0].revents)
            return false;
        if (fds[1].revents && uevent_read(node->uevents, why, REASON_BYTES))
            return true;
    }
}

static void *watch_node(void *data)
{
    struct node *node = data;
    char why[REASON_BYTES] = "", ignored[REASON_BYTES];
    if (node->due)
        probe_again(node, "SIGHUP");
    while (wait_for_reason(node, why)) {
        /* wait for the end of a burst of events */
        int64_t until = ocv_clock_ms() + SETTLE_MS, left = SETTLE_MS;
        for (; strncmp(why, "uevent", 6) == 0 && left > 0; left = until - ocv_clock_ms()) {
            struct pollfd fds[] = {{.fd = node->stop, .events = POLLIN},
                                   {.fd = node->uevents, .events = POLLIN}};
            if (poll(fds, 2, (int)left) > 0 && fds[1].revents)
                uevent_read(node->uevents, ignored, sizeof(ignored));
            if (fds[0].revents)
                return NULL;
        }
        probe_again(node, why);
        why[0] = '\0';
    }
    return NULL;
}

OCV_DEFINE_CLEANUP(node)

int node_new(const struct settings *settings, struct metrics *metrics, struct node *last,
             struct node **out, struct ocv_error *err)
{
    ocv_auto(node) node = calloc(1, sizeof(*node));
    if (!node)
        return ocv_error_nomem(err);
    node->profile_file = settings->profile_file;
    node->datadir = settings->datadir;
    node->config = settings->config;
    node->once = settings->once;
    node->whole_node = settings->whole_node;
    node->interval_ms = settings->once ? 0 : settings->probe_interval_ms;
    node->metrics = metrics;
    node->stop = node->uevents = -1;
    pthread_mutex_init(&node->lock, NULL);
    node->due = last && !last->profile_file && !node->profile_file;
    int64_t started = ocv_clock_ms();
    OCV_TRY(take_snapshot(node, node->due ? last : NULL, &node->current, err));
    node->current->snapshot.generation = 1;
    atomic_init(&node->generation, 1);
    if (!node->due) {
        node_diff_failures(&node->current->snapshot.json, metrics);
        metrics_probe(metrics, ocv_clock_ms(), ocv_clock_ms() - started, false);
    }

    node->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (node->stop < 0)
        return ocv_error_set(err, OCV_ERR_IO, "eventfd: %s", strerror(errno));
    if (!node->profile_file && !node->once) {
        node->uevents = uevent_open();
        if (node->uevents < 0)
            log_line(LOG_LEVEL_WARNING,
                     "no kernel events (%s): hardware changes are seen on SIGHUP and by "
                     "probe_interval only",
                     strerror(errno));
    }
    if (pthread_create(&node->thread, NULL, watch_node, node) != 0)
        return ocv_error_set(err, OCV_ERR_IO, "cannot start a thread");
    node->started = true;
    *out = ocv_steal(&node);
    return OCV_OK;
}

void node_free(struct node *node)
{
    if (!node)
        return;
    if (node->started) {
        (void)eventfd_write(node->stop, 1);
        pthread_join(node->thread, NULL);
    }
    if (node->stop >= 0)
        close(node->stop);
    if (node->uevents >= 0)
        close(node->uevents);
    if (node->current)
        node_put(&node->current->snapshot);
    pthread_mutex_destroy(&node->lock);
    free(node);
}
