/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Engines are asked through their own clients, which know contexts, rootless sockets and remote
 * hosts; what they print as JSON is stable, their tables are not. */
#include "cmd/variantctl/verify/verify_sources.h"

#include "lib/base/nearest.h"
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX (64u * 1024 * 1024)
#define IDS_AT_ONCE 200u
#define DIGESTS_MAX 32u /* of one image: names that it was pulled under times two */

/* ---- running a client --------------------------------------------------------------------------
 */

/* What the command prints; OCV_ERR_NOT_FOUND if it is not there or fails. */
static int capture(const char *const argv[], struct ocv_buffer *out, struct ocv_error *err)
{
    int fds[2], status = OCV_OK, code = 0;
    char chunk[65536];
    ssize_t got;
    pid_t pid;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "pipe: %s", strerror(errno));
    int failed = ocv_spawn(argv, -1, fds[1], -1, &pid);
    close(fds[1]);
    while (!failed &&
           ((got = read(fds[0], chunk, sizeof(chunk))) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0 && status == OCV_OK)
            status = ocv_buffer_append(out, chunk, (size_t)got, err);
    close(fds[0]);
    if (failed)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: %s", argv[0], strerror(failed));
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR)
        ;
    if (status == OCV_OK && (!WIFEXITED(code) || WEXITSTATUS(code) != 0))
        status = ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s %s fails: does it answer here?", argv[0],
                               argv[1]);
    return status;
}

/* Lines of a text, one after the other; the text is cut up. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return line && *line ? line : NULL;
}

/* ---- docker and podman: ids, then everything about them -----------------------------------------
 */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* What an engine knows an image by. */
struct known_by {
    const char *digests[DIGESTS_MAX], *repositories[DIGESTS_MAX];
    char *owned[DIGESTS_MAX]; /* the texts of the repositories */
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

/* An image that came by an index has the index's digest and its manifest's, one that was loaded
 * from an archive as well has another: podman's own, then those of "repo@sha256:...". A digest that
 * came from one repository and no other is of that one. */
static void digests_of(const json_t *image, struct known_by *out)
{
    const char *own = text_of(image, "Digest");
    size_t i;
    json_t *name;
    *out = (struct known_by){0};
    if (own && *own)
        add_digest(out, own, NULL);
    json_array_foreach(json_object_get(image, "RepoDigests"), i, name)
    {
        const char *text = json_string_value(name), *at = text ? strchr(text, '@') : NULL;
        char *repository = at ? strndup(text, (size_t)(at - text)) : NULL;
        if (repository && own && strcmp(own, at + 1) == 0 && !out->repositories[0])
            out->repositories[0] = out->owned[0] = repository;
        else if (repository)
            add_digest(out, at + 1, repository);
    }
}

static void free_known_by(struct known_by *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->owned[i]);
}

static int visit_inspected(const char *engine, const json_t *image, local_image_visit visit,
                           void *data)
{
    const json_t *labels = json_object_get(json_object_get(image, "Config"), "Labels");
    const char *name = json_string_value(json_array_get(json_object_get(image, "RepoTags"), 0));
    struct known_by by;
    if (!json_is_object(labels))
        labels = json_object_get(image, "Labels");
    digests_of(image, &by);
    const struct local_image found = {.where = engine,
                                      .name = name ? name : text_of(image, "Id"),
                                      .digests = by.digests,
                                      .repositories = by.repositories,
                                      .n_digests = by.n,
                                      .label = text_of(labels, OCV_ANNOTATION_LABEL),
                                      .properties = text_of(labels, OCV_ANNOTATION_PROPERTIES)};
    int status = visit(data, &found);
    free_known_by(&by);
    return status;
}

static int inspect(const char *engine, const char *const *ids, size_t n, local_image_visit visit,
                   void *data, struct ocv_error *err)
{
    const char *argv[IDS_AT_ONCE + 4] = {engine, "image", "inspect"};
    ocv_auto_buffer text;
    size_t i;
    json_t *image;
    ocv_buffer_init(&text, OUTPUT_MAX);
    for (i = 0; i < n; i++)
        argv[3 + i] = ids[i];
    int status = capture(argv, &text, err);
    json_t *list =
        status == OCV_OK ? json_loadb(text.data ? text.data : "", text.len, 0, NULL) : NULL;
    if (status == OCV_OK && !json_is_array(list))
        status = ocv_error_set(err, OCV_ERR_ENGINE, "%s image inspect prints no JSON", engine);
    json_array_foreach(list, i, image)
    {
        if (status == OCV_OK)
            status = visit_inspected(engine, image, visit, data);
    }
    json_decref(list);
    return status;
}

/* Those without a tag again by themselves: docker's client leaves them out from 29 on. */
static int list_ids(const char *engine, struct ocv_buffer *text, struct ocv_error *err)
{
    const char *const argv[] = {engine, "images", "-q", "--no-trunc", NULL};
    const char *const nameless[] = {engine,     "images",        "-q", "--no-trunc",
                                    "--filter", "dangling=true", NULL};
    int status = capture(argv, text, err);
    return status < 0 ? status : capture(nameless, text, err);
}

static int engine_images(const char *engine, local_image_visit visit, void *data,
                         struct ocv_error *err)
{
    const char *ids[IDS_AT_ONCE];
    ocv_auto_buffer text;
    size_t n = 0;
    ocv_buffer_init(&text, OUTPUT_MAX);
    int status = list_ids(engine, &text, err);
    char *rest = text.len ? text.data : NULL, *line;
    while (status == OCV_OK && (line = next_line(&rest))) {
        if (memmem(text.data, (size_t)(line - text.data), line, strlen(line)))
            continue; /* another name of an image before */
        ids[n++] = line;
        if (n == IDS_AT_ONCE) {
            status = inspect(engine, ids, n, visit, data, err);
            n = 0;
        }
    }
    return status == OCV_OK && n ? inspect(engine, ids, n, visit, data, err) : status;
}

/* ---- containerd --------------------------------------------------------------------------------
 */

/* "REF TYPE DIGEST SIZE ...": ctr has no other form; its first three columns are as old as it is.
 */
static int visit_row(const char *where, char *line, local_image_visit visit, void *data)
{
    char *save = NULL, *ref = strtok_r(line, " \t", &save), *type = strtok_r(NULL, " \t", &save);
    const char *digest = type ? strtok_r(NULL, " \t", &save) : NULL;
    if (!digest || !ocv_digest_wellformed(digest))
        return OCV_OK; /* the head of the table */
    const struct local_image found = {
        .where = where, .name = ref, .digests = &digest, .n_digests = 1};
    return visit(data, &found);
}

static int namespace_images(const char *ns, local_image_visit visit, void *data,
                            struct ocv_error *err)
{
    const char *const argv[] = {"ctr", "--namespace", ns, "images", "ls", NULL};
    char where[300];
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OUTPUT_MAX);
    int status = capture(argv, &text, err);
    char *rest = text.len ? text.data : NULL, *line;
    snprintf(where, sizeof(where), "containerd:%.250s", ns);
    while (status == OCV_OK && (line = next_line(&rest)))
        status = visit_row(where, line, visit, data);
    return status;
}

static int containerd_images(local_image_visit visit, void *data, struct ocv_error *err)
{
    const char *const argv[] = {"ctr", "namespaces", "ls", "-q", NULL};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OUTPUT_MAX);
    int status = capture(argv, &text, err);
    char *rest = text.len ? text.data : NULL, *line;
    while (status == OCV_OK && (line = next_line(&rest)))
        status = namespace_images(line, visit, data, err);
    return status;
}

/* ---- layouts -----------------------------------------------------------------------------------
 */

struct layout_walk {
    const char *where;
    const struct ocv_layout *layout;
    local_image_visit visit;
    void *data;
};

static json_t *blob_json(const struct ocv_layout *layout, const char *digest)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    if (ocv_layout_read_blob(layout, digest, &text, NULL) < 0)
        return NULL;
    return json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, NULL);
}

/* The image index with variants that the descriptor names, or NULL. */
static struct ocv_index *blob_index(const struct ocv_layout *layout,
                                    const struct ocv_descriptor *descriptor)
{
    ocv_auto_buffer text;
    struct ocv_index *index = NULL;
    enum ocv_document_kind kind;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    if (ocv_layout_read_blob(layout, descriptor->digest, &text, NULL) < 0 ||
        ocv_document_kind(text.data, text.len, descriptor->media_type, &kind, NULL) < 0 ||
        kind != OCV_DOCUMENT_INDEX ||
        ocv_index_parse(text.data, text.len, descriptor->media_type, &index, NULL) < 0)
        return NULL;
    if (!ocv_index_has_variants(index)) {
        ocv_index_free(index);
        return NULL;
    }
    return index;
}

static int visit_layout(void *data, const char *tag, const char *image_name,
                        const struct ocv_descriptor *descriptor)
{
    const struct layout_walk *walk = data;
    json_t *manifest = blob_json(walk->layout, descriptor->digest);
    const char *config_digest = text_of(json_object_get(manifest, "config"), "digest");
    json_t *config = config_digest ? blob_json(walk->layout, config_digest) : NULL;
    const json_t *labels = json_object_get(json_object_get(config, "config"), "Labels");
    struct ocv_index *index = blob_index(walk->layout, descriptor);
    const char *digest = descriptor->digest;
    const struct local_image found = {.where = walk->where,
                                      .name = image_name ? image_name : tag,
                                      .digests = &digest,
                                      .n_digests = 1,
                                      .label = text_of(labels, OCV_ANNOTATION_LABEL),
                                      .properties = text_of(labels, OCV_ANNOTATION_PROPERTIES),
                                      .index = index};
    int status = walk->visit(walk->data, &found);
    ocv_index_free(index);
    json_decref(config);
    json_decref(manifest);
    return status;
}

static int layout_images(const char *where, local_image_visit visit, void *data,
                         struct ocv_error *err)
{
    ocv_auto(ocv_layout) layout = NULL;
    int status = ocv_layout_open(where + 4, 0, &layout, err);
    struct layout_walk walk = {where, layout, visit, data};
    return status < 0 ? status : ocv_layout_list(layout, visit_layout, &walk, err);
}

int local_images(const char *where, local_image_visit visit, void *data, struct ocv_error *err)
{
    if (strncmp(where, "oci:", 4) == 0)
        return layout_images(where, visit, data, err);
    if (strcmp(where, "containerd") == 0)
        return containerd_images(visit, data, err);
    if (strcmp(where, "docker") == 0 || strcmp(where, "podman") == 0)
        return engine_images(where, visit, data, err);
    static const char *const places[] = {"docker", "podman", "containerd"};
    char question[OCV_NEAREST_QUESTION_MAX];
    const char *meant = ocv_nearest(where, places, sizeof(places) / sizeof(*places));
    return ocv_error_set(err, OCV_ERR_INVALID,
                         "'%.100s' is not docker, podman, containerd or oci:DIR%s", where,
                         ocv_nearest_question(meant, question));
}
