/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl setup: the configuration of container engines, changed as a plan of files.
 *
 * Invariant: a plan starts from the files as they would be without us ("base": an earlier set-up
 * is undone in memory first); an engine's planner changes only `want`; and nothing is written
 * before the plan is complete, the backups are stored and the state describes what will be
 * written. So a second run with the same options changes nothing, and an interrupted run can be
 * repeated or undone. */
#ifndef OCV_SETUP_H
#define OCV_SETUP_H

#include "cmd/common/cli.h"
#include "cmd/variantctl/setup/toml/toml.h"

#include <jansson.h>
#include <sys/stat.h>
#include <time.h>

#define SETUP_FILE_MAX TOML_MAX        /**< bytes of a configuration file */
#define SETUP_FILES_MAX 512u           /**< files of one plan */
#define SETUP_REGISTRIES_MAX 128u      /**< --registry */
#define SETUP_STATE_MAX (1024u * 1024) /**< bytes of a state file */
#define SETUP_WRITTEN_MAX 8u           /**< known contents of one file that are ours */
/** Above our table in a hosts.toml. */
#define SETUP_HOSTS_COMMENT "# written by variantctl setup: this machine's variants first"
/** First words of a file that is ours alone. */
#define SETUP_FILE_COMMENT "# Written by `variantctl setup "

/** How to find our part in a file that others have changed. The numbers are stored in state
 *  files. */
enum setup_own_kind {
    SETUP_OWN_TOML_KEY = 1,      /**< table, key, value; previous: raw value before, or NULL */
    SETUP_OWN_TOML_HOST = 2,     /**< [host."KEY"] of a hosts.toml */
    SETUP_OWN_TOML_REGISTRY = 3, /**< [[registry]] with prefix KEY, mirror VALUE; previous: mirrors
                                    taken over from other files */
    SETUP_OWN_TOML_ITEM = 4,     /**< VALUE in the array at table, key; previous NULL: ours alone */
    SETUP_OWN_JSON_ITEM = 5,     /**< VALUE in the array KEY; previous NULL: the member is ours */
    SETUP_OWN_TOML_TABLE = 6,    /**< as SETUP_OWN_TOML_KEY, and the header is ours too */
    SETUP_OWN_TOML_MEMBER = 7,   /**< as SETUP_OWN_TOML_ITEM, but the header is its owner's */
};

/** Strings are owned, or NULL if unused. */
struct setup_own {
    enum setup_own_kind kind;
    char *table, *key, *value, *previous;
};

/** Remove our part from a changed file's text. */
int setup_own_remove(const struct setup_own *own, const char *source, struct ocv_buffer *text,
                     struct ocv_error *err) OCV_WARN_UNUSED;

struct setup_meta {
    mode_t mode;
    uid_t uid;
    gid_t gid;
    struct timespec mtime; /**< tv_nsec UTIME_NOW: a new file */
};

/** Content of a file; `there` false: the file does not exist. */
struct setup_content {
    bool there;
    struct ocv_buffer text;
    struct setup_meta meta;
};

struct setup_file {
    char *path; /**< below the root, links followed */
    struct setup_content disk, base, want;
    struct setup_own *own;
    size_t n_own;
    char written[SETUP_WRITTEN_MAX][OCV_DIGEST_MAX]; /**< digests of what we wrote, latest first */
    size_t n_written;
    bool reduced;     /**< others changed it, and our part was removed */
    bool other_names; /**< it has hard links */
    bool torn; /**< a run was interrupted while overwriting it; `disk` is the intended content */
};

struct setup_daemon;

enum setup_action { SETUP_ACTION_SETUP, SETUP_ACTION_UNINSTALL, SETUP_ACTION_STATUS };

struct setup {
    struct cli *cli;
    struct setup_daemon *daemon; /**< the daemon's report, or NULL */
    const char *engine;
    char *root;      /**< "" for the machine's own tree, else without a final slash */
    int root_fd;     /**< `root`, or the machine's root directory */
    char *state_dir; /**< below the root, links followed */
    char *home;      /**< an ordinary user's ~/.config/containers, else NULL */
    /* options */
    enum setup_action action;
    bool dry_run;
    char *registries[SETUP_REGISTRIES_MAX];
    size_t n_registries;
    bool fail_closed;
    bool hosts_only;            /**< containerd's own configuration stays as it is */
    char *listen;               /**< HOST:PORT that engines can reach */
    const char *config_dir;     /**< --config-dir */
    const char *engine_config;  /**< --engine-config */
    const char *engine_version; /**< --engine-version */
    const char *store;          /**< --store classic|containerd */
    const char *format;         /**< --format text|json, NULL: text */
    /* the plan */
    struct setup_file *files[SETUP_FILES_MAX];
    size_t n_files;
    char *directories[SETUP_FILES_MAX]; /**< made by us, outermost first */
    size_t n_directories;
    bool installed;          /**< an earlier set-up was found */
    struct ocv_buffer notes; /**< lines for people */
    char restart[128];       /**< command that makes the engine see a changed file, or empty */
};

/** The plan's file for a path below the root; read once. */
int setup_open(struct setup *setup, const char *path, struct setup_file **out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Resolve every link of a path within the root; its last components may be missing. */
int setup_resolve(const struct setup *setup, const char *path, char **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
struct setup_names {
    char **list;
    size_t n;
};
void setup_names_free(struct setup_names *names);
#define setup_auto_names __attribute__((cleanup(setup_names_free))) struct setup_names
/** Sorted names in a directory below the root, without "." and ".."; empty if it does not exist. */
int setup_list(const struct setup *setup, const char *path, struct setup_names *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the path below the root exists (as a directory, if `directory`). */
bool setup_exists(const struct setup *setup, const char *path, bool directory);
/** Set `want`. */
int setup_want(struct setup_file *file, const char *text, size_t len,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Record a part that is ours; strings are copied. */
int setup_add_own(struct setup_file *file, enum setup_own_kind kind, const char *table,
                  const char *key, const char *value, const char *previous,
                  struct ocv_error *err) OCV_WARN_UNUSED;
bool setup_content_equal(const struct setup_content *a, const struct setup_content *b);
int setup_content_copy(struct setup_content *to, const struct setup_content *from,
                       struct ocv_error *err) OCV_WARN_UNUSED;
void setup_free(struct setup *setup);
/** Drop the plan except its directories, before another engine's is made. */
void setup_reset_plan(struct setup *setup);
/** Add a line of text, printed if everything succeeds. */
int setup_note(struct setup *setup, struct ocv_error *err, const char *format, ...)
    OCV_PRINTF(3, 4);

/** The state's entry for one file. */
struct setup_record {
    char *path;
    char before[OCV_DIGEST_MAX]; /**< digest of the content without us; empty: no file */
    struct setup_meta meta;      /**< of that content */
    char written[SETUP_WRITTEN_MAX][OCV_DIGEST_MAX];
    size_t n_written;
    struct setup_own *own;
    size_t n_own;
};

/** What an earlier set-up of the engine did. */
struct setup_state {
    bool there;
    struct setup_record *records;
    size_t n_records;
    char **directories; /**< created for it, outermost first */
    size_t n_directories;
    char **registries;
    size_t n_registries;
    char *listen;
    bool fail_closed;
};

int setup_load_state(const struct setup *setup, struct setup_state *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
void setup_state_free(struct setup_state *state);
void setup_own_free(struct setup_own *own);
/** Check that the plan can be stored as a state, before anything is written. */
int setup_check_state(const struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** Store the state that the plan leads to; an unchanged file is not rewritten. */
int setup_save_state(const struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** Store a content under its digest. */
int setup_save_backup(const struct setup *setup, const struct setup_content *content,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Path of that backup below the root; owned by the caller, NULL without memory. */
char *setup_backup_path(const struct setup *setup, const char *digest, struct ocv_error *err);
int setup_read_backup(const struct setup *setup, const char *digest, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove backups that no file of the plan needs. */
void setup_sweep_backups(const struct setup *setup);
/** Remove the set-up's state, backups and empty directories. */
int setup_drop_state(const struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;

/** Read the earlier set-up's state and undo it in memory: sets `base` and `want` of its files. */
int setup_undo(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write the plan: backups, restored files, state, new content. Reports on stdout. */
int setup_apply(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the plan changes the file compared with its content without us. */
bool setup_is_ours(const struct setup_file *file);
/** Record the missing directories above the path as ours; they are about to be created. */
int setup_note_directories(struct setup *setup, const char *path,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove our empty directories, innermost first. */
void setup_remove_directories(struct setup *setup);
/** True if the plan changes the file on disk. */
bool setup_changes(const struct setup_file *file);
/** Print one file's change as a unified diff, made by diff(1); OCV_ERR_UNSUPPORTED without it. */
int setup_print_diff(const char *path, const struct setup_content *from,
                     const struct setup_content *to, struct ocv_error *err) OCV_WARN_UNUSED;

struct setup_version {
    unsigned major, minor;
    bool known;
    char text[64]; /**< as the program printed it, or empty */
};
/** --engine-version, or the output of `PROGRAM --version` if the tree is the machine's own. */
void setup_find_version(const struct setup *setup, const char *program, struct setup_version *out);
/** Run a program from PATH and return its standard output; false: nothing. */
bool setup_ask(const char *const *argv, char *out, size_t size);
/** Ids of this machine's processes of that name. */
int setup_list_processes(const struct setup *setup, const char *name, struct setup_names *pids,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** Parse the first "MAJOR.MINOR" that is a word, or follows "v". */
bool setup_parse_version(const char *text, struct setup_version *out);
bool setup_version_at_least(const struct setup_version *version, unsigned major, unsigned minor);

int setup_containerd(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** Files by which containerd goes past the mirror of that set-up, since others wrote them later, as
 *  setup_hosts_passed_by: {"registry": NULL} where its own configuration reads none of them. */
int setup_containerd_passed_by(struct setup *setup, const struct setup_state *state, json_t *list,
                               struct ocv_error *err) OCV_WARN_UNUSED;
int setup_docker(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** The same: host files, or daemon.json with another mirror before variantd. */
int setup_docker_passed_by(struct setup *setup, const struct setup_state *state, json_t *list,
                           struct ocv_error *err) OCV_WARN_UNUSED;
int setup_containers(struct setup *setup,
                     struct ocv_error *err) OCV_WARN_UNUSED; /**< podman, crio */
/** The same as for containerd: drop-ins that are read after the set-up's and replace its registry.
 */
int setup_containers_passed_by(struct setup *setup, const struct setup_state *state, json_t *list,
                               struct ocv_error *err) OCV_WARN_UNUSED;

/** Edit hosts.toml files under the directories `roots` for the requested registries, or for all. */
int setup_hosts(struct setup *setup, char *const *roots, size_t n_roots, bool dial_timeout,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** The hosts.toml files that containerd reads for the registries of a set-up, or for all, and whose
 *  first host is not `url`: appends {"registry", "file"} to `list`. */
int setup_hosts_passed_by(struct setup *setup, char *const *roots, size_t n_roots,
                          const struct setup_state *state, const char *url, json_t *list,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** Insert our table first into a hosts.toml, which need not exist yet. */
int setup_hosts_edit(const char *source, struct ocv_buffer *text, const char *url, bool fail_closed,
                     bool dial_timeout, struct ocv_error *err) OCV_WARN_UNUSED;
int setup_hosts_remove(const char *source, struct ocv_buffer *text, const char *url,
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Insert a string first into an array under a top-level member; setup_json_remove: remove it. */
int setup_json_add(const char *source, struct ocv_buffer *text, const char *key, const char *value,
                   bool *made, struct ocv_error *err) OCV_WARN_UNUSED;
int setup_json_remove(const char *source, struct ocv_buffer *text, const char *key,
                      const char *value, bool member_too, struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove a string from an array in TOML; earlier versions added it to buildkitd.toml. */
int setup_toml_remove_item(const char *source, struct ocv_buffer *text, const char *table,
                           const char *key, const char *value, bool key_too, bool table_too,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove our [[registry]] from a registries.conf; if others have added a mirror that is not among
 *  the `copied` ones (text, or NULL), only our mirror. */
int setup_registry_remove(const char *source, struct ocv_buffer *text, const char *prefix,
                          const char *mirror, const char *copied,
                          struct ocv_error *err) OCV_WARN_UNUSED;

#endif
