/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists images through the engines' own clients, which know contexts, rootless sockets and remote
 * hosts. Their JSON output is stable, unlike their tables. */
#include "cmd/variantctl/verify/verify_verb.h"

#include "cmd/common/cli.h"
#include "cmd/common/image/nested_index.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CRI_SOCKET "/run/containerd/containerd.sock"
#define UNREAD_FORM "%zu of its images cannot be read: %s"
#define IDS_AT_ONCE 200u
#define DIGESTS_MAX 32u /* per image: two for each name under which it was pulled */

/* An image's identities in an engine. */
struct known_by {
    const char *digests[DIGESTS_MAX], *repositories[DIGESTS_MAX];
    char *owned[DIGESTS_MAX]; /* owned text of the repositories */
    size_t n;
};

static void add_digest(struct known_by *k, const char *digest, char *repository)
{
    if (k->n == DIGESTS_MAX) {
        free(repository);
        return;
    }
    k->digests[k->n] = digest;
    k->owned[k->n] = repository;
    k->repositories[k->n++] = repository;
}

/* A query to one engine. */
struct engine_walk {
    const char *engine;
    local_image_visit visit;
    void *data;
    bool once;     /* not for each name of an image */
    size_t unread; /* images on which it did not report */
    struct ocv_error why;
};

static int visit_inspected(const struct engine_walk *w, const json_t *image)
{
    const json_t *labels = json_object_get(json_object_get(image, "Config"), "Labels");
    const json_t *tags = json_object_get(image, "RepoTags");
    size_t n = w->once || json_array_size(tags) == 0 ? 1 : json_array_size(tags);
    if (!json_is_object(labels))
        labels = json_object_get(image, "Labels");

    /* An image pulled by an index has the digests of the index and of its manifest; one also
     * loaded from an archive has another. podman's own digest comes first, then those of
     * "repo@sha256:...". A digest that only one repository has belongs to that repository. */
    struct known_by by = {0};
    const char *own = ocv_json_text(image, "Digest");
    size_t k;
    const json_t *given;
    if (own && *own)
        add_digest(&by, own, NULL);
    json_array_foreach(json_object_get(image, "RepoDigests"), k, given)
    {
        const char *text = json_string_value(given), *at = text ? strchr(text, '@') : NULL;
        char *repository = at ? strndup(text, (size_t)(at - text)) : NULL;
        if (repository && own && strcmp(own, at + 1) == 0 && !by.repositories[0])
            by.repositories[0] = by.owned[0] = repository;
        else if (repository)
            add_digest(&by, at + 1, repository);
    }

    json_t *environment = json_object_get(json_object_get(image, "Config"), "Env");
    ocv_auto_json *config = json_pack("{s:{s:O?}}", "config", "Env", environment);
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++) {
        const char *name = json_string_value(json_array_get(tags, i));
        const struct local_image found = {.where = w->engine,
                                          .name = name ? name : ocv_json_text(image, "Id"),
                                          .digests = by.digests,
                                          .repositories = by.repositories,
                                          .n_digests = by.n,
                                          .label = ocv_json_text(labels, OCV_ANNOTATION_LABEL),
                                          .properties =
                                              ocv_json_text(labels, OCV_ANNOTATION_PROPERTIES),
                                          .config = config};
        status = w->visit(w->data, &found);
    }
    for (size_t i = 0; i < by.n; i++)
        free(by.owned[i]);
    return status;
}

/* Collect the engine's JSON about some images, even if the command fails in the end. */
static int ask_about(const struct engine_walk *w, const char *const *ids, size_t n, json_t **list,
                     struct ocv_error *err)
{
    const char *argv[IDS_AT_ONCE + 4] = {w->engine, "image", "inspect"};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    for (size_t i = 0; i < n; i++)
        argv[3 + i] = ids[i];
    int status = client_capture(argv, &text, err);
    *list = ocv_json_load_any(text.data, text.len, CLIENT_VALUES_MAX, 0, NULL);
    if (status == OCV_OK && !json_is_array(*list))
        status = ocv_error_set(err, OCV_ERR_ENGINE, "%s image inspect prints no JSON", w->engine);
    return status;
}

static int visit_list(const struct engine_walk *w, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        OCV_TRY(visit_inspected(w, json_array_get(list, i)));
    return OCV_OK;
}

/* "sha256:HEX", or HEX alone as in podman. */
static const char *hex_of(const char *id)
{
    const char *colon = strchr(id, ':');
    return colon ? colon + 1 : id;
}

static bool is_listed(const json_t *list, const char *id)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *own = ocv_json_text(json_array_get(list, i), "Id");
        if (own && strcmp(hex_of(own), hex_of(id)) == 0)
            return true;
    }
    return false;
}

/* Query an image that was missing in the output for many. Skips a manifest list made here without
 * its images, and an image removed since. */
static int inspect_one(struct engine_walk *w, const char *id, struct ocv_error *err)
{
    static const char *const no_image[] = {"manifest list", "no such image", "No such image",
                                           "image not known", "no such object"};
    struct ocv_error why = {0};
    ocv_auto_json *list = NULL;
    int status = ask_about(w, &id, 1, &list, &why);
    if (status == OCV_OK)
        status = visit_list(w, list);
    if (status != OCV_ERR_ENGINE && status != OCV_ERR_NOT_FOUND)
        return status < 0 && why.message[0] ? ocv_error_set(err, why.status, "%s", why.message)
                                            : status;
    for (size_t i = 0; i < sizeof(no_image) / sizeof(*no_image); i++)
        if (strstr(why.message, no_image[i]))
            return OCV_OK;
    if (w->unread++ == 0)
        w->why = why;
    return OCV_OK;
}

static int inspect_images(struct engine_walk *w, const char *const *ids, size_t n,
                          struct ocv_error *err)
{
    struct ocv_error why = {0};
    ocv_auto_json *list = NULL;
    int status = ask_about(w, ids, n, &list, &why);
    bool some = status == OCV_ERR_ENGINE || status == OCV_ERR_NOT_FOUND;
    if (status < 0 && !some)
        return ocv_error_set(err, why.status, "%s", why.message);
    OCV_TRY(visit_list(w, list));
    for (size_t i = 0; some && i < n; i++)
        if (!is_listed(list, ids[i]))
            OCV_TRY(inspect_one(w, ids[i], err));
    return OCV_OK;
}

/* The images of one namespace, or of all. */
struct namespace_walk {
    const char *name; /* of the requested image, or NULL */
    const char *where;
    local_image_visit visit;
    void *data;
};

/* "REF TYPE DIGEST SIZE ...": ctr has no other format; its first three columns have never changed.
 */
static int visit_row(void *data, char *line, struct ocv_error *err)
{
    (void)err;
    const struct namespace_walk *w = data;
    char *save = NULL, *ref = strtok_r(line, " \t", &save), *type = strtok_r(NULL, " \t", &save);
    const char *digest = type ? strtok_r(NULL, " \t", &save) : NULL;
    if (!digest || !ocv_digest_wellformed(digest))
        return OCV_OK; /* the table's header */
    const struct local_image found = {
        .where = w->where, .name = ref, .digests = &digest, .n_digests = 1};
    return w->visit(w->data, &found);
}

static int namespace_images(void *data, char *ns, struct ocv_error *err)
{
    struct namespace_walk one = *(const struct namespace_walk *)data;
    char filter[1100], where[300];
    const char *const argv[] = {"ctr", "--namespace", ns, "images", "ls", one.name ? filter : NULL,
                                NULL};
    if (one.name && snprintf(filter, sizeof(filter), "name==%s", one.name) >= (int)sizeof(filter))
        return OCV_OK;
    snprintf(where, sizeof(where), "containerd:%.250s", ns);
    one.where = where;
    return client_each_line(argv, visit_row, &one, err);
}

int local_images_named(const char *where, const char *name, local_image_visit visit, void *data,
                       struct ocv_error *err)
{
    if (strncmp(where, "containerd:", 11) != 0) {
        struct engine_walk w = {.engine = where, .visit = visit, .data = data, .once = true};
        return inspect_one(&w, name, err);
    }
    char ns[300];
    struct namespace_walk w = {.name = name, .visit = visit, .data = data};
    snprintf(ns, sizeof(ns), "%s", where + 11);
    return namespace_images(&w, ns, err);
}

struct layout_walk {
    const char *where;
    const struct ocv_layout *layout;
    const struct ocv_profile *profile;
    local_image_visit visit;
    void *data;
};

static json_t *blob_json(const struct ocv_layout *layout, const char *digest)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    if (ocv_layout_read_blob(layout, digest, &text, NULL) < 0)
        return NULL;
    return ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES,
                             NULL);
}

/* The image index that the descriptor names, with the images of those in it, or NULL. */
static struct ocv_index *blob_index(const struct ocv_layout *layout,
                                    const struct ocv_descriptor *descriptor)
{
    ocv_auto_buffer text;
    ocv_auto(ocv_index) index = NULL;
    struct ocv_index *flat = NULL;
    enum ocv_document_kind kind;
    const struct nested_place place = {.layout = layout};
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    if (ocv_layout_read_blob(layout, descriptor->digest, &text, NULL) < 0 ||
        ocv_document_kind(text.data, text.len, descriptor->media_type, &kind, NULL) < 0 ||
        kind != OCV_DOCUMENT_INDEX ||
        ocv_index_parse(text.data, text.len, descriptor->media_type, &index, NULL) < 0)
        return NULL;
    if (nested_place_walk(&place, index, false, &flat, NULL) < 0)
        return NULL;
    return flat ? flat : ocv_steal(&index);
}

static int visit_layout(void *data, const char *tag, const char *image_name,
                        const struct ocv_descriptor *descriptor)
{
    const struct layout_walk *walk = data;
    char child[OCV_DIGEST_MAX] = "";
    ocv_auto(ocv_index) index = blob_index(walk->layout, descriptor);
    bool variants = index && ocv_index_has_variants(index);
    ocv_auto(ocv_decision) decision = NULL;
    const struct ocv_entry *entry = NULL; /* without variants: what this platform takes */
    if (index && !variants && ocv_resolve(index, walk->profile, NULL, &decision, NULL) == OCV_OK)
        entry = ocv_decision_selected(decision);
    if (entry)
        snprintf(child, sizeof(child), "%s", entry->digest);
    ocv_auto_json *manifest = blob_json(walk->layout, *child ? child : descriptor->digest);
    const char *config_digest = ocv_json_text(json_object_get(manifest, "config"), "digest");
    ocv_auto_json *config = config_digest ? blob_json(walk->layout, config_digest) : NULL;
    const json_t *labels = json_object_get(json_object_get(config, "config"), "Labels");
    const char *digests[] = {*child ? child : descriptor->digest, descriptor->digest};
    const struct local_image found = {.where = walk->where,
                                      .name = image_name ? image_name : tag,
                                      .tag = tag,
                                      .digests = digests,
                                      .n_digests = *child ? 2 : 1,
                                      .label = ocv_json_text(labels, OCV_ANNOTATION_LABEL),
                                      .properties =
                                          ocv_json_text(labels, OCV_ANNOTATION_PROPERTIES),
                                      .config = config,
                                      .index = variants ? index : NULL};
    return walk->visit(walk->data, &found);
}

const char *local_images_socket(const char *where)
{
    if (strcmp(where, "cri") == 0)
        return CRI_SOCKET;
    return strncmp(where, "cri:/", 5) == 0 ? where + 4 : NULL;
}

/* What kubelet has, as a program of ours asks for it: there is no client on every node. */
static int runtime_images(const struct engine_walk *w, const char *socket, struct ocv_error *err)
{
    char helper[PATH_MAX];
    const char *const argv[] = {helper, socket, NULL};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    if (!cli_helper(CRI_HELPER, getenv("OCV_DATADIR"), helper, sizeof(helper)))
        return ocv_error_set(err, OCV_ERR_CONFIG, CRI_HELPER ": its path is too long");
    OCV_TRY(client_capture_first(argv, &text, err));
    ocv_auto_json *list = ocv_json_load_any(text.data, text.len, CLIENT_VALUES_MAX, 0, NULL);
    if (!json_is_array(list))
        return ocv_error_set(err, OCV_ERR_ENGINE, CRI_HELPER " prints no JSON");
    OCV_TRY(visit_list(w, list));
    const char *why = NULL;
    size_t unread = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = ocv_json_text(json_array_get(list, i), "Unread");
        why = why ? why : one;
        unread += one != NULL;
    }
    return !unread ? OCV_OK : ocv_error_set(err, OCV_ERR_ENGINE, UNREAD_FORM, unread, why);
}

static const char *const places[] = {"docker", "podman", "containerd", "cri"};

bool local_images_complete(struct ocv_completion *c, const char *kind)
{
    if (strcmp(kind, "PLACE") != 0)
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        ocv_complete_offer(c, places[i], NULL);
    complete_layout(c, "");
    return true;
}

int local_images(const char *where, const struct ocv_profile *profile, local_image_visit visit,
                 void *data, struct ocv_error *err)
{
    if (strncmp(where, "oci:", 4) == 0) {
        ocv_auto(ocv_layout) layout = NULL;
        OCV_TRY(ocv_layout_open(where + 4, 0, &layout, err));
        struct layout_walk walk = {where, layout, profile, visit, data};
        return ocv_layout_list(layout, visit_layout, &walk, err);
    }
    if (strcmp(where, "containerd") == 0) {
        struct namespace_walk w = {.visit = visit, .data = data};
        return client_each_namespace(namespace_images, &w, err);
    }
    const char *socket = local_images_socket(where);
    struct engine_walk w = {.engine = where, .visit = visit, .data = data};
    if (socket)
        return runtime_images(&w, socket, err);
    if (strcmp(where, "docker") != 0 && strcmp(where, "podman") != 0) {
        char question[OCV_NEAREST_QUESTION_MAX];
        const char *meant = ocv_nearest(where, places, sizeof(places) / sizeof(*places));
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "invalid value '%.100s' for --from: docker, podman, containerd, "
                             "cri[:/SOCKET] or oci:DIR%s",
                             where, ocv_nearest_question(meant, question));
    }
    const char *const all[] = {where, "images", "-q", "--no-trunc", NULL};
    const char *const nameless[] = {where,      "images",        "-q", "--no-trunc",
                                    "--filter", "dangling=true", NULL};
    const char *ids[IDS_AT_ONCE];
    ocv_auto_buffer text;
    size_t n = 0;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    /* Untagged images are listed separately: docker's client omits them from version 29 on. */
    OCV_TRY(client_capture_first(all, &text, err));
    OCV_TRY(client_capture_first(nameless, &text, err));
    char *rest = text.len ? text.data : NULL, *line;
    while ((line = client_next_line(&rest))) {
        if (memmem(text.data, (size_t)(line - text.data), line, strlen(line)))
            continue; /* another name of an image listed before */
        ids[n++] = line;
        if (n == IDS_AT_ONCE) {
            OCV_TRY(inspect_images(&w, ids, n, err));
            n = 0;
        }
    }
    if (n)
        OCV_TRY(inspect_images(&w, ids, n, err));
    if (w.unread)
        return ocv_error_set(err, OCV_ERR_ENGINE, UNREAD_FORM, w.unread, w.why.message);
    return OCV_OK;
}

int local_walk(const struct local_walk *walk, struct ocv_error *err)
{
    static const char *const engines[] = {"docker", "podman", "containerd"};
    const size_t named = walk->named->n, n = named ? named : sizeof(engines) / sizeof(*engines);
    for (size_t i = 0; i < n; i++) {
        const char *where = named ? walk->named->texts[i] : engines[i];
        struct ocv_error why = {0};
        int status = walk->look(walk->data, where, &why);
        if (status == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
        if (status < 0 && named && status != OCV_ERR_ENGINE) {
            *err = why;
            return status;
        }
        if (status < 0)
            OCV_TRY(walk->missed(walk->data, where, &why));
    }
    return OCV_OK;
}
