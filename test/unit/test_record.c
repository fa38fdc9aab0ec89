/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_util.h"

#include <errno.h>
#include <jansson.h>

#define CHILD "sha256:" ZEROS
#define INDEX "sha256:1111111111111111111111111111111111111111111111111111111111111111"

static const struct ocv_record sample = {
    .child = CHILD,
    .index = INDEX,
    .label = "cuda12.8",
    .properties = "nvidia :: sm_arch :: 90_real",
    .reference = "docker.io/library/app:1",
};

static json_t *read_back(const char *dir, const char *child)
{
    struct ocv_buffer out;
    ocv_buffer_init(&out, 65536);
    need(ocv_record_read(dir, child, &out, &err));
    json_t *json = json_loadb(out.data, out.len, 0, NULL);
    ck_assert_ptr_nonnull(json);
    ocv_buffer_free(&out);
    return json;
}

static const char *member(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

START_TEST(written_and_read)
{
    umask(077); /* hooks of other users must still be able to read */
    need(ocv_record_write(at("var/lib/resolved"), &sample, &err));
    json_t *json = read_back(at("var/lib/resolved"), CHILD);
    ck_assert_str_eq(member(json, "child"), CHILD);
    ck_assert_str_eq(member(json, "index"), INDEX);
    ck_assert_str_eq(member(json, "label"), "cuda12.8");
    ck_assert_str_eq(member(json, "properties"), sample.properties);
    ck_assert_str_eq(member(json, "reference"), sample.reference);
    ck_assert_uint_eq(strlen(member(json, "time")), strlen("2026-01-01T00:00:00Z"));
    json_decref(json);
    struct stat st;
    ck_assert_int_eq(stat(at("var/lib/resolved"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0755);
    ck_assert_int_eq(stat(at("var/lib/resolved/sha256-" ZEROS ".json"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0644);
}
END_TEST

START_TEST(replaced_whole)
{
    need(ocv_record_write(scratch, &sample, &err));
    struct ocv_record other = {.child = CHILD, .index = INDEX, .reference = "other"};
    need(ocv_record_write(scratch, &other, &err));
    json_t *json = read_back(scratch, CHILD);
    ck_assert(json_is_null(json_object_get(json, "label"))); /* a non-variant */
    ck_assert_str_eq(member(json, "reference"), "other");
    json_decref(json);
    DIR *dir = opendir(scratch);
    int files = 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        files += entry->d_name[0] != '.';
    closedir(dir);
    ck_assert_int_eq(files, 1); /* no temporary file stays */
}
END_TEST

START_TEST(refused)
{
    struct ocv_buffer out;
    ocv_buffer_init(&out, 65536);
    refuses(ocv_record_read(at("none"), CHILD, &out, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_read(scratch, CHILD, &out, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_read(scratch, "sha256:../../etc/passwd", &out, &err), OCV_ERR_DATA);
    struct ocv_record bad = sample;
    bad.child = "sha256:../../x";
    refuses(ocv_record_write(scratch, &bad, &err), OCV_ERR_DATA);
    bad = sample;
    bad.index = "rubbish";
    refuses(ocv_record_write(scratch, &bad, &err), OCV_ERR_DATA);
    bad = sample;
    bad.reference = "\xff";
    refuses(ocv_record_write(scratch, &bad, &err), OCV_ERR_INVALID);
    write_text(at("file"), "");
    refuses(ocv_record_write(at("file"), &sample, &err), OCV_ERR_IO);
    refuses(ocv_record_write(at("file/below"), &sample, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, strerror(ENOTDIR)));
}
END_TEST

/* A reader never sees half a record. */
START_TEST(readers_and_writers_at_once)
{
    need(ocv_record_write(scratch, &sample, &err));
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 100; i++)
            if (ocv_record_write(scratch, &sample, NULL) < 0)
                _exit(1);
        _exit(0);
    }
    int status;
    do
        json_decref(read_back(scratch, CHILD));
    while (waitpid(pid, &status, WNOHANG) == 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

RUN_SUITE("record", written_and_read, replaced_whole, refused, readers_and_writers_at_once)
