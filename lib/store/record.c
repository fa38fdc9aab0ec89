/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What was resolved on this node: DIR/ALGORITHM-HEX.json for each chosen manifest. Hooks that run
 * as other users read it, so modes do not depend on the caller's umask. What is secret is for the
 * owner and the group of the folder alone, as in record_index.c. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int record_name(const char *child, char name[OCV_STORE_NAME_MAX], struct ocv_error *err)
{
    char algorithm[8];
    const char *hex = NULL;
    int status = ocv_store_split_digest(child, algorithm, &hex, err);
    if (status == OCV_OK)
        snprintf(name, OCV_STORE_NAME_MAX, "%s-%s.json", algorithm, hex);
    return status;
}

static int format_record(const struct ocv_record *record, struct ocv_buffer *out,
                         struct ocv_error *err)
{
    char when[32];
    struct tm tm;
    time_t now = time(NULL);
    if (!gmtime_r(&now, &tm) || !strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm))
        return ocv_error_set(err, OCV_ERR_INVALID, "the clock is out of range");
    ocv_auto_json *json =
        json_pack("{s:s, s:s?, s:s?, s:s?, s:s?, s:s}", "child", record->child, "index",
                  record->index, "label", record->label, "properties", record->properties,
                  "reference", record->reference, "time", when);
    bool ok = json && (!record->statics ||
                       json_object_set_new(json, "static", json_string(record->statics)) == 0);
    ok = ok && (!record->secret || json_object_set_new(json, "secret", json_true()) == 0);
    if (!ok)
        return ocv_error_set(err, OCV_ERR_INVALID, "cannot record %s: not UTF-8 or out of memory",
                             record->child);
    int status = ocv_json_append(json, JSON_INDENT(2), out, err);
    return status < 0 ? status : ocv_buffer_append(out, "\n", 1, err);
}

void ocv_record_give_to_group(int fd, const char *name)
{
    struct stat folder;
    int given = geteuid() == 0 && fstat(fd, &folder) == 0 && folder.st_gid != getegid()
                    ? fchownat(fd, name, (uid_t)-1, folder.st_gid, AT_SYMLINK_NOFOLLOW)
                    : 0;
    (void)given; /* without the right to it the file is its owner's */
}

int ocv_record_write(const char *dir, const struct ocv_record *record, struct ocv_error *err)
{
    char name[OCV_STORE_NAME_MAX];
    int status = record_name(record->child, name, err);
    if (status == OCV_OK && record->index && !ocv_digest_wellformed(record->index))
        status = ocv_error_set(err, OCV_ERR_DATA, "malformed index digest '%.150s'", record->index);
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_RECORD_MAX);
    if (status == OCV_OK)
        status = format_record(record, &text, err);
    if (status == OCV_OK)
        status = ocv_store_make_path(dir, 0755, err);
    if (status < 0)
        return status;
    /* root writes here, too, in a folder that may be a daemon's user's */
    ocv_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return ocv_store_fail(err, dir, NULL, "open");
    ocv_store_sweep(fd);
    ocv_store_keep_newest(fd, OCV_RECORDS_MAX - 1, 0);
    status = ocv_store_replace_file(fd, fd, dir, name, text.data, text.len,
                                    record->secret ? 0640 : 0644, err);
    if (status == OCV_OK && record->secret)
        ocv_record_give_to_group(fd, name);
    return status;
}

int ocv_record_read(const char *dir, const char *child, struct ocv_buffer *out,
                    struct ocv_error *err)
{
    char name[OCV_STORE_NAME_MAX];
    int status = record_name(child, name, err);
    if (status < 0)
        return status;
    ocv_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: nothing was recorded there", dir);
    if (fd < 0)
        return ocv_store_fail(err, dir, NULL, "open");
    return ocv_store_read_file(fd, dir, name, out, err);
}
