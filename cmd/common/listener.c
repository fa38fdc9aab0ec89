/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/daemons.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 512
#define LISTEN_STATE 0x0a /* TCP_LISTEN in /proc/net/tcp */

struct listener_address {
    char exact[64], any[64]; /* "0100007F:0154" */
};

/* An address as /proc/net/tcp prints it: words in host byte order, the port as a number. */
static void print_address(char out[64], const void *bytes, size_t len, unsigned port)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, (const char *)bytes + i, sizeof(word));
        n += (size_t)snprintf(out + n, 64 - n, "%08X", word);
    }
    snprintf(out + n, 64 - n, ":%04X", port);
}

/* Listening sockets come first in the table. An exact address wins over a wildcard. */
static bool read_socket_table(const char *table, const struct listener_address *wanted,
                              struct listener *out)
{
    char line[LINE_MAX_BYTES];
    bool found = false, exact = false;
    FILE *file = fopen(table, "re");
    if (!file)
        return false;
    while (!exact && fgets(line, sizeof(line), file)) {
        char local[64], state[8], uid[16], inode[24];
        if (sscanf(line, " %*d: %63s %*s %7s %*s %*s %*s %15s %*d %23s", local, state, uid,
                   inode) != 4)
            continue; /* the heading */
        if (strtoul(state, NULL, 16) != LISTEN_STATE)
            break;
        exact = strcmp(local, wanted->exact) == 0;
        if (!exact && strcmp(local, wanted->any) != 0)
            continue;
        *out = (struct listener){(unsigned)strtoul(uid, NULL, 10), strtoul(inode, NULL, 10)};
        found = true;
    }
    fclose(file);
    return found;
}

bool listener_find(const struct sockaddr_storage *address, struct listener *out)
{
    static const struct in6_addr none;
    struct listener_address wanted;
    *out = (struct listener){0};
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        unsigned port = ntohs(four->sin_port);
        print_address(wanted.exact, &four->sin_addr, sizeof(four->sin_addr), port);
        print_address(wanted.any, &none, sizeof(four->sin_addr), port);
        if (read_socket_table("/proc/net/tcp", &wanted, out))
            return true;
        /* An IPv6 socket may also own an IPv4 address: as a mapped address, or as [::]. */
        struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
        print_address(wanted.any, &mapped, sizeof(mapped), port);
        memcpy(&mapped.s6_addr[12], &four->sin_addr, sizeof(four->sin_addr));
        print_address(wanted.exact, &mapped, sizeof(mapped), port);
        if (read_socket_table("/proc/net/tcp6", &wanted, out))
            return true;
        print_address(wanted.any, &none, sizeof(none), port);
        return read_socket_table("/proc/net/tcp6", &wanted, out);
    }
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    print_address(wanted.exact, &six->sin6_addr, sizeof(none), ntohs(six->sin6_port));
    print_address(wanted.any, &none, sizeof(none), ntohs(six->sin6_port));
    return read_socket_table("/proc/net/tcp6", &wanted, out);
}
