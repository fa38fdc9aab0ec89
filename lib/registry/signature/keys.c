/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Public keys, as files have them. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/registry/signature/signature_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE_MAX (64u * 1024)
#define KEYS_MAX 64u
#define RSA_BITS_MIN 2048

void ocv_signature_keys_free(struct ocv_signature_keys *keys)
{
    for (size_t i = 0; keys && i < keys->n; i++)
        EVP_PKEY_free(keys->list[i].pkey);
    free(keys ? keys->list : NULL);
    free(keys);
}

bool ocv_signature_keys_have(const struct ocv_signature_keys *keys, const char *digest)
{
    for (size_t i = 0; keys && i < keys->n; i++)
        if (!strcmp(keys->list[i].digest, digest))
            return true;
    return false;
}

/* What the key can do; false: it is of a kind that is not accepted. cosign signs with SHA-256 what
 * newer ones sign with the curve's own hash. */
static bool describe_key(struct key *key)
{
    char group[64] = "";
    key->hash[0] = EVP_sha256();
    key->n_hash = 1;
    switch (EVP_PKEY_get_base_id(key->pkey)) {
    case EVP_PKEY_ED25519:
        key->hash[0] = NULL;
        return true;
    case EVP_PKEY_RSA:
        return EVP_PKEY_get_bits(key->pkey) >= RSA_BITS_MIN;
    case EVP_PKEY_EC:
        if (EVP_PKEY_get_group_name(key->pkey, group, sizeof(group), NULL) != 1)
            return false;
        if (!strcmp(group, "secp384r1")) {
            key->hash[0] = EVP_sha384();
            key->hash[key->n_hash++] = EVP_sha256();
            return true;
        }
        return !strcmp(group, "prime256v1");
    default:
        return false;
    }
}

static int add_key(struct ocv_signature_keys *keys, EVP_PKEY *pkey, const char *file,
                   struct ocv_error *err)
{
    unsigned char *der = NULL;
    struct key *key = keys->n < KEYS_MAX ? ocv_array_grow(&keys->list, keys->n) : NULL;
    if (!key) {
        EVP_PKEY_free(pkey);
        return keys->n == KEYS_MAX
                   ? ocv_error_set(err, OCV_ERR_CONFIG, "%s: more than %u keys", file, KEYS_MAX)
                   : ocv_error_nomem(err);
    }
    *key = (struct key){.pkey = pkey};
    keys->n++;
    if (!describe_key(key))
        return ocv_error_set(
            err, OCV_ERR_CONFIG,
            "%s: its key is none of ECDSA P-256 or P-384, Ed25519, RSA from 2048 bits", file);
    int len = i2d_PUBKEY(pkey, &der);
    if (len < 0)
        return ocv_error_nomem(err);
    int status = ocv_digest_bytes(der, (size_t)len, key->digest, err);
    OPENSSL_free(der);
    return status;
}

/* A key that somebody else may write is somebody else's key. */
static int read_key_file(const char *file, struct ocv_buffer *out, struct ocv_error *err)
{
    struct stat st;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: %s", file, strerror(errno));
    const char *wrong = NULL;
    if (fstat(fd, &st) < 0)
        wrong = strerror(errno);
    else if (S_ISDIR(st.st_mode))
        wrong = "is a directory; a file with a public key is wanted";
    else if (!S_ISREG(st.st_mode))
        wrong = "is no regular file";
    else if (st.st_uid != 0 && st.st_uid != geteuid())
        wrong = "belongs to another user, who could put another key there";
    else if (st.st_mode & 022)
        wrong = "can be written by others, who could put another key there (chmod go-w)";
    else if (st.st_size == 0)
        wrong = "is empty";
    else if (st.st_size > (off_t)KEY_FILE_MAX)
        wrong = "is too large for a public key";
    char chunk[4096];
    ssize_t n = 0;
    while (!wrong && (n = read(fd, chunk, sizeof(chunk))) > 0)
        if (ocv_buffer_append(out, chunk, (size_t)n, NULL) < 0)
            wrong = "is too large for a public key";
    if (n < 0)
        wrong = strerror(errno);
    close(fd);
    return wrong ? ocv_error_set(err, OCV_ERR_CONFIG, "%s: %s", file, wrong) : OCV_OK;
}

static int no_password(char *buffer, int size, int writing, void *data)
{
    (void)buffer, (void)size, (void)writing, (void)data;
    return -1;
}

static int add_keys(struct ocv_signature_keys *keys, const char *file, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, KEY_FILE_MAX);
    OCV_TRY(read_key_file(file, &text, err));
    BIO *bio = BIO_new_mem_buf(text.data, (int)text.len);
    if (!bio)
        return ocv_error_nomem(err);
    size_t before = keys->n;
    int status = OCV_OK;
    for (EVP_PKEY *pkey;
         status == OCV_OK && (pkey = PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL));)
        status = add_key(keys, pkey, file, err);
    BIO_free(bio);
    ERR_clear_error(); /* of the end of the file */
    if (status < 0 || keys->n > before)
        return status;
    bool private = memmem(text.data, text.len, "PRIVATE KEY-----", 16) != NULL;
    ocv_error_set(err, OCV_ERR_CONFIG, private ? "%s: is a private key" : "%s: has no public key",
                  file);
    ocv_error_hint(err, private
                            ? "give the public one here, and keep this one away from the machine"
                            : "`-----BEGIN PUBLIC KEY-----`, as cosign.pub has it");
    return OCV_ERR_CONFIG;
}

int ocv_signature_keys_new(const char *const *files, size_t n, struct ocv_signature_keys **out,
                           struct ocv_error *err)
{
    ocv_auto(ocv_signature_keys) keys = calloc(1, sizeof(*keys));
    *out = NULL;
    if (!keys)
        return ocv_error_nomem(err);
    if (!n)
        return ocv_error_set(err, OCV_ERR_CONFIG, "no key is given");
    for (size_t i = 0; i < n; i++)
        OCV_TRY(add_keys(keys, files[i], err));
    *out = ocv_steal(&keys);
    return OCV_OK;
}
