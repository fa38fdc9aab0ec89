/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ocivariant-snapshotter: containerd's Snapshots service over gRPC (docs/refusing.md). Its
 * directories, each of which includes only from those below it:
 *
 *   main.c    options, socket, signals
 *   service   the calls, to and from protobuf; relay.c: the back end behind another socket
 *   fit       does the image fit this node? asked at Prepare
 *   overlay   the back end that keeps snapshots itself
 *   meta      what is known of snapshots, in SQLite
 *   types     labels, infos, mounts, failures */
#include "cmd/common/daemons.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/system/unix_socket.h"
#include "plugins/common/plugin_command.h"
#include "plugins/containerd/snapshotter/service/service.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_ROOT "/var/lib/ocivariant-snapshotter"
#define DEFAULT_SOCKET "/run/ocivariant-snapshotter/snapshotter.sock"
#define WORKERS 8u

struct program {
    const char *root, *socket, *backend, *backend_name, *backend_ns, *config, *records, *metrics;
    char *root_memory; /* for a root given by a relative path */
    bool remap_ids, bound;
    int lock_fd;
    struct snap_service service;
    struct grpc_server *server;
};

/* State that signal handlers use. */
static struct program program = {.root = DEFAULT_ROOT, .socket = DEFAULT_SOCKET, .lock_fd = -1};

static void print_line(const char *line)
{
    fprintf(stderr, "ocivariant-snapshotter: %s\n", line);
}

static void log_data(void *data, const char *line)
{
    (void)data;
    print_line(line);
}

static const struct ocv_option option_rows[] = {
    {.name = "root",
     .value = "DIR",
     .help = "layers and metadata\n(default " DEFAULT_ROOT ")",
     OCV_OPTION_TEXT(struct program, root)},
    {.name = "socket",
     .value = "PATH",
     .help = "listen here\n(" DEFAULT_SOCKET ")",
     OCV_OPTION_TEXT(struct program, socket)},
    {.name = "backend",
     .value = "PATH",
     .help = "keep nothing: pass calls on to the snapshotter there",
     OCV_OPTION_TEXT(struct program, backend)},
    {.name = "backend-name",
     .value = "NAME",
     .help = "the name of that snapshotter",
     OCV_OPTION_TEXT(struct program, backend_name)},
    {.name = "backend-namespace",
     .value = "NAME",
     .help = "if that is another containerd: keep everything in\n"
             "this namespace of it, which nothing else may use",
     OCV_OPTION_TEXT(struct program, backend_ns)},
    {.name = "config",
     .value = "FILE",
     .help = "policy (default " OCV_PATH_CONFIG ")",
     OCV_OPTION_TEXT(struct program, config)},
    {.name = "records",
     .value = "DIR",
     .help = "what was resolved on this node (default: \"resolved\"\n"
             "in state_dir of FILE, " OCV_PATH_STATE ")",
     OCV_OPTION_TEXT(struct program, records)},
    {.name = "metrics",
     .value = "FILE",
     .help = "counters, in Prometheus' text format",
     OCV_OPTION_TEXT(struct program, metrics)},
    {.name = "remap-ids",
     .help = "give containers with id mappings idmapped mounts",
     OCV_OPTION_FLAG(struct program, remap_ids)},
    OCV_OPTIONS_END};

static const struct plugin_command command = {
    .program = "ocivariant-snapshotter",
    .usage = "Usage: ocivariant-snapshotter [OPTIONS]\n\n"
             "containerd's proxy snapshotter that refuses images which do not fit this node.\n\n"
             "Options:\n",
    .options = option_rows,
    .end = "\n"
           "SIGHUP: read the policy again. SIGTERM: finish running requests, then exit.\n"};

/* -1: go on; else the exit status. */
static int check_options(void)
{
    const struct {
        const char *name, *value;
    } texts[] = {{"root", program.root},
                 {"socket", program.socket},
                 {"backend", program.backend},
                 {"backend-name", program.backend_name},
                 {"backend-namespace", program.backend_ns},
                 {"config", program.config},
                 {"records", program.records},
                 {"metrics", program.metrics}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (texts[i].value && !*texts[i].value) {
            fprintf(stderr, "ocivariant-snapshotter: --%s is empty\n", texts[i].name);
            return 2;
        }
    }
    if (program.backend_name && (!program.backend || strlen(program.backend_name) > 76)) {
        print_line("--backend-name: a short name, together with --backend");
        return 2;
    }
    if (program.backend_ns && (!program.backend_name || strlen(program.backend_ns) > 76)) {
        print_line("--backend-namespace: a namespace, together with --backend-name");
        return 2;
    }
    return -1;
}

static int start_service(struct ocv_error *err)
{
    struct snap_service *s = &program.service;
    int fd = -1;
    OCV_TRY(notify_listen_socket(&fd, err));
    char path[4096];
    if (*program.root != '/') { /* containerd mounts from another working directory */
        char *here = getcwd(NULL, 0);
        if (!here)
            return ocv_error_set(err, OCV_ERR_IO, "%s: %s", program.root, strerror(errno));
        int n = asprintf(&program.root_memory, "%s/%s", here, program.root);
        free(here);
        if (n < 0) {
            program.root_memory = NULL;
            return ocv_error_nomem(err);
        }
        program.root = program.root_memory;
    }
    /* these characters separate overlayfs' options and directories, or escape them */
    if (!program.backend && strpbrk(program.root, ",:\\"))
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "%s: no overlay can be mounted from a directory with a comma, a colon "
                             "or a backslash in its name",
                             program.root);
    OCV_TRY(ocv_directory_make(program.root, 0700, err));
    /* two snapshotters in one directory would undo each other's work */
    snprintf(path, sizeof(path), "%s/lock", program.root);
    program.lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (program.lock_fd < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    if (flock(program.lock_fd, LOCK_EX | LOCK_NB) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s is used by another snapshotter", program.root);

    snprintf(path, sizeof(path), "%s/metadata.db", program.root);
    OCV_TRY(snap_meta_open(path, &s->meta, err));
    const struct snap_relay_options relay = {
        .socket = program.backend, .name = program.backend_name, .ns = program.backend_ns};
    if (program.backend)
        OCV_TRY(snap_relay_new(&relay, &s->relay, err));
    else
        OCV_TRY(snap_overlay_open(program.root, program.remap_ids, s->meta, print_line, &s->overlay,
                                  err));
    const struct snap_fit_options fit = {.config_file = program.config,
                                         .records = program.records,
                                         .metrics = program.metrics,
                                         .log = print_line};
    OCV_TRY(snap_fit_new(&fit, s->meta, &s->fit, err));
    if (fd < 0) {
        OCV_TRY(ocv_unix_listen(program.socket, 0600, 0700, &fd, err));
        program.bound = true;
    }
    const struct grpc_server_options options = {
        .handle = snap_service_handle, .data = s, .workers = WORKERS, .log = log_data};
    return grpc_server_new(&options, fd, &program.server, err);
}

static void on_signal(int number)
{
    int saved = errno;
    if (number == SIGHUP)
        snap_fit_reload(program.service.fit);
    else
        grpc_server_stop(program.server);
    errno = saved;
}

int main(int argc, char **argv)
{
    struct ocv_error err = {0};
    int code = plugin_read(&command, &program, argc, argv);
    if (code < 0)
        code = check_options();
    if (code >= 0)
        return code;
    struct rlimit limit;
    umask(0); /* directories of layers need their exact modes */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
#ifdef M_ARENA_MAX
    (void)mallopt(M_ARENA_MAX, 2); /* an arena per worker would keep the memory of a burst */
#endif
    signal(SIGPIPE, SIG_IGN);
    int status = start_service(&err);
    if (status == OCV_OK) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(SIGHUP, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGINT, &action, NULL);
        notify_send("READY=1");
        status = grpc_server_run(program.server, &err);
        notify_send("STOPPING=1");
    }
    if (status < 0)
        print_line(err.message);
    signal(SIGHUP, SIG_IGN); /* the handlers' state is being freed */
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    const struct snap_service *s = &program.service;
    grpc_server_free(program.server);
    if (program.bound)
        (void)unlink(program.socket);
    snap_fit_free(s->fit);
    snap_relay_free(s->relay);
    snap_overlay_free(s->overlay);
    snap_meta_close(s->meta);
    if (program.lock_fd >= 0)
        close(program.lock_fd);
    free(program.root_memory);
    return status < 0 ? ocv_error_exit_code((enum ocv_status)status) : 0;
}
