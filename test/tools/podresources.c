/* SPDX-License-Identifier: GPL-3.0-or-later */
/* podresources SOCKET DIR: kubelet's PodResources service (v1, Get) for tests. What a pod has
 * stands in DIR/NAMESPACE_NAME, a word and its operands a line:
 *
 *   plugin RESOURCE ID        a device of a device plug-in
 *   claim DRIVER DEVICE CDI   a device of a claim
 *   named NAME                the answer says that it is about that pod
 *   wait MS                   before the answer
 *   bytes TEXT                the answer is TEXT
 *
 * Without a file: not found. Each request is a line "NAMESPACE/NAME" on standard output. */
#include "lib/internal/grpc/grpc.h"
#include "test/tools/grpc_tool.h"

#include <stdlib.h>
#include <string.h>

#define WORD 256

static void put_plugin(struct ocv_buffer *container, const char *resource, const char *id)
{
    ocv_auto_buffer devices;
    ocv_buffer_init(&devices, 4096);
    put_text(&devices, 1, resource);
    put_text(&devices, 2, id);
    put(container, 2, devices.data, devices.len);
}

static void put_claim(struct ocv_buffer *container, const char *driver, const char *device,
                      const char *cdi)
{
    ocv_auto_buffer name;
    ocv_auto_buffer resource;
    ocv_auto_buffer dynamic;
    ocv_buffer_init(&name, 4096);
    ocv_buffer_init(&resource, 4096);
    ocv_buffer_init(&dynamic, 4096);
    put_text(&name, 1, cdi);
    put(&resource, 1, name.data, name.len);
    put_text(&resource, 2, driver);
    put_text(&resource, 3, "pool");
    put_text(&resource, 4, device);
    put_text(&dynamic, 2, "claim");
    put(&dynamic, 4, resource.data, resource.len);
    put(container, 5, dynamic.data, dynamic.len);
}

/* One line of a pod's file. */
static void take_line(const char *line, struct ocv_buffer *container, char name[WORD],
                      char bytes[WORD])
{
    char word[WORD] = "", a[WORD] = "", b[WORD] = "", c[WORD] = "";
    if (sscanf(line, "%255s %255s %255s %255s", word, a, b, c) < 2)
        return;
    if (strcmp(word, "plugin") == 0)
        put_plugin(container, a, b);
    else if (strcmp(word, "claim") == 0)
        put_claim(container, a, b, c);
    else if (strcmp(word, "named") == 0)
        snprintf(name, WORD, "%s", a);
    else if (strcmp(word, "bytes") == 0)
        snprintf(bytes, WORD, "%s", a);
    else if (strcmp(word, "wait") == 0)
        usleep((useconds_t)(1000 * strtoul(a, NULL, 10)));
}

static bool answer_of(char name[WORD], const char *name_space, struct ocv_buffer *out)
{
    char path[1024], line[1024], bytes[WORD] = "";
    ocv_auto_buffer container;
    ocv_auto_buffer pod;
    ocv_buffer_init(&container, 65536);
    ocv_buffer_init(&pod, 65536);
    snprintf(path, sizeof(path), "%s/%s_%s", dir, name_space, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    put_text(&container, 1, "c");
    while (fgets(line, sizeof(line), file))
        take_line(line, &container, name, bytes);
    fclose(file);
    put_text(&pod, 1, name);
    put_text(&pod, 2, name_space);
    put(&pod, 3, container.data, container.len);
    if (!*bytes)
        put(out, 1, pod.data, pod.len);
    else if (ocv_buffer_append(out, bytes, strlen(bytes), NULL) < 0)
        abort();
    return true;
}

static void handle(void *data, struct grpc_call *call)
{
    char names[2][WORD] = {"", ""};
    struct grpc_field field;
    size_t len = 0, pos = 0;
    const uint8_t *request = grpc_call_request(call, &len);
    ocv_auto_buffer out;
    (void)data;
    ocv_buffer_init(&out, 65536);
    while (grpc_field_next(request, len, &pos, &field) == 1)
        if (field.number == 1 || field.number == 2)
            snprintf(names[field.number - 1], WORD, "%.*s", (int)field.len, request + field.at);
    printf("%s/%s\n", names[1], names[0]);
    fflush(stdout);
    if (strcmp(grpc_call_path(call), "/v1.PodResourcesLister/Get") != 0)
        grpc_call_finish(call, GRPC_UNIMPLEMENTED, "no such method");
    else if (!answer_of(names[0], names[1], &out))
        grpc_call_finish(call, GRPC_NOT_FOUND, "pod not found");
    else
        grpc_call_finish(call,
                         grpc_call_send(call, out.data ? out.data : "", out.len) == OCV_OK
                             ? GRPC_OK
                             : GRPC_CANCELLED,
                         NULL);
}

int main(int argc, char **argv)
{
    const struct grpc_server_options options = {.handle = handle, .workers = 64};
    return serve_socket(argc, argv, "podresources", &options);
}
