/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* NVIDIA_REQUIRE_...: "cuda>=12.8 brand=tesla,driver>=535,driver<536" is alternatives, separated by
 * blanks, of conditions that all must hold, separated by commas. */
#include "lib/lint/lint_internal.h"

#include <stdlib.h>
#include <string.h>

#define REQUIRE_BYTES_MAX (64u * 1024)

static int refuse_text(struct ocv_error *err, const char *text, size_t len, const char *why)
{
    return ocv_error_set(err, OCV_ERR_DATA, "'%.*s': %s", (int)(len > 60 ? 60 : len), text, why);
}

static bool known_name(const char *name)
{
    for (size_t i = 0; i < OCV_LINT_COUNT(ocv_lint_conditions); i++)
        if (!strcmp(ocv_lint_conditions[i].a, name))
            return true;
    return false;
}

static int parse_condition(const char *text, size_t len, struct ocv_lint_condition *out,
                           struct ocv_error *err)
{
    static const char *const operators[] = {"<=", ">=", "!=", "=", "<", ">"};
    size_t name = 0, op = 0;
    while (name < len && !strchr("<>!=", text[name]))
        name++;
    for (size_t i = 0; i < OCV_LINT_COUNT(operators) && op == 0; i++) {
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
    if (!known_name(out->name))
        return refuse_text(err, text, len, "the names are cuda, driver, arch and brand");
    return OCV_OK;
}

int ocv_lint_require_parse(const char *text, struct ocv_lint_requirement *out,
                           struct ocv_error *err)
{
    static const char blanks[] = " \t\n";
    struct ocv_lint_requirement found = {0};
    int status = OCV_OK;
    if (strlen(text) > REQUIRE_BYTES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "longer than %u bytes", REQUIRE_BYTES_MAX);
    found.list = calloc(OCV_LINT_CONDITIONS_MAX, sizeof(*found.list));
    if (!found.list)
        return ocv_error_nomem(err);
    for (text += strspn(text, blanks); *text && status == OCV_OK; text += strspn(text, blanks)) {
        size_t end = strcspn(text, blanks);
        for (size_t n; status == OCV_OK && end > 0; text += n, end -= n) {
            n = strcspn(text, ", \t\n");
            if (found.n == OCV_LINT_CONDITIONS_MAX) {
                status = ocv_error_set(err, OCV_ERR_DATA, "more than %u conditions",
                                       OCV_LINT_CONDITIONS_MAX);
                break;
            }
            found.list[found.n].alternative = found.alternatives;
            status = parse_condition(text, n, &found.list[found.n++], err);
            if (text[n] == ',') {
                n++; /* nothing behind a comma is a condition, too: an empty one */
                if (n == end && status == OCV_OK)
                    status = refuse_text(err, text, n, "a condition is missing behind the comma");
            }
        }
        found.alternatives++;
    }
    if (status < 0)
        ocv_lint_require_free(&found);
    else
        *out = found;
    return status;
}

void ocv_lint_require_free(struct ocv_lint_requirement *requirement)
{
    free(requirement->list);
    *requirement = (struct ocv_lint_requirement){0};
}

/* An alternative with a brand is for some products only; one for all of them decides. */
static bool branded(const struct ocv_lint_requirement *r, size_t alternative)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->list[i].alternative == alternative && !strcmp(r->list[i].name, "brand"))
            return true;
    return false;
}

const char *ocv_lint_require_least(const struct ocv_lint_requirement *r, const char *name)
{
    const char *least = NULL;
    for (size_t a = 0; a < r->alternatives; a++) {
        const char *bound = NULL;
        if (branded(r, a))
            continue;
        for (size_t i = 0; i < r->n; i++) {
            const struct ocv_lint_condition *c = &r->list[i];
            if (c->alternative != a || strcmp(c->name, name) != 0 ||
                (strcmp(c->op, ">=") != 0 && strcmp(c->op, ">") != 0 && strcmp(c->op, "=") != 0))
                continue;
            if (!bound || ocv_lint_version_compare(c->value, bound) > 0)
                bound = c->value;
        }
        if (!bound)
            return NULL; /* admits every host, as far as this name goes */
        if (!least || ocv_lint_version_compare(bound, least) < 0)
            least = bound;
    }
    return least;
}
