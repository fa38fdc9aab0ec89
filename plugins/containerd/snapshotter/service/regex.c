/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filters come with a call and run over every snapshot: PCRE2 is given a number of steps for each,
 * and what needs more is an error. Go's own expressions need no such limit, and none that is
 * sensible comes near it. */
#include "plugins/containerd/snapshotter/service/regex.h"
#include "plugins/containerd/snapshotter/snapshotter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#define REGEX_STEPS 100000u           /* of one search */
#define REGEX_HEAP 1024u              /* KiB for going back */
#define REGEX_TEXT_MAX (1024u * 1024) /* bytes of one in PCRE2's words */

struct snap_regex {
    pcre2_code *code;
    pcre2_match_context *limits;
};

/* As Go: lines end with LF only, "$" is the very end, "^" stands behind every newline. Bytes that
 * are no UTF-8 match nothing. */
static pcre2_code *compile(const struct ocv_buffer *text)
{
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return NULL;
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)(text->data ? text->data : ""), text->len,
                      PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY |
                          PCRE2_ALT_CIRCUMFLEX | PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C,
                      &error, &offset, context);
    pcre2_compile_context_free(context);
    return code;
}

struct snap_regex *snap_regex_new(const char *text, const char **reason)
{
    const char *wrong = NULL;
    ocv_auto_buffer words;
    ocv_buffer_init(&words, REGEX_TEXT_MAX);
    struct snap_regex *r = calloc(1, sizeof(*r));
    if (r && regex_from_go(text, &words, &wrong)) {
        r->code = compile(&words);
        r->limits = pcre2_match_context_create(NULL);
    }
    if (r && r->code && r->limits) {
        pcre2_set_match_limit(r->limits, REGEX_STEPS);
        pcre2_set_heap_limit(r->limits, REGEX_HEAP);
        return r;
    }
    if (reason)
        *reason = wrong ? wrong : r ? "cannot be compiled" : "out of memory";
    snap_regex_free(r);
    return NULL;
}

void snap_regex_free(struct snap_regex *r)
{
    if (!r)
        return;
    pcre2_code_free(r->code);
    pcre2_match_context_free(r->limits);
    free(r);
}

int snap_regex_search(const struct snap_regex *r, const char *text)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    if (!data)
        return -1;
    int found = pcre2_match(r->code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, r->limits);
    pcre2_match_data_free(data);
    return found >= 0 ? 1 : found == PCRE2_ERROR_NOMATCH ? 0 : -1;
}
