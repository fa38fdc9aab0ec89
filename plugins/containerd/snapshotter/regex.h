/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regular expressions' inside: parsed to a tree (regex_parse.c), compiled to a program of states
 * that is run with all of them at once (regex.c). */
#ifndef OCV_SNAPSHOTTER_REGEX_H
#define OCV_SNAPSHOTTER_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGEX_RUNE_MAX 0x10ffffu
#define REGEX_UNLIMITED UINT32_MAX

struct regex_range {
    uint32_t low, high;
};

enum regex_kind {
    REGEX_EMPTY,
    REGEX_CLASS, /* left: first of `ranges`; right: how many */
    REGEX_SEQUENCE,
    REGEX_EITHER,
    REGEX_REPEAT,
    REGEX_TEXT_START,
    REGEX_TEXT_END,
    REGEX_LINE_START,
    REGEX_LINE_END,
    REGEX_WORD,
    REGEX_NOT_WORD,
};

struct regex_node {
    enum regex_kind kind;
    int left, right;
    uint32_t min, max;
    unsigned height; /* how deep compiling it recurses */
};

struct regex_tree {
    struct regex_node *nodes;
    size_t n, size;
    struct regex_range *ranges;
    size_t n_ranges;
};

/** The root's index, or -1 with what is wrong. The tree's memory is the caller's either way. */
int regex_parse(const char *text, struct regex_tree *tree, const char **wrong);
/** The character at `at`, U+FFFD for what is no UTF-8, 0 at the end; returns what is behind it. */
const char *regex_rune(const char *at, uint32_t *out);

#endif
