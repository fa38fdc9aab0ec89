/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A registry that speaks HTTP/2 and sends only frames that carry no answer, as fast as it can:
 * libcurl would read them forever without checking its time limits. */
#include "test/unit/suite.h"

#include <arpa/inet.h>
#include <ocivariant.h>
#include <ocivariant/registry.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* RFC 9113, 4.1: length 24, type 8, flags 8, stream 32 */
#define SETTINGS "\0\0\0\x04\0\0\0\0\0"
#define PING_ACK "\0\0\x08\x06\x01\0\0\0\0abcdefgh"
#define NO_SUCH_TYPE "\0\0\0\xaa\0\0\0\0\0"

static const unsigned char h2[] = "\x02h2";

static int take_h2(SSL *ssl, const unsigned char **out, unsigned char *len,
                   const unsigned char *offered, unsigned n, void *data)
{
    (void)ssl, (void)data;
    return SSL_select_next_proto((unsigned char **)(uintptr_t)out, len, h2, sizeof(h2) - 1, offered,
                                 n) == OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    if (!X509_sign(cert, key, EVP_sha256()) || SSL_CTX_use_certificate(context, cert) != 1 ||
        SSL_CTX_use_PrivateKey(context, key) != 1)
        _exit(1);
    SSL_CTX_set_alpn_select_cb(context, take_h2, NULL);
    return context;
}

static void flood(int listener, const char *frame, size_t len)
{
    static char frames[64 * 1024];
    SSL_CTX *context = make_context();
    size_t n = 0;
    for (; n + len <= sizeof(frames); n += len)
        memcpy(frames + n, frame, len);
    for (;;) {
        SSL *ssl = SSL_new(context);
        int fd = accept(listener, NULL, NULL);
        SSL_set_fd(ssl, fd);
        if (SSL_accept(ssl) == 1 && SSL_write(ssl, SETTINGS, sizeof(SETTINGS) - 1) > 0)
            while (SSL_write(ssl, frames, (int)n) > 0)
                ;
        SSL_free(ssl);
        close(fd);
    }
}

static pid_t start_flood(const char *frame, size_t len, char *host, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(bind(listener, (struct sockaddr *)&address, length) == 0);
    ck_assert(listen(listener, 4) == 0);
    ck_assert(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    snprintf(host, size, "127.0.0.1:%u", ntohs(address.sin_port));
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        flood(listener, frame, len);
    }
    close(listener);
    return pid;
}

static void ask(const char *frame, size_t len)
{
    char host[40], text[80];
    pid_t pid = start_flood(frame, len, host, sizeof(host));
    const char *const insecure[] = {host};
    struct ocv_registry_options options = {.insecure = insecure,
                                           .n_insecure = 1,
                                           .retries = OCV_RETRIES_NONE,
                                           .document_timeout_ms = 500,
                                           .anonymous = true};
    struct ocv_registry *registry;
    struct ocv_reference *reference;
    struct ocv_descriptor found;
    struct ocv_error err;
    snprintf(text, sizeof(text), "%s/app:1", host);
    ck_assert_int_eq(ocv_reference_parse(text, &reference, &err), OCV_OK);
    ck_assert_int_eq(ocv_registry_new(&options, &registry, &err), OCV_OK);
    ck_assert_int_eq(ocv_registry_head(registry, reference, &found, &err), OCV_ERR_NETWORK);
    ck_assert_ptr_nonnull(strstr(err.message, host));
    ocv_registry_free(registry);
    ocv_reference_free(reference);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

START_TEST(test_frames_of_no_known_type)
{
    ask(NO_SUCH_TYPE, sizeof(NO_SUCH_TYPE) - 1);
}
END_TEST

START_TEST(test_answers_to_no_ping)
{
    ask(PING_ACK, sizeof(PING_ACK) - 1);
}
END_TEST

RUN_TESTS("registry_flood", test_frames_of_no_known_type, test_answers_to_no_ping)
