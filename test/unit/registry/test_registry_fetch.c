/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blobs into a layout: several in parallel, resumed, and damaged in every way that badregistry
 * offers. */
#include "test/unit/registry/registry_util.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct ocv_layout *layout;

static void set_up_layout(void)
{
    char dir[128];
    set_up();
    snprintf(dir, sizeof(dir), "%s/layout", home);
    ck_assert_msg(ocv_layout_open(dir, OCV_LAYOUT_CREATE, &layout, &err) == 0, "%s", err.message);
}

static void tear_down_layout(void)
{
    ocv_layout_free(layout);
    layout = NULL;
    tear_down();
}

struct seen {
    int64_t last, first;
    unsigned calls, finished, cached, backwards;
};

static void on_progress(void *data, size_t i, int64_t done, bool finished, bool cached)
{
    struct seen *seen = data;
    (void)i;
    seen->first = seen->calls++ ? seen->first : done;
    seen->backwards += done < seen->last;
    seen->last = done;
    seen->finished += finished;
    seen->cached += cached;
}

static struct ocv_fetch blob_of(int64_t size)
{
    struct ocv_fetch f = {.descriptor = {.size = size}};
    snprintf(f.descriptor.digest, sizeof(f.descriptor.digest), "%s", blob_digest);
    return f;
}

static int fetch(const char *repository, int64_t size, struct seen *seen)
{
    struct ocv_fetch f = blob_of(size);
    ocv_auto(ocv_reference) ref = reference(repository);
    return ocv_registry_fetch(client, ref, layout, &f, 1, 0, on_progress, seen, &err);
}

START_TEST(fetches_once)
{
    struct seen seen = {0};
    ck_assert_msg(fetch("good", blob_size, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.first, 0);
    ck_assert(ocv_layout_has_blob(layout, blob_digest, blob_size));
    ck_assert_uint_eq(seen.finished, 1);
    ck_assert_uint_eq(seen.cached, 0);
    ck_assert_int_eq(seen.last, blob_size);
    ck_assert_uint_eq((unsigned)lines(requests()), 1);
    err.status = OCV_ERR_IO; /* of something else: success leaves it alone */
    ck_assert_int_eq(fetch("good", blob_size, &seen), 0);
    ck_assert_int_eq(err.status, OCV_ERR_IO);
    ck_assert_uint_eq(seen.cached, 1);
    ck_assert_uint_eq((unsigned)lines(requests()), 0);
}
END_TEST

START_TEST(same_blob_several_times_is_fetched_once)
{
    struct seen seen = {0};
    struct ocv_fetch f[6];
    for (size_t i = 0; i < 6; i++)
        f[i] = blob_of(blob_size);
    ocv_auto(ocv_reference) ref = reference("good");
    int status = ocv_registry_fetch(client, ref, layout, f, 6, 4, on_progress, &seen, &err);
    ck_assert_msg(status == 0, "%s", err.message);
    ck_assert_uint_eq(seen.finished, 6);
    ck_assert_uint_eq(seen.cached, 5);
    ck_assert_uint_eq((unsigned)lines(requests()), 1);
}
END_TEST

START_TEST(resumes_by_range)
{
    struct seen seen = {0};
    ck_assert_msg(fetch("reset", blob_size, &seen) == 0, "%s", err.message);
    const char *log = requests();
    ck_assert_uint_eq((unsigned)lines(log), 2);
    ck_assert_msg(strstr(log, "bytes="), "%s", log);
    ck_assert_uint_eq(seen.backwards, 0);
    ck_assert(ocv_layout_has_blob(layout, blob_digest, blob_size));
}
END_TEST

START_TEST(starts_anew_without_range)
{
    struct seen seen = {0};
    const char *repository = _i ? "badrange" : "norange";
    ck_assert_msg(fetch(repository, blob_size, &seen) == 0, "%s", err.message);
    const char *log = requests();
    ck_assert_msg(strstr(log, "bytes=") && lines(log) == (_i ? 3 : 2), "%s", log);
    ck_assert(ocv_layout_has_blob(layout, blob_digest, blob_size));
}
END_TEST

START_TEST(resumes_what_an_earlier_run_left)
{
    struct ocv_blob_writer *writer = NULL;
    struct seen seen = {0};
    int64_t offset;
    bool present;
    char wrong[1000] = "not what the blob begins with";
    ck_assert_int_eq(
        ocv_blob_writer_open(layout, blob_digest, blob_size, &writer, &offset, &present, &err), 0);
    ck_assert_int_eq(ocv_blob_writer_write(writer, wrong, sizeof(wrong), &err), 0);
    ocv_blob_writer_close(writer);
    /* the part is wrong: after the mismatch the whole is fetched */
    ck_assert_msg(fetch("good", blob_size, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.first, sizeof(wrong));
    const char *log = requests();
    ck_assert_msg(strstr(log, "bytes=1000-"), "%s", log);
    ck_assert_uint_eq((unsigned)lines(log), 2);
    ck_assert(ocv_layout_has_blob(layout, blob_digest, blob_size));
}
END_TEST

static const struct {
    const char *repository;
    int status;
    const char *words;
} bad[] = {
    {"wrongdigest", OCV_ERR_MISMATCH, "wrongdigest@sha256:"},
    {"endless", OCV_ERR_MISMATCH, "exceeds the announced"},
    {"shortlength", OCV_ERR_MISMATCH, "announced as"},
    {"m404", OCV_ERR_NOT_FOUND, "not found"},
    {"m500", OCV_ERR_NETWORK, "HTTP 500"},
    {"truncated", OCV_ERR_NETWORK, "cut short"},
    {"slow", OCV_ERR_NETWORK, "too slow or silent"},
    {"loop", OCV_ERR_NETWORK, "redirects"},
    {"m403", OCV_ERR_DENIED, "DENIED"},
};

START_TEST(bad_days)
{
    struct seen seen = {0};
    new_client((struct ocv_registry_options){.stall_timeout_ms = 1000});
    expect_error(fetch(bad[_i].repository, blob_size, &seen), bad[_i].status, bad[_i].words);
    ck_assert(!ocv_layout_has_blob(layout, blob_digest, -1));
    ck_assert_uint_eq(seen.finished, 0);
}
END_TEST

START_TEST(announced_too_small)
{
    struct seen seen = {0};
    expect_error(fetch("good", blob_size - 1, &seen), OCV_ERR_MISMATCH, "announced as");
}
END_TEST

START_TEST(expired_signature_is_renewed)
{
    struct seen seen = {0};
    ck_assert_msg(fetch("expired", blob_size, &seen) == 0, "%s", err.message);
    ck_assert_uint_eq((unsigned)lines(requests()), 4);
}
END_TEST

START_TEST(first_failure_stops_all)
{
    struct ocv_fetch f[2] = {blob_of(blob_size), blob_of(blob_size)};
    struct seen seen = {0};
    snprintf(f[1].descriptor.digest, sizeof(f[1].descriptor.digest), "sha256:%064d", 0);
    ocv_auto(ocv_reference) ref = reference("slow");
    new_client((struct ocv_registry_options){.stall_timeout_ms = 1000});
    expect_error(ocv_registry_fetch(client, ref, layout, f, 2, 2, on_progress, &seen, &err),
                 OCV_ERR_NETWORK, "slow@sha256:");
}
END_TEST

START_TEST(small_blob_into_memory)
{
    ocv_auto_buffer body;
    struct ocv_fetch f = blob_of(blob_size);
    ocv_auto(ocv_reference) ref = reference("good");
    ocv_auto(ocv_reference) other = reference("wrongdigest");
    ocv_buffer_init(&body, (size_t)blob_size);
    ck_assert_int_eq(ocv_registry_get_blob(client, ref, &f.descriptor, &body, &err), 0);
    ck_assert_int_eq((long)body.len, blob_size);
    expect_error(ocv_registry_get_blob(client, other, &f.descriptor, &body, &err), OCV_ERR_MISMATCH,
                 blob_digest);
    body.max = (size_t)blob_size - 1;
    expect_error(ocv_registry_get_blob(client, ref, &f.descriptor, &body, &err), OCV_ERR_DATA,
                 "at most");
}
END_TEST

START_TEST(http_uploads_a_file)
{
    long status = 0;
    char url[64], path[128];
    write_file("form", 0600, "grant_type=password&username=u&password=p");
    snprintf(path, sizeof(path), "%s/form", home);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/oauth", port);
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 65536);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct ocv_engine_request r = {
        .method = "POST", .url = url, .upload = true, .upload_fd = fd, .body = keep, .data = &body};
    ck_assert_msg(ocv_engine_http(&r, &status, &err) == 0, "%s", err.message);
    close(fd);
    ck_assert_int_eq(status, 200);
    ck_assert_ptr_nonnull(strstr(body.data, "access_token"));
    r.socket = "/nonexistent/engine.sock";
    r.upload = false;
    expect_error(ocv_engine_http(&r, &status, &err), OCV_ERR_NETWORK, "/nonexistent/engine.sock");
}
END_TEST

static volatile int stop;

static void stop_on_progress(void *data, size_t i, int64_t done, bool finished, bool cached)
{
    (void)data;
    (void)i;
    (void)finished;
    (void)cached;
    stop = done > 0;
}

START_TEST(interrupted_and_resumed)
{
    struct ocv_fetch f = blob_of(blob_size);
    struct seen seen = {0};
    ocv_auto(ocv_reference) ref = reference("reset");
    stop = 0;
    new_client((struct ocv_registry_options){.interrupted = &stop});
    expect_error(ocv_registry_fetch(client, ref, layout, &f, 1, 0, stop_on_progress, NULL, &err),
                 OCV_ERR_INTERRUPTED, "interrupted");
    ck_assert(!ocv_layout_has_blob(layout, blob_digest, -1));
    (void)requests();
    stop = 0;
    ck_assert_msg(fetch("good", blob_size, &seen) == 0, "%s", err.message);
    const char *log = requests();
    ck_assert_msg(strstr(log, "bytes="), "%s", log);
    ck_assert(ocv_layout_has_blob(layout, blob_digest, blob_size));
}
END_TEST

/* An engine's socket: answers one request in two chunks. */
static pid_t start_engine(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    pid_t pid = fork();
    if (pid) {
        close(fd);
        return pid;
    }
    char text[4096];
    const char *answer = "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "4\r\nno s\r\n3\r\nuch\r\n0\r\n\r\n";
    int peer = accept(fd, NULL, NULL);
    ssize_t n = recv(peer, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    bool good = strstr(text, "POST /v1.41/images/create HTTP/1.1") &&
                strstr(text, "X-Registry-Auth: abc") && !strstr(text, "Expect");
    if (good)
        (void)!write(peer, answer, strlen(answer));
    _exit(0);
}

START_TEST(http_on_a_unix_socket)
{
    char path[128];
    long status = 0;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 65536);
    snprintf(path, sizeof(path), "%s/engine.sock", home);
    pid_t engine = start_engine(path);
    struct ocv_engine_request r = {.socket = path,
                                   .method = "POST",
                                   .url = "http://localhost/v1.41/images/create",
                                   .headers = (const char *const[]){"X-Registry-Auth: abc"},
                                   .n_headers = 1,
                                   .upload_fd = -1,
                                   .body = keep,
                                   .data = &body};
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    int result = ocv_engine_http(&r, &status, &err);
    waitpid(engine, NULL, 0);
    ck_assert_msg(result == 0, "%s", err.message);
    ck_assert_int_eq(status, 404);
    ck_assert_str_eq(body.data, "no such");
}
END_TEST

TEST_FILE
{
    find_tools();
    Suite *suite = suite_create("registry-fetch");
    TCase *c = tcase_create("blobs");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up_layout, tear_down_layout);
    tcase_add_test(c, fetches_once);
    tcase_add_test(c, same_blob_several_times_is_fetched_once);
    tcase_add_test(c, resumes_by_range);
    tcase_add_loop_test(c, starts_anew_without_range, 0, 2);
    tcase_add_test(c, resumes_what_an_earlier_run_left);
    tcase_add_loop_test(c, bad_days, 0, (int)(sizeof(bad) / sizeof(*bad)));
    tcase_add_test(c, announced_too_small);
    tcase_add_test(c, expired_signature_is_renewed);
    tcase_add_test(c, first_failure_stops_all);
    tcase_add_test(c, small_blob_into_memory);
    tcase_add_test(c, http_uploads_a_file);
    tcase_add_test(c, interrupted_and_resumed);
    tcase_add_test(c, http_on_a_unix_socket);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
