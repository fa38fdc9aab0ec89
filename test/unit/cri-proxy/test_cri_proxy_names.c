/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy: the image in a request, and the names that are rewritten. */
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "test/unit/core_util.h"

#define A_DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_DIGEST "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct ocv_error err;

static void expect_edit(const void *in, size_t len, const char *name, const char *new_name,
                        const void *out, size_t out_len)
{
    struct wire_image image;
    ocv_auto_buffer edited;
    ocv_buffer_init(&edited, 4096);
    ck_assert(wire_find_image(in, len, &image));
    ck_assert_uint_eq(image.inner_len, strlen(name));
    ck_assert_mem_eq((const char *)in + image.inner_at, name, image.inner_len);
    ck_assert_int_eq(wire_replace_image(in, len, &image, new_name, &edited, &err), OCV_OK);
    ck_assert_uint_eq(edited.len, out_len);
    ck_assert_mem_eq(edited.data, out, out_len);
}
#define EXPECT_EDIT(in, name, new_name, out) \
    expect_edit(in, sizeof(in) - 1, name, new_name, out, sizeof(out) - 1)

START_TEST(edits)
{
    EXPECT_EDIT("\x0a\x05\x0a\x03"
                "old",
                "old", "newer",
                "\x0a\x07\x0a\x05"
                "newer");
    /* fields around it stay, in their order, known or not */
    EXPECT_EDIT("\x78\x05\x0a\x0a\x52\x01z\x0a\x03old\x20\x01\x12\x02\x0a\x00\x7d\x01\x02\x03\x04",
                "old", "n",
                "\x78\x05\x0a\x08\x52\x01z\x0a\x01n\x20\x01\x12\x02\x0a\x00\x7d\x01\x02\x03\x04");
    /* of several the last counts, as readers merge messages */
    EXPECT_EDIT("\x0a\x03\x0a\x01"
                "a"
                "\x0a\x06\x0a\x01"
                "b\x0a\x01"
                "c"
                "\x0a\x02\x52\x00",
                "c", "dd",
                "\x0a\x03\x0a\x01"
                "a"
                "\x0a\x07\x0a\x01"
                "b\x0a\x02"
                "dd"
                "\x0a\x02\x52\x00");
    EXPECT_EDIT("\x0a\x02\x0a\x00", "", "x", "\x0a\x03\x0a\x01x");
    /* lengths that take another byte */
    char in[200] = "\x0a\x7f\x0a\x7d", out[200] = "\x0a\x81\x01\x0a\x7f", name[126], longer[128];
    memset(name, 'a', 125);
    name[125] = '\0';
    memset(longer, 'b', 127);
    longer[127] = '\0';
    memcpy(in + 4, name, 125);
    memcpy(out + 5, longer, 127);
    expect_edit(in, 129, name, longer, out, 132);
}
END_TEST

START_TEST(no_image)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        {"", 0},
        {"\x0a", 1},
        {"\x0a\x05\x0a\x03ol", 6},        /* cut */
        {"\x0a\x03\x0a\x03old", 7},       /* the inner one is longer than the outer */
        {"\x0a\x00", 2},                  /* an empty one */
        {"\x0a\x02\x08\x01", 4},          /* a number */
        {"\x08\x01", 2},                  /* a number where the message should be */
        {"\x0a\x03\x0a\x01x\x0b\x0c", 7}, /* a group */
        {"\x0a\x03\x0a\x01x\x02\x00", 7}, /* field 0 */
        {"\x0a\x03\x0a\x01x\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 16}, /* past 64 bits */
        {"\x0a\x03\x0a\x01x\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 16}, /* 2^64 - 1 */
        {"\x0a\x03\x0a\x01x\x21\x00", 7}, /* 8 bytes that are not there */
    };
    struct wire_image image;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!wire_find_image((const uint8_t *)bad[i].bytes, bad[i].len, &image),
                      "request %zu", i);
}
END_TEST

START_TEST(too_many_fields)
{
    size_t n = WIRE_FIELDS_MAX - 1;
    uint8_t *bytes = malloc(2 * n + 10);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < n + 1; i++)
        memcpy(bytes + 2 * i, "\x78\x01", 2);
    struct wire_image image;
    memcpy(bytes + 2 * n, "\x0a\x03\x0a\x01x", 5);
    ck_assert(wire_find_image(bytes, 2 * n + 5, &image));
    memcpy(bytes + 2 * n, "\x78\x01\x0a\x03\x0a\x01x", 7);
    ck_assert(!wire_find_image(bytes, 2 * n + 7, &image));
    free(bytes);
}
END_TEST

START_TEST(references)
{
    static const struct {
        const char *text, *key, *rewritten; /* key NULL: not ours */
    } cases[] = {
        {"r.example/app@" A_DIGEST, "r.example/app@" A_DIGEST, "r.example/app@" B_DIGEST},
        {"r.example:5000/a/b:1.2@" A_DIGEST, "r.example:5000/a/b@" A_DIGEST,
         "r.example:5000/a/b@" B_DIGEST},
        {"r.example:5000/a@" A_DIGEST, "r.example:5000/a@" A_DIGEST, "r.example:5000/a@" B_DIGEST},
        /* a short name stays short: which registry it means is the engine's to say */
        {"alpine@" A_DIGEST, "docker.io/library/alpine@" A_DIGEST, "alpine@" B_DIGEST},
        {"alpine:3@" A_DIGEST, "docker.io/library/alpine@" A_DIGEST, "alpine@" B_DIGEST},
        {"index.docker.io/u/app@" A_DIGEST, "docker.io/u/app@" A_DIGEST,
         "index.docker.io/u/app@" B_DIGEST},
        {"alpine", NULL, NULL},
        {"alpine:3", NULL, NULL},
        {A_DIGEST, NULL, NULL},
        {"@" A_DIGEST, NULL, NULL},
        {"app@sha256:abc", NULL, NULL},
        {"app@md5:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL, NULL},
        {"App@" A_DIGEST, NULL, NULL},
        {"app@" A_DIGEST "@" A_DIGEST, NULL, NULL},
        {"app@" A_DIGEST " ", NULL, NULL},
        {"", NULL, NULL},
    };
    char text[PINNED_TEXT_MAX];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ocv_auto(ocv_reference) reference = pinned_parse(cases[i].text, strlen(cases[i].text));
        ck_assert_msg(!reference == !cases[i].key, "%s", cases[i].text);
        if (!reference)
            continue;
        ck_assert(pinned_key(reference, text));
        ck_assert_str_eq(text, cases[i].key);
        ck_assert(pinned_rewrite(cases[i].text, strlen(cases[i].text), B_DIGEST, text));
        ck_assert_str_eq(text, cases[i].rewritten);
    }
    ck_assert_ptr_null(pinned_parse("a\0@" A_DIGEST, 3 + strlen(A_DIGEST)));
}
END_TEST

RUN_TESTS("cri-proxy-names", edits, no_image, too_many_fields, references)
