/* SPDX-License-Identifier: GPL-3.0-or-later */
/* runone [NAME=VALUE]... COMMAND...: run it with these variables, its output to /dev/null, and
 * print "WALL_MS CPU_MS MAXRSS_KIB STATUS".
 *
 * Built statically and kept tiny: a child's peak RSS starts as its parent's at the fork and
 * survives exec, so a launcher must be smaller than anything it measures. CPU is the whole process
 * tree's. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double milliseconds(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static void child(char **argv)
{
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
    }
    execvp(argv[0], argv);
    _exit(127);
}

int main(int argc, char **argv)
{
    for (; argc > 1 && strchr(argv[1], '='); argc--, argv++)
        putenv(argv[1]);
    if (argc < 2) {
        fprintf(stderr, "usage: runone [NAME=VALUE]... COMMAND...\n");
        return 2;
    }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pid_t pid = fork();
    if (pid == 0)
        child(argv + 1);
    int status = 0;
    struct rusage usage = {0};
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
        perror("runone");
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double wall =
        (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6;
    printf("%.3f %.3f %ld %d\n", wall, milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime),
           usage.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
