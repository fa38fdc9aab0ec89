/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mirror's address: nobody else gets it while one daemon ends and the next one starts. */
#include "cmd/common/daemons.h"
#include "cmd/variantd/common/settings.h"
#include "cmd/variantd/http/httpd.h"
#include "lib/base/file.h"
#include "lib/base/format/span.h"

#include "test/unit/core_util.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define TRIES 200 /* of the intruder, for each byte that it tells us */

static struct ocv_error err;

static struct sockaddr_in loopback(unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int dial(unsigned port)
{
    struct sockaddr_in to = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* On a port that is asked for by its number: one that the system chose is not held. */
static struct listening listen_on_free(char address[32])
{
    struct listening listening;
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_int_eq(listen_tcp("127.0.0.1:0", -1, &listening, &err), OCV_OK);
        snprintf(address, 32, "127.0.0.1:%u", listening.port);
        close(listening.fd);
        if (listen_tcp(address, -1, &listening, &err) == OCV_OK)
            return listening;
    }
    ck_abort_msg("no port is free: %s", err.message);
    return listening;
}

/* Another user where we can make one; tells of every TRIES attempts, and of success by "!". */
static void intrude(unsigned port, int tell)
{
    struct sockaddr_in at = loopback(port);
    if (geteuid() == 0 && setuid(NOBODY) < 0)
        _exit(1);
    for (unsigned n = 1;; n++) {
        int one = n % 2 == 0, fd = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        bool has = bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
        close(fd);
        if (has ? write(tell, "!", 1) != 1 : n % TRIES == 0 && write(tell, ".", 1) != 1)
            _exit(1);
    }
}

static pid_t start_intruder(unsigned port, int *hear)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        intrude(port, ends[1]);
    close(ends[1]);
    *hear = ends[0];
    return pid;
}

/* True if it has tried for a while without success. */
static void check_in_vain(int hear)
{
    for (unsigned i = 0; i < 10; i++) {
        char word = 0;
        ck_assert_int_eq(read(hear, &word, 1), 1);
        ck_assert_int_eq(word, '.');
    }
}

START_TEST(nobody_else_gets_the_address)
{
    char address[32];
    int hear, hold = -1;
    struct listening first = listen_on_free(address), next;
    unsigned port = first.port;
    int slow = dial(port); /* a reader that the drain waits for */
    ck_assert_int_ge(slow, 0);
    pid_t intruder = start_intruder(port, &hear);
    check_in_vain(hear);
    listen_hold(first.fd);
    ck_assert_int_lt(dial(port), 0);
    ck_assert_int_eq(errno, ECONNREFUSED);
    check_in_vain(hear);
    hold = dup(first.fd); /* what the service manager has */
    close(first.fd);      /* the daemon has ended */
    close(slow);
    check_in_vain(hear);
    ck_assert_msg(listen_tcp(address, hold, &next, &err) == OCV_OK, "%s", err.message);
    ck_assert_uint_eq(next.port, port);
    slow = dial(port);
    ck_assert_int_ge(slow, 0);
    check_in_vain(hear);
    kill(intruder, SIGKILL);
    waitpid(intruder, NULL, 0);
    close(hear);
    close(slow);
    close(next.fd);
}
END_TEST

static int accept_from(int listener)
{
    int accepted = -1;
    while ((accepted = accept(listener, NULL, NULL)) < 0)
        ck_assert_int_eq(errno, EAGAIN);
    return accepted;
}

/* What waits for its end after we closed first is in the way of listen(2), even of the socket that
 * was kept. `reuse`: of the connection. */
static void check_kept(int reuse)
{
    char address[32];
    struct listening first = listen_on_free(address), next;
    setsockopt(first.fd, SOL_SOCKET, SO_REUSEPORT, &reuse, sizeof(reuse));
    int client = dial(first.port);
    int accepted = accept_from(first.fd);
    listen_hold(first.fd);
    close(accepted);
    close(client);
    ck_assert_msg(listen_tcp(address, first.fd, &next, &err) == OCV_OK, "%s", err.message);
    client = dial(next.port);
    ck_assert_int_ge(client, 0);
    close(client);
    close(next.fd);
}

START_TEST(a_kept_socket_listens_over_connections_that_we_ended)
{
    check_kept(1);
}
END_TEST

START_TEST(so_it_does_over_connections_of_an_earlier_version)
{
    check_kept(0);
}
END_TEST

/* Somebody listens there already: it cannot be ours while that is so, but is later. */
START_TEST(a_kept_socket_stays_open_if_it_cannot_listen)
{
    char address[32];
    struct listening first = listen_on_free(address), next;
    int one = 1, other = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = loopback(first.port);
    setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    shutdown(first.fd, SHUT_RD); /* and keeps SO_REUSEADDR */
    ck_assert_int_eq(bind(other, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(other, 1), 0);
    ck_assert_int_eq(listen_tcp(address, first.fd, &next, &err), OCV_ERR_IO);
    close(other);
    ck_assert_int_eq(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&at, sizeof(at)), -1);
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert_msg(listen_tcp(address, first.fd, &next, &err) == OCV_OK, "%s", err.message);
    close(next.fd);
}
END_TEST

/* Without one who keeps the socket: connections of before wait for their end for a minute. */
START_TEST(a_restart_binds_at_once)
{
    char address[32];
    struct listening first = listen_on_free(address), next;
    int client = dial(first.port), accepted = accept_from(first.fd);
    listen_hold(first.fd);
    close(accepted); /* our end closes first */
    close(client);
    close(first.fd);
    ck_assert_msg(listen_tcp(address, -1, &next, &err) == OCV_OK, "%s", err.message);
    close(next.fd);
}
END_TEST

/* A machine may have another default for the network; sockets of clients are as the listener is. */
START_TEST(loopback_is_sent_to_at_once)
{
    struct listening listening;
    char name[16] = "";
    socklen_t len = sizeof(name);
    ck_assert_int_eq(listen_tcp("127.0.0.1:0", -1, &listening, &err), OCV_OK);
    int client = dial(listening.port), served = -1;
    while ((served = accept(listening.fd, NULL, NULL)) < 0 && errno == EAGAIN)
        usleep(1000);
    ck_assert_int_ge(served, 0);
    ck_assert_int_eq(getsockopt(served, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
    ck_assert_str_eq(name, "reno");
    close(served);
    close(client);
    close(listening.fd);
}
END_TEST

START_TEST(what_was_kept_for_another_address_is_closed)
{
    struct listening first, next;
    ck_assert_int_eq(listen_tcp("127.0.0.1:0", -1, &first, &err), OCV_OK);
    listen_hold(first.fd);
    int other = dup(first.fd);
    ck_assert_int_eq(listen_tcp("127.0.0.2:0", first.fd, &next, &err), OCV_OK);
    ck_assert_int_ne(next.fd, other);
    ck_assert_str_eq(next.address, "127.0.0.2:0");
    int client = dial(next.port); /* that is 127.0.0.1 */
    ck_assert_int_lt(client, 0);
    close(other);
    close(next.fd);
}
END_TEST

static void check_found(const char *address, const char *asked)
{
    struct listening listening;
    struct listener who;
    struct sockaddr_storage where;
    struct stat st;
    socklen_t len;
    char text[64];
    if (listen_tcp(address, -1, &listening, &err) < 0) {
        printf("skipped: no %s here\n", address);
        return;
    }
    snprintf(text, sizeof(text), "%s:%u", asked, listening.port);
    ck_assert(ocv_address_parse(text, &where, &len));
    ck_assert(listener_find(&where, &who));
    ck_assert_uint_eq(who.uid, geteuid());
    ck_assert_int_eq(fstat(listening.fd, &st), 0);
    ck_assert_uint_eq(who.inode, st.st_ino);
    close(listening.fd);
    ck_assert(!listener_find(&where, &who));
}

START_TEST(the_kernel_tells_who_listens)
{
    check_found("127.0.0.1:0", "127.0.0.1");
    check_found("0.0.0.0:0", "127.0.0.1");
    check_found("[::]:0", "127.0.0.1");
    check_found("[::ffff:127.0.0.1]:0", "127.0.0.1");
    check_found("[::ffff:0.0.0.0]:0", "127.0.0.1");
    check_found("[::1]:0", "[::1]");
    check_found("[::]:0", "[::1]");
}
END_TEST

START_TEST(whoever_is_in_our_place_is_named)
{
    struct listening first, next;
    char address[32], user[32];
    ck_assert_int_eq(listen_tcp("127.0.0.1:0", -1, &first, &err), OCV_OK);
    snprintf(address, sizeof(address), "127.0.0.1:%u", first.port);
    snprintf(user, sizeof(user), "of user %u listens", (unsigned)geteuid());
    ck_assert_int_eq(listen_tcp(address, -1, &next, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, address));
    ck_assert_ptr_nonnull(strstr(err.hint, user));
    close(first.fd);
}
END_TEST

/* In a process of its own, without the right to a low port. */
static int try_as_nobody(const char *yaml)
{
    struct listening mirror;
    struct ocv_config *config = NULL;
    struct settings *settings = NULL;
    const struct settings_flags flags = {.once = true};
    if (geteuid() == 0 && setuid(NOBODY) < 0)
        return 77;
    if (ocv_config_new(&config, &err) < 0 ||
        ocv_config_merge_yaml(config, "f.yaml", yaml, strlen(yaml), &err) < 0 ||
        settings_make(config, &flags, &settings, &err) < 0)
        return 2;
    int status = listen_mirror(settings, -1, &mirror, &err);
    if (status == OCV_OK)
        return strcmp(mirror.address, OCV_LISTEN_UNPRIVILEGED) == 0 ? 0 : 3;
    return strstr(err.message, OCV_LISTEN_UNPRIVILEGED) ? 0 : 4; /* somebody has it */
}

START_TEST(without_the_right_another_default)
{
    int status = 0;
    unsigned from = 1024;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
    if (file && fscanf(file, "%u", &from) == 1 && from < 1024) {
        printf("skipped: here every user may have low ports\n");
    } else {
        for (int configured = 0; configured < 2; configured++) {
            pid_t pid = fork();
            ck_assert_int_ge(pid, 0);
            if (pid == 0) /* who names a port gets that one or none */
                _exit(try_as_nobody(configured ? "listen: 127.0.0.1:7\n" : ""));
            ck_assert_int_eq(waitpid(pid, &status, 0), pid);
            ck_assert(WIFEXITED(status));
            ck_assert_int_eq(WEXITSTATUS(status), configured ? 4 : 0);
        }
    }
    if (file)
        fclose(file);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("variantd listen");
    TCase *tcase = tcase_create("listen");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, nobody_else_gets_the_address);
    tcase_add_test(tcase, a_kept_socket_listens_over_connections_that_we_ended);
    tcase_add_test(tcase, so_it_does_over_connections_of_an_earlier_version);
    tcase_add_test(tcase, a_kept_socket_stays_open_if_it_cannot_listen);
    tcase_add_test(tcase, a_restart_binds_at_once);
    tcase_add_test(tcase, loopback_is_sent_to_at_once);
    tcase_add_test(tcase, what_was_kept_for_another_address_is_closed);
    tcase_add_test(tcase, the_kernel_tells_who_listens);
    tcase_add_test(tcase, whoever_is_in_our_place_is_named);
    tcase_add_test(tcase, without_the_right_another_default);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
