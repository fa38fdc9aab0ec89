/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every command shares: options, configuration, messages, exit codes, the profile and images.
 */
#ifndef OCV_CLI_H
#define OCV_CLI_H

#include "cmd/common/color.h"
#include "lib/base/options.h"
#include "lib/config/config.h"
#include "ocivariant-registry.h"
#include "ocivariant.h"

#include <getopt.h>
#include <stdio.h>

/** One configuration flag as given, applied after files and environment. */
struct cli_flag {
    const char *key, *text;
};

#define CLI_FLAGS_MAX 256u
#define CLI_TIMEOUT_MAX_S 3600u /* of --timeout */
#define CLI_RETRIES_MAX 100u    /* of --retry-times */

/** One run of a program. Zero-initialise, then cli_init; cli_free at the end. */
struct cli {
    const char *program;        /**< "vpull", "variantctl" */
    char verb[40];              /**< "index create", for messages; empty: none */
    struct ocv_options options; /**< of the verb that runs */
    bool verbose;
    bool no_environment;   /**< a daemon: neither OCV_* variables nor the user's own file */
    enum color_mode color; /**< --color, of messages */
    void (*say)(void *data, const char *line);  /**< takes what cli_say says; NULL: stderr */
    void (*warn)(void *data, const char *line); /**< takes what cli_warn says; NULL: stderr */
    /** Learns what the registry client waits for; cli_tell_retry unless it is set. */
    void (*wait)(void *data, const struct ocv_registry_wait *wait);
    void (*tick)(void *data); /**< called several times a second while an engine works; or NULL */
    void *say_data;           /**< of these four */
    const char *datadir;      /**< this data directory instead of the installed one, or NULL */
    const char *config_file;  /**< --config: instead of both files */
    const char *profile_file; /**< --profile, "-" is standard input */
    const char *platform_text;
    const char *label;
    bool unchecked;
    struct cli_flag flags[CLI_FLAGS_MAX];
    size_t n_flags;
    /* registry options */
    const char *insecure[64];
    size_t n_insecure;
    const char *ca_file, *cert_file, *key_file, *auth_file;
    unsigned timeout_s; /**< --timeout; 0: the default */
    unsigned retries;   /**< --retry-times, as in struct ocv_registry_options */
    bool creds_stdin;
    bool tls_unverified; /**< --tls-verify=false: of the registries that the arguments name */
    char **arguments;    /**< behind the options, to a NULL */
    size_t n_named;      /**< of `insecure`, those found in the arguments: the last ones, owned */
    char *username, *password; /**< read by cli_load when creds_stdin is set */
    char *creds_host;          /**< the registry that they are for: the first one asked */
    const volatile int *interrupted;

    bool own_settings;             /**< the user's file or environment set more than where to */
    struct ocv_config *config;     /**< after cli_load */
    struct ocv_platform *platform; /**< --platform parsed, or NULL */
    struct cli_probe *probe;       /**< between cli_profile_begin and cli_profile */
    struct ocv_profile *profile;   /**< after cli_profile */
    struct ocv_profile *plain;     /**< the same without `override` */
    bool names_told;               /**< what is odd about names has been said */
    struct ocv_registry *registry; /**< after cli_registry */
};

void cli_init(struct cli *cli, const char *program);
void cli_free(struct cli *cli);
/** Where vpull puts images where no engine answers, by $XDG_DATA_HOME or $HOME. False: neither is
 *  set. */
bool cli_images_directory(char *out, size_t size);
/** Where data are read: cli->datadir, else $OCV_DATADIR; NULL: where they were installed. */
const char *cli_datadir(const struct cli *cli);
/** cli_free, then end the process without the exit handlers of libraries (libcurl brings some
 * thirty, which take half a millisecond to say goodbye). Returns `code` where a sanitizer wants to
 * look. */
int cli_quit(struct cli *cli, int code);

/** Whether a program that is about to end gives back a large index. That takes half as long as to
 * read it, and matters only to a sanitizer. */
#ifdef OCV_SANITIZED
#define CLI_GIVES_BACK true
#else
#define CLI_GIVES_BACK false
#endif

/** Options of a verb: long options with `val` below CLI_OPTION_COMMON are the verb's own. */
enum {
    CLI_OPTION_COMMON = 1000,
    CLI_OPTION_CONFIG = CLI_OPTION_COMMON,
    CLI_OPTION_VERSION,
    CLI_OPTION_PROFILE,
    CLI_OPTION_PLATFORM,
    CLI_OPTION_LABEL,
    CLI_OPTION_UNCHECKED,
    CLI_OPTION_INSECURE,
    CLI_OPTION_TLS_VERIFY,
    CLI_OPTION_CACERT,
    CLI_OPTION_CERT,
    CLI_OPTION_KEY,
    CLI_OPTION_AUTHFILE,
    CLI_OPTION_CREDS_STDIN,
    CLI_OPTION_TIMEOUT,
    CLI_OPTION_RETRY_TIMES,
    CLI_OPTION_FLAG, /**< any configuration key */
};

#define CLI_OPTION_HELP 'h'

/** For a verb's `struct option` array: what every command takes. */
#define CLI_COMMON_OPTIONS                                                                       \
    {"config", required_argument, NULL, CLI_OPTION_CONFIG}, {"verbose", no_argument, NULL, 'v'}, \
        {"help", no_argument, NULL, CLI_OPTION_HELP},                                            \
    {                                                                                            \
        "version", no_argument, NULL, CLI_OPTION_VERSION                                         \
    }
/** What commands that ask whether something fits a host take. */
#define CLI_HOST_OPTIONS                                             \
    {"profile", required_argument, NULL, CLI_OPTION_PROFILE},        \
        {"platform", required_argument, NULL, CLI_OPTION_PLATFORM},  \
        {"disable", required_argument, NULL, CLI_OPTION_FLAG},       \
        {"device-policy", required_argument, NULL, CLI_OPTION_FLAG}, \
        {"devices", required_argument, NULL, CLI_OPTION_FLAG},       \
    {                                                                \
        "override", required_argument, NULL, CLI_OPTION_FLAG         \
    }
/** What commands that choose take. */
#define CLI_RESOLVE_OPTIONS                                                 \
    CLI_HOST_OPTIONS, {"label", required_argument, NULL, CLI_OPTION_LABEL}, \
        {"require", required_argument, NULL, CLI_OPTION_FLAG},              \
        {"unchecked", no_argument, NULL, CLI_OPTION_UNCHECKED},             \
        {"namespace-priority", required_argument, NULL, CLI_OPTION_FLAG},   \
    {                                                                       \
        "tag-rules", required_argument, NULL, CLI_OPTION_FLAG               \
    }
/** What commands that talk to registries take. */
#define CLI_REGISTRY_OPTIONS                                              \
    {"insecure", required_argument, NULL, CLI_OPTION_INSECURE},           \
        {"tls-verify", optional_argument, NULL, CLI_OPTION_TLS_VERIFY},   \
        {"cacert", required_argument, NULL, CLI_OPTION_CACERT},           \
        {"cert", required_argument, NULL, CLI_OPTION_CERT},               \
        {"key", required_argument, NULL, CLI_OPTION_KEY},                 \
        {"authfile", required_argument, NULL, CLI_OPTION_AUTHFILE},       \
        {"timeout", required_argument, NULL, CLI_OPTION_TIMEOUT},         \
        {"retry-times", required_argument, NULL, CLI_OPTION_RETRY_TIMES}, \
    {                                                                     \
        "creds-stdin", no_argument, NULL, CLI_OPTION_CREDS_STDIN          \
    }
#define CLI_OPTIONS_END  \
    {                    \
        NULL, 0, NULL, 0 \
    }

/** Text for --help, one block for each group above. */
#define CLI_COMMON_HELP "  --config FILE, -v, --verbose, -h, --help, --version   as everywhere\n"
#define CLI_HOST_HELP                                                              \
    "  --profile FILE           for this profile instead of this machine\n"        \
    "  --platform OS/ARCH[/V]   for this platform instead of the profile's\n"      \
    "  --disable NS[::F[::V]]   act as if the host lacked it\n"                    \
    "  --device-policy NS=all|any|first   which devices a variant must fit\n"      \
    "  --devices NS=0,2         only these devices (index, PCI address or UUID)\n" \
    "  --override NS::F=V,V     act as if the host had exactly these values\n"
#define CLI_RESOLVE_HELP                                                      \
    CLI_HOST_HELP                                                             \
    "  --label LABEL            only this variant; null: the default entry\n" \
    "  --unchecked              with --label: even if it does not fit\n"      \
    "  --require NS[::F[::V]]   nothing that does not use it\n"               \
    "  --namespace-priority A,B these namespaces first\n"                     \
    "  --tag-rules on|off       by tags where the index has no variants (on)\n"
/** The registry options have a page of their own. */
#define CLI_REGISTRY_HELP "\nRegistry options: variantctl help registry\n"
#define CLI_REGISTRY_TOPIC                                                               \
    "  --creds-stdin            read USER:PASSWORD from standard input\n"                \
    "  --authfile FILE          credentials from this file only\n"                       \
    "  --tls-verify=false       unverified TLS and plain HTTP for the images' own\n"     \
    "                           registries, those that the arguments name\n"             \
    "  --insecure HOST[:PORT]   the same for this registry; again for more\n"            \
    "  --cacert, --cert, --key FILE   TLS certificates and key (PEM)\n"                  \
    "  --timeout SECONDS        try again after SECONDS without data (15; layers: 60)\n" \
    "  --retry-times N          try again N times (5; documents without answer: 2)\n"

/** Handle a common option returned by getopt_long (`index`: its place in `options`). Returns 1 when
 *  it was one, 0 when it is the verb's own, a negative status on error. --help and --version are
 * the verb's to print. */
int cli_option(struct cli *cli, int value, const struct option *options, int index,
               struct ocv_error *err);
/** The next of a verb's own options, in `value`. Common ones are handled; --help (the text `help`,
 * which also says what values are called) and --version are printed, and what is wrong with an
 * option is said. False: no more of them, or with an exit code in `code` (-1 before) the end. */
bool cli_next_option(struct cli *cli, int argc, char **argv, const struct option *options,
                     const char *help, int *value, int *code);
/** The option that cli_next_option gave (`value`) has a value that is none: say so. Exit code 2. */
int cli_bad_option(const struct cli *cli, char **argv, int value);
/** The value of --format where it is text or json ("table", which text was called before, too):
 * false for another one. */
bool cli_format(const char *text, bool *json);
void cli_print_version(const struct cli *cli);

/** Read configuration files, OCV_* variables and flags; --platform; credentials on stdin. */
int cli_load(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;
/** After cli_load: does the command act for this machine by nothing but the administrator's
 *  configuration, as the node's daemon does? No option, file or variable of the user's that bears
 * on a choice or on how registries are read. */
bool cli_is_plain(const struct cli *cli);
/** Begin to probe this machine beside what is done next, where cli_profile would have to. Which of
 * the two waits for the other does not matter. */
void cli_profile_begin(struct cli *cli);
/** Make cli->profile: --profile or a probe of this machine, with `override` applied. */
int cli_profile(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;
/** Wait for a probe that began and is not wanted any more; cli_free does. */
void cli_profile_drop(struct cli *cli);
/** Make the client, once. */
int cli_registry(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;

/** "PROGRAM: what failed: why" and "hint: ..." on stderr. Returns the exit code of the status. */
int cli_fail(const struct cli *cli, const struct ocv_error *err);
/** "PROGRAM: HOST is silent for 15 s, trying again (2 of 3)" on
 *  stderr. `data` is the struct cli. */
void cli_tell_retry(void *data, const struct ocv_registry_wait *wait);
/** "PROGRAM: warning: ..." on stderr, or where cli->warn puts it. */
void cli_warn(const struct cli *cli, const char *format, ...) OCV_PRINTF(2, 3);
/** Only with -v: on stderr, or where cli->say puts it. */
void cli_say(const struct cli *cli, const char *format, ...) OCV_PRINTF(2, 3);
/** Read a whole file of at most out->max bytes ("-": standard input). */
int cli_read_file(const char *path, struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write text to stdout and notice a full disk or closed pipe. */
int cli_print(const char *text, size_t len, struct ocv_error *err) OCV_WARN_UNUSED;
/** Copy text from outside, without what a terminal would obey or not show. Returns `out`. */
const char *cli_text(const char *text, char *out, size_t size);

#endif
