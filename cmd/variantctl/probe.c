/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl probe: what this machine, or a recorded one, can run. */
#include "ocivariant-probe.h"
#include "verbs.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TABLE_MAX (4u * 1024 * 1024)
#define FIRST_COLUMN 14
#define WIDTH_DEFAULT 80
#define WIDTH_MIN 40

enum {
    OPTION_SYSROOT = 1,
    OPTION_CPUID,
    OPTION_DEEP,
    OPTION_FORMAT,
    OPTION_CHECK,
    OPTION_PCI_DUMP
};

static const struct option options[] = {{"sysroot", required_argument, NULL, OPTION_SYSROOT},
                                        {"cpuid", required_argument, NULL, OPTION_CPUID},
                                        {"deep", no_argument, NULL, OPTION_DEEP},
                                        {"format", required_argument, NULL, OPTION_FORMAT},
                                        {"check", required_argument, NULL, OPTION_CHECK},
                                        {"pci-dump", required_argument, NULL, OPTION_PCI_DUMP},
                                        CLI_COMMON_OPTIONS,
                                        CLI_OPTIONS_END};

static void print_help(void)
{
    fputs("Usage: variantctl probe [OPTIONS]\n\n"
          "Show what this machine, or a recorded one, can run. The JSON form is a profile: other\n"
          "commands take it with --profile.\n\nOptions:\n"
          "  --sysroot DIR            look at this folder instead of /\n"
          "  --cpuid FILE             take the processor's CPUID words from this file\n"
          "  --pci-dump FILE          take the PCI devices from the output of 'lspci -kx'\n"
          "  --deep                   also ask vendor libraries\n"
          "  --check FILE             check this provider file, and show what it alone finds\n"
          "  --format json|table      default: table on a terminal, else json\n" CLI_COMMON_HELP,
          stdout);
}

/* ---- table ------------------------------------------------------------------------------------
 */

/* Words wrapped to the terminal, under one heading. */
struct table {
    struct ocv_buffer *out;
    size_t width, column;
    int status;
    struct ocv_error *err;
};

static size_t terminal_width(void)
{
    struct winsize size;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
    return WIDTH_DEFAULT;
}

static void put(struct table *table, const char *text)
{
    if (table->status == OCV_OK)
        table->status = ocv_buffer_append(table->out, text, strlen(text), table->err);
    table->column += strlen(text);
}

static void heading(struct table *table, const char *text)
{
    size_t len = strlen(text);
    put(table, text);
    do
        put(table, " ");
    while (++len < FIRST_COLUMN);
}

static void end_line(struct table *table)
{
    put(table, "\n");
    table->column = 0;
}

/* One word after a blank, on the next line where it does not fit. */
static void word(struct table *table, const char *text)
{
    if (table->column > FIRST_COLUMN && table->column + 1 + strlen(text) > table->width) {
        end_line(table);
        heading(table, "");
    } else if (table->column > FIRST_COLUMN) {
        put(table, " ");
    }
    put(table, text);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool is_flag(const json_t *feature)
{
    const json_t *values = json_object_get(feature, "values");
    return json_array_size(values) == 1 &&
           strcmp(json_string_value(json_array_get(values, 0)), "on") == 0;
}

/* Features with values a line each, then everything that is just "on" together. */
static void put_features(struct table *table, const json_t *features)
{
    size_t n = json_array_size(features), flags = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *feature = json_array_get(features, i);
        const json_t *values = json_object_get(feature, "values");
        if (is_flag(feature)) {
            flags++;
            continue;
        }
        heading(table, "");
        put(table, text_of(feature, "name"));
        put(table, ":");
        for (size_t k = 0; k < json_array_size(values); k++)
            word(table, json_string_value(json_array_get(values, k)));
        end_line(table);
    }
    if (flags == 0)
        return;
    heading(table, "");
    put(table, "flags:");
    for (size_t i = 0; i < n; i++)
        if (is_flag(json_array_get(features, i)))
            word(table, text_of(json_array_get(features, i), "name"));
    end_line(table);
}

/* What an operator wants to read for a status. */
static const char *status_words(const char *status, bool features)
{
    if (strcmp(status, "absent") == 0)
        return "not on this machine";
    if (strcmp(status, "failed") == 0)
        return "could not be read";
    if (strcmp(status, "partial") == 0)
        return "read in part";
    return features ? "ready" : "present, but nothing of it is usable";
}

static void put_namespace(struct table *table, const json_t *ns)
{
    const json_t *features = json_object_get(ns, "features");
    const char *error = text_of(ns, "error");
    const char *source = text_of(json_object_get(ns, "provider"), "source");
    heading(table, text_of(ns, "namespace"));
    put(table, status_words(text_of(ns, "status"), json_array_size(features) > 0));
    if (*error) {
        put(table, ": ");
        put(table, error);
    } else if (*source) {
        put(table, " (from ");
        put(table, source);
        put(table, ")");
    }
    end_line(table);
    put_features(table, features);
}

static int put_profile(const json_t *profile, struct ocv_buffer *out, struct ocv_error *err)
{
    struct table table = {.out = out, .width = terminal_width(), .err = err};
    const json_t *platform = json_object_get(profile, "platform");
    const json_t *namespaces = json_object_get(profile, "namespaces");
    const char *hostname = text_of(profile, "hostname"), *variant = text_of(platform, "variant");
    if (*hostname) {
        heading(&table, "host");
        put(&table, hostname);
        end_line(&table);
    }
    heading(&table, "platform");
    if (platform) {
        put(&table, text_of(platform, "os"));
        put(&table, "/");
        put(&table, text_of(platform, "architecture"));
        put(&table, *variant ? "/" : "");
        put(&table, variant);
    } else {
        put(&table, "unknown: no processor is recorded");
    }
    end_line(&table);
    for (size_t i = 0; i < json_array_size(namespaces); i++)
        put_namespace(&table, json_array_get(namespaces, i));
    return table.status;
}

static int format_table(const struct ocv_buffer *json, struct ocv_buffer *out,
                        struct ocv_error *err)
{
    json_t *profile = json_loadb(json->data, json->len, 0, NULL);
    if (!profile)
        return ocv_error_nomem(err);
    int status = put_profile(profile, out, err);
    json_decref(profile);
    return status;
}

/* ---- the verb ---------------------------------------------------------------------------------
 */

static int run(const struct ocv_probe_options *probe, bool as_json, struct ocv_error *err)
{
    ocv_auto_buffer json, table;
    ocv_buffer_init(&json, OCV_PROFILE_MAX);
    ocv_buffer_init(&table, TABLE_MAX);
    int status = ocv_probe(probe, &json, err);
    if (status < 0)
        return status;
    if (as_json)
        return cli_print(json.data, json.len, err);
    status = format_table(&json, &table, err);
    return status < 0 ? status : cli_print(table.data, table.len, err);
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
    else if (value == OPTION_FORMAT && (!strcmp(optarg, "json") || !strcmp(optarg, "table")))
        *json = optarg[0] == 'j';
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
    int value, index = 0;
    while ((value = getopt_long(argc, argv, ":v", options, &index)) != -1) {
        int taken = cli_option(cli, value, options, index, &err);
        if (taken < 0)
            return cli_fail(cli, &err);
        if (taken)
            continue;
        if (value == CLI_OPTION_HELP) {
            print_help();
            return 0;
        }
        if (value == CLI_OPTION_VERSION) {
            cli_print_version(cli);
            return 0;
        }
        if (!take(value, &probe, &json))
            return cli_bad_option(cli, argv, value);
    }
    if (optind < argc) {
        ocv_error_set(&err, OCV_ERR_INVALID, "probe takes no argument, not '%s'", argv[optind]);
        return cli_fail(cli, &err);
    }
    int status = cli_load(cli, &err); /* nothing in it counts here, but a wrong one is told */
    if (status == OCV_OK)
        status = run(&probe, json, &err);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
