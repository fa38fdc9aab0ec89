/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --from-tags: the index that published tags stand for, by the tag rules. What the rules do not
 * decide is told and not guessed. */
#include "datadir.h"
#include "index_build.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RULES_MAX (256u * 1024)

struct tags {
    const char *glob;
    char **list;
    size_t n, cap;
};

static void free_tags(struct tags *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->list[i]);
    free(t->list);
}

static int take_tag(void *data, const char *tag)
{
    struct tags *t = data;
    if (fnmatch(t->glob, tag, 0) != 0)
        return 0;
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        char **grown = realloc(t->list, cap * sizeof(*grown));
        if (!grown)
            return OCV_ERR_NOMEM;
        t->list = grown;
        t->cap = cap;
    }
    t->list[t->n] = strdup(tag);
    return t->list[t->n++] ? 0 : OCV_ERR_NOMEM;
}

static int add_file(struct ocv_tag_rules *rules, const char *path, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, RULES_MAX);
    int status = cli_read_file(path, &text, err);
    return status < 0
               ? status
               : ocv_tag_rules_add(rules, path, text.data ? text.data : "", text.len, NULL, err);
}

static int load_rules(const char *extra, const struct ocv_reference *reference,
                      struct ocv_tag_rules **out, struct ocv_error *err)
{
    const char *data = getenv("OCV_DATADIR");
    char path[4200];
    struct stat st;
    int status = ocv_tag_rules_new(out, err);
    snprintf(path, sizeof(path), "%.4000s/tags.d", data ? data : OCV_DEFAULT_DATADIR);
    if (status == OCV_OK)
        status = ocv_tag_rules_load(*out, path, reference, err);
    if (status == OCV_OK)
        status = ocv_tag_rules_load(*out, "/etc/ocivariant/tags.d", reference, err);
    if (status < 0 || !extra)
        return status;
    if (stat(extra, &st) == 0 && S_ISDIR(st.st_mode))
        return ocv_tag_rules_load(*out, extra, reference, err);
    return add_file(*out, extra, err);
}

/* The set that is meant: the one named like the target's tag, else the only one. */
static int choose_set(const struct ocv_tag_plan *plan, const struct build *b, const char *glob,
                      size_t *out, struct ocv_error *err)
{
    size_t n = ocv_tag_plan_sets(plan);
    char names[400] = "";
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(ocv_tag_plan_name(plan, i), b->to.tag)) {
            *out = i;
            return OCV_OK;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                 ocv_tag_plan_name(plan, i));
    }
    *out = 0;
    if (n == 1)
        return OCV_OK;
    if (n == 0)
        return ocv_error_set(err, OCV_ERR_DATA,
                             "--from-tags %s: no tag rule makes a set of these tags", glob);
    ocv_error_set(err, OCV_ERR_DATA, "--from-tags %s: tags of several sets: %s", glob, names);
    ocv_error_hint(err, "name the target like the set that is meant, or narrow the pattern");
    return OCV_ERR_DATA;
}

static int tell_plan(const struct build *b, const struct ocv_tag_plan *plan, size_t set,
                     struct ocv_error *err)
{
    const char *const *doubts;
    const char *reason;
    for (size_t i = 0; i < ocv_tag_plan_left_out(plan); i++) {
        const struct ocv_tag *tag = ocv_tag_plan_left(plan, i, &reason);
        cli_say(b->cli, "%s stays out: %s", ocv_tag_text(tag), reason);
    }
    if (ocv_tag_plan_doubts(plan, set, &doubts) == 0)
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_DATA, "%s: %s", ocv_tag_plan_name(plan, set), doubts[0]);
}

static int copy_properties(const struct ocv_properties *from, struct ocv_properties **out,
                           struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = ocv_properties_format(from, &text, err);
    return status < 0 ? status
                      : ocv_properties_parse(text.data ? text.data : "", text.len, out, err);
}

static int add_members(struct build *b, const struct ocv_reference *reference,
                       const struct ocv_tag_plan *plan, size_t set, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; i < ocv_tag_plan_members(plan, set) && status == OCV_OK; i++) {
        const char *label;
        struct ocv_properties *properties;
        const struct ocv_tag *tag = ocv_tag_plan_member(plan, set, i, &label);
        char ref[1024];
        snprintf(ref, sizeof(ref), "%s:%s", reference->name, ocv_tag_text(tag));
        status = copy_properties(ocv_tag_properties(tag), &properties, err);
        if (status == OCV_OK)
            status = build_item(b, label, ref, properties, ref, err);
    }
    return status;
}

static int plan_items(struct build *b, const struct ocv_reference *reference, struct tags *t,
                      const char *rules_path, struct ocv_error *err)
{
    ocv_auto(ocv_tag_rules) rules = NULL;
    ocv_auto(ocv_tag_plan) plan = NULL;
    size_t set = 0;
    int status = load_rules(rules_path, reference, &rules, err);
    if (status == OCV_OK)
        status = ocv_tag_plan_new(rules, reference, NULL, (const char *const *)t->list, t->n, &plan,
                                  err);
    if (status == OCV_OK)
        status = choose_set(plan, b, t->glob, &set, err);
    if (status == OCV_OK)
        status = tell_plan(b, plan, set, err);
    return status == OCV_OK ? add_members(b, reference, plan, set, err) : status;
}

int build_from_tags(struct build *b, const char *glob, const char *rules, struct ocv_error *err)
{
    ocv_auto(ocv_reference) own = NULL;
    const struct ocv_reference *reference = b->to.reference;
    const char *colon = strrchr(glob, ':');
    struct tags t = {.glob = glob};
    int status = OCV_OK;
    if (colon && !strchr(colon, '/')) {
        char *name = strndup(glob, (size_t)(colon - glob));
        t.glob = colon + 1;
        status = name ? ocv_reference_parse(name, &own, err) : ocv_error_nomem(err);
        free(name);
        reference = own;
    }
    if (status == OCV_OK && !reference)
        status = ocv_error_set(err, OCV_ERR_INVALID, "--from-tags: give REPO:GLOB");
    if (status == OCV_OK)
        status = image_bind_credentials(b->cli, reference, err);
    if (status == OCV_OK)
        status = cli_registry(b->cli, err);
    if (status == OCV_OK)
        status = b->cli->api->tags(b->cli->registry, reference, take_tag, &t, err);
    if (status == OCV_OK && t.n == 0)
        status =
            ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no tag like %s", reference->name, t.glob);
    if (status == OCV_OK)
        status = plan_items(b, reference, &t, rules, err);
    free_tags(&t);
    return status;
}
