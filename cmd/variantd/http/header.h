/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses values of request headers. Pure. */
#ifndef VARIANTD_HEADER_H
#define VARIANTD_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** True if an Accept header's value ("a/b;q=0.5, c/d") allows `type`. */
bool header_accepts(const char *value, const char *type);
/** True if a Range header's value is a single range of bytes, which is passed on. */
bool header_range_single(const char *value);
/** The bytes `*from` to `*end`, both included, of a single range in `size` bytes. False: not
 *  satisfiable. */
bool header_range_of(const char *value, int64_t size, int64_t *from, int64_t *end);
/** True if a Host header's value names this machine: "localhost", an address, or one of `names`,
 *  each with or without a port. False protects against DNS rebinding, where a web page makes the
 *  browser reach this daemon by the page's own DNS name. */
bool header_host_is_ours(const char *value, const char *const *names, size_t n);

#endif
