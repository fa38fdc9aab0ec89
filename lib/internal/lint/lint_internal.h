/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the checks of lint share. */
#ifndef OCV_LINT_INTERNAL_H
#define OCV_LINT_INTERNAL_H

#include "gen/lint-facts.h"
#include "lib/base/format/json.h"
#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/content/image_config.h"
#include "lib/internal/lint/lint.h"
#include "ocivariant/vocabulary.h"

#define OCV_LINT_COUNT(array) (sizeof(array) / sizeof(*(array)))

/** Where an entry is in the index's text. */
struct ocv_lint_position {
    size_t offset, line, column;
};

/** A property that the index itself may define. Order is place in the annotation. */
struct ocv_lint_static {
    bool is_static; /**< the index defines its namespace */
    bool malformed; /**< by a list that counts as empty */
    int value;      /**< place of the value in that list, -1: not there */
    int feature;    /**< place of the feature, -1: not there */
};

/** One run over one input. The first failure stays in `status`; after it nothing is reported. */
struct ocv_lint {
    const struct ocv_lint_input *input;
    const struct ocv_lint_options *options;
    struct ocv_lint_report *report;
    struct ocv_error *err;
    int status;
    json_t *root;                     /* of the index, or NULL */
    struct ocv_index *index;          /* the same, or NULL */
    struct ocv_lint_static *statics;  /* by property id */
    struct ocv_lint_position *places; /* of entries; NULL: not a file */
    struct ocv_lint_finding *last;    /* what ocv_lint_hint adds to, or NULL */
};

/** Report about the index as a whole; `pointer` may be "". */
void ocv_lint_index_at(struct ocv_lint *lint, enum ocv_lint_id id, const char *pointer,
                       const char *format, ...) OCV_PRINTF(4, 5);
/** Report about an entry; `member` is "" or a pointer inside of it ("/platform"). */
void ocv_lint_entry_at(struct ocv_lint *lint, enum ocv_lint_id id, size_t entry, const char *member,
                       const char *format, ...) OCV_PRINTF(5, 6);
/** Report about a tag. */
void ocv_lint_tag_at(struct ocv_lint *lint, enum ocv_lint_id id, size_t tag, const char *format,
                     ...) OCV_PRINTF(4, 5);
/** The finding that was reported last is about this property of the entry. */
void ocv_lint_property(struct ocv_lint *lint, size_t entry, struct ocv_property property);
/** What to do about the last finding. */
void ocv_lint_hint(struct ocv_lint *lint, const char *format, ...) OCV_PRINTF(2, 3);

/** The places of `n` entries of an index's text, in one walk. */
void ocv_lint_locate_entries(const char *text, size_t len, struct ocv_lint_position *out, size_t n);

/** What a command has to name: the input, or "REPO:TAG" where that is a file. */
const char *ocv_lint_target(const struct ocv_lint *lint);
/** The label annotation's text, "" where there is none. */
const char *ocv_lint_label(const struct ocv_lint *lint, size_t entry);
/** The label for people: "the default" for an image without annotations among variants. */
const char *ocv_lint_name(const struct ocv_lint *lint, size_t entry);
const json_t *ocv_lint_entry_json(const struct ocv_lint *lint, size_t entry);
/** A string annotation of the entry, or NULL. */
const char *ocv_lint_annotation(const struct ocv_lint *lint, size_t entry, const char *key);
const char *ocv_lint_index_annotation(const struct ocv_lint *lint, const char *key);
/** The entry describes another one (vnd.docker.reference.type). */
bool ocv_lint_attests(const struct ocv_lint *lint, size_t entry);
bool ocv_lint_same_platform(const struct ocv_entry *a, const struct ocv_entry *b);
bool ocv_lint_same_sets(const struct ocv_entry *a, const struct ocv_entry *b);
/** The child of an entry if it was read, else NULL. */
const struct ocv_lint_child *ocv_lint_child(const struct ocv_lint *lint, size_t entry);

/** The image specification's name of an architecture that has another here, or NULL. */
const char *ocv_lint_architecture(const char *name);
/** The property that says what a real platform.variant says ("x86_64 :: level :: v3"), and its
 *  `feature` ("x86_64 :: level"). NULL: none does. Both arguments may be NULL. */
const char *ocv_lint_level(const char *architecture, const char *variant, char feature[128]);
/** What is known of an accelerator by its name in labels, or NULL. */
const struct lint_fact *ocv_lint_accelerator(const char *name, size_t len);
/** True for an unknown namespace that looks like a known one, `meant`. */
bool ocv_lint_misspelt(const char *ns, char meant[OCV_WORD_MAX]);
/** "ns :: feature" in one text. */
bool ocv_lint_is_feature(struct ocv_property p, const char *text);
bool ocv_lint_known_namespace(const char *ns);
/** Append "nvidia, amd": the namespaces of the index, with `more` (or NULL) at the end unless it is
 *  one of them. False: too long. */
bool ocv_lint_list_namespaces(const struct ocv_lint *lint, const char *more,
                              struct ocv_buffer *out);
/** True if every host that fits entry A fits B, too. */
bool ocv_lint_fits_wherever(const struct ocv_lint *lint, const struct ocv_entry *a,
                            const struct ocv_entry *b);
/** Fill `statics`. OCV_ERR_NOMEM only. */
int ocv_lint_read_statics(struct ocv_lint *lint);

/** The lowest value that the properties name of a feature ("ns :: feature"), or NULL. */
const char *ocv_lint_lowest(const struct ocv_lint *lint, const struct ocv_entry *entry,
                            const char *feature);
/** If an entry names, for a feature whose versions run within their major (schema/toolkits.yaml),
 * both the version it was built with and the first of that major: the former, else NULL. */
const char *ocv_lint_minor_pair(const struct ocv_lint *lint, const struct ocv_entry *entry,
                                const char *feature);
/** The same, also where another entry of the same image names it. */
const char *ocv_lint_built_with(const struct ocv_lint *lint, const struct ocv_entry *entry,
                                const char *feature);
/** Is the entry the fallback of an image for older hosts of its major version, in addition to one
 * with more properties? */
bool ocv_lint_minor_base(const struct ocv_lint *lint, const struct ocv_entry *entry);
/** Is one of two entries of an image what the other needs on older hosts of its major? */
bool ocv_lint_minor_twins(const struct ocv_lint *lint, const struct ocv_entry *a,
                          const struct ocv_entry *b);
/** Two such entries tie on hosts that are older than both, and the label chooses the older build
 *  there: as it should be. */
bool ocv_lint_minor_settles(const struct ocv_lint *lint, const struct ocv_entry *a,
                            const struct ocv_entry *b);
/** How a property's value contradicts the version that was built for, by a relation of
 *  schema/lint-facts.yaml; NULL: it does not. */
const char *ocv_lint_contradiction(const char *relation, const char *value, const char *version);

/* The checks, one file each. */
void ocv_lint_check_annotations(struct ocv_lint *lint);
void ocv_lint_check_labels(struct ocv_lint *lint);
void ocv_lint_check_reach(struct ocv_lint *lint);
void ocv_lint_check_properties(struct ocv_lint *lint);
void ocv_lint_check_tags(struct ocv_lint *lint);
/** What the label of variant `i` says against its properties. */
void ocv_lint_check_label_words(struct ocv_lint *lint, size_t i);
/** Tag `i` of the input, of a repository that no rule knows. */
void ocv_lint_check_tag_words(struct ocv_lint *lint, size_t i);
/** The input's tags against each other; for each its family, NULL where no rule knows it. */
void ocv_lint_check_tag_drift(struct ocv_lint *lint, const char *const *families);
/** Tag `i` of the input against the labels of its image, which is at `entry` of the index. */
void ocv_lint_check_tag_labels(struct ocv_lint *lint, size_t i, const struct ocv_tag *tag,
                               size_t entry);
void ocv_lint_check_configs(struct ocv_lint *lint);
void ocv_lint_check_users(struct ocv_lint *lint);
void ocv_lint_check_config_labels(struct ocv_lint *lint);
void ocv_lint_check_size(struct ocv_lint *lint);
void ocv_lint_check_layout(struct ocv_lint *lint);
void ocv_lint_check_content(struct ocv_lint *lint);
void ocv_lint_check_platforms(struct ocv_lint *lint);
/** Of a source file: is there a default at all? */
void ocv_lint_check_source_default(struct ocv_lint *lint);
void ocv_lint_check_trust(struct ocv_lint *lint);

int ocv_lint_format_sarif(const struct ocv_lint_report *report,
                          const struct ocv_lint_failure *failures, size_t n_failures,
                          struct ocv_buffer *out, struct ocv_error *err);

/** What .ocivariant-lint.yaml may hold (lib/base/format/yaml.h). */
struct ocv_yaml_rule;
extern const struct ocv_yaml_rule ocv_lint_config_rule;

#endif
