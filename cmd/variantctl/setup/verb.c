/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl setup: have the container engines of this machine ask variantd. */
#include "cmd/variantctl/setup/help.h"
#include "cmd/variantctl/setup/mirror_registries.h"
#include "cmd/variantctl/setup/run.h"
#include "cmd/variantctl/setup/tree.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"
#include "lib/base/nearest.h"
#include "lib/base/paths.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    OPTION_REGISTRY = 1,
    OPTION_UNINSTALL,
    OPTION_STATUS,
    OPTION_DRY_RUN,
    OPTION_FAIL_CLOSED,
    OPTION_ROOT,
    OPTION_LISTEN,
    OPTION_CONFIG_DIR,
    OPTION_ENGINE_CONFIG,
    OPTION_ENGINE_VERSION,
    OPTION_STORE,
    OPTION_FORMAT,
};

static const struct option options[] = {
    {"registry", required_argument, NULL, OPTION_REGISTRY},
    {"uninstall", no_argument, NULL, OPTION_UNINSTALL},
    {"status", no_argument, NULL, OPTION_STATUS},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"fail-closed", no_argument, NULL, OPTION_FAIL_CLOSED},
    {"root", required_argument, NULL, OPTION_ROOT},
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"config-dir", required_argument, NULL, OPTION_CONFIG_DIR},
    {"engine-config", required_argument, NULL, OPTION_ENGINE_CONFIG},
    {"engine-version", required_argument, NULL, OPTION_ENGINE_VERSION},
    {"store", required_argument, NULL, OPTION_STORE},
    {"format", required_argument, NULL, OPTION_FORMAT},
    CLI_COMMON_OPTIONS,
    CLI_OPTIONS_END};

/* Of the engine that is among the arguments, else of the verb. */
static const char *help_for(char **argv)
{
    for (; *argv; argv++) {
        const struct setup_engine *engine = setup_find_engine(*argv);
        if (engine && engine->help)
            return engine->help;
    }
    return setup_help;
}

/* ---- arguments --------------------------------------------------------------------------------
 */

#define PORT_MAX 65535u
#define REGISTRY_MAX 256 /* HOST[:PORT], with its end */

/* HOST[:PORT] as references have it: never a path, never a name that a directory cannot have. */
static bool registry_valid(const char *text)
{
    if (strlen(text) >= REGISTRY_MAX)
        return false;
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
    if (text[0] == '[') {
        n = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
        if (text[n++] != ']')
            return false;
    } else if (n == 0 || !isalnum((unsigned char)text[0])) {
        return false;
    }
    if (text[n] == ':') {
        size_t digits = strspn(text + n + 1, "0123456789");
        unsigned long port = strtoul(text + n + 1, NULL, 10);
        return digits > 0 && digits <= 5 && text[n + 1 + digits] == '\0' && port > 0 &&
               port <= PORT_MAX;
    }
    return text[n] == '\0';
}

/* The engines compare names byte by byte, and podman takes no capitals in a mirror's path: a host's
 * name is written as everybody writes it. */
static char *registry_name(const char *text)
{
    char host[REGISTRY_MAX]; /* registry_valid */
    snprintf(host, sizeof(host), "%s", text);
    for (char *at = host; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return strdup(ocv_reference_host_canonical(host));
}

static int add_registry(struct setup *setup, const char *text, struct ocv_error *err)
{
    if (!registry_valid(text))
        return ocv_error_set(err, OCV_ERR_INVALID, "--registry: '%.200s' is not HOST[:PORT]", text);
    ocv_auto_free char *name = registry_name(text);
    if (!name)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < setup->n_registries; i++)
        if (strcmp(setup->registries[i], name) == 0)
            return OCV_OK;
    if (setup->n_registries == SETUP_REGISTRIES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u registries", SETUP_REGISTRIES_MAX);
    setup->registries[setup->n_registries++] = ocv_steal(&name);
    return OCV_OK;
}

static bool is_host(const char *text, const char *colon, const char *host)
{
    return colon && strlen(host) == (size_t)(colon - text) &&
           strncasecmp(text, host, strlen(host)) == 0;
}

/* An address that the daemon binds to, as clients reach it. A name means what somebody's resolver
 * says: "localhost" is ::1 for some, where another user can listen on the same port. */
static int set_listen(struct setup *setup, const char *text, struct ocv_error *err)
{
    static const char *const same[] = {"", "0.0.0.0", "[::]", "localhost"};
    const char *colon = strrchr(text, ':');
    const char *host = text;
    int n = colon ? (int)(colon - text) : 0;
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        if (is_host(text, colon, same[i])) {
            host = "127.0.0.1";
            n = (int)strlen(host);
        }
    if (is_host(text, colon, "[::1]")) {
        ocv_error_set(err, OCV_ERR_CONFIG, "listen: engines are not pointed to '%.200s'", text);
        ocv_error_hint(err,
                       "not all of them take an IPv6 address; have variantd listen at 127.0.0.1%s",
                       colon);
        return OCV_ERR_CONFIG;
    }
    free(setup->listen);
    setup->listen = NULL;
    if (!colon || asprintf(&setup->listen, "%.*s%s", n, host, colon) < 0)
        setup->listen = NULL;
    if (!setup->listen || !registry_valid(setup->listen))
        return ocv_error_set(err, OCV_ERR_CONFIG, "listen: '%.200s' is not HOST:PORT", text);
    return OCV_OK;
}

/* The tree that is changed: absolute, without a final slash. */
static int set_root(struct setup *setup, const char *text, struct ocv_error *err)
{
    char *real = realpath(text, NULL);
    if (!real)
        return ocv_error_set(err, OCV_ERR_INVALID, "--root: %s: %s", text, strerror(errno));
    if (strcmp(real, "/") == 0)
        *real = '\0';
    free(setup->root);
    setup->root = real;
    return OCV_OK;
}

static int set_action(enum setup_action *action, enum setup_action asked, struct ocv_error *err)
{
    if (*action != SETUP_ACTION_SETUP && *action != asked)
        return ocv_error_set(err, OCV_ERR_INVALID, "--status and --uninstall exclude each other");
    *action = asked;
    return OCV_OK;
}

static int set_choice(const char *option, const char *const *choices, const char **out,
                      struct ocv_error *err)
{
    *out = optarg;
    return strcmp(optarg, choices[0]) == 0 || strcmp(optarg, choices[1]) == 0
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_INVALID, "%s: %s or %s, not '%s'", option, choices[0],
                               choices[1], optarg);
}

static int set_version(struct setup *setup, struct ocv_error *err)
{
    struct setup_version version = {0};
    setup->engine_version = optarg;
    return setup_parse_version(optarg, &version)
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_INVALID,
                               "--engine-version: '%.100s' is not MAJOR.MINOR", optarg);
}

static int take(int value, struct setup *setup, enum setup_action *action, bool *dry_run,
                struct ocv_error *err)
{
    static const char *const stores[] = {"classic", "containerd"}, *const formats[] = {"text",
                                                                                       "json"};
    switch (value) {
    case OPTION_REGISTRY:
        return add_registry(setup, optarg, err);
    case OPTION_UNINSTALL:
        return set_action(action, SETUP_ACTION_UNINSTALL, err);
    case OPTION_STATUS:
        return set_action(action, SETUP_ACTION_STATUS, err);
    case OPTION_DRY_RUN:
        *dry_run = true;
        return OCV_OK;
    case OPTION_FAIL_CLOSED:
        setup->fail_closed = true;
        return OCV_OK;
    case OPTION_ROOT:
        return set_root(setup, optarg, err);
    case OPTION_LISTEN:
        return set_listen(setup, optarg, err);
    case OPTION_CONFIG_DIR:
        setup->config_dir = optarg;
        return OCV_OK;
    case OPTION_ENGINE_CONFIG:
        setup->engine_config = optarg;
        return OCV_OK;
    case OPTION_ENGINE_VERSION:
        return set_version(setup, err);
    case OPTION_FORMAT:
        return set_choice("--format", formats, &setup->format, err);
    default:
        return set_choice("--store", stores, &setup->store, err);
    }
}

/* Where the state is kept, and where an ordinary user's podman reads its configuration. */
static int set_state(struct setup *setup, struct ocv_error *err)
{
    const char *state = getenv("OCV_STATE_DIR"), *home = getenv("HOME");
    bool user = !*setup->root && geteuid() != 0 && home && *home == '/';
    bool own = !*setup->root && state && *state;
    int made = own    ? asprintf(&setup->state_dir, "%s/setup", state)
               : user ? asprintf(&setup->state_dir, "%s/.local/state/ocivariant/setup", home)
                      : asprintf(&setup->state_dir, "%s", OCV_PATH_SETUP);
    if (made < 0)
        setup->state_dir = NULL;
    if (user && asprintf(&setup->home, "%s/.config/containers", home) < 0)
        setup->home = NULL;
    return setup->state_dir && (setup->home || !user) ? OCV_OK : ocv_error_nomem(err);
}

/* What an ordinary user can set up is podman, whose pulls run in this machine's own network. */
static int check_user(const struct setup *setup, const char *engine, struct ocv_error *err)
{
    if (!setup->home || setup->config_dir || setup->engine_config || strcmp(engine, "podman") == 0)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_CONFIG, "setup %s: only root can change what is in /etc", engine);
    ocv_error_hint(err, "podman can be set up for a user; a rootless Docker or containerd has a "
                        "network of its own, in which 127.0.0.1 is not this machine");
    return OCV_ERR_CONFIG;
}

/* `listen` of the configuration that the daemon of that tree reads. */
static int finish_options(struct cli *cli, struct setup *setup, struct ocv_error *err)
{
    char *own = NULL;
    if (!setup->root && !(setup->root = strdup("")))
        return ocv_error_nomem(err);
    if (setup_open_root(setup) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "--root: %s: %s", setup->root, strerror(errno));
    if (*setup->root && !cli->config_file) {
        int found = setup_real_path(setup, OCV_PATH_CONFIG, &own, err);
        if (found < 0)
            return found;
        cli->config_file = access(own, R_OK) == 0 ? own : "/dev/null";
    }
    int status = cli_load(cli, err);
    if (own && cli->config_file == own)
        cli->config_file = NULL;
    free(own);
    if (status < 0)
        return status;
    const char *listen = ocv_config_get(cli->config, "listen");
    setup->cli = cli;
    setup_ask_daemon(setup);
    if (!listen)
        listen = setup_daemon_listen(setup);
    if (!setup->listen)
        status = set_listen(setup, listen ? listen : OCV_LISTEN, err);
    for (size_t i = 0; i < 2 && status == OCV_OK; i++) {
        const char *path = i ? setup->engine_config : setup->config_dir;
        if (path && path[0] != '/')
            status = ocv_error_set(err, OCV_ERR_INVALID, "%s: an absolute path is needed", path);
    }
    if (status == OCV_OK)
        status = set_state(setup, err);
    if (status == OCV_OK) {
        char *given = setup->state_dir;
        status = setup_resolve(setup, given, &setup->state_dir, err);
        free(given);
    }
    return status;
}

/* ---- the verb ---------------------------------------------------------------------------------
 */

static int no_engine(const char *name, struct ocv_error *err)
{
    char names[SETUP_NAMES_MAX], question[OCV_NEAREST_QUESTION_MAX];
    struct ocv_nearest nearest = {.wanted = name ? name : ""};
    const struct setup_engine *engine;
    setup_engine_names(", ", names, sizeof(names));
    for (size_t i = 0; (engine = setup_engine_at(i)) != NULL; i++)
        if (engine->plan)
            ocv_nearest_offer(&nearest, engine->name);
    return ocv_error_set(err, OCV_ERR_INVALID, "setup wants one of %s%s%.100s%s%s", names,
                         name ? ", not '" : "", name ? name : "", name ? "'" : "",
                         ocv_nearest_question(ocv_nearest_meant(&nearest), question));
}

static int dispatch(struct cli *cli, struct setup *setup, enum setup_action action, bool dry_run,
                    const char *name, struct ocv_error *err)
{
    const struct setup_engine *engine = setup_find_engine(name);
    if (name ? !engine : action == SETUP_ACTION_SETUP)
        return no_engine(name, err);
    int status = finish_options(cli, setup, err);
    if (status == OCV_OK && setup->format && action != SETUP_ACTION_STATUS)
        status = ocv_error_set(err, OCV_ERR_INVALID, "--format is for --status");
    if (status < 0)
        return status;
    if (action == SETUP_ACTION_STATUS)
        return setup_show_status(setup, name, err);
    if (!engine)
        return setup_uninstall_all(setup, dry_run, err);
    setup->engine = engine->name;
    status = check_user(setup, engine->name, err);
    if (status < 0)
        return status;
    return setup_run(setup, engine, action, dry_run, err);
}

int cmd_setup(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct setup setup = {.cli = cli, .root_fd = -1};
    enum setup_action action = SETUP_ACTION_SETUP;
    bool dry_run = false;
    int value, code = -1, status = OCV_OK;
    ocv_buffer_init(&setup.notes, SETUP_FILE_MAX);
    while (status >= 0 && cli_next_option(cli, argc, argv, options, help_for(argv), &value, &code))
        status = take(value, &setup, &action, &dry_run, &err);
    if (status >= 0 && code >= 0) {
        setup_free(&setup);
        return code;
    }
    if (status >= 0 && argc - optind > 1)
        status = ocv_error_set(&err, OCV_ERR_INVALID, "setup takes one engine, not '%s', too",
                               argv[optind + 1]);
    if (status >= 0)
        status = dispatch(cli, &setup, action, dry_run, argv[optind], &err);
    setup_daemon_free(setup.daemon);
    setup_free(&setup);
    if (status == OCV_ERR_CHECK && !err.message[0])
        return ocv_error_exit_code(OCV_ERR_CHECK);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
