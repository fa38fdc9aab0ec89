/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words, blanks and quoted texts in filters. */
#ifndef OCV_SNAPSHOTTER_FILTER_WORDS_H
#define OCV_SNAPSHOTTER_FILTER_WORDS_H

#include "ocivariant.h"

#include <stdbool.h>

struct filter_parser {
    const char *text, *at;
    const char *wrong; /* what was expected */
};

/** Returns false and records what was expected. */
bool filter_fail(struct filter_parser *p, const char *wrong);
bool filter_is_field(char c);
bool filter_is_value(char c);
void filter_skip_space(struct filter_parser *p);
/** A text in double quotes, with Go's escapes. */
bool filter_quoted(struct filter_parser *p, struct ocv_buffer *out);
/** Read as long as `belongs` accepts the characters. */
bool filter_word(struct filter_parser *p, bool (*belongs)(char c), struct ocv_buffer *out);

#endif
