/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages and options that all commands share. */
#include "cmd/common/cli.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_init(struct cli *cli, const char *program)
{
    *cli = (struct cli){.program = program,
                        .wait = cli_report_retry,
                        .callback_data = cli,
                        .names_told = &cli->told};
    /* A closed standard descriptor would be reused by the next file or socket, and progress lines
     * would be written into it. /dev/null takes its place, opened for the wrong direction so that
     * using it is still an error. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool cli_interrupted(const struct cli *cli)
{
    return cli->interrupted && __atomic_load_n(cli->interrupted, __ATOMIC_RELAXED);
}

bool cli_images_directory(char *out, size_t size)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool xdg = data && *data;
    if (!xdg && (!home || !*home))
        return false;
    int n = snprintf(out, size, "%s%s/ocivariant/images", xdg ? data : home,
                     xdg ? "" : "/.local/share");
    return n > 0 && (size_t)n < size;
}

const char *cli_datadir(const struct cli *cli)
{
    return cli->datadir ? cli->datadir : getenv("OCV_DATADIR");
}

void cli_free(struct cli *cli)
{
    cli_profile_drop(cli);
    ocv_registry_free(cli->registry);
    ocv_credential_providers_free(cli->credential_providers);
    ocv_config_free(cli->config);
    ocv_platform_free(cli->platform);
    ocv_profile_free(cli->profile);
    ocv_profile_free(cli->plain);
    free(cli->username);
    free(cli->creds_host);
    for (; cli->n_named > 0; cli->n_named--)
        free((char *)(uintptr_t)cli->insecure[--cli->n_insecure]);
    if (cli->password)
        explicit_bzero(cli->password, strlen(cli->password));
    free(cli->password);
}

/* The reader of standard output has closed it ("| head -1"). End by SIGPIPE as programs do that
 * never touch the signal, even in verbs that ignore SIGPIPE. */
static void end_with_reader(void)
{
    struct pollfd reader = {.fd = STDOUT_FILENO};
    /* an event may have met it before, and whoever wrote that went on */
    bool gone = errno == 0 && poll(&reader, 1, 0) == 1 && reader.revents & POLLERR;
    if (errno != EPIPE && !gone)
        return;
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

int cli_quit(struct cli *cli, int code)
{
    const char *program = cli->program;
    cli_free(cli);
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) { /* --help on a full disk */
        end_with_reader();
        fprintf(stderr, "%s: standard output: %s\n", program,
                errno ? strerror(errno) : "not all of it was written");
        code = 1;
    }
    return code;
}

int cli_fail_meant(const struct cli *cli, const struct ocv_error *err, const char *meant)
{
    bool color = color_wanted(cli->color, stderr);
    fflush(stdout);
    fprintf(stderr, "%s%s:%s %s\n", color ? COLOR_RED : "", cli->program, color ? COLOR_END : "",
            err->message);
    if (*meant)
        fprintf(stderr, "%s\n", meant);
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
    return ocv_error_exit_code(err->status);
}

int cli_fail(const struct cli *cli, const struct ocv_error *err)
{
    return cli_fail_meant(cli, err, "");
}

void cli_keep_failure(const struct cli *cli, struct ocv_error *kept, const struct ocv_error *err)
{
    if (kept->status)
        (void)cli_fail(cli, kept);
    *kept = *err;
}

void cli_warn(const struct cli *cli, const char *format, ...)
{
    char line[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    bool color = !cli->warn && color_wanted(cli->color, stderr);
    if (cli->warn)
        cli->warn(cli->callback_data, line);
    else
        fprintf(stderr, "%s: %swarning:%s %s\n", cli->program, color ? COLOR_YELLOW : "",
                color ? COLOR_END : "", line);
}

const char *cli_retry_when(const struct ocv_registry_wait *wait, char out[CLI_RETRY_MAX])
{
    if (wait->ms >= 2000) /* a pause that is felt says more than a count */
        snprintf(out, CLI_RETRY_MAX, " in %lld s", (long long)wait->ms / 1000);
    else
        snprintf(out, CLI_RETRY_MAX, " (%u of %u)", wait->attempt, wait->attempts);
    return out;
}

void cli_report_retry(void *data, const struct ocv_registry_wait *wait)
{
    const struct cli *cli = data;
    char when[CLI_RETRY_MAX];
    if (wait->trouble)
        fprintf(stderr, "%s: %s %s, trying again%s\n", cli->program, wait->host, wait->trouble,
                cli_retry_when(wait, when));
}

void cli_log(const struct cli *cli, const char *format, ...)
{
    char line[2048];
    va_list args;
    if (!cli->verbose)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (cli->log)
        cli->log(cli->callback_data, line);
    else
        fprintf(stderr, "%s: %s\n", cli->program, line);
}

int cli_read_file(const char *path, struct ocv_buffer *out, struct ocv_error *err)
{
    return strcmp(path, "-") != 0 ? ocv_file_read(path, OCV_FILE_ANY, out, err)
                                  : ocv_fd_read(STDIN_FILENO, path, out, err);
}

int cli_print(const char *text, size_t len, struct ocv_error *err)
{
    if (fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_IO, "standard output: %s", strerror(errno));
    end_with_reader();
    return OCV_ERR_IO;
}

const char *cli_text(const char *text, char *out, size_t size)
{
    snprintf(out, size, "%s", text);
    ocv_text_clean(out);
    return out;
}

bool color_wanted(enum color_mode mode, FILE *stream)
{
    if (mode != COLOR_AUTO)
        return mode == COLOR_ALWAYS;
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
    return (!no || !*no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(stream));
}
