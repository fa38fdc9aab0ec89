/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The content of a claim for devices, with which a scheduler finds the nodes that can run an image,
 * in the order in which the nodes themselves will choose among its variants. Pure. Linked into
 * variantctl; not part of libocivariant.
 *
 * A resolver's order depends on the host, since a variant may name several values of a feature: a
 * list of alternatives does not. So each variant is split by the values that it names. What is left
 * has one key on every host that it fits (PEP 825), and the first of them that a device fits is
 * what ocv_resolve chooses there. Then neighbours of the same variant are put together again. */
#ifndef OCV_CLAIM_H
#define OCV_CLAIM_H

#include "lib/base/arena.h"
#include "ocivariant/index.h"
#include "ocivariant/resolve.h"

/** Alternatives of a request (Kubernetes, resource.k8s.io/v1: FirstAvailable). */
#define OCV_CLAIM_ALTERNATIVES_MAX 8u
/** Bytes of an expression, likewise. */
#define OCV_CLAIM_EXPRESSION_MAX 10240u
/** A name of an alternative, with NUL: a DNS label. */
#define OCV_CLAIM_NAME_MAX 64

/** The nodes of one architecture. */
struct ocv_claim_place {
    const char *architecture; /**< "amd64" */
    const char *level; /**< label of nodes that has to be "true": the level of x86-64 that all
                            builds here need; NULL: none */
};
struct ocv_claim_places {
    const struct ocv_claim_place *list;
    size_t n;
};

/** One alternative. */
struct ocv_claim_alternative {
    char name[OCV_CLAIM_NAME_MAX];
    const char *driver;     /**< "gpu.example.com", of the DeviceClass, too */
    const char *expression; /**< CEL that holds for a device that fits; NULL: all do */
    const char *const *labels;
    size_t n_labels;   /**< over 1: the node's resolver takes one of these */
    const char *bound; /**< the properties by which alone it fits here, or NULL: a variant that has
                            an alternative of its own before this one */
};

/** A label that nodes must have, for devices without a driver. */
struct ocv_claim_nodes {
    const char *label; /**< "example.com/npu.product" */
    const char *const *values;
    size_t n_values;
    const char *const *labels; /**< of the variants, best first */
    size_t n_labels;
    struct ocv_claim_places places;
};

struct ocv_claim {
    struct ocv_arena arena;
    const struct ocv_claim_alternative *alternatives; /**< best first */
    size_t n_alternatives;
    struct ocv_claim_places places;      /**< where all of them are to be had */
    const struct ocv_claim_nodes *nodes; /**< one for each such label */
    size_t n_nodes;
    bool plain; /**< there are builds that need no device */
    struct ocv_claim_places plain_places;
    const char **warnings; /**< what the claim does not say, a line each */
    size_t n_warnings;
};

/** Make the claim of an index. `options` as for ocv_resolve, of which devices and their policies
 *  are not read: a claim is for one device. An index without a variant for devices is not an error.
 *  Too much for a claim: OCV_ERR_DATA. The claim borrows nothing. */
int ocv_claim_new(const struct ocv_index *index, const struct ocv_resolve_options *options,
                  struct ocv_claim **out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_claim_free(struct ocv_claim *claim);
OCV_DEFINE_CLEANUP(ocv_claim)

#endif
