/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages and options that all commands share. */
#include "cmd/common/cli.h"

#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A closed standard descriptor would be given to the next file or socket that is opened, and
 * progress lines would go into it. Occupied the wrong way round, so that using one is still an
 * error. */
static void occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void cli_init(struct cli *cli, const char *program)
{
    *cli = (struct cli){.program = program, .wait = cli_tell_retry, .say_data = cli};
    occupy_standard_streams();
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

/* The reader of standard output has seen enough ("| head -1"): every verb ends as programs do that
 * never heard of SIGPIPE, also those that ignore it to keep what they write to others in order. */
static void end_with_reader(void)
{
    if (errno != EPIPE)
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
        fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno));
        code = 1;
    }
    fflush(NULL);
#ifndef OCV_SANITIZED
    _exit(code);
#endif
    return code;
}

int cli_fail(const struct cli *cli, const struct ocv_error *err)
{
    bool color = color_wanted(cli->color, stderr);
    fflush(stdout);
    fprintf(stderr, "%s%s:%s %s\n", color ? COLOR_RED : "", cli->program, color ? COLOR_END : "",
            err->message);
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
    return ocv_error_exit_code(err->status);
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
        cli->warn(cli->say_data, line);
    else
        fprintf(stderr, "%s: %swarning:%s %s\n", cli->program, color ? COLOR_YELLOW : "",
                color ? COLOR_END : "", line);
}

void cli_tell_retry(void *data, const struct ocv_registry_wait *wait)
{
    const struct cli *cli = data;
    if (wait->trouble)
        fprintf(stderr, "%s: %s %s, trying again (%u of %u)\n", cli->program, wait->host,
                wait->trouble, wait->attempt, wait->attempts);
}

void cli_say(const struct cli *cli, const char *format, ...)
{
    char line[2048];
    va_list args;
    if (!cli->verbose)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (cli->say)
        cli->say(cli->say_data, line);
    else
        fprintf(stderr, "%s: %s\n", cli->program, line);
}

void cli_print_version(const struct cli *cli)
{
    printf("%s %s\n", cli->program, ocv_version());
}

static int add_flag(struct cli *cli, const char *name, const char *text, struct ocv_error *err)
{
    if (cli->n_flags == CLI_FLAGS_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u options", CLI_FLAGS_MAX);
    cli->flags[cli->n_flags++] = (struct cli_flag){name, text};
    return 1;
}

static int read_timeout(struct cli *cli, const char *text, struct ocv_error *err)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || *text < '0' || *text > '9' || n < 1 || n > CLI_TIMEOUT_MAX_S)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "--timeout: '%.20s' is not a number of seconds from 1 to %u", text,
                             CLI_TIMEOUT_MAX_S);
    cli->timeout_s = (unsigned)n;
    return 1;
}

static int read_tls_verify(struct cli *cli, struct ocv_error *err)
{
    bool off = optarg && (!strcmp(optarg, "false") || !strcmp(optarg, "0"));
    if (optarg && !off && strcmp(optarg, "true") != 0 && strcmp(optarg, "1") != 0)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "--tls-verify: invalid value '%.20s': expected true or false", optarg);
    cli->tls_unverified = off;
    return 1;
}

static int read_retries(struct cli *cli, const char *text, struct ocv_error *err)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || *text < '0' || *text > '9' || n > CLI_RETRIES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "--retry-times: '%.20s' is not a number from 0 to %u", text,
                             CLI_RETRIES_MAX);
    cli->retries = n > 0 ? (unsigned)n : OCV_RETRIES_NONE;
    return 1;
}

int cli_option(struct cli *cli, int value, const struct option *options, int index,
               struct ocv_error *err)
{
    const struct {
        int value;
        const char **target;
    } texts[] = {
        {CLI_OPTION_CONFIG, &cli->config_file},     {CLI_OPTION_PROFILE, &cli->profile_file},
        {CLI_OPTION_PLATFORM, &cli->platform_text}, {CLI_OPTION_LABEL, &cli->label},
        {CLI_OPTION_CACERT, &cli->ca_file},         {CLI_OPTION_CERT, &cli->cert_file},
        {CLI_OPTION_KEY, &cli->key_file},           {CLI_OPTION_AUTHFILE, &cli->auth_file},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (texts[i].value == value) {
            *texts[i].target = optarg;
            return 1;
        }
    switch (value) {
    case 'v':
        cli->verbose = true;
        return 1;
    case CLI_OPTION_UNCHECKED:
        cli->unchecked = true;
        return 1;
    case CLI_OPTION_CREDS_STDIN:
        cli->creds_stdin = true;
        return 1;
    case CLI_OPTION_TIMEOUT:
        return read_timeout(cli, optarg, err);
    case CLI_OPTION_RETRY_TIMES:
        return read_retries(cli, optarg, err);
    case CLI_OPTION_INSECURE:
        if (cli->n_insecure == sizeof(cli->insecure) / sizeof(*cli->insecure))
            return ocv_error_set(err, OCV_ERR_INVALID, "too many --insecure");
        cli->insecure[cli->n_insecure++] = optarg;
        return 1;
    case CLI_OPTION_TLS_VERIFY:
        return read_tls_verify(cli, err);
    case CLI_OPTION_FLAG:
        return add_flag(cli, options[index].name, optarg, err);
    default:
        return 0;
    }
}

/* The one-letter options for getopt_long: values of long options that are letters. */
static const char *letters_of(const struct option *options, char out[64])
{
    size_t n = 0;
    out[n++] = ':';
    for (; options->name && n + 3 < 64; options++)
        if (options->val >= 'a' && options->val <= 'z') {
            out[n++] = (char)options->val;
            if (options->has_arg == required_argument)
                out[n++] = ':';
        }
    out[n] = '\0';
    return out;
}

static int say_option(const struct cli *cli, const char *text, const char *hint)
{
    fprintf(stderr, "%s: %s\n", cli->program, text);
    if (hint)
        fprintf(stderr, "hint: %s\n", hint);
    else
        fprintf(stderr, "hint: %s%s%s --help\n", cli->program, *cli->verb ? " " : "", cli->verb);
    return 2;
}

int cli_bad_option(const struct cli *cli, char **argv, int value)
{
    char text[OCV_OPTION_TEXT_MAX];
    return say_option(cli, ocv_option_wrong(&cli->options, argv, value, text), NULL);
}

static const struct option *find_option(const struct option *options, const char *name)
{
    for (; options->name; options++)
        if (!strcmp(options->name, name))
            return options;
    return NULL;
}

/* A password among arguments, as other programs take it. */
static int unknown_option(const struct cli *cli, char **argv)
{
    static const char *const secrets[] = {"--creds", "--username", "--password"};
    const char *text = argv[optind - 1] ? argv[optind - 1] : "";
    size_t len = strcspn(text, "=");
    for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets); i++)
        if (len == strlen(secrets[i]) && !strncmp(text, secrets[i], len) &&
            find_option(cli->options.list, "creds-stdin")) {
            char message[OCV_OPTION_TEXT_MAX];
            snprintf(message, sizeof(message),
                     "%s is not taken: other users can read the arguments of a program",
                     secrets[i]);
            return say_option(cli, message,
                              "--creds-stdin reads USER:PASSWORD from standard input");
        }
    return cli_bad_option(cli, argv, '?');
}

/* Options that carry secrets are written in full: what is meant for another one must not be read
 * as theirs. */
static bool too_short(char **argv, const char *name)
{
    static const char *const full[] = {"creds-stdin", "authfile", "key", "credentials"};
    for (size_t i = 0; i < sizeof(full) / sizeof(*full); i++)
        if (!strcmp(name, full[i]))
            return ocv_option_shortened(argv, name);
    return false;
}

bool cli_format(const char *text, bool *json)
{
    *json = !strcmp(text, "json");
    return *json || !strcmp(text, "text") || !strcmp(text, "table");
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

/* getopt_long, and what it takes that is not taken here. True: wrong. */
static bool get_option(struct cli *cli, int argc, char **argv, int *value, int *index)
{
    const struct option *options = cli->options.list, *format = find_option(options, "format");
    char letters[64];
    *index = -1;
    *value = getopt_long(argc, argv, letters_of(options, letters), options, index);
    if (*value == '?' && !optopt && format && !strcmp(argv[optind - 1], "--json")) {
        static char json[] = "json";
        optarg = json;
        *index = (int)(format - options);
        *value = format->val;
    }
    if (*index >= 0 && *value > 0 && too_short(argv, options[*index].name)) {
        optopt = 0;
        *value = '?';
    }
    return *value == '?' || *value == ':' || (*value > 0 && ocv_option_swallows(argv));
}

bool cli_next_option(struct cli *cli, int argc, char **argv, const struct option *options,
                     const char *help, int *value, int *code)
{
    struct ocv_error err = {0};
    int index, taken = 1;
    cli->options = (struct ocv_options){options, help, CLI_REGISTRY_TOPIC CLI_RESOLVE_HELP};
    while (taken > 0) {
        if (get_option(cli, argc, argv, value, &index)) {
            *code = *value == '?' ? unknown_option(cli, argv) : cli_bad_option(cli, argv, *value);
            return false;
        }
        taken = *value == -1 ? 0 : cli_option(cli, *value, options, index, &err);
    }
    cli->arguments = argv + optind;
    if (taken < 0) {
        *code = cli_fail(cli, &err);
    } else if (*value == CLI_OPTION_HELP) {
        fputs(help, stdout);
        *code = 0;
    } else if (*value == CLI_OPTION_VERSION) {
        cli_print_version(cli);
        *code = 0;
    }
    return *value != -1 && *code < 0;
}
