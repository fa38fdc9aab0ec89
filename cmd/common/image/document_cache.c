/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One file per tag: a line "MEDIA-TYPE DIGEST", then the document's bytes. It is put in place by
 * rename, without fsync: a lost file is harmless, and the digest is checked. Each writer removes
 * temporary files that killed writers left, and the oldest tags when there are too many. */
#include "cmd/common/image/document_cache.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "ocivariant/digest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX 512u
#define NAME_LENGTH 64u      /* sha256 in hex */
#define TAGS_MAX 1000u       /* an index has a few KiB, and 4 MiB at most */
#define TEMPORARY_AGE_S 3600 /* no write takes an hour */

/* The directory, and the file for a tag. False: this user or this reference has no cache. */
static bool cache_path(const struct ocv_reference *reference, char *dir, char *file, size_t size)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool has_xdg = xdg && xdg[0] == '/';
    char name[2048], digest[OCV_DIGEST_MAX];
    if (reference->digest || (!has_xdg && (!home || home[0] != '/')))
        return false;
    int n = snprintf(name, sizeof(name), "%s:%s", reference->name, reference->tag);
    if (n < 0 || (size_t)n >= sizeof(name) || ocv_digest_bytes(name, (size_t)n, digest, NULL) < 0)
        return false;
    n = snprintf(dir, size, "%s%s/ocivariant/tags", has_xdg ? xdg : home, has_xdg ? "" : "/.cache");
    if (n < 0 || (size_t)n >= size - 80)
        return false;
    n = snprintf(file, size, "%s/%s", dir, strchr(digest, ':') + 1);
    return n > 0 && (size_t)n < size;
}

/* Remove the first line from `body`. */
static bool take_head(struct ocv_descriptor *out, struct ocv_buffer *body)
{
    char *end = body->data ? memchr(body->data, '\n', body->len) : NULL;
    char *space = end ? memchr(body->data, ' ', (size_t)(end - body->data)) : NULL;
    if (!space)
        return false;
    snprintf(out->media_type, sizeof(out->media_type), "%.*s", (int)(space - body->data),
             body->data);
    snprintf(out->digest, sizeof(out->digest), "%.*s", (int)(end - space - 1), space + 1);
    size_t head = (size_t)(end - body->data) + 1;
    body->len -= head;
    memmove(body->data, end + 1, body->len + 1);
    out->size = (int64_t)body->len;
    return true;
}

bool cache_read(const struct ocv_reference *reference, struct ocv_descriptor *out,
                struct ocv_buffer *body)
{
    char dir[4096], file[4096];
    size_t max = body->max;
    if (!cache_path(reference, dir, file, sizeof(file)))
        return false;
    body->max = max + HEAD_MAX;
    bool ok = cli_read_file(file, body, NULL) == OCV_OK && take_head(out, body) &&
              ocv_digest_known(out->digest) &&
              ocv_digest_check(out->digest, body->data, body->len, NULL) == OCV_OK;
    if (!ok)
        ocv_buffer_free(body);
    body->max = max;
    return ok;
}

/* Remove temporary files of killed writers. `*oldest`: the tag written longest ago. Returns the
 * number of tags. */
static size_t scan_cache(DIR *dir, char oldest[NAME_LENGTH + 1])
{
    struct timespec first = {.tv_sec = 0};
    time_t now = time(NULL);
    size_t tags = 0;
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        struct stat st;
        size_t hex = strspn(entry->d_name, "0123456789abcdef");
        char after = hex == NAME_LENGTH ? entry->d_name[hex] : '?';
        if ((after && after != '.') ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        if (after) {
            if (now - st.st_mtime > TEMPORARY_AGE_S)
                (void)unlinkat(dirfd(dir), entry->d_name, 0);
            continue;
        }
        if (tags++ == 0 || st.st_mtim.tv_sec < first.tv_sec ||
            (st.st_mtim.tv_sec == first.tv_sec && st.st_mtim.tv_nsec < first.tv_nsec)) {
            first = st.st_mtim;
            memcpy(oldest, entry->d_name, NAME_LENGTH + 1);
        }
    }
    return tags;
}

void cache_write(const struct ocv_reference *reference, const struct ocv_descriptor *descriptor,
                 const struct ocv_buffer *body)
{
    char dir[4096], file[4096], temporary[4096 + 16], head[HEAD_MAX];
    if (!cache_path(reference, dir, file, sizeof(file)))
        return;
    int n = snprintf(head, sizeof(head), "%s %s\n", descriptor->media_type, descriptor->digest);
    snprintf(temporary, sizeof(temporary), "%s.XXXXXX", file);
    if (n < 0 || (size_t)n >= sizeof(head) || strchr(descriptor->media_type, ' ') ||
        ocv_directory_make(dir, 0700, NULL) < 0)
        return;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return;
    bool ok = ocv_fd_write(fd, head, (size_t)n) && ocv_fd_write(fd, body->data, body->len);
    ok = close(fd) == 0 && ok;
    if (!ok || rename(temporary, file) != 0)
        (void)unlink(temporary);

    /* one is removed for each one added; a few more in case the limit was lowered */
    char oldest[NAME_LENGTH + 1];
    ocv_auto_dir DIR *tags = opendir(dir);
    for (int i = 0; tags && i < 8 && scan_cache(tags, oldest) > TAGS_MAX; i++) {
        (void)unlinkat(dirfd(tags), oldest, 0);
        rewinddir(tags);
    }
}

#define KEPT_MAX 2000u /* entries of one kind */

static void file_name(const char *digest, char out[OCV_DIGEST_MAX])
{
    snprintf(out, OCV_DIGEST_MAX, "%s", digest);
    out[strcspn(out, ":")] = '-';
}

/* $XDG_CACHE_HOME/ocivariant/KIND/VERSION */
static bool directory_path(const char *kind, char *path, size_t size)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool has_xdg = xdg && xdg[0] == '/';
    if (!has_xdg && (!home || home[0] != '/'))
        return false;
    int n = snprintf(path, size, "%s%s/ocivariant/%s/" OCV_VERSION, has_xdg ? xdg : home,
                     has_xdg ? "" : "/.cache", kind);
    return n > 0 && (size_t)n < size;
}

bool digest_cache_directory(const char *kind, char *path, size_t size)
{
    return directory_path(kind, path, size) && ocv_directory_make(path, 0700, NULL) >= 0;
}

static int open_directory(const char *kind, bool make)
{
    char path[4096];
    if (make ? !digest_cache_directory(kind, path, sizeof(path))
             : !directory_path(kind, path, sizeof(path)))
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool digest_cache_read(const char *kind, const char *digest, struct ocv_buffer *out)
{
    char name[OCV_DIGEST_MAX];
    ocv_auto_fd int directory = open_directory(kind, false);
    if (directory < 0 || !ocv_digest_known(digest))
        return false;
    file_name(digest, name);
    return ocv_file_read_at(directory, "cache", name, out, NULL) >= 0 && out->len;
}

void digest_cache_write(const char *kind, const char *digest, const struct ocv_buffer *found)
{
    char name[OCV_DIGEST_MAX];
    ocv_auto_fd int directory = open_directory(kind, true);
    if (directory < 0 || !ocv_digest_known(digest))
        return;
    file_name(digest, name);
    if (ocv_file_replace(directory, directory, "cache", name, found->data, found->len, 0600, NULL) <
        0)
        return;
    ocv_directory_keep_newest(directory, KEPT_MAX, 0);
}
