/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/progress/attach.h"
#include "cmd/common/progress/progress_internal.h"

static void report_line(void *data, const char *line)
{
    struct progress *progress = data;
    progress_log(progress, progress->display->program, line);
}

static void report_warning(void *data, const char *line)
{
    struct progress *progress = data;
    progress_warn(progress, progress->display->program, "%s", line);
}

static void report_wait(void *data, const struct ocv_registry_wait *wait)
{
    progress_wait(data, wait);
}

static void report_tick(void *data)
{
    progress_tick(data);
}

void progress_attach(struct progress *progress, struct cli *cli)
{
    if (!progress->display->program) /* the first is attached before there are threads */
        progress->display->program = cli->program;
    cli->log = report_line;
    cli->warn = report_warning;
    cli->wait = report_wait;
    cli->tick = report_tick;
    cli->callback_data = progress;
}

void progress_detach(struct cli *cli)
{
    cli->log = cli->warn = NULL;
    cli->wait = cli_report_retry;
    cli->tick = NULL;
    cli->callback_data = cli;
}
