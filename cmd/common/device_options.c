/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selecting some of the machine's devices the way other programs name them: docker's --gpus, CDI
 * names, Slurm's job variables. They become the configuration's `devices`. */
#include "cmd/common/cli.h"
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "lib/internal/config/config.h"

#include <stdlib.h>
#include <string.h>

#define AUTO "auto"

int cli_take_device(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct cli *cli = given->into;
    if (cli->n_devices == CLI_DEVICES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u --device", CLI_DEVICES_MAX);
    cli->devices[cli->n_devices++] = given->value;
    return OCV_OK;
}

int cli_take_devices(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct cli *cli = given->into;
    if (strcmp(given->value, AUTO) != 0)
        return cli_take_setting(given, err);
    cli->devices_auto = true;
    return OCV_OK;
}

bool cli_devices_given(const struct cli *cli)
{
    return cli->gpus || cli->n_devices || cli->devices_auto;
}

static int add_device(struct ocv_given_devices *out, const char *owner, const char *id, size_t len,
                      struct ocv_error *err)
{
    if (out->n == OCV_GIVEN_MAX || len >= OCV_GIVEN_TEXT_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "too many devices, or too long a name");
    struct ocv_given_device *device = &out->list[out->n];
    *device = (struct ocv_given_device){.group = out->n};
    snprintf(device->owner, sizeof(device->owner), "%s", owner);
    snprintf(device->id, sizeof(device->id), "%.*s", (int)len, id);
    out->n++;
    return OCV_OK;
}

/* "0,2-3,GPU-1" */
static int add_list(struct ocv_given_devices *out, const char *owner, const char *text,
                    struct ocv_error *err)
{
    for (const char *part = text; *part;) {
        size_t n = strcspn(part, ",");
        char *end = NULL, number[16];
        unsigned long from = strtoul(part, &end, 10), to = from;
        bool range = end > part && *end == '-' && strspn(end + 1, "0123456789") > 0;
        if (range)
            to = strtoul(end + 1, &end, 10);
        if (!range || end != part + n || to < from || to - from >= OCV_GIVEN_MAX)
            OCV_TRY(add_device(out, owner, part, n, err));
        for (unsigned long i = from; range && end == part + n && i <= to; i++) {
            snprintf(number, sizeof(number), "%lu", i);
            OCV_TRY(add_device(out, owner, number, strlen(number), err));
        }
        part += n + (part[n] == ',');
    }
    return OCV_OK;
}

/* The machine's only kind of devices; an error if there are several. */
static int only_kind(const struct ocv_profile *profile, const char *option,
                     const struct ocv_namespace **out, struct ocv_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < profile->n_namespaces; i++) {
        if (!profile->namespaces[i].n_devices)
            continue;
        if (*out)
            return ocv_error_set(
                err, OCV_ERR_INVALID,
                "%s: this machine has devices of %s and of %s: choose with --devices", option,
                (*out)->name, profile->namespaces[i].name);
        *out = &profile->namespaces[i];
    }
    return *out ? OCV_OK
                : ocv_error_set(err, OCV_ERR_INVALID, "%s: this machine has no device", option);
}

/* "all", "2", "device=0,2", with docker's quotes around it or not. */
static int add_gpus(const struct cli *cli, struct ocv_given_devices *out, bool *all,
                    struct ocv_error *err)
{
    char text[1024];
    unsigned count = 0;
    const struct ocv_namespace *ns = NULL;
    size_t n = strlen(cli->gpus), quoted = n > 1 && cli->gpus[0] == '"' && cli->gpus[n - 1] == '"';
    snprintf(text, sizeof(text), "%.*s", (int)(n - 2 * quoted), cli->gpus + quoted);
    *all = strcmp(text, "all") == 0;
    if (*all)
        return OCV_OK;
    OCV_TRY(only_kind(cli->profile, "--gpus", &ns, err));
    if (strncmp(text, "device=", 7) == 0 && text[7])
        return add_list(out, ns->name, text + 7, err);
    if (!ocv_option_read_number(text, 1, OCV_GIVEN_MAX, &count))
        return ocv_error_set(err, OCV_ERR_INVALID, "--gpus: '%.60s' is not all, N or device=ID,...",
                             text);
    if (count > ns->n_devices)
        return ocv_error_set(err, OCV_ERR_INVALID, "--gpus %u: this machine has %zu", count,
                             ns->n_devices);
    for (size_t i = 0; i < count; i++)
        OCV_TRY(add_device(out, ns->name, ns->devices[i].id, strlen(ns->devices[i].id), err));
    return OCV_OK;
}

/* Slurm's job variable comes first: when Slurm confines devices, CUDA_VISIBLE_DEVICES counts from
 * 0. `*all`: no variable is set and this is not a Slurm job. */
static int add_job(const struct cli *cli, struct ocv_given_devices *out, bool *all,
                   struct ocv_error *err)
{
    static const char *const names[] = {"SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"};
    const struct ocv_namespace *ns = NULL;
    const char *text = NULL, *name = names[0];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !text; i++)
        text = getenv(name = names[i]);
    *all = !text && !getenv("SLURM_JOB_ID");
    if (*all || !text || !*text || strcmp(text, "-1") == 0 || strcmp(text, "NoDevFiles") == 0)
        return OCV_OK;
    OCV_TRY(only_kind(cli->profile, name, &ns, err));
    return add_list(out, ns->name, text, err);
}

int cli_set_devices(struct cli *cli, struct ocv_error *err)
{
    const struct ocv_profile *profile = cli->profile;
    bool all_gpus = false, all = false;
    if (!cli_devices_given(cli))
        return OCV_OK;
    ocv_auto_free struct ocv_given_devices *given = calloc(1, sizeof(*given));
    if (!given)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < cli->n_devices; i++)
        OCV_TRY(add_device(given, "", cli->devices[i], strlen(cli->devices[i]), err));
    if (cli->gpus)
        OCV_TRY(add_gpus(cli, given, &all_gpus, err));
    if (cli->devices_auto)
        OCV_TRY(add_job(cli, given, &all, err));
    if (all_gpus || all)
        return OCV_OK;

    /* the devices found, and none of any other kind */
    char found[OCV_GIVEN_FOUND_MAX], none[128];
    int status = ocv_given_find(given, profile, found, sizeof(found), err);
    if (status == OCV_ERR_NOT_FOUND)
        return ocv_error_set(err, OCV_ERR_INVALID, "no such device on this machine: %s",
                             given->list[0].id);
    if (status < 0)
        return status;
    OCV_TRY(ocv_config_set(cli->config, "the devices given", "devices", found, false, err));
    for (size_t i = 0; i < profile->n_namespaces; i++) {
        const struct ocv_namespace *ns = &profile->namespaces[i];
        size_t n = strlen(ns->name);
        const char *at = found;
        while ((at = strstr(at, ns->name)) && ((at > found && at[-1] != ';') || at[n] != '='))
            at += n;
        if (!ns->n_devices || at)
            continue;
        snprintf(none, sizeof(none), "%.100s=", ns->name);
        OCV_TRY(ocv_config_set(cli->config, "the devices given", "devices", none, true, err));
    }
    return OCV_OK;
}
