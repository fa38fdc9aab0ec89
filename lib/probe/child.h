/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running what could crash, hang or never stop printing: executable providers, and the programs of
 * this project that open a vendor's library. Always another program, never a bare fork: the caller
 * may be a daemon with threads, and whatever lock they hold would stay held in the copy. */
#ifndef OCV_CHILD_H
#define OCV_CHILD_H

#include "ocivariant.h"

#include <stddef.h>

#define OCV_CHILD_TIMEOUT_MS 2000u                   /**< default time limit */
#define OCV_CHILD_OUTPUT_MAX (1024u * 1024)          /**< bytes a provider may print */
#define OCV_CHILD_MEMORY_MAX (4096ull * 1024 * 1024) /**< address space; NVML maps a lot */

struct ocv_child_limits {
    unsigned timeout_ms; /**< 0: the default */
    size_t output_max;   /**< 0: the default */
    size_t memory_max;   /**< 0: the default */
};

/** Run `path` with arguments `argv` (argv[0] included, NULL at the end) without shell, stdin from
 *  /dev/null, no new privileges, resource limits, no descriptor of ours, in a process group of its
 *  own that is killed when the time is over. Its stdout is appended to `out`; the first line of its
 *  stderr goes into the message when it fails. Not executable or gone: OCV_ERR_NOT_FOUND; late,
 *  killed, exit status not 0, too much output: OCV_ERR_IO with the reason ("did not answer within
 *  2 s", "killed by signal 11 (Segmentation fault)", "printed more than 1048576 bytes", "exit
 * status 3: ..."). Thread-safe; leaves no process and no descriptor behind. */
int ocv_child_run(const char *path, const char *const argv[], const struct ocv_child_limits *limits,
                  struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
