/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/content/image_config.h"

#include "gen/config-facts.h"
#include "lib/base/cleanup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define REQUIRE_BYTES_MAX (64u * 1024)

static int refuse_text(struct ocv_error *err, const char *text, size_t len, const char *why)
{
    return ocv_error_set(err, OCV_ERR_DATA, "'%.*s': %s", (int)(len > 60 ? 60 : len), text, why);
}

static int parse_condition(const char *text, size_t len, struct ocv_condition *out,
                           struct ocv_error *err)
{
    static const char *const operators[] = {"<=", ">=", "!=", "=", "<", ">"};
    size_t name = 0, op = 0;
    while (name < len && !strchr("<>!=", text[name]))
        name++;
    for (size_t i = 0; i < COUNT(operators) && op == 0; i++) {
        size_t n = strlen(operators[i]);
        if (name + n <= len && !memcmp(text + name, operators[i], n)) {
            memcpy(out->op, operators[i], n + 1);
            op = n;
        }
    }
    size_t value = len - name - op;
    if (op == 0 || name == 0 || value == 0)
        return refuse_text(err, text, len, "not NAME OP VALUE");
    if (name >= sizeof(out->name) || value >= sizeof(out->value))
        return refuse_text(err, text, len, "too long");
    memcpy(out->name, text, name);
    out->name[name] = '\0';
    memcpy(out->value, text + name + op, value);
    out->value[value] = '\0';
    if (strpbrk(out->value, "<>!="))
        return refuse_text(err, text, len, "the operators are = != < <= > >=");
    bool known = false;
    for (size_t i = 0; i < COUNT(config_conditions); i++)
        known = known || !strcmp(config_conditions[i].a, out->name);
    if (!known)
        return refuse_text(err, text, len, "the names are cuda, driver, arch and brand");
    return OCV_OK;
}

int ocv_requirement_parse(const char *text, struct ocv_requirement *out, struct ocv_error *err)
{
    static const char blanks[] = " \t\n";
    ocv_auto_requirement found = {0};
    if (strlen(text) > REQUIRE_BYTES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "longer than %u bytes", REQUIRE_BYTES_MAX);
    found.list = calloc(OCV_CONDITIONS_MAX, sizeof(*found.list));
    if (!found.list)
        return ocv_error_nomem(err);
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        size_t end = strcspn(text, blanks);
        for (size_t n; end > 0; text += n, end -= n) {
            n = strcspn(text, ", \t\n");
            if (found.n == OCV_CONDITIONS_MAX)
                return ocv_error_set(err, OCV_ERR_DATA, "more than %u conditions",
                                     OCV_CONDITIONS_MAX);
            found.list[found.n].alternative = found.alternatives;
            OCV_TRY(parse_condition(text, n, &found.list[found.n++], err));
            if (text[n] == ',') {
                n++; /* nothing behind a comma is a condition, too: an empty one */
                if (n == end)
                    return refuse_text(err, text, n, "a condition is missing behind the comma");
            }
        }
        found.alternatives++;
    }
    *out = found;
    found.list = NULL;
    return OCV_OK;
}

void ocv_requirement_free(struct ocv_requirement *requirement)
{
    free(requirement->list);
    *requirement = (struct ocv_requirement){0};
}

const char *ocv_requirement_least(const struct ocv_requirement *r, const char *name)
{
    const char *least = NULL;
    for (size_t a = 0; a < r->alternatives; a++) {
        const char *bound = NULL;
        bool branded = false; /* for some products only; an alternative for all of them decides */
        for (size_t i = 0; i < r->n; i++)
            branded = branded || (r->list[i].alternative == a && !strcmp(r->list[i].name, "brand"));
        if (branded)
            continue;
        for (size_t i = 0; i < r->n; i++) {
            const struct ocv_condition *c = &r->list[i];
            if (c->alternative != a || strcmp(c->name, name) != 0 ||
                (strcmp(c->op, ">=") != 0 && strcmp(c->op, ">") != 0 && strcmp(c->op, "=") != 0))
                continue;
            if (!bound || ocv_version_compare(c->value, bound) > 0)
                bound = c->value;
        }
        if (!bound)
            return NULL; /* admits every host, as far as this name goes */
        if (!least || ocv_version_compare(bound, least) < 0)
            least = bound;
    }
    return least;
}

int ocv_version_compare(const char *a, const char *b)
{
    while (*a || *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (*a == '0')
                a++;
            while (*b == '0')
                b++;
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            int order = n != m ? (n < m ? -1 : 1) : strncmp(a, b, n);
            if (order)
                return order;
            a += n;
            b += m;
            continue;
        }
        /* 12 is 12.0 */
        if (!*a && *b == '.' && strspn(b, ".0") == strlen(b))
            return 0;
        if (!*b && *a == '.' && strspn(a, ".0") == strlen(a))
            return 0;
        if (*a != *b && (*a == '.' || *b == '.')) /* 8a is 8.0a */
            return *a == '.' ? 1 : -1;
        if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        a++;
        b++;
    }
    return 0;
}
