/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --to docker-archive:FILE, and the temporary layout for destinations that take a whole archive. */
#include "cmd/vpull/engines/engine.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 100

void staging_remove(struct staging *staging, int status)
{
    bool keep = (status == OCV_ERR_NETWORK || status == OCV_ERR_INTERRUPTED) && !staging->unique;
    ocv_layout_free(staging->layout);
    if (staging->dir[0] && !keep)
        ocv_directory_remove(staging->dir);
    if (staging->lock >= 0)
        close(staging->lock);
    *staging = (struct staging){.lock = -1};
}

static int open_directory(const char *dir)
{
    struct stat st;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The name can be guessed, so it must be a directory of this user only, not a link. If anything
 * else has that name, this pull uses a random name and cannot be resumed. */
static int open_private(struct staging *out, struct ocv_error *err)
{
    size_t n = strlen(out->dir);
    if (mkdir(out->dir, 0700) != 0 && errno != EEXIST)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", out->dir, strerror(errno));
    int fd = open_directory(out->dir);
    if (fd >= 0 || out->unique)
        return fd >= 0 ? fd : ocv_error_set(err, OCV_ERR_IO, "%s: %s", out->dir, strerror(errno));
    snprintf(out->dir + n, sizeof(out->dir) - n, ".XXXXXX");
    out->unique = true;
    if (!mkdtemp(out->dir) || (fd = open_directory(out->dir)) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", out->dir, strerror(errno));
    return fd;
}

/* Lock the directory for this process. Its previous owner may have removed it meanwhile. */
static int lock_directory(struct pull *pull, struct staging *out, struct ocv_error *err)
{
    bool said = false;
    for (;;) {
        struct stat held, named;
        int fd = open_private(out, err);
        if (fd < 0)
            return fd;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            if (fstat(fd, &held) == 0 && stat(out->dir, &named) == 0 &&
                held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
                out->lock = fd;
                return OCV_OK;
            }
        } else if (errno != EWOULDBLOCK) {
            ocv_error_set(err, OCV_ERR_IO, "%s: %s", out->dir, strerror(errno));
            close(fd);
            return OCV_ERR_IO;
        } else if (!said) {
            progress_message(pull->progress, "waiting for another vpull of the same image");
            said = true;
        }
        close(fd);
        if (cli_interrupted(pull->cli))
            return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
        poll(NULL, 0, WAIT_MS);
    }
}

int staging_fetch(struct pull *pull, const char *near, struct staging *out, struct ocv_error *err)
{
    *out = (struct staging){.lock = -1};
    pull->staged = true;
    const char *slash = near ? strrchr(near, '/') : NULL, *temporary = getenv("TMPDIR");
    const char *hex = strchr(pull->child.descriptor.digest, ':');
    if (near)
        snprintf(out->dir, sizeof(out->dir), "%.*s.vpull-%.32s",
                 slash ? (int)(slash - near + 1) : 0, near, hex + 1);
    else
        snprintf(out->dir, sizeof(out->dir), "%s/vpull-%u-%.32s",
                 temporary && *temporary ? temporary : "/var/tmp", (unsigned)geteuid(), hex + 1);
    int status = lock_directory(pull, out, err);
    if (status < 0) {
        out->dir[0] = '\0';
        return status;
    }
    OCV_TRY(ocv_layout_open(out->dir, OCV_LAYOUT_CREATE | OCV_LAYOUT_NOSYNC, &out->layout, err));
    return pull_to_layout(pull, out->layout, err);
}

int staging_write(const struct pull *pull, const struct staging *staging, int fd,
                  struct ocv_error *err)
{
    const char *names[] = {pull->name};
    return ocv_layout_write_archive(staging->layout, pull->child.descriptor.digest, names,
                                    pull->name ? 1 : 0, fd, err);
}

/* Write beside the target and rename: the archive appears complete or not at all. */
static int write_file(const struct pull *pull, const struct staging *staging, const char *path,
                      struct ocv_error *err)
{
    char temporary[4096];
    snprintf(temporary, sizeof(temporary), "%s/archive", staging->dir);
    ocv_auto_fd int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", temporary, strerror(errno));
    OCV_TRY(staging_write(pull, staging, fd, err));
    return fsync(fd) == 0 && rename(temporary, path) == 0
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
}

static int pull_archive(struct pull *pull, const char *argument, char *where, size_t size,
                        struct ocv_error *err)
{
    struct staging staging;
    struct stat st;
    char real[PATH_MAX];
    const char *path = realpath(argument, real) ? real : argument; /* keeps a symbolic link */
    /* An existing target that is not a regular file (a pipe, a device) is written to, never
     * replaced. */
    bool is_special = stat(argument, &st) == 0 && !S_ISREG(st.st_mode);
    ocv_auto_fd int special = is_special ? open(argument, O_WRONLY | O_NOCTTY | O_CLOEXEC) : -1;
    if (is_special && special < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", argument, strerror(errno));
    int status = staging_fetch(pull, is_special ? NULL : path, &staging, err);
    if (status == OCV_OK) {
        progress_status(pull->progress, "writing", pull->image.text, "writing %s", argument);
        status = is_special ? staging_write(pull, &staging, special, err)
                            : write_file(pull, &staging, path, err);
    }
    staging_remove(&staging, status);
    if (status < 0)
        return status;
    progress_settle(pull->progress, LAYER_DONE);
    snprintf(where, size, "into docker-archive:%s", argument);
    return OCV_OK;
}

const struct destination destination_archive = {"docker-archive", "FILE", NULL, pull_archive};
