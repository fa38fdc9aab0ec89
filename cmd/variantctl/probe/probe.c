/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl probe: what this machine, or a recorded one, can run. */
#include "cmd/variantctl/probe/probe_table.h"
#include "cmd/variantctl/verbs.h"
#include "ocivariant-probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TABLE_MAX (4u * 1024 * 1024)
#define WIDTH_DEFAULT 80
#define WIDTH_MIN 40
#define TIMEOUT_MAX_S 3600

enum {
    OPTION_SYSROOT = 1,
    OPTION_CPUID,
    OPTION_DEEP,
    OPTION_FORMAT,
    OPTION_CHECK,
    OPTION_PCI_DUMP,
    OPTION_TIMEOUT
};

static const struct option options[] = {{"sysroot", required_argument, NULL, OPTION_SYSROOT},
                                        {"cpuid", required_argument, NULL, OPTION_CPUID},
                                        {"deep", no_argument, NULL, OPTION_DEEP},
                                        {"format", required_argument, NULL, OPTION_FORMAT},
                                        {"check", required_argument, NULL, OPTION_CHECK},
                                        {"pci-dump", required_argument, NULL, OPTION_PCI_DUMP},
                                        {"timeout", required_argument, NULL, OPTION_TIMEOUT},
                                        CLI_COMMON_OPTIONS,
                                        CLI_OPTIONS_END};

static const char help[] =
    "Usage: variantctl probe [OPTIONS]\n"
    "\n"
    "Show what this machine, or a recorded one, can run. The JSON form is a profile:\n"
    "other commands take it with --profile.\n"
    "\n"
    "Options:\n"
    "  --sysroot DIR            look at this directory instead of /\n"
    "  --cpuid FILE             take the processor's CPUID words from this file\n"
    "  --pci-dump FILE          another machine's devices: output of 'lspci -kx'\n"
    "  --deep                   also ask vendor libraries\n"
    "  --timeout SECONDS        for each program or library that is asked (2)\n"
    "  --check FILE             check this provider file, show what it alone finds\n"
    "  --format text|json       default: text on a terminal, else json;\n"
    "                           -v: long lists of the text in full\n" CLI_COMMON_HELP "\n"
    "Examples:\n"
    "  variantctl probe\n"
    "  variantctl probe --json >this.json\n"
    "  variantctl probe --deep --timeout 10\n";

static size_t terminal_width(void)
{
    struct winsize size;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
    return WIDTH_DEFAULT;
}

static int run(const struct cli *cli, struct ocv_probe_options *probe, bool as_json,
               struct ocv_error *err)
{
    ocv_auto_buffer json, table;
    ocv_buffer_init(&json, OCV_PROFILE_MAX);
    ocv_buffer_init(&table, TABLE_MAX);
    probe->describe = !as_json;
    int status = ocv_probe(probe, &json, err);
    if (status < 0)
        return status;
    if (as_json)
        return cli_print(json.data, json.len, err);
    const struct probe_table_options view = {.sysroot = probe->sysroot,
                                             .drivers = !probe->pci_dump,
                                             .all = cli->verbose,
                                             .width = terminal_width()};
    status = probe_table(&json, &view, &table, err);
    return status < 0 ? status : cli_print(table.data, table.len, err);
}

/* Whole seconds up to an hour, as milliseconds. */
static bool take_timeout(const char *text, unsigned *out)
{
    size_t len = strlen(text);
    if (len == 0 || len > 4 || strspn(text, "0123456789") != len)
        return false;
    unsigned long seconds = strtoul(text, NULL, 10);
    *out = (unsigned)seconds * 1000;
    return seconds >= 1 && seconds <= TIMEOUT_MAX_S;
}

/* One option of the verb's own; false if it is unknown or its argument is. */
static bool take(int value, struct ocv_probe_options *probe, bool *json)
{
    if (value == OPTION_SYSROOT)
        probe->sysroot = optarg;
    else if (value == OPTION_CPUID)
        probe->cpuid = optarg;
    else if (value == OPTION_DEEP)
        probe->deep = true;
    else if (value == OPTION_PCI_DUMP)
        probe->pci_dump = optarg;
    else if (value == OPTION_CHECK)
        probe->check = optarg;
    else if (value == OPTION_TIMEOUT)
        return take_timeout(optarg, &probe->timeout_ms);
    else if (value == OPTION_FORMAT)
        return cli_format(optarg, json);
    else
        return false;
    return true;
}

int cmd_probe(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct ocv_probe_options probe = {.datadir = getenv("OCV_DATADIR"),
                                      .libexecdir = getenv("OCV_LIBEXECDIR")};
    bool json = !isatty(STDOUT_FILENO);
    int value, code = -1;
    while (cli_next_option(cli, argc, argv, options, help, &value, &code))
        if (!take(value, &probe, &json))
            return cli_bad_option(cli, argv, value);
    if (code >= 0)
        return code;
    if (optind < argc) {
        ocv_error_set(&err, OCV_ERR_INVALID, "probe takes no argument, not '%s'", argv[optind]);
        return cli_fail(cli, &err);
    }
    int status = cli_load(cli, &err); /* nothing in it counts here, but a wrong one is told */
    if (status == OCV_OK)
        status = run(cli, &probe, json, &err);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
