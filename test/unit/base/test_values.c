/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/format/span.h"

#include "test/unit/core_util.h"

#include <arpa/inet.h>
#include <netinet/in.h>

START_TEST(test_durations)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"0", 0},          {"90", 90000},
                {"500ms", 500},    {"2s", 2000},
                {"10m", 600000},   {"1h", 3600000},
                {"2d", 172800000}, {"999999999d", 999999999 * INT64_C(86400000)}};
    static const char *const bad[] = {"",     "s",    "-1", "+1", " 1",
                                      "1.5s", "10 m", "1w", "1S", "1000000000"};
    int64_t ms = 0;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        ck_assert_msg(ocv_duration_parse(good[i].text, &ms), "%s", good[i].text);
        ck_assert_int_eq(ms, good[i].ms);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!ocv_duration_parse(bad[i], &ms), "%s", bad[i]);
}
END_TEST

START_TEST(test_addresses)
{
    static const struct {
        const char *text, *host;
        int family;
        unsigned port;
        bool loopback;
    } good[] = {{"127.0.0.1:5050", "127.0.0.1", AF_INET, 5050, true},
                {"localhost:0", "127.0.0.1", AF_INET, 0, true},
                {"127.255.0.9:1", "127.255.0.9", AF_INET, 1, true},
                {"128.0.0.1:1", "128.0.0.1", AF_INET, 1, false},
                {"0.0.0.0:65535", "0.0.0.0", AF_INET, 65535, false},
                {"[::1]:5050", "::1", AF_INET6, 5050, true},
                {"fd00::1:9340", "fd00::1", AF_INET6, 9340, false},
                {"::1:5050", "::1", AF_INET6, 5050, true},
                {"[::]:1", "::", AF_INET6, 1, false}};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct sockaddr_storage address;
        socklen_t len = 0;
        char host[INET6_ADDRSTRLEN] = "";
        ck_assert_msg(ocv_address_parse(good[i].text, &address, &len), "%s", good[i].text);
        ck_assert_int_eq(address.ss_family, good[i].family);
        const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
        bool is_four = good[i].family == AF_INET;
        ck_assert_uint_eq(len, is_four ? sizeof(*four) : sizeof(*six));
        ck_assert_uint_eq(ntohs(is_four ? four->sin_port : six->sin6_port), good[i].port);
        inet_ntop(good[i].family,
                  is_four ? (const void *)&four->sin_addr : (const void *)&six->sin6_addr, host,
                  sizeof(host));
        ck_assert_str_eq(host, good[i].host);
        ck_assert_msg(ocv_address_is_loopback(&address) == good[i].loopback, "%s", good[i].text);
    }
}
END_TEST

START_TEST(test_no_addresses)
{
    static const char *const bad[] = {
        "",           ":5050",         "127.0.0.1",  "127.0.0.1:",     "127.0.0.1:65536",
        "1.2.3.4:+5", "1.2.3.4: 5",    "1.2.3.4:5x", "1.2.3.4:000005", "node.example:5050",
        "::1:0",      "[127.0.0.1]:1", "[::1:5050",  "[::1]",          "[:1",
        "fd00::x:1",  "fd00::1:x",     "[]:1",       "localhost6:1",   "[localhost]:1"};
    struct sockaddr_storage address;
    socklen_t len;
    char longer[300];
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!ocv_address_parse(bad[i], &address, &len), "%s", bad[i]);
    memset(longer, '1', sizeof(longer) - 1);
    memcpy(longer + sizeof(longer) - 3, ":5", 3);
    ck_assert(!ocv_address_parse(longer, &address, &len));
}
END_TEST

RUN_TESTS("values", test_durations, test_addresses, test_no_addresses)
