/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* docker: config.json of $DOCKER_CONFIG, else of ~/.docker. The others (containers-auth.json(5)):
 * $REGISTRY_AUTH_FILE, else auth.json of the runtime directory, then of the configuration. Without
 * $XDG_RUNTIME_DIR skopeo, buildah and root's podman take /run/containers/UID (getPathToAuth of
 * containers/image), and an ordinary user's podman makes itself a runtime directory
 * (GetRootlessRuntimeDir): /run/user/UID, else $TMPDIR/podman-run-UID, else ~/rundir. */
#include "lib/base/cleanup.h"
#include "lib/registry/auth/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AUTH "/containers/auth.json"

static const char *get_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* DIR/NAME/TAIL; nothing without DIR. `own`: the directory's name ends with the user's id. */
static int add_file(struct ocv_auth_files *files, const char *dir, bool own, const char *tail,
                    struct ocv_error *err)
{
    char *path = NULL, id[24] = "";
    if (!dir)
        return OCV_OK;
    if (own)
        snprintf(id, sizeof(id), "%lu", (unsigned long)geteuid());
    if (asprintf(&path, "%s%s%s", dir, id, tail) < 0)
        return ocv_error_nomem(err);
    files->list[files->n++] =
        (struct ocv_auth_file){.path = path, .own = own ? strlen(dir) + strlen(id) : 0};
    return OCV_OK;
}

int ocv_auth_files_find(struct ocv_auth_files *out, struct ocv_error *err)
{
    const char *docker = get_variable("DOCKER_CONFIG"),
               *podman = get_variable("REGISTRY_AUTH_FILE");
    const char *home = get_variable("HOME"), *config = get_variable("XDG_CONFIG_HOME");
    const char *runtime = get_variable("XDG_RUNTIME_DIR"), *tmp = get_variable("TMPDIR");
    *out = (struct ocv_auth_files){0};
    OCV_TRY(add_file(out, docker, false, "/config.json", err));
    OCV_TRY(add_file(out, podman, false, "", err));
    if (!docker)
        OCV_TRY(add_file(out, home, false, "/.docker/config.json", err));
    if (podman)
        return OCV_OK;
    if (runtime) {
        OCV_TRY(add_file(out, runtime, false, AUTH, err));
    } else {
        ocv_auto_free char *made = NULL;
        if (asprintf(&made, "%s/podman-run-", tmp ? tmp : "/tmp") < 0) {
            made = NULL;
            return ocv_error_nomem(err);
        }
        if (geteuid() != 0) {
            OCV_TRY(add_file(out, "/run/user/", true, AUTH, err));
            OCV_TRY(add_file(out, made, true, AUTH, err));
            OCV_TRY(add_file(out, home, false, "/rundir" AUTH, err));
        }
        OCV_TRY(add_file(out, "/run/containers/", true, "/auth.json", err));
    }
    return config ? add_file(out, config, false, AUTH, err)
                  : add_file(out, home, false, "/.config" AUTH, err);
}

void ocv_auth_files_free(struct ocv_auth_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->list[i].path);
    files->n = 0;
}

/* Files below a directory that only the user, or root, may write to cannot be replaced by
 * others. */
bool ocv_auth_file_safe(const struct ocv_auth_file *file)
{
    struct stat st;
    if (!file->own)
        return true;
    ocv_auto_free char *dir = strndup(file->path, file->own);
    return dir && lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
           (st.st_uid == geteuid() || st.st_uid == 0) && (st.st_mode & 022) == 0;
}

void ocv_auth_files_name(const struct ocv_auth_files *files, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < files->n; i++) {
        const char *between = i == 0 ? "" : i + 1 < files->n ? ", " : " and ";
        const char *path = files->list[i].path;
        if (used + strlen(between) + strlen(path) >= size)
            return;
        used += (size_t)snprintf(out + used, size - used, "%s%s", between, path);
    }
}
