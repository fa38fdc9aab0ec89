/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client against docker-registry: plain, and with TLS, client certificates and Basic. The
 * registry's storage is written directly, so that nothing has to be pushed. Needs docker-registry,
 * openssl and htpasswd; says so and skips where one is missing. */
#include "test/unit/registry/registry_util.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <sys/socket.h>

static pid_t daemon_pid;
static int daemon_port;
static char manifest_digest[OCV_DIGEST_MAX];

static void shell(const char *format, ...) OCV_PRINTF(1, 2);
static void shell(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    // NOLINTNEXTLINE(cert-env33-c)
    ck_assert_msg(system(command) == 0, "failed: %s", command);
}

static int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    close(fd);
    return ntohs(a.sin_port);
}

static bool listening(int at)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)at),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool up = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
    close(fd);
    return up;
}

/* One blob and what points at it, in the registry's own storage. */
static void store(const char *text, const char *links, char digest[OCV_DIGEST_MAX])
{
    char name[512];
    ck_assert_int_eq(ocv_digest_bytes(text, strlen(text), digest, &err), 0);
    const char *hex = strchr(digest, ':') + 1;
    snprintf(name, sizeof(name), "data/docker/registry/v2/blobs/sha256/%.2s/%s/data", hex, hex);
    write_file(name, 0600, text);
    snprintf(name, sizeof(name), "data/docker/registry/v2/repositories/app/%s/sha256/%s/link",
             links, hex);
    write_file(name, 0600, digest);
}

static void write_image(void)
{
    char config[OCV_DIGEST_MAX], layer[OCV_DIGEST_MAX], text[1024];
    store("{}", "_layers", config);
    store("a layer", "_layers", layer);
    snprintf(
        text, sizeof(text),
        "{\"schemaVersion\":2,\"mediaType\":\"%s\",\"config\":{\"mediaType\":\"%s\",\"digest\":"
        "\"%s\",\"size\":2},\"layers\":[{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar"
        "\",\"digest\":\"%s\",\"size\":7}]}",
        OCV_MEDIA_TYPE_MANIFEST, OCV_MEDIA_TYPE_CONFIG, config, layer);
    store(text, "_manifests/revisions", manifest_digest);
    store(text, "_manifests/tags/v1/index", manifest_digest);
    write_file("data/docker/registry/v2/repositories/app/_manifests/tags/v1/current/link", 0600,
               manifest_digest);
}

static void start_daemon(const char *tls, const char *auth)
{
    char text[2048], path[256];
    daemon_port = free_port();
    snprintf(text, sizeof(text),
             "version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\n"
             "storage: {filesystem: {rootdirectory: %s/data}}\n"
             "http:\n  addr: 127.0.0.1:%d\n%s%s",
             home, daemon_port, tls, auth);
    write_file("registry.yml", 0600, text);
    snprintf(path, sizeof(path), "%s/registry.yml", home);
    daemon_pid = fork();
    if (!daemon_pid) {
        ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
        execlp("docker-registry", "docker-registry", "serve", path, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 200 && !listening(daemon_port); i++)
        usleep(50000);
    ck_assert_msg(listening(daemon_port), "docker-registry does not start");
}

static void set_up_real(void)
{
    set_up();
    write_image();
    daemon_pid = 0;
}

static void tear_down_real(void)
{
    if (daemon_pid > 0) {
        kill(daemon_pid, SIGKILL);
        waitpid(daemon_pid, NULL, 0);
    }
    tear_down();
}

/* ca.crt, server.crt/.key, client.crt/.key, htpasswd */
static void make_certificates(void)
{
    const char *key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    shell(
        "cd %s && openssl req -x509 %s -days 2 -subj /CN=ca -keyout ca.key -out ca.crt 2>/dev/null",
        home, key);
    write_file("ext", 0600, "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
    const char *names[] = {"server", "client"};
    for (int i = 0; i < 2; i++)
        shell("cd %s && openssl req %s -subj /CN=%s -keyout %s.key -out x.csr 2>/dev/null && "
              "openssl x509 -req -in x.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 "
              "-extfile ext -out %s.crt 2>/dev/null",
              home, key, names[i], names[i], names[i]);
    shell("cd %s && htpasswd -Bbn u p > htpasswd 2>/dev/null", home);
}

static int head_at(const char *host, struct ocv_descriptor *out)
{
    char text[128];
    ocv_auto(ocv_reference) ref = NULL;
    snprintf(text, sizeof(text), "%s:%d/app:v1", host, daemon_port);
    ck_assert_int_eq(ocv_reference_parse(text, &ref, &err), 0);
    return ocv_registry_head(client, ref, out, &err);
}

START_TEST(plain)
{
    struct ocv_descriptor d;
    start_daemon("", "");
    ck_assert_msg(head_at("127.0.0.1", &d) == 0, "%s", err.message);
    ck_assert_str_eq(d.digest, manifest_digest);
    ck_assert_str_eq(d.media_type, OCV_MEDIA_TYPE_MANIFEST);
}
END_TEST

START_TEST(tls_and_basic)
{
    char tls[512], auth[256], ca[128], name[64], certs[256];
    struct ocv_descriptor d;
    make_certificates();
    snprintf(tls, sizeof(tls), "  tls: {certificate: %s/server.crt, key: %s/server.key}\n", home,
             home);
    snprintf(auth, sizeof(auth), "auth: {htpasswd: {realm: r, path: %s/htpasswd}}\n", home);
    snprintf(ca, sizeof(ca), "%s/ca.crt", home);
    start_daemon(tls, auth);
    expect_error(head_at("localhost", &d), OCV_ERR_TLS, "TLS with localhost");
    ck_assert_ptr_nonnull(strstr(err.hint, "--cacert"));
    new_client((struct ocv_registry_options){.ca_file = ca});
    expect_error(head_at("localhost", &d), OCV_ERR_DENIED, "HTTP 401");
    new_client((struct ocv_registry_options){.ca_file = ca, .username = "u", .password = "p"});
    ck_assert_msg(head_at("localhost", &d) == 0, "%s", err.message);
    ck_assert_str_eq(d.digest, manifest_digest);
    /* certs.d and an unverified host */
    snprintf(name, sizeof(name), "localhost:%d", daemon_port);
    shell(
        "d=%s/certs/%s && mkdir -p $d && cp %s $d && printf %%s \"$(cat %s/client.crt)\" >$d/a.crt",
        home, name, ca, home); /* the first has no final newline */
    snprintf(certs, sizeof(certs), "%s/certs", home);
    new_client((struct ocv_registry_options){.certs_dir = certs, .username = "u", .password = "p"});
    ck_assert_msg(head_at("localhost", &d) == 0, "%s", err.message);
    new_client((struct ocv_registry_options){.insecure = (const char *const[]){name},
                                             .n_insecure = 1,
                                             .username = "u",
                                             .password = "p"});
    ck_assert_msg(head_at("localhost", &d) == 0, "%s", err.message);
}
END_TEST

static int head_of(const char *name)
{
    struct ocv_descriptor d;
    ocv_auto(ocv_reference) ref = NULL;
    ck_assert_int_eq(ocv_reference_parse(name, &ref, &err), 0);
    return ocv_registry_head(client, ref, &d, &err);
}

/* What one registry was verified with counts for no other: not for another name of the server, nor
 * for the same one. */
START_TEST(authorities_of_each)
{
    char tls[512], yaml[768], own[64], other[64];
    struct ocv_config *config = NULL;
    struct ocv_ca_store *ca_store = NULL;
    make_certificates();
    shell("cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
          "-days 2 -subj /CN=other -keyout other.key -out other.crt 2>/dev/null",
          home);
    snprintf(tls, sizeof(tls), "  tls: {certificate: %s/server.crt, key: %s/server.key}\n", home,
             home);
    start_daemon(tls, "");
    snprintf(yaml, sizeof(yaml),
             "registries:\n  localhost:%d: {ca: %s/ca.crt}\n  127.0.0.1:%d: {ca: %s/other.crt}\n"
             "  same.example: {url: 'https://localhost:%d', ca: %s/other.crt}\n",
             daemon_port, home, daemon_port, home, daemon_port, home);
    snprintf(own, sizeof(own), "localhost:%d/app:v1", daemon_port);
    snprintf(other, sizeof(other), "127.0.0.1:%d/app:v1", daemon_port);
    ck_assert_int_eq(ocv_config_new(&config, &err), 0);
    ck_assert_msg(ocv_config_merge_yaml(config, "t", yaml, strlen(yaml), &err) == 0, "%s",
                  err.message);
    ck_assert_int_eq(ocv_ca_store_new(&ca_store, &err), 0);
    for (int round = 0; round < 4; round++) {
        if (round % 2 == 0)
            new_client(with_registries(config, ca_store));
        if (round < 2)
            ck_assert_msg(head_of(own) == 0, "%s", err.message);
        expect_error(head_of(other), OCV_ERR_TLS, "TLS with 127.0.0.1");
        expect_error(head_of("same.example/app:v1"), OCV_ERR_TLS, "TLS with localhost");
        ck_assert_msg(head_of(own) == 0, "%s", err.message);
    }
    ocv_registry_free(client);
    client = NULL;
    ocv_ca_store_free(ca_store);
    ocv_config_free(config);
}
END_TEST

START_TEST(client_certificate)
{
    char tls[512], dir[256];
    struct ocv_descriptor d;
    make_certificates();
    snprintf(tls, sizeof(tls),
             "  tls: {certificate: %s/server.crt, key: %s/server.key, clientcas: [%s/ca.crt]}\n",
             home, home, home);
    start_daemon(tls, "");
    snprintf(dir, sizeof(dir), "%s/ca.crt", home);
    new_client((struct ocv_registry_options){.ca_file = dir});
    ck_assert_int_lt(head_at("127.0.0.1", &d), 0);
    shell("d=%s/certs/127.0.0.1:%d && mkdir -p $d && cd %s && cp ca.crt $d && "
          "cp client.crt $d/c.cert && cp client.key $d/c.key",
          home, daemon_port, home);
    snprintf(dir, sizeof(dir), "%s/certs", home);
    new_client((struct ocv_registry_options){.certs_dir = dir});
    ck_assert_msg(head_at("127.0.0.1", &d) == 0, "%s", err.message);
    shell("rm %s/c.key", "$HOME/certs/127.0.0.1:*");
    new_client((struct ocv_registry_options){.certs_dir = dir});
    expect_error(head_at("127.0.0.1", &d), OCV_ERR_CONFIG, "c.key");
}
END_TEST

START_TEST(blobs)
{
    char dir[128], text[128];
    struct ocv_layout *layout = NULL;
    struct ocv_manifest *manifest = NULL;
    struct ocv_reference *ref = NULL;
    struct ocv_descriptor d;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 0);
    start_daemon("", "");
    snprintf(text, sizeof(text), "localhost:%d/app:v1", daemon_port);
    ck_assert_int_eq(ocv_reference_parse(text, &ref, &err), 0);
    ck_assert_msg(ocv_registry_get(client, ref, NULL, &body, &d, &err) == 0, "%s", err.message);
    ck_assert_int_eq(ocv_manifest_parse(body.data, body.len, d.media_type, &manifest, &err), 0);
    struct ocv_fetch f[2] = {{.descriptor = *ocv_manifest_config(manifest)},
                             {.descriptor = *ocv_manifest_layer(manifest, 0)}};
    snprintf(dir, sizeof(dir), "%s/layout", home);
    ck_assert_int_eq(ocv_layout_open(dir, OCV_LAYOUT_CREATE, &layout, &err), 0);
    ck_assert_msg(ocv_registry_fetch(client, ref, layout, f, 2, 0, NULL, NULL, &err) == 0, "%s",
                  err.message);
    ck_assert(ocv_layout_has_blob(layout, f[0].descriptor.digest, 2));
    ck_assert(ocv_layout_has_blob(layout, f[1].descriptor.digest, 7));
    ocv_layout_free(layout);
    ocv_manifest_free(manifest);
    ocv_reference_free(ref);
}
END_TEST

/* Reference NAME of the running registry; freed by the caller. */
static struct ocv_reference *ref_of(const char *name)
{
    char text[160];
    struct ocv_reference *ref = NULL;
    snprintf(text, sizeof(text), "localhost:%d/%s", daemon_port, name);
    ck_assert_int_eq(ocv_reference_parse(text, &ref, &err), 0);
    return ref;
}

static int64_t last_sent;

static void on_sent(void *data, int64_t sent)
{
    (void)data;
    last_sent = sent;
}

static struct ocv_push push_of(const void *bytes, size_t len)
{
    struct ocv_push push = {.bytes = bytes, .fd = -1, .progress = on_sent};
    ck_assert_int_eq(ocv_digest_bytes(bytes, len, push.descriptor.digest, &err), 0);
    push.descriptor.size = (int64_t)len;
    return push;
}

/* Sent from memory and from a file, mounted elsewhere, found present. */
START_TEST(push_blobs)
{
    size_t len = 3u * 1024 * 1024 + 7;
    char *bytes = malloc(len), path[128];
    enum ocv_pushed how;
    start_daemon("", "");
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 31 + i / 4096);
    struct ocv_reference *a = ref_of("one/a"), *b = ref_of("two/b"), *app = ref_of("app");
    struct ocv_push push = push_of(bytes, len);
    last_sent = 0;
    ck_assert_msg(ocv_registry_push(client, a, &push, &how, &err) == 0, "%s", err.message);
    ck_assert_int_eq(how, OCV_PUSHED_SENT);
    ck_assert_int_eq(last_sent, (int64_t)len);
    ck_assert_int_eq(ocv_registry_push(client, a, &push, &how, &err), 0);
    ck_assert_int_eq(how, OCV_PUSHED_PRESENT);
    push.bytes = NULL; /* nothing to send: it must be mounted */
    ck_assert_int_eq(ocv_registry_push(client, b, &push, &how, &err), OCV_ERR_NOT_FOUND);
    push.from = "one/a";
    ck_assert_msg(ocv_registry_push(client, b, &push, &how, &err) == 0, "%s", err.message);
    ck_assert_int_eq(how, OCV_PUSHED_MOUNTED);
    ck_assert_int_eq(ocv_registry_has_blob(client, b, push.descriptor.digest, (int64_t)len, &err),
                     1);
    ck_assert_int_eq(ocv_registry_has_blob(client, b, push.descriptor.digest, 5, &err),
                     OCV_ERR_MISMATCH);
    ck_assert_int_eq(ocv_registry_has_blob(client, app, push.descriptor.digest, -1, &err), 0);
    write_file("file", 0600, "0123456789");
    snprintf(path, sizeof(path), "%s/file", home);
    push = push_of("0123456789", 10);
    push.bytes = NULL;
    push.fd = open(path, O_RDONLY);
    ck_assert_msg(ocv_registry_push(client, app, &push, &how, &err) == 0, "%s", err.message);
    ck_assert_int_eq(how, OCV_PUSHED_SENT);
    close(push.fd);
    write_file("file", 0600, "0123"); /* shorter than its descriptor says */
    push = push_of("9876543210", 10);
    push.bytes = NULL;
    push.fd = open(path, O_RDONLY);
    ck_assert_int_lt(ocv_registry_push(client, app, &push, &how, &err), 0);
    close(push.fd);
    push = push_of("abc", 3);
    push.bytes = "abd"; /* other bytes than its digest: the registry refuses */
    ck_assert_int_lt(ocv_registry_push(client, app, &push, &how, &err), 0);
    ck_assert_int_eq(ocv_registry_has_blob(client, app, push.descriptor.digest, -1, &err), 0);
    ocv_reference_free(a);
    ocv_reference_free(b);
    ocv_reference_free(app);
    free(bytes);
}
END_TEST

static int count_tag(void *data, const char *tag)
{
    size_t *n = data;
    ck_assert(!strcmp(tag, "v1") || !strcmp(tag, "v2"));
    return ++*n > 10 ? OCV_ERR_INVALID : OCV_OK;
}

START_TEST(put_and_list)
{
    struct ocv_descriptor d, again;
    ocv_auto_buffer body;
    size_t n = 0;
    ocv_buffer_init(&body, 0);
    start_daemon("", "");
    struct ocv_reference *v1 = ref_of("app:v1"), *v2 = ref_of("app:v2"), *none = ref_of("none");
    ck_assert_int_eq(ocv_registry_get(client, v1, NULL, &body, &d, &err), 0);
    ck_assert_msg(
        ocv_registry_put(client, v2, d.media_type, body.data, body.len, NULL, &again, &err) == 0,
        "%s", err.message);
    ck_assert_str_eq(again.digest, d.digest);
    ck_assert_int_eq(ocv_registry_head(client, v2, &again, &err), 0);
    ck_assert_str_eq(again.digest, d.digest);
    ck_assert_int_eq(ocv_registry_tags(client, v1, count_tag, &n, &err), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(ocv_registry_tags(client, none, count_tag, &n, &err), OCV_ERR_NOT_FOUND);
    expect_error(ocv_registry_put(client, v2, d.media_type, "{}", 2, NULL, NULL, &err),
                 OCV_ERR_NETWORK, "app:v2");
    ocv_reference_free(v1);
    ocv_reference_free(v2);
    ocv_reference_free(none);
}
END_TEST

START_TEST(push_with_password)
{
    char auth[256];
    enum ocv_pushed how;
    make_certificates();
    snprintf(auth, sizeof(auth), "auth: {htpasswd: {realm: r, path: %s/htpasswd}}\n", home);
    start_daemon("", auth);
    struct ocv_reference *app = ref_of("new/app");
    struct ocv_push push = push_of("secret", 6);
    expect_error(ocv_registry_push(client, app, &push, &how, &err), OCV_ERR_DENIED, "HTTP 401");
    new_client((struct ocv_registry_options){.username = "u", .password = "p"});
    last_sent = 0;
    ck_assert_msg(ocv_registry_push(client, app, &push, &how, &err) == 0, "%s", err.message);
    ck_assert_int_eq(how, OCV_PUSHED_SENT);
    ocv_reference_free(app);
}
END_TEST

TEST_FILE
{
    // NOLINTNEXTLINE(cert-env33-c)
    if (system("command -v docker-registry >/dev/null && command -v openssl >/dev/null && "
               "command -v htpasswd >/dev/null") != 0) {
        puts("skipped: docker-registry, openssl or htpasswd is missing");
        return 0;
    }
    find_tools();
    Suite *suite = suite_create("registry-real");
    TCase *c = tcase_create("docker-registry");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up_real, tear_down_real);
    tcase_add_test(c, plain);
    tcase_add_test(c, tls_and_basic);
    tcase_add_test(c, authorities_of_each);
    tcase_add_test(c, client_certificate);
    tcase_add_test(c, blobs);
    tcase_add_test(c, push_blobs);
    tcase_add_test(c, put_and_list);
    tcase_add_test(c, push_with_password);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
