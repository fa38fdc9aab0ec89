/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tag rules of a family made up here. */
#ifndef OCV_TAGS_UTIL_H
#define OCV_TAGS_UTIL_H

#include "lib/internal/tags/tags.h"
#include "lib/internal/tags/tags_internal.h"
#include "test/unit/core_util.h"

static const char rules_text[] =
    "schema: dev.ocivariant.tags/v1\n"
    "notations:\n"
    "  cuda:\n"
    "    - {match: 'cuda-?([0-9]+)', gives: ['nvidia :: cuda_version_lower_bound :: \\1.0']}\n"
    "    - {match: 'cuda-?([0-9]+)\\.([0-9]+)(\\.[0-9]+)*',\n"
    "       gives: ['nvidia :: cuda_version_lower_bound :: \\1.\\2']}\n"
    "    - {match: 'cu([0-9]+)([0-9])',\n"
    "       gives: ['nvidia :: cuda_version_lower_bound :: \\1.\\2']}\n"
    "family: demo\n"
    "repositories:\n"
    "  - docker.io/demo/app\n"
    "  - 'r.example/**/app'\n"
    "  - {match: 'docker\\.io/demo/app-(rocm|cpu)', kind: device, group: {backend: '\\1'}}\n"
    "parts:\n"
    "  - {use: cuda, kind: device}\n"
    "  - {match: '86|hopper', first: true, kind: device, gives: ['nvidia :: sm_arch :: 86_real']}\n"
    "  - {match: 'v?[0-9]+(\\.[0-9]+)*(rc[0-9]+)?', group: version}\n"
    "  - {match: 'py([0-9])\\.?([0-9]+)', group: {python: '\\1.\\2'}}\n"
    "  - {match: 'arm64|aarch64', platform: linux/arm64}\n"
    "  - {match: 'x86_64', platform: linux/amd64}\n"
    "  - {match: 'sbsa([0-9.]+)', group: {version: '\\1'}, platform: linux/arm64}\n"
    "  - {match: 'old([0-9.]+)', group: {version: '\\1'}, ignore: true}\n"
    "  - {match: 'lib[a-z]', kind: lib, repeat: true, ignore: true}\n"
    "  - {match: 'cpu', kind: device}\n"
    "  - {match: 'cudnn[0-9]*', ignore: true}\n"
    "  - {match: 'driver', refuse: 'a driver image'}\n"
    "defaults:\n"
    "  - {missing: device, where: {version: '1\\..*'}, gives: ['nvidia :: sm_arch :: 80_real']}\n"
    "  - {missing: device, gives: ['nvidia :: sm_arch :: 90_real']}\n"
    "group_tags: ['{version}', '{version}-py{python}']\n"
    "prefer: {python: newest}\n";

UNUSED static struct ocv_tag_rules *rules_of(const char *text)
{
    struct ocv_tag_rules *rules = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    int status = ocv_tag_rules_add(rules, "r.yaml", text, strlen(text), NULL, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return rules;
}

#endif
