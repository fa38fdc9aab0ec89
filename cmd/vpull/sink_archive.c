/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --to docker-archive:FILE, and the temporary layout that sinks use which take a whole archive. */
#include "sink_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void staging_remove(struct staging *staging)
{
    ocv_layout_free(staging->layout);
    if (staging->dir[0])
        nftw(staging->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    *staging = (struct staging){0};
}

int staging_fetch(struct pull *pull, const char *near, struct staging *out, struct ocv_error *err)
{
    *out = (struct staging){0};
    const char *slash = near ? strrchr(near, '/') : NULL, *temporary = getenv("TMPDIR");
    if (near)
        snprintf(out->dir, sizeof(out->dir), "%.*s.vpull.XXXXXX",
                 slash ? (int)(slash - near + 1) : 0, near);
    else
        snprintf(out->dir, sizeof(out->dir), "%s/vpull.XXXXXX",
                 temporary && *temporary ? temporary : "/var/tmp");
    if (!mkdtemp(out->dir)) {
        int status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", out->dir, strerror(errno));
        out->dir[0] = '\0';
        return status;
    }
    int status = ocv_layout_open(out->dir, OCV_LAYOUT_CREATE, &out->layout, err);
    if (status == OCV_OK)
        status = pull_to_layout(pull, out->layout, err);
    return status;
}

int staging_write(const struct pull *pull, const struct staging *staging, int fd,
                  struct ocv_error *err)
{
    const char *names[] = {pull->name};
    return ocv_archive_write(staging->layout, pull->child.descriptor.digest, names,
                             pull->name ? 1 : 0, fd, err);
}

/* The archive appears by rename, whole or not at all. */
static int write_file(const struct pull *pull, const struct staging *staging, const char *path,
                      struct ocv_error *err)
{
    char temporary[4096];
    snprintf(temporary, sizeof(temporary), "%s/archive", staging->dir);
    int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", temporary, strerror(errno));
    int status = staging_write(pull, staging, fd, err);
    if (status == OCV_OK && fsync(fd) != 0)
        status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    close(fd);
    if (status == OCV_OK && rename(temporary, path) != 0)
        status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    return status;
}

static int pull_archive(struct pull *pull, const char *argument, char *where, size_t size,
                        struct ocv_error *err)
{
    struct staging staging;
    int status = staging_fetch(pull, argument, &staging, err);
    if (status == OCV_OK)
        status = write_file(pull, &staging, argument, err);
    staging_remove(&staging);
    if (status == OCV_OK)
        snprintf(where, size, "into docker-archive:%s", argument);
    return status;
}

const struct sink sink_archive = {"docker-archive", true, NULL, pull_archive};
