/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The set of rule files: notations first, then families; one added later is asked first, so that an
 * administrator's file takes precedence over a shipped one. */
#include "lib/base/arena.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/internal/tags/rules/read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ocv_tag_rules_new(struct ocv_tag_rules **out, struct ocv_error *err)
{
    *out = calloc(1, sizeof(**out));
    return *out ? OCV_OK : ocv_error_nomem(err);
}

void ocv_tag_rules_free(struct ocv_tag_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->n; i++)
        ocv_tag_family_free(rules->families[i]);
    for (struct ocv_tag_notation *n = rules->notations, *next; n; n = next) {
        next = n->next;
        ocv_yaml_free(n->tree);
        free(n->source);
        free(n->name);
        free(n);
    }
    ocv_tag_mirrors_free(rules->mirrors);
    free(rules->families);
    free(rules);
}

size_t ocv_tag_rules_count(const struct ocv_tag_rules *rules)
{
    return rules->n;
}

/* Take the notations out of the tree. */
static int add_notations(struct ocv_tag_rules *rules, const char *source, struct ocv_yaml *tree,
                         struct ocv_error *err)
{
    struct ocv_yaml *map = (struct ocv_yaml *)(uintptr_t)ocv_yaml_get(tree, "notations");
    if (!map)
        return OCV_OK;
    if (map->type != OCV_YAML_MAP)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s:%zu: 'notations' must be a mapping", source,
                             map->line);
    while (map->first) {
        struct ocv_yaml *list = map->first;
        if (list->type != OCV_YAML_LIST)
            return ocv_error_set(err, OCV_ERR_CONFIG, "%s:%zu: '%s' must be a list", source,
                                 list->line, list->key);
        ocv_auto_free char *name = strdup(list->key), *from = strdup(source);
        struct ocv_tag_notation *n = name && from ? calloc(1, sizeof(*n)) : NULL;
        if (!n)
            return ocv_error_nomem(err);
        *n = (struct ocv_tag_notation){rules->notations, ocv_steal(&name), list, ocv_steal(&from)};
        rules->notations = n;
        map->first = list->next;
        list->next = NULL;
    }
    return OCV_OK;
}

/* A family that is read later replaces one of that name, also where it does not know the
 * repository.
 */
static void remove_family(struct ocv_tag_rules *rules, const char *name)
{
    struct ocv_tag_family **all = rules->families;
    for (size_t i = 0; i < rules->n; i++)
        if (strcmp(all[i]->name, name) == 0) {
            ocv_tag_family_free(all[i]);
            memmove(&all[i], &all[i + 1], (rules->n - i - 1) * sizeof(*all));
            rules->n--;
            return;
        }
}

/* Files for other repositories are checked only as far as that shows: there are many, and the
 * notations in them are checked where they are used. A family takes the tree over. */
static int add_tree(struct ocv_tag_rules *rules, const char *source, struct ocv_yaml **tree,
                    const char *repository, struct ocv_error *err)
{
    const struct ocv_yaml_reader r = {.source = source, .err = err};
    const char *schema = ocv_yaml_text(*tree, "schema");
    if (!*tree || (*tree)->type != OCV_YAML_MAP)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s:1: the file must be a mapping", source);
    if (!schema || !*schema)
        return ocv_yaml_fail(&r, *tree, "'schema' must be %s", OCV_TAG_RULES_SCHEMA);
    if (strcmp(schema, OCV_TAG_RULES_SCHEMA) != 0)
        return ocv_yaml_fail(&r, ocv_yaml_get(*tree, "schema"),
                             "invalid value '%.80s' for schema: %s", schema, OCV_TAG_RULES_SCHEMA);
    bool named = ocv_yaml_get(*tree, "family") || ocv_yaml_get(*tree, "parts");
    /* May the file's family know the repository? Only these patterns are compiled before that is
     * known: compiling is most of what a rule file costs. In doubt it may, and what is wrong with
     * it is reported when the family is read. */
    const struct ocv_yaml *list = ocv_yaml_get(*tree, "repositories");
    bool wanted = !repository || (named && !list);
    for (const struct ocv_yaml *m = named && list ? list->first : NULL; m && !wanted; m = m->next) {
        const char *pattern = ocv_yaml_text(m, "match");
        wanted = m->type == OCV_YAML_SCALAR ? ocv_tag_glob(m->text, repository)
                                            : !pattern || ocv_tag_pattern_may(pattern, repository);
    }
    if (wanted)
        OCV_TRY(ocv_yaml_check(&r, &ocv_tag_rules_rule, *tree));
    OCV_TRY(add_notations(rules, source, *tree, err));
    if (!named && !ocv_yaml_get(*tree, "notations"))
        return ocv_yaml_fail(&r, *tree, "neither a family nor notations");
    if (named && !ocv_yaml_text(*tree, "family"))
        return ocv_yaml_fail(&r, *tree, "'family' must be a name");
    if (!named)
        return OCV_OK;
    remove_family(rules, ocv_yaml_text(*tree, "family"));
    if (!wanted)
        return OCV_OK;

    ocv_auto(ocv_tag_family) family = calloc(1, sizeof(*family));
    if (!family || !ocv_array_grow(&rules->families, rules->n))
        return ocv_error_nomem(err);
    family->tree = ocv_steal(tree);
    OCV_TRY(ocv_tag_family_read(rules, source, family->tree, family, err));
    rules->families[rules->n++] = ocv_steal(&family);
    return OCV_OK;
}

int ocv_tag_rules_add(struct ocv_tag_rules *rules, const char *source, const char *text, size_t len,
                      const struct ocv_reference *only, struct ocv_error *err)
{
    char known[OCV_TAG_TEXT_MAX];
    struct ocv_yaml *tree = NULL;
    if (len > OCV_TAG_RULES_BYTES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: larger than %u bytes", source,
                             OCV_TAG_RULES_BYTES_MAX);
    int status = ocv_yaml_read(source, text, len, &tree, err);
    if (status == OCV_OK)
        status = add_tree(rules, source, &tree,
                          only ? ocv_tag_rules_name(rules, only, known) : NULL, err);
    ocv_yaml_free(tree);
    if (status != OCV_ERR_CONFIG)
        return status;
    if (err) /* the readers of YAML take every file for configuration */
        err->status = OCV_ERR_DATA;
    return OCV_ERR_DATA;
}

int ocv_tag_file_read(const char *path, struct ocv_buffer *out, struct ocv_error *err)
{
    int status = ocv_file_read(path, OCV_FILE_REGULAR, out, err);
    if (status == OCV_ERR_DATA)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: larger than %u bytes", path,
                             OCV_TAG_RULES_BYTES_MAX);
    if (status == OCV_ERR_NOT_FOUND && err)
        err->status = OCV_ERR_IO;
    return status == OCV_ERR_NOT_FOUND ? OCV_ERR_IO : status;
}

static int is_yaml(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && ocv_text_ends(entry->d_name, ".yaml");
}

int ocv_tag_rules_load(struct ocv_tag_rules *rules, const char *dir,
                       const struct ocv_reference *only, struct ocv_error *err)
{
    struct dirent **names = NULL;
    char known[OCV_TAG_TEXT_MAX];
    const char *repository = only ? ocv_tag_rules_name(rules, only, known) : NULL;
    int n = scandir(dir, &names, is_yaml, alphasort), status = OCV_OK;
    if (n < 0)
        return errno == ENOENT ? OCV_OK
                               : ocv_error_set(err, OCV_ERR_IO, "%s: %s", dir, strerror(errno));
    if ((unsigned)n > OCV_TAG_RULES_FILES_MAX)
        status = ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u files", dir,
                               OCV_TAG_RULES_FILES_MAX);
    json_t *table = repository ? ocv_tag_table_read(dir) : NULL;
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct ocv_buffer text;
        ocv_buffer_init(&text, OCV_TAG_RULES_BYTES_MAX);
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
        if (status == OCV_OK)
            status = ocv_tag_file_read(path, &text, err);
        if (status == OCV_OK &&
            !ocv_tag_table_rules_out(table, names[i]->d_name, &text, repository))
            status =
                ocv_tag_rules_add(rules, path, text.data ? text.data : "", text.len, only, err);
        ocv_buffer_free(&text);
        free(names[i]);
    }
    json_decref(table);
    free(names);
    return status;
}

const struct ocv_tag_family *ocv_tag_rules_find(const struct ocv_tag_rules *rules, const char *name,
                                                bool *nomem)
{
    regmatch_t captures[OCV_TAG_CAPTURES];
    for (size_t i = rules->n; i-- > 0;)
        for (size_t k = 0; k < rules->families[i]->n_repositories; k++) {
            const struct ocv_tag_item *item = &rules->families[i]->repositories[k];
            if (item->compiled ? ocv_tag_match(&item->regex, name, captures, nomem)
                               : ocv_tag_glob(item->match, name))
                return rules->families[i];
        }
    return NULL;
}
