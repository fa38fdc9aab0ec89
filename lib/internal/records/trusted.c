/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What was found to be signed: DIR/trusted/ALGORITHM-HEX-REPOSITORY.json for each document, with
 * the documents that it names. */
#include "lib/internal/records/records_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define TRUSTED "trusted"
#define TRUSTED_BYTES_MAX (1024u * 1024)

int ocv_trusted_write(const char *dir, const struct ocv_trusted *trusted, struct ocv_error *err)
{
    char name[OCV_RECORD_NAME_MAX], when[32];
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TRUSTED_BYTES_MAX);
    ocv_as_owner bool other = false;
    ocv_auto_fd int fd = -1;
    OCV_TRY(ocv_record_name(trusted->digest, trusted->repository, name, err));
    OCV_TRY(ocv_record_now(when, err));
    ocv_auto_json *json =
        json_pack("{s:s, s:s, s:s, s:s, s:b, s:O?, s:s}", "repository", trusted->repository,
                  "digest", trusted->digest, "key", trusted->key, "signature", trusted->signature,
                  "named", (int)trusted->named, "members", trusted->members, "time", when);
    if (!json)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_json_append(json, JSON_INDENT(1), &text, err));
    OCV_TRY(ocv_buffer_append(&text, "\n", 1, err));
    OCV_TRY(ocv_record_open(dir, TRUSTED, &fd, &other, err));
    ocv_file_sweep(fd);
    ocv_directory_keep_newest(fd, OCV_TRUSTED_MAX - 1, 0);
    return ocv_file_replace(fd, fd, dir, name, text.data, text.len, 0644, err);
}

int ocv_trusted_parse(const void *bytes, size_t len, struct ocv_trusted *out, json_t **tree,
                      struct ocv_error *err)
{
    ocv_auto_json *json = NULL;
    *tree = NULL;
    OCV_TRY(ocv_json_load_counted("record of a signature", bytes, len, TRUSTED_BYTES_MAX,
                                  OCV_JSON_VALUES_MAX, &json, err));
    *out = (struct ocv_trusted){.repository = ocv_json_text(json, "repository"),
                                .digest = ocv_json_text(json, "digest"),
                                .key = ocv_json_text(json, "key"),
                                .signature = ocv_json_text(json, "signature"),
                                .named = json_is_true(json_object_get(json, "named")),
                                .members = json_object_get(json, "members")};
    if (!out->repository || !out->digest || !out->key || !out->signature ||
        !ocv_digest_known(out->digest) || !ocv_digest_known(out->key) ||
        !ocv_digest_known(out->signature))
        return ocv_error_set(err, OCV_ERR_DATA, "record of a signature: something is missing");
    *tree = ocv_steal(&json);
    return OCV_OK;
}

/* One that is damaged, or whose name is not its own, counts as missing. */
static int visit_file(int fd, const char *dir, const char *name, ocv_trusted_visit visit,
                      void *data)
{
    char own[OCV_RECORD_NAME_MAX] = "";
    struct ocv_trusted trusted = {0};
    ocv_auto_json *parsed = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TRUSTED_BYTES_MAX);
    int status = ocv_file_read_at(fd, dir, name, &text, NULL);
    if (status == OCV_OK)
        status = ocv_trusted_parse(text.data ? text.data : "", text.len, &trusted, &parsed, NULL);
    if (status == OCV_OK)
        status = ocv_record_name(trusted.digest, trusted.repository, own, NULL);
    if (status < 0)
        return status == OCV_ERR_NOMEM ? status : OCV_OK;
    return strcmp(own, name) == 0 ? visit(data, &trusted) : OCV_OK;
}

int64_t ocv_trusted_time(const char *dir)
{
    struct stat st;
    ocv_auto_fd int above = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above < 0 || fstatat(above, TRUSTED, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

struct finding {
    char *key, *signature;
    bool *named, found;
};

static int take_record(void *data, const struct ocv_trusted *trusted)
{
    struct finding *f = data;
    snprintf(f->key, OCV_DIGEST_MAX, "%s", trusted->key);
    snprintf(f->signature, OCV_DIGEST_MAX, "%s", trusted->signature);
    *f->named = trusted->named;
    f->found = true;
    return OCV_OK;
}

bool ocv_trusted_find(const char *dir, const char *repository, const char *digest,
                      char key[OCV_DIGEST_MAX], char signature[OCV_DIGEST_MAX], bool *named)
{
    char name[OCV_RECORD_NAME_MAX];
    struct finding finding = {.key = key, .signature = signature, .named = named};
    ocv_auto_fd int above = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ocv_auto_fd int fd =
        above < 0 ? -1 : openat(above, TRUSTED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && ocv_record_name(digest, repository, name, NULL) == OCV_OK)
        (void)!visit_file(fd, dir, name, take_record, &finding);
    return finding.found;
}

int ocv_trusted_walk(const char *dir, ocv_trusted_visit visit, void *data, struct ocv_error *err)
{
    ocv_auto_fd int above = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd =
        above < 0 ? -1 : openat(above, TRUSTED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return OCV_OK;
    if (fd < 0)
        return ocv_file_fail(err, dir, TRUSTED, "open");
    ocv_auto_dir DIR *list = fdopendir(fd);
    if (!list) {
        ocv_fd_close(&fd);
        return ocv_file_fail(err, dir, TRUSTED, "list");
    }
    int status = OCV_OK;
    const struct dirent *entry;
    for (unsigned n = 0; status == OCV_OK && n < 2 * OCV_TRUSTED_MAX && (entry = readdir(list));
         n++)
        if (ocv_record_is_named(entry->d_name, "sha", ".json"))
            status = visit_file(dirfd(list), dir, entry->d_name, visit, data);
    return status == OCV_ERR_NOMEM ? ocv_error_nomem(err) : status;
}
