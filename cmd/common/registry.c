/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry client, as options and configuration describe it. */
#include "cmd/common/cli.h"

#include <pthread.h>

/* Clients of several threads report one after the other. */
static pthread_mutex_t reporting = PTHREAD_MUTEX_INITIALIZER;

static void log_line(void *data, const char *line)
{
    pthread_mutex_lock(&reporting);
    cli_log(data, "%s", line);
    pthread_mutex_unlock(&reporting);
}

/* The progress that shows waits may change during the client's life. */
static void report_wait(void *data, const struct ocv_registry_wait *wait)
{
    const struct cli *cli = data;
    pthread_mutex_lock(&reporting);
    if (cli->wait)
        cli->wait(cli->callback_data, wait);
    pthread_mutex_unlock(&reporting);
}

int cli_registry_new(struct cli *cli, const volatile int *interrupted, struct ocv_registry **out,
                     struct ocv_error *err)
{
    struct ocv_registry_options options = {
        .ca_file = cli->ca_file,
        .cert_file = cli->cert_file,
        .key_file = cli->key_file,
        .insecure = cli->insecure,
        .n_insecure = cli->n_insecure,
        .username = cli->username,
        .password = cli->password,
        .auth_file = cli->auth_file,
        .retries = cli->retries,
        .stall_timeout_ms = cli->timeout_s * 1000,
        .document_timeout_ms = cli->timeout_s * 1000,
        .connect_timeout_ms = cli->timeout_s && cli->timeout_s < 30 ? cli->timeout_s * 1000 : 0,
        .interrupted = interrupted,
        .log = cli->verbose ? log_line : NULL,
        .log_data = cli,
        .wait = report_wait,
        .wait_data = cli,
    };
    options.credential_providers = cli->credential_providers;
    options.n_registries = ocv_config_registries(cli->config, &options.registries);
    return ocv_registry_new(&options, out, err);
}

int cli_registry(struct cli *cli, struct ocv_error *err)
{
    /* kubelet's credential providers, if the machine's configuration names them. A user who may not
     * read their configuration goes without them. */
    const struct ocv_credential_providers_options options = {
        .config = ocv_config_get(cli->config, "image_credential_provider_config"),
        .bin_dir = ocv_config_get(cli->config, "image_credential_provider_bin_dir"),
    };
    struct ocv_error local = {0};
    int status = OCV_OK;
    if (cli->registry)
        return OCV_OK;
    if (options.config && *options.config && options.bin_dir && *options.bin_dir)
        status = ocv_credential_providers_new(&options, &cli->credential_providers, &local);
    if (status == OCV_ERR_IO || status == OCV_ERR_NOT_FOUND) {
        cli_log(cli, "image_credential_provider_config: %s", local.message);
    } else if (status < 0) {
        if (err)
            *err = local;
        return status;
    }
    return cli_registry_new(cli, cli->interrupted, &cli->registry, err);
}
