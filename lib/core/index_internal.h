/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the parsed index looks like inside the core. */
#ifndef OCV_INDEX_H
#define OCV_INDEX_H

#include "lib/base/arena.h"
#include "lib/base/format/json.h"
#include "lib/core/host_features.h"
#include "ocivariant/digest.h"
#include "ocivariant/index.h"
#include "ocivariant/property.h"

/** Why an entry cannot be told from others that are not here. */
struct ocv_index_doubt {
    const char *message, *hint; /**< message NULL: it can */
};

struct ocv_index {
    struct ocv_arena arena;
    json_t *root; /* keeps the strings that entries borrow */
    char digest[OCV_DIGEST_MAX];
    struct ocv_entry *entries;
    size_t n_entries;
    struct ocv_property *properties; /* sorted, distinct; the position is the id */
    size_t n_properties;
    const char **namespaces;
    size_t n_namespaces;
    bool declared; /* the namespaces annotation was there */
    bool has_variants;
    struct ocv_namespace *statics;
    size_t n_statics;
    const char **warnings;
    size_t n_warnings;
    const char *rule, *group; /* made of a group's tags by this family's rules, or NULL */
    const struct ocv_index_doubt *doubts; /* one for each entry of such an index, or NULL */
};

/** The tag of which a rule made the entry, or NULL. Inline, as below. */
static inline const char *ocv_entry_tag(const struct ocv_index *index,
                                        const struct ocv_entry *entry)
{
    const json_t *one = json_array_get(json_object_get(index->root, "manifests"), entry->position);
    return json_string_value(
        json_object_get(json_object_get(one, "annotations"), OCV_ANNOTATION_REF_NAME));
}

/** OCV_ERR_DATA if the entry (or NULL) is one of several among which nothing decides. Inline: the
 *  library of tag rules, which is not part of the core's, asks it, too. */
static inline int ocv_index_check_doubt(const struct ocv_index *index,
                                        const struct ocv_entry *entry, struct ocv_error *err)
{
    const char *message = ocv_index_doubt(index, entry);
    if (!message)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_DATA, "%s", message);
    ocv_error_hint(err, "%s", index->doubts[entry->position].hint);
    return OCV_ERR_DATA;
}

/** Read entry `i` from its JSON. `*set` stays NULL for a non-variant or a malformed list. */
int ocv_index_read_entry(struct ocv_index *index, size_t i, const json_t *object,
                         struct ocv_properties **set, struct ocv_error *err);
/** Give an entry its code and what is wrong with it, unless it has a code already. */
int ocv_index_reject_entry(struct ocv_index *index, struct ocv_entry *entry, enum ocv_reject code,
                           const char *detail, struct ocv_error *err);
/** Give every entry its sorted property ids; `sets[i]` is entry i's list or NULL. */
int ocv_index_intern(struct ocv_index *index, struct ocv_properties *const *sets,
                     struct ocv_error *err);
/** Read namespaces order and static namespaces from the index annotations. */
int ocv_index_read_annotations(struct ocv_index *index, const json_t *annotations,
                               struct ocv_error *err);
int ocv_index_warn(struct ocv_index *index, struct ocv_error *err, const char *format, ...)
    OCV_PRINTF(3, 4);

#endif
