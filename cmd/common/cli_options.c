/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that commands share, and the parser of a command line. */
#include "cmd/common/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_take_setting(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct cli *cli = given->into;
    if (cli->n_flags == CLI_FLAGS_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u options", CLI_FLAGS_MAX);
    cli->flags[cli->n_flags++] = (struct cli_flag){given->option->name, given->value};
    return OCV_OK;
}

int cli_take_setting_of(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct ocv_option_given of = *given;
    of.into = *(struct cli **)given->into;
    return cli_take_setting(&of, err);
}

int cli_take_format(const struct ocv_option_given *given, struct ocv_error *err)
{
    bool *json = given->into;
    (void)err;
    *json = !strcmp(given->value, "json");
    return *json || !strcmp(given->value, "text") || !strcmp(given->value, "table")
               ? OCV_OK
               : OCV_OPTION_WRONG;
}

static int take_retries(const struct ocv_option_given *given, struct ocv_error *err)
{
    unsigned *retries = given->into;
    int status = ocv_option_number(given, err);
    if (status == OCV_OK && *retries == 0)
        *retries = OCV_RETRIES_NONE;
    return status;
}

static int take_tls_verify(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct cli *cli = given->into;
    bool off = given->value && (!strcmp(given->value, "false") || !strcmp(given->value, "0"));
    if (given->value && !off && strcmp(given->value, "true") != 0 && strcmp(given->value, "1") != 0)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "invalid value '%.20s' for --tls-verify: true or false", given->value);
    cli->tls_unverified = off;
    cli->tls_bare = !given->value;
    return OCV_OK;
}

static int take_default(const struct ocv_option_given *given, struct ocv_error *err)
{
    (void)err;
    *(const char **)given->into = "null";
    return OCV_OK;
}

static int take_insecure(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct cli *cli = given->into;
    if (cli->n_insecure == sizeof(cli->insecure) / sizeof(*cli->insecure))
        return ocv_error_set(err, OCV_ERR_INVALID, "too many --insecure");
    cli->insecure[cli->n_insecure++] = given->value;
    return OCV_OK;
}

/* A password as an argument, as other programs take it. */
static int refuse_secret(const struct ocv_option_given *given, struct ocv_error *err)
{
    ocv_error_set(err, OCV_ERR_INVALID,
                  "--%s is not accepted: other users can read a program's arguments",
                  given->option->name);
    ocv_error_hint(err, "--creds-stdin reads USER:PASSWORD from standard input");
    return OCV_ERR_INVALID;
}

static const struct ocv_option common_options[] = {
    {.name = "config",
     .value = "FILE",
     .names = "--config FILE, -v, --verbose, -h, --help, --help-all, --version",
     .help = "everywhere",
     OCV_OPTION_TEXT(struct cli, config_file)},
    {.name = "verbose", .letter = 'v', OCV_OPTION_FLAG(struct cli, verbose)},
    {.name = "help", .letter = 'h', OCV_OPTION_CALL(ocv_option_stop)},
    {.name = "help-all", OCV_OPTION_CALL(ocv_option_stop)},
    {.name = "version", OCV_OPTION_CALL(ocv_option_stop)},
    OCV_OPTIONS_END};

static const struct ocv_option host_options[] = {
    {.name = "profile",
     .value = "FILE|NAME",
     .help = "for this profile instead of this machine\n"
             "NAME is a common machine: h100, mi300x, laptop, ...",
     OCV_OPTION_TEXT(struct cli, profile_file)},
    {.name = "platform",
     .value = "OS/ARCH[/V]",
     .help = "for this platform instead of the profile's",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_TEXT(struct cli, platform_text)},
    {.name = "disable",
     .value = "NS[::F[::V]]",
     .help = "act as if the host lacked it",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_CALL(cli_take_setting)},
    {.name = "device-policy",
     .value = "NS=all|any|first",
     .help = "which devices a variant must fit",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_CALL(cli_take_setting)},
    {.name = "devices",
     .value = "NS=0,2|auto",
     .help = "only these devices (index, PCI address or UUID), or\n"
             "auto: those of the Slurm job or CUDA_VISIBLE_DEVICES",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_CALL(cli_take_devices)},
    {.name = "gpus",
     .value = "all|N|device=ID,...",
     .help = "only these, as docker run takes them",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_TEXT(struct cli, gpus)},
    {.name = "device",
     .value = "VENDOR/CLASS=NAME",
     .help = "only this one, by its CDI name; again for more",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_CALL(cli_take_device)},
    {.name = "override",
     .value = "NS::F=V,V",
     .help = "act as if the host had exactly these values (of a\n"
             "_lower_bound the newest is enough)",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_CALL(cli_take_setting)},
    OCV_OPTIONS_END};

static const struct ocv_option choice_options[] = {
    {.name = "label",
     .value = "LABEL",
     .help = "only this variant; null: the default",
     OCV_OPTION_TEXT(struct cli, label)},
    {.name = "cpu",
     .help = "the same as --label null",
     OCV_OPTION_MEMBER(take_default, struct cli, label)},
    {.name = "unchecked",
     .help = "with --label: even if it does not fit",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct cli, unchecked)},
    {.name = "require",
     .value = "NS[::F[::V]]",
     .help = "only builds that use it",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_CALL(cli_take_setting)},
    {.name = "namespace-priority",
     .value = "A,B",
     .help = "these namespaces first",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_CALL(cli_take_setting)},
    {.name = "tag-rules",
     .value = "on|off",
     .help = "by tags where the index has no variants (on)",
     .flags = OCV_OPTION_FOLDED,
     OCV_OPTION_CALL(cli_take_setting)},
    OCV_OPTIONS_END};

const struct ocv_option cli_registry_options[] = {
    {.name = "creds-stdin",
     .help = "read USER:PASSWORD from standard input",
     .flags = OCV_OPTION_FULL,
     OCV_OPTION_FLAG(struct cli, creds_stdin)},
    {.name = "authfile",
     .value = "FILE",
     .help = "credentials from this file only",
     .flags = OCV_OPTION_FULL,
     OCV_OPTION_TEXT(struct cli, auth_file)},
    {.name = "tls-verify",
     .names = "--tls-verify=false",
     .help = "unverified TLS and plain HTTP for the images' own\n"
             "registries, those that the arguments name",
     .flags = OCV_OPTION_OPTIONAL,
     OCV_OPTION_CALL(take_tls_verify)},
    {.name = "insecure",
     .value = "HOST[:PORT]",
     .help = "the same for this registry; again for more",
     OCV_OPTION_CALL(take_insecure)},
    {.name = "cacert",
     .value = "FILE",
     .names = "--cacert, --cert, --key FILE",
     .help = "TLS certificates and key (PEM)",
     OCV_OPTION_TEXT(struct cli, ca_file)},
    {.name = "cert", .value = "FILE", OCV_OPTION_TEXT(struct cli, cert_file)},
    {.name = "key",
     .value = "FILE",
     .flags = OCV_OPTION_FULL,
     OCV_OPTION_TEXT(struct cli, key_file)},
    {.name = "timeout",
     .value = "SECONDS",
     .help = "try again after SECONDS without data (15; layers: 60)",
     OCV_OPTION_NUMBER(struct cli, timeout_s, 1, CLI_TIMEOUT_MAX_S)},
    {.name = "retry-times",
     .value = "N",
     .help = "try again N times (5; documents without answer: 2)",
     OCV_OPTION_MEMBER(take_retries, struct cli, retries),
     .least = 0,
     .most = CLI_RETRIES_MAX},
    {.name = "creds",
     .flags = OCV_OPTION_OPTIONAL | OCV_OPTION_HIDDEN | OCV_OPTION_FULL,
     OCV_OPTION_CALL(refuse_secret)},
    {.name = "username",
     .flags = OCV_OPTION_OPTIONAL | OCV_OPTION_HIDDEN | OCV_OPTION_FULL,
     OCV_OPTION_CALL(refuse_secret)},
    {.name = "password",
     .flags = OCV_OPTION_OPTIONAL | OCV_OPTION_HIDDEN | OCV_OPTION_FULL,
     OCV_OPTION_CALL(refuse_secret)},
    OCV_OPTIONS_END};

/* All rows except the registry options, in the order of the help. */
static void add_rows(struct ocv_options *options, const struct cli_command *command, void *request,
                     struct cli *cli)
{
    if (command->options)
        ocv_options_add(options, command->options, request);
    if (command->groups & CLI_HOST)
        ocv_options_add(options, host_options, cli);
    if ((command->groups & CLI_RESOLVE) == CLI_RESOLVE)
        ocv_options_add(options, choice_options, cli);
    ocv_options_add(options, common_options, cli);
}

void cli_print_machine_help(void)
{
    struct ocv_options options = {.shown = OCV_OPTIONS_REST};
    ocv_options_add(&options, host_options, NULL);
    ocv_options_add(&options, choice_options, NULL);
    ocv_options_print(&options, stdout);
}

void cli_print_help(const struct cli *cli, const struct cli_command *command, bool all)
{
    struct ocv_options options = {0};
    bool chooses = (command->groups & CLI_RESOLVE) == CLI_RESOLVE;
    bool asks = command->groups & CLI_REGISTRY;
    add_rows(&options, command, NULL, NULL);
    options.shown = !all ? OCV_OPTIONS_SHORT : chooses ? OCV_OPTIONS_OWN : OCV_OPTIONS_ALL;
    fputs(command->usage, stdout);
    if (all && command->details)
        printf("\n%s", command->details);
    printf("\nOptions:\n");
    bool whole = ocv_options_print(&options, stdout) && !command->details;
    bool topics = chooses || asks;
    if (!all && (!whole || topics)) {
        printf("\nMore: ");
        if (!whole)
            printf("%s%s%s --help-all%s", cli->program, *cli->verb ? " " : "", cli->verb,
                   topics && *cli->verb ? ", " : "");
        if (topics && *cli->verb)
            printf("variantctl help %s", !asks     ? "machine"
                                         : chooses ? "machine|registry"
                                                   : "registry");
        putchar('\n');
    } else if (all && !*cli->verb && chooses && asks) {
        /* variantctl, which has them, need not be there */
        struct ocv_options registry = {.shown = OCV_OPTIONS_ALL};
        printf("\nMachine options:\n");
        cli_print_machine_help();
        printf("\nRegistry options:\n");
        ocv_options_add(&registry, cli_registry_options, NULL);
        ocv_options_print(&registry, stdout);
    } else if (all && topics) {
        printf("\n%s%s", chooses ? "Machine options: variantctl help machine\n" : "",
               asks ? "Registry options: variantctl help registry\n" : "");
    }
    if (command->print_values)
        command->print_values();
    fputs(command->end, stdout);
}

static int check_arguments(const struct cli *cli, const struct cli_arguments *wanted,
                           const void *request, struct ocv_error *err)
{
    const char *given = NULL;
    size_t n = cli->n_arguments;
    if (wanted->instead)
        memcpy(&given, (const char *)request + wanted->instead - 1, sizeof(given));
    n += given != NULL;
    if (wanted->what ? n >= wanted->min && n <= wanted->max : n == 0)
        return OCV_OK;
    if (wanted->what)
        ocv_error_set(err, OCV_ERR_INVALID, "%s%sgive %s", cli->verb, *cli->verb ? ": " : "",
                      wanted->what);
    else if (*cli->verb)
        ocv_error_set(err, OCV_ERR_INVALID, "%s takes no argument, not '%s'", cli->verb,
                      *cli->arguments);
    else
        ocv_error_set(err, OCV_ERR_INVALID, "unexpected argument '%s'", *cli->arguments);
    if (wanted->hint)
        ocv_error_hint(err, "%s", wanted->hint);
    return OCV_ERR_INVALID;
}

int cli_read(struct cli *cli, const struct cli_command *command, void *request, int argc,
             char **argv)
{
    char name[80];
    struct ocv_error err = {0};
    struct ocv_options options = {.command = name};
    const struct ocv_option *stop;
    snprintf(name, sizeof(name), "%s%s%s", cli->program, *cli->verb ? " " : "", cli->verb);
    add_rows(&options, command, request, cli);
    if (command->groups & CLI_REGISTRY)
        ocv_options_add(&options, cli_registry_options, cli);
    bool asked = argc > 1 && !strcmp(argv[1], OCV_COMPLETE_WORD);
    if (cli->completing || asked) {
        cli_complete(command, &options, argc - asked, argv + asked);
        return 0;
    }
    int status = ocv_options_read(&options, argc, argv, &stop, &err);
    cli->arguments = argv + optind;
    cli->n_arguments = (size_t)(argc - optind);
    if (status < 0)
        return cli_fail_meant(cli, &err, options.meant);
    if (stop && !strncmp(stop->name, "help", strlen("help")))
        cli_print_help(cli, command, !strcmp(stop->name, "help-all"));
    else if (stop)
        printf("%s %s\n", cli->program, ocv_version());
    else if (check_arguments(cli, &command->arguments, request, &err) < 0)
        return cli_fail(cli, &err);
    return stop ? 0 : -1;
}
