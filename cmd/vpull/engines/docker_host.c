/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the Docker Engine by the rules of docker's own client: --context, --host, DOCKER_HOST,
 * DOCKER_CONTEXT, the configuration's current context, the default socket. Contexts are read from
 * docker's files, so no docker client need be installed. */
#include "cmd/vpull/engines/engine.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_HOST "unix://"             /* the default socket */
#define DOCKER_FILE_MAX (4u * 1024 * 1024) /* bytes of config.json or a context's meta.json */

/* One of docker's JSON files; NULL if it is missing or not JSON. */
static json_t *load_json(const char *path)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, DOCKER_FILE_MAX);
    if (cli_read_file(path, &text, NULL) < 0 || !text.data)
        return NULL;
    return ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, 0, NULL);
}

static void use_tls(struct endpoint *e, const char *dir)
{
    static const char *const names[] = {"ca.pem", "cert.pem", "key.pem"};
    const char **files[] = {&e->ca, &e->cert, &e->key};
    for (size_t i = 0; i < 3; i++) {
        int n = snprintf(e->tls_dir[i], sizeof(e->tls_dir[i]), "%s/%s", dir, names[i]);
        bool fits = n > 0 && (size_t)n < sizeof(e->tls_dir[i]);
        *files[i] = fits && access(e->tls_dir[i], R_OK) == 0 ? e->tls_dir[i] : NULL;
    }
}

static int from_context(const char *dir, const char *name, struct endpoint *out,
                        struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX], path[DOCKER_PATH_MAX], tls[DOCKER_PATH_MAX];
    OCV_TRY(ocv_digest_bytes(name, strlen(name), digest, err));
    const char *id = strchr(digest, ':') + 1;
    snprintf(path, sizeof(path), "%s/contexts/meta/%s/meta.json", dir, id);
    ocv_auto_json *meta = load_json(path);
    const char *host =
        ocv_json_text(json_object_get(json_object_get(meta, "Endpoints"), "docker"), "Host");
    if (!host || !*host) {
        ocv_error_set(err, OCV_ERR_CONFIG, "docker context '%.100s': not found", name);
        ocv_error_hint(err, "docker context ls");
        return OCV_ERR_CONFIG;
    }
    snprintf(tls, sizeof(tls), "%s/contexts/tls/%s/docker", dir, id);
    bool has_tls = access(tls, X_OK) == 0;
    int status = endpoint_parse(host, has_tls, out, err);
    if (status == OCV_OK && has_tls)
        use_tls(out, tls);
    return status < 0 ? ocv_error_prefix(err, "docker context '%.100s'", name) : OCV_OK;
}

int docker_endpoint(const struct plugin_globals *globals, struct endpoint *out,
                    struct ocv_error *err)
{
    char dir[DOCKER_PATH_MAX / 2], name[256] = "";
    if (globals->context && globals->host)
        return ocv_error_set(err, OCV_ERR_INVALID, "--host and --context exclude each other");
    const char *given = globals->config ? globals->config : getenv("DOCKER_CONFIG");
    const char *home = getenv("HOME");
    if (given && *given)
        snprintf(dir, sizeof(dir), "%s", given);
    else
        snprintf(dir, sizeof(dir), "%s/.docker", home ? home : "");

    /* the current context; empty: none */
    const char *host = getenv("DOCKER_HOST"), *variable = getenv("DOCKER_CONTEXT");
    if (globals->context) {
        snprintf(name, sizeof(name), "%s", globals->context);
    } else if (!globals->host && !(host && *host)) {
        char path[DOCKER_PATH_MAX];
        snprintf(path, sizeof(path), "%s/config.json", dir);
        ocv_auto_json *config = variable && *variable ? NULL : load_json(path);
        const char *current = config ? ocv_json_text(config, "currentContext") : variable;
        snprintf(name, sizeof(name), "%s", current ? current : "");
    }
    if (!strcmp(name, "default"))
        name[0] = '\0';
    if (name[0])
        return from_context(dir, name, out, err);
    host = globals->host ? globals->host : host;
    const char *verify = getenv("DOCKER_TLS_VERIFY"), *wanted = getenv("DOCKER_TLS");
    const char *certificates = getenv("DOCKER_CERT_PATH");
    bool tls = globals->tls || globals->tls_verify || globals->tls_ca || globals->tls_cert ||
               globals->tls_key || (verify && *verify) || (wanted && *wanted);
    int status = endpoint_parse(host && *host ? host : DEFAULT_HOST, tls, out, err);
    if (status < 0 || !tls || out->socket[0])
        return status;
    use_tls(out, certificates && *certificates ? certificates : dir);
    out->ca = globals->tls_ca ? globals->tls_ca : out->ca;
    out->cert = globals->tls_cert ? globals->tls_cert : out->cert;
    out->key = globals->tls_key ? globals->tls_key : out->key;
    return OCV_OK;
}
