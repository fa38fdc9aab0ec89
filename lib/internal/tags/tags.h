/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file tags.h
 * Tag rules (plugins/tags.d/README.md; schema/tag-rules.schema.json), and choosing among the tags
 * of a repository.
 *
 * Ownership: the caller owns rules, tags and choices and frees them, the rules last; texts are
 * borrowed from their object. Thread safety: rules may be read by any number of threads once no
 * file is added any more; one thread at a time for each choice.
 */
#ifndef OCV_TAGS_H
#define OCV_TAGS_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/error.h"
#include "ocivariant/index.h"
#include "ocivariant/reference.h"
#include "ocivariant/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The meaning of published tags, for images whose accelerator is only in the tag. Immutable once
 * read, and then safe to use from several threads. */
struct ocv_tag_rules;
/** Rules without any family. */
int ocv_tag_rules_new(struct ocv_tag_rules **out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_tag_rules_free(struct ocv_tag_rules *rules);
/** Apply the rules for the registry `of` to `host`, too, which mirrors it (`registries: HOST:
 * mirror_of` of the configuration); HOST/PATH: a part of it, and the longest one counts. Call
 * before rules are added. The last call counts. Not ocv_reference_host_valid: OCV_ERR_INVALID. */
int ocv_tag_rules_mirror(struct ocv_tag_rules *rules, const char *host, const char *of,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** Add one rule file's text (YAML). `source` names it in messages. A family that is there already
 * is replaced; one added later is asked first. `only` (may be NULL): leave out families that cannot
 * know this repository, since their patterns cost most of the time. OCV_ERR_DATA: "FILE:LINE:
 * ...". */
int ocv_tag_rules_add(struct ocv_tag_rules *rules, const char *source, const char *text, size_t len,
                      const struct ocv_reference *only, struct ocv_error *err) OCV_WARN_UNUSED;
/** Add every *.yaml of a directory, by name. A directory that is not there has none. */
int ocv_tag_rules_load(struct ocv_tag_rules *rules, const char *dir,
                       const struct ocv_reference *only, struct ocv_error *err) OCV_WARN_UNUSED;
/** Number of families. */
size_t ocv_tag_rules_count(const struct ocv_tag_rules *rules);

/** What one tag says by the rules. Its texts are its own; the rules must outlive it. */
struct ocv_tag;
/** Read `tag` (NULL: the reference's, "latest" without one) of the reference's repository. A
 *  repository that no rule knows is not an error: its family is NULL. */
int ocv_tag_parse(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                  const char *tag, struct ocv_tag **out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_tag_free(struct ocv_tag *tag);
/** The family whose rules apply, NULL if no rule knows the repository. */
const char *ocv_tag_family(const struct ocv_tag *tag);
const char *ocv_tag_text(const struct ocv_tag *tag);      /**< the tag itself, "86-1.9" */
const char *ocv_tag_reference(const struct ocv_tag *tag); /**< "HOST/REPOSITORY:TAG" */
/** Why such a tag is not a variant ("a driver image"), or NULL. */
const char *ocv_tag_refused(const struct ocv_tag *tag);
const char *ocv_tag_platform(const struct ocv_tag *tag); /**< "linux/arm64", or NULL */
/** The i-th fact that the tag leaves to its image's configuration ("cuda", as in
 * lib/internal/content/image_config.h); NULL past the last. A tag refused only for lack of these
 * may be a variant. */
const char *ocv_tag_asks(const struct ocv_tag *tag, size_t i);
/** Read the tag again with what the configuration of its image says, which wins over what the tag
 * says of the same. `config` NULL: it was asked and says nothing. The new tag asks for nothing;
 * what was not answered leaves it refused. It is freed by the caller. */
struct ocv_image_config;
int ocv_tag_answer(const struct ocv_tag *tag, const struct ocv_image_config *config,
                   struct ocv_tag **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Of such a tag: what the configuration said of it ("CUDA_VERSION=12.8.1"), and how that differs
 * from what the tag says; NULL for nothing. */
const char *ocv_tag_heard(const struct ocv_tag *tag, const char **contradiction);
/** The properties that it gives, or an empty set. Never NULL. Of a CUDA version: with the devices
 *  for which such a build holds code, and, where its family's builds run by CUDA's minor-version
 *  compatibility, with the first version of that major, too. */
const struct ocv_properties *ocv_tag_properties(const struct ocv_tag *tag);
/** What the words of the tag, its repository and the defaults say alone. Never NULL. */
const struct ocv_properties *ocv_tag_said(const struct ocv_tag *tag);
/** Those of ocv_tag_properties that are assumed and not stated for this image: the devices that
 * builds with its toolkit commonly support. A new set, possibly empty; the caller frees it. */
int ocv_tag_assumed(const struct ocv_tag *tag, struct ocv_properties **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Parts of the tag: without meaning for a choice, not known to the rules, open to two readings. */
enum ocv_tag_list { OCV_TAG_IGNORED, OCV_TAG_UNKNOWN, OCV_TAG_AMBIGUOUS };
/** One of its lists of texts. Returns how many; `out` may be NULL. */
size_t ocv_tag_list(const struct ocv_tag *tag, enum ocv_tag_list which, const char *const **out);
/** The i-th of its groups, by key ("version" "1.9"); false past the last. */
bool ocv_tag_group(const struct ocv_tag *tag, size_t i, const char **key, const char **value);
/** Append {"reference","family","properties","group","ignored","unknown","ambiguous"}, and
 * "base", "platform", "refused" and "asks" (what its image's configuration is asked for) where
 * there is one. */
int ocv_tag_format_json(const struct ocv_tag *tag, struct ocv_buffer *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;

/** True if the tag, in a repository where a rule groups tags, is such a group's name ("1.9" for
 *  "86-1.9", "hopper-1.9", ...): only then do the repository's tags have to be listed. One that
 *  is refused for what it leaves unsaid is a name only where the repository has no such tag. */
bool ocv_tag_names_group(const struct ocv_tag *tag);

/** What a tag says with the configuration of one of its images. */
struct ocv_tag_answered {
    char digest[OCV_DIGEST_MAX]; /**< of the image's manifest */
    struct ocv_tag *tag; /**< of ocv_tag_answer; refused where it leaves open what it needs */
};

/** A member whose digest is fixed. Borrowed. */
struct ocv_tag_candidate {
    const struct ocv_tag *tag;
    const char *label;
    struct ocv_descriptor descriptor;
    const void *body; /**< bytes of an index, whose images of every platform are taken; NULL: the
                           descriptor is a manifest's */
    size_t body_len;
    const char
        *platform; /**< of a manifest, from its config; NULL: what the tag says, or unknown */
    const struct ocv_tag_answered *answered; /**< of the images whose configuration was read */
    size_t n_answered;
};
/** The properties of an image in an index whose tag leaves its needs to a configuration that was
 *  not read: what the tag says by itself, and nothing if it is refused; a value that no host has;
 *  or the best that the configuration could say for the host of a profile, so that an entry that a
 *  resolver prefers even to that needs no further comparison. */
enum ocv_tag_unread { OCV_TAG_UNREAD_OUT, OCV_TAG_UNREAD_NEVER, OCV_TAG_UNREAD_HOPE };
/** Append the candidates as an image index with our annotations, to be parsed and resolved as any
 *  other. Its own digest means nothing. `profile`: for OCV_TAG_UNREAD_HOPE. */
int ocv_tag_index(const struct ocv_tag_candidate *candidates, size_t n, enum ocv_tag_unread unread,
                  const struct ocv_profile *profile, struct ocv_buffer *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;

/** Where tags, manifests and configurations come from: one repository of a registry, a layout, a
 * test. Each function returns 0 or a status with `err` filled. */
struct ocv_tag_source {
    void *data;
    /** Call `visit` for each tag of the repository; stop when it returns non-zero. */
    int (*tags)(void *data, int (*visit)(void *visit_data, const char *tag), void *visit_data,
                struct ocv_error *err);
    /** What the tag stands for now; a size below zero is not known. */
    int (*head)(void *data, const char *tag, struct ocv_descriptor *out, struct ocv_error *err);
    /** The manifest or index of this digest, verified. */
    int (*get)(void *data, const char *digest, struct ocv_buffer *body, struct ocv_descriptor *out,
               struct ocv_error *err);
    /** A small blob, verified. */
    int (*blob)(void *data, const struct ocv_descriptor *blob, struct ocv_buffer *body,
                struct ocv_error *err);
    /** What `keep` was given for the manifest of this digest: the essence of its configuration
     *  (lib/internal/content/image_config.h); false: nothing. Both may be NULL. */
    bool (*recall)(void *data, const char *digest, struct ocv_buffer *essence);
    void (*keep)(void *data, const char *digest, const struct ocv_buffer *essence);
    /** Told before and after much memory is used for a moment, without any other call; or NULL. */
    void (*parse)(void *data, bool begin);
    /** Asked for before a choice keeps so many bytes more; or NULL. */
    int (*pay)(void *data, size_t bytes, struct ocv_error *err);
};

#define OCV_TAG_CANDIDATES_MAX 256u /**< tags of one choice whose digests are fixed */
#define OCV_TAG_CONFIGS_MAX 16u     /**< configurations that are read for one choice of them */

/** The choice among the tags that stand for one name. */
struct ocv_tag_choice;
/** If the rules say that the reference's tag names a group: list the repository's tags, fix each
 *  candidate's digest once, and make their index. `*out` stays NULL where they do not, or where
 *  there is nothing to choose: the tag is taken as it is. Tags that the rules cannot tell apart:
 *  OCV_ERR_DATA with their names. A registry without lists of tags (HTTP 405, 501):
 *  OCV_ERR_NOT_FOUND. `rules` must outlive it. */
int ocv_tag_choice_new(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                       const struct ocv_tag_source *source, struct ocv_tag_choice **out,
                       struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_tag_choice_free(struct ocv_tag_choice *choice);
/** Choose. Where the winner's platform is not known, or its tag leaves to its configuration what it
 * needs, that is read (two small requests, but where `recall` has it) and it is chosen again: the
 * index is another one afterwards. Only what would win if its configuration said the best for this
 * host is read, at most OCV_TAG_CONFIGS_MAX of them. The decision borrows the index and the
 * profile. */
int ocv_tag_choice_resolve(struct ocv_tag_choice *choice, const struct ocv_tag_source *source,
                           const struct ocv_profile *profile,
                           const struct ocv_resolve_options *options, struct ocv_decision **out,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** The index to choose in; its digest names the digests that were fixed. Valid until the next call
 *  of ocv_tag_choice_resolve. */
const struct ocv_index *ocv_tag_choice_index(const struct ocv_tag_choice *choice);
/** The same, owned by the caller; the choice is freed. */
struct ocv_index *ocv_tag_choice_take(struct ocv_tag_choice *choice);
/** The family whose rules made it ("huggingface-tei"), and the name that its tags stand for. */
const char *ocv_tag_choice_family(const struct ocv_tag_choice *choice);
const char *ocv_tag_choice_group(const struct ocv_tag_choice *choice); /**< "1.9" */
/** The i-th tag that stands for the name, with what it stood for when it was fixed; NULL past the
 *  last. */
const char *ocv_tag_choice_candidate(const struct ocv_tag_choice *choice, size_t i,
                                     const struct ocv_descriptor **descriptor);
/** The tag of an entry of that index ("86-1.9"), and what it stood for when it was fixed. */
const char *ocv_tag_choice_tag(const struct ocv_tag_choice *choice, const struct ocv_entry *entry,
                               const struct ocv_descriptor **descriptor);

/** What was heard of an image whose tag leaves something to its configuration, or contradicts it.
 */
struct ocv_tag_note {
    const char *tag;           /**< "v0.11.0" */
    const char *digest;        /**< of the image; empty where none was asked */
    const char *heard;         /**< "CUDA_VERSION=12.8.1", or NULL */
    const char *refused;       /**< why it is not a variant, though it was asked, or NULL */
    const char *contradiction; /**< how tag and configuration differ, or NULL */
};
/** The i-th such image of the last choice; false past the last. One that was not asked, since
 * others fit better whatever it says, has nothing but its tag. */
bool ocv_tag_choice_note(const struct ocv_tag_choice *choice, size_t i, struct ocv_tag_note *out);

OCV_DEFINE_CLEANUP(ocv_tag)
OCV_DEFINE_CLEANUP(ocv_tag_rules)
OCV_DEFINE_CLEANUP(ocv_tag_choice)

/* Sets of a repository's tags that stand for one name each: what `variantctl tags plan` shows, and
 * what a choice among tags is made of. Owned by the caller; immutable once made. */

/** Sets of tags that stand for one name each. Owns the parsed tags. */
struct ocv_tag_plan;
/** Plan over `n` tags of the reference's repository, in any order; duplicates count once. `wanted`
 * (may be NULL): only the set of that name. Of tags that say the same, one is taken by the rule's
 * preference; if that does not decide, none is taken and a doubt says so. Sets in which there is
 * nothing to choose are left out. */
int ocv_tag_plan_new(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const char *wanted, const char *const *tags, size_t n,
                     struct ocv_tag_plan **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Keep the members of sets and the first tag of each doubt alone: what is left out is no longer
 *  told. */
void ocv_tag_plan_trim(struct ocv_tag_plan *plan);
void ocv_tag_plan_free(struct ocv_tag_plan *plan);
/** Number of sets; each has a name, the tag that stands for it, and members. */
size_t ocv_tag_plan_sets(const struct ocv_tag_plan *plan);
const char *ocv_tag_plan_name(const struct ocv_tag_plan *plan, size_t set);
size_t ocv_tag_plan_members(const struct ocv_tag_plan *plan, size_t set);
/** A member and its label ("null" for one without properties). */
const struct ocv_tag *ocv_tag_plan_member(const struct ocv_tag_plan *plan, size_t set, size_t i,
                                          const char **label);
/** Ask the configurations of a set's members for what their tags leave open. Members that are
 * refused then become tags that are left out; the others then ask for nothing and keep their
 * places. */
int ocv_tag_plan_ask(struct ocv_tag_plan *plan, size_t set, const struct ocv_tag_source *source,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** The member as entries of an index of the set. */
struct ocv_tag_entry {
    char label[64];
    struct ocv_properties
        *properties; /**< with its place in the set's order; freed by the caller */
};
/** One, or two where only some devices are served by minor-version compatibility: the second is
 * what the image needs on these. `*n` of them. */
int ocv_tag_plan_entries(const struct ocv_tag_plan *plan, size_t set, size_t i,
                         struct ocv_tag_entry out[2], size_t *n,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the set's namespaces, most important first, and what OCV_ANNOTATION_STATIC of "priority"
 * is for it: builds of an older CUDA first. Appends nothing if the set has no order. */
int ocv_tag_plan_order(const struct ocv_tag_plan *plan, size_t set, struct ocv_buffer *namespaces,
                       struct ocv_buffer *order, struct ocv_error *err) OCV_WARN_UNUSED;
/** Does the set's family say which of its namespaces counts more? */
bool ocv_tag_plan_is_ordered(const struct ocv_tag_plan *plan, size_t set);
/** Texts that name tags between which the rules do not decide. */
size_t ocv_tag_plan_doubts(const struct ocv_tag_plan *plan, size_t set, const char *const **out);
/** The first tag of doubt `i`, its label, and all tags between which the rules do not decide there.
 */
const struct ocv_tag *ocv_tag_plan_doubt(const struct ocv_tag_plan *plan, size_t set, size_t i,
                                         const char **label, const char *const **names, size_t *n);
/** Tags that are in no set and in no doubt, each with the reason; how many there are. */
size_t ocv_tag_plan_left_out(const struct ocv_tag_plan *plan);
const struct ocv_tag *ocv_tag_plan_left(const struct ocv_tag_plan *plan, size_t i,
                                        const char **reason);

OCV_DEFINE_CLEANUP(ocv_tag_plan)

#endif
