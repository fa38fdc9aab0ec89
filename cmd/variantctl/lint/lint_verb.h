/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl lint: its input, and the destination of corrections. */
#ifndef OCV_LINT_COMMAND_H
#define OCV_LINT_COMMAND_H

#include "cmd/common/image/image.h"
#include "lib/internal/lint/lint.h"

#define LINT_SIGNATURES_MAX 8192u

struct lint_options {
    const char *repository; /**< --repository: its tag rules read the tags; or NULL */
    bool all_tags;    /**< --tags: all tags of the repository, not only those of the tag's group */
    bool no_children; /**< --no-children */
    bool deep;        /**< --deep: read the images' files, too */
    const struct ocv_tag_rules *tag_rules;
};

/** One input with everything that was read for it. Zero-initialise; call lint_source_close at the
 *  end. */
struct lint_source {
    struct image image;
    bool is_image;          /**< `image` is open: from a registry or a layout */
    struct ocv_buffer text; /**< of a file, or of the index made for a bare manifest */
    struct ocv_lint_child *children;
    struct lint_child_text {
        char *problem, *null_manifest, *null_config;
    } * texts;                    /**< what children borrow */
    struct ocv_content *contents; /**< with --deep: of the children */
    size_t n_children;
    struct ocv_lint_tag *tags;
    struct ocv_reference **references; /**< of the tags */
    char **digests;
    size_t n_tags;
    char **signatures;
    size_t n_signatures;
    char *name;
    struct ocv_edit_source *source;        /**< parsed source file, or NULL: then `input` is used */
    struct ocv_buffer fixed;               /**< the corrected index; empty: none */
    struct ocv_lint_child *fixed_children; /**< for its entries; borrowed from `children` */
    struct ocv_lint_input input;
};

/** Read a file: an index (JSON), a source of one (YAML), or a list of references, one per line.
 *  OCV_ERR_DATA with the position of a syntax error. */
int lint_source_file(const char *path, struct lint_source *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the file's name is that of a file for `index create --from`. */
bool lint_is_source(const char *path);
/** Read an image: the index, its children, tags and signatures. */
int lint_source_image(struct cli *cli, const char *text, const struct lint_options *options,
                      struct lint_source *out, struct ocv_error *err) OCV_WARN_UNUSED;
void lint_source_close(struct lint_source *source);
/** Append a tag; takes over `reference` even on failure. `digest` may be NULL and is copied. */
int lint_source_tag(struct lint_source *source, struct ocv_reference *reference, const char *digest,
                    size_t line, struct ocv_error *err) OCV_WARN_UNUSED;
/** Read the tags against which the image's index is checked, and its signatures (tags.c). */
int lint_source_tags(struct cli *cli, const struct lint_options *options,
                     struct lint_source *source, struct ocv_error *err) OCV_WARN_UNUSED;

/** The command line and the results. */
struct lint_request {
    struct cli *cli;
    const char *settings, *output, *explain;
    struct lint_options lint;
    enum ocv_lint_format format;
    enum ocv_lint_level fail_on; /**< OFF: never */
    bool fix, dry_run, change_default, list_rules;
    bool named; /**< the current input was named by an argument; it is not one of many tags */
    const char **files;
    size_t n_files;
    struct ocv_lint_config *config;
    struct ocv_tag_rules *rules;
    struct ocv_lint_report report;
    struct ocv_lint_failure *failures;
    size_t n_failures;
    int exit_code; /**< of the first input that could not be read */
};
/** Read the settings, check `arguments` after the files named by options, and write the report. An
 *  input that cannot be read is recorded in the request, and the others are still checked. */
int lint_run(struct lint_request *request, char **arguments, struct ocv_error *err) OCV_WARN_UNUSED;
/** Print a rule with its examples. Returns the exit code. */
int lint_explain_rule(const struct cli *cli, const char *name);
/** The hook of struct cli_command for RULE. */
bool lint_complete_rule(struct ocv_completion *c, const char *kind);

/** Make mechanical corrections, and write the index where the input came from, or to `output` (a
 *  file or "-"), which then is the input. `dry_run`: only print what would be written. Prints the
 *  corrections, and those left out because clients that know nothing of variants would get another
 * image. */
int lint_fix(const struct lint_request *request, struct lint_source *source,
             struct ocv_error *err) OCV_WARN_UNUSED;

#endif
