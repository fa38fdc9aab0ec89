/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl setup: the configuration of container engines, changed as a plan of files.
 *
 * Invariant: a plan starts from what the files would be without us ("base": what an earlier set-up
 * wrote is undone in memory first), an engine's planner changes only `want`, and nothing reaches
 * the disk before the plan is complete, the backups are written and the state says what will be
 * written. So a second run with the same options changes nothing, and a run that was cut off at any
 * point can be repeated or undone. */
#ifndef OCV_SETUP_H
#define OCV_SETUP_H

#include "cmd/common/cli.h"
#include "cmd/variantctl/setup/toml/toml.h"

#include <sys/stat.h>
#include <time.h>

#define SETUP_FILE_MAX TOML_MAX        /**< bytes of a configuration file */
#define SETUP_FILES_MAX 512u           /**< files of one plan */
#define SETUP_REGISTRIES_MAX 128u      /**< --registry */
#define SETUP_STATE_MAX (1024u * 1024) /**< bytes of a state file */
#define SETUP_WRITTEN_MAX 8u           /**< contents of one file that are known to be ours */
/** Above our table in a hosts.toml. */
#define SETUP_HOSTS_COMMENT "# written by variantctl setup: this machine's variants first"
/** Begins the first line of a file that is ours alone. */
#define SETUP_FILE_COMMENT "# Written by `variantctl setup "

/* ---- what is ours in a file ------------------------------------------------------------------ */

/** How to find our part in a file that others have changed since. Numbers are kept in state files.
 */
enum setup_own_kind {
    SETUP_OWN_TOML_KEY = 1,      /**< table, key, value; previous: raw value before, or NULL */
    SETUP_OWN_TOML_HOST = 2,     /**< [host."KEY"] of a hosts.toml */
    SETUP_OWN_TOML_REGISTRY = 3, /**< [[registry]] with prefix KEY, mirror VALUE; previous: mirrors
                                    taken over from other files */
    SETUP_OWN_TOML_ITEM = 4,     /**< VALUE in the array at table, key; previous NULL: ours alone */
    SETUP_OWN_JSON_ITEM = 5,     /**< VALUE in the array KEY; previous NULL: the member is ours */
    SETUP_OWN_TOML_TABLE = 6,    /**< as SETUP_OWN_TOML_KEY, and the header is ours, too */
    SETUP_OWN_TOML_MEMBER = 7,   /**< as SETUP_OWN_TOML_ITEM, but the header is its owner's */
};

/** Strings are owned; NULL where they say nothing. */
struct setup_own {
    enum setup_own_kind kind;
    char *table, *key, *value, *previous;
};

/** Take our part out of a changed file's text. */
int setup_own_remove(const struct setup_own *own, const char *source, struct ocv_buffer *text,
                     struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- files ----------------------------------------------------------------------------------- */

struct setup_meta {
    mode_t mode;
    uid_t uid;
    gid_t gid;
    struct timespec mtime; /**< tv_nsec UTIME_NOW: a new file */
};

/** One content of a file; `there` false: no such file. */
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
    bool reduced;     /**< others changed it, and our part was taken out */
    bool other_names; /**< hard links */
    bool torn;        /**< a run was cut off while it wrote over it; `disk` is what it meant */
};

struct setup_daemon;

enum setup_action { SETUP_ACTION_SETUP, SETUP_ACTION_UNINSTALL, SETUP_ACTION_STATUS };

struct setup {
    struct cli *cli;
    struct setup_daemon *daemon; /**< what this machine's says of itself, or NULL */
    const char *engine;
    char *root;      /**< "" for the machine's own tree, else without a final slash */
    int root_fd;     /**< the same, or the machine's; while `root` is set */
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

/** The file of the plan for a path below the root, read once. */
int setup_open(struct setup *setup, const char *path, struct setup_file **out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** A path below the root with every link followed inside it; the last parts may be missing. */
int setup_resolve(const struct setup *setup, const char *path, char **out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** The same as the system sees it: root and path. */
int setup_real_path(const struct setup *setup, const char *path, char **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Sorted names in a directory below the root, without "." and ".."; none where it is missing.
 * Freed with setup_names_free. */
int setup_list(const struct setup *setup, const char *path, char ***names, size_t *n,
               struct ocv_error *err) OCV_WARN_UNUSED;
void setup_names_free(char **names, size_t n);
/** True if the path below the root is there (a directory, where `directory`). */
bool setup_exists(const struct setup *setup, const char *path, bool directory);
/** What `want` is to be. */
int setup_want(struct setup_file *file, const char *text, size_t len,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Say what is ours in it; strings are copied. */
int setup_add_own(struct setup_file *file, enum setup_own_kind kind, const char *table,
                  const char *key, const char *value, const char *previous,
                  struct ocv_error *err) OCV_WARN_UNUSED;
bool setup_content_equal(const struct setup_content *a, const struct setup_content *b);
int setup_content_copy(struct setup_content *to, const struct setup_content *from,
                       struct ocv_error *err) OCV_WARN_UNUSED;
void setup_free(struct setup *setup);
/** Forget the plan but its directories, so that another engine's can be made. */
void setup_reset_plan(struct setup *setup);
/** One line for people, printed when all went well. */
int setup_note(struct setup *setup, struct ocv_error *err, const char *format, ...)
    OCV_PRINTF(3, 4);

/* ---- state, undoing, writing ----------------------------------------------------------------- */

/** What the state says about one file. */
struct setup_record {
    char *path;
    char before[OCV_DIGEST_MAX]; /**< digest of the content without us; empty: there was no file */
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
    char **directories; /**< made for it, outermost first */
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
/** Can the plan be written down as a state? Said before anything is written. */
int setup_check_state(const struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** The plan as the state that it leads to; unchanged bytes are not written again. */
int setup_save_state(const struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** Keep a content under its digest. */
int setup_save_backup(const struct setup *setup, const struct setup_content *content,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Where that is, below the root: owned, NULL where memory is short. */
char *setup_backup_path(const struct setup *setup, const char *digest, struct ocv_error *err);
int setup_read_backup(const struct setup *setup, const char *digest, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove backups that no file of the plan needs. */
void setup_sweep_backups(const struct setup *setup);
/** No set-up any more: state, backups and empty directories go. */
int setup_drop_state(const struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;

/** Read what an earlier set-up did and undo it in memory: `base` and `want` of its files. */
int setup_undo(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write the plan: backups, what goes back, state, what is new. Says on stdout what was done. */
int setup_apply(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the plan makes the file another one than it is without us. */
bool setup_is_ours(const struct setup_file *file);
/** Directories above the path below the root that are missing now are ours, once they are made. */
int setup_note_directories(struct setup *setup, const char *path,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove those that hold nothing, innermost first. */
void setup_remove_directories(struct setup *setup);
/** True if the plan changes the file on disk. */
bool setup_changes(const struct setup_file *file);
/** Print one file's change as a unified diff, made by diff(1) where it is installed. */
int setup_print_diff(const char *path, const struct setup_content *from,
                     const struct setup_content *to, struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- engines --------------------------------------------------------------------------------- */

struct setup_version {
    unsigned major, minor;
    bool known;
    char text[64]; /**< as the program printed it, or empty */
};
/** --engine-version, or what `PROGRAM --version` says on the machine's own tree. */
void setup_find_version(const struct setup *setup, const char *program, struct setup_version *out);
/** Run a program found by PATH and keep what it writes to standard output; false: nothing. */
bool setup_ask(const char *const *argv, char *out, size_t size);
/** Ids of this machine's processes of that name; freed with setup_names_free. */
int setup_list_processes(const struct setup *setup, const char *name, char ***pids, size_t *n,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** The first "MAJOR.MINOR" that stands as a word or behind a "v". */
bool setup_parse_version(const char *text, struct setup_version *out);
bool setup_version_at_least(const struct setup_version *version, unsigned major, unsigned minor);

int setup_containerd(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
int setup_docker(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
int setup_containers(struct setup *setup,
                     struct ocv_error *err) OCV_WARN_UNUSED; /**< podman, crio */

/** hosts.toml files under the directories `roots` for the asked registries, or for all. */
int setup_hosts(struct setup *setup, char *const *roots, size_t n_roots, bool dial_timeout,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** Put our table first into a hosts.toml (also one that is not there yet). */
int setup_hosts_edit(const char *source, struct ocv_buffer *text, const char *url, bool fail_closed,
                     bool dial_timeout, struct ocv_error *err) OCV_WARN_UNUSED;
int setup_hosts_remove(const char *source, struct ocv_buffer *text, const char *url,
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Put a string first into, or take it out of, an array of strings under a top-level member. */
int setup_json_add(const char *source, struct ocv_buffer *text, const char *key, const char *value,
                   bool *made, struct ocv_error *err) OCV_WARN_UNUSED;
int setup_json_remove(const char *source, struct ocv_buffer *text, const char *key,
                      const char *value, bool member_too, struct ocv_error *err) OCV_WARN_UNUSED;
/** Take a string out of an array in TOML, as earlier versions put it into buildkitd.toml. */
int setup_toml_remove_item(const char *source, struct ocv_buffer *text, const char *table,
                           const char *key, const char *value, bool key_too, bool table_too,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** Take our [[registry]] out of a registries.conf; where others have added a mirror to it, one that
 *  is not among the `copied` ones (text, or NULL), only our mirror. */
int setup_registry_remove(const char *source, struct ocv_buffer *text, const char *prefix,
                          const char *mirror, const char *copied,
                          struct ocv_error *err) OCV_WARN_UNUSED;

#endif
