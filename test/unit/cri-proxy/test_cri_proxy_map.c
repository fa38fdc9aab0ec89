/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy: the map on disk. */
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "test/unit/core_util.h"

#include <sys/stat.h>
#include <unistd.h>

#define A_DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_DIGEST "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C_DIGEST "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static struct ocv_error err;

static char directory[64], dir[128];
static struct map *map;

static void open_map(void)
{
    ck_assert_msg(map_open(dir, &map, &err) == OCV_OK, "%s", err.message);
}

static void make_directory(void)
{
    snprintf(directory, sizeof(directory), "/tmp/ocv-crim-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(dir, sizeof(dir), "%s/new/state", directory);
    open_map();
}

static void drop_directory(void)
{
    char command[128];
    map_free(map);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

static int files(void)
{
    char command[256], text[16] = "";
    snprintf(command, sizeof(command), "find %s -type f | wc -l", dir);
    FILE *out = popen(command, "re");
    ck_assert_ptr_nonnull(out);
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), out));
    pclose(out);
    return (int)strtol(text, NULL, 10);
}

static void put(const char *key, const char *child)
{
    ck_assert_msg(map_put(map, key, child, NULL, 0, &err) == OCV_OK, "%s", err.message);
}

START_TEST(map_remembers)
{
    char child[OCV_DIGEST_MAX], text[PINNED_TEXT_MAX];
    struct stat st;
    ocv_auto(ocv_reference) pinned = NULL;
    ocv_auto(ocv_reference) tagged = NULL;
    ck_assert_int_eq(ocv_reference_parse("r.example/app:1@" A_DIGEST, &pinned, NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("r.example/app:1", &tagged, NULL), OCV_OK);
    ck_assert(!map_find(map, "r.example/app@" A_DIGEST, child));
    put("r.example/app@" A_DIGEST, B_DIGEST);
    put("r.example/other@" A_DIGEST, C_DIGEST);
    for (int round = 0; round < 2; round++) {
        ck_assert(map_find(map, "r.example/app@" A_DIGEST, child));
        ck_assert_str_eq(child, B_DIGEST);
        ck_assert(map_find(map, "r.example/other@" A_DIGEST, child));
        ck_assert_str_eq(child, C_DIGEST);
        ck_assert(!map_find(map, "r.example/app@" B_DIGEST, child));
        ck_assert(map_rewrite(map, pinned, "r.example/app:1@" A_DIGEST, text));
        ck_assert_str_eq(text, "r.example/app@" B_DIGEST);
        ck_assert(!map_rewrite(map, tagged, "r.example/app:1", text));
        ck_assert(!map_rewrite(map, NULL, "r.example/app:1@sha", text));
        map_free(map);
        open_map();
    }
    put("r.example/app@" A_DIGEST, C_DIGEST);
    ck_assert(map_find(map, "r.example/app@" A_DIGEST, child));
    ck_assert_str_eq(child, C_DIGEST);
    ck_assert_int_eq(files(), 2);
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
}
END_TEST

START_TEST(map_takes_no_nonsense)
{
    static const char *const keys[] = {"",
                                       "r.example/app",
                                       "r.example/app:1@" A_DIGEST,
                                       "alpine@" A_DIGEST,
                                       "../x@" A_DIGEST,
                                       "r.example/app@x"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        ck_assert_int_eq(map_put(map, keys[i], B_DIGEST, NULL, 0, &err), OCV_ERR_INVALID);
    ck_assert_int_eq(map_put(map, "r.example/app@" A_DIGEST, "b", NULL, 0, &err), OCV_ERR_INVALID);
    ck_assert_int_eq(files(), 0);
}
END_TEST

static void write_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *out = fopen(path, "we");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

/* The file name of an entry, which its key decides. */
static void name_of(const char *key, char *out, size_t size)
{
    char digest[OCV_DIGEST_MAX];
    ck_assert_int_eq(ocv_digest_bytes(key, strlen(key), digest, &err), OCV_OK);
    snprintf(out, size, "%s.json", digest + 7);
}

START_TEST(map_follows_no_link)
{
    char link[128];
    struct map *other = NULL;
    snprintf(link, sizeof(link), "%s/link", directory);
    ck_assert_int_eq(symlink(dir, link), 0);
    ck_assert_int_eq(map_open(link, &other, &err), OCV_ERR_IO);
    ck_assert_ptr_null(other);
}
END_TEST

START_TEST(map_passes_damage_over)
{
    char name[OCV_DIGEST_MAX + 8], text[1024], child[OCV_DIGEST_MAX];
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"reference\": 1, \"child\": 2}",
        "{\"reference\": \"r.example/app@" A_DIGEST "\"}",
        "{\"reference\": \"r.example/app@" A_DIGEST "\", \"child\": \"../../etc\"}",
        "{\"reference\": \"r.example/wrong@" A_DIGEST "\", \"child\": \"" B_DIGEST "\"}",
        "{\"reference\": \"r.example/app@" A_DIGEST "\", \"child\": \"" B_DIGEST
        "\", \"child\": \"" C_DIGEST "\"}"};
    put("r.example/good@" A_DIGEST, B_DIGEST);
    name_of("r.example/app@" A_DIGEST, name, sizeof(name));
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        write_file(name, bodies[i]);
        map_free(map);
        open_map();
        ck_assert(!map_find(map, "r.example/app@" A_DIGEST, child));
        ck_assert(!map_find(map, "r.example/wrong@" A_DIGEST, child));
        ck_assert(map_find(map, "r.example/good@" A_DIGEST, child));
    }
    snprintf(text, sizeof(text), "{\"reference\": \"%s\", \"child\": \"%s\"}",
             "r.example/app@" A_DIGEST, B_DIGEST);
    write_file(name, text);
    map_free(map);
    open_map();
    ck_assert(map_find(map, "r.example/app@" A_DIGEST, child));
}
END_TEST

START_TEST(map_is_bounded)
{
    char key[PINNED_TEXT_MAX], child[OCV_DIGEST_MAX], name[OCV_DIGEST_MAX + 8], text[512];
    for (unsigned i = 0; i < MAP_ENTRIES_MAX; i++) { /* of known age, without a thousand fsyncs */
        snprintf(key, sizeof(key), "r.example/app%u@%s", i, i == 77 ? C_DIGEST : A_DIGEST);
        name_of(key, name, sizeof(name));
        snprintf(text, sizeof(text), "{\"reference\": \"%s\", \"child\": \"%s\", \"time\": %u}",
                 key, B_DIGEST, i == 77 ? 1 : 1000 + i);
        write_file(name, text);
    }
    snprintf(name, sizeof(name), "index-sha256-%s", &A_DIGEST[7]);
    write_file(name, "of all the others");
    snprintf(name, sizeof(name), "index-sha256-%s", &C_DIGEST[7]);
    write_file(name, "goes with its entry");
    map_free(map);
    open_map();
    ck_assert(map_find(map, "r.example/app77@" C_DIGEST, child));
    put("r.example/one_more@" A_DIGEST, B_DIGEST);
    ck_assert(map_find(map, "r.example/one_more@" A_DIGEST, child));
    ck_assert(map_find(map, "r.example/app78@" A_DIGEST, child));
    ck_assert(!map_find(map, "r.example/app77@" C_DIGEST, child));
    ck_assert_int_eq(files(), MAP_ENTRIES_MAX + 1);
    put("r.example/two_more@" A_DIGEST, B_DIGEST);
    ck_assert(!map_find(map, "r.example/app0@" A_DIGEST, child));
    ck_assert_int_eq(files(), MAP_ENTRIES_MAX + 1); /* others have that index, too */
}
END_TEST

START_TEST(map_keeps_indexes)
{
    static const char index[] = "these bytes";
    char digest[OCV_DIGEST_MAX], key[PINNED_TEXT_MAX], path[512];
    ocv_auto_buffer read;
    ocv_buffer_init(&read, MAP_INDEX_MAX);
    ck_assert_int_eq(ocv_digest_bytes(index, sizeof(index), digest, &err), OCV_OK);
    snprintf(key, sizeof(key), "r.example/app@%s", digest);
    ck_assert_int_eq(map_put(map, key, B_DIGEST, index, sizeof(index), &err), OCV_OK);
    ck_assert_int_eq(map_index(map, key, &read, &err), OCV_OK);
    ck_assert_uint_eq(read.len, sizeof(index));
    ck_assert_mem_eq(read.data, index, sizeof(index));
    snprintf(path, sizeof(path), "index-sha256-%s", digest + 7);
    write_file(path, "other  bytes"); /* as long */
    read.len = 0;
    ck_assert_int_eq(map_index(map, key, &read, &err), OCV_ERR_MISMATCH);
    read.len = 0; /* asked for again, it is whole */
    ck_assert_int_eq(map_put(map, key, B_DIGEST, index, sizeof(index), &err), OCV_OK);
    ck_assert_int_eq(map_index(map, key, &read, &err), OCV_OK);
    ck_assert_uint_eq(read.len, sizeof(index));
    ck_assert_int_eq(map_index(map, "r.example/app@" A_DIGEST, &read, &err), OCV_ERR_NOT_FOUND);
}
END_TEST

static const char whole_index[] =
    "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
    "\"manifests\":[{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"digest\":"
    "\"" B_DIGEST "\",\"size\":7,\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"}}]}";

/* What lay in a directory that another user could have filled. */
START_TEST(map_takes_over_what_is_proved)
{
    char digest[OCV_DIGEST_MAX], child[OCV_DIGEST_MAX], old[128];
    char good[PINNED_TEXT_MAX], planted[PINNED_TEXT_MAX], known[PINNED_TEXT_MAX];
    struct map *from = NULL;
    ck_assert_int_eq(ocv_digest_bytes(whole_index, sizeof(whole_index) - 1, digest, &err), OCV_OK);
    snprintf(good, sizeof(good), "r.example/app@%s", digest);
    snprintf(planted, sizeof(planted), "r.example/planted@%s", digest);
    snprintf(known, sizeof(known), "r.example/known@%s", digest);
    snprintf(old, sizeof(old), "%s/old", directory);
    map_adopt(map, old);
    ck_assert_int_lt(access(old, F_OK), 0); /* it is not made */
    ck_assert_int_eq(map_open(old, &from, &err), OCV_OK);
    ck_assert_int_eq(map_put(from, good, B_DIGEST, whole_index, sizeof(whole_index) - 1, &err),
                     OCV_OK);
    ck_assert_int_eq(map_put(from, planted, C_DIGEST, NULL, 0, &err), OCV_OK);
    ck_assert_int_eq(map_put(from, known, B_DIGEST, NULL, 0, &err), OCV_OK);
    ck_assert_int_eq(map_put(from, "r.example/bare@" A_DIGEST, B_DIGEST, NULL, 0, &err), OCV_OK);
    map_free(from);
    put(known, C_DIGEST);
    map_adopt(map, old);
    map_free(map);
    open_map();
    ck_assert(map_find(map, good, child));
    ck_assert_str_eq(child, B_DIGEST);
    ck_assert(map_find(map, known, child));
    ck_assert_str_eq(child, C_DIGEST); /* the newer choice stays */
    ck_assert(!map_find(map, planted, child));
    ck_assert(!map_find(map, "r.example/bare@" A_DIGEST, child));
    ck_assert_int_lt(access(old, F_OK), 0);
}
END_TEST

/* A disk that is full. */
START_TEST(map_keeps_what_it_cannot_take_over)
{
    char digest[OCV_DIGEST_MAX], child[OCV_DIGEST_MAX], old[128], good[PINNED_TEXT_MAX];
    struct map *from = NULL;
    ck_assert_int_eq(ocv_digest_bytes(whole_index, sizeof(whole_index) - 1, digest, &err), OCV_OK);
    snprintf(good, sizeof(good), "r.example/app@%s", digest);
    snprintf(old, sizeof(old), "%s/old", directory);
    ck_assert_int_eq(map_open(old, &from, &err), OCV_OK);
    ck_assert_int_eq(map_put(from, good, B_DIGEST, whole_index, sizeof(whole_index) - 1, &err),
                     OCV_OK);
    map_free(from);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing can be written there any more */
    map_adopt(map, old);
    ck_assert(!map_find(map, good, child));
    map_free(map);
    open_map();
    map_adopt(map, old);
    ck_assert(map_find(map, good, child));
    ck_assert_int_lt(access(old, F_OK), 0);
}
END_TEST

START_TEST(map_knows_what_was_checked)
{
    char key[PINNED_TEXT_MAX];
    put("r.example/app@" A_DIGEST, B_DIGEST);
    ck_assert(!map_checked(map, "r.example/app@" A_DIGEST, B_DIGEST));
    map_set_checked(map, "r.example/app@" A_DIGEST, true);
    ck_assert(map_checked(map, "r.example/app@" A_DIGEST, B_DIGEST));
    ck_assert(!map_checked(map, "r.example/app@" A_DIGEST, C_DIGEST));
    ck_assert(!map_checked(map, "r.example/other@" A_DIGEST, B_DIGEST));
    put("r.example/app@" A_DIGEST, B_DIGEST); /* the same again */
    ck_assert(map_checked(map, "r.example/app@" A_DIGEST, B_DIGEST));
    put("r.example/app@" A_DIGEST, C_DIGEST); /* another, which nobody has seen */
    ck_assert(!map_checked(map, "r.example/app@" A_DIGEST, C_DIGEST));
    map_set_checked(map, "r.example/app@" A_DIGEST, true);
    map_set_checked(map, "r.example/none@" A_DIGEST, true);
    map_free(map);
    open_map(); /* after a restart nothing was */
    ck_assert(!map_checked(map, "r.example/app@" A_DIGEST, C_DIGEST));
    ck_assert(!map_is_plain(map, "r.example/plain0@" A_DIGEST));
    for (unsigned i = 0; i <= MAP_ENTRIES_MAX; i++) {
        snprintf(key, sizeof(key), "r.example/plain%u@" A_DIGEST, i);
        map_add_plain(map, key);
        map_add_plain(map, key);
        ck_assert(map_is_plain(map, key));
    }
    ck_assert(!map_is_plain(map, "r.example/plain0@" A_DIGEST)); /* the oldest went */
    ck_assert(map_is_plain(map, "r.example/plain1@" A_DIGEST));
}
END_TEST

RUN_TESTS_IN("cri-proxy-map", make_directory, drop_directory, map_remembers, map_takes_no_nonsense,
             map_follows_no_link, map_passes_damage_over, map_is_bounded, map_keeps_indexes,
             map_takes_over_what_is_proved, map_keeps_what_it_cannot_take_over,
             map_knows_what_was_checked)
