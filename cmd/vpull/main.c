/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vpull: docker pull, with the variant that was built for this machine. */
#include "cmd/common/progress/attach.h"
#include "cmd/vpull/command_line.h"
#include "cmd/vpull/pull.h"
#include "lib/base/exit_code.h"
#include "lib/base/nearest.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static volatile int interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* A line in text modes, an event in JSON. */
static int fail_image(const struct cli *cli, struct progress *progress, const char *image,
                      const struct ocv_error *err)
{
    if (!progress_is_json(progress))
        return cli_fail(cli, err);
    int code = ocv_error_exit_code(err->status);
    progress_event(progress, "error",
                   json_pack("{s:s?, s:s, s:s*, s:i}", "image", image, "message", err->message,
                             "hint", *err->hint ? err->hint : NULL, "exit", code));
    return code;
}

/* A file or a tag holds one image: a second one would silently replace the first. */
static int check_target(const struct destination *destination, const char *argument, char **images,
                        struct ocv_error *err)
{
    const char *slash = strrchr(argument, '/');
    bool tagged = destination == &destination_oci && strchr(slash ? slash : argument, ':');
    if (!images[0] || !images[1] || (destination != &destination_archive && !tagged))
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_INVALID, "--to %s:%s takes one image", destination->name,
                         argument);
}

struct target {
    const struct destination *destination;
    char *argument;
};

/* Pull one image; returns its exit code. */
static int pull_one(struct cli *cli, const struct pull_options *options, struct progress *progress,
                    const char *image, const struct target *target)
{
    struct ocv_error err = {0};
    int status =
        pull_image(cli, options, progress, image, target->destination, target->argument, &err);
    progress_finish(progress);
    return status < 0 ? fail_image(cli, progress, image, &err) : 0;
}

/* Pull by the locked index digest, or with --lock-profile by the locked manifest digest, without a
 * probe. The result gets the name asked for. */
static int pull_locked(struct cli *cli, const struct vpull_settings *s, struct progress *progress,
                       const struct lock_image *locked, const struct target *target)
{
    struct pull_options options = s->pull;
    struct ocv_error err = {0};
    ocv_auto(ocv_reference) reference = NULL;
    char text[2048];
    const struct lock_choice *choice =
        s->lock_profile ? lock_choice(locked, s->lock_profile) : NULL;
    if (s->lock_profile && !choice) {
        char question[OCV_NEAREST_QUESTION_MAX];
        struct ocv_nearest nearest = {.wanted = s->lock_profile};
        for (size_t i = 0; i < locked->n_choices; i++)
            ocv_nearest_offer(&nearest, locked->choices[i].profile);
        ocv_error_set(&err, OCV_ERR_NOT_FOUND, "%s: nothing is locked for '%s'%s",
                      locked->reference, s->lock_profile,
                      ocv_nearest_question(ocv_nearest_meant(&nearest), question));
        return fail_image(cli, progress, locked->reference, &err);
    }
    options.locked = choice ? NULL : locked;
    options.choice = choice;
    if (locked->n_tags && !choice) /* choose again in the set, with the digests that its tags had */
        return pull_one(cli, &options, progress, locked->reference, target);
    if (strncmp(locked->reference, "oci:", 4) == 0) {
        if (!choice) /* a layout is opened by name; its index digest is compared */
            return pull_one(cli, &options, progress, locked->reference, target);
        ocv_error_set(&err, OCV_ERR_UNSUPPORTED,
                      "%s: --lock-profile requires an image in a registry", locked->reference);
        return fail_image(cli, progress, locked->reference, &err);
    }
    if (ocv_reference_parse(locked->reference, &reference, &err) < 0)
        return fail_image(cli, progress, locked->reference, &err);
    snprintf(text, sizeof(text), "%s@%s", reference->name, choice ? choice->digest : locked->top);
    options.tag = reference->digest ? NULL : locked->reference;
    return pull_one(cli, &options, progress, text, target);
}

static int pull_lock(struct cli *cli, const struct vpull_settings *s, struct progress *progress,
                     char **images, const struct target *target)
{
    struct lock lock;
    struct ocv_error err = {0};
    int code = 0;
    if (lock_read(s->lock_file, &lock, &err) < 0)
        return fail_image(cli, progress, NULL, &err);
    for (size_t i = 0; !images[0] && i < lock.n_images && !interrupted; i++) {
        int now = pull_locked(cli, s, progress, &lock.images[i], target);
        code = code ? code : now;
    }
    for (; *images && !interrupted; images++) {
        const struct lock_image *locked = lock_find(&lock, *images);
        int now = 0;
        if (locked) {
            now = pull_locked(cli, s, progress, locked, target);
        } else {
            ocv_error_set(&err, OCV_ERR_NOT_FOUND, "%s: not in %s", *images, s->lock_file);
            now = fail_image(cli, progress, *images, &err);
        }
        code = code ? code : now;
    }
    lock_free(&lock);
    return code;
}

/* Tries all images; the exit code is the first failure's. */
static int pull_all(struct cli *cli, const struct vpull_settings *s, struct progress *progress,
                    char **images)
{
    const struct pull_options *options = &s->pull;
    struct target target = {0};
    struct ocv_error err = {0};
    int code = 0;
    bool pulls = !options->dry_run && !options->print_ref;
    int status = pulls || options->to
                     ? destination_choose(cli, options, progress, &target.destination,
                                          &target.argument, &err)
                     : OCV_OK;
    if (status == OCV_OK && pulls)
        status = check_target(target.destination, target.argument, images, &err);
    if (status < 0) {
        free(target.argument);
        return fail_image(cli, progress, NULL, &err);
    }
    if (pulls && !options->to && !options->quiet)
        progress_message(progress, "pulling to %s%s%s", target.destination->name,
                         *target.argument ? ":" : "", target.argument);
    if (s->lock_file)
        code = pull_lock(cli, s, progress, images, &target);
    for (size_t i = 0; !s->lock_file && images[i] && !interrupted; i++) {
        int now = pull_one(cli, options, progress, images[i], &target);
        code = code ? code : now;
    }
    free(target.argument);
    return interrupted ? 130 : code;
}

static bool flag_given(const struct cli *cli, const char *key)
{
    for (size_t i = 0; i < cli->n_flags; i++)
        if (!strcmp(cli->flags[i].key, key))
            return true;
    return false;
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
        if (to && (!s->pull.to || flag_given(cli, "to"))) /* `docker vpull` means docker */
            s->pull.to = to;
        code = pull_all(cli, s, progress, images);
    }
    progress_detach(cli);
    progress_free(progress);
    return code;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* on SIGHUP too, podman's credentials file must be removed; nohup keeps working */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* `vpull help` and `vpull version` name no images. */
static void option_of(char **word)
{
    static char help_option[] = "--help", version_option[] = "--version";
    if (!strcmp(*word, "help"))
        *word = help_option;
    else if (!strcmp(*word, "version"))
        *word = version_option;
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
    catch_signals();
    cli.interrupted = &interrupted;
    if (argc == 2 && plugin.call == PLUGIN_NONE)
        option_of(&argv[1]);
    int skip = plugin.call == PLUGIN_NONE ? 0 : plugin.first - 1;
    argv[skip] = argv[0];
    int code = settings_read(&cli, &settings, argc - skip, argv + skip);
    if (code < 0)
        code = pull_images(&cli, &settings, argv + skip + optind);
    return cli_quit(&cli, code);
}
