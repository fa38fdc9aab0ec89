/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the files that the settings name at the start. A registry's certificates are otherwise
 * read when it is first asked, and a pull is too late to find a misspelt path. */
#include "cmd/variantd/common/settings_make.h"
#include "lib/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEM_MAX (8u * 1024 * 1024) /* a system's bundle has 300 KiB */

static int check_credentials(const struct settings *s, struct ocv_error *err)
{
    struct stat st;
    if (!s->authfile)
        return OCV_OK;
    if (stat(s->authfile, &st) < 0 || access(s->authfile, R_OK) < 0)
        return ocv_error_set(err, OCV_ERR_CONFIG, "credentials: %s: %s", s->authfile,
                             strerror(errno));
    if ((st.st_mode & 037) != 0)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "credentials: others may read %s; make it mode 0600 or 0640",
                             s->authfile);
    return OCV_OK;
}

/* Only a check: the files are read again when they are used. */
static int check_providers(const struct settings *s, struct ocv_error *err)
{
    ocv_auto(ocv_credential_providers) providers = NULL;
    const struct ocv_credential_providers_options options = {.config = s->provider_config,
                                                             .bin_dir = s->provider_bin_dir};
    int status =
        s->provider_config ? ocv_credential_providers_new(&options, &providers, err) : OCV_OK;
    if (status == OCV_ERR_IO || status == OCV_ERR_NOT_FOUND) {
        ocv_error_prefix(err, "image_credential_provider_config");
        status = OCV_ERR_CONFIG;
        if (err)
            err->status = OCV_ERR_CONFIG;
    }
    return status;
}

static int check_pem(const char *path, const char *word, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, PEM_MAX);
    OCV_TRY(ocv_file_read(path, OCV_FILE_ANY, &text, err));
    bool found = text.len && memmem(text.data, text.len, word, strlen(word));
    if (text.data)
        explicit_bzero(text.data, text.len);
    return found ? OCV_OK
                 : ocv_error_set(err, OCV_ERR_CONFIG, "%s has no PEM text with %s", path, word);
}

static int check_registry(const struct settings *s, const struct ocv_registry_config *r,
                          struct ocv_error *err)
{
    const struct {
        const char *key, *path, *word;
    } files[] = {{"ca", r->ca, "CERTIFICATE-----"},
                 {"cert", r->cert, "CERTIFICATE-----"},
                 {"key", r->key, "PRIVATE KEY-----"}};
    for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++) {
        if (!files[k].path || check_pem(files[k].path, files[k].word, err) == OCV_OK)
            continue;
        const char *origin = ocv_config_registry_origin(s->config, r->host, files[k].key);
        ocv_error_prefix(err, "%s: registries: %s: %s", origin ? origin : "configuration", r->host,
                         files[k].key);
        if (err)
            err->status = OCV_ERR_CONFIG;
        return OCV_ERR_CONFIG;
    }
    return OCV_OK;
}

int settings_check_files(const struct settings *s, struct ocv_error *err)
{
    OCV_TRY(check_credentials(s, err));
    OCV_TRY(check_providers(s, err));
    const struct ocv_registry_config *list;
    size_t n = ocv_config_registries(s->config, &list);
    for (size_t i = 0; i < n; i++)
        OCV_TRY(check_registry(s, &list[i], err));
    return OCV_OK;
}

/* Missing directories are made when the first choice is recorded, so the nearest existing one is
 * checked. */
int settings_records_fault(const struct settings *s)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%s", s->records);
    while (stat(path, &st) < 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || !slash)
            return errno;
        if (slash == path)
            return access("/", W_OK | X_OK) < 0 ? errno : 0;
        *slash = '\0';
    }
    if (!S_ISDIR(st.st_mode))
        return ENOTDIR;
    return access(path, W_OK | X_OK) < 0 ? errno : 0;
}
