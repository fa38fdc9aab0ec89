/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file platform.h
 * Platforms, and how well an image of one runs on another (containerd/platforms' matching).
 *
 * Ownership: the strings of a platform are borrowed; one from ocv_platform_parse owns them and is
 * freed as a whole. Thread safety: the functions keep no state.
 */
#ifndef OCIVARIANT_PLATFORM_H
#define OCIVARIANT_PLATFORM_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A platform. Strings may be NULL where unknown or absent; they are borrowed unless said. */
struct ocv_platform {
    const char *os;
    const char *architecture;
    const char *variant;
    const char *os_version;
    const char *const *os_features;
    size_t n_os_features;
};

/** Parse "OS/ARCH[/VARIANT]", "ARCH" or, of a known architecture, "ARCH/VARIANT" with the usual
 *  aliases (x86_64, aarch64, armhf, ...). The result is one allocation, freed with
 * ocv_platform_free. */
OCV_API int ocv_platform_parse(const char *text, struct ocv_platform **out,
                               struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_platform_free(struct ocv_platform *platform);
/** How well `entry` runs on `host`: -1 not at all, else its place in containerd's preference
 *  order, 0 best. `x-...` variants count as none. On -1 `*why` (may be NULL) names the part that
 *  failed: "os", "architecture", "variant" or "os.features". */
OCV_API int ocv_platform_match(const struct ocv_platform *host, const struct ocv_platform *entry,
                               const char **why);
/** Write "os/arch[/variant]" (truncated to `size`). Returns `out`. */
OCV_API const char *ocv_platform_format(const struct ocv_platform *platform, char *out,
                                        size_t size);

/** Is it the platform.variant "x-..." that hides an entry from clients that know nothing of
 * variants? It says nothing about the processor. NULL: no. */
OCV_API bool ocv_platform_is_hidden(const char *variant);
/** Does it name (os.features) a format that only some hosts read, as nydus and EROFS? Windows names
 *  its own features so. */
OCV_API bool ocv_platform_is_other_format(const struct ocv_platform *platform);
#define OCV_PLATFORM_HIDDEN_MAX 80
/** The platform.variant that hides the entry of a label: "x-" and the label with "-" for ".", which
 *  runtimes refuse there. */
OCV_API void ocv_platform_hide(const char *label, char out[OCV_PLATFORM_HIDDEN_MAX]);

OCV_DEFINE_CLEANUP(ocv_platform)

#ifdef __cplusplus
}
#endif
#endif
