/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* YAML with line numbers, for our own libraries: a document as a tree of nodes that have their
 * lines, so that every error can name file and line. Not public: compiled into each library that
 * uses it, and not installed. */
#ifndef OCV_YAML_H
#define OCV_YAML_H

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

/* What a YAML file may hold, as tables: the keys of each mapping and the values that each may have.
 * A tree is checked against them in one pass, with one wording for all files; past that the readers
 * take every shape for granted. test_yaml_schema.c holds the tables against the JSON schemas.
 * Compiled into each library that uses it, as yaml_tree.h is. */

struct ocv_yaml_reader {
    const char *source; /**< the file's name in messages */
    struct ocv_error *err;
    /** What is said of an unknown key, which is left out; NULL: it is an error. */
    void (*unknown)(const char *message);
};

/** What a value may be: several bits where it may be one or the other. */
enum ocv_yaml_takes { OCV_TAKES_TEXT = 1, OCV_TAKES_LIST = 2, OCV_TAKES_MAP = 4 };

/** A value. A zero member sets no condition. */
struct ocv_yaml_rule {
    unsigned takes;
    bool empty; /**< a text may be empty, which for a list or mapping is one without members */
    /* a text */
    const char *wanted;             /**< what it is, for messages: "a name of a-z, 0-9 and _" */
    bool (*good)(const char *text); /**< is it that? */
    const char *const *words;       /**< it is one of these; the list ends with NULL */
    size_t len_max;                 /**< bytes */
    const char *hint;               /**< what to do where it is not */
    /* a list or mapping */
    size_t min, max; /**< members */
    bool once;       /**< no text twice in the list */
    const struct ocv_yaml_rule *item;
    const struct ocv_yaml_table *table; /**< a mapping with these keys */
    const struct ocv_yaml_rule *name;   /**< a mapping with any keys: of each key, as a text */
    const struct ocv_yaml_rule *each;   /**< and of its value */
    /** Checks that a table cannot express; called after the others have passed. */
    int (*check)(const struct ocv_yaml_reader *r, const struct ocv_yaml *node);
};

struct ocv_yaml_key {
    const char *name;
    const struct ocv_yaml_rule *rule;
    bool required;
};

/** The keys of a mapping. */
struct ocv_yaml_table {
    const char *what; /**< "a variant", for messages; NULL: the whole file */
    const struct ocv_yaml_key *keys;
    size_t n;
    const struct ocv_yaml_table *other; /**< the keys if the first one of that table is present */
    const struct ocv_yaml_table *inner; /**< somewhere below, where an unknown key may belong */
};

/** Initializers of `keys` and `n`. */
#define OCV_YAML_KEYS(list) .keys = (list), .n = sizeof(list) / sizeof(*(list))

extern const char *const ocv_yaml_flag_words[]; /**< true, false */

/** "SOURCE:LINE: 'KEY OR TEXT' ..."; OCV_ERR_CONFIG. */
int ocv_yaml_error(const struct ocv_yaml_reader *r, const struct ocv_yaml *node, const char *format,
                   ...) OCV_PRINTF(3, 4);
/** "SOURCE:LINE: ..."; OCV_ERR_CONFIG. */
int ocv_yaml_fail(const struct ocv_yaml_reader *r, const struct ocv_yaml *node, const char *format,
                  ...) OCV_PRINTF(3, 4);
/** Check a value and all that is in it. OCV_ERR_CONFIG with file and line. */
int ocv_yaml_check(const struct ocv_yaml_reader *r, const struct ocv_yaml_rule *rule,
                   const struct ocv_yaml *node) OCV_WARN_UNUSED;
/** The same of a text from elsewhere, such as a variable; the message has no file and line. */
int ocv_yaml_check_text(const struct ocv_yaml_rule *rule, const char *name, const char *text,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** Read a file of at most `max` bytes and check it. `*out` is NULL if it is empty. */
int ocv_yaml_load(const struct ocv_yaml_reader *r, const struct ocv_yaml_rule *rule,
                  const char *text, size_t len, size_t max, struct ocv_yaml **out) OCV_WARN_UNUSED;

/** Is a checked flag set? False where it is absent, too. */
bool ocv_yaml_flag(const struct ocv_yaml *map, const char *key);

#endif
