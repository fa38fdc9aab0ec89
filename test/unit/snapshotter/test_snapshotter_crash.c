/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kill -9 before and after every single system call of what changes snapshots: the next process
 * finds all of the change or nothing of it, every row has its directory, and after its start no
 * directory is without row. Every tenth call, unless OCV_THOROUGH=1. */
#include "plugins/containerd/snapshotter/overlay/overlay.h"
#include "test/unit/suite.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOPS_MAX 20000 /* a change that needs more does not end */

static char top[64];

struct store {
    struct snap_meta *meta;
    struct snap_overlay *overlay;
};

static struct store store_open(const char *root, bool overlay)
{
    struct store s = {.meta = NULL};
    struct ocv_error err = {0};
    char path[128];
    snprintf(path, sizeof(path), "%s/metadata.db", root);
    ck_assert_msg(snap_meta_open(path, &s.meta, &err) == OCV_OK, "%s", err.message);
    if (overlay)
        ck_assert_msg(snap_overlay_open(root, false, s.meta, NULL, &s.overlay, &err) == OCV_OK,
                      "%s", err.message);
    return s;
}

static void store_close(struct store *s)
{
    snap_overlay_free(s->overlay);
    snap_meta_close(s->meta);
}

static void in_shell(const char *format, ...) OCV_PRINTF(1, 2);
static void in_shell(const char *format, ...)
{
    char command[512];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    ck_assert_int_eq(system(command), 0);
}

static enum grpc_code make(struct store *s, enum snap_kind kind, const char *key,
                           const char *parent)
{
    struct snap_mount mount = {0};
    struct ocv_buffer labels;
    snap_labels_init(&labels);
    enum grpc_code code = snap_labels_set(&labels, "x", "1", NULL);
    if (code == GRPC_OK)
        code = snap_overlay_create(s->overlay, kind, key, parent, &labels, &mount, NULL);
    snap_mount_free(&mount);
    ocv_buffer_free(&labels);
    return code;
}

static enum grpc_code finish(struct store *s, const char *name, const char *key)
{
    struct ocv_buffer labels;
    snap_labels_init(&labels);
    return snap_overlay_commit(s->overlay, name, key, "", &labels, NULL, NULL);
}

static enum grpc_code do_prepare(struct store *s)
{
    return make(s, SNAP_ACTIVE, "new", "base");
}

static enum grpc_code do_view(struct store *s)
{
    return make(s, SNAP_VIEW, "look", "base");
}

static enum grpc_code do_commit(struct store *s)
{
    return finish(s, "done", "work");
}

static enum grpc_code do_remove(struct store *s)
{
    return snap_overlay_remove(s->overlay, "old", NULL);
}

static enum grpc_code do_cleanup(struct store *s)
{
    return snap_overlay_cleanup(s->overlay, NULL);
}

static enum grpc_code do_update(struct store *s)
{
    struct snap_info info;
    struct ocv_buffer labels;
    snap_labels_init(&labels);
    enum grpc_code code = snap_labels_set(&labels, "y", "2", NULL);
    if (code == GRPC_OK)
        code = snap_meta_update(s->meta, "base", &labels, NULL, 0, &info, NULL);
    if (code == GRPC_OK)
        snap_info_free(&info);
    ocv_buffer_free(&labels);
    return code;
}

struct found {
    char root[64];
    char text[2048]; /* "name<parent kind labels\n" ... */
    size_t rows;
};

static int describe_row(void *data, const struct snap_info *info)
{
    struct found *f = data;
    char path[256];
    static const char *const directories[] = {"fs", "work"};
    for (int i = 0; i < (info->kind == SNAP_ACTIVE ? 2 : 1); i++) {
        snprintf(path, sizeof(path), "%s/snapshots/%" PRId64 "/%s", f->root, info->id,
                 directories[i]);
        ck_assert_msg(access(path, F_OK) == 0, "%s has no %s", info->name, directories[i]);
    }
    size_t at = strlen(f->text);
    at += (size_t)snprintf(f->text + at, sizeof(f->text) - at, "%s<%s %d %" PRId64, info->name,
                           info->parent, (int)info->kind, info->inodes);
    const char *key, *value;
    for (size_t i = 0; snap_labels_next(&info->labels, &i, &key, &value);)
        at += (size_t)snprintf(f->text + at, sizeof(f->text) - at, " %s=%s", key, value);
    snprintf(f->text + at, sizeof(f->text) - at, "\n");
    f->rows++;
    return 0;
}

static size_t count_directories(const char *root)
{
    char path[128];
    size_t n = 0;
    snprintf(path, sizeof(path), "%s/snapshots", root);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void look(const char *root, struct found *f)
{
    size_t n;
    *f = (struct found){.rows = 0};
    snprintf(f->root, sizeof(f->root), "%s", root);
    struct store s =
        store_open(root, false); /* before anything is mended: each row has its directory */
    ck_assert_int_eq(snap_meta_page(s.meta, 0, &n, describe_row, f, NULL), GRPC_OK);
    store_close(&s);
    s = store_open(root, true); /* as the next process starts */
    store_close(&s);
    ck_assert_msg(count_directories(root) == f->rows, "%zu directories of %zu snapshots:\n%s",
                  count_directories(root), f->rows, f->text);
}

/* With an orphan at hand. No change: the start is what is killed. */
static void child(const char *root, enum grpc_code (*change)(struct store *s))
{
    struct store s = {.meta = NULL};
    enum grpc_code code = GRPC_OK;
    if (change)
        s = store_open(root, true);
    in_shell("mkdir -p %s/snapshots/4711/fs/x && touch %s/snapshots/4711/fs/f", root, root);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(77);
    raise(SIGSTOP);
    if (change)
        code = change(&s);
    else
        s = store_open(root, true);
    _exit(code == GRPC_OK ? 0 : 1);
}

/* Let the change run up to its stop number `stop` (each call has two) and kill it there. -1: it had
 * ended before; -2: nothing can be traced here. */
static int killed_at(const char *root, enum grpc_code (*change)(struct store *s), int stop)
{
    int status = 0;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        child(root, change);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        return WEXITSTATUS(status) == 77 ? -2 : -3;
    ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL), 0);
    for (int i = 0; i < stop; i++) {
        ck_assert_int_eq(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status)) {
            ck_assert_int_eq(WEXITSTATUS(status), 0);
            return -1;
        }
        ck_assert_msg(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, "status %x", status);
    }
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? 0 : -3;
}

/* "base" committed, "work" active on it, and "old" with some depth, to be removed. */
static void make_template(const char *root)
{
    struct store s = store_open(root, true);
    ck_assert_int_eq(make(&s, SNAP_ACTIVE, "b", ""), GRPC_OK);
    ck_assert_int_eq(finish(&s, "base", "b"), GRPC_OK);
    ck_assert_int_eq(make(&s, SNAP_ACTIVE, "work", "base"), GRPC_OK);
    ck_assert_int_eq(make(&s, SNAP_ACTIVE, "old", ""), GRPC_OK);
    store_close(&s);
    in_shell("cd %s/snapshots && mkdir -p 3/fs/a/b && touch 3/fs/f 3/fs/a/g 2/fs/h", root);
}

/* The change, killed at each of its stops, is there as a whole or not at all; run to its end, it is
 * there. Stop n of one run need not be stop n of another: an allocator asks when it likes. */
static void kill_at_every_stop(enum grpc_code (*change)(struct store *s), bool changes)
{
    char template[64], root[64], before[2048] = "", after[2048] = "";
    struct found found;
    int result = 0;
    snprintf(template, sizeof(template), "%.40s/template", top);
    snprintf(root, sizeof(root), "%.40s/root", top);
    in_shell("rm -rf %s && mkdir %s", template, template);
    make_template(template);
    for (int stop = 0; result == 0; stop += tenth()) {
        ck_assert_int_lt(stop, STOPS_MAX);
        in_shell("rm -rf %s && cp -a %s %s", root, template, root);
        result = killed_at(root, change, stop);
        if (result == -2) {
            puts("skipped: no process may trace another here");
            return;
        }
        look(root, &found);
        if (stop == 0)
            memcpy(before, found.text, sizeof(before));
        else if (!*after && strcmp(found.text, before) != 0)
            memcpy(after, found.text, sizeof(after));
        ck_assert_msg(!strcmp(found.text, before) || !strcmp(found.text, after),
                      "stop %d, neither all nor nothing:\n%s", stop, found.text);
        ck_assert(result == 0 || stop > 4);
    }
    ck_assert_int_eq(result, -1);
    ck_assert_int_eq(*after != '\0', changes);
    ck_assert_str_eq(found.text, changes ? after : before);
}

static void opened(void)
{
    /* in memory: a disk would be asked to keep thousands of copies safe */
    snprintf(top, sizeof(top), "%s/ocv-crash-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    ck_assert_ptr_nonnull(mkdtemp(top));
}

static void closed(void)
{
    in_shell("rm -rf %s", top);
}

START_TEST(test_prepare)
{
    kill_at_every_stop(do_prepare, true);
}
END_TEST

START_TEST(test_view)
{
    kill_at_every_stop(do_view, true);
}
END_TEST

START_TEST(test_commit)
{
    kill_at_every_stop(do_commit, true);
}
END_TEST

START_TEST(test_remove)
{
    kill_at_every_stop(do_remove, true);
}
END_TEST

START_TEST(test_update)
{
    kill_at_every_stop(do_update, true);
}
END_TEST

START_TEST(test_cleanup)
{
    kill_at_every_stop(do_cleanup, false);
}
END_TEST

START_TEST(test_start)
{
    kill_at_every_stop(NULL, false);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("snapshotter_crash");
    TCase *tcase = tcase_create("crash");
    tcase_set_timeout(tcase, 300);
    tcase_add_unchecked_fixture(tcase, opened, closed); /* run also after a failure */
    tcase_add_test(tcase, test_prepare);
    tcase_add_test(tcase, test_view);
    tcase_add_test(tcase, test_commit);
    tcase_add_test(tcase, test_remove);
    tcase_add_test(tcase, test_update);
    tcase_add_test(tcase, test_cleanup);
    tcase_add_test(tcase, test_start);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
