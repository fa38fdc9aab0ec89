/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/fleet/fleet_verbs.h"
#include "cmd/variantctl/lock/lock_profiles.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int named_profiles_add(struct named_profiles *p, const char *name, size_t len,
                       struct ocv_profile *profile, const char *source, struct ocv_error *err)
{
    ocv_auto(ocv_profile) given = profile;
    ocv_auto_free char *copy = strndup(name, len);
    ocv_auto_free char *from = source ? strdup(source) : NULL;
    if (p->n == LOCK_PROFILES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u profiles", LOCK_PROFILES_MAX);
    bool copied = copy && (from || !source);
    struct named_profile *added = copied ? ocv_array_grow(&p->list, p->n) : NULL;
    if (!added)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->list[i].name, copy))
            return ocv_error_set(err, OCV_ERR_INVALID, "profile '%s' is named twice", copy);
    *added = (struct named_profile){ocv_steal(&copy), ocv_steal(&given), ocv_steal(&from)};
    p->n++;
    return OCV_OK;
}

static int read_profile(const char *path, struct ocv_profile **out, struct ocv_error *err)
{
    ocv_auto_buffer json;
    ocv_buffer_init(&json, OCV_PROFILE_MAX);
    OCV_TRY(cli_read_profile(path, &json, err));
    int status = ocv_profile_parse(json.data ? json.data : "", json.len, out, err);
    return status < 0 ? ocv_error_prefix(err, "%s", path) : OCV_OK;
}

int named_profiles_take(const struct ocv_option_given *given, struct ocv_error *err)
{
    const char *text = given->value;
    struct ocv_profile *profile = NULL;
    char file[PATH_MAX];
    const char *cut = strchr(text, '='), *path = cut ? cut + 1 : text;
    const char *slash = strrchr(text, '/'), *name = cut || !slash ? text : slash + 1;
    size_t len = cut ? (size_t)(cut - text) : strcspn(name, ".");
    if (len == 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "--profile '%.100s' is not NAME=FILE", text);
    OCV_TRY(read_profile(path, &profile, err));
    /* a file of that name comes first */
    bool shipped = cli_profile_path(path, file, NULL) == OCV_OK && strcmp(file, path) != 0;
    return named_profiles_add(given->into, name, len, profile, shipped ? path : NULL, err);
}

int named_profiles_take_common(struct named_profiles *p, const char *name, const char *common,
                               struct ocv_error *err)
{
    struct ocv_profile *profile = NULL;
    char path[PATH_MAX];
    if (!cli_profile_installed(common, path))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "no profile '%.100s' is installed", common);
    OCV_TRY(read_profile(path, &profile, err));
    return named_profiles_add(p, name, strlen(name), profile, common, err);
}

int named_profiles_take_directory(struct named_profiles *p, const struct cli *cli, const char *dir,
                                  bool strict, struct ocv_error *err)
{
    struct dirent **names = NULL;
    struct fleet_skipped skipped = {0};
    size_t before = p->n;
    struct ocv_error all = {0}, one = {0};
    int n = scandir(dir, &names, cli_is_profile, alphasort);
    if (n < 0)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: %s", dir, strerror(errno));
    if (n == 0)
        ocv_error_set(&all, OCV_ERR_NOT_FOUND, "%s: no *.json in it", dir);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        struct ocv_profile *profile = NULL;
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", dir, name);
        int status = read_profile(path, &profile, &one);
        if (status == OCV_OK)
            status =
                named_profiles_add(p, name, strlen(name) - strlen(".json"), profile, NULL, &one);
        /* "a.json: ...; b.json: ...", as far as there is room, to be fixed together */
        const struct ocv_error told = all;
        if (status == OCV_ERR_DATA && !strict)
            fleet_skip(&skipped, 1, one.message, "");
        else if (status < 0 && !told.status)
            all = one;
        else if (status < 0)
            ocv_error_set(&all, told.status, "%s; %s", told.message, one.message);
        free(names[i]);
    }
    free(names);
    fleet_warn_skipped(cli, "bad", &skipped);
    if (!all.status && p->n == before)
        ocv_error_set(&all, OCV_ERR_DATA, "%s: no node with a profile", dir);
    if (all.status && err)
        *err = all;
    return all.status;
}

void named_profiles_free(struct named_profiles *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->list[i].name);
        free(p->list[i].source);
        ocv_profile_free(p->list[i].profile);
    }
    free(p->list);
    *p = (struct named_profiles){0};
}
