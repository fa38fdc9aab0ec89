/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/instance/instance.h"
#include "cmd/common/names.h"
#include "cmd/variantd/common/log.h"
#include "cmd/variantd/common/settings.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

int instance_new(struct settings *settings, struct metrics *metrics, const struct instance *last,
                 struct instance **out, struct ocv_error *err)
{
    ocv_auto(instance) instance = calloc(1, sizeof(*instance));
    if (!instance) {
        settings_free(settings);
        return ocv_error_nomem(err);
    }
    instance->settings = settings;
    OCV_TRY(node_new(settings, metrics, last ? last->node : NULL, &instance->node, err));
    OCV_TRY(mirror_new(settings, instance->node, metrics, &instance->mirror, err));
    *out = ocv_steal(&instance);
    return OCV_OK;
}

void instance_free(struct instance *instance)
{
    if (!instance)
        return;
    if (instance->mirror)
        mirror_free(instance->mirror);
    node_free(instance->node);
    settings_free(instance->settings);
    free(instance);
}

/* Every request holds the instance it began with, so a reload never frees settings in use. */

void current_init(struct current *current, struct instance *instance, struct metrics *metrics)
{
    current->metrics = metrics;
    current->instance = instance;
    pthread_rwlock_init(&current->lock, NULL);
    pthread_mutex_init(&current->retired_lock, NULL);
}

struct instance *current_borrow(struct current *current)
{
    pthread_rwlock_rdlock(&current->lock);
    struct instance *instance = current->instance;
    atomic_fetch_add_explicit(&instance->running, 1, memory_order_relaxed);
    pthread_rwlock_unlock(&current->lock);
    atomic_fetch_add_explicit(&current->running, 1, memory_order_relaxed);
    return instance;
}

void current_return(struct current *current, struct instance *instance)
{
    atomic_fetch_sub_explicit(&instance->running, 1, memory_order_release);
    atomic_fetch_sub_explicit(&current->running, 1, memory_order_release);
}

void current_replace(struct current *current, struct instance *instance)
{
    pthread_rwlock_wrlock(&current->lock);
    struct instance *old = current->instance;
    current->instance = instance;
    pthread_rwlock_unlock(&current->lock);
    pthread_mutex_lock(&current->retired_lock);
    old->next = current->retired;
    current->retired = old;
    pthread_mutex_unlock(&current->retired_lock);
}

static void free_list(struct instance *list)
{
    while (list) {
        struct instance *next = list->next;
        instance_free(list);
        list = next;
    }
}

void current_free_retired(struct current *current)
{
    struct instance *done = NULL;
    pthread_mutex_lock(&current->retired_lock);
    for (struct instance **at = &current->retired; *at;) {
        struct instance *instance = *at;
        if (atomic_load_explicit(&instance->running, memory_order_acquire) > 0 ||
            !mirror_idle(instance->mirror)) {
            at = &instance->next;
            continue;
        }
        *at = instance->next;
        instance->next = done;
        done = instance;
    }
    pthread_mutex_unlock(&current->retired_lock);
    free_list(done);
}

bool current_idle(const struct current *current)
{
    return atomic_load_explicit(&current->running, memory_order_acquire) == 0 &&
           mirror_idle(current->instance->mirror);
}

void current_stop(struct current *current)
{
    atomic_store(&current->stopping, true);
    mirror_stop(current->instance->mirror);
    for (struct instance *instance = current->retired; instance; instance = instance->next)
        mirror_stop(instance->mirror);
}

void current_free(struct current *current)
{
    free_list(current->retired);
    instance_free(current->instance);
    free(current->address);
    pthread_rwlock_destroy(&current->lock);
    pthread_mutex_destroy(&current->retired_lock);
}

/* State of a walk over the names. */
struct name_report {
    uint64_t *n; /* log and count them; NULL: look for a flag's */
    struct ocv_error *err;
};

static int unknown_name(void *data, const struct ocv_unknown_name *name)
{
    const struct name_report *w = data;
    bool note = name->kind == OCV_UNKNOWN_NOTE;
    if (w->n) {
        log_line(note ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "%s: %s", name->origin, name->message);
        *w->n += note ? 0 : 1;
        return OCV_OK;
    }
    if (note || strncmp(name->origin, "--", 2) != 0)
        return OCV_OK;
    return ocv_error_set(w->err, OCV_ERR_CONFIG, "%s: %s", name->origin, name->message);
}

int unknown_names(const struct instance *instance, uint64_t *n, struct ocv_error *err)
{
    const struct ocv_probe_options options = {.datadir = instance->settings->datadir,
                                              .no_environment = true};
    const char *providers[INSTALLED_MAX];
    struct name_report report = {n, err};
    ocv_auto(ocv_profile) plain = NULL; /* the node's profile has overrides applied */
    ocv_auto_buffer text;
    ocv_buffer_init(&text, INSTALLED_TEXT_MAX);
    const struct snapshot *snapshot = node_get(instance->node);
    int status = ocv_profile_parse(snapshot->json.data, snapshot->json.len, &plain, NULL);
    node_put(snapshot);
    if (n)
        *n = 0;
    if (status < 0)
        return OCV_OK; /* out of memory: try another time */
    const struct ocv_name_sources sources = {.profile = plain,
                                             .providers = providers,
                                             .n_providers =
                                                 installed_namespaces(&options, &text, providers)};
    return ocv_config_check_all_names(instance->settings->config, &sources, unknown_name, &report);
}
