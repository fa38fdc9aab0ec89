/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The directory of records may be another user's: variantd's, where root's vpull and CRI proxy
 * write, too. Root writes there with the rights of the directory's owner and with no others, so
 * that whatever the owner puts in the way (a link, a name that becomes another file) leads only to
 * what the owner could do alone, and what is written is the owner's. The identity is this thread's
 * and of files only (setfsuid). */
#include "lib/internal/records/records_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

/* Both say what was before, never whether they did it: ask again. */
static bool become_user(uid_t uid, gid_t gid)
{
    setfsgid(gid);
    setfsuid(uid);
    return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

void ocv_record_as_before(bool *other)
{
    if (*other)
        become_user(geteuid(), getegid());
    *other = false;
}

/* Give this thread the rights over files of the owner of the directory `fd`; `dir` is for messages.
 * `*other`, false before: whether that changed anything. */
static int act_as_owner(int fd, const char *dir, bool *other, struct ocv_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return ocv_file_fail(err, dir, NULL, "look at");
    if (geteuid() != 0 || (st.st_uid == 0 && st.st_gid == getegid()))
        return OCV_OK;
    *other = true;
    if (become_user(st.st_uid, st.st_gid))
        return OCV_OK;
    ocv_record_as_before(other);
    errno = EPERM;
    return ocv_file_fail(err, dir, NULL, "act as its owner");
}

/* Modes do not depend on the umask; by a descriptor, for a link may have taken the name since. */
static int make_in(int parent, const char *dir, const char *name, struct ocv_error *err)
{
    ocv_as_owner bool other = false;
    OCV_TRY(act_as_owner(parent, dir, &other, err));
    if (mkdirat(parent, name, 0755) < 0)
        return errno == EEXIST ? OCV_OK : ocv_file_fail(err, dir, name, "create directory");
    ocv_auto_fd int fd = -1;
    OCV_TRY(ocv_directory_open(parent, dir, name, false, &fd, err));
    return fchmod(fd, 0755) < 0 ? ocv_file_fail(err, dir, name, "change") : OCV_OK;
}

int ocv_record_open(const char *dir, const char *name, int *out, bool *other, struct ocv_error *err)
{
    struct stat st;
    if (lstat(dir, &st) < 0) {
        ocv_auto_free char *copy = strdup(dir);
        if (!copy)
            return ocv_error_nomem(err);
        size_t len = strlen(copy);
        while (len > 1 && copy[len - 1] == '/')
            copy[--len] = '\0';
        char *slash = strrchr(copy, '/');
        const char *above = !slash ? "." : slash == copy ? "/" : copy;
        if (slash)
            *slash = '\0';
        OCV_TRY(ocv_directory_make(above, 0755, err));
        ocv_auto_fd int parent = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (parent < 0)
            return ocv_file_fail(err, above, NULL, "open");
        OCV_TRY(make_in(parent, above, slash ? slash + 1 : copy, err));
    }
    ocv_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return ocv_file_fail(err, dir, NULL, "open");
    if (name) {
        int inner = -1;
        OCV_TRY(make_in(fd, dir, name, err));
        OCV_TRY(ocv_directory_open(fd, dir, name, false, &inner, err));
        close(fd);
        fd = inner;
    }
    OCV_TRY(act_as_owner(fd, dir, other, err));
    *out = ocv_fd_steal(&fd);
    return OCV_OK;
}
