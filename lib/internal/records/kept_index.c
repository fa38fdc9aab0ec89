/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The indexes that were resolved on this node, whole: DIR/indexes/ALGORITHM-HEX-REPOSITORY.json. A
 * hook that sees an image that was not chosen here finds in them what it is and what would fit
 * instead.
 *
 * There are few and they are small, so that looking through them costs less than keeping a table of
 * what is in them in step. A secret one is for the owner and the group of the directory alone. */
#include "lib/base/format/json.h"
#include "lib/core/core_internal.h"
#include "lib/internal/records/records_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SEEN_AGAIN (24 * 60 * 60) /* seconds; one that is younger is not written again */
#define LONGEST ((time_t)OCV_RECORD_INDEX_DAYS * 24 * 60 * 60)

int ocv_record_index_format(const struct ocv_index *index, const struct ocv_record *record,
                            struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_json *json =
        json_pack("{s:s, s:s, s:s?, s:b, s:O}", "index", ocv_index_digest(index), "repository",
                  record->repository, "reference", record->reference, "secret", record->secret,
                  "document", index->root);
    if (!json)
        return ocv_error_set(err, OCV_ERR_INVALID, "cannot record %s: not UTF-8 or out of memory",
                             ocv_index_digest(index));
    return ocv_json_append(json, JSON_COMPACT, out, err);
}

int ocv_record_index_write(const char *dir, const struct ocv_record *record,
                           const struct ocv_buffer *text, struct ocv_error *err)
{
    char name[OCV_RECORD_NAME_MAX];
    ocv_as_owner bool other = false;
    ocv_auto_fd int fd = -1;
    OCV_TRY(ocv_record_name(record->index, record->repository, name, err));
    OCV_TRY(ocv_record_open(dir, OCV_RECORD_INDEXES, &fd, &other, err));
    /* known already, as openly as now, and not so long ago that it would be forgotten soon? */
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        (record->secret || (st.st_mode & S_IROTH)) &&
        (time(NULL) - st.st_mtime < SEEN_AGAIN || utimensat(fd, name, NULL, 0) == 0))
        return OCV_OK;
    ocv_file_sweep(fd);
    ocv_directory_keep_newest(fd, OCV_RECORD_INDEXES_MAX - 1, LONGEST);
    return ocv_file_replace(fd, fd, dir, name, text->data, text->len, record->secret ? 0640 : 0644,
                            err);
}

int ocv_record_index_parse(const void *bytes, size_t len, struct ocv_record_index *out,
                           struct ocv_error *err)
{
    const struct {
        const char *key;
        char *to;
        size_t size;
        bool needed;
    } texts[] = {{"index", out->digest, sizeof(out->digest), true},
                 {"repository", out->repository, sizeof(out->repository), true},
                 {"reference", out->reference, sizeof(out->reference), false}};
    ocv_auto_json *json = NULL;
    ocv_auto_buffer document;
    ocv_buffer_init(&document, OCV_MANIFEST_MAX);
    *out = (struct ocv_record_index){0};
    OCV_TRY(ocv_json_load("record", bytes, len, OCV_RECORD_INDEX_MAX, &json, err));
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        const char *text = ocv_json_text(json, texts[i].key);
        int n = snprintf(texts[i].to, texts[i].size, "%s", text ? text : "");
        if (texts[i].needed && (n <= 0 || n >= (int)texts[i].size))
            return ocv_error_set(err, OCV_ERR_DATA, "record: %s is missing or too long",
                                 texts[i].key);
    }
    out->secret = json_is_true(json_object_get(json, "secret"));
    if (!ocv_digest_known(out->digest))
        return ocv_error_set(err, OCV_ERR_DATA, "record: malformed digest of the index");
    if (!json_is_object(json_object_get(json, "document")))
        return ocv_error_set(err, OCV_ERR_DATA, "record: the index is missing");
    OCV_TRY(ocv_json_append(json_object_get(json, "document"), JSON_COMPACT, &document, err));
    return ocv_index_parse(document.data, document.len, NULL, &out->index, err);
}

void ocv_record_index_free(struct ocv_record_index *record)
{
    if (!record)
        return;
    ocv_index_free(record->index);
    *record = (struct ocv_record_index){0};
}

/* Names of the directory with their times, those resolved last first. */
struct file {
    char name[OCV_RECORD_NAME_MAX];
    int64_t time;
};

struct files {
    struct file list[2 * OCV_RECORD_INDEXES_MAX];
    size_t n;
};

static int by_age(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time ? -1 : 1) : strcmp(x->name, y->name);
}

/* What is asked for. */
struct index_search {
    const char *repository, *digest;
    ocv_record_index_visit visit;
    void *data;
};

/* A file that cannot be read, or is not ours, is skipped; without memory nothing can be said.
 */
static int search_file(int fd, const char *dir, const char *name, const struct index_search *s,
                       struct ocv_buffer *text, bool *meant)
{
    struct ocv_record_index found = {0};
    char own[OCV_RECORD_NAME_MAX] = "";
    text->len = 0;
    int status = ocv_file_read_at(fd, dir, name, text, NULL);
    if (status == OCV_OK &&
        (!text->len || !memmem(text->data, text->len, s->digest, strlen(s->digest))))
        return OCV_OK;
    if (status == OCV_OK)
        status = ocv_record_index_parse(text->data, text->len, &found, NULL);
    if (status == OCV_OK)
        status = ocv_record_name(found.digest, found.repository, own, NULL);
    /* is it about the digest, under its own name, and for whom it is asked? */
    bool itself = strcmp(found.digest, s->digest) == 0;
    *meant = status == OCV_OK && strcmp(own, name) == 0 &&
             (itself || ocv_index_find_digest(found.index, s->digest)) &&
             (itself || !s->repository || strcmp(found.repository, s->repository) == 0);
    if (*meant)
        status = s->visit(s->data, &found);
    else if (status != OCV_ERR_NOMEM)
        status = OCV_OK;
    ocv_record_index_free(&found);
    return status;
}

int ocv_record_index_walk(const char *dir, const char *repository, const char *digest,
                          ocv_record_index_visit visit, void *data, struct ocv_error *err)
{
    char path[4096], prefix[OCV_DIGEST_MAX], suffix[OCV_RECORD_SUFFIX_MAX] = ".json";
    const struct index_search s = {
        .repository = repository, .digest = digest, .visit = visit, .data = data};
    if (!ocv_digest_known(digest) ||
        snprintf(path, sizeof(path), "%s/" OCV_RECORD_INDEXES, dir) >= (int)sizeof(path))
        return ocv_error_set(err, OCV_ERR_INVALID, "%.150s: not a digest", digest);
    OCV_TRY(ocv_record_prefix(digest, prefix, err));
    if (repository)
        OCV_TRY(ocv_record_suffix(repository, suffix, err));
    ocv_auto_dir DIR *directory = opendir(path);
    if (!directory && errno == ENOENT)
        return OCV_OK;
    if (!directory)
        return errno == ENOMEM ? ocv_error_nomem(err)
                               : ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    ocv_auto_buffer text;
    int status = OCV_OK;
    ocv_buffer_init(&text, OCV_RECORD_INDEX_MAX);
    ocv_auto_free struct files *files = calloc(1, sizeof(*files));
    if (!files)
        return ocv_error_nomem(err);
    /* the content of an index is fixed by its digest; its entries belong to its own repository */
    struct stat st;
    const struct dirent *entry;
    while (files->n < sizeof(files->list) / sizeof(*files->list) && (entry = readdir(directory))) {
        if ((!ocv_record_is_named(entry->d_name, "sha", suffix) &&
             !ocv_record_is_named(entry->d_name, prefix, ".json")) ||
            strlen(entry->d_name) >= OCV_RECORD_NAME_MAX ||
            fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode))
            continue;
        struct file *file = &files->list[files->n++];
        snprintf(file->name, sizeof(file->name), "%s", entry->d_name);
        file->time = st.st_mtime;
    }
    /* of each repository the index that was resolved last is believed */
    qsort(files->list, files->n, sizeof(*files->list), by_age);
    for (size_t i = 0; status == OCV_OK && i < files->n; i++) {
        const char *name = files->list[i].name, *of = strrchr(name, '-');
        bool meant = false, told = false;
        for (size_t k = 0; of && k < i && !told; k++)
            told = files->list[k].time < 0 && strcmp(strrchr(files->list[k].name, '-'), of) == 0;
        if (of && !told)
            status = search_file(dirfd(directory), path, name, &s, &text, &meant);
        if (meant)
            files->list[i].time = -1;
    }
    return status == OCV_ERR_NOMEM ? ocv_error_nomem(err) : status;
}

static int take_first(void *data, struct ocv_record_index *kept)
{
    struct ocv_record_index *out = data;
    *out = *kept;
    *kept = (struct ocv_record_index){0};
    return 1;
}

int ocv_record_find(const char *dir, const char *repository, const char *digest,
                    struct ocv_record_index *out, struct ocv_error *err)
{
    *out = (struct ocv_record_index){0};
    OCV_TRY(ocv_record_index_walk(dir, repository, digest, take_first, out, err));
    return out->index ? OCV_OK
                      : ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: in no index known here", digest);
}
