/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl setup: have the container engines of this machine ask variantd. */
#include "setup/setup.h"
#include "verbs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum action { ACTION_SETUP, ACTION_UNINSTALL, ACTION_STATUS };

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
    CLI_COMMON_OPTIONS,
    CLI_OPTIONS_END};

static const struct engine {
    const char *name;
    int (*plan)(struct setup *setup, struct ocv_error *err);
    bool needs_registry;
} engines[] = {
    {"containerd", setup_containerd, false}, {"docker", setup_docker, true},
    {"podman", setup_containers, true},      {"crio", setup_containers, true},
    {"buildkit", setup_buildkit, true},
};

#define ENGINES (sizeof(engines) / sizeof(*engines))

static void print_help(void)
{
    fputs(
        "Usage: variantctl setup containerd|docker|podman|crio|buildkit [OPTIONS]\n"
        "       variantctl setup [ENGINE] --status\n\n"
        "Write the configuration that makes an engine ask variantd for tags. What is there is "
        "kept\n"
        "and backed up; a second run with other options changes the first one's result.\n\n"
        "Options:\n"
        "  --registry HOST[:PORT]   for this registry (repeat). containerd: all, if none is named\n"
        "  --dry-run                print a diff, change nothing\n"
        "  --uninstall              leave every file as it was; in files that others have changed\n"
        "                           since, take out only what the set-up put there\n"
        "  --status                 tell what is set up; 0: all as written, 5: not\n"
        "  --fail-closed            never pull past variantd (containerd, podman, CRI-O)\n"
        "  --listen HOST:PORT       where variantd listens (configuration `listen`)\n"
        "  --config-dir DIR         folder of hosts.toml files (containerd), of daemon.json\n"
        "                           (docker) or of registries.conf (podman, crio)\n"
        "  --engine-config FILE     config.toml, daemon.json or buildkitd.toml\n"
        "  --engine-version V       do not ask the program for its version\n"
        "  --store classic|containerd   Docker's image store, where it cannot be found out\n"
        "  --root DIR               change the tree under DIR (image builders)\n" CLI_COMMON_HELP
        "\nWhat a mirrored tag means is always this machine's platform: --platform and\n"
        "`skopeo copy --all` cannot be seen. Ways round: a digest, vpull --platform or --label,\n"
        "variantd's /raw/.\n",
        stdout);
}

/* ---- arguments --------------------------------------------------------------------------------
 */

/* HOST[:PORT] as references have it: never a path, never a name that a folder cannot have. */
static bool registry_valid(const char *text)
{
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
        return digits > 0 && digits <= 5 && text[n + 1 + digits] == '\0';
    }
    return text[n] == '\0' && strlen(text) < 256;
}

static int add_registry(struct setup *setup, const char *text, struct ocv_error *err)
{
    if (!registry_valid(text))
        return ocv_error_set(err, OCV_ERR_INVALID, "--registry: '%.200s' is not HOST[:PORT]", text);
    if (strcmp(text, "index.docker.io") == 0 || strcmp(text, "registry-1.docker.io") == 0)
        text = "docker.io";
    for (size_t i = 0; i < setup->n_registries; i++)
        if (strcmp(setup->registries[i], text) == 0)
            return OCV_OK;
    if (setup->n_registries == SETUP_REGISTRIES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u registries", SETUP_REGISTRIES_MAX);
    char *copy = strdup(text);
    if (!copy)
        return ocv_error_nomem(err);
    setup->registries[setup->n_registries++] = copy;
    return OCV_OK;
}

/* An address that the daemon binds to, as clients reach it. */
static int set_listen(struct setup *setup, const char *text, struct ocv_error *err)
{
    const char *colon = strrchr(text, ':');
    const char *host = "127.0.0.1";
    int n = (int)strlen(host);
    if (colon && colon > text && strncmp(text, "0.0.0.0:", 8) != 0 &&
        strncmp(text, "[::]:", 5) != 0) {
        host = text;
        n = (int)(colon - text);
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

static int take(int value, struct setup *setup, enum action *action, bool *dry_run,
                struct ocv_error *err)
{
    switch (value) {
    case OPTION_REGISTRY:
        return add_registry(setup, optarg, err);
    case OPTION_UNINSTALL:
        *action = ACTION_UNINSTALL;
        return OCV_OK;
    case OPTION_STATUS:
        *action = ACTION_STATUS;
        return OCV_OK;
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
        setup->engine_version = optarg;
        return OCV_OK;
    default:
        setup->store = optarg;
        return strcmp(optarg, "classic") == 0 || strcmp(optarg, "containerd") == 0
                   ? OCV_OK
                   : ocv_error_set(err, OCV_ERR_INVALID, "--store: classic or containerd, not '%s'",
                                   optarg);
    }
}

/* `listen` of the configuration that the daemon of that tree reads. */
static int finish_options(struct cli *cli, struct setup *setup, struct ocv_error *err)
{
    static const char config[] = "/etc/ocivariant/config.yaml";
    char *own = NULL;
    if (!setup->root && !(setup->root = strdup("")))
        return ocv_error_nomem(err);
    if (*setup->root && !cli->config_file) {
        own = setup_system_path(setup, config, err);
        if (!own)
            return OCV_ERR_NOMEM;
        cli->config_file = access(own, R_OK) == 0 ? own : "/dev/null";
    }
    int status = cli_load(cli, err);
    if (own && cli->config_file == own)
        cli->config_file = NULL;
    free(own);
    if (status < 0)
        return status;
    const char *listen = ocv_config_get(cli->config, "listen");
    if (!setup->listen)
        status = set_listen(setup, listen ? listen : SETUP_LISTEN_DEFAULT, err);
    for (size_t i = 0; i < 2 && status == OCV_OK; i++) {
        const char *path = i ? setup->engine_config : setup->config_dir;
        if (path && path[0] != '/')
            status = ocv_error_set(err, OCV_ERR_INVALID, "%s: an absolute path is needed", path);
    }
    const char *state = getenv("OCV_STATE_DIR");
    if (status == OCV_OK &&
        asprintf(&setup->state_dir, "%s/setup",
                 !*setup->root && state && *state ? state : "/var/lib/ocivariant") < 0) {
        setup->state_dir = NULL;
        return ocv_error_nomem(err);
    }
    if (status == OCV_OK && *setup->root) {
        char *inside = setup->state_dir;
        setup->state_dir = setup_system_path(setup, inside, err);
        free(inside);
        status = setup->state_dir ? OCV_OK : OCV_ERR_NOMEM;
    }
    return status;
}

/* ---- doing it ---------------------------------------------------------------------------------
 */

static int print_plan(const struct setup *setup, struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, SETUP_FILES_MAX * 4 * (size_t)SETUP_FILE_MAX);
    int status = OCV_OK;
    for (size_t i = 0; i < setup->n_files && status == OCV_OK; i++)
        if (setup_changes(setup->files[i]))
            status = setup_diff(setup->files[i]->path, &setup->files[i]->disk,
                                &setup->files[i]->want, &out, err);
    return status < 0 || out.len == 0 ? status : cli_print(out.data, out.len, err);
}

static size_t count_changes(const struct setup *setup)
{
    size_t n = 0;
    for (size_t i = 0; i < setup->n_files; i++)
        n += setup_changes(setup->files[i]);
    return n;
}

/* One at a time: whoever comes second sees the first one's state. */
static int lock_state(const struct setup *setup, int *fd, struct ocv_error *err)
{
    int status = setup_make_folders(setup->state_dir, 0700, err);
    if (status < 0)
        return status;
    *fd = open(setup->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0 || flock(*fd, LOCK_EX) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: cannot lock: %s", setup->state_dir,
                             strerror(errno));
    return OCV_OK;
}

static void say_result(const struct setup *setup, enum action action, bool dry_run, size_t changes)
{
    FILE *out = dry_run ? stderr : stdout;
    if (changes == 0 && action == ACTION_SETUP)
        fputs("nothing to change: all is as this set-up writes it\n", out);
    else if (changes == 0 && !setup->installed)
        fprintf(out, "%s is not set up\n", setup->engine);
    if (changes && setup->restart[0])
        fprintf(out, "due now: %s\n", setup->restart);
    if (action == ACTION_SETUP)
        fputs("note: a mirrored tag always means this machine's platform; --platform and `skopeo "
              "copy --all` cannot be seen.\n      Ways round: a digest, vpull --platform or "
              "--label, variantd's /raw/\n",
              out);
    if (action == ACTION_SETUP && setup->fail_closed)
        fputs("note: fail-closed: without variantd, or for a registry that it is not configured "
              "for, pulls fail\n",
              out);
}

/* What has to be told to the engine after files went back. */
static void restart_after_undo(struct setup *setup)
{
    static const struct {
        const char *engine, *file, *command;
    } known[] = {
        {"containerd", ".toml", "systemctl restart containerd"},
        {"docker", "daemon.json", "systemctl reload docker"},
        {"crio", ".conf", "systemctl reload crio"},
        {"buildkit", ".toml", "systemctl restart buildkit"},
    };
    for (size_t i = 0; i < setup->n_files; i++) {
        const char *path = setup->files[i]->path;
        size_t n = strlen(path);
        if (!setup_changes(setup->files[i]) || (n > 11 && !strcmp(path + n - 11, "/hosts.toml")))
            continue;
        for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
            if (!strcmp(setup->engine, known[k].engine))
                snprintf(setup->restart, sizeof(setup->restart), "%s", known[k].command);
    }
}

static int work(struct setup *setup, const struct engine *engine, enum action action, bool dry_run,
                struct ocv_error *err)
{
    int status = setup_undo(setup, err);
    if (status == OCV_OK && action == ACTION_SETUP)
        status = engine->plan(setup, err);
    if (status < 0)
        return status;
    size_t changes = count_changes(setup);
    if (action == ACTION_UNINSTALL)
        restart_after_undo(setup);
    else if (changes == 0)
        setup->restart[0] = '\0';
    if (setup->notes.len) /* a diff stays one that patch takes */
        fputs(setup->notes.data, dry_run ? stderr : stdout);
    status = dry_run ? print_plan(setup, err) : setup_apply(setup, err);
    if (status == OCV_OK)
        say_result(setup, action, dry_run, changes);
    return status;
}

static int run(struct setup *setup, const struct engine *engine, enum action action, bool dry_run,
               struct ocv_error *err)
{
    if (action == ACTION_SETUP && engine->needs_registry && setup->n_registries == 0) {
        ocv_error_set(err, OCV_ERR_INVALID, "setup %s needs --registry HOST, at least once",
                      engine->name);
        ocv_error_hint(err, "every tag of that registry will mean this machine's variant there");
        return OCV_ERR_INVALID;
    }
    int fd = -1, status = dry_run ? OCV_OK : lock_state(setup, &fd, err);
    if (status == OCV_OK)
        status = work(setup, engine, action, dry_run, err);
    if (fd >= 0) {
        char *slash = strrchr(setup->state_dir, '/');
        bool empty = rmdir(setup->state_dir) == 0; /* stays while there is a state */
        *slash = '\0';
        if (empty)
            rmdir(setup->state_dir); /* the project's, where nothing else is in it */
        *slash = '/';
        close(fd);
    }
    return status;
}

/* ---- status -----------------------------------------------------------------------------------
 */

static const char *record_status(struct setup *setup, const struct setup_record *record)
{
    struct setup_file *file = NULL;
    char digest[OCV_DIGEST_MAX] = "";
    struct ocv_error err = {0};
    if (setup_open(setup, record->path, &file, &err) < 0)
        return "cannot be read";
    if (!file->disk.there)
        return "missing";
    if (ocv_digest_bytes(file->disk.text.data, file->disk.text.len, digest, &err) < 0)
        return "cannot be read";
    if (record->n_written && strcmp(digest, record->written[0]) == 0)
        return NULL;
    return strcmp(digest, record->before) == 0 ? "as it was before the set-up"
                                               : "changed since by others";
}

/* One engine; `*good` is cleared where something is not as it was written. */
static int engine_status(struct setup *setup, bool *there, bool *good, struct ocv_error *err)
{
    struct setup_state state;
    int status = setup_load_state(setup, &state, err);
    if (status < 0)
        return status;
    *there = state.there;
    if (state.there) {
        printf("%s: set up for variantd at %s, %s", setup->engine,
               state.listen ? state.listen : "?", state.fail_closed ? "fail-closed" : "fail-open");
        for (size_t i = 0; i < state.n_registries; i++)
            printf("%s%s", i ? ", " : "; ", state.registries[i]);
        putchar('\n');
    } else {
        printf("%s: not set up\n", setup->engine);
    }
    for (size_t i = 0; i < state.n_records; i++) {
        const char *trouble = record_status(setup, &state.records[i]);
        printf("  %s: %s\n", state.records[i].path, trouble ? trouble : "as written");
        *good = *good && !trouble;
    }
    setup_state_free(&state);
    return OCV_OK;
}

static int show_status(struct setup *setup, const char *name, struct ocv_error *err)
{
    bool any = false, good = true;
    for (size_t i = 0; i < ENGINES; i++) {
        bool there = false;
        if (name && strcmp(name, engines[i].name) != 0)
            continue;
        setup->engine = engines[i].name;
        int status = engine_status(setup, &there, &good, err);
        if (status < 0)
            return status;
        any = any || there;
    }
    return any && good ? OCV_OK : OCV_ERR_CHECK;
}

/* ---- the verb ---------------------------------------------------------------------------------
 */

static const struct engine *find_engine(const char *name)
{
    for (size_t i = 0; name && i < ENGINES; i++)
        if (strcmp(engines[i].name, name) == 0)
            return &engines[i];
    return NULL;
}

static int dispatch(struct cli *cli, struct setup *setup, enum action action, bool dry_run,
                    const char *name, struct ocv_error *err)
{
    const struct engine *engine = find_engine(name);
    if (name ? !engine : action != ACTION_STATUS)
        return ocv_error_set(
            err, OCV_ERR_INVALID,
            "setup wants one of containerd, docker, podman, crio, buildkit%s%.100s",
            name ? ", not " : "", name ? name : "");
    int status = finish_options(cli, setup, err);
    if (status < 0)
        return status;
    if (action == ACTION_STATUS)
        return show_status(setup, name, err);
    setup->engine = engine->name;
    return run(setup, engine, action, dry_run, err);
}

int cmd_setup(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct setup setup = {.cli = cli};
    enum action action = ACTION_SETUP;
    bool dry_run = false;
    int value, index = 0, status = OCV_OK;
    ocv_buffer_init(&setup.notes, SETUP_FILE_MAX);
    while (status >= 0 && (value = getopt_long(argc, argv, ":v", options, &index)) != -1) {
        status = cli_option(cli, value, options, index, &err);
        if (status != 0)
            continue;
        if (value == CLI_OPTION_HELP || value == CLI_OPTION_VERSION) {
            if (value == CLI_OPTION_HELP)
                print_help();
            else
                cli_print_version(cli);
            setup_free(&setup);
            return 0;
        }
        if (value == '?' || value == ':') {
            setup_free(&setup);
            return cli_bad_option(cli, argv, value);
        }
        status = take(value, &setup, &action, &dry_run, &err);
    }
    if (status >= 0 && argc - optind > 1)
        status = ocv_error_set(&err, OCV_ERR_INVALID, "setup takes one engine, not '%s', too",
                               argv[optind + 1]);
    if (status >= 0)
        status = dispatch(cli, &setup, action, dry_run, argv[optind], &err);
    setup_free(&setup);
    if (status == OCV_ERR_CHECK && !err.message[0])
        return ocv_error_exit_code(OCV_ERR_CHECK);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
