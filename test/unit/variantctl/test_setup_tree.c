/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of a set-up below a root: what they keep, and that nothing leads a writing out of it. */
#include "cmd/variantctl/setup/setup_internal.h"

#include "test/unit/core_util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static char directory[64];
static struct setup setup;
static struct ocv_error err;

/* Use a file system in memory if there is one: every write is synced. */
static void make_directory(void)
{
    snprintf(directory, sizeof(directory), "%s/ocv-setup-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    setup = (struct setup){.engine = "containerd", .root = strdup(""), .root_fd = -1};
    ocv_buffer_init(&setup.notes, SETUP_FILE_MAX);
}

static void drop_directory(void)
{
    char command[128];
    setup_free(&setup);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

static void content_of(struct setup_content *content, const char *text)
{
    *content = (struct setup_content){.there = true};
    content->meta = (struct setup_meta){.mode = 0600, .uid = geteuid(), .gid = getegid()};
    ocv_buffer_init(&content->text, SETUP_FILE_MAX);
    ck_assert_int_eq(ocv_buffer_append(&content->text, text, strlen(text), NULL), OCV_OK);
}

static void write_text(const char *path, const char *text)
{
    struct setup_content content;
    content_of(&content, text);
    ck_assert_msg(setup_write_file(&setup, path, &content, false, &err) == OCV_OK, "%s",
                  err.message);
    ocv_buffer_free(&content.text);
}

static void check_text(const char *path, const char *text)
{
    ocv_auto_buffer read;
    ocv_buffer_init(&read, SETUP_FILE_MAX);
    ck_assert_msg(setup_read_file(&setup, path, &read, &err) == OCV_OK, "%s", err.message);
    ck_assert_str_eq(read.data, text);
}

/* user::rw-, user:1:rw-, group::---, mask::rw-, other::---: the mode alone would admit the group */
static const unsigned char access_list[] = {
    2, 0, 0,    0,    1,    0,    6,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,    6,
    0, 1, 0,    0,    0,    4,    0,    0, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
    6, 0, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0,    0,    0xff, 0xff, 0xff, 0xff};

START_TEST(what_a_file_has_beside_its_bytes_stays)
{
    char disk[] = "/tmp/ocv-setup-XXXXXX", path[128], value[64];
    struct setup_content content;
    ck_assert_ptr_nonnull(mkdtemp(disk));
    snprintf(path, sizeof(path), "%s/daemon.json", disk);
    content_of(&content, "{}\n");
    ck_assert_int_eq(setup_open_root(&setup) < 0, 0);
    ck_assert_int_eq(setup_write_file(&setup, path, &content, false, &err), OCV_OK);
    if (setxattr(path, "user.note", "mine", 4, 0) < 0 ||
        setxattr(path, "system.posix_acl_access", access_list, sizeof(access_list), 0) < 0) {
        printf("skipped: no attributes of files in /tmp: %s\n", strerror(errno));
    } else {
        content.meta.mode = 0660; /* as stat tells it: the mask */
        ck_assert_int_eq(setup_write_file(&setup, path, &content, false, &err), OCV_OK);
        ck_assert_int_eq(getxattr(path, "user.note", value, sizeof(value)), 4);
        ck_assert_mem_eq(value, "mine", 4);
        ck_assert_int_eq(getxattr(path, "system.posix_acl_access", value, sizeof(value)),
                         sizeof(access_list));
        ck_assert_mem_eq(value, access_list, sizeof(access_list));
    }
    ocv_buffer_free(&content.text);
    unlink(path);
    rmdir(disk);
}
END_TEST

static struct setup_file *open_planned(const char *path)
{
    struct setup_file *file = NULL;
    setup_reset_plan(&setup);
    ck_assert_msg(setup_open(&setup, path, &file, &err) == OCV_OK, "%s", err.message);
    return file;
}

START_TEST(hard_links_stay)
{
    char path[128], other[128], whole[128];
    struct stat a, b;
    ck_assert_int_ge(setup_open_root(&setup), 0);
    snprintf(path, sizeof(path), "%s/config.toml", directory);
    snprintf(other, sizeof(other), "%s/other", directory);
    snprintf(whole, sizeof(whole), "%s/.config.toml.ocivariant-whole", directory);
    write_text(path, "before, and longer\n");
    ck_assert_int_eq(link(path, other), 0);
    write_text(path, "after\n");
    check_text(other, "after\n");
    ck_assert_int_eq(stat(path, &a) | stat(other, &b), 0);
    ck_assert_uint_eq(a.st_ino, b.st_ino);
    ck_assert_int_lt(access(whole, F_OK), 0);
    /* cut off in the middle: what was meant is there, and counts */
    FILE *f = fopen(path, "w");
    ck_assert(f && fputs("aft", f) >= 0 && fclose(f) == 0);
    f = fopen(whole, "w");
    ck_assert(f && fputs("after\n", f) >= 0 && fclose(f) == 0);
    const struct setup_file *file = open_planned(path);
    ck_assert_str_eq(file->disk.text.data, "after\n");
    ck_assert(setup_changes(file)); /* it has to be written again, with nothing else to do */
    write_text(path, "after\n");
    check_text(other, "after\n");
    ck_assert(!setup_changes(open_planned(path)));
    ck_assert_int_lt(access(whole, F_OK), 0);
}
END_TEST

/* Below a root another name may lie outside of it. */
START_TEST(below_a_root_other_names_keep_what_they_are)
{
    char outside[128], inside[128];
    free(setup.root);
    ck_assert_int_gt(asprintf(&setup.root, "%s/tree", directory), 0);
    snprintf(outside, sizeof(outside), "%s/outside", directory);
    snprintf(inside, sizeof(inside), "%s/tree/inside", directory);
    ck_assert_int_eq(mkdir(setup.root, 0755), 0);
    FILE *f = fopen(outside, "w");
    ck_assert(f && fputs("theirs\n", f) >= 0 && fclose(f) == 0);
    ck_assert_int_eq(link(outside, inside), 0);
    ck_assert_int_ge(setup_open_root(&setup), 0);
    write_text("/inside", "ours\n");
    check_text("/inside", "ours\n");
    f = fopen(outside, "r");
    char line[16] = "";
    ck_assert(f && fgets(line, sizeof(line), f) && fclose(f) == 0);
    ck_assert_str_eq(line, "theirs\n");
}
END_TEST

#define RUNS 10000

static atomic_bool over;
static char here[128], there[128];

/* The directory and a link that leads out of the tree change places as fast as they can. */
static void *exchange(void *data)
{
    (void)data;
    while (!atomic_load(&over))
        syscall(SYS_renameat2, AT_FDCWD, here, AT_FDCWD, there, RENAME_EXCHANGE);
    return NULL;
}

static int set_up(unsigned run)
{
    static const char *const paths[] = {"/etc/containerd/config.toml",
                                        "/etc/containerd/certs.d/_default/hosts.toml"};
    char text[32];
    int status = OCV_OK;
    setup_reset_plan(&setup);
    for (size_t i = 0; i < 2 && status == OCV_OK; i++) {
        struct setup_file *file = NULL;
        snprintf(text, sizeof(text), "# %u\n", run);
        status = setup_open(&setup, paths[i], &file, &err);
        if (status == OCV_OK)
            status = setup_want(file, text, strlen(text), &err);
    }
    if (status == OCV_OK)
        status = setup_apply(&setup, &err);
    setup_remove_directories(&setup);
    while (setup.n_directories)
        free(setup.directories[--setup.n_directories]);
    return status;
}

START_TEST(an_exchange_leads_nothing_out_of_the_root)
{
    char outside[128], command[512];
    struct stat st;
    pthread_t thread;
    free(setup.root);
    ck_assert_int_gt(asprintf(&setup.root, "%s/tree", directory), 0);
    setup.state_dir = strdup("/var/lib/ocivariant-setup");
    snprintf(outside, sizeof(outside), "%s/outside", directory);
    snprintf(here, sizeof(here), "%s/tree/etc/containerd", directory);
    snprintf(there, sizeof(there), "%s/tree/etc/link", directory);
    snprintf(command, sizeof(command), "mkdir -p %s %s/tree/var/lib %s && ln -s %s %s", here,
             directory, outside, outside, there);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_ge(setup_open_root(&setup), 0);
    int out = dup(STDOUT_FILENO); /* it says what it has written */
    fflush(stdout);
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
    ck_assert_int_eq(pthread_create(&thread, NULL, exchange, NULL), 0);
    for (unsigned i = 0; i < RUNS; i++)
        set_up(i);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    /* How many runs met the link is the scheduler's choice; with the directory in its place one
     * works.
     */
    ck_assert_int_eq(lstat(here, &st), 0);
    if (S_ISLNK(st.st_mode))
        ck_assert_int_eq(syscall(SYS_renameat2, AT_FDCWD, here, AT_FDCWD, there, RENAME_EXCHANGE),
                         0);
    int status = set_up(RUNS);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    snprintf(command, sizeof(command), "test -z \"$(find %s -mindepth 1)\"", outside);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* The last moment at which somebody can remove what was found. */
static const char *removed;

ssize_t readlink(const char *path, char *out, size_t size)
{
    if (removed)
        ck_assert_int_eq(rmdir(removed), 0);
    removed = NULL;
    return (ssize_t)syscall(SYS_readlinkat, AT_FDCWD, path, out, size);
}

/* Another run's --uninstall removes the directory of the state: "ocivariant-setup (deleted)" is
 * none. */
START_TEST(what_is_removed_meanwhile_has_no_other_name)
{
    char path[128], command[256], *real = NULL;
    free(setup.root);
    ck_assert_int_gt(asprintf(&setup.root, "%s/tree", directory), 0);
    snprintf(path, sizeof(path), "%s/tree/var/lib/ocivariant-setup", directory);
    snprintf(command, sizeof(command), "mkdir -p %s", path);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_ge(setup_open_root(&setup), 0);
    removed = path;
    ck_assert_int_eq(setup_resolve(&setup, "/var/lib/ocivariant-setup", &real, &err), OCV_OK);
    ck_assert_ptr_null(removed);
    ck_assert_str_eq(real, "/var/lib/ocivariant-setup");
    free(real);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("setup_tree");
    TCase *tcase = tcase_create("tree");
    tcase_add_checked_fixture(tcase, make_directory, drop_directory);
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, what_a_file_has_beside_its_bytes_stays);
    tcase_add_test(tcase, hard_links_stay);
    tcase_add_test(tcase, below_a_root_other_names_keep_what_they_are);
    tcase_add_test(tcase, an_exchange_leads_nothing_out_of_the_root);
    tcase_add_test(tcase, what_is_removed_meanwhile_has_no_other_name);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
