/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "index_write.h"

#include <stdlib.h>
#include <string.h>

void index_plan_free(struct index_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_entry *e = &plan->entries[i];
        free(e->label);
        free(e->os);
        free(e->architecture);
        free(e->variant);
        free(e->os_version);
        json_decref(e->os_features);
        free(e->properties);
    }
    free(plan->entries);
    free(plan->namespaces);
    json_decref(plan->annotations);
}

static char *config_text(const json_t *config, const char *key)
{
    const char *text = json_string_value(json_object_get(config, key));
    return text && *text ? strdup(text) : NULL;
}

static int read_config(struct plan_entry *entry, const struct ocv_buffer *config,
                       struct ocv_error *err)
{
    json_t *root = json_loadb(config->data, config->len, JSON_REJECT_DUPLICATES, NULL);
    entry->os = config_text(root, "os");
    entry->architecture = config_text(root, "architecture");
    entry->variant = config_text(root, "variant");
    entry->os_version = config_text(root, "os.version");
    json_t *features = json_object_get(root, "os.features");
    if (json_is_array(features) && json_array_size(features))
        entry->os_features = json_incref(features);
    json_decref(root);
    if (!entry->os || !entry->architecture)
        return ocv_error_set(err, OCV_ERR_DATA, "the image config names no os and architecture");
    return OCV_OK;
}

static int format_properties(struct plan_entry *entry, const struct ocv_properties *properties,
                             struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = properties ? ocv_properties_format(properties, &text, err) : OCV_OK;
    if (status < 0)
        return status;
    entry->properties = strdup(text.data ? text.data : "");
    return entry->properties ? OCV_OK : ocv_error_nomem(err);
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static bool same_platform(const struct plan_entry *a, const struct plan_entry *b)
{
    return !strcmp(a->os, b->os) && !strcmp(a->architecture, b->architecture);
}

static int check_against(const struct index_plan *plan, const struct plan_entry *entry,
                         struct ocv_error *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_entry *other = &plan->entries[i];
        if (compare_text(other->label, entry->label) != 0)
            continue;
        if (same_platform(other, entry))
            return ocv_error_set(err, OCV_ERR_INVALID, "the second %simage for %s/%s%s",
                                 entry->label ? "" : "ordinary ", entry->os, entry->architecture,
                                 entry->label ? " with this label" : "");
        if (strcmp(other->properties, entry->properties) != 0)
            return ocv_error_set(err, OCV_ERR_INVALID,
                                 "a label means the same properties on every platform");
    }
    return OCV_OK;
}

int index_plan_add(struct index_plan *plan, const char *label,
                   const struct ocv_properties *properties, const struct ocv_descriptor *descriptor,
                   const struct ocv_buffer *config, struct ocv_error *err)
{
    struct plan_entry *entries = realloc(plan->entries, (plan->count + 1) * sizeof(*entries));
    if (!entries)
        return ocv_error_nomem(err);
    plan->entries = entries;
    struct plan_entry *entry = &entries[plan->count];
    *entry = (struct plan_entry){.descriptor = *descriptor};
    if (label && !(entry->label = strdup(label)))
        return ocv_error_nomem(err);
    int status = read_config(entry, config, err);
    if (status == OCV_OK)
        status = format_properties(entry, properties, err);
    if (status == OCV_OK)
        status = check_against(plan, entry, err);
    plan->count++;
    return status;
}

static int set_annotation(struct index_plan *plan, const char *key, const char *value,
                          struct ocv_error *err)
{
    if (!plan->annotations)
        plan->annotations = json_object();
    if (!plan->annotations || json_object_set_new(plan->annotations, key, json_string(value)) != 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "annotation '%.100s' is not valid text", key);
    return OCV_OK;
}

static int split_pair(const char *text, const char *what, char **name, const char **value,
                      struct ocv_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not %s", text, what);
    *name = strndup(text, (size_t)(equals - text));
    *value = equals + 1;
    return *name ? OCV_OK : ocv_error_nomem(err);
}

int index_plan_annotation(struct index_plan *plan, const char *text, struct ocv_error *err)
{
    char *key = NULL;
    const char *value;
    int status = split_pair(text, "KEY=VALUE", &key, &value, err);
    if (status == OCV_OK && !strncmp(key, "dev.ocivariant.", strlen("dev.ocivariant.")))
        status = ocv_error_set(err, OCV_ERR_INVALID, "%s is written by this command itself", key);
    if (status == OCV_OK)
        status = set_annotation(plan, key, value, err);
    free(key);
    return status;
}

int index_plan_static(struct index_plan *plan, const char *text, struct ocv_error *err)
{
    char *ns = NULL, key[128];
    const char *value;
    int status = split_pair(text, "NS='FEATURE :: VALUE, ...'", &ns, &value, err);
    if (status == OCV_OK && (!ocv_property_name_valid(ns, strlen(ns)) || strlen(ns) > 64))
        status = ocv_error_set(err, OCV_ERR_INVALID, "'%.64s' is not a namespace", ns);
    if (status == OCV_OK && ocv_namespace_owned(ns))
        status = ocv_error_set(err, OCV_ERR_INVALID,
                               "%s is probed on the host: it cannot be static", ns);
    if (status == OCV_OK) {
        snprintf(key, sizeof(key), "%s%s", OCV_ANNOTATION_STATIC, ns);
        status = set_annotation(plan, key, value, err);
    }
    free(ns);
    return status;
}

int index_plan_namespaces(struct index_plan *plan, const char *text, struct ocv_error *err)
{
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = OCV_OK;
    for (const char *at = text; *at && status == OCV_OK;) {
        at += strspn(at, ", \t");
        size_t n = strcspn(at, ", \t");
        if (n && !ocv_property_name_valid(at, n))
            status = ocv_error_set(err, OCV_ERR_INVALID, "'%.*s' is not a namespace", (int)n, at);
        else if (n)
            status = ocv_buffer_printf(&list, err, "%s%.*s", list.len ? ", " : "", (int)n, at);
        at += n;
    }
    if (status < 0)
        return status;
    free(plan->namespaces);
    plan->namespaces = strdup(list.data ? list.data : "");
    return plan->namespaces ? OCV_OK : ocv_error_nomem(err);
}

/* One default per (os, architecture): --default, else null. */
static void choose_defaults(struct index_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_entry *e = &plan->entries[i];
        bool taken = e->label && strcmp(e->label, "null") != 0;
        for (size_t k = 0; k < plan->count && !taken; k++)
            taken = e->label && !plan->entries[k].label && same_platform(e, &plan->entries[k]);
        e->is_default = !taken;
    }
}

/* Defaults first, by platform; the others by platform and label. */
static int compare_entries(const void *pa, const void *pb)
{
    const struct plan_entry *a = pa, *b = pb;
    if (a->is_default != b->is_default)
        return a->is_default ? -1 : 1;
    int order = strcmp(a->os, b->os);
    if (order == 0)
        order = strcmp(a->architecture, b->architecture);
    return order ? order : compare_text(a->label, b->label);
}

/* Old clients know "v8" and the like; any other variant entry must be invisible to them. */
static json_t *platform_json(const struct plan_entry *e)
{
    json_t *platform = json_pack("{s:s, s:s}", "architecture", e->architecture, "os", e->os);
    char marked[80];
    const char *variant = e->variant;
    if (!e->is_default) {
        snprintf(marked, sizeof(marked), "x-%s", e->label);
        for (char *p = marked; *p; p++)
            if (*p == '.')
                *p = '-'; /* runtimes refuse a dot there */
        variant = marked;
    } else if (!strcmp(e->architecture, "amd64")) {
        variant = NULL; /* podman does not run an entry that says v1, nobody but docker one that
                           says v2 */
    }
    if (variant)
        json_object_set_new(platform, "variant", json_string(variant));
    if (e->os_version) /* Windows hosts run what was built for their version */
        json_object_set_new(platform, "os.version", json_string(e->os_version));
    if (e->os_features)
        json_object_set(platform, "os.features", e->os_features);
    return platform;
}

static json_t *entry_json(const struct plan_entry *e)
{
    json_t *entry = json_pack("{s:s, s:s, s:I, s:o}", "mediaType", e->descriptor.media_type,
                              "digest", e->descriptor.digest, "size",
                              (json_int_t)e->descriptor.size, "platform", platform_json(e));
    if (e->label)
        json_object_set_new(entry, "annotations",
                            json_pack("{s:s, s:s}", OCV_ANNOTATION_LABEL, e->label,
                                      OCV_ANNOTATION_PROPERTIES, e->properties));
    return entry;
}

static json_t *index_json(const struct index_plan *plan)
{
    json_t *manifests = json_array();
    for (size_t i = 0; i < plan->count; i++)
        json_array_append_new(manifests, entry_json(&plan->entries[i]));
    json_t *annotations = json_pack("{s:s}", OCV_ANNOTATION_SCHEMA, "1");
    if (plan->namespaces)
        json_object_set_new(annotations, OCV_ANNOTATION_NAMESPACES, json_string(plan->namespaces));
    json_object_update(annotations, plan->annotations);
    return json_pack("{s:i, s:s, s:o, s:o}", "schemaVersion", 2, "mediaType", OCV_MEDIA_TYPE_INDEX,
                     "manifests", manifests, "annotations", annotations);
}

static int dump(const struct index_plan *plan, struct ocv_buffer *out, struct ocv_error *err)
{
    json_t *root = index_json(plan);
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(root);
    if (!text)
        return ocv_error_nomem(err);
    out->len = 0;
    int status = ocv_buffer_append(out, text, strlen(text), err);
    free(text);
    return status;
}

/* The default order is written out, so that readers and people see it. */
static int fill_namespaces(struct index_plan *plan, const struct ocv_index *index,
                           struct ocv_error *err)
{
    const char *const *names;
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_MANIFEST_MAX);
    size_t n = ocv_index_namespaces(index, &names, NULL);
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = ocv_buffer_printf(&list, err, "%s%s", i ? ", " : "", names[i]);
    if (status < 0)
        return status;
    plan->namespaces = strdup(list.data ? list.data : "");
    return plan->namespaces ? OCV_OK : ocv_error_nomem(err);
}

static bool declared(const struct ocv_index *index, const char *ns)
{
    const char *const *names;
    size_t n = ocv_index_namespaces(index, &names, NULL);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], ns))
            return true;
    return false;
}

static int check_result(const struct ocv_index *index, struct ocv_error *err)
{
    const char *const *warnings;
    if (ocv_index_warnings(index, &warnings))
        return ocv_error_set(err, OCV_ERR_INVALID, "%s", warnings[0]);
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        if (e->code != OCV_REJECT_NONE)
            return ocv_error_set(err, OCV_ERR_INVALID, "entry %zu (%s) would not be used: %s", i,
                                 e->label ? e->label : "default", ocv_reject_name(e->code));
    }
    for (size_t i = 0; i < ocv_index_property_count(index); i++) {
        struct ocv_property p = ocv_index_property(index, (uint32_t)i);
        if (!declared(index, p.ns))
            return ocv_error_set(err, OCV_ERR_INVALID, "--namespaces leaves out '%s'", p.ns);
    }
    return OCV_OK;
}

int index_plan_format(struct index_plan *plan, struct ocv_buffer *out, struct ocv_error *err)
{
    choose_defaults(plan);
    qsort(plan->entries, plan->count, sizeof(*plan->entries), compare_entries);
    ocv_auto(ocv_index) index = NULL;
    int status = dump(plan, out, err);
    if (status == OCV_OK)
        status = ocv_index_parse(out->data, out->len, NULL, &index, err);
    if (status == OCV_OK)
        status = check_result(index, err);
    if (status < 0 || plan->namespaces)
        return status;
    status = fill_namespaces(plan, index, err);
    return status == OCV_OK ? dump(plan, out, err) : status;
}

void index_plan_warn(const struct index_plan *plan, const struct cli *cli)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_entry *e = &plan->entries[i];
        bool has_default = false, first = true;
        for (size_t k = 0; k < plan->count; k++) {
            if (!same_platform(e, &plan->entries[k]))
                continue;
            has_default = has_default || plan->entries[k].is_default;
            first = first && k >= i;
        }
        if (!has_default && first)
            cli_warn(cli,
                     "no default entry for %s/%s: clients without variants, and hosts that none "
                     "fits, find nothing (add null=REF or --default REF)",
                     e->os, e->architecture);
    }
}
