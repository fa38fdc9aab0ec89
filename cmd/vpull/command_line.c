/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/command_line.h"

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

const char vpull_help[] =
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

int settings_read(struct cli *cli, struct settings *s, int argc, char **argv)
{
    struct ocv_error err = {0};
    int value, code = -1;
    while (cli_next_option(cli, argc, argv, options_table, vpull_help, &value, &code)) {
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
