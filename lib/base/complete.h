/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Candidates for the word at the cursor, from the rows of a command's options and from its usage.
 *
 * A shell runs "PROGRAM __complete WORD... CURRENT". The answer has the form of cobra's programs,
 * in which docker also asks its plugins: a line "CANDIDATE<TAB>WHAT IT IS" for each, then ":N", the
 * sum of OCV_COMPLETE_*. Behind "--name=" a candidate is the value alone. */
#ifndef OCV_COMPLETE_H
#define OCV_COMPLETE_H

#include "lib/base/options.h"

#define OCV_COMPLETE_WORD "__complete"

/** What the shell adds; zero: it offers files where there is no candidate. */
enum {
    OCV_COMPLETE_NO_SPACE = 2, /**< the word goes on behind a candidate */
    OCV_COMPLETE_NO_FILES = 4,
    OCV_COMPLETE_DIRECTORIES = 16
};

struct ocv_completion;
/** Offer what `kind` names: the value of a row ("NS[::F]"), or an argument of the usage ("IMAGE").
 *  False: it does not know that kind. */
typedef bool (*ocv_complete_kind)(struct ocv_completion *c, const char *kind);

/** Set all but `word`, `before`, `n_before` and `how`. */
struct ocv_completion {
    const struct ocv_options *options;
    const char *usage; /**< "Usage: PROGRAM [OPTIONS] IMAGE...", of which the first line counts */
    ocv_complete_kind kind; /**< or NULL: words, files and directories are known without */
    void *data;             /**< for it */
    FILE *out;
    const char *word;    /**< what has been typed of it */
    char *const *before; /**< the words before it */
    size_t n_before;
    unsigned how; /**< OCV_COMPLETE_* */
};

/** Answer for argv[1] to argv[argc - 1], of which the last is being typed. */
void ocv_complete(struct ocv_completion *c, int argc, char **argv);
/** Offer a word, if it begins as typed. One with characters that a shell interprets is left out.
 * `about` (its first line; may be NULL) describes it. */
void ocv_complete_offer(struct ocv_completion *c, const char *text, const char *about);
/** Offer each of "text|json", with `suffix` behind it. */
void ocv_complete_words(struct ocv_completion *c, const char *words);
/** The last line. */
void ocv_complete_end(const struct ocv_completion *c);

#endif
