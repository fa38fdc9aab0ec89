/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Any bytes as tags, read by the shipped rules: the first line is a reference, or the number, from
 * 1, in the list below as one byte; every line after it is a tag. What is said is well-formed, and
 * planning over the tags and reading one of them agree. */
#include "lib/internal/tags/tags.h"
#include "ocivariant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TAGS_MAX 64

static struct ocv_tag_rules *shipped(void)
{
    static struct ocv_tag_rules *rules;
    if (rules)
        return rules;
    if (ocv_tag_rules_new(&rules, NULL) < 0 ||
        ocv_tag_rules_load(rules, "plugins/tags.d", NULL, NULL) < 0 ||
        ocv_tag_rules_count(rules) == 0) {
        fputs("run it where plugins/tags.d is\n", stderr);
        abort();
    }
    return rules;
}

static struct ocv_reference *reference_of(const char *line)
{
    static const char *const known[] = {
        "vllm/vllm-openai",
        "lablup/python",
        "rocm/vllm",
        "dustynv/pytorch",
        "quay.io/ascend/cann",
        "ghcr.io/huggingface/text-embeddings-inference",
        "763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training-arm64",
        "nvcr.io/nvidia/tritonserver",
        "localai/localai-backends",
        "gpustack/runner",
        "vault.habana.ai/gaudi-docker/1.22.2/ubuntu24.04/habanalabs/pytorch-installer-2.7.1",
        "image.sourcefind.cn:5000/dcu/admin/base/custom"};
    struct ocv_reference *out = NULL;
    size_t n = (unsigned char)line[0];
    if (n >= 1 && n <= sizeof(known) / sizeof(*known) && !line[1])
        line = known[n - 1];
    return ocv_reference_parse(line, &out, NULL) == OCV_OK ? out : NULL;
}

static void check_one(const struct ocv_reference *reference, const char *text)
{
    struct ocv_tag *tag = NULL;
    struct ocv_buffer json;
    ocv_buffer_init(&json, 1024 * 1024);
    if (ocv_tag_parse(shipped(), reference, text, &tag, NULL) == OCV_OK) {
        if (ocv_tag_list(tag, OCV_TAG_AMBIGUOUS, NULL) &&
            ocv_properties_count(ocv_tag_properties(tag)))
            abort(); /* an ambiguous tag gives neither meaning */
        if (ocv_tag_names_group(tag) && ocv_tag_list(tag, OCV_TAG_UNKNOWN, NULL))
            abort();
        (void)!ocv_tag_format_json(tag, &json, NULL);
    }
    ocv_buffer_free(&json);
    ocv_tag_free(tag);
}

static void check_plan(const struct ocv_reference *reference, char *const *tags, size_t n)
{
    struct ocv_tag_plan *plan = NULL;
    if (ocv_tag_plan_new(shipped(), reference, NULL, (const char *const *)tags, n, &plan, NULL) ==
        OCV_OK)
        for (size_t i = 0; i < ocv_tag_plan_sets(plan); i++)
            for (size_t k = 0; k < ocv_tag_plan_members(plan, i); k++) {
                const char *label;
                ocv_tag_plan_member(plan, i, k, &label);
                if (!ocv_label_readable(label, strlen(label)))
                    abort();
            }
    ocv_tag_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *rest = text, *tags[TAGS_MAX];
    size_t n = 0;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    struct ocv_reference *reference = reference_of(strsep(&rest, "\n"));
    while (reference && rest && n < TAGS_MAX)
        tags[n++] = strsep(&rest, "\n");
    for (size_t i = 0; i < n; i++)
        check_one(reference, tags[i]);
    if (reference) {
        check_one(reference, NULL);
        check_plan(reference, tags, n);
    }
    ocv_reference_free(reference);
    free(text);
    return 0;
}
