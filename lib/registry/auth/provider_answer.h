/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What kubelet's credential provider plug-ins print: CredentialProviderResponse of
 * credentialprovider.kubelet.k8s.io. No message here has any part of it. */
#ifndef OCV_PROVIDER_ANSWER_H
#define OCV_PROVIDER_ANSWER_H

#include "lib/registry/auth/credentials.h"

#include <stddef.h>
#include <stdint.h>

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

#endif
