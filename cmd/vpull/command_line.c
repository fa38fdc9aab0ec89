/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/vpull.h"

#include "cmd/vpull/engines/engine.h"

#include <stdlib.h>
#include <string.h>

#define JOBS_DEFAULT 3u /* as max-concurrent-downloads of containerd and docker */

/* "text" is another name of plain. */
static int take_mode(const struct ocv_option_given *given, struct ocv_error *err)
{
    static const enum progress_mode modes[] = {PROGRESS_AUTO, PROGRESS_PLAIN, PROGRESS_JSON};
    int word =
        ocv_option_word(given->option, strcmp(given->value, "text") != 0 ? given->value : "plain");
    (void)err;
    if (word >= 0)
        *(enum progress_mode *)given->into = modes[word];
    return word >= 0 ? OCV_OK : OCV_OPTION_WRONG;
}

static int take_json(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)err;
    *(enum progress_mode *)given->into = PROGRESS_JSON;
    return OCV_OK;
}

static int take_color(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct cli **cli = given->into;
    int word = ocv_option_word(given->option, given->value);
    (void)err;
    if (word >= 0)
        (*cli)->color = (enum color_mode)word; /* in the order of its values */
    return word >= 0 ? OCV_OK : OCV_OPTION_WRONG;
}

static const struct ocv_option options[] = {
    {.name = "to",
     .value = "DESTINATION",
     .help = "one of those below (the first that answers)",
     OCV_OPTION_MEMBER(cli_take_setting_of, struct vpull_settings, cli)},
    {.name = "dry-run",
     .help = "show the decision and the bytes, pull nothing",
     OCV_OPTION_FLAG(struct vpull_settings, pull.dry_run)},
    {.name = "print-ref",
     .help = "print repo@sha256:... of the choice, pull nothing",
     OCV_OPTION_FLAG(struct vpull_settings, pull.print_ref)},
    {.name = "quiet",
     .letter = 'q',
     .help = "print the digest only; docker, podman: NAME@DIGEST",
     OCV_OPTION_FLAG(struct vpull_settings, pull.quiet)},
    {.name = "progress",
     .value = "auto|plain|json",
     .help = "json (or --json, -o json): events to stdout\n"
             "auto: bars, or lines without a terminal",
     OCV_OPTION_MEMBER(take_mode, struct vpull_settings, mode)},
    {.name = "output",
     .letter = 'o',
     .value = "auto|plain|json",
     OCV_OPTION_MEMBER(take_mode, struct vpull_settings, mode)},
    {.name = "format", /* variantctl's name for it */
     .value = "auto|plain|json",
     .flags = OCV_OPTION_HIDDEN,
     OCV_OPTION_MEMBER(take_mode, struct vpull_settings, mode)},
    {.name = "json", OCV_OPTION_MEMBER(take_json, struct vpull_settings, mode)},
    {.name = "color",
     .value = "auto|always|never",
     .help = "auto: on a terminal, unless NO_COLOR is set",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(take_color, struct vpull_settings, cli)},
    {.name = "tag",
     .value = "NAME",
     .help = "name of the result, for an IMAGE by digest or oci:DIR",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct vpull_settings, pull.tag)},
    {.name = "jobs",
     .value = "N",
     .help = "downloads at once, 1 to 8 (default 3): at most N\n"
             "images side by side, and N layers at once in all",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_NUMBER(struct vpull_settings, pull.jobs, 1, OCV_FETCH_JOBS_MAX)},
    {.name = "verify",
     .help = "with --to oci:DIR: verify what is there already",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct vpull_settings, pull.verify)},
    {.name = "namespace",
     .letter = 'n',
     .value = "NAME",
     .help = "containerd namespace",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct vpull_settings, pull.ns)},
    {.name = "locked",
     .value = "FILE",
     .help = "pull what this lock says (variantctl lock): all, or\n"
             "the IMAGEs named; this machine's choice must be one",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct vpull_settings, lock_file)},
    {.name = "lock-profile",
     .value = "NAME",
     .help = "with --locked: what the lock has for that machine",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct vpull_settings, lock_profile)},
    OCV_OPTIONS_END};

const struct cli_command vpull_command = {
    .usage = "Usage: vpull [OPTIONS] IMAGE...\n"
             "\n"
             "Pull the variant of IMAGE that was built for this machine. IMAGE is REPO[:TAG],\n"
             "REPO@DIGEST of an index or a manifest, or oci:DIR[:TAG].\n",
    .options = options,
    .groups = CLI_RESOLVE | CLI_REGISTRY,
    .complete = destination_complete,
    .print_values = destination_print,
    .arguments = CLI_ANY_ARGUMENTS,
    .end = "\n"
           "Examples:\n"
           "  vpull registry.example/app:1.0\n"
           "  vpull --dry-run --label null registry.example/app:1.0\n"
           "  vpull --to oci:images registry.example/app:1.0\n"};

int settings_read(struct cli *cli, struct vpull_settings *s, int argc, char **argv)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_reference) tag = NULL;
    s->cli = cli;
    s->pull.jobs = JOBS_DEFAULT;
    int code = cli_read(cli, &vpull_command, s, argc, argv);
    if (code >= 0)
        return code;
    size_t images = cli->n_arguments;
    if (images > 1 && !strcmp(cli->arguments[0], "pull")) {
        ocv_error_set(&err, OCV_ERR_INVALID, "pull is no word of vpull: it takes images alone");
        ocv_error_hint(&err, "vpull %s", cli->arguments[1]);
        return cli_fail(cli, &err);
    }
    if (s->pull.tag && ocv_reference_parse(s->pull.tag, &tag, &err) < 0)
        return cli_fail(cli, (ocv_error_prefix(&err, "--tag"), &err));
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
