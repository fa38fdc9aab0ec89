/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers for edits of text. */
#include "cmd/variantctl/setup/toml/toml.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *toml_newline(const char *text, size_t len)
{
    const char *end = len ? memchr(text, '\n', len) : NULL;
    return end && end > text && end[-1] == '\r' ? "\r\n" : "\n";
}

int toml_quote(struct ocv_buffer *out, const char *text, struct ocv_error *err)
{
    OCV_TRY(ocv_buffer_append(out, "\"", 1, err));
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            OCV_TRY(ocv_buffer_printf(out, err, "\\%c", c));
        else if (c < 0x20 || c == 0x7f)
            OCV_TRY(ocv_buffer_printf(out, err, "\\u%04x", c));
        else
            OCV_TRY(ocv_buffer_append(out, text, 1, err));
    }
    return ocv_buffer_append(out, "\"", 1, err);
}

int toml_quote_path(struct ocv_buffer *out, const char *path, struct ocv_error *err)
{
    static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    for (;; path++) {
        size_t n = strcspn(path, TOML_DOT);
        ocv_auto_free char *key = strndup(path, n);
        if (!key)
            return ocv_error_nomem(err);
        OCV_TRY(n && strspn(key, bare) == n ? ocv_buffer_append(out, key, n, err)
                                            : toml_quote(out, key, err));
        path += n;
        if (!*path)
            return OCV_OK;
        OCV_TRY(ocv_buffer_append(out, ".", 1, err));
    }
}

int text_splice(struct ocv_buffer *text, size_t from, size_t to, const char *bytes, size_t len,
                struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, text->max);
    OCV_TRY(ocv_buffer_append(&out, text->data, from, err));
    OCV_TRY(ocv_buffer_append(&out, bytes, len, err));
    OCV_TRY(ocv_buffer_append(&out, text->data + to, text->len - to, err));
    struct ocv_buffer old = *text;
    *text = out;
    out = old;
    return OCV_OK;
}

char *toml_join(const char *table, const char *key, struct ocv_error *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", table, *table ? TOML_DOT : "", key) < 0) {
        ocv_error_nomem(err);
        return NULL;
    }
    return path;
}
