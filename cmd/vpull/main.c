/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vpull: docker pull, with the variant that was built for this machine. */
#include "cmd/common/lazy/registry_load.h"
#include "cmd/common/progress/progress.h"
#include "cmd/vpull/vpull.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static volatile int interrupted;

static void on_signal(int number)
{
    (void)number;
    __atomic_store_n(&interrupted, 1, __ATOMIC_RELAXED);
}

/* A line in text modes, an event in JSON. */
static int fail_image(const struct cli *cli, struct progress *progress, const char *image,
                      const struct ocv_error *err)
{
    int code = ocv_error_exit_code(err->status);
    if (progress_is_json(progress)) {
        progress_event(progress, "error",
                       json_pack("{s:s?, s:s, s:s*, s:i}", "image", image, "message", err->message,
                                 "hint", *err->hint ? err->hint : NULL, "exit", code));
        return code;
    }
    progress_hold(progress);
    (void)cli_fail(cli, err);
    progress_release(progress);
    return code;
}

/* All images of one call. */
struct run {
    struct cli *cli;
    const struct vpull_settings *s;
    struct progress *progress;
    const struct destination *destination;
    char *argument; /* of the destination */
    struct tasks tasks;
    /* side by side: */
    struct ocv_downloads *downloads;
    struct cli *lanes; /* a copy for each lane, with a client of its own, once it has begun */
    bool names_told;   /* the lanes' common one: what is copied meanwhile must not change */
    bool stop_told;    /* one line says that the user interrupted */
    int code;
};

/* What it prints is kept for report_task; events come at once. */
static void pull_task(struct run *run, struct cli *cli, struct progress *progress,
                      struct task *task)
{
    if (!task->failed) {
        progress_image(progress, task->text);
        task->failed = pull_image(cli, &task->options, progress, task->text, run->destination,
                                  run->argument, &task->prints, &task->err) < 0;
        progress_finish(progress);
    }
    if (task->failed && progress_is_json(progress))
        (void)fail_image(cli, progress, task->text ? task->text : task->image, &task->err);
}

/* The exit code is the first failure's. */
static void report_task(void *data, size_t i)
{
    struct run *run = data;
    struct task *task = &run->tasks.list[i];
    bool stopped = task->failed && task->err.status == OCV_ERR_INTERRUPTED;
    int code = task->failed ? ocv_error_exit_code(task->err.status) : 0;
    if (task->failed) {
        if (!progress_is_json(run->progress) && !(stopped && run->stop_told))
            (void)fail_image(run->cli, run->progress, NULL, &task->err);
        run->stop_told = run->stop_told || stopped;
    } else if (task->prints.len) {
        struct ocv_error err = {0};
        progress_hold(run->progress);
        int status = cli_print(task->prints.data, task->prints.len, &err);
        progress_release(run->progress);
        code = status < 0 ? fail_image(run->cli, run->progress, NULL, &err) : 0;
    }
    run->code = run->code ? run->code : code;
}

/* What all lanes share is made before the first thread: settings, the library, the profile. */
static int prepare_lanes(struct run *run, struct ocv_error *err)
{
    struct cli *cli = run->cli;
    cli->names_told = &run->names_told;
    cli_profile_begin(cli);
    OCV_TRY(registry_load(err));
    OCV_TRY(cli_registry(cli, err));
    OCV_TRY(cli_profile(cli, err));
    OCV_TRY(ocv_downloads_new(run->s->pull.jobs, &run->downloads, err));
    for (size_t i = 0; i < run->tasks.n && cli->creds_stdin && !cli->creds_host; i++) {
        ocv_auto(ocv_reference) first = NULL;
        const char *text = run->tasks.list[i].text;
        if (text && strncmp(text, "oci:", 4) != 0 && !image_is_path(text) &&
            ocv_reference_parse(text, &first, NULL) == OCV_OK)
            OCV_TRY(image_bind_credentials(cli, first, err));
    }
    run->lanes = calloc(run->tasks.n + 1, sizeof(*run->lanes));
    return run->lanes ? OCV_OK : ocv_error_nomem(err);
}

static void run_in_lane(void *data, size_t i)
{
    struct run *run = data;
    struct task *task = &run->tasks.list[i];
    struct cli *lane = &run->lanes[task->lane];
    struct progress *progress = NULL;
    if (cli_interrupted(run->cli))
        return;
    int status = progress_open(run->progress, task->text, &progress, &task->err);
    if (status == OCV_OK && !task->failed && !lane->program) { /* the lane's first task */
        *lane = *run->cli;
        lane->registry = NULL;
        status = cli_registry_new(lane, lane->interrupted, &lane->registry, &task->err);
        if (status < 0)
            lane->program = NULL;
        else
            ocv_registry_share(lane->registry, run->downloads);
    }
    task->failed = task->failed || status < 0;
    if (status == OCV_OK && lane->program) {
        progress_attach(progress, lane);
        if (run->s->pull.quiet)
            lane->wait = NULL;
    }
    if (progress) /* one that has failed already says so */
        pull_task(run, lane, progress, task);
    else
        pull_task(run, run->cli, run->progress, task);
    progress_free(progress);
}

static int plan_and_run(struct run *run, char **images, struct ocv_error *err)
{
    const struct pull_options *options = &run->s->pull;
    bool pulls = !options->dry_run && !options->print_ref;
    OCV_TRY(tasks_plan(run->s, images, &run->tasks, err));
    if (pulls || options->to)
        OCV_TRY(destination_choose(run->cli, options, run->progress, &run->destination,
                                   &run->argument, err));
    if (pulls && run->tasks.n > 1) {
        /* A file or a tag holds one image: a second one would silently replace the first. */
        const char *slash = strrchr(run->argument, '/');
        bool tagged = strchr(slash ? slash : run->argument, ':') != NULL;
        if (run->destination == &destination_archive ||
            (run->destination == &destination_oci && tagged))
            return ocv_error_set(err, OCV_ERR_INVALID, "--to %s:%s takes one image",
                                 run->destination->name, run->argument);
    }
    if (pulls && !options->to && !options->quiet)
        progress_message(run->progress, "pulling to %s%s%s", run->destination->name,
                         *run->argument ? ":" : "", run->argument);
    if (pulls && run->tasks.n > 1 && options->jobs > 1) {
        ocv_auto_free size_t *lanes = calloc(run->tasks.n, sizeof(*lanes));
        const struct queue queue = {.n = run->tasks.n,
                                    .at_once = options->jobs,
                                    .lanes = lanes,
                                    .run = run_in_lane,
                                    .ended = report_task,
                                    .data = run};
        if (!lanes)
            return ocv_error_nomem(err);
        int status = prepare_lanes(run, err);
        if (status == OCV_OK) {
            tasks_lanes(&run->tasks, run->destination);
            for (size_t i = 0; i < run->tasks.n; i++)
                lanes[i] = run->tasks.list[i].lane;
            status = queue_run(&queue, err);
        }
        for (size_t i = 0; run->lanes && i < run->tasks.n; i++) {
            struct cli *lane = &run->lanes[i];
            ocv_registry_free(lane->program ? lane->registry : NULL);
            if (lane->platform != run->cli->platform)
                ocv_platform_free(lane->platform);
        }
        free(run->lanes);
        ocv_downloads_free(run->downloads);
        run->cli->names_told = &run->cli->told;
        return status;
    }
    for (size_t i = 0; i < run->tasks.n && !cli_interrupted(run->cli); i++) {
        pull_task(run, run->cli, run->progress, &run->tasks.list[i]);
        report_task(run, i);
    }
    return OCV_OK;
}

static int pull_images(struct cli *cli, struct vpull_settings *s, char **images)
{
    struct ocv_error err = {0};
    struct progress *progress = NULL;
    bool quiet = s->pull.quiet || s->pull.print_ref;
    enum progress_mode mode = quiet ? PROGRESS_QUIET : s->mode;
    FILE *stream = mode == PROGRESS_JSON ? stdout : stderr;
    if (progress_new(mode, stream, NULL, &progress, &err) < 0)
        return cli_fail(cli, &err);
    progress_color(progress, color_wanted(cli->color, stream));
    progress_attach(progress, cli);
    if (s->pull.quiet)
        cli->wait = NULL;
    int code;
    if (cli_load(cli, &err) < 0) {
        code = fail_image(cli, progress, NULL, &err);
    } else {
        const char *to = ocv_config_get(cli->config, "to");
        bool given = false;
        for (size_t i = 0; i < cli->n_flags; i++)
            given = given || !strcmp(cli->flags[i].key, "to");
        if (to && (!s->pull.to || given)) /* `docker vpull` means docker */
            s->pull.to = to;
        struct run run = {.cli = cli, .s = s, .progress = progress};
        /* Where no name is one that can be asked for, say so before a destination is looked for.
         * Else each of the others fails by itself. */
        struct ocv_error wrong = {0};
        bool any = s->lock_file != NULL;
        for (size_t i = 0; images[i] && !any; i++)
            any = image_check_name(images[i], &wrong) == OCV_OK;
        code = 0;
        for (size_t i = 0; images[i] && !any; i++)
            if (image_check_name(images[i], &wrong) < 0) {
                int now = fail_image(cli, progress, images[i], &wrong);
                code = code ? code : now;
            }
        if (!code) {
            if (plan_and_run(&run, images, &err) < 0)
                run.code = fail_image(cli, progress, NULL, &err);
            progress_image(progress, NULL); /* the task's text goes */
            tasks_free(&run.tasks);
            free(run.argument);
            code = cli_interrupted(cli) ? 130 : run.code;
        }
    }
    progress_detach(cli);
    progress_free(progress);
    return code;
}

int main(int argc, char **argv)
{
    struct cli cli;
    struct vpull_settings settings = {0};
    struct plugin_args plugin;
    cli_init(&cli, "vpull");
    plugin_parse(argc, argv, &plugin);
    switch (plugin.call) {
    case PLUGIN_METADATA:
        plugin_print_metadata(stdout);
        return cli_quit(&cli, 0);
    case PLUGIN_COMPLETION: /* cli_read speaks the completion protocol of docker and cobra */
        cli.completing = true;
        break;
    case PLUGIN_HOOK:
        plugin_print_hook(stdout, argv[argc - 1]);
        return cli_quit(&cli, 0);
    case PLUGIN_HELP:
        cli_print_help(&cli, &vpull_command, false);
        return cli_quit(&cli, 0);
    case PLUGIN_RUN:
        settings.pull.to = "docker";
        settings.pull.docker = plugin.globals;
        cli.verbose = plugin.globals.debug;
        plugin_watch(&interrupted);
        break;
    case PLUGIN_NONE:
        break;
    }
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* on SIGHUP too, podman's credentials file must be removed; nohup keeps working */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    cli.interrupted = &interrupted;
    if (argc == 2 && plugin.call == PLUGIN_NONE) {
        /* `vpull help` and `vpull version` name no images. */
        static char help_option[] = "--help", version_option[] = "--version";
        if (!strcmp(argv[1], "help"))
            argv[1] = help_option;
        else if (!strcmp(argv[1], "version"))
            argv[1] = version_option;
    }
    int skip = plugin.call == PLUGIN_NONE ? 0 : plugin.first - 1;
    argv[skip] = argv[0];
    int code = settings_read(&cli, &settings, argc - skip, argv + skip);
    if (code < 0)
        code = pull_images(&cli, &settings, argv + skip + optind);
    return cli_quit(&cli, code);
}
