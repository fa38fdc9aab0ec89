/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This machine's tag rules, and the choice among a repository's tags. */
#ifndef OCV_RULES_H
#define OCV_RULES_H

#include "cmd/common/cli.h"
#include "lib/internal/tags/tags.h"

/** Load the shipped rules, then the administrator's (OCV_PATH_TAG_RULES), which replace families of
 *  the same name. `only` (may be NULL): skip families that cannot know this repository. */
int rules_load(struct cli *cli, const struct ocv_reference *only, struct ocv_tag_rules **out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** The same with the shipped rules in DATADIR/tags.d; NULL: where they were installed. `config`
 *  says which registries mirror others. */
int rules_load_from(const char *datadir, const struct ocv_config *config,
                    const struct ocv_reference *only, struct ocv_tag_rules **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** rules_load, then the rules of a file or a directory, `extra` (may be NULL). */
int rules_load_more(struct cli *cli, const char *extra, const struct ocv_reference *only,
                    struct ocv_tag_rules **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** If no family of `rules` knows the repository, add the rules for publishers' own tags
 *  (tags.d/authoring). For publishing only, never for pulling. `*added`: they were added. */
int rules_load_authoring(struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                         bool *added, struct ocv_error *err) OCV_WARN_UNUSED;
/** ocv_registry_tags for a choice or a hint: it ends after RULES_TAGS_S seconds in all. */
#define RULES_TAGS_S 30u
int rules_visit_tags(struct cli *cli, const struct ocv_reference *reference,
                     int (*visit)(void *data, const char *tag), void *data,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** A repository's tags, sorted by byte. */
struct rules_tags {
    char **list;
    size_t n;
};
int rules_list_tags(struct cli *cli, const struct ocv_reference *reference, struct rules_tags *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Append a copy of a tag. */
int rules_tags_add(struct rules_tags *tags, const char *tag, struct ocv_error *err) OCV_WARN_UNUSED;
void rules_tags_free(struct rules_tags *tags);

/** A registry's repository as the source of a choice among its tags. `data`, which it reads with,
 *  and the reference must outlive it. */
struct rules_source {
    struct cli *cli;
    const struct ocv_reference *reference;
    bool unlisted;             /* its tags are too many, take too long, or are no list */
    struct ocv_descriptor top; /**< what the reference's own tag stands for, if it was read already:
                                  it has a digest then */
};
struct ocv_tag_source rules_source(struct cli *cli, const struct ocv_reference *reference,
                                   struct rules_source *data);

#endif
