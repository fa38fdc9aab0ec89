/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ocivariant-cri-proxy: the CRI image service for a kubelet whose pods pin an index by digest. A
 * mirror cannot choose there, since the digest fixes the content; but the request can be changed.
 */
#include "cmd/common/daemons.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "plugins/common/plugin_command.h"
#include "plugins/common/verdict.h"
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "plugins/containerd/cri-proxy/proxy.h"
#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN "/run/ocivariant-cri-proxy.sock"
#define BACKEND "/run/containerd/containerd.sock"
#define STATE OCV_PATH_CRI_PROXY
#define OLD_STATE OCV_PATH_STATE "/cri-proxy" /* in a directory owned by variantd's user */
#define DRAIN_MS 20000u /* longer calls are cut off: systemd would kill the proxy soon */
#define BACKLOG 128
#define POD_RESOURCES "/var/lib/kubelet/pod-resources/kubelet.sock"

struct proxy_arguments {
    const char *listen, *backend, *config, *state, *records, *profile, *pod_resources, *metrics;
    bool verbose;
};

static struct proxy *running; /* for the signal handler */
static struct live_policy *current;

static void on_signal(int signal)
{
    int why = errno;
    if (signal == SIGHUP)
        live_policy_reload(current);
    else
        grpc_server_stop(running->server);
    errno = why;
}

static const struct ocv_option option_rows[] = {
    {.name = "listen",
     .value = "PATH",
     .help = "our socket (default " LISTEN ")",
     OCV_OPTION_TEXT(struct proxy_arguments, listen)},
    {.name = "backend",
     .value = "PATH",
     .help = "the engine's\n(default " BACKEND ")",
     OCV_OPTION_TEXT(struct proxy_arguments, backend)},
    {.name = "config",
     .value = "FILE",
     .help = "instead of " OCV_PATH_CONFIG,
     OCV_OPTION_TEXT(struct proxy_arguments, config)},
    {.name = "state",
     .value = "DIR",
     .help = "what was chosen\n(default " STATE ")",
     OCV_OPTION_TEXT(struct proxy_arguments, state)},
    {.name = "records",
     .value = "DIR",
     .help = "what was chosen, for the hooks (default: \"resolved\"\n"
             "in state_dir of FILE, " OCV_PATH_STATE ")",
     OCV_OPTION_TEXT(struct proxy_arguments, records)},
    {.name = "profile",
     .value = "FILE",
     .help = "this profile instead of the one that variantd gives",
     OCV_OPTION_TEXT(struct proxy_arguments, profile)},
    {.name = "pod-resources",
     .value = "PATH",
     .help = "kubelet's socket that lists the devices of pods\n(default " POD_RESOURCES ")",
     OCV_OPTION_TEXT(struct proxy_arguments, pod_resources)},
    {.name = "metrics",
     .value = "FILE",
     .help = "counters of pods with builds of their own, in\n"
             "Prometheus' text format",
     OCV_OPTION_TEXT(struct proxy_arguments, metrics)},
    {.name = "verbose",
     .letter = 'v',
     .help = "log more on standard error",
     OCV_OPTION_FLAG(struct proxy_arguments, verbose)},
    OCV_OPTIONS_END};

static const struct plugin_command command = {
    .program = "ocivariant-cri-proxy",
    .usage =
        "Usage: ocivariant-cri-proxy [OPTIONS]\n\n"
        "Serve the CRI image service for kubelet's imageServiceEndpoint and pass every\n"
        "call to the container engine unchanged, with one exception: PullImage,\n"
        "ImageStatus and RemoveImage of an index that is pinned by digest and carries\n"
        "variants name the image in it that fits this node. Where a repository has\n"
        "`workload` in the configuration, they name the image that fits the pod.\n\nOptions:\n",
    .options = option_rows,
    .end = "\n"
           "An index is read with the credentials of the request only. What cannot be\n"
           "decided goes through unchanged. SIGHUP: read the configuration again.\n"
           "SIGTERM: finish running requests, then exit.\n"};

/* kubelet's options are written as "unix:///run/x.sock". */
static const char *path_of(const char *text)
{
    return strncmp(text, "unix://", 7) == 0 ? text + 7 : text;
}

/* The socket is as powerful as the engine's own: root only. */
static int listen_at(const char *path, int *out, struct ocv_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
        (int)sizeof(address.sun_path))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: too long for a unix socket", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool used = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (fd >= 0)
        close(fd);
    if (used)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: address already in use", path);
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
        unlink(path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t mask = umask(0177);
    int failed = fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0;
    int why = errno;
    umask(mask);
    if (!failed && listen(fd, BACKLOG) == 0) {
        *out = fd;
        return OCV_OK;
    }
    why = failed ? why : errno;
    if (fd >= 0)
        close(fd);
    return ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(why));
}

static int serve_proxy(const struct proxy_arguments *a, struct state *state,
                       struct workload *workload, struct ocv_error *err)
{
    const struct decide decide = {
        .profile_file = a->profile, .records = a->records, .state = state, .own = a->state};
    struct proxy_options options = {.listen_fd = -1,
                                    .backend = path_of(a->backend),
                                    .state = state,
                                    .policy = current,
                                    .decide = &decide,
                                    .workload = workload,
                                    .drain_ms = DRAIN_MS};
    const char *path = path_of(a->listen);
    OCV_TRY(notify_listen_socket(&options.listen_fd, err));
    bool own = options.listen_fd < 0;
    if (own)
        OCV_TRY(listen_at(path, &options.listen_fd, err));
    OCV_TRY(proxy_new(&options, &running, err));
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    log_line("image service on %s for %s", own ? path : "the passed socket", options.backend);
    notify_send("READY=1");
    int status = grpc_server_run(running->server, err);
    notify_send("STOPPING=1");
    if (own)
        unlink(path);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL); /* the handler's proxy is being freed */
    signal(SIGINT, SIG_DFL);
    proxy_free(running);
    return status;
}

int main(int argc, char **argv)
{
    struct proxy_arguments a = {
        .listen = LISTEN, .backend = BACKEND, .state = STATE, .pod_resources = POD_RESOURCES};
    struct ocv_error err = {0};
    struct state *state = NULL;
    struct workload *workload = NULL;
    struct rlimit files;
    int code = plugin_read(&command, &a, argc, argv);
    if (code >= 0)
        return code;
    log_setup(a.verbose);
    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max; /* one per client, two per call */
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int status = live_policy_new(a.config, &current, &err);
    if (status == OCV_OK)
        status = state_open(a.state, strcmp(a.state, STATE) == 0 ? OLD_STATE : NULL, &state, &err);
    const struct workload_options options = {.state = state,
                                             .backend = path_of(a.backend),
                                             .pod_resources = path_of(a.pod_resources),
                                             .metrics = a.metrics};
    if (status == OCV_OK)
        status = workload_new(&options, &workload, &err);
    if (status == OCV_OK)
        status = serve_proxy(&a, state, workload, &err);
    workload_free(workload);
    state_free(state);
    live_policy_free(current);
    if (status < 0)
        fprintf(stderr, "ocivariant-cri-proxy: %s\n", err.message);
    return status < 0 ? ocv_error_exit_code((enum ocv_status)status) : 0;
}
