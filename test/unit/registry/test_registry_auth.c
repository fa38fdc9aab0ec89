/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens, and where credentials come from. Parsers: test_auth_parsers.c. */
#include "lib/registry/auth/credentials.h"
#include "lib/registry/registry_internal.h"
#include "test/unit/registry/registry_util.h"

static void as_u(void)
{
    new_client((struct ocv_registry_options){.username = "u", .password = "p"});
}

START_TEST(anonymous_token_is_kept)
{
    struct ocv_descriptor d;
    ck_assert_msg(head("public:v1", &d) == 0, "%s", err.message);
    const char *log = requests();
    ck_assert_uint_eq((unsigned)lines(log), 3);
    ck_assert_msg(strstr(log, "GET /token?service=bad%2C%20registry&scope=repository%3Apublic%3A"
                              "pull - - 0"),
                  "%s", log);
    ck_assert_int_eq(head("public:v2", &d), 0);
    ck_assert_str_eq(requests(), "HEAD /v2/public/manifests/v2 Bearer anonymous-1 - 0\n");
}
END_TEST

/* Of many repositories the last ones' tokens are kept. */
START_TEST(tokens_are_bounded)
{
    struct ocv_descriptor d;
    char name[64];
    size_t n = 0;
    for (unsigned i = 0; i < OCV_TOKENS_MAX + 8; i++) {
        snprintf(name, sizeof(name), "public/n%u:v1", i);
        (void)head(name, &d);
    }
    for (const struct ocv_token *t = client->hosts->tokens; t; t = t->next)
        n++;
    ck_assert_uint_eq(n, OCV_TOKENS_MAX);
    (void)requests();
    (void)head(name, &d);
    ck_assert_ptr_null(strstr(requests(), "/token"));
    (void)head("public/n0:v1", &d);
    ck_assert_ptr_nonnull(strstr(requests(), "/token"));
}
END_TEST

/* 32 KiB, announced or not; one byte more is refused. */
START_TEST(answers_with_tokens_are_bounded)
{
    struct ocv_descriptor d;
    ck_assert_uint_eq(OCV_TOKEN_BODY_MAX, 32768);
    ck_assert_msg(head("fulltoken:v1", &d) == 0, "%s", err.message);
    ck_assert_msg(head("fulluntold:v1", &d) == 0, "%s", err.message);
    expect_error(head("overtoken:v1", &d), OCV_ERR_DATA, "token larger than 32 KiB");
    expect_error(head("overuntold:v1", &d), OCV_ERR_DATA, "token larger than 32 KiB");
}
END_TEST

START_TEST(token_with_credentials)
{
    struct ocv_descriptor d;
    expect_error(head("private:v1", &d), OCV_ERR_DENIED, "private:v1");
    ck_assert_ptr_nonnull(strstr(err.hint, "docker login"));
    ck_assert_ptr_nonnull(strstr(err.hint, "or podman login 127.0.0.1:"));
    ck_assert_ptr_nonnull(strstr(err.hint, "or --authfile FILE; there are none for it in "));
    ck_assert_ptr_nonnull(strstr(err.hint, "/.docker/config.json"));
    as_u();
    ck_assert_msg(head("private:v1", &d) == 0, "%s", err.message);
    (void)requests();
    ck_assert_int_eq(try_get("private:v1"), 0);
    ck_assert_uint_eq((unsigned)lines(requests()), 1);
    new_client((struct ocv_registry_options){.username = "u", .password = "wrong"});
    expect_error(head("private:v1", &d), OCV_ERR_DENIED, "token server");
    ck_assert_int_eq(err.http_status, 401);
}
END_TEST

START_TEST(token_by_post_where_get_is_refused)
{
    struct ocv_descriptor d;
    as_u();
    ck_assert_msg(head("oauth:v1", &d) == 0, "%s", err.message);
    const char *log = requests();
    ck_assert_msg(strstr(log, "POST /oauth - - 0"), "%s", log);
}
END_TEST

START_TEST(expired_token_is_renewed)
{
    struct ocv_descriptor d;
    as_u();
    for (int i = 0; i < 3; i++)
        ck_assert_msg(head("onetime:v1", &d) == 0, "%s", err.message);
    ck_assert_uint_eq((unsigned)lines(requests()), 9);
}
END_TEST

START_TEST(basic)
{
    struct ocv_descriptor d;
    expect_error(head("basic:v1", &d), OCV_ERR_DENIED, "access denied");
    as_u();
    ck_assert_msg(head("basic:v1", &d) == 0, "%s", err.message);
    (void)requests();
    ck_assert_int_eq(head("basic:v1", &d), 0);
    ck_assert_uint_eq((unsigned)lines(requests()), 1);
    new_client((struct ocv_registry_options){.username = "u", .password = "wrong"});
    expect_error(head("basic:v1", &d), OCV_ERR_DENIED, "are rejected");
}
END_TEST

START_TEST(docker_config)
{
    struct ocv_descriptor d;
    char text[256];
    snprintf(text, sizeof(text), "{\"auths\":{\"127.0.0.1:%d\":{\"auth\":\"dTpw\"}}}", port);
    write_file(_i ? ".config/containers/auth.json" : ".docker/config.json", 0600, text);
    ck_assert_msg(head("basic:v1", &d) == 0, "%s", err.message);
}
END_TEST

START_TEST(identity_token)
{
    struct ocv_descriptor d;
    char text[256], dir[128];
    snprintf(text, sizeof(text),
             "{\"auths\":{\"127.0.0.1:%d\":{\"identitytoken\":\"identity+token\"}}}", port);
    write_file("other/config.json", 0600, text);
    snprintf(dir, sizeof(dir), "%s/other", home);
    setenv("DOCKER_CONFIG", dir, 1);
    ck_assert_msg(head("oauth:v1", &d) == 0, "%s", err.message);
}
END_TEST

static void install_helper(const char *script)
{
    char path[256];
    write_file("bin/docker-credential-fake", 0700, script);
    snprintf(path, sizeof(path), "%s/bin:/usr/bin:/bin", home);
    setenv("PATH", path, 1);
    write_file(".docker/config.json", 0600, "{\"credsStore\":\"fake\"}");
}

/* Also where the program that uses the library lets the kernel reap, and the exit status is lost.
 */
START_TEST(credential_helper)
{
    struct ocv_descriptor d;
    char script[256];
    snprintf(script, sizeof(script),
             "#!/bin/sh\n[ \"$1\" = get ] && [ \"$(cat)\" = 127.0.0.1:%d ] || exit 1\n"
             "echo '{\"ServerURL\":\"x\",\"Username\":\"u\",\"Secret\":\"p\"}'\n",
             port);
    install_helper(script);
    signal(SIGCHLD, _i ? SIG_IGN : SIG_DFL);
    int status = head("basic:v1", &d);
    signal(SIGCHLD, SIG_DFL);
    ck_assert_msg(status == 0, "%s", err.message);
}
END_TEST

START_TEST(credential_helper_with_identity_token)
{
    struct ocv_descriptor d;
    install_helper("#!/bin/sh\n"
                   "echo '{\"Username\":\"<token>\",\"Secret\":\"identity+token\"}'\n");
    ck_assert_msg(head("oauth:v1", &d) == 0, "%s", err.message);
}
END_TEST

START_TEST(broken_helper_breaks_no_public_pull)
{
    struct ocv_descriptor d;
    install_helper("#!/bin/sh\necho it is locked\nexit 1\n");
    ck_assert_msg(head("public:v1", &d) == 0, "%s", err.message);
    expect_error(head("basic:v1", &d), OCV_ERR_DENIED, "access denied");
    ck_assert_msg(strstr(err.hint, "docker-credential-fake: failed (exit 1): it is locked"), "%s",
                  err.hint);
    install_helper("#!/bin/sh\necho '{\"Username\":\"u\",\"Secret\":\"p\"}'\nexit 1\n");
    expect_error(head("basic:v1", &d), OCV_ERR_DENIED, "access denied");
    install_helper("#!/bin/sh\necho credentials not found in native keychain\nexit 1\n");
    expect_error(head("basic:v1", &d), OCV_ERR_DENIED, "access denied");
    ck_assert_msg(!strstr(err.hint, "fake"), "%s", err.hint);
}
END_TEST

/* A token server refuses what a plug-in gave: it is asked for again once it is not fresh. */
START_TEST(refused_password_of_a_plug_in_is_asked_for_again)
{
    struct ocv_descriptor d;
    char text[512], config[128], bin[128];
    struct ocv_credential_providers *providers = NULL;
    snprintf(config, sizeof(config), "%s/plug-ins.yaml", home);
    snprintf(bin, sizeof(bin), "%s/plug-ins", home);
    snprintf(text, sizeof(text),
             "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n"
             "- {name: old, matchImages: ['127.0.0.1:%d'], defaultCacheDuration: 1h, "
             "apiVersion: credentialprovider.kubelet.k8s.io/v1}\n",
             port);
    write_file("plug-ins.yaml", 0600, text);
    snprintf(text, sizeof(text),
             "#!/bin/sh\ncd \"$HOME\"\n[ -e asked ] && p=p || p=expired\n: >asked\n"
             "echo '{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":"
             "\"credentialprovider.kubelet.k8s.io/v1\",\"cacheKeyType\":\"Registry\","
             "\"auth\":{\"127.0.0.1:%d\":{\"username\":\"u\",\"password\":\"'$p'\"}}}'\n",
             port);
    write_file("plug-ins/old", 0700, text);
    const struct ocv_credential_providers_options options = {.config = config, .bin_dir = bin};
    ck_assert_msg(ocv_credential_providers_new(&options, &providers, &err) == OCV_OK, "%s",
                  err.message);
    new_client((struct ocv_registry_options){.credential_providers = providers});
    expect_error(head("private:v1", &d), OCV_ERR_DENIED, "token server");
    int status = OCV_ERR_DENIED;
    for (unsigned i = 0; i < 100 && status == OCV_ERR_DENIED; i++) {
        usleep(100000);
        status = head("private:v1", &d);
    }
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    ocv_registry_free(client);
    client = NULL;
    ocv_credential_providers_free(providers);
}
END_TEST

static volatile int stopped;

static void on_alarm(int signal)
{
    (void)signal;
    stopped = 1;
}

/* The program closes its output but keeps running: nobody may wait for it forever. */
START_TEST(helper_that_stays_is_no_prison)
{
    struct ocv_descriptor d;
    install_helper("#!/bin/sh\nexec >/dev/null\nsleep 0.3\nkill -ALRM $PPID\nexec sleep 1000\n");
    new_client((struct ocv_registry_options){.interrupted = &stopped});
    signal(SIGALRM, on_alarm);
    expect_error(head("basic:v1", &d), OCV_ERR_INTERRUPTED, "docker-credential-fake: interrupted");
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), 0); /* our only child is the server, which lives */
}
END_TEST

#if __GLIBC_PREREQ(2, 34)
/* It has its input, its output and nothing else of ours. */
START_TEST(helper_inherits_no_descriptor)
{
    struct ocv_descriptor d;
    install_helper("#!/bin/sh\n"
                   "for fd in 3 4 5 6 7 8 9; do [ ! -e /proc/self/fd/$fd ] || exit 1; done\n"
                   "echo '{\"Username\":\"u\",\"Secret\":\"p\"}'\n");
    ck_assert_msg(head("basic:v1", &d) == 0, "%s", err.message);
}
END_TEST
#endif

START_TEST(credentials_for_an_engine)
{
    ocv_auto_buffer json;
    ocv_buffer_init(&json, 65536);
    ck_assert_int_eq(ocv_registry_credentials(client, "docker.io", &json, &err), 0);
    ck_assert_uint_eq((unsigned)json.len, 0);
    write_file(".docker/config.json", 0600,
               "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"dTpw\"}}}");
    ck_assert_int_eq(ocv_registry_credentials(client, "docker.io", &json, &err), 0);
    ck_assert_str_eq(json.data, "{\"username\":\"u\",\"password\":\"p\",\"serveraddress\":"
                                "\"https://index.docker.io/v1/\"}");
}
END_TEST

START_TEST(auth_file)
{
    struct ocv_descriptor d;
    char path[128], text[256];
    snprintf(path, sizeof(path), "%s/auth.json", home);
    new_client((struct ocv_registry_options){.auth_file = path});
    expect_error(head("basic:v1", &d), OCV_ERR_CONFIG, "auth.json");
    write_file("auth.json", 0600, "{ nonsense");
    expect_error(head("basic:v1", &d), OCV_ERR_CONFIG, "auth.json: line 1");
    snprintf(text, sizeof(text), "{\"auths\":{\"127.0.0.1:%d\":{\"auth\":\"dTpw\"}}}", port);
    write_file("auth.json", 0600, text);
    ck_assert_msg(head("basic:v1", &d) == 0, "%s", err.message);
}
END_TEST

/* Whose login it was that is refused. */
START_TEST(refused_login_is_named)
{
    struct ocv_descriptor d;
    char text[256];
    snprintf(text, sizeof(text), "{\"auths\":{\"127.0.0.1:%d\":{\"auth\":\"dTp3cm9uZw==\"}}}",
             port);
    write_file(".config/containers/auth.json", 0600, text);
    expect_error(head("basic:v1", &d), OCV_ERR_DENIED, "are rejected");
    ck_assert_msg(strstr(err.hint, "(again); these are from /"), "%s", err.hint);
    ck_assert_ptr_nonnull(strstr(err.hint, "/.config/containers/auth.json"));
}
END_TEST

/* A daemon has no --authfile, and nobody can log it in. */
START_TEST(service_is_told_of_its_configuration)
{
    struct ocv_descriptor d;
    char path[128];
    new_client((struct ocv_registry_options){.service = true, .auth_file = "/dev/null"});
    expect_error(head("basic:v1", &d), OCV_ERR_DENIED, "access denied");
    ck_assert_msg(strstr(err.hint, "is private: `credentials` of the configuration names the file"),
                  "%s", err.hint);
    write_file("auth.json", 0600, "{}");
    snprintf(path, sizeof(path), "%s/auth.json", home);
    new_client((struct ocv_registry_options){.service = true, .auth_file = path});
    expect_error(head("basic:v1", &d), OCV_ERR_DENIED, "access denied");
    ck_assert_msg(strstr(err.hint, "/auth.json has no login for 127.0.0.1:"), "%s", err.hint);
}
END_TEST

/* An ordinary user's podman without XDG_RUNTIME_DIR (cron, su, containers) makes a directory. */
START_TEST(files_without_runtime_directory)
{
    struct ocv_auth_files files;
    char wanted[512];
    setenv("HOME", "/home/u", 1);
    setenv("TMPDIR", "/var/tmp", 1);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(4242), 0);
    unsigned long id = geteuid();
    ck_assert_int_eq(ocv_auth_files_find(&files, &err), 0);
    char *text = malloc(4096);
    ocv_auth_files_name(&files, text, 4096);
    snprintf(wanted, sizeof(wanted),
             "/home/u/.docker/config.json, /run/user/%lu/containers/auth.json, "
             "/var/tmp/podman-run-%lu/containers/auth.json, /home/u/rundir/containers/auth.json, "
             "/run/containers/%lu/auth.json and /home/u/.config/containers/auth.json",
             id, id, id);
    ck_assert_str_eq(text, wanted);
    free(text);
    ocv_auth_files_free(&files);
    ck_assert_int_eq(seteuid(getuid()), 0);
}
END_TEST

START_TEST(files_that_are_named)
{
    struct ocv_auth_files files;
    char text[512];
    setenv("HOME", "/home/u", 1);
    setenv("XDG_RUNTIME_DIR", "/run/x", 1);
    ck_assert_int_eq(ocv_auth_files_find(&files, &err), 0);
    ocv_auth_files_name(&files, text, sizeof(text));
    ck_assert_str_eq(text, "/home/u/.docker/config.json, /run/x/containers/auth.json and "
                           "/home/u/.config/containers/auth.json");
    ocv_auth_files_free(&files);
    setenv("DOCKER_CONFIG", "/d", 1);
    setenv("REGISTRY_AUTH_FILE", "/a.json", 1);
    ck_assert_int_eq(ocv_auth_files_find(&files, &err), 0);
    ocv_auth_files_name(&files, text, sizeof(text));
    ck_assert_str_eq(text, "/d/config.json and /a.json");
    ocv_auth_files_free(&files);
}
END_TEST

/* What another user has put there for us to find is not looked at. */
START_TEST(files_of_others)
{
    struct ocv_auth_files files;
    char dir[256] = "";
    setenv("TMPDIR", home, 1);
    ck_assert_int_eq(chmod(home, 0777), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(4242), 0);
    ck_assert_int_eq(ocv_auth_files_find(&files, &err), 0);
    const struct ocv_auth_file *file = NULL;
    for (size_t i = 0; i < files.n; i++)
        if (strstr(files.list[i].path, "/podman-run-"))
            file = &files.list[i];
    ck_assert_ptr_nonnull(file);
    snprintf(dir, sizeof(dir), "%.*s", (int)file->own, file->path);
    ck_assert(!ocv_auth_file_safe(file)); /* nothing there */
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    ck_assert(ocv_auth_file_safe(file));
    ck_assert_int_eq(chmod(dir, 0770), 0);
    ck_assert(!ocv_auth_file_safe(file));
    ck_assert_int_eq(rmdir(dir), 0);
    ck_assert_int_eq(symlink("/", dir), 0);
    ck_assert(!ocv_auth_file_safe(file));
    if (getuid() == 0) {
        ck_assert_int_eq(unlink(dir), 0);
        ck_assert_int_eq(mkdir(dir, 0700), 0);
        ck_assert_int_eq(seteuid(0), 0);
        ck_assert_int_eq(chown(dir, 4243, 4243), 0);
        ck_assert_int_eq(seteuid(4242), 0);
        ck_assert(!ocv_auth_file_safe(file));
        ck_assert_int_eq(seteuid(0), 0);
    }
    ocv_auth_files_free(&files);
}
END_TEST

/* A ping for a document has the time that the document has left, for all of its tries. */
START_TEST(ping_ends_with_its_document)
{
    struct ocv_exchange asker = {.method = "GET"};
    const struct ocv_buffer *challenges = NULL;
    char name[32];
    new_client((struct ocv_registry_options){.document_timeout_ms = 300, .retries = 2});
    asker.registry = client;
    snprintf(name, sizeof(name), "127.0.0.1:%d", port);
    ck_assert_int_eq(ocv_registry_host_get(client, name, &asker.host, &err), 0);
    free(asker.host->prefix);
    asker.host->prefix = strdup("/mute");
    ck_assert_ptr_nonnull(asker.host->prefix);
    asker.begun = ocv_clock_ms();
    asker.begun -= ocv_exchange_left(&asker) - 100; /* 0.1 s is left */
    (void)requests();
    ck_assert_int_eq(ocv_ping_challenges(&asker, &challenges, &err), 0);
    ck_assert_uint_eq(challenges->len, 0);
    ck_assert_str_eq(requests(), "GET /mute/v2/ - - 0\n");
}
END_TEST

/* What a host asks of nobody, of its user, and of somebody with a wrong password. */
static int ping(const char *prefix, bool *login, enum ocv_registry_access *access)
{
    struct ocv_registry_host *host = NULL;
    char name[32];
    snprintf(name, sizeof(name), "127.0.0.1:%d", port);
    ck_assert_int_eq(ocv_registry_host_get(client, name, &host, &err), 0);
    free(host->prefix);
    host->prefix = strdup(prefix);
    ck_assert_ptr_nonnull(host->prefix);
    return ocv_registry_ping(client, name, login, access, &err);
}

START_TEST(ping_tells_what_a_host_asks)
{
    static const struct {
        const char *prefix;
        enum ocv_registry_access access;
    } closed[] = {{"/v2/private", OCV_REGISTRY_ACCESS_TOKEN},
                  {"/v2/basic", OCV_REGISTRY_ACCESS_LOGIN}};
    enum ocv_registry_access access;
    bool login = true;
    for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++) {
        new_client((struct ocv_registry_options){0});
        ck_assert_msg(ping(closed[i].prefix, &login, &access) == 0, "%s", err.message);
        ck_assert(!login);
        ck_assert_int_eq(access, closed[i].access);
        as_u();
        ck_assert_msg(ping(closed[i].prefix, &login, &access) == 0, "%s", err.message);
        ck_assert(login);
        ck_assert_int_eq(access, closed[i].access);
        new_client((struct ocv_registry_options){.username = "u", .password = "wrong"});
        ck_assert_int_eq(ping(closed[i].prefix, &login, &access), OCV_ERR_DENIED);
        ck_assert(login);
        ck_assert_int_eq(access, closed[i].access);
    }
    as_u();
    (void)requests();
    ck_assert_msg(ping("/v2/generic", &login, &access) == 0, "%s", err.message);
    ck_assert(!login);
    ck_assert_int_eq(access, OCV_REGISTRY_ACCESS_OPEN);
    ck_assert_str_eq(requests(), "GET /v2/generic/v2/ - - 0\n");
    expect_error(ping("/v2/m500", &login, &access), OCV_ERR_NETWORK, "500");
    ck_assert(!login);
}
END_TEST

TEST_FILE
{
    find_tools();
    Suite *suite = suite_create("registry-auth");
    TCase *c = tcase_create("server");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, anonymous_token_is_kept);
    tcase_add_test(c, tokens_are_bounded);
    tcase_add_test(c, answers_with_tokens_are_bounded);
    tcase_add_test(c, token_with_credentials);
    tcase_add_test(c, token_by_post_where_get_is_refused);
    tcase_add_test(c, expired_token_is_renewed);
    tcase_add_test(c, basic);
    tcase_add_loop_test(c, docker_config, 0, 2);
    tcase_add_test(c, identity_token);
    tcase_add_loop_test(c, credential_helper, 0, 2);
    tcase_add_test(c, credential_helper_with_identity_token);
    tcase_add_test(c, broken_helper_breaks_no_public_pull);
    tcase_add_test(c, refused_password_of_a_plug_in_is_asked_for_again);
    tcase_add_test(c, helper_that_stays_is_no_prison);
#if __GLIBC_PREREQ(2, 34)
    tcase_add_test(c, helper_inherits_no_descriptor);
#endif
    tcase_add_test(c, credentials_for_an_engine);
    tcase_add_test(c, ping_ends_with_its_document);
    tcase_add_test(c, ping_tells_what_a_host_asks);
    tcase_add_test(c, auth_file);
    tcase_add_test(c, refused_login_is_named);
    tcase_add_test(c, service_is_told_of_its_configuration);
    tcase_add_test(c, files_without_runtime_directory);
    tcase_add_test(c, files_that_are_named);
    tcase_add_test(c, files_of_others);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
