/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of the registry client share: a bad registry as a child process, a client for it
 * with an empty home, its log of requests. */
#ifndef REGISTRY_UTIL_H
#define REGISTRY_UTIL_H

#include "lib/internal/config/config.h"
#include "ocivariant-registry.h"
#include "test/unit/suite.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char tools[1024], home[64];
static pid_t server;
static int port, port2;
static char index_digest[OCV_DIGEST_MAX], blob_digest[OCV_DIGEST_MAX];
static long index_size, blob_size;
static struct ocv_registry *client;
static struct ocv_error err;

/* The directory of the test tools: OCV_TOOLS_DIR, or ../tools beside this program. */
static inline void find_tools(void)
{
    char copy[900];
    const char *dir = getenv("OCV_TOOLS_DIR");
    snprintf(copy, sizeof(copy), "%s", program_invocation_name);
    if (dir)
        snprintf(tools, sizeof(tools), "%s", dir);
    else
        snprintf(tools, sizeof(tools), "%s/../../tools", dirname(copy));
}

static inline void start_server(void)
{
    int out[2];
    char program[1100], text[512] = "";
    snprintf(program, sizeof(program), "%s/badregistry", tools);
    ck_assert_int_eq(pipe(out), 0);
    server = fork();
    ck_assert_int_ge(server, 0);
    if (!server) {
        dup2(out[1], 1);
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    size_t used = 0;
    ssize_t n;
    while (used < sizeof(text) - 1 && (n = read(out[0], text + used, 1)) == 1) {
        used++;
        text[used] = '\0';
        if (text[used - 1] == '\n' &&
            // NOLINTNEXTLINE(cert-err34-c): our own tool wrote it
            sscanf(text, "%d %d\n%135s %ld\n%135s %ld", &port, &port2, index_digest, &index_size,
                   blob_digest, &blob_size) == 6)
            break;
    }
    close(out[0]);
    ck_assert_msg(blob_size > 0, "%s does not start", program);
}

static inline void stop_server(void)
{
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
}

static inline void new_client(struct ocv_registry_options options)
{
    ocv_registry_free(client);
    client = NULL;
    if (!options.retries)
        options.retries = 1;
    if (!options.certs_dir)
        options.certs_dir = home;
    char beside[32]; /* where it redirects to is another service of loopback: it has to be named */
    const char *const named[] = {beside};
    snprintf(beside, sizeof(beside), "127.0.0.1:%d", port2);
    if (!options.n_insecure) {
        options.insecure = named;
        options.n_insecure = 1;
    }
    ck_assert_int_eq(ocv_registry_new(&options, &client, &err), 0);
}

/* Options with the registries of a configuration, which must outlive the client. */
static inline struct ocv_registry_options with_registries(const struct ocv_config *config,
                                                          struct ocv_ca_store *ca_store)
{
    struct ocv_registry_options options = {.ca_store = ca_store};
    options.n_registries = ocv_config_registries(config, &options.registries);
    return options;
}

/* Every test: own server, own empty home, a client without credentials. */
static inline void set_up(void)
{
    snprintf(home, sizeof(home), "/tmp/ocv-registry-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(home));
    setenv("HOME", home, 1);
    const char *variables[] = {"DOCKER_CONFIG",   "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR",
                               "XDG_CONFIG_HOME", "http_proxy",         "https_proxy",
                               "all_proxy"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        unsetenv(variables[i]);
    err = (struct ocv_error){0};
    start_server();
    new_client((struct ocv_registry_options){0});
}

static inline void tear_down(void)
{
    char command[128];
    ocv_registry_free(client);
    client = NULL;
    stop_server();
    snprintf(command, sizeof(command), "rm -rf %s", home);
    ck_assert_int_eq(system(command), 0); // NOLINT(cert-env33-c)
}

static inline struct ocv_reference *reference(const char *repository)
{
    char text[256];
    struct ocv_reference *out = NULL;
    snprintf(text, sizeof(text), "127.0.0.1:%d/%s", port, repository);
    ck_assert_int_eq(ocv_reference_parse(text, &out, &err), 0);
    return out;
}

static inline int head(const char *repository, struct ocv_descriptor *out)
{
    ocv_auto(ocv_reference) ref = reference(repository);
    return ocv_registry_head(client, ref, out, &err);
}

static inline int get(const char *repository, struct ocv_buffer *body, struct ocv_descriptor *out)
{
    ocv_auto(ocv_reference) ref = reference(repository);
    return ocv_registry_get(client, ref, NULL, body, out, &err);
}

/* A GET whose body does not matter. */
static inline int try_get(const char *repository)
{
    struct ocv_descriptor d;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    return get(repository, &body, &d);
}

static inline int keep(void *data, const char *bytes, size_t len)
{
    return ocv_buffer_append(data, bytes, len, NULL);
}

/* The server's log since the last call. */
static inline const char *requests(void)
{
    static struct ocv_buffer text;
    char url[64];
    long status = 0;
    ocv_buffer_free(&text);
    ocv_buffer_init(&text, 1024 * 1024);
    ck_assert_int_eq(ocv_buffer_append(&text, "", 0, NULL), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/log", port);
    struct ocv_engine_request r = {
        .method = "GET", .url = url, .upload_fd = -1, .body = keep, .data = &text};
    ck_assert_int_eq(ocv_engine_http(&r, &status, &err), 0);
    ck_assert_int_eq(status, 200);
    return text.data;
}

static inline size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static inline void write_file(const char *name, mode_t mode, const char *text)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", home, name);
    for (char *p = path + strlen(home) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        (void)mkdir(path, 0700);
        *p = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    ck_assert_int_eq(chmod(path, mode), 0);
}

#define expect_error(call, wanted, words)                                                          \
    do {                                                                                           \
        int got_ = (call);                                                                         \
        ck_assert_msg(got_ == (wanted), "%d instead of %d: %s", got_, (int)(wanted), err.message); \
        ck_assert_int_eq(err.status, (wanted));                                                    \
        ck_assert_msg(strstr(err.message, (words)), "no \"%s\" in: %s", (words), err.message);     \
        ck_assert_msg(!strchr(err.message, '\n'), "more than one line: %s", err.message);          \
    } while (0)

#endif
