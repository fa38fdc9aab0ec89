/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this node can run: the profile, probed at the start and after changes. Readers take a
 * reference to an immutable snapshot, so that one request sees one profile. */
#ifndef VARIANTD_NODE_H
#define VARIANTD_NODE_H

#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/common/settings.h"
#include "ocivariant.h"

#include <stdbool.h>
#include <stddef.h>

/** The result of one probe. Immutable. */
struct snapshot {
    struct ocv_profile *profile; /**< with the configuration's overrides */
    struct ocv_buffer json;      /**< the answer of /v1/profile */
    uint64_t generation; /**< increased with every change; part of the keys of cached decisions */
    int64_t probed_at;   /**< monotonic milliseconds of the last probe with this result */
};

struct node;
/** Probe, or read settings->profile_file. `last` (may be NULL): the node before a reload. If both
 *  probe, the new one starts with the last snapshot and probes in parallel, so that a reload never
 *  waits for a driver that hangs. */
int node_new(const struct settings *settings, struct metrics *metrics, struct node *last,
             struct node **out, struct ocv_error *err) OCV_WARN_UNUSED;
void node_free(struct node *node);
/** The current snapshot with a reference taken. Never NULL. Any thread. */
const struct snapshot *node_get(struct node *node);
void node_put(const struct snapshot *snapshot);
/** `const ocv_auto(snapshot) snapshot = node_get(node);` */
static inline void snapshot_cleanup(const struct snapshot **snapshot)
{
    node_put(*snapshot);
}
/** The generation only, without a reference: one atomic read. */
uint64_t node_generation(const struct node *node);
/** Log and count the differences to the node before a reload. */
void node_compare(struct node *old, struct node *fresh, const char *why, struct metrics *metrics);

/* Announces what this node can run on its Kubernetes Node object (--announce kubernetes): the label
 * dev.ocivariant/class and the annotation dev.ocivariant/profile, set with this pod's token. */

struct announcer;
/** Start a thread that talks to the API server. The node's name is $NODE_NAME, the API server
 *  $KUBERNETES_SERVICE_HOST and _PORT. Token and ca.crt in `account` are read for each request,
 *  since tokens are renewed. OCV_ERR_CONFIG: not in a pod, or NODE_NAME is not a node's name. */
int announcer_new(const char *account, struct announcer **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Stop and free; a running request is cut off. */
void announcer_free(struct announcer *announcer);
/** Announce a profile. Returns immediately. An unchanged profile is sent again only every hour.
 *  Failures are logged once, and retried. */
void announcer_update(struct announcer *announcer, const struct ocv_profile *profile);

/* Takes a taint that nodes join with from this node's Kubernetes object, now that it serves
 * (--startup-taint); or, once for a cluster, from every node that has had it for too long. */

#define TAINT_KEY_MAX 320u /**< with its NUL: Kubernetes allows 317 */

struct taint_remover;
/** Members are borrowed, `metrics` as long as the remover lives. */
struct taint_options {
    const char *account; /**< as for announcer_new */
    const char *key;     /**< the taint's; every effect of it is removed */
    int64_t after_ms;    /**< 0: from the node in $NODE_NAME, at once; else from every node that has
                            been seen with it for so long */
    struct metrics *metrics;
};
/** Start a thread that talks to the API server. Failures are logged once, and retried.
 *  OCV_ERR_CONFIG: not in a pod, or NODE_NAME is not a node's name. */
int taint_remover_new(const struct taint_options *options, struct taint_remover **out,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Stop and free; a running request is cut off. */
void taint_remover_free(struct taint_remover *remover);

/* Images on this node that were asked about: which ones are lesser builds than the node could have,
 * and which ones have no variants, so that no registry is asked again. One table per process, since
 * there is one node. Any thread. */

#define HERE_MAX 4096u         /**< images; the ones reported longest ago are dropped */
#define HERE_S (24u * 60 * 60) /**< an image not reported for a day is dropped */

/** The result for an image. */
enum here { HERE_FITS, HERE_LESSER, HERE_ORDINARY };

/** Store the result for the image that a name stands for on this node, in place of the name's
 *  previous image. True if it is lesser and was not known to be. */
bool local_images_report(const struct ocv_reference *name, const char *digest, enum here what);
/** True if the image is known to have no variants. */
bool local_images_is_ordinary(const struct ocv_reference *name, const char *digest);
/** Count the lesser images. False: nothing has told of any image yet, so the number is not known.
 */
bool local_images_lesser(size_t *n);

/* The changes between two profiles, as text for a log. */

/** Compare two profiles (JSON). True if they differ in meaning; `out` then has a line for each
 *  change: "nvidia: cuda_version_lower_bound -12.8 -12.7", "nvidia: device 0000:3b:00.0 gone". */
bool node_diff(const struct ocv_buffer *before, const struct ocv_buffer *after,
               struct ocv_buffer *out);
/** Count the failed providers, and the devices that do not answer on the bus. */
void node_diff_failures(const struct ocv_buffer *profile, struct metrics *metrics);

/* The result of setting up this node's engine (--setup-report), as plugins/kubernetes writes it. */

/** Read the report (NULL: none), log a failure and count it. It is one line of text: "configured",
 *  or the reason why the engine does not ask the mirror. A file that is missing, or is anything
 *  else, gives a warning, and the engine counts as not configured. */
void setup_report_read(const char *path, struct metrics *metrics);

/* The kernel's events for devices and modules (netlink, kobject uevents). */

/** A descriptor to poll, or -1 with errno. */
int uevent_open(void);
/** Read the pending events. True if any of them may change what the node can run; `why` is then,
 *  for example, "uevent: add module nvidia". */
bool uevent_read(int fd, char *why, size_t size);
/** Check one message: "ACTION@DEVPATH\0KEY=VALUE\0...". */
bool uevent_matters(const char *message, size_t len, char *why, size_t size);

#endif
