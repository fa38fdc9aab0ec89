/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which proxy the environment gives for a URL: the variables are libcurl's (curl(1), ENVIRONMENT),
 * the exceptions those of the engines. libcurl is told the result, and a failure names it: a
 * message about the registry alone sends people to the wrong machine. Of two spellings the one in
 * capitals counts where it is set, as for the engines of a node, which are Go programs
 * (golang.org/x/net/http/httpproxy). */
#include "lib/registry/registry_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The first of the variables that is set and not empty, or NULL. `names` ends with NULL. */
static const char *first_set(const char *const *names)
{
    const char *value;
    while (*names && !((value = getenv(*names)) && *value))
        names++;
    return *names;
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

struct proxy_address {
    int family; /* 0: a name */
    unsigned char bytes[16];
};

/* An IP address, with or without brackets. */
static struct proxy_address read_address(const char *text, size_t n)
{
    struct proxy_address out = {0};
    char copy[INET6_ADDRSTRLEN];
    if (n > 2 && *text == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    if (n == 0 || n >= sizeof(copy))
        return out;
    memcpy(copy, text, n);
    copy[n] = '\0';
    const int families[] = {AF_INET, AF_INET6};
    for (size_t i = 0; i < 2; i++)
        if (inet_pton(families[i], copy, out.bytes) == 1)
            out.family = families[i];
    return out;
}

/* Where the port begins, at its colon; `len` where there is none. */
static size_t find_port(const char *text, size_t len)
{
    const char *colon = memrchr(text, ':', len);
    const char *close = memrchr(text, ']', len);
    if (!colon || (close && close > colon) || (!close && memchr(text, ':', (size_t)(colon - text))))
        return len; /* without brackets several colons are an address */
    return (size_t)(colon - text);
}

/* One entry: *, a network, or a host or domain with or without a port. "example" is the host and
 * all below it, ".example" and "*.example" only what is below it. */
static bool entry_matches(const char *entry, size_t len, const char *host, size_t n,
                          const char *port)
{
    if (len == 1 && *entry == '*')
        return true;
    const struct proxy_address address = read_address(host, n);
    const char *slash = memchr(entry, '/', len), *end = entry + len;
    if (slash) { /* ADDRESS/BITS */
        struct proxy_address network = read_address(entry, (size_t)(slash - entry));
        unsigned bits = 0, most = network.family == AF_INET ? 32 : 128;
        if (!network.family || network.family != address.family || slash + 1 == end ||
            end - slash > 4)
            return false;
        for (const char *p = slash + 1; p < end; p++) {
            if (*p < '0' || *p > '9')
                return false;
            bits = bits * 10 + (unsigned)(*p - '0');
        }
        unsigned whole = bits / 8, rest = bits % 8;
        return bits <= most && !memcmp(network.bytes, address.bytes, whole) &&
               (!rest || (network.bytes[whole] ^ address.bytes[whole]) >> (8 - rest) == 0);
    }
    size_t name = find_port(entry, len);
    if (name < len &&
        (strlen(port) != len - name - 1 || strncmp(entry + name + 1, port, len - name - 1) != 0))
        return false;
    if (address.family) {
        const struct proxy_address wanted = read_address(entry, name);
        return wanted.family == address.family &&
               !memcmp(wanted.bytes, address.bytes, address.family == AF_INET ? 4 : 16);
    }
    bool below = name > 1 && *entry == '*' && entry[1] == '.';
    entry += below;
    name -= below;
    below = name && *entry == '.';
    entry += below;
    name -= below;
    if (!name || name > n || strncasecmp(host + n - name, entry, name) != 0)
        return false;
    return name == n ? !below : host[n - name - 1] == '.';
}

const char *ocv_proxy_find(const char *url, char *proxy, size_t size)
{
    static const char *const tls[] = {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", NULL};
    /* HTTP_PROXY is not read: in a CGI program it is what a client sent */
    static const char *const plain[] = {"http_proxy", "ALL_PROXY", "all_proxy", NULL};
    static const char *const exceptions[] = {"NO_PROXY", "no_proxy", NULL};
    bool secure = !strncmp(url, "https:", 6);
    const char *variable = first_set(secure ? tls : plain), *host;
    const char *value = variable ? getenv(variable) : NULL;
    char authority[300], port[8];
    size_t len = find_host(url, &host), n = find_port(host, len);
    snprintf(authority, sizeof(authority), "%.*s", (int)len, host);
    /* this machine is never asked through another one, as for the engines */
    if (!value || ocv_reference_host_is_loopback(authority))
        return NULL;
    /* as the engines read the list; spaces separate, too */
    const char *name = first_set(exceptions), *entry = name ? getenv(name) : NULL;
    if (n < len)
        snprintf(port, sizeof(port), "%.*s", (int)(len - n - 1), host + n + 1);
    else
        snprintf(port, sizeof(port), "%s", secure ? "443" : "80");
    for (size_t taken; entry && *entry; entry += taken + (entry[taken] != '\0')) {
        taken = strcspn(entry, ", \t");
        if (taken && entry_matches(entry, taken, host, n, port))
            return NULL;
    }
    /* a password with a slash of its own would otherwise look like the host */
    const char *at = strrchr(value, '@');
    n = find_host(at ? at + 1 : value, &host);
    snprintf(proxy, size, "%.*s", (int)n, host);
    return variable;
}
