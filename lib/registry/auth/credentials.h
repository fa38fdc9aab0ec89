/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Credentials as docker and podman keep them. */
#ifndef OCV_REGISTRY_CREDENTIALS_H
#define OCV_REGISTRY_CREDENTIALS_H

#include "ocivariant/error.h"

#include <stdint.h>

#define OCV_DOCKER_CONFIG_MAX (1024u * 1024) /* bytes of a config.json or auth.json */
#define OCV_HELPER_NAME_MAX 64               /* "docker-credential-" + this */
#define OCV_HELPER_ANSWER_MAX (64u * 1024)

/** All NULL: none. */
struct ocv_credentials {
    char *username;
    char *password;
    char *identity_token;
    char *registry_token; /* as a registry takes it: sent as it is */
    uint64_t issue;       /* which answer of a credential provider they are from; 0: of none */
    int64_t until_ms;     /* and when it ends, monotonic */
};
void ocv_credentials_free(struct ocv_credentials *credentials);
bool ocv_credentials_empty(const struct ocv_credentials *credentials);

/** Look a host up in the text of a config.json. `repository` may be NULL; podman's keys may name
 *  a part of it. `helper`: name of the credential helper to ask for the key that is written to
 *  `server`, or empty; `out` is what the file itself has. */
int ocv_docker_config_find(const char *text, size_t len, const char *host, const char *repository,
                           char helper[OCV_HELPER_NAME_MAX], struct ocv_credentials *out,
                           struct ocv_error *err);
/** What docker-credential-NAME is asked for on its standard input. */
const char *ocv_docker_config_server(const char *host);
/** Parse what a helper printed. */
int ocv_helper_parse(const char *text, size_t len, struct ocv_credentials *out,
                     struct ocv_error *err);
/** Run `docker-credential-NAME get`. No credentials stored there is no error. */
int ocv_helper_get(const char *name, const char *server, const volatile int *interrupted,
                   struct ocv_credentials *out, struct ocv_error *err);

#endif
