/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file attach.h  Sends a command's messages through its progress. */
#ifndef OCV_PROGRESS_ATTACH_H
#define OCV_PROGRESS_ATTACH_H

#include "cmd/common/cli.h"
#include "cmd/common/progress/progress.h"

/** From now on `cli`'s messages, warnings and waits go through the progress, so that they neither
 *  break the bars nor mix with JSON objects. The progress must live until progress_detach. */
void progress_attach(struct progress *progress, struct cli *cli);
void progress_detach(struct cli *cli);

#endif
