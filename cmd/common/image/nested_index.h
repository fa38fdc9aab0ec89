/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Indexes in an index (authentik, BuildKit's and nerdctl's layouts), and images whose platform
 * stands in their configurations alone. */
#ifndef OCV_NESTED_INDEX_H
#define OCV_NESTED_INDEX_H

#include "ocivariant/descriptor.h"
#include "ocivariant/index.h"
#include "ocivariant/layout.h"
#include "ocivariant/registry.h"

#define NESTED_DEPTH_MAX 4u    /* levels of indexes below the first */
#define NESTED_INDEXES_MAX 64u /* that are read */
#define NESTED_CONFIGS_MAX 16u /* configurations that are read for their platforms */

/** Where they are read. */
struct nested_source {
    void *data;
    /** An index, checked against its digest. OCV_ERR_NOT_FOUND: it stays what it is, a nested index
     *  that nobody can use. NULL: so do all. */
    int (*get)(void *data, const struct ocv_descriptor *nested, struct ocv_buffer *body,
               struct ocv_error *err);
    /** The configuration of an image, the same; NULL: platforms stay as they are. */
    int (*config)(void *data, const struct ocv_descriptor *image, struct ocv_buffer *config,
                  struct ocv_error *err);
    bool lone; /* also of an image that stands alone: somebody has named a platform */
};

/** Is anything in the index to be read elsewhere: other indexes, or platforms (`lone`: as above)?
 */
bool nested_index_is(const struct ocv_index *index, bool lone);
/** The same images in one index with the digest of `index`: those of nested indexes in their place,
 *  each once by digest, platform and annotations of ours, with the platform of the nested index
 * where they have none; images without a platform with that of their configuration. Annotations of
 * a nested index count where the first has none of that name. At most OCV_INDEX_ENTRIES_MAX
 * entries, else OCV_ERR_DATA. */
int nested_index_flatten(const struct ocv_index *index, const struct nested_source *source,
                         struct ocv_index **out, struct ocv_error *err) OCV_WARN_UNUSED;

/* The images of an index, and of those in it, where an image is kept. */

/** A repository of a registry, or a layout; neither: a file, which has nothing more. */
struct nested_place {
    struct ocv_registry *registry;
    const struct ocv_reference *reference;
    const struct ocv_layout *layout;
    const char *digest; /**< of a document that was read before, or NULL */
    const struct ocv_buffer *body;
};

/** The index of all images of an index in which anything is to be read elsewhere
 *  (nested_index_flatten); `*out` stays NULL where there is nothing. `lone`: somebody has named a
 *  platform. A variant that stands alone is judged like others, any other such image is taken. */
int nested_place_walk(const struct nested_place *place, const struct ocv_index *index, bool lone,
                      struct ocv_index **out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
