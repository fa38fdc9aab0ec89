/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy: credentials in a request, and the registry that they are for. */
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "test/unit/core_util.h"

static struct ocv_error err;

START_TEST(reads_credentials)
{
    struct wire_auth auth;
    const char bytes[] = "\x0a\x03\x0a\x01x\x12\x1c\x0a\x01u\x12\x01p\x1a\x01"
                         "a\x22\x01s\x2a\x01i\x32\x01r\x0a\x02vv\x3a\x00\x1a\x00\x12\x00";
    ck_assert_int_eq(wire_read_auth((const uint8_t *)bytes, sizeof(bytes) - 1, &auth, &err),
                     OCV_OK);
    ck_assert_str_eq(auth.username, "vv"); /* the last one */
    ck_assert_ptr_null(auth.password);     /* which is empty */
    ck_assert_ptr_null(auth.auth);
    ck_assert_str_eq(auth.server_address, "s");
    ck_assert_str_eq(auth.identity_token, "i");
    ck_assert_str_eq(auth.registry_token, "r");
    wire_auth_free(&auth);
    ck_assert_int_eq(wire_read_auth((const uint8_t *)"\x0a\x00", 2, &auth, &err), OCV_OK);
    ck_assert_ptr_null(auth.username);
    ck_assert_int_eq(wire_read_auth((const uint8_t *)"\x12\x03\x0a\x01\x00", 5, &auth, &err),
                     OCV_ERR_DATA);
    ck_assert_int_eq(wire_read_auth((const uint8_t *)"\x12\x03\x0a\x02u", 5, &auth, &err),
                     OCV_ERR_DATA);
}
END_TEST

static void expect_credentials(struct wire_auth given, const char *host, const char *username,
                               const char *password)
{
    struct wire_auth auth = {0};
    auth.username = given.username ? strdup(given.username) : NULL;
    auth.password = given.password ? strdup(given.password) : NULL;
    auth.auth = given.auth ? strdup(given.auth) : NULL;
    auth.server_address = given.server_address ? strdup(given.server_address) : NULL;
    ck_assert_int_eq(pinned_credentials(&auth, host, &err), OCV_OK);
    ck_assert_pstr_eq(auth.username, username);
    ck_assert_pstr_eq(auth.password, password);
    wire_auth_free(&auth);
}

#define TEXT(text) ((char *)(uintptr_t)(text))

START_TEST(whose_credentials)
{
    struct wire_auth given = {.username = TEXT("u"), .password = TEXT("p")};
    expect_credentials((struct wire_auth){0}, "r.example", NULL, NULL);
    expect_credentials(given, "r.example", "u", "p");
    static const char *const same[] = {"r.example:5000", "https://r.example:5000",
                                       "http://R.example:5000/v2/"};
    static const char *const other[] = {"r.example", "https://r.example:5001", "other.example:5000",
                                        "https://r.example:5000.other.example/", "https://"};
    static const char *const hub[] = {"docker.io", "https://index.docker.io/v1/",
                                      "registry-1.docker.io"};
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        given.server_address = TEXT(same[i]);
        expect_credentials(given, "r.example:5000", "u", "p");
        expect_credentials(given, "docker.io", NULL, NULL);
    }
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
        given.server_address = TEXT(other[i]);
        expect_credentials(given, "r.example:5000", NULL, NULL);
    }
    for (size_t i = 0; i < sizeof(hub) / sizeof(*hub); i++) {
        given.server_address = TEXT(hub[i]);
        expect_credentials(given, "docker.io", "u", "p");
        expect_credentials(given, "r.example:5000", NULL, NULL);
    }
    /* "user:pass:word" */
    expect_credentials((struct wire_auth){.auth = TEXT("dXNlcjpwYXNzOndvcmQ=")}, "r", "user",
                       "pass:word");
    struct wire_auth bad = {.auth = strdup("!")}, plain = {.auth = strdup("dXNlcg==")};
    ck_assert_int_eq(pinned_credentials(&bad, "r", &err), OCV_ERR_DATA);
    ck_assert_int_eq(pinned_credentials(&plain, "r", &err), OCV_ERR_DATA);
    wire_auth_free(&bad);
    wire_auth_free(&plain);
}
END_TEST

RUN_TESTS("cri-proxy-credentials", reads_credentials, whose_credentials)
