/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where work that may run beside the caller's is put. The kernel often starts it on the processor
 * of who started it, and looks for another one only when one of them has waited for its turn. */
#ifndef OCV_PROCESSORS_H
#define OCV_PROCESSORS_H

#include <sched.h>
#include <stdbool.h>

/** The processors that the caller may use, without the one that it runs on. False: there are none,
 *  or more than the set has room for. */
bool ocv_processors_others(cpu_set_t *out);

#endif
