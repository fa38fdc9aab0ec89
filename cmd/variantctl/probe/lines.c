/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of a table: a heading column, and text wrapped to the terminal's width. Without colour, so
 * that pipes and terminals get the same. */
#include "cmd/variantctl/probe/probe_table.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

static void append_text(struct probe_table *table, const char *text, size_t len)
{
    if (table->status == OCV_OK)
        table->status = ocv_buffer_append(table->out, text, len, table->err);
}

/* Names and reasons come from providers and vendor libraries: control and invisible characters must
 * not reach the terminal. */
void table_put(struct probe_table *table, const char *text)
{
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        size_t hidden = ocv_text_hidden(text, left);
        n = hidden ? hidden : 1;
        append_text(table, hidden ? "?" : text, 1);
        table->column += hidden || (*text & 0xc0) != 0x80; /* the first byte of a UTF-8 character */
    }
}

void table_heading(struct probe_table *table, const char *text, size_t indent)
{
    table->indent = indent;
    table_put(table, text);
    do
        table_put(table, " ");
    while (table->column < indent);
}

void table_end(struct probe_table *table)
{
    append_text(table, "\n", 1);
    table->column = 0;
}

/* Add a blank and a word, on the next line if it does not fit. */
void table_word(struct probe_table *table, const char *text)
{
    if (table->column > table->indent && table->column + 1 + strlen(text) > table->options->width) {
        table_end(table);
        table_heading(table, "", table->indent);
    } else if (table->column > table->indent) {
        table_put(table, " ");
    }
    table_put(table, text);
}

/* Add a text of several words. */
void table_words(struct probe_table *table, const char *text)
{
    char one[256];
    while (*text) {
        size_t len = strcspn(text, " ");
        snprintf(one, sizeof(one), "%.*s", (int)len, text);
        if (len)
            table_word(table, one);
        text += len + strspn(text + len, " ");
    }
}

void table_line(struct probe_table *table, const char *head, const char *text)
{
    table_heading(table, head, TABLE_INDENT);
    table_words(table, text);
    table_end(table);
}
