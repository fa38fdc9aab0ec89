/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An image as given on the command line, and the choice in it. */
#ifndef OCV_IMAGE_H
#define OCV_IMAGE_H

#include "cmd/common/cli.h"
#include "cmd/common/image/lockfile.h"
#include "lib/internal/tags/tags.h"

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

#endif
