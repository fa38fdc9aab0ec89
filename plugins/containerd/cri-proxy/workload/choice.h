/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which entry of an index a pod gets: the node's answer, with what the pod says and what it was
 * given on top. Pure. */
#ifndef CRI_PROXY_WORKLOAD_CHOICE_H
#define CRI_PROXY_WORKLOAD_CHOICE_H

#include "ocivariant.h"
#include "plugins/containerd/cri-proxy/workload/wishes.h"

/** Devices of a key, beside "NS=ID[,ID][;NS=...]" in that order. */
#define DEVICES_NODE "node" /**< all that the node has */
#define DEVICES_CPU "cpu"   /**< none */

struct choose_question {
    const char *name;                /**< of the image, for messages */
    const struct ocv_config *config; /**< what holds for its repository */
    const struct workload_wishes *wishes;
    const char *devices; /**< as above */
    const struct ocv_index *index;
    const struct ocv_profile *profile;
};
/** The entry that fits, borrowed from the index. What an annotation asks for and is not there:
 *  OCV_ERR_INVALID, with annotation, value and the labels there are. Nothing fits whatever it says:
 *  OCV_ERR_NO_MATCH. */
int choose_entry(const struct choose_question *question, const struct ocv_entry **out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Every entry that some pod of this node could get, whatever it says and has, into `out` (at most
 *  `max`, borrowed from the index). Returns how many; OCV_ERR_DATA where there are more. */
int choose_possible(const struct ocv_index *index, const struct ocv_profile *profile,
                    const struct ocv_entry **out, size_t max, size_t *n,
                    struct ocv_error *err) OCV_WARN_UNUSED;

#endif
