/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/format/json.h"

#include "lib/base/buffer_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ESCAPED 6u /* bytes that one byte takes at most: \u001F */
#define FRAME 16u  /* comma, line feed, quotes, colon, brackets, a number's sign and NUL */
#define NUMBER 20u /* digits of one */

/* The bytes behind the buffer's own, room enough for the member; NULL after a failure. */
static char *make_room(struct ocv_json_writer *w, const char *key, size_t value)
{
    size_t more = FRAME + 2 * (size_t)w->depth + (key ? ESCAPED * strlen(key) : 0) + value;
    if (w->status == OCV_OK)
        w->status = ocv_buffer_reserve(w->out, more, w->err);
    return w->status == OCV_OK ? w->out->data + w->out->len : NULL;
}

static void finish_container(struct ocv_json_writer *w, char *end)
{
    *end = '\0';
    w->out->len = (size_t)(end - w->out->data);
}

static char *put_quoted(char *to, const char *text)
{
    static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* the character, its letter */
    *to++ = '"';
    for (char c; (c = *text) != '\0'; text++) {
        size_t i = 0;
        if ((unsigned char)c >= ' ' && c != '"' && c != '\\') {
            *to++ = c;
            continue;
        }
        while (named[i] && named[i] != c)
            i += 2;
        if (named[i]) {
            *to++ = '\\';
            *to++ = named[i + 1];
        } else {
            to += snprintf(to, ESCAPED + 1, "\\u%04X", (unsigned char)c);
        }
    }
    *to++ = '"';
    return to;
}

static char *put_line(const struct ocv_json_writer *w, char *to)
{
    *to++ = '\n';
    memset(to, ' ', 2 * (size_t)w->depth);
    return to + 2 * (size_t)w->depth;
}

/* What comes before a value: the comma, the new line, the key. */
static char *put_key(struct ocv_json_writer *w, char *to, const char *key)
{
    if (w->member)
        *to++ = ',';
    if (w->depth)
        to = put_line(w, to);
    w->member = true;
    if (!key)
        return to;
    to = put_quoted(to, key);
    *to++ = ':';
    *to++ = ' ';
    return to;
}

void ocv_json_write_open(struct ocv_json_writer *w, const char *key, char bracket)
{
    char *to = make_room(w, key, 1);
    if (!to)
        return;
    to = put_key(w, to, key);
    *to++ = bracket;
    finish_container(w, to);
    w->depth++;
    w->member = false;
}

void ocv_json_write_close(struct ocv_json_writer *w, char bracket)
{
    char *to = make_room(w, NULL, 1);
    if (!to)
        return;
    w->depth--;
    if (w->member) /* an empty one closes on its line */
        to = put_line(w, to);
    *to++ = bracket;
    finish_container(w, to);
    w->member = true;
}

void ocv_json_write_string(struct ocv_json_writer *w, const char *key, const char *text)
{
    char *to = make_room(w, key, text ? ESCAPED * strlen(text) : 0);
    if (!to)
        return;
    to = put_key(w, to, key);
    if (text)
        to = put_quoted(to, text);
    for (const char *c = text ? "" : "null"; *c; c++)
        *to++ = *c;
    finish_container(w, to);
}

void ocv_json_write_number(struct ocv_json_writer *w, const char *key, int64_t number)
{
    char *to = make_room(w, key, NUMBER);
    if (!to)
        return;
    to = put_key(w, to, key);
    finish_container(w, to + snprintf(to, NUMBER + 1, "%" PRId64, number));
}
