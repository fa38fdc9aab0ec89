/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/layout/blob_writer.c in trouble: hostile names and links, writers that are killed or wait, no
 * room. */
#include "test/unit/layout/blob_util.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

START_TEST(names_never_become_paths)
{
    static const char *const bad[] = {
        "sha256:../../x",
        "sha256:../../../../../../../../../../../../../../../../../../../../../etc/passwd",
        "../sha256:" ZEROS,
        "sha256:/" ZEROS,
        "sha256:ABCDEF0000000000000000000000000000000000000000000000000000000000",
        "sha256:" ZEROS "0",
        "md5:d41d8cd98f00b204e9800998ecf8427e",
        "",
    };
    struct ocv_layout *layout = open_layout("l");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ocv_blob_writer *writer;
        int64_t offset;
        bool present;
        int fd;
        refuses(ocv_blob_writer_open(layout, bad[i], 1, &writer, &offset, &present, &err),
                OCV_ERR_DATA);
        refuses(ocv_layout_open_blob(layout, bad[i], &fd, NULL, &err), OCV_ERR_DATA);
        ck_assert(!ocv_layout_has_blob(layout, bad[i], -1));
    }
    ocv_layout_free(layout);
}
END_TEST

START_TEST(links_lead_nowhere)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer;
    int64_t offset;
    bool present;
    write_text(at("victim"), "precious");
    ck_assert_int_eq(symlink(at("victim"), partial("l")), 0);
    refuses(ocv_blob_writer_open(layout, digest, 9, &writer, &offset, &present, &err), OCV_ERR_IO);
    unlink(partial("l"));
    ck_assert_int_eq(link(at("victim"), partial("l")), 0);
    refuses(ocv_blob_writer_open(layout, digest, 9, &writer, &offset, &present, &err),
            OCV_ERR_DATA);
    unlink(partial("l"));
    ck_assert_int_eq(mkfifo(partial("l"), 0600), 0);
    refuses(ocv_blob_writer_open(layout, digest, 9, &writer, &offset, &present, &err),
            OCV_ERR_DATA);
    unlink(partial("l"));
    /* blobs/sha256 leads out of the layout */
    ck_assert_int_eq(mkdir(at("elsewhere"), 0755), 0);
    ck_assert_int_eq(rmdir(at("l/blobs/sha256")), 0);
    ck_assert_int_eq(symlink(at("elsewhere"), at("l/blobs/sha256")), 0);
    writer = open_writer(layout, 0);
    need(ocv_blob_writer_write(writer, bytes, SIZE, &err));
    refuses(ocv_blob_writer_commit(writer, &err), OCV_ERR_IO);
    char any[OCV_DIGEST_MAX] = "";
    refuses(ocv_layout_write_blob(layout, "x", 1, any, &err), OCV_ERR_IO);
    ck_assert_int_eq(rmdir(at("elsewhere")), 0); /* still empty */
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

/* A child writes `n` bytes, says so, and hangs until it is killed. */
static pid_t start_and_hang(size_t from, size_t n)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct ocv_layout *layout = open_layout("l");
        struct ocv_blob_writer *writer;
        int64_t offset;
        bool present;
        if (ocv_blob_writer_open(layout, digest, (int64_t)SIZE, &writer, &offset, &present, NULL) ||
            offset > (int64_t)from || ocv_blob_writer_write(writer, bytes + offset, n, NULL))
            _exit(1);
        (void)!write(ends[1], "r", 1);
        for (;;)
            pause();
    }
    close(ends[1]);
    char c;
    ck_assert_int_eq(read(ends[0], &c, 1), 1);
    close(ends[0]);
    return pid;
}

START_TEST(killed_writers_are_resumed)
{
    make_content();
    ocv_layout_free(open_layout("l"));
    int64_t offset = 0;
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer;
    bool present;
    for (int i = 0; i < 2; i++) {
        pid_t pid = start_and_hang((size_t)offset, 2 * 1024 * 1024 + 512 * 1024 + 5);
        bool busy;
        need(ocv_blob_writer_try_open(layout, digest, (int64_t)SIZE, &writer, &offset, &present,
                                      &busy, &err));
        ck_assert(busy);
        ck_assert_ptr_null(writer);
        int status;
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSIGNALED(status));
        ck_assert(!ocv_layout_has_blob(layout, digest, -1));
        struct stat st;
        ck_assert_int_eq(stat(partial("l"), &st), 0);
        /* at most the ring is lost */
        ck_assert_int_ge(st.st_size, offset + 512 * 1024);
        offset = st.st_size;
    }
    struct ocv_layout *reader;
    need(ocv_layout_open(at("l"), OCV_LAYOUT_READ, &reader, &err));
    ocv_layout_free(reader);
    finish_blob(layout, offset);
}
END_TEST

START_TEST(second_writer_waits_and_finds_the_blob)
{
    make_content();
    enum { WRITERS = 6 };
    pid_t pids[WRITERS];
    int gate[2]; /* children start before this process has threads, and wait for the lock to be held
                  */
    ck_assert_int_eq(pipe(gate), 0);
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        ck_assert_int_ge(pids[i], 0);
        if (pids[i])
            continue;
        char c;
        close(gate[1]);
        (void)!read(gate[0], &c, 1);
        struct ocv_layout *own = open_layout("l");
        struct ocv_blob_writer *second;
        int64_t offset;
        bool present;
        if (ocv_blob_writer_open(own, digest, (int64_t)SIZE, &second, &offset, &present, NULL))
            _exit(1);
        if (present)
            _exit(2);
        /* only after the first one gave up: go on where it stopped */
        if (ocv_blob_writer_write(second, bytes + offset, SIZE - (size_t)offset, NULL) ||
            ocv_blob_writer_commit(second, NULL))
            _exit(3);
        _exit(0);
    }
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    close(gate[0]);
    close(gate[1]);
    need(ocv_blob_writer_write(writer, bytes, 600000, &err));
    usleep(20000);
    for (int i = 0; i < WRITERS; i++)
        ck_assert_int_eq(waitpid(pids[i], NULL, WNOHANG), 0); /* all wait */
    ocv_blob_writer_close(writer);
    int wrote = 0;
    int found = 0;
    for (int i = 0; i < WRITERS; i++) {
        int status;
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert(WIFEXITED(status));
        wrote += WEXITSTATUS(status) == 0;
        found += WEXITSTATUS(status) == 2;
    }
    ck_assert_int_eq(wrote, 1);
    ck_assert_int_eq(found, WRITERS - 1);
    check_blob(layout);
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

static void do_nothing(int signal)
{
    (void)signal;
}

START_TEST(a_signal_ends_the_wait)
{
    make_content();
    ocv_layout_free(open_layout("l"));
    pid_t holder = start_and_hang(0, 10);
    struct sigaction action = {.sa_handler = do_nothing}; /* no SA_RESTART */
    sigaction(SIGALRM, &action, NULL);
    struct ocv_layout *layout = open_layout("l");
    struct ocv_blob_writer *writer;
    int64_t offset;
    bool present;
    ualarm(50000, 50000);
    refuses(ocv_blob_writer_open(layout, digest, (int64_t)SIZE, &writer, &offset, &present, &err),
            OCV_ERR_INTERRUPTED);
    ualarm(0, 0);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

/* Fill what there is; the error comes at a later write or at commit and names the reason. */
static int write_until_it_fails(struct ocv_layout *layout)
{
    struct ocv_blob_writer *writer = open_writer(layout, 0);
    int status = OCV_OK;
    for (size_t done = 0; status == OCV_OK && done < SIZE;) {
        size_t n = SIZE - done < 65536 ? SIZE - done : 65536;
        status = ocv_blob_writer_write(writer, bytes + done, n, &err);
        done += n;
    }
    if (status == OCV_OK)
        return ocv_blob_writer_commit(writer, &err);
    ocv_blob_writer_close(writer);
    return status;
}

START_TEST(file_size_limit)
{
    make_content();
    struct ocv_layout *layout = open_layout("l");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    struct rlimit small = {1000000, limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    int status = write_until_it_fails(layout);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(status, OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, strerror(EFBIG)));
    /* the prefix is kept and completed once there is room */
    struct stat st;
    ck_assert_int_eq(stat(partial("l"), &st), 0);
    ck_assert_int_eq(st.st_size, 1000000);
    finish_blob(layout, 1000000);
}
END_TEST

START_TEST(full_disk)
{
    make_content();
    ck_assert_int_eq(mkdir(at("small"), 0755), 0);
    if (mount("none", at("small"), "tmpfs", 0, "size=2m") < 0) {
        printf("skipped: full_disk: cannot mount a tmpfs: %s\n", strerror(errno));
        free(bytes);
        return;
    }
    struct ocv_layout *layout = open_layout("small/l");
    int status = write_until_it_fails(layout);
    ck_assert_int_eq(status, OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, strerror(ENOSPC)));
    ck_assert_ptr_nonnull(strstr(err.message, at("small/l")));
    char any[OCV_DIGEST_MAX] = "";
    refuses(ocv_layout_write_blob(layout, bytes, 1000000, any, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, strerror(ENOSPC)));
    struct ocv_layout *reader;
    need(ocv_layout_open(at("small/l"), OCV_LAYOUT_READ, &reader, &err));
    ocv_layout_free(reader);
    ocv_layout_free(layout);
    umount(at("small"));
    free(bytes);
}
END_TEST

RUN_SUITE("blob_writer_trouble", names_never_become_paths, links_lead_nowhere,
          killed_writers_are_resumed, second_writer_waits_and_finds_the_blob,
          a_signal_ends_the_wait, file_size_limit, full_disk)
