/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy: requests of the three methods that may get another image. */
#include "test/unit/cri-proxy/cri_proxy_client.h"

#include <netinet/in.h>

#define A_DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_DIGEST "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NAME "registry.example/team/app"

/* A framed ImageSpec request with a field of the future behind and inside. */
static size_t request(const char *image, uint8_t out[512])
{
    size_t n = strlen(image), at = 5;
    uint8_t *p = out + at;
    ck_assert_uint_lt(n, 200);
    *p++ = 1 << 3 | 2;
    *p++ = (uint8_t)((n + 8) | 0x80); /* two bytes, whatever the length */
    *p++ = (uint8_t)((n + 8) >> 7);
    memcpy(p, "\x52\x03new", 5); /* field 10 */
    p += 5;
    *p++ = 1 << 3 | 2;
    *p++ = (uint8_t)(n | 0x80);
    *p++ = (uint8_t)(n >> 7);
    memcpy(p, image, n);
    p += n;
    memcpy(p, "\x7a\x04more", 6); /* field 15 */
    p += 6;
    grpc_frame(out, (size_t)(p - out) - 5);
    return (size_t)(p - out);
}

static const char *service = "runtime.v1"; /* of the call */

static void expect_image(const char *method, const char *asked, const char *sent)
{
    uint8_t bytes[512], wanted[512];
    size_t len = request(asked, bytes), wanted_len = request(sent, wanted);
    char path[128];
    snprintf(path, sizeof(path), "/%s.ImageService/%s", service, method);
    client_call(&client, path, NULL, bytes, len, &a);
    ck_assert_str_eq(a.status, "0");
    if (strcmp(asked, sent) == 0) {
        expect("0", wanted, wanted_len);
        return;
    }
    struct wire_image image;
    ck_assert(wire_find_image(a.bytes + 5, a.len - 5, &image));
    ck_assert_uint_eq(image.inner_len, strlen(sent));
    ck_assert_mem_eq(a.bytes + 5 + image.inner_at, sent, image.inner_len);
    ck_assert_mem_eq(a.bytes + a.len - 6, "\x7a\x04more", 6);
    ck_assert_ptr_nonnull(memmem(a.bytes, a.len, "\x52\x03new", 5));
    free(a.bytes);
    a.bytes = NULL;
}

START_TEST(names)
{
    struct ocv_error err = {0};
    static const char *const methods[] = {"ImageStatus", "RemoveImage"};
    ck_assert_int_eq(state_put_pinned(proxy_state, NAME "@" A_DIGEST, B_DIGEST, NULL, 0, &err),
                     OCV_OK);
    for (size_t i = 0; i < 2; i++) {
        expect_image(methods[i], NAME "@" A_DIGEST, NAME "@" B_DIGEST);
        expect_image(methods[i], NAME ":tag@" A_DIGEST, NAME "@" B_DIGEST);
        expect_image(methods[i], NAME "@" B_DIGEST, NAME "@" B_DIGEST);
        expect_image(methods[i], NAME "2@" A_DIGEST, NAME "2@" A_DIGEST);
        expect_image(methods[i], NAME ":tag", NAME ":tag");
        expect_image(methods[i], A_DIGEST, A_DIGEST);
        expect_image(methods[i], "no reference @", "no reference @");
    }
    expect_image("ListImages", NAME "@" A_DIGEST, NAME "@" A_DIGEST);
    service = "runtime.v1alpha2"; /* of older kubelets */
    expect_image("ImageStatus", NAME "@" A_DIGEST, NAME "@" B_DIGEST);
    service = "other.v1";
    expect_image("ImageStatus", NAME "@" A_DIGEST, NAME "@" A_DIGEST);
    service = "runtime.v1";
    /* neither this registry nor a daemon exists */
    expect_image("PullImage", NAME ":tag", NAME ":tag");
    expect_image("PullImage", "127.0.0.1:1/app@" A_DIGEST, "127.0.0.1:1/app@" A_DIGEST);
}
END_TEST

/* A client may say how long its request is; then that is right of the other request, too. */
START_TEST(length_is_right)
{
    struct ocv_error err = {0};
    uint8_t bytes[512], wanted[512];
    char text[16], line[64];
    ck_assert_int_eq(
        state_put_pinned(proxy_state, "r.example:5000/a@" A_DIGEST, B_DIGEST, NULL, 0, &err),
        OCV_OK);
    size_t len = request("r.example:5000/a:a-long-tag@" A_DIGEST, bytes);
    size_t wanted_len = request("r.example:5000/a@" B_DIGEST, wanted);
    snprintf(text, sizeof(text), "%zu", len);
    const nghttp2_nv list[] = {text_nv(":method", "POST"), text_nv(":scheme", "http"),
                               text_nv(":path", "/runtime.v1.ImageService/ImageStatus"),
                               text_nv(":authority", "localhost"), text_nv("content-length", text)};
    nghttp2_data_provider body = {.read_callback = client_read};
    a = (struct answer){.request = bytes, .request_len = len};
    a.id = nghttp2_submit_request(client.session, NULL, list, 5, &body, &a);
    ck_assert_int_gt(a.id, 0);
    CLIENT_UNTIL(&client, a.closed);
    ck_assert_str_eq(a.status, "0");
    ck_assert_uint_le(a.len, wanted_len); /* lengths within it may take a byte less */
    snprintf(line, sizeof(line), "content-length: %zu\n", a.len);
    pthread_mutex_lock(&engine_headers_lock);
    ck_assert_msg(strstr(engine_headers, line), "%s not in %s", line, engine_headers);
    pthread_mutex_unlock(&engine_headers_lock);
    free(a.bytes);
    a.bytes = NULL;
}
END_TEST

/* Requests of every size and shape arrive as they were sent. */
START_TEST(sizes_and_shapes)
{
    static const size_t sizes[] = {1, 4, 5, 6, 70000, 2 * 1024 * 1024, GRPC_MESSAGE_MAX + 5};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        uint8_t *bytes = noise(sizes[i]);
        client_call(&client, "/runtime.v1.ImageService/ImageStatus", NULL, bytes, sizes[i], &a);
        expect("0", bytes, sizes[i]);
        free(bytes);
    }
    uint8_t *bytes = noise(GRPC_MESSAGE_MAX + 6);
    client_call(&client, "/late", NULL, bytes, GRPC_MESSAGE_MAX + 6, &a);
    expect("8", NULL, 0);
    free(bytes);
    client_call(&client, "/runtime.v1.ImageService/ImageStatus", NULL, "", 0, &a);
    expect("0", NULL, 0);
    client_call(&client, "/runtime.v1.ImageService/PullImage", NULL, NULL, 0, &a);
    expect("0", NULL, 0);
}
END_TEST

/* A pull that nobody waits for any more. */
START_TEST(pull_is_abandoned)
{
    uint8_t bytes[512];
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    socklen_t size = sizeof(address);
    char image[128];
    ck_assert_int_eq(bind(silent, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(silent, 8), 0);
    ck_assert_int_eq(getsockname(silent, (struct sockaddr *)&address, &size), 0);
    snprintf(image, sizeof(image), "127.0.0.1:%u/app@" A_DIGEST, ntohs(address.sin_port));
    size_t len = request(image, bytes);
    client_start(&client, "/runtime.v1.ImageService/PullImage", NULL, bytes, len, &a);
    struct pollfd asked = {.fd = silent, .events = POLLIN};
    CLIENT_UNTIL(&client, poll(&asked, 1, 0) == 1); /* a worker asks that registry */
    struct answer other = {0};
    client_call(&client, "/late", NULL, "y", 1, &other); /* and the loop does not wait */
    ck_assert_str_eq(other.status, "0");
    free(other.bytes);
    nghttp2_submit_rst_stream(client.session, 0, a.id, 8);
    CLIENT_UNTIL(&client, a.closed);
    client_call(&client, "/late", NULL, "z", 1, &a);
    expect("0", "z", 1);
    close(silent);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("cri_proxy_requests");
    TCase *calls = tcase_create("requests");
    tcase_add_checked_fixture(calls, open_client, close_client);
    tcase_set_timeout(calls, 300);
    tcase_add_test(calls, names);
    tcase_add_test(calls, length_is_right);
    tcase_add_test(calls, sizes_and_shapes);
    tcase_add_test(calls, pull_is_abandoned);
    suite_add_tcase(suite, calls);
    return run_suite(suite);
}
