/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/engines/destination.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are tried when the user names none. */
static const struct destination *const destinations[] = {
    &destination_docker,     &destination_podman, &destination_nerdctl,
    &destination_containerd, &destination_oci,    &destination_archive};
#define SINKS (sizeof(destinations) / sizeof(*destinations))

static int unknown_destination(const char *text, struct ocv_error *err)
{
    ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not a place to pull to", text);
    ocv_error_hint(err, "docker, podman, containerd, nerdctl, oci:DIR[:TAG], docker-archive:FILE");
    return OCV_ERR_INVALID;
}

static int named_destination(const char *text, const struct destination **out, char **argument,
                             struct ocv_error *err)
{
    size_t n = strcspn(text, ":");
    for (size_t i = 0; i < SINKS; i++) {
        const struct destination *s = destinations[i];
        if (strlen(s->name) != n || strncmp(s->name, text, n) != 0)
            continue;
        if (s->takes_argument != (text[n] == ':' && text[n + 1]))
            return unknown_destination(text, err);
        *out = s;
        *argument = strdup(text[n] ? text + n + 1 : "");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    return unknown_destination(text, err);
}

static int data_directory(char **argument, struct ocv_error *err)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool xdg = data && *data;
    if (!xdg && (!home || !*home))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "no engine answers, and neither HOME nor --to says where to pull to");
    if (asprintf(argument, "%s%s/ocivariant/images", xdg ? data : home,
                 xdg ? "" : "/.local/share") < 0)
        return ocv_error_nomem(err);
    return OCV_OK;
}

int destination_choose(struct cli *cli, const struct pull_options *options,
                       const struct destination **out, char **argument, struct ocv_error *err)
{
    if (options->to)
        return named_destination(options->to, out, argument, err);
    for (size_t i = 0; i < SINKS; i++) {
        if (!destinations[i]->available || !destinations[i]->available(cli, options))
            continue;
        *out = destinations[i];
        *argument = strdup("");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    *out = &destination_oci;
    return data_directory(argument, err);
}

bool subprocess_available(const char *name)
{
    const char *path = getenv("PATH");
    char file[4096];
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        size_t n = strcspn(at, ":");
        snprintf(file, sizeof(file), "%.*s/%s", (int)n, at, name);
        if (n && access(file, X_OK) == 0)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}
