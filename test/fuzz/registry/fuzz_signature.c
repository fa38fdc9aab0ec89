/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any document as a bundle and as a payload: without the key none is good. Then any statement that
 * the key did sign, in a bundle, and any payload: what is good names the digest. */
#include "test/unit/registry/sign_util.h"

#define HEX "6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f"

static int check(const struct ocv_signature_keys *keys, const char *type, const void *bytes,
                 size_t len, const char *signature)
{
    static const char *const repository = "registry.example/app";
    const struct ocv_signature_subject subject = {
        .digest = "sha256:" HEX, .repositories = &repository, .n_repositories = len % 2};
    struct ocv_signature out;
    struct ocv_error err = {0};
    int status = ocv_signature_check(keys, type, bytes, len, signature, &subject, &out, &err);
    if (status != OCV_OK && (status != OCV_ERR_UNTRUSTED || !*err.message))
        abort();
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static EVP_PKEY *key;
    static struct ocv_signature_keys *keys;
    static char bundle[65536];
    if (!keys) {
        char path[] = "/tmp/ocv-fuzz-key-XXXXXX";
        const char *files[] = {path};
        int fd = mkstemp(path);
        key = sign_key("ED25519"); /* signs fastest */
        if (fd < 0 || close(fd) < 0 || !key || !sign_publish(key, path, 0600) ||
            ocv_signature_keys_new(files, 1, &keys, NULL) < 0)
            abort();
        unlink(path);
    }
    if (check(keys, OCV_SIGNATURE_BUNDLE, data, size, NULL) == OCV_OK ||
        check(keys, OCV_SIGNATURE_PAYLOAD, data, size, "AAAA") == OCV_OK)
        abort();
    if (size > 16384)
        return 0;
    char *signature = sign_bytes(key, NULL, data, size);
    if (check(keys, OCV_SIGNATURE_PAYLOAD, data, size, signature) == OCV_OK &&
        !memmem(data, size, HEX, 64))
        abort();
    free(signature);
    size_t n = sign_bundle(key, NULL, (const char *)data, size, bundle, sizeof(bundle));
    if (n && check(keys, OCV_SIGNATURE_BUNDLE, bundle, n, NULL) == OCV_OK &&
        !memmem(data, size, HEX, 64))
        abort();
    return 0;
}
