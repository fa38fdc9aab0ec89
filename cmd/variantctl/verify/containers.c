/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running containers with the devices in their specification. podman stores it in a file,
 * containerd's client prints it, and docker prints what was requested. */
#include "cmd/variantctl/verify/verify_verb.h"
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

static json_t *capture_json(const char *const argv[])
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    if (client_capture(argv, &text, NULL) < 0 || !text.len)
        return NULL;
    return ocv_json_load_any(text.data, text.len, CLIENT_VALUES_MAX, 0, NULL);
}

struct container_walk {
    local_image_visit visit;
    void *data;
    const char *place, *name, *image; /* the image's name as requested, or NULL */
    const char *given;
};

static int visit_container(void *data, const struct local_image *image)
{
    const struct container_walk *w = data;
    char where[600];
    struct local_image one = *image;
    snprintf(where, sizeof(where), "%.300s, container %.250s", w->place, w->name);
    one.where = where;
    one.given = w->given;
    if (w->image && strpbrk(w->image, "/:"))
        one.name = w->image;
    return w->visit(w->data, &one);
}

/* `id`: the engine's name for the image. */
static int visit_spec(const struct container_walk *walk, const json_t *spec, const char *id,
                      bool asked, struct ocv_error *err)
{
    struct container_walk w = *walk;
    ocv_auto_free char *given = ocv_container_devices(spec, asked, "");
    w.given = given;
    return given && id ? local_images_named(w.place, id, visit_container, &w, err) : OCV_OK;
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

/* The containers of an engine, or of a containerd namespace. */
struct engine_containers {
    const char *place; /* "docker", "podman", "containerd:NAMESPACE" */
    local_image_visit visit;
    void *data;
};

static int inspect_container(void *data, char *id, struct ocv_error *err)
{
    const struct engine_containers *in = data;
    const char *const argv[] = {in->place, "container", "inspect", id, NULL};
    ocv_auto_json *list = capture_json(argv);
    const json_t *container = json_array_get(list, 0);
    bool asked = false, podman = strcmp(in->place, "podman") == 0;
    const char *name = ocv_json_text(container, "Name");
    const char *image = podman ? ocv_json_text(container, "ImageName")
                               : ocv_json_text(json_object_get(container, "Config"), "Image");
    const struct container_walk w = {.visit = in->visit,
                                     .data = in->data,
                                     .place = in->place,
                                     .name = !name ? "" : name + (*name == '/'),
                                     .image = image};
    ocv_auto_json *spec = podman ? NULL : spec_of_docker(container, &asked);
    const char *path = podman ? ocv_json_text(container, "OCIConfigPath") : NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, SPEC_MAX);
    if (path && ocv_file_read(path, OCV_FILE_REGULAR, &text, NULL) >= 0 && text.len)
        spec = ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, 0, NULL);
    return visit_spec(&w, spec, ocv_json_text(container, "Image"), asked, err);
}

static int visit_task(void *data, char *id, struct ocv_error *err)
{
    const struct engine_containers *in = data;
    const char *const argv[] = {"ctr", "--namespace", in->place + 11, "containers", "info",
                                id,    NULL};
    ocv_auto_json *info = capture_json(argv);
    const json_t *spec = json_object_get(info, "Spec");
    const char *image = ocv_json_text(info, "Image");
    const char *asked =
        ocv_json_text(json_object_get(spec, "annotations"), "io.kubernetes.cri.image-name");
    const struct container_walk w = {.visit = in->visit,
                                     .data = in->data,
                                     .place = in->place,
                                     .name = id,
                                     .image = asked ? asked : image};
    return image && *image ? visit_spec(&w, spec, image, false, err) : OCV_OK;
}

static int namespace_containers(void *data, char *ns, struct ocv_error *err)
{
    struct engine_containers one = *(const struct engine_containers *)data;
    const char *const argv[] = {"ctr", "--namespace", ns, "tasks", "ls", "-q", NULL};
    char place[300];
    snprintf(place, sizeof(place), "containerd:%.250s", ns);
    one.place = place;
    return client_each_line(argv, visit_task, &one, err);
}

int local_containers(const char *where, local_image_visit visit, void *data, struct ocv_error *err)
{
    const char *const ps[] = {where, "ps", "-q", "--no-trunc", NULL};
    struct engine_containers w = {.place = where, .visit = visit, .data = data};
    if (strcmp(where, "containerd") == 0)
        return client_each_namespace(namespace_containers, &w, err);
    if (strcmp(where, "docker") == 0 || strcmp(where, "podman") == 0)
        return client_each_line(ps, inspect_container, &w, err);
    return OCV_OK;
}
