/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Certificates of a host: --cacert and --cert, the configuration's ca, cert and key, and certs.d
 * directories as docker and containers read them: HOST[:PORT]/ with *.crt (authorities), NAME.cert
 * and NAME.key (client certificate). The first client certificate found is used. Additional
 * authorities never replace the system's. */
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/core/core_internal.h"
#include "lib/registry/registry_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CERTS_D_FILES_MAX 64 /* names looked at in one certs.d directory */

static int append_file(struct ocv_buffer *out, const char *path, struct ocv_error *err)
{
    int status = ocv_file_read(path, OCV_FILE_ANY, out, err);
    if (status == OCV_OK) /* a file without a final newline must not swallow the next one */
        status = ocv_buffer_append(out, "\n", 1, err);
    if (status != OCV_ERR_IO && status != OCV_ERR_NOT_FOUND)
        return status;
    if (err)
        err->status = OCV_ERR_CONFIG;
    return OCV_ERR_CONFIG;
}

static int read_certs_d(struct ocv_registry_host *host, const char *root, bool anonymous,
                        struct ocv_error *err)
{
    char dir[1024], path[1400];
    if (strchr(host->name, '/') || host->name[0] == '.')
        return OCV_OK; /* names from the network never become paths unchecked */
    if (snprintf(dir, sizeof(dir), "%s/%s", root, host->name) >= (int)sizeof(dir))
        return OCV_OK;
    struct dirent **names = NULL;
    int n = scandir(dir, &names, ocv_directory_visible, ocv_directory_order);
    int status = OCV_OK;
    for (int i = 0; i < n; i++) {
        if (status == OCV_OK && i < CERTS_D_FILES_MAX) {
            const char *name = names[i]->d_name;
            snprintf(path, sizeof(path), "%s/%s", dir, name);
            if (ocv_text_ends(name, ".crt") && !host->insecure) /* else nothing is verified */
                status = append_file(&host->ca, path, err);
            else if (ocv_text_ends(name, ".cert") && !anonymous && !host->cert) {
                int stem = (int)(strlen(name) - strlen(".cert"));
                host->cert = strdup(path);
                if (asprintf(&host->key, "%s/%.*s.key", dir, stem, name) < 0)
                    host->key = NULL;
                if (!host->cert || !host->key)
                    status = ocv_error_nomem(err);
                else if (access(host->key, R_OK))
                    status = ocv_error_set(err, OCV_ERR_CONFIG, "%s: no usable key %s: %s",
                                           host->cert, host->key, strerror(errno));
            }
        }
        free(names[i]);
    }
    free(names);
    return status;
}

static int load_files(struct ocv_registry *registry, struct ocv_registry_host *host,
                      struct ocv_error *err)
{
    struct ocv_registry_config config =
        ocv_registry_find(registry->registries, registry->n_registries, host->name);
    if (registry->given_only)
        config.cert = NULL;
    const char *cert = config.cert ? config.cert : registry->cert_file;
    const char *key = config.cert ? config.key : registry->key_file;
    if (registry->anonymous)
        cert = NULL;
    if (cert) {
        host->cert = strdup(cert);
        host->key = strdup(key ? key : cert); /* one PEM file may hold both */
        if (!host->cert || !host->key)
            return ocv_error_nomem(err);
    }
    if (registry->ca_file)
        OCV_TRY(append_file(&host->ca, registry->ca_file, err));
    int status = config.ca && !host->insecure ? append_file(&host->ca, config.ca, err) : OCV_OK;
    if (status == OCV_ERR_CONFIG) {
        ocv_error_prefix(err, "`ca` of registries: %s in the configuration", config.host);
        /* and every user who pulls has to read it */
        if (err && strstr(err->message, strerror(EACCES)))
            ocv_error_hint(err, "a CA certificate is not secret: chmod 644 %s", config.ca);
    }
    if (status < 0)
        return status;
    bool anonymous = registry->anonymous || registry->given_only;
    if (registry->certs_dir) {
        OCV_TRY(read_certs_d(host, registry->certs_dir, anonymous, err));
    } else {
        const char *home = getenv("HOME");
        char own[1024];
        if (home && *home == '/' &&
            snprintf(own, sizeof(own), "%s/.config/containers/certs.d", home) < (int)sizeof(own))
            OCV_TRY(read_certs_d(host, own, anonymous, err));
        OCV_TRY(read_certs_d(host, "/etc/containers/certs.d", anonymous, err));
        OCV_TRY(read_certs_d(host, "/etc/docker/certs.d", anonymous, err));
    }
    const char *bundle = getenv("SSL_CERT_FILE");
    if (host->ca.len || bundle || registry->ca_store) {
        /* the blob given to libcurl replaces its bundle, so the bundle's own bytes go after ours */
        if (!bundle || !*bundle)
            bundle = curl_version_info(CURLVERSION_NOW)->cainfo;
        if (bundle && !access(bundle, R_OK))
            OCV_TRY(append_file(&host->ca, bundle, err));
    }
    if (registry->ca_store && !host->insecure &&
        (host->store = ocv_ca_store_get(registry->ca_store, &host->ca)))
        ocv_buffer_free(&host->ca);
    return OCV_OK;
}

int ocv_tls_load(struct ocv_registry *registry, struct ocv_registry_host *host,
                 struct ocv_error *err)
{
    if (host->tls_loaded)
        return OCV_OK;
    int status = load_files(registry, host, err);
    host->tls_loaded = status == OCV_OK;
    if (status < 0)
        ocv_tls_unload(host);
    return status;
}

void ocv_tls_unload(struct ocv_registry_host *host)
{
    ocv_buffer_free(&host->ca);
    X509_STORE_free(host->store);
    host->store = NULL;
    free(host->cert);
    free(host->key);
    host->cert = host->key = NULL;
    host->tls_loaded = false;
}
