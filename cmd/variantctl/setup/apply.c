/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a plan. The order makes a cut at any point harmless: backups; files that go back to what
 * they were, which the old state still describes; the new state; files that become ours. */
#include "setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static int fail_errno(struct ocv_error *err, const char *path, const char *what)
{
    return ocv_error_set(err, OCV_ERR_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* ---- files ------------------------------------------------------------------------------------
 */

int setup_read_file(const char *path, struct ocv_buffer *out, struct ocv_error *err)
{
    char chunk[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), status = OCV_OK;
    if (fd < 0)
        return ocv_error_set(err,
                             errno == ENOENT || errno == ENOTDIR ? OCV_ERR_NOT_FOUND : OCV_ERR_IO,
                             "%s: %s", path, strerror(errno));
    status = ocv_buffer_append(out, "", 0, err);
    while (status == OCV_OK) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = fail_errno(err, path, "read");
        if (n <= 0)
            break;
        status = ocv_buffer_append(out, chunk, (size_t)n, err);
    }
    close(fd);
    return status;
}

static int sync_folder_of(const char *path, struct ocv_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash && slash > path ? strndup(path, (size_t)(slash - path)) : strdup("/");
    if (!folder)
        return ocv_error_nomem(err);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = fd < 0 || fsync(fd) < 0 ? fail_errno(err, folder, "sync") : OCV_OK;
    if (fd >= 0)
        close(fd);
    free(folder);
    return status;
}

static int make_folder(const char *path, mode_t mode, struct ocv_error *err)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return OCV_OK;
    if ((mkdir(path, mode) < 0 && errno != EEXIST) || chmod(path, mode) < 0) /* despite the umask */
        return fail_errno(err, path, "make folder");
    return sync_folder_of(path, err);
}

int setup_make_folders(const char *path, mode_t mode, struct ocv_error *err)
{
    char *copy = strdup(path);
    if (!copy)
        return ocv_error_nomem(err);
    int status = OCV_OK;
    for (size_t i = 1; status == OCV_OK && i <= strlen(path); i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        copy[i] = '\0';
        status = make_folder(copy, path[i] ? 0755 : mode, err);
        copy[i] = path[i];
    }
    free(copy);
    return status;
}

#define ATTRIBUTES_MAX 65536u /* bytes of their names, and of one's value: the kernel's limits */

/* What the file at `path` has beside its bytes: an access list, without which its mode would let in
 * others, a security module's label, its owner's attributes. Those that the file system or the
 * caller's rights do not allow are left, but never an access list. */
static bool keep_attributes(const char *path, int fd)
{
    static const char acl[] = "system.posix_acl_access";
    ssize_t len = llistxattr(path, NULL, 0);
    if (len <= 0)
        return true; /* none, or no such file */
    char *names = calloc(2, ATTRIBUTES_MAX), *value = names ? names + ATTRIBUTES_MAX : NULL;
    bool kept = names && (len = llistxattr(path, names, ATTRIBUTES_MAX - 1)) >= 0;
    for (const char *name = names; kept && name < names + len; name += strlen(name) + 1) {
        ssize_t n = lgetxattr(path, name, value, ATTRIBUTES_MAX);
        bool set = n >= 0 && fsetxattr(fd, name, value, (size_t)n, 0) == 0;
        kept = set || strcmp(name, acl) != 0;
    }
    free(names);
    return kept;
}

static bool fill(int fd, const char *path, const struct setup_content *content, bool restore)
{
    const char *at = content->text.data;
    size_t left = content->text.len;
    while (left) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        left -= (size_t)n;
    }
    struct stat st;
    const struct setup_meta *meta = &content->meta;
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, meta->mtime};
    return fstat(fd, &st) == 0 &&
           ((st.st_uid == meta->uid && st.st_gid == meta->gid) ||
            fchown(fd, meta->uid, meta->gid) == 0) &&
           keep_attributes(path, fd) && fchmod(fd, meta->mode) == 0 &&
           (!restore || futimens(fd, times) == 0) && fsync(fd) == 0;
}

/* DIR/.NAME.ocivariant: one name for each file, so that what a killed run left is found again. */
static char *temporary_of(const char *path, struct ocv_error *err)
{
    char *temporary = NULL;
    const char *slash = strrchr(path, '/');
    int name = slash ? (int)(slash - path) + 1 : 0;
    if (asprintf(&temporary, "%.*s.%s.ocivariant", name, path, path + name) >= 0)
        return temporary;
    ocv_error_nomem(err);
    return NULL;
}

int setup_write_file(const char *path, const struct setup_content *content, bool restore,
                     struct ocv_error *err)
{
    char *temporary = temporary_of(path, err);
    if (!temporary)
        return OCV_ERR_NOMEM;
    unlink(temporary);
    int status = OCV_OK;
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        status = fail_errno(err, path, "write");
    } else {
        bool done = fill(fd, path, content, restore);
        int saved = errno;
        close(fd);
        errno = saved;
        if (!done || rename(temporary, path) < 0) {
            status = fail_errno(err, path, "write");
            unlink(temporary);
        }
    }
    free(temporary);
    return status < 0 ? status : sync_folder_of(path, err);
}

void setup_unlink_temporary(const char *path)
{
    char *temporary = temporary_of(path, NULL);
    if (temporary)
        unlink(temporary);
    free(temporary);
}

/* What runs that were killed have left beside the plan's files. */
static void sweep_temporaries(const struct setup *setup)
{
    for (size_t i = 0; i < setup->n_files; i++) {
        char *path = setup_system_path(setup, setup->files[i]->path, NULL);
        if (path)
            setup_unlink_temporary(path);
        free(path);
    }
}

/* ---- the plan ---------------------------------------------------------------------------------
 */

bool setup_changes(const struct setup_file *file)
{
    const struct setup_meta *a = &file->want.meta, *b = &file->disk.meta;
    if (!setup_content_equal(&file->want, &file->disk))
        return true;
    return file->want.there && (a->mode != b->mode || a->uid != b->uid || a->gid != b->gid);
}

bool setup_is_ours(const struct setup_file *file)
{
    return !setup_content_equal(&file->want, &file->base);
}

/* What we write is to be known again. */
static int remember_written(struct setup_file *file, struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX] = "";
    int status = ocv_digest_bytes(file->want.text.data, file->want.text.len, digest, err);
    if (status < 0)
        return status;
    size_t at = 0;
    while (at < file->n_written && strcmp(file->written[at], digest) != 0)
        at++;
    if (at == file->n_written && file->n_written < SETUP_WRITTEN_MAX)
        file->n_written++;
    else if (at == file->n_written)
        at = SETUP_WRITTEN_MAX - 1;
    memmove(file->written + 1, file->written, at * sizeof(*file->written));
    memcpy(file->written[0], digest, sizeof(digest));
    return OCV_OK;
}

static int add_folder(struct setup *setup, const char *path, size_t len, struct ocv_error *err)
{
    for (size_t i = 0; i < setup->n_folders; i++)
        if (strlen(setup->folders[i]) == len && memcmp(setup->folders[i], path, len) == 0)
            return OCV_OK;
    if (setup->n_folders == SETUP_FILES_MAX)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "more than %u folders", SETUP_FILES_MAX);
    char *copy = strndup(path, len);
    if (!copy)
        return ocv_error_nomem(err);
    setup->folders[setup->n_folders++] = copy;
    return OCV_OK;
}

int setup_note_folders(struct setup *setup, const char *path, struct ocv_error *err)
{
    int status = OCV_OK;
    for (const char *at = strchr(path + 1, '/'); at && status == OCV_OK; at = strchr(at + 1, '/')) {
        char *folder = strndup(path, (size_t)(at - path));
        if (!folder)
            return ocv_error_nomem(err);
        if (!setup_exists(setup, folder, true))
            status = add_folder(setup, folder, strlen(folder), err);
        free(folder);
    }
    return status;
}

static int make_folder_of(const char *path, struct ocv_error *err)
{
    char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));
    if (!folder)
        return ocv_error_nomem(err);
    int status = *folder ? setup_make_folders(folder, 0755, err) : OCV_OK;
    free(folder);
    return status;
}

static void say_written(const struct setup *setup, const struct setup_file *file, const char *path)
{
    char digest[OCV_DIGEST_MAX] = "";
    char *backup = NULL;
    if (!file->want.there) {
        printf("removed %s\n", path);
    } else if (!setup_is_ours(file)) {
        printf(file->reduced ? "took the set-up's part out of %s\n" : "put back %s\n", path);
    } else if (file->base.there) {
        if (ocv_digest_bytes(file->base.text.data, file->base.text.len, digest, NULL) == OCV_OK)
            backup = setup_backup_path(setup, digest, NULL);
        printf("changed %s (before: %s)\n", path, backup ? backup : "?");
        free(backup);
    } else {
        printf("wrote %s\n", path);
    }
}

static int write_one(struct setup *setup, struct setup_file *file, struct ocv_error *err)
{
    char *path = setup_system_path(setup, file->path, err);
    if (!path)
        return OCV_ERR_NOMEM;
    bool back = !setup_is_ours(file);
    int status = OCV_OK;
    if (!file->want.there) {
        status = unlink(path) < 0 && errno != ENOENT ? fail_errno(err, path, "remove")
                                                     : sync_folder_of(path, err);
    } else {
        status = make_folder_of(path, err);
        if (status == OCV_OK)
            status = setup_write_file(path, &file->want, back && file->want.meta.mtime.tv_sec, err);
    }
    if (status == OCV_OK)
        say_written(setup, file, path);
    free(path);
    return status;
}

void setup_remove_folders(struct setup *setup)
{
    for (size_t i = setup->n_folders; i-- > 0;) {
        char *path = setup_system_path(setup, setup->folders[i], NULL);
        bool gone = path && (rmdir(path) == 0 || errno == ENOENT);
        free(path);
        if (!gone)
            continue;
        free(setup->folders[i]);
        memmove(setup->folders + i, setup->folders + i + 1,
                (setup->n_folders - i - 1) * sizeof(*setup->folders));
        setup->n_folders--;
    }
}

static int write_files(struct setup *setup, bool ours, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; i < setup->n_files && status == OCV_OK; i++)
        if (setup_is_ours(setup->files[i]) == ours && setup_changes(setup->files[i]))
            status = write_one(setup, setup->files[i], err);
    return status;
}

int setup_apply(struct setup *setup, struct ocv_error *err)
{
    size_t n = 0;
    int status = OCV_OK;
    sweep_temporaries(setup);
    for (size_t i = 0; i < setup->n_files && status == OCV_OK; i++) {
        struct setup_file *file = setup->files[i];
        if (!setup_is_ours(file))
            continue;
        n++;
        status = remember_written(file, err);
        if (status == OCV_OK)
            status = setup_note_folders(setup, file->path, err);
    }
    if (status == OCV_OK && n)
        status = setup_check_state(setup, err);
    for (size_t i = 0; i < setup->n_files && status == OCV_OK; i++)
        if (setup_is_ours(setup->files[i]) && setup->files[i]->base.there)
            status = setup_save_backup(setup, &setup->files[i]->base, err);
    if (status == OCV_OK)
        status = write_files(setup, false, err);
    if (status == OCV_OK && n)
        status = setup_save_state(setup, err);
    if (status == OCV_OK)
        status = write_files(setup, true, err);
    if (status < 0)
        return status;
    setup_remove_folders(setup);
    if (n == 0)
        return setup_drop_state(setup, err);
    setup_sweep_backups(setup);
    return setup_save_state(setup, err);
}
