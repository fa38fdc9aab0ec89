/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy: names in requests, credentials, and the map on disk. */
#include "plugins/containerd/cri-proxy/decide.h"
#include "test/unit/core_util.h"

#include <sys/stat.h>
#include <unistd.h>

#define A_DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_DIGEST "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C_DIGEST "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static struct ocv_error err;

/* ---- requests ----------------------------------------------------------------------------------
 */

static void expect_edit(const void *in, size_t len, const char *name, const char *new_name,
                        const void *out, size_t out_len)
{
    struct wire_image image;
    ocv_auto_buffer edited;
    ocv_buffer_init(&edited, 4096);
    ck_assert(wire_find_image(in, len, &image));
    ck_assert_uint_eq(image.inner_len, strlen(name));
    ck_assert_mem_eq((const char *)in + image.inner_at, name, image.inner_len);
    ck_assert_int_eq(wire_replace_image(in, len, &image, new_name, &edited, &err), OCV_OK);
    ck_assert_uint_eq(edited.len, out_len);
    ck_assert_mem_eq(edited.data, out, out_len);
}
#define EXPECT_EDIT(in, name, new_name, out) \
    expect_edit(in, sizeof(in) - 1, name, new_name, out, sizeof(out) - 1)

START_TEST(edits)
{
    EXPECT_EDIT("\x0a\x05\x0a\x03"
                "old",
                "old", "newer",
                "\x0a\x07\x0a\x05"
                "newer");
    /* fields around it stay, in their order, known or not */
    EXPECT_EDIT("\x78\x05\x0a\x0a\x52\x01z\x0a\x03old\x20\x01\x12\x02\x0a\x00\x7d\x01\x02\x03\x04",
                "old", "n",
                "\x78\x05\x0a\x08\x52\x01z\x0a\x01n\x20\x01\x12\x02\x0a\x00\x7d\x01\x02\x03\x04");
    /* of several the last counts, as readers merge messages */
    EXPECT_EDIT("\x0a\x03\x0a\x01"
                "a"
                "\x0a\x06\x0a\x01"
                "b\x0a\x01"
                "c"
                "\x0a\x02\x52\x00",
                "c", "dd",
                "\x0a\x03\x0a\x01"
                "a"
                "\x0a\x07\x0a\x01"
                "b\x0a\x02"
                "dd"
                "\x0a\x02\x52\x00");
    EXPECT_EDIT("\x0a\x02\x0a\x00", "", "x", "\x0a\x03\x0a\x01x");
    /* lengths that take another byte */
    char in[200] = "\x0a\x7f\x0a\x7d", out[200] = "\x0a\x81\x01\x0a\x7f", name[126], longer[128];
    memset(name, 'a', 125);
    name[125] = '\0';
    memset(longer, 'b', 127);
    longer[127] = '\0';
    memcpy(in + 4, name, 125);
    memcpy(out + 5, longer, 127);
    expect_edit(in, 129, name, longer, out, 132);
}
END_TEST

START_TEST(no_image)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        {"", 0},
        {"\x0a", 1},
        {"\x0a\x05\x0a\x03ol", 6},        /* cut */
        {"\x0a\x03\x0a\x03old", 7},       /* the inner one is longer than the outer */
        {"\x0a\x00", 2},                  /* an empty one */
        {"\x0a\x02\x08\x01", 4},          /* a number */
        {"\x08\x01", 2},                  /* a number where the message should be */
        {"\x0a\x03\x0a\x01x\x0b\x0c", 7}, /* a group */
        {"\x0a\x03\x0a\x01x\x02\x00", 7}, /* field 0 */
        {"\x0a\x03\x0a\x01x\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 16}, /* past 64 bits */
        {"\x0a\x03\x0a\x01x\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 16}, /* 2^64 - 1 */
        {"\x0a\x03\x0a\x01x\x21\x00", 7}, /* 8 bytes that are not there */
    };
    struct wire_image image;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!wire_find_image((const uint8_t *)bad[i].bytes, bad[i].len, &image),
                      "request %zu", i);
}
END_TEST

START_TEST(too_many_fields)
{
    size_t n = WIRE_FIELDS_MAX - 1;
    uint8_t *bytes = malloc(2 * n + 10);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < n + 1; i++)
        memcpy(bytes + 2 * i, "\x78\x01", 2);
    struct wire_image image;
    memcpy(bytes + 2 * n, "\x0a\x03\x0a\x01x", 5);
    ck_assert(wire_find_image(bytes, 2 * n + 5, &image));
    memcpy(bytes + 2 * n, "\x78\x01\x0a\x03\x0a\x01x", 7);
    ck_assert(!wire_find_image(bytes, 2 * n + 7, &image));
    free(bytes);
}
END_TEST

START_TEST(reads_credentials)
{
    struct wire_auth auth;
    const char bytes[] = "\x0a\x03\x0a\x01x\x12\x1c\x0a\x01u\x12\x01p\x1a\x01"
                         "a\x22\x01s\x2a\x01i\x32\x01r\x0a\x02vv\x3a\x00\x1a\x00\x12\x00";
    ck_assert_int_eq(wire_read_auth((const uint8_t *)bytes, sizeof(bytes) - 1, &auth, &err),
                     OCV_OK);
    ck_assert_str_eq(auth.username, "vv"); /* the last one */
    ck_assert_ptr_null(auth.password);     /* which is empty */
    ck_assert_ptr_null(auth.auth);
    ck_assert_str_eq(auth.server_address, "s");
    ck_assert_str_eq(auth.identity_token, "i");
    ck_assert_str_eq(auth.registry_token, "r");
    wire_auth_free(&auth);
    ck_assert_int_eq(wire_read_auth((const uint8_t *)"\x0a\x00", 2, &auth, &err), OCV_OK);
    ck_assert_ptr_null(auth.username);
    ck_assert_int_eq(wire_read_auth((const uint8_t *)"\x12\x03\x0a\x01\x00", 5, &auth, &err),
                     OCV_ERR_DATA);
    ck_assert_int_eq(wire_read_auth((const uint8_t *)"\x12\x03\x0a\x02u", 5, &auth, &err),
                     OCV_ERR_DATA);
}
END_TEST

/* ---- references and credentials ----------------------------------------------------------------
 */

START_TEST(references)
{
    static const struct {
        const char *text, *key, *rewritten; /* key NULL: not ours */
    } cases[] = {
        {"r.example/app@" A_DIGEST, "r.example/app@" A_DIGEST, "r.example/app@" B_DIGEST},
        {"r.example:5000/a/b:1.2@" A_DIGEST, "r.example:5000/a/b@" A_DIGEST,
         "r.example:5000/a/b@" B_DIGEST},
        {"r.example:5000/a@" A_DIGEST, "r.example:5000/a@" A_DIGEST, "r.example:5000/a@" B_DIGEST},
        /* a short name stays short: which registry it means is the engine's to say */
        {"alpine@" A_DIGEST, "docker.io/library/alpine@" A_DIGEST, "alpine@" B_DIGEST},
        {"alpine:3@" A_DIGEST, "docker.io/library/alpine@" A_DIGEST, "alpine@" B_DIGEST},
        {"index.docker.io/u/app@" A_DIGEST, "docker.io/u/app@" A_DIGEST,
         "index.docker.io/u/app@" B_DIGEST},
        {"alpine", NULL, NULL},
        {"alpine:3", NULL, NULL},
        {A_DIGEST, NULL, NULL},
        {"@" A_DIGEST, NULL, NULL},
        {"app@sha256:abc", NULL, NULL},
        {"app@md5:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL, NULL},
        {"App@" A_DIGEST, NULL, NULL},
        {"app@" A_DIGEST "@" A_DIGEST, NULL, NULL},
        {"app@" A_DIGEST " ", NULL, NULL},
        {"", NULL, NULL},
    };
    char text[PINNED_TEXT_MAX];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ocv_auto(ocv_reference) reference = pinned_parse(cases[i].text, strlen(cases[i].text));
        ck_assert_msg(!reference == !cases[i].key, "%s", cases[i].text);
        if (!reference)
            continue;
        ck_assert(pinned_key(reference, text));
        ck_assert_str_eq(text, cases[i].key);
        ck_assert(pinned_rewrite(cases[i].text, strlen(cases[i].text), B_DIGEST, text));
        ck_assert_str_eq(text, cases[i].rewritten);
    }
    ck_assert_ptr_null(pinned_parse("a\0@" A_DIGEST, 3 + strlen(A_DIGEST)));
}
END_TEST

static void expect_credentials(struct wire_auth given, const char *host, const char *username,
                               const char *password)
{
    struct wire_auth auth = {0};
    auth.username = given.username ? strdup(given.username) : NULL;
    auth.password = given.password ? strdup(given.password) : NULL;
    auth.auth = given.auth ? strdup(given.auth) : NULL;
    auth.server_address = given.server_address ? strdup(given.server_address) : NULL;
    ck_assert_int_eq(pinned_credentials(&auth, host, &err), OCV_OK);
    ck_assert_pstr_eq(auth.username, username);
    ck_assert_pstr_eq(auth.password, password);
    wire_auth_free(&auth);
}

#define TEXT(text) ((char *)(uintptr_t)(text))

START_TEST(whose_credentials)
{
    struct wire_auth given = {.username = TEXT("u"), .password = TEXT("p")};
    expect_credentials((struct wire_auth){0}, "r.example", NULL, NULL);
    expect_credentials(given, "r.example", "u", "p");
    static const char *const same[] = {"r.example:5000", "https://r.example:5000",
                                       "http://R.example:5000/v2/"};
    static const char *const other[] = {"r.example", "https://r.example:5001", "other.example:5000",
                                        "https://r.example:5000.other.example/", "https://"};
    static const char *const hub[] = {"docker.io", "https://index.docker.io/v1/",
                                      "registry-1.docker.io"};
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        given.server_address = TEXT(same[i]);
        expect_credentials(given, "r.example:5000", "u", "p");
        expect_credentials(given, "docker.io", NULL, NULL);
    }
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
        given.server_address = TEXT(other[i]);
        expect_credentials(given, "r.example:5000", NULL, NULL);
    }
    for (size_t i = 0; i < sizeof(hub) / sizeof(*hub); i++) {
        given.server_address = TEXT(hub[i]);
        expect_credentials(given, "docker.io", "u", "p");
        expect_credentials(given, "r.example:5000", NULL, NULL);
    }
    /* "user:pass:word" */
    expect_credentials((struct wire_auth){.auth = TEXT("dXNlcjpwYXNzOndvcmQ=")}, "r", "user",
                       "pass:word");
    struct wire_auth bad = {.auth = strdup("!")}, plain = {.auth = strdup("dXNlcg==")};
    ck_assert_int_eq(pinned_credentials(&bad, "r", &err), OCV_ERR_DATA);
    ck_assert_int_eq(pinned_credentials(&plain, "r", &err), OCV_ERR_DATA);
    wire_auth_free(&bad);
    wire_auth_free(&plain);
}
END_TEST

/* ---- the map -----------------------------------------------------------------------------------
 */

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
    ck_assert(!map_find(map, "r.example/app@" A_DIGEST, child));
    put("r.example/app@" A_DIGEST, B_DIGEST);
    put("r.example/other@" A_DIGEST, C_DIGEST);
    for (int round = 0; round < 2; round++) {
        ck_assert(map_find(map, "r.example/app@" A_DIGEST, child));
        ck_assert_str_eq(child, B_DIGEST);
        ck_assert(map_find(map, "r.example/other@" A_DIGEST, child));
        ck_assert_str_eq(child, C_DIGEST);
        ck_assert(!map_find(map, "r.example/app@" B_DIGEST, child));
        ck_assert(map_rewrite(map, "r.example/app:1@" A_DIGEST, 16 + strlen(A_DIGEST), text));
        ck_assert_str_eq(text, "r.example/app@" B_DIGEST);
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

int main(void)
{
    Suite *suite = suite_create("cri-proxy-parts");
    TCase *text = tcase_create("text"), *disk = tcase_create("map");
    tcase_add_test(text, edits);
    tcase_add_test(text, no_image);
    tcase_add_test(text, too_many_fields);
    tcase_add_test(text, reads_credentials);
    tcase_add_test(text, references);
    tcase_add_test(text, whose_credentials);
    suite_add_tcase(suite, text);
    tcase_add_checked_fixture(disk, make_directory, drop_directory);
    tcase_set_timeout(disk, 60);
    tcase_add_test(disk, map_remembers);
    tcase_add_test(disk, map_takes_no_nonsense);
    tcase_add_test(disk, map_follows_no_link);
    tcase_add_test(disk, map_passes_damage_over);
    tcase_add_test(disk, map_is_bounded);
    tcase_add_test(disk, map_keeps_indexes);
    tcase_add_test(disk, map_takes_over_what_is_proved);
    tcase_add_test(disk, map_keeps_what_it_cannot_take_over);
    tcase_add_test(disk, map_knows_what_was_checked);
    suite_add_tcase(suite, disk);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
