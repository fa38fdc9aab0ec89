/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file attach.h  What a command says, while its progress is shown. */
#ifndef OCV_PROGRESS_ATTACH_H
#define OCV_PROGRESS_ATTACH_H

#include "cmd/common/cli.h"
#include "cmd/common/progress/progress.h"

/** What `cli` says, warns of and waits for goes through the progress from now on, which is to live
 *  until progress_detach: it must neither tear the bars nor stand between JSON objects. */
void progress_attach(struct progress *progress, struct cli *cli);
void progress_detach(struct cli *cli);

#endif
