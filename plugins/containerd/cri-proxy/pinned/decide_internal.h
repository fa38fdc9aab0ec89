/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by decide.c and decide_registry.c. */
#ifndef CRI_PROXY_DECIDE_INTERNAL_H
#define CRI_PROXY_DECIDE_INTERNAL_H

#include "ocivariant-registry.h"
#include "plugins/containerd/cri-proxy/pinned/decide.h"

/* State of one request. */
struct pinned_choice {
    const struct decide *decide;
    struct ocv_reference *reference;
    char key[PINNED_TEXT_MAX];
    struct ocv_buffer body; /* of the index */
    struct ocv_index *index;
    struct ocv_profile *profile;
    struct ocv_decision *decision;
    const struct ocv_entry *entry; /* the chosen entry, or NULL */
    bool secret;                   /* read with the request's credentials */
    bool silent;                   /* the registry sent nothing in time */
};

/** Replace the index by that of all images in it, where any of them is not in the index itself.
 *  `registry` is NULL for a kept index: OCV_ERR_NOT_FOUND, since the rest of it is not kept. */
int decide_walk(struct ocv_registry *registry, const struct ocv_reference *reference,
                struct ocv_index **index, struct ocv_error *err) OCV_WARN_UNUSED;
/** Choose among the entries of q->body (`registry`: as above). An ordinary image leaves q->entry
 *  NULL. */
int decide_choose(struct pinned_choice *q, struct ocv_registry *registry, const char *media_type,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Fetch the index with the request's own credentials, choose, and check the child. */
int decide_ask(struct pinned_choice *q, const struct wire_auth *auth,
               const volatile int *interrupted, struct ocv_error *err) OCV_WARN_UNUSED;

/** This node's profile, and the digest of its text. */
int decide_profile(const struct decide *decide, struct ocv_profile **out,
                   char digest[OCV_DIGEST_MAX], struct ocv_error *err) OCV_WARN_UNUSED;
/** The directory of records, or NULL if its name is too long. */
const char *decide_records(const struct decide *decide, char *out, size_t size);
/** A client with these credentials only, limited to DECIDE_MS. */
int decide_open_registry(const struct ocv_config *config, const struct wire_auth *auth,
                         const volatile int *interrupted, struct ocv_registry **out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

#endif
