/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks images without variants by the requirements in their own configuration (NVIDIA_REQUIRE_*).
 * docker, podman and layouts return the configuration; containerd is asked for the documents. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/verify/verify_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <string.h>

/* A document of a namespace's content store, or NULL. */
static json_t *content_of(const char *ns, const char *digest, size_t max)
{
    const char *const argv[] = {"ctr", "--namespace", ns, "content", "get", digest, NULL};
    ocv_auto_buffer text;
    json_t *json = NULL;
    ocv_buffer_init(&text, max);
    if (!digest || !ocv_digest_wellformed(digest) || client_capture(argv, &text, NULL) < 0 ||
        ocv_json_load_counted("document", text.data, text.len, max, OCV_JSON_VALUES_MAX, &json,
                              NULL) < 0)
        return NULL;
    return json;
}

/* By the manifest for this machine's platform. */
static json_t *containerd_config(const struct image_checker *j, const struct local_image *image)
{
    static const char place[] = "containerd:";
    const struct ocv_platform host = ocv_profile_platform(j->cli->profile);
    if (strncmp(image->where, place, sizeof(place) - 1) != 0 || !image->n_digests)
        return NULL;
    const char *ns = image->where + sizeof(place) - 1, *found = NULL;
    ocv_auto_json *document = content_of(ns, image->digests[0], OCV_MANIFEST_MAX);
    const json_t *list = json_object_get(document, "manifests"), *one;
    size_t i;
    json_array_foreach(list, i, one)
    {
        const json_t *platform = json_object_get(one, "platform");
        const char *os = ocv_json_text(platform, "os"),
                   *architecture = ocv_json_text(platform, "architecture");
        if (!found && os && architecture && host.architecture && !strcmp(os, "linux") &&
            !strcmp(architecture, host.architecture))
            found = ocv_json_text(one, "digest");
    }
    ocv_auto_json *below = content_of(ns, found, OCV_MANIFEST_MAX);
    const json_t *manifest = json_is_array(list) ? below : document;
    return content_of(ns, ocv_json_text(json_object_get(manifest, "config"), "digest"),
                      OCV_IMAGE_CONFIG_MAX);
}

/* With `tag_rules: on`, as variantd has them; or NULL. */
static struct ocv_tag_rules *rules_for(struct cli *cli, const char *name)
{
    ocv_auto(ocv_reference) reference = NULL;
    struct ocv_tag_rules *rules = NULL;
    if (!name || ocv_reference_parse(name, &reference, NULL) < 0)
        return NULL;
    const char *on = ocv_config_get(ocv_config_for_reference(cli->config, reference), "tag_rules");
    bool loaded = on && !strcmp(on, "on") && rules_load(cli, reference, &rules, NULL) == OCV_OK;
    return loaded ? rules : NULL;
}

bool image_check_config(const struct image_checker *j, const struct ocv_fit_host *host,
                        const struct local_image *image, enum ocv_verdict *verdict,
                        struct ocv_buffer *reason)
{
    const char *policy = ocv_config_get(j->cli->config, "config_policy");
    struct ocv_config_finding one = {.fit = OCV_CONFIG_NO_WORD};
    struct ocv_gpu_host gpus;
    ocv_gpu_host_read(host->profile, NULL, &gpus);
    if ((policy && !strcmp(policy, "off")) || image->index || !gpus.n)
        return false;
    ocv_auto(ocv_image_config) config = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_IMAGE_CONFIG_MAX);
    ocv_auto_json *read = image->config ? NULL : containerd_config(j, image);
    const json_t *json = image->config ? image->config : read;
    bool checked = json && ocv_json_append(json, JSON_COMPACT, &text, NULL) == OCV_OK &&
                   ocv_image_config_parse(text.data, text.len, &config, NULL) == OCV_OK;
    if (checked) {
        ocv_auto(ocv_tag_rules) rules = rules_for(j->cli, image->name);
        ocv_fit_ordinary(host, config, &gpus, rules, image->name, &one);
        checked = one.fit == OCV_CONFIG_WARNING || one.fit == OCV_CONFIG_MISFIT;
    }
    reason->len = checked ? 0 : reason->len;
    if (!checked || ocv_buffer_printf(reason, NULL, "%s", one.reason) < 0)
        return false;
    bool misfit = one.fit == OCV_CONFIG_MISFIT && policy && !strcmp(policy, "enforce");
    *verdict = misfit ? OCV_VERDICT_MISFIT : OCV_VERDICT_WARNING;
    return true;
}
