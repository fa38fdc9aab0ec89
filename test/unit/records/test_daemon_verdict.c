/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What variantd is asked about an image, and its answer as a struct. */
#include "lib/base/system/unix_socket.h"
#include "lib/internal/records/daemon.h"

#include "test/unit/core_util.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *json;
    int status;
    struct ocv_verdict_answer answer;
} answers[] = {
    {"{'verdict':'fits','label':'cuda12.8','fit':'','reason':''}",
     OCV_OK,
     {.verdict = OCV_VERDICT_FITS, .label = "cuda12.8"}},
    {"{'verdict':'lesser','label':'a','fit':'b','reason':'b is better','required':'amd'}",
     OCV_OK,
     {.verdict = OCV_VERDICT_LESSER,
      .label = "a",
      .fit = "b",
      .reason = "b is better",
      .required = true}},
    {"{'verdict':'misfit','source':'labels'}",
     OCV_OK,
     {.verdict = OCV_VERDICT_MISFIT, .labels_only = true}},
    {"{'verdict':'none','source':'record'}", OCV_OK, {.verdict = OCV_VERDICT_NONE}},
    {"{'verdict':'index'}", OCV_OK, {.verdict = OCV_VERDICT_INDEX}},
    {"{'verdict':'unknown'}", OCV_OK, {.verdict = OCV_VERDICT_UNKNOWN}},
    {"{'verdict':'splendid','label':'a'}", OCV_OK, {.verdict = OCV_VERDICT_UNKNOWN, .label = "a"}},
    {"{'verdict':1,'label':[],'required':true}", OCV_OK, {.verdict = OCV_VERDICT_UNKNOWN}},
    {"{'verdict':'fits','verdict':'misfit'}", OCV_ERR_DATA, {.verdict = OCV_VERDICT_UNKNOWN}},
    {"['fits']", OCV_ERR_DATA, {.verdict = OCV_VERDICT_UNKNOWN}},
    {"", OCV_ERR_DATA, {.verdict = OCV_VERDICT_UNKNOWN}},
};

START_TEST(test_parse)
{
    struct ocv_error err = {0};
    struct ocv_verdict_answer said;
    const struct ocv_verdict_answer *expected = &answers[_i].answer;
    char *text = quoted("%s", answers[_i].json);
    ck_assert_int_eq(ocv_verdict_parse(text, strlen(text), &said, &err), answers[_i].status);
    ck_assert_str_eq(ocv_verdict_name(said.verdict), ocv_verdict_name(expected->verdict));
    ck_assert_int_eq(said.labels_only, expected->labels_only);
    ck_assert_int_eq(said.required, expected->required);
    ck_assert_str_eq(said.label, expected->label);
    ck_assert_str_eq(said.fit, expected->fit);
    ck_assert_str_eq(said.reason, expected->reason);
    free(text);
}
END_TEST

/* Texts that are too long are cut, and end. */
START_TEST(test_cut)
{
    struct ocv_verdict_answer said;
    char text[4096], word[2001];
    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    int n = snprintf(text, sizeof(text),
                     "{\"verdict\":\"fits\",\"label\":\"%s\",\"reason\":\"%s\"}", word, word);
    ck_assert_int_eq(ocv_verdict_parse(text, (size_t)n, &said, NULL), OCV_OK);
    ck_assert_uint_eq(strlen(said.label), sizeof(said.label) - 1);
    ck_assert_uint_eq(strlen(said.reason), sizeof(said.reason) - 1);
}
END_TEST

static char directory[] = "/tmp/ocv-verdict-XXXXXX";
static char path[64];

static void make_directory(void)
{
    memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/s", directory);
}

static void remove_directory(void)
{
    unlink(path);
    rmdir(directory);
}

/* A server that gives one answer: with `status`, and what it was asked as the reason. */
static pid_t serve(const char *status)
{
    int fd = -1;
    ck_assert_int_eq(ocv_unix_listen(path, 0600, 0, &fd, NULL), OCV_OK);
    pid_t pid = fork();
    if (pid != 0) {
        close(fd);
        return pid;
    }
    char request[4096], target[4096] = "";
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    poll(&wait, 1, -1);
    int peer = accept(fd, NULL, NULL);
    ssize_t got = read(peer, request, sizeof(request) - 1);
    request[got > 0 ? got : 0] = '\0';
    if (sscanf(request, "GET %4095s", target) == 1)
        dprintf(peer, "HTTP/1.1 %s\r\n\r\n{\"verdict\":\"fits\",\"reason\":\"%s\"}", status,
                target);
    _exit(0);
}

static int ask(const char *http, const struct ocv_verdict_question *question,
               struct ocv_verdict_answer *said, struct ocv_error *err)
{
    pid_t server = serve(http);
    int status = ocv_verdict_ask(path, question, 5000, said, err);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return status;
}

START_TEST(test_ask)
{
    const struct ocv_verdict_question question = {.reference = "r.example:5000/a+b:1",
                                                  .digest = "sha256:0a",
                                                  .label = "a b",
                                                  .properties = "x :: y :: 1, 2"};
    const struct ocv_verdict_question held = {.reference = "r.example/a@sha256:0a", .held = true};
    struct ocv_verdict_answer said;
    struct ocv_error err = {0};
    ck_assert_msg(ask("200 OK", &question, &said, &err) == OCV_OK, "%s", err.message);
    ck_assert_int_eq(said.verdict, OCV_VERDICT_FITS);
    ck_assert_str_eq(said.reason, "/v1/verdict?ref=r.example:5000/a%2Bb:1&digest=sha256:0a"
                                  "&label=a%20b&properties=x%20::%20y%20::%201%2C%202");
    unlink(path);
    ck_assert_msg(ask("200 OK", &held, &said, &err) == OCV_OK, "%s", err.message);
    ck_assert_str_eq(said.reason, "/v1/verdict?held=1&ref=r.example/a@sha256:0a");
}
END_TEST

START_TEST(test_no_answer)
{
    char properties[24001];
    struct ocv_verdict_question question = {.reference = "r.example/a:1"};
    struct ocv_verdict_answer said;
    struct ocv_error err = {0};
    ck_assert_int_eq(ask("503 Service Unavailable", &question, &said, &err), OCV_ERR_DATA);
    ck_assert_str_eq(err.message, "variantd answers HTTP 503");
    ck_assert_int_eq(said.verdict, OCV_VERDICT_UNKNOWN);
    unlink(path);
    ck_assert_int_eq(ocv_verdict_ask(path, &question, 5000, &said, &err), OCV_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "variantd cannot be asked: "));
    ck_assert_int_eq(ocv_verdict_ask(path, &question, 5000, &said, NULL), OCV_ERR_NOT_FOUND);
    memset(properties, 'x', sizeof(properties) - 1);
    properties[sizeof(properties) - 1] = '\0';
    question.properties = properties;
    ck_assert_int_eq(ocv_verdict_ask(path, &question, 5000, &said, &err), OCV_ERR_INVALID);
    ck_assert_str_eq(err.message, "the request is too long");
    ck_assert_int_eq(said.verdict, OCV_VERDICT_UNKNOWN);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("daemon verdict");
    TCase *tcase = tcase_create("daemon verdict");
    tcase_add_checked_fixture(tcase, make_directory, remove_directory);
    tcase_add_loop_test(tcase, test_parse, 0, sizeof(answers) / sizeof(*answers));
    tcase_add_test(tcase, test_cut);
    tcase_add_test(tcase, test_ask);
    tcase_add_test(tcase, test_no_answer);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
