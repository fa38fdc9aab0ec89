/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/format/span.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define DURATION_DIGITS 9
#define PORT_DIGITS 5

bool ocv_duration_parse(const char *text, int64_t *ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > DURATION_DIGITS)
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strcmp(text + digits, units[i].unit) == 0) {
            *ms = strtol(text, NULL, 10) * units[i].ms;
            return true;
        }
    return false;
}

bool ocv_address_parse(const char *text, struct sockaddr_storage *out, socklen_t *len)
{
    char host[INET6_ADDRSTRLEN + 2];
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    size_t digits = n ? strspn(colon + 1, "0123456789") : 0;
    if (n >= sizeof(host) || digits == 0 || digits > PORT_DIGITS || colon[1 + digits])
        return false;
    long port = strtol(colon + 1, NULL, 10);
    if (port > UINT16_MAX)
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    *out = (struct sockaddr_storage){0};
    /* several colons and a port behind the last: what a template makes of an address and a port */
    if (host[0] != '[' && strchr(host, ':')) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        *len = sizeof(*six);
        return port && inet_pton(AF_INET6, host, &six->sin6_addr) == 1;
    }
    if (host[0] != '[') {
        const char *address = strcmp(host, "localhost") ? host : "127.0.0.1";
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        *len = sizeof(*four);
        return inet_pton(AF_INET, address, &four->sin_addr) == 1;
    }
    if (host[n - 1] != ']')
        return false;
    host[n - 1] = '\0';
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)port);
    *len = sizeof(*six);
    return inet_pton(AF_INET6, host + 1, &six->sin6_addr) == 1;
}

bool ocv_address_is_loopback(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET)
        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}
