/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OCV_SNAPSHOTTER_CRASH_H
#define OCV_SNAPSHOTTER_CRASH_H

/** Tests kill the process at a named step; empty in what is installed. */
#ifdef OCV_CRASH_POINTS
void snap_crash_point(const char *name);
#else
#define snap_crash_point(name) ((void)0)
#endif

#endif
