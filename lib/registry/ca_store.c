/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Certificate authorities that several clients share. libcurl reads a bundle of some 140
 * certificates again for every connection, which costs milliseconds and a megabyte each; a store
 * that is read once and counted costs neither. Only where libcurl speaks TLS by OpenSSL. */
#include "lib/registry/registry_internal.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STORES_MAX 64 /* different sets of authorities; past it each client reads its own */

struct ca_entry {
    struct ca_entry *next;
    char digest[OCV_DIGEST_MAX]; /* of the PEM text */
    X509_STORE *store;
};

struct ocv_ca_store {
    pthread_mutex_t lock;
    struct ca_entry *entries;
    size_t n;
};

int ocv_ca_store_new(struct ocv_ca_store **out, struct ocv_error *err)
{
    struct ocv_ca_store *ca_store = calloc(1, sizeof(*ca_store));
    if (!ca_store)
        return ocv_error_nomem(err);
    pthread_mutex_init(&ca_store->lock, NULL);
    *out = ca_store;
    return OCV_OK;
}

void ocv_ca_store_free(struct ocv_ca_store *ca_store)
{
    if (!ca_store)
        return;
    while (ca_store->entries) {
        struct ca_entry *entry = ca_store->entries;
        ca_store->entries = entry->next;
        X509_STORE_free(entry->store);
        free(entry);
    }
    pthread_mutex_destroy(&ca_store->lock);
    free(ca_store);
}

X509_STORE *ocv_ca_store_get(struct ocv_ca_store *ca_store, const struct ocv_buffer *pem)
{
    char digest[OCV_DIGEST_MAX] = "";
    if (!ocv_curl_has_openssl() || !pem->len ||
        ocv_digest_bytes(pem->data, pem->len, digest, NULL) < 0)
        return NULL;
    pthread_mutex_lock(&ca_store->lock);
    struct ca_entry *entry = ca_store->entries;
    while (entry && strcmp(entry->digest, digest) != 0)
        entry = entry->next;
    if (!entry && ca_store->n < STORES_MAX && (entry = calloc(1, sizeof(*entry)))) {
        /* All certificates of the text; non-certificates are skipped, as in libcurl. */
        BIO *bio = BIO_new_mem_buf(pem->data, (int)pem->len);
        X509_STORE *anchors = bio ? X509_STORE_new() : NULL;
        X509 *certificate;
        while (anchors && (certificate = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL))) {
            if (!X509_STORE_add_cert(anchors, certificate)) {
                X509_STORE_free(anchors);
                anchors = NULL;
            }
            X509_free(certificate);
        }
        if (anchors) /* libcurl's own flags */
            X509_STORE_set_flags(anchors, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
        ERR_clear_error(); /* the end of the text is an error to OpenSSL */
        BIO_free(bio);
        entry->store = anchors;
        memcpy(entry->digest, digest, sizeof(entry->digest));
        if (entry->store) {
            entry->next = ca_store->entries;
            ca_store->entries = entry;
            ca_store->n++;
        } else {
            free(entry);
            entry = NULL;
        }
    }
    X509_STORE *store = entry && X509_STORE_up_ref(entry->store) ? entry->store : NULL;
    pthread_mutex_unlock(&ca_store->lock);
    return store;
}
