/* SPDX-License-Identifier: GPL-3.0-or-later */
/* criengine SOCKET DIR: a container engine for tests of the CRI proxy, as far as images go. It has
 * what was pulled by digest, whose user stands in DIR/users ("DIGEST USER" a line), and the
 * sandboxes of DIR/sandboxes ("UID NAME SEEN" a line). Each call for an image is a line "METHOD
 * NAME" on standard output; the image's id is the digest that it was pulled by. */
#include "lib/internal/grpc/grpc.h"
#include "test/tools/grpc_tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 512
#define IMAGES_MAX 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char images[IMAGES_MAX][TEXT]; /* digests that are there */

/* The bytes of the last field of that number. */
static bool inside(const uint8_t *bytes, size_t len, uint32_t number, struct grpc_field *out)
{
    struct grpc_field field;
    size_t pos = 0;
    bool found = false;
    while (grpc_field_next(bytes, len, &pos, &field) == 1)
        if (field.number == number && field.type == GRPC_BYTES) {
            *out = field;
            found = true;
        }
    return found;
}

static void image_of(const struct grpc_call *call, char out[TEXT])
{
    struct grpc_field spec, name;
    size_t len = 0;
    const uint8_t *request = grpc_call_request(call, &len);
    out[0] = '\0';
    if (inside(request, len, 1, &spec) && inside(request + spec.at, spec.len, 1, &name))
        snprintf(out, TEXT, "%.*s", (int)name.len, request + spec.at + name.at);
}

/* "repo@sha256:..." and "sha256:..." are digests; anything else is nothing. */
static const char *digest_of(const char *name)
{
    const char *at = strchr(name, '@');
    return at ? at + 1 : strncmp(name, "sha256:", 7) == 0 ? name : NULL;
}

static char *find_image(const char *digest)
{
    for (size_t i = 0; i < IMAGES_MAX; i++)
        if (digest && strcmp(images[i], digest) == 0)
            return images[i];
    return NULL;
}

static void user_of(const char *digest, char out[TEXT])
{
    char path[TEXT], known[TEXT], user[TEXT];
    snprintf(path, sizeof(path), "%s/users", dir);
    FILE *file = fopen(path, "re");
    out[0] = '\0';
    while (file && fscanf(file, "%511s %511s", known, user) == 2)
        if (strcmp(known, digest) == 0)
            snprintf(out, TEXT, "%s", user);
    if (file)
        fclose(file);
}

static void answer_status(const char *digest, struct ocv_buffer *out)
{
    char user[TEXT];
    ocv_auto_buffer image;
    ocv_buffer_init(&image, 4096);
    if (!find_image(digest))
        return;
    user_of(digest, user);
    put_text(&image, 1, digest);
    put_text(&image, 6, user);
    put(out, 1, image.data, image.len);
}

static void answer_sandboxes(struct ocv_buffer *out)
{
    char path[TEXT], uid[TEXT], name[TEXT], seen[TEXT];
    snprintf(path, sizeof(path), "%s/sandboxes", dir);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%511s %511s %511s", uid, name, seen) == 3) {
        ocv_auto_buffer metadata;
        ocv_auto_buffer pair;
        ocv_auto_buffer sandbox;
        ocv_buffer_init(&metadata, 4096);
        ocv_buffer_init(&pair, 4096);
        ocv_buffer_init(&sandbox, 8192);
        put_text(&metadata, 1, name);
        put_text(&metadata, 2, uid);
        put_text(&metadata, 3, "default");
        put_text(&pair, 1, "kubernetes.io/config.seen");
        put_text(&pair, 2, seen);
        put(&sandbox, 2, metadata.data, metadata.len);
        put(&sandbox, 6, pair.data, pair.len);
        put(out, 1, sandbox.data, sandbox.len);
    }
    if (file)
        fclose(file);
}

static enum grpc_code answer_image(const char *method, const char *name, struct ocv_buffer *out)
{
    const char *digest = digest_of(name);
    char *there = find_image(digest);
    if (strcmp(method, "ImageStatus") == 0) {
        answer_status(digest ? digest : "", out);
    } else if (strcmp(method, "RemoveImage") == 0) {
        if (there)
            there[0] = '\0';
    } else if (strcmp(method, "PullImage") == 0) {
        if (!digest)
            return GRPC_NOT_FOUND;
        if (!there && (there = find_image("")))
            snprintf(there, TEXT, "%s", digest);
        put_text(out, 1, digest);
    } else {
        return GRPC_UNIMPLEMENTED;
    }
    return GRPC_OK;
}

static void handle(void *data, struct grpc_call *call)
{
    char name[TEXT];
    const char *method = strrchr(grpc_call_path(call), '/') + 1;
    enum grpc_code code = GRPC_OK;
    ocv_auto_buffer out;
    (void)data;
    ocv_buffer_init(&out, 4u * 1024 * 1024);
    image_of(call, name);
    pthread_mutex_lock(&lock);
    if (strcmp(method, "ListPodSandbox") == 0)
        answer_sandboxes(&out);
    else
        code = answer_image(method, name, &out);
    printf("%s %s\n", method, name);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    if (code == GRPC_OK && grpc_call_send(call, out.data ? out.data : "", out.len) < 0)
        code = GRPC_CANCELLED;
    grpc_call_finish(call, code, code == GRPC_OK ? NULL : "not here");
}

int main(int argc, char **argv)
{
    const struct grpc_server_options options = {.handle = handle, .workers = 64};
    return serve_socket(argc, argv, "criengine", &options);
}
