/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lists of nodes, as Slurm writes them: "n[1-4,7],login", "r[1-2]c[01-16]". */
#include "lib/base/cleanup.h"
#include "lib/base/format/span.h"
#include "ocivariant/match.h"

#include <stdio.h>
#include <string.h>

#define BRACKETS_MAX 4u /* of one name */
#define DIGITS_MAX 9u

struct expansion {
    struct ocv_buffer *out;
    size_t *count;
    struct ocv_error *err;
};

static int fail_malformed(struct ocv_error *err, struct ocv_span piece, const char *why)
{
    return ocv_error_set(err, OCV_ERR_INVALID, "node list: '%.*s': %s",
                         (int)(piece.len < 80 ? piece.len : 80), piece.data, why);
}

/* Up to DIGITS_MAX digits; their number is kept, since n[01-10] has leading zeros. */
static bool read_number(struct ocv_span *text, unsigned long *out, int *digits)
{
    size_t n = 0;
    for (*out = 0; n < text->len && text->data[n] >= '0' && text->data[n] <= '9' && n <= DIGITS_MAX;
         n++)
        *out = *out * 10 + (unsigned long)(text->data[n] - '0');
    *digits = (int)n;
    text->data += n;
    text->len -= n;
    return n > 0 && n <= DIGITS_MAX;
}

/* Names that begin with prefix[0..at) and go on as `rest` says. */
static int expand_piece(struct expansion *x, char *prefix, size_t at, struct ocv_span rest,
                        unsigned depth)
{
    size_t plain = 0;
    while (plain < rest.len && rest.data[plain] != '[' && rest.data[plain] != ']')
        plain++;
    if (at + plain > OCV_NODE_NAME_MAX)
        return fail_malformed(x->err, rest, "the name is too long");
    memcpy(prefix + at, rest.data, plain);
    at += plain;
    if (plain == rest.len) {
        if (at == 0)
            return fail_malformed(x->err, rest, "a name is missing");
        if (++*x->count > OCV_FLEET_NODES_MAX)
            return ocv_error_set(x->err, OCV_ERR_INVALID, "node list: more than %u names",
                                 OCV_FLEET_NODES_MAX);
        OCV_TRY(ocv_buffer_append(x->out, prefix, at, x->err));
        return ocv_buffer_append(x->out, "", 1, x->err);
    }
    rest.data += plain;
    rest.len -= plain;
    if (*rest.data == ']')
        return fail_malformed(x->err, rest, "']' without '['");
    const char *close = memchr(rest.data, ']', rest.len);
    if (!close)
        return fail_malformed(x->err, rest, "']' is missing");
    if (depth == BRACKETS_MAX)
        return fail_malformed(x->err, rest, "too many brackets");
    struct ocv_span inside = {rest.data + 1, (size_t)(close - rest.data) - 1}, range;
    struct ocv_span behind = {close + 1, rest.len - inside.len - 2};
    if (inside.len == 0)
        return fail_malformed(x->err, rest, "nothing in the brackets");
    while (ocv_span_split(&inside, ',', &range)) {
        /* "3" or "1-4", each with what comes behind the brackets */
        unsigned long first, last;
        int width, ignored;
        struct ocv_span text = range;
        bool ok = read_number(&text, &first, &width);
        last = first;
        if (ok && text.len && *text.data == '-') {
            text.data++;
            text.len--;
            ok = read_number(&text, &last, &ignored);
        }
        if (!ok || text.len || last < first)
            return fail_malformed(x->err, range, "not a number, or a range of numbers");
        if (last - first >= OCV_FLEET_NODES_MAX)
            return fail_malformed(x->err, range, "a range of too many");
        for (unsigned long i = first; i <= last; i++) {
            int n = snprintf(prefix + at, OCV_NODE_NAME_MAX + 1 - at, "%0*lu", width, i);
            if (n < 0 || at + (size_t)n > OCV_NODE_NAME_MAX)
                return fail_malformed(x->err, range, "the name is too long");
            OCV_TRY(expand_piece(x, prefix, at + (size_t)n, behind, depth + 1));
        }
    }
    return OCV_OK;
}

int ocv_node_list_expand(const char *text, size_t len, struct ocv_buffer *out, size_t *count,
                         struct ocv_error *err)
{
    char prefix[OCV_NODE_NAME_MAX + 2];
    struct expansion x = {out, count, err};
    int status = OCV_OK;
    *count = 0;
    if (memchr(text, '\0', len))
        return ocv_error_set(err, OCV_ERR_INVALID, "node list: a NUL byte");
    while (len && status == OCV_OK) {
        size_t n = 0; /* to the next separator that is in no brackets */
        for (bool inside = false; n < len && (inside || !strchr(", \n\t\r", text[n])); n++)
            inside = text[n] == '[' || (inside && text[n] != ']');
        if (n)
            status = expand_piece(&x, prefix, 0, (struct ocv_span){text, n}, 0);
        n += n < len;
        text += n;
        len -= n;
    }
    return status;
}
