/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --to podman, by its command line: that knows the user's storage, rootless or not, and a remote
 * service in CONTAINER_HOST. It pulls by digest, then tags. It gets a terminal, because it reports
 * the progress of layers only to one. Its API reports once a second, and has no TLS option before
 * podman 4.4. */
#include "cmd/vpull/engines/engine.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/encodings.h"
#include "lib/base/format/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_available(struct cli *cli, const struct pull_options *options)
{
    (void)cli;
    (void)options;
    return subprocess_available("podman");
}

/* Credentials go into a private file, since every user can read argv. */
static int write_auth(struct pull *pull, char path[64], struct ocv_error *err)
{
    ocv_auto_buffer json;
    ocv_buffer_init(&json, 64u * 1024);
    const char *host = pull->image.reference->host;
    path[0] = '\0';
    OCV_TRY(ocv_registry_credentials(pull->cli->registry, host, &json, err));
    if (json.len == 0)
        return OCV_OK;
    ocv_auto_json *found = ocv_json_load_any(json.data, json.len, OCV_JSON_VALUES_MAX, 0, NULL);
    explicit_bzero(json.data, json.len);
    const char *user = ocv_json_text(found, "username");
    const char *password = ocv_json_text(found, "password");
    const char *token = ocv_json_text(found, "identitytoken");
    ocv_auto_free char *pair = NULL, *encoded = NULL;
    if (user && asprintf(&pair, "%s:%s", user, password ? password : "") >= 0)
        encoded = ocv_base64_encode(pair, strlen(pair));
    if (pair)
        explicit_bzero(pair, strlen(pair));
    json_t *entry = json_pack("{s:s?}", "auth", encoded);
    if (token && *token)
        json_object_set_new(entry, "identitytoken", json_string(token));
    ocv_auto_json *root = json_pack("{s:{s:o}}", "auths", host, entry);
    snprintf(path, 64, "/tmp/vpull-auth.XXXXXX");
    ocv_auto_fd int fd = mkostemp(path, O_CLOEXEC);
    int status = OCV_OK;
    if (fd < 0 || json_dumpfd(root, fd, 0) != 0)
        status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    const json_t *written = root ? entry : NULL;
    const char *const secrets[] = {encoded, password, token, ocv_json_text(written, "auth"),
                                   ocv_json_text(written, "identitytoken")};
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
        if (secrets[i])
            explicit_bzero((char *)(uintptr_t)secrets[i], strlen(secrets[i]));
    if (fd < 0)
        path[0] = '\0';
    return status;
}

static void show_line(void *data, const char *text)
{
    struct pull *pull = data;
    if (pull->cli->verbose)
        progress_message(pull->progress, "%s", text);
}

/* Called when a bar moves or a line is printed. Only layers of this image have a row. */
static void show_progress(void *data, const char *text)
{
    struct pull *pull = data;
    struct podman_line line;
    size_t row;
    if (!podman_line_parse(text, &line))
        show_line(data, text);
    else if ((row = progress_find(pull->progress, line.id)) != SIZE_MAX)
        progress_set(pull->progress, row, line.state, line.done, -1);
}

static int pull_by_digest(struct pull *pull, const char *reference, struct ocv_error *err)
{
    char auth[64];
    const char *argv[8] = {"podman", "pull"};
    size_t n = 2;
    int status = write_auth(pull, auth, err);
    if (auth[0]) {
        argv[n++] = "--authfile";
        argv[n++] = auth;
    }
    /* vpull treats loopback and --insecure hosts as insecure; podman must be told. */
    const char *host = pull->image.reference->host;
    bool insecure = ocv_reference_host_is_loopback(host) ||
                    ocv_config_find_registry(pull->cli->config, host).insecure;
    for (size_t i = 0; i < pull->cli->n_insecure; i++)
        insecure = insecure || !strcmp(pull->cli->insecure[i], host);
    if (insecure)
        argv[n++] = "--tls-verify=false";
    argv[n] = reference;
    progress_message(pull->progress, "podman pull %s", reference);
    if (status == OCV_OK) {
        for (size_t i = 0; i < ocv_manifest_layer_count(pull->child.manifest); i++) {
            const struct ocv_descriptor *layer = ocv_manifest_layer(pull->child.manifest, i);
            progress_add(pull->progress, layer->digest, layer->size);
        }
        status = subprocess_run(argv, -1, true, show_progress, pull, pull->cli, err);
    }
    if (auth[0])
        unlink(auth);
    if (status < 0)
        return status;
    /* a remote service does not report its layers */
    progress_settle(pull->progress, LAYER_DONE);
    return OCV_OK;
}

static int pull_podman(struct pull *pull, const char *argument, char *where, size_t size,
                       struct ocv_error *err)
{
    const char *load[] = {"podman", "load", NULL};
    (void)argument;
    snprintf(where, size, "into podman");
    if (!subprocess_available("podman"))
        return ocv_error_set(err, OCV_ERR_ENGINE, "podman is not installed");
    if (!pull->image.reference)
        return engine_feed(pull, "podman", load, show_line, err);
    ocv_auto_free char *reference = pull_digest_reference(pull);
    if (!reference)
        return ocv_error_nomem(err);
    const char *present[] = {"podman", "image", "exists", reference, NULL};
    const char *tag[] = {"podman", "tag", reference, pull->name, NULL};
    pull->cached = subprocess_run(present, -1, false, show_line, pull, pull->cli, NULL) == OCV_OK;
    if (!pull->cached)
        OCV_TRY(pull_by_digest(pull, reference, err));
    return pull->name ? subprocess_run(tag, -1, false, show_line, pull, pull->cli, err) : OCV_OK;
}

const struct destination destination_podman = {"podman", NULL, is_available, pull_podman};
