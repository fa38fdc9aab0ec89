/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Indexes that were kept, and how much is kept. */
#include "test/unit/records/record_util.h"

#include <errno.h>
#include <time.h>

static char *index_path(const char *digest)
{
    return file_of("indexes/", digest, APP);
}

/* Keep the index as resolved in a repository, at its tag `tag`. */
static void keep(const struct ocv_index *index, const char *repository, const char *tag,
                 bool secret)
{
    char reference[256];
    snprintf(reference, sizeof(reference), "%s:%s", repository, tag);
    const struct ocv_record where = {
        .repository = repository, .reference = reference, .secret = secret};
    need(ocv_record_chosen(scratch, index, NULL, &where, &err));
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
    keep(index, APP, "1", false);
    for (size_t i = 0; i < 3; i++) {
        need(ocv_record_find(scratch, APP, digests[i], &found, &err));
        ck_assert_str_eq(found.digest, ocv_index_digest(index));
        ck_assert_str_eq(found.reference, APP ":1");
        ck_assert_str_eq(found.repository, APP);
        ck_assert(!found.secret);
        const struct ocv_entry *entry = ocv_index_find_digest(found.index, B_DIGEST);
        ck_assert_ptr_nonnull(entry);
        ck_assert_str_eq(entry->label, "b");
        ocv_record_index_free(&found);
    }
    refuses(ocv_record_find(scratch, APP, CHILD, &found, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_find(at("none"), APP, A_DIGEST, &found, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_find(scratch, APP, "sha256:../x", &found, &err), OCV_ERR_INVALID);
    ck_assert_int_eq(mkdirat(AT_FDCWD, at("odd"), 0755), 0);
    write_text(at("odd/indexes"), "no directory");
    refuses(ocv_record_find(at("odd"), APP, A_DIGEST, &found, &err), OCV_ERR_IO);
    /* one that only mentions it, a broken one, one that is not a file */
    write_text(file_of("indexes/", INDEX, APP), "{\"index\":\"" INDEX "\",\"repository\":\"" APP
                                                "\",\"document\":{\"x\":\"" CHILD "\"}}");
    write_text(file_of("indexes/", B_DIGEST, APP), CHILD);
    ck_assert_int_eq(mkdir(file_of("indexes/", CHILD, APP), 0755), 0);
    refuses(ocv_record_find(scratch, APP, CHILD, &found, &err), OCV_ERR_NOT_FOUND);
    need(ocv_record_find(scratch, APP, A_DIGEST, &found, &err));
    ocv_record_index_free(&found);
    ocv_index_free(index);
}
END_TEST

START_TEST(secret_indexes_are_for_the_group_until_anybody_may_read_them)
{
    struct ocv_index *index = make_index("x");
    struct ocv_record_index found;
    const struct ocv_record nameless = {.repository = APP, .secret = true};
    umask(022);
    need(ocv_record_chosen(scratch, index, NULL, &nameless, &err));
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(index))), 0640);
    need(ocv_record_find(scratch, APP, A_DIGEST, &found, &err));
    ck_assert(found.secret);
    ck_assert_str_eq(found.reference, "");
    ocv_record_index_free(&found);
    keep(index, APP, "1", false);
    keep(index, APP, "1", true); /* it is no longer a secret */
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(index))), 0644);
    need(ocv_record_find(scratch, APP, A_DIGEST, &found, &err));
    ck_assert(!found.secret);
    ocv_record_index_free(&found);
    ocv_index_free(index);
}
END_TEST

static void finds(const char *reference)
{
    struct ocv_record_index found;
    need(ocv_record_find(scratch, APP, A_DIGEST, &found, &err));
    ck_assert_str_eq(found.reference, reference);
    ocv_record_index_free(&found);
}

START_TEST(index_resolved_last_is_believed)
{
    struct ocv_index *old = make_index("old"), *new = make_index("new");
    keep(new, APP, "new", false);
    keep(old, APP, "old", false);
    age(index_path(ocv_index_digest(old)), 7200);
    finds(APP ":new");
    age(index_path(ocv_index_digest(new)), 3 * 24 * 3600);
    age(index_path(ocv_index_digest(old)), 2 * 24 * 3600);
    keep(new, APP, "again", false); /* seen again: it is young */
    finds(APP ":new");
    age(index_path(ocv_index_digest(new)), 7200); /* in whatever order the directory is read */
    age(index_path(ocv_index_digest(old)), 3600);
    finds(APP ":old");
    ocv_index_free(old);
    ocv_index_free(new);
}
END_TEST

static int count_index(void *data, struct ocv_record_index *kept)
{
    unsigned *n = data;
    ck_assert_ptr_nonnull(ocv_index_find_digest(kept->index, A_DIGEST));
    ++*n;
    return OCV_OK;
}

START_TEST(index_speaks_for_its_repository)
{
    unsigned n = 0;
    struct ocv_record_index found;
    struct ocv_index *index = make_index("x"), *newer = make_index("y");
    keep(index, OTHER, "t", false);
    refuses(ocv_record_find(scratch, APP, A_DIGEST, &found, &err), OCV_ERR_NOT_FOUND);
    need(ocv_record_find(scratch, OTHER, A_DIGEST, &found, &err));
    ocv_record_index_free(&found);
    /* what it is by its own digest, it is everywhere */
    need(ocv_record_find(scratch, APP, ocv_index_digest(index), &found, &err));
    ck_assert_str_eq(found.repository, OTHER);
    ocv_record_index_free(&found);
    /* who has no name hears each repository once */
    keep(index, APP, "1", false);
    keep(newer, APP, "2", false);
    need(ocv_record_index_walk(scratch, NULL, A_DIGEST, count_index, &n, &err));
    ck_assert_uint_eq(n, 2);
    ocv_index_free(newer);
    ocv_index_free(index);
}
END_TEST

START_TEST(old_records_are_discarded)
{
    struct ocv_index *index = make_index("x");
    need(ocv_record_write(scratch, &sample, &err));
    keep(index, APP, "1", false);
    write_text(at("sha256-" ZEROS ".json"), "{\"child\":\"" CHILD "\",\"label\":\"old\","
                                            "\"properties\":\"\"}");
    write_text(at("indexes/sha256-" ZEROS ".json"), "{}");
    write_text(at("notes.json"), "{}");
    ck_assert_uint_eq(walk(scratch, NULL, CHILD).n, 1); /* nobody reads it */
    ck_assert_uint_eq(ocv_record_discard_old(scratch), 2);
    ck_assert_uint_eq(ocv_record_discard_old(scratch), 0);
    ck_assert_uint_eq(ocv_record_discard_old(at("none")), 0);
    ck_assert_int_eq(access(at("notes.json"), F_OK), 0);
    ck_assert_uint_eq(walk(scratch, APP, CHILD).n, 1);
    finds(APP ":1");
    ocv_index_free(index);
}
END_TEST

START_TEST(records_are_bounded)
{
    char path[600], name[32];
    struct ocv_index *index = make_index("x"), *other = make_index("y");
    keep(index, APP, "x", false);
    age(index_path(ocv_index_digest(index)), (time_t)(OCV_RECORD_INDEX_DAYS + 1) * 24 * 3600);
    keep(other, APP, "y", false);
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(index))), 0); /* too old */
    for (unsigned i = 0; i < OCV_RECORD_INDEXES_MAX + 10; i++) {
        snprintf(path, sizeof(path), "%s/indexes/sha256-%u.json", scratch, i);
        write_text(path, "{}");
        age(path, 3600);
    }
    keep(index, APP, "x", false);
    ck_assert_uint_eq(count_files(at("indexes")), OCV_RECORD_INDEXES_MAX);
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(other))), 0644); /* younger than those */
    for (unsigned i = 0; i < OCV_RECORDS_MAX + 3; i++) {
        snprintf(name, sizeof(name), "sha256-%u.json", i);
        write_text(at(name), "{}");
    }
    age(at("sha256-7.json"), 60);
    need(ocv_record_write(scratch, &sample, &err));
    ck_assert_uint_eq(count_files(scratch), OCV_RECORDS_MAX + 1); /* and the directory of indexes */
    ck_assert_int_eq(mode_of(at("sha256-7.json")), 0);
    read_back(scratch);
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
    int n = snprintf(
        text, OCV_RECORD_INDEX_MAX + 4096,
        "{\"schemaVersion\":2,\"annotations\":{\"note\":\"%s\"},\"manifests\":[" A_ENTRY "]}",
        note);
    need(ocv_index_parse(text, (size_t)n, NULL, &index, &err));
    refuses(
        ocv_record_chosen(scratch, index, ocv_index_find_digest(index, A_DIGEST), &sample, &err),
        OCV_ERR_DATA);
    ck_assert_str_eq(walk(scratch, APP, A_DIGEST).label, "a"); /* the choice is recorded */
    ocv_index_free(index);
    free(note);
    free(text);
}
END_TEST

RUN_SUITE("record index", index_is_found_by_all_that_is_in_it,
          secret_indexes_are_for_the_group_until_anybody_may_read_them,
          index_resolved_last_is_believed, index_speaks_for_its_repository,
          old_records_are_discarded, records_are_bounded, index_that_is_too_large)
