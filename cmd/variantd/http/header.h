/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of request headers, read. Pure. */
#ifndef VARIANTD_HEADER_H
#define VARIANTD_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Is `type` wanted by an Accept header's value: "a/b;q=0.5, c/d"? */
bool header_accepts(const char *value, const char *type);
/** A Range header's value that is worth passing on: one range of bytes. */
bool header_range_single(const char *value);
/** The bytes `*from` to `*end`, both included, that a single range means in `size` bytes; false:
 * not satisfiable. */
bool header_range_of(const char *value, int64_t size, int64_t *from, int64_t *end);
/** Does a Host header's value name this machine: "localhost", an address, or one of `names`, each
 * with or without a port? A web page that has a browser ask this daemon by a DNS name of its own
 * (DNS rebinding) fails this test. */
bool header_host_is_ours(const char *value, const char *const *names, size_t n);

#endif
