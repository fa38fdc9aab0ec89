/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ocivariant-node-setup: run by a DaemonSet's init container on each node before variantd.
 *
 * A node whose engine cannot be set up still gets the daemon: the failure is reported, and the pod
 * starts. So every exit but wrong usage is 0, except when the set-up is undone. */
#include "cmd/common/cli.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"
#include "plugins/kubernetes/node_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

struct node_setup {
    struct cli cli;
    struct engine_setup engine;
    const char *report, *account;
    struct ocv_option_list own;
    bool stay;
};

static const struct ocv_option options[] = {
    {.name = "root",
     .value = "DIR",
     .help = "the node's file system",
     OCV_OPTION_TEXT(struct node_setup, engine.root)},
    {.name = "engine-config",
     .value = "FILE",
     .help = "containerd's configuration\n"
             "(/etc/containerd/config.toml)",
     OCV_OPTION_TEXT(struct node_setup, engine.engine_config)},
    {.name = "edit-engine-config",
     .help = "change that, too, if it has no config_path; then\n"
             "containerd has to be restarted",
     OCV_OPTION_FLAG(struct node_setup, engine.edit_config)},
    {.name = "report",
     .value = "FILE",
     .help = "one line for variantd's --setup-report",
     OCV_OPTION_TEXT(struct node_setup, report)},
    {.name = "own",
     .value = "UID:DIR",
     .help = "give DIR to that user, who runs variantd; again for\n"
             "more",
     OCV_OPTION_LIST(struct node_setup, own)},
    {.name = "service-account",
     .value = "DIR",
     .help = "token and ca.crt\n(" ACCOUNT ")",
     OCV_OPTION_TEXT(struct node_setup, account)},
    {.name = "remove", .help = "undo it", OCV_OPTION_FLAG(struct node_setup, engine.remove)},
    {.name = "stay",
     .help = "do not end before SIGTERM, as a DaemonSet's pods have\n"
             "to; without --root nothing else is done",
     OCV_OPTION_FLAG(struct node_setup, stay)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: " NODE_SETUP " --root DIR [OPTIONS]\n\n"
             "Have the containerd of the node whose file system is DIR ask variantd for the\n"
             "tags of the registries that the configuration names, as `variantctl setup\n"
             "containerd --hosts-only` does. Where containerd's configuration has no\n"
             "config_path, it changes nothing: a line on standard error, the report and, in a\n"
             "pod, an event say so, and the exit status is 0, so that variantd starts.\n",
    .options = options,
    .end = ""};

/* "UID:DIR": changes the owner of the directory itself, not of a link's target or of its content.
 */
static int give_directory(const char *text, struct ocv_error *err)
{
    char *end;
    unsigned long uid = strtoul(text, &end, 10);
    if (end == text || *end != ':' || end[1] != '/' || uid > INT32_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "--own: '%.200s' is not UID:DIR", text);
    ocv_auto_fd int fd = open(end + 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchown(fd, (uid_t)uid, (gid_t)uid) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: cannot make it user %lu's: %s", end + 1, uid,
                             strerror(errno));
    return OCV_OK;
}

static int set_up_node(struct node_setup *s, struct ocv_error *err)
{
    static const char *const what[] = {"configured", "not configured", "failed"};
    char reason[REASON_MAX] = "no registry is configured";
    enum node_state state = NODE_NOT_CONFIGURED;
    for (size_t i = 0; i < s->own.n; i++) {
        int status = give_directory(s->own.texts[i], err);
        if (status < 0 && err->status == OCV_ERR_INVALID)
            return status;
        if (status < 0)
            fprintf(stderr, NODE_SETUP ": %s\n", err->message);
        *err = (struct ocv_error){0};
    }
    if (!s->engine.remove) {
        const struct ocv_registry_config *registries;
        OCV_TRY(cli_load(&s->cli, err));
        size_t n = ocv_config_registries(s->cli.config, &registries);
        for (size_t i = 0; i < n && i < ENGINE_REGISTRIES_MAX; i++)
            s->engine.registries[s->engine.n_registries++] = registries[i].host;
    }
    if (s->engine.n_registries || s->engine.remove)
        state = engine_set_up(&s->engine, reason);
    if (s->engine.remove)
        return state == NODE_CONFIGURED ? OCV_OK : ocv_error_set(err, OCV_ERR_IO, "%s", reason);

    /* Log failures for the user; then report to variantd and Kubernetes. */
    struct ocv_error failure = {0};
    char text[REASON_MAX];
    snprintf(text, sizeof(text), "containerd: %s: %.400s", what[state], reason);
    if (state != NODE_CONFIGURED)
        fprintf(stderr, NODE_SETUP ": %s\n", text);
    if (s->report && report_write(s->report, state, text, &failure) < 0)
        fprintf(stderr, NODE_SETUP ": %s\n", failure.message);
    failure = (struct ocv_error){0};
    if (state != NODE_CONFIGURED &&
        report_event(s->account ? s->account : ACCOUNT, state, text, &failure) < 0)
        fprintf(stderr, NODE_SETUP ": no event: %s\n", failure.message);
    return OCV_OK;
}

int main(int argc, char **argv)
{
    struct node_setup s = {.engine = {.config_file = "/etc/ocivariant/config.yaml"}};
    struct ocv_error err = {0};
    int status = OCV_OK;
    cli_init(&s.cli, NODE_SETUP);
    s.cli.no_environment = true;
    int code = cli_read(&s.cli, &command, &s, argc, argv);
    if (code >= 0)
        return cli_quit(&s.cli, code);
    if (!(s.engine.root || s.stay))
        status = ocv_error_set(&err, OCV_ERR_INVALID, "--root DIR is needed");
    if (s.cli.config_file)
        s.engine.config_file = s.cli.config_file;
    if (status >= 0 && s.engine.root)
        status = set_up_node(&s, &err);
    if (status >= 0 && s.stay) {
        /* process 1 ignores signals without a handler */
        sigset_t signals;
        int signal;
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        (void)sigwait(&signals, &signal);
    }
    return cli_quit(&s.cli, status < 0 ? cli_fail(&s.cli, &err) : 0);
}
