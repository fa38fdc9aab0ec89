/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The indexes that were resolved on this node, whole: DIR/indexes/ALGORITHM-HEX.json. A hook that
 * sees an image which nobody chose here finds in them what it is and what would fit instead.
 *
 * There are few and they are small, so that looking through them costs less than keeping a table of
 * what is in them in step. A secret one is for the owner and the group of the folder alone. */
#include "index.h"
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FOLDER "indexes"
#define SEEN_AGAIN (24 * 60 * 60) /* seconds; one that is younger is not written again */
#define LONGEST ((time_t)OCV_RECORD_INDEX_DAYS * 24 * 60 * 60)

static int file_name(const char *digest, char name[OCV_STORE_NAME_MAX], struct ocv_error *err)
{
    char algorithm[8];
    const char *hex = NULL;
    int status = ocv_store_split_digest(digest, algorithm, &hex, err);
    if (status == OCV_OK)
        snprintf(name, OCV_STORE_NAME_MAX, "%s-%s.json", algorithm, hex);
    return status;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

/* Whoever makes the folder, it is of those who have the one above it, if we may give it away: who
 * may write there may write here. */
static int open_folder(const char *dir, int *out, struct ocv_error *err)
{
    struct stat above;
    int status = ocv_store_make_path(dir, 0755, err);
    if (status < 0)
        return status;
    ocv_auto_fd int parent = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (parent < 0 || fstat(parent, &above) < 0)
        return ocv_store_fail(err, dir, NULL, "open");
    bool fresh = mkdirat(parent, FOLDER, 0755) == 0;
    status = ocv_store_open_dir(parent, dir, FOLDER, false, out, err);
    if (status < 0 || !fresh)
        return status;
    if (fchmod(*out, 0755) < 0)
        return ocv_store_fail(err, dir, FOLDER, "change");
    int given = geteuid() == 0 && (above.st_uid != 0 || above.st_gid != getegid())
                    ? fchown(*out, above.st_uid, above.st_gid)
                    : 0;
    (void)given;
    return OCV_OK;
}

/* Known already, as openly as now, and not so long ago that it would be forgotten soon? */
static bool still_there(int fd, const char *name, bool secret)
{
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
        (!secret && !(st.st_mode & S_IROTH)))
        return false;
    return time(NULL) - st.st_mtime < SEEN_AGAIN || utimensat(fd, name, NULL, 0) == 0;
}

static int format(const struct ocv_index *index, const char *reference, bool secret,
                  struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_json *json =
        json_pack("{s:s, s:s?, s:b, s:O}", "index", ocv_index_digest(index), "reference", reference,
                  "secret", secret, "document", index->root);
    if (!json)
        return ocv_error_set(err, OCV_ERR_INVALID, "cannot record %s: not UTF-8 or out of memory",
                             ocv_index_digest(index));
    return ocv_json_append(json, JSON_COMPACT, out, err);
}

int ocv_record_index(const char *dir, const struct ocv_index *index, const char *reference,
                     bool secret, struct ocv_error *err)
{
    char name[OCV_STORE_NAME_MAX];
    ocv_auto_fd int fd = -1;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_RECORD_INDEX_MAX);
    int status = file_name(ocv_index_digest(index), name, err);
    if (status == OCV_OK)
        status = open_folder(dir, &fd, err);
    if (status < 0 || still_there(fd, name, secret))
        return status;
    status = format(index, reference, secret, &text, err);
    if (status < 0)
        return status;
    ocv_store_sweep(fd);
    ocv_store_keep_newest(fd, OCV_RECORD_INDEXES_MAX - 1, LONGEST);
    status =
        ocv_store_replace_file(fd, fd, dir, name, text.data, text.len, secret ? 0640 : 0644, err);
    if (status == OCV_OK && secret)
        ocv_record_give_to_group(fd, name);
    return status;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static int parse(const struct ocv_buffer *text, const char *digest, struct ocv_record_index *out,
                 struct ocv_error *err)
{
    const char *own = NULL, *reference;
    json_t *parsed = NULL;
    ocv_auto_buffer document;
    ocv_buffer_init(&document, OCV_MANIFEST_MAX);
    int status = ocv_json_load("record", text->data, text->len, OCV_RECORD_INDEX_MAX, &parsed, err);
    ocv_auto_json *json = parsed;
    if (status == OCV_OK)
        status = ocv_json_string(json, "record", "index", &own, err);
    if (status == OCV_OK)
        status = ocv_json_append(json_object_get(json, "document"), JSON_COMPACT, &document, err);
    if (status == OCV_OK)
        status = ocv_index_parse(document.data, document.len, NULL, &out->index, err);
    if (status < 0)
        return status;
    if (!own || !ocv_digest_known(own) ||
        (strcmp(own, digest) != 0 && !ocv_index_find_digest(out->index, digest)))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: not in that index", digest);
    reference = json_string_value(json_object_get(json, "reference"));
    snprintf(out->digest, sizeof(out->digest), "%s", own);
    snprintf(out->reference, sizeof(out->reference), "%s", reference ? reference : "");
    out->secret = json_is_true(json_object_get(json, "secret"));
    return OCV_OK;
}

void ocv_record_index_free(struct ocv_record_index *record)
{
    if (!record)
        return;
    ocv_index_free(record->index);
    *record = (struct ocv_record_index){0};
}

/* A digest may stand in several indexes: that which was resolved last is believed. A file that
 * cannot be read, or is none of ours, is passed by; without memory nothing can be told. */
static int look_into(int fd, const char *dir, const char *name, const char *digest,
                     struct ocv_buffer *text, struct ocv_record_index *best, int64_t *best_time)
{
    struct stat st;
    struct ocv_record_index found = {0};
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
        (best->index && st.st_mtime <= *best_time))
        return OCV_OK;
    text->len = 0;
    int status = ocv_store_read_file(fd, dir, name, text, NULL);
    if (status == OCV_OK && (!text->len || !memmem(text->data, text->len, digest, strlen(digest))))
        return OCV_OK;
    if (status == OCV_OK)
        status = parse(text, digest, &found, NULL);
    if (status < 0) {
        ocv_record_index_free(&found);
        return status == OCV_ERR_NOMEM ? status : OCV_OK;
    }
    ocv_record_index_free(best);
    *best = found;
    *best_time = st.st_mtime;
    return OCV_OK;
}

int ocv_record_find(const char *dir, const char *digest, struct ocv_record_index *out,
                    struct ocv_error *err)
{
    char path[4096];
    int64_t newest = 0;
    ocv_auto_buffer text;
    const struct dirent *entry;
    ocv_buffer_init(&text, OCV_RECORD_INDEX_MAX);
    *out = (struct ocv_record_index){0};
    if (!ocv_digest_known(digest) ||
        snprintf(path, sizeof(path), "%s/" FOLDER, dir) >= (int)sizeof(path))
        return ocv_error_set(err, OCV_ERR_INVALID, "%.150s: not a digest", digest);
    DIR *folder = opendir(path);
    if (!folder && errno != ENOENT && errno != ENOMEM)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    int status = !folder && errno == ENOMEM ? OCV_ERR_NOMEM : OCV_OK;
    for (unsigned n = 0;
         folder && status == OCV_OK && n < 2 * OCV_RECORD_INDEXES_MAX && (entry = readdir(folder));
         n++)
        if (strncmp(entry->d_name, "sha", 3) == 0)
            status = look_into(dirfd(folder), path, entry->d_name, digest, &text, out, &newest);
    if (folder)
        closedir(folder);
    if (status < 0) {
        ocv_record_index_free(out);
        return ocv_error_nomem(err);
    }
    return out->index ? OCV_OK
                      : ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: in no index known here", digest);
}
