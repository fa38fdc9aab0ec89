/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that are passed on: what the caller sees of each, and of each way to go wrong. */
#include "test/unit/registry/registry_util.h"

static long gathered; /* bytes, of every blob; 0: they are given as they come */

struct seen {
    struct ocv_stream_head head;
    char next[256];
    unsigned heads;
    int64_t bytes;
    int64_t stop_at; /* body() stops there; 0: never */
    struct ocv_hasher *hasher;
};

static int on_head(void *data, const struct ocv_stream_head *head)
{
    struct seen *seen = data;
    ck_assert_int_eq(seen->bytes, 0);
    seen->head = *head;
    snprintf(seen->next, sizeof(seen->next), "%s", head->next ? head->next : "");
    seen->heads++;
    return 0;
}

static int on_bytes(void *data, const char *bytes, size_t len)
{
    struct seen *seen = data;
    ck_assert_uint_eq(seen->heads, 1);
    ck_assert(!gathered || len <= (size_t)gathered);
    seen->bytes += (int64_t)len;
    if (seen->hasher)
        ck_assert_int_eq(ocv_hasher_update(seen->hasher, bytes, len, &err), 0);
    return seen->stop_at && seen->bytes >= seen->stop_at;
}

static int stream(const char *repository, struct ocv_stream q, struct seen *seen)
{
    ocv_auto(ocv_reference) ref = reference(repository);
    q.reference = ref;
    q.head = on_head;
    q.body = on_bytes;
    q.data = seen;
    err = (struct ocv_error){0};
    return ocv_registry_stream(client, &q, &err);
}

static struct ocv_stream whole_blob(void)
{
    return (struct ocv_stream){.kind = OCV_STREAM_BLOB, .object = blob_digest, .buffer = gathered};
}

/* What was passed on, in all: exactly the blob. */
static void expect_blob(const char *repository)
{
    struct seen seen = {0};
    char digest[OCV_DIGEST_MAX];
    ck_assert_int_eq(ocv_hasher_new(blob_digest, &seen.hasher, &err), 0);
    ck_assert_msg(stream(repository, whole_blob(), &seen) == 0, "%s", err.message);
    ck_assert_int_eq(ocv_hasher_final(seen.hasher, digest, &err), 0);
    ocv_hasher_free(seen.hasher);
    ck_assert_str_eq(digest, blob_digest);
    ck_assert_int_eq(seen.bytes, blob_size);
}

START_TEST(whole_blob_passes)
{
    expect_blob("good");
    ck_assert_uint_eq((unsigned)lines(requests()), 1);
}
END_TEST

START_TEST(broken_transfer_goes_on)
{
    expect_blob("reset");
    const char *log = requests();
    ck_assert_uint_eq((unsigned)lines(log), 2);
    ck_assert_ptr_nonnull(strstr(log, "bytes="));
    expect_blob("norange"); /* the server sends all of it again */
    expect_blob("expired"); /* the signed URL expired on the way */
    new_client((struct ocv_registry_options){.retries = 3});
    expect_blob(
        "anew"); /* it starts over, breaks off earlier than the first time, then continues */
}
END_TEST

START_TEST(head_of_a_blob)
{
    struct seen seen = {0};
    struct ocv_stream q = whole_blob();
    q.head_only = true;
    ck_assert_msg(stream("good", q, &seen) == 0, "%s", err.message);
    ck_assert_uint_eq(seen.heads, 1);
    ck_assert_int_eq(seen.head.size, blob_size);
    ck_assert_int_eq(seen.head.status, 200);
    ck_assert_int_eq(seen.bytes, 0);
}
END_TEST

START_TEST(part_of_a_blob)
{
    struct seen seen = {0};
    struct ocv_stream q = whole_blob();
    q.range = "bytes=1000-";
    ck_assert_msg(stream("good", q, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.head.status, 206);
    ck_assert_int_eq(seen.head.range_start, 1000);
    ck_assert_int_eq(seen.head.range_end, blob_size - 1);
    ck_assert_int_eq(seen.head.range_total, blob_size);
    ck_assert_int_eq(seen.bytes, blob_size - 1000);
}
END_TEST

/* A part that breaks is asked for again from there, to its own end. */
START_TEST(broken_part_goes_on)
{
    static const struct {
        const char *range, *again;
        int64_t from, bytes;
    } parts[] = {{"bytes=0-", "bytes=1500000-2999999", 0, 3000000},
                 {"bytes=1000-", "bytes=1500500-2999999", 1000, 2999000},
                 {"bytes=1000-600999", "bytes=301000-600999", 1000, 600000},
                 {"bytes=0-599999", "bytes=300000-599999", 0, 600000}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        struct seen whole = {0}, seen = {0};
        struct ocv_stream q = whole_blob();
        char wanted[OCV_DIGEST_MAX], digest[OCV_DIGEST_MAX];
        q.range = parts[i].range;
        ck_assert_int_eq(ocv_hasher_new(blob_digest, &whole.hasher, &err), 0);
        ck_assert_msg(stream("good", q, &whole) == 0, "%s", err.message);
        ck_assert_int_eq(ocv_hasher_final(whole.hasher, wanted, &err), 0);
        ocv_hasher_free(whole.hasher);
        (void)requests();
        ck_assert_int_eq(ocv_hasher_new(blob_digest, &seen.hasher, &err), 0);
        ck_assert_msg(stream("reset", q, &seen) == 0, "%s", err.message);
        ck_assert_int_eq(ocv_hasher_final(seen.hasher, digest, &err), 0);
        ocv_hasher_free(seen.hasher);
        ck_assert_int_eq(seen.bytes, parts[i].bytes);
        ck_assert_int_eq(seen.head.size, parts[i].bytes);
        ck_assert_int_eq(seen.head.range_start, parts[i].from);
        ck_assert_str_eq(digest, wanted);
        const char *log = requests();
        ck_assert_uint_eq((unsigned)lines(log), 2);
        ck_assert_msg(strstr(log, parts[i].again), "%s", log);
        tear_down();
        set_up();
    }
}
END_TEST

/* Whatever the server says of the rest, it is the rest that was promised or nothing. */
START_TEST(other_rest_of_a_part_is_refused)
{
    static const char *const modes[] = {"badrange", "badend", "badtotal", "norange"};
    struct seen seen = {0};
    struct ocv_stream q = whole_blob();
    q.range = "bytes=1000-2000999";
    expect_error(stream(modes[_i], q, &seen), OCV_ERR_NETWORK, "not the part");
    ck_assert_uint_eq(seen.heads, 1);
    ck_assert_int_eq(seen.bytes, 1000000);
}
END_TEST

START_TEST(part_breaks_many_times)
{
    struct seen seen = {0};
    struct ocv_stream q = whole_blob();
    q.range = "bytes=1000-";
    new_client((struct ocv_registry_options){.retries = 3});
    ck_assert_msg(stream("choppy", q, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.bytes, blob_size - 1000);
    expect_blob("choppy");
}
END_TEST

/* The server knows no parts: the whole is a right answer, hashed as any whole. */
START_TEST(whole_instead_of_a_part)
{
    struct seen seen = {0};
    struct ocv_stream q = whole_blob();
    q.range = "bytes=1000-";
    ck_assert_msg(stream("nolength", q, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.head.status, 200);
    ck_assert_int_eq(seen.bytes, blob_size);
    seen = (struct seen){0};
    expect_error(stream("wrongdigest", q, &seen), OCV_ERR_MISMATCH, "have digest");
}
END_TEST

/* What a manifest says is the most that is passed: at the limit, and one byte past it. */
START_TEST(blob_is_bounded)
{
    struct seen seen = {0};
    struct ocv_stream q = whole_blob();
    q.most = blob_size;
    ck_assert_msg(stream("nolength", q, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.bytes, blob_size);
    seen = (struct seen){0};
    ck_assert_msg(stream("good", q, &seen) == 0, "%s", err.message);
    seen = (struct seen){0};
    expect_error(stream("endless", q, &seen), OCV_ERR_MISMATCH,
                 "exceeds the expected 3000000 bytes");
    ck_assert_int_le(seen.bytes, blob_size);
    q.most = blob_size - 1;
    seen = (struct seen){0};
    expect_error(stream("nolength", q, &seen), OCV_ERR_MISMATCH,
                 "exceeds the expected 2999999 bytes");
    ck_assert_int_le(seen.bytes, blob_size - 1);
    seen = (struct seen){0};
    expect_error(stream("good", q, &seen), OCV_ERR_MISMATCH, "exceeds the expected 2999999 bytes");
    ck_assert_uint_eq(seen.heads, 0); /* announced: nothing of it is passed */
    q.range = "bytes=0-9";
    expect_error(stream("good", q, &seen), OCV_ERR_MISMATCH, "exceeds the expected 2999999 bytes");
    ck_assert_uint_eq(seen.heads, 0);
}
END_TEST

START_TEST(wrong_bytes_are_found_at_the_end)
{
    struct seen seen = {0};
    expect_error(stream("wrongdigest", whole_blob(), &seen), OCV_ERR_MISMATCH, "have digest");
    ck_assert_int_eq(seen.bytes, blob_size);
}
END_TEST

/* A complete answer has status 200, whatever a server calls it: code that holds back the last bytes
 * of a complete blob relies on that. */
START_TEST(odd_status_is_whole)
{
    struct seen seen = {0};
    struct ocv_stream q = {.kind = OCV_STREAM_MANIFEST, .object = "latest"};
    expect_error(stream("odd203", whole_blob(), &seen), OCV_ERR_MISMATCH, "have digest");
    ck_assert_int_eq(seen.head.status, 200);
    seen = (struct seen){0};
    ck_assert_msg(stream("odd203", q, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.head.status, 200);
    ck_assert_str_eq(seen.head.media_type, ""); /* it is malformed */
    seen = (struct seen){0};
    expect_error(stream("odd206", q, &seen), OCV_ERR_NETWORK, "a part was sent though the whole");
    ck_assert_uint_eq(seen.heads, 0);
}
END_TEST

START_TEST(other_part_is_refused)
{
    struct seen seen = {0};
    expect_error(stream("badrange", whole_blob(), &seen), OCV_ERR_NETWORK, "not the part");
    ck_assert_int_lt(seen.bytes, blob_size);
}
END_TEST

START_TEST(caller_stops)
{
    struct seen seen = {.stop_at = 1};
    expect_error(stream("good", whole_blob(), &seen), OCV_ERR_INTERRUPTED, "stopped");
    ck_assert_int_lt(seen.bytes, blob_size);
}
END_TEST

/* Of a server that sends one byte and waits: it is not held back for more. */
START_TEST(what_has_come_is_given)
{
    struct seen seen = {.stop_at = 1};
    expect_error(stream("slow", whole_blob(), &seen), OCV_ERR_INTERRUPTED, "stopped");
    ck_assert_int_eq(seen.bytes, 1);
}
END_TEST

static void gather(void)
{
    gathered = 100000;
    set_up();
}

static void give_as_they_come(void)
{
    gathered = 0;
    set_up();
}

static void add_blobs(Suite *suite, const char *name, void (*begin)(void))
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, begin, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, whole_blob_passes);
    tcase_add_test(tcase, broken_transfer_goes_on);
    tcase_add_test(tcase, head_of_a_blob);
    tcase_add_test(tcase, part_of_a_blob);
    tcase_add_test(tcase, broken_part_goes_on);
    tcase_add_loop_test(tcase, other_rest_of_a_part_is_refused, 0, 4);
    tcase_add_test(tcase, part_breaks_many_times);
    tcase_add_test(tcase, whole_instead_of_a_part);
    tcase_add_test(tcase, blob_is_bounded);
    tcase_add_test(tcase, wrong_bytes_are_found_at_the_end);
    tcase_add_test(tcase, odd_status_is_whole);
    tcase_add_test(tcase, other_part_is_refused);
    tcase_add_test(tcase, caller_stops);
    tcase_add_test(tcase, what_has_come_is_given);
    suite_add_tcase(suite, tcase);
}

START_TEST(documents)
{
    struct seen seen = {0};
    struct ocv_stream q = {.kind = OCV_STREAM_MANIFEST, .object = "latest"};
    ck_assert_msg(stream("good", q, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.head.size, index_size);
    ck_assert_int_eq(seen.bytes, index_size);
    ck_assert_str_eq(seen.head.digest, index_digest);
    ck_assert_str_eq(seen.head.media_type, OCV_MEDIA_TYPE_INDEX);
    seen = (struct seen){0};
    ck_assert_msg(stream("nodigest", q, &seen) == 0, "%s", err.message);
    ck_assert_str_eq(seen.head.digest, index_digest);
    q.head_only = true;
    seen = (struct seen){0};
    ck_assert_msg(stream("good", q, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.head.size, index_size);
    ck_assert_int_eq(seen.bytes, 0);
}
END_TEST

/* What came behind the end of one answer is not the beginning of the next. */
START_TEST(bytes_too_many)
{
    static const char *const modes[] = {"surplus", "surpluslate"};
    struct ocv_stream q = {.kind = OCV_STREAM_MANIFEST, .object = "1"};
    new_client((struct ocv_registry_options){0}); /* that never asks twice after a failure */
    for (size_t i = 0; i < 12; i++) {
        struct seen first = {0}, second = {0};
        q.head_only = i % 2;
        ck_assert_msg(stream(modes[i / 2 % 2], q, &first) == 0, "%zu: %s", i, err.message);
        if (i >= 8) /* it has come by now */
            usleep(200000);
        q.head_only = false;
        ck_assert_msg(stream("good", q, &second) == 0, "%zu: %s", i, err.message);
        ck_assert_str_eq(first.head.digest, second.head.digest);
    }
}
END_TEST

START_TEST(unchanged_document)
{
    struct seen seen = {0};
    struct ocv_stream q = {.kind = OCV_STREAM_MANIFEST,
                           .object = "latest",
                           .head_only = true,
                           .if_none_match = "\"a\""};
    ck_assert_msg(stream("m304", q, &seen) == 0, "%s", err.message);
    ck_assert_int_eq(seen.head.status, 304);
    ck_assert_str_eq(seen.head.etag, "\"a\"");
    ck_assert_uint_eq((unsigned)lines(requests()), 1);
    q.if_none_match = NULL; /* nobody said what it should not match */
    expect_error(stream("m304", q, &seen), OCV_ERR_NETWORK, "HTTP 304");
    ck_assert_uint_eq(seen.heads, 1);
}
END_TEST

START_TEST(bad_documents)
{
    struct ocv_stream q = {.kind = OCV_STREAM_MANIFEST, .object = index_digest};
    struct seen seen = {0};
    q.object = blob_digest; /* another document than was asked for */
    expect_error(stream("good", q, &seen), OCV_ERR_MISMATCH, "digest");
    q.object = "latest";
    expect_error(stream("wrongdigest", q, &seen), OCV_ERR_MISMATCH, "digest");
    expect_error(stream("bigchunked", q, &seen), OCV_ERR_DATA, "larger than 4 MiB");
    expect_error(stream("endless", q, &seen), OCV_ERR_DATA, "larger than 4 MiB");
    ck_assert_uint_eq(seen.heads, 0);
    expect_error(stream("m404", q, &seen), OCV_ERR_NOT_FOUND, "not found");
    ck_assert_int_eq(err.http_status, 404);
    q.object = "md5:d41d8cd98f00b204e9800998ecf8427e";
    expect_error(stream("good", q, &seen), OCV_ERR_UNSUPPORTED, "unknown digest algorithm");
    q.object = NULL;
    expect_error(stream("good", q, &seen), OCV_ERR_INVALID, "neither a tag nor a digest is given");
}
END_TEST

START_TEST(deadline)
{
    struct seen seen = {0};
    struct ocv_stream q = {.kind = OCV_STREAM_MANIFEST, .object = "latest"};
    ocv_registry_deadline(client, 300);
    expect_error(stream("slow", q, &seen), OCV_ERR_NETWORK,
                 "/slow:latest: no answer within 300 ms");
    ck_assert_int_eq(err.http_status, 504);
    expect_error(stream("good", q, &seen), OCV_ERR_NETWORK, "no answer within 300 ms");
    ocv_registry_deadline(client, 0);
    ck_assert_msg(stream("good", q, &seen) == 0, "%s", err.message);
    ocv_registry_deadline(client, 100); /* a retry would be too late */
    expect_error(stream("m500", q, &seen), OCV_ERR_NETWORK, "HTTP 500");
}
END_TEST

/* Whose silence a deadline met: one that answers, however badly or slowly, was not silent. */
START_TEST(silence_is_told_from_answers)
{
    static const struct {
        const char *mode;
        bool silent;
    } modes[] = {{"mute", true},  {"mutetoken", true}, {"m500", false}, {"m404", false},
                 {"slow", false}, {"m429long", false}, {"good", false}};
    struct seen seen = {0};
    struct ocv_stream q = {.kind = OCV_STREAM_MANIFEST, .object = "latest"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        ocv_registry_deadline(client, 700);
        (void)!stream(modes[i].mode, q, &seen);
        ck_assert_msg(ocv_registry_was_silent(client) == modes[i].silent, "%s", modes[i].mode);
    }
    new_client((struct ocv_registry_options){.document_timeout_ms = 200});
    struct ocv_descriptor d;
    ck_assert_int_lt(head("mute:v1", &d), 0); /* by its own limit */
    ck_assert(ocv_registry_was_silent(client));
}
END_TEST

START_TEST(anonymous_client_tells_nothing)
{
    char text[256];
    snprintf(text, sizeof(text), "{\"auths\":{\"127.0.0.1:%d\":{\"auth\":\"dTpw\"}}}", port);
    write_file(".docker/config.json", 0600, text);
    struct seen seen = {0};
    struct ocv_stream q = {.kind = OCV_STREAM_MANIFEST, .object = "latest"};
    new_client((struct ocv_registry_options){0});
    ck_assert_msg(stream("basic", q, &seen) == 0, "%s", err.message);
    new_client((struct ocv_registry_options){.anonymous = true, .username = "u", .password = "p"});
    (void)requests();
    expect_error(stream("basic", q, &seen), OCV_ERR_DENIED, "401");
    ck_assert_ptr_null(strstr(requests(), "Basic"));
}
END_TEST

TEST_FILE
{
    find_tools();
    Suite *suite = suite_create("registry stream");
    add_blobs(suite, "blobs", give_as_they_come);
    add_blobs(suite, "blobs, gathered", gather);
    TCase *tcase = tcase_create("documents");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, documents);
    tcase_add_test(tcase, bytes_too_many);
    tcase_add_test(tcase, unchanged_document);
    tcase_add_test(tcase, bad_documents);
    tcase_add_test(tcase, deadline);
    tcase_add_test(tcase, silence_is_told_from_answers);
    tcase_add_test(tcase, anonymous_client_tells_nothing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
