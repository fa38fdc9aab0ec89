/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/image.h"

#include "cmd/common/image/document_cache.h"

#include "gen/datadir.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_MAX 4096
#define RULES_MAX (256u * 1024) /* bytes of a file */

static void shipped_dir(const char *datadir, char out[DIR_MAX])
{
    snprintf(out, DIR_MAX, "%s/tags.d", datadir && *datadir ? datadir : OCV_DEFAULT_DATADIR);
}

int rules_load_from(const char *datadir, const struct ocv_config *config,
                    const struct ocv_reference *only, struct ocv_tag_rules **out,
                    struct ocv_error *err)
{
    ocv_auto(ocv_tag_rules) rules = NULL;
    char dir[DIR_MAX];
    shipped_dir(datadir, dir);
    OCV_TRY(ocv_tag_rules_new(&rules, err));
    if (config) {
        /* Applies mirror_of of the configuration. */
        const struct ocv_registry_config *list;
        size_t n = ocv_config_registries(config, &list);
        for (size_t i = 0; i < n; i++)
            if (list[i].mirror_of)
                OCV_TRY(ocv_tag_rules_mirror(rules, list[i].host, list[i].mirror_of, err));
        const struct ocv_path_mirror *paths;
        n = ocv_config_path_mirrors(config, &paths);
        for (size_t i = 0; i < n; i++)
            OCV_TRY(ocv_tag_rules_mirror(rules, paths[i].prefix, paths[i].of, err));
    }
    OCV_TRY(ocv_tag_rules_load(rules, dir, only, err));
    OCV_TRY(ocv_tag_rules_load(rules, OCV_PATH_TAG_RULES, only, err));
    *out = ocv_steal(&rules);
    return OCV_OK;
}

int rules_load(struct cli *cli, const struct ocv_reference *only, struct ocv_tag_rules **out,
               struct ocv_error *err)
{
    OCV_TRY(rules_load_from(cli_datadir(cli), cli->config, only, out, err));
    cli_log(cli, "%zu families of tag rules", ocv_tag_rules_count(*out));
    return OCV_OK;
}

int rules_load_more(struct cli *cli, const char *extra, const struct ocv_reference *only,
                    struct ocv_tag_rules **out, struct ocv_error *err)
{
    struct stat st;
    OCV_TRY(rules_load(cli, only, out, err));
    char dir[DIR_MAX];
    shipped_dir(cli_datadir(cli), dir);
    if (!extra && access(dir, F_OK) != 0 && access(OCV_PATH_TAG_RULES, F_OK) != 0)
        cli_warn(cli, "no tag rules: neither %s nor %s exists", dir, OCV_PATH_TAG_RULES);
    if (!extra)
        return OCV_OK;
    if (stat(extra, &st) == 0 && S_ISDIR(st.st_mode))
        return ocv_tag_rules_load(*out, extra, only, err);
    ocv_auto_buffer text;
    ocv_buffer_init(&text, RULES_MAX);
    OCV_TRY(cli_read_file(extra, &text, err));
    return ocv_tag_rules_add(*out, extra, text.data ? text.data : "", text.len, NULL, err);
}

static int is_known(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                    bool *known, struct ocv_error *err)
{
    ocv_auto(ocv_tag) tag = NULL;
    int status = ocv_tag_parse(rules, reference, NULL, &tag, err);
    *known = status == OCV_OK && ocv_tag_family(tag);
    return status;
}

int rules_load_authoring(struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                         bool *added, struct ocv_error *err)
{
    char dir[DIR_MAX], path[DIR_MAX + 16];
    const char *const dirs[] = {dir, OCV_PATH_TAG_RULES};
    bool known;
    *added = false;
    OCV_TRY(is_known(rules, reference, &known, err));
    if (known)
        return OCV_OK;
    shipped_dir(getenv("OCV_DATADIR"), dir);
    for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
        snprintf(path, sizeof(path), "%s/authoring", dirs[i]);
        OCV_TRY(ocv_tag_rules_load(rules, path, reference, err));
    }
    return is_known(rules, reference, added, err);
}

int rules_tags_add(struct rules_tags *tags, const char *tag, struct ocv_error *err)
{
    if (tags->n == OCV_TAGS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %u tags", OCV_TAGS_MAX);
    char **copy = ocv_array_grow(&tags->list, tags->n);
    if (!copy || !(*copy = strdup(tag)))
        return ocv_error_nomem(err);
    tags->n++;
    return OCV_OK;
}

void rules_tags_free(struct rules_tags *tags)
{
    for (size_t i = 0; i < tags->n; i++)
        free(tags->list[i]);
    free(tags->list);
    *tags = (struct rules_tags){0};
}

int rules_visit_tags(struct cli *cli, const struct ocv_reference *reference,
                     int (*visit)(void *data, const char *tag), void *data, struct ocv_error *err)
{
    struct ocv_error local = {0};
    int64_t end = ocv_clock_ms() + RULES_TAGS_S * 1000;
    ocv_registry_deadline(cli->registry, RULES_TAGS_S * 1000);
    int status = ocv_registry_tags(cli->registry, reference, visit, data, &local);
    ocv_registry_deadline(cli->registry, 0);
    if (status == OCV_ERR_NETWORK && ocv_clock_ms() >= end) {
        status =
            ocv_error_set(&local, OCV_ERR_NETWORK, "%s: the list of its tags is longer than %u s",
                          reference->familiar, RULES_TAGS_S);
        local.http_status = 504;
    }
    if (status < 0 && err)
        *err = local;
    return status;
}

struct visit {
    struct rules_tags *tags;
    struct ocv_error failure;
};

static int add_tag(void *data, const char *tag)
{
    struct visit *v = data;
    return rules_tags_add(v->tags, tag, &v->failure) < 0 ? 1 : 0;
}

int rules_list_tags(struct cli *cli, const struct ocv_reference *reference, struct rules_tags *out,
                    struct ocv_error *err)
{
    struct visit visit = {.tags = out};
    *out = (struct rules_tags){0};
    int status = ocv_registry_tags(cli->registry, reference, add_tag, &visit, err);
    if (visit.failure.status < 0) {
        status = visit.failure.status;
        if (err)
            *err = visit.failure;
        ocv_error_prefix(err, "%s", reference->familiar);
    }
    if (status < 0) {
        rules_tags_free(out);
        return status;
    }
    if (out->n)
        qsort(out->list, out->n, sizeof(*out->list), ocv_text_order);
    return OCV_OK;
}

static int source_tags(void *data, int (*visit)(void *visit_data, const char *tag),
                       void *visit_data, struct ocv_error *err)
{
    struct rules_source *s = data;
    struct ocv_error local = {0};
    int status = rules_visit_tags(s->cli, s->reference, visit, visit_data, &local);
    s->unlisted = status == OCV_ERR_DATA || local.http_status == 504;
    if (status < 0 && err)
        *err = local;
    return status;
}

static int source_head(void *data, const char *tag, struct ocv_descriptor *out,
                       struct ocv_error *err)
{
    const struct rules_source *s = data;
    struct ocv_reference tagged = *s->reference;
    if (*s->top.digest && !strcmp(tag, s->reference->tag)) {
        *out = s->top;
        return OCV_OK;
    }
    tagged.tag = (char *)(uintptr_t)tag; /* borrowed for this call */
    tagged.digest = NULL;
    return ocv_registry_head(s->cli->registry, &tagged, out, err);
}

static int source_get(void *data, const char *digest, struct ocv_buffer *body,
                      struct ocv_descriptor *out, struct ocv_error *err)
{
    const struct rules_source *s = data;
    return ocv_registry_get(s->cli->registry, s->reference, digest, body, out, err);
}

static int source_blob(void *data, const struct ocv_descriptor *blob, struct ocv_buffer *body,
                       struct ocv_error *err)
{
    const struct rules_source *s = data;
    return ocv_registry_get_blob(s->cli->registry, s->reference, blob, body, err);
}

/* A digest names the same manifest everywhere, so any repository's cached configuration serves. */
static bool recall_config(void *data, const char *digest, struct ocv_buffer *essence)
{
    (void)data;
    return digest_cache_read("configs", digest, essence);
}

static void keep_config(void *data, const char *digest, const struct ocv_buffer *essence)
{
    (void)data;
    digest_cache_write("configs", digest, essence);
}

struct ocv_tag_source rules_source(struct cli *cli, const struct ocv_reference *reference,
                                   struct rules_source *data)
{
    *data = (struct rules_source){.cli = cli, .reference = reference};
    return (struct ocv_tag_source){.data = data,
                                   .tags = source_tags,
                                   .head = source_head,
                                   .get = source_get,
                                   .blob = source_blob,
                                   .recall = recall_config,
                                   .keep = keep_config};
}
