/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Another user of the machine, who would like to be the mirror.
 *
 *   intruder PORT
 *
 * Tries without end to bind to 127.0.0.1:PORT, as nobody where it starts as root. stdout: "tries",
 * once it has begun, "took" as soon as it succeeds; then it listens, and never answers. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOBODY 65534

int main(int argc, char **argv)
{
    char *end = NULL;
    long port = argc == 2 ? strtol(argv[1], &end, 10) : 0;
    if (port <= 0 || port > 65535 || *end) {
        fputs("usage: intruder PORT\n", stderr);
        return 2;
    }
    if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)) {
        perror("intruder");
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((unsigned short)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (unsigned n = 0;; n++) {
        int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 16) == 0)
            break;
        if (errno != EADDRINUSE) {
            perror("intruder");
            return 1;
        }
        close(fd);
        if (n == 0)
            puts("tries");
    }
    puts("took");
    for (;;)
        pause();
}
