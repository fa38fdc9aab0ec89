/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main thread while the daemon serves: signals, idle connections, the watchdog, and the stop.
 */
#include "cmd/common/daemons.h"
#include "cmd/variantd/common/log.h"
#include "cmd/variantd/fit/image_fit.h"
#include "cmd/variantd/instance/instance.h"
#include "cmd/variantd/node/node.h"
#include "cmd/variantd/variantd.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <string.h>

#define TICK_MS 1000
#define LOOK_MS 60000  /* interval of checking our own port without a watchdog */
#define DRAIN_MS 20000 /* longer requests are cut off: systemd would kill the daemon soon */
#define TURN_MS 50     /* of waiting for requests */

#define CHANGED_MAX 1024u

/* In a roll-out, daemons of two versions read one file: a key of the newer one is no reason to keep
 * what the older one has. A start has it as an error. */
static void warn_unknown(const char *message)
{
    log_line(LOG_LEVEL_WARNING, "%s: left out", message);
}

static void reload_configuration(struct daemon *d)
{
    struct ocv_error err = {0};
    struct settings *settings = NULL;
    struct instance *instance = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CHANGED_MAX);
    notify_send("RELOADING=1");
    d->cli.unknown_key = warn_unknown;
    int status = daemon_read_settings(d, &settings, &err);
    const struct settings *old = server_current(d->server)->instance->settings;
    if (status == OCV_OK &&
        (!ocv_text_same(settings->listen_address, old->listen_address) ||
         !ocv_text_same(settings->socket_path, old->socket_path) ||
         !ocv_text_same(settings->metrics_listen, old->metrics_listen) ||
         settings->log_json != old->log_json || settings->access_log != old->access_log))
        log_line(LOG_LEVEL_WARNING,
                 "listen, socket, metrics_listen, log and access_log take effect after a restart");
    if (status == OCV_OK)
        status = instance_new(settings, d->metrics, server_current(d->server)->instance, &instance,
                              &err);
    metrics_config_read(d->metrics, status == OCV_OK);
    if (status < 0 || !instance) {
        log_line(LOG_LEVEL_ERROR, "keeping the old configuration: %s", err.message);
    } else {
        node_compare(server_current(d->server)->instance->node, instance->node, "SIGHUP",
                     d->metrics);
        /* "choose shadow -> on, registries, credentials /etc/a.json": values that are a single word
         * are shown. */
        for (const char *const *key = ocv_config_keys(); *key && status == OCV_OK; key++) {
            const char *was = ocv_config_get(old->config, *key);
            const char *is = ocv_config_get(settings->config, *key);
            const char *before = text.len ? ", " : "";
            if (!ocv_config_differs(old->config, settings->config, *key))
                continue;
            if (!was && !is)
                status = ocv_buffer_printf(&text, NULL, "%s%s", before, *key);
            else
                status = ocv_buffer_printf(&text, NULL, "%s%s %s -> %s", before, *key,
                                           was ? was : "(default)", is ? is : "(default)");
        }
        log_line(LOG_LEVEL_INFO, "configuration read again: %s%s%s", text.len ? "changed: " : "",
                 text.len ? text.data : "nothing changed", status < 0 ? ", and more" : "");
        current_replace(server_current(d->server), instance);
        daemon_log_choose(settings->config);
        setup_report_read(d->report, d->metrics);
    }
    notify_send("READY=1");
}

/* Check the records again if the node has changed since: which images no longer fit? */
static void verify_images(struct daemon *d)
{
    const struct instance *instance = server_current(d->server)->instance;
    uint64_t generation = node_generation(instance->node);
    if (d->verified == instance && d->verified_generation == generation)
        return;
    d->verified = instance;
    d->verified_generation = generation;
    fit_review_records(instance, d->metrics);
    uint64_t unknown = 0;
    (void)!unknown_names(instance, &unknown, NULL);
    metrics_set(d->metrics, METRIC_CONFIG_UNKNOWN_NAMES, unknown);
}

/* Announce to Kubernetes if the node's profile has changed. */
static void announce_node(struct daemon *d)
{
    const struct instance *instance = server_current(d->server)->instance;
    uint64_t generation = node_generation(instance->node);
    if (!d->announcer || (d->announced == instance && d->announced_generation == generation))
        return;
    d->announced = instance;
    d->announced_generation = generation;
    const struct snapshot *snapshot = node_get(instance->node);
    announcer_update(d->announcer, snapshot->profile);
    node_put(snapshot);
}

static void check_itself(struct daemon *d)
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
                 server_current(d->server)->address);
    else if (!foreign && d->foreign)
        log_line(LOG_LEVEL_INFO, "answering at %s again", server_current(d->server)->address);
    d->foreign = foreign;
    metrics_set(d->metrics, METRIC_FOREIGN_LISTENER, foreign);
    if (found != SELFCHECK_DEAD)
        notify_send("WATCHDOG=1");
    else if (d->watchdog_ms)
        log_line(LOG_LEVEL_ERROR, "no answer from our own port: waiting for the watchdog");
}

static bool wait_a_turn(struct daemon *d, const sigset_t *signals)
{
    const struct timespec step = {.tv_nsec = (long)TURN_MS * 1000 * 1000};
    int signal = sigtimedwait(signals, NULL, &step);
    server_tick(d->server);
    return signal != SIGTERM && signal != SIGINT; /* a second signal */
}

/* Let requests end. Under a service manager, which keeps the socket for the next start, new clients
 * are served while older requests last, and wait in the backlog from then on; but not longer than
 * START_QUEUE_MS before and after the next start begins. Else they are refused, and go to the
 * registry themselves. */
static void drain(struct daemon *d, const sigset_t *signals, int signal)
{
    int64_t until = ocv_clock_ms() + DRAIN_MS;
    bool queues = notify_keeps(), waits = true;
    size_t busy, n = server_connections(d->server, &busy);
    log_line(LOG_LEVEL_INFO,
             "%s: draining %zu %s (%zu with a request) for up to %d s; new clients %s",
             signal == SIGTERM ? "SIGTERM" : "SIGINT", n, n == 1 ? "connection" : "connections",
             busy, DRAIN_MS / 1000, queues ? "wait for the next start" : "are refused");
    notify_send("STOPPING=1");
    server_stopping(d->server);
    while (queues && waits && server_has_old_requests(d->server) &&
           ocv_clock_ms() < until - 2 * (int64_t)START_QUEUE_MS)
        waits = wait_a_turn(d, signals);
    int fd = server_drain(d->server);
    int64_t listens = ocv_clock_ms() + START_QUEUE_MS;
    if (queues) /* no other program gets the port until the next start */
        notify_store(fd, MIRROR_SOCKET);
    else
        listen_hold(fd);
    while (waits && ocv_clock_ms() < until &&
           (!current_idle(server_current(d->server)) || server_expects(d->server))) {
        if (queues && ocv_clock_ms() >= listens) {
            listen_hold(fd);
            queues = false;
        }
        waits = wait_a_turn(d, signals);
    }
}

int daemon_serve(struct daemon *d, const sigset_t *signals)
{
    d->watchdog_ms = notify_watchdog_ms();
    const struct settings *s = server_current(d->server)->instance->settings;
    const char *address = server_current(d->server)->address;
    static const char *const modes[] = {"auto", "resolver", "proxy"};
    log_line(LOG_LEVEL_INFO, "mirror on %.*s:%u (%s), API on %s",
             (int)(strrchr(address, ':') - address), address, server_current(d->server)->port,
             modes[s->mode], server_socket(d->server));
    for (size_t i = 0; i < s->n_upstreams; i++)
        log_line(LOG_LEVEL_INFO, "registry %s%s%s", s->upstreams[i].name,
                 s->upstreams[i].layout ? ": OCI layout " : "",
                 s->upstreams[i].layout ? s->upstreams[i].layout : "");
    if (s->n_upstreams == 0)
        log_line(LOG_LEVEL_WARNING, "no registry is configured (--registry HOST): the mirror "
                                    "answers every name with 404");
    daemon_log_choose(s->config);
    setup_report_read(d->report, d->metrics);
    notify_send("READY=1");
    announce_node(d);
    verify_images(d); /* drivers are often changed while the daemon is down */
    int signal = 0;
    for (;;) {
        int64_t wait = d->watchdog_ms && d->watchdog_ms < TICK_MS ? d->watchdog_ms : TICK_MS;
        const struct timespec step = {.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000};
        signal = sigtimedwait(signals, NULL, &step);
        if (signal == SIGTERM || signal == SIGINT)
            break;
        if (signal == SIGHUP) {
            d->watchdog_due = 0; /* probing takes long if a library hangs */
            check_itself(d);
            reload_configuration(d);
        }
        server_tick(d->server);
        verify_images(d);
        announce_node(d);
        check_itself(d);
    }

    drain(d, signals, signal);
    size_t busy;
    (void)server_connections(d->server, &busy);
    if (current_idle(server_current(d->server)))
        log_line(LOG_LEVEL_INFO, "draining is done: every request has ended");
    else
        log_line(LOG_LEVEL_WARNING, "%zu %s cut off in a request", busy,
                 busy == 1 ? "connection is" : "connections are");
    return 0;
}
