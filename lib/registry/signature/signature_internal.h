/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Keys, between those who read and those who use them. */
#ifndef OCV_SIGNATURE_INTERNAL_H
#define OCV_SIGNATURE_INTERNAL_H

#include "ocivariant/signature.h"

#include <openssl/evp.h>

struct key {
    EVP_PKEY *pkey;
    char digest[OCV_DIGEST_MAX];
    const EVP_MD *hash[2]; /* with which it may have signed; NULL for Ed25519, which has its own */
    size_t n_hash;
};

struct ocv_signature_keys {
    struct key *list;
    size_t n;
};

#endif
