/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file config.h
 * Configuration (YAML; schema/config.schema.json).
 *
 * Ownership: the caller owns a configuration and frees it. Whatever it returns is borrowed from it
 * until it is changed or freed. Thread safety: once it is no longer changed (merge, set), any
 * number of threads may read it.
 */
#ifndef OCV_CONFIG_H
#define OCV_CONFIG_H

#include "lib/core/core_internal.h"
#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/index.h"
#include "ocivariant/preferences.h"
#include "ocivariant/profile.h"
#include "ocivariant/property.h"
#include "ocivariant/reference.h"
#include "ocivariant/registry_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ocv_config;
/** An empty configuration. */
int ocv_config_new(struct ocv_config **out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_config_free(struct ocv_config *config);
/** Leave out keys of files that are not known, and say so: a file may be written for a later
 *  version than this one. */
void ocv_config_tolerate(struct ocv_config *config, void (*unknown)(const char *message));
/** Read YAML over what is there: a key given again replaces the earlier value. `source` is the
 *  file name for messages. Unknown key, wrong type, bad value: OCV_ERR_CONFIG "FILE:LINE: ...". */
int ocv_config_merge_yaml(struct ocv_config *config, const char *source, const char *text,
                          size_t len, struct ocv_error *err) OCV_WARN_UNUSED;
/** Set one key from text, as environment variables and flags do. `key` is the YAML key
 *  ("namespace_priority", "device_policy", "devices", "disable", "to", ...); lists are
 *  comma-separated, maps are NS=VALUE[,VALUE], several separated by ';' or by calling again.
 *  `append` adds to a list or map instead of replacing it. `source` names it in messages. */
int ocv_config_set(struct ocv_config *config, const char *source, const char *key, const char *text,
                   bool append, struct ocv_error *err) OCV_WARN_UNUSED;
/** Give one registry its URL ("http://..." makes it insecure: plain HTTP is meant), beside those
 * that files name; one of that name is replaced. Not a URL: OCV_ERR_CONFIG. */
int ocv_config_set_registry(struct ocv_config *config, const char *host, const char *url,
                            struct ocv_error *err) OCV_WARN_UNUSED;
/** Every known key, NULL-terminated; "OCV_" + upper case is its environment variable. */
const char *const *ocv_config_keys(void);
/** The settings for the images of one repository: the configuration of the most specific of
 *  `repositories` that names it (docs/configuration.md), over `config`; or `config` itself, where
 *  none does. Values set by ocv_config_set override both. Every function that takes a configuration
 *  takes it; borrowed from `config`, until that is changed. Either may be NULL. */
const struct ocv_config *ocv_config_for_reference(const struct ocv_config *config,
                                                  const struct ocv_reference *reference);
/** A scalar key's value (to, listen, socket, mode, tag_rules, policy, ...; a repository's label),
 *  NULL if not set. */
const char *ocv_config_get(const struct ocv_config *config, const char *key);
/** Does the key say something else in one of them? Where it was set does not count. */
bool ocv_config_differs(const struct ocv_config *a, const struct ocv_config *b, const char *key);
/** Where that was set: "FILE:LINE", or the `source` of ocv_config_set; NULL if it was not. */
const char *ocv_config_origin(const struct ocv_config *config, const char *key);
/** The glob of `repositories` that this configuration is for, and where it stands; NULL for what
 *  ocv_config_for_reference did not find by one. */
const char *ocv_config_repository(const struct ocv_config *config, const char **origin);
/** Does a member of `repositories` set the scalar key to this text? */
bool ocv_config_any_repository(const struct ocv_config *config, const char *key, const char *text);
/** The members of a list key (require, host_names, ...), and how many there are. `members` may be
 * NULL. */
size_t ocv_config_list(const struct ocv_config *config, const char *key,
                       const char *const **members);
/** The `registries`, in the order in which they were read, and how many there are; valid until the
 *  configuration is changed. Tag rules for the repositories of `mirror_of` know the registry's own
 *  (ocv_tag_rules_mirror). `config` may be NULL. */
size_t ocv_config_registries(const struct ocv_config *config,
                             const struct ocv_registry_config **out);
/** A part of a registry that mirrors another one: "harbor.example/dockerhub", "docker.io". */
struct ocv_path_mirror {
    char *prefix, *of;
};
/** Those of `registries`, in the file's order. Their hosts are registries, too. */
size_t ocv_config_path_mirrors(const struct ocv_config *config,
                               const struct ocv_path_mirror **list);
/** The entry for a host; `host` of the result is NULL if there is none. */
struct ocv_registry_config ocv_config_find_registry(const struct ocv_config *config,
                                                    const char *host);
/** Where `ca`, `cert` or `key` of the registry was set, which is named as in ocv_config_registries:
 *  "FILE:LINE"; NULL if it was not. */
const char *ocv_config_registry_origin(const struct ocv_config *config, const char *host,
                                       const char *key);
/** A rule of `trust`. Borrowed from the configuration. */
struct ocv_trust_rule {
    size_t place; /**< of ocv_config_trust_rules */
    const char *glob, *origin;
    const char *const *keys; /**< files */
    size_t n_keys;
    bool require; /**< refuse what is not signed; else only tell */
    bool match;   /**< the signature has to name the repository */
};
/** The rules for a reference's images: the most specific one for its name, and for the name of what
 *  its registry mirrors. Each has to hold. Returns how many there are, 2 at most. */
size_t ocv_config_trust(const struct ocv_config *config, const struct ocv_reference *reference,
                        struct ocv_trust_rule out[2]);
/** Does one of them refuse what is not signed? */
bool ocv_config_trust_required(const struct ocv_config *config,
                               const struct ocv_reference *reference);
/** Does any rule refuse something? Then a name that cannot be read may be one that it is for. */
bool ocv_config_trust_anywhere(const struct ocv_config *config);
/** How many rules there are in all; `out` (may be NULL) becomes the i-th. */
size_t ocv_config_trust_rules(const struct ocv_config *config, size_t i,
                              struct ocv_trust_rule *out);
/** Is the next best build taken where the reference's registry lacks the best one (`sparse`)? */
bool ocv_config_takes_next(const struct ocv_config *config, const struct ocv_reference *reference);
/** HOST/REPOSITORY of what the reference's registry mirrors, by `mirror_of`; false: it mirrors
 *  none. */
bool ocv_config_upstream_name(const struct ocv_config *config,
                              const struct ocv_reference *reference, char *out, size_t size);
/** Its preferences for choosing among entries; none for NULL. Borrows from the configuration. */
struct ocv_preferences ocv_config_preferences(const struct ocv_config *config);
/** Those for the images of a reference: of ocv_config_for_reference, with its tag, which is
 *  borrowed. */
struct ocv_preferences ocv_config_preferences_for(const struct ocv_config *config,
                                                  const struct ocv_reference *reference);
/** Where names are looked for beside the vocabulary and `known_namespaces`. */
struct ocv_name_sources {
    const struct ocv_profile *profile; /**< of the host, without the configuration's `override` */
    const struct ocv_index *index;     /**< or NULL: not known (yet) */
    const char *const *providers;      /**< namespaces of providers that are not in the profile */
    size_t n_providers;
};
enum ocv_unknown_kind {
    OCV_UNKNOWN_NAME, /**< an unknown namespace, feature or value */
    OCV_UNKNOWN_HOST, /**< a device that this host does not have */
    OCV_UNKNOWN_NOTE  /**< allowed: in namespace_priority a name that resembles none */
};
/** A name by which the configuration selects and that is not known. Valid during the call. */
struct ocv_unknown_name {
    const char *origin;  /**< as ocv_config_origin gives it */
    const char *key;     /**< "disable" */
    const char *message; /**< "no namespace 'nvida'; did you mean 'nvidia'?" */
    enum ocv_unknown_kind kind;
};
/** Anything but 0 ends the walk and is returned. */
typedef int (*ocv_unknown_visit)(void *data, const struct ocv_unknown_name *name);
/** Hold the names of disable, require, device_policy, devices, override and namespace_priority, as
 *  they are in force in `config`, against all that is known, and visit those that are not. */
int ocv_config_check_names(const struct ocv_config *config, const struct ocv_name_sources *sources,
                           ocv_unknown_visit visit, void *data);
/** The same, and those of every member of `repositories`. */
int ocv_config_check_all_names(const struct ocv_config *config,
                               const struct ocv_name_sources *sources, ocv_unknown_visit visit,
                               void *data);
/** Forget what files and variables say of this machine (`override`, `devices`): it is another one
 * that is asked about. What flags say stays. Returns the first of these keys that
 * was there, or NULL. */
const char *ocv_config_forget_host(struct ocv_config *config);
/** Would ocv_config_override_profile change anything? */
bool ocv_config_overrides(const struct ocv_config *config);
/** A new profile with the configuration's `override` lists applied: they replace the namespace's
 *  list of that feature and every device's. */
int ocv_config_override_profile(const struct ocv_config *config, const struct ocv_profile *profile,
                                struct ocv_profile **out, struct ocv_error *err) OCV_WARN_UNUSED;

OCV_DEFINE_CLEANUP(ocv_config)

/* Whether variants are chosen (`choose`), for all images or for those of a repository. */

/** From most to least. */
enum ocv_choose {
    OCV_CHOOSE_ON,
    OCV_CHOOSE_SHADOW, /**< resolve, log and count; answer as for an ordinary image */
    OCV_CHOOSE_OFF     /**< do not even resolve */
};

const char *ocv_choose_name(enum ocv_choose choose);
/** The mode of that name; `on` for NULL and for any other text. */
enum ocv_choose ocv_choose_of(const char *name);
/** What `choose` says in a configuration (NULL: on); in one of ocv_config_for_reference, for the
 *  images of that repository. */
enum ocv_choose ocv_config_choose(const struct ocv_config *config);
/** The same for a reference as text; NULL or malformed: for all images. */
enum ocv_choose ocv_config_choose_text(const struct ocv_config *config, const char *reference);

/** Whether each pod may get its own build (`workload` of a repository). */
enum ocv_workload { OCV_WORKLOAD_OFF, OCV_WORKLOAD_ANNOTATIONS, OCV_WORKLOAD_DEVICES };

/** What a configuration of ocv_config_for_reference says; off for any other, and where `choose` is
 *  not on. */
enum ocv_workload ocv_config_workload(const struct ocv_config *config);

/* Which devices an image has to fit where each pod may get its own build (`workload`). */

/** What preferences borrow; zero-initialised. */
struct ocv_workload_input {
    struct ocv_config *devices;
    struct ocv_device_setting *settings;
    struct ocv_policy_setting *policies;
};
void ocv_workload_input_free(struct ocv_workload_input *input);

/** Has any repository `workload: devices`? */
bool ocv_workload_anywhere(const struct ocv_config *config);

/** Narrow the preferences to `devices` ("NS=ID[,ID][;NS=...]", empty: none); of every other
 *  namespace that has devices, to none. */
int ocv_workload_devices(const char *devices, const struct ocv_profile *profile,
                         struct ocv_workload_input *input, struct ocv_preferences *preferences,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/** The devices in "ID,ID,..." as lib/internal/records/records.h writes it.
 * OCV_ERR_INVALID where it is too long. */
int ocv_workload_given(const char *text, struct ocv_given_devices *out,
                       struct ocv_error *err) OCV_WARN_UNUSED;

/** The preferences that an image of the configuration's repository has to fit. With `workload:
 *  devices` and a container's devices (`given`, such a text, or NULL) that the profile has: for
 *  these. Otherwise, with `workload` on: for any device of the node, since pods get builds for some
 *  of them. `*by` (may be NULL) becomes the devices that were used, OCV_GIVEN_FOUND_MAX bytes, or
 *  empty. */
int ocv_workload_preferences(const struct ocv_config *config, const struct ocv_profile *profile,
                             const char *given, struct ocv_workload_input *input,
                             struct ocv_preferences *out, char *by,
                             struct ocv_error *err) OCV_WARN_UNUSED;

#endif
