/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Torture: the Nth allocation fails, for N = 1, 2, ... until the call succeeds; once only that one,
 * once with every later one. A call either says OCV_ERR_NOMEM and leaks nothing, or succeeds with
 * the same result as undisturbed. Under a sanitizer, which brings its own allocator, the test is
 * skipped. */
#ifndef OCV_NOMEM_UTIL_H
#define OCV_NOMEM_UTIL_H

#include "test/unit/core_util.h"

/* Appends what it found to `out`. */
typedef int (*call)(struct ocv_buffer *out, struct ocv_error *err);

struct torture_call {
    const char *name;
    call call;
    long lost; /* blocks that libyaml 0.2.5 (node, event) or OpenSSL (error data) may lose */
};

/* Runs each call of `calls` with failing allocations. Returns the exit status. */
int torture(const char *name, const struct torture_call *calls, size_t n);

static const char index_text[] =
    "{\"schemaVersion\":2,\"annotations\":{\"dev.ocivariant.namespaces\":\"n, p, B\u00e4d\","
    "\"dev.ocivariant.static.p\":\"order :: 1, order :: 2\"},\"manifests\":["
#define ENTRY(digit, more)                                             \
    "{\"mediaType\":\"application/"                                    \
    "vnd.oci.image.manifest.v1+json\",\"size\":5,\"digest\":\"sha256:" \
    "000000000000000000000000000000000000000000000000000000000000000" digit "\"" more "}"
#define VARIANT(label, properties)                                                    \
    ",\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\",\"os.features\":[]}," \
    "\"annotations\":{\"dev.ocivariant.label\":\"" label                              \
    "\",\"dev.ocivariant.properties\":\"" properties "\"}"
    ENTRY("1", VARIANT("null", "")) "," ENTRY("2",
                                              VARIANT("a", "n :: f :: 1, p :: order :: 2")) "," //
    ENTRY("3", VARIANT("b", "n :: f :: 2, n :: g :: 1")) "," ENTRY("4", "") ","                 //
    ENTRY("5", VARIANT("bad", "no property")) "," ENTRY("6", VARIANT("c", "n :: f :: 9")) "]}";

#endif
