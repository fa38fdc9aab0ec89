/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Documents that fleets are read from. One object is a profile, a node, a class or header of a
 * packed fleet, or a list of Kubernetes nodes; a document is one object, or one on each line. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/match/match_internal.h"

#include <string.h>

#define FLEET_SCHEMA "dev.ocivariant.fleet/v1"
#define PROFILE_ANNOTATION "dev.ocivariant/profile"
#define LINE_MAX_BYTES \
    ((size_t)OCV_PROFILE_MAX + 4096) /* a profile and the other properties of a node */
#define DEFAULT_SLOTS 1u

struct fleet_reader {
    struct ocv_fleet *fleet;
    struct ocv_fleet_reading *how;
    size_t line; /* 0: the document is one object */
    bool packed, twice;
    json_int_t nodes, classes, want_nodes, want_classes;
};

/* A name that is there twice is never skipped: which of the two is meant cannot be known. */
static int add_node(struct fleet_reader *r, const struct ocv_node *node,
                    const struct ocv_profile *profile, struct ocv_error *err)
{
    ocv_auto(ocv_profile) adapted = NULL;
    r->twice = node->name && ocv_names_find(&r->fleet->by_name, r->fleet, node->name) != SIZE_MAX;
    int status =
        r->how->adapt && !r->twice ? r->how->adapt(r->how->data, profile, &adapted, err) : OCV_OK;
    return status < 0 ? status : ocv_fleet_add(r->fleet, node, adapted ? adapted : profile, err);
}

static int add_profile(struct fleet_reader *r, const struct ocv_node *node, json_t *object,
                       struct ocv_error *err)
{
    ocv_auto(ocv_profile) profile = NULL;
    OCV_TRY(ocv_profile_of_json(object, &profile, err));
    return add_node(r, node, profile, err);
}

static int read_count(const json_t *object, const char *key, uint32_t *out, struct ocv_error *err)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    if (!value)
        return OCV_OK;
    if (!json_is_integer(value) || number < 0 || number > UINT32_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "'%s' is not a number from 0 to %u", key,
                             UINT32_MAX);
    *out = (uint32_t)number;
    return OCV_OK;
}

/* {"name": "n1", "profile": {...}} or {"name": "n1", "class": "0123456789ab"} */
static int read_node(struct fleet_reader *r, const json_t *object, struct ocv_error *err)
{
    struct ocv_node node = {.slots = DEFAULT_SLOTS};
    json_t *profile = json_object_get(object, "profile");
    const char *id = ocv_json_text(object, "class");
    OCV_TRY(ocv_json_string(object, "node", "name", &node.name, err));
    OCV_TRY(read_count(object, "weight", &node.weight, err));
    OCV_TRY(read_count(object, "slots", &node.slots, err));
    node.excluded = json_is_true(json_object_get(object, "excluded"));
    if (json_is_object(profile))
        return add_profile(r, &node, profile, err);
    if (!id)
        return ocv_error_set(err, OCV_ERR_DATA, "a node has neither 'profile' nor 'class'");
    size_t place = ocv_names_find(&r->fleet->by_class, r->fleet, id);
    if (place == SIZE_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "no line before this one has the class '%.20s'",
                             id);
    if (r->how->adapt)
        return add_node(r, &node, r->fleet->classes[place].profile, err);
    r->twice = node.name && ocv_names_find(&r->fleet->by_name, r->fleet, node.name) != SIZE_MAX;
    return ocv_fleet_add_of(r->fleet, &node, place, err);
}

/* {"class": "0123456789ab", "profile": {...}} */
static int read_class(struct fleet_reader *r, const json_t *object, struct ocv_error *err)
{
    ocv_auto(ocv_profile) profile = NULL;
    const char *id = ocv_json_text(object, "class");
    json_t *essence = json_object_get(object, "profile");
    size_t place;
    if (!id || !json_is_object(essence))
        return ocv_error_set(err, OCV_ERR_DATA, "a class has 'class' and 'profile'");
    OCV_TRY(ocv_profile_of_json(essence, &profile, err));
    OCV_TRY(ocv_fleet_intern(r->fleet, profile, &place, err));
    if (strcmp(r->fleet->classes[place].id, id) != 0)
        return ocv_error_set(err, OCV_ERR_DATA, "the class is %s, not '%.20s'",
                             r->fleet->classes[place].id, id);
    r->classes++;
    return OCV_OK;
}

static int read_kubernetes_node(struct fleet_reader *r, const json_t *item, struct ocv_error *err)
{
    const json_t *meta = json_object_get(item, "metadata");
    const json_t *annotation =
        json_object_get(json_object_get(meta, "annotations"), PROFILE_ANNOTATION);
    const char *text = json_string_value(annotation);
    struct ocv_node node = {.slots = DEFAULT_SLOTS};
    ocv_auto_json *root = NULL;
    OCV_TRY(ocv_json_string(meta, "node", "name", &node.name, err));
    if (!node.name)
        return ocv_error_set(err, OCV_ERR_DATA, "an item has no metadata.name");
    if (!annotation) {
        r->how->without_profile++;
        return OCV_OK;
    }
    node.excluded = json_is_true(json_object_get(json_object_get(item, "spec"), "unschedulable"));
    int status =
        text ? ocv_json_load(PROFILE_ANNOTATION, text, strlen(text), OCV_PROFILE_MAX, &root, err)
             : ocv_error_set(err, OCV_ERR_DATA, "%s is not a string", PROFILE_ANNOTATION);
    if (status == OCV_OK)
        status = add_profile(r, &node, root, err);
    return status < 0 ? ocv_error_prefix(err, "node %.253s", node.name) : OCV_OK;
}

/* Nothing but running out of memory stops a reader that was told to skip. Why the first one was
 * left out is kept; and which the next ones are, as its hint. */
static int skip_or_fail(struct fleet_reader *r, int status, struct ocv_error *err)
{
    struct ocv_fleet_reading *how = r->how;
    const char *others = how->first.hint;
    if (status == OCV_OK || !how->skip_bad || r->twice || status != OCV_ERR_DATA)
        return status;
    if (how->skipped++ == 0) {
        how->first = *err;
        ocv_error_hint(&how->first, "%s", "");
        return OCV_OK;
    }
    /* "node h1" of "items[7]: node h1: why", "line 7" of "line 7: why" */
    const char *name = err->message, *colon = strstr(name, ": ");
    if (colon && strncmp(colon + 2, "node ", 5) == 0) {
        name = colon + 2;
        colon = strstr(name, ": ");
    }
    size_t len = colon ? (size_t)(colon - name) : strlen(name);
    if (how->skipped <= OCV_FLEET_NAMED_MAX && strlen(others) + len + 3 < OCV_ERROR_HINT_MAX) {
        const struct ocv_error before = how->first;
        ocv_error_hint(&how->first, "%s%s%.*s", before.hint, *before.hint ? ", " : "", (int)len,
                       name);
    }
    return OCV_OK;
}

static int at_line(struct fleet_reader *r, int status, struct ocv_error *err)
{
    return status < 0 && r->line ? ocv_error_prefix(err, "line %zu", r->line) : status;
}

static int read_object(struct fleet_reader *r, json_t *object, struct ocv_error *err)
{
    const char *schema = ocv_json_text(object, "schema");
    json_t *items = json_object_get(object, "items"), *item;
    int status = OCV_OK;
    size_t i;
    if (items && !json_is_array(items))
        return ocv_error_set(err, OCV_ERR_DATA, "'items' is not a list");
    if (items) {
        json_array_foreach(items, i, item)
        {
            status = read_kubernetes_node(r, item, err);
            if (status < 0)
                status = ocv_error_prefix(err, "items[%zu]", i);
            OCV_TRY(skip_or_fail(r, status, err));
        }
        return OCV_OK;
    }
    if (schema && !strcmp(schema, FLEET_SCHEMA)) {
        const json_t *nodes = json_object_get(object, "nodes");
        const json_t *classes = json_object_get(object, "classes");
        if (!json_is_integer(nodes) || !json_is_integer(classes))
            return ocv_error_set(err, OCV_ERR_DATA,
                                 "the header has no numbers 'classes' and 'nodes'");
        if (r->packed)
            return ocv_error_set(err, OCV_ERR_DATA, "a second header");
        r->packed = true;
        r->want_nodes = json_integer_value(nodes);
        r->want_classes = json_integer_value(classes);
        return OCV_OK;
    }
    if (json_object_get(object, "namespaces")) {
        struct ocv_node node = {.slots = DEFAULT_SLOTS, .name = r->line ? NULL : r->how->name};
        r->nodes++;
        if (!node.name)
            status = ocv_json_string(object, "profile", "hostname", &node.name, err);
        if (status == OCV_OK)
            status = node.name ? add_profile(r, &node, object, err)
                               : ocv_error_set(err, OCV_ERR_DATA,
                                               "the profile has no 'hostname' to call the node by");
    } else if (json_object_get(object, "name")) {
        r->nodes++;
        status = read_node(r, object, err);
    } else if (json_object_get(object, "class")) {
        return at_line(r, read_class(r, object, err), err);
    } else {
        status =
            ocv_error_set(err, OCV_ERR_DATA, "neither a profile, nor a node, nor a list of nodes");
    }
    return skip_or_fail(r, at_line(r, status, err), err);
}

static size_t line_length(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    return end ? (size_t)(end - text) : len;
}

static int read_lines(struct fleet_reader *r, const char *text, size_t len, struct ocv_error *err)
{
    for (size_t at = 0, n, blanks; at < len; at += n + 1) {
        n = line_length(text + at, len - at);
        r->line++;
        const char *line = text + at;
        for (blanks = 0; blanks < n && line[blanks] && strchr(" \t\r", line[blanks]); blanks++)
            ;
        if (blanks == n)
            continue;
        ocv_auto_json *object = NULL;
        int status = ocv_json_load("the node", line, n, LINE_MAX_BYTES, &object, err);
        r->nodes += status < 0;
        OCV_TRY(status < 0 ? skip_or_fail(r, at_line(r, status, err), err)
                           : read_object(r, object, err));
    }
    return OCV_OK;
}

int ocv_fleet_read(struct ocv_fleet *fleet, const void *bytes, size_t len,
                   struct ocv_fleet_reading *how, struct ocv_error *err)
{
    struct ocv_error local = {0};
    struct fleet_reader r = {.fleet = fleet, .how = how};
    if (!err)
        err = &local; /* `first` is made of it */
    how->skipped = how->without_profile = 0;
    ocv_auto_json *object = NULL;
    int status;
    /* more than one line, and the first is an object by itself? */
    const char *text = bytes;
    size_t first = line_length(text, len), rest = first;
    while (rest < len && strchr(" \t\r\n", text[rest]))
        rest++;
    while (first && (text[first - 1] == ' ' || text[first - 1] == '\r'))
        first--;
    if (rest < len && first > 1 && text[0] == '{' && text[first - 1] == '}')
        status = read_lines(&r, bytes, len, err);
    else if ((status = ocv_json_load("the fleet", bytes, len, OCV_FLEET_MAX, &object, err)) < 0)
        status = skip_or_fail(&r, status, err);
    else
        status = read_object(&r, object, err);
    /* a file that was cut is no smaller fleet */
    if (status == OCV_OK && r.packed && (r.want_nodes != r.nodes || r.want_classes != r.classes))
        status = ocv_error_set(err, OCV_ERR_DATA,
                               "not complete: %lld classes and %lld nodes where the header says "
                               "%lld and %lld",
                               (long long)r.classes, (long long)r.nodes, (long long)r.want_classes,
                               (long long)r.want_nodes);
    return status < 0 && how->source ? ocv_error_prefix(err, "%s", how->source) : status;
}
