/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a YAML file may hold, as tables: the keys of each mapping and the values that each may have.
 * A tree is checked against them in one pass, with one wording for all files; past that the readers
 * take every shape for granted. test_yaml_schema.c holds the tables against the JSON schemas.
 * Compiled into each library that uses it, as yaml_tree.h is. */
#ifndef OCV_YAML_FIELDS_H
#define OCV_YAML_FIELDS_H

#include "lib/base/format/yaml_tree.h"

struct ocv_yaml_reader {
    const char *source; /**< the file's name in messages */
    struct ocv_error *err;
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
