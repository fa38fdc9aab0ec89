/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request of the image service says of its pod, read where it stands:
 *
 *   ImageSpec        { ...; map<string, string> annotations = 2; ... }, field 1 of both requests
 *   PodSandboxConfig { PodSandboxMetadata metadata = 1; ... }, field 3 of PullImageRequest
 *   PodSandboxMetadata { string name = 1, uid = 2, namespace = 3; ... } */
#ifndef CRI_PROXY_WORKLOAD_REQUEST_H
#define CRI_PROXY_WORKLOAD_REQUEST_H

#include "plugins/containerd/cri-proxy/pinned/wire.h"

#define WORKLOAD_PREFIX "dev.ocivariant/"
/** What a pod may say about its image: dev.ocivariant/NAME. */
enum workload_wish {
    WORKLOAD_REQUIRE,
    WORKLOAD_DISABLE,
    WORKLOAD_LABEL,
    WORKLOAD_DEVICES,
    WORKLOAD_WISHES
};
/** "require": the name after "dev.ocivariant/". */
extern const char *const workload_wish_names[WORKLOAD_WISHES];

/** Bytes in a message, not ending with a NUL; `at` is NULL if the field is absent. */
struct request_text {
    const char *at;
    size_t len;
};

struct workload_request {
    bool annotated;                                /**< it has any annotation */
    struct request_text wishes[WORKLOAD_WISHES];   /**< borrowed from the message, like all texts */
    struct request_text unknown;                   /**< first key of ours that is no wish */
    struct request_text seen, hash, source;        /**< kubernetes.io/config.* */
    struct request_text pod_name, uid, name_space; /**< of PullImage's sandbox */
};
/** Read it. Of several annotations with the same name the last one counts, as in any protobuf map.
 *  False if the message is malformed. */
bool workload_request_read(const uint8_t *message, size_t len, struct workload_request *out);
/** Copy it with a final NUL. False if it is absent, empty, contains a NUL, or is too long. */
bool request_copy(struct request_text text, char *out, size_t size);

#endif
