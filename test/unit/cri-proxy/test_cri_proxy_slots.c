/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy/pinned/decide.c: registries that hang do not stop the pulls
 * of others. */
#include "test/unit/cri-proxy/cri_proxy_util.h"

#include <arpa/inet.h>

static struct slots slots;

static void *give_up(void *data)
{
    usleep(100000);
    __atomic_store_n((volatile int *)data, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* It does not come by a slot, until it gives up. */
static bool must_wait(const char *host)
{
    static volatile int gone;
    pthread_t giving_up;
    gone = 0;
    ck_assert_int_eq(pthread_create(&giving_up, NULL, give_up, (void *)(uintptr_t)&gone), 0);
    enum slot_given given = slots_take(&slots, host, &gone);
    pthread_join(giving_up, NULL);
    if (given == SLOT_TAKEN)
        slots_leave(&slots, host, false);
    return given == SLOT_CANCELLED;
}

static void take(const char *host)
{
    static const volatile int here = 0;
    ck_assert_int_eq(slots_take(&slots, host, &here), SLOT_TAKEN);
}

START_TEST(each_leaves_half_to_the_others)
{
    slots_init(&slots);
    for (unsigned i = 0; i < SLOTS_MAX / 2; i++)
        take("a.example");
    ck_assert(must_wait("a.example"));
    take("b.example");
    take("b.example");
    ck_assert(must_wait("b.example"));
    take("c.example");
    ck_assert(must_wait("c.example"));
    take("d.example"); /* the last one */
    ck_assert(must_wait("e.example"));
    slots_leave(&slots, "b.example", false);
    take("e.example");
    slots_destroy(&slots);
}
END_TEST

START_TEST(who_was_silent_is_not_asked)
{
    static const volatile int here = 0, gone = 1;
    slots_init(&slots);
    take("a.example");
    take("a.example");
    slots_leave(&slots, "a.example", true);
    ck_assert_int_eq(slots_take(&slots, "a.example", &here), SLOT_SILENT);
    ck_assert_int_eq(slots_take(&slots, "b.example", &here), SLOT_TAKEN);
    ck_assert_int_eq(slots_take(&slots, "b.example", &gone), SLOT_CANCELLED);
    slots_leave(&slots, "a.example", false); /* another one had an answer */
    take("a.example");
    for (unsigned i = 0; i < SLOTS_SILENT_MAX; i++) { /* and the oldest are forgotten */
        char host[32];
        snprintf(host, sizeof(host), "h%u.example", i);
        take(host);
        slots_leave(&slots, host, true);
        ck_assert_int_eq(slots_take(&slots, host, &here), SLOT_SILENT);
    }
    take("z.example");
    slots_leave(&slots, "z.example", true);
    ck_assert_int_eq(slots_take(&slots, "h0.example", &here), SLOT_TAKEN);
    slots_destroy(&slots);
}
END_TEST

#define DIGEST "@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define PULL "/runtime.v1.ImageService/PullImage"
#define HUNG 90

static struct client_side client;

static size_t request_of(const char *image, uint8_t *out)
{
    size_t n = strlen(image);
    out[5] = out[7] = 0x0a;
    out[6] = (uint8_t)(n + 2);
    out[8] = (uint8_t)n;
    memcpy(out + 9, image, n);
    grpc_frame(out, n + 4);
    return n + 9;
}

START_TEST(hung_pulls_leave_others_alone)
{
    static struct answer hung[HUNG];
    static uint8_t bytes[HUNG + 1][160];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    socklen_t size = sizeof(address);
    struct answer other = {0};
    char image[128];
    set_up();
    client_open(&client, front);
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(silent, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(silent, 64), 0);
    ck_assert_int_eq(getsockname(silent, (struct sockaddr *)&address, &size), 0);
    for (int i = 0; i < HUNG; i++) {
        snprintf(image, sizeof(image), "127.0.0.1:%u/app%d" DIGEST, ntohs(address.sin_port), i);
        client_start(&client, PULL, NULL, bytes[i], request_of(image, bytes[i]), &hung[i]);
    }
    struct pollfd asked = {.fd = silent, .events = POLLIN};
    CLIENT_UNTIL(&client, poll(&asked, 1, 0) == 1);
    /* nobody listens at port 1: it is passed on as it came, at once */
    size_t len = request_of("127.0.0.1:1/app" DIGEST, bytes[HUNG]);
    client_start(&client, PULL, NULL, bytes[HUNG], len, &other);
    CLIENT_UNTIL(&client, other.closed);
    ck_assert_str_eq(other.status, "0");
    ck_assert(!hung[HUNG - 1].closed); /* it waits for all before it */
    free(other.bytes);
    client_close(&client);
    close(silent);
    tear_down();
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("cri-proxy slots");
    TCase *tcase = tcase_create("slots");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, each_leaves_half_to_the_others);
    tcase_add_test(tcase, who_was_silent_is_not_asked);
    tcase_add_test(tcase, hung_pulls_leave_others_alone);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
