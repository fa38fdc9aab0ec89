/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Programs that print secrets: asked on their standard input, without a shell, with limits on their
 * time and their answer. What they write to their standard error goes nowhere. */
#ifndef OCV_AUTH_PROGRAM_H
#define OCV_AUTH_PROGRAM_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

struct ocv_program {
    const char *path;               /**< NULL: argv[0], found by PATH */
    const char *const *argv;        /**< NULL at the end */
    const char *const *environment; /**< NULL: this program's */
    const char *input;
    unsigned timeout_ms;
    bool
        confined; /**< in a group of its own, without new privileges, with limits on what it uses */
    bool trusted; /**< only if nobody else could have put it there (lib/base/system/trusted.h) */
    const volatile int *interrupted; /**< non-zero: stop; may be NULL */
};

/** Run it and append what it prints, at most answer->max bytes. `*code`: its exit status, above 127
 *  where a signal ended it, -1 where it is not known. OCV_ERR_NOT_FOUND, OCV_ERR_CONFIG: it cannot
 *  be started; OCV_ERR_NETWORK: it did not end in time; OCV_ERR_DATA: it printed too much;
 *  OCV_ERR_INTERRUPTED. No process of it is left then. The caller wipes the answer. */
int ocv_program_ask(const struct ocv_program *program, struct ocv_buffer *answer, int *code,
                    struct ocv_error *err) OCV_WARN_UNUSED;

#endif
