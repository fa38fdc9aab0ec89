/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Text that quotes bytes from outside. */
#ifndef OCV_TEXT_H
#define OCV_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** Length of the UTF-8 character (RFC 3629) that `text` begins with, 0 if there is none within
 *  `len` bytes. */
size_t ocv_text_character(const void *text, size_t len);
/** The same where that character is not seen or changes how others are seen: a control character
 *  (C0, DEL, C1), a direction override, any other that Unicode calls format or ignorable; else 0.
 */
size_t ocv_text_hidden(const void *text, size_t len);
/** Replace what no terminal or JSON writer should see by '?': hidden characters and bytes that are
 *  no UTF-8, such as a character that a length limit cut in two. */
void ocv_text_clean(char *s);
/** Does it end so, and is there something before that? */
bool ocv_text_ends(const char *text, const char *end);
/** The first of `n` globs (`*`, `?` and `[]`, fnmatch) that the whole text matches; `n`: none. */
size_t ocv_text_find_glob(char *const *globs, size_t n, const char *text);

#endif
