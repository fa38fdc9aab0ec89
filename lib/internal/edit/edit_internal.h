/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Internals of editing: a document whose parts keep their own bytes, so that what is not changed is
 * written as it was read. */
#ifndef OCV_EDIT_INTERNAL_H
#define OCV_EDIT_INTERNAL_H

#include "lib/base/format/json.h"
#include "lib/base/format/yaml.h"
#include "lib/internal/edit/edit.h"
#include "ocivariant/property.h"

#define OCV_ANNOTATION_REFERENCE_TYPE "vnd.docker.reference.type"
#define OCV_ANNOTATION_REFERENCE_DIGEST "vnd.docker.reference.digest"

/** The order of entries: defaults, then other images, then everything else. */
enum ocv_edit_class { OCV_EDIT_DEFAULT, OCV_EDIT_VARIANT, OCV_EDIT_OTHER };

struct ocv_edit_entry {
    char *text;                 /**< its bytes in the document */
    json_t *json;               /**< the same, parsed; the strings below are borrowed from it */
    bool changed;               /**< added or edited here: must be what readers accept */
    bool added;                 /**< by ocv_edit_add, now */
    bool by_null;               /**< added as `null`, though it carries no label */
    size_t order;               /**< place before a sort, so that equals stay in order */
    const char *digest, *label; /**< label NULL where there is none */
    const char *os, *architecture, *variant, *os_version; /**< empty where absent */
    const json_t *os_features;                            /**< a list, or NULL */
    const char *subject; /**< of an attestation: the digest that it is about, or NULL */
    enum ocv_edit_class class;
};

/** A member of the document: what comes before its value (key included), and the value. */
struct ocv_edit_member {
    char *before, *value;
};

struct ocv_edit {
    enum ocv_edit_layout layout;
    char *original; /**< the bytes that were opened; NULL for a new document */
    size_t original_len;
    bool yaml; /**< hints are in the terms of a YAML file */
    bool changed;
    struct ocv_edit_member *members;
    size_t n_members;
    char *tail;          /**< after the last member */
    size_t manifests;    /**< which member */
    char *lead, *trail;  /**< blanks before each entry, and before the closing bracket */
    json_t *annotations; /**< of the index; never NULL */
    bool annotations_changed;
    bool typed, docker;             /**< it has a mediaType; that of a Docker list */
    bool add_type;                  /**< it gets one */
    bool lines;                     /**< what is changed is written in lines, if the document is */
    bool namespaces_derived;        /**< their list is what the default rule gives: keep it so */
    struct ocv_edit_entry *entries; /**< grown by ocv_array_grow */
    size_t n;
};

/** Any index as its parts, a Docker list, too; nothing is known of its namespaces. */
int ocv_edit_read(const void *bytes, size_t len, struct ocv_edit **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;

/** Write the document as it stands, without any check. */
int ocv_edit_write(const struct ocv_edit *edit, struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;

/** Does the index list the namespace? */
bool ocv_edit_declares(const struct ocv_index *index, const char *ns);
/** Append the list of namespaces that readers assume where the annotation is absent. */
int ocv_edit_derive_namespaces(struct ocv_edit *edit, struct ocv_buffer *out,
                               struct ocv_error *err) OCV_WARN_UNUSED;

/** Make an entry of its bytes. Freed with ocv_edit_entry_free. */
int ocv_edit_entry_read(const char *text, size_t len, struct ocv_edit_entry *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** Make an entry of JSON (taken over) with sorted keys. */
int ocv_edit_entry_make(json_t *json, struct ocv_edit_entry *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_edit_entry_free(struct ocv_edit_entry *entry);
/** True if both run on exactly the same machines as far as their platform says. */
bool ocv_edit_same_platform(const struct ocv_edit_entry *a, const struct ocv_edit_entry *b);
/** True if one label cannot be on both: the platform without what hides variants. */
bool ocv_edit_same_place(const struct ocv_edit *edit, const struct ocv_edit_entry *a,
                         const struct ocv_edit_entry *b);
/** Set a text of an object, or with NULL remove it. Text that is not UTF-8: OCV_ERR_DATA. */
int ocv_edit_put_text(json_t *object, const char *key, const char *value,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Leave out label and properties: an image without either is what the default is. Of an entry with
 *  properties OCV_ERR_DATA. */
int ocv_edit_entry_plain(struct ocv_edit_entry *entry, struct ocv_error *err) OCV_WARN_UNUSED;
/** Set, or with NULL remove, a member of the platform or an annotation. */
int ocv_edit_entry_set(struct ocv_edit_entry *entry, const char *object, const char *key,
                       const char *value, struct ocv_error *err) OCV_WARN_UNUSED;

/** A label that writers may make, else OCV_ERR_DATA with a hint. */
int ocv_edit_check_label(const char *label, struct ocv_error *err) OCV_WARN_UNUSED;
/** Compare with all other entries: the same label or ordinary image twice, or one label with two
 *  meanings, is OCV_ERR_DATA. */
int ocv_edit_check_against(const struct ocv_edit *edit, const struct ocv_edit_entry *entry,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** Initialise `out` and write the properties (NULL: none) in the form of annotations. */
int ocv_edit_canonical(const struct ocv_properties *properties, struct ocv_buffer *out,
                       struct ocv_error *err) OCV_WARN_UNUSED;

/** Take out entry `i`, and what attests to its image where no other entry is of it. */
void ocv_edit_drop(struct ocv_edit *edit, size_t i);

/** Put the entry (taken over) where it belongs. */
int ocv_edit_insert(struct ocv_edit *edit, struct ocv_edit_entry *entry,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** If `status` is OCV_OK, place and insert. Frees the entry on failure; returns the status. */
int ocv_edit_put(struct ocv_edit *edit, struct ocv_edit_entry *entry, int status,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Take entry `i` out; it is the caller's then. */
struct ocv_edit_entry ocv_edit_take(struct ocv_edit *edit, size_t i);

/* What the files that read an index's YAML share. */

#define OCV_SOURCE_ANNOTATIONS_MAX 256u
/* ": " begins a value in YAML */
#define OCV_SOURCE_QUOTING_HINT "put properties in quotes: 'nvidia :: sm_arch :: 90_real'"

struct ocv_source_image {
    const char *label, *reference, *platform;
    bool shared;
    struct ocv_properties *properties;
    const struct ocv_yaml *node; /* of `properties`, or NULL */
    size_t line, image_line;
};

struct ocv_edit_source {
    struct ocv_yaml *tree;
    const char *target;
    bool has_layout, derive;
    enum ocv_edit_layout layout;
    struct ocv_source_image *images;
    size_t n_images;
    struct {
        char *key, *value;
    } annotations[OCV_SOURCE_ANNOTATIONS_MAX];
    size_t n_annotations;
};

/** What the file may hold. */
extern const struct ocv_yaml_rule ocv_edit_source_rule;

/* The nodes below are checked against it. */

/** `properties:` of a variant, a list or a map of namespaces. */
int ocv_edit_source_properties(const struct ocv_yaml_reader *r, const struct ocv_yaml *node,
                               struct ocv_properties **out);
/** The line of a property in that node; 0: it is not there. */
size_t ocv_edit_source_property_line(const struct ocv_yaml *node, const char *property);

#endif
