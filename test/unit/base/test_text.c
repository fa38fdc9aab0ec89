/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is quoted from outside shows what it is: nothing that a terminal obeys, nothing unseen. */
#include "lib/base/text.h"

#include "cmd/common/cli.h"
#include "test/unit/core_util.h"

/* U+0000 .. U+10FFFF, but for surrogates. */
static size_t encode(uint32_t code, char out[5])
{
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    out[n] = '\0';
    for (size_t i = n; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(leads[n] | code);
    return n;
}

START_TEST(hidden_characters)
{
    static const uint32_t hidden[] = {0x01,   0x1b,   0x1f,    0x7f,    0x80,    0x9f,   0xad,
                                      0x61c,  0x180e, 0x200b,  0x200e,  0x200f,  0x2028, 0x2029,
                                      0x202a, 0x202b, 0x202c,  0x202d,  0x202e,  0x2060, 0x2066,
                                      0x2067, 0x2068, 0x2069,  0x206f,  0xfeff,  0xfff9, 0xfffb,
                                      0x3164, 0xfe0f, 0xe0001, 0xe007f, 0xe0fff, 0x1d173};
    static const uint32_t seen[] = {' ',    '~',    0xa0,   0xa1,   0xe9,    0x3b1,   0x627,
                                    0x200a, 0x2010, 0x2027, 0x202f, 0x205f,  0x2070,  0x4e2d,
                                    0xd7ff, 0xe000, 0xfffc, 0xfffd, 0x1f600, 0xe1000, 0x10ffff};
    char text[5], kept[5];
    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
        size_t n = encode(hidden[i], text);
        ck_assert_uint_eq(ocv_text_character(text, n), n);
        ck_assert_msg(ocv_text_hidden(text, n) == n, "U+%04X", hidden[i]);
        ocv_text_clean(text);
        ck_assert_uint_eq(strspn(text, "?"), n);
    }
    for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
        size_t n = encode(seen[i], text);
        memcpy(kept, text, sizeof(kept));
        ck_assert_msg(ocv_text_hidden(text, n) == 0, "U+%04X", seen[i]);
        ocv_text_clean(text);
        ck_assert_str_eq(text, kept);
    }
}
END_TEST

START_TEST(every_place_uses_it)
{
    char out[64];
    struct ocv_error err = {0};
    ocv_error_set(&err, OCV_ERR_DATA, "app\xe2\x80\xaegpj.exe");
    ck_assert_str_eq(err.message, "app???gpj.exe");
    ocv_error_hint(&err, "\xe2\x81\xa6x");
    ck_assert_str_eq(err.hint, "???x");
    ck_assert_str_eq(cli_text("a\xe2\x80\x8f"
                              "b\xc2\x9b"
                              "c\xff",
                              out, sizeof(out)),
                     "a???b??c?");
}
END_TEST

START_TEST(ends)
{
    ck_assert(ocv_text_ends("ca.crt", ".crt"));
    ck_assert(!ocv_text_ends(".crt", ".crt"));
    ck_assert(!ocv_text_ends("crt", ".crt"));
    ck_assert(!ocv_text_ends("ca.crt.old", ".crt"));
    ck_assert(!ocv_text_ends("", ".crt"));
}
END_TEST

RUN_TESTS("text", hidden_characters, every_place_uses_it, ends)
