/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* WWW-Authenticate (RFC 9110 section 11.6.1, distribution's token specification). */
#ifndef OCV_REGISTRY_CHALLENGE_H
#define OCV_REGISTRY_CHALLENGE_H

#include <stddef.h>

/** One challenge; what it does not have is empty. */
struct ocv_challenge {
    char scheme[16]; /* lower case: "bearer", "basic" */
    char realm[2048];
    char service[512];
    char scope[2048]; /* several are separated by spaces */
    char error[128];
};

/** Parse the value of one header. Challenges past `max`, unknown parameters, and challenges with a
 *  parameter that is too long are dropped. Returns the number written. */
size_t ocv_challenge_parse(const char *text, size_t len, struct ocv_challenge *out, size_t max);

#endif
