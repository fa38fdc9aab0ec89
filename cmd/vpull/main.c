/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vpull: docker pull, with the variant that was built for this machine. */
#include "cmd/vpull/pull.h"
#include "lib/base/exit_code.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_DRY_RUN = 1,
    OPTION_PRINT_REF,
    OPTION_PROGRESS,
    OPTION_JSON,
    OPTION_COLOR,
    OPTION_TAG,
    OPTION_JOBS,
    OPTION_VERIFY,
    OPTION_LOCKED,
    OPTION_LOCK_PROFILE,
};

static const struct option options_table[] = {
    {"to", required_argument, NULL, CLI_OPTION_FLAG},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"print-ref", no_argument, NULL, OPTION_PRINT_REF},
    {"quiet", no_argument, NULL, 'q'},
    {"progress", required_argument, NULL, OPTION_PROGRESS},
    {"output", required_argument, NULL, 'o'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"color", required_argument, NULL, OPTION_COLOR},
    {"tag", required_argument, NULL, OPTION_TAG},
    {"jobs", required_argument, NULL, OPTION_JOBS},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"namespace", required_argument, NULL, 'n'},
    {"locked", required_argument, NULL, OPTION_LOCKED},
    {"lock-profile", required_argument, NULL, OPTION_LOCK_PROFILE},
    CLI_RESOLVE_OPTIONS,
    CLI_REGISTRY_OPTIONS,
    CLI_COMMON_OPTIONS,
    CLI_OPTIONS_END};

static volatile int interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static const char help[] =
    "Usage: vpull [OPTIONS] IMAGE...\n"
    "\n"
    "Pull the variant of IMAGE that was built for this machine. IMAGE is REPO[:TAG],\n"
    "REPO@DIGEST of an index or a manifest, or oci:DIR[:TAG].\n"
    "\n"
    "Options:\n"
    "  --to DESTINATION         one of those below (the first that answers)\n"
    "  --dry-run                show the decision and the bytes, pull nothing\n"
    "  --print-ref              print repo@sha256:... of the choice, pull nothing\n"
    "  -q, --quiet              print the digest only\n"
    "  --progress auto|plain|json   auto: bars, or lines without a terminal; json\n"
    "                           (also --json, -o json): events on standard output\n"
    "  --color auto|always|never   auto: on a terminal, unless NO_COLOR is set\n"
    "  --tag NAME               name of the result, for an IMAGE named by digest\n"
    "  --jobs N                 layers at once, 1 to 8 (default 4)\n"
    "  --verify                 with --to oci:DIR: read again what is there\n"
    "  -n, --namespace NS       containerd namespace\n"
    "  --locked FILE            pull what this lock says (variantctl lock): all, or\n"
    "                           the IMAGEs named; this machine's choice must be one\n"
    "  --lock-profile NAME      with --locked: what the lock has for that "
    "machine\n" CLI_RESOLVE_HELP CLI_COMMON_HELP CLI_REGISTRY_HELP "\n"
    "Destinations: docker, podman, nerdctl, containerd, oci:DIR[:TAG], docker-archive:FILE\n"
    "\n"
    "Examples:\n"
    "  vpull registry.example/app:1.0\n"
    "  vpull --dry-run --label null registry.example/app:1.0\n"
    "  vpull --to oci:images registry.example/app:1.0\n";

struct say {
    const char *program;
    struct progress *progress;
};

struct settings {
    struct pull_options pull;
    enum progress_mode mode;
    const char *lock_file, *lock_profile;
    struct say say; /* where -v goes */
};

static int read_jobs(const char *text, unsigned *out, struct ocv_error *err)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || !*text || n < 1 || n > OCV_FETCH_JOBS_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "--jobs: invalid value '%.20s': expected a number from 1 to %u", text,
                             OCV_FETCH_JOBS_MAX);
    *out = (unsigned)n;
    return OCV_OK;
}

/* `name`: of the option. */
static int read_mode(const char *name, const char *text, enum progress_mode *out,
                     struct ocv_error *err)
{
    static const struct {
        const char *name;
        enum progress_mode mode;
    } modes[] = {{"auto", PROGRESS_AUTO},
                 {"plain", PROGRESS_PLAIN},
                 {"text", PROGRESS_PLAIN},
                 {"json", PROGRESS_JSON}};
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
        if (!strcmp(text, modes[i].name)) {
            *out = modes[i].mode;
            return OCV_OK;
        }
    return ocv_error_set(err, OCV_ERR_INVALID,
                         "%s: invalid value '%.20s': expected auto, plain or json", name, text);
}

/* Returns 1 on an unknown option or invalid value. */
static int own_option(struct cli *cli, struct settings *s, int value, struct ocv_error *err)
{
    switch (value) {
    case OPTION_DRY_RUN:
        s->pull.dry_run = true;
        return OCV_OK;
    case OPTION_PRINT_REF:
        s->pull.print_ref = true;
        return OCV_OK;
    case 'q':
        s->pull.quiet = true;
        return OCV_OK;
    case 'n':
        s->pull.ns = optarg;
        return OCV_OK;
    case OPTION_TAG:
        s->pull.tag = optarg;
        return OCV_OK;
    case OPTION_LOCKED:
        s->lock_file = optarg;
        return OCV_OK;
    case OPTION_LOCK_PROFILE:
        s->lock_profile = optarg;
        return OCV_OK;
    case OPTION_VERIFY:
        s->pull.verify = true;
        return OCV_OK;
    case OPTION_JOBS:
        return read_jobs(optarg, &s->pull.jobs, err);
    case OPTION_PROGRESS:
        return read_mode("--progress", optarg, &s->mode, err);
    case 'o':
        return read_mode("-o", optarg, &s->mode, err);
    case OPTION_JSON:
        s->mode = PROGRESS_JSON;
        return OCV_OK;
    case OPTION_COLOR:
        return color_read(optarg, &cli->color, err);
    default:
        return 1;
    }
}

/* Returns the exit code, or -1 to go on. */
static int read_options(struct cli *cli, struct settings *s, int argc, char **argv)
{
    struct ocv_error err = {0};
    int value, code = -1;
    while (cli_next_option(cli, argc, argv, options_table, help, &value, &code)) {
        int status = own_option(cli, s, value, &err);
        if (status != OCV_OK)
            return status < 0 ? cli_fail(cli, &err) : cli_bad_option(cli, argv, value);
    }
    if (code >= 0)
        return code;
    size_t images = (size_t)(argc - optind);
    if (images == 0 && !s->lock_file)
        ocv_error_set(&err, OCV_ERR_INVALID, "no image named");
    else if (s->lock_profile && !s->lock_file)
        ocv_error_set(&err, OCV_ERR_INVALID, "--lock-profile needs --locked");
    else if (s->lock_file && (s->pull.tag || cli->label))
        ocv_error_set(&err, OCV_ERR_INVALID, "--locked excludes --tag and --label");
    else if (s->pull.tag && images > 1)
        ocv_error_set(&err, OCV_ERR_INVALID, "--tag names one result, but %zu images are given",
                      images);
    else if (s->pull.dry_run && s->pull.print_ref)
        ocv_error_set(&err, OCV_ERR_INVALID, "--dry-run and --print-ref exclude each other");
    else
        return -1;
    ocv_error_hint(&err, "vpull --help");
    return cli_fail(cli, &err);
}

/* One line for people, or one event for programs. */
static int fail(const struct cli *cli, struct progress *progress, const char *image,
                const struct ocv_error *err)
{
    if (!progress_is_json(progress))
        return cli_fail(cli, err);
    int code = ocv_error_exit_code(err->status);
    progress_event(progress, "error",
                   json_pack("{s:s?, s:s, s:s, s:i}", "image", image, "message", err->message,
                             "hint", err->hint, "exit", code));
    return code;
}

/* A file or a tag holds one image: the second would silently take the first one's place. */
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

/* One image, and what became of it as an exit code. */
static int pull_one(struct cli *cli, const struct pull_options *options, struct progress *progress,
                    const char *image, const struct target *target)
{
    struct ocv_error err = {0};
    int status =
        pull_image(cli, options, progress, image, target->destination, target->argument, &err);
    progress_finish(progress);
    return status < 0 ? fail(cli, progress, image, &err) : 0;
}

/* By the index's digest, or without a look at this machine by the manifest's; named as asked for.
 */
static int pull_locked(struct cli *cli, const struct settings *s, struct progress *progress,
                       const struct lock_image *locked, const struct target *target)
{
    struct pull_options options = s->pull;
    struct ocv_error err = {0};
    ocv_auto(ocv_reference) reference = NULL;
    char text[2048];
    const struct lock_choice *choice =
        s->lock_profile ? lock_choice(locked, s->lock_profile) : NULL;
    if (s->lock_profile && !choice) {
        ocv_error_set(&err, OCV_ERR_NOT_FOUND, "%s: nothing is locked for '%s'", locked->reference,
                      s->lock_profile);
        return fail(cli, progress, locked->reference, &err);
    }
    options.locked = choice ? NULL : locked;
    options.choice = choice;
    if (locked->n_tags && !choice) /* the set is chosen in again, with what its tags stood for */
        return pull_one(cli, &options, progress, locked->reference, target);
    if (strncmp(locked->reference, "oci:", 4) == 0) {
        if (!choice) /* a layout's name leads to the index; its digest is compared */
            return pull_one(cli, &options, progress, locked->reference, target);
        ocv_error_set(&err, OCV_ERR_UNSUPPORTED,
                      "%s: --lock-profile requires an image in a registry", locked->reference);
        return fail(cli, progress, locked->reference, &err);
    }
    if (ocv_reference_parse(locked->reference, &reference, &err) < 0)
        return fail(cli, progress, locked->reference, &err);
    snprintf(text, sizeof(text), "%s@%s", reference->name, choice ? choice->digest : locked->top);
    options.tag = reference->digest ? NULL : locked->reference;
    return pull_one(cli, &options, progress, text, target);
}

static int pull_lock(struct cli *cli, const struct settings *s, struct progress *progress,
                     char **images, const struct target *target)
{
    struct lock lock;
    struct ocv_error err = {0};
    int code = 0;
    if (lock_read(s->lock_file, &lock, &err) < 0)
        return fail(cli, progress, NULL, &err);
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
            now = fail(cli, progress, *images, &err);
        }
        code = code ? code : now;
    }
    lock_free(&lock);
    return code;
}

/* All images are tried; the first failure's code counts. */
static int pull_all(struct cli *cli, const struct settings *s, struct progress *progress,
                    char **images)
{
    const struct pull_options *options = &s->pull;
    struct target target = {0};
    struct ocv_error err = {0};
    int code = 0;
    bool pulls = !options->dry_run && !options->print_ref;
    int status = pulls || options->to
                     ? destination_choose(cli, options, &target.destination, &target.argument, &err)
                     : OCV_OK;
    if (status == OCV_OK && pulls)
        status = check_target(target.destination, target.argument, images, &err);
    if (status < 0) {
        free(target.argument);
        return fail(cli, progress, NULL, &err);
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

/* What -v says must neither tear the bars nor stand between JSON objects. */
static void say(void *data, const char *line)
{
    const struct say *s = data;
    progress_log(s->progress, s->program, line);
}

static void warn(void *data, const char *line)
{
    const struct say *s = data;
    progress_warn(s->progress, s->program, "%s", line);
}

static void tell_wait(void *data, const struct ocv_registry_wait *wait)
{
    const struct say *s = data;
    progress_wait(s->progress, wait);
}

static void tick(void *data)
{
    const struct say *s = data;
    progress_tick(s->progress);
}

static void hook(struct cli *cli, struct settings *s, struct progress *progress, bool quiet)
{
    s->say = (struct say){cli->program, progress};
    cli->say = say;
    cli->warn = warn;
    cli->wait = quiet ? NULL : tell_wait;
    cli->tick = quiet ? NULL : tick;
    cli->say_data = &s->say;
}

static int run(struct cli *cli, struct settings *s, char **images)
{
    struct ocv_error err = {0};
    struct progress *progress = NULL;
    bool quiet = s->pull.quiet || s->pull.print_ref;
    enum progress_mode mode = quiet ? PROGRESS_QUIET : s->mode;
    FILE *stream = mode == PROGRESS_JSON ? stdout : stderr;
    if (progress_new(mode, stream, NULL, &progress, &err) < 0)
        return cli_fail(cli, &err);
    progress_color(progress, color_wanted(cli->color, stream));
    hook(cli, s, progress, quiet);
    int code;
    if (cli_load(cli, &err) < 0) {
        code = fail(cli, progress, NULL, &err);
    } else {
        const char *to = ocv_config_get(cli->config, "to");
        if (to && (!s->pull.to || flag_given(cli, "to"))) /* `docker vpull` means docker */
            s->pull.to = to;
        code = pull_all(cli, s, progress, images);
    }
    cli->say = cli->warn = NULL;
    cli->wait = NULL;
    cli->tick = NULL;
    progress_free(progress);
    return code;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* a lost terminal must not leave podman's credentials file behind; nohup stays nohup */
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
    struct settings settings = {0};
    struct plugin_args plugin;
    cli_init(&cli, "vpull");
    plugin_parse(argc, argv, &plugin);
    switch (plugin.call) {
    case PLUGIN_METADATA:
        plugin_print_metadata(stdout);
        return cli_quit(&cli, 0);
    case PLUGIN_COMPLETION:
        puts(":0"); /* cobra: nothing to offer, the shell's own completion goes on */
        return cli_quit(&cli, 0);
    case PLUGIN_HOOK:
        plugin_print_hook(stdout, argv[argc - 1]);
        return cli_quit(&cli, 0);
    case PLUGIN_HELP:
        fputs(help, stdout);
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
    int skip = plugin.call == PLUGIN_RUN ? plugin.first - 1 : 0;
    argv[skip] = argv[0];
    int code = read_options(&cli, &settings, argc - skip, argv + skip);
    if (code < 0)
        code = run(&cli, &settings, argv + skip + optind);
    return cli_quit(&cli, code);
}
