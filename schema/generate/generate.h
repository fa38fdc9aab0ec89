/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Prints tables and pages from YAML files: main.c has the list of them. What is wrong with a file
 * ends the program. */
#ifndef SCHEMA_GENERATE_H
#define SCHEMA_GENERATE_H

#include "lib/base/format/yaml.h"

#include <stdbool.h>
#include <stddef.h>

typedef const struct ocv_yaml *node;

extern node document;      /**< what is read */
extern const char *source; /**< its name */
extern char **providers;   /**< files of declarative providers, up to NULL */

/** End with "SOURCE:LINE: why". */
_Noreturn void fail(node at, const char *why, ...) OCV_PRINTF(2, 3);
/** The text of a member, or its list, which has to be there. */
const char *need(node map, const char *key);
node need_list(node map, const char *key);
/** The first member of a list that may be absent. */
node first_of(node map, const char *key);
/** One of the words, in capitals and with _ for -, until the next call. */
const char *need_word(node map, const char *key, const char *const *words);
/** "namespace :: feature" as two texts. */
void split_feature(node map, const char *key, char ns[64], char feature[64]);

/** In capitals, with _ for -. */
void print_upper(const char *text);
/** A string of C, NULL without a text. */
void print_string(const char *text);
/** The texts of these keys, with commas between them. */
void print_strings(node map, const char *const *keys);
/** The texts of a list as one string; NULL without a list. */
void print_joined(node list, const char *between);
/** The first lines of a C header. */
void head(const char *guard);

void vocabulary(void);
void vocabulary_words(void);
void hints(void);
void toolkits(void);
void device_drivers(void);
void config_facts(void);
void lint_facts(void);
void content_rules(void);
void slim_vendors(void);
void daemon_metrics(void);
void metrics_page(void);
void lint_rules(void);
void lint_page(void);

#endif
