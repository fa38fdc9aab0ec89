/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One tag, one node, several digests: answers calls of the image service for repositories with
 * `workload` on (docs/workload.md).
 *
 * Kubelet's behaviour, and its consequences:
 * - PullImage has the pod's annotations and its uid; ImageStatus has only the annotations.
 *   CreateContainer names the id that one of the two returned, so the choice is made only here.
 * - Before every CreateContainer kubelet calls ImageStatus once more, without annotations, and
 *   takes the container's user from the answer; "absent" means root there. So all possible choices
 *   must have one user (users.c, state.h), any present child is an answer, and nothing else is.
 * - "Absent" as the answer to an ImageStatus with annotations leads to PullImage, which has the uid
 *   and the registry's credentials, so an image without a row here is absent. The name in the pod
 *   is never passed to the engine, which may have an image of that name that was not chosen here.
 */
#ifndef CRI_PROXY_WORKLOAD_H
#define CRI_PROXY_WORKLOAD_H

#include "lib/core/core_internal.h"
#include "lib/internal/config/config.h"
#include "lib/internal/grpc/grpc.h"
#include "ocivariant-registry.h"
#include "ocivariant.h"
#include "ocivariant/error.h"
#include "plugins/containerd/cri-proxy/pinned/decide.h"
#include "plugins/containerd/cri-proxy/request/pinned.h"
#include "plugins/containerd/cri-proxy/state/state.h"

struct pod;
struct workload_request;

#define WORKLOAD_REASON_MAX 900u /**< bytes; grpc-message must hold it, escaped */

struct workload_options {
    struct state *state;       /**< borrowed */
    const char *backend;       /**< the engine's socket */
    const char *pod_resources; /**< kubelet's socket */
    const char *metrics;       /**< file of the counters, or NULL */
};
struct workload;
int workload_new(const struct workload_options *options, struct workload **out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
void workload_free(struct workload *workload);

/** A call; everything is borrowed. */
struct workload_call {
    const struct decide *decide;     /**< with the policy's settings */
    const struct ocv_config *config; /**< of the repository */
    enum ocv_workload mode;
    bool closed;      /**< `fail` */
    const char *path; /**< of the method */
    const char *text; /**< the reference as sent */
    const struct ocv_reference *reference;
    const uint8_t *message;
    size_t len;
    const struct wire_image *image;
    const volatile int *interrupted;
};

enum workload_way {
    WORKLOAD_EDIT,    /**< pass on to the engine with another name */
    WORKLOAD_AS_SENT, /**< pass on to the engine */
    WORKLOAD_ABSENT,  /**< answer an ImageStatus: no such image */
    WORKLOAD_ANSWER,  /**< answer with the bytes of a message */
    WORKLOAD_REFUSE
};
struct workload_answer {
    enum workload_way way;
    char name[PINNED_TEXT_MAX]; /**< WORKLOAD_EDIT */
    struct ocv_buffer body;     /**< WORKLOAD_ANSWER */
    enum grpc_code code;        /**< WORKLOAD_REFUSE */
    char reason[WORKLOAD_REASON_MAX];
    bool silent;               /**< refused, since the registry sent nothing in time */
    char fresh[STATE_POD_MAX]; /**< uid of a pod whose choice was made in this call, or empty */
};
/** Handle PullImage. Blocks. Modifies `auth`. Free answer->body. */
void workload_pull(struct workload *workload, const struct workload_call *call,
                   struct wire_auth *auth, struct workload_answer *answer);
/** Handle ImageStatus in the same way. */
void workload_status(struct workload *workload, const struct workload_call *call,
                     struct workload_answer *answer);
/** Call now and then: drop pods that are gone, and choose again if the profile or the configuration
 *  (`generation` of live_policy) has changed. */
void workload_tend(struct workload *workload, const struct decide *decide, unsigned generation);
/** Call about once a second. */
void workload_tick(struct workload *workload);

/* Chooses an index entry for a pod: by the node's profile, the pod's annotations and its devices.
 * Pure. */

/** Values of `devices` other than "NS=ID[,ID][;NS=...]": the whole node, or no device. */
#define DEVICES_NODE "node" /**< all devices of the node */
#define DEVICES_CPU "cpu"   /**< no device */

struct choose_question {
    const char *name;                /**< of the image, for messages */
    const struct ocv_config *config; /**< for its repository */
    const char *tag;                 /**< that was asked for, or NULL */
    const struct workload_wishes *wishes;
    const char *devices; /**< in the format above */
    const struct ocv_index *index;
    const struct ocv_profile *profile;
};
/** The chosen entry, borrowed from the index. OCV_ERR_INVALID if nothing matches the annotations,
 *  with annotation, value and the available labels. OCV_ERR_NO_MATCH if nothing fits even without
 *  them. */
int choose_entry(const struct choose_question *question, const struct ocv_entry **out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Every entry that some pod on this node could get, whatever its annotations and devices, into
 *  `out` (at most `max`, borrowed from the index). Returns their number; OCV_ERR_DATA if there are
 *  more. */
int choose_possible(const struct ocv_index *index, const struct ocv_profile *profile,
                    const struct ocv_entry **out, size_t max, size_t *n,
                    struct ocv_error *err) OCV_WARN_UNUSED;

/* Event counters in a file for Prometheus' node exporter (text format). Thread-safe. */

enum count {
    COUNT_CHOSEN,                 /* a pull chose a build for a pod */
    COUNT_KEPT,                   /* a pull found the pod's earlier choice */
    COUNT_NODE,                   /* the pod's devices are unknown: the node's build */
    COUNT_REFUSED,                /* a pull or an ImageStatus */
    COUNT_BUILDS,                 /* those above are values of one label */
    COUNT_UNKNOWN = COUNT_BUILDS, /* a pod has an annotation of ours that does not exist */
    COUNTS
};

struct counts;
/** `file` NULL: nothing is written. Otherwise it exists from the start, with zeroes. */
int counts_new(const char *file, struct counts **out, struct ocv_error *err) OCV_WARN_UNUSED;
void counts_free(struct counts *counts);
/** Count one event; the file is updated before this returns. Returns the new count. */
unsigned long long counts_add(struct counts *counts, enum count what);

/* Asks kubelet's socket which devices a pod has: PodResources v1, `Get`. They are allocated before
 * the first call for the pod's image. */

#define POD_RESOURCES_MS 2000u /**< for kubelet */
/** Ask about the pod (name and namespace). OCV_ERR_NETWORK if there is no answer in time,
 *  OCV_ERR_DATA if it is malformed or another pod's, OCV_ERR_NOT_FOUND. */
int pod_resources_ask(struct grpc_client *kubelet, const struct pod *pod,
                      struct ocv_given_devices *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Read that pod's devices from a GetPodResourcesResponse. */
int pod_resources_parse(const uint8_t *message, size_t len, const struct pod *pod,
                        struct ocv_given_devices *out, struct ocv_error *err) OCV_WARN_UNUSED;

/* Finds the pod that a call is about. PullImage names it; ImageStatus tells when kubelet first saw
 * the pod (kubernetes.io/config.seen, which kubelet itself overwrites), and the engine's sandboxes
 * have both. Kept in memory; the engine knows the rest. Thread-safe. */

#define PODS_MAX 2048u     /**< the oldest ones are dropped */
#define PODS_NAME_MAX 256u /**< bytes of a pod's name or namespace */
#define PODS_ASK_MS 2000u  /**< for the engine */

/** A pod; unknown texts are empty. */
struct pod {
    char uid[STATE_POD_MAX], seen[STATE_POD_MAX];
    char name[PODS_NAME_MAX], name_space[PODS_NAME_MAX];
};

struct pods;
int pods_new(struct pods **out, struct ocv_error *err) OCV_WARN_UNUSED;
void pods_free(struct pods *pods);
/** Find the calling pod from the request and the pods seen before; a PullImage's pod is
 *  remembered. */
void pods_of_request(struct pods *pods, const struct workload_request *request, struct pod *out);
/** The only remembered pod with that config.seen. */
bool pods_find(struct pods *pods, const char *seen, struct pod *out);
/** Free with pods_list_free. */
struct pods_list {
    struct pod *list;
    size_t n;
};
/** Ask the engine for its sandboxes and remember their pods. `live`: all of them. */
int pods_ask(struct pods *pods, struct grpc_client *engine, struct pods_list *live,
             struct ocv_error *err) OCV_WARN_UNUSED;
void pods_list_free(struct pods_list *list);

/** Append the pods of a ListPodSandboxResponse to `out`. OCV_ERR_DATA if it is malformed. */
int pods_parse(const uint8_t *message, size_t len, struct pods_list *out,
               struct ocv_error *err) OCV_WARN_UNUSED;

/* What a request of the image service says of its pod, read where it stands:
 *
 *   ImageSpec        { ...; map<string, string> annotations = 2; ... }, field 1 of both requests
 *   PodSandboxConfig { PodSandboxMetadata metadata = 1; ... }, field 3 of PullImageRequest
 *   PodSandboxMetadata { string name = 1, uid = 2, namespace = 3; ... } */

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

/* The users that images run as. If two children of one reference had different users, kubelet would
 * start one of them as the other's user. */

#define USERS_ENTRIES_MAX 256u /**< of one index */
#define USERS_CACHE_MAX 1024u  /**< images whose user is kept in memory */

struct users {
    pthread_mutex_t lock;
    struct known_user {
        char digest[OCV_DIGEST_MAX];
        char user[OCV_IMAGE_USER_MAX];
    } list[USERS_CACHE_MAX]; /* when it is full, the oldest one is at `next` */
    size_t n, next;
};
/** The user of all these images in the reference's repository. A user that is not cached is read
 *  from the registry; a digest's config never changes. OCV_ERR_CHECK if they differ: "variants of
 *  NAME run as different users (1000, root)". */
int users_same(struct users *users, struct ocv_registry *registry,
               const struct ocv_reference *reference, const char *name,
               const struct ocv_entry *const *entries, size_t n, char out[OCV_IMAGE_USER_MAX],
               struct ocv_error *err) OCV_WARN_UNUSED;

/** An image's user if it is cached. */
bool users_recall(struct users *users, const char *digest, char out[OCV_IMAGE_USER_MAX]);

/* A pod's annotations about its image, checked and in canonical form: equal wishes give equal text,
 * which is part of a choice's key and of its file. */

#define WISH_MAX 4096u               /**< bytes of one annotation */
#define WISHES_TEXT_MAX (16u * 1024) /**< of all of them in canonical form */
#define WISH_LABEL_MAX 64u

enum wishes_devices {
    WISHES_UNSAID,
    WISHES_NODE, /**< "node": as if the pod had all devices of the node */
    WISHES_CPU,  /**< "cpu": as if it had none */
    WISHES_NAMED /**< NS=ID[,ID][;NS=...] */
};

struct workload_wishes {
    char *text;                /**< "label=a\nrequire=nvidia\n"; empty without wishes */
    struct ocv_config *config; /**< require, disable and devices as in a configuration */
    char label[WISH_LABEL_MAX];
    enum wishes_devices devices;
};

/** Read those annotations of a request that `config` (`workload_annotations`) permits.
 *  OCV_ERR_INVALID if one is malformed, with the annotation and its value. Filled even then. */
int workload_wishes_read(const struct workload_request *request, const struct ocv_config *config,
                         struct workload_wishes *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Parse untrusted text in canonical form. */
int workload_wishes_parse(const char *text, struct workload_wishes *out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
void workload_wishes_free(struct workload_wishes *wishes);

#endif
