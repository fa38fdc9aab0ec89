/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cri-images: what the images of a Kubernetes node are, and a pull, as kubelet asks for them.
 *
 *   cri-images SOCKET            every image, as `docker image inspect` prints it, with "Unread"
 * where the runtime does not tell of one, which is why cri-images SOCKET pull REF   prints nothing
 *
 * Run by `variantctl verify` (--from cri). It is a program of its own so that no other one loads
 * what speaks HTTP/2. */
#include "gen/images.pb-c.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/grpc/grpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVICE "/runtime.v1.ImageService/"
#define ASK_MS 30000u
#define PULL_MS (60u * 60 * 1000) /* the runtime itself ends a pull that stands still */
#define REQUEST_MAX 4096u
#define CONFIG_VALUES_MAX 2000u /* of one image; those of NVIDIA have some 60 */

static json_t *texts_json(char *const *texts, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++)
        json_array_append_new(list, json_string(texts[i])); /* no UTF-8: left out */
    return list;
}

/* ListImagesResponse -> [{"Id", "RepoTags", "RepoDigests"}]. */
static int list_json(const uint8_t *bytes, size_t len, json_t **out, struct ocv_error *err)
{
    Images__ListResponse *answer = images__list_response__unpack(NULL, len, bytes);
    if (!answer)
        return ocv_error_set(err, OCV_ERR_DATA, "malformed answer to ListImages");
    *out = json_array();
    bool whole = *out != NULL;
    for (size_t i = 0; whole && i < answer->n_images; i++) {
        const Images__Image *image = answer->images[i];
        json_t *entry = json_pack("{s:s, s:o, s:o}", "Id", image->id, "RepoTags",
                                  texts_json(image->repo_tags, image->n_repo_tags), "RepoDigests",
                                  texts_json(image->repo_digests, image->n_repo_digests));
        if (entry) /* an id that is not UTF-8 loses its image */
            whole = json_array_append_new(*out, entry) == 0;
    }
    images__list_response__free_unpacked(answer, NULL);
    return whole ? OCV_OK : ocv_error_nomem(err);
}

/* What of an image's configuration is passed on: the environment, and labels. An image with more is
 * nobody's, and is not read. */
static json_t *make_config(const json_t *config)
{
    json_t *environment = json_object_get(config, "Env"),
           *labels = json_object_get(config, "Labels");
    size_t n = json_array_size(environment) + json_object_size(labels);
    return n <= CONFIG_VALUES_MAX ? json_pack("{s:O*, s:O*}", "Env", environment, "Labels", labels)
                                  : NULL;
}

/* Add "Config" of a verbose ImageStatusResponse ({"Env", "Labels"}), which containerd and CRI-O
 * have as "imageSpec" of their info. 1; 0: the image was removed meanwhile. */
static int add_config(json_t *image, const uint8_t *bytes, size_t len, struct ocv_error *err)
{
    Images__StatusResponse *answer = images__status_response__unpack(NULL, len, bytes);
    if (!answer)
        return ocv_error_set(err, OCV_ERR_DATA, "malformed answer to ImageStatus");
    int there = answer->image != NULL;
    for (size_t i = 0; i < answer->n_info; i++) {
        const char *text = answer->info[i]->value;
        ocv_auto_json *info = ocv_json_load_any(text, strlen(text), OCV_JSON_VALUES_MAX, 0, NULL);
        json_t *config = json_object_get(json_object_get(info, "imageSpec"), "config");
        json_t *made = json_is_object(config) ? make_config(config) : NULL;
        if (made)
            json_object_set_new(image, "Config", made);
        else if (json_is_object(config))
            there = ocv_error_set(err, OCV_ERR_DATA, "more than %u variables and labels",
                                  CONFIG_VALUES_MAX);
    }
    images__status_response__free_unpacked(answer, NULL);
    return there;
}

static int keep_message(void *data, const uint8_t *bytes, size_t len)
{
    return ocv_buffer_append(data, bytes, len, NULL) < 0;
}

static int call(struct grpc_client *client, const char *method, const void *request, size_t len,
                unsigned timeout_ms, struct ocv_buffer *answer, struct ocv_error *err)
{
    struct grpc_result result = {0};
    char path[sizeof(SERVICE) + 32];
    snprintf(path, sizeof(path), SERVICE "%s", method);
    ocv_buffer_init(answer, GRPC_MESSAGE_MAX);
    OCV_TRY(grpc_client_call(client, path, NULL, 0, request, len, timeout_ms, keep_message, answer,
                             &result, err));
    if (result.code != GRPC_OK)
        return ocv_error_set(err, OCV_ERR_ENGINE, "%s: %s", method, result.message);
    return OCV_OK;
}

static int call_about(struct grpc_client *client, const char *method, const char *image,
                      bool verbose, unsigned timeout_ms, struct ocv_buffer *answer,
                      struct ocv_error *err)
{
    Images__Spec spec = IMAGES__SPEC__INIT;
    Images__StatusRequest request = IMAGES__STATUS_REQUEST__INIT;
    uint8_t bytes[REQUEST_MAX];
    ocv_buffer_init(answer, GRPC_MESSAGE_MAX);
    spec.image = (char *)image;
    request.image = &spec;
    request.verbose = verbose;
    if (images__status_request__get_packed_size(&request) > sizeof(bytes))
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: the name of the image is too long", method);
    size_t len = images__status_request__pack(&request, bytes);
    return call(client, method, bytes, len, timeout_ms, answer, err);
}

static int print_images(struct grpc_client *client, struct ocv_error *err)
{
    ocv_auto_buffer listed;
    ocv_auto_json *images = NULL;
    json_t *image;
    size_t i;
    OCV_TRY(call(client, "ListImages", "", 0, ASK_MS, &listed, err));
    OCV_TRY(list_json((const uint8_t *)listed.data, listed.len, &images, err));
    for (i = json_array_size(images); i-- > 0;) {
        ocv_auto_buffer status;
        image = json_array_get(images, i);
        struct ocv_error why = {0};
        int there = call_about(client, "ImageStatus", ocv_json_text(image, "Id"), true, ASK_MS,
                               &status, &why);
        if (there == OCV_OK)
            there = add_config(image, (const uint8_t *)status.data, status.len, &why);
        if (!there)
            json_array_remove(images, i);
        else if (there < 0 && json_object_set_new(image, "Unread", json_string(why.message)) < 0)
            return ocv_error_nomem(err);
    }
    if (json_dumpf(images, stdout, 0) < 0 || fflush(stdout) == EOF)
        return ocv_error_set(err, OCV_ERR_IO, "cannot write the list");
    return OCV_OK;
}

int main(int argc, char **argv)
{
    bool pull = argc == 4 && strcmp(argv[2], "pull") == 0;
    struct grpc_client *client;
    struct ocv_error err = {0};
    if (!pull && (argc != 2 || argv[1][0] == '-')) {
        fputs("Usage: cri-images SOCKET [pull REFERENCE]\n", stderr);
        return 2;
    }
    int status = grpc_client_new(argv[1], &client, &err);
    if (status == OCV_OK) {
        ocv_auto_buffer answer;
        ocv_buffer_init(&answer, GRPC_MESSAGE_MAX);
        status = pull ? call_about(client, "PullImage", argv[3], false, PULL_MS, &answer, &err)
                      : print_images(client, &err);
        grpc_client_free(client);
    }
    if (status < 0)
        fprintf(stderr, "cri-images: %s\n", err.message);
    return status < 0;
}
