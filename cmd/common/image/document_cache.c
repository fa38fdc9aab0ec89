/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/document_cache.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "ocivariant/digest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAGS "tags"
#define HEAD_MAX 512u

#define KEPT_MAX 1000u /* entries of one kind; an index has a few KiB, and 4 MiB at most */

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

/* -1: there is none, or it is another user's (sudo keeps HOME), who may write what he likes there.
 */
static int open_directory(const char *kind, bool make, char *path, size_t size)
{
    struct stat st;
    if (!directory_path(kind, path, size) || (make && ocv_directory_make(path, 0700, NULL) < 0))
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool own = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022);
    if (fd >= 0 && !own)
        close(fd);
    return own ? fd : -1;
}

bool digest_cache_directory(const char *kind, char *path, size_t size)
{
    ocv_auto_fd int directory = open_directory(kind, true, path, size);
    return directory >= 0;
}

bool digest_cache_read(const char *kind, const char *digest, struct ocv_buffer *out)
{
    char name[OCV_DIGEST_MAX], path[4096];
    ocv_auto_fd int directory = open_directory(kind, false, path, sizeof(path));
    if (directory < 0 || !ocv_digest_known(digest))
        return false;
    file_name(digest, name);
    return ocv_file_read_at(directory, "cache", name, out, NULL) >= 0 && out->len;
}

void digest_cache_write(const char *kind, const char *digest, const struct ocv_buffer *found)
{
    char name[OCV_DIGEST_MAX], path[4096];
    ocv_auto_fd int directory = open_directory(kind, true, path, sizeof(path));
    if (directory < 0 || !ocv_digest_known(digest))
        return;
    file_name(digest, name);
    if (ocv_file_replace(directory, directory, "cache", name, found->data, found->len, 0600, NULL) <
        0)
        return;
    ocv_file_sweep(directory);
    ocv_directory_keep_newest(directory, KEPT_MAX, 0);
}

/* The digest of "NAME:TAG", under which the tag's document is kept. False: it has no tag. */
static bool tag_key(const struct ocv_reference *reference, char key[OCV_DIGEST_MAX])
{
    char name[2048];
    int n = snprintf(name, sizeof(name), "%s:%s", reference->name, ocv_or_empty(reference->tag));
    return !reference->digest && n > 0 && (size_t)n < sizeof(name) &&
           ocv_digest_bytes(name, (size_t)n, key, NULL) == OCV_OK;
}

/* Remove the first line, "MEDIA-TYPE DIGEST", from `body`. */
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
    char key[OCV_DIGEST_MAX];
    size_t max = body->max;
    body->max = max + HEAD_MAX;
    bool ok = tag_key(reference, key) && digest_cache_read(TAGS, key, body) &&
              take_head(out, body) && ocv_digest_known(out->digest) &&
              ocv_digest_check(out->digest, body->data, body->len, NULL) == OCV_OK;
    if (!ok)
        ocv_buffer_free(body);
    body->max = max;
    return ok;
}

void cache_write(const struct ocv_reference *reference, const struct ocv_descriptor *descriptor,
                 const struct ocv_buffer *body)
{
    char key[OCV_DIGEST_MAX];
    ocv_auto_buffer text;
    ocv_buffer_init(&text, body->len + HEAD_MAX);
    if (tag_key(reference, key) && !strchr(descriptor->media_type, ' ') &&
        ocv_buffer_printf(&text, NULL, "%s %s\n", descriptor->media_type, descriptor->digest) >=
            0 &&
        ocv_buffer_append(&text, body->data, body->len, NULL) >= 0)
        digest_cache_write(TAGS, key, &text);
}
