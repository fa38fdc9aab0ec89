/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kubelet's credential provider plug-ins: how they are run, how often, and for whom. */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/registry/auth/credentials.h"
#include "lib/registry/auth/providers_internal.h"
#include "test/unit/suite.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define V1 "credentialprovider.kubelet.k8s.io/v1"
#define CONFIG                               \
    "apiVersion: kubelet.config.k8s.io/v1\n" \
    "kind: CredentialProviderConfig\n"       \
    "providers:\n"

static struct ocv_error err;
static char place[64];
static struct ocv_credential_providers *providers;
static unsigned runs[4]; /* by how they ended */
static char said[256];

static void count_run(void *data, const char *provider, enum ocv_credential_run how,
                      const char *why)
{
    (void)data;
    runs[how]++;
    snprintf(said, sizeof(said), "%s: %s", provider, why);
}

static const char *in_place(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", place, name);
    return path;
}

static void write_to(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(in_place(name), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(in_place(name), mode), 0);
}

static void open_providers(const char *config, unsigned timeout_ms)
{
    const struct ocv_credential_providers_options options = {.config = in_place("config.yaml"),
                                                             .bin_dir = place,
                                                             .timeout_ms = timeout_ms,
                                                             .ended = count_run};
    write_to("config.yaml", config, 0600);
    ck_assert_msg(ocv_credential_providers_new(&options, &providers, &err) == OCV_OK, "%s",
                  err.message);
}

/* One that serves a.example and b.example, in the form of a script. */
static void open_script(const char *script, unsigned timeout_ms)
{
    write_to("plug-in", script, 0700);
    open_providers(CONFIG "- {name: plug-in, matchImages: [a.example, b.example], "
                          "defaultCacheDuration: 1h, apiVersion: " V1
                          ", args: [one, 'two $HOME'], env: [{name: GIVEN, value: 'x y'}, "
                          "{name: HOME, value: /elsewhere}]}\n",
                   timeout_ms);
}

/* The name that it gave for the image, NULL: none. */
static const char *ask(const char *image, uint64_t *issue)
{
    static char user[256];
    static char note[256];
    struct ocv_credentials c;
    const struct ocv_providers_patience patience = {NULL, 0};
    err = (struct ocv_error){0};
    note[0] = '\0';
    ck_assert_msg(ocv_providers_find(providers, image, &patience, &c, note, sizeof(note), &err) ==
                      OCV_OK,
                  "%s", err.message);
    if (issue)
        *issue = c.issue;
    snprintf(user, sizeof(user), "%s", c.username ? c.username : note);
    bool none = ocv_credentials_empty(&c);
    ocv_credentials_free(&c);
    return none && !*user ? NULL : user;
}

/* Prints that answer, with $n, the number of the run, in it. */
#define COUNT "#!/bin/sh\necho run >>\"$PLACE/runs\"\nn=$(wc -l <\"$PLACE/runs\")\n"
#define PRINT(scope, more)                                                  \
    "printf '{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":\"" V1 \
    "\",\"cacheKeyType\":\"" scope "\"" more                                \
    ",\"auth\":{\"*.example\":{\"username\":\"run%s\",\"password\":\"s3cret\"}}}' $n\n"

static void make_place(void)
{
    snprintf(place, sizeof(place), "/tmp/ocv-providers.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(place));
    setenv("PLACE", place, 1); /* a script does not know its own: it is read from a descriptor */
    memset(runs, 0, sizeof(runs));
    said[0] = '\0';
}

static void remove_place(void)
{
    char command[128];
    ocv_credential_providers_free(providers);
    providers = NULL;
    snprintf(command, sizeof(command), "rm -rf %s", place);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(program_is_asked_as_kubelet_asks_it)
{
    setenv("NOTIFY_SOCKET", "/run/notify", 1);
    setenv("INHERITED", "yes", 1);
    open_script("#!/bin/sh\ncat >\"$PLACE/question\"\n"
                "printf '%s|' \"$1\" \"$2\" \"$GIVEN\" \"$HOME\" \"$INHERITED\" "
                "\"$NOTIFY_SOCKET\" \"$#\" >\"$PLACE/world\"\n" PRINT("Image", ""),
                0);
    ck_assert_str_eq(ask("a.example/team/app", NULL), "run");
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 4096);
    ck_assert_int_eq(ocv_file_read(in_place("question"), OCV_FILE_REGULAR, &text, &err), OCV_OK);
    ck_assert_str_eq(text.data, "{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"" V1
                                "\",\"image\":\"a.example/team/app\"}");
    text.len = 0;
    ck_assert_int_eq(ocv_file_read(in_place("world"), OCV_FILE_REGULAR, &text, &err), OCV_OK);
    ck_assert_str_eq(text.data, "one|two $HOME|x y|/elsewhere|yes||2|");
    ck_assert_ptr_null(ask("c.example/app", NULL)); /* none of its images */
}
END_TEST

/* What a service cannot start with, and whose fault it is. */
START_TEST(unusable_files_are_told_apart)
{
    char config[128], large[128], none[128];
    snprintf(config, sizeof(config), "%s", in_place("config.yaml"));
    snprintf(large, sizeof(large), "%s", in_place("large.yaml"));
    snprintf(none, sizeof(none), "%s", in_place("none"));
    write_to("large.yaml", "", 0600);
    ck_assert_int_eq(truncate(large, OCV_PROVIDER_CONFIG_MAX + 1), 0);
    write_to("config.yaml",
             CONFIG "- {name: p, matchImages: [a.example], defaultCacheDuration: 1h, "
                    "apiVersion: " V1 "}\n",
             0600);
    const struct {
        const char *config, *bin_dir;
        int status;
    } cases[] = {
        {none, place, OCV_ERR_NOT_FOUND},
        {large, place, OCV_ERR_CONFIG},
        {config, none, OCV_ERR_NOT_FOUND},
        {config, config, OCV_ERR_CONFIG}, /* no directory */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct ocv_credential_providers_options options = {.config = cases[i].config,
                                                                 .bin_dir = cases[i].bin_dir};
        ck_assert_int_eq(ocv_credential_providers_new(&options, &providers, &err), cases[i].status);
        ck_assert_int_eq(err.status, cases[i].status);
    }
}
END_TEST

static const struct {
    const char *script;
    const char *third; /* who serves a.example/one, a.example/two, b.example/one, in turn */
} scopes[] = {
    {COUNT PRINT("Image", ""), "run1 run2 run3 run1"},
    {COUNT PRINT("Registry", ",\"cacheDuration\":\"1h\""), "run1 run1 run2 run1"},
    {COUNT PRINT("Global", ""), "run1 run1 run1 run1"},
    {COUNT PRINT("Global", ",\"cacheDuration\":\"0s\""), "run1 run2 run3 run4"},
    {COUNT PRINT("Registry", ",\"cacheDuration\":\"-1s\""), "run1 run2 run3 run4"},
};

START_TEST(answers_are_kept_as_they_say)
{
    static const char *const images[] = {"a.example/one", "a.example/two", "b.example/one",
                                         "a.example/one"};
    char got[64] = "";
    open_script(scopes[_i].script, 0);
    for (size_t i = 0; i < sizeof(images) / sizeof(*images); i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "",
                 ask(images[i], NULL));
    ck_assert_str_eq(got, scopes[_i].third);
}
END_TEST

static void *ask_once(void *data)
{
    struct ocv_credentials c;
    char note[64] = "";
    const struct ocv_providers_patience patience = {NULL, 0};
    (void)data;
    int status =
        ocv_providers_find(providers, "a.example/app", &patience, &c, note, sizeof(note), NULL);
    bool good = status == OCV_OK && c.username && !strcmp(c.username, "run1");
    ocv_credentials_free(&c);
    return good ? providers : NULL;
}

START_TEST(one_run_serves_all_who_wait)
{
    pthread_t threads[16];
    open_script(COUNT "sleep 0.3\n" PRINT("Image", ",\"cacheDuration\":\"0\""), 0);
    for (size_t i = 0; i < 16; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_once, NULL), 0);
    for (size_t i = 0; i < 16; i++) {
        void *good = NULL;
        pthread_join(threads[i], &good);
        ck_assert_ptr_nonnull(good);
    }
    ck_assert_uint_eq(runs[OCV_CREDENTIAL_RUN_OK], 1);
}
END_TEST

START_TEST(who_does_not_wait_leaves_the_run_to_the_next)
{
    struct ocv_credentials c;
    char note[256] = "";
    const struct ocv_providers_patience patience = {NULL, ocv_clock_ms() + 1};
    open_script(COUNT "while [ ! -e \"$PLACE/go\" ]; do sleep 0.05; done\n" PRINT("Image", ""), 0);
    ck_assert_int_eq(
        ocv_providers_find(providers, "a.example/app", &patience, &c, note, sizeof(note), &err),
        OCV_ERR_NETWORK);
    ck_assert_int_eq(err.http_status, 504);
    ck_assert_ptr_nonnull(strstr(err.message, "plug-in"));
    ck_assert(ocv_credentials_empty(&c));
    write_to("go", "", 0600);
    ck_assert_str_eq(ask("a.example/app", NULL), "run1");
}
END_TEST

static const struct {
    const char *script, *note;
    enum ocv_credential_run how;
} failures[] = {
    {"#!/bin/sh\necho s3cret\necho s3cret >&2\nexit 1\n", "exit status 1",
     OCV_CREDENTIAL_RUN_FAILED},
    {"#!/bin/sh\nkill -SEGV $$\n", "signal 11", OCV_CREDENTIAL_RUN_FAILED},
    {"#!/bin/sh\necho 'token s3cret'\n", "CredentialProviderResponse", OCV_CREDENTIAL_RUN_FAILED},
    {"#!/bin/sh\nexec yes s3cret\n", "more than 65536 bytes", OCV_CREDENTIAL_RUN_FAILED},
    {"#!/nonexistent/interpreter\n", "No such file", OCV_CREDENTIAL_RUN_FAILED},
    {"#!/bin/sh\nexec sleep 1000\n", "no answer", OCV_CREDENTIAL_RUN_TIMEOUT},
    {"#!/bin/sh\nexec >/dev/null\nexec sleep 1000\n", "no answer", OCV_CREDENTIAL_RUN_TIMEOUT},
};

START_TEST(failure_is_told_without_what_was_printed)
{
    open_script(failures[_i].script, failures[_i].how == OCV_CREDENTIAL_RUN_TIMEOUT ? 300 : 0);
    const char *note = ask("a.example/app", NULL);
    ck_assert_ptr_nonnull(note);
    ck_assert_msg(strstr(note, failures[_i].note), "%s", note);
    ck_assert_msg(!strstr(note, "s3cret"), "%s", note);
    ck_assert_msg(!strstr(said, "s3cret"), "%s", said);
    (void)ask("a.example/app", NULL);
    ck_assert_uint_eq(runs[failures[_i].how], 1); /* a failure stands for a while */
}
END_TEST

START_TEST(what_it_started_ends_with_it)
{
    open_script(
        "#!/bin/sh\nsleep 1000 >/dev/null &\necho $! >\"$PLACE/child\"\nn=1\n" PRINT("Image", ""),
        0);
    ck_assert_str_eq(ask("a.example/app", NULL), "run1");
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 4096);
    ck_assert_int_eq(ocv_file_read(in_place("child"), OCV_FILE_REGULAR, &text, &err), OCV_OK);
    /* nobody but its new parent can reap it; the suite's limit on time is ours */
    for (char state[256] = "run"; strcmp(state, "gone") != 0; usleep(10000)) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%ld/stat", strtol(text.data, NULL, 10));
        FILE *file = fopen(path, "r");
        if (!file || !fgets(state, sizeof(state), file) || strstr(state, ") Z ") ||
            strstr(state, ") X "))
            snprintf(state, sizeof(state), "gone");
        if (file)
            fclose(file);
    }
}
END_TEST

START_TEST(writable_program_is_not_run)
{
    open_script(COUNT PRINT("Image", ""), 0);
    ck_assert_int_eq(chmod(in_place("plug-in"), 0722), 0);
    const char *note = ask("a.example/app", NULL);
    ck_assert_msg(note && strstr(note, "may write to it"), "%s", note);
    ck_assert_int_eq(access(in_place("runs"), F_OK), -1);
}
END_TEST

START_TEST(link_into_a_writable_directory_is_not_followed)
{
    write_to("real", COUNT PRINT("Image", ""), 0700);
    ck_assert_int_eq(mkdir(in_place("open"), 0777), 0);
    ck_assert_int_eq(chmod(in_place("open"), 0777), 0);
    char from[128];
    snprintf(from, sizeof(from), "%s", in_place("real"));
    ck_assert_int_eq(rename(from, in_place("open/real")), 0);
    open_script("", 0);
    ck_assert_int_eq(unlink(in_place("plug-in")), 0);
    ck_assert_int_eq(symlink("open/real", in_place("plug-in")), 0);
    const char *note = ask("a.example/app", NULL);
    ck_assert_msg(note && strstr(note, "open: its group may write to it"), "%s", note);
}
END_TEST

START_TEST(missing_program_is_told_at_once)
{
    open_providers(CONFIG "- {name: gone, matchImages: [a.example], defaultCacheDuration: 1h, "
                          "apiVersion: " V1 "}\n",
                   0);
    ck_assert_uint_eq(runs[OCV_CREDENTIAL_RUN_UNUSABLE], 1);
    ck_assert_ptr_nonnull(strstr(said, "No such file"));
    const char *note = ask("a.example/app", NULL);
    ck_assert_msg(note && strstr(note, "No such file"), "%s", note);
}
END_TEST

START_TEST(next_provider_is_asked_where_one_has_nothing)
{
    write_to("first", "#!/bin/sh\nexit 1\n", 0700);
    write_to("second", COUNT PRINT("Image", ""), 0700);
    open_providers(CONFIG "- {name: first, matchImages: [a.example], defaultCacheDuration: 1h, "
                          "apiVersion: " V1 "}\n"
                          "- {name: second, matchImages: ['*.example'], defaultCacheDuration: 1h, "
                          "apiVersion: " V1 "}\n",
                   0);
    ck_assert_str_eq(ask("a.example/app", NULL), "run1");
    ck_assert(ocv_credential_providers_cover(providers, "x.example"));
    ck_assert(!ocv_credential_providers_cover(providers, "example"));
    ck_assert(!ocv_credential_providers_cover(NULL, "x.example"));
}
END_TEST

START_TEST(fresh_answer_is_not_asked_for_again)
{
    uint64_t issue = 0;
    open_script(COUNT PRINT("Image", ""), 0);
    ck_assert_str_eq(ask("a.example/app", &issue), "run1");
    ck_assert_uint_ne(issue, 0);
    ck_assert(!ocv_providers_renew(providers, issue)); /* a registry that refuses everything */
    ck_assert(!ocv_providers_renew(providers, 0));     /* not a provider's */
    ck_assert(!ocv_providers_renew(NULL, issue));
    ck_assert(ocv_providers_renew(providers, issue + 1)); /* gone: another one is to be had */
    ck_assert_str_eq(ask("a.example/app", NULL), "run1");
}
END_TEST

START_TEST(end_kills_what_runs)
{
    struct ocv_credentials c;
    char note[64];
    const struct ocv_providers_patience patience = {NULL, ocv_clock_ms() + 1};
    open_script("#!/bin/sh\necho $$ >\"$PLACE/pid.new\"\nmv \"$PLACE/pid.new\" \"$PLACE/pid\"\n"
                "exec sleep 1000\n",
                0);
    ck_assert_int_eq(
        ocv_providers_find(providers, "a.example/app", &patience, &c, note, sizeof(note), &err),
        OCV_ERR_NETWORK);
    while (access(in_place("pid"), F_OK) < 0)
        usleep(10000);
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 4096);
    ck_assert_int_eq(ocv_file_read(in_place("pid"), OCV_FILE_REGULAR, &text, &err), OCV_OK);
    pid_t pid = (pid_t)strtol(text.data, NULL, 10);
    ck_assert_int_gt(pid, 0);
    ocv_credential_providers_free(providers);
    providers = NULL;
    while (kill(pid, 0) == 0) /* the suite's limit on time is ours */
        usleep(10000);
    ck_assert_uint_eq(runs[OCV_CREDENTIAL_RUN_FAILED], 0); /* nobody is told any more */
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof(*(list)))

TEST_FILE
{
    Suite *suite = suite_create("credential_providers");
    TCase *programs = tcase_create("programs");
    tcase_set_timeout(programs, 60);
    tcase_add_checked_fixture(programs, make_place, remove_place);
    tcase_add_test(programs, program_is_asked_as_kubelet_asks_it);
    tcase_add_test(programs, unusable_files_are_told_apart);
    tcase_add_loop_test(programs, answers_are_kept_as_they_say, 0, N(scopes));
    tcase_add_test(programs, one_run_serves_all_who_wait);
    tcase_add_test(programs, who_does_not_wait_leaves_the_run_to_the_next);
    tcase_add_loop_test(programs, failure_is_told_without_what_was_printed, 0, N(failures));
    tcase_add_test(programs, what_it_started_ends_with_it);
    tcase_add_test(programs, writable_program_is_not_run);
    tcase_add_test(programs, link_into_a_writable_directory_is_not_followed);
    tcase_add_test(programs, missing_program_is_told_at_once);
    tcase_add_test(programs, next_provider_is_asked_where_one_has_nothing);
    tcase_add_test(programs, fresh_answer_is_not_asked_for_again);
    tcase_add_test(programs, end_kills_what_runs);
    suite_add_tcase(suite, programs);
    return run_suite(suite);
}
