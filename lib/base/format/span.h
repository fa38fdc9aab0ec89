/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Pieces of a text, cut and trimmed in place: properties, lists of settings. */
#ifndef OCV_SPAN_H
#define OCV_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/** Bytes of a longer text; data NULL means "no more". */
struct ocv_span {
    const char *data;
    size_t len;
};

struct ocv_span ocv_span_trim(struct ocv_span s);
/** Cut the next piece up to `separator` off `rest`, trimmed. False when nothing is left. */
bool ocv_span_split(struct ocv_span *rest, char separator, struct ocv_span *piece);
/** Split at every "::", trimmed. Returns the number of parts, max + 1 if there are more. */
size_t ocv_span_parts(struct ocv_span text, struct ocv_span *parts, size_t max);

/* Values of settings that are more than a word: durations and addresses. */

#define OCV_DURATION_FORM "a duration such as 30s, 10m or 1h"
/** "90", "90s", "10m", "1h", "2d", "500ms" to milliseconds. */
bool ocv_duration_parse(const char *text, int64_t *ms);

#define OCV_ADDRESS_FORM "ADDRESS:PORT (IPv6: [::1]:5050)"
/** "127.0.0.1:5050", "localhost:5050", "[::1]:5050": no other name is looked up. */
bool ocv_address_parse(const char *text, struct sockaddr_storage *out, socklen_t *len);
bool ocv_address_is_loopback(const struct sockaddr_storage *address);

#endif
