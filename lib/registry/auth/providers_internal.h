/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* HOST[:PORT][/PATH] with "*" in the labels of the host: which images credentials are for, as
 * kubelet tells it (pkg/credentialprovider/keyring.go, URLsMatch). */
#ifndef OCV_PROVIDERS_INTERNAL_H
#define OCV_PROVIDERS_INTERNAL_H

#include "lib/registry/auth/credentials.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCV_IMAGE_GLOB_MAX 512u /* bytes of a glob that is compared */

/** Is the image (HOST[:PORT]/REPOSITORY) one of them? As many labels, each matched by its own part
 *  of the glob; the same port or none; and a path that begins with the glob's, wherever that ends.
 */
bool ocv_image_glob_match(const char *glob, const char *image);
/** May an image at HOST[:PORT] be one of them? */
bool ocv_image_glob_covers(const char *glob, const char *host);

/* CredentialProviderConfig of kubelet.config.k8s.io, as kubelet reads it with
 * --image-credential-provider-config: which program is asked for which images. */

#define OCV_PROVIDER_CONFIG_MAX (1024u * 1024) /* bytes of the file */
#define OCV_PROVIDERS_MAX 64u                  /* programs in it */
#define OCV_PROVIDER_GLOBS_MAX 256u            /* matchImages of one */
#define OCV_PROVIDER_WORDS_MAX 64u             /* its arguments, and its variables */
#define OCV_PROVIDER_NAME_MAX 128u             /* bytes of its name */

struct ocv_yaml;

/** A program. Texts belong to the configuration. */
struct ocv_provider {
    const char *name;    /**< of the file in the directory of programs */
    const char *version; /**< apiVersion of what it is asked and prints */
    const char **globs;  /**< the images that it is asked for; `n_globs` of them */
    size_t n_globs;
    const char **argv;        /**< from its name to NULL */
    char **variables;         /**< NAME=VALUE, to NULL */
    int64_t keep_ms;          /**< how long an answer is kept that does not say it */
    bool for_service_account; /**< only for pods with one: never asked here */
};

struct ocv_provider_config {
    struct ocv_yaml *tree; /* keeps the texts */
    struct ocv_provider *providers;
    size_t n;
};

/** Read the text of a file named `source`. OCV_ERR_CONFIG with file and line. */
int ocv_provider_config_read(const char *source, const char *text, size_t len,
                             struct ocv_provider_config *out,
                             struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_provider_config_free(struct ocv_provider_config *config);
/** Is the program asked for HOST[:PORT]/REPOSITORY? */
bool ocv_provider_serves(const struct ocv_provider *provider, const char *image);

/* What kubelet's credential provider plug-ins print: CredentialProviderResponse of
 * credentialprovider.kubelet.k8s.io. No message here has any part of it. */

#define OCV_PROVIDER_ANSWER_MAX (64u * 1024) /* bytes that are printed */
#define OCV_PROVIDER_VALUES_MAX (8u * 1024)  /* values in it, as they are counted */
#define OCV_PROVIDER_AUTHS_MAX 256u          /* credentials in it */
#define OCV_PROVIDER_KEY_MAX 1024u           /* bytes of what one of them is for */

/** Which other images the answer is for, too. */
enum ocv_provider_scope { OCV_SCOPE_IMAGE, OCV_SCOPE_REGISTRY, OCV_SCOPE_GLOBAL };

struct ocv_provider_answer {
    enum ocv_provider_scope scope;
    int64_t keep_ms; /* 0: only for who asked; -1: as long as the configuration says */
    struct {
        char *key; /* HOST[:PORT][/PATH], "*" in the host's labels */
        char *username, *password;
    } * auths;
    size_t n;
};

/** `version`: the apiVersion that it has to have. OCV_ERR_DATA for anything else. */
int ocv_provider_answer_parse(const char *text, size_t len, const char *version,
                              struct ocv_provider_answer *out,
                              struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_provider_answer_free(struct ocv_provider_answer *answer);
/** The credentials for HOST[:PORT]/REPOSITORY: of the keys that match, the last in byte order, so
 *  that a longer path wins, as for kubelet. Empty if none matches. */
int ocv_provider_answer_find(const struct ocv_provider_answer *answer, const char *image,
                             struct ocv_credentials *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** A duration as Go writes it, "1h30m", "0.5s", "0", to milliseconds; at most 100 years. */
bool ocv_go_duration_parse(const char *text, int64_t *ms);

/* One run of a credential provider plug-in. */

/** Why the program of that name in the directory cannot be run: an error with its path. It, the
 *  directory that names it and the one that it is in have to belong to root or to this user, and
 *  nobody else may write to them. */
int ocv_provider_check(const char *directory, const char *name, char path[4096],
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Ask it for HOST[:PORT]/REPOSITORY. Errors as ocv_run; no message has what it printed. */
int ocv_provider_run(const struct ocv_provider *provider, const char *directory, const char *image,
                     unsigned timeout_ms, const volatile int *interrupted,
                     struct ocv_provider_answer *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
