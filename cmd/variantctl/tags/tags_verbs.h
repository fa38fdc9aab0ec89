/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the verbs of `variantctl tags`. */
#ifndef VARIANTCTL_TAGS_H
#define VARIANTCTL_TAGS_H

#include "cmd/common/image/image.h"
#include "cmd/variantctl/verbs.h"

#define TAGS_OUTPUT_MAX (64u * 1024 * 1024)
#define TAGS_LINE_MAX 4096u /**< of a list of references or tags */

int cmd_tags_parse(struct cli *cli, int argc, char **argv);
int cmd_tags_plan(struct cli *cli, int argc, char **argv);
int cmd_tags_check(struct cli *cli, int argc, char **argv);

/** Call `each` for every line that is neither empty nor a comment; line numbers begin at 1. Stops
 *  at, and returns, the first status other than OCV_OK. */
int tags_each_line(const char *path, int (*each)(void *data, size_t line, const char *text),
                   void *data, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append "ns :: feature :: value, ...", or "-" for none. */
int tags_format_properties(const struct ocv_tag *tag, struct ocv_buffer *out,
                           struct ocv_error *err) OCV_WARN_UNUSED;

#endif
