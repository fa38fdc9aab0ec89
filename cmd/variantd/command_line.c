/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/variantd.h"
#include "lib/base/file.h"

#include <stdlib.h>

static int take_announce(const struct ocv_option_given *given, struct ocv_error *err)
{
    bool *announce = given->into;
    (void)err;
    *announce = ocv_option_word(given->option, given->value) == 0;
    return *announce ? OCV_OK : OCV_OPTION_WRONG;
}

static int take_taint_after(const struct ocv_option_given *given, struct ocv_error *err)
{
    int64_t *after_ms = given->into;
    if (!ocv_duration_parse(given->value, after_ms) || *after_ms <= 0)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "--startup-taint-after: not a time like 10m: '%.50s'", given->value);
    return OCV_OK;
}

static const struct ocv_option options[] = {
    {.name = "registry",
     .value = "HOST[=URL]",
     .help = "a registry that may be asked; again for more",
     OCV_OPTION_LIST(struct daemon, registries)},
    {.name = "layout",
     .value = "DIR",
     .help = "serve this OCI layout in place of a registry",
     OCV_OPTION_LIST(struct daemon, layouts)},
    {.name = "listen",
     .value = "ADDRESS:PORT",
     .help = "the mirror; loopback only (default " OCV_LISTEN ")",
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "socket",
     .value = "PATH",
     .help = "the API (default /run/ocivariant/variantd.sock)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "mode",
     .value = "auto|resolver|proxy",
     .help = "auto: resolver for requests with ?ns=, else proxy",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "profile",
     .value = "FILE|NAME",
     .help = "this profile instead of probing the node",
     OCV_OPTION_TEXT(struct daemon, cli.profile_file)},
    {.name = "once",
     .help = "probe at start only",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct daemon, flags.once)},
    {.name = "whole-node",
     .help = "also count GPUs that this container was not given\n"
             "(answers are for the whole node)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct daemon, flags.whole_node)},
    {.name = "check",
     .help = "check configuration and flags, and exit",
     OCV_OPTION_FLAG(struct daemon, check)},
    {.name = "probe-interval",
     .value = "TIME",
     .help = "probe at least this often (default 10m, 0: never)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "tag-ttl",
     .value = "TIME",
     .help = "how long a tag's digest is trusted (default 0)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "credentials",
     .value = "FILE",
     .help = "the daemon's own docker config or auth.json",
     .flags = OCV_OPTION_FULL,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "image-credential-provider-config",
     .value = "FILE",
     .help = "\nkubelet's configuration of its plug-ins, which are\n"
             "asked for credentials that are not in --credentials",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "image-credential-provider-bin-dir",
     .value = "DIR",
     .help = "\nwhere these plug-ins are",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "serve-private",
     .value = "true",
     .help = "let a GET answer with content that these can read",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "tag-rules",
     .value = "on|off",
     .help = "choose by tag rules, too (default off)",
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "cpu-levels",
     .value = "on|off",
     .help = "choose among amd64 levels and arm versions where an\n"
             "index has no variants, too (default off)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "choose",
     .value = "on|shadow|off",
     .help = "serve variants (on); shadow: only log and count them\n"
             "(and answer as for any image); off: do not resolve",
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "metrics-listen",
     .value = "ADDRESS:PORT",
     .help = "metrics on TCP, too",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "setup-report",
     .value = "FILE",
     .help = "result of the engine's set-up, for the metrics",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct daemon, report)},
    {.name = "announce",
     .value = "kubernetes",
     .help = "keep class and profile on this node's Kubernetes\n"
             "object (with the pod's token)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(take_announce, struct daemon, announce)},
    {.name = "startup-taint",
     .value = "KEY",
     .help = "when this serves, take that taint from this node's\n"
             "Kubernetes object (with the pod's token)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct daemon, startup_taint)},
    {.name = "startup-taint-after",
     .value = "TIME",
     .help = "take it from every node that has had it that long",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(take_taint_after, struct daemon, taint_after_ms)},
    {.name = "state-dir",
     .value = "DIR",
     .help = "what was resolved on this node\n"
             "(default " OCV_PATH_STATE ")",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "log",
     .value = "text|json",
     .help = "form of the log (default text)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "access-log",
     .value = "on|off",
     .help = "a line for each request (default on)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "namespace-priority",
     .value = "A,B",
     .names = "--namespace-priority, --disable, --require, --device-policy,\n"
              "  --devices, --override",
     .help = "\nas for vpull, for every request",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "disable",
     .value = "NS[::F[::V]]",
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "require",
     .value = "NS[::F[::V]]",
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "device-policy",
     .value = "NS=all|any|first",
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "devices", .value = "NS=0,2", OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    {.name = "override",
     .value = "NS::F=V,V",
     OCV_OPTION_MEMBER(cli_take_setting, struct daemon, cli)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantd [OPTIONS]\n\n"
             "Serve this node: its profile on a unix socket, and a registry mirror on loopback\n"
             "that answers a tag with the variant that fits. \"variantctl setup\" points\n"
             "containerd, Docker and podman to it.\n",
    .options = options,
    .details = "Every option is also a key of /etc/ocivariant/config.yaml, except --registry\n"
               "(there \"registries\"), --layout, --profile, --setup-report, --announce,\n"
               "--startup-taint, --startup-taint-after, --once, --whole-node and --check.\n"
               "OCV_* variables are ignored.\n"
               "SIGHUP: read the configuration and probe again. SIGTERM: finish running\n"
               "requests, then exit.\n",
    .end = "\nExamples:\n"
           "  variantd --check\n"
           "  variantd --registry docker.io --registry registry.example:5000 --choose shadow\n"
           "  variantd --layout /srv/images --listen 127.0.0.1:5050 --socket /tmp/v.sock\n"};

int daemon_read_options(struct daemon *d, int argc, char **argv)
{
    int code = cli_read(&d->cli, &command, d, argc, argv);
    if (code >= 0)
        return code;
    d->flags.once = d->flags.once || d->check;
    const char *state = getenv("STATE_DIRECTORY"); /* systemd's StateDirectory= */
    if (state && *state == '/') {
        snprintf(d->records, sizeof(d->records), "%.4000s/resolved", state);
        d->flags.records = d->records;
    }
    return -1;
}

int daemon_read_settings(struct daemon *d, struct settings **out, struct ocv_error *err)
{
    int status = cli_load(&d->cli, err);
    if (status == OCV_OK && d->cli.profile_file)
        status = cli_profile_path(d->cli.profile_file, d->profile, err);
    struct ocv_config *config = d->cli.config;
    d->cli.config = NULL; /* the settings own it now */
    if (status < 0) {
        ocv_config_free(config);
        return status;
    }
    d->flags.registries = d->registries.texts;
    d->flags.n_registries = d->registries.n;
    d->flags.layouts = d->layouts.texts;
    d->flags.n_layouts = d->layouts.n;
    d->flags.profile_file = d->cli.profile_file ? d->profile : NULL;
    d->flags.datadir = getenv("OCV_DATADIR"); /* says where data files are, not what they contain */
    return settings_make(config, &d->flags, out, err);
}
