/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* `override` and `os_features`: what the administrator says a host supports, instead of what was
 * probed. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"
#include "lib/core/core_internal.h"
#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/config/config_internal.h"
#include "ocivariant/descriptor.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_PART_MAX 99ul /* of MAJOR.MINOR; what is above is no version */

/* The namespace's or feature's object, made at the end of the list when it is missing. */
static json_t *ensure_member(json_t *owner, const char *list_key, const char *key, const char *name)
{
    json_t *list = json_object_get(owner, list_key);
    if (!list && json_object_set_new(owner, list_key, json_array()) == 0)
        list = json_object_get(owner, list_key);
    json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        const char *text = ocv_json_text(item, key);
        if (text && !strcmp(text, name))
            return item;
    }
    item = json_pack("{s:s}", key, name);
    return json_array_append_new(list, item) == 0 ? item : NULL;
}

/* "12.9" or "12": false for other texts. A bare major is its first version. */
static bool read_version(const char *text, unsigned long *major, unsigned long *minor)
{
    char *end;
    *minor = 0;
    *major = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    if (*major == 0 || *major > VERSION_PART_MAX)
        return false;
    if (*end == '.' && isdigit((unsigned char)end[1]))
        *minor = strtoul(end + 1, &end, 10);
    return *end == '\0' && *minor <= VERSION_PART_MAX;
}

static int append_version(void *values, const char *version)
{
    return json_array_append_new(values, json_string(version));
}

static bool apply_override(json_t *root, const struct ocv_override *o)
{
    json_t *ns = ensure_member(root, "namespaces", "namespace", o->ns);
    json_t *feature = ns ? ensure_member(ns, "features", "name", o->feature) : NULL;
    ocv_auto_json *values = json_array();
    if (!feature)
        return false;
    /* Of a lower bound the newest version that is given stands for all that a machine of that
     * version reports. */
    unsigned long newest = 0;
    bool bound = ocv_text_ends(o->feature, "_lower_bound"), ok = true;
    for (size_t i = 0; i < o->values.count; i++) {
        unsigned long major, minor;
        if (!bound || !read_version(o->values.list[i], &major, &minor))
            ok = ok && json_array_append_new(values, json_string(o->values.list[i])) == 0;
        else if (major * (VERSION_PART_MAX + 1) + minor > newest)
            newest = major * (VERSION_PART_MAX + 1) + minor;
    }
    unsigned major = (unsigned)(newest / (VERSION_PART_MAX + 1)),
             minor = (unsigned)(newest % (VERSION_PART_MAX + 1));
    ok = ok && (!newest ||
                ocv_versions_below(o->ns, o->feature, major, minor, append_version, values) == 0);
    if (!ok || json_object_set(feature, "values", values) != 0)
        return false;
    /* Devices of which none counts only explain why the probe listed nothing. They are dropped,
     * since their empty lists would cancel the administrator's; the others lose their own. */
    bool counted = false;
    size_t i, k;
    json_t *device, *item;
    json_array_foreach(json_object_get(ns, "devices"), i, device)
    {
        json_t *features = json_object_get(device, "features");
        counted = counted || !json_is_true(json_object_get(device, "secondary"));
        json_array_foreach(features, k, item)
        {
            const char *name = ocv_json_text(item, "name");
            if (name && !strcmp(name, o->feature)) {
                json_array_remove(features, k);
                break;
            }
        }
    }
    if (!counted)
        json_object_del(ns, "devices");
    return true;
}

const char *ocv_config_forget_host(struct ocv_config *c)
{
    const struct {
        const char *key, *origin;
    } keys[] = {{"override", c->n_overrides ? c->overrides[0].origin : NULL},
                {"devices", c->n_devices ? c->devices[0].origin : NULL}};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        /* a later source has replaced what an earlier one said of a key */
        if (!keys[i].origin || !strncmp(keys[i].origin, "--", 2))
            continue;
        first = first ? first : keys[i].key;
        ocv_config_clear(c, keys[i].key);
    }
    return first;
}

bool ocv_config_overrides(const struct ocv_config *config)
{
    if (config->base)
        config = config->base;
    return config->n_overrides || config->os_features.count;
}

int ocv_config_override_profile(const struct ocv_config *config, const struct ocv_profile *profile,
                                struct ocv_profile **out, struct ocv_error *err)
{
    ocv_auto_json *root = json_deep_copy(profile->root);
    if (!root)
        return ocv_error_nomem(err);
    if (config->base)
        config = config->base; /* a host's, not a repository's */
    for (size_t i = 0; i < config->n_overrides; i++)
        if (!apply_override(root, &config->overrides[i]))
            return ocv_error_nomem(err);
    /* Formats, such as nydus.remoteimage.v1, that no probe can find. */
    const struct ocv_strings *features = &config->os_features;
    if (features->count && !json_object_get(root, "platform") &&
        json_object_set_new(root, "platform", json_object()) != 0)
        return ocv_error_nomem(err);
    json_t *list = features->count ? json_array() : NULL;
    if (features->count &&
        json_object_set_new(json_object_get(root, "platform"), "os.features", list) != 0)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < features->count; i++)
        if (json_array_append_new(list, json_string(features->list[i])) != 0)
            return ocv_error_nomem(err);
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    OCV_TRY(ocv_json_append(root, JSON_COMPACT, &text, err));
    return ocv_profile_parse(text.data, text.len, out, err);
}
