/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl setup: makes this machine's container engines ask variantd. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "cmd/variantctl/setup/verb/run.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

/* Takes `listen` from the configuration that the daemon of that tree reads. */
static int finish_options(struct cli *cli, struct setup *setup, struct ocv_error *err)
{
    ocv_auto_free char *own = NULL;
    if (!setup->root && !(setup->root = strdup("")))
        return ocv_error_nomem(err);
    if (setup_open_root(setup) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "--root: %s: %s", setup->root, strerror(errno));
    if (*setup->root && !cli->config_file) {
        ocv_auto_free char *below = NULL;
        OCV_TRY(setup_resolve(setup, OCV_PATH_CONFIG, &below, err));
        if (asprintf(&own, "%s%s", setup->root, below) < 0) {
            own = NULL;
            return ocv_error_nomem(err);
        }
        cli->config_file = access(own, R_OK) == 0 ? own : "/dev/null";
    }
    int status = cli_load(cli, err);
    if (own && cli->config_file == own)
        cli->config_file = NULL;
    if (status < 0)
        return status;
    const char *listen = ocv_config_get(cli->config, "listen");
    setup->cli = cli;
    setup_ask_daemon(setup);
    if (!listen && setup->daemon)
        listen = setup->daemon->listen;
    if (!setup->listen)
        OCV_TRY(setup_set_listen(setup, listen ? listen : OCV_LISTEN, err));
    for (size_t i = 0; i < 2; i++) {
        const char *path = i ? setup->engine_config : setup->config_dir;
        if (path && path[0] != '/')
            return ocv_error_set(err, OCV_ERR_INVALID, "%s: an absolute path is needed", path);
    }
    /* The directory of the state, and of the podman configuration of an ordinary user. */
    const char *state = getenv("OCV_STATE_DIR"), *home = getenv("HOME");
    bool user = !*setup->root && geteuid() != 0 && home && *home == '/';
    int made = !*setup->root && state && *state ? asprintf(&setup->state_dir, "%s/setup", state)
               : user ? asprintf(&setup->state_dir, "%s/.local/state/ocivariant/setup", home)
                      : asprintf(&setup->state_dir, "%s", OCV_PATH_SETUP);
    if (made < 0)
        setup->state_dir = NULL;
    if (user && asprintf(&setup->home, "%s/.config/containers", home) < 0)
        setup->home = NULL;
    if (!setup->state_dir || (user && !setup->home))
        return ocv_error_nomem(err);
    ocv_auto_free char *given = setup->state_dir;
    return setup_resolve(setup, given, &setup->state_dir, err);
}

static int run_engine(struct cli *cli, struct setup *setup, const char *name, struct ocv_error *err)
{
    enum setup_action action = setup->action;
    const struct setup_engine *engine = setup_find_engine(name);
    if (name ? !engine : action == SETUP_ACTION_SETUP) {
        char names[SETUP_NAMES_MAX] = "", question[OCV_NEAREST_QUESTION_MAX];
        struct ocv_nearest nearest = {.wanted = name ? name : ""};
        size_t at = 0;
        for (const struct setup_engine *e = setup_engines; e->name; e++)
            if (e->plan && at < sizeof(names)) {
                at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", at ? ", " : "",
                                       e->name);
                ocv_nearest_offer(&nearest, e->name);
            }
        if (!name)
            return ocv_error_set(err, OCV_ERR_INVALID, "setup needs an engine: %s", names);
        return ocv_error_set(err, OCV_ERR_INVALID, "invalid value '%.100s' for the engine: %s%s",
                             name, names,
                             ocv_nearest_question(ocv_nearest_meant(&nearest), question));
    }
    OCV_TRY(finish_options(cli, setup, err));
    if (setup->format && action != SETUP_ACTION_STATUS)
        return ocv_error_set(err, OCV_ERR_INVALID, "--format requires --status");
    if (setup->hosts_only && action != SETUP_ACTION_SETUP)
        return ocv_error_set(err, OCV_ERR_INVALID, "--hosts-only is for a set-up alone");
    if (setup->hosts_only) {
        if (strcmp(name, "containerd") != 0)
            return ocv_error_set(err, OCV_ERR_INVALID, "--hosts-only applies to containerd only");
        /* without it all registries are covered: perhaps wrong on a node set up by others */
        if (!setup->n_registries)
            return ocv_error_set(err, OCV_ERR_INVALID, "--hosts-only needs --registry HOST");
    }
    if (action == SETUP_ACTION_STATUS)
        return setup_show_status(setup, name, err);
    if (!engine)
        return setup_uninstall_all(setup, setup->dry_run, err);
    setup->engine = engine->name;
    /* An ordinary user can set up only podman, which then uses the machine's own network. */
    if (setup->home && !setup->config_dir && !setup->engine_config &&
        strcmp(setup->engine, "podman") != 0) {
        ocv_error_set(err, OCV_ERR_CONFIG, "setup %s: only root can change what is in /etc", name);
        ocv_error_hint(err,
                       "podman can be set up for a user; a rootless Docker or containerd has a "
                       "network of its own, in which 127.0.0.1 is not this machine");
        return OCV_ERR_CONFIG;
    }
    return setup_run(setup, engine, action, setup->dry_run, err);
}

int cmd_setup(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct setup setup = {.cli = cli, .root_fd = -1};
    int status = OCV_OK;
    ocv_buffer_init(&setup.notes, SETUP_FILE_MAX);
    /* The command for the engine in the arguments, else for the verb. */
    const struct cli_command *command = NULL;
    for (char **word = argv; *word && !command; word++) {
        const struct setup_engine *engine = setup_find_engine(*word);
        command = engine ? engine->command : NULL;
        if (command)
            snprintf(cli->verb, sizeof(cli->verb), "setup %s", engine->name);
    }
    int code = cli_read(cli, command ? command : &setup_command, &setup, argc, argv);
    if (code < 0)
        status = run_engine(cli, &setup, *cli->arguments, &err);
    if (setup.daemon)
        json_decref(setup.daemon->registries);
    free(setup.daemon);
    setup_free(&setup);
    if (code >= 0)
        return code;
    if (status == OCV_ERR_CHECK && !err.message[0])
        return ocv_error_exit_code(OCV_ERR_CHECK);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
