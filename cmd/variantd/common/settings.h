/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemon's settings: configuration files and flags (never OCV_* variables: a daemon's
 * environment is not an interface), checked once and then read only. A reload makes a new one. */
#ifndef VARIANTD_SETTINGS_H
#define VARIANTD_SETTINGS_H

#include "lib/config/choose.h"
#include "lib/config/config.h"
#include "ocivariant-registry.h"
#include "ocivariant.h"

#include <stdint.h>

#define SETTINGS_UPSTREAMS_MAX 256u /**< registries that may be contacted */

enum mode { MODE_AUTO, MODE_RESOLVER, MODE_PROXY };

/** A registry, or a directory with an OCI layout, that requests may be sent to. */
struct upstream {
    const char *name;    /**< as in references and `?ns=`: "docker.io", "registry:5000" */
    const char *segment; /**< the same as first component of a path: "registry--5000" */
    const char *layout;  /**< directory with the layout that replaces it, or NULL */
};

struct settings {
    struct ocv_config *config; /**< owned; the registry client reads TLS and URLs from it */
    enum mode mode;
    char *listen_address; /**< "127.0.0.1:340", "[::1]:5050" */
    bool listen_default;  /**< it was not configured */
    char *socket_path;
    char *metrics_listen;   /**< metrics on TCP, too, or NULL */
    char *profile_file;     /**< --profile: never probed, or NULL */
    char *authfile;         /**< `credentials`: the daemon's own docker config, or NULL: none */
    char *provider_config;  /**< `image_credential_provider_config`, or NULL: none */
    char *provider_bin_dir; /**< `image_credential_provider_bin_dir`, where that is set */
    bool serve_private;     /**< a GET may answer with what needed the daemon's credentials */
    bool tag_rules;         /**< for any repository */
    bool log_json;          /**< access log and messages as JSON lines */
    bool access_log;
    int64_t tag_ttl_ms;         /**< 0: every pull asks upstream */
    bool once;                  /**< --once: probe at start, then never again */
    bool whole_node;            /**< --whole-node: see struct ocv_probe_options */
    char *records;              /**< directory of what was resolved on this node */
    const char *datadir;        /**< data directory, or NULL for the installed one; borrowed */
    int64_t probe_interval_ms;  /**< 0: only on events */
    struct upstream *upstreams; /**< the first is the default one where there is a default */
    size_t n_upstreams;
    const struct upstream *default_upstream; /**< for a path that names none, or NULL */
};

/** The configuration that holds for the images of a repository (NULL: for any). */
const struct ocv_config *settings_for(const struct settings *settings,
                                      const struct ocv_reference *reference);
/** The same by a reference as text (NULL or malformed: for any). */
const struct ocv_config *settings_for_text(const struct settings *settings, const char *text);
/** Do tag rules hold for the repository? */
bool settings_tag_rules(const struct settings *settings, const struct ocv_reference *reference);
/** Are variants chosen in the repository (NULL: in all that say nothing of their own)? */
enum ocv_choose settings_choose(const struct settings *settings,
                                const struct ocv_reference *reference);
/** The upstream of that name; "index.docker.io" and "registry-1.docker.io" are "docker.io". NULL:
 *  not configured, so never contacted. */
const struct upstream *settings_upstream(const struct settings *settings, const char *name);
/** The one whose `segment` it is, or NULL. */
const struct upstream *settings_segment(const struct settings *settings, const char *segment,
                                        size_t len);

#endif
