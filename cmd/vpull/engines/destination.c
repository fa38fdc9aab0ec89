/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/engines/engine.h"

#include "lib/base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ASKING_TOLD_MS 400 /* the first words come within half a second */

/* Tried in this order when the user names none. */
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

void destination_print(void)
{
    char forms[OCV_ERROR_HINT_MAX];
    destination_forms(forms, sizeof(forms));
    printf("\n--to: %s\n", forms);
}

bool destination_complete(struct ocv_completion *c, const char *kind)
{
    char text[64];
    if (strcmp(kind, "DESTINATION") != 0)
        return false;
    for (size_t i = 0; i < DESTINATIONS; i++) {
        const struct destination *d = destinations[i];
        snprintf(text, sizeof(text), "%s%s", d->name, d->argument ? ":" : "");
        ocv_complete_offer(c, text, d->argument);
        if (d->argument && !strncmp(text, c->word, strlen(c->word)))
            c->how |= OCV_COMPLETE_NO_SPACE;
    }
    if (!strncmp(c->word, "oci:", 4))
        complete_layout(c, "");
    return true;
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
    bool directory = strchr(text, '/') || !strncmp(text, "dir:", 4) || text[0] == '.';
    ocv_error_set(err, OCV_ERR_INVALID, "invalid value '%.100s' for --to: %s%s", text, forms,
                  ocv_nearest_question(meant, question));
    if (directory && !meant)
        ocv_error_hint(err, "a directory is an OCI layout: --to oci:%.300s",
                       text + (strncmp(text, "dir:", 4) ? 0 : 4));
    return OCV_ERR_INVALID;
}

int destination_choose(struct cli *cli, const struct pull_options *options,
                       struct progress *progress, const struct destination **out, char **argument,
                       struct ocv_error *err)
{
    const char *to = options->to;
    for (size_t i = 0, n = to ? strcspn(to, ":") : 0; to && i < DESTINATIONS; i++) {
        const struct destination *d = destinations[i];
        if (strlen(d->name) != n || strncmp(d->name, to, n) != 0)
            continue;
        if ((d->argument != NULL) != (to[n] == ':' && to[n + 1]))
            break;
        *out = d;
        *argument = strdup(to[n] ? to + n + 1 : "");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    if (to)
        return unknown_destination(to, err);
    for (size_t i = 0; i < DESTINATIONS; i++) {
        const struct destination *d = destinations[i];
        if (!d->available)
            continue;
        /* Tell which engine is slow to answer, so that the terminal does not stay blank. */
        if (!options->quiet)
            progress_late(progress, ASKING_TOLD_MS, "waiting for %s to answer", d->name);
        bool there = d->available(cli, options);
        progress_late_end(progress);
        if (!there)
            continue;
        *out = d;
        *argument = strdup("");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    char path[PATH_MAX];
    const char *host = getenv("DOCKER_HOST");
    if (host && *host && !options->quiet) /* who sets it expects docker to be asked */
        progress_message(progress, "docker does not answer (DOCKER_HOST=%.200s)", host);
    *out = &destination_oci;
    if (!cli_images_directory(path, sizeof(path)))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "no engine answers, and neither HOME nor --to says where to pull to");
    *argument = strdup(path);
    return *argument ? OCV_OK : ocv_error_nomem(err);
}
