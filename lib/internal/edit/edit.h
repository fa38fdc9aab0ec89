/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file edit.h
 * Writing indexes with variants (schema/annotations.md, "Layout").
 */
#ifndef OCV_EDIT_H
#define OCV_EDIT_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/error.h"
#include "ocivariant/index.h"
#include "ocivariant/platform.h"
#include "ocivariant/property.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** An index document that is made or edited: unchanged parts keep their bytes. */
struct ocv_edit;
/** How entries other than the default are hidden from clients that know nothing of variants. */
enum ocv_edit_layout {
    OCV_EDIT_HIDDEN,       /**< platform.variant "x-LABEL": they never see them */
    OCV_EDIT_SAME_PLATFORM /**< the true platform: containerd 2.1 and newer fetches all of them */
};
/** An image that becomes an entry. Strings are borrowed for the call. */
struct ocv_edit_image {
    const char *label;                       /**< NULL or "null": the default */
    const struct ocv_properties *properties; /**< NULL: none */
    struct ocv_descriptor descriptor;
    struct ocv_platform platform; /**< as its config says */
    bool replace; /**< replace the entry that was opened with this label (or as the default) on this
                       platform */
};

/** An empty index. */
int ocv_edit_new(enum ocv_edit_layout layout, struct ocv_edit **out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** An index to edit. Not an index: OCV_ERR_DATA; a Docker manifest list, whose annotations get
 *  lost: OCV_ERR_UNSUPPORTED. `layout` is for what is added. */
int ocv_edit_open(const void *bytes, size_t len, const char *media_type,
                  enum ocv_edit_layout layout, struct ocv_edit **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** The document is made from a YAML file: hints are in its terms, not in those of options. */
void ocv_edit_from_yaml(struct ocv_edit *edit);
void ocv_edit_free(struct ocv_edit *edit);
/** Number of entries. */
size_t ocv_edit_count(const struct ocv_edit *edit);
/** The bytes of entry `i`, NULL past the last. Borrowed until the next change. */
const char *ocv_edit_entry(const struct ocv_edit *edit, size_t i);
/** Add an image where it belongs. The default, `null` or without a label, becomes an entry without
 *  annotations, which every client finds. Bad label, the label or the default twice on a platform,
 *  one label with two sets of properties: OCV_ERR_DATA; one default added as `null` and one without
 *  a label: OCV_ERR_INVALID. After an error of this and of the following functions the document can
 *  only be freed. */
int ocv_edit_add(struct ocv_edit *edit, const struct ocv_edit_image *image,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** The properties of the entries that have this label, as a new set. OCV_ERR_NOT_FOUND: there is
 *  none. */
int ocv_edit_properties(const struct ocv_edit *edit, const char *label, struct ocv_properties **out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** Add an entry of these bytes (an attestation of an image that was added before). */
int ocv_edit_add_raw(struct ocv_edit *edit, const char *json, size_t len,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Is there a default for exactly this platform? */
bool ocv_edit_has_default(const struct ocv_edit *edit, const struct ocv_platform *platform);
/** Take out the entries with this label or digest (NULL: ordinary images, which "null" means, too,
 *  where no entry has that label), of that os and architecture only where `platform` is given, and
 *  what attests to them. OCV_ERR_NOT_FOUND. */
int ocv_edit_remove(struct ocv_edit *edit, const char *which, const struct ocv_platform *platform,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Give such entries a label, or properties, or both (NULL: as it is). The label "null" takes both
 *  away: a default carries none. */
int ocv_edit_annotate(struct ocv_edit *edit, const char *which, const struct ocv_platform *platform,
                      const char *label, const struct ocv_properties *properties,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Set an annotation of the index, or remove it (NULL). Namespaces and static namespaces are
 *  checked (OCV_ERR_DATA); what stands on entries or is written by itself: OCV_ERR_INVALID. Without
 *  OCV_ANNOTATION_NAMESPACES they are listed by the default rule. */
int ocv_edit_set(struct ocv_edit *edit, const char *key, const char *value,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** An annotation of the index, or NULL. */
const char *ocv_edit_annotation(const struct ocv_edit *edit, const char *key);
/** True if the namespaces are listed in the order of the default rule: none was given. */
bool ocv_edit_namespaces_derived(const struct ocv_edit *edit);
/** Give every entry the place and platform that the layout asks for, an annotated `null` the form
 * of an ordinary image, and an index with variants the annotations of ours that it lacks: for an
 * index that another tool, or an older one, made. */
int ocv_edit_relayout(struct ocv_edit *edit, struct ocv_error *err) OCV_WARN_UNUSED;
/** The document's bytes: the same input gives the same bytes, and what was not changed is as it was
 *  read. A changed part that readers would not use: OCV_ERR_DATA. `out` is replaced. */
int ocv_edit_format(struct ocv_edit *edit, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;

/** One image of a source file. Borrowed from it. */
struct ocv_edit_source_image {
    const char *label;                       /**< NULL: an ordinary image, the default */
    const char *reference;                   /**< as written */
    const char *platform;                    /**< the one entry of the image's index, or NULL */
    bool shared;                             /**< the file's image: the entry x-LABEL is meant */
    const struct ocv_properties *properties; /**< NULL: none */
    size_t line;                             /**< of the variant */
    size_t image_line;                       /**< of its reference */
};
/** What an index is made of, as a YAML file (schema/index-source.schema.json). */
struct ocv_edit_source;
/** Read one. `source` names it in messages. OCV_ERR_DATA "FILE:LINE: ...". */
int ocv_edit_source_parse(const char *source, const char *text, size_t len,
                          struct ocv_edit_source **out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_edit_source_free(struct ocv_edit_source *source);
const char *ocv_edit_source_target(const struct ocv_edit_source *source); /**< or NULL */
size_t ocv_edit_source_count(const struct ocv_edit_source *source);
struct ocv_edit_source_image ocv_edit_source_image(const struct ocv_edit_source *source, size_t i);
/** The line in which image `i` has the property "ns :: feature :: value"; its first where it does
 *  not. */
size_t ocv_edit_source_line(const struct ocv_edit_source *source, size_t i, const char *property);
/** The i-th annotation of the index that the file asks for (namespaces and static namespaces
 * included); false past the last. */
bool ocv_edit_source_annotation(const struct ocv_edit_source *source, size_t i, const char **key,
                                const char **value);
/** Its layout; `fallback` where it names none. */
enum ocv_edit_layout ocv_edit_source_layout(const struct ocv_edit_source *source,
                                            enum ocv_edit_layout fallback);
/** Are properties read from the images' files, too? */
bool ocv_edit_source_derives(const struct ocv_edit_source *source);

OCV_DEFINE_CLEANUP(ocv_edit)
OCV_DEFINE_CLEANUP(ocv_edit_source)

#endif
