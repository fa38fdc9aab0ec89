/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/fleet/fleet_verbs.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct fleet_source {
    struct cli *cli;
    struct ocv_fleet *fleet;
    struct ocv_fleet_reading how;
    struct fleet_skipped skipped;
    size_t bare; /* nodes without profile */
};

static void name_other(struct fleet_skipped *skipped, const char *name, size_t len)
{
    size_t used = strlen(skipped->others);
    if (len > 0 && used + len + 3 < sizeof(skipped->others))
        snprintf(skipped->others + used, sizeof(skipped->others) - used, "%s%.*s", used ? ", " : "",
                 (int)len, name);
}

void fleet_skip(struct fleet_skipped *skipped, size_t n, const char *why, const char *more)
{
    const char *colon = strstr(why, ": ");
    if (n && !skipped->n)
        snprintf(skipped->first, sizeof(skipped->first), "%.1000s", why);
    else if (n && skipped->n < OCV_FLEET_NAMED_MAX)
        name_other(skipped, why, colon ? (size_t)(colon - why) : strlen(why));
    if (n)
        name_other(skipped, more, strlen(more));
    skipped->n += n;
}

void fleet_warn_skipped(const struct cli *cli, const char *what,
                        const struct fleet_skipped *skipped)
{
    if (skipped->n)
        cli_warn(cli, "%zu %s node%s left out, the first: %s%s%s%s", skipped->n, what,
                 skipped->n > 1 ? "s" : "", skipped->first, *skipped->others ? "; then " : "",
                 skipped->others, skipped->n > OCV_FLEET_NAMED_MAX ? ", ..." : "");
}

static int apply_overrides(void *data, const struct ocv_profile *profile, struct ocv_profile **out,
                           struct ocv_error *err)
{
    const struct cli *cli = data;
    return ocv_config_override_profile(cli->config, profile, out, err);
}

static int read_file(struct fleet_source *s, const char *path, const char *name,
                     struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_FLEET_MAX);
    OCV_TRY(cli_read_file(path, &text, err));
    s->how.source = strcmp(path, "-") != 0 ? path : "standard input";
    s->how.name = name;
    int status = ocv_fleet_read(s->fleet, text.data ? text.data : "", text.len, &s->how, err);
    char why[OCV_ERROR_MESSAGE_MAX];
    snprintf(why, sizeof(why), "%.200s: %.800s", s->how.source, s->how.first.message);
    fleet_skip(&s->skipped, s->how.skipped, why, s->how.first.hint);
    s->bare += s->how.without_profile;
    return status;
}

static int read_directory(struct fleet_source *s, const char *dir, struct ocv_error *err)
{
    struct dirent **names = NULL;
    int n = scandir(dir, &names, cli_is_profile, ocv_directory_order), status = OCV_OK;
    if (n < 0)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s cannot be read", dir);
    if (n == 0)
        status = ocv_error_set(err, OCV_ERR_DATA, "%s has no profile (*.json)", dir);
    for (int i = 0; i < n; i++) {
        char path[4096], name[256];
        const char *file = names[i]->d_name;
        int len = snprintf(path, sizeof(path), "%s/%s", dir, file);
        snprintf(name, sizeof(name), "%.*s", (int)strlen(file) - 5, file);
        if (status == OCV_OK && (len < 0 || (size_t)len >= sizeof(path)))
            status = ocv_error_set(err, OCV_ERR_INVALID, "%s: the name is too long", dir);
        else if (status == OCV_OK)
            status = read_file(s, path, name, err);
        free(names[i]);
    }
    free(names);
    return status;
}

int fleet_read(struct cli *cli, const char *path, bool strict, struct ocv_fleet *fleet,
               size_t *skipped, struct ocv_error *err)
{
    struct stat st;
    struct fleet_source s = {.cli = cli, .fleet = fleet, .how = {.skip_bad = !strict}};
    cli_forget_host(cli);
    if (ocv_config_overrides(cli->config)) {
        s.how.adapt = apply_overrides;
        s.how.data = cli;
    }
    bool directory = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    OCV_TRY(directory ? read_directory(&s, path, err) : read_file(&s, path, NULL, err));
    fleet_warn_skipped(cli, "bad", &s.skipped);
    if (s.bare)
        cli_warn(cli, "%s: %zu node%s without the annotation dev.ocivariant/profile left out", path,
                 s.bare, s.bare > 1 ? "s" : "");
    *skipped = s.skipped.n;
    return ocv_fleet_count(fleet) ? OCV_OK
                                  : ocv_error_set(err, OCV_ERR_DATA, "%s: no node with a profile",
                                                  strcmp(path, "-") != 0 ? path : "standard input");
}
