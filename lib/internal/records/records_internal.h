/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The inside of the records: their files' names and texts. */
#ifndef OCV_RECORDS_INTERNAL_H
#define OCV_RECORDS_INTERNAL_H

#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "lib/internal/records/records.h"
#include "ocivariant/digest.h"
#include "ocivariant/index.h"

#define OCV_RECORD_NAME_MAX (OCV_DIGEST_MAX + 32)
#define OCV_RECORD_MAX (64u * 1024)  /**< bytes of one record */
#define OCV_RECORD_SUFFIX_MAX 24u    /**< "-0123456789abcdef.json" */
#define OCV_RECORD_INDEXES "indexes" /**< directory of the kept indexes, in that of the records */

/** Open the directory of records, or `name` in it, to write there, making what is missing; and
 * where that is another user's and this is root, act as its owner, until ocv_record_as_before. */
int ocv_record_open(const char *dir, const char *name, int *out, bool *other,
                    struct ocv_error *err);
void ocv_record_as_before(bool *other);
/** `ocv_as_owner bool other = false;` ends it on leaving the scope. */
#define ocv_as_owner __attribute__((cleanup(ocv_record_as_before)))

/** Bytes of its texts. */
size_t ocv_record_text_size(const struct ocv_record *record);

/** How the files of records and kept indexes are called: "ALGORITHM-HEX", then a repository's
 *  "-HASH.json". A hash of 64 bits finds the file; its content says which repository it belongs to.
 */
int ocv_record_prefix(const char *digest, char out[OCV_DIGEST_MAX], struct ocv_error *err);
int ocv_record_suffix(const char *repository, char out[OCV_RECORD_SUFFIX_MAX],
                      struct ocv_error *err);
int ocv_record_name(const char *digest, const char *repository, char out[OCV_RECORD_NAME_MAX],
                    struct ocv_error *err);
/** Does the name begin and end so? */
bool ocv_record_is_named(const char *name, const char *prefix, const char *suffix);
/** A record's text, of at most OCV_RECORD_MAX bytes; `out` borrows from `*tree`. */
int ocv_record_parse(const void *bytes, size_t len, struct ocv_record *out, json_t **tree,
                     struct ocv_error *err);

/** A kept index's text, of at most OCV_RECORD_INDEX_MAX bytes. */
int ocv_record_index_parse(const void *bytes, size_t len, struct ocv_record_index *out,
                           struct ocv_error *err);
/** The text of an index that is to be kept. */
int ocv_record_index_format(const struct ocv_index *index, const struct ocv_record *record,
                            struct ocv_buffer *out, struct ocv_error *err);
/** Keep it. `record`: its index, repository, and whether it is secret. */
int ocv_record_index_write(const char *dir, const struct ocv_record *record,
                           const struct ocv_buffer *text, struct ocv_error *err);
/** The time, as records have it: UTC, in RFC 3339. */
int ocv_record_now(char out[32], struct ocv_error *err) OCV_WARN_UNUSED;

#endif
