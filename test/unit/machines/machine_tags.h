/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a machine of test/data/machines takes of tags that are published, by the shipped rules. */
#ifndef MACHINE_TAGS_H
#define MACHINE_TAGS_H

#include "lib/internal/tags/tags.h"
#include "test/unit/machines/machine_choice.h"

#define MACHINE_TAGS_MAX 8

/* One index entry with the properties of a tag; false where the rules refuse it. */
UNUSED static bool tag_entry(const struct ocv_tag_rules *rules, const char *name, size_t i,
                             json_t *manifests)
{
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag) tag = NULL;
    ocv_auto_buffer properties;
    struct ocv_error err = {0};
    char digest[80], label[8];
    ocv_buffer_init(&properties, 4096);
    ck_assert_msg(ocv_reference_parse(name, &reference, &err) == OCV_OK, "%s", err.message);
    ck_assert_msg(ocv_tag_parse(rules, reference, NULL, &tag, &err) == OCV_OK, "%s", err.message);
    ck_assert_int_eq(ocv_properties_format(ocv_tag_properties(tag), &properties, &err), OCV_OK);
    if (ocv_tag_refused(tag) || !properties.len)
        return false;
    snprintf(digest, sizeof(digest), "sha256:%064zu", i + 1);
    snprintf(label, sizeof(label), "t%zu", i);
    json_t *entry = json_pack("{s:s, s:i, s:s, s:{s:s, s:s}}", "mediaType", OCV_MEDIA_TYPE_MANIFEST,
                              "size", 1000, "digest", digest, "annotations", OCV_ANNOTATION_LABEL,
                              label, OCV_ANNOTATION_PROPERTIES, properties.data);
    ck_assert_int_eq(json_array_append_new(manifests, entry), 0);
    return true;
}

UNUSED static struct ocv_index *tag_index(const char *const *names, size_t n)
{
    struct ocv_error err = {0};
    struct ocv_tag_rules *rules = NULL;
    struct ocv_index *index = NULL;
    json_t *manifests = json_array();
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    ck_assert_msg(ocv_tag_rules_load(rules, "plugins/tags.d", NULL, &err) == OCV_OK, "%s",
                  err.message);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(tag_entry(rules, names[i], i, manifests), "%s is no variant", names[i]);
    json_t *document =
        json_pack("{s:i, s:s, s:{s:s, s:s}, s:o}", "schemaVersion", 2, "mediaType",
                  OCV_MEDIA_TYPE_INDEX, "annotations", OCV_ANNOTATION_SCHEMA, "1",
                  OCV_ANNOTATION_NAMESPACES, "nvidia, amd, vulkan", "manifests", manifests);
    char *text = json_dumps(document, 0);
    ck_assert_msg(ocv_index_parse(text, strlen(text), NULL, &index, &err) == OCV_OK, "%s",
                  err.message);
    free(text);
    json_decref(document);
    ocv_tag_rules_free(rules);
    return index;
}

/* tags REFERENCE|nothing REFERENCE... */
UNUSED static void check_tags(const struct machine *m, size_t line, char *rest,
                              const json_t *profile)
{
    static const struct ocv_platform platform = {.os = "linux", .architecture = "amd64"};
    const char *wanted = next_word(&rest), *names[MACHINE_TAGS_MAX];
    struct ocv_error err = {0};
    size_t n = 0;
    while (n < MACHINE_TAGS_MAX && (names[n] = next_word(&rest)))
        n++;
    struct choice choice = {.index = tag_index(names, n)};
    char *text = json_dumps(profile, 0);
    ck_assert_int_eq(ocv_profile_parse(text, strlen(text), &choice.profile, &err), OCV_OK);
    free(text);
    ck_assert_int_eq(ocv_config_new(&choice.config, &err), OCV_OK);
    const struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences(choice.config), .platform = &platform};
    ck_assert_int_eq(ocv_resolve(choice.index, choice.profile, &options, &choice.decision, &err),
                     OCV_OK);
    const struct ocv_entry *selected = ocv_decision_selected(choice.decision);
    const char *taken = selected ? names[strtoul(selected->label + 1, NULL, 10)] : "nothing";
    ck_assert_msg(wanted && strcmp(taken, wanted) == 0, "%s:%zu: %s: taken is '%s', not '%s'",
                  m->file, line, m->name, taken, wanted);
    forget_choice(&choice);
}

#endif
