/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/base/format/yaml.h"
#include "lib/registry/auth/providers_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* It becomes part of a path. */
static bool is_program(const char *name)
{
    return !strpbrk(name, "/ ") && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool is_variable(const char *name)
{
    return !strchr(name, '=');
}

static bool is_duration(const char *text)
{
    int64_t ms;
    return ocv_go_duration_parse(text, &ms) && ms >= 0;
}

static const char *const config_versions[] = {"kubelet.config.k8s.io/v1",
                                              "kubelet.config.k8s.io/v1beta1",
                                              "kubelet.config.k8s.io/v1alpha1", NULL};
static const char *const answer_versions[] = {"credentialprovider.kubelet.k8s.io/v1",
                                              "credentialprovider.kubelet.k8s.io/v1beta1",
                                              "credentialprovider.kubelet.k8s.io/v1alpha1", NULL};
static const char *const kinds[] = {"CredentialProviderConfig", NULL};

static const struct ocv_yaml_rule any_text = {.takes = OCV_TAKES_TEXT, .empty = true};
static const struct ocv_yaml_rule flag = {.takes = OCV_TAKES_TEXT, .words = ocv_yaml_flag_words};
static const struct ocv_yaml_rule config_version = {.takes = OCV_TAKES_TEXT,
                                                    .words = config_versions};
static const struct ocv_yaml_rule answer_version = {.takes = OCV_TAKES_TEXT,
                                                    .words = answer_versions};
static const struct ocv_yaml_rule kind = {.takes = OCV_TAKES_TEXT, .words = kinds};
static const struct ocv_yaml_rule name = {.takes = OCV_TAKES_TEXT,
                                          .len_max = OCV_PROVIDER_NAME_MAX,
                                          .good = is_program,
                                          .wanted = "the name of a file, without / and spaces"};
static const struct ocv_yaml_rule duration = {
    .takes = OCV_TAKES_TEXT, .good = is_duration, .wanted = "a duration such as 12h or 1h30m"};
static const struct ocv_yaml_rule glob = {
    .takes = OCV_TAKES_TEXT, .len_max = OCV_IMAGE_GLOB_MAX, .wanted = "a glob of images"};
static const struct ocv_yaml_rule globs = {
    .takes = OCV_TAKES_LIST, .min = 1, .max = OCV_PROVIDER_GLOBS_MAX, .item = &glob};
static const struct ocv_yaml_rule texts = {
    .takes = OCV_TAKES_LIST, .empty = true, .max = OCV_PROVIDER_WORDS_MAX, .item = &any_text};
static const struct ocv_yaml_rule variable_name = {
    .takes = OCV_TAKES_TEXT, .good = is_variable, .wanted = "the name of a variable"};
static const struct ocv_yaml_key variable_keys[] = {{"name", &variable_name, true},
                                                    {"value", &any_text, false}};
static const struct ocv_yaml_table variable_table = {"a variable", OCV_YAML_KEYS(variable_keys)};
static const struct ocv_yaml_rule variable = {.takes = OCV_TAKES_MAP, .table = &variable_table};
static const struct ocv_yaml_rule variables = {
    .takes = OCV_TAKES_LIST, .empty = true, .max = OCV_PROVIDER_WORDS_MAX, .item = &variable};
static const struct ocv_yaml_key token_keys[] = {
    {"serviceAccountTokenAudience", &any_text, false},
    {"cacheType", &any_text, false},
    {"requireServiceAccount", &flag, true},
    {"requiredServiceAccountAnnotationKeys", &texts, false},
    {"optionalServiceAccountAnnotationKeys", &texts, false}};
static const struct ocv_yaml_table token_table = {"tokenAttributes", OCV_YAML_KEYS(token_keys)};
static const struct ocv_yaml_rule token = {.takes = OCV_TAKES_MAP, .table = &token_table};
static const struct ocv_yaml_key provider_keys[] = {{"name", &name, true},
                                                    {"matchImages", &globs, true},
                                                    {"defaultCacheDuration", &duration, true},
                                                    {"apiVersion", &answer_version, true},
                                                    {"args", &texts, false},
                                                    {"env", &variables, false},
                                                    {"tokenAttributes", &token, false}};
static const struct ocv_yaml_table provider_table = {"a provider", OCV_YAML_KEYS(provider_keys)};
static const struct ocv_yaml_rule provider = {.takes = OCV_TAKES_MAP, .table = &provider_table};

/* A name stands for one program. */
static int check_names(const struct ocv_yaml_reader *r, const struct ocv_yaml *list)
{
    for (const struct ocv_yaml *m = list->first; m; m = m->next)
        for (const struct ocv_yaml *k = list->first; k != m; k = k->next)
            if (!strcmp(ocv_yaml_text(k, "name"), ocv_yaml_text(m, "name")))
                return ocv_yaml_fail(r, m, "provider '%s' is given twice",
                                     ocv_yaml_text(m, "name"));
    return OCV_OK;
}

static const struct ocv_yaml_rule providers = {.takes = OCV_TAKES_LIST,
                                               .min = 1,
                                               .max = OCV_PROVIDERS_MAX,
                                               .item = &provider,
                                               .check = check_names};
static const struct ocv_yaml_key keys[] = {
    {"apiVersion", &config_version, true}, {"kind", &kind, true}, {"providers", &providers, true}};
static const struct ocv_yaml_table table = {OCV_YAML_KEYS(keys)};
static const struct ocv_yaml_rule file = {.takes = OCV_TAKES_MAP, .table = &table};

/* The texts of a list with NULL behind them; `first` stands before, if it is given. */
static const char **list_of(const struct ocv_yaml *map, const char *key, const char *first,
                            size_t *n)
{
    const struct ocv_yaml *list = ocv_yaml_get(map, key);
    const char **out = calloc((list ? list->n : 0) + 2, sizeof(*out));
    *n = 0;
    if (out && first)
        out[(*n)++] = first;
    for (const struct ocv_yaml *m = list ? list->first : NULL; out && m; m = m->next)
        out[(*n)++] = m->text;
    return out;
}

int ocv_provider_config_read(const char *source, const char *text, size_t len,
                             struct ocv_provider_config *out, struct ocv_error *err)
{
    const struct ocv_yaml_reader r = {.source = source, .err = err};
    *out = (struct ocv_provider_config){0};
    OCV_TRY(ocv_yaml_load(&r, &file, text, len, OCV_PROVIDER_CONFIG_MAX, &out->tree));
    if (!out->tree)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: is empty", source);
    const struct ocv_yaml *list = ocv_yaml_get(out->tree, "providers");
    out->providers = calloc(list->n, sizeof(*out->providers));
    bool good = out->providers;
    for (const struct ocv_yaml *m = list->first; m && good; m = m->next) {
        struct ocv_provider *p = &out->providers[out->n++];
        const struct ocv_yaml *env = ocv_yaml_get(m, "env");
        size_t n;
        p->name = ocv_yaml_text(m, "name");
        p->version = ocv_yaml_text(m, "apiVersion");
        p->globs = list_of(m, "matchImages", NULL, &p->n_globs);
        p->argv = list_of(m, "args", p->name, &n);
        p->variables = calloc((env ? env->n : 0) + 1, sizeof(*p->variables));
        p->for_service_account =
            ocv_yaml_flag(ocv_yaml_get(m, "tokenAttributes"), "requireServiceAccount");
        (void)ocv_go_duration_parse(ocv_yaml_text(m, "defaultCacheDuration"), &p->keep_ms);
        good = p->globs && p->argv && p->variables;
        n = 0;
        for (const struct ocv_yaml *v = env ? env->first : NULL; v && good; v = v->next, n++) {
            const char *value = ocv_yaml_text(v, "value");
            good = asprintf(&p->variables[n], "%s=%s", ocv_yaml_text(v, "name"),
                            value ? value : "") >= 0;
            if (!good)
                p->variables[n] = NULL;
        }
    }
    if (good)
        return OCV_OK;
    ocv_provider_config_free(out);
    return ocv_error_nomem(err);
}

void ocv_provider_config_free(struct ocv_provider_config *config)
{
    for (size_t i = 0; config->providers && i < config->n; i++) {
        struct ocv_provider *p = &config->providers[i];
        for (char **v = p->variables; v && *v; v++)
            free(*v);
        free(p->variables);
        free(p->globs);
        free(p->argv);
    }
    free(config->providers);
    ocv_yaml_free(config->tree);
    *config = (struct ocv_provider_config){0};
}

bool ocv_provider_serves(const struct ocv_provider *asked, const char *image)
{
    for (size_t i = 0; i < asked->n_globs && !asked->for_service_account; i++)
        if (ocv_image_glob_match(asked->globs[i], image))
            return true;
    return false;
}
