/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose signature an image has, and whether that is enough (`trust` of the configuration). */
#include "cmd/common/image/image.h"
#include "lib/base/cleanup.h"

#include <stdio.h>
#include <string.h>

bool image_has_trust(struct cli *cli, const char *text)
{
    struct ocv_trust_rule rules[2];
    ocv_auto(ocv_reference) reference = NULL;
    return ocv_config_trust_rules(cli->config, 0, NULL) &&
           ocv_reference_parse(text, &reference, NULL) == OCV_OK &&
           ocv_config_trust(cli->config, reference, rules) > 0;
}

const char *image_subject(const struct image *image, const struct ocv_entry *entry)
{
    const struct ocv_descriptor *tagged = NULL;
    if (image->choice)
        ocv_tag_choice_tag(image->choice, entry, &tagged);
    return tagged ? tagged->digest : image->top.digest;
}

int trust_verify(struct ocv_registry *registry, const struct ocv_config *config,
                 const struct ocv_reference *reference, const struct ocv_trust_rule *rule,
                 const struct ocv_signature_keys *keys, const char *digest, const char *document,
                 struct ocv_signature *out, struct ocv_error *err)
{
    char upstream[512];
    const char *names[] = {reference->name, upstream};
    size_t n = 1 + ocv_config_upstream_name(config, reference, upstream, sizeof(upstream));
    const struct ocv_signature_subject subject = {.digest = digest,
                                                  .document = document,
                                                  .repositories = names,
                                                  .n_repositories = rule->match ? n : 0};
    if (!rule->n_keys)
        return OCV_OK;
    int status = ocv_registry_verify(registry, reference, keys, &subject, out, err);
    if (status == OCV_ERR_UNTRUSTED)
        ocv_error_hint(err, "%.200s asks for a signature by %.200s%s", rule->origin, rule->keys[0],
                       rule->n_keys > 1 ? ", or by another key there" : "");
    return status;
}

int trust_keys(const struct ocv_trust_rule *rule, struct ocv_signature_keys **out,
               struct ocv_error *err)
{
    *out = NULL;
    return rule->n_keys && ocv_signature_keys_new(rule->keys, rule->n_keys, out, err) < 0
               ? ocv_error_prefix(err, "%s: %s", rule->origin, rule->glob)
               : OCV_OK;
}

int image_verify(struct cli *cli, const struct ocv_reference *reference, const char *subject,
                 const char *document, struct ocv_signature *out, struct ocv_error *warning,
                 struct ocv_error *err)
{
    struct ocv_trust_rule rules[2];
    *out = (struct ocv_signature){.key = ""};
    size_t n = reference ? ocv_config_trust(cli->config, reference, rules) : 0;
    for (size_t i = 0; i < n; i++) {
        struct ocv_error why = {0};
        ocv_auto(ocv_signature_keys) keys = NULL;
        OCV_TRY(trust_keys(&rules[i], &keys, err));
        int status = trust_verify(cli->registry, cli->config, reference, &rules[i], keys, subject,
                                  document, out, &why);
        if (status < 0 && (rules[i].require || document)) {
            *err = why;
            return status;
        }
        if (status < 0)
            *warning = why;
    }
    return OCV_OK;
}
