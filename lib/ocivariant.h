/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file ocivariant.h
 * libocivariant: choose the image of an OCI image index that was built for this machine.
 *
 * The library reads three kinds of documents (an image index with variant annotations, a host
 * profile, a configuration file) and turns them into a decision that can be explained. The core
 * does no I/O, keeps no global state, never prints, aborts or exits; every function may be called
 * from any thread as long as one object is not changed by two threads at once. Parsed indexes,
 * profiles and decisions are immutable and may be shared. The last section is the OCI layout on
 * disk and does I/O.
 *
 * Fallible functions return OCV_OK (0) or a negative enum ocv_status and, when `err` is not NULL,
 * fill it. Outputs are written on success only, unless a function says otherwise. A pointer to a
 * pointer is freed by the caller with the matching _free, which takes NULL, too; a returned pointer
 * is borrowed from the object it was asked of. Places count from 0; what takes one asks for less
 * than the count unless it says what comes past the last. Sizes are bytes. What annotations mean is
 * specified in schema/annotations.md.
 */
#ifndef OCIVARIANT_H
#define OCIVARIANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define OCV_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define OCV_WARN_UNUSED __attribute__((warn_unused_result))
#define OCV_API __attribute__((visibility("default")))
#else
#define OCV_PRINTF(fmt, args)
#define OCV_WARN_UNUSED
#define OCV_API
#endif

/** Version of the library that is running, "MAJOR.MINOR.PATCH". Never NULL. */
OCV_API const char *ocv_version(void);

/* ---- Errors ------------------------------------------------------------------------------- */

/** Status of a call. Numbers are never reused or removed. */
enum ocv_status {
    OCV_OK = 0,
    OCV_ERR_NOMEM = -1,        /**< an allocation failed */
    OCV_ERR_INVALID = -2,      /**< wrong argument or usage */
    OCV_ERR_CONFIG = -3,       /**< wrong configuration */
    OCV_ERR_DATA = -4,         /**< malformed index, profile, rule file or message */
    OCV_ERR_MISMATCH = -5,     /**< digest or size differs from what was announced */
    OCV_ERR_IO = -6,           /**< file system */
    OCV_ERR_NETWORK = -7,      /**< name, connection, TLS, broken transfer, server fault */
    OCV_ERR_NOT_FOUND = -8,    /**< no such image, tag, blob, file */
    OCV_ERR_DENIED = -9,       /**< credentials missing or refused */
    OCV_ERR_NO_MATCH = -10,    /**< no variant fits and there is no default entry */
    OCV_ERR_ENGINE = -11,      /**< a container engine refused or failed */
    OCV_ERR_INTERRUPTED = -12, /**< stopped on the caller's request */
    OCV_ERR_UNSUPPORTED = -13, /**< valid, but not something this version can do */
    OCV_ERR_CHECK = -14        /**< a check failed: lint, verify */
};

#define OCV_ERROR_MESSAGE_MAX 1024
#define OCV_ERROR_HINT_MAX 512

/** Filled by a failing call. Zero-initialise before the first use. Owns no memory. */
struct ocv_error {
    enum ocv_status status;
    int http_status;                     /**< the HTTP status behind it, else 0 */
    char message[OCV_ERROR_MESSAGE_MAX]; /**< one line, no program name, no final newline */
    char hint[OCV_ERROR_HINT_MAX];       /**< what to try, or empty */
};

/** Set status and message (control characters become '?'); clears the hint. Returns `status`, so
 *  that `return ocv_error_set(...)` reads well. `err` may be NULL. */
OCV_API int ocv_error_set(struct ocv_error *err, enum ocv_status status, const char *format, ...)
    OCV_PRINTF(3, 4);
/** Put "CONTEXT: " before the message. Returns the error's status (OCV_ERR_INVALID without err). */
OCV_API int ocv_error_prefix(struct ocv_error *err, const char *format, ...) OCV_PRINTF(2, 3);
/** Set the hint of an error that is already set. */
OCV_API void ocv_error_hint(struct ocv_error *err, const char *format, ...) OCV_PRINTF(2, 3);
/** Out of memory: fills `err` without allocating; returns OCV_ERR_NOMEM. */
OCV_API int ocv_error_nomem(struct ocv_error *err);
/** The documented process exit code (0 to 5, 130) for a status. */
OCV_API int ocv_error_exit_code(enum ocv_status status);

/* ---- Buffers ------------------------------------------------------------------------------ */

/** Growing byte buffer with a stated maximum. Always NUL-terminated after the first append. */
struct ocv_buffer {
    char *data; /**< NULL while empty */
    size_t len; /**< bytes used, without the NUL */
    size_t cap;
    size_t max; /**< an append past this fails with OCV_ERR_DATA */
};

/** Make it empty; it may grow to `max` bytes. Allocates nothing. */
OCV_API void ocv_buffer_init(struct ocv_buffer *buffer, size_t max);
/** Free the bytes and make it empty again, of the same maximum. */
OCV_API void ocv_buffer_free(struct ocv_buffer *buffer);
/** Append `len` bytes (none: only make sure that there is a NUL). After an error the buffer is as
 * it was. */
OCV_API int ocv_buffer_append(struct ocv_buffer *buffer, const void *data, size_t len,
                              struct ocv_error *err) OCV_WARN_UNUSED;
/** Append as printf does. Mind the order: `err` stands before the format. */
OCV_API int ocv_buffer_printf(struct ocv_buffer *buffer, struct ocv_error *err, const char *format,
                              ...) OCV_PRINTF(3, 4) OCV_WARN_UNUSED;

/* ---- Properties and labels (PEP 825; schema/annotations.md, "Words") ----------------------- */

/** One property. Strings are borrowed from the object that gave it. */
struct ocv_property {
    const char *ns;
    const char *feature;
    const char *value;
};

/** True if the `len` bytes at `s` are a namespace or feature: [a-z0-9_]+. */
OCV_API bool ocv_property_name_valid(const char *s, size_t len);
/** True if they are a value: [a-z0-9_.]+. */
OCV_API bool ocv_property_value_valid(const char *s, size_t len);
/** True if readers accept the label: [a-z0-9_.]{1,63}, not "." or "..". */
OCV_API bool ocv_label_readable(const char *s, size_t len);
/** True if writers may produce the label: [a-z0-9]+([._][a-z0-9]+)*, at most 48 characters. */
OCV_API bool ocv_label_valid(const char *s, size_t len);

/** A sorted set of properties (namespace, feature, value; byte order), without duplicates. */
struct ocv_properties;
/** Parse "ns :: feature :: value, ..." with free whitespace; an empty or blank list is the empty
 *  set. More than 4,000 bytes or 512 properties, or bad syntax: OCV_ERR_DATA. */
OCV_API int ocv_properties_parse(const char *text, size_t len, struct ocv_properties **out,
                                 struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_properties_free(struct ocv_properties *properties);
/** Number of properties in the set. */
OCV_API size_t ocv_properties_count(const struct ocv_properties *properties);
/** The i-th one in sorted order; its strings live as long as the set. */
OCV_API struct ocv_property ocv_properties_get(const struct ocv_properties *properties, size_t i);
/** Append the canonical form: sorted, one space around `::`, joined by ", ". */
OCV_API int ocv_properties_format(const struct ocv_properties *properties, struct ocv_buffer *out,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Namespaces that a provider of this project owns (schema/vocabulary.yaml). */
OCV_API bool ocv_namespace_owned(const char *ns);
/** Bytes of a word of the vocabulary that is suggested, with NUL. */
#define OCV_WORD_MAX 64
/** Which part of a property is no word of the vocabulary. */
enum ocv_word { OCV_WORD_KNOWN, OCV_WORD_NAMESPACE, OCV_WORD_FEATURE, OCV_WORD_VALUE };
/** The first part that is not; `value`, or `feature` and `value`, may be NULL. `meant` (may be
 * NULL) gets the word that was meant instead, or nothing where none is near. */
OCV_API enum ocv_word ocv_vocabulary_check(const char *ns, const char *feature, const char *value,
                                           char meant[OCV_WORD_MAX]);

/** Looks for the word that was meant by one that is not known, by a typing error or as the
 * beginning of it. Of a version it is never a lower one: "128" is not "12". */
struct ocv_nearest {
    const char *wanted; /**< set by the caller, the rest zero */
    const char *best;
    size_t distance;
};
/** Offer a word; the nearest is kept. */
OCV_API void ocv_nearest_offer(struct ocv_nearest *nearest, const char *word);
/** The nearest one if it is near enough to be meant, else NULL. */
OCV_API const char *ocv_nearest_meant(const struct ocv_nearest *nearest);
/** The same of a list of `n` words. */
OCV_API const char *ocv_nearest(const char *text, const char *const *words, size_t n);

/* ---- Digests -------------------------------------------------------------------------------- */

/** Longest digest string known here ("sha512:" + 128 hex), with NUL. */
#define OCV_DIGEST_MAX 136

/** Grammar of a digest (algorithm and encoded part); says nothing about being known here. */
OCV_API bool ocv_digest_wellformed(const char *digest);
/** True if this library can verify the digest: sha256 or sha512 with lower-case hex of full length.
 */
OCV_API bool ocv_digest_known(const char *digest);
/** sha256 digest string of `len` bytes into `out`. Needs no allocation from the caller. */
OCV_API int ocv_digest_bytes(const void *data, size_t len, char out[OCV_DIGEST_MAX],
                             struct ocv_error *err) OCV_WARN_UNUSED;
/** Check bytes against a digest: OCV_ERR_MISMATCH names both. */
OCV_API int ocv_digest_check(const char *digest, const void *data, size_t len,
                             struct ocv_error *err) OCV_WARN_UNUSED;

/** Streaming digest. */
struct ocv_hasher;
/** Begin one of the algorithm of a whole `digest`. Not ocv_digest_known: OCV_ERR_DATA. */
OCV_API int ocv_hasher_new(const char *digest, struct ocv_hasher **out,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** Hash `len` bytes more. */
OCV_API int ocv_hasher_update(struct ocv_hasher *hasher, const void *data, size_t len,
                              struct ocv_error *err) OCV_WARN_UNUSED;
/** Finish and write "ALGORITHM:HEX"; the hasher can only be freed afterwards. */
OCV_API int ocv_hasher_final(struct ocv_hasher *hasher, char out[OCV_DIGEST_MAX],
                             struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_hasher_free(struct ocv_hasher *hasher);

/* ---- References (grammar: distribution/reference; Docker's defaults) ------------------------- */

/** A parsed image reference. All strings are owned by it and never NULL except where said. */
struct ocv_reference {
    char *host;       /**< "docker.io", "localhost:5000", "[::1]:5000" */
    char *repository; /**< "library/alpine" */
    char *tag;        /**< NULL where only a digest was given; "latest" when neither was */
    char *digest;     /**< NULL without "@digest" */
    char *name;       /**< HOST/REPOSITORY without tag and digest */
    char *familiar;   /**< as docker prints it: "alpine", "user/app", "host:5000/app"; no tag */
};

/** Parse [HOST[:PORT]/]PATH[:TAG][@DIGEST]. index.docker.io and registry-1.docker.io become
 *  docker.io; one-component names there get library/. Bad input: OCV_ERR_INVALID. */
OCV_API int ocv_reference_parse(const char *text, struct ocv_reference **out,
                                struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_reference_free(struct ocv_reference *reference);
/** True if the text is HOST[:PORT] as references write it: a name, an IPv4 address, an IPv6 address
 *  in brackets. */
OCV_API bool ocv_host_valid(const char *host);
/** "docker.io" for the other names of Docker Hub, else `host` itself. */
OCV_API const char *ocv_host_canonical(const char *host);
/** True if a reference's host is this machine: localhost, 127.0.0.0/8 or [::1], with or without a
 *  port. Registries there may be asked without TLS. */
OCV_API bool ocv_host_is_loopback(const char *host);
/** True if the text is a legal tag: [A-Za-z0-9_][A-Za-z0-9._-]{0,127}. */
OCV_API bool ocv_tag_valid(const char *tag);

/* ---- Platforms (containerd/platforms' matching) ---------------------------------------------- */

/** A platform. Strings may be NULL where unknown or absent; they are borrowed unless said. */
struct ocv_platform {
    const char *os;
    const char *architecture;
    const char *variant;
    const char *os_version;
    const char *const *os_features;
    size_t n_os_features;
};

/** Parse "OS/ARCH[/VARIANT]", "ARCH" or, of a known architecture, "ARCH/VARIANT" with the usual
 *  aliases (x86_64, aarch64, armhf, ...). The result is one allocation, freed with
 * ocv_platform_free. */
OCV_API int ocv_platform_parse(const char *text, struct ocv_platform **out,
                               struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_platform_free(struct ocv_platform *platform);
/** How well `entry` runs on `host`: -1 not at all, else its place in containerd's preference
 *  order, 0 best. `x-...` variants count as none. On -1 `*why` (may be NULL) names the part that
 *  failed: "os", "architecture", "variant" or "os.features". */
OCV_API int ocv_platform_match(const struct ocv_platform *host, const struct ocv_platform *entry,
                               const char **why);
/** Write "os/arch[/variant]" (truncated to `size`). Returns `out`. */
OCV_API const char *ocv_platform_format(const struct ocv_platform *platform, char *out,
                                        size_t size);

/* ---- Indexes (image-spec v1.1 image index, Docker manifest list) ----------------------------- */

#define OCV_MEDIA_TYPE_INDEX "application/vnd.oci.image.index.v1+json"
#define OCV_MEDIA_TYPE_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define OCV_MEDIA_TYPE_CONFIG "application/vnd.oci.image.config.v1+json"
#define OCV_MEDIA_TYPE_DOCKER_LIST "application/vnd.docker.distribution.manifest.list.v2+json"
#define OCV_MEDIA_TYPE_DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"

#define OCV_ANNOTATION_LABEL "dev.ocivariant.label"
#define OCV_ANNOTATION_PROPERTIES "dev.ocivariant.properties"
#define OCV_ANNOTATION_SCHEMA "dev.ocivariant.schema"
#define OCV_ANNOTATION_NAMESPACES "dev.ocivariant.namespaces"
#define OCV_ANNOTATION_STATIC "dev.ocivariant.static."
#define OCV_ANNOTATION_REF_NAME "org.opencontainers.image.ref.name"
#define OCV_ANNOTATION_IMAGE_NAME "io.containerd.image.name"

/** Limits on documents from outside; one past any of them is a clear error. */
#define OCV_MANIFEST_MAX (4u * 1024 * 1024)  /**< bytes of an index or manifest */
#define OCV_PROFILE_MAX (4u * 1024 * 1024)   /**< bytes of a profile */
#define OCV_INDEX_ENTRIES_MAX 4096u          /**< entries of an index */
#define OCV_ENTRY_PROPERTIES_MAX 512u        /**< properties of an entry */
#define OCV_ENTRY_PROPERTIES_BYTES_MAX 4000u /**< bytes of the properties annotation */

struct ocv_descriptor {
    char media_type[256];
    char digest[OCV_DIGEST_MAX];
    int64_t size;
};

/** What a top-level document is, by its bytes and its Content-Type. */
enum ocv_document_kind { OCV_DOCUMENT_INDEX, OCV_DOCUMENT_MANIFEST };
/** Decide index or image manifest. `media_type` (may be NULL) is the Content-Type or descriptor's
 *  type; a body that says otherwise, has both `manifests` and `layers`, or neither: OCV_ERR_DATA.
 */
OCV_API int ocv_document_kind(const void *bytes, size_t len, const char *media_type,
                              enum ocv_document_kind *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** Why an entry is not used. Texts (ocv_reject_name) are a contract: append-only. */
enum ocv_reject {
    OCV_REJECT_NONE = 0,
    OCV_REJECT_PLATFORM,              /**< "platform": os or architecture differs */
    OCV_REJECT_PLATFORM_VARIANT,      /**< "platform-variant": vN above this machine */
    OCV_REJECT_OS_FEATURES,           /**< "os-features" */
    OCV_REJECT_UNKNOWN_PLATFORM,      /**< "unknown-platform": unknown/unknown */
    OCV_REJECT_ATTESTATION,           /**< "attestation": vnd.docker.reference.type */
    OCV_REJECT_ARTIFACT,              /**< "artifact": artifactType is not an image */
    OCV_REJECT_MEDIA_TYPE,            /**< "media-type": not an image manifest */
    OCV_REJECT_NESTED,                /**< "nested": an index in the index */
    OCV_REJECT_DIGEST_ALGORITHM,      /**< "digest-algorithm": not known here */
    OCV_REJECT_LABEL_MISSING,         /**< "label-missing": properties without label */
    OCV_REJECT_PROPERTIES_MISSING,    /**< "properties-missing": label without properties */
    OCV_REJECT_BAD_LABEL,             /**< "bad-label" */
    OCV_REJECT_BAD_PROPERTIES,        /**< "bad-properties": syntax */
    OCV_REJECT_TOO_LONG,              /**< "too-long": more than 4,000 bytes of properties */
    OCV_REJECT_DUPLICATE_LABEL,       /**< "duplicate-label": same label twice on a platform */
    OCV_REJECT_NULL_WITH_PROPERTIES,  /**< "null-with-properties" */
    OCV_REJECT_EMPTY_NOT_NULL,        /**< "empty-not-null": no property, label not `null` */
    OCV_REJECT_SCHEMA,                /**< "schema": unknown dev.ocivariant.schema */
    OCV_REJECT_NAMESPACE_UNDECLARED,  /**< "namespace-undeclared": not in the index's list */
    OCV_REJECT_NAMESPACE_UNSUPPORTED, /**< "namespace-unsupported": host has none of it */
    OCV_REJECT_FEATURE_UNSUPPORTED,   /**< "feature-unsupported" */
    OCV_REJECT_VALUE_UNSUPPORTED,     /**< "value-unsupported" */
    OCV_REJECT_DEVICE,                /**< "device": a counted device is not served */
    OCV_REJECT_NO_DEVICE,             /**< "no-device": no counted device left */
    OCV_REJECT_DISABLED,              /**< "disabled": by the user's configuration */
    OCV_REJECT_NOT_REQUESTED,         /**< "not-requested": --label names another */
    OCV_REJECT_FOREIGN_ARCHITECTURE,  /**< "foreign-architecture": a variant for another
                                           architecture than the profile's */
    OCV_REJECT_REQUIREMENT, /**< "requirement": it fits, but does not use what has to be */
    OCV_REJECT_MAX
};
/** The code's text, e.g. "value-unsupported". Never NULL. */
OCV_API const char *ocv_reject_name(enum ocv_reject code);

/** A variant, the default entry `null`, or an ordinary image without variant annotations. */
enum ocv_entry_kind { OCV_ENTRY_VARIANT, OCV_ENTRY_NULL, OCV_ENTRY_NON_VARIANT };

/** One entry of an index, as read. Everything is borrowed from the index. */
struct ocv_entry {
    size_t position;          /**< place in `manifests`, from 0 */
    enum ocv_entry_kind kind; /**< meaningful when code is OCV_REJECT_NONE */
    enum ocv_reject code;     /**< OCV_REJECT_NONE, or why no host can use it */
    const char *detail;       /**< for a malformed entry: what is wrong; else NULL */
    const char *label;        /**< NULL for a non-variant, and where it is not readable */
    const char *media_type;
    const char *digest;
    int64_t size;
    bool has_platform;
    struct ocv_platform platform;
    const uint32_t *properties; /**< ids for ocv_index_property, in canonical order */
    size_t n_properties;
};

struct ocv_index;
/** Parse index bytes. `media_type`: Content-Type or NULL. The bytes may be freed afterwards.
 *  Not an index, duplicate keys, malformed digest, negative size, over a limit: OCV_ERR_DATA.
 *  Malformed entries are kept with their code. */
OCV_API int ocv_index_parse(const void *bytes, size_t len, const char *media_type,
                            struct ocv_index **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** An index of one non-variant entry without platform, for an image manifest that stands alone. Its
 *  digest is the manifest's. */
OCV_API int ocv_index_of_manifest(const struct ocv_descriptor *manifest, struct ocv_index **out,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_index_free(struct ocv_index *index);
/** Number of entries, unusable ones included. */
OCV_API size_t ocv_index_count(const struct ocv_index *index);
/** The entry at place `i` of `manifests`, NULL past the last. */
OCV_API const struct ocv_entry *ocv_index_entry(const struct ocv_index *index, size_t i);
/** The property of an id (below ocv_index_property_count); its strings live as long as the index.
 */
OCV_API struct ocv_property ocv_index_property(const struct ocv_index *index, uint32_t id);
/** Number of distinct properties used in the index; ids are below it, in canonical order. */
OCV_API size_t ocv_index_property_count(const struct ocv_index *index);
/** Append an entry's properties in canonical form, and those of its namespaces that are the index's
 *  own, joined by ", ": what a record keeps, and ocv_judge reads. */
OCV_API int ocv_index_describe(const struct ocv_index *index, const struct ocv_entry *entry,
                               struct ocv_buffer *properties, struct ocv_buffer *statics,
                               struct ocv_error *err) OCV_WARN_UNUSED;
/** sha256 digest of the bytes that were parsed (of a lone manifest: its own). */
OCV_API const char *ocv_index_digest(const struct ocv_index *index);
/** True if any entry carries variant annotations, well-formed or not. */
OCV_API bool ocv_index_has_variants(const struct ocv_index *index);
/** True if images of that os and architecture ask for different versions of the processor: amd64
 *  v1 to v4, arm v5 to v8, arm64 v8.x and v9.x. Few engines look at them. `x-...`, which marks
 *  variants, is no version. */
OCV_API bool ocv_index_has_levels(const struct ocv_index *index,
                                  const struct ocv_platform *platform);
/** The index's namespace order, most important first, after the default rule where the annotation
 *  is absent. `*declared` (may be NULL): whether the annotation was there. */
OCV_API size_t ocv_index_namespaces(const struct ocv_index *index, const char *const **out,
                                    bool *declared);
/** Notes for people: static namespace that a provider owns, bad namespace list, ... */
OCV_API size_t ocv_index_warnings(const struct ocv_index *index, const char *const **out);
/** Is the namespace one that the index itself ranks by (dev.ocivariant.static.NS)? */
OCV_API bool ocv_index_namespace_static(const struct ocv_index *index, const char *ns);
/** First entry with this digest, or NULL. */
OCV_API const struct ocv_entry *ocv_index_find_digest(const struct ocv_index *index,
                                                      const char *digest);

/* ---- Profiles (schema dev.ocivariant.profile/v1) ----------------------------------------------
 */

struct ocv_profile;
/** Parse a profile. Unknown keys are ignored, a namespace or feature listed twice, bad syntax or
 *  an unknown schema is OCV_ERR_DATA. */
OCV_API int ocv_profile_parse(const void *bytes, size_t len, struct ocv_profile **out,
                              struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_profile_free(struct ocv_profile *profile);
/** The profile's platform, strings borrowed; os and architecture are NULL if it has none. */
OCV_API struct ocv_platform ocv_profile_platform(const struct ocv_profile *profile);
/** Serialise as indented JSON with a final newline, all keys kept. */
OCV_API int ocv_profile_format(const struct ocv_profile *profile, struct ocv_buffer *out,
                               struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the host's namespace list supports the property (device lists are not consulted). */
OCV_API bool ocv_profile_supports(const struct ocv_profile *profile, struct ocv_property property);

/* ---- Configuration (YAML; schema/config.schema.json) ------------------------------------------
 */

/** Which of a namespace's devices a variant must fit (`device_policy`): all, one, the first. */
enum ocv_policy { OCV_POLICY_ALL, OCV_POLICY_ANY, OCV_POLICY_FIRST };

/** A registry of the configuration. Strings are borrowed, NULL where not set. */
struct ocv_registry_config {
    const char *host; /**< as written in references, e.g. "registry.example:5000" */
    const char *url;  /**< where it is, if not at https://HOST */
    const char *ca;   /**< PEM file of certificate authorities that are trusted for it */
    const char *cert; /**< PEM files of a client certificate and its key */
    const char *key;
    const char *mirror_of; /**< the registry that it stands in for, or NULL: tag rules for that
                              one's repositories know its own (ocv_tag_rules_mirror) */
    bool insecure;         /**< plain HTTP and unverified TLS are allowed */
};

struct ocv_config;
/** An empty configuration. */
OCV_API int ocv_config_new(struct ocv_config **out, struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_config_free(struct ocv_config *config);
/** Read YAML over what is there: a key given again replaces the earlier value. `source` is the
 *  file name for messages. Unknown key, wrong type, bad value: OCV_ERR_CONFIG "FILE:LINE: ...". */
OCV_API int ocv_config_merge_yaml(struct ocv_config *config, const char *source, const char *text,
                                  size_t len, struct ocv_error *err) OCV_WARN_UNUSED;
/** Set one key from text, as environment variables and flags do. `key` is the YAML key
 *  ("namespace_priority", "device_policy", "devices", "disable", "to", ...); lists are
 *  comma-separated, maps are NS=VALUE[,VALUE], several separated by ';' or by calling again.
 *  `append` adds to a list or map instead of replacing it. `source` names it in messages. */
OCV_API int ocv_config_set(struct ocv_config *config, const char *source, const char *key,
                           const char *text, bool append, struct ocv_error *err) OCV_WARN_UNUSED;
/** Give one registry its URL ("http://..." makes it insecure: plain HTTP is meant), beside those
 * that files name; one of that name is replaced. Not a URL: OCV_ERR_CONFIG. */
OCV_API int ocv_config_set_registry(struct ocv_config *config, const char *host, const char *url,
                                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Every known key, NULL-terminated; "OCV_" + upper case is its environment variable. */
OCV_API const char *const *ocv_config_keys(void);
/** What holds for the images of one repository: the configuration of the most specific of
 *  `repositories` that names it (docs/configuration.md), over `config`; or `config` itself, where
 *  none does. What ocv_config_set set stands over both. Every function that takes a configuration
 *  takes it; borrowed from `config`, until that is changed. Either may be NULL. */
OCV_API const struct ocv_config *ocv_config_for_reference(const struct ocv_config *config,
                                                          const struct ocv_reference *reference);
/** A scalar key's value (to, listen, socket, mode, tag_rules, policy, ...; a repository's label),
 *  NULL if not set. */
OCV_API const char *ocv_config_get(const struct ocv_config *config, const char *key);
/** Where that was set: "FILE:LINE", or the `source` of ocv_config_set; NULL if it was not. */
OCV_API const char *ocv_config_origin(const struct ocv_config *config, const char *key);
/** The glob of `repositories` that this configuration is for, and where it stands; NULL for what
 *  ocv_config_for_reference did not find by one. */
OCV_API const char *ocv_config_repository(const struct ocv_config *config, const char **origin);
/** Does a member of `repositories` set the scalar key to this text? */
OCV_API bool ocv_config_any_repository(const struct ocv_config *config, const char *key,
                                       const char *text);
/** The members of a list key (require, host_names, ...), and how many there are. `members` may be
 * NULL. */
OCV_API size_t ocv_config_list(const struct ocv_config *config, const char *key,
                               const char *const **members);
/** The globs of `allow`, and how many there are. */
OCV_API size_t ocv_config_allow_count(const struct ocv_config *config);
OCV_API const char *ocv_config_allow(const struct ocv_config *config, size_t i);
/** The `registries`, in the order in which they were read, and how many there are. */
OCV_API size_t ocv_config_registry_count(const struct ocv_config *config);
OCV_API struct ocv_registry_config ocv_config_registry(const struct ocv_config *config, size_t i);
/** The entry for a host; `host` of the result is NULL if there is none. */
OCV_API struct ocv_registry_config ocv_config_find_registry(const struct ocv_config *config,
                                                            const char *host);
/** Where names are looked for beside the vocabulary and `known_namespaces`. */
struct ocv_name_sources {
    const struct ocv_profile *profile; /**< of the host, without the configuration's `override` */
    const struct ocv_index *index;     /**< or NULL: not known (yet) */
    const char *const *providers;      /**< namespaces of providers that the profile is silent of */
    size_t n_providers;
};
enum ocv_unknown_kind {
    OCV_UNKNOWN_NAME, /**< a namespace, feature or value that nothing knows */
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
OCV_API int ocv_config_check_names(const struct ocv_config *config,
                                   const struct ocv_name_sources *sources, ocv_unknown_visit visit,
                                   void *data);
/** The same, and those of every member of `repositories`. */
OCV_API int ocv_config_check_all_names(const struct ocv_config *config,
                                       const struct ocv_name_sources *sources,
                                       ocv_unknown_visit visit, void *data);
/** A new profile with the configuration's `override` lists applied: they replace the namespace's
 *  list of that feature and every device's. */
OCV_API int ocv_config_override_profile(const struct ocv_config *config,
                                        const struct ocv_profile *profile, struct ocv_profile **out,
                                        struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- Resolution (README.md, "How it decides"; PEP 825 ordering) -------------------------------
 */

/** What the user asks for beside the host's profile. Zero-initialised: nothing special. */
struct ocv_resolve_options {
    const struct ocv_config *config;     /**< namespace_priority, disable, require, device_policy,
                                              devices; a repository's label */
    const struct ocv_platform *platform; /**< --platform, or NULL for the profile's */
    const char *label; /**< only this label, or NULL: the configuration's; "null": the default,
                            labelled so or not */
    bool unchecked;    /**< with label: also if this host cannot run it */
    bool any_use;      /**< leave the configuration's `require` aside */
};

struct ocv_decision;
/** Choose. Pure. The decision borrows index and profile: both must outlive it. `options` may be
 *  NULL. Nothing fitting is not an error: ocv_decision_selected is NULL then. No platform in
 * profile and options: OCV_ERR_INVALID. */
OCV_API int ocv_resolve(const struct ocv_index *index, const struct ocv_profile *profile,
                        const struct ocv_resolve_options *options, struct ocv_decision **out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_decision_free(struct ocv_decision *decision);
/** Does a variant fit this host, judged by its own properties, when its index is not at hand (a
 * record of the node, labels of its config)? Properties of `statics` (namespaces joined by ", ", or
 * NULL) are the index's own business and left out. `options` as for ocv_resolve. `*fits`; where it
 * does not, `reason` gets one line, and where it does the line of ocv_decision_note, if any.
 * Malformed properties: OCV_ERR_DATA. */
OCV_API int ocv_judge(const char *label, const char *properties, const char *statics,
                      const struct ocv_profile *profile, const struct ocv_resolve_options *options,
                      bool *fits, struct ocv_buffer *reason, struct ocv_error *err) OCV_WARN_UNUSED;
/** The chosen entry or NULL. */
OCV_API const struct ocv_entry *ocv_decision_selected(const struct ocv_decision *decision);
/** Number of compatible entries. */
OCV_API size_t ocv_decision_order_count(const struct ocv_decision *decision);
/** The i-th best of them, NULL past the last. */
OCV_API const struct ocv_entry *ocv_decision_order(const struct ocv_decision *decision, size_t i);
/** What an older client gets: the first plain default entry for the platform, or NULL. */
OCV_API const struct ocv_entry *ocv_decision_default(const struct ocv_decision *decision);
/** Write the ids (ocv_index_property) of the entry's properties that this host supports, at most
 *  `max`, and return how many were written; 0 if the entry is not compatible. */
OCV_API size_t ocv_decision_matched(const struct ocv_decision *decision,
                                    const struct ocv_entry *entry, uint32_t *ids, size_t max);

/** Why an entry is out. Strings are borrowed from index, profile and decision. */
struct ocv_rejection {
    const struct ocv_entry *entry;
    enum ocv_reject code;
    const char *ns; /**< first failing feature by namespace, feature; NULL if not about one */
    const char *feature;
    const char *device;   /**< id of the device that is not served, or NULL */
    const char *required; /**< what it does not use ("ns :: feature"), or NULL */
    const char *origin;   /**< where the configuration says so (ocv_config_origin), or NULL */
};
/** Number of entries that are out, each with its reason. */
OCV_API size_t ocv_decision_rejected_count(const struct ocv_decision *decision);
OCV_API struct ocv_rejection ocv_decision_rejected(const struct ocv_decision *decision, size_t i);
/** Why the i-th rejected entry is out, one sentence for people. Appends to `out`. */
OCV_API int ocv_decision_reason(const struct ocv_decision *decision, size_t i,
                                struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** The best of the rejected that this host has hardware for, though not as it would have to be, and
 *  that would have been chosen; their number where there is none. */
OCV_API size_t ocv_decision_missed(const struct ocv_decision *decision);
/** What would make it fit, for people; appends nothing where that is not known. */
OCV_API int ocv_decision_hint(const struct ocv_decision *decision, size_t i, struct ocv_buffer *out,
                              struct ocv_error *err) OCV_WARN_UNUSED;
/** What there is to know of an entry that fits, one line for people: that it runs by CUDA's
 *  minor-version compatibility alone, with an older driver than its build was made for, and which
 *  driver has all of it; or that it brings a newer ROCm than was tested with the driver. Appends
 * nothing where there is nothing to say. */
OCV_API int ocv_decision_note(const struct ocv_decision *decision, const struct ocv_entry *entry,
                              struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the decision as JSON (dev.ocivariant.decision/v1), with a final newline. */
OCV_API int ocv_decision_format_json(const struct ocv_decision *decision, struct ocv_buffer *out,
                                     struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- Image manifests --------------------------------------------------------------------------
 */

struct ocv_manifest;
/** Parse an image manifest (OCI or Docker schema 2): config and layers with media type, digest,
 *  size. At most 1,000 layers. Malformed: OCV_ERR_DATA. */
OCV_API int ocv_manifest_parse(const void *bytes, size_t len, const char *media_type,
                               struct ocv_manifest **out, struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_manifest_free(struct ocv_manifest *manifest);
/** The image's config. */
OCV_API const struct ocv_descriptor *ocv_manifest_config(const struct ocv_manifest *manifest);
/** Number of layers. */
OCV_API size_t ocv_manifest_layer_count(const struct ocv_manifest *manifest);
/** A layer from the base up, NULL past the last. */
OCV_API const struct ocv_descriptor *ocv_manifest_layer(const struct ocv_manifest *manifest,
                                                        size_t i);

/* ---- OCI image layout on disk (image-spec image-layout.md) ------------------------------------
 */

struct ocv_layout;
/** Flags of ocv_layout_open, joined by `|`. */
enum { OCV_LAYOUT_READ = 0, OCV_LAYOUT_CREATE = 1, OCV_LAYOUT_PASSING = 2, OCV_LAYOUT_VERIFY = 4 };

/** Open a layout folder; OCV_LAYOUT_CREATE makes what is missing and allows writing. With
 *  OCV_LAYOUT_PASSING as well, streamed blobs need not survive a power cut: they are read again at
 *  once, so they stay in memory and are not waited for. With OCV_LAYOUT_VERIFY whoever would write
 *  a blob that is there reads it first, also where the same file (inode, time of change, size) was
 *  found to be right before. Holds no lock.
 *  Not a layout: OCV_ERR_DATA; missing: OCV_ERR_NOT_FOUND. */
OCV_API int ocv_layout_open(const char *dir, int flags, struct ocv_layout **out,
                            struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_layout_free(struct ocv_layout *layout);
/** The folder as it was given to ocv_layout_open. */
OCV_API const char *ocv_layout_path(const struct ocv_layout *layout);
/** True if a blob of that digest and size is there (size -1: any). By name and size; content is
 *  verified when it is written, when it is read, and when it would be written again. */
OCV_API bool ocv_layout_has_blob(const struct ocv_layout *layout, const char *digest, int64_t size);
/** Read a whole blob of at most out->max bytes and verify its digest. */
OCV_API int ocv_layout_read_blob(const struct ocv_layout *layout, const char *digest,
                                 struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Open a blob for reading; the caller closes `*fd`. Content is not verified. */
OCV_API int ocv_layout_open_blob(const struct ocv_layout *layout, const char *digest, int *fd,
                                 int64_t *size, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write bytes as a blob (checked, fsynced, renamed). `digest`: expected, or empty to be filled
 * with the sha256 digest. */
OCV_API int ocv_layout_write_blob(struct ocv_layout *layout, const void *data, size_t len,
                                  char digest[OCV_DIGEST_MAX],
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Tag -> descriptor: `tag` is matched with org.opencontainers.image.ref.name, then with
 *  io.containerd.image.name. NULL takes the only entry. OCV_ERR_NOT_FOUND names what is there. */
OCV_API int ocv_layout_resolve(const struct ocv_layout *layout, const char *tag,
                               struct ocv_descriptor *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Point a tag at a blob that is there; other entries keep their bytes' meaning. `image_name` (may
 * be NULL) becomes io.containerd.image.name; `platform` (may be NULL) is written into the entry.
 *  index.json appears by rename, under the layout's lock. */
OCV_API int ocv_layout_tag(struct ocv_layout *layout, const char *tag, const char *image_name,
                           const struct ocv_descriptor *descriptor,
                           const struct ocv_platform *platform,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** The same, only if the tag names `before` (empty: nothing) at that moment. Else nothing is
 *  written, `now` gets what it names (empty: nothing), and the status is OCV_ERR_DENIED. */
OCV_API int ocv_layout_retag(struct ocv_layout *layout, const char *tag, const char *before,
                             const struct ocv_descriptor *descriptor, char now[OCV_DIGEST_MAX],
                             struct ocv_error *err) OCV_WARN_UNUSED;

/** Streaming writer of one blob. Bytes go to a partial file beside the blobs that survives a crash
 *  and is resumed; an flock makes a second writer of the same blob wait until the first is done. */
struct ocv_blob_writer;
/** `*offset`: bytes that are already there and hashed (ask the registry for the rest). `*present`:
 *  the blob is complete, no writer is made and *out is NULL. Waits while another process writes the
 *  same blob; a signal ends the wait with OCV_ERR_INTERRUPTED. `*offset` may equal `size`: commit
 * then. The layout must outlive the writer. */
OCV_API int ocv_blob_writer_open(struct ocv_layout *layout, const char *digest, int64_t size,
                                 struct ocv_blob_writer **out, int64_t *offset, bool *present,
                                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Append. More bytes than announced: OCV_ERR_MISMATCH. */
OCV_API int ocv_blob_writer_write(struct ocv_blob_writer *writer, const void *data, size_t len,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Throw away what was written (the server did not honour a Range, or digest trouble). */
OCV_API int ocv_blob_writer_reset(struct ocv_blob_writer *writer,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Bytes written so far, the resumed ones included. */
OCV_API int64_t ocv_blob_writer_offset(const struct ocv_blob_writer *writer);
/** Check size and digest, fsync, rename into place. On OCV_ERR_MISMATCH the partial is removed.
 *  The writer is freed in every case. */
OCV_API int ocv_blob_writer_commit(struct ocv_blob_writer *writer,
                                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Close, keeping the partial for a later resume. */
OCV_API void ocv_blob_writer_close(struct ocv_blob_writer *writer);
/** Like open, but never waits: `*busy` and *out NULL while another writer (also of this process)
 * has the blob. Whoever writes several blobs in one thread must use this and come back later, or
 * two such processes wait for each other for ever. */
OCV_API int ocv_blob_writer_try_open(struct ocv_layout *layout, const char *digest, int64_t size,
                                     struct ocv_blob_writer **out, int64_t *offset, bool *present,
                                     bool *busy, struct ocv_error *err) OCV_WARN_UNUSED;
/** No more bytes will come: the rest is hashed and fsynced in the background, then `done` (may be
 *  NULL) is called from the writer's thread; commit does not block for long from then on. Optional,
 *  for event loops; only commit and close may follow. */
OCV_API void ocv_blob_writer_finish(struct ocv_blob_writer *writer, void (*done)(void *data),
                                    void *data);

/** Called for each entry of index.json; `tag` and `image_name` are NULL where absent. Strings are
 *  borrowed for the call. A non-zero result ends the walk and is returned. */
typedef int (*ocv_layout_visit)(void *data, const char *tag, const char *image_name,
                                const struct ocv_descriptor *descriptor);
/** Walk index.json in its order. Malformed entries are passed over. */
OCV_API int ocv_layout_list(const struct ocv_layout *layout, ocv_layout_visit visit, void *data,
                            struct ocv_error *err) OCV_WARN_UNUSED;

/** Write an image of the layout to `fd` as a docker-archive that is an OCI archive too (`docker
 * load`, `podman load`, `ctr images import`): a ustar stream of manifest.json, index.json,
 * manifest, config and layers as they are, each verified on the way. `names` become its names
 * ("host/name:tag"). Needs no seeking. zstd layers, artifacts, foreign layers that are not there:
 * OCV_ERR_UNSUPPORTED or OCV_ERR_NOT_FOUND before the first byte. */
OCV_API int ocv_archive_write(const struct ocv_layout *layout, const char *manifest_digest,
                              const char *const *names, size_t n, int fd,
                              struct ocv_error *err) OCV_WARN_UNUSED;

/** What was resolved on this node: one JSON file for each child in each repository under `dir`
 *  (default folder /var/lib/ocivariant/resolved), replaced by rename. A record speaks for the
 *  repository in which it was made: who publishes in another one says nothing about it. Who writes
 *  makes the folder where it is missing; one that is a link itself is refused. */
struct ocv_record {
    const char *repository; /**< HOST/REPOSITORY, as ocv_reference's `name` */
    const char *child;      /**< digest of the chosen manifest */
    const char *index;      /**< digest of the index */
    const char *label;      /**< NULL for a non-variant */
    const char *properties; /**< canonical */
    const char *statics;    /**< namespaces that are the index's own, joined by ", ", or NULL */
    const char *reference;  /**< as asked for */
    bool secret;            /**< learnt with credentials: not for every user of the node */
};
/** At most OCV_RECORDS_MAX are kept, the oldest go. */
OCV_API int ocv_record_write(const char *dir, const struct ocv_record *record,
                             struct ocv_error *err) OCV_WARN_UNUSED;
/** Called for a record that was read; its texts are borrowed for the call. A result other than 0
 *  ends the walk and is returned. */
typedef int (*ocv_record_visit)(void *data, const struct ocv_record *record);
/** Visit the record of a child in a repository; `repository` NULL: those of the child in every
 *  repository; `child` NULL, too: all. What is damaged is passed by, and where nothing was recorded
 *  nothing is visited. A malformed child digest: OCV_ERR_DATA. */
OCV_API int ocv_record_walk(const char *dir, const char *repository, const char *child,
                            ocv_record_visit visit, void *data,
                            struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove what earlier versions recorded without a repository, and return how much that was. */
OCV_API size_t ocv_record_discard_old(const char *dir);

/** Limits on what the node remembers. */
#define OCV_RECORDS_MAX 4096u                /**< images that were chosen */
#define OCV_RECORD_INDEXES_MAX 256u          /**< indexes that are kept whole */
#define OCV_RECORD_INDEX_MAX (1024u * 1024u) /**< bytes of one; a larger one is not kept */
#define OCV_RECORD_INDEX_DAYS 90u            /**< since it was resolved last */

/** An index that was resolved here, and what was chosen in it, as text that need only be written:
 *  nothing is to be recorded of an image before it was seen. */
struct ocv_record_note;
/** `entry`: what was chosen, or NULL where nothing fits; only an entry with a label is recorded.
 *  `where`: repository, reference, secret, and index where it is not ocv_index_digest; all of it is
 *  copied. The whole index is kept, too, for what was not chosen of it (DIR/indexes), unless it
 *  carries no variants. Secret: only the folder's owner and group may read it; an index that was
 *  kept openly stays so. */
OCV_API int ocv_record_note_new(const struct ocv_index *index, const struct ocv_entry *entry,
                                const struct ocv_record *where, struct ocv_record_note **out,
                                struct ocv_error *err) OCV_WARN_UNUSED;
/** Bytes that it takes. */
OCV_API size_t ocv_record_note_size(const struct ocv_record_note *note);
/** Write it down under `dir`. An index that is too large is not kept: OCV_ERR_DATA, and the choice
 *  is recorded all the same. */
OCV_API int ocv_record_note_write(const struct ocv_record_note *note, const char *dir,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_record_note_free(struct ocv_record_note *note);
/** All of it at once, for who has seen the image. */
OCV_API int ocv_record_resolved(const char *dir, const struct ocv_index *index,
                                const struct ocv_entry *entry, const struct ocv_record *where,
                                struct ocv_error *err) OCV_WARN_UNUSED;

/** An index as it was kept. */
struct ocv_record_index {
    struct ocv_index *index;     /**< its own digest is that of the kept text: use `digest` */
    char digest[OCV_DIGEST_MAX]; /**< of the index */
    char repository[512];        /**< in which it was resolved */
    char reference[1024];        /**< where it was resolved, or empty */
    bool secret;                 /**< learnt with credentials: not for every user of the node */
};
/** Called for an index that was read, which is freed afterwards unless it is taken over, and zeros
 *  are left. A result other than 0 ends the walk and is returned. */
typedef int (*ocv_record_index_visit)(void *data, struct ocv_record_index *kept);
/** Visit the indexes that have the digest as an entry: of the repository, or of each repository
 *  where it is NULL, that which was resolved last. An index of this digest itself is visited
 *  wherever it was resolved: its digest is its content. OCV_ERR_IO where they may not be read. */
OCV_API int ocv_record_index_walk(const char *dir, const char *repository, const char *digest,
                                  ocv_record_index_visit visit, void *data,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** The first of them: OCV_ERR_NOT_FOUND if there is none. Freed with ocv_record_index_free. */
OCV_API int ocv_record_find(const char *dir, const char *repository, const char *digest,
                            struct ocv_record_index *out, struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_record_index_free(struct ocv_record_index *record);

/* ---- Tag rules (plugins/tags.d/README.md; schema/tag-rules.schema.json) ------------------------
 */

/** What published tags mean, for images whose accelerator is only in the tag. Immutable once read,
 * and then safe to use from several threads. */
struct ocv_tag_rules;
/** Rules without any family. */
OCV_API int ocv_tag_rules_new(struct ocv_tag_rules **out, struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_tag_rules_free(struct ocv_tag_rules *rules);
/** Let the rules for the repositories of the registry `of` know those of `host`, too, which stands
 *  in for it (`registries: HOST: mirror_of` of the configuration). To be said before rules are
 *  added. The one said last counts. Not ocv_host_valid: OCV_ERR_INVALID. */
OCV_API int ocv_tag_rules_mirror(struct ocv_tag_rules *rules, const char *host, const char *of,
                                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Add one rule file's text (YAML). `source` names it in messages. A family that is there already
 * is replaced; one added later is asked first. `only` (may be NULL): leave out families that cannot
 * know this repository, since their patterns cost most of the time. OCV_ERR_DATA: "FILE:LINE:
 * ...". */
OCV_API int ocv_tag_rules_add(struct ocv_tag_rules *rules, const char *source, const char *text,
                              size_t len, const struct ocv_reference *only,
                              struct ocv_error *err) OCV_WARN_UNUSED;
/** Add every *.yaml of a folder, by name. A folder that is not there has none. */
OCV_API int ocv_tag_rules_load(struct ocv_tag_rules *rules, const char *dir,
                               const struct ocv_reference *only,
                               struct ocv_error *err) OCV_WARN_UNUSED;
/** Number of families. */
OCV_API size_t ocv_tag_rules_count(const struct ocv_tag_rules *rules);
/** The name of a family, in the order in which they were added. */
OCV_API const char *ocv_tag_rules_family(const struct ocv_tag_rules *rules, size_t i);

/** What one tag says by the rules. Its texts are its own; the rules must outlive it. */
struct ocv_tag;
/** Read `tag` (NULL: the reference's, "latest" without one) of the reference's repository. A
 *  repository that no rule knows is no error: its family is NULL. */
OCV_API int ocv_tag_parse(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                          const char *tag, struct ocv_tag **out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_tag_free(struct ocv_tag *tag);
/** The family whose rules apply, NULL if no rule knows the repository. */
OCV_API const char *ocv_tag_family(const struct ocv_tag *tag);
OCV_API const char *ocv_tag_text(const struct ocv_tag *tag);      /**< the tag itself, "86-1.9" */
OCV_API const char *ocv_tag_reference(const struct ocv_tag *tag); /**< "HOST/REPOSITORY:TAG" */
/** Why such a tag is no variant of anything ("a driver image"), or NULL. */
OCV_API const char *ocv_tag_refused(const struct ocv_tag *tag);
OCV_API const char *ocv_tag_platform(const struct ocv_tag *tag); /**< "linux/arm64", or NULL */
/** What it says of the image, an empty set for nothing. Never NULL. Of a CUDA version: with the
 *  devices for which such a build holds code, and, where its family's builds run by CUDA's
 *  minor-version compatibility, with the first version of that major, too. */
OCV_API const struct ocv_properties *ocv_tag_properties(const struct ocv_tag *tag);
/** Where only some devices are served by minor-version compatibility: what the image needs on
 *  these. It then stands in an index twice. Else NULL. */
OCV_API const struct ocv_properties *ocv_tag_base_properties(const struct ocv_tag *tag);
/** What the words of the tag, its repository and the defaults say alone. Never NULL. */
OCV_API const struct ocv_properties *ocv_tag_said(const struct ocv_tag *tag);
/** Parts of the tag: without meaning for a choice, not known to the rules, open to two readings. */
enum ocv_tag_list { OCV_TAG_IGNORED, OCV_TAG_UNKNOWN, OCV_TAG_AMBIGUOUS };
/** One of its lists of texts. Returns how many; `out` may be NULL. */
OCV_API size_t ocv_tag_list(const struct ocv_tag *tag, enum ocv_tag_list which,
                            const char *const **out);
/** The i-th of its groups, by key ("version" "1.9"); false past the last. */
OCV_API bool ocv_tag_group(const struct ocv_tag *tag, size_t i, const char **key,
                           const char **value);
/** Append {"reference","family","properties","group","ignored","unknown","ambiguous"}, and
 * "base", "platform" and "refused" where there is one. */
OCV_API int ocv_tag_format_json(const struct ocv_tag *tag, struct ocv_buffer *out,
                                struct ocv_error *err) OCV_WARN_UNUSED;

/** True if the tag, in a repository where a rule groups tags, is such a group's name ("1.9" for
 *  "86-1.9", "hopper-1.9", ...): only then do the repository's tags have to be listed. One that
 *  is refused for what it leaves unsaid is a name only where the repository has no such tag. */
OCV_API bool ocv_tag_names_group(const struct ocv_tag *tag);

/** Sets of tags that stand for one name each. Owns the parsed tags. */
struct ocv_tag_plan;
/** Plan over `n` tags of the reference's repository, in any order; what stands twice counts once.
 * `wanted` (may be NULL): only the set of that name. Of tags that say the same, one is taken by the
 * rule's preference; where that does not decide none is, and a doubt says so. Sets in which there
 * is nothing to choose are left out. */
OCV_API int ocv_tag_plan_new(const struct ocv_tag_rules *rules,
                             const struct ocv_reference *reference, const char *wanted,
                             const char *const *tags, size_t n, struct ocv_tag_plan **out,
                             struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_tag_plan_free(struct ocv_tag_plan *plan);
/** Number of sets; each has a name, the tag that stands for it, and members. */
OCV_API size_t ocv_tag_plan_sets(const struct ocv_tag_plan *plan);
OCV_API const char *ocv_tag_plan_name(const struct ocv_tag_plan *plan, size_t set);
OCV_API size_t ocv_tag_plan_members(const struct ocv_tag_plan *plan, size_t set);
/** A member and its label ("null" for one without properties). */
OCV_API const struct ocv_tag *ocv_tag_plan_member(const struct ocv_tag_plan *plan, size_t set,
                                                  size_t i, const char **label);
/** The member as entries of an index of the set. */
struct ocv_tag_entry {
    char label[64];
    struct ocv_properties
        *properties; /**< with its place in the set's order; freed by the caller */
};
/** One or, where ocv_tag_base_properties has something, two; `*n` of them. */
OCV_API int ocv_tag_plan_entries(const struct ocv_tag_plan *plan, size_t set, size_t i,
                                 struct ocv_tag_entry out[2], size_t *n,
                                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the set's namespaces, most important first, and what OCV_ANNOTATION_STATIC of "priority"
 *  is for it: builds of an older CUDA stand first. Nothing where there is none to say. */
OCV_API int ocv_tag_plan_order(const struct ocv_tag_plan *plan, size_t set,
                               struct ocv_buffer *namespaces, struct ocv_buffer *order,
                               struct ocv_error *err) OCV_WARN_UNUSED;
/** Texts that name tags between which the rules do not decide. */
OCV_API size_t ocv_tag_plan_doubts(const struct ocv_tag_plan *plan, size_t set,
                                   const char *const **out);
/** Tags that are in no set and in no doubt, each with the reason; how many there are. */
OCV_API size_t ocv_tag_plan_left_out(const struct ocv_tag_plan *plan);
OCV_API const struct ocv_tag *ocv_tag_plan_left(const struct ocv_tag_plan *plan, size_t i,
                                                const char **reason);

/** A member whose digest is fixed. Borrowed. */
struct ocv_tag_candidate {
    const struct ocv_tag *tag;
    const char *label;
    struct ocv_descriptor descriptor;
    const void *body; /**< bytes of an index, whose images of every platform are taken; NULL: the
                           descriptor is a manifest's */
    size_t body_len;
    const char
        *platform; /**< of a manifest, from its config; NULL: what the tag says, or unknown */
};
/** Append the candidates as an image index with our annotations, to be parsed and resolved as any
 *  other. Its own digest means nothing. */
OCV_API int ocv_tag_index(const struct ocv_tag_candidate *candidates, size_t n,
                          struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- Writing indexes (schema/annotations.md, "Layout") -----------------------------------------
 */

/** An index document in the making, or one that is edited: what is not changed keeps its bytes. */
struct ocv_author;
/** How entries that are no default are kept from clients that know nothing of variants. */
enum ocv_author_layout {
    OCV_AUTHOR_HIDDEN,       /**< platform.variant "x-LABEL": they never see them */
    OCV_AUTHOR_SAME_PLATFORM /**< the true platform: containerd 2.1 and newer fetches all of them */
};
/** An image that becomes an entry. Strings are borrowed for the call. */
struct ocv_author_image {
    const char *label;                       /**< NULL or "null": the default */
    const struct ocv_properties *properties; /**< NULL: none */
    struct ocv_descriptor descriptor;
    struct ocv_platform platform; /**< as its config says */
};

/** An empty index. */
OCV_API int ocv_author_new(enum ocv_author_layout layout, struct ocv_author **out,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** An index to edit. Not an index: OCV_ERR_DATA; a Docker manifest list, whose annotations get
 *  lost: OCV_ERR_UNSUPPORTED. `layout` is for what is added. */
OCV_API int ocv_author_open(const void *bytes, size_t len, const char *media_type,
                            enum ocv_author_layout layout, struct ocv_author **out,
                            struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_author_free(struct ocv_author *author);
/** Number of entries. */
OCV_API size_t ocv_author_count(const struct ocv_author *author);
/** The bytes of entry `i`, NULL past the last. Borrowed until the next change. */
OCV_API const char *ocv_author_entry(const struct ocv_author *author, size_t i);
/** Add an image where it belongs. The default, `null` or without a label, becomes an entry without
 *  annotations, which every client finds. Bad label, the label or the default twice on a platform,
 *  one label with two sets of properties: OCV_ERR_DATA; one default added as `null` and one without
 *  a label: OCV_ERR_INVALID. After an error of this and of the following functions the document can
 *  only be freed. */
OCV_API int ocv_author_add(struct ocv_author *author, const struct ocv_author_image *image,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** Add an entry of these bytes (an attestation of an image that was added before). */
OCV_API int ocv_author_add_raw(struct ocv_author *author, const char *json, size_t len,
                               struct ocv_error *err) OCV_WARN_UNUSED;
/** Take out the entries with this label or digest (NULL: ordinary images, which "null" means, too,
 *  where no entry has that label), of that os and architecture only where `platform` is given, and
 *  what attests to them. OCV_ERR_NOT_FOUND. */
OCV_API int ocv_author_remove(struct ocv_author *author, const char *which,
                              const struct ocv_platform *platform,
                              struct ocv_error *err) OCV_WARN_UNUSED;
/** Give such entries a label, or properties, or both (NULL: as it is). The label "null" takes both
 *  away: a default carries none. */
OCV_API int ocv_author_annotate(struct ocv_author *author, const char *which,
                                const struct ocv_platform *platform, const char *label,
                                const struct ocv_properties *properties,
                                struct ocv_error *err) OCV_WARN_UNUSED;
/** Set an annotation of the index, or remove it (NULL). Namespaces and static namespaces are
 *  checked (OCV_ERR_DATA); what stands on entries or is written by itself: OCV_ERR_INVALID. Without
 *  OCV_ANNOTATION_NAMESPACES they are listed by the default rule. */
OCV_API int ocv_author_set(struct ocv_author *author, const char *key, const char *value,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** An annotation of the index, or NULL. */
OCV_API const char *ocv_author_annotation(const struct ocv_author *author, const char *key);
/** Give every entry the place and platform that the layout asks for, an annotated `null` the form
 * of an ordinary image, and an index with variants the annotations of ours that it lacks: for an
 * index that another tool, or an older one, made. */
OCV_API int ocv_author_relayout(struct ocv_author *author, struct ocv_error *err) OCV_WARN_UNUSED;
/** The document's bytes: the same input gives the same bytes, and what was not changed is as it was
 *  read. What readers would not use of that which changed: OCV_ERR_DATA. `out` is replaced. */
OCV_API int ocv_author_format(struct ocv_author *author, struct ocv_buffer *out,
                              struct ocv_error *err) OCV_WARN_UNUSED;

/** One image of a source file. Borrowed from it. */
struct ocv_author_source_image {
    const char *label;                       /**< NULL: an ordinary image, the default */
    const char *reference;                   /**< as written */
    const struct ocv_properties *properties; /**< NULL: none */
    size_t line;
};
/** What an index is made of, as a YAML file (schema/index-source.schema.json). */
struct ocv_author_source;
/** Read one. `source` names it in messages. OCV_ERR_DATA "FILE:LINE: ...". */
OCV_API int ocv_author_source_parse(const char *source, const char *text, size_t len,
                                    struct ocv_author_source **out,
                                    struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_author_source_free(struct ocv_author_source *source);
OCV_API const char *
ocv_author_source_target(const struct ocv_author_source *source); /**< or NULL */
OCV_API size_t ocv_author_source_count(const struct ocv_author_source *source);
OCV_API struct ocv_author_source_image
ocv_author_source_image(const struct ocv_author_source *source, size_t i);
/** The i-th annotation of the index that the file asks for (namespaces and static namespaces
 * included); false past the last. */
OCV_API bool ocv_author_source_annotation(const struct ocv_author_source *source, size_t i,
                                          const char **key, const char **value);
/** Its layout; `fallback` where it names none. */
OCV_API enum ocv_author_layout ocv_author_source_layout(const struct ocv_author_source *source,
                                                        enum ocv_author_layout fallback);

/** Where tags, manifests and configs come from: one repository of a registry, a layout, a test.
 * Each function returns 0 or a status with `err` filled. */
struct ocv_tag_source {
    void *data;
    /** Call `visit` for each tag of the repository; stop when it returns non-zero. */
    int (*tags)(void *data, int (*visit)(void *visit_data, const char *tag), void *visit_data,
                struct ocv_error *err);
    /** What the tag stands for now; a size below zero is not known. */
    int (*head)(void *data, const char *tag, struct ocv_descriptor *out, struct ocv_error *err);
    /** The manifest or index of this digest, verified. */
    int (*get)(void *data, const char *digest, struct ocv_buffer *body, struct ocv_descriptor *out,
               struct ocv_error *err);
    /** A small blob, verified. */
    int (*blob)(void *data, const struct ocv_descriptor *blob, struct ocv_buffer *body,
                struct ocv_error *err);
};

#define OCV_TAG_CANDIDATES_MAX 256u /**< tags of one choice whose digests are fixed */

/** The choice among the tags that stand for one name. */
struct ocv_tag_choice;
/** If the rules say that the reference's tag names a group: list the repository's tags, fix each
 *  candidate's digest once, and make their index. `*out` stays NULL where they do not, or where
 *  there is nothing to choose: the tag is taken as it is. Tags that the rules cannot tell apart:
 *  OCV_ERR_DATA with their names. A registry without lists of tags (HTTP 405, 501):
 *  OCV_ERR_NOT_FOUND. `rules` must outlive it. */
OCV_API int ocv_tag_choice_new(const struct ocv_tag_rules *rules,
                               const struct ocv_reference *reference,
                               const struct ocv_tag_source *source, struct ocv_tag_choice **out,
                               struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_tag_choice_free(struct ocv_tag_choice *choice);
/** Choose. Where the winner's platform is not known, its config is read and it is chosen again: the
 *  index is another one afterwards. The decision borrows it and the profile. */
OCV_API int
ocv_tag_choice_resolve(struct ocv_tag_choice *choice, const struct ocv_tag_source *source,
                       const struct ocv_profile *profile, const struct ocv_resolve_options *options,
                       struct ocv_decision **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** The index to choose in; its digest names the digests that were fixed. Valid until the next call
 *  of ocv_tag_choice_resolve. */
OCV_API const struct ocv_index *ocv_tag_choice_index(const struct ocv_tag_choice *choice);
/** The same as the caller's own, and the choice is freed. */
OCV_API struct ocv_index *ocv_tag_choice_take(struct ocv_tag_choice *choice);
/** The family whose rules made it ("huggingface-tei"), and the name that its tags stand for. */
OCV_API const char *ocv_tag_choice_family(const struct ocv_tag_choice *choice);
OCV_API const char *ocv_tag_choice_group(const struct ocv_tag_choice *choice); /**< "1.9" */
/** How many tags stand for the name, and the i-th of them with what it stood for when it was fixed;
 *  NULL past the last. */
OCV_API size_t ocv_tag_choice_count(const struct ocv_tag_choice *choice);
OCV_API const char *ocv_tag_choice_candidate(const struct ocv_tag_choice *choice, size_t i,
                                             const struct ocv_descriptor **descriptor);
/** The tag of an entry of that index ("86-1.9"), and what it stood for when it was fixed. */
OCV_API const char *ocv_tag_choice_tag(const struct ocv_tag_choice *choice,
                                       const struct ocv_entry *entry,
                                       const struct ocv_descriptor **descriptor);

/* ---- This node's daemon (variantd's unix socket) ----------------------------------------------
 */

/** GET `target` ("/v1/profile") from the daemon that listens on unix socket `path`, all within
 *  `timeout_ms`, without libcurl. `*http_status`: the answer's; its body, at most body->max bytes,
 * is appended. Nobody listens: OCV_ERR_NOT_FOUND; late or cut: OCV_ERR_NETWORK; not HTTP, a wrong
 *  length: OCV_ERR_DATA. Thread-safe. */
OCV_API int ocv_local_get(const char *path, const char *target, unsigned timeout_ms,
                          long *http_status, struct ocv_buffer *body,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** The head of an answer that came to its end: where its body starts and how long it is. For tests
 *  and fuzzing of the above. */
OCV_API int ocv_local_http_parse(const char *bytes, size_t len, long *status, size_t *body,
                                 size_t *length, struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- Cleanup ----------------------------------------------------------------------------------
 */

#if defined(__GNUC__) && !defined(__cplusplus)
/** `ocv_auto(ocv_index) index = NULL;` frees on leaving the scope. */
#define ocv_auto(type) __attribute__((cleanup(type##_cleanup))) struct type *
#define OCV_DEFINE_CLEANUP(type)                                               \
    __attribute__((unused)) static inline void type##_cleanup(struct type **p) \
    {                                                                          \
        type##_free(*p);                                                       \
    }
OCV_DEFINE_CLEANUP(ocv_properties)
OCV_DEFINE_CLEANUP(ocv_hasher)
OCV_DEFINE_CLEANUP(ocv_reference)
OCV_DEFINE_CLEANUP(ocv_tag)
OCV_DEFINE_CLEANUP(ocv_tag_rules)
OCV_DEFINE_CLEANUP(ocv_tag_plan)
OCV_DEFINE_CLEANUP(ocv_tag_choice)
OCV_DEFINE_CLEANUP(ocv_platform)
OCV_DEFINE_CLEANUP(ocv_index)
OCV_DEFINE_CLEANUP(ocv_profile)
OCV_DEFINE_CLEANUP(ocv_config)
OCV_DEFINE_CLEANUP(ocv_decision)
OCV_DEFINE_CLEANUP(ocv_manifest)
OCV_DEFINE_CLEANUP(ocv_layout)
OCV_DEFINE_CLEANUP(ocv_author)
OCV_DEFINE_CLEANUP(ocv_author_source)
/** A buffer that frees itself; initialise with ocv_buffer_init at once. */
#define ocv_auto_buffer __attribute__((cleanup(ocv_buffer_free))) struct ocv_buffer
#endif

#ifdef __cplusplus
}
#endif
#endif
