/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The filters of List. */
#ifndef OCV_SERVICE_INTERNAL_H
#define OCV_SERVICE_INTERNAL_H

#include "gen/snapshots.pb-c.h"
#include "ocivariant.h"
#include "plugins/containerd/snapshotter/overlay/overlay.h"
#include "plugins/containerd/snapshotter/types/snapshot.h"

#include <stdbool.h>

#define SNAP_FILTERS_MAX 256u /**< filters of a List */

struct snap_filter;
/** One of `texts` must match; without any everything matches. GRPC_INVALID_ARGUMENT if
 *  malformed. */
enum grpc_code snap_filter_new(char *const *texts, size_t n, struct snap_filter **out,
                               struct ocv_error *err);
void snap_filter_free(struct snap_filter *filter);
bool snap_filter_match(const struct snap_filter *filter, const struct snap_info *info);

/* Between calls (service.c, list.c) and protobuf (message.c). */

#define SNAP_REQUEST_MAX (1024u * 1024)     /**< bytes of a request that is decoded here */
#define SNAP_DECODED_MAX (8u * 1024 * 1024) /**< memory for decoding one request */

/** The request, freed with protobuf_c_message_free_unpacked; NULL: the call has been answered. */
void *snap_call_decode(struct grpc_call *call, const ProtobufCMessageDescriptor *type);
/** Check that all texts of a message are UTF-8 without NULs. */
enum grpc_code snap_message_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                  size_t len, struct ocv_error *err);
enum grpc_code snap_call_read_labels(Snapshots__Label *const *list, size_t n,
                                     struct ocv_buffer *out, struct ocv_error *err);

void snap_call_answer(struct grpc_call *call, const void *message);
/** Empty where all went well. */
void snap_call_answer_empty(struct grpc_call *call, enum grpc_code code,
                            const struct ocv_error *err);
/** For Stat and Update, whose answers have the same format. Frees the info. */
void snap_call_answer_info(struct grpc_call *call, enum grpc_code code, struct snap_info *info,
                           const struct ocv_error *err);
/** Frees the mount. */
void snap_call_answer_mount(struct grpc_call *call, enum grpc_code code, struct snap_mount *mount,
                            const struct ocv_error *err);

/** A message and the memory of its parts. */
struct snap_info_message {
    Snapshots__Info info;
    Snapshots__Timestamp created, updated;
    Snapshots__Label *labels, **list;
};

/** Borrows from `from`; free it in any case. */
bool snap_info_message(const struct snap_info *from, struct snap_info_message *out);
void snap_info_message_free(struct snap_info_message *message);

#endif
