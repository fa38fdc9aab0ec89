/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "ocivariant_cri_proxy_pods_total"
#define UNKNOWN "ocivariant_cri_proxy_unknown_annotations_total"

static const char *const words[COUNT_BUILDS] = {[COUNT_CHOSEN] = "chosen",
                                                [COUNT_KEPT] = "kept",
                                                [COUNT_NODE] = "node",
                                                [COUNT_REFUSED] = "refused"};

struct counts {
    char *file;
    pthread_mutex_t lock;
    unsigned long long numbers[COUNTS];
};

/* Call with the lock held. */
static void show_counts(const struct counts *c)
{
    char temporary[4096];
    if (!c->file)
        return;
    bool ok = snprintf(temporary, sizeof(temporary), "%s.tmp", c->file) < (int)sizeof(temporary);
    if (ok)
        (void)unlink(temporary); /* left by a killed writer, or a link planted by others */
    int fd = ok ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644) : -1;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    ok = file && fputs("# TYPE " NAME " counter\n", file) >= 0;
    for (size_t i = 0; i < COUNT_BUILDS && ok; i++)
        ok = fprintf(file, NAME "{build=\"%s\"} %llu\n", words[i], c->numbers[i]) > 0;
    ok = ok && fprintf(file, "# TYPE " UNKNOWN " counter\n" UNKNOWN " %llu\n",
                       c->numbers[COUNT_UNKNOWN]) > 0;
    if (!file && fd >= 0)
        close(fd);
    ok = file && fclose(file) == 0 && ok && rename(temporary, c->file) == 0;
    if (!ok)
        log_debug("%s: the metrics cannot be written", c->file);
}

int counts_new(const char *file, struct counts **out, struct ocv_error *err)
{
    struct counts *c = calloc(1, sizeof(*c));
    char *copy = file ? strdup(file) : NULL;
    if (!c || (file && !copy)) {
        free(c);
        free(copy);
        return ocv_error_nomem(err);
    }
    c->file = copy;
    pthread_mutex_init(&c->lock, NULL);
    show_counts(c);
    *out = c;
    return OCV_OK;
}

void counts_free(struct counts *c)
{
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    free(c->file);
    free(c);
}

unsigned long long counts_add(struct counts *c, enum count what)
{
    pthread_mutex_lock(&c->lock);
    unsigned long long number = ++c->numbers[what];
    show_counts(c);
    pthread_mutex_unlock(&c->lock);
    return number;
}
