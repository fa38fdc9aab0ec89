/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which entries are defaults; used by the core, lint and tables. */
#ifndef OCV_DEFAULT_H
#define OCV_DEFAULT_H

#include "ocivariant/index.h"

/** Is it a default for hosts that no variant fits: `null`, or a complete ordinary image that is not
 *  a twin in a format that only some hosts read (os.features)? */
bool ocv_entry_is_default(const struct ocv_entry *entry);
/** Is it hidden ("x-...") without annotations: a variant that its publisher has yet to annotate? */
bool ocv_entry_is_unfinished(const struct ocv_entry *entry);
/** Is it shown as "the default": a complete ordinary image among variants? */
bool ocv_index_shows_default(const struct ocv_index *index, const struct ocv_entry *entry);
/** What a client that knows nothing of variants takes on this machine: of the entries that are not
 *  hidden the first of the platform that fits best, or NULL. `any_features`: it ignores
 *  os.features, as most of them do. */
const struct ocv_entry *ocv_index_older_choice(const struct ocv_index *index,
                                               const struct ocv_platform *machine,
                                               bool any_features);

#endif
