/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Text pieces of properties, shared by the readers of indexes and profiles. */
#ifndef OCV_CORE_INTERNAL_H
#define OCV_CORE_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/base/format/json.h"
#include "lib/base/format/span.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/digest.h"
#include "ocivariant/error.h"
#include "ocivariant/index.h"
#include "ocivariant/platform.h"
#include "ocivariant/profile.h"
#include "ocivariant/property.h"
#include "ocivariant/reference.h"
#include "ocivariant/registry_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static inline const char *ocv_or_empty(const char *s)
{
    return s ? s : "";
}

/** The type of an image's manifest, which has no variants by itself? */
static inline bool ocv_media_type_is_manifest(const char *type)
{
    return !strcmp(type, OCV_MEDIA_TYPE_MANIFEST) || !strcmp(type, OCV_MEDIA_TYPE_DOCKER_MANIFEST);
}

/** Number of comma-separated pieces of a property list, empty ones included. */
size_t ocv_properties_pieces(struct ocv_span text);
int ocv_property_compare(const struct ocv_property *a, const struct ocv_property *b);

/* How platforms compare. */

/** The architecture in OCI's spelling ("x86_64" -> "amd64"). */
const char *ocv_platform_architecture(const char *architecture);
bool ocv_platform_same_architecture(const struct ocv_platform *a, const struct ocv_platform *b);
/** Compare what makes two entries of an operating system and architecture different: version,
 *  variant (x-... and what all machines are count as none) and features, which must be sorted. */
int ocv_platform_compare(const struct ocv_platform *a, const struct ocv_platform *b);

/** Split one that is known here into "sha256" and its hex, which is borrowed from `digest`:
 *  OCV_ERR_DATA for any other. */
static inline int ocv_digest_split(const char *digest, char algorithm[8], const char **hex,
                                   struct ocv_error *err)
{
    if (!digest || !ocv_digest_known(digest))
        return ocv_error_set(err, OCV_ERR_DATA, "not a digest that can be checked here: '%.150s'",
                             digest ? digest : "");
    size_t len = strcspn(digest, ":"); /* "sha256" or "sha512" */
    memcpy(algorithm, digest, len);
    algorithm[len] = '\0';
    *hex = digest + len + 1;
    return OCV_OK;
}

/* Indexes and manifests as JSON. */

/** ocv_json_load for an index or a manifest: OCV_MANIFEST_MAX bytes and OCV_JSON_VALUES_MAX values.
 */
int ocv_json_load_document(const char *what, const void *bytes, size_t len, json_t **out,
                           struct ocv_error *err) OCV_WARN_UNUSED;

/** mediaType, digest and size of a descriptor, checked (digest grammar, size >= 0). Borrowed. */
int ocv_json_descriptor(const json_t *object, const char *what, const char **media_type,
                        const char **digest, int64_t *size, struct ocv_error *err) OCV_WARN_UNUSED;

/** ocv_document_kind for a document that is parsed already (lib/core/manifest.c). */
int ocv_document_kind_of(const json_t *root, const char *media_type, enum ocv_document_kind *out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/* The entry for a registry, found alike by the configuration and the client. */

/** The entry of the list for this host, by any name of Docker Hub, or zeros. */
static inline struct ocv_registry_config ocv_registry_find(const struct ocv_registry_config *list,
                                                           size_t n, const char *host)
{
    for (size_t i = 0; i < n; i++)
        if (!strcasecmp(ocv_reference_host_canonical(list[i].host),
                        ocv_reference_host_canonical(host)))
            return list[i];
    return (struct ocv_registry_config){0};
}

/* The ordered lists of a host: namespace -> feature -> values, best first, and its devices.
 * Profiles and an index's static namespaces have the same shape. All strings are borrowed. */

#define OCV_PROFILE_NAMESPACES_MAX 256u
#define OCV_PROFILE_FEATURES_MAX 4096u /* features of a namespace or device */
#define OCV_PROFILE_VALUES_MAX 65536u  /* values of a feature */
#define OCV_PROFILE_DEVICES_MAX 1024u  /* devices of a namespace */

struct ocv_feature {
    const char *name;
    const char **values;
    size_t n_values;
};

struct ocv_device {
    const char *id;
    const char *uuid; /* NULL if not recorded */
    long index;       /* PCI order within the namespace; -1 if not recorded: its place */
    bool secondary;
    struct ocv_feature *features;
    size_t n_features;
};

struct ocv_namespace {
    const char *name;
    struct ocv_feature *features;
    size_t n_features;
    struct ocv_device *devices;
    size_t n_devices;
};

const struct ocv_feature *ocv_feature_find(const struct ocv_feature *list, size_t n,
                                           const char *name);
/** Is `text` (PCI index, PCI address with or without domain, UUID) this device? */
bool ocv_device_is(const struct ocv_device *device, const char *text);

/* What a parsed profile looks like inside the core. */

struct ocv_profile {
    struct ocv_arena arena;
    json_t *root; /* keeps the strings, and every key that is not understood here */
    struct ocv_platform platform;
    struct ocv_namespace *namespaces;
    size_t n_namespaces;
};

/** Make a profile of an object that was parsed strictly; it is kept. Errors as ocv_profile_parse.
 */
int ocv_profile_of_json(json_t *root, struct ocv_profile **out, struct ocv_error *err);

/** The namespace of that name, or NULL. */
static inline const struct ocv_namespace *ocv_profile_namespace(const struct ocv_profile *profile,
                                                                const char *name)
{
    for (size_t i = 0; i < profile->n_namespaces; i++)
        if (!strcmp(profile->namespaces[i].name, name))
            return &profile->namespaces[i];
    return NULL;
}

/* Devices that a workload was given, by the names that others have for them, as the profile has
 * them: by UUID, PCI address, CDI name or index. */

#define OCV_GIVEN_MAX 256u        /**< devices of one workload */
#define OCV_GIVEN_TEXT_MAX 256u   /**< bytes of a name or an id */
#define OCV_GIVEN_FOUND_MAX 4096u /**< bytes of what is found */

/** One by one of its names. */
struct ocv_given_device {
    char owner[OCV_GIVEN_TEXT_MAX]; /**< "nvidia.com/gpu", "gpu.nvidia.com"; empty: not known */
    char id[OCV_GIVEN_TEXT_MAX];    /**< UUID, address, index, "VENDOR/CLASS=NAME" */
    size_t group;                   /**< place of the first entry that is about the same device */
};
struct ocv_given_devices {
    struct ocv_given_device list[OCV_GIVEN_MAX];
    size_t n;
};
/** "NS=ID[,ID][;NS=...]" with the profile's ids, each once and in the profile's order, as the key
 *  `devices` of a configuration takes it; empty where nothing was given. A device that the profile
 *  does not have: OCV_ERR_NOT_FOUND with its name, and so is a workload that has only unknown
 *  devices. */
int ocv_given_find(const struct ocv_given_devices *given, const struct ocv_profile *profile,
                   char *out, size_t size, struct ocv_error *err) OCV_WARN_UNUSED;

/* The user that an image's config names (image-spec config.md, `config.User`). */

#define OCV_IMAGE_USER_MAX 128u /**< bytes of a name, with the NUL; longer: OCV_ERR_DATA */
#define OCV_IMAGE_USER_CONFIG_MAX (4u * 1024 * 1024) /**< bytes of a config */

/** The user of a config's bytes as kubelet takes it for a container: what stands before ":" (the
 *  group is left to the engine), and "root" for none, for "0" and for numbers that are 0.
 * Malformed: OCV_ERR_DATA. */
int ocv_image_user(const void *config, size_t len, char out[OCV_IMAGE_USER_MAX],
                   struct ocv_error *err) OCV_WARN_UNUSED;

/** The same of a config that was parsed; NULL: an empty one. */
int ocv_image_user_of(const json_t *config, char out[OCV_IMAGE_USER_MAX],
                      struct ocv_error *err) OCV_WARN_UNUSED;

/* What the parsed index looks like inside the core. */

/** Why an entry cannot be told from others that are not here. */
struct ocv_index_doubt {
    const char *message, *hint; /**< message NULL: it can */
};

struct ocv_index {
    struct ocv_arena arena;
    json_t *root; /* keeps the strings that entries borrow */
    char digest[OCV_DIGEST_MAX];
    struct ocv_entry *entries;
    size_t n_entries;
    struct ocv_property *properties; /* sorted, distinct; the position is the id */
    size_t n_properties;
    const char **namespaces;
    size_t n_namespaces;
    bool declared; /* the namespaces annotation was there */
    bool has_variants;
    struct ocv_namespace *statics;
    size_t n_statics;
    const char **warnings;
    size_t n_warnings;
    const char *rule, *group; /* made of a group's tags by this family's rules, or NULL */
    const struct ocv_index_doubt *doubts; /* one for each entry of such an index, or NULL */
};

/** The tag of which a rule made the entry, or NULL. Inline, as below. */
static inline const char *ocv_entry_tag(const struct ocv_index *index,
                                        const struct ocv_entry *entry)
{
    const json_t *one = json_array_get(json_object_get(index->root, "manifests"), entry->position);
    return json_string_value(
        json_object_get(json_object_get(one, "annotations"), OCV_ANNOTATION_REF_NAME));
}

/** OCV_ERR_DATA if the entry (or NULL) is one of several among which nothing decides. Inline: the
 *  library of tag rules, which is not part of the core's, asks it, too. */
static inline int ocv_index_check_doubt(const struct ocv_index *index,
                                        const struct ocv_entry *entry, struct ocv_error *err)
{
    const char *message = ocv_index_doubt(index, entry);
    if (!message || !entry || !index->doubts)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_DATA, "%s", message);
    ocv_error_hint(err, "%s", index->doubts[entry->position].hint);
    return OCV_ERR_DATA;
}

/** Read entry `i` from its JSON. `*set` stays NULL for a non-variant or a malformed list. */
int ocv_index_read_entry(struct ocv_index *index, size_t i, const json_t *object,
                         struct ocv_properties **set, struct ocv_error *err);
/** Give an entry its code and what is wrong with it, unless it has a code already. */
int ocv_index_reject_entry(struct ocv_index *index, struct ocv_entry *entry, enum ocv_reject code,
                           const char *detail, struct ocv_error *err);
/** Give every entry its sorted property ids; `sets[i]` is entry i's list or NULL. */
int ocv_index_intern(struct ocv_index *index, struct ocv_properties *const *sets,
                     struct ocv_error *err);
/** Read namespaces order and static namespaces from the index annotations. */
int ocv_index_read_annotations(struct ocv_index *index, const json_t *annotations,
                               struct ocv_error *err);
int ocv_index_warn(struct ocv_index *index, struct ocv_error *err, const char *format, ...)
    OCV_PRINTF(3, 4);

#endif
