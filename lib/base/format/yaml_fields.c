/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/base/format/yaml.h"
#include "lib/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SHOWN 80 /* bytes of a key or text in a message */
#define MESSAGE_MAX 512

const char *const ocv_yaml_flag_words[] = {"true", "false", NULL};

int ocv_yaml_fail(const struct ocv_yaml_reader *r, const struct ocv_yaml *node, const char *format,
                  ...)
{
    char what[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return ocv_error_set(r->err, OCV_ERR_CONFIG, "%s:%zu: %s", r->source, node->line, what);
}

/* "'KEY' ", "'TEXT' ", "a variant " */
OCV_PRINTF(4, 5)
static int error_about(const struct ocv_yaml_reader *r, const struct ocv_yaml *node,
                       const char *subject, const char *format, ...)
{
    char what[MESSAGE_MAX];
    const char *name = node->key ? node->key : node->text;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return ocv_error_set(r->err, OCV_ERR_CONFIG, name ? "%s:%zu: '%.*s' %s" : "%s:%zu: %.*s %s",
                         r->source, node->line, SHOWN, name ? name : subject, what);
}

int ocv_yaml_error(const struct ocv_yaml_reader *r, const struct ocv_yaml *node, const char *format,
                   ...)
{
    char what[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return error_about(r, node, "an item", "%s", what);
}

static const char *subject_of(const struct ocv_yaml_rule *rule)
{
    if (!rule->table)
        return "an item";
    return rule->table->what ? rule->table->what : "the file";
}

OCV_PRINTF(2, 3) static void add(char text[MESSAGE_MAX], const char *format, ...)
{
    size_t len = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + len, MESSAGE_MAX - len, format, args);
    va_end(args);
}

static void add_text_wanted(const struct ocv_yaml_rule *rule, char out[MESSAGE_MAX])
{
    if (rule->wanted)
        add(out, "%s", rule->wanted);
    else if (!rule->words && rule->len_max)
        add(out, "a text of at most %zu characters", rule->len_max);
    else if (!rule->words)
        add(out, "a text");
    for (size_t i = 0; !rule->wanted && rule->words && rule->words[i]; i++)
        add(out, "%s%s", i == 0 ? "" : rule->words[i + 1] ? ", " : " or ", rule->words[i]);
}

/* "; did you mean 'shadow'?", or "": of the words that it may be. */
static const char *meant_word(const struct ocv_yaml_rule *rule, const char *text,
                              char out[OCV_NEAREST_QUESTION_MAX])
{
    struct ocv_nearest nearest = {.wanted = text};
    for (size_t i = 0; rule->words && rule->words[i]; i++)
        ocv_nearest_offer(&nearest, rule->words[i]);
    return ocv_nearest_question(rule->words ? ocv_nearest_meant(&nearest) : NULL, out);
}

static int refuse_value(const struct ocv_yaml_reader *r, const struct ocv_yaml_rule *rule,
                        const struct ocv_yaml *node)
{
    char wanted[MESSAGE_MAX] = "", question[OCV_NEAREST_QUESTION_MAX];
    bool takes_text = rule->takes & OCV_TAKES_TEXT;
    if (takes_text)
        add_text_wanted(rule, wanted);
    if (rule->takes & OCV_TAKES_LIST)
        add(wanted, "%s", takes_text ? ", or a list" : "a list");
    if (rule->takes & OCV_TAKES_MAP)
        add(wanted, "%s", wanted[0] ? " or a mapping" : "a mapping");
    if (rule->min && rule->max)
        add(wanted, " of %zu to %zu", rule->min, rule->max);
    else if (rule->min)
        add(wanted, " of at least %zu", rule->min);
    bool text = node->text && *node->text;
    if (node->key && text && takes_text)
        ocv_yaml_fail(r, node, "invalid value '%.*s' for %.*s: %s%s", SHOWN, node->text, SHOWN,
                      node->key, wanted, meant_word(rule, node->text, question));
    else if (node->key && text)
        error_about(r, node, "", "must be %s, not '%.*s'", wanted, SHOWN, node->text);
    else
        error_about(r, node, subject_of(rule), "must be %s%s", wanted,
                    text ? meant_word(rule, node->text, question) : "");
    if (rule->hint)
        ocv_error_hint(r->err, "%s", rule->hint);
    return OCV_ERR_CONFIG;
}

static const struct ocv_yaml_key *key_of(const struct ocv_yaml_table *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->keys[i].name, name) == 0)
            return &table->keys[i];
    return NULL;
}

static bool text_fits(const struct ocv_yaml_rule *rule, const char *text)
{
    const char *const *word = rule->words;
    if (!*text)
        return rule->empty;
    while (word && *word && strcmp(*word, text) != 0)
        word++;
    return (!rule->len_max || strlen(text) <= rule->len_max) && (!word || *word) &&
           (!rule->good || rule->good(text));
}

/* YAML 1.1 has more words for true and false, and programs that write it turn `on` into `true`: the
 * word of the rule that means the same, or NULL. */
static const char *same_flag(const struct ocv_yaml_rule *rule, const char *text)
{
    static const char *const flags[2][3] = {{"true", "yes", "on"}, {"false", "no", "off"}};
    for (size_t f = 0; f < 2; f++) {
        bool means = false;
        for (size_t i = 0; i < 3; i++)
            means = means || !strcasecmp(text, flags[f][i]);
        for (size_t i = 0; means && rule->words && rule->words[i]; i++)
            for (size_t k = 0; k < 3; k++)
                if (!strcmp(rule->words[i], flags[f][k]))
                    return rule->words[i];
    }
    return NULL;
}

int ocv_yaml_check_text(const struct ocv_yaml_rule *rule, const char *name, const char *text,
                        struct ocv_error *err)
{
    char wanted[MESSAGE_MAX] = "", question[OCV_NEAREST_QUESTION_MAX];
    if (text_fits(rule, text))
        return OCV_OK;
    add_text_wanted(rule, wanted);
    return ocv_error_set(err, OCV_ERR_CONFIG, "invalid value '%.*s' for %.*s: %s%s", SHOWN, text,
                         SHOWN, name, wanted, meant_word(rule, text, question));
}

static int check_map(const struct ocv_yaml_reader *r, const struct ocv_yaml_rule *rule,
                     const struct ocv_yaml *map)
{
    if (rule->table) {
        /* Keys first: one that is missing may be there under another name. */
        const struct ocv_yaml_table *table = rule->table;
        while (table->other && ocv_yaml_get(map, table->other->keys[0].name))
            table = table->other;
        struct ocv_yaml **at = (struct ocv_yaml **)(uintptr_t)&map->first, *m;
        while ((m = *at)) {
            if (key_of(table, m->key)) {
                at = &m->next;
                continue;
            }
            if (table->inner && key_of(table->inner, m->key))
                return ocv_yaml_error(r, m, "is a key of %s only", table->inner->what);
            /* a later version's key has a name of its own: one that is nearly ours is a slip, and
             * without it a policy would be gone */
            struct ocv_nearest nearest = {.wanted = m->key};
            char question[OCV_NEAREST_QUESTION_MAX];
            for (size_t i = 0; i < table->n; i++)
                ocv_nearest_offer(&nearest, table->keys[i].name);
            const char *meant = ocv_nearest_meant(&nearest);
            (void)ocv_yaml_fail(r, m, "unknown key '%.*s'%s%s%s", SHOWN, m->key,
                                table->what ? " of " : "", table->what ? table->what : "",
                                ocv_nearest_question(meant, question));
            if (meant || !r->unknown)
                return OCV_ERR_CONFIG;
            r->unknown(r->err->message);
            *r->err = (struct ocv_error){0};
            *at = m->next;
            ((struct ocv_yaml *)(uintptr_t)map)->n--;
            m->next = NULL;
            ocv_yaml_free(m);
        }
        for (size_t i = 0; i < table->n; i++)
            if (table->keys[i].required && !ocv_yaml_get(map, table->keys[i].name))
                return error_about(r, map, subject_of(rule), "lacks '%s'", table->keys[i].name);
        for (m = map->first; m; m = m->next)
            OCV_TRY(ocv_yaml_check(r, key_of(table, m->key)->rule, m));
        return OCV_OK;
    }
    for (const struct ocv_yaml *m = map->first; m; m = m->next) {
        struct ocv_yaml name = {.type = OCV_YAML_SCALAR, .line = m->line};
        if (rule->name) { /* a copy, which ocv_yaml_check may replace as any text */
            name.text = strdup(m->key);
            int status = name.text ? ocv_yaml_check(r, rule->name, &name) : ocv_error_nomem(r->err);
            free(name.text);
            OCV_TRY(status);
        }
        if (rule->each)
            OCV_TRY(ocv_yaml_check(r, rule->each, m));
    }
    return OCV_OK;
}

int ocv_yaml_check(const struct ocv_yaml_reader *r, const struct ocv_yaml_rule *rule,
                   const struct ocv_yaml *node)
{
    bool scalar = node->type == OCV_YAML_SCALAR, list = node->type == OCV_YAML_LIST;
    unsigned is = scalar ? OCV_TAKES_TEXT : list ? OCV_TAKES_LIST : OCV_TAKES_MAP;
    if (scalar && !*node->text && rule->empty)
        return OCV_OK; /* "key:" with nothing after it */
    const char *flag = scalar && !text_fits(rule, node->text) ? same_flag(rule, node->text) : NULL;
    if (flag) { /* readers find the rule's own word */
        struct ocv_yaml *own = (struct ocv_yaml *)(uintptr_t)node;
        char *text = strdup(flag);
        if (!text)
            return ocv_error_nomem(r->err);
        free(own->text);
        own->text = text;
    }
    if (!(rule->takes & is) || (scalar && !text_fits(rule, node->text)) ||
        (!scalar && node->n < rule->min))
        return refuse_value(r, rule, node);
    if (!scalar && rule->max && node->n > rule->max)
        return error_about(r, node, subject_of(rule), "has more than %zu members", rule->max);
    for (const struct ocv_yaml *m = list ? node->first : NULL; m && rule->item; m = m->next)
        OCV_TRY(ocv_yaml_check(r, rule->item, m));
    /* members that are not texts are reported by their own rule */
    for (const struct ocv_yaml *m = list && rule->once ? node->first : NULL; m; m = m->next)
        for (const struct ocv_yaml *k = node->first; k != m; k = k->next)
            if (k->text && m->text && strcmp(k->text, m->text) == 0)
                return ocv_yaml_error(r, m, "is given twice");
    if (node->type == OCV_YAML_MAP)
        OCV_TRY(check_map(r, rule, node));
    return rule->check ? rule->check(r, node) : OCV_OK;
}

int ocv_yaml_load(const struct ocv_yaml_reader *r, const struct ocv_yaml_rule *rule,
                  const char *text, size_t len, size_t max, struct ocv_yaml **out)
{
    struct ocv_yaml *tree = NULL;
    if (len > max)
        return ocv_error_set(r->err, OCV_ERR_CONFIG, "%s: larger than %zu bytes", r->source, max);
    int status = ocv_yaml_read(r->source, text, len, &tree, r->err);
    if (status == OCV_OK && tree)
        status = ocv_yaml_check(r, rule, tree);
    if (status < 0)
        ocv_yaml_free(tree);
    else
        *out = tree;
    return status;
}

bool ocv_yaml_flag(const struct ocv_yaml *map, const char *key)
{
    const char *text = ocv_yaml_text(map, key);
    return text && strcmp(text, "true") == 0;
}
