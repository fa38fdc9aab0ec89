/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of containerd.services.snapshots.v1.Snapshots. */
#ifndef OCV_SNAPSHOTTER_SERVICE_H
#define OCV_SNAPSHOTTER_SERVICE_H

#include "plugins/containerd/snapshotter/fit/layer_fit.h"
#include "plugins/containerd/snapshotter/overlay/overlay.h"

#define SNAP_SERVICE "/containerd.services.snapshots.v1.Snapshots/"

struct snap_relay;

struct snap_service {
    struct snap_meta *meta;
    struct snap_overlay *overlay; /**< one of the two back ends, */
    struct snap_relay *relay;     /**< the other one is NULL */
    struct snap_fit *fit;         /**< NULL: no policy */
};

/** Answer one call (grpc_server_options.handle). */
void snap_service_handle(void *service, struct grpc_call *call);

/** The List call (list.c). */
void snap_service_list(struct snap_service *s, struct grpc_call *call, const void *message);

struct snap_relay_options {
    const char *socket;
    const char *name; /**< the name of that one in requests; NULL: as containerd calls us */
    const char *ns;   /**< if it is a containerd: its namespace that only we use; or NULL */
};
int snap_relay_new(const struct snap_relay_options *options, struct snap_relay **out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
void snap_relay_free(struct snap_relay *relay);
/** Pass a request on and its answer back; returns its status. Prepare gets `labels` in place of its
 *  own (NULL: unchanged); `keep`: Commit keeps our labels of the active snapshot. */
enum grpc_code snap_relay_pass(struct snap_relay *relay, struct grpc_call *call,
                               const struct ocv_buffer *labels, bool keep);

#endif
