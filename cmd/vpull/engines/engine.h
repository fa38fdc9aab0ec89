/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file engine.h
 * Shared by the engine destinations: requests to an HTTP API, credentials, small encodings.
 */
#ifndef VPULL_ENGINE_H
#define VPULL_ENGINE_H

#include "cmd/common/cli.h"
#include "cmd/common/image/image.h"
#include "cmd/common/image/lockfile.h"
#include "cmd/common/progress/progress.h"
#include "cmd/common/progress/progress_internal.h"

#include <stdbool.h>
#include <stdio.h>

/* vpull as Docker CLI plugin: docker runs `docker-vpull` with all of its own arguments, global
 * options before the word `vpull` included.
 */

enum plugin_call {
    PLUGIN_NONE,       /**< an ordinary program, not called as a plugin */
    PLUGIN_METADATA,   /**< docker asks for the plugin's metadata */
    PLUGIN_COMPLETION, /**< cobra's completion protocol */
    PLUGIN_HOOK,       /**< docker asks for a hint after one of its own commands failed */
    PLUGIN_HELP,       /**< docker help vpull */
    PLUGIN_RUN,        /**< docker [GLOBAL] vpull ARGS, or docker-vpull ARGS */
};

/** docker's global options that select an engine. Borrowed from argv; NULL if not given. */
struct plugin_globals {
    const char *config;
    const char *context;
    const char *host;
    const char *tls_ca, *tls_cert, *tls_key;
    bool tls, tls_verify;
    bool debug;
};

struct plugin_args {
    enum plugin_call call;
    int first; /**< index in argv of vpull's first argument */
    struct plugin_globals globals;
};

/** Read argv as docker passes it. */
void plugin_parse(int argc, char **argv, struct plugin_args *out);
/** The metadata docker wants on stdout. */
void plugin_print_metadata(FILE *stream);
/** Answer a hook call; `json` is docker's description of the failed command. Prints a hint if an
 *  image had no entry for this machine, else nothing. */
void plugin_print_hook(FILE *stream, const char *json);
/** docker closes the socket named in the environment to stop the command: `*flag` is set then. Does
 *  nothing if docker names none. */
void plugin_watch(volatile int *flag);

/* The chosen image on its way to a destination.
 */

/** vpull's own command-line options. */
struct pull_options {
    const char *to;                  /**< --to, or the configuration's, or NULL: the first engine */
    const char *tag;                 /**< --tag: name of the result */
    const char *ns;                  /**< -n: containerd namespace */
    unsigned jobs;                   /**< images at once, and layers of all together */
    const struct lock_image *locked; /**< of the current image, or NULL */
    /** taken from the lock without a probe (--lock-profile), or NULL */
    const struct lock_choice *choice;
    bool dry_run, print_ref, quiet, verify;
    bool many;                    /**< several images: a line about one names it */
    struct plugin_globals docker; /**< docker's global options */
};

struct pull {
    struct cli *cli;
    const struct pull_options *options;
    struct progress *progress;
    struct ocv_buffer *prints; /**< goes to standard output when its turn comes */
    struct image image;
    struct ocv_decision *decision;
    const struct ocv_entry *entry;  /**< the chosen one */
    struct ocv_signature signature; /**< of `subject`; `key` empty: none was asked for */
    const char *subject;            /**< digest of what the name stands for, or what names it */
    struct manifest_doc child;      /**< its manifest; read by pull_child */
    char *name;                     /**< name of the result, "host/repo:tag"; may be NULL */
    bool staged; /**< the fetched image goes on into an engine: a layer is not done when its bytes
                    have arrived */
    bool cached; /**< the destination already had everything */
};

/** "repo@sha256:..." of the chosen manifest; NULL without memory. The caller frees it. */
char *pull_digest_reference(const struct pull *pull);
/** Fetch the chosen image into a layout with progress shown. */
int pull_to_layout(struct pull *pull, struct ocv_layout *layout,
                   struct ocv_error *err) OCV_WARN_UNUSED;

/** Where an engine's API is. */
struct endpoint {
    char socket[512];            /**< unix socket, or empty */
    char base[512];              /**< "http://localhost", "https://host:port" */
    const char *ca, *cert, *key; /**< TLS files of a remote engine; NULL: none */
    char tls_dir[3][600];        /**< storage for them */
};

/** Read unix://PATH, tcp://HOST:PORT, http(s)://. Others: OCV_ERR_UNSUPPORTED. */
int endpoint_parse(const char *text, bool tls, struct endpoint *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;

struct engine_call {
    const char *method, *path; /**< path with query, from "/" */
    const char *header;        /**< one more header, or NULL */
    int upload_fd;             /**< body, if `upload` is set */
    bool upload;
    unsigned timeout_ms;
    /** Called for each line of a streamed answer with status 200; NULL: the body goes to
     *  `answer`. */
    int (*line)(void *data, const char *text);
    void *data;
    struct ocv_buffer *answer; /**< body of an error, or the whole answer; may be NULL */
};
/** Perform it. A status of 400 or more becomes OCV_ERR_ENGINE with the engine's message. */
int engine_call(struct cli *cli, const struct endpoint *endpoint, const struct engine_call *call,
                struct ocv_error *err) OCV_WARN_UNUSED;

/** An archive of the chosen image in an unlinked temporary file, for engines that cannot reach its
 *  source. The caller closes `*fd`. */
int engine_archive(struct pull *pull, int *fd, struct ocv_error *err) OCV_WARN_UNUSED;
/** Fetch, then run a client and write such an archive to its standard input, without a file
 *  between. `line` gets `pull` and each line of the client's output. `name`: the engine's, for
 *  messages. */
int engine_feed(struct pull *pull, const char *name, const char *const *argv,
                void (*line)(void *data, const char *text), struct ocv_error *err) OCV_WARN_UNUSED;

/* Destinations of an image: one file for each, one table.
 */

struct destination {
    const char *name;     /**< as in --to */
    const char *argument; /**< text after "NAME:", for the help; NULL: none */
    /** True if the engine answers. NULL: never a default. */
    bool (*available)(struct cli *cli, const struct pull_options *options);
    /** Bring the chosen image there and name it. `where` (may stay empty): text for the user. */
    int (*pull)(struct pull *pull, const char *argument, char *where, size_t size,
                struct ocv_error *err);
};

extern const struct destination destination_docker, destination_podman, destination_containerd,
    destination_nerdctl, destination_oci, destination_archive;

/** All destinations as --to takes them: "docker, ..., oci:DIR[:TAG]". */
void destination_forms(char *out, size_t size);

/** Hooks of struct cli_command: for the help, and to complete DESTINATION. */
void destination_print(void);
bool destination_complete(struct ocv_completion *c, const char *kind);

/** Find the destination of --to, or the first engine that answers, or `oci:` under the XDG data
 * directory.
 *  `*argument` is owned by the caller. */
int destination_choose(struct cli *cli, const struct pull_options *options,
                       struct progress *progress, const struct destination **out, char **argument,
                       struct ocv_error *err) OCV_WARN_UNUSED;

/* An image fetched into a temporary layout, for destinations that take a whole archive.
 */

struct staging {
    char dir[4096];
    int lock;    /* the directory, with flock: one vpull at a time stages an image there */
    bool unique; /* random name, since the usual one was taken: cannot be resumed */
    struct ocv_layout *layout;
};

/** Fetch the chosen image into a private directory beside the file `near` (same file system), or in
 *  TMPDIR (/var/tmp) if NULL. The directory is named after the image, so that the next vpull can
 *  resume an interrupted fetch. Call staging_remove in every case. */
int staging_fetch(struct pull *pull, const char *near, struct staging *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Write a docker-archive tar under the result's name. */
int staging_write(const struct pull *pull, const struct staging *staging, int fd,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove the directory, or keep it for a resume if `status` says that the fetch was cut short. */
void staging_remove(struct staging *staging, int status);

/* Takes apart what an engine streams: lines in any pieces, and docker's
 *  progress. Pure. */

#define ENGINE_LINE_MAX (256u * 1024) /* the rest of a longer line is left out */
#define ENGINE_BYTES_MAX ((int64_t)1 << 50)

/** Lines that arrive in pieces. `text` has ENGINE_LINE_MAX bytes. */
struct engine_lines {
    char *text;
    size_t len;
    /** Gets each line that is not empty; a result other than 0 stops. */
    int (*line)(void *data, const char *text);
    void *data;
};
/** The next piece: returns what `line` returned last. A carriage return ends a line, too. */
int engine_lines_take(struct engine_lines *lines, const char *bytes, size_t len);
/** There is no more: the last line may lack its end. */
int engine_lines_flush(struct engine_lines *lines);

/** A line of POST /images/create or /images/load. */
struct docker_line {
    char id[13]; /**< of a layer, or empty */
    enum layer_state state;
    int64_t done, total; /**< bytes; negative: not known */
    char failure[600];   /**< why the whole has failed, or empty */
};
/** Anything else than such a line gives an empty one. */
void docker_line_parse(const char *text, struct docker_line *out);

/* Running an engine's own client. */

/** Run a program with `stdin_fd` as standard input (-1: /dev/null). Its output is read line by line
 *  (`line` may be NULL); the last line of its errors goes to `err`. `terminal`: standard error is
 *  one, for clients that show progress only there, and its lines go to `line`, without control
 *  sequences. Uses `cli`'s interrupt flag and tick. */
int subprocess_run(const char *const *argv, int stdin_fd, bool terminal,
                   void (*line)(void *data, const char *text), void *data, const struct cli *cli,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the program is found in PATH. */
bool subprocess_available(const char *name);

/* Parses podman's progress bars. Pure. */

struct podman_line {
    char id[13]; /**< first 12 digits of the layer's digest */
    enum layer_state state;
    int64_t done; /**< bytes; negative: not known */
};
/** Read a line "Copying blob ID ..." of podman 3 to 5, including bars. False: another line. */
bool podman_line_parse(const char *text, struct podman_line *out);

/* Finds the Docker Engine. */

#define DOCKER_PATH_MAX 4096 /* length of a path in docker's configuration */

/** Find the engine from docker's global options, the environment and docker's configuration. `out`
 *  owns its strings, except those borrowed from `globals`; it must not be moved. OCV_ERR_CONFIG if
 *  the context does not exist, OCV_ERR_UNSUPPORTED for an ssh:// address. */
int docker_endpoint(const struct plugin_globals *globals, struct endpoint *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;

#endif
