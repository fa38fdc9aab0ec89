/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Digests: FIPS 180-4 vectors, streaming, image-spec's grammar. */
#include "test/unit/core_util.h"

#define EMPTY "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define ABC512                                                                \
    "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a" \
    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
#define MILLION "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

START_TEST(test_bytes)
{
    char out[OCV_DIGEST_MAX];
    ck_assert_int_eq(ocv_digest_bytes("", 0, out, NULL), OCV_OK);
    ck_assert_str_eq(out, EMPTY);
    ck_assert_int_eq(ocv_digest_bytes("abc", 3, out, NULL), OCV_OK);
    ck_assert_str_eq(out, ABC);
}
END_TEST

START_TEST(test_check)
{
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_digest_check(ABC, "abc", 3, &err), OCV_OK);
    ck_assert_int_eq(ocv_digest_check(ABC512, "abc", 3, &err), OCV_OK);
    ck_assert_int_eq(ocv_digest_check(ABC, "abd", 3, &err), OCV_ERR_MISMATCH);
    ck_assert_ptr_nonnull(strstr(err.message, ABC));
    ck_assert_int_eq(ocv_digest_check("blake3:aa", "abc", 3, &err), OCV_ERR_DATA);
}
END_TEST

START_TEST(test_stream)
{
    char out[OCV_DIGEST_MAX], block[1000];
    ocv_auto(ocv_hasher) hasher = NULL;
    memset(block, 'a', sizeof(block));
    ck_assert_int_eq(ocv_hasher_new(EMPTY, &hasher, NULL), OCV_OK);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(ocv_hasher_update(hasher, block, sizeof(block), NULL), OCV_OK);
    ck_assert_int_eq(ocv_hasher_final(hasher, out, NULL), OCV_OK);
    ck_assert_str_eq(out, MILLION);
}
END_TEST

static const struct {
    const char *text;
    bool wellformed, known;
} cases[] = {
    {EMPTY, true, true},
    {ABC512, true, true},
    {"blake3:abcdef", true, false},
    {"sha256+b64u:LCa0a2j_xo_5m0U8HTBBNBNCLXBkg7-g-YpeiGJm564", true, false},
    {"a.b_c-d+e:F0=_-", true, false},
    {"", false, false},
    {NULL, false, false},
    {"sha256", false, false},
    {"sha256:", false, false},
    {":abc", false, false},
    {"SHA256:abc", false, false},
    {"sha256:ABC", false, false},
    {"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85", false, false},
    {EMPTY "0", false, false},
    {"sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855", false, false},
    {"sha512:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", false, false},
    {"a..b:c", false, false},
    {"a+:c", false, false},
    {"a:b/c", false, false},
    {"a:b c", false, false},
    {"../../etc:passwd", false, false},
    {"a:../b", false, false},
};

START_TEST(test_grammar)
{
    ck_assert_int_eq(ocv_digest_wellformed(cases[_i].text), cases[_i].wellformed);
    ck_assert_int_eq(ocv_digest_known(cases[_i].text), cases[_i].known);
}
END_TEST

START_TEST(test_longest)
{
    ck_assert_uint_eq(strlen(ABC512) + 1, OCV_DIGEST_MAX);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("digest");
    TCase *tcase = tcase_create("digest");
    tcase_add_test(tcase, test_bytes);
    tcase_add_test(tcase, test_check);
    tcase_add_test(tcase, test_stream);
    tcase_add_loop_test(tcase, test_grammar, 0, sizeof(cases) / sizeof(*cases));
    tcase_add_test(tcase, test_longest);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
