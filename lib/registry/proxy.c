/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which proxy the environment gives for a URL, by the rules of libcurl (curl(1), ENVIRONMENT), so
 * that a failure names it: a message about the registry alone sends people to the wrong machine. */
#include "lib/registry/registry_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *ocv_proxy_variable(const char *url)
{
    /* HTTP_PROXY is not read: in a CGI program it is what a client sent */
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy",
                                        "ALL_PROXY"};
    bool tls = !strncmp(url, "https:", 6);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = (i < 2 && !tls) || (i == 2 && tls) ? NULL : getenv(names[i]);
        if (value && *value)
            return names[i];
    }
    return NULL;
}

/* The host of a URL, or of a proxy's address. */
static size_t find_host(const char *url, const char **host)
{
    const char *at = strstr(url, "://");
    *host = at ? at + 3 : url;
    size_t n = strcspn(*host, "/?#");
    const char *name = memrchr(*host, '@', n); /* behind a user's name and password */
    if (name) {
        n -= (size_t)(name + 1 - *host);
        *host = name + 1;
    }
    return n;
}

static bool is_address(const char *host, size_t n)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr four;
    if (n == 0 || n >= sizeof(text))
        return false;
    memcpy(text, host, n);
    text[n] = '\0';
    return host[0] == '[' || inet_pton(AF_INET, text, &four) == 1;
}

/* Networks (10.0.0.0/8) are compared by libcurl: an address may be in one. */
static bool entry_matches(const char *entry, size_t len, const char *host, size_t n)
{
    while (len && *entry == '.') {
        entry++;
        len--;
    }
    if (len == 0)
        return false;
    if (is_address(host, n))
        return memchr(entry, '/', len) || (len == n && !strncasecmp(entry, host, n));
    return len <= n && !strncasecmp(host + n - len, entry, len) &&
           (len == n || host[n - len - 1] == '.');
}

static bool is_excepted(const char *url)
{
    const char *host, *list = getenv("no_proxy");
    size_t n = find_host(url, &host);
    if (*host == '[')
        n = strcspn(host, "]") + 1;
    else
        n = strcspn(host, ":") < n ? strcspn(host, ":") : n;
    if (!list || !*list)
        list = getenv("NO_PROXY");
    if (list && !strcmp(list, "*"))
        return true;
    for (const char *at = list; at && *at;) {
        size_t len = strcspn(at, ", ");
        if (entry_matches(at, len, host, n))
            return true;
        at += len + (at[len] != '\0');
    }
    return false;
}

const char *ocv_proxy_find(const char *url, char *proxy, size_t size)
{
    const char *variable = ocv_proxy_variable(url), *host;
    const char *value = variable ? getenv(variable) : NULL;
    if (!value || is_excepted(url))
        return NULL;
    /* a password with a slash of its own would otherwise look like the host */
    const char *at = strrchr(value, '@');
    size_t n = find_host(at ? at + 1 : value, &host);
    snprintf(proxy, size, "%.*s", (int)n, host);
    return variable;
}
