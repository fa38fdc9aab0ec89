/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An image as given on the command line, and the choice in it. */
#ifndef OCV_IMAGE_H
#define OCV_IMAGE_H

#include "cmd/common/cli.h"
#include "cmd/common/image/lockfile.h"
#include "lib/internal/tags/tags.h"
#include "ocivariant/signature.h"

struct image {
    const char *text;                /**< as given */
    struct ocv_reference *reference; /**< registry image, else NULL */
    struct ocv_layout *layout;       /**< oci:DIR[:TAG], else NULL */
    char *layout_tag;                /**< NULL: the only entry */
    struct ocv_descriptor top;       /**< what the name stands for */
    struct ocv_buffer body;          /**< its bytes */
    enum ocv_document_kind kind;
    const struct ocv_index
        *index; /**< the index to choose from: the body's (a bare manifest becomes an index
                     of one entry), or of the tags that stand for the name */
    struct ocv_index *parsed;    /**< of the body; NULL if the tag does not exist */
    struct ocv_index *flat;      /**< of the body and the indexes in it, by image_flatten */
    struct ocv_tag_rules *rules; /**< with a choice among tags, else NULL */
    struct ocv_tag_choice *choice;
};

/** Split "oci:DIR[:TAG]". The caller owns both outputs; tag may be NULL. False if it is not
 *  oci:. */
bool image_split_layout(const char *text, char **dir, char **tag);
/** Open an image by name, a registry reference or oci:DIR[:TAG], and fetch its top document. */
int image_open(struct cli *cli, const char *text, struct image *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Choose from the images of all indexes in the index, and by the platforms that stand in their
 *  configurations; what is shown and written stays as it is. For --platform it need be known. */
int image_flatten(struct cli *cli, struct image *image, struct ocv_error *err) OCV_WARN_UNUSED;
/** Open a lock's set of tags with this machine's tag rules, whatever the tags point to now.
 *  OCV_ERR_DATA: the rules do not make a set of these tags. */
int image_open_locked(struct cli *cli, const char *text, const struct lock_image *locked,
                      struct image *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** image_open and image_flatten; a document without variants of its own is replaced by an index
 * made by the tag rules (unless the configuration has `tag_rules: off`). That index belongs to one
 * of the tags that the name stands for; the name need not be a tag itself. */
int image_open_by_rule(struct cli *cli, const char *text, struct image *out,
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** The tag that a rule made this entry of, or NULL. */
const char *image_tag(const struct image *image, const struct ocv_entry *entry);
/** The error that image_open would report of the name alone, before anything is asked. */
int image_check_name(const char *text, struct ocv_error *err) OCV_WARN_UNUSED;
/** True for what cannot be meant as an image: "/tmp/x", "./x", "../x", "~/x", and names of files
 *  such as "x.so". */
bool image_is_path(const char *text);
/** The tag that was asked for, where a rule chooses among others and it is there itself; or NULL.
 */
const char *image_ruled_tag(const struct image *image);
/** Open a file that contains an index. */
int image_open_file(const char *path, struct image *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** A file of --index (may be NULL), or an image by name, with or without rules. If that fails and a
 *  file or directory has that name, a hint says how to read it. */
int image_open_either(struct cli *cli, const char *file, const char *text, struct image *out,
                      bool by_rule, struct ocv_error *err) OCV_WARN_UNUSED;
/** Call before a registry is asked: --creds-stdin is for one host only. */
int image_bind_credentials(struct cli *cli, const struct ocv_reference *reference,
                           struct ocv_error *err) OCV_WARN_UNUSED;
void image_close(struct image *image);
#define ocv_auto_image __attribute__((cleanup(image_close))) struct image
/** Resolve with the command's options. Needs cli_load; makes cli->profile. A tag rule may replace
 *  the index. */
int image_resolve(struct cli *cli, struct image *image, struct ocv_decision **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** The same for the caller's profile. */
int image_resolve_for(struct cli *cli, struct image *image, const struct ocv_profile *profile,
                      struct ocv_decision **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** By a rule, the platform of an image is read when it is chosen. Read those of all entries now (of
 *  --label alone, where it is given), for who asks no single machine. The index may be another one
 *  afterwards. */
int image_finish(struct cli *cli, struct image *image, struct ocv_error *err) OCV_WARN_UNUSED;

/* Signatures (`trust` of the configuration). */

/** Is there a rule for the image? */
bool image_has_trust(struct cli *cli, const char *text);
/** The keys of a rule; NULL where it has none. OCV_ERR_CONFIG with its line. */
int trust_keys(const struct ocv_trust_rule *rule, struct ocv_signature_keys **out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Check one rule: OCV_ERR_UNTRUSTED, or why it could not be asked. A rule without keys holds. */
int trust_verify(struct ocv_registry *registry, const struct ocv_config *config,
                 const struct ocv_reference *reference, const struct ocv_trust_rule *rule,
                 const struct ocv_signature_keys *keys, const char *digest, const char *document,
                 struct ocv_signature *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** The document that has to be signed: what the image's name stands for, or of a choice by tag
 * rules what the chosen tag does. */
const char *image_subject(const struct image *image, const struct ocv_entry *entry);
/** Is the document signed, as the rules for the reference (NULL, of a layout: none) ask? `document`
 *  (may be NULL): by that signature alone, required or not. `out` becomes the signature (`key`
 *  empty: none was found, and none is needed), `warning` why one that is not required is not
 *  good. */
int image_verify(struct cli *cli, const struct ocv_reference *reference, const char *subject,
                 const char *document, struct ocv_signature *out, struct ocv_error *warning,
                 struct ocv_error *err) OCV_WARN_UNUSED;

/* A decision as text for users. */

/** The whole table: what was chosen, the rank of each entry that fits, and why the others do
 *  not. */
int explain_format(const struct cli *cli, const struct image *image,
                   const struct ocv_decision *decision, struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** The entry's matched properties, "ns :: feature :: value, ..."; at most `max`, then "and N more".
 */
int explain_matched(const struct image *image, const struct ocv_decision *decision,
                    const struct ocv_entry *entry, size_t max, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The same in few words, "CUDA 12.8, sm_90", for one line; without what the index itself ranks by.
 */
int explain_brief(const struct image *image, const struct ocv_decision *decision,
                  const struct ocv_entry *entry, size_t max, struct ocv_buffer *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** "LABEL" ("LABEL+FEATURE" for a twin in another format); "the default" in an index with
 *  variants; else "(entry N)". For a table's first column. Returns `out`. */
const char *explain_name(const struct ocv_index *index, const struct ocv_entry *entry, char *out,
                         size_t size);
/** The same for the chosen entry, with "an image without variants" in an index that has none. */
const char *explain_choice(const struct ocv_index *index, const struct ocv_entry *entry, char *out,
                           size_t size);

/* Copies one image manifest and everything it names into an OCI layout. */

/** An image manifest with its bytes. */
struct manifest_doc {
    struct ocv_descriptor descriptor;
    struct ocv_buffer body;
    struct ocv_manifest *manifest;
};

/** Read and check manifest `descriptor` of the image. Free `out` with child_free in every case. */
int child_read(struct cli *cli, const struct image *image, const struct ocv_descriptor *descriptor,
               struct manifest_doc *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** The descriptor of an index entry. OCV_ERR_DATA if it is too long to be one. */
int child_descriptor(const struct ocv_entry *entry, struct ocv_descriptor *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
void child_free(struct manifest_doc *child);
#define ocv_auto_child __attribute__((cleanup(child_free))) struct manifest_doc
/** Bytes of the config and of the distinct layers. */
int64_t child_bytes(const struct manifest_doc *child);
/** Fetch missing blobs (progress: 0 is the config, then the layers), then write the manifest. */
int child_transfer(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                   struct ocv_layout *to, unsigned jobs, ocv_fetch_progress progress, void *data,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Read and verify the image config, at most config->max bytes. */
int child_config(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                 struct ocv_buffer *config, struct ocv_error *err) OCV_WARN_UNUSED;

/* Hints for an image that does not exist. */

/** Add a hint to the error of a name that its registry does not have (OCV_ERR_NOT_FOUND): the
 *  repository's tags, similar ones first, if the registry lists them; or that the repository does
 *  not exist; or that tag rules of another registry would know the name. Sends one more request. */
void image_explain_missing(struct cli *cli, const struct ocv_reference *reference,
                           struct ocv_error *err);

/** Would tag rules know the repository if its registry, or a part of it (`place`), mirrored another
 *  one? That one, or NULL; also where rules know it as it is. */
const char *image_mirrors(struct cli *cli, const struct ocv_reference *reference, char *place,
                          size_t size);

/* This machine's tag rules, and the choice among a repository's tags. */

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
#define ocv_auto_tags __attribute__((cleanup(rules_tags_free))) struct rules_tags

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
