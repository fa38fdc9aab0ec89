/* SPDX-License-Identifier: GPL-3.0-or-later */
/* deviceplugin DIR RESOURCE ID...: a device plug-in for a real kubelet (v1beta1): these devices,
 * all healthy, and nothing for containers. Registers at DIR/kubelet.sock, and begins anew when
 * kubelet has made another one, and emptied the directory. Prints a line when it has. */
#include "lib/internal/grpc/grpc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define POLL_US 200000

static const char *dir, *resource;
static char **ids, **arguments;
static char name[64];

static void put(struct ocv_buffer *out, uint8_t number, const void *bytes, size_t len)
{
    uint8_t head[GRPC_VARINT_MAX + 1] = {(uint8_t)(number << 3 | GRPC_BYTES)};
    size_t n = 1 + grpc_put_varint(head + 1, len);
    if (ocv_buffer_append(out, head, n, NULL) < 0 || ocv_buffer_append(out, bytes, len, NULL) < 0)
        abort();
}

/* ListAndWatchResponse { repeated Device devices = 1; }, Device { string ID = 1, health = 2; ... }
 */
static void list_devices(struct ocv_buffer *out)
{
    for (char **id = ids; *id; id++) {
        ocv_auto_buffer device;
        ocv_buffer_init(&device, 4096);
        put(&device, 1, *id, strlen(*id));
        put(&device, 2, "Healthy", 7);
        put(out, 1, device.data, device.len);
    }
}

/* AllocateRequest { repeated ContainerAllocateRequest container_requests = 1; }, and as many
 * answers. */
static void allocate(const struct grpc_call *call, struct ocv_buffer *out)
{
    struct grpc_field field;
    size_t len = 0, pos = 0;
    const uint8_t *request = grpc_call_request(call, &len);
    while (grpc_field_next(request, len, &pos, &field) == 1)
        if (field.number == 1)
            put(out, 1, "", 0);
}

static void handle(void *data, struct grpc_call *call)
{
    const char *method = strrchr(grpc_call_path(call), '/');
    bool watch = strcmp(method, "/ListAndWatch") == 0;
    ocv_auto_buffer out;
    (void)data;
    ocv_buffer_init(&out, 65536);
    if (watch)
        list_devices(&out);
    else if (strcmp(method, "/Allocate") == 0)
        allocate(call, &out);
    int status = grpc_call_send(call, out.data ? out.data : "", out.len);
    grpc_call_push(call);
    while (watch && status == OCV_OK && !grpc_call_cancelled(call))
        usleep(POLL_US);
    grpc_call_finish(call, GRPC_OK, NULL);
}

/* RegisterRequest { string version = 1, endpoint = 2, resource_name = 3; ... } */
static bool enrol(const char *socket_path)
{
    struct grpc_client *client = NULL;
    struct grpc_result result = {.code = GRPC_UNKNOWN};
    ocv_auto_buffer request;
    ocv_buffer_init(&request, 4096);
    put(&request, 1, "v1beta1", 7);
    put(&request, 2, name, strlen(name));
    put(&request, 3, resource, strlen(resource));
    bool done = grpc_client_new(socket_path, &client, NULL) == OCV_OK &&
                grpc_client_call(client, "/v1beta1.Registration/Register", NULL, 0, request.data,
                                 request.len, 5000, NULL, NULL, &result, NULL) == OCV_OK &&
                result.code == GRPC_OK;
    grpc_client_free(client);
    return done;
}

static void *stay_registered(void *data)
{
    char path[256];
    struct stat st, last = {0};
    (void)data;
    snprintf(path, sizeof(path), "%s/kubelet.sock", dir);
    for (;; usleep(POLL_US)) {
        bool there = stat(path, &st) == 0;
        bool same = st.st_ino == last.st_ino && st.st_ctim.tv_sec == last.st_ctim.tv_sec &&
                    st.st_ctim.tv_nsec == last.st_ctim.tv_nsec; /* inode numbers are reused */
        if (there && last.st_ino && !same)                      /* it has also removed our socket */
            execv("/proc/self/exe", arguments);
        if (there && !same && enrol(path)) {
            last = st;
            printf("registered %s\n", resource);
            fflush(stdout);
        }
    }
    return NULL;
}

static int listen_at(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", dir, name) >=
        (int)sizeof(address.sun_path))
        return -1;
    unlink(address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 16) < 0)
        return -1;
    return fd;
}

int main(int argc, char **argv)
{
    const struct grpc_server_options options = {.handle = handle, .workers = 16};
    struct grpc_server *server = NULL;
    struct ocv_error err = {0};
    pthread_t thread;
    if (argc < 4) {
        fprintf(stderr, "usage: deviceplugin DIR RESOURCE ID...\n");
        return 2;
    }
    arguments = argv;
    dir = argv[1];
    resource = argv[2];
    ids = argv + 3;
    snprintf(name, sizeof(name), "test-%d.sock", (int)getpid());
    int fd = listen_at();
    if (fd < 0 || grpc_server_new(&options, fd, &server, &err) < 0 ||
        pthread_create(&thread, NULL, stay_registered, NULL) != 0) {
        perror(dir);
        return 1;
    }
    return grpc_server_run(server, &err) < 0;
}
