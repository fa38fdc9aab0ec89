/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Positions of elements in JSON and TOML text, and edits common to both. */
#ifndef OCV_SETUP_INTERNAL_H
#define OCV_SETUP_INTERNAL_H

#include "cmd/variantctl/setup/setup.h"
#include "lib/base/format/json.h"

#include <jansson.h>
#include <stdlib.h>

struct array_span {
    size_t from, to;
};

#define ARRAY_SPANS_MAX 1024u

/* Positions of an array's elements or an object's members. */
struct array_spans {
    struct array_span list[ARRAY_SPANS_MAX];
    size_t n;
};

/** The position after blanks and line ends; the text ends with NUL. */
size_t array_skip_blank(const char *text, size_t at);
/** Insert as the first element of the array at `open`, on a line of its own if the others are. */
int array_insert_first(struct ocv_buffer *text, size_t open, const struct array_spans *spans,
                       const char *quoted, struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove member or element i with one comma. */
int array_remove(struct ocv_buffer *text, size_t open, const struct array_spans *spans, size_t i,
                 struct ocv_error *err) OCV_WARN_UNUSED;

/* JSON objects: daemon.json and the state. */

/** Parse an object: strict, no duplicate names. `source` names the file in messages. */
int setup_json_load(const char *source, const char *text, size_t len, json_t **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;

/* Where this machine's variantd listens, for which registries, and which program answers there. */

#define SETUP_ADDRESS_MAX 64

enum setup_mirror {
    SETUP_MIRROR_UNKNOWN,   /**< another tree, or not an address of this machine */
    SETUP_MIRROR_OURS,      /**< variantd */
    SETUP_MIRROR_NOBODY,    /**< engines bypass it or fail, depending on the set-up */
    SETUP_MIRROR_FOREIGN,   /**< another program answers this machine's pulls */
    SETUP_MIRROR_ELSEWHERE, /**< variantd is running, but listens at another address */
};

/* The daemon's report about itself. */
struct setup_daemon {
    char listen[SETUP_ADDRESS_MAX];
    uid_t uid;
    char choose[16];    /**< of all images; empty: an older daemon, which does not report it */
    json_t *registries; /**< NULL: an older daemon, which does not report it */
};

/** Ask this machine's daemon, once; not with --root. */
void setup_ask_daemon(struct setup *setup);

enum setup_known {
    SETUP_KNOWN,       /**< the running daemon has it, or its configuration if none is running */
    SETUP_KNOWN_LATER, /**< in its configuration, which the running daemon has not read yet */
    SETUP_KNOWN_NOT,   /**< it has others, but not this one */
    SETUP_KNOWN_NONE,  /**< it has no registry at all */
};
/** Whether variantd has this registry; `host` NULL: any registry. */
enum setup_known setup_registry_known(const struct setup *setup, const char *host);
/** Refuse registries that variantd does not have (OCV_ERR_CONFIG), and note what does not work
 *  yet. */
int setup_check_registries(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** Find out who is at "ADDRESS:PORT". `detail`: the user of a foreign program, the address of
 *  variantd, or empty. */
enum setup_mirror setup_check_mirror(const struct setup *setup, const char *listen,
                                     char detail[SETUP_ADDRESS_MAX]);

/* Whether variantd can serve the images of the registries that engines ask it about. */

/** The daemon's report about its registries (/v1/registries), for which it asks them; owned by the
 *  caller. NULL: no daemon answers, an older one, or --root. */
json_t *setup_ask_registries(const struct setup *setup);
/** Warnings as lines of text: failures, and what an engine's images do without. `engine` NULL:
 *  about the registries themselves. `hosts`: the engine's registries, an array of strings; empty:
 *  all. `*bad`: one is the configuration's fault. `told` may be NULL. */
int setup_reach_lines(const json_t *told, const char *engine, const json_t *hosts,
                      const char *prefix, bool *bad, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

/* Files and directories below the root, by descriptors. Paths are below the root, with links
 * resolved (setup_resolve); one that has become a link since is an error. */

/** Set setup->root_fd for setup->root; -1 with errno. */
int setup_open_root(struct setup *setup);
/** Open a directory; -1 with errno. `make`: create missing directories, the last one with this
 *  mode, those above with the usual one; 0: create none. */
int setup_enter(const struct setup *setup, const char *path, mode_t make);
/** The same with an error message; `*out` (may be NULL): the descriptor. */
int setup_make_directories(const struct setup *setup, const char *path, mode_t mode, int *out,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the directory does not exist any more; it stays if it is not empty. */
bool setup_remove_directory(const struct setup *setup, const char *path);

/** Open for reading without blocking; -1 with errno. */
int setup_open_file(const struct setup *setup, const char *path);
int setup_read_fd(int fd, const char *path, struct ocv_buffer *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Read a file into a buffer; OCV_ERR_NOT_FOUND if it is missing. */
int setup_read_file(const struct setup *setup, const char *path, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Write with a temporary file, fsync and rename, or in place if the file has hard links (never
 *  below --root); creates directories. `restore`: also set its time of modification. */
int setup_write_file(const struct setup *setup, const char *path,
                     const struct setup_content *content, bool restore,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove a file if it exists. */
int setup_remove_file(const struct setup *setup, const char *path,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** The content that a killed setup_write_file was writing in place; else OCV_ERR_NOT_FOUND. */
int setup_read_whole(const struct setup *setup, const char *path, struct ocv_buffer *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove the temporary file of a killed setup_write_file of that path; `whole_too`: also that
 *  content. */
void setup_unlink_temporary(const struct setup *setup, const char *path, bool whole_too);

#endif
