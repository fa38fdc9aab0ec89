/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets with a path: what is replaced and what is not, modes, limits. */
#include "lib/base/system/unix_socket.h"
#include "test/unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static void set_up(void)
{
    snprintf(directory, sizeof(directory), "/tmp/unix-socket-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    ck_assert_int_eq(system(command), 0);
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

START_TEST(listens_with_its_mode)
{
    struct stat st;
    struct ocv_error err = {0};
    int listener, client, server;
    mode_t before = umask(077);
    int status = ocv_unix_listen(path_of("s"), 0666, 0, &listener, &err);
    umask(before);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    ck_assert_int_eq(stat(path_of("s"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0666);
    ck_assert(fcntl(listener, F_GETFL) & O_NONBLOCK);
    ck_assert(fcntl(listener, F_GETFD) & FD_CLOEXEC);
    ck_assert_int_eq(ocv_unix_connect(path_of("s"), 0, &client, &err), OCV_OK);
    ck_assert(!(fcntl(client, F_GETFL) & O_NONBLOCK));
    ck_assert(fcntl(client, F_GETFD) & FD_CLOEXEC);
    ck_assert_int_ge(server = accept(listener, NULL, NULL), 0);
    close(server);
    close(client);
    close(listener);
}
END_TEST

START_TEST(makes_directories)
{
    struct stat st;
    struct ocv_error err = {0};
    int listener;
    ck_assert_msg(ocv_unix_listen(path_of("a/b/s"), 0600, 0700, &listener, &err) == OCV_OK, "%s",
                  err.message);
    ck_assert_int_eq(stat(path_of("a/b"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    close(listener);
    /* where none can be made */
    ck_assert_int_eq(ocv_unix_listen("/proc/none/s", 0600, 0, &listener, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "cannot listen on /proc/none/s: "));
    ck_assert_int_eq(listener, -1);
}
END_TEST

START_TEST(replaces_what_nobody_answers)
{
    struct ocv_error err = {0};
    int first, second;
    ck_assert_int_eq(ocv_unix_listen(path_of("s"), 0600, 0, &first, &err), OCV_OK);
    ck_assert_int_eq(ocv_unix_listen(path_of("s"), 0600, 0, &second, &err), OCV_ERR_IO);
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(err.message, "Address already in use"));
    close(first);
    ck_assert_int_eq(ocv_unix_connect(path_of("s"), 0, &second, &err), OCV_ERR_NETWORK);
    ck_assert_int_eq(errno, ECONNREFUSED);
    ck_assert_int_eq(ocv_unix_listen(path_of("s"), 0600, 0, &second, &err), OCV_OK);
    close(second);
}
END_TEST

/* A socket with a full backlog is in use, and keeps a client waiting as long as the client allows.
 */
START_TEST(full_backlog_is_in_use)
{
    struct ocv_error err = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int waiting, other, fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path_of("s"));
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 0), 0);
    ck_assert_int_eq(ocv_unix_connect(path_of("s"), 1, &waiting, &err), OCV_OK);
    ck_assert_int_eq(ocv_unix_connect(path_of("s"), 1, &other, &err), OCV_ERR_NETWORK);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(ocv_unix_listen(path_of("s"), 0600, 0, &other, &err), OCV_ERR_IO);
    ck_assert_int_eq(errno, EADDRINUSE);
    close(waiting);
    close(fd);
}
END_TEST

START_TEST(keeps_what_is_no_socket)
{
    struct stat st;
    struct ocv_error err = {0};
    int fd = open(path_of("file"), O_CREAT | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(ocv_unix_listen(path_of("file"), 0600, 0, &fd, &err), OCV_ERR_IO);
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert_int_eq(stat(path_of("file"), &st), 0);
    ck_assert(S_ISREG(st.st_mode));
}
END_TEST

START_TEST(path_has_a_limit)
{
    struct ocv_error err = {0};
    char path[OCV_UNIX_PATH_MAX + 2];
    int fd, client;
    snprintf(path, sizeof(path), "%s/", directory);
    memset(path + strlen(path), 'x', sizeof(path) - strlen(path));
    path[OCV_UNIX_PATH_MAX + 1] = '\0';
    ck_assert_int_eq(ocv_unix_listen(path, 0600, 0, &fd, &err), OCV_ERR_CONFIG);
    ck_assert_int_eq(ocv_unix_connect(path, 0, &client, &err), OCV_ERR_INVALID);
    ck_assert_int_eq(client, -1);
    path[OCV_UNIX_PATH_MAX] = '\0';
    ck_assert_int_eq(ocv_unix_listen(path, 0600, 0, &fd, &err), OCV_OK);
    ck_assert_int_eq(ocv_unix_connect(path, 0, &client, &err), OCV_OK);
    close(client);
    close(fd);
}
END_TEST

START_TEST(connects_to_a_name_without_a_file)
{
    struct ocv_error err = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    int client, fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int len = snprintf(name, sizeof(name), "@%s", directory);
    memcpy(address.sun_path + 1, name + 1, (size_t)len - 1);
    socklen_t size = (socklen_t)(sizeof(address.sun_family) + (size_t)len);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_msg(ocv_unix_connect(name, 0, &client, &err) == OCV_OK, "%s", err.message);
    close(client);
    close(fd);
}
END_TEST

RUN_TESTS_IN("unix_socket", set_up, tear_down, listens_with_its_mode, makes_directories,
             replaces_what_nobody_answers, full_backlog_is_in_use, keeps_what_is_no_socket,
             path_has_a_limit, connects_to_a_name_without_a_file)
