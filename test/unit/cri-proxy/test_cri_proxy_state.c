/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy/state: pinned indexes, the database, and the files of versions
 * before it. The tables of workloads are in test_cri_proxy_workload.c. */
#include "plugins/containerd/cri-proxy/state/state.h"
#include "test/unit/core_util.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#define A_DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_DIGEST "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C_DIGEST "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static struct ocv_error err;

static char directory[64], dir[128], old[128];
static struct state *state;

static void open_state(void)
{
    ck_assert_msg(state_open(dir, old, &state, &err) == OCV_OK, "%s", err.message);
}

static void make_directory(void)
{
    snprintf(directory, sizeof(directory), "/tmp/ocv-cris-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(dir, sizeof(dir), "%s/new/state", directory);
    snprintf(old, sizeof(old), "%s/old", directory);
    open_state();
}

static void open_again(void)
{
    state_free(state);
    open_state();
}

static void drop_directory(void)
{
    char command[128];
    state_free(state);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

static size_t rows(void)
{
    char key[PINNED_TEXT_MAX] = "", child[OCV_DIGEST_MAX];
    size_t n = 0;
    while (state_next_pinned(state, key, child))
        n++;
    return n;
}

static bool finds(const char *key)
{
    char child[OCV_DIGEST_MAX];
    return state_find_pinned(state, key, child);
}

/* From a connection of its own. */
static void change(const char *sql)
{
    char path[256];
    sqlite3 *db = NULL;
    snprintf(path, sizeof(path), "%s/state.db", dir);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void put(const char *key, const char *child)
{
    ck_assert_msg(state_put_pinned(state, key, child, NULL, 0, &err) == OCV_OK, "%s", err.message);
}

START_TEST(state_remembers)
{
    char child[OCV_DIGEST_MAX], text[PINNED_TEXT_MAX];
    struct stat st;
    ocv_auto(ocv_reference) pinned = NULL;
    ocv_auto(ocv_reference) tagged = NULL;
    ck_assert_int_eq(ocv_reference_parse("r.example/app:1@" A_DIGEST, &pinned, NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("r.example/app:1", &tagged, NULL), OCV_OK);
    ck_assert(!state_find_pinned(state, "r.example/app@" A_DIGEST, child));
    put("r.example/app@" A_DIGEST, B_DIGEST);
    put("r.example/other@" A_DIGEST, C_DIGEST);
    for (int round = 0; round < 2; round++) {
        ck_assert(state_find_pinned(state, "r.example/app@" A_DIGEST, child));
        ck_assert_str_eq(child, B_DIGEST);
        ck_assert(state_find_pinned(state, "r.example/other@" A_DIGEST, child));
        ck_assert_str_eq(child, C_DIGEST);
        ck_assert(!state_find_pinned(state, "r.example/app@" B_DIGEST, child));
        ck_assert(state_rewrite(state, pinned, "r.example/app:1@" A_DIGEST, text));
        ck_assert_str_eq(text, "r.example/app@" B_DIGEST);
        ck_assert(!state_rewrite(state, tagged, "r.example/app:1", text));
        ck_assert(!state_rewrite(state, NULL, "r.example/app:1@sha", text));
        open_again();
    }
    put("r.example/app@" A_DIGEST, C_DIGEST);
    ck_assert(state_find_pinned(state, "r.example/app@" A_DIGEST, child));
    ck_assert_str_eq(child, C_DIGEST);
    ck_assert_uint_eq(rows(), 2);
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
    snprintf(text, sizeof(text), "%s/state.db", dir);
    ck_assert_int_eq(stat(text, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
}
END_TEST

START_TEST(state_takes_no_nonsense)
{
    static const char *const keys[] = {"",
                                       "r.example/app",
                                       "r.example/app:1@" A_DIGEST,
                                       "alpine@" A_DIGEST,
                                       "../x@" A_DIGEST,
                                       "r.example/app@x"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        ck_assert_int_eq(state_put_pinned(state, keys[i], B_DIGEST, NULL, 0, &err),
                         OCV_ERR_INVALID);
    ck_assert_int_eq(state_put_pinned(state, "r.example/app@" A_DIGEST, "b", NULL, 0, &err),
                     OCV_ERR_INVALID);
    ck_assert_uint_eq(rows(), 0);
}
END_TEST

static void write_file(const char *in, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", in, name);
    FILE *out = fopen(path, "we");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

/* As versions before 0.2 did; what a file is called does not matter. */
static void write_old(const char *in, const char *key, const char *child, unsigned when)
{
    static unsigned n;
    char name[32], text[1024];
    snprintf(name, sizeof(name), "%u.json", n++);
    snprintf(text, sizeof(text), "{\"reference\": \"%s\", \"child\": \"%s\", \"time\": %u}", key,
             child, when);
    write_file(in, name, text);
}

static void write_old_index(const char *in, const char *bytes, char digest[OCV_DIGEST_MAX])
{
    char name[OCV_DIGEST_MAX + 8];
    ck_assert_int_eq(ocv_digest_bytes(bytes, strlen(bytes), digest, &err), OCV_OK);
    snprintf(name, sizeof(name), "index-sha256-%s", digest + 7);
    write_file(in, name, bytes);
}

/* Files of the form that earlier versions read. */
static size_t old_files(const char *in)
{
    char command[256], text[16] = "";
    snprintf(command, sizeof(command),
             "find %s -name '*.json' -o -name 'index-*' 2>/dev/null | wc -l", in);
    FILE *out = popen(command, "re");
    ck_assert_ptr_nonnull(out);
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), out));
    pclose(out);
    return strtoul(text, NULL, 10);
}

static bool has_index(const char *digest)
{
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, STATE_INDEX_MAX);
    return state_index(state, digest, &bytes, NULL) == OCV_OK;
}

START_TEST(state_follows_no_link)
{
    char link[128];
    struct state *other = NULL;
    snprintf(link, sizeof(link), "%s/link", directory);
    ck_assert_int_eq(symlink(dir, link), 0);
    ck_assert_int_eq(state_open(link, NULL, &other, &err), OCV_ERR_IO);
    ck_assert_ptr_null(other);
}
END_TEST

START_TEST(state_passes_damaged_files_over)
{
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"reference\": 1, \"child\": 2}",
        "{\"reference\": \"r.example/app@" A_DIGEST "\"}",
        "{\"reference\": \"r.example/app@" A_DIGEST "\", \"child\": \"../../etc\"}",
        "{\"reference\": \"app@" A_DIGEST "\", \"child\": \"" B_DIGEST "\"}",
        "{\"reference\": \"r.example/app:1\", \"child\": \"" B_DIGEST "\"}",
        "{\"reference\": \"r.example/app@" A_DIGEST "\", \"child\": \"" B_DIGEST
        "\", \"child\": \"" C_DIGEST "\"}"};
    put("r.example/good@" A_DIGEST, B_DIGEST);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        write_file(dir, "x.json", bodies[i]);
        open_again();
        ck_assert_uint_eq(rows(), 1);
        ck_assert(finds("r.example/good@" A_DIGEST));
    }
    write_old(dir, "r.example/app@" A_DIGEST, B_DIGEST, 7);
    write_old(dir, "r.example/good@" A_DIGEST, C_DIGEST, 7); /* older than the one that is there */
    open_again();
    ck_assert(finds("r.example/app@" A_DIGEST));
    ck_assert_uint_eq(rows(), 2);
    ck_assert_uint_eq(old_files(dir), 0); /* an earlier version would begin anew */
}
END_TEST

START_TEST(state_is_bounded)
{
    char key[PINNED_TEXT_MAX], own[OCV_DIGEST_MAX], shared[OCV_DIGEST_MAX], first[PINNED_TEXT_MAX];
    write_old_index(dir, "its own", own);
    write_old_index(dir, "two have it", shared);
    for (unsigned i = 0; i < STATE_PINNED_MAX; i++) { /* of known age, without a thousand fsyncs */
        const char *digest = i == 77 ? own : i == 78 || i == 79 ? shared : A_DIGEST;
        snprintf(key, sizeof(key), "r.example/app%u@%s", i, digest);
        write_old(dir, key, B_DIGEST, i == 77 ? 1 : i == 78 ? 2 : 1000 + i);
    }
    open_again();
    snprintf(key, sizeof(key), "r.example/app77@%s", own);
    snprintf(first, sizeof(first), "r.example/app78@%s", shared);
    ck_assert_uint_eq(rows(), STATE_PINNED_MAX);
    ck_assert(finds(key) && finds(first) && has_index(own));
    put("r.example/one_more@" A_DIGEST, B_DIGEST);
    ck_assert(finds("r.example/one_more@" A_DIGEST) && !finds(key) && finds(first));
    ck_assert(!has_index(own));
    put("r.example/two_more@" A_DIGEST, B_DIGEST);
    ck_assert(!finds(first) && finds("r.example/app0@" A_DIGEST) && has_index(shared));
    ck_assert_uint_eq(rows(), STATE_PINNED_MAX);
}
END_TEST

START_TEST(state_keeps_indexes)
{
    static const char index[] = "these bytes";
    char digest[OCV_DIGEST_MAX], key[PINNED_TEXT_MAX];
    ocv_auto_buffer read;
    ocv_buffer_init(&read, STATE_INDEX_MAX);
    ck_assert_int_eq(ocv_digest_bytes(index, sizeof(index), digest, &err), OCV_OK);
    snprintf(key, sizeof(key), "r.example/app@%s", digest);
    ck_assert_int_eq(state_put_pinned(state, key, B_DIGEST, index, sizeof(index), &err), OCV_OK);
    ck_assert_int_eq(state_index(state, digest, &read, &err), OCV_OK);
    ck_assert_uint_eq(read.len, sizeof(index));
    ck_assert_mem_eq(read.data, index, sizeof(index));
    change("UPDATE indexes SET bytes = 'others'");
    read.len = 0;
    ck_assert_int_eq(state_index(state, digest, &read, &err), OCV_ERR_MISMATCH);
    read.len = 0; /* asked for again, it is whole */
    ck_assert_int_eq(state_put_pinned(state, key, B_DIGEST, index, sizeof(index), &err), OCV_OK);
    ck_assert_int_eq(state_index(state, digest, &read, &err), OCV_OK);
    ck_assert_uint_eq(read.len, sizeof(index));
    ck_assert_int_eq(state_index(state, A_DIGEST, &read, &err), OCV_ERR_NOT_FOUND);
}
END_TEST

/* Kubelet does not start without the proxy. */
START_TEST(state_sets_aside_what_it_cannot_read)
{
    char path[256], aside[512];
    snprintf(path, sizeof(path), "%s/state.db", dir);
    snprintf(aside, sizeof(aside), "%s.aside", path);
    put("r.example/app@" A_DIGEST, B_DIGEST);
    change("PRAGMA user_version=2"); /* of a later version */
    open_again();
    ck_assert_uint_eq(rows(), 0);
    ck_assert_int_eq(access(aside, F_OK), 0);
    put("r.example/app@" A_DIGEST, B_DIGEST);
    state_free(state);
    write_file(dir, "state.db", "This has never been a database, however long one looks at it.");
    open_state();
    ck_assert_uint_eq(rows(), 0);
    put("r.example/app@" A_DIGEST, B_DIGEST);
    state_free(state);
    ck_assert_int_eq(truncate(path, 6000), 0);
    open_state();
    ck_assert_uint_eq(rows(), 0);
    put("r.example/app@" A_DIGEST, B_DIGEST);
    open_again();
    ck_assert_uint_eq(rows(), 1);
}
END_TEST

START_TEST(state_works_without_a_disk)
{
    char path[256], digest[OCV_DIGEST_MAX];
    state_free(state);
    write_old(dir, "r.example/app@" A_DIGEST, B_DIGEST, 1);
    write_old_index(dir, "bytes", digest);
    snprintf(path, sizeof(path), "%s/state.db", dir);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    open_state();
    ck_assert(finds("r.example/app@" A_DIGEST));
    put("r.example/other@" A_DIGEST, B_DIGEST);
    ck_assert_uint_eq(rows(), 2);
    ck_assert_uint_eq(old_files(dir), 2);
    state_free(state);
    ck_assert_int_eq(rmdir(path), 0);
    open_state();
    ck_assert(finds("r.example/app@" A_DIGEST));
    ck_assert_uint_eq(rows(), 1);
    ck_assert_uint_eq(old_files(dir), 0);
}
END_TEST

static const char whole_index[] =
    "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
    "\"manifests\":[{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"digest\":"
    "\"" B_DIGEST "\",\"size\":7,\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"}}]}";

/* What lay in a directory that another user could have filled. */
START_TEST(state_takes_over_what_is_proved)
{
    char digest[OCV_DIGEST_MAX], child[OCV_DIGEST_MAX];
    char path[256], text[1024], good[PINNED_TEXT_MAX], planted[PINNED_TEXT_MAX],
        known[PINNED_TEXT_MAX];
    ck_assert_int_lt(access(old, F_OK), 0); /* it is not made */
    ck_assert_int_eq(mkdir(old, 0700), 0);
    write_old_index(old, whole_index, digest);
    snprintf(good, sizeof(good), "r.example/app@%s", digest);
    snprintf(planted, sizeof(planted), "r.example/planted@%s", digest);
    snprintf(known, sizeof(known), "r.example/known@%s", digest);
    write_old(old, good, B_DIGEST, 1);
    write_old(old, planted, C_DIGEST, 1);
    write_old(old, known, B_DIGEST, 1);
    write_old(old, "r.example/bare@" A_DIGEST, B_DIGEST, 1);
    /* a tag's choice says of no index that it is that tag's, though the index be there */
    snprintf(
        text, sizeof(text),
        "{\"reference\": \"r.example/app:1\", \"wishes\": \"\", \"devices\": \"node\", \"child\": "
        "\"%s\", \"index\": \"%s\", \"user\": \"root\", \"time\": 1}",
        B_DIGEST, digest);
    write_file(old, "choice.json", text);
    /* what that user may put there holds up nothing */
    snprintf(path, sizeof(path), "%s/link.json", old);
    ck_assert_int_eq(symlink("/dev/zero", path), 0);
    snprintf(path, sizeof(path), "%s/pipe.json", old);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    put(known, C_DIGEST);
    open_again();
    ck_assert(state_find_pinned(state, good, child));
    ck_assert_str_eq(child, B_DIGEST);
    ck_assert(state_find_pinned(state, known, child));
    ck_assert_str_eq(child, C_DIGEST); /* the newer choice stays */
    ck_assert(!finds(planted) && !finds("r.example/bare@" A_DIGEST));
    const struct state_key tagged = {"r.example/app:1", "", "node"};
    struct state_value value;
    ck_assert(!state_find_choice(state, &tagged, &value));
    ck_assert(has_index(digest));
    ck_assert_int_lt(access(old, F_OK), 0);
}
END_TEST

START_TEST(state_knows_what_was_checked)
{
    char key[PINNED_TEXT_MAX];
    put("r.example/app@" A_DIGEST, B_DIGEST);
    ck_assert(!state_checked(state, "r.example/app@" A_DIGEST, B_DIGEST));
    state_set_checked(state, "r.example/app@" A_DIGEST, B_DIGEST);
    ck_assert(state_checked(state, "r.example/app@" A_DIGEST, B_DIGEST));
    ck_assert(!state_checked(state, "r.example/app@" A_DIGEST, C_DIGEST));
    ck_assert(!state_checked(state, "r.example/other@" A_DIGEST, B_DIGEST));
    put("r.example/app@" A_DIGEST, B_DIGEST); /* the same again */
    ck_assert(state_checked(state, "r.example/app@" A_DIGEST, B_DIGEST));
    put("r.example/app@" A_DIGEST, C_DIGEST); /* another, which nobody has seen */
    ck_assert(!state_checked(state, "r.example/app@" A_DIGEST, C_DIGEST));
    state_set_checked(state, "r.example/app@" A_DIGEST, C_DIGEST);
    ck_assert(state_checked(state, "r.example/app@" A_DIGEST, C_DIGEST));
    state_set_unchecked(state, "r.example/app@" A_DIGEST);
    ck_assert(!state_checked(state, "r.example/app@" A_DIGEST, C_DIGEST));
    state_set_checked(state, "r.example/app@" A_DIGEST, C_DIGEST);
    state_set_unchecked(state, "r.example/none@" A_DIGEST);
    open_again(); /* after a restart nothing was */
    ck_assert(!state_checked(state, "r.example/app@" A_DIGEST, C_DIGEST));
    ck_assert(!state_checked(state, "r.example/plain0@" A_DIGEST, ""));
    for (unsigned i = 0; i <= 1024; i++) {
        snprintf(key, sizeof(key), "r.example/plain%u@" A_DIGEST, i);
        state_set_checked(state, key, "");
        state_set_checked(state, key, "");
        ck_assert(state_checked(state, key, ""));
    }
    ck_assert(!state_checked(state, "r.example/plain0@" A_DIGEST, "")); /* the oldest went */
    state_set_unchecked(state, "r.example/plain1@" A_DIGEST);           /* what is plain stays so */
    ck_assert(state_checked(state, "r.example/plain1@" A_DIGEST, ""));
}
END_TEST

RUN_TESTS_IN("cri-proxy-state", make_directory, drop_directory, state_remembers,
             state_takes_no_nonsense, state_follows_no_link, state_passes_damaged_files_over,
             state_is_bounded, state_keeps_indexes, state_sets_aside_what_it_cannot_read,
             state_works_without_a_disk, state_takes_over_what_is_proved,
             state_knows_what_was_checked)
