/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which hosts and addresses a redirect, a token server or a proxy may lead to. Each test has its
 * own bad registry. */
#include "lib/registry/registry_internal.h"
#include "test/unit/registry/registry_util.h"

#include <arpa/inet.h>

/* A client for reg.invalid, which the bad registry's other port stands for as a proxy. */
static struct ocv_config *client_with_proxy(void)
{
    char proxy[64];
    struct ocv_config *config = NULL;
    const char *yaml =
        "registries:\n  reg.invalid:\n    url: http://reg.invalid\n    insecure: true\n";
    ck_assert_int_eq(ocv_config_new(&config, &err), 0);
    ck_assert_int_eq(ocv_config_merge_yaml(config, "t", yaml, strlen(yaml), &err), 0);
    snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", port2);
    setenv("http_proxy", proxy, 1);
    new_client(with_registries(config, NULL));
    return config;
}

START_TEST(proxy_but_not_for_loopback)
{
    struct ocv_config *config = client_with_proxy();
    struct ocv_descriptor d;
    ocv_auto(ocv_reference) ref = NULL;
    ck_assert_int_eq(ocv_reference_parse("reg.invalid/good:v1", &ref, &err), 0);
    ck_assert_msg(ocv_registry_head(client, ref, &d, &err) == 0, "%s", err.message);
    ck_assert_int_eq(head("good:v2", &d), 0);
    ck_assert_str_eq(requests(), "HEAD /v2/good/manifests/v1 - - 1\n"
                                 "HEAD /v2/good/manifests/v2 - - 0\n");
    ocv_registry_free(client);
    client = NULL;
    ocv_config_free(config);
}
END_TEST

static const struct {
    const char *registry, *from, *to;
    int status;
    bool guard;
} hops[] = {
    {"reg.example", "https://reg.example:443", "https://cdn.example/x", 0, true},
    {"reg.example", "https://reg.example:443", "https://REG.example/x", 0, false},
    {"reg.example", "https://reg.example:443", "http://cdn.example/x", OCV_ERR_NETWORK, false},
    {"reg.example", "https://reg.example:443", "http://reg.example/x", OCV_ERR_NETWORK, false},
    {"reg.example", "https://reg.example:443", "https://localhost/x", OCV_ERR_NETWORK, false},
    {"reg.example", "https://reg.example:443", "https://[::1]:5/x", OCV_ERR_NETWORK, false},
    {"reg.example", "https://reg.example:443", "https://u:p@cdn.example/", OCV_ERR_DATA, false},
    {"reg.example", "https://reg.example:443", "ftp://cdn.example/", OCV_ERR_DATA, false},
    {"reg.example", "https://reg.example:443", "https://169.254.169.254/", 0, true},
    {"localhost:5000", "http://localhost:5000", "http://127.0.0.1:6000/", OCV_ERR_NETWORK, false},
    {"localhost:5000", "http://localhost:5000", "http://localhost:6000/", OCV_ERR_NETWORK, false},
    {"localhost:5000", "http://localhost:5000", "http://localhost:5000/x", 0, false},
    {"localhost:5000", "http://localhost:5000", "http://127.0.0.1:7000/", 0, false}, /* named */
    {"localhost:5000", "http://localhost:5000", "https://169.254.169.254/", 0, true},
    {"localhost:5000", "http://localhost:5000", "http://cdn.example/", OCV_ERR_NETWORK, false},
    {"localhost:5000", "https://localhost:5000", "http://127.0.0.1:6000/", OCV_ERR_NETWORK, false},
    {"plain.example", "http://plain.example:80", "http://plain.example:81/", OCV_ERR_NETWORK,
     false},
};

START_TEST(hops_are_checked)
{
    struct ocv_registry_host *host = NULL;
    bool guard = true;
    new_client((struct ocv_registry_options){
        .insecure = (const char *const[]){"plain.example", "127.0.0.1:7000"}, .n_insecure = 2});
    ck_assert_int_eq(ocv_registry_host_get(client, hops[_i].registry, &host, &err), 0);
    int status = ocv_hop_allowed(client, hops[_i].from, hops[_i].to, "redirect", &guard, &err);
    ck_assert_msg(status == hops[_i].status, "%s -> %s: %d %s", hops[_i].from, hops[_i].to, status,
                  err.message);
    ck_assert_int_eq(guard, hops[_i].guard);
}
END_TEST

/* Of several names that are served at one address, its own one has the settings; a name that is
 * served elsewhere has none for its address. */
START_TEST(host_of_an_address)
{
    static const struct ocv_registry_config registries[] = {
        {.host = "alias.example", .url = "https://reg.example", .insecure = true},
        {.host = "reg.example", .ca = "/reg.pem"},
        {.host = "moved.example", .url = "https://new.example"},
        {.host = "other.example", .url = "https://moved.example"}};
    static const char *const cases[][2] = {{"reg.example", "reg.example"},
                                           {"moved.example", "other.example"},
                                           {"new.example", "moved.example"},
                                           {"cdn.example", "cdn.example"}};
    struct ocv_registry_host *host = NULL;
    new_client((struct ocv_registry_options){.registries = registries, .n_registries = 4});
    static const char *const used[] = {"alias.example", "moved.example", "other.example"};
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(ocv_registry_host_get(client, used[i], &host, &err), 0);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(ocv_registry_host_at(client, cases[i][0], &host, &err), 0);
        ck_assert_str_eq(host->name, cases[i][1]);
    }
}
END_TEST

/* What looks like any other host is looked at again when its address is known. */
START_TEST(hop_to_link_local_is_refused)
{
    static const char *const names[] = {"reg.invalid/redirlocal:v1", "reg.invalid/localrealm:v1"};
    struct ocv_config *config = client_with_proxy();
    struct ocv_descriptor d;
    ocv_auto(ocv_reference) ref = NULL;
    ck_assert_int_eq(ocv_reference_parse(names[_i], &ref, &err), 0);
    expect_error(ocv_registry_head(client, ref, &d, &err), OCV_ERR_NETWORK,
                 "loopback or link-local");
    ocv_registry_free(client);
    client = NULL;
    ocv_config_free(config);
}
END_TEST

START_TEST(guarded_address_is_refused)
{
    struct ocv_registry_host *host = NULL;
    char url[64];
    ck_assert_int_eq(ocv_registry_host_get(client, "reg.example", &host, &err), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/v2/good/manifests/v1", port);
    struct ocv_exchange x = {.registry = client,
                             .host = host,
                             .what = "token server",
                             .method = "GET",
                             .url = url,
                             .body_max = 1000,
                             .guard = true};
    expect_error(ocv_exchange_run(&x, &err), OCV_ERR_NETWORK, "loopback or link-local");
    ocv_exchange_free(&x);
    ck_assert_str_eq(requests(), "");
    const char *local[] = {"127.9.9.9", "169.254.169.254", "0.0.0.0", "10.0.0.1", "1.1.1.1"};
    for (size_t i = 0; i < 5; i++) {
        struct sockaddr_in a = {.sin_family = AF_INET};
        ck_assert_int_eq(inet_pton(AF_INET, local[i], &a.sin_addr), 1);
        ck_assert_int_eq(ocv_address_is_local((struct sockaddr *)&a), i < 3);
    }
    const char *local6[] = {"::1",    "::", "fe80::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8",
                            "fd00::1"};
    for (size_t i = 0; i < 6; i++) {
        struct sockaddr_in6 a = {.sin6_family = AF_INET6};
        ck_assert_int_eq(inet_pton(AF_INET6, local6[i], &a.sin6_addr), 1);
        ck_assert_int_eq(ocv_address_is_local((struct sockaddr *)&a), i < 4);
    }
}
END_TEST

TEST_FILE
{
    find_tools();
    Suite *suite = suite_create("registry_hops");
    TCase *c = tcase_create("hops");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, proxy_but_not_for_loopback);
    tcase_add_loop_test(c, hops_are_checked, 0, (int)(sizeof(hops) / sizeof(*hops)));
    tcase_add_test(c, host_of_an_address);
    tcase_add_loop_test(c, hop_to_link_local_is_refused, 0, 2);
    tcase_add_test(c, guarded_address_is_refused);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
