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

#include <stdio.h>

/** One configuration flag as given, applied after files and environment. */
struct cli_flag {
    const char *key, *text;
};

#define CLI_FLAGS_MAX 256u
#define CLI_DEVICES_MAX 64u     /* of --device */
#define CLI_TIMEOUT_MAX_S 3600u /* of --timeout */
#define CLI_RETRIES_MAX 100u    /* of --retry-times */

/** One run of a program. Zero-initialise, then cli_init; cli_free at the end. */
struct cli {
    const char *program; /**< "vpull", "variantctl" */
    char verb[40];       /**< "index create", for messages; empty: none */
    bool verbose;
    bool unchecked;
    bool devices_auto;     /**< --devices auto: what the job was given */
    bool completing;       /**< a shell asks what may follow: cli_read answers */
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
    struct cli_flag flags[CLI_FLAGS_MAX];
    size_t n_flags;
    const char *gpus;                     /**< --gpus, as docker run has it */
    const char *devices[CLI_DEVICES_MAX]; /**< --device: CDI's names */
    size_t n_devices;
    /* registry options */
    const char *insecure[64];
    size_t n_insecure;
    const char *ca_file, *cert_file, *key_file, *auth_file;
    unsigned timeout_s; /**< --timeout; 0: the default */
    unsigned retries;   /**< --retry-times, as in struct ocv_registry_options */
    bool creds_stdin;
    bool tls_unverified; /**< --tls-verify=false: of the registries that the arguments name */
    bool tls_bare;       /**< --tls-verify without a value */
    char **arguments;    /**< behind the options, to a NULL */
    size_t n_arguments;
    size_t n_named; /**< of `insecure`, those found in the arguments: the last ones, owned */
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
    struct ocv_credential_providers *credential_providers; /**< likewise; or NULL */
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

/** Groups of options that commands share. */
enum cli_groups {
    CLI_HOST = 1u,    /**< what fits a host: --profile, --disable, ... */
    CLI_RESOLVE = 3u, /**< the same, and how to choose: --label, --require, ... */
    CLI_REGISTRY = 4u /**< how registries are asked: --insecure, --timeout, ... */
};
/** The registry options have a page of their own. */
extern const struct ocv_option cli_registry_options[];

struct ocv_completion;
/** A command: its help, and the table of its own options, whose rows write into its request. */
struct cli_command {
    const char *usage;                /**< the help before the options */
    const char *details;              /**< what --help-all says between the two, or NULL */
    const struct ocv_option *options; /**< to OCV_OPTIONS_END, or NULL: none of its own */
    const char *end;                  /**< the help behind the options */
    void (*print_values)(void);       /**< prints a list of values before `end`; or NULL */
    unsigned groups;                  /**< of enum cli_groups */
    /** Offers what a kind of value or argument is that only this command knows; or NULL. */
    bool (*complete)(struct ocv_completion *c, const char *kind);
};

/** Read the options of argv: those of the command into `request`, the common ones into `cli`. What
 *  is wrong is said. Returns an exit code (0 after --help or --version, or where a shell asks for
 *  completion: lib/base/complete.h), or -1 to go on with cli->arguments. */
int cli_read(struct cli *cli, const struct cli_command *command, void *request, int argc,
             char **argv);

/** The help: `all` of it, or what fits a screen of 24 lines. */
void cli_print_help(const struct cli *cli, const struct cli_command *command, bool all);
/** The rows that the help of a command with CLI_RESOLVE leaves to "help machine". */
void cli_print_machine_help(void);

/** For options' tables: --device, and --devices with "auto". */
int cli_take_device(const struct ocv_option_given *given, struct ocv_error *err);
int cli_take_devices(const struct ocv_option_given *given, struct ocv_error *err);
/** Were devices given by one of --gpus, --device and --devices auto? */
bool cli_devices_given(const struct cli *cli);
/** Make them the configuration's `devices`; cli_profile does. */
int cli_set_devices(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;
/** For a row: a configuration key with the option's name, applied after files and environment. The
 *  row's structure is struct cli. */
int cli_take_setting(const struct ocv_option_given *given, struct ocv_error *err);
/** The same where the row's member is a pointer to the struct cli. */
int cli_take_setting_of(const struct ocv_option_given *given, struct ocv_error *err);
/** A row of that kind, without help. */
#define CLI_SETTING(type, member, key, called)                         \
    {                                                                  \
        .name = (key), .value = (called), .take = cli_take_setting_of, \
        .offset = OCV_OPTION_OFFSET(type, member, struct cli *)        \
    }
/** Rows of what a choice for nodes depends on, without help. */
#define CLI_SETTINGS_OF_NODES(type, member)                             \
    CLI_SETTING(type, member, "disable", "NS[::F[::V]]"),               \
        CLI_SETTING(type, member, "device-policy", "NS=all|any|first"), \
        CLI_SETTING(type, member, "override", "NS::F=V,V")
/** For a row: text or json ("table", which text was called before, too), into a bool: is it json?
 */
int cli_take_format(const struct ocv_option_given *given, struct ocv_error *err);
/** Read a number from `min` to `max`, of digits only. False if the text is not one. */
bool cli_number(const char *text, unsigned min, unsigned max, unsigned *out);
/** Rows for --format and --json. */
#define CLI_FORMAT(type, member, text)                                            \
    {.name = "format",                                                            \
     .value = "text|json",                                                        \
     .help = (text),                                                              \
     .take = cli_take_format,                                                     \
     .offset = OCV_OPTION_OFFSET(type, member, bool)},                            \
    {                                                                             \
        .name = "json", .flags = OCV_OPTION_HIDDEN, OCV_OPTION_FLAG(type, member) \
    }

/** The row for --index. */
#define CLI_INDEX(type, member)                                                                \
    {                                                                                          \
        .name = "index", .value = "FILE", .help = "an index document, '-' for standard input", \
        OCV_OPTION_TEXT(type, member)                                                          \
    }

void cli_print_version(const struct cli *cli);

/** Read configuration files, OCV_* variables and flags; --platform; credentials on stdin. */
int cli_load(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;
/** After cli_load: does the command act for this machine by nothing but the administrator's
 *  configuration, as the node's daemon does? No option, file or variable of the user's that bears
 * on a choice or on how registries are read. */
bool cli_is_plain(const struct cli *cli);
/** Begin to probe this machine in a process of its own, where cli_profile would have to. */
void cli_profile_begin(struct cli *cli);
/** Make cli->profile: --profile or a probe of this machine, with `override` applied. */
int cli_profile(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;
/** End a probe that began and is not wanted any more; cli_free does. */
void cli_profile_drop(struct cli *cli);
/** Make the client, once. */
int cli_registry(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;

/** "PROGRAM: what failed: why" and "hint: ..." on stderr. Returns the exit code of the status. */
int cli_fail(const struct cli *cli, const struct ocv_error *err);
/** Of several failures the last one is the verb's own: tell the one that is kept, if there is one,
 *  and keep this one. */
void cli_keep_failure(const struct cli *cli, struct ocv_error *kept, const struct ocv_error *err);
/** cli_fail with a line between the two that names what was meant; empty: none. */
int cli_fail_meant(const struct cli *cli, const struct ocv_error *err, const char *meant);
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
