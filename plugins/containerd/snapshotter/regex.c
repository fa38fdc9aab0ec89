/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filters come with a pull and run over every snapshot: no expression may take longer than its
 * length times the text's. POSIX regcomp does not promise that, and does not know Go's syntax. */
#include "regex.h"
#include "snapshotter.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM_MAX 20000u /* states; counted repeats multiply */

enum code { CODE_CLASS, CODE_SPLIT, CODE_JUMP, CODE_ASSERT, CODE_MATCH };

struct state {
    enum code code;
    uint32_t a, b; /* targets; a class's first range and number; an assertion's kind */
};

struct snap_regex {
    struct regex_tree tree; /* its ranges are used on */
    struct state *states;
    uint32_t n, size;
    bool failed;
};

/* ---- compiling ---------------------------------------------------------------------------------
 */

static uint32_t emit(struct snap_regex *r, enum code code, uint32_t a, uint32_t b)
{
    if (r->n == r->size && !r->failed) {
        uint32_t size = r->size ? r->size * 2 : 64;
        struct state *states =
            size > PROGRAM_MAX * 2 ? NULL : realloc(r->states, size * sizeof(*states));
        if (states) {
            r->states = states;
            r->size = size;
        } else {
            r->failed = true;
        }
    }
    if (r->failed || r->n >= PROGRAM_MAX) {
        r->failed = true;
        return 0;
    }
    r->states[r->n] = (struct state){code, a, b};
    return r->n++;
}

static void compile(struct snap_regex *r, int index);

static void compile_repeat(struct snap_regex *r, const struct regex_node *node)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < node->min && !r->failed; i++) {
        last = r->n;
        compile(r, node->left);
        if (r->n == last) /* empty however often */
            return;
    }
    if (node->max == REGEX_UNLIMITED && node->min > 0) { /* back to the last one */
        uint32_t split = emit(r, CODE_SPLIT, last, 0);
        if (!r->failed)
            r->states[split].b = r->n;
        return;
    }
    if (node->max == REGEX_UNLIMITED) {
        uint32_t split = emit(r, CODE_SPLIT, r->n + 1, 0);
        compile(r, node->left);
        emit(r, CODE_JUMP, split, 0);
        if (!r->failed)
            r->states[split].b = r->n;
        return;
    }
    for (uint32_t i = node->min; i < node->max && !r->failed; i++) {
        uint32_t split = emit(r, CODE_SPLIT, r->n + 1, 0);
        compile(r, node->left);
        if (!r->failed)
            r->states[split].b = r->n;
    }
}

/* Long sequences and alternatives hang to the left: the right sides of a chain of one kind, from
 * the left, behind what it begins with. */
static int *unroll(struct snap_regex *r, int index, size_t *n, int *first)
{
    const struct regex_node *nodes = r->tree.nodes;
    enum regex_kind kind = nodes[index].kind;
    *n = 0;
    for (*first = index; nodes[*first].kind == kind; *first = nodes[*first].left)
        (*n)++;
    int *rights = malloc(*n * sizeof(*rights));
    r->failed |= !rights;
    for (size_t at = *n; rights && at > 0; at--, index = nodes[index].left)
        rights[at - 1] = nodes[index].right;
    return rights;
}

static void compile_sequence(struct snap_regex *r, int index)
{
    size_t n;
    int first, *rights = unroll(r, index, &n, &first);
    compile(r, first);
    for (size_t i = 0; i < n && !r->failed; i++)
        compile(r, rights[i]);
    free(rights);
}

/* SPLIT one, next; one; JUMP end; next: … last; end: the jumps are chained until the end is known.
 */
static void compile_either(struct snap_regex *r, int index)
{
    size_t n;
    uint32_t jumps = UINT32_MAX;
    int next, *rights = unroll(r, index, &n, &next);
    for (size_t i = 0; i < n && !r->failed; i++) {
        uint32_t split = emit(r, CODE_SPLIT, r->n + 1, 0);
        compile(r, next);
        jumps = emit(r, CODE_JUMP, jumps, 0);
        if (!r->failed)
            r->states[split].b = r->n;
        next = rights[i];
    }
    compile(r, next);
    while (!r->failed && jumps != UINT32_MAX) {
        uint32_t before = r->states[jumps].a;
        r->states[jumps].a = r->n;
        jumps = before;
    }
    free(rights);
}

static void compile(struct snap_regex *r, int index)
{
    const struct regex_node *node = &r->tree.nodes[index];
    if (r->failed)
        return;
    switch (node->kind) {
    case REGEX_EMPTY:
        break;
    case REGEX_CLASS:
        emit(r, CODE_CLASS, (uint32_t)node->left, (uint32_t)node->right);
        break;
    case REGEX_SEQUENCE:
        compile_sequence(r, index);
        break;
    case REGEX_EITHER:
        compile_either(r, index);
        break;
    case REGEX_REPEAT:
        compile_repeat(r, node);
        break;
    default:
        emit(r, CODE_ASSERT, (uint32_t)node->kind, 0);
    }
}

struct snap_regex *snap_regex_new(const char *text, const char **reason)
{
    const char *wrong = "out of memory";
    struct snap_regex *r = calloc(1, sizeof(*r));
    int root = r ? regex_parse(text, &r->tree, &wrong) : -1;
    if (root >= 0) {
        wrong = "expression too large";
        compile(r, root);
        emit(r, CODE_MATCH, 0, 0);
    }
    if (root >= 0 && !r->failed)
        return r;
    snap_regex_free(r);
    if (reason)
        *reason = wrong;
    return NULL;
}

void snap_regex_free(struct snap_regex *r)
{
    if (!r)
        return;
    free(r->tree.nodes);
    free(r->tree.ranges);
    free(r->states);
    free(r);
}

/* ---- running -----------------------------------------------------------------------------------
 */

/* States reached, each once: `dense` lists them, `sparse` says where in it one would stand. */
struct set {
    uint32_t *dense, *sparse, n;
};

struct run {
    const struct snap_regex *regex;
    struct set now, next;
    uint32_t *stack; /* states to look at */
    uint32_t before, after;
    bool start; /* of the text */
};

static bool is_word(uint32_t rune)
{
    return (rune >= '0' && rune <= '9') || (rune >= 'A' && rune <= 'Z') || rune == '_' ||
           (rune >= 'a' && rune <= 'z');
}

static bool holds(const struct run *run, enum regex_kind kind)
{
    bool word = (!run->start && is_word(run->before)) != is_word(run->after);
    switch (kind) {
    case REGEX_TEXT_START:
        return run->start;
    case REGEX_TEXT_END:
        return run->after == 0;
    case REGEX_LINE_START:
        return run->start || run->before == '\n';
    case REGEX_LINE_END:
        return run->after == 0 || run->after == '\n';
    case REGEX_WORD:
        return word;
    default:
        return !word;
    }
}

static bool add(struct set *set, uint32_t state)
{
    uint32_t at = set->sparse[state];
    if (at < set->n && set->dense[at] == state)
        return false;
    set->sparse[state] = set->n;
    set->dense[set->n++] = state;
    return true;
}

/* Add a state and all that can be reached without a character. True: one of them is the match. */
static bool follow(struct run *run, struct set *set, uint32_t state)
{
    uint32_t n = 0;
    run->stack[n++] = state;
    while (n) {
        state = run->stack[--n];
        if (!add(set, state))
            continue;
        const struct state *s = &run->regex->states[state];
        if (s->code == CODE_MATCH)
            return true;
        if (s->code == CODE_SPLIT)
            run->stack[n++] = s->b;
        if (s->code == CODE_SPLIT || s->code == CODE_JUMP)
            run->stack[n++] = s->a;
        else if (s->code == CODE_ASSERT && holds(run, (enum regex_kind)s->a))
            run->stack[n++] = state + 1;
    }
    return false;
}

static bool in_class(const struct snap_regex *r, const struct state *s, uint32_t rune)
{
    for (uint32_t i = 0; i < s->b; i++)
        if (rune >= r->tree.ranges[s->a + i].low && rune <= r->tree.ranges[s->a + i].high)
            return true;
    return false;
}

static bool search(struct run *run, const char *text)
{
    const struct snap_regex *r = run->regex;
    run->start = true;
    const char *at = regex_rune(text, &run->after);
    for (;;) {
        if (follow(run, &run->now, 0)) /* a match may start anywhere */
            return true;
        if (run->after == 0)
            return false;
        uint32_t rune = run->after;
        run->before = rune;
        run->start = false;
        at = regex_rune(at, &run->after);
        run->next.n = 0;
        for (uint32_t i = 0; i < run->now.n; i++) {
            uint32_t state = run->now.dense[i];
            if (r->states[state].code == CODE_CLASS && in_class(r, &r->states[state], rune) &&
                follow(run, &run->next, state + 1))
                return true;
        }
        struct set swap = run->now;
        run->now = run->next;
        run->next = swap;
    }
}

bool snap_regex_search(const struct snap_regex *r, const char *text)
{
    /* four sets of r->n, and a stack: each state is looked at once and puts two on it at most */
    uint32_t *memory = calloc(r->n, 6 * sizeof(*memory) + sizeof(*memory));
    if (!memory)
        return false;
    struct run run = {.regex = r,
                      .now = {memory, memory + r->n, 0},
                      .next = {memory + 2 * (size_t)r->n, memory + 3 * (size_t)r->n, 0},
                      .stack = memory + 4 * (size_t)r->n};
    bool found = search(&run, text);
    free(memory);
    return found;
}
