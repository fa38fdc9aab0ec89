/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by all commands: options, configuration, messages, exit codes, the profile and images. */
#ifndef OCV_CLI_H
#define OCV_CLI_H

#include "lib/base/options.h"
#include "lib/internal/config/config.h"
#include "ocivariant-registry.h"
#include "ocivariant.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

/* Colours on a terminal, only for what must not be overlooked. */

#define COLOR_RED "\033[31m"
#define COLOR_YELLOW "\033[33m"
#define COLOR_BOLD "\033[1m"
#define COLOR_END "\033[0m"

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER }; /**< of --color */

/** With COLOR_AUTO: a terminal that is not dumb, and no NO_COLOR (https://no-color.org). */
bool color_wanted(enum color_mode mode, FILE *stream);

/** A configuration flag, applied after files and environment. */
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
    char verb[40];       /**< "index create", for messages; or empty */
    bool verbose;
    bool unchecked;
    bool devices_auto; /**< --devices auto: the devices given to the job */
    bool completing;   /**< a shell asks for completion: cli_read answers */
    /** What is said of an unknown key of the configuration, which is left out; NULL: an error. */
    void (*unknown_key)(const char *message);
    bool no_environment;   /**< a daemon: neither OCV_* variables nor the user's own file */
    enum color_mode color; /**< --color, of messages */
    void (*log)(void *data, const char *line);  /**< receives the lines of cli_log; NULL: stderr */
    void (*warn)(void *data, const char *line); /**< receives the lines of cli_warn; NULL: stderr */
    /** Called when the registry client waits; cli_report_retry unless set. */
    void (*wait)(void *data, const struct ocv_registry_wait *wait);
    void (*tick)(void *data); /**< called several times a second while an engine works; or NULL */
    void *callback_data;      /**< for these four */
    const char *datadir;      /**< data directory to use instead of the installed one, or NULL */
    const char *config_file;  /**< --config: replaces both files */
    const char *profile_file; /**< --profile, "-" is standard input */
    const char *platform_text;
    const char *label;
    struct cli_flag flags[CLI_FLAGS_MAX];
    size_t n_flags;
    const char *gpus;                     /**< --gpus, in the syntax of docker run */
    const char *devices[CLI_DEVICES_MAX]; /**< --device: CDI names */
    size_t n_devices;
    /* registry options */
    const char *insecure[64];
    size_t n_insecure;
    const char *ca_file, *cert_file, *key_file, *auth_file;
    unsigned timeout_s; /**< --timeout; 0: the default */
    unsigned retries;   /**< --retry-times, as in struct ocv_registry_options */
    bool creds_stdin;
    bool tls_unverified; /**< --tls-verify=false: for the registries named by arguments */
    bool tls_bare;       /**< --tls-verify without a value */
    char **arguments;    /**< after the options, NULL-terminated */
    size_t n_arguments;
    size_t n_named;            /**< names at the end of `insecure` that are owned: from arguments */
    char *username, *password; /**< read by cli_load when creds_stdin is set */
    char *creds_host;          /**< the registry they belong to: the first one asked */
    const volatile int *interrupted;

    bool own_settings;             /**< the user's file or environment may affect the choice */
    struct ocv_config *config;     /**< after cli_load */
    struct ocv_platform *platform; /**< --platform parsed, or NULL */
    struct cli_probe *probe;       /**< between cli_profile_begin and cli_profile */
    struct ocv_profile *profile;   /**< after cli_profile */
    struct ocv_profile *plain;     /**< the same without `override` */
    bool told;                     /**< warnings about names have been printed */
    bool *names_told;              /**< that, of the program: also in the copies for threads */
    struct ocv_registry *registry; /**< after cli_registry */
    struct ocv_credential_providers *credential_providers; /**< likewise; or NULL */
    struct ocv_error err; /**< of a verb of variantctl that fails, which verbs_run reports */
};

void cli_init(struct cli *cli, const char *program);
/** True once the user has interrupted. A signal handler, or another thread, sets the flag. */
bool cli_interrupted(const struct cli *cli);
void cli_free(struct cli *cli);
/** Directory in which vpull puts images when no engine answers, from $XDG_DATA_HOME or $HOME. False
 *  if neither is set. */
bool cli_images_directory(char *out, size_t size);
/** Directory of the data files: cli->datadir, else $OCV_DATADIR; NULL: where they were
 *  installed. */
const char *cli_datadir(const struct cli *cli);
/** cli_free, and write out what is printed. Returns `code`, or 1 if that failed, for main. */
int cli_quit(struct cli *cli, int code);

/** Groups of shared options. */
enum cli_groups {
    CLI_HOST = 1u,    /**< the host: --profile, --disable, ... */
    CLI_RESOLVE = 3u, /**< the host and the choice: --label, --require, ... */
    CLI_REGISTRY = 4u /**< registry access: --insecure, --timeout, ... */
};
/** The registry options have a help page of their own. */
extern const struct ocv_option cli_registry_options[];

struct ocv_completion;
/** A command: its help, and the table of its own options, whose rows write into its request. */
#define CLI_MANY SIZE_MAX

/** What a command takes beside its options; all 0: nothing. */
struct cli_arguments {
    const char *what; /**< for the error that asks for them: "one IMAGE"; NULL: it takes none */
    size_t min, max;
    size_t instead;   /**< a text of the request that stands for one, CLI_INSTEAD(), or 0 */
    const char *hint; /**< of that error, or NULL */
};
#define CLI_ANY_ARGUMENTS        \
    {                            \
        "", 0, CLI_MANY, 0, NULL \
    }
#define CLI_INSTEAD(type, member) (offsetof(type, member) + 1)

struct cli_command {
    const char *usage;                /**< the help before the options */
    const char *details;              /**< printed between the two by --help-all, or NULL */
    const struct ocv_option *options; /**< ends with OCV_OPTIONS_END; NULL: no own options */
    const char *end;                  /**< the help after the options */
    void (*print_values)(void);       /**< prints a list of values before `end`; or NULL */
    unsigned groups;                  /**< of enum cli_groups */
    struct cli_arguments arguments;
    /** Completes kinds of values or arguments that only this command has; may be NULL. */
    bool (*complete)(struct ocv_completion *c, const char *kind);
};

/** Read argv: the command's options into `request`, the common ones into `cli`. Errors are printed.
 *  Returns an exit code (0 after --help or --version, or when a shell asks for completion:
 *  lib/base/options.h), or -1 to go on with cli->arguments. */
int cli_read(struct cli *cli, const struct cli_command *command, void *request, int argc,
             char **argv);

/** The help: `all` of it, or as much as fits on a screen of 24 lines. */
void cli_print_help(const struct cli *cli, const struct cli_command *command, bool all);
/** Rows that a command with CLI_RESOLVE shows only in "help machine". */
void cli_print_machine_help(void);

/** Option callbacks for --device, and for --devices with "auto". */
int cli_take_device(const struct ocv_option_given *given, struct ocv_error *err);
int cli_take_devices(const struct ocv_option_given *given, struct ocv_error *err);
/** True if devices were given with --gpus, --device or --devices auto. */
bool cli_devices_given(const struct cli *cli);
/** Store them as the configuration's `devices`; cli_profile calls this. */
int cli_set_devices(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;
/** Option callback: sets the configuration key that has the option's name, after files and
 *  environment. The row's structure is struct cli. */
int cli_take_setting(const struct ocv_option_given *given, struct ocv_error *err);
/** The same where the row's member is a pointer to the struct cli. */
int cli_take_setting_of(const struct ocv_option_given *given, struct ocv_error *err);
/** Such a row, without help. */
#define CLI_SETTING(type, member, key, called)                         \
    {                                                                  \
        .name = (key), .value = (called), .take = cli_take_setting_of, \
        .offset = OCV_OPTION_OFFSET(type, member, struct cli *)        \
    }
/** Rows without help for the settings that affect what is chosen for nodes. */
#define CLI_SETTINGS_OF_NODES(type, member)                             \
    CLI_SETTING(type, member, "disable", "NS[::F[::V]]"),               \
        CLI_SETTING(type, member, "device-policy", "NS=all|any|first"), \
        CLI_SETTING(type, member, "override", "NS::F=V,V")
/** Option callback: text ("table" is an old name for it) or json, into a bool that is true for
 *  json. */
int cli_take_format(const struct ocv_option_given *given, struct ocv_error *err);
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

/** Read configuration files, OCV_* variables and flags; --platform; credentials on stdin. */
int cli_load(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;
/** After cli_load: true if only the administrator's configuration applies, as in the node's daemon.
 *  False if an option, a file or a variable of the user affects the choice or how registries are
 *  read. */
bool cli_is_plain(const struct cli *cli);
/** The path of a program that this project's own programs run ("content-scan"): beside `datadir`
 *  (NULL: none), else as installed, else as built. False: it is too long. It need not exist. */
bool cli_helper(const char *name, const char *datadir, char *path, size_t size);
/** The file of a --profile: a file of that name, or the installed profile of a common machine
 *  ("h100"). Any other name without '/' is OCV_ERR_INVALID, with the names that are known. */
int cli_profile_path(const char *text, char out[PATH_MAX], struct ocv_error *err) OCV_WARN_UNUSED;
/** The machines that are asked about are others than this one: what its configuration says of it is
 *  forgotten, and said once. Needs cli_load. */
void cli_forget_host(struct cli *cli);
/** The names of profiles that are installed, in order (d_name); each of them and the list is freed
 * by the caller. Negative: there is no such directory. */
int cli_profile_names(struct dirent ***names);
/** Only the latter: the file of the installed profile with this name. False: there is none. */
bool cli_profile_installed(const char *name, char out[PATH_MAX]) OCV_WARN_UNUSED;
/** cli_read_file of it. */
int cli_read_profile(const char *text, struct ocv_buffer *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
struct dirent;
/** For scandir: the profiles of a directory (*.json). */
int cli_is_profile(const struct dirent *entry);
/** Start probing this machine in a process of its own, if cli_profile would have to probe. */
void cli_profile_begin(struct cli *cli);
/** Make cli->profile: --profile or a probe of this machine, with `override` applied. */
int cli_profile(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;
/** Stop a probe whose result is not needed; cli_free does so too. */
void cli_profile_drop(struct cli *cli);
/** Make the client, unless it exists. */
int cli_registry(struct cli *cli, struct ocv_error *err) OCV_WARN_UNUSED;
/** Another client, for a thread of its own: one like cli->registry, which must exist, but stopped
 *  by `interrupted`. What clients of several threads report comes one after the other. */
int cli_registry_new(struct cli *cli, const volatile int *interrupted, struct ocv_registry **out,
                     struct ocv_error *err) OCV_WARN_UNUSED;

/** "PROGRAM: what failed: why" and "hint: ..." on stderr. Returns the exit code of the status. */
int cli_fail(const struct cli *cli, const struct ocv_error *err);
/** For several failures: print the one kept before, if any, and keep this one. The last one is the
 *  verb's own error. */
void cli_keep_failure(const struct cli *cli, struct ocv_error *kept, const struct ocv_error *err);
/** cli_fail with `meant`, a line that names the likely intention, before the hint; empty: no
 *  line. */
int cli_fail_meant(const struct cli *cli, const struct ocv_error *err, const char *meant);
#define CLI_RETRY_MAX 48u
/** When it is tried again: " in 30 s", or " (2 of 6)" where that is soon. Returns `out`. */
const char *cli_retry_when(const struct ocv_registry_wait *wait, char out[CLI_RETRY_MAX]);
/** "PROGRAM: HOST is silent for 15 s, trying again (2 of 3)" on
 *  stderr. `data` is the struct cli. */
void cli_report_retry(void *data, const struct ocv_registry_wait *wait);
/** "PROGRAM: warning: ..." on stderr, or through cli->warn. */
void cli_warn(const struct cli *cli, const char *format, ...) OCV_PRINTF(2, 3);
/** Only with -v: on stderr, or through cli->log. */
void cli_log(const struct cli *cli, const char *format, ...) OCV_PRINTF(2, 3);
/** Read a whole file of at most out->max bytes ("-": standard input). */
int cli_read_file(const char *path, struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write text to stdout; fails on a full disk or a closed pipe. */
int cli_print(const char *text, size_t len, struct ocv_error *err) OCV_WARN_UNUSED;
/** Copy untrusted text without control and unprintable characters. Returns `out`. */
const char *cli_text(const char *text, char *out, size_t size);

/** A page for a browser while it is written: light and dark, without script. */
struct page {
    struct ocv_buffer *out;
    struct ocv_error *err;
    int status; /**< the first failure */
};
/** The head of a page, with rules of style beside the common ones. */
void page_begin(struct page *page, const char *title, const char *style);
/** Mark-up of ours. */
void page_raw(struct page *page, const char *markup);
/** Text of others, escaped. */
void page_text(struct page *page, const char *text);
void page_number(struct page *page, long long number);

/* Completion of values and arguments: properties, labels, images in layouts. No registry is asked.
 */

/** Answer the shell; argv[1] to argv[argc - 1] are the words after the command's name. */
void cli_complete(const struct cli_command *command, const struct ocv_options *options, int argc,
                  char **argv);

/* The word is `head` and the beginning of a name; candidates include `head`. */

/** Offer the next part of NS[::F[::V]]. `whole`: all three parts are required. */
void complete_property(struct ocv_completion *c, const char *head, bool whole);
/** "oci:DIR[:TAG]": directories on the way to layouts, layouts, their tags. */
void complete_layout(struct ocv_completion *c, const char *head);
/** Files, and the installed profiles. */
void complete_profiles(struct ocv_completion *c, const char *head);
/** The labels of the first layout among the preceding words, each with `behind` appended. */
void complete_labels(struct ocv_completion *c, const char *behind);

#endif
