/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantd: the node's profile service and resolving registry mirror. The main thread starts
 * everything, then waits for signals and looks after idle connections and the watchdog. */
#include "cmd/common/cli.h"
#include "cmd/common/notify.h"
#include "cmd/variantd/common/log.h"
#include "cmd/variantd/common/settings_make.h"
#include "cmd/variantd/fit/image_fit.h"
#include "cmd/variantd/instance/unknown_names.h"
#include "cmd/variantd/selfcheck.h"
#include "cmd/variantd/server.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/paths.h"
#include "lib/records/records.h"

#include <errno.h>
#include <linux/capability.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIST_MAX 256u
#define TICK_MS 1000
#define LOOK_MS 60000   /* after our own port, where no watchdog asks more often */
#define MIRROR "mirror" /* what the service manager calls the socket that it keeps for us */
#define END_S 5         /* nor does what is cut take longer */
#define DRAIN_MS 20000  /* what still runs after this is cut: systemd would kill us soon */

enum { OPTION_LISTEN = 1, OPTION_REGISTRY, OPTION_LAYOUT, OPTION_ONCE, OPTION_CHECK };

static const struct option options[] = {
    {"registry", required_argument, NULL, OPTION_REGISTRY},
    {"layout", required_argument, NULL, OPTION_LAYOUT},
    {"once", no_argument, NULL, OPTION_ONCE},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"profile", required_argument, NULL, CLI_OPTION_PROFILE},
    {"listen", required_argument, NULL, CLI_OPTION_FLAG},
    {"socket", required_argument, NULL, CLI_OPTION_FLAG},
    {"mode", required_argument, NULL, CLI_OPTION_FLAG},
    {"tag-ttl", required_argument, NULL, CLI_OPTION_FLAG},
    {"probe-interval", required_argument, NULL, CLI_OPTION_FLAG},
    {"credentials", required_argument, NULL, CLI_OPTION_FLAG},
    {"serve-private", required_argument, NULL, CLI_OPTION_FLAG},
    {"tag-rules", required_argument, NULL, CLI_OPTION_FLAG},
    {"cpu-levels", required_argument, NULL, CLI_OPTION_FLAG},
    {"choose", required_argument, NULL, CLI_OPTION_FLAG},
    {"metrics-listen", required_argument, NULL, CLI_OPTION_FLAG},
    {"state-dir", required_argument, NULL, CLI_OPTION_FLAG},
    {"log", required_argument, NULL, CLI_OPTION_FLAG},
    {"access-log", required_argument, NULL, CLI_OPTION_FLAG},
    {"namespace-priority", required_argument, NULL, CLI_OPTION_FLAG},
    {"disable", required_argument, NULL, CLI_OPTION_FLAG},
    {"require", required_argument, NULL, CLI_OPTION_FLAG},
    {"device-policy", required_argument, NULL, CLI_OPTION_FLAG},
    {"devices", required_argument, NULL, CLI_OPTION_FLAG},
    {"override", required_argument, NULL, CLI_OPTION_FLAG},
    CLI_COMMON_OPTIONS,
    CLI_OPTIONS_END};

static const char help[] =
    "Usage: variantd [OPTIONS]\n\n"
    "Serve this node: its profile on a unix socket, and a registry mirror on loopback that\n"
    "answers a tag with the variant that fits. \"variantctl setup\" points containerd, "
    "Docker\nand podman to it.\n\nOptions:\n"
    "  --registry HOST[=URL]    a registry that may be asked; again for more\n"
    "  --layout DIR             serve this OCI layout in place of a registry\n"
    "  --listen ADDRESS:PORT    the mirror; loopback only (default " OCV_LISTEN ";\n"
    "                           " OCV_LISTEN_UNPRIVILEGED " without CAP_NET_BIND_SERVICE)\n"
    "  --socket PATH            the API (default /run/ocivariant/variantd.sock)\n"
    "  --mode auto|resolver|proxy   auto: resolver for requests with ?ns=, else proxy\n"
    "  --profile FILE           this profile instead of probing the node\n"
    "  --once                   probe at start only\n"
    "  --check                  say whether configuration and flags are sound, then end\n"
    "  --probe-interval TIME    probe again at least so often (default 10m, 0: never)\n"
    "  --tag-ttl TIME           do not ask upstream again for so long (default 0)\n"
    "  --credentials FILE       the daemon's own docker config or auth.json\n"
    "  --serve-private true     let a GET answer with what needed those credentials\n"
    "  --tag-rules on|off       variants by tag rules, too (default off)\n"
    "  --cpu-levels on|off      choose among amd64 levels and arm versions of ordinary\n"
    "                           indexes, too (default off)\n"
    "  --choose on|shadow|off   serve variants; shadow: log and count what would be served,\n"
    "                           and answer as for any image; off: do not look (default on)\n"
    "  --metrics-listen ADDRESS:PORT   metrics on TCP, too\n"
    "  --state-dir DIR          what was resolved on this node (default " OCV_PATH_STATE ")\n"
    "  --log text|json          form of the log (default text)\n"
    "  --access-log on|off      a line for each request (default on)\n"
    "  --namespace-priority, --disable, --require, --device-policy, --devices, --override\n"
    "                           as for vpull, for every request\n" CLI_COMMON_HELP
    "\nEvery option is also a key of /etc/ocivariant/config.yaml, but --registry (there\n"
    "\"registries\"), --layout, --profile, --once and --check. OCV_* variables are ignored.\n"
    "SIGHUP: read the configuration and probe again. SIGTERM: finish what runs, then end.\n";

struct daemon {
    struct cli cli;
    const char *registries[LIST_MAX], *layouts[LIST_MAX];
    char records[4096];
    struct settings_flags flags;
    bool check; /* --check */
    struct metrics *metrics;
    struct server *server;
    int64_t watchdog_ms, watchdog_due;
    bool foreign;                    /* another program answers in our place */
    const struct instance *verified; /* the records were judged for this one */
    uint64_t verified_generation;
};

/* ---- starting ----------------------------------------------------------------------------------
 */

static int add(const char **list, size_t *n, const char *text, const char *option,
               struct ocv_error *err)
{
    if (*n == LIST_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u of %s", LIST_MAX, option);
    list[(*n)++] = text;
    return OCV_OK;
}

/* 1: go on; 0: done (--help); else an exit code, negative. */
static int read_options(struct daemon *d, int argc, char **argv)
{
    struct ocv_error err = {0};
    int value, code = -1;
    while (cli_next_option(&d->cli, argc, argv, options, help, &value, &code)) {
        int status = OCV_OK;
        if (value == OPTION_REGISTRY)
            status = add(d->registries, &d->flags.n_registries, optarg, "--registry", &err);
        else if (value == OPTION_LAYOUT)
            status = add(d->layouts, &d->flags.n_layouts, optarg, "--layout", &err);
        else if (value == OPTION_ONCE)
            d->flags.once = true;
        else if (value == OPTION_CHECK)
            d->check = d->flags.once = true;
        if (status < 0)
            return -cli_fail(&d->cli, &err);
    }
    if (code >= 0)
        return -code;
    if (optind < argc) {
        ocv_error_set(&err, OCV_ERR_INVALID, "unexpected argument '%s'", argv[optind]);
        return -cli_fail(&d->cli, &err);
    }
    return 1;
}

/* Once, before there are threads: all settings borrow the text. */
static void find_records(struct daemon *d)
{
    const char *state = getenv("STATE_DIRECTORY"); /* systemd's StateDirectory= */
    if (!state || *state != '/')
        return;
    snprintf(d->records, sizeof(d->records), "%.4000s/resolved", state);
    d->flags.records = d->records;
}

/* Configuration files and flags, read again. */
static int read_settings(struct daemon *d, struct settings **out, struct ocv_error *err)
{
    int status = cli_load(&d->cli, err);
    struct ocv_config *config = d->cli.config;
    d->cli.config = NULL; /* the settings' from here on */
    if (status < 0) {
        ocv_config_free(config);
        return status;
    }
    d->flags.registries = d->registries;
    d->flags.layouts = d->layouts;
    d->flags.profile_file = d->cli.profile_file;
    d->flags.datadir = getenv("OCV_DATADIR"); /* where files lie, not what they say */
    return settings_make(config, &d->flags, out, err);
}

/* Ten thousand idle clients must not use up the descriptors. */
static void raise_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* A burst of blobs must not leave its marks: what many threads took from few heaps can be given
 * back, and buffers of transfers have pages of their own, which go when they are freed. */
static void tame_malloc(void)
{
    (void)mallopt(M_ARENA_MAX, 2);
    (void)mallopt(M_MMAP_THRESHOLD, 64 * 1024);
}

/* A node that serves no variants says so. */
static void log_choose(const struct ocv_config *config)
{
    static const char *const means[] = {
        [OCV_CHOOSE_SHADOW] = "variants are resolved, logged and counted, and not served",
        [OCV_CHOOSE_OFF] = "variants are not resolved"};
    enum ocv_choose choose = ocv_config_choose(config);
    if (choose != OCV_CHOOSE_ON)
        log_line(LOG_LEVEL_WARNING, "choose is %s: %s", ocv_choose_name(choose), means[choose]);
    for (int i = OCV_CHOOSE_ON; i <= OCV_CHOOSE_OFF; i++)
        if (i != (int)choose &&
            ocv_config_any_repository(config, "choose", ocv_choose_name((enum ocv_choose)i)))
            log_line(LOG_LEVEL_INFO, "choose is %s for some repositories",
                     ocv_choose_name((enum ocv_choose)i));
}

static void announce(const struct daemon *d)
{
    const struct settings *s = server_instance(d->server)->settings;
    const char *address = server_address(d->server);
    static const char *const modes[] = {"auto", "resolver", "proxy"};
    log_line(LOG_LEVEL_INFO, "mirror on %.*s:%u (%s), API on %s",
             (int)(strrchr(address, ':') - address), address, server_port(d->server),
             modes[s->mode], server_socket(d->server));
    for (size_t i = 0; i < s->n_upstreams; i++)
        log_line(LOG_LEVEL_INFO, "registry %s%s%s", s->upstreams[i].name,
                 s->upstreams[i].layout ? ": OCI layout " : "",
                 s->upstreams[i].layout ? s->upstreams[i].layout : "");
    if (s->n_upstreams == 0)
        log_line(LOG_LEVEL_WARNING, "no registry is configured (--registry HOST): the mirror "
                                    "answers every name with 404");
    log_choose(s->config);
}

/* What is recorded without its repository would speak for any. */
static void discard_old_records(const struct settings *settings)
{
    size_t n = ocv_record_discard_old(settings->records);
    if (n)
        log_line(LOG_LEVEL_INFO,
                 "%zu records of an earlier version are discarded, for they do not say of which "
                 "repository they are: %s",
                 n, settings->records);
}

/* Hooks, verify and the review after a driver's change know what was recorded, and no more. */
static void warn_of_records(const struct settings *settings)
{
    int fault = settings_records_fault(settings);
    if (fault)
        log_line(LOG_LEVEL_WARNING,
                 "what is chosen is not recorded: cannot write to %s: %s; state_dir names another "
                 "directory, and a service needs it as StateDirectory=",
                 settings->records, strerror(fault));
}

/* The right to a port below 1024 is not for the threads and programs that come now. Root, by hand,
 * is root. */
static void drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (geteuid() == 0)
        return;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &head, none) < 0)
        log_line(LOG_LEVEL_WARNING, "cannot drop capabilities: %s", strerror(errno));
}

static int start(struct daemon *d, struct ocv_error *err)
{
    struct settings *settings = NULL;
    struct instance *instance = NULL;
    struct listening mirror = {.fd = -1};
    int unix_fd = -1;
    find_records(d);
    int status = notify_listen_socket(&unix_fd, err);
    if (status == OCV_OK)
        status = read_settings(d, &settings, err);
    if (status < 0 || !settings)
        return status;
    log_setup(settings->log_json, d->cli.verbose, settings->access_log);
    discard_old_records(settings);
    warn_of_records(settings);
    status = metrics_new(&d->metrics, err);
    if (status == OCV_OK)
        status = listen_mirror(settings, notify_stored(MIRROR), &mirror, err);
    if (status < 0) {
        settings_free(settings);
        return status;
    }
    drop_capabilities();
    status = instance_new(settings, d->metrics, NULL, &instance, err);
    if (status == OCV_OK && (status = unknown_names_check_flags(instance, err)) < 0)
        instance_free(instance);
    if (status < 0) {
        close(mirror.fd);
        return status;
    }
    metrics_config_read(d->metrics, true);
    return server_new(instance, d->metrics, &mirror, unix_fd, &d->server, err);
}

/* What a start would read, and no socket: as `nginx -t`. Names that a start only warns of count. */
static int check(struct daemon *d, struct ocv_error *err)
{
    struct settings *settings = NULL;
    struct instance *instance = NULL;
    uint64_t unknown = 0;
    find_records(d);
    int status = read_settings(d, &settings, err);
    if (status == OCV_OK)
        status = metrics_new(&d->metrics, err);
    if (status < 0)
        settings_free(settings);
    else
        status = instance_new(settings, d->metrics, NULL, &instance, err);
    if (status == OCV_OK)
        unknown = unknown_names_count(instance);
    instance_free(instance);
    const char *file = d->cli.config_file ? d->cli.config_file : OCV_PATH_CONFIG;
    if (status < 0)
        cli_fail(&d->cli, err);
    int code = status < 0 || unknown ? ocv_error_exit_code(OCV_ERR_CONFIG) : 0;
    fprintf(stderr, "%s: the configuration (%s) is %ssound\n", d->cli.program, file,
            code ? "not " : "");
    return code;
}

/* ---- running -----------------------------------------------------------------------------------
 */

static bool differ(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") != 0;
}

static void reload(struct daemon *d)
{
    struct ocv_error err = {0};
    struct settings *settings = NULL;
    struct instance *instance = NULL;
    notify_send("RELOADING=1");
    int status = read_settings(d, &settings, &err);
    const struct settings *old = server_instance(d->server)->settings;
    if (status == OCV_OK &&
        (differ(settings->listen_address, old->listen_address) ||
         differ(settings->socket_path, old->socket_path) ||
         differ(settings->metrics_listen, old->metrics_listen) ||
         settings->log_json != old->log_json || settings->access_log != old->access_log))
        log_line(LOG_LEVEL_WARNING, "listen, socket, metrics_listen, log and access_log change "
                                    "with a restart only");
    if (status == OCV_OK)
        status = instance_new(settings, d->metrics, server_instance(d->server), &instance, &err);
    metrics_config_read(d->metrics, status == OCV_OK);
    if (status < 0) {
        log_line(LOG_LEVEL_ERROR, "the old configuration stays: %s", err.message);
    } else {
        instance_log_changes(server_instance(d->server), instance, d->metrics);
        server_replace(d->server, instance);
        log_line(LOG_LEVEL_INFO, "configuration read again");
        log_choose(settings->config);
    }
    notify_send("READY=1");
}

/* The node is another one than the records were judged for: which images no longer fit? */
static void verify(struct daemon *d)
{
    const struct instance *instance = server_instance(d->server);
    uint64_t generation = node_generation(instance->node);
    if (d->verified == instance && d->verified_generation == generation)
        return;
    d->verified = instance;
    d->verified_generation = generation;
    fit_review_records(instance, d->metrics);
    metrics_unknown_names(d->metrics, unknown_names_count(instance));
}

static void watchdog(struct daemon *d)
{
    if (ocv_clock_ms() < d->watchdog_due)
        return;
    d->watchdog_due = ocv_clock_ms() + (d->watchdog_ms ? d->watchdog_ms : LOOK_MS);
    enum selfcheck found = selfcheck(d->server);
    bool foreign = found == SELFCHECK_FOREIGN;
    if (foreign && !d->foreign)
        log_line(LOG_LEVEL_ERROR,
                 "another program answers at %s, where engines ask this node's mirror: look for a "
                 "redirection (nft list ruleset) and for the listener (ss -ltnp)",
                 server_address(d->server));
    else if (!foreign && d->foreign)
        log_line(LOG_LEVEL_INFO, "we answer at %s again", server_address(d->server));
    d->foreign = foreign;
    metrics_usurped(d->metrics, foreign);
    if (found != SELFCHECK_DEAD)
        notify_send("WATCHDOG=1");
    else if (d->watchdog_ms)
        log_line(LOG_LEVEL_ERROR, "no answer from our own port: waiting for the watchdog");
}

static int drain(struct daemon *d, const sigset_t *signals, const char *cause)
{
    const struct timespec step = {.tv_nsec = 50 * 1000 * 1000};
    int64_t until = ocv_clock_ms() + DRAIN_MS;
    size_t busy, n = server_connections(d->server, &busy);
    log_line(LOG_LEVEL_INFO,
             "%s: draining %zu %s (%zu with a request) for up to %d s; new clients are refused",
             cause, n, n == 1 ? "connection" : "connections", busy, DRAIN_MS / 1000);
    notify_send("STOPPING=1");
    notify_store(server_drain(d->server),
                 MIRROR); /* no other program gets it before the next start */
    while (!server_idle(d->server) && ocv_clock_ms() < until) {
        int signal = sigtimedwait(signals, NULL, &step);
        if (signal == SIGTERM || signal == SIGINT)
            break; /* asked twice */
        server_tick(d->server);
    }
    (void)server_connections(d->server, &busy);
    if (server_idle(d->server))
        log_line(LOG_LEVEL_INFO, "draining is done: every request has ended");
    else
        log_line(LOG_LEVEL_WARNING, "%zu %s cut off in a request", busy,
                 busy == 1 ? "connection is" : "connections are");
    return 0;
}

static int serve(struct daemon *d, const sigset_t *signals)
{
    d->watchdog_ms = notify_watchdog_ms();
    announce(d);
    notify_send("READY=1");
    verify(d); /* a driver is seldom changed without a restart */
    for (;;) {
        int64_t wait = d->watchdog_ms && d->watchdog_ms < TICK_MS ? d->watchdog_ms : TICK_MS;
        const struct timespec step = {.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000};
        int signal = sigtimedwait(signals, NULL, &step);
        if (signal == SIGTERM || signal == SIGINT)
            return drain(d, signals, signal == SIGTERM ? "SIGTERM" : "SIGINT");
        if (signal == SIGHUP) {
            d->watchdog_due = 0; /* a probe takes its time where libraries hang */
            watchdog(d);
            reload(d);
        }
        server_tick(d->server);
        verify(d);
        watchdog(d);
    }
}

/* A registry that floods holds its thread inside libcurl, where nothing reaches it. Nothing that is
 * lost so would be there after a kill. */
static void *end_anyway(void *code)
{
    sleep(END_S);
    log_line(LOG_LEVEL_WARNING, "what still runs does not end: cut off");
    _exit((int)(intptr_t)code);
}

static void start_end(int code)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_anyway, (void *)(intptr_t)code) == 0)
        pthread_detach(thread);
}

int main(int argc, char **argv)
{
    struct daemon d = {0};
    struct ocv_error err = {0};
    sigset_t signals;
    cli_init(&d.cli, "variantd");
    d.cli.no_environment = true;
    int code = read_options(&d, argc, argv);
    if (code <= 0)
        return cli_quit(&d.cli, -code);
    /* blocked before there are threads: only the main thread takes them */
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    raise_limits();
    tame_malloc();
    if (d.check)
        code = check(&d, &err);
    else
        code = start(&d, &err) < 0 ? cli_fail(&d.cli, &err) : serve(&d, &signals);
    start_end(code);
    server_free(d.server);
    metrics_free(d.metrics);
    cli_free(&d.cli);
    return code;
}
