/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/instance/unknown_names.h"

#include "cmd/variantd/common/log.h"
#include "ocivariant-probe.h"

#include <string.h>

#define PROVIDERS_MAX 256u
#define TEXT_MAX (64u * 1024)

/* What a walk over the names looks for. */
struct walk {
    bool log; /* and count; else: a flag's */
    uint64_t n;
    struct ocv_error *err;
};

static int unknown_name(void *data, const struct ocv_unknown_name *name)
{
    struct walk *w = data;
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

static size_t installed(const struct settings *settings, struct ocv_buffer *text,
                        const char *list[PROVIDERS_MAX])
{
    const struct ocv_probe_options options = {.datadir = settings->datadir, .no_environment = true};
    size_t n = 0;
    char *save = NULL;
    if (ocv_probe_namespaces(&options, text, NULL) < 0 || !text->data)
        return 0;
    for (char *ns = strtok_r(text->data, "\n", &save); ns && n < PROVIDERS_MAX;
         ns = strtok_r(NULL, "\n", &save))
        list[n++] = ns;
    return n;
}

static int walk(const struct instance *instance, struct walk *w)
{
    const char *providers[PROVIDERS_MAX];
    ocv_auto(ocv_profile) plain = NULL; /* the node's is with overrides */
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TEXT_MAX);
    const struct snapshot *snapshot = node_get(instance->node);
    int status = ocv_profile_parse(snapshot->json.data, snapshot->json.len, &plain, NULL);
    node_put(snapshot);
    if (status < 0)
        return OCV_OK; /* no memory: another time */
    const struct ocv_name_sources sources = {.profile = plain,
                                             .providers = providers,
                                             .n_providers =
                                                 installed(instance->settings, &text, providers)};
    return ocv_config_check_all_names(instance->settings->config, &sources, unknown_name, w);
}

uint64_t unknown_names_count(const struct instance *instance)
{
    struct walk w = {.log = true};
    (void)walk(instance, &w);
    return w.n;
}

int unknown_names_check_flags(const struct instance *instance, struct ocv_error *err)
{
    struct ocv_error own = {0};
    struct walk w = {.err = err ? err : &own};
    return walk(instance, &w);
}
