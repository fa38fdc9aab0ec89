/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/daemons.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "plugins/kubernetes/node_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EVENT_MS 10000u   /* limit for the API server, because the daemon waits for us */
#define MESSAGE_MAX 1024u /* limit of Kubernetes for an event's message */

int report_write(const char *path, enum node_state state, const char *reason, struct ocv_error *err)
{
    char text[REASON_MAX + 1];
    int n = snprintf(text, sizeof(text), "%.*s\n", (int)REASON_MAX - 2,
                     state == NODE_CONFIGURED ? "configured" : reason);
    ocv_auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    return fd >= 0 && ocv_fd_write(fd, text, (size_t)n) ? OCV_OK
                                                        : ocv_file_fail(err, path, NULL, "write");
}

int report_event(const char *account, enum node_state state, const char *reason,
                 struct ocv_error *err)
{
    if (!kube_api_known() || !*kube_variable("POD_NAME") || !*kube_variable("POD_NAMESPACE"))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND,
                             "not in a pod with POD_NAME and POD_NAMESPACE");
    static const char *const reasons[] = {"ContainerdConfigured", "ContainerdNotConfigured",
                                          "ContainerdSetupFailed"};
    char at[32] = "", message[MESSAGE_MAX];
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &utc);
    const char *node = kube_variable("NODE_NAME"), *space = kube_variable("POD_NAMESPACE");
    snprintf(message, sizeof(message), "%s: %s", *node ? node : "this node", reason);
    json_t *event = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:s, s:s, s:{s:s, s:s}, "
        "s:s, s:s, s:i, s:s, s:s}",
        "apiVersion", "v1", "kind", "Event", "metadata", "generateName", NODE_SETUP "-",
        "namespace", space, "involvedObject", "apiVersion", "v1", "kind", "Pod", "namespace", space,
        "name", kube_variable("POD_NAME"), "uid", kube_variable("POD_UID"), "reason",
        reasons[state], "type", state == NODE_CONFIGURED ? "Normal" : "Warning", "message", message,
        "source", "component", NODE_SETUP, "host", node, "firstTimestamp", at, "lastTimestamp", at,
        "count", 1, "reportingComponent", NODE_SETUP, "reportingInstance",
        *node ? node : NODE_SETUP);
    ocv_auto_free char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;
    json_decref(event);
    if (!text)
        return ocv_error_nomem(err);
    char path[512];
    snprintf(path, sizeof(path), "/api/v1/namespaces/%.255s/events",
             kube_variable("POD_NAMESPACE"));
    const struct kube_request request = {.account = account,
                                         .method = "POST",
                                         .path = path,
                                         .type = "application/json",
                                         .body = text,
                                         .wanted = 201,
                                         .timeout_ms = EVENT_MS};
    return kube_api_send(&request, err);
}
