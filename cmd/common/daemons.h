/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What daemons share. systemd's small protocols: readiness and watchdog (sd_notify(3)), passed
 * sockets (sd_listen_fds(3)). Implemented here because libsystemd is larger than the daemon itself,
 * and only one datagram is sent. The manual pages declare the protocol stable. */
#ifndef OCV_DAEMONS_H
#define OCV_DAEMONS_H

#include "ocivariant.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/** Send "READY=1" and the like; does nothing without NOTIFY_SOCKET. */
void notify_send(const char *state);
/** Is there a service manager, and does it keep descriptors (notify_store)? podman's, for one, does
 *  not. */
bool notify_keeps(void);
/** Half of the watchdog's interval in milliseconds, 0 without a watchdog. */
int64_t notify_watchdog_ms(void);
/** Let the service manager keep a descriptor for the next start of this service, under a name of
 *  letters. It closes the descriptor when the service is stopped. Does nothing without one. */
void notify_store(int fd, const char *name);
/** The descriptor stored under that name, or -1. The caller owns it; the service manager has it,
 *  too, until notify_forget. */
int notify_stored(const char *name);
/** Let the service manager drop what is stored under that name. */
void notify_forget(const char *name);
/** The listening unix socket that the service manager passed, -1 if there is none. Stored
 *  descriptors do not count. A TCP socket, or more than one socket, is an error: with socket
 *  activation every pull would wait while the daemon is down. */
int notify_listen_socket(int *fd, struct ocv_error *err) OCV_WARN_UNUSED;

/* The process that listens on a TCP port of this machine. */

struct listener {
    uid_t uid;           /**< owner of the socket, as the kernel reports it */
    unsigned long inode; /**< of the socket */
};

/** Find the process that listens on this address (IPv4 or IPv6, with its port). False if there is
 *  none, or the kernel does not show it. */
bool listener_find(const struct sockaddr_storage *address, struct listener *out);

#define KUBE_NODE_MAX 254 /**< a node's name, with its NUL */

/* One request to the API server of the Kubernetes cluster that this process runs in as a pod. */

/** Members are borrowed. */
struct kube_request {
    const char *account;       /**< directory of the service account: token and ca.crt */
    const char *method, *path; /**< "PATCH", "/api/v1/nodes/a" */
    const char *type, *body;   /**< the body's media type, and its text; NULL: none */
    long wanted;               /**< expected HTTP status */
    unsigned timeout_ms;
    volatile int *interrupted; /**< not 0: stop; may be NULL */
    struct ocv_buffer *answer; /**< gets the body of the answer; NULL: not wanted */
};

/** True if KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT name an API server. */
bool kube_api_known(void);
/** Is this a node's name as Kubernetes allows it, so that it is a single part of a URL? */
bool kube_node_name_valid(const char *name);
/** A variable of the pod's environment, or "". */
const char *kube_variable(const char *name);
/** Send it with the account's token. The token is read for each request, since Kubernetes renews
 *  it. OCV_ERR_DENIED: the HTTP status is not the expected one. */
int kube_api_send(const struct kube_request *request, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
