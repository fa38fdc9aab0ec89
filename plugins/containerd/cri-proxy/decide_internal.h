/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What decide.c and decide_registry.c share. */
#ifndef CRI_PROXY_DECIDE_INTERNAL_H
#define CRI_PROXY_DECIDE_INTERNAL_H

#include "plugins/containerd/cri-proxy/decide.h"

/* What is in work for one request. */
struct question {
    const struct decide *decide;
    struct ocv_reference *reference;
    char key[PINNED_TEXT_MAX];
    struct ocv_buffer body; /* of the index */
    struct ocv_index *index;
    struct ocv_profile *profile;
    struct ocv_decision *decision;
    const struct ocv_entry *entry; /* what fits, or NULL */
    bool secret;                   /* read with the request's credentials */
};

/** Choose among the entries of q->body. An ordinary image leaves q->entry NULL. */
int decide_choose(struct question *q, const char *media_type,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Fetch the index with the request's own credentials, choose, and look at the child. */
int decide_ask(struct question *q, const struct wire_auth *auth, const volatile int *interrupted,
               struct ocv_error *err) OCV_WARN_UNUSED;

#endif
