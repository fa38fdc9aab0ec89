/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Docker and podman, whose clients print the same. podman stores a container's specification in a
 * file, docker prints what was requested. Their JSON output is stable, unlike their tables. */
#include "cmd/variantctl/engines/engines.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "lib/internal/content/image_config.h"
#include "lib/internal/records/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_MAX (4u * 1024 * 1024)
#define COUNT_MAX 256
#define IDS_AT_ONCE 200u

/* Collect the engine's JSON about some images, even if the command fails in the end. */
static int ask_about(const struct engine_walk *w, const char *const *ids, size_t n, json_t **list,
                     struct ocv_error *err)
{
    const char *argv[IDS_AT_ONCE + 4] = {w->where, "image", "inspect"};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    for (size_t i = 0; i < n; i++)
        argv[3 + i] = ids[i];
    int status = client_capture(argv, &text, err);
    *list = ocv_json_load_any(text.data, text.len, CLIENT_VALUES_MAX, 0, NULL);
    if (status == OCV_OK && !json_is_array(*list))
        status = ocv_error_set(err, OCV_ERR_ENGINE, "%s image inspect prints no JSON", w->where);
    return status;
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
        status = engine_visit_inspected(w, list);
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
    OCV_TRY(engine_visit_inspected(w, list));
    for (size_t i = 0; some && i < n; i++)
        if (!is_listed(list, ids[i]))
            OCV_TRY(inspect_one(w, ids[i], err));
    return OCV_OK;
}

static int docker_images(struct engine_walk *w, struct ocv_error *err)
{
    const char *const all[] = {w->where, "images", "-q", "--no-trunc", NULL};
    const char *const nameless[] = {w->where,   "images",        "-q", "--no-trunc",
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
            OCV_TRY(inspect_images(w, ids, n, err));
            n = 0;
        }
    }
    if (n)
        OCV_TRY(inspect_images(w, ids, n, err));
    if (w->unread)
        return ocv_error_set(err, OCV_ERR_ENGINE, ENGINE_UNREAD_FORM, w->unread, w->why.message);
    return OCV_OK;
}

/* "A,B": the device ids of a request, or of the first N devices if it has a number, or "all". */
static void write_ids(const json_t *request, struct ocv_buffer *out)
{
    const json_t *ids = json_object_get(request, "DeviceIDs"), *one;
    json_int_t count = json_integer_value(json_object_get(request, "Count"));
    size_t i;
    json_array_foreach(ids, i, one)
    {
        const char *text = json_string_value(one);
        if (text && ocv_buffer_printf(out, NULL, "%s%s", out->len ? "," : "", text) < 0)
            return;
    }
    if (!json_array_size(ids) && count < 0 && ocv_buffer_printf(out, NULL, "all") < 0)
        return;
    for (json_int_t k = 0; !json_array_size(ids) && k < count && k < COUNT_MAX; k++)
        if (ocv_buffer_printf(out, NULL, "%s%lld", out->len ? "," : "", (long long)k) < 0)
            return;
}

/* The requested devices in the form of a specification. `*asked`: --gpus selects them. */
static json_t *spec_of_docker(const json_t *container, bool *asked)
{
    const json_t *host = json_object_get(container, "HostConfig"), *one;
    json_t *env = json_deep_copy(json_object_get(json_object_get(container, "Config"), "Env"));
    json_t *mounts = json_array(), *cdi = json_object();
    size_t i;
    if (!json_is_array(env)) {
        json_decref(env);
        env = json_array();
    }
    json_array_foreach(json_object_get(host, "Devices"), i, one)
    {
        json_array_append_new(mounts,
                              json_pack("{s:s?}", "source", ocv_json_text(one, "PathOnHost")));
    }
    json_array_foreach(json_object_get(host, "DeviceRequests"), i, one)
    {
        char key[32];
        const char *driver = ocv_json_text(one, "Driver");
        ocv_auto_buffer ids;
        ocv_buffer_init(&ids, OCV_CONTAINER_DEVICES_MAX);
        write_ids(one, &ids);
        snprintf(key, sizeof(key), "cdi.k8s.io/%zu", i);
        if (ids.len && driver && strcmp(driver, "cdi") == 0)
            json_object_set_new(cdi, key, json_string(ids.data));
        else if (ids.len && !*asked)
            *asked = json_array_clear(env) == 0; /* then the image's variables do not count */
        char line[600];
        if (ids.len && *asked && !json_object_get(cdi, key) &&
            snprintf(line, sizeof(line), OCV_REQUIREMENT_DEVICES "=%s", ids.data) <
                (int)sizeof(line))
            json_array_append_new(env, json_string(line));
    }
    return json_pack("{s:o, s:o, s:{s:o}}", "annotations", cdi, "mounts", mounts, "process", "env",
                     env);
}

static int inspect_container(void *data, char *id, struct ocv_error *err)
{
    const struct engine_walk *walk = data;
    const char *const argv[] = {walk->where, "container", "inspect", id, NULL};
    ocv_auto_json *list = client_json(argv);
    const json_t *container = json_array_get(list, 0);
    bool asked = false, podman = strcmp(walk->where, "podman") == 0;
    const char *name = ocv_json_text(container, "Name");
    const char *image = podman ? ocv_json_text(container, "ImageName")
                               : ocv_json_text(json_object_get(container, "Config"), "Image");
    ocv_auto_json *spec = podman ? NULL : spec_of_docker(container, &asked);
    const char *path = podman ? ocv_json_text(container, "OCIConfigPath") : NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, SPEC_MAX);
    if (path && ocv_file_read(path, OCV_FILE_REGULAR, &text, NULL) >= 0 && text.len)
        spec = ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, 0, NULL);
    const struct engine_container one = {.place = walk->where,
                                         .name = !name ? "" : name + (*name == '/'),
                                         .id = ocv_json_text(container, "Image"),
                                         .image = image,
                                         .asked = asked,
                                         .spec = spec,
                                         .look = inspect_one};
    return engine_visit_container(walk, &one, err);
}

static int docker_containers(struct engine_walk *walk, struct ocv_error *err)
{
    const char *const ps[] = {walk->where, "ps", "-q", "--no-trunc", NULL};
    return client_each_line(ps, inspect_container, walk, err);
}

const struct engine engine_docker = {
    .name = "docker", .always = true, .images = docker_images, .containers = docker_containers};
const struct engine engine_podman = {
    .name = "podman", .always = true, .images = docker_images, .containers = docker_containers};
