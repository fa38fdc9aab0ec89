/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/common/verdict.h"

#include "lib/base/file.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_MAX (256u * 1024)
#define TRUST_TIMEOUT_MS 8000u /* containerd waits ten seconds for a verifier */

/* Images that a node needs, so they are never refused: the pod sandbox image, in the registries
 * where Kubernetes, its distributions and clouds publish it and under podman's local name, and this
 * project's own. Each names its registry, because anyone can publish an image called "pause" in
 * another one. */
static const char *const always_allowed[] = {
    "registry.k8s.io/pause",
    "k8s.gcr.io/pause",
    "gcr.io/google_containers/pause",
    "gcr.io/google-containers/pause",
    "gke.gcr.io/pause",
    "mcr.microsoft.com/oss/kubernetes/pause",
    "602401143452.dkr.ecr.*.amazonaws.com/eks/pause", /* EKS's own account */
    "public.ecr.aws/eks-distro/kubernetes/pause",
    "registry.aliyuncs.com/google_containers/pause",
    "docker.io/rancher/pause",
    "docker.io/rancher/mirrored-pause",
    "localhost/kubernetes/pause",
    "localhost/podman-pause",
    "ghcr.io/ocivariant/*",
    "docker.io/ocivariant/*",
};

static bool is_set_to(const struct ocv_config *config, const char *key, const char *word)
{
    const char *text = ocv_config_get(config, key);
    return text && strcmp(text, word) == 0;
}

int verdict_policy_read(const char *file, struct verdict_policy *out, struct ocv_error *err)
{
    *out = (struct verdict_policy){0};
    const char *path = file ? file : OCV_PATH_CONFIG;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CONFIG_MAX);
    int status = ocv_config_new(&out->config, err);
    if (status == OCV_OK) {
        status = ocv_file_read(path, OCV_FILE_ANY, &text, err);
        if (status == OCV_OK)
            status =
                ocv_config_merge_yaml(out->config, path, text.data ? text.data : "", text.len, err);
        else if (status == OCV_ERR_NOT_FOUND && !file)
            status = OCV_OK;
        else if (status == OCV_ERR_IO || status == OCV_ERR_NOT_FOUND) {
            ocv_error_prefix(err, "configuration");
            status = err->status = OCV_ERR_CONFIG;
        }
    }
    if (status < 0) {
        verdict_policy_free(out);
        return status;
    }
    const char *socket = ocv_config_get(out->config, "socket");
    out->socket = socket && *socket ? socket : OCV_PATH_SOCKET;
    out->enforce = is_set_to(out->config, "policy", "enforce");
    out->off = is_set_to(out->config, "policy", "off");
    out->closed = is_set_to(out->config, "fail", "closed");
    out->config_enforce = is_set_to(out->config, "config_policy", "enforce");
    out->config_off = is_set_to(out->config, "config_policy", "off");
    return OCV_OK;
}

void verdict_policy_free(struct verdict_policy *policy)
{
    ocv_config_free(policy->config);
    *policy = (struct verdict_policy){0};
}

/* The repository of "REPOSITORY[:TAG][@DIGEST]". False if the reference is only a repository. */
static bool repository_of(const char *reference, char *out, size_t size)
{
    size_t n = strcspn(reference, "@");
    for (size_t i = n; i > 0 && reference[i - 1] != '/'; i--)
        if (reference[i - 1] == ':')
            n = i - 1;
    return reference[n] && snprintf(out, size, "%.*s", (int)n, reference) < (int)size;
}

/* The first glob of `allow` that matches the reference or its repository, among those that name
 * their registry (`anchored`), or among those that do not and therefore have no effect: otherwise
 * anyone could publish an image that they match. */
static const char *find_glob(const struct verdict_policy *policy, const char *reference,
                             const char *repository, bool anchored)
{
    const char *const *globs;
    size_t n = ocv_config_list(policy->config, "allow", &globs);
    for (size_t i = 0; i < n; i++) {
        size_t host = strcspn(globs[i], "/*?[\\");
        bool named = host > 0 && globs[i][host] == '/';
        if (named == anchored &&
            (fnmatch(globs[i], reference, 0) == 0 || fnmatch(globs[i], repository, 0) == 0))
            return globs[i];
    }
    return NULL;
}

static bool is_allowed(const struct verdict_policy *policy, const char *reference)
{
    char name[1024];
    if (!reference)
        return false;
    const char *repository = repository_of(reference, name, sizeof(name)) ? name : reference;
    for (size_t i = 0; i < sizeof(always_allowed) / sizeof(*always_allowed); i++)
        if (fnmatch(always_allowed[i], repository, FNM_PATHNAME) == 0)
            return true;
    return find_glob(policy, reference, repository, true) != NULL;
}

/* The action under the policy if `choose` is set to this: where no variants are served, nothing is
 * refused. */
static enum verdict_action decide_action(const struct verdict_policy *policy,
                                         enum ocv_verdict verdict, const char *reference,
                                         enum ocv_choose choose)
{
    bool trouble = verdict == OCV_VERDICT_MISFIT || verdict == OCV_VERDICT_INDEX ||
                   (verdict == OCV_VERDICT_UNKNOWN && policy->closed);
    if (!trouble || policy->off || choose == OCV_CHOOSE_OFF || is_allowed(policy, reference))
        return VERDICT_ALLOW;
    return policy->enforce && choose == OCV_CHOOSE_ON ? VERDICT_REFUSE : VERDICT_WARN;
}

enum verdict_action verdict_decide(const struct verdict_policy *policy, enum ocv_verdict verdict,
                                   const char *reference)
{
    return decide_action(policy, verdict, reference,
                         ocv_config_choose_text(policy->config, reference));
}

/* "docker.io/team/app:1 (cuda12.8) does not fit this node: ...; cuda12.6 would". */
static void write_reason(const struct verdict_policy *policy, const struct ocv_verdict_question *q,
                         const char *why, const char *fit, struct verdict_answer *answer)
{
    const char *image = q->reference ? q->reference : q->digest ? q->digest : "the image";
    static const char *const words[] = {
        [OCV_VERDICT_FITS] = "fits this node",
        [OCV_VERDICT_MISFIT] = "does not fit this node",
        [OCV_VERDICT_NONE] = "has no variants",
        [OCV_VERDICT_INDEX] = "is an unresolved variant index",
        [OCV_VERDICT_UNKNOWN] = "cannot be checked",
        [OCV_VERDICT_LESSER] = "is not the best for this node",
    };
    bool reason = *why && answer->verdict != OCV_VERDICT_INDEX;
    snprintf(answer->reason, sizeof(answer->reason), "%.300s%s%s%s %s%s%.500s%s%s", image,
             answer->label[0] ? " (" : "", answer->label, answer->label[0] ? ")" : "",
             words[answer->verdict], reason ? ": " : "", reason ? why : "",
             *fit && answer->verdict != OCV_VERDICT_LESSER ? "; what would fit: " : "",
             answer->verdict != OCV_VERDICT_LESSER ? ocv_verdict_fit_words(fit) : "");
    size_t said = strlen(answer->reason);
    if (policy->enforce && answer->action == VERDICT_WARN && answer->choose == OCV_CHOOSE_SHADOW)
        snprintf(answer->reason + said, sizeof(answer->reason) - said,
                 "; let pass: choose is shadow");
    /* a glob of `allow` that matches but has no effect, because it names no registry */
    char name[1024];
    const char *repository =
        q->reference && repository_of(q->reference, name, sizeof(name)) ? name : q->reference;
    const char *glob = answer->action == VERDICT_ALLOW || !q->reference
                           ? NULL
                           : find_glob(policy, q->reference, repository, false);
    size_t n = strlen(answer->reason);
    if (glob)
        snprintf(answer->reason + n, sizeof(answer->reason) - n,
                 "; `allow: %.100s` is ignored: it does not begin with a registry", glob);
    ocv_text_clean(answer->reason); /* the limits above may have split a character */
}

/* Does a rule of `trust` refuse the image unless it is signed? */
static bool needs_signature(const struct verdict_policy *policy, const char *text)
{
    struct ocv_reference *reference = NULL;
    if (!text || !ocv_config_trust_anywhere(policy->config))
        return false;
    /* a name that cannot be read may be one that a rule is for */
    bool needed = ocv_reference_parse(text, &reference, NULL) < 0 ||
                  ocv_config_trust_required(policy->config, reference);
    ocv_reference_free(reference);
    return needed;
}

/* Refuse what needs a signature, unless variantd says that it has one. True: it is refused. */
static bool refuse_unsigned(const struct ocv_verdict_question *q, bool needed,
                            const struct ocv_verdict_answer *said, const char *why,
                            struct verdict_answer *answer)
{
    if (said->trust != OCV_VERDICT_TRUST_BAD && (!needed || said->trust == OCV_VERDICT_TRUST_GOOD))
        return false;
    answer->verdict = OCV_VERDICT_MISFIT;
    answer->action = VERDICT_REFUSE;
    snprintf(answer->reason, sizeof(answer->reason), "%.300s: %.500s",
             q->reference ? q->reference : "the image",
             said->trust == OCV_VERDICT_TRUST_BAD ? said->trust_reason
             : *why                               ? why
                                                  : "variantd does not check its signature");
    ocv_text_clean(answer->reason);
    return true;
}

static bool is_off(const struct verdict_policy *policy, bool config)
{
    return policy->off && (policy->config_off || !config);
}

bool verdict_is_off(const struct verdict_policy *policy, bool config)
{
    return !ocv_config_trust_anywhere(policy->config) && is_off(policy, config);
}

void verdict_ask(const struct verdict_policy *policy, const struct ocv_verdict_question *question,
                 struct verdict_answer *answer)
{
    struct ocv_verdict_answer said;
    struct ocv_error err = {0};
    *answer = (struct verdict_answer){
        .verdict = OCV_VERDICT_UNKNOWN,
        .action = VERDICT_ALLOW,
        .choose = ocv_config_choose_text(policy->config, question->reference)};
    bool off = answer->choose == OCV_CHOOSE_OFF;
    bool needed = needs_signature(policy, question->reference);
    bool open =
        is_off(policy, question->config != NULL) || off || is_allowed(policy, question->reference);
    if (open && !needed) {
        snprintf(answer->reason, sizeof(answer->reason), "%s",
                 off           ? "choose is off for it"
                 : policy->off ? "the policy is off"
                               : "always allowed");
        return;
    }
    int status = ocv_verdict_ask(policy->socket, question,
                                 needed ? TRUST_TIMEOUT_MS : VERDICT_TIMEOUT_MS, &said, &err);
    const char *why = status < 0 ? err.message : said.reason;
    if (refuse_unsigned(question, needed, &said, status < 0 ? err.message : "", answer) || open)
        return;
    bool wanting = said.verdict == OCV_VERDICT_LESSER && said.required;
    answer->verdict = said.verdict;
    if (ocv_choose_of(said.choose) > answer->choose) /* variantd may know the digest's repository */
        answer->choose = ocv_choose_of(said.choose);
    answer->action = decide_action(policy, wanting ? OCV_VERDICT_MISFIT : said.verdict,
                                   question->reference, answer->choose);
    if (said.verdict == OCV_VERDICT_FITS && *why)
        answer->action = VERDICT_WARN; /* it runs, but there is something to report */
    if (said.labels_only && answer->action == VERDICT_REFUSE)
        answer->action = VERDICT_WARN; /* labels may be the base image's: FROM inherits them */
    snprintf(answer->label, sizeof(answer->label), "%s", said.label);
    write_reason(policy, question, why, said.fit, answer);
    bool named = question->digest || question->properties;
    if (policy->off || (question->config && !named)) /* only the configuration is checked */
        answer->action = VERDICT_ALLOW;

    /* An ordinary image whose configuration requires more than this node has: it has a policy of
     * its own, and applies only if the image is not refused already. */
    if (policy->config_off || said.config == OCV_VERDICT_CONFIG_NONE ||
        answer->action == VERDICT_REFUSE)
        return;
    const char *image = question->reference ? question->reference
                        : question->digest  ? question->digest
                                            : "the image";
    bool misfit = said.config == OCV_VERDICT_CONFIG_MISFIT;
    bool enforce = policy->config_enforce && answer->choose == OCV_CHOOSE_ON;
    answer->verdict = misfit ? OCV_VERDICT_MISFIT : answer->verdict;
    answer->action = misfit && enforce ? VERDICT_REFUSE : VERDICT_WARN;
    snprintf(answer->reason, sizeof(answer->reason), "%.300s: %.600s", image, said.config_reason);
    ocv_text_clean(answer->reason);
}

void verdict_set_unknown(const struct verdict_policy *policy,
                         const struct ocv_verdict_question *question, const char *why,
                         struct verdict_answer *answer)
{
    *answer = (struct verdict_answer){
        .verdict = OCV_VERDICT_UNKNOWN,
        .choose = ocv_config_choose_text(policy->config, question->reference)};
    answer->action =
        decide_action(policy, OCV_VERDICT_UNKNOWN, question->reference, answer->choose);
    write_reason(policy, question, why, "", answer);
}
