/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lint of variant indexes, their images and tags. Pure: the caller reads documents and gives
 * them here; nothing is fetched, printed or written. The rules are data: schema/lint-rules.yaml.
 * Linked into variantctl; not part of libocivariant. */
#ifndef OCV_LINT_H
#define OCV_LINT_H

#include "gen/lint-rules.h"
#include "lib/base/arena.h"
#include "lib/internal/content/derived.h"
#include "lib/internal/edit/edit.h"
#include "lib/internal/tags/tags.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/reference.h"

#include <jansson.h>

enum ocv_lint_level { OCV_LINT_OFF, OCV_LINT_NOTE, OCV_LINT_WARNING, OCV_LINT_ERROR };
enum ocv_lint_fixable { OCV_LINT_FIX_NO, OCV_LINT_FIX_COMMAND, OCV_LINT_FIX_WRITE };

struct ocv_lint_rule {
    const char *id, *name;
    enum ocv_lint_level level;
    enum ocv_lint_fixable fix;
    const char *what, *why, *bad, *good;
};
/** The rule, in order of id; `i` below OCV_LINT_RULES. */
const struct ocv_lint_rule *ocv_lint_rule(size_t i);
/** By id ("OCV101") or name, NULL if there is none. */
const struct ocv_lint_rule *ocv_lint_rule_find(const char *text);
/** The id or name that an unknown one most likely means, or NULL. */
const char *ocv_lint_rule_meant(const char *text);
/** "off", "note", "warning", "error". */
const char *ocv_lint_level_name(enum ocv_lint_level level);

#define OCV_LINT_INDEX_MAX \
    (64u * 1024 * 1024)           /**< bytes of an index that is too large for clients */
#define OCV_LINT_TAGS_MAX 100000u /**< tags of an input */

enum ocv_lint_child_state {
    OCV_LINT_STATE_UNREAD, /**< unknown: no findings */
    OCV_LINT_STATE_READ,
    OCV_LINT_STATE_MISSING,
    OCV_LINT_STATE_BROKEN /**< `problem` says how */
};

/** The image of one entry: its manifest and its configuration, parsed. Either may be NULL. */
struct ocv_lint_child {
    enum ocv_lint_child_state state;
    const char *problem;
    json_t *manifest, *config;
    const char *null_manifest, *null_config; /**< what is null in them, as pointers, or NULL */
    const struct ocv_content *content;       /**< what its files say; NULL: not read */
};

/** A tag of the index's repository, or of a list. */
struct ocv_lint_tag {
    const struct ocv_reference *reference; /**< repository and tag */
    const char *digest;                    /**< what it points at; NULL: not known */
    size_t line;                           /**< of the list; 0: from no list */
};

struct ocv_lint_input {
    const char *name; /**< as given: a file, a reference, oci:DIR:TAG */
    bool file;        /**< the name is a file: findings have lines */
    bool draft;       /**< not written yet: entries go by their labels, and no hint names a
                         command that changes what is not there */
    bool yaml;        /**< the draft is made from a YAML file: hints are in its terms */
    bool partial;     /**< builds get more properties from their files: nothing is said of what
                         they lack, nor of one beside another */
    const struct ocv_edit_source *source; /**< of a source file, for its lines: only what needs no
                                             image is checked; else NULL */
    const size_t *images;                 /**< of each entry the image in that file, or NULL */
    const void *bytes;                    /**< of the index; NULL: tags only */
    size_t len;             /**< may be more than is in `bytes` when the body was not read */
    const char *media_type; /**< Content-Type, or NULL */
    const struct ocv_lint_child *children; /**< one for each entry, or NULL */
    size_t n_children;
    const struct ocv_lint_tag *tags;
    size_t n_tags;
    const char *const *signatures; /**< digests that have a signature; NULL: not known */
    size_t n_signatures;
};

#define OCV_LINT_CONFIG_FILE ".ocivariant-lint.yaml"
#define OCV_LINT_CONFIG_MAX (256u * 1024) /**< bytes of it */

struct ocv_lint_config;
/** Read it (schema/lint-config.schema.json). OCV_ERR_CONFIG: "FILE:LINE: ...". */
int ocv_lint_config_read(const char *source, const char *text, size_t len,
                         struct ocv_lint_config **out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_lint_config_free(struct ocv_lint_config *config);
/** The level that a rule has by it; `config` may be NULL. */
enum ocv_lint_level ocv_lint_config_level(const struct ocv_lint_config *config,
                                          const struct ocv_lint_rule *rule);
/** Why such a finding is allowed, or NULL. `label` may be NULL. */
const char *ocv_lint_config_allowed(const struct ocv_lint_config *config,
                                    const struct ocv_lint_rule *rule, const char *input,
                                    const char *label);

#define OCV_LINT_FINDINGS_MAX 10000u /**< of a report; more are counted and not kept */

struct ocv_lint_finding {
    const struct ocv_lint_rule *rule;
    enum ocv_lint_level level;
    const char *input;    /**< its name */
    bool file;            /**< it is a file */
    const char *pointer;  /**< JSON pointer into the index, or NULL */
    const char *where;    /**< for people: "manifests[2] (cu128)", a tag, or "" */
    const char *label;    /**< of the entry, or NULL */
    const char *property; /**< "ns :: feature :: value" that it is about, or NULL */
    size_t line, column;  /**< of a file, from 1; 0: none */
    const char *message;  /**< one sentence */
    const char *hint;     /**< what to do, or NULL */
    const char *allowed;  /**< the reason for which the settings allow it, or NULL */
};

/** What one run found, over all inputs. Zero-initialise; ocv_lint_report_free at the end. */
struct ocv_lint_report {
    struct ocv_arena arena;
    struct ocv_lint_finding *findings;
    size_t n;
    size_t counts[OCV_LINT_ERROR + 1]; /**< of those not allowed, by level */
    size_t allowed, dropped;
    const char *page; /**< URI of docs/lint.md, for SARIF; borrowed. NULL: it is not there */
};
void ocv_lint_report_free(struct ocv_lint_report *report);

struct ocv_lint_options {
    const struct ocv_lint_config *config;  /**< or NULL */
    const struct ocv_tag_rules *tag_rules; /**< or NULL: no findings from rules of families */
};
/** Apply every rule to one input; findings are added to the report. An index that cannot be read is
 *  an error (OCV_ERR_DATA) and no finding, except for its size. */
int ocv_lint_run(const struct ocv_lint_input *input, const struct ocv_lint_options *options,
                 struct ocv_lint_report *report, struct ocv_error *err) OCV_WARN_UNUSED;
/** The same for a file that an index is to be made from, with the rules that need no image.
 *  Findings have its lines. `name` is the file's. */
int ocv_lint_run_source(const char *name, const struct ocv_edit_source *source,
                        const struct ocv_lint_options *options, struct ocv_lint_report *report,
                        struct ocv_error *err) OCV_WARN_UNUSED;

/** Line and column (from 1) of the member that a JSON pointer names, of valid JSON; the innermost
 * one that is there. */
void ocv_lint_locate(const char *text, size_t len, const char *pointer, size_t *line,
                     size_t *column);
/** A JSON pointer to the first member that is null, in the upper `levels` of a document, or NULL;
 *  the caller owns it. The text was read before, by ocv_json_load_counted. */
int ocv_lint_null_member(const void *bytes, size_t len, unsigned levels, char **out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/** Correct what is mechanical. `*changes`: how many; with none, `out` stays empty. `said` (may be
 *  NULL) gets a line for each, "OCV502 default-not-first: moved the default to the front". The
 * result reads as an index and is formatted as the input is. `moved` (initialised by the caller)
 * gets a line for each platform on which clients that know nothing of variants would get another
 * image, "linux/amd64: DIGEST instead of DIGEST"; unless `change_default` is true, platforms and
 * order then stay as they are. A platform x-... is never made plain: it was meant as a variant. */
int ocv_lint_fix(const void *bytes, size_t len, bool change_default, struct ocv_buffer *out,
                 size_t *changes, struct ocv_buffer *said, struct ocv_buffer *moved,
                 struct ocv_error *err) OCV_WARN_UNUSED;

/** An input that could not be read, for the machine formats. */
struct ocv_lint_failure {
    const char *input, *message;
};

enum ocv_lint_format {
    OCV_LINT_FORMAT_TEXT,
    OCV_LINT_FORMAT_JSON,
    OCV_LINT_FORMAT_SARIF,
    OCV_LINT_FORMAT_GITHUB
};
/** Append the report: text for people, JSON, SARIF 2.1.0, or GitHub's workflow commands. */
int ocv_lint_format(const struct ocv_lint_report *report, enum ocv_lint_format format,
                    const struct ocv_lint_failure *failures, size_t n_failures,
                    struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;

OCV_DEFINE_CLEANUP(ocv_lint_config)

#endif
