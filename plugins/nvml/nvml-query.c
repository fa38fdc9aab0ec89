/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nvml-query [TIME_MS]: what NVIDIA's libraries say about the GPUs, as one JSON object.
 *
 * A program of its own because a vendor's library may crash or hang, and must do neither in the
 * process that probes. One thread asks and the first one waits: when the time is over, what was
 * learned so far is printed with the name of the call that hangs. lib/probe/providers/nvidia/nvml.c
 * reads the answer.
 *
 *   {"schema": "dev.ocivariant.nvml-query/v1", "library": "nvml", "driver": "570.124.06",
 *    "cuda": 12080, "cuda_library": PATH, "hung": CALL, "errors": [{"call", "code", "name"}],
 *    "devices": [{"index", "bus_id", "name", "uuid", "capability": [9, 0], "memory", "integrated",
 *                 "mig", "mig_devices": [{"uuid", "name", "memory"}], "virtualization",
 *                 "errors"}]} */
#include "plugins/nvml/query.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIME_DEFAULT_MS 1500
#define TIME_MAX_MS 600000

/* Directories that the loader does not search. */
static const char *const directories[] = {
    "/usr/lib/wsl/lib",                         /* WSL2 */
    "/usr/lib/x86_64-linux-gnu/nvidia/current", /* Debian */
    "/usr/lib/aarch64-linux-gnu/nvidia",        /* Jetson */
    "/usr/lib/aarch64-linux-gnu/tegra",         /* Jetson, older releases */
    "/usr/local/nvidia/lib64",                  /* device plugins on managed nodes */
    "/usr/lib64-nvidia",
    "/run/opengl-driver/lib", /* NixOS */
};

void query_call(struct query *query, const char *name)
{
    pthread_mutex_lock(&query->lock);
    query->call = name;
    pthread_mutex_unlock(&query->lock);
}

void query_set(struct query *query, json_t *object, const char *key, json_t *value)
{
    pthread_mutex_lock(&query->lock);
    json_object_set_new(object, key, value);
    pthread_mutex_unlock(&query->lock);
}

void query_text(struct query *query, json_t *object, const char *key, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c < 0x20 || *c > 0x7e)
            return;
    if (*text)
        query_set(query, object, key, json_string(text));
}

json_t *query_append(struct query *query, json_t *owner, const char *key)
{
    json_t *item = NULL;
    pthread_mutex_lock(&query->lock);
    json_t *list = json_object_get(owner, key);
    if (!list && json_object_set_new(owner, key, json_array()) == 0)
        list = json_object_get(owner, key);
    if (list && json_array_append_new(list, json_object()) == 0)
        item = json_array_get(list, json_array_size(list) - 1);
    pthread_mutex_unlock(&query->lock);
    return item;
}

void query_error(struct query *query, json_t *object, const char *call, long code, const char *name)
{
    json_t *error = query_append(query, object, "errors");
    query_text(query, error, "call", call);
    query_set(query, error, "code", json_integer(code));
    if (name)
        query_text(query, error, "name", name);
}

void *query_open(struct query *query, const char *name)
{
    char path[256];
    query_call(query, "dlopen");
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    for (size_t i = 0; !handle && i < sizeof(directories) / sizeof(*directories); i++) {
        snprintf(path, sizeof(path), "%s/%s", directories[i], name);
        handle = access(path, R_OK) == 0 ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    }
    query_call(query, NULL);
    return handle;
}

static void *ask_library(void *data)
{
    struct query *query = data;
    if (!nvml_ask(query))
        libcuda_ask(query);
    libcuda_locate(query);
    pthread_mutex_lock(&query->lock);
    query->done = true;
    pthread_cond_signal(&query->changed);
    pthread_mutex_unlock(&query->lock);
    return NULL;
}

int main(int argc, char **argv)
{
    struct query query = {.lock = PTHREAD_MUTEX_INITIALIZER};
    char *end = NULL;
    long milliseconds = argc > 1 ? strtol(argv[1], &end, 10) : TIME_DEFAULT_MS;
    if (argc > 2 || (end && *end) || milliseconds < 1 || milliseconds > TIME_MAX_MS) {
        fputs("Usage: nvml-query [TIME_MS]\n", stderr);
        return 2;
    }
    query.root = json_pack("{s:s}", "schema", "dev.ocivariant.nvml-query/v1");
    if (!query.root) {
        fputs("nvml-query: out of memory\n", stderr);
        return 1;
    }
    pthread_t thread;
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0 ||
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) != 0 ||
        pthread_cond_init(&query.changed, &monotonic) != 0 ||
        pthread_create(&thread, NULL, ask_library, &query) != 0) {
        fputs("nvml-query: cannot start a thread\n", stderr);
        return 1;
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&query.lock); /* held to the end */
    int waited = 0;
    while (!query.done && waited == 0)
        waited = pthread_cond_timedwait(&query.changed, &query.lock, &until);
    if (!query.done)
        json_object_set_new(query.root, "hung", json_string(query.call ? query.call : ""));
    int status =
        json_dumpf(query.root, stdout, JSON_COMPACT) == 0 && puts("") != EOF && fflush(stdout) == 0
            ? 0
            : 1;
    _exit(status); /* exit would run the vendor's destructors, which may hang too */
}
