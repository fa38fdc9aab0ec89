/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside of the tag rules (plugins/tags.d/README.md; schema/tag-rules.schema.json): a rule
 * file describes how one family of repositories writes its tags. The public face is in
 * ocivariant.h. */
#ifndef OCV_TAGS_INTERNAL_H
#define OCV_TAGS_INTERNAL_H

#include "gen/toolkits.h"
#include "lib/base/arena.h"
#include "lib/base/format/yaml.h"
#include "lib/core/core_internal.h"
#include "lib/internal/content/image_config.h"
#include "lib/internal/tags/tags.h"
#include "ocivariant/buffer.h"
#include "ocivariant/property.h"
#include "ocivariant/reference.h"

#include <regex.h>

#define OCV_TAG_RULES_SCHEMA "dev.ocivariant.tags/v1"
#define OCV_TAG_RULES_BYTES_MAX (256u * 1024) /**< of a file */
#define OCV_TAG_RULES_FILES_MAX 512u          /**< of a directory */
#define OCV_TAG_PATTERN_MAX 512u              /**< bytes of a pattern */
#define OCV_TAG_ITEMS_MAX 256u                /**< parts of a family, notations included */
#define OCV_TAG_LABEL_MAX 48                  /**< characters, as writers make labels */
#define OCV_TAG_CAPTURES 12                   /**< \0 to \9, and the two of the frame */
#define OCV_TAG_ASSUMPTIONS_MAX 16u           /**< that hold of one tag */
#define OCV_TAG_CUDA_MAX 64u                  /**< tables of a family */
#define OCV_TAG_SM_MAX 32u                    /**< compute capabilities in a table */
#define OCV_TAG_ASKS_MAX 4u   /**< things that one tag leaves to its configuration */
#define OCV_TAG_TEXT_MAX 512u /**< of a repository, and of what a template gives */

/** A text with \0 to \9 in it. */
struct ocv_tag_pair {
    const char *key; /**< of a group; NULL in a list of properties */
    const char *text;
};

/** One thing that a part of a tag, or a repository's name, may say. */
struct ocv_tag_item {
    const char *match;
    regex_t regex; /**< compiled for the family's separators */
    bool compiled;
    const char *kind; /**< what it is about; two of a kind are ambiguous. NULL: anything */
    const struct ocv_tag_pair *gives, *assumes, *groups;
    size_t n_gives, n_assumes, n_groups;
    const char *platform; /**< "linux/arm64", or NULL */
    const char *refuse;   /**< why such a tag is not a variant, or NULL */
    const char *label;    /**< template of what it adds to the label, or NULL */
    const char *config;   /**< what the image's configuration says ("cuda"), or NULL */
    bool ignore, first, repeat;
    size_t line;
};

/** Groups that must have a value, and its pattern. */
struct ocv_tag_where {
    const struct ocv_tag_pair *list;
    regex_t *regexes;
    size_t n, n_compiled;
};

/** A default for what no part says. */
struct ocv_tag_default {
    const char *const *missing; /**< kinds that no part states; none: always */
    size_t n_missing;
    const char *said; /**< kind that some part states, or NULL */
    struct ocv_tag_where where;
    const struct ocv_tag_pair *gives, *assumes, *groups;
    size_t n_gives, n_assumes, n_groups;
    const char *platform, *refuse, *config;
};

/** What a family's builds hold for CUDA. */
struct ocv_tag_cuda {
    struct ocv_tag_where toolkit; /**< the version, if one is asked for */
    struct ocv_tag_where where;
    const char *platform;       /**< "linux/arm64", or NULL: every one */
    const char *const *sm_arch; /**< "90_real"; none: what the toolkit can make */
    size_t n_sm_arch;
    bool any_sm;      /**< nothing bounds the devices */
    bool minor;       /**< machine code runs on older drivers of the toolkit's major version */
    const char *from; /**< or on those from this version on, "12.4"; NULL: on all */
    bool compat;      /**< the image brings compatibility libraries of its version */
};

/** Which of several tags that say the same is taken. */
struct ocv_tag_prefer {
    const char *key;
    int direction;             /**< 1: newest, -1: oldest, 0: by the list */
    bool shortest;             /**< of "tag" itself: the shortest, and nothing else */
    const char *const *values; /**< best first */
    size_t n;
};

struct ocv_tag_family {
    struct ocv_arena arena;
    struct ocv_yaml *tree; /**< most texts are borrowed from it */
    const char *name, *description, *source, *separators;
    struct ocv_tag_item *repositories, *items;
    size_t n_repositories, n_items;
    struct ocv_tag_default *defaults;
    size_t n_defaults;
    struct ocv_tag_cuda *cudas; /**< the first that applies is used; none: `strict` */
    size_t n_cudas;
    const char **kinds; /**< what parts and repositories are about, each once */
    size_t n_kinds;
    const char *const *group_tags; /**< "{version}-{python}" */
    size_t n_group_tags;
    struct ocv_tag_prefer *prefers;
    size_t n_prefers;
    const char *const *namespaces;
    size_t n_namespaces;
};

/** A named list of items that families use. */
struct ocv_tag_notation {
    struct ocv_tag_notation *next;
    char *name;
    struct ocv_yaml *tree; /**< the list of items */
    char *source;
};

/** A registry that mirrors another. */
struct ocv_tag_mirror {
    struct ocv_tag_mirror *next;
    char *host, *of;
};

struct ocv_tag_rules {
    struct ocv_tag_family **families; /**< the last that matches counts */
    size_t n;
    struct ocv_tag_notation *notations;
    struct ocv_tag_mirror *mirrors;
};

/** Read the items of a family from its checked tree, which has to outlive them. OCV_ERR_CONFIG with
 *  file and line. */
int ocv_tag_family_read(const struct ocv_tag_rules *rules, const char *source,
                        const struct ocv_yaml *tree, struct ocv_tag_family *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_tag_family_free(struct ocv_tag_family *family);
OCV_DEFINE_CLEANUP(ocv_tag_family)

/** Read a regular file of at most out->max bytes; never waits for a FIFO. */
int ocv_tag_file_read(const char *path, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

/** May a text match the whole pattern? Also true where the pattern is wrong. */
bool ocv_tag_pattern_may(const char *pattern, const char *text);
/** Compile POSIX extended `pattern`, to stand whole between `separators` (NULL: the whole text). No
 *  intervals and no back-references: what is left cannot take for ever. */
int ocv_tag_pattern_compile(const char *pattern, const char *separators, regex_t *out,
                            struct ocv_error *err) OCV_WARN_UNUSED;
/** Does it match? `*nomem` is set where memory was short and nothing is known. */
bool ocv_tag_match(const regex_t *regex, const char *text, regmatch_t captures[OCV_TAG_CAPTURES],
                   bool *nomem);
/** Fill a template from the captures of a match over `text`. OCV_ERR_DATA if it is too long. */
int ocv_tag_template(const char *format, const char *text, const regmatch_t *captures, bool lower,
                     char out[OCV_TAG_TEXT_MAX]) OCV_WARN_UNUSED;
/** "*" within a component, "**" over components. */
bool ocv_tag_glob(const char *pattern, const char *text);

/** The family that knows the repository "HOST/PATH", or NULL. `*nomem` as above. */
const struct ocv_tag_family *ocv_tag_rules_find(const struct ocv_tag_rules *rules, const char *name,
                                                bool *nomem);

/** The name under which rules may know the reference's repository: its own, or one in `out`. */
const char *ocv_tag_rules_name(const struct ocv_tag_rules *rules,
                               const struct ocv_reference *reference, char out[OCV_TAG_TEXT_MAX]);
void ocv_tag_mirrors_free(struct ocv_tag_mirror *mirrors);

struct ocv_tag_group {
    const char *key, *text;
    bool in_tag; /**< said by the tag, not by the repository or a default */
};

struct ocv_tag {
    struct ocv_arena arena;
    const struct ocv_tag_family *family; /**< NULL: no rule knows the repository */
    const char *reference, *tag;
    const char *repository;      /**< as the family's rules know it */
    struct ocv_properties *said; /**< by tag, repository and defaults */
    const char *words;           /**< those of `said` that no default gives (comma-separated), or
                                  *   NULL */
    struct ocv_properties *properties; /**< with what the family says of its CUDA builds */
    struct ocv_properties *base;       /**< of its base image, where that is another one; or NULL */
    struct ocv_tag_group *groups;      /**< sorted by key */
    size_t n_groups;
    bool plain; /**< every part of it is a group's value, not about hardware */
    const char **ignored, **unknown, **ambiguous;
    size_t n_ignored, n_unknown, n_ambiguous;
    const char *refused; /**< or NULL */
    const char *label;   /**< what its parts make of it, or NULL */
    const char *assumed; /**< of `said`, the properties of assumptions (comma-separated), or NULL */
    bool by_default;     /**< refused because a part is missing, not because of one */
    const char *asks[OCV_TAG_ASKS_MAX];     /**< what its configuration is to say: "cuda" */
    const char *asked_by[OCV_TAG_ASKS_MAX]; /* the part that leaves it open, "" for a default */
    size_t n_asks;
    bool open;                 /**< refused for nothing but what its configuration may say */
    const char *heard;         /**< what that says, "CUDA_VERSION=12.8.1", or NULL */
    const char *contradiction; /**< how that differs from what the tag says, or NULL */
    /* in a plan: */
    const char *out;              /**< why it is in no set, or NULL */
    bool candidate, placed;       /**< of some set; shown in one */
    const struct ocv_tag *better; /**< says the same, and was taken instead; or NULL */
    const char *platform;         /**< or NULL */
};

/** A part that the tag does not have: what its image's configuration says, in the words of tags. */
struct ocv_tag_answer_part {
    const struct ocv_tag_item *item;
    char text[32];     /**< "cuda12.8" */
    char feature[128]; /**< "nvidia :: cuda_version_lower_bound :: ", which the tag no longer says
                          itself */
    const char *of;    /**< "cuda" */
    regmatch_t captures[OCV_TAG_CAPTURES];
};
struct ocv_tag_answers {
    struct ocv_tag_answer_part list[OCV_TAG_ASKS_MAX];
    size_t n;
};
/** The part that would say that version of a thing ("cuda", "12.8"); false: the family has none
 * that gives a property. `*nomem` as above. */
bool ocv_tag_answer_part(const struct ocv_tag_family *family, const char *of, const char *version,
                         struct ocv_tag_answer_part *out, bool *nomem);
/** What an image would need whose configuration says the best for the host of the profile: in every
 * feature of the namespace that is asked about, the first values of the host, unless the tag says
 * others. Without a profile, and where the host has none, a value that no host has. */
int ocv_tag_hope(const struct ocv_tag *tag, const struct ocv_profile *profile,
                 struct ocv_properties **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** ocv_tag_answer with the configuration of the tag's image, of an index its first, read from
 * `source`. */
int ocv_tag_ask(const struct ocv_tag *tag, const struct ocv_tag_source *source,
                struct ocv_tag **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Read the text by the family's rules; `answers` (may be NULL) are what its configuration says. */
int ocv_tag_read(const struct ocv_tag_family *family, const char *repository, const char *reference,
                 const char *text, const struct ocv_tag_answers *answers, struct ocv_tag **out,
                 struct ocv_error *err) OCV_WARN_UNUSED;

/** A list of properties that hold unless the tag says a value of their features. */
struct ocv_tag_assumption {
    const struct ocv_tag_pair *list;
    size_t n;
};

/** Append to `properties` (comma-separated) what is assumed of features of which it says nothing:
 *  the values that all assumptions about the feature have. `*none` becomes a property of a feature
 *  of which they have no value together, else NULL. */
int ocv_tag_assume(const struct ocv_tag_assumption *all, size_t n, struct ocv_buffer *properties,
                   const char **none, struct ocv_error *err) OCV_WARN_UNUSED;

/** The CUDA version that the tag names, normalised ("12.0" for "12"), in `out`; NULL: none, or
 *  several. */
const char *ocv_tag_toolkit(const struct ocv_tag *tag, char out[OCV_TAG_TEXT_MAX]);
/** What an image of the tag needs on `platform` ("linux/arm64", NULL: what the tag says, or
 *  linux/amd64), and in `*base` what it needs on drivers of its major version that are too old for
 *  the rest of it, or NULL. `order` (may be NULL) is one property more, in both. */
int ocv_tag_claims(const struct ocv_tag *tag, const char *platform, const char *order,
                   struct ocv_properties **all, struct ocv_properties **base,
                   struct ocv_error *err) OCV_WARN_UNUSED;

#define OCV_TAG_BASE_SUFFIX OCV_TOOLKIT_MINOR_LABEL
#define OCV_TAG_BASE_LABEL_SIZE 64 /* as readers take labels */
/** The label of what `*base` above says, beside the tag's own. */
const char *ocv_tag_base_label(const char *label, char out[OCV_TAG_BASE_LABEL_SIZE]);

/** Do the groups that are asked for have such values? `*nomem` as above. */
bool ocv_tag_where_holds(const struct ocv_tag *tag, const struct ocv_tag_where *where, bool *nomem);

/** Value of a group key, or NULL. */
const char *ocv_tag_group_value(const struct ocv_tag *tag, const char *key);
/** The first of the family's group_tags that the tag matches, filled in: "1.9-py312" matches
 * "{version}-py{python}", which gives "1.9-py3.12". NULL if it matches none. */
const char *ocv_tag_group_name(const struct ocv_tag *tag, char out[OCV_TAG_TEXT_MAX]);
/** Is `key` named by the template? */
bool ocv_tag_group_in(const char *format, const char *key);
/** Fill "{version}-{python}" from the tag's groups; false where it lacks one. */
bool ocv_tag_group_format(const struct ocv_tag *tag, const char *format,
                          char out[OCV_TAG_TEXT_MAX]);
/** May the tag be a member of the set of that name? */
int ocv_tag_may_join(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const char *name, const char *tag, bool *may,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** The name of the set that a tag stands for: "1.9-py312" and "1.9-py3.12" want the same one. */
int ocv_tag_set_name(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const char *tag, char out[OCV_TAG_TEXT_MAX],
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Compare dotted versions: numbers by value, the rest by bytes; a pre-release stands before. */
int ocv_tag_version_compare(const char *a, const char *b);

/* Inside of a choice among tags: its candidates, and what was read of their configurations. */

struct ocv_tag_fixed {
    struct ocv_tag_candidate candidate;
    struct ocv_buffer body;            /* of an index */
    char platform[128];                /* of a manifest, once its configuration was read */
    struct ocv_tag_answered *answered; /* by image; owned with their tags */
    size_t n_answered;
    struct ocv_index_doubt doubt; /* the candidate stands for several; owned by the choice */
};

struct ocv_tag_choice {
    struct ocv_arena arena; /* of the doubts */
    struct ocv_tag_plan *plan;
    struct ocv_tag_fixed *fixed;
    size_t n;
    struct ocv_index *index;
    bool stale; /* more is known than the index has, or for another host */
};

/** A document that may not be a manifest of known size is read: an index gives its images. */
int ocv_tag_read_document(const struct ocv_tag_source *source, struct ocv_tag_fixed *fixed,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** Read it, and what the tag says with it. A document that is not a configuration gives no facts.
 */
int ocv_tag_read_config(const struct ocv_tag_source *source, struct ocv_tag_fixed *fixed,
                        const char *digest, struct ocv_error *err) OCV_WARN_UNUSED;
/** The digest of the candidate's first image; empty where an index has none. */
int ocv_tag_first_image(const struct ocv_tag_fixed *fixed, char digest[OCV_DIGEST_MAX],
                        struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_tag_fixed_clear(struct ocv_tag_fixed *fixed);

#endif
