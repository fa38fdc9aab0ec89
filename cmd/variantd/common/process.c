/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static uint64_t count_files(void)
{
    uint64_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n > 0 ? n - 1 : 0; /* without the entry of the directory itself */
}

/* The first two numbers are pages: all, and those in memory (proc(5)). */
static void read_memory(struct process *out)
{
    char line[128], *end;
    FILE *file = fopen("/proc/self/statm", "re");
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (file && fgets(line, sizeof(line), file)) {
        out->virtual_bytes = strtoull(line, &end, 10) * page;
        out->resident_bytes = strtoull(end, NULL, 10) * page;
    }
    if (file)
        fclose(file);
}

void process_read(struct process *out)
{
    struct rusage used = {0};
    struct rlimit limit;
    *out = (struct process){0};
    if (getrusage(RUSAGE_SELF, &used) == 0)
        out->cpu_seconds = seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime);
    out->open_files = count_files();
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        out->max_files = limit.rlim_cur;
    if (getrlimit(RLIMIT_AS, &limit) == 0)
        out->virtual_max_bytes = limit.rlim_cur;
    read_memory(out);
}
