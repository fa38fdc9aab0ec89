/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client of registries that the options and the configuration describe. */
#include "cmd/common/cli.h"

static void log_line(void *data, const char *line)
{
    cli_say(data, "%s", line);
}

/* Whoever shows it may change while the client lives. */
static void tell_wait(void *data, const struct ocv_registry_wait *wait)
{
    const struct cli *cli = data;
    if (cli->wait)
        cli->wait(cli->say_data, wait);
}

int cli_registry(struct cli *cli, struct ocv_error *err)
{
    if (cli->registry)
        return OCV_OK;
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
        .interrupted = cli->interrupted,
        .log = cli->verbose ? log_line : NULL,
        .log_data = cli,
        .wait = tell_wait,
        .wait_data = cli,
    };
    options.n_registries = ocv_config_registries(cli->config, &options.registries);
    return ocv_registry_new(&options, &cli->registry, err);
}
