/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Values of settings that are more than a word: durations and addresses. */
#ifndef OCV_VALUES_H
#define OCV_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define OCV_DURATION_FORM "a duration such as 30s, 10m or 1h"
/** "90", "90s", "10m", "1h", "2d", "500ms" to milliseconds. */
bool ocv_duration_parse(const char *text, int64_t *ms);

#define OCV_ADDRESS_FORM "ADDRESS:PORT (IPv6: [::1]:5050)"
/** "127.0.0.1:5050", "localhost:5050", "[::1]:5050": no other name is looked up. */
bool ocv_address_parse(const char *text, struct sockaddr_storage *out, socklen_t *len);
bool ocv_address_is_loopback(const struct sockaddr_storage *address);

#endif
