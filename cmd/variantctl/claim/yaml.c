/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON as YAML for reading and editing: block style, plain words where they are unambiguous, and
 * literal blocks for text of several lines. */
#include "cmd/variantctl/claim/claim_verb.h"
#include "lib/base/format/json.h"

#include <string.h>
#include <strings.h>

struct yaml_writer {
    struct ocv_buffer *out;
    struct ocv_error *err;
    int status; /* the first failure */
};

static void put_bytes(struct yaml_writer *w, const char *text, size_t len)
{
    if (w->status == OCV_OK)
        w->status = ocv_buffer_append(w->out, text, len, w->err);
}

static void put_text(struct yaml_writer *w, const char *text)
{
    put_bytes(w, text, strlen(text));
}

static void put_indent(struct yaml_writer *w, unsigned depth)
{
    for (; depth; depth--)
        put_text(w, "  ");
}

/* False for words that YAML readers take for another type. */
static bool is_word(const char *text)
{
    static const char *const others[] = {"true", "false", "null", "yes", "no",
                                         "on",   "off",   "y",    "n",   "~"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "._/-@:";
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (!strcasecmp(text, others[i]))
            return false;
    return n && strchr(letters, text[0]) && strspn(text, more) == n && text[n - 1] != ':';
}

/* The value after "key:" or "-". */
static void put_value(struct yaml_writer *w, const json_t *value, unsigned depth, bool of_list);

static void put_member(struct yaml_writer *w, const char *key, const json_t *value, unsigned depth)
{
    put_text(w, key);
    put_text(w, ":");
    put_value(w, value, depth, false);
}

static void put_value(struct yaml_writer *w, const json_t *value, unsigned depth, bool of_list)
{
    const char *key;
    const json_t *member;
    size_t i;
    bool first = true;
    const char *text = json_string_value(value);
    if (text && strchr(text, '\n') && text[0] != ' ') {
        put_text(w, " |-\n");
        while (*text) {
            size_t n = strcspn(text, "\n");
            if (n)
                put_indent(w, depth + 1);
            put_bytes(w, text, n);
            put_text(w, "\n");
            text += n + (text[n] == '\n');
        }
        return;
    }
    if (!json_object_size(value) && !json_array_size(value)) { /* or an empty one */
        put_text(w, " ");
        if (text && is_word(text))
            put_text(w, text);
        else if (w->status == OCV_OK) /* a JSON string is a YAML string */
            w->status = ocv_json_append(value, JSON_ENCODE_ANY, w->out, w->err);
        put_text(w, "\n");
        return;
    }
    if (json_is_array(value)) {
        put_text(w, "\n");
        json_array_foreach(value, i, member)
        {
            put_indent(w, depth);
            put_text(w, "-");
            put_value(w, member, depth, true);
        }
        return;
    }
    put_text(w, of_list ? " " : "\n");
    json_object_foreach((json_t *)value, key, member)
    {
        if (!of_list || !first)
            put_indent(w, depth + 1);
        put_member(w, key, member, depth + 1);
        first = false;
    }
}

int claim_yaml_format(const json_t *objects, struct ocv_buffer *out, struct ocv_error *err)
{
    struct yaml_writer w = {.out = out, .err = err};
    const json_t *object, *member;
    const char *key;
    size_t i;
    json_array_foreach(objects, i, object)
    {
        if (i)
            put_text(&w, "---\n");
        json_object_foreach((json_t *)object, key, member)
        {
            put_member(&w, key, member, 0);
        }
    }
    return w.status;
}
