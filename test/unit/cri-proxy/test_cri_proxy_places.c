/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy/pinned/decide.c: registries that hang do not stop the pulls
 * of others. */
#include "test/unit/cri-proxy/cri_proxy_util.h"

#include <arpa/inet.h>

static struct places places;

static void *give_up(void *data)
{
    usleep(100000);
    __atomic_store_n((volatile int *)data, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* It does not come by a place, until it gives up. */
static bool must_wait(const char *host)
{
    static volatile int gone;
    pthread_t giving_up;
    gone = 0;
    ck_assert_int_eq(pthread_create(&giving_up, NULL, give_up, (void *)(uintptr_t)&gone), 0);
    enum place_given given = places_take(&places, host, &gone);
    pthread_join(giving_up, NULL);
    if (given == PLACE_TAKEN)
        places_leave(&places, host, false);
    return given == PLACE_CANCELLED;
}

static void take(const char *host)
{
    static const volatile int here = 0;
    ck_assert_int_eq(places_take(&places, host, &here), PLACE_TAKEN);
}

START_TEST(each_leaves_half_to_the_others)
{
    places_init(&places);
    for (unsigned i = 0; i < PLACES_MAX / 2; i++)
        take("a.example");
    ck_assert(must_wait("a.example"));
    take("b.example");
    take("b.example");
    ck_assert(must_wait("b.example"));
    take("c.example");
    ck_assert(must_wait("c.example"));
    take("d.example"); /* the last one */
    ck_assert(must_wait("e.example"));
    places_leave(&places, "b.example", false);
    take("e.example");
    places_destroy(&places);
}
END_TEST

START_TEST(who_was_silent_is_not_asked)
{
    static const volatile int here = 0, gone = 1;
    places_init(&places);
    take("a.example");
    take("a.example");
    places_leave(&places, "a.example", true);
    ck_assert_int_eq(places_take(&places, "a.example", &here), PLACE_SILENT);
    ck_assert_int_eq(places_take(&places, "b.example", &here), PLACE_TAKEN);
    ck_assert_int_eq(places_take(&places, "b.example", &gone), PLACE_CANCELLED);
    places_leave(&places, "a.example", false); /* another one had an answer */
    take("a.example");
    for (unsigned i = 0; i < PLACES_SILENT_MAX; i++) { /* and the oldest are forgotten */
        char host[32];
        snprintf(host, sizeof(host), "h%u.example", i);
        take(host);
        places_leave(&places, host, true);
        ck_assert_int_eq(places_take(&places, host, &here), PLACE_SILENT);
    }
    take("z.example");
    places_leave(&places, "z.example", true);
    ck_assert_int_eq(places_take(&places, "h0.example", &here), PLACE_TAKEN);
    places_destroy(&places);
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
    Suite *suite = suite_create("cri-proxy places");
    TCase *tcase = tcase_create("places");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, each_leaves_half_to_the_others);
    tcase_add_test(tcase, who_was_silent_is_not_asked);
    tcase_add_test(tcase, hung_pulls_leave_others_alone);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
