/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* YAML with line numbers, for our own libraries: a document as a tree of nodes that have their
 * lines, so that every error can name file and line. Not public: compiled into each library that
 * uses it, and not installed. */
#ifndef OCV_YAML_TREE_H
#define OCV_YAML_TREE_H

#include "ocivariant/error.h"

#define OCV_YAML_DEPTH_MAX 16    /**< nesting; the tree is freed by recursion */
#define OCV_YAML_NODES_MAX 8192u /**< nodes of a tree */

enum ocv_yaml_type { OCV_YAML_SCALAR, OCV_YAML_LIST, OCV_YAML_MAP };

/** A node. Members of lists and maps hang on `first` and are linked by `next`, in file order. */
struct ocv_yaml {
    enum ocv_yaml_type type;
    size_t line; /**< from 1; of a map's member: the line of its key */
    char *key;   /**< name within a map, else NULL */
    char *text;  /**< of a scalar, without NUL inside */
    size_t n;    /**< members */
    struct ocv_yaml *first;
    struct ocv_yaml *next;
};

/** Read one document without aliases and without a key given twice. `source` names it in messages:
 *  "SOURCE:LINE: ...". An empty document gives NULL in `*out`. */
int ocv_yaml_read(const char *source, const char *text, size_t len, struct ocv_yaml **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_yaml_free(struct ocv_yaml *node);
/** The member of a map with that key, or NULL. `map` may be NULL. */
const struct ocv_yaml *ocv_yaml_get(const struct ocv_yaml *map, const char *key);
/** The text of such a member, NULL where there is none. */
const char *ocv_yaml_text(const struct ocv_yaml *map, const char *key);
/** Position of a text in a list of scalars (a scalar counts as a list of one); -1 if it is not
 *  there. `list` may be NULL. */
int ocv_yaml_find(const struct ocv_yaml *list, const char *text);

#endif
