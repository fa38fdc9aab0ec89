/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* CredentialProviderConfig of kubelet.config.k8s.io, as kubelet reads it with
 * --image-credential-provider-config: which program is asked for which images. */
#ifndef OCV_PROVIDER_CONFIG_H
#define OCV_PROVIDER_CONFIG_H

#include "ocivariant/error.h"

#include <stdint.h>

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

#endif
