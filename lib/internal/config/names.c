/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Check the names that a configuration selects by: a misspelt one must not look like something that
 * this host lacks. */
#include "lib/base/text.h"
#include "lib/core/core_internal.h"
#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/config/config_internal.h"
#include "ocivariant/vocabulary.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_MAX 512
#define DEVICES_SHOWN 8u

struct name_check {
    const struct ocv_config *config;
    const struct ocv_name_sources *sources;
    ocv_unknown_visit visit;
    void *data;
    /* of the name that is looked at */
    const char *key, *origin;
    int status;
};

static void report_name(struct name_check *n, enum ocv_unknown_kind kind, const char *format, ...)
    OCV_PRINTF(3, 4);

static void report_name(struct name_check *n, enum ocv_unknown_kind kind, const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const struct ocv_unknown_name name = {n->origin, n->key, message, kind};
    n->status = n->visit(n->data, &name);
}

struct key_search {
    const char *wanted;
    bool found;
    struct ocv_nearest nearest;
};

static void offer_name(void *data, const char *name)
{
    struct key_search *search = data;
    search->found = search->found || !strcmp(search->wanted, name);
    ocv_nearest_offer(&search->nearest, name);
}

static bool check_namespace(struct name_check *n, const char *ns)
{
    char vocabulary[OCV_WORD_MAX], text[OCV_NEAREST_QUESTION_MAX];
    struct key_search search = {.wanted = ns, .nearest = {.wanted = ns}};
    if (ocv_vocabulary_check(ns, NULL, NULL, vocabulary) == OCV_WORD_KNOWN)
        return true;
    /* every namespace that is not in the vocabulary */
    const struct ocv_name_sources *s = n->sources;
    const struct ocv_strings *known = ocv_config_strings(n->config, "known_namespaces");
    for (size_t i = 0; i < known->count; i++)
        offer_name(&search, known->list[i]);
    for (size_t i = 0; s->profile && i < s->profile->n_namespaces; i++)
        offer_name(&search, s->profile->namespaces[i].name);
    for (size_t i = 0; s->index && i < s->index->n_namespaces; i++)
        offer_name(&search, s->index->namespaces[i]);
    for (size_t i = 0; i < s->n_providers; i++)
        offer_name(&search, s->providers[i]);
    if (search.found)
        return true;
    if (*vocabulary)
        ocv_nearest_offer(&search.nearest, vocabulary);
    const char *meant = ocv_nearest_meant(&search.nearest);
    bool order = !strcmp(n->key, "namespace_priority"); /* PEP 825 allows any name there */
    report_name(n, order && !meant ? OCV_UNKNOWN_NOTE : OCV_UNKNOWN_NAME, "no namespace '%.60s'%s",
                ns, ocv_nearest_question(meant, text));
    return false;
}

/* Has the index such a property? `value` NULL: any, here and below. */
static bool in_index(const struct name_check *n, const char *ns, const char *feature,
                     const char *value)
{
    const struct ocv_index *index = n->sources->index;
    for (size_t i = 0; index && i < index->n_properties; i++) {
        const struct ocv_property *p = &index->properties[i];
        if (!strcmp(p->ns, ns) && !strcmp(p->feature, feature) &&
            (!value || !strcmp(p->value, value)))
            return true;
    }
    return false;
}

static bool on_host(const struct ocv_namespace *ns, const char *feature, const char *value)
{
    for (size_t d = 0; ns && d <= ns->n_devices; d++) {
        const struct ocv_feature *f =
            d < ns->n_devices
                ? ocv_feature_find(ns->devices[d].features, ns->devices[d].n_features, feature)
                : ocv_feature_find(ns->features, ns->n_features, feature);
        if (f && !value)
            return true;
        for (size_t i = 0; f && i < f->n_values; i++)
            if (!strcmp(f->values[i], value))
                return true;
    }
    return false;
}

static void check_property(struct name_check *n, const char *ns, const char *feature,
                           const char *value)
{
    char meant[OCV_WORD_MAX], text[OCV_NEAREST_QUESTION_MAX];
    if (!check_namespace(n, ns) || !feature)
        return;
    const struct ocv_namespace *host =
        n->sources->profile ? ocv_profile_namespace(n->sources->profile, ns) : NULL;
    enum ocv_word unknown = ocv_vocabulary_check(ns, feature, value, meant);
    if (unknown == OCV_WORD_KNOWN)
        return;
    if (unknown != OCV_WORD_VALUE) {
        if (on_host(host, feature, NULL) || in_index(n, ns, feature, NULL))
            return;
        if (unknown != OCV_WORD_NAMESPACE) {
            report_name(n, OCV_UNKNOWN_NAME, "%.60s has no feature '%.60s'%s", ns, feature,
                        ocv_nearest_question(meant, text));
            return;
        }
        /* Of a private namespace: what host and index have, if they have anything of it. */
        struct ocv_nearest nearest = {.wanted = feature};
        const struct ocv_index *index = n->sources->index;
        size_t offered = host ? host->n_features : 0;
        for (size_t i = 0; host && i < host->n_features; i++)
            ocv_nearest_offer(&nearest, host->features[i].name);
        for (size_t i = 0; index && i < index->n_properties; i++)
            if (!strcmp(index->properties[i].ns, ns)) {
                ocv_nearest_offer(&nearest, index->properties[i].feature);
                offered++;
            }
        if (offered)
            report_name(n, OCV_UNKNOWN_NAME, "%.60s has no feature '%.60s'%s", ns, feature,
                        ocv_nearest_question(ocv_nearest_meant(&nearest), text));
    } else if (!on_host(host, feature, value) && !in_index(n, ns, feature, value)) {
        report_name(n, OCV_UNKNOWN_NAME, "%.60s :: %.60s has no value '%.60s'%s", ns, feature,
                    value, ocv_nearest_question(meant, text));
    }
}

static void check_device(struct name_check *n, const char *name, const char *device)
{
    if (!n->sources->profile)
        return;
    const struct ocv_namespace *ns = ocv_profile_namespace(n->sources->profile, name);
    size_t n_devices = ns ? ns->n_devices : 0, at = 0;
    for (size_t i = 0; i < n_devices; i++)
        if (ocv_device_is(&ns->devices[i], device))
            return;
    if (n_devices == 0) {
        report_name(n, OCV_UNKNOWN_HOST, "no device '%.60s': this host has no %s device", device,
                    name);
        return;
    }
    /* "0-7", "0, 2, 5" */
    char list[128] = "";
    bool row = n_devices > 1;
    for (size_t i = 0; i < n_devices; i++)
        row = row && ns->devices[i].index == ns->devices[0].index + (long)i;
    if (row)
        snprintf(list, sizeof(list), "%ld-%ld", ns->devices[0].index,
                 ns->devices[n_devices - 1].index);
    for (size_t i = 0; !row && i < n_devices && i < DEVICES_SHOWN && at < sizeof(list); i++)
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%ld", i ? ", " : "",
                               ns->devices[i].index);
    if (!row && n_devices > DEVICES_SHOWN && at < sizeof(list))
        snprintf(list + at, sizeof(list) - at, ", ...");
    report_name(n, OCV_UNKNOWN_HOST, "no device '%.60s': this host has %s %s", device, name, list);
}

static void check_list(struct name_check *n, const char *key)
{
    const struct ocv_strings *list = ocv_config_strings(n->config, key);
    for (size_t i = 0; i < list->count && n->status == OCV_OK; i++) {
        n->key = key;
        n->origin = list->origins[i];
        /* "ns :: feature :: value", canonical */
        char text[OCV_ENTRY_PROPERTIES_BYTES_MAX + 1];
        snprintf(text, sizeof(text), "%s", list->list[i]);
        char *feature = strstr(text, " :: ");
        char *value = feature ? strstr(feature + 4, " :: ") : NULL;
        if (feature)
            *feature = '\0';
        if (value)
            *value = '\0';
        check_property(n, text, feature ? feature + 4 : NULL, value ? value + 4 : NULL);
    }
}

static void check_policies(struct name_check *n)
{
    const struct ocv_config *c = ocv_config_layer(n->config, "device_policy");
    for (size_t i = 0; i < c->n_policies && n->status == OCV_OK; i++) {
        n->key = "device_policy";
        n->origin = c->policies[i].origin;
        check_namespace(n, c->policies[i].ns);
    }
}

int ocv_config_check_names(const struct ocv_config *config, const struct ocv_name_sources *sources,
                           ocv_unknown_visit visit, void *data)
{
    struct name_check n = {.config = config, .sources = sources, .visit = visit, .data = data};
    check_list(&n, "namespace_priority");
    check_list(&n, "disable");
    check_list(&n, "require");
    check_policies(&n);
    const struct ocv_config *c = config->base ? config->base : config;
    for (size_t i = 0; i < c->n_devices; i++) {
        const struct ocv_device_setting *d = &c->devices[i];
        n.key = "devices";
        n.origin = d->origin;
        bool known = n.status == OCV_OK && check_namespace(&n, d->ns);
        for (size_t k = 0; known && k < d->ids.count && n.status == OCV_OK; k++) {
            n.origin = d->ids.origins[k];
            check_device(&n, d->ns, d->ids.list[k]);
        }
    }
    for (size_t i = 0; i < c->n_overrides && n.status == OCV_OK; i++) {
        const struct ocv_override *o = &c->overrides[i];
        n.key = "override";
        n.origin = o->origin;
        if (o->values.count == 0)
            check_property(&n, o->ns, o->feature, NULL);
        for (size_t k = 0; k < o->values.count && n.status == OCV_OK; k++) {
            n.origin = o->values.origins[k];
            check_property(&n, o->ns, o->feature, o->values.list[k]);
        }
    }
    return n.status;
}

int ocv_config_check_all_names(const struct ocv_config *config,
                               const struct ocv_name_sources *sources, ocv_unknown_visit visit,
                               void *data)
{
    int status = ocv_config_check_names(config, sources, visit, data);
    for (size_t i = 0; i < config->n_repositories && status == OCV_OK; i++) {
        struct name_check n = {.config = config->repositories[i].config,
                               .sources = sources,
                               .visit = visit,
                               .data = data};
        uint64_t own = n.config->given & ~config->by_text;
        if (own & ocv_config_key_bit("disable"))
            check_list(&n, "disable");
        if (own & ocv_config_key_bit("require"))
            check_list(&n, "require");
        if (own & ocv_config_key_bit("device_policy"))
            check_policies(&n);
        status = n.status;
    }
    return status;
}
