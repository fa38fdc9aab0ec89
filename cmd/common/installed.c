/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is installed: namespaces of providers, profiles of common machines, whose names --profile
 * takes, and the programs that variantctl runs. */
#include "cmd/common/names.h"

#include "gen/datadir.h"
#include "gen/libexecdir.h"
#include "lib/base/file.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".json"

size_t installed_namespaces(const struct ocv_probe_options *options, struct ocv_buffer *text,
                            const char *list[INSTALLED_MAX])
{
    size_t n = 0;
    char *save = NULL;
    if (ocv_probe_namespaces(options, text, NULL) < 0 || !text->data)
        return 0;
    for (char *ns = strtok_r(text->data, "\n", &save); ns && n < INSTALLED_MAX;
         ns = strtok_r(NULL, "\n", &save))
        list[n++] = ns;
    return n;
}

static const char *profiles_directory(char out[PATH_MAX])
{
    const char *datadir = getenv("OCV_DATADIR");
    snprintf(out, PATH_MAX, "%s/profiles", datadir && *datadir ? datadir : OCV_DEFAULT_DATADIR);
    return out;
}

int cli_is_profile(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > strlen(SUFFIX) &&
           !strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX);
}

int cli_profile_names(struct dirent ***names)
{
    char dir[PATH_MAX];
    int n = scandir(profiles_directory(dir), names, cli_is_profile, alphasort);
    for (int i = 0; i < n; i++)
        (*names)[i]->d_name[strlen((*names)[i]->d_name) - strlen(SUFFIX)] = '\0';
    return n;
}

bool cli_profile_installed(const char *name, char out[PATH_MAX])
{
    char dir[PATH_MAX];
    return *name && *name != '.' && !strchr(name, '/') &&
           (size_t)snprintf(out, PATH_MAX, "%s/%s" SUFFIX, profiles_directory(dir), name) <
               PATH_MAX &&
           access(out, F_OK) == 0;
}

int cli_profile_path(const char *text, char out[PATH_MAX], struct ocv_error *err)
{
    struct stat st;
    snprintf(out, PATH_MAX, "%s", text);
    if (strchr(text, '/') || !strcmp(text, "-") || (stat(text, &st) == 0 && !S_ISDIR(st.st_mode)))
        return OCV_OK;
    if (cli_profile_installed(text, out))
        return OCV_OK;
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ERROR_MESSAGE_MAX / 2);
    struct dirent **names = NULL;
    int n = cli_profile_names(&names);
    for (int i = 0; i < n; i++) {
        (void)!ocv_buffer_printf(&list, NULL, "%s%s", list.len ? ", " : "", names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return ocv_error_set(err, OCV_ERR_INVALID, "--profile: no file '%.100s'%s%s", text,
                         list.len ? "; known: " : "", list.len ? list.data : "");
}

int cli_read_profile(const char *text, struct ocv_buffer *out, struct ocv_error *err)
{
    char path[PATH_MAX];
    OCV_TRY(cli_profile_path(text, path, err));
    return cli_read_file(path, out, err);
}

void complete_profiles(struct ocv_completion *c, const char *head)
{
    struct dirent **names = NULL;
    int n = cli_profile_names(&names);
    for (int i = 0; i < n; i++) {
        char text[NAME_MAX + 256];
        snprintf(text, sizeof(text), "%.255s%s", head, names[i]->d_name);
        ocv_complete_offer(c, text, "a common machine");
        free(names[i]);
    }
    free(names);
    c->how &= ~(unsigned)(OCV_COMPLETE_NO_FILES | OCV_COMPLETE_DIRECTORIES);
}

bool cli_helper(const char *name, const char *datadir, char *path, size_t size)
{
    const char *directory = getenv("OCV_LIBEXECDIR");
    char self[PATH_MAX], beside[PATH_MAX];
    int n;
    if (!directory && datadir) {
        /* PREFIX/share/ocivariant: relative to that, a relocated tree keeps its programs */
        n = snprintf(path, size, "%s/../../libexec/ocivariant/%s", datadir, name);
        if (n > 0 && (size_t)n < size && access(path, X_OK) == 0)
            return true;
    }
    n = snprintf(path, size, "%s/%s", directory ? directory : OCV_DEFAULT_LIBEXECDIR, name);
    if (n <= 0 || (size_t)n >= size)
        return false;
    if (directory || access(path, X_OK) == 0)
        return true;
    /* In a build tree, beside the directory of the program. */
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return true;
    *slash = '\0';
    n = snprintf(beside, sizeof(beside), "%s/../libexec/%s", self, name);
    if (n > 0 && (size_t)n < sizeof(beside) && (size_t)n < size && access(beside, X_OK) == 0)
        memcpy(path, beside, (size_t)n + 1);
    return true;
}
