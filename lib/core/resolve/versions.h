/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A `..._lower_bound` has a list of values: the machine's version, and all that are older. */
#ifndef OCV_VERSIONS_H
#define OCV_VERSIONS_H

/** Call `visit` for each value that a machine of version MAJOR.MINOR has for that feature, newest
 *  first: its own minor versions downwards, the bare major, then the same of each older major, as
 * the vocabulary's `downwards` says. Of a feature without it: down to 1. Ends when `visit` returns
 *  something else than 0, and returns that. */
int ocv_versions_below(const char *ns, const char *feature, unsigned major, unsigned minor,
                       int (*visit)(void *data, const char *version), void *data);

#endif
