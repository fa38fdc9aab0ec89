/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/system/spawn.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40   /* as in the kernel */
#define INTERPRETERS 4 /* one of another, as in the kernel */
#define FIRST_LINE 256 /* that the kernel reads */
#define FORMATS "/proc/sys/fs/binfmt_misc"
#define FORMAT_MAX 8192 /* of an entry there */

struct trusted_walk {
    char rest[2 * PATH_MAX]; /* still to be walked */
    char shown[PATH_MAX];    /* walked, for messages */
    unsigned links;
    int dir;
    struct stat st; /* of `dir` */
};

static int refuse(const struct trusted_walk *w, const char *why, struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_CONFIG, "%s: %s", *w->shown ? w->shown : "/", why);
}

static int fail(const struct trusted_walk *w, struct ocv_error *err)
{
    return ocv_error_set(err,
                         errno == ENOENT || errno == ENOTDIR ? OCV_ERR_NOT_FOUND : OCV_ERR_CONFIG,
                         "%s: %s", *w->shown ? w->shown : "/", strerror(errno));
}

/* Takes `fd`. */
static int enter(struct trusted_walk *w, int fd, const struct stat *st, struct ocv_error *err)
{
    if (w->dir >= 0)
        close(w->dir);
    w->dir = fd;
    w->st = *st;
    /* in a directory with the sticky bit, others cannot exchange what is not theirs */
    struct stat shared = *st;
    if (st->st_mode & S_ISVTX)
        shared.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
    const char *why = ocv_file_distrust(&shared, geteuid());
    return why ? refuse(w, why, err) : OCV_OK;
}

static int enter_root(struct trusted_walk *w, struct ocv_error *err)
{
    struct stat st;
    w->shown[0] = '\0';
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail(w, err);
    return enter(w, fd, &st, err);
}

/* A link's target comes before the rest. */
static int follow(struct trusted_walk *w, int link, struct ocv_error *err)
{
    char target[PATH_MAX], rest[sizeof(w->rest)];
    ssize_t n = readlinkat(link, "", target, sizeof(target));
    if (n < 0)
        return fail(w, err);
    memcpy(rest, w->rest, sizeof(rest));
    int len = snprintf(w->rest, sizeof(w->rest), "%.*s/%s", (int)n, target, rest);
    if (n == (ssize_t)sizeof(target) || len >= (int)sizeof(w->rest) || ++w->links > LINKS_MAX)
        return refuse(w, strerror(ELOOP), err);
    if (target[0] == '/')
        return enter_root(w, err);
    char *slash = strrchr(w->shown, '/');
    if (slash)
        *slash = '\0';
    return OCV_OK;
}

/* `fd` is what was asked for; the directory that it lies in is strictly ours. */
static int take_end(struct trusted_walk *w, const char *name, mode_t type, int fd,
                    const struct stat *st, int *out, struct ocv_error *err)
{
    const char *why = (st->st_mode & S_IFMT) != type ? "not of the expected file type"
                                                     : ocv_file_distrust(st, geteuid());
    if (why)
        return refuse(w, why, err);
    if (type == S_IFREG && (why = ocv_file_distrust(&w->st, geteuid()))) {
        char *slash = strrchr(w->shown, '/');
        *slash = '\0';
        return refuse(w, why, err);
    }
    struct stat again;
    ocv_auto_fd int readable = openat(w->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (readable >= 0 && fstat(readable, &again) == 0 && again.st_dev == st->st_dev &&
        again.st_ino == st->st_ino)
        *out = ocv_fd_steal(&readable);
    else
        *out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return *out < 0 ? fail(w, err) : OCV_OK;
}

static int walk(struct trusted_walk *w, mode_t type, int *out, struct ocv_error *err)
{
    char name[NAME_MAX + 1];
    OCV_TRY(enter_root(w, err));
    for (;;) {
        struct stat st;
        size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
        size_t len = strlen(w->shown);
        if (n == 0)
            break;
        snprintf(name, sizeof(name), "%.*s", (int)n, w->rest + skip);
        memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
        if (strcmp(name, ".") == 0)
            continue;
        snprintf(w->shown + len, sizeof(w->shown) - len, "/%s", name);
        ocv_auto_fd int fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
            return fail(w, err);
        bool last = !w->rest[strspn(w->rest, "/")];
        if (S_ISLNK(st.st_mode)) {
            st.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH); /* a link has no mode of its own */
            const char *why = ocv_file_distrust(&st, geteuid());
            if (why)
                return refuse(w, why, err);
            OCV_TRY(follow(w, fd, err));
        } else if (last)
            return take_end(w, name, type, fd, &st, out, err);
        else if (!S_ISDIR(st.st_mode)) {
            errno = ENOTDIR;
            return fail(w, err);
        } else
            OCV_TRY(enter(w, ocv_fd_steal(&fd), &st, err));
    }
    return refuse(w, "not of the expected file type", err);
}

int ocv_trusted_open(const char *path, mode_t type, int *fd, struct ocv_error *err)
{
    struct trusted_walk w = {.dir = -1};
    char here[PATH_MAX] = "";
    *fd = -1;
    if (path[0] != '/' && !getcwd(here, sizeof(here)))
        return fail(&w, err);
    if (snprintf(w.rest, sizeof(w.rest), "%s/%s", here, path) >= (int)sizeof(w.rest))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%.100s: too long", path);
    int status = walk(&w, type, fd, err);
    if (w.dir >= 0)
        close(w.dir);
    return status;
}

static int open_program(const char *path, unsigned depth, int *fd, bool *script,
                        struct ocv_error *err);

static int check_interpreter(const char *path, unsigned depth, struct ocv_error *err)
{
    ocv_auto_fd int fd = -1;
    bool script;
    return depth == INTERPRETERS || *path != '/'
               ? ocv_error_set(err, OCV_ERR_CONFIG, "its interpreter: %s", path)
               : open_program(path, depth + 1, &fd, &script, err);
}

/* Neither ELF nor a script: the kernel gives it to one of the programs that were registered for
 * such files. Whichever that is, it must be trusted. An entry of binfmt_misc
 * (admin-guide/binfmt-misc.rst of the kernel) has "enabled", "interpreter PATH", "flags: F". One
 * with F was opened when it was registered. */
static int check_formats(const char *directory, unsigned depth, struct ocv_error *err)
{
    ocv_auto_dir DIR *dir = opendir(directory);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        char file[PATH_MAX], interpreter[PATH_MAX];
        ocv_auto_buffer text;
        ocv_buffer_init(&text, FORMAT_MAX);
        snprintf(file, sizeof(file), "%s/%s", directory, entry->d_name);
        if (*entry->d_name == '.' || !strcmp(entry->d_name, "register") ||
            ocv_file_read(file, OCV_FILE_ANY, &text, NULL) < 0 || !text.len)
            continue;
        const char *path = strstr(text.data, "\ninterpreter "), *flags;
        flags = strstr(text.data, "\nflags: ");
        size_t n = flags ? strcspn(flags + 8, "\n") : 0;
        if (strncmp(text.data, "enabled\n", 8) != 0 || !path || (n && memchr(flags + 8, 'F', n)))
            continue;
        path += strlen("\ninterpreter ");
        snprintf(interpreter, sizeof(interpreter), "%.*s", (int)strcspn(path, "\n"), path);
        if (*interpreter)
            OCV_TRY(check_interpreter(interpreter, depth, err));
    }
    return OCV_OK;
}

static int open_program(const char *path, unsigned depth, int *fd, bool *script,
                        struct ocv_error *err)
{
    struct stat st;
    ocv_auto_fd int program = -1;
    OCV_TRY(ocv_trusted_open(path, S_IFREG, &program, err));
    if (fstat(program, &st) == 0 && !(st.st_mode & 0111))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: %s", path, strerror(EACCES));
    /* Who reads it must be trusted, too; `*script`: somebody does. What cannot be read (a place
     * only) is left to the kernel: no interpreter could read it either. */
    int status = OCV_OK;
    char line[FIRST_LINE] = "";
    ssize_t n = pread(program, line, sizeof(line) - 1, 0);
    *script = n >= 0 && (n < 4 || memcmp(line, "\177ELF", 4) != 0);
    if (*script && (n < 2 || line[0] != '#' || line[1] != '!')) {
        status = check_formats(FORMATS, depth, err);
    } else if (*script) {
        char *interpreter = line + 2 + strspn(line + 2, " \t"); /* "#!/bin/sh -e" */
        interpreter[strcspn(interpreter, " \t\n")] = '\0';
        status = check_interpreter(interpreter, depth, err);
    }
    if (status < 0) {
        if (err && err->status == OCV_ERR_NOT_FOUND) /* not the program itself */
            err->status = OCV_ERR_CONFIG;
        ocv_error_prefix(err, "%s", path);
        return OCV_ERR_CONFIG;
    }
    *fd = ocv_fd_steal(&program);
    return OCV_OK;
}

int ocv_trusted_program(const char *path, int *fd, bool *script, struct ocv_error *err)
{
    return open_program(path, 0, fd, script, err);
}
