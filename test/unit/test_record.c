/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_util.h"

#include <errno.h>
#include <jansson.h>
#include <sys/syscall.h>
#include <time.h>

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

/* The store's own calls come here: whoever owns the folder above is quick. */
static const char *swap_for; /* what the next new folder becomes a link to, or NULL */

int mkdir(const char *path, mode_t mode)
{
    int rc = mkdirat(AT_FDCWD, path, mode);
    if (rc == 0 && swap_for) {
        ck_assert_int_eq(rmdir(path), 0);
        ck_assert_int_eq(symlink(swap_for, path), 0);
        swap_for = NULL;
    }
    return rc;
}

/* Whose the state folder is may not have root change the mode of something else. */
START_TEST(new_folder_is_not_a_link)
{
    struct stat st;
    ck_assert_int_eq(mkdirat(AT_FDCWD, at("secret"), 0700), 0);
    swap_for = at("secret");
    refuses(ocv_record_write(at("state"), &sample, &err), OCV_ERR_IO);
    ck_assert_int_eq(stat(at("secret"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0700);
}
END_TEST

/* Nor write, or clear away what is old, elsewhere. */
START_TEST(folder_is_not_a_link)
{
    struct ocv_index *index = NULL;
    const char text[] = "{\"schemaVersion\":2,\"manifests\":[]}";
    ck_assert_int_eq(mkdirat(AT_FDCWD, at("elsewhere"), 0755), 0);
    ck_assert_int_eq(symlink(at("elsewhere"), at("state")), 0);
    refuses(ocv_record_write(at("state"), &sample, &err), OCV_ERR_IO);
    need(ocv_index_parse(text, strlen(text), NULL, &index, &err));
    refuses(ocv_record_index(at("state"), index, "r.example/a:1", false, &err), OCV_ERR_IO);
    ocv_index_free(index);
    ck_assert_int_eq(rmdir(at("elsewhere")), 0); /* it is empty */
}
END_TEST

static bool anybodys; /* bytes were written into a file that every user may read */

ssize_t write(int fd, const void *bytes, size_t len)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
        anybodys = true;
    return syscall(SYS_write, fd, bytes, len);
}

/* Not even while it has no name yet that anybody knows: a folder can be watched. */
START_TEST(secrets_are_nobodys_business_from_the_start)
{
    struct ocv_record secret = sample;
    struct ocv_index *index = NULL;
    const char text[] = "{\"schemaVersion\":2,\"manifests\":[]}";
    umask(022);
    need(ocv_index_parse(text, strlen(text), NULL, &index, &err));
    secret.secret = true;
    anybodys = false;
    need(ocv_record_index(scratch, index, "r.example/a:1", true, &err));
    need(ocv_record_write(scratch, &secret, &err));
    ck_assert(!anybodys);
    ocv_index_free(index);
}
END_TEST

START_TEST(a_secret_one_is_for_the_group)
{
    struct ocv_record record = sample;
    struct stat st;
    record.secret = true;
    need(ocv_record_write(scratch, &record, &err));
    ck_assert_int_eq(stat(at("sha256-" ZEROS ".json"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0640);
    if (geteuid() == 0) { /* which is the folder's, not the writer's */
        ck_assert_int_eq(chown(scratch, 0, 12345), 0);
        need(ocv_record_write(scratch, &record, &err));
        ck_assert_int_eq(stat(at("sha256-" ZEROS ".json"), &st), 0);
        ck_assert_int_eq(st.st_gid, 12345);
    }
    need(ocv_record_write(scratch, &sample, &err)); /* it is none any more */
    ck_assert_int_eq(stat(at("sha256-" ZEROS ".json"), &st), 0);
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

/* ---- in place of the C library's: what is done, in its order -----------------------------------
 */

static char steps[128];

static void step(const char *what)
{
    size_t n = strlen(steps);
    snprintf(steps + n, sizeof(steps) - n, "%s%s", n ? ", " : "", what);
}

int fsync(int fd)
{
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    step(S_ISDIR(st.st_mode) ? "sync folder" : st.st_size ? "sync file" : "sync nothing");
    return (int)syscall(SYS_fsync, fd);
}

int renameat(int from, const char *old, int to, const char *new)
{
    step("rename");
    return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

/* What appears survives a power cut: whole before it has its name, and the name for good. */
START_TEST(safe_before_it_appears)
{
    steps[0] = '\0';
    need(ocv_record_write(scratch, &sample, &err));
    ck_assert_str_eq(steps, "sync file, rename, sync folder");
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

/* ---- indexes -----------------------------------------------------------------------------------
 */

#define A_DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_DIGEST "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* An index with two variants; `note` makes its bytes other ones. */
static struct ocv_index *make_index(const char *note)
{
    char text[2048];
    struct ocv_index *index = NULL;
    int n = snprintf(
        text, sizeof(text),
        "{\"schemaVersion\":2,\"annotations\":{\"note\":\"%s\"},\"manifests\":["
        "{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"digest\":\"" A_DIGEST "\",\"size\":2,"
        "\"annotations\":{\"" OCV_ANNOTATION_LABEL "\":\"a\",\"" OCV_ANNOTATION_PROPERTIES
        "\":\"nvidia :: sm_arch :: 90_real\"}},"
        "{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"digest\":\"" B_DIGEST "\",\"size\":2,"
        "\"annotations\":{\"" OCV_ANNOTATION_LABEL "\":\"b\",\"" OCV_ANNOTATION_PROPERTIES
        "\":\"amd :: gfx_arch :: gfx942\"}}]}",
        note);
    need(ocv_index_parse(text, (size_t)n, NULL, &index, &err));
    return index;
}

static char *index_path(const char *digest)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/indexes/%s.json", scratch, digest);
    *strchr(path, ':') = '-';
    return path;
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static size_t count_files(const char *path)
{
    size_t n = 0;
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void age(const char *path, time_t seconds)
{
    const struct timespec then = {.tv_sec = time(NULL) - seconds};
    const struct timespec times[2] = {then, then};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

START_TEST(index_is_found_by_all_that_is_in_it)
{
    struct ocv_index *index = make_index("x");
    struct ocv_record_index found;
    const char *const digests[] = {A_DIGEST, B_DIGEST, ocv_index_digest(index)};
    need(ocv_record_index(scratch, index, "docker.io/library/app:1", false, &err));
    for (size_t i = 0; i < 3; i++) {
        need(ocv_record_find(scratch, digests[i], &found, &err));
        ck_assert_str_eq(found.digest, ocv_index_digest(index));
        ck_assert_str_eq(found.reference, "docker.io/library/app:1");
        ck_assert(!found.secret);
        const struct ocv_entry *entry = ocv_index_find_digest(found.index, B_DIGEST);
        ck_assert_ptr_nonnull(entry);
        ck_assert_str_eq(entry->label, "b");
        ocv_record_index_free(&found);
    }
    refuses(ocv_record_find(scratch, CHILD, &found, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_find(at("none"), A_DIGEST, &found, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_find(scratch, "sha256:../x", &found, &err), OCV_ERR_INVALID);
    ck_assert_int_eq(mkdirat(AT_FDCWD, at("odd"), 0755), 0);
    write_text(at("odd/indexes"), "no folder");
    refuses(ocv_record_find(at("odd"), A_DIGEST, &found, &err), OCV_ERR_IO);
    /* one that only mentions it, one that is broken, one that is no file */
    write_text(at("indexes/sha256-1.json"),
               "{\"index\":\"" INDEX "\",\"document\":{\"x\":\"" CHILD "\"}}");
    write_text(at("indexes/sha256-2.json"), CHILD);
    ck_assert_int_eq(mkdir(at("indexes/sha256-3.json"), 0755), 0);
    refuses(ocv_record_find(scratch, CHILD, &found, &err), OCV_ERR_NOT_FOUND);
    need(ocv_record_find(scratch, A_DIGEST, &found, &err));
    ocv_record_index_free(&found);
    ocv_index_free(index);
}
END_TEST

START_TEST(secret_indexes_are_for_the_group_until_anybody_may_read_them)
{
    struct ocv_index *index = make_index("x");
    struct ocv_record_index found;
    umask(022);
    need(ocv_record_index(scratch, index, NULL, true, &err));
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(index))), 0640);
    need(ocv_record_find(scratch, A_DIGEST, &found, &err));
    ck_assert(found.secret);
    ck_assert_str_eq(found.reference, "");
    ocv_record_index_free(&found);
    need(ocv_record_index(scratch, index, "app", false, &err));
    need(ocv_record_index(scratch, index, "app", true, &err)); /* it is no secret any more */
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(index))), 0644);
    need(ocv_record_find(scratch, A_DIGEST, &found, &err));
    ck_assert(!found.secret);
    ocv_record_index_free(&found);
    ocv_index_free(index);
}
END_TEST

START_TEST(index_resolved_last_is_believed)
{
    struct ocv_index *old = make_index("old"), *new = make_index("new");
    struct ocv_record_index found;
    need(ocv_record_index(scratch, new, "new", false, &err));
    need(ocv_record_index(scratch, old, "old", false, &err));
    age(index_path(ocv_index_digest(old)), 7200);
    need(ocv_record_find(scratch, A_DIGEST, &found, &err));
    ck_assert_str_eq(found.reference, "new");
    ocv_record_index_free(&found);
    age(index_path(ocv_index_digest(new)), 3 * 24 * 3600);
    age(index_path(ocv_index_digest(old)), 2 * 24 * 3600);
    need(ocv_record_index(scratch, new, "again", false, &err)); /* seen again: it is young */
    need(ocv_record_find(scratch, A_DIGEST, &found, &err));
    ck_assert_str_eq(found.reference, "new");
    ocv_record_index_free(&found);
    age(index_path(ocv_index_digest(new)), 7200); /* in whatever order the folder is read */
    age(index_path(ocv_index_digest(old)), 3600);
    need(ocv_record_find(scratch, A_DIGEST, &found, &err));
    ck_assert_str_eq(found.reference, "old");
    ocv_record_index_free(&found);
    ocv_index_free(old);
    ocv_index_free(new);
}
END_TEST

START_TEST(records_are_bounded)
{
    char path[600], name[32];
    struct ocv_index *index = make_index("x"), *other = make_index("y");
    need(ocv_record_index(scratch, index, "x", false, &err));
    age(index_path(ocv_index_digest(index)), (time_t)(OCV_RECORD_INDEX_DAYS + 1) * 24 * 3600);
    need(ocv_record_index(scratch, other, "y", false, &err));
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(index))), 0); /* too old */
    for (unsigned i = 0; i < OCV_RECORD_INDEXES_MAX + 10; i++) {
        snprintf(path, sizeof(path), "%s/indexes/sha256-%u.json", scratch, i);
        write_text(path, "{}");
        age(path, 3600);
    }
    need(ocv_record_index(scratch, index, "x", false, &err));
    ck_assert_uint_eq(count_files(at("indexes")), OCV_RECORD_INDEXES_MAX);
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(other))), 0644); /* younger than those */
    for (unsigned i = 0; i < OCV_RECORDS_MAX + 3; i++) {
        snprintf(name, sizeof(name), "sha256-%u.json", i);
        write_text(at(name), "{}");
    }
    age(at("sha256-7.json"), 60);
    need(ocv_record_write(scratch, &sample, &err));
    ck_assert_uint_eq(count_files(scratch), OCV_RECORDS_MAX + 1); /* and the folder of indexes */
    ck_assert_int_eq(mode_of(at("sha256-7.json")), 0);
    json_decref(read_back(scratch, CHILD));
    ocv_index_free(index);
    ocv_index_free(other);
}
END_TEST

START_TEST(index_that_is_too_large)
{
    char *note = malloc(OCV_RECORD_INDEX_MAX), *text = malloc(OCV_RECORD_INDEX_MAX + 4096);
    struct ocv_index *index = NULL;
    ck_assert(note && text);
    memset(note, 'x', OCV_RECORD_INDEX_MAX - 1);
    note[OCV_RECORD_INDEX_MAX - 1] = '\0';
    int n =
        snprintf(text, OCV_RECORD_INDEX_MAX + 4096,
                 "{\"schemaVersion\":2,\"annotations\":{\"note\":\"%s\"},\"manifests\":[]}", note);
    need(ocv_index_parse(text, (size_t)n, NULL, &index, &err));
    refuses(ocv_record_index(scratch, index, "x", false, &err), OCV_ERR_DATA);
    ocv_index_free(index);
    free(note);
    free(text);
}
END_TEST

RUN_SUITE("record", written_and_read, secrets_are_nobodys_business_from_the_start,
          a_secret_one_is_for_the_group, new_folder_is_not_a_link, folder_is_not_a_link,
          replaced_whole, safe_before_it_appears, refused, readers_and_writers_at_once,
          index_is_found_by_all_that_is_in_it,
          secret_indexes_are_for_the_group_until_anybody_may_read_them,
          index_resolved_last_is_believed, records_are_bounded, index_that_is_too_large)
