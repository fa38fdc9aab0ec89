/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl probe: what this machine, or a recorded one, can run. */
#include "cmd/variantctl/probe/probe_table.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "ocivariant-probe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE_MAX (4u * 1024 * 1024)
#define WIDTH_DEFAULT 80
#define WIDTH_MIN 40
#define TIMEOUT_MAX_S 3600

struct probe_options {
    struct ocv_probe_options probe;
    const char *profile;
    bool json;
};

/* Whole seconds up to an hour, as milliseconds. */
static int take_timeout(const struct ocv_option_given *given, struct ocv_error *err)
{
    unsigned *ms = given->into;
    int status = ocv_option_number(given, err);
    if (status == OCV_OK)
        *ms *= 1000;
    return status;
}

static const struct ocv_option options[] = {
    {.name = "sysroot",
     .value = "DIR",
     .help = "read this directory instead of /",
     OCV_OPTION_TEXT(struct probe_options, probe.sysroot)},
    {.name = "cpuid",
     .value = "FILE",
     .help = "take the processor's CPUID words from this file",
     OCV_OPTION_TEXT(struct probe_options, probe.cpuid)},
    {.name = "pci-dump",
     .value = "FILE",
     .help = "another machine's devices: output of 'lspci -kx'",
     OCV_OPTION_TEXT(struct probe_options, probe.pci_dump)},
    {.name = "deep",
     .help = "also ask vendor libraries",
     OCV_OPTION_FLAG(struct probe_options, probe.deep)},
    {.name = "timeout",
     .value = "SECONDS",
     .help = "limit for each program or library (2)",
     OCV_OPTION_MEMBER(take_timeout, struct probe_options, probe.timeout_ms),
     .least = 1,
     .most = TIMEOUT_MAX_S},
    {.name = "check",
     .value = "FILE",
     .help = "check this provider file, and show only its findings",
     OCV_OPTION_TEXT(struct probe_options, probe.check)},
    {.name = "profile",
     .value = "FILE|NAME",
     .help = "show this profile, probe nothing",
     OCV_OPTION_TEXT(struct probe_options, profile)},
    CLI_FORMAT(struct probe_options, json,
               "text on a terminal, else json (the default)\n"
               "-v: long lists of the text in full"),
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl probe [OPTIONS]\n"
             "\n"
             "Show what this machine, or a recorded one, can run. The JSON form is a profile,\n"
             "which other commands take with --profile.\n",
    .options = options,
    .end = "\n"
           "Examples:\n"
           "  variantctl probe\n"
           "  variantctl probe --json >this.json\n"
           "  variantctl probe --deep --timeout 10\n"};

int cmd_probe(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct probe_options r = {
        .probe = {.datadir = getenv("OCV_DATADIR"), .libexecdir = getenv("OCV_LIBEXECDIR")},
        .json = !isatty(STDOUT_FILENO)};
    struct ocv_probe_options *probe = &r.probe;
    ocv_auto_buffer json, table;
    ocv_buffer_init(&json, OCV_PROFILE_MAX);
    ocv_buffer_init(&table, TABLE_MAX);
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    probe->describe = !r.json;
    OCV_TRY(cli_load(cli, err)); /* not needed here, but its errors are reported */
    if (r.profile) {             /* a recorded one, which must be valid */
        ocv_auto(ocv_profile) parsed = NULL;
        OCV_TRY(cli_read_profile(r.profile, &json, err)); /* names the file itself */
        if (ocv_profile_parse(json.data ? json.data : "", json.len, &parsed, err) < 0)
            return ocv_error_prefix(err, "%s", r.profile);
    } else {
        /* Any other directory would give the profile of a machine without devices; a missing one is
         * reported when it is read. */
        bool recorded = probe->sysroot && !probe->cpuid && !probe->pci_dump;
        ocv_auto_fd int root =
            recorded ? open(probe->sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        struct stat st;
        if (root >= 0 && fstatat(root, "sys", &st, 0) < 0 && fstatat(root, "proc", &st, 0) < 0 &&
            fstatat(root, "dev", &st, 0) < 0) {
            ocv_error_set(err, OCV_ERR_DATA,
                          "%s has neither sys/ nor proc/: not a recorded machine", probe->sysroot);
            ocv_error_hint(err, "a recorded machine has copies of /sys and /proc below it");
            return OCV_ERR_DATA;
        }
        OCV_TRY(ocv_probe(probe, &json, err));
    }
    if (r.json)
        return cli_print(json.data, json.len, err);
    struct winsize size;
    size_t width = WIDTH_DEFAULT;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
    const struct probe_table_options view = {.sysroot = probe->sysroot,
                                             .drivers = !probe->pci_dump && !r.profile,
                                             .all = cli->verbose,
                                             .width = width};
    OCV_TRY(probe_table(&json, &view, &table, err));
    return cli_print(table.data, table.len, err);
}
