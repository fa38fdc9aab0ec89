/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Credentials as docker and podman keep them. */
#ifndef OCV_REGISTRY_CREDENTIALS_H
#define OCV_REGISTRY_CREDENTIALS_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/registry.h"

#include <stdbool.h>
#include <stddef.h>
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
/** Overwrite it first. NULL is none. */
void ocv_secret_free(char *secret);
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

/* WWW-Authenticate (RFC 9110 section 11.6.1, distribution's token specification). */

/** One challenge; what it does not have is empty. */
struct ocv_challenge {
    char scheme[16]; /* lower case: "bearer", "basic" */
    char realm[2048];
    char service[512];
    char scope[2048]; /* several are separated by spaces */
    char error[128];
};

/** Parse the value of one header. Challenges past `max`, unknown parameters, and challenges with a
 *  parameter that is too long are dropped. Returns the number written. */
size_t ocv_challenge_parse(const char *text, size_t len, struct ocv_challenge *out, size_t max);

/* The files in which docker, podman and skopeo keep what `login` was told. */

/** In the order in which they are asked. */
struct ocv_auth_files {
    struct ocv_auth_file {
        char *path;
        size_t own; /**< length of the user's own directory in it, which stands in one that others
                         may write to; 0: the caller named it. See ocv_auth_file_safe */
    } list[8];
    size_t n;
};

/** Which those are for this process: variables of the environment, home, and user id. They need not
 *  be there. Freed with ocv_auth_files_free, also after an error. */
int ocv_auth_files_find(struct ocv_auth_files *out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_auth_files_free(struct ocv_auth_files *files);
/** False where the user's own directory is another user's, or others may write to it: anyone can
 * make such a directory in /tmp. */
bool ocv_auth_file_safe(const struct ocv_auth_file *file);
/** "FILE, FILE and FILE", as far as there is room. */
void ocv_auth_files_name(const struct ocv_auth_files *files, char *out, size_t size);

/* Asking credential providers, and remembering what they said. */

/** How long the caller waits. */
struct ocv_providers_patience {
    const volatile int *interrupted; /* non-zero: no longer; may be NULL */
    int64_t until_ms;                /* monotonic; 0: as long as it takes */
};

/** The credentials for HOST[:PORT]/REPOSITORY (or the host alone) of the first provider that has
 *  some; all empty if none has. A provider that fails has none, and `note` says why. When the time
 *  is up: OCV_ERR_NETWORK with http_status 504. */
int ocv_providers_find(struct ocv_credential_providers *providers, const char *image,
                       const struct ocv_providers_patience *patience, struct ocv_credentials *out,
                       char *note, size_t note_size, struct ocv_error *err) OCV_WARN_UNUSED;
/** The registry refused the credentials of that issue: may others be asked for? False if these
 * were given out only just now; else their provider is asked again. `providers` may be NULL. */
bool ocv_providers_renew(struct ocv_credential_providers *providers, uint64_t issue);

#endif
