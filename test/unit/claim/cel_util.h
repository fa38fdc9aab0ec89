/* SPDX-License-Identifier: GPL-3.0-or-later */
/* So much of the Common Expression Language as claims are written in, for one device. Reading an
 * attribute that the device has not, which on a cluster leaves a pod without a node, fails the
 * test. */
#ifndef CEL_UTIL_H
#define CEL_UTIL_H

#include "test/unit/core_util.h"

#include <regex.h>

/* A version counts 1000 * major + minor; its patch is 0. */
struct cel_attribute {
    const char *name, *text; /* text NULL: a version */
    unsigned version;
};
struct cel_device {
    const char *driver;
    const struct cel_attribute *attributes;
    size_t n;
};

enum cel_kind { CEL_BOOL, CEL_NUMBER, CEL_TEXT, CEL_VERSION, CEL_DEVICE, CEL_LIST };
struct cel_value {
    enum cel_kind kind;
    long number;
    char text[256];
    const char *list; /* behind its bracket */
};

struct cel {
    const struct cel_device *device;
    const char *at;
    bool live; /* what is read counts */
};

static struct cel_value cel_or(struct cel *c);

static bool cel_take(struct cel *c, const char *word)
{
    c->at += strspn(c->at, " \n");
    if (strncmp(c->at, word, strlen(word)) != 0)
        return false;
    c->at += strlen(word);
    return true;
}

static void cel_need(struct cel *c, const char *word)
{
    ck_assert_msg(cel_take(c, word), "%s before: %s", word, c->at);
}

static struct cel_value cel_text(struct cel *c)
{
    struct cel_value value = {.kind = CEL_TEXT};
    cel_need(c, "'");
    size_t n = strcspn(c->at, "'");
    ck_assert_uint_lt(n, sizeof(value.text));
    memcpy(value.text, c->at, n);
    c->at += n + 1;
    return value;
}

/* "12.8.0", strictly */
static struct cel_value cel_version(struct cel *c)
{
    unsigned major, minor;
    char end;
    struct cel_value text = cel_text(c);
    ck_assert_msg(sscanf(text.text, "%u.%u.0%c", &major, &minor, &end) == 2, "%s", text.text);
    return (struct cel_value){.kind = CEL_VERSION, .number = (long)(major * 1000 + minor)};
}

static const struct cel_attribute *cel_find(const struct cel *c, const char *name)
{
    for (size_t i = 0; i < c->device->n; i++)
        if (!strcmp(c->device->attributes[i].name, name))
            return &c->device->attributes[i];
    return NULL;
}

static struct cel_value cel_member(struct cel *c)
{
    char name[64] = "";
    size_t n = strspn(c->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    memcpy(name, c->at, n);
    c->at += n;
    const struct cel_attribute *attribute = cel_find(c, name);
    struct cel_value value = {.kind = CEL_NUMBER};
    ck_assert_msg(attribute || !c->live, "%s is read, and is not there", name);
    if (attribute && attribute->text) {
        value.kind = CEL_TEXT;
        snprintf(value.text, sizeof(value.text), "%s", attribute->text);
    } else if (attribute) {
        value.kind = CEL_VERSION;
        value.number = (long)attribute->version;
    }
    return value;
}

static struct cel_value cel_call(struct cel *c, struct cel_value of)
{
    if (cel_take(c, ".major()"))
        return (struct cel_value){.kind = CEL_NUMBER, .number = of.number / 1000};
    if (cel_take(c, ".minor()"))
        return (struct cel_value){.kind = CEL_NUMBER, .number = of.number % 1000};
    if (cel_take(c, ".compareTo(semver(")) {
        struct cel_value other = cel_version(c);
        cel_need(c, "))");
        ck_assert(!c->live || of.kind == CEL_VERSION);
        return (struct cel_value){.kind = CEL_NUMBER, .number = of.number - other.number};
    }
    if (cel_take(c, ".matches(")) {
        regex_t regex;
        struct cel_value pattern = cel_text(c);
        cel_need(c, ")");
        ck_assert(!c->live || of.kind == CEL_TEXT);
        ck_assert_int_eq(regcomp(&regex, pattern.text, REG_EXTENDED | REG_NOSUB), 0);
        struct cel_value value = {.kind = CEL_BOOL,
                                  .number = regexec(&regex, of.text, 0, NULL, 0) == 0};
        regfree(&regex);
        return value;
    }
    return of;
}

static struct cel_value cel_primary(struct cel *c)
{
    if (cel_take(c, "(")) {
        struct cel_value value = cel_or(c);
        cel_need(c, ")");
        return value;
    }
    if (cel_take(c, "[")) {
        struct cel_value value = {.kind = CEL_LIST, .list = c->at};
        c->at += strcspn(c->at, "]") + 1;
        return value;
    }
    if (cel_take(c, "a."))
        return cel_call(c, cel_member(c));
    if (cel_take(c, "a"))
        return (struct cel_value){.kind = CEL_DEVICE};
    c->at += strspn(c->at, " \n");
    if (*c->at == '\'')
        return cel_text(c);
    char *end;
    struct cel_value value = {.kind = CEL_NUMBER, .number = strtol(c->at, &end, 10)};
    ck_assert_msg(end > c->at, "a value before: %s", c->at);
    c->at = end;
    return value;
}

static bool cel_in(struct cel *c, const struct cel_value *value, const struct cel_value *set)
{
    if (set->kind == CEL_DEVICE)
        return cel_find(c, value->text) != NULL;
    ck_assert_int_eq(set->kind, CEL_LIST);
    struct cel list = {.device = c->device, .at = set->list};
    do {
        struct cel_value one = cel_primary(&list);
        if (one.kind == value->kind && one.number == value->number &&
            !strcmp(one.text, value->text))
            return true;
    } while (cel_take(&list, ","));
    cel_need(&list, "]");
    return false;
}

static struct cel_value cel_compare(struct cel *c)
{
    static const char *const operators[] = {"==", "!=", ">=", "<", "in "};
    struct cel_value a = cel_primary(c);
    for (size_t i = 0; i < 5; i++) {
        if (!cel_take(c, operators[i]))
            continue;
        struct cel_value b = cel_primary(c), value = {.kind = CEL_BOOL};
        if (i == 4) {
            value.number = cel_in(c, &a, &b);
            return value;
        }
        ck_assert(!c->live || (a.kind == CEL_NUMBER && b.kind == CEL_NUMBER));
        const bool results[] = {a.number == b.number, a.number != b.number, a.number >= b.number,
                                a.number < b.number};
        value.number = results[i];
        return value;
    }
    return a;
}

static struct cel_value cel_and(struct cel *c)
{
    bool live = c->live;
    struct cel_value value = cel_compare(c);
    while (cel_take(c, "&&")) {
        c->live = live && value.number;
        struct cel_value next = cel_compare(c);
        value.number = value.number && next.number;
    }
    c->live = live;
    return value;
}

static struct cel_value cel_or(struct cel *c)
{
    bool live = c->live;
    struct cel_value value = cel_and(c);
    while (cel_take(c, "||")) {
        c->live = live && !value.number;
        struct cel_value next = cel_and(c);
        value.number = value.number || next.number;
    }
    c->live = live;
    return value;
}

/* Does the device satisfy the expression? NULL: any does. */
UNUSED static bool cel_holds(const char *expression, const struct cel_device *device)
{
    struct cel c = {.device = device, .at = expression, .live = true};
    if (!expression)
        return true;
    cel_need(&c, "cel.bind(a, device.attributes[");
    struct cel_value driver = cel_text(&c);
    ck_assert_str_eq(driver.text, device->driver);
    cel_need(&c, "],");
    struct cel_value value = cel_or(&c);
    cel_need(&c, ")");
    ck_assert_str_eq(c.at, "");
    ck_assert_int_eq(value.kind, CEL_BOOL);
    return value.number != 0;
}

#endif
