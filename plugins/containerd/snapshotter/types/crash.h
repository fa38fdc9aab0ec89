/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OCV_SNAPSHOTTER_CRASH_H
#define OCV_SNAPSHOTTER_CRASH_H

/** Kills the process at a named step, for tests; empty in installed programs. */
#ifdef OCV_CRASH_POINTS
void snap_crash_point(const char *name);
#else
#define snap_crash_point(name) ((void)0)
#endif

#endif
