/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/probe.c, files/sysroot.c: the profiles of recorded trees, and trees that are hostile.
 */
#include "lib/probe/host/host.h"
#include "test/unit/probe/profile_util.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void write_file(const char *path, const char *content, size_t len)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(content, 1, len, file), len);
    fclose(file);
}

static void write_text(const char *path, const char *content)
{
    write_file(path, content, strlen(content));
}

static void link_to(const char *target, const char *path)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    ck_assert_int_eq(symlink(target, full), 0);
}

static void make_root(void)
{
    snprintf(root, sizeof(root), "/tmp/ocv-probe.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

#define V2_FLAGS \
    "lm fpu cx8 cmov mmx fxsr sse sse2 cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2 avx512_vbmi"

START_TEST(recorded_tree)
{
    write_text("proc/cpuinfo", "processor : 0\nflags : " V2_FLAGS "\n");
    write_text("etc/hostname", "node-17\n");
    write_text("proc/sys/kernel/random/boot_id", "0c0b1a5e-0000-4000-8000-000000000000\n");
    struct ocv_probe_options options = {.sysroot = root};
    json_t *profile = probe_json(&options);
    json_t *ns = json_array_get(json_object_get(profile, "namespaces"), 0);
    json_t *want =
        json_pack("{s:s, s:s, s:s}", "os", "linux", "architecture", "amd64", "variant", "v2");
    ck_assert(json_equal(json_object_get(profile, "platform"), want));
    ck_assert_str_eq(string_at(profile, "hostname"), "node-17");
    ck_assert_str_eq(string_at(profile, "boot_id"), "0c0b1a5e-0000-4000-8000-000000000000");
    ck_assert_str_eq(string_at(json_object_get(ns, "provider"), "source"), "cpuinfo");
    char *features = json_dumps(json_object_get(ns, "features"), JSON_COMPACT);
    ck_assert_ptr_nonnull(strstr(features, "{\"name\":\"sse3\",\"values\":[\"on\"]}"));
    ck_assert_ptr_nonnull(strstr(features, "{\"name\":\"avx512vbmi\",\"values\":[\"on\"]}"));
    free(features);
    json_decref(want);
    json_decref(profile);
}
END_TEST

START_TEST(cpuid_stands_before_cpuinfo)
{
    write_text("proc/cpuinfo", "processor : 0\nflags : " V2_FLAGS "\n");
    write_text("etc/hostname", "node-17\n");
    struct ocv_probe_options options = {.sysroot = root, .cpuid = DATA "/full.v4.cpuid"};
    json_t *profile = probe_json(&options);
    ck_assert_str_eq(string_at(json_object_get(profile, "platform"), "variant"), "v4");
    ck_assert_str_eq(string_at(profile, "hostname"), "node-17");
    json_decref(profile);
}
END_TEST

START_TEST(empty_tree)
{
    struct ocv_probe_options options = {.sysroot = root};
    json_t *profile = probe_json(&options);
    ck_assert_ptr_null(json_object_get(profile, "platform"));
    ck_assert_ptr_null(json_object_get(profile, "hostname"));
    ck_assert_ptr_null(json_object_get(profile, "boot_id"));
    /* whatever else is looked for, no architecture's namespace is named */
    ck_assert_uint_eq(check_vocabulary(profile), 0);
    ck_assert_ptr_null(find_namespace(profile, "x86_64"));
    ck_assert_ptr_null(find_namespace(profile, "aarch64"));
    json_decref(profile);
}
END_TEST

START_TEST(missing_tree)
{
    struct ocv_error err = {0};
    ocv_auto_buffer buffer;
    ocv_buffer_init(&buffer, OCV_PROFILE_MAX);
    char path[128];
    snprintf(path, sizeof(path), "%s/no-such-directory", root);
    struct ocv_probe_options options = {.sysroot = path};
    ck_assert_int_eq(ocv_probe(&options, &buffer, &err), OCV_ERR_NOT_FOUND);
    write_text("file", "");
    snprintf(path, sizeof(path), "%s/file", root);
    ck_assert_int_eq(ocv_probe(&options, &buffer, &err), OCV_ERR_IO);
}
END_TEST

/* What each way to open must give, for a path of the hostile tree below. */
static const struct {
    const char *path, *content; /* content NULL: refused */
} openings[] = {
    {"real", "inside\n"},
    {"absolute", "inside\n"},   /* -> /real is the tree's own */
    {"upwards", "inside\n"},    /* -> ../../../../real cannot leave */
    {"dir/back", "inside\n"},   /* -> ../real */
    {"todir/back", "inside\n"}, /* through a link to a directory */
    {"a/../real", NULL},        /* a is not a directory that exists */
    {"dir/../real", "inside\n"},
    {"outside", NULL}, /* -> a file that exists outside only */
    {"loop", NULL},
    {"dangling", NULL},
    {"none/real", NULL},
};

static void make_hostile_tree(void)
{
    char outside[128];
    write_text("real", "inside\n");
    write_text("dir/file", "");
    link_to("/real", "absolute");
    link_to("../../../../real", "upwards");
    link_to("../real", "dir/back");
    link_to("/dir/", "todir");
    link_to("loop", "loop");
    link_to("nowhere", "dangling");
    snprintf(outside, sizeof(outside), "%s-outside", root);
    FILE *file = fopen(outside, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    link_to(outside, "outside");
}

static void check_opening(int fd, const char *path, const char *content)
{
    char got[64] = "";
    ck_assert_msg((fd >= 0) == (content != NULL), "%s", path);
    if (fd < 0)
        return;
    ck_assert_int_ge((int)read(fd, got, sizeof(got) - 1), 0);
    ck_assert_str_eq(got, content);
    close(fd);
}

START_TEST(nothing_leaves_the_root)
{
    char outside[128];
    int fd;
    make_hostile_tree();
    ck_assert_int_eq(ocv_sysroot_open(root, &fd, NULL), 0);
    for (size_t i = 0; i < sizeof(openings) / sizeof(*openings); i++) {
        const char *path = openings[i].path;
        check_opening(ocv_sysroot_openat(fd, path, O_RDONLY), path, openings[i].content);
        check_opening(ocv_sysroot_walk(fd, path, O_RDONLY), path, openings[i].content);
    }
    close(fd);
    snprintf(outside, sizeof(outside), "%s-outside", root);
    ck_assert_int_eq(unlink(outside), 0);
}
END_TEST

START_TEST(odd_files_are_refused_or_bounded)
{
    char path[128], line[16];
    int fd;
    ocv_auto_buffer buffer;
    ocv_buffer_init(&buffer, 8);
    ck_assert_int_eq(ocv_sysroot_open(root, &fd, NULL), 0);
    snprintf(path, sizeof(path), "%s/fifo", root);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(ocv_sysroot_read(fd, "fifo", &buffer, NULL), OCV_ERR_IO);
    ck_assert_int_eq(ocv_sysroot_read(fd, ".", &buffer, NULL), OCV_ERR_IO);
    ck_assert_int_eq(ocv_sysroot_read(fd, "none", &buffer, NULL), OCV_ERR_NOT_FOUND);
    write_text("eight", "12345678");
    ck_assert_int_eq(ocv_sysroot_read(fd, "eight", &buffer, NULL), OCV_OK);
    ck_assert_uint_eq(buffer.len, 8);
    ocv_buffer_free(&buffer);
    write_text("nine", "123456789");
    ck_assert_int_eq(ocv_sysroot_read(fd, "nine", &buffer, NULL), OCV_ERR_DATA);

    write_text("plain", "  word \t\nsecond\n");
    ck_assert(ocv_sysroot_line(fd, "plain", line, sizeof(line)));
    ck_assert_str_eq(line, "word");
    write_file("nul", "a\0b\n", 4);
    write_text("escape", "a\033[31m\n");
    write_text("long", "1234567890123456\n");
    write_text("blank", " \n");
    static const char *const bad[] = {"nul", "escape", "long", "blank", "fifo", "none"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!ocv_sysroot_line(fd, bad[i], line, sizeof(line)), "%s", bad[i]);
    close(fd);
}
END_TEST

START_TEST(hostile_cpuinfo)
{
    struct ocv_probe_options options = {.sysroot = root};
    write_file("proc/cpuinfo", "flags : lm\0 sse\n:\nflags", 23);
    json_decref(probe_json(&options));
    link_to("/dev/zero", "etc");
    json_decref(probe_json(&options));
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("probe_tree");
    TCase *tree = tcase_create("tree");
    tcase_add_checked_fixture(tree, make_root, remove_root);
    tcase_add_test(tree, recorded_tree);
    tcase_add_test(tree, cpuid_stands_before_cpuinfo);
    tcase_add_test(tree, empty_tree);
    tcase_add_test(tree, missing_tree);
    tcase_add_test(tree, nothing_leaves_the_root);
    tcase_add_test(tree, odd_files_are_refused_or_bounded);
    tcase_add_test(tree, hostile_cpuinfo);
    suite_add_tcase(suite, tree);
    return run_suite(suite);
}
