/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/setup/verb/run.h"

#include "lib/base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PORT_MAX 65535u
#define REGISTRY_MAX 256 /* HOST[:PORT] with its NUL */

/* HOST[:PORT] as in references: no path, and valid as a directory name. */
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

static int take_registry(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct setup *setup = given->into;
    const char *text = given->value;
    if (!registry_valid(text))
        return ocv_error_set(err, OCV_ERR_INVALID, "--registry: '%.200s' is not HOST[:PORT]", text);
    /* Engines compare names byte by byte, and podman accepts no capitals in a mirror's path. */
    char host[REGISTRY_MAX];
    snprintf(host, sizeof(host), "%s", text);
    for (char *at = host; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    ocv_auto_free char *name = strdup(ocv_reference_host_canonical(host));
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

/* The address that engines use for the one the daemon binds to. "localhost" becomes 127.0.0.1: some
 * resolvers return ::1, where another user could listen on the same port. */
int setup_set_listen(struct setup *setup, const char *text, struct ocv_error *err)
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
        ocv_error_set(err, OCV_ERR_CONFIG, "listen: engines cannot be pointed to '%.200s'", text);
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

/* The tree to change: absolute, without a final slash. */
static int take_root(const struct ocv_option_given *given, struct ocv_error *err)
{
    char **root = given->into, *real = realpath(given->value, NULL);
    if (!real)
        return ocv_error_set(err, OCV_ERR_INVALID, "--root: %s: %s", given->value, strerror(errno));
    if (strcmp(real, "/") == 0)
        *real = '\0';
    free(*root);
    *root = real;
    return OCV_OK;
}

static int take_action(const struct ocv_option_given *given, struct ocv_error *err)
{
    enum setup_action *action = given->into, asked = SETUP_ACTION_STATUS;
    if (strcmp(given->option->name, "uninstall") == 0)
        asked = SETUP_ACTION_UNINSTALL;
    if (*action != SETUP_ACTION_SETUP && *action != asked)
        return ocv_error_set(err, OCV_ERR_INVALID, "--status and --uninstall exclude each other");
    *action = asked;
    return OCV_OK;
}

static int take_listen(const struct ocv_option_given *given, struct ocv_error *err)
{
    return setup_set_listen(given->into, given->value, err);
}

static int take_version(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct setup_version version = {0};
    *(const char **)given->into = given->value;
    return setup_parse_version(given->value, &version)
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_INVALID,
                               "--engine-version: '%.100s' is not MAJOR.MINOR", given->value);
}

static int take_json(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)err;
    *(const char **)given->into = "json";
    return OCV_OK;
}

#define REGISTRY(text)                                                                             \
    {                                                                                              \
        .name = "registry", .value = "HOST[:PORT]", .help = (text), OCV_OPTION_CALL(take_registry) \
    }
#define FAIL_CLOSED(text)                                                                 \
    {                                                                                     \
        .name = "fail-closed", .help = (text), OCV_OPTION_FLAG(struct setup, fail_closed) \
    }
#define HOSTS_ONLY(text)                                                \
    {                                                                   \
        .name = "hosts-only", .help = (text), .flags = OCV_OPTION_MORE, \
        OCV_OPTION_FLAG(struct setup, hosts_only)                       \
    }
#define CONFIG_DIR(text)                                                                \
    {                                                                                   \
        .name = "config-dir", .value = "DIR", .help = (text), .flags = OCV_OPTION_MORE, \
        OCV_OPTION_TEXT(struct setup, config_dir)                                       \
    }
#define ENGINE_CONFIG(text)                                                                 \
    {                                                                                       \
        .name = "engine-config", .value = "FILE", .help = (text), .flags = OCV_OPTION_MORE, \
        OCV_OPTION_TEXT(struct setup, engine_config)                                        \
    }
#define STORE(text)                                                     \
    {                                                                   \
        .name = "store", .value = "classic|containerd", .help = (text), \
        OCV_OPTION_WORD(struct setup, store)                            \
    }

/* Options that every engine's help lists. */
static const struct ocv_option common_options[] = {
    {.name = "dry-run",
     .help = "print a diff, change nothing",
     OCV_OPTION_FLAG(struct setup, dry_run)},
    {.name = "status",
     .help = "does it work? 0: yes; 5: no\n"
             "(variantd does not answer or lacks the registry, or a\n"
             "file is not as it was written)",
     OCV_OPTION_MEMBER(take_action, struct setup, action)},
    {.name = "uninstall",
     .help = "restore every file as it was\n"
             "(where others changed one since, remove only what\n"
             "the set-up put there)",
     OCV_OPTION_MEMBER(take_action, struct setup, action)},
    {.name = "format",
     .value = "text|json",
     .help = "of --status",
     OCV_OPTION_WORD(struct setup, format)},
    {.name = "json",
     .flags = OCV_OPTION_HIDDEN,
     OCV_OPTION_MEMBER(take_json, struct setup, format)},
    {.name = "listen",
     .value = "HOST:PORT",
     .help = "where variantd listens (configuration `listen`)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_CALL(take_listen)},
    {.name = "engine-version",
     .value = "V",
     .help = "do not ask the program for its version",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(take_version, struct setup, engine_version)},
    {.name = "root",
     .value = "DIR",
     .help = "change the tree under DIR (image builders)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(take_root, struct setup, root)},
    OCV_OPTIONS_END};

static const struct ocv_option any_options[] = {
    REGISTRY("for this registry; again for more"),
    FAIL_CLOSED("never pull past variantd (containerd, podman, CRI-O)"),
    HOSTS_ONLY(NULL),
    {.name = "config-dir",
     .value = "DIR",
     .names = "--config-dir DIR, --engine-config FILE",
     .help = "where the engine's files are",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct setup, config_dir)},
    ENGINE_CONFIG(NULL),
    STORE("Docker's image store, if it is not detected"),
    {.group = common_options},
    OCV_OPTIONS_END};

static const struct ocv_option containerd_options[] = {
    REGISTRY("for this registry; again for more (default: all)"),
    FAIL_CLOSED("never pull past variantd"),
    HOSTS_ONLY("do not change config.toml\n"
               "(exit status 5 where it has no config_path)"),
    CONFIG_DIR("directory of the hosts.toml files"),
    ENGINE_CONFIG("config.toml"),
    STORE(NULL),
    {.group = common_options},
    OCV_OPTIONS_END};

static const struct ocv_option docker_options[] = {
    REGISTRY("docker.io; with containerd's store any"),
    FAIL_CLOSED(NULL),
    HOSTS_ONLY(NULL),
    CONFIG_DIR("directory of daemon.json"),
    ENGINE_CONFIG("daemon.json"),
    STORE("the image store, if it is not detected"),
    {.group = common_options},
    OCV_OPTIONS_END};

/* podman and CRI-O read the same files. */
static const struct ocv_option containers_options[] = {
    REGISTRY("for this registry; again for more"),
    FAIL_CLOSED("never pull past variantd"),
    HOSTS_ONLY(NULL),
    CONFIG_DIR("directory of registries.conf"),
    ENGINE_CONFIG(NULL),
    STORE(NULL),
    {.group = common_options},
    OCV_OPTIONS_END};

#define KEEPS                                                                           \
    "Existing files are kept and backed up; a second run with other options replaces\n" \
    "the first one's result.\n"
#define OTHER_PLATFORM \
    "A tag then always means this machine's platform. For another one use a digest.\n"

#define ONE_ENGINE                          \
    {                                       \
        "at most one engine", 0, 1, 0, NULL \
    }

const struct cli_command setup_command = {
    .usage = "Usage: variantctl setup containerd|docker|podman|crio [OPTIONS]\n"
             "       variantctl setup [ENGINE] --status|--uninstall\n"
             "\n"
             "Write the configuration that makes an engine ask variantd for tags.\n"
             "'variantctl setup ENGINE --help' has the options of one engine.\n",
    .details =
        KEEPS "--status and --uninstall without an engine: all that are set up.\n"
              "A mirrored tag always means this machine's platform: engines do not pass on\n"
              "--platform or `skopeo copy --all`. For another platform use a digest, vpull\n"
              "--platform or --label, or variantd's /raw/. An engine that also builds starts\n"
              "from images for this machine: variants, and with `cpu_levels: on` amd64 levels.\n",
    .options = any_options,
    .arguments = ONE_ENGINE,
    .end = "\n"
           "Examples:\n"
           "  sudo variantctl setup docker --registry docker.io --dry-run\n"
           "  sudo variantctl setup podman --registry registry.example\n"
           "  sudo variantctl setup --status\n"};

const struct cli_command setup_containerd_command = {
    .usage = "Usage: variantctl setup containerd [OPTIONS]\n"
             "\n"
             "Have containerd ask variantd for tags: a hosts.toml for each registry, and the\n"
             "directory of them in config.toml.\n",
    .details = KEEPS,
    .options = containerd_options,
    .arguments = ONE_ENGINE,
    .end = "\n" OTHER_PLATFORM "\n"
           "Examples:\n"
           "  sudo variantctl setup containerd\n"
           "  sudo variantctl setup containerd --registry registry.example --fail-closed\n"
           "  sudo variantctl setup containerd --uninstall\n"};

const struct cli_command setup_docker_command = {
    .usage = "Usage: variantctl setup docker [OPTIONS]\n"
             "\n"
             "Have Docker ask variantd for tags: a registry mirror for docker.io in\n"
             "daemon.json; with containerd's image store a hosts.toml for each registry.\n",
    .details = KEEPS,
    .options = docker_options,
    .arguments = ONE_ENGINE,
    .end = "\n"
           "A tag then always means this machine's platform, in builds, too.\n"
           "\n"
           "Examples:\n"
           "  sudo variantctl setup docker --registry docker.io --dry-run\n"
           "  sudo variantctl setup docker --registry docker.io --store classic\n"
           "  sudo variantctl setup docker --uninstall\n"};

#define CONTAINERS(engine, text)                                                                \
    {                                                                                           \
        .usage = "Usage: variantctl setup " engine " [OPTIONS]\n\n" text, .details = KEEPS,     \
        .options = containers_options, .arguments = ONE_ENGINE,                                 \
        .end = "\n" OTHER_PLATFORM "\nExamples:\n"                                              \
               "  sudo variantctl setup " engine                                                \
               " --registry docker.io --registry registry.example\n"                            \
               "  sudo variantctl setup " engine " --registry registry.example --fail-closed\n" \
               "  sudo variantctl setup " engine " --uninstall\n"                               \
    }

const struct cli_command setup_podman_command = CONTAINERS(
    "podman", "Have podman (and buildah, skopeo) ask variantd for tags: a mirror for each\n"
              "registry in registries.conf.d. Not as root: for this user.\n");

const struct cli_command setup_crio_command = CONTAINERS(
    "crio", "Have CRI-O ask variantd for tags: a mirror for each in registries.conf.d.\n");
