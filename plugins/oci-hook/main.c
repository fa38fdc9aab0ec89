/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ocivariant-oci-hook: an OCI runtime hook (runtime-spec, "createRuntime" or podman's "precreate").
 * The runtime gives the container's state as JSON on standard input; an exit status other than 0
 * refuses the container, and what stands on standard error is the reason.
 *
 * What image it is: annotations of the container (dev.ocivariant.properties and .label, where
 * somebody copied them), else the manifest digest that the engine noted, judged by the node's
 * record. */
#include "storage.h"
#include "verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_MAX (4u * 1024 * 1024)
#define REFUSED 1
#define USAGE 2

/* Where engines write the name and the digest of a container's image. */
static const char *const name_keys[] = {
    "org.opencontainers.image.ref.name", "io.kubernetes.cri-o.ImageName",
    "io.kubernetes.cri.image-name", "io.podman.annotations.image-name"};
static const char *const digest_keys[] = {"dev.ocivariant.digest", "io.kubernetes.cri-o.ImageRef",
                                          "org.opencontainers.image.base.digest"};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && *text ? text : NULL;
}

static const char *first_of(const json_t *annotations, const char *const *keys, size_t n)
{
    const char *found = NULL;
    for (size_t i = 0; i < n && !found; i++)
        found = text_of(annotations, keys[i]);
    return found;
}

static json_t *read_json(int fd)
{
    ocv_auto_buffer text;
    char chunk[16384];
    ssize_t got;
    ocv_buffer_init(&text, STATE_MAX);
    while ((got = read(fd, chunk, sizeof(chunk))) > 0)
        if (ocv_buffer_append(&text, chunk, (size_t)got, NULL) < 0)
            return NULL;
    return got < 0 ? NULL
                   : json_loadb(text.data ? text.data : "", text.len, JSON_DISABLE_EOF_CHECK, NULL);
}

/* podman keeps annotations in the bundle's config.json, of which the state has some only. */
static json_t *bundle_annotations(const json_t *state)
{
    char path[4096];
    const char *bundle = text_of(state, "bundle");
    if (!bundle || snprintf(path, sizeof(path), "%s/config.json", bundle) >= (int)sizeof(path))
        return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    json_t *config = read_json(fd);
    close(fd);
    json_t *annotations = json_incref(json_object_get(config, "annotations"));
    json_decref(config);
    return annotations;
}

/* precreate hooks get the whole configuration, others the state; both have "annotations". */
static json_t *annotations_of(const json_t *state)
{
    json_t *own = json_object_get(state, "annotations"), *all = json_object();
    json_t *bundle = bundle_annotations(state);
    if (all && bundle)
        json_object_update(all, bundle);
    if (all && json_is_object(own))
        json_object_update(all, own);
    json_decref(bundle);
    return all;
}

/* "REPO@DIGEST" or "DIGEST"; an image id alone is no manifest's digest. */
static const char *digest_in(const char *text)
{
    const char *at = text ? strrchr(text, '@') : NULL;
    const char *digest = at ? at + 1 : text;
    return digest && ocv_digest_wellformed(digest) ? digest : NULL;
}

static int judge(const json_t *state, const json_t *annotations,
                 const struct verdict_policy *policy)
{
    struct verdict_answer answer;
    struct storage_image image;
    struct verdict_question question = {
        .reference = first_of(annotations, name_keys, sizeof(name_keys) / sizeof(*name_keys)),
        .digest = digest_in(
            first_of(annotations, digest_keys, sizeof(digest_keys) / sizeof(*digest_keys))),
        .label = text_of(annotations, "dev.ocivariant.label"),
        .properties = text_of(annotations, "dev.ocivariant.properties"),
    };
    const char *bundle = text_of(state, "bundle");
    if (!question.digest && !question.properties && bundle && storage_find(bundle, &image)) {
        question.digest = image.digest;
        if (!question.reference && image.name[0])
            question.reference = image.name;
    }
    if (!question.digest && !question.properties)
        return 0; /* nothing says what image it is: not ours to judge */
    verdict_ask(policy, &question, &answer);
    if (answer.action == VERDICT_ALLOW)
        return 0;
    fprintf(stderr, "ocivariant: %s%s\n", answer.action == VERDICT_WARN ? "warning: " : "",
            answer.reason);
    return answer.action == VERDICT_REFUSE ? REFUSED : 0;
}

int main(int argc, char **argv)
{
    struct verdict_policy policy;
    struct ocv_error err = {0};
    const char *config = getenv("OCIVARIANT_CONFIG");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--version") == 0) {
            printf("ocivariant-oci-hook %s\n", ocv_version());
            return 0;
        }
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) {
            config = argv[++i];
            continue;
        }
        fputs("usage: ocivariant-oci-hook [--config FILE] < STATE\n", stderr);
        return strcmp(argv[i], "--help") == 0 ? 0 : USAGE;
    }
    json_t *state = read_json(STDIN_FILENO);
    if (!json_is_object(state)) {
        fputs("ocivariant: the container's state on standard input is not JSON\n", stderr);
        json_decref(state);
        return REFUSED;
    }
    if (verdict_policy_read(config, &policy, &err) < 0) {
        fprintf(stderr, "ocivariant: %s\n", err.message);
        json_decref(state);
        return REFUSED;
    }
    json_t *annotations = annotations_of(state);
    int code = judge(state, annotations, &policy);
    json_decref(annotations);
    json_decref(state);
    verdict_policy_free(&policy);
    return code;
}
