/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/grpc: text forms of metadata and messages, and lists of headers. */
#include "lib/internal/grpc/grpc.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <stdlib.h>
#include <string.h>

START_TEST(test_text)
{
    static const struct {
        const char *text;
        int64_t ms;
    } timeouts[] = {{"5S", 5000},
                    {"100m", 100},
                    {"30u", 1},
                    {"1n", 1},
                    {"2M", 120000},
                    {"1H", 3600000},
                    {"99999999H", 359999996400000},
                    {"", -1},
                    {"S", -1},
                    {"5", -1},
                    {"5s", -1},
                    {"5SS", -1},
                    {"-5S", -1},
                    {"123456789S", -1}};
    char encoded[64], decoded[64];
    uint8_t frame[16] = {0};
    size_t at, len;
    enum grpc_code code;
    for (size_t i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++)
        ck_assert_msg(grpc_timeout_ms(timeouts[i].text) == timeouts[i].ms, "%s", timeouts[i].text);
    grpc_encode_message("a%b\n\xff", encoded, sizeof(encoded));
    ck_assert_str_eq(encoded, "a%25b%0A%FF");
    grpc_decode_message(encoded, decoded, sizeof(decoded));
    ck_assert_str_eq(decoded, "a%b\n\xff");
    grpc_decode_message("%zz%4%00%", decoded, sizeof(decoded));
    ck_assert_str_eq(decoded, "%zz%4%00%");
    grpc_encode_message("abc\n\n", encoded, 6);
    ck_assert_str_eq(encoded, "abc");
    grpc_frame(frame, 3);
    ck_assert_int_eq(grpc_unframe(frame, 4, &at, &len, &code), 0);
    ck_assert_int_eq(grpc_unframe(frame, 7, &at, &len, &code), 0);
    ck_assert_int_eq(grpc_unframe(frame, 8, &at, &len, &code), 1);
    ck_assert(at == 5 && len == 3);
    frame[0] = 1;
    ck_assert_int_eq(grpc_unframe(frame, 8, &at, &len, &code), -1);
    ck_assert_int_eq(code, GRPC_UNIMPLEMENTED);
    grpc_frame(frame, GRPC_MESSAGE_MAX + 1);
    ck_assert_int_eq(grpc_unframe(frame, 8, &at, &len, &code), -1);
    ck_assert_int_eq(code, GRPC_RESOURCE_EXHAUSTED);
}
END_TEST

START_TEST(test_headers)
{
    const char *name, *value;
    size_t at = 0;
    ocv_auto_buffer headers;
    ocv_buffer_init(&headers, 16);
    ck_assert(!grpc_header_next(&headers, &at, &name, &value));
    ck_assert_int_eq(grpc_header_add(&headers, "ab", 2, "cd", 2), OCV_OK);
    ck_assert_int_eq(grpc_header_add(&headers, "efghijkl", 8, "m", 1), OCV_ERR_DATA);
    ck_assert_int_eq(grpc_header_add(&headers, "efghijk", 7, "", 0), OCV_OK);
    ck_assert_uint_eq(headers.len, 15);
    ck_assert(grpc_header_next(&headers, &at, &name, &value));
    ck_assert_str_eq(name, "ab");
    ck_assert_str_eq(value, "cd");
    ck_assert(grpc_header_next(&headers, &at, &name, &value));
    ck_assert_str_eq(name, "efghijk");
    ck_assert_str_eq(value, "");
    ck_assert(!grpc_header_next(&headers, &at, &name, &value));
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("grpc text");
    TCase *tcase = tcase_create("text");
    tcase_add_test(tcase, test_text);
    tcase_add_test(tcase, test_headers);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
