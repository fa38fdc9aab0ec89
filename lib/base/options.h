/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The options of a command as a table: getopt_long's lists, the help, the values and the messages
 * about wrong ones all come from its rows. Like getopt_long, which reads the command line, this is
 * for one thread and leaves `optind` at the first argument. */
#ifndef OCV_OPTIONS_H
#define OCV_OPTIONS_H

#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define OCV_OPTIONS_MAX 96u /* of a command, with those of its groups */

struct ocv_option;

/** What `take` may return beside OCV_OK and a negative status. */
enum {
    OCV_OPTION_WRONG = 1, /**< none of the values that the row names */
    OCV_OPTION_STOP = 2   /**< read no further: ocv_options_read returns this row */
};

/** `flags` of a row. */
#define OCV_OPTION_OPTIONAL 1u /* the value may be left out, and stands behind "=" only */
#define OCV_OPTION_FULL 2u   /* carries a secret: what is meant for another one is not its value */
#define OCV_OPTION_HIDDEN 4u /* is never suggested as the option that was meant */
#define OCV_OPTION_FOLDED 8u /* the help of a command leaves it to a page of its own */
#define OCV_OPTION_MORE 16u  /* the help that fits a screen leaves it to --help-all */

/** An option as given: its row, its value (NULL: none), and where the row's member is. */
struct ocv_option_given {
    const struct ocv_option *option;
    const char *value;
    void *into;
};

/** A row. A table ends with one that has neither `name` nor `group`: OCV_OPTIONS_END. */
struct ocv_option {
    const char *name;  /**< "dry-run" */
    const char *value; /**< what help and messages call its value ("FILE", "text|json"); NULL: it
                            takes none */
    const char *help;  /**< its lines in the help, of which the first one is enough on a screen;
                            NULL: none */
    const char *names; /**< text before them instead of "-x, --name VALUE", or NULL */
    const struct ocv_option *group; /**< these rows stand here; `offset` is added to theirs */
    size_t offset;                  /**< of what `take` writes, in the structure of the table */
    int (*take)(const struct ocv_option_given *given, struct ocv_error *err);
    unsigned least, most; /**< of a number */
    char letter;          /**< its short form, or 0 */
    unsigned char flags;
};

#define OCV_OPTIONS_END \
    {                   \
        0               \
    }

/** The offset of a member, which has to be of the type `as`. */
#define OCV_OPTION_OFFSET(type, member, as) \
    (offsetof(type, member) + 0 * sizeof((as *)0 == &((type *)0)->member))
/** Sets a bool. */
#define OCV_OPTION_FLAG(type, member) \
    .take = ocv_option_flag, .offset = OCV_OPTION_OFFSET(type, member, bool)
/** Sets a `const char *`, which points into argv. */
#define OCV_OPTION_TEXT(type, member) \
    .take = ocv_option_text, .offset = OCV_OPTION_OFFSET(type, member, const char *)
/** Appends to a `struct ocv_option_list`. */
#define OCV_OPTION_LIST(type, member) \
    .take = ocv_option_add, .offset = OCV_OPTION_OFFSET(type, member, struct ocv_option_list)
/** Sets an enum to the place of the value among the words of the row ("text|json": 0 or 1). */
#define OCV_OPTION_ENUM(type, member)  \
    .take = ocv_option_enum,           \
    .offset = offsetof(type, member) + \
              0 * sizeof(int[sizeof(((type *)0)->member) == sizeof(int) ? 1 : -1])
/** Sets a `const char *` to one of the words of the row. */
#define OCV_OPTION_WORD(type, member) \
    .take = ocv_option_text_word, .offset = OCV_OPTION_OFFSET(type, member, const char *)
/** Sets an `unsigned` to a number between these, which are allowed, too. */
#define OCV_OPTION_NUMBER(type, member, min, max)                                   \
    .take = ocv_option_number, .offset = OCV_OPTION_OFFSET(type, member, unsigned), \
    .least = (min), .most = (max)
/** Calls a function with the address of a member, or of the structure itself. */
#define OCV_OPTION_MEMBER(function, type, member) \
    .take = (function), .offset = offsetof(type, member)
#define OCV_OPTION_CALL(function) .take = (function)

#define OCV_OPTION_LIST_MAX 256u
/** The values of an option that may be given again. */
struct ocv_option_list {
    const char *texts[OCV_OPTION_LIST_MAX];
    size_t n;
};

int ocv_option_flag(const struct ocv_option_given *given, struct ocv_error *err);
int ocv_option_text(const struct ocv_option_given *given, struct ocv_error *err);
int ocv_option_add(const struct ocv_option_given *given, struct ocv_error *err);
int ocv_option_enum(const struct ocv_option_given *given, struct ocv_error *err);
int ocv_option_text_word(const struct ocv_option_given *given, struct ocv_error *err);
/** For OCV_OPTION_CALL: an option behind which nothing counts, such as --help. */
int ocv_option_stop(const struct ocv_option_given *given, struct ocv_error *err);
int ocv_option_number(const struct ocv_option_given *given, struct ocv_error *err);
/** Read a whole number. False: it is none, or not between these. */
bool ocv_option_read_number(const char *text, unsigned least, unsigned most, unsigned *out);
/** The place of a value among the words of the row ("text|json": 0 or 1); -1: it is none of them.
 */
int ocv_option_word(const struct ocv_option *option, const char *value);

/** Which rows the help has. */
enum ocv_options_shown {
    OCV_OPTIONS_OWN,   /**< those that are not folded */
    OCV_OPTIONS_SHORT, /**< one line each of those that are neither folded nor for --help-all */
    OCV_OPTIONS_REST,  /**< those that are folded */
    OCV_OPTIONS_ALL
};

/** The rows of a command. Set `command`; the rest is zero. */
struct ocv_options {
    const char *command; /**< "variantctl probe": its first word begins messages, hints name it */
    enum ocv_options_shown shown; /**< by ocv_options_print */
    char meant[128]; /**< after a failure: the line that says what was meant, or empty */
    struct {
        const struct ocv_option *row;
        char *into; /* what the row's offset counts from */
    } list[OCV_OPTIONS_MAX];
    size_t n;
};

/** Add a table, whose rows write into the structure at `into` (NULL for help alone). Rows over
 *  OCV_OPTIONS_MAX are left out. */
void ocv_options_add(struct ocv_options *options, const struct ocv_option *table, void *into);
/** The lines of the help, in the order of the rows; of those that `shown` says. False:
 * OCV_OPTIONS_SHORT left something to --help-all. */
bool ocv_options_print(const struct ocv_options *options, FILE *out);
/** Read argv; `optind` is then the first argument. `*stop` becomes the row that said to read no
 *  further, or NULL. OCV_ERR_INVALID: an option is unknown, lacks its value or has a wrong one. */
int ocv_options_read(struct ocv_options *options, int argc, char **argv,
                     const struct ocv_option **stop, struct ocv_error *err) OCV_WARN_UNUSED;
/** Say what is wrong: the message, what was meant, the hint. */
void ocv_options_report(const struct ocv_options *options, const struct ocv_error *err, FILE *out);

/* Candidates for the word at the cursor, from the rows of a command's options and from its usage.
 *
 * A shell runs "PROGRAM __complete WORD... CURRENT". The answer has the form of cobra's programs,
 * in which docker also asks its plugins: a line "CANDIDATE<TAB>WHAT IT IS" for each, then ":N", the
 * sum of OCV_COMPLETE_*. Behind "--name=" a candidate is the value alone. */

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
