/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/registry/proxy.c: which proxy of the environment a URL has, and which it is excepted from. */
#include "lib/registry/registry_internal.h"
#include "test/unit/suite.h"

#include <stdlib.h>

static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY",
                                    "all_proxy",   "ALL_PROXY",   "no_proxy",   "NO_PROXY"};

static const struct {
    const char *url, *set[3]; /* NAME=VALUE */
    const char *proxy, *variable;
} cases[] = {
    {"https://r.example/v2/", {NULL}, NULL, NULL},
    {"https://r.example/v2/", {"https_proxy=http://p:3128"}, "p:3128", "https_proxy"},
    {"https://r.example/v2/", {"HTTPS_PROXY=http://p:3128/"}, "p:3128", "HTTPS_PROXY"},
    {"https://r.example/v2/", {"https_proxy=p:3128"}, "p:3128", "https_proxy"},
    {"https://r.example/v2/", {"https_proxy=http://u:s@ecret@p:3128"}, "p:3128", "https_proxy"},
    {"https://r.example/v2/", {"https_proxy=http://u:s/ec?r#et@p:3128"}, "p:3128", "https_proxy"},
    {"https://r.example/v2/", {"https_proxy=u:s/e@c/r@p:3128/"}, "p:3128", "https_proxy"},
    {"https://r.example/v2/", {"https_proxy=http://[::1]:3128"}, "[::1]:3128", "https_proxy"},
    {"https://r.example/v2/", {"http_proxy=http://p"}, NULL, NULL},
    {"https://r.example/v2/", {"https_proxy="}, NULL, NULL},
    {"https://r.example/v2/", {"https_proxy=a", "all_proxy=b"}, "a", "https_proxy"},
    {"https://r.example/v2/", {"all_proxy=b"}, "b", "all_proxy"},
    {"http://r.example/v2/", {"http_proxy=p"}, "p", "http_proxy"},
    {"http://r.example/v2/", {"HTTP_PROXY=p"}, NULL, NULL},
    {"http://r.example/v2/", {"https_proxy=p"}, NULL, NULL},
    {"http://r.example/v2/", {"ALL_PROXY=p"}, "p", "ALL_PROXY"},
    {"https://r.example:5000/v2/", {"https_proxy=p", "no_proxy=r.example"}, NULL, NULL},
    {"https://r.example:5000/v2/", {"https_proxy=p", "no_proxy=.example"}, NULL, NULL},
    {"https://R.Example/v2/", {"https_proxy=p", "no_proxy=a, r.EXAMPLE"}, NULL, NULL},
    {"https://r.example/v2/", {"https_proxy=p", "no_proxy=ample"}, "p", "https_proxy"},
    {"https://r.example/v2/", {"https_proxy=p", "no_proxy=x.r.example"}, "p", "https_proxy"},
    {"https://r.example/v2/", {"https_proxy=p", "no_proxy=*"}, NULL, NULL},
    {"https://r.example/v2/", {"https_proxy=p", "no_proxy=,. ,"}, "p", "https_proxy"},
    {"https://r.example/v2/", {"https_proxy=p", "NO_PROXY=example"}, NULL, NULL},
    {"https://r.example/v2/", {"https_proxy=p", "no_proxy=", "NO_PROXY=example"}, NULL, NULL},
    /* capitals first, where they are set */
    {"https://r.example/v2/", {"https_proxy=a", "HTTPS_PROXY=b"}, "b", "HTTPS_PROXY"},
    {"https://r.example/v2/", {"https_proxy=a", "HTTPS_PROXY="}, "a", "https_proxy"},
    {"https://r.example/v2/", {"all_proxy=a", "ALL_PROXY=b"}, "b", "ALL_PROXY"},
    {"http://r.example/v2/", {"http_proxy=a", "HTTP_PROXY=b"}, "a", "http_proxy"},
    {"https://r.example/v2/",
     {"https_proxy=p", "no_proxy=example", "NO_PROXY=x"},
     "p",
     "https_proxy"},
    {"https://r.example/v2/", {"https_proxy=p", "no_proxy=x", "NO_PROXY=example"}, NULL, NULL},
    {"https://r.example/v2/", {"https_proxy=p", "no_proxy=example", "NO_PROXY="}, NULL, NULL},
    {"https://10.1.2.3/v2/", {"https_proxy=p", "no_proxy=10.1.2.3"}, NULL, NULL},
    {"https://10.1.2.3/v2/", {"https_proxy=p", "no_proxy=2.3"}, "p", "https_proxy"},
/* the table of golang.org/x/net/http/httpproxy's documentation, and its own tests' kinds */
#define R "https://r.corp.example/v2/"
    {R, {"https_proxy=p", "no_proxy=corp.example"}, NULL, NULL},
    {R, {"https_proxy=p", "no_proxy=.corp.example"}, NULL, NULL},
    {R, {"https_proxy=p", "no_proxy=*.corp.example"}, NULL, NULL},
    {R, {"https_proxy=p", "no_proxy=*.example"}, NULL, NULL},
    {R, {"https_proxy=p", "no_proxy=.r.corp.example"}, "p", "https_proxy"},
    {R, {"https_proxy=p", "no_proxy=*.r.corp.example"}, "p", "https_proxy"},
    {R, {"https_proxy=p", "no_proxy=*corp.example"}, "p", "https_proxy"},
    {R, {"https_proxy=p", "no_proxy=*.other,*"}, NULL, NULL},
    {R, {"https_proxy=p", "no_proxy=r.corp.example:443"}, NULL, NULL},
    {R, {"https_proxy=p", "no_proxy=r.corp.example:5000"}, "p", "https_proxy"},
    {R, {"https_proxy=p", "no_proxy=.corp.example:443"}, NULL, NULL},
    {R, {"https_proxy=p", "no_proxy=localhost:443"}, "p", "https_proxy"},
    {"https://r.example:5000/", {"https_proxy=p", "no_proxy=r.example:5000"}, NULL, NULL},
    {"https://r.example:5000/", {"https_proxy=p", "no_proxy=r.example:443"}, "p", "https_proxy"},
    {"http://r.example/", {"http_proxy=p", "no_proxy=r.example:80"}, NULL, NULL},
    {"http://r.example/", {"http_proxy=p", "no_proxy=r.example:443"}, "p", "http_proxy"},
    {"https://10.1.2.3/v2/", {"https_proxy=p", "no_proxy=10.0.0.0/8"}, NULL, NULL},
    {"https://10.1.2.3/v2/", {"https_proxy=p", "no_proxy=10.1.2.0/31"}, "p", "https_proxy"},
    {"https://10.1.2.3/v2/", {"https_proxy=p", "no_proxy=10.1.2.2/31"}, NULL, NULL},
    {"https://10.1.2.3/v2/", {"https_proxy=p", "no_proxy=10.1.2.3/33"}, "p", "https_proxy"},
    {"https://10.1.2.3/v2/", {"https_proxy=p", "no_proxy=10.1.2.3/"}, "p", "https_proxy"},
    {"https://10.1.2.3/v2/", {"https_proxy=p", "no_proxy=0.0.0.0/0"}, NULL, NULL},
    {"https://10.1.2.3:5000/v2/", {"https_proxy=p", "no_proxy=10.1.2.3:5000"}, NULL, NULL},
    {"https://10.1.2.3:5000/v2/", {"https_proxy=p", "no_proxy=10.1.2.3:443"}, "p", "https_proxy"},
    {"https://r.example/v2/", {"https_proxy=p", "no_proxy=10.0.0.0/8"}, "p", "https_proxy"},
    {"https://[fd00::1]:5000/v2/", {"https_proxy=p", "no_proxy=[fd00::1]"}, NULL, NULL},
    {"https://[fd00::1]:5000/v2/", {"https_proxy=p", "no_proxy=fd00::1"}, NULL, NULL},
    {"https://[fd00::1]/v2/", {"https_proxy=p", "no_proxy=fd00:0:0::1"}, NULL, NULL},
    {"https://[fd00::1]:5000/v2/", {"https_proxy=p", "no_proxy=[fd00::1]:5000"}, NULL, NULL},
    {"https://[fd00::1]:5000/v2/", {"https_proxy=p", "no_proxy=[fd00::1]:443"}, "p", "https_proxy"},
    {"https://[fd00::1]:5000/v2/", {"https_proxy=p", "no_proxy=fd00::/8"}, NULL, NULL},
    {"https://[fe00::1]:5000/v2/", {"https_proxy=p", "no_proxy=fd00::/8"}, "p", "https_proxy"},
    {"https://[fd00::1]/v2/", {"https_proxy=p", "no_proxy=10.0.0.0/8"}, "p", "https_proxy"},
    {"https://localhost:5000/v2/", {"https_proxy=p"}, NULL, NULL},
    {"http://LocalHost/v2/", {"http_proxy=p"}, NULL, NULL},
    {"https://127.1.2.3/v2/", {"all_proxy=p"}, NULL, NULL},
    {"https://[::1]:5000/v2/", {"https_proxy=p"}, NULL, NULL},
    {"https://user@127.0.0.1/v2/", {"https_proxy=p"}, NULL, NULL},
    {"https://128.0.0.1/v2/", {"https_proxy=p"}, "p", "https_proxy"},
    {"https://localhost.example/v2/", {"https_proxy=p"}, "p", "https_proxy"},
    {"https://[::2]/v2/", {"https_proxy=p"}, "p", "https_proxy"},
};

START_TEST(test_find)
{
    char proxy[64] = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unsetenv(names[i]);
    for (size_t i = 0; i < 3 && cases[_i].set[i]; i++) {
        char *pair = strdup(cases[_i].set[i]), *value = strchr(pair, '=');
        *value = '\0';
        setenv(pair, value + 1, 1);
        free(pair);
    }
    const char *variable = ocv_proxy_find(cases[_i].url, proxy, sizeof(proxy));
    ck_assert_pstr_eq(variable, cases[_i].variable);
    if (variable)
        ck_assert_str_eq(proxy, cases[_i].proxy);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("proxy");
    TCase *tcase = tcase_create("proxy");
    tcase_add_loop_test(tcase, test_find, 0, (int)(sizeof(cases) / sizeof(*cases)));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
