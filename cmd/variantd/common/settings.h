/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemon's settings: configuration files and flags, but not OCV_* variables, since a daemon's
 * environment is not an interface. Checked once and read-only afterwards; a reload makes new
 * settings. */
#ifndef VARIANTD_SETTINGS_H
#define VARIANTD_SETTINGS_H

#include "lib/internal/config/config.h"
#include "ocivariant-registry.h"
#include "ocivariant.h"

#include <stdint.h>

#define SETTINGS_UPSTREAMS_MAX 256u /**< registries that may be contacted */

enum mode { MODE_AUTO, MODE_RESOLVER, MODE_PROXY };

/** A registry, or a directory with an OCI layout, to which requests may be sent. */
struct upstream {
    const char *name;    /**< as in references and `?ns=`: "docker.io", "registry:5000" */
    const char *segment; /**< the same as the first part of a path: "registry--5000" */
    const char *layout;  /**< directory with the layout that replaces it, or NULL */
};

struct settings {
    struct ocv_config *config; /**< owned; the registry client reads TLS and URLs from it */
    enum mode mode;
    const char *listen_address; /**< "127.0.0.1:340", "[::1]:5050"; this and the next five are the
                                 *   configuration's, or a default */
    const char *socket_path;
    const char *metrics_listen;   /**< a TCP address that serves metrics too, or NULL */
    const char *authfile;         /**< `credentials`: the daemon's own docker config, or NULL */
    const char *provider_config;  /**< `image_credential_provider_config`, or NULL */
    const char *provider_bin_dir; /**< `image_credential_provider_bin_dir`, or NULL */
    bool listen_default;          /**< the built-in default */
    char *profile_file;           /**< --profile: no probe; or NULL */
    bool serve_private;           /**< a GET may use the daemon's credentials for the client */
    bool tag_rules;               /**< for any repository */
    bool log_json;                /**< access log and messages as JSON lines */
    bool access_log;
    int64_t tag_ttl_ms;         /**< 0: every pull asks upstream */
    bool once;                  /**< --once: probe at start, then never again */
    bool whole_node;            /**< --whole-node: see struct ocv_probe_options */
    char *records;              /**< directory of what was resolved on this node */
    const char *datadir;        /**< data directory, or NULL for the installed one; borrowed */
    int64_t probe_interval_ms;  /**< 0: only after events */
    struct upstream *upstreams; /**< the first one is the default, if there is a default */
    size_t n_upstreams;
    struct ocv_signature_keys **trust; /**< of each rule of `trust`; NULL where it has none */
    size_t n_trust;
    const struct upstream *default_upstream; /**< for a path that names no registry, or NULL */
};

/** ocv_config_for_reference for a reference as text (NULL or malformed: any repository). */
const struct ocv_config *settings_for_text(const struct settings *settings, const char *text);
/** The reference of that name; NULL if it is none. The caller frees it. */
struct ocv_reference *settings_reference(const char *text);
/** True if that key (`tag_rules`, `cpu_levels`) is on in the repository. */
bool settings_on(const struct settings *settings, const struct ocv_reference *reference,
                 const char *key);
/** The upstream of that name; "index.docker.io" and "registry-1.docker.io" mean "docker.io". NULL:
 *  not configured, so never contacted. */
const struct upstream *settings_upstream(const struct settings *settings, const char *name);
/** The upstream with that `segment`, or NULL. */
const struct upstream *settings_segment(const struct settings *settings, const char *segment,
                                        size_t len);

/* Makes the settings from the configuration and flags. */

/** Settings that only flags can make. Borrowed. */
struct settings_flags {
    const char *const *registries; /**< --registry HOST[=URL] */
    size_t n_registries;
    const char *const *layouts; /**< --layout DIR */
    size_t n_layouts;
    const char *profile_file;
    const char *datadir; /**< kept by the settings */
    const char *records; /**< used if the configuration has no `state_dir`; borrowed */
    bool once, whole_node;
};

/** Takes over `config`, even on failure. OCV_ERR_CONFIG if the settings are inconsistent. */
int settings_make(struct ocv_config *config, const struct settings_flags *flags,
                  struct settings **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** 0 if choices can be recorded in `records` now, else an errno. */
int settings_records_fault(const struct settings *settings);
void settings_free(struct settings *settings);
OCV_DEFINE_CLEANUP(settings)

#endif
