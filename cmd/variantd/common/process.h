/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's numbers about this process that Prometheus client libraries report. */
#ifndef VARIANTD_PROCESS_H
#define VARIANTD_PROCESS_H

#include <stdint.h>

struct process {
    double cpu_seconds;             /**< of all threads, user and system */
    uint64_t open_files, max_files; /**< descriptors */
    uint64_t virtual_bytes, virtual_max_bytes, resident_bytes;
};

/** A number that cannot be read is 0. */
void process_read(struct process *out);

#endif
