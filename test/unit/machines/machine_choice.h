/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a machine of test/data/machines takes of test/data/choice/index.json, and what is said of
 * the rest. */
#ifndef MACHINE_CHOICE_H
#define MACHINE_CHOICE_H

#include "lib/internal/config/config.h"
#include "test/unit/machines/machines.h"

#define CHOICE_INDEX "test/data/choice/index.json"

/* A decision and what it borrows. */
struct choice {
    struct ocv_index *index;
    struct ocv_profile *profile;
    struct ocv_config *config;
    struct ocv_decision *decision;
};

UNUSED static struct ocv_index *choice_index(void)
{
    struct ocv_error err = {0};
    struct ocv_index *index = NULL;
    ocv_auto_buffer text;
    char block[4096];
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    FILE *file = fopen(CHOICE_INDEX, "rb");
    ck_assert_msg(file != NULL, "%s", CHOICE_INDEX);
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;)
        ck_assert_int_eq(ocv_buffer_append(&text, block, n, &err), OCV_OK);
    fclose(file);
    ck_assert_msg(ocv_index_parse(text.data, text.len, NULL, &index, &err) == OCV_OK, "%s",
                  err.message);
    return index;
}

/* `words`: "any" or "first" for all namespaces, NS=DEVICE[,DEVICE] narrows one. */
UNUSED static void choose(const json_t *profile, char *words, struct choice *out)
{
    static const struct ocv_platform platform = {.os = "linux", .architecture = "amd64"};
    struct ocv_error err = {0};
    char *text = json_dumps(profile, 0), policies[128];
    out->index = choice_index();
    ck_assert_msg(ocv_profile_parse(text, strlen(text), &out->profile, &err) == OCV_OK, "%s",
                  err.message);
    free(text);
    ck_assert_int_eq(ocv_config_new(&out->config, &err), OCV_OK);
    for (const char *word; (word = next_word(&words));) {
        const char *key = strchr(word, '=') ? "devices" : "device_policy";
        snprintf(policies, sizeof(policies), "nvidia=%s;amd=%s", word, word);
        ck_assert_msg(ocv_config_set(out->config, "choice", key,
                                     strchr(word, '=') ? word : policies, true, &err) == OCV_OK,
                      "%s", err.message);
    }
    const struct ocv_resolve_options options = {.preferences = ocv_config_preferences(out->config),
                                                .platform = &platform};
    ck_assert_msg(ocv_resolve(out->index, out->profile, &options, &out->decision, &err) == OCV_OK,
                  "%s", err.message);
}

UNUSED static void forget_choice(struct choice *choice)
{
    ocv_decision_free(choice->decision);
    ocv_config_free(choice->config);
    ocv_profile_free(choice->profile);
    ocv_index_free(choice->index);
}

/* choice LABEL [any|first] [NS=DEVICE,...] */
UNUSED static void check_choice(const struct machine *m, size_t line, char *rest,
                                const json_t *profile)
{
    struct choice choice = {0};
    const char *wanted = next_word(&rest);
    choose(profile, rest, &choice);
    const struct ocv_entry *selected = ocv_decision_selected(choice.decision);
    const char *label = selected ? selected->label : "nothing";
    ck_assert_msg(wanted && strcmp(label, wanted) == 0, "%s:%zu: %s: chosen is '%s', not '%s'",
                  m->file, line, m->name, label, wanted);
    forget_choice(&choice);
}

/* hint LABEL TEXT */
UNUSED static void check_hint(const struct machine *m, size_t line, char *rest,
                              const json_t *profile)
{
    struct choice choice = {0};
    char nothing[] = "";
    const char *label = next_word(&rest);
    bool rejected = false;
    choose(profile, nothing, &choice);
    for (size_t i = 0; i < ocv_decision_rejected_count(choice.decision); i++) {
        if (strcmp(ocv_decision_rejected(choice.decision, i).entry->label, label) != 0)
            continue;
        rejected = true;
        ocv_auto_buffer text;
        ocv_buffer_init(&text, 4096);
        ck_assert_int_eq(ocv_decision_hint(choice.decision, i, &text, NULL), OCV_OK);
        const char *said = text.data ? text.data : "";
        ck_assert_msg(strcmp(said, rest) == 0, "%s:%zu: %s: the hint for %s is '%s', not '%s'",
                      m->file, line, m->name, label, said, rest);
    }
    ck_assert_msg(rejected, "%s:%zu: %s: %s is not rejected", m->file, line, m->name, label);
    forget_choice(&choice);
}

#endif
