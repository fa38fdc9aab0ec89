/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses an index entry for a pod: by the node's profile, the pod's annotations and its devices.
 * Pure. */
#ifndef CRI_PROXY_WORKLOAD_CHOICE_H
#define CRI_PROXY_WORKLOAD_CHOICE_H

#include "ocivariant.h"
#include "plugins/containerd/cri-proxy/workload/wishes.h"

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

#endif
