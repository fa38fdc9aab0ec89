/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Manifests: HEAD and GET, bad days, redirects, schemes. Each test has its own bad registry. Where
 * redirects may lead: test_registry_hops.c. */
#include "lib/registry/registry_internal.h"
#include "test/unit/registry/registry_util.h"

START_TEST(unchanged_tag_costs_one_head)
{
    struct ocv_descriptor d;
    ck_assert_msg(head("good:v1", &d) == 0, "%s", err.message);
    ck_assert_str_eq(d.digest, index_digest);
    ck_assert_int_eq(d.size, index_size);
    ck_assert_str_eq(d.media_type, OCV_MEDIA_TYPE_INDEX);
    ck_assert_str_eq(requests(), "HEAD /v2/good/manifests/v1 - - 0\n");
}
END_TEST

START_TEST(get_verifies)
{
    struct ocv_descriptor d;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 0);
    ck_assert_int_eq(get("good:v1", &body, &d), 0);
    ck_assert_int_eq((long)body.len, index_size);
    ck_assert(body.max == OCV_MANIFEST_MAX);
    ck_assert_str_eq(d.digest, index_digest);
    ck_assert_str_eq(requests(), "GET /v2/good/manifests/v1 - - 0\n");
    expect_error(try_get("wrongdigest:v1"), OCV_ERR_MISMATCH, "wrongdigest:v1");
    expect_error(try_get("empty:v1"), OCV_ERR_DATA, "an empty manifest");
    ocv_auto(ocv_reference) ref = reference("good:v1");
    expect_error(ocv_registry_get(client, ref, blob_digest, &body, &d, &err), OCV_ERR_MISMATCH,
                 blob_digest);
}
END_TEST

START_TEST(head_of_another_digest)
{
    char pinned[256];
    struct ocv_descriptor d;
    snprintf(pinned, sizeof(pinned), "good@%s", blob_digest);
    expect_error(head(pinned, &d), OCV_ERR_MISMATCH, index_digest);
}
END_TEST

START_TEST(blob_stored_as_another)
{
    ocv_auto(ocv_reference) ref = reference("storesother:v1");
    struct ocv_push push = {.bytes = "0123456789", .fd = -1, .descriptor = {.size = 10}};
    enum ocv_pushed how;
    ck_assert_int_eq(ocv_digest_bytes(push.bytes, 10, push.descriptor.digest, &err), 0);
    expect_error(ocv_registry_push(client, ref, &push, &how, &err), OCV_ERR_MISMATCH, "stored");
    ck_assert_ptr_nonnull(strstr(err.message, index_digest));
}
END_TEST

START_TEST(head_without_digest_gets)
{
    struct ocv_descriptor d;
    ck_assert_int_eq(head("nodigest:v1", &d), 0);
    ck_assert_str_eq(d.digest, index_digest);
    ck_assert_str_eq(d.media_type, OCV_MEDIA_TYPE_INDEX); /* without "; charset" */
    ck_assert_str_eq(requests(), "HEAD /v2/nodigest/manifests/v1 - - 0\n"
                                 "GET /v2/nodigest/manifests/v1 - - 0\n");
}
END_TEST

static int count_room(void *data, size_t bytes, struct ocv_error *e)
{
    size_t *asked = data;
    *asked += bytes;
    return bytes > OCV_MANIFEST_MAX / 2 && *asked > bytes
               ? ocv_error_set(e, OCV_ERR_NOMEM, "no room for it")
               : OCV_OK;
}

START_TEST(room_is_asked_for_what_is_large)
{
    size_t asked = 0;
    ocv_auto(ocv_reference) ref = reference("good:v1");
    struct ocv_descriptor d, blob = {.size = blob_size};
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    snprintf(blob.digest, sizeof(blob.digest), "%s", blob_digest);
    new_client((struct ocv_registry_options){.budget = count_room, .budget_data = &asked});
    ck_assert_int_eq(get("good:v1", &body, &d), 0);
    ck_assert_uint_eq(asked, 0);
    body.max = OCV_MANIFEST_MAX;
    ck_assert_int_eq(ocv_registry_get_blob(client, ref, &blob, &body, &err), 0);
    ck_assert_uint_eq(asked, (size_t)blob_size);
    (void)requests();
    ck_assert_int_eq(ocv_registry_get_blob(client, ref, &blob, &body, &err), OCV_ERR_NOMEM);
    ck_assert_uint_eq((unsigned)lines(requests()), 1); /* it is not tried again */
}
END_TEST

START_TEST(generic_type_is_read_from_the_body)
{
    struct ocv_descriptor d;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 0);
    ck_assert_int_eq(get("generic:v1", &body, &d), 0);
    ck_assert_str_eq(d.media_type, OCV_MEDIA_TYPE_INDEX);
    ck_assert_int_eq(get("genericcut:v1", &body, &d), 0); /* within that text: it has none */
    ck_assert_str_eq(d.media_type, "application/json");
}
END_TEST

START_TEST(gzip_is_decoded)
{
    struct ocv_descriptor d;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 0);
    ck_assert_msg(get("gzip:v1", &body, &d) == 0, "%s", err.message);
    ck_assert_str_eq(d.digest, index_digest);
    ck_assert_int_eq(head("gzip:v1", &d), 0);
    ck_assert_int_eq(d.size, index_size);
    expect_error(try_get("badgzip:v1"), OCV_ERR_DATA, "compressed");
}
END_TEST

/* Reading a bundle of certificates takes longer than a plain answer. */
START_TEST(certificates_are_read_for_tls_only)
{
    struct ocv_descriptor d;
    char host[32];
    snprintf(host, sizeof(host), "127.0.0.1:%d", port);
    new_client((struct ocv_registry_options){.ca_file = "/nonexistent/ca.pem"});
    ck_assert_msg(head("good:v1", &d) == 0, "%s", err.message);
    new_client((struct ocv_registry_options){.ca_file = "/nonexistent/ca.pem",
                                             .insecure = (const char *const[]){host},
                                             .n_insecure = 1}); /* begins with TLS */
    expect_error(try_get("good:v1"), OCV_ERR_CONFIG, "/nonexistent/ca.pem");
}
END_TEST

/* A client that asks for others shows no certificate of this machine, and does not read it. */
START_TEST(certificates_are_not_shown_for_others)
{
    char host[32], name[64];
    struct ocv_registry_options options = {.insecure = (const char *const[]){host},
                                           .n_insecure = 1}; /* begins with TLS */
    snprintf(host, sizeof(host), "127.0.0.1:%d", port);
    snprintf(name, sizeof(name), "%s/client.cert", host);
    write_file(name, 0644, "a certificate without a key");
    new_client(options);
    expect_error(try_get("good:v1"), OCV_ERR_CONFIG, "no usable key");
    options.anonymous = true;
    new_client(options);
    ck_assert_msg(try_get("good:v1") == 0, "%s", err.message);
}
END_TEST

static const struct {
    const char *repository;
    int status;
    int http;
    const char *words;
} statuses[] = {
    {"m400:v1", OCV_ERR_NETWORK, 400, "NAME_INVALID"},
    {"m401:v1", OCV_ERR_DENIED, 401, "access denied"},
    {"m403:v1", OCV_ERR_DENIED, 403, "DENIED: said the bad registry"},
    {"m404:v1", OCV_ERR_NOT_FOUND, 404, "m404:v1: not found"},
    {"m429:v1", OCV_ERR_NETWORK, 429, "TOOMANYREQUESTS: said the bad registry"},
    {"m429long:v1", OCV_ERR_NETWORK, 429, "HTTP 429"},
    {"m500:v1", OCV_ERR_NETWORK, 500, "HTTP 500 after 2 tries: UNKNOWN: said the bad registry"},
    {"bigindex:v1", OCV_ERR_DATA, 0, "index larger than 4 MiB"},
    {"bigchunked:v1", OCV_ERR_DATA, 0, "index larger than 4 MiB"},
    {"endless:v1", OCV_ERR_DATA, 0, "index larger than 4 MiB"},
    {"truncated:v1", OCV_ERR_NETWORK, 0, "cut short"},
    {"shortlength:v1", OCV_ERR_MISMATCH, 0, "shortlength:v1"},
    {"loop:v1", OCV_ERR_NETWORK, 0, "redirects"},
    {"redirfar:v1", OCV_ERR_NETWORK, 0, "plain HTTP"},
    {"redirfile:v1", OCV_ERR_DATA, 0, "file:///etc/passwd"},
    {"slow:v1", OCV_ERR_NETWORK, 0, "too slow or silent"},
    {"latehead:v1", OCV_ERR_NETWORK, 0, "too slow or silent"},
    {"hints:v1", OCV_ERR_NETWORK, 0, "hints:v1: connection to"},
    {"farrealm:v1", OCV_ERR_NETWORK, 0, "token server to plain HTTP at auth.invalid"},
    {"badtoken:v1", OCV_ERR_DATA, 0, "token is malformed"},
};

/* Registries and token servers word their refusals each in their own way; people see the words. */
static const struct {
    const char *body, *shown;
} refusals[] = {
    {"{\"errors\":[{\"code\":\"DENIED\",\"message\":\"no pull\"}]}", "DENIED: no pull"},
    {"{\"errors\":[{\"code\":\"DENIED\"}]}", "DENIED"},
    {"{\"errors\":[{\"message\":\"no pull\"}]}", "no pull"},
    {"{\"errors\":[{\"code\":\"A\"},{\"code\":\"B\"},{\"code\":\"C\"},{\"code\":\"D\"}]}",
     "A; B; C"},
    {"{\"errors\":[{}],\"message\":\"sorry\"}", "sorry"},
    {"{\"details\":\"incorrect username or password\"}", "incorrect username or password"},
    {"{\"error\":\"invalid_grant\",\"error_description\":\"it expired\"}", "it expired"},
    {"too many requests\r\nsee the manual", "too many requests"},
    {"<html>go away</html>", ""},
    {"{}", ""},
    {"", ""},
};

START_TEST(words_of_refusals_are_shown)
{
    char shown[512];
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 1024);
    ck_assert_int_eq(ocv_buffer_printf(&body, &err, "%s", refusals[_i].body), 0);
    ocv_failure_text(&body, shown, sizeof(shown));
    ck_assert_str_eq(shown, refusals[_i].shown);
}
END_TEST

/* As many words as there is room for, each with its end. */
START_TEST(words_of_refusals_are_cut)
{
    static const char body_text[] =
        "{\"errors\":[{\"code\":\"DENIED\",\"message\":\"not you\"},{\"code\":\"AGAIN\"}]}";
    static const char whole[] = "DENIED: not you; AGAIN";
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 1024);
    ck_assert_int_eq(ocv_buffer_printf(&body, &err, "%s", body_text), 0);
    for (size_t size = 1; size <= sizeof(whole); size++) {
        char *shown = malloc(size);
        ck_assert_ptr_nonnull(shown);
        ocv_failure_text(&body, shown, size);
        ck_assert_uint_lt(strlen(shown), size);
        ck_assert_int_eq(strncmp(shown, whole, strlen(shown)), 0);
        free(shown);
    }
}
END_TEST

/* Only what stands before the body says what it is. */
START_TEST(trailers_say_nothing)
{
    struct ocv_descriptor d;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    ck_assert_msg(get("trailer:v1", &body, &d) == 0, "%s", err.message);
    ck_assert_str_eq(d.digest, index_digest);
    ck_assert_str_eq(d.media_type, OCV_MEDIA_TYPE_INDEX);
}
END_TEST

START_TEST(bad_days)
{
    new_client((struct ocv_registry_options){.stall_timeout_ms = 1000});
    expect_error(try_get(statuses[_i].repository), statuses[_i].status, statuses[_i].words);
    ck_assert_int_eq(err.http_status, statuses[_i].http);
    if (err.http_status == 401 || err.http_status == 403)
        ck_assert_ptr_nonnull(strstr(err.hint, "docker login 127.0.0.1:"));
    if (!strcmp(statuses[_i].repository, "m429long:v1")) /* nobody waits an hour */
        ck_assert_uint_eq((unsigned)lines(requests()), 1);
}
END_TEST

START_TEST(retries)
{
    new_client((struct ocv_registry_options){.retries = 3});
    ck_assert_msg(try_get("m429ok:v1") == 0, "%s", err.message);
    ck_assert_uint_eq((unsigned)lines(requests()), 3);
    ck_assert_int_eq(try_get("m503ok:v1"), 0);
    ck_assert_uint_eq((unsigned)lines(requests()), 2);
    ck_assert_int_eq(try_get("silent:v1"), 0); /* closes without an answer */
    ck_assert_uint_eq((unsigned)lines(requests()), 2);
    expect_error(try_get("m404:v1"), OCV_ERR_NOT_FOUND, "m404");
    ck_assert_uint_eq((unsigned)lines(requests()), 1);
}
END_TEST

START_TEST(redirects)
{
    struct ocv_descriptor d;
    ck_assert_msg(head("redirect:v1", &d) == 0, "%s", err.message);
    ck_assert_str_eq(d.digest, index_digest);
    const char *log = requests();
    ck_assert_msg(strstr(log, "HEAD /v2/good/manifests/x?signature=secret - - 1"), "%s", log);
    expect_error(try_get("loop:v1"), OCV_ERR_NETWORK, "more than 5 redirects");
    ck_assert_uint_eq((unsigned)lines(requests()), 6);
}
END_TEST

START_TEST(authorization_stays_at_home)
{
    struct ocv_descriptor d;
    new_client((struct ocv_registry_options){.username = "u", .password = "p"});
    ck_assert_msg(head("basicredirect:v1", &d) == 0, "%s", err.message);
    const char *log = requests();
    ck_assert_ptr_nonnull(strstr(log, "HEAD /v2/basicredirect/manifests/v1 Basic dTpw - 0"));
    ck_assert_msg(strstr(log, "HEAD /v2/good/manifests/x?signature=secret - - 1"), "%s", log);
}
END_TEST

static void log_line(void *data, const char *line)
{
    ck_assert_int_eq(ocv_buffer_printf(data, NULL, "%s\n", line), 0);
}

START_TEST(log_holds_no_secret)
{
    struct ocv_descriptor d;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 65536);
    new_client((struct ocv_registry_options){
        .username = "u", .password = "p", .log = log_line, .log_data = &text});
    ck_assert_int_eq(head("basicredirect:v1", &d), 0);
    ck_assert_int_eq(head("private:v1", &d), 0);
    ck_assert_msg(strstr(text.data, "HTTP 200"), "%s", text.data);
    ck_assert_msg(!strstr(text.data, "dTpw") && !strstr(text.data, "secret") &&
                      !strstr(text.data, "Bearer"),
                  "%s", text.data);
}
END_TEST

START_TEST(unreachable)
{
    struct ocv_descriptor d;
    ocv_auto(ocv_reference) refused = NULL;
    ocv_auto(ocv_reference) unknown = NULL;
    ck_assert_int_eq(ocv_reference_parse("127.0.0.1:1/a:b", &refused, &err), 0);
    expect_error(ocv_registry_head(client, refused, &d, &err), OCV_ERR_NETWORK,
                 "127.0.0.1:1: Connection refused");
    ck_assert_int_eq(ocv_reference_parse("nowhere.invalid/a:b", &unknown, &err), 0);
    expect_error(ocv_registry_head(client, unknown, &d, &err), OCV_ERR_NETWORK,
                 "no such host: nowhere.invalid");
}
END_TEST

START_TEST(interrupted)
{
    static volatile int stop;
    stop = 1;
    new_client((struct ocv_registry_options){.interrupted = &stop});
    expect_error(try_get("slow:v1"), OCV_ERR_INTERRUPTED, "interrupted");
}
END_TEST

START_TEST(configured_url)
{
    char yaml[256];
    struct ocv_config *config = NULL;
    struct ocv_descriptor d;
    ocv_auto(ocv_reference) ref = NULL;
    snprintf(yaml, sizeof(yaml), "registries:\n  reg.example:\n    url: http://127.0.0.1:%d/v2/\n",
             port);
    ck_assert_int_eq(ocv_config_new(&config, &err), 0);
    ck_assert_msg(ocv_config_merge_yaml(config, "t", yaml, strlen(yaml), &err) == 0, "%s",
                  err.message);
    new_client(with_registries(config, NULL));
    ck_assert_int_eq(ocv_reference_parse("reg.example/good:v1", &ref, &err), 0);
    ck_assert_msg(ocv_registry_head(client, ref, &d, &err) == 0, "%s", err.message);
    ck_assert_str_eq(requests(), "HEAD /v2/good/manifests/v1 - - 0\n");
    ocv_registry_free(client);
    client = NULL;
    ocv_config_free(config);
}
END_TEST

START_TEST(configured_url_has_a_limit)
{
    char yaml[1200], url[1024];
    for (size_t n = 1023; n <= 1024; n++) { /* characters */
        struct ocv_config *config = NULL;
        ocv_auto(ocv_reference) ref = NULL;
        struct ocv_descriptor d;
        memset(url, 'a', sizeof(url));
        snprintf(yaml, sizeof(yaml), "registries: {reg.example: {url: http://127.0.0.1:1/%.*s}}\n",
                 (int)(n - strlen("http://127.0.0.1:1/")), url);
        ck_assert_int_eq(ocv_config_new(&config, &err), 0);
        ck_assert_int_eq(ocv_config_merge_yaml(config, "t", yaml, strlen(yaml), &err), 0);
        new_client(with_registries(config, NULL));
        ck_assert_int_eq(ocv_reference_parse("reg.example/good:v1", &ref, &err), 0);
        ck_assert_int_eq(ocv_registry_head(client, ref, &d, &err),
                         n == 1023 ? OCV_ERR_NETWORK : OCV_ERR_CONFIG);
        ocv_registry_free(client);
        client = NULL;
        ocv_config_free(config);
    }
}
END_TEST

static volatile int stop_now;

static void stop_at_first_line(void *data, const char *line)
{
    (void)data;
    (void)line;
    stop_now = 1;
}

START_TEST(interrupted_in_a_pause)
{
    new_client((struct ocv_registry_options){
        .retries = 1000, .interrupted = &stop_now, .log = stop_at_first_line});
    expect_error(try_get("m500:v1"), OCV_ERR_INTERRUPTED, "interrupted");
}
END_TEST

static void note_retry(void *data, const struct ocv_registry_wait *wait)
{
    char host[32];
    snprintf(host, sizeof(host), "127.0.0.1:%d", port);
    if (!wait->trouble && !wait->host) /* of blobs */
        return;
    ck_assert_str_eq(wait->host, host);
    ck_assert_uint_ge(wait->attempt, 1);
    ck_assert_uint_le(wait->attempt, wait->attempts);
    if (wait->trouble) /* a pause has at most 250 ms before the second, and twice as many later */
        ck_assert_int_le(wait->ms, 125LL << (wait->attempt - 1));
    if (wait->trouble)
        ck_assert_int_eq(ocv_buffer_printf(data, NULL, "%.12s, %u of %u\n", wait->trouble,
                                           wait->attempt, wait->attempts),
                         0);
}

/* A document is not waited for as long as a blob, and who waits learns why. */
START_TEST(silence)
{
    static const struct {
        const char *reference;
        unsigned retries;
        const char *told, *words;
    } cases[] = {
        {"mute:v1", 2, "is silent fo, 2 of 3\nis silent fo, 3 of 3\n",
         "silent: no answer in 1 s, tried 3 times"},
        {"mutetoken:v1", 1, "is silent fo, 2 of 2\n", "silent: no answer in 1 s, tried 2 times"},
        {"slow:v1", 1, "has sent not, 2 of 2\n", "silent: nothing more in 1 s, tried 2 times"},
        {"mute:v1", OCV_RETRIES_NONE, "", "silent: no answer in 1 s"},
        {"m500:v1", 2, "answers HTTP, 2 of 3\nanswers HTTP, 3 of 3\n", "HTTP 500"},
    };
    ocv_auto_buffer told;
    ocv_buffer_init(&told, 1024);
    new_client((struct ocv_registry_options){.retries = cases[_i].retries,
                                             .document_timeout_ms = 1000,
                                             .wait = note_retry,
                                             .wait_data = &told});
    expect_error(try_get(cases[_i].reference), OCV_ERR_NETWORK, cases[_i].words);
    ck_assert_str_eq(told.data ? told.data : "", cases[_i].told);
}
END_TEST

START_TEST(insecure_host_falls_back_to_http)
{
    char name[64];
    struct ocv_descriptor d;
    snprintf(name, sizeof(name), "127.0.0.1:%d", port);
    new_client(
        (struct ocv_registry_options){.insecure = (const char *const[]){name}, .n_insecure = 1});
    ck_assert_msg(head("good:v1", &d) == 0, "%s", err.message);
    ck_assert_str_eq(d.digest, index_digest);
}
END_TEST

TEST_FILE
{
    find_tools();
    Suite *suite = suite_create("registry");
    TCase *c = tcase_create("manifests");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, unchanged_tag_costs_one_head);
    tcase_add_test(c, get_verifies);
    tcase_add_test(c, words_of_refusals_are_cut);
    tcase_add_test(c, trailers_say_nothing);
    tcase_add_test(c, head_of_another_digest);
    tcase_add_test(c, blob_stored_as_another);
    tcase_add_test(c, head_without_digest_gets);
    tcase_add_test(c, room_is_asked_for_what_is_large);
    tcase_add_test(c, generic_type_is_read_from_the_body);
    tcase_add_test(c, gzip_is_decoded);
    tcase_add_test(c, certificates_are_read_for_tls_only);
    tcase_add_test(c, certificates_are_not_shown_for_others);
    tcase_add_loop_test(c, bad_days, 0, (int)(sizeof(statuses) / sizeof(*statuses)));
    tcase_add_loop_test(c, words_of_refusals_are_shown, 0,
                        (int)(sizeof(refusals) / sizeof(*refusals)));
    tcase_add_test(c, retries);
    tcase_add_loop_test(c, silence, 0, 5);
    tcase_add_test(c, redirects);
    tcase_add_test(c, authorization_stays_at_home);
    tcase_add_test(c, log_holds_no_secret);
    tcase_add_test(c, unreachable);
    tcase_add_test(c, interrupted);
    tcase_add_test(c, configured_url);
    tcase_add_test(c, configured_url_has_a_limit);
    tcase_add_test(c, interrupted_in_a_pause);
    tcase_add_test(c, insecure_host_falls_back_to_http);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
