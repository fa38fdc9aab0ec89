/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/instance/unknown_names.h"

#include "cmd/common/installed.h"
#include "cmd/variantd/common/log.h"

#include <string.h>

/* State of a walk over the names. */
struct name_report {
    bool log; /* and count; else: a flag's */
    uint64_t n;
    struct ocv_error *err;
};

static int unknown_name(void *data, const struct ocv_unknown_name *name)
{
    struct name_report *w = data;
    bool note = name->kind == OCV_UNKNOWN_NOTE;
    if (w->log) {
        log_line(note ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "%s: %s", name->origin, name->message);
        w->n += note ? 0 : 1;
        return OCV_OK;
    }
    if (note || strncmp(name->origin, "--", 2) != 0)
        return OCV_OK;
    return ocv_error_set(w->err, OCV_ERR_CONFIG, "%s: %s", name->origin, name->message);
}

static int walk_names(const struct instance *instance, struct name_report *w)
{
    const struct ocv_probe_options options = {.datadir = instance->settings->datadir,
                                              .no_environment = true};
    const char *providers[INSTALLED_MAX];
    ocv_auto(ocv_profile) plain = NULL; /* the node's profile has overrides applied */
    ocv_auto_buffer text;
    ocv_buffer_init(&text, INSTALLED_TEXT_MAX);
    const struct snapshot *snapshot = node_get(instance->node);
    int status = ocv_profile_parse(snapshot->json.data, snapshot->json.len, &plain, NULL);
    node_put(snapshot);
    if (status < 0)
        return OCV_OK; /* out of memory: try another time */
    const struct ocv_name_sources sources = {.profile = plain,
                                             .providers = providers,
                                             .n_providers =
                                                 installed_namespaces(&options, &text, providers)};
    return ocv_config_check_all_names(instance->settings->config, &sources, unknown_name, w);
}

uint64_t unknown_names_count(const struct instance *instance)
{
    struct name_report w = {.log = true};
    (void)walk_names(instance, &w);
    return w.n;
}

int unknown_names_check_flags(const struct instance *instance, struct ocv_error *err)
{
    struct ocv_error own = {0};
    struct name_report w = {.err = err ? err : &own};
    return walk_names(instance, &w);
}
