/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/variantd/server.c, http/connections.c: what a stop leaves behind while registries do not
 * answer, what clients that read nothing can make the daemon keep, and what they cannot make the
 * watchdog believe. */
#include "cmd/variantd/api/api.h"
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/common/settings.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "cmd/variantd/variantd.h"
#include "lib/internal/records/daemon.h"
#include "test/unit/suite.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64], registry[64];
static const char *socket_name = "socket"; /* in the directory */
static int silent; /* a registry's port: takes connections and never says a word */

static void set_up(void)
{
    char path[128];
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(where);
    snprintf(directory, sizeof(directory), "/tmp/ocv-server-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/profile.json", directory);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("{\"schema\":\"dev.ocivariant.profile/v1\",\"namespaces\":[],\"platform\":"
          "{\"os\":\"linux\",\"architecture\":\"amd64\"}}",
          file);
    fclose(file);
    silent = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(silent, (struct sockaddr *)&where, len), 0);
    ck_assert_int_eq(listen(silent, 64), 0);
    ck_assert_int_eq(getsockname(silent, (struct sockaddr *)&where, &len), 0);
    snprintf(registry, sizeof(registry), "127.0.0.1:%u", ntohs(where.sin_port));
}

static void tear_down(void)
{
    char command[128];
    close(silent);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0); // NOLINT(cert-env33-c)
}

/* With `layout`, that directory stands in for the default registry. */
static struct instance *make_instance(struct metrics *metrics, const char *layout)
{
    static char records[128]; /* borrowed by the settings */
    char yaml[512], profile[128];
    const char *const registries[] = {registry};
    struct ocv_error err = {0};
    struct ocv_config *config = NULL;
    struct settings *settings = NULL;
    struct instance *instance = NULL;
    snprintf(profile, sizeof(profile), "%s/profile.json", directory);
    snprintf(records, sizeof(records), "%s/records", directory);
    snprintf(yaml, sizeof(yaml), "listen: 127.0.0.1:0\nsocket: %s/%s\naccess_log: off\n", directory,
             socket_name);
    const struct settings_flags flags = {.registries = registries,
                                         .n_registries = layout ? 0 : 1,
                                         .layouts = &layout,
                                         .n_layouts = layout ? 1 : 0,
                                         .profile_file = profile,
                                         .records = records,
                                         .once = true};
    ck_assert_int_eq(ocv_config_new(&config, &err), OCV_OK);
    ck_assert_int_eq(ocv_config_merge_yaml(config, "f.yaml", yaml, strlen(yaml), &err), OCV_OK);
    ck_assert_msg(settings_make(config, &flags, &settings, &err) == OCV_OK, "%s", err.message);
    ck_assert_msg(instance_new(settings, metrics, NULL, &instance, &err) == OCV_OK, "%s",
                  err.message);
    return instance;
}

static int dial(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096; /* the kernel shall not take it all */
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* Threads by the name that workers have. */
static unsigned workers(void)
{
    unsigned n = 0;
    DIR *tasks = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(tasks);
    for (const struct dirent *task; (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
        FILE *file = task->d_name[0] != '.' ? fopen(path, "r") : NULL;
        n += file && fgets(name, sizeof(name), file) && !strcmp(name, "upstream\n");
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return n;
}

/* A worker still waits for the registry on behalf of settings that were replaced: the end waits for
 * it, since it uses what is freed next. */
START_TEST(stop_waits_for_replaced_settings)
{
    struct metrics *metrics = NULL;
    struct server *server = NULL;
    struct ocv_error err = {0};
    char request[256];
    ck_assert_int_eq(metrics_new(&metrics, &err), OCV_OK);
    ck_assert_msg(server_new(make_instance(metrics, NULL), metrics, NULL, -1, &server, &err) ==
                      OCV_OK,
                  "%s", err.message);
    int client = dial(server_current(server)->port);
    int len = snprintf(request, sizeof(request),
                       "GET /v2/a/manifests/1?ns=%s HTTP/1.1\r\nHost: localhost\r\n\r\n", registry);
    ck_assert_int_eq(send(client, request, (size_t)len, 0), len);
    int upstream = accept(silent, NULL, NULL); /* it is asked */
    ck_assert_int_ge(upstream, 0);
    ck_assert_uint_eq(workers(), 1);
    current_replace(server_current(server), make_instance(metrics, NULL));
    server_free(server);
    for (unsigned i = 0; i < 250 && workers(); i++) /* one that is joined may show up still */
        usleep(20000);
    ck_assert_uint_eq(workers(), 0);
    metrics_free(metrics);
    close(client);
    close(upstream);
}
END_TEST

/* A tag that nobody waits for any more when its turn comes is not asked for. */
START_TEST(late_requests_are_not_asked)
{
    struct metrics *metrics = NULL;
    struct server *server = NULL;
    struct ocv_error err = {0};
    char request[256], head[16] = "", *text;
    int fds[WORKERS_DOCUMENT_EACH + 8];
    struct ocv_buffer out;
    unsigned asked = 0;
    ck_assert_int_le(MIRROR_ANSWER_MS, 3000); /* all of them end by it, as is specified */
    ck_assert_int_eq(metrics_new(&metrics, &err), OCV_OK);
    ck_assert_msg(server_new(make_instance(metrics, NULL), metrics, NULL, -1, &server, &err) ==
                      OCV_OK,
                  "%s", err.message);
    for (unsigned i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        fds[i] = dial(server_current(server)->port);
        int len = snprintf(request, sizeof(request),
                           "HEAD /v2/a/manifests/%u?ns=%s HTTP/1.1\r\nHost: localhost\r\n\r\n", i,
                           registry);
        ck_assert_int_eq(send(fds[i], request, (size_t)len, 0), len);
    }
    for (unsigned i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        ck_assert_int_eq(recv(fds[i], head, 12, MSG_WAITALL), 12);
        ck_assert_str_eq(head, "HTTP/1.1 404"); /* the engine asks the registry itself */
    }
    server_free(server); /* every job has had its turn */
    ocv_buffer_init(&out, 1024u * 1024);
    ck_assert_int_eq(metrics_format(metrics, 0, &out, &err), OCV_OK);
    text = strstr(out.data, "what=\"head\"} ");
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(sscanf(text, "what=\"head\"} %u", &asked), 1);
    ck_assert_uint_eq(asked, WORKERS_DOCUMENT_EACH);
    ocv_buffer_free(&out);
    metrics_free(metrics);
    for (unsigned i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        close(fds[i]);
}
END_TEST

#define DOCUMENT_BYTES (3u * 1024 * 1024)
#define CLIENTS (BUDGET_BYTES / DOCUMENT_BYTES + 8)

static void write_file(const char *name, const char *text, size_t len)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

/* A layout with one big index, "big". */
static void write_layout(void)
{
    static char text[DOCUMENT_BYTES];
    static const char tail[] = {'"', '}', '}', '\n'};
    char digest[OCV_DIGEST_MAX], name[OCV_DIGEST_MAX + 32], command[256], index[512];
    int head = snprintf(text, sizeof(text),
                        "{\"schemaVersion\":2,\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX
                        "\",\"manifests\":[],\"annotations\":{\"a\":\"");
    memset(text + head, 'x', sizeof(text) - (size_t)head);
    memcpy(text + sizeof(text) - sizeof(tail), tail, sizeof(tail));
    ck_assert_int_eq(ocv_digest_bytes(text, sizeof(text), digest, NULL), OCV_OK);
    snprintf(command, sizeof(command), "mkdir -p %s/blobs/sha256", directory);
    ck_assert_int_eq(system(command), 0); // NOLINT(cert-env33-c)
    snprintf(name, sizeof(name), "blobs/sha256/%s", digest + strlen("sha256:"));
    write_file(name, text, sizeof(text));
    write_file("oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}",
               strlen("{\"imageLayoutVersion\":\"1.0.0\"}"));
    int len = snprintf(index, sizeof(index),
                       "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX
                       "\",\"digest\":\"%s\",\"size\":%u,\"annotations\":"
                       "{\"org.opencontainers.image.ref.name\":\"big\"}}]}",
                       digest, DOCUMENT_BYTES);
    write_file("index.json", index, (size_t)len);
}

/* The status of the answer, of which nothing more is read. */
static int ask(int fd)
{
    static const char request[] = "GET /raw/v2/a/manifests/big HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char head[12];
    ck_assert_int_eq(send(fd, request, sizeof(request) - 1, 0), sizeof(request) - 1);
    ck_assert_int_eq(recv(fd, head, sizeof(head), MSG_WAITALL), sizeof(head));
    return (head[9] - '0') * 100 + (head[10] - '0') * 10 + (head[11] - '0');
}

START_TEST(unread_answers_are_bounded)
{
    struct metrics *metrics = NULL;
    struct server *server = NULL;
    struct ocv_error err = {0};
    int fds[CLIENTS], status = 0;
    unsigned given = 0;
    write_layout();
    ck_assert_int_eq(metrics_new(&metrics, &err), OCV_OK);
    ck_assert_msg(server_new(make_instance(metrics, directory), metrics, NULL, -1, &server, &err) ==
                      OCV_OK,
                  "%s", err.message);
    for (unsigned i = 0; i < CLIENTS; i++) {
        fds[i] = dial(server_current(server)->port);
        status = ask(fds[i]);
        ck_assert_msg(status == 200 || status == 502, "%d", status);
        given += status == 200;
    }
    ck_assert_int_eq(status, 502);
    ck_assert_uint_le(given, BUDGET_BYTES / DOCUMENT_BYTES);
    ck_assert_uint_ge(given, BUDGET_BYTES / DOCUMENT_BYTES / 2);
    for (unsigned i = 0; i < CLIENTS; i++)
        close(fds[i]);
    for (unsigned i = 0; i < 250 && status != 200; i++) { /* the closed ones are noticed in time */
        int fd = dial(server_current(server)->port);
        status = ask(fd);
        close(fd);
        if (status != 200)
            usleep(20000);
    }
    ck_assert_int_eq(status, 200);
    server_free(server);
    metrics_free(metrics);
}
END_TEST

/* The addresses of the start stay, whatever a reload reads. */
START_TEST(other_addresses_do_not_fool_the_selfcheck)
{
    struct metrics *metrics = NULL;
    struct server *server = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(metrics_new(&metrics, &err), OCV_OK);
    ck_assert_msg(server_new(make_instance(metrics, NULL), metrics, NULL, -1, &server, &err) ==
                      OCV_OK,
                  "%s", err.message);
    ck_assert_int_eq(selfcheck(server), SELFCHECK_ALIVE);
    socket_name = "another";
    current_replace(server_current(server), make_instance(metrics, NULL));
    ck_assert_int_eq(selfcheck(server), SELFCHECK_ALIVE);
    server_free(server);
    metrics_free(metrics);
}
END_TEST

/* Who answers in our place as we would, without having heard of us. */
static void *answer_once(void *data)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    char request[512];
    int fd = accept(*(int *)data, NULL, NULL);
    if (fd >= 0 && recv(fd, request, sizeof(request), 0) > 0)
        (void)send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
    close(fd);
    return NULL;
}

START_TEST(another_listener_does_not_pass_for_us)
{
    struct metrics *metrics = NULL;
    struct server *server = NULL;
    struct ocv_error err = {0};
    pthread_t thread;
    ck_assert_int_eq(metrics_new(&metrics, &err), OCV_OK);
    ck_assert_msg(server_new(make_instance(metrics, NULL), metrics, NULL, -1, &server, &err) ==
                      OCV_OK,
                  "%s", err.message);
    unsigned port = (unsigned)strtoul(strchr(registry, ':') + 1, NULL, 10);
    ck_assert_int_eq(pthread_create(&thread, NULL, answer_once, &silent), 0);
    ck_assert_int_eq(selfcheck_mirror(server, "127.0.0.1:0", port), SELFCHECK_FOREIGN);
    pthread_join(thread, NULL);
    ck_assert_int_eq(selfcheck_mirror(server, "127.0.0.1:0", server_current(server)->port),
                     SELFCHECK_ALIVE);
    server_free(server);
    metrics_free(metrics);
}
END_TEST

START_TEST(passed_socket_may_lie_elsewhere)
{
    struct metrics *metrics = NULL;
    struct server *server = NULL;
    struct ocv_error err = {0};
    char path[128];
    int fd = -1;
    snprintf(path, sizeof(path), "%s/passed", directory);
    ck_assert_int_eq(metrics_new(&metrics, &err), OCV_OK);
    ck_assert_msg(listen_unix(path, &fd, &err) == OCV_OK, "%s", err.message);
    ck_assert_msg(server_new(make_instance(metrics, NULL), metrics, NULL, fd, &server, &err) ==
                      OCV_OK,
                  "%s", err.message);
    ck_assert_str_eq(server_socket(server), path);
    ck_assert_int_eq(selfcheck(server), SELFCHECK_ALIVE);
    server_free(server);
    ck_assert_int_eq(access(path, F_OK), 0); /* its owner removes it */
    metrics_free(metrics);
}
END_TEST

#define CROWD (API_CONNECTIONS_MAX + 8)

static void dial_api(int fds[CROWD])
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof(to.sun_path), "%s/%s", directory, socket_name);
    for (unsigned i = 0; i < CROWD; i++) {
        fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(fds[i], (struct sockaddr *)&to, sizeof(to)), 0);
    }
}

static bool api_answers(const char *path)
{
    ocv_auto_buffer body;
    long status = 0;
    ocv_buffer_init(&body, 4096);
    return ocv_daemon_get(path, "/v1/healthz", 100, &status, &body, NULL) == OCV_OK &&
           status == 200;
}

/* Clients of the socket that never finish a request: the daemon does not look as if it hung, and
 * they go. */
START_TEST(dripping_clients_of_the_api_are_closed)
{
    struct metrics *metrics = NULL;
    struct server *server = NULL;
    struct ocv_error err = {0};
    struct rlimit files;
    int fds[CROWD];
    bool answers = false;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_cur < 16 * API_CONNECTIONS_MAX) {
        puts("skipped: dripping_clients_of_the_api_are_closed: too few files may be open");
        return;
    }
    ck_assert_int_eq(metrics_new(&metrics, &err), OCV_OK);
    ck_assert_msg(server_new(make_instance(metrics, NULL), metrics, NULL, -1, &server, &err) ==
                      OCV_OK,
                  "%s", err.message);
    dial_api(fds);
    ck_assert_int_eq(selfcheck(server), SELFCHECK_ALIVE); /* they came: it is not hung */
    ck_assert_int_eq(selfcheck(server), SELFCHECK_DEAD);  /* no connection comes or goes */
    for (unsigned i = 0; i < 200 && !answers; i++) {
        for (unsigned k = 0; k < CROWD; k++)
            (void)!send(fds[k], "G", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        server_tick(server);
        answers = api_answers(server_socket(server));
    }
    ck_assert(answers);
    ck_assert_int_eq(selfcheck(server), SELFCHECK_ALIVE);
    for (unsigned i = 0; i < CROWD; i++)
        close(fds[i]);
    server_free(server);
    metrics_free(metrics);
}
END_TEST

/* Connects, and does nothing else until it is killed. */
static pid_t start_idlers(unsigned n, unsigned port)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        struct rlimit files = {4096, 4096};
        (void)setrlimit(RLIMIT_NOFILE, &files);
        for (unsigned i = 0; i < n; i++)
            (void)dial(port);
        (void)!write(ready[1], "", 1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static bool mirror_answers(unsigned port)
{
    static const char request[] = "GET /v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const struct timeval limit = {.tv_usec = 100000};
    char head[12];
    int fd = dial(port);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    bool ok = send(fd, request, sizeof(request) - 1, 0) == sizeof(request) - 1 &&
              recv(fd, head, sizeof(head), MSG_WAITALL) == sizeof(head);
    close(fd);
    return ok;
}

/* Where few files may be open, fewer connections are taken: some must be left for registries. */
START_TEST(idle_clients_leave_descriptors)
{
    struct metrics *metrics = NULL;
    struct server *server = NULL;
    struct ocv_error err = {0};
    struct rlimit files;
    bool answers = false;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = 160;
    ck_assert_int_eq(metrics_new(&metrics, &err), OCV_OK);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    ck_assert_msg(server_new(make_instance(metrics, NULL), metrics, NULL, -1, &server, &err) ==
                      OCV_OK,
                  "%s", err.message);
    pid_t idlers = start_idlers(200, server_current(server)->port);
    for (unsigned i = 0; i < 200 && !answers; i++) {
        server_tick(server);
        answers = mirror_answers(server_current(server)->port);
    }
    ck_assert(answers);
    kill(idlers, SIGKILL);
    waitpid(idlers, NULL, 0);
    server_free(server);
    metrics_free(metrics);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("variantd server");
    TCase *tcase = tcase_create("stop");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, stop_waits_for_replaced_settings);
    tcase_add_test(tcase, late_requests_are_not_asked);
    tcase_add_test(tcase, unread_answers_are_bounded);
    tcase_add_test(tcase, other_addresses_do_not_fool_the_selfcheck);
    tcase_add_test(tcase, another_listener_does_not_pass_for_us);
    tcase_add_test(tcase, passed_socket_may_lie_elsewhere);
    tcase_add_test(tcase, dripping_clients_of_the_api_are_closed);
    tcase_add_test(tcase, idle_clients_leave_descriptors);
    tcase_set_timeout(tcase, 300); /* under TSan, beside others */
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
