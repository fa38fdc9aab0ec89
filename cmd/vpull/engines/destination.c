/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/engines/destination.h"

#include "lib/base/nearest.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which they are tried when the user names none. */
static const struct destination *const destinations[] = {
    &destination_docker,     &destination_podman, &destination_nerdctl,
    &destination_containerd, &destination_oci,    &destination_archive};
#define DESTINATIONS (sizeof(destinations) / sizeof(*destinations))

void destination_forms(char *out, size_t size)
{
    *out = '\0';
    for (size_t i = 0, at = 0; i < DESTINATIONS && at < size; i++) {
        const struct destination *d = destinations[i];
        at += (size_t)snprintf(out + at, size - at, "%s%s%s%s", i ? ", " : "", d->name,
                               d->argument ? ":" : "", d->argument ? d->argument : "");
    }
}

static int unknown_destination(const char *text, struct ocv_error *err)
{
    char forms[OCV_ERROR_HINT_MAX];
    destination_forms(forms, sizeof(forms));
    char question[OCV_NEAREST_QUESTION_MAX], name[64];
    struct ocv_nearest nearest = {.wanted = name};
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, ":"), text);
    for (size_t i = 0; i < DESTINATIONS; i++)
        ocv_nearest_offer(&nearest, destinations[i]->name);
    const char *meant = ocv_nearest_meant(&nearest);
    if (meant && !strcmp(meant, name)) /* only what follows it is wrong */
        meant = NULL;
    ocv_error_set(err, OCV_ERR_INVALID, "--to: unknown destination '%.100s'%s", text,
                  ocv_nearest_question(meant, question));
    ocv_error_hint(err, "%s", forms);
    return OCV_ERR_INVALID;
}

static int named_destination(const char *text, const struct destination **out, char **argument,
                             struct ocv_error *err)
{
    size_t n = strcspn(text, ":");
    for (size_t i = 0; i < DESTINATIONS; i++) {
        const struct destination *s = destinations[i];
        if (strlen(s->name) != n || strncmp(s->name, text, n) != 0)
            continue;
        if ((s->argument != NULL) != (text[n] == ':' && text[n + 1]))
            return unknown_destination(text, err);
        *out = s;
        *argument = strdup(text[n] ? text + n + 1 : "");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    return unknown_destination(text, err);
}

static int data_directory(char **argument, struct ocv_error *err)
{
    char path[PATH_MAX];
    if (!cli_images_directory(path, sizeof(path)))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "no engine answers, and neither HOME nor --to says where to pull to");
    *argument = strdup(path);
    return *argument ? OCV_OK : ocv_error_nomem(err);
}

int destination_choose(struct cli *cli, const struct pull_options *options,
                       const struct destination **out, char **argument, struct ocv_error *err)
{
    if (options->to)
        return named_destination(options->to, out, argument, err);
    for (size_t i = 0; i < DESTINATIONS; i++) {
        if (!destinations[i]->available || !destinations[i]->available(cli, options))
            continue;
        *out = destinations[i];
        *argument = strdup("");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    *out = &destination_oci;
    return data_directory(argument, err);
}
