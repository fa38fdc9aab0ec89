/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/common/plugin_command.h"
#include "lib/base/exit_code.h"
#include "lib/base/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct ocv_option common_options[] = {
    {.name = "help",
     .letter = 'h',
     .names = "-h, --help, --version",
     .help = "",
     OCV_OPTION_CALL(ocv_option_stop)},
    {.name = "version", OCV_OPTION_CALL(ocv_option_stop)},
    OCV_OPTIONS_END};

int plugin_read(const struct plugin_command *command, void *into, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct ocv_options options = {.command = command->program};
    const struct ocv_option *stop;
    ocv_options_add(&options, command->options, into);
    ocv_options_add(&options, common_options, into);
    if (argc > 1 && !strcmp(argv[1], OCV_COMPLETE_WORD)) {
        struct ocv_completion c = {.options = &options, .usage = command->usage, .out = stdout};
        ocv_complete(&c, argc - 1, argv + 1);
        return output_end(command->program);
    }
    int status = ocv_options_read(&options, argc, argv, &stop, &err);
    if (stop && !strcmp(stop->name, "help")) {
        fputs(command->usage, stdout);
        ocv_options_print(&options, stdout);
        fputs(command->end, stdout);
        return output_end(command->program);
    }
    if (stop) {
        printf("%s %s\n", command->program, ocv_version());
        return output_end(command->program);
    }
    if (status == OCV_OK && optind < argc)
        status = ocv_error_set(&err, OCV_ERR_INVALID, "'%s': not an option", argv[optind]);
    if (status < 0)
        ocv_options_report(&options, &err, stderr);
    return status < 0 ? ocv_error_exit_code(err.status) : -1;
}

int output_end(const char *program)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno ? errno : EIO));
    return 1;
}
