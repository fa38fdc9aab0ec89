/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What was resolved on this node: DIR/ALGORITHM-HEX-REPOSITORY.json for each chosen manifest in
 * each repository, REPOSITORY being the beginning of its name's hash: what one publisher says about
 * a manifest does not apply to another's image. Hooks that run as other users read it, so modes do
 * not depend on the caller's umask. What is secret is for the owner and the group of the directory
 * alone, as in kept_index.c. */
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/core/core_internal.h"
#include "lib/internal/records/records_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

const char *ocv_record_directory(const char *state_dir, char *out, size_t size)
{
    snprintf(out, size, "%s/resolved", state_dir && *state_dir ? state_dir : OCV_PATH_STATE);
    return out;
}

int ocv_record_suffix(const char *repository, char out[OCV_RECORD_SUFFIX_MAX],
                      struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    OCV_TRY(ocv_digest_bytes(repository, strlen(repository), digest, err));
    snprintf(out, OCV_RECORD_SUFFIX_MAX, "-%.16s.json", strchr(digest, ':') + 1);
    return OCV_OK;
}

int ocv_record_prefix(const char *digest, char out[OCV_DIGEST_MAX], struct ocv_error *err)
{
    char algorithm[8];
    const char *hex = NULL;
    OCV_TRY(ocv_digest_split(digest, algorithm, &hex, err));
    snprintf(out, OCV_DIGEST_MAX, "%s-%s", algorithm, hex);
    return OCV_OK;
}

int ocv_record_name(const char *digest, const char *repository, char out[OCV_RECORD_NAME_MAX],
                    struct ocv_error *err)
{
    char prefix[OCV_DIGEST_MAX], suffix[OCV_RECORD_SUFFIX_MAX];
    OCV_TRY(ocv_record_prefix(digest, prefix, err));
    OCV_TRY(ocv_record_suffix(repository, suffix, err));
    snprintf(out, OCV_RECORD_NAME_MAX, "%s%s", prefix, suffix);
    return OCV_OK;
}

int ocv_record_now(char out[32], struct ocv_error *err)
{
    struct tm tm;
    time_t now = time(NULL);
    if (!gmtime_r(&now, &tm) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
        return ocv_error_set(err, OCV_ERR_INVALID, "the clock is out of range");
    return OCV_OK;
}

int ocv_record_write(const char *dir, const struct ocv_record *record, struct ocv_error *err)
{
    char name[OCV_RECORD_NAME_MAX], when[32];
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_RECORD_MAX);
    ocv_as_owner bool other = false;
    ocv_auto_fd int fd = -1;
    OCV_TRY(ocv_record_name(record->child, record->repository, name, err));
    if (record->index && !ocv_digest_wellformed(record->index))
        return ocv_error_set(err, OCV_ERR_DATA, "malformed index digest '%.150s'", record->index);
    OCV_TRY(ocv_record_now(when, err));
    ocv_auto_json *json =
        json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:s}", "repository", record->repository,
                  "child", record->child, "index", record->index, "label", record->label,
                  "properties", record->properties, "reference", record->reference, "time", when);
    bool ok = json && (!record->statics ||
                       json_object_set_new(json, "static", json_string(record->statics)) == 0);
    ok = ok && (!record->tag || json_object_set_new(json, "tag", json_string(record->tag)) == 0);
    ok = ok && (!record->secret || json_object_set_new(json, "secret", json_true()) == 0);
    if (!ok)
        return ocv_error_set(err, OCV_ERR_INVALID, "cannot record %s: not UTF-8 or out of memory",
                             record->child);
    OCV_TRY(ocv_json_append(json, JSON_INDENT(2), &text, err));
    OCV_TRY(ocv_buffer_append(&text, "\n", 1, err));
    OCV_TRY(ocv_record_open(dir, NULL, &fd, &other, err));
    ocv_file_sweep(fd);
    ocv_directory_keep_newest(fd, OCV_RECORDS_MAX - 1, 0);
    return ocv_file_replace(fd, fd, dir, name, text.data, text.len, record->secret ? 0640 : 0644,
                            err);
}

int ocv_record_parse(const void *bytes, size_t len, struct ocv_record *out, json_t **tree,
                     struct ocv_error *err)
{
    const struct {
        const char *key, **to;
    } texts[] = {{"repository", &out->repository}, {"child", &out->child},
                 {"index", &out->index},           {"label", &out->label},
                 {"properties", &out->properties}, {"static", &out->statics},
                 {"reference", &out->reference},   {"tag", &out->tag}};
    ocv_auto_json *json = NULL;
    *out = (struct ocv_record){0};
    *tree = NULL;
    OCV_TRY(ocv_json_load("record", bytes, len, OCV_RECORD_MAX, &json, err));
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (!json_is_null(json_object_get(json, texts[i].key)))
            OCV_TRY(ocv_json_string(json, "record", texts[i].key, texts[i].to, err));
    if (!out->repository || !out->child || !ocv_digest_known(out->child))
        return ocv_error_set(err, OCV_ERR_DATA, "record: repository or child is missing");
    out->secret = json_is_true(json_object_get(json, "secret"));
    *tree = ocv_steal(&json);
    return OCV_OK;
}

/* What is called for which records. */
struct record_walk {
    const char *dir, *repository; /* NULL: of every one */
    ocv_record_visit visit;
    void *data;
};

/* A record that is damaged, or whose name is not its own, counts as missing. */
static int visit_file(int fd, const char *name, const struct record_walk *walk)
{
    char own[OCV_RECORD_NAME_MAX] = "";
    struct ocv_record record = {0};
    ocv_auto_json *parsed = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_RECORD_MAX);
    int status = ocv_file_read_at(fd, walk->dir, name, &text, NULL);
    if (status == OCV_OK)
        status = ocv_record_parse(text.data ? text.data : "", text.len, &record, &parsed, NULL);
    if (status == OCV_OK && record.child && record.repository)
        status = ocv_record_name(record.child, record.repository, own, NULL);
    if (status < 0)
        return status == OCV_ERR_NOMEM ? status : OCV_OK;
    bool meant = record.repository && strcmp(own, name) == 0 &&
                 (!walk->repository || strcmp(record.repository, walk->repository) == 0);
    return meant ? walk->visit(walk->data, &record) : OCV_OK;
}

bool ocv_record_is_named(const char *name, const char *prefix, const char *suffix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0 && ocv_text_ends(name, suffix);
}

int ocv_record_walk(const char *dir, const char *repository, const char *child,
                    ocv_record_visit visit, void *data, struct ocv_error *err)
{
    char prefix[OCV_DIGEST_MAX] = "sha", suffix[OCV_RECORD_SUFFIX_MAX] = ".json";
    char name[OCV_RECORD_NAME_MAX];
    const struct record_walk walk = {dir, repository, visit, data};
    if (child)
        OCV_TRY(ocv_record_prefix(child, prefix, err));
    if (repository)
        OCV_TRY(ocv_record_suffix(repository, suffix, err));
    ocv_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return OCV_OK;
    if (fd < 0)
        return ocv_file_fail(err, dir, NULL, "open");
    int status = OCV_OK;
    if (child && repository) {
        snprintf(name, sizeof(name), "%s%s", prefix, suffix);
        status = visit_file(fd, name, &walk);
    } else {
        int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ocv_auto_dir DIR *list = copy < 0 ? NULL : fdopendir(copy);
        const struct dirent *entry;
        if (!list) {
            ocv_fd_close(&copy);
            status = ocv_file_fail(err, dir, NULL, "list");
        }
        for (unsigned n = 0;
             list && status == OCV_OK && n < 2 * OCV_RECORDS_MAX && (entry = readdir(list)); n++)
            if (ocv_record_is_named(entry->d_name, prefix, suffix))
                status = visit_file(fd, entry->d_name, &walk);
    }
    return status == OCV_ERR_NOMEM ? ocv_error_nomem(err) : status;
}

struct record_reader {
    struct ocv_record *out;
    struct ocv_error *err;
};

static int keep_record(void *data, const struct ocv_record *record)
{
    const struct record_reader *reading = data;
    OCV_TRY(ocv_record_copy(record, reading->out, reading->err));
    return 1;
}

int ocv_record_read(const char *dir, const char *repository, const char *child,
                    struct ocv_record *out, struct ocv_error *err)
{
    struct record_reader reading = {out, err};
    int status = ocv_record_walk(dir, repository, child, keep_record, &reading, err);
    if (status == OCV_OK)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no record of %s", dir, child);
    return status < 0 ? status : OCV_OK;
}

/* Records of older versions, which have no repository: they apply to any image with their
 * digest. */

static size_t discard_from(int fd)
{
    size_t n = 0;
    const struct dirent *entry;
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!list) {
        ocv_fd_close(&fd);
        return 0;
    }
    while ((entry = readdir(list))) {
        /* "sha256-HEX.json": no repository follows */
        const char *name = entry->d_name, *dash = strchr(name, '-');
        n += dash && !strchr(dash + 1, '-') && ocv_record_is_named(name, "sha", ".json") &&
             unlinkat(dirfd(list), name, 0) == 0;
    }
    closedir(list);
    return n;
}

size_t ocv_record_discard_old(const char *dir)
{
    ocv_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    return discard_from(openat(fd, OCV_RECORD_INDEXES, flags)) +
           discard_from(openat(fd, ".", flags));
}
