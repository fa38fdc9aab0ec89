/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/engines/destination.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are tried when the user names none. */
static const struct sink *const sinks[] = {&sink_docker,     &sink_podman, &sink_nerdctl,
                                           &sink_containerd, &sink_oci,    &sink_archive};
#define SINKS (sizeof(sinks) / sizeof(*sinks))

static int unknown_sink(const char *text, struct ocv_error *err)
{
    ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not a place to pull to", text);
    ocv_error_hint(err, "docker, podman, containerd, nerdctl, oci:DIR[:TAG], docker-archive:FILE");
    return OCV_ERR_INVALID;
}

static int named_sink(const char *text, const struct sink **out, char **argument,
                      struct ocv_error *err)
{
    size_t n = strcspn(text, ":");
    for (size_t i = 0; i < SINKS; i++) {
        const struct sink *s = sinks[i];
        if (strlen(s->name) != n || strncmp(s->name, text, n) != 0)
            continue;
        if (s->takes_argument != (text[n] == ':' && text[n + 1]))
            return unknown_sink(text, err);
        *out = s;
        *argument = strdup(text[n] ? text + n + 1 : "");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    return unknown_sink(text, err);
}

static int data_folder(char **argument, struct ocv_error *err)
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

int sink_choose(struct cli *cli, const struct pull_options *options, const struct sink **out,
                char **argument, struct ocv_error *err)
{
    if (options->to)
        return named_sink(options->to, out, argument, err);
    for (size_t i = 0; i < SINKS; i++) {
        if (!sinks[i]->available || !sinks[i]->available(cli, options))
            continue;
        *out = sinks[i];
        *argument = strdup("");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    *out = &sink_oci;
    return data_folder(argument, err);
}

bool sink_has_program(const char *name)
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
