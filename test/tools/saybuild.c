/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What images of tests run. Linked statically: their layers hold nothing else.
 *
 *   saybuild            print the variant, /etc/build
 *   saybuild FILE       into a file, which SAY_INTO names as well
 *   saybuild stay       print it, then wait for a signal; `saybuild stay user`: and as which user
 *   saybuild pause      the first process of a pod: wait for a signal */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void stop(int signal_number)
{
    (void)signal_number;
    _exit(0);
}

static void wait_for_signal(void)
{
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    char name[128] = "";
    if (argc > 1 && strcmp(argv[1], "pause") == 0)
        wait_for_signal();
    FILE *file = fopen("/etc/build", "re");
    if (!file) {
        fputs("saybuild: no /etc/build\n", stderr);
        return 1;
    }
    if (!fgets(name, sizeof(name), file))
        name[0] = '\0';
    fclose(file);
    bool stays = argc > 1 && strcmp(argv[1], "stay") == 0;
    const char *into = argc > 1 && !stays ? argv[1] : getenv("SAY_INTO");
    if (into && !freopen(into, "w", stdout))
        return 1;
    printf("this is %s", name);
    if (argc > 2 && strcmp(argv[2], "user") == 0)
        printf(" as %u", (unsigned)getuid());
    puts("");
    if (fflush(stdout) != 0)
        return 1;
    if (stays)
        wait_for_signal();
    return 0;
}
