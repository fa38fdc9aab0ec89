/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The tags of a repository (distribution-spec, "Listing Tags"): one JSON list a page, the next page
 * by a Link header. docker-registry 2.8 ignores page sizes and sends everything at once; others
 * refuse one that is larger than theirs. A page that was there before ends the list, unless it has
 * no tags: a server that filters tags sends empty pages between others. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"
#include "lib/registry/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 1000
#define PAGES_MAX 1000u
#define QUERY_MAX 2048u

/* Pages and queries that were seen, as hashes: a server that turns in circles is no error. */
struct seen {
    uint64_t hash[2 * PAGES_MAX];
    size_t n;
};

struct tag_listing {
    const struct ocv_reference *reference;
    int (*visit)(void *data, const char *tag);
    void *data;
    size_t n;
    bool listed; /* this page has a list, maybe an empty one */
    int status;  /* of `visit`, or of the limit */
    struct ocv_error *err;
    char query[QUERY_MAX]; /* of the next page; empty: there is none */
    struct seen *seen;
};

static bool seen_before(const struct seen *seen, uint64_t hash)
{
    for (size_t i = 0; i < seen->n; i++)
        if (seen->hash[i] == hash)
            return true;
    return false;
}

static void remember(struct seen *seen, uint64_t hash)
{
    if (seen->n < 2 * PAGES_MAX)
        seen->hash[seen->n++] = hash;
}

/* Only the query of the next page's address is used, so it cannot lead to another host. */
static int on_head(void *data, const struct ocv_stream_head *head)
{
    struct tag_listing *l = data;
    const char *query = head->next ? strchr(head->next, '?') : NULL;
    l->query[0] = '\0';
    if (!query || strlen(++query) >= sizeof(l->query))
        return 0;
    for (const char *p = query; *p; p++)
        if (*p <= ' ' || *p >= 0x7f || *p == '#')
            return 0;
    uint64_t hash = ocv_text_hash(query, strlen(query));
    if (seen_before(l->seen, hash))
        return 0;
    remember(l->seen, hash);
    snprintf(l->query, sizeof(l->query), "%s", query);
    return 0;
}

struct tag_page {
    int (*visit)(void *data, const char *tag);
    void *data;
    bool listed;
};

static int take_value(void *data, const struct ocv_json_at *at)
{
    struct tag_page *page = data;
    if (ocv_json_is_at(at, "tags", NULL, NULL))
        page->listed = at->kind == '[' || at->kind == 'n';
    if (at->kind != '"' || !ocv_json_is_at(at, "tags", "[]", NULL) ||
        !ocv_reference_tag_valid(at->text))
        return 0; /* what cannot be requested is not a tag */
    return page->visit(page->data, at->text);
}

bool ocv_tag_page_read(const char *bytes, size_t len, int (*visit)(void *data, const char *tag),
                       void *data)
{
    struct tag_page page = {.visit = visit, .data = data};
    return ocv_json_walk(bytes, len, take_value, &page, NULL) == OCV_OK && page.listed;
}

static int take_tag(void *data, const char *tag)
{
    struct tag_listing *l = data;
    if (++l->n > OCV_TAGS_MAX)
        l->status = ocv_error_set(l->err, OCV_ERR_DATA, "%s has more than %u tags",
                                  l->reference->name, OCV_TAGS_MAX);
    else
        l->status = l->visit(l->data, tag);
    return l->status;
}

/* A whole page at once. A tree of it would take up to 75 times its bytes. */
static int on_body(void *data, const char *bytes, size_t len)
{
    struct tag_listing *l = data;
    uint64_t hash = ocv_text_hash(bytes, len);
    size_t before = l->n;
    if (seen_before(l->seen, hash)) { /* the end */
        l->query[0] = '\0';
        l->listed = true;
        return 0;
    }
    l->listed = ocv_tag_page_read(bytes, len, take_tag, l);
    if (l->n > before)
        remember(l->seen, hash);
    return l->status;
}

static int get_page(struct ocv_registry *registry, struct tag_listing *l, struct ocv_error *err)
{
    char query[QUERY_MAX];
    memcpy(query, l->query, sizeof(query));
    const struct ocv_stream request = {.kind = OCV_STREAM_TAGS,
                                       .reference = l->reference,
                                       .query = query,
                                       .head = on_head,
                                       .body = on_body,
                                       .data = l};
    l->query[0] = '\0';
    l->listed = false;
    int status = ocv_registry_stream(registry, &request, err);
    if (l->status != OCV_OK)
        return l->status;
    if (status == OCV_OK && !l->listed)
        status = ocv_error_set(err, OCV_ERR_DATA, "%s: the list of tags is malformed",
                               l->reference->name);
    return status;
}

int ocv_registry_tags(struct ocv_registry *registry, const struct ocv_reference *reference,
                      int (*visit)(void *data, const char *tag), void *data, struct ocv_error *err)
{
    ocv_auto_free struct seen *seen = calloc(1, sizeof(*seen));
    struct ocv_error local = {0};
    struct tag_listing l = {
        .reference = reference, .visit = visit, .data = data, .err = err, .seen = seen};
    if (!seen)
        return ocv_error_nomem(err);
    snprintf(l.query, sizeof(l.query), "n=%d", PAGE);
    int status = get_page(registry, &l, &local);
    int code = local.http_status;
    bool about_size = code == 400 || code == 406 || code == 413 || code == 416 || code == 422;
    if (status < 0 && about_size) { /* it may be that of the page */
        local = (struct ocv_error){0};
        status = get_page(registry, &l, &local);
    }
    for (unsigned page = 1; status == OCV_OK && l.query[0]; page++)
        status = page == PAGES_MAX
                     ? ocv_error_set(&local, OCV_ERR_DATA, "%s: more than %u pages of tags",
                                     reference->name, PAGES_MAX)
                     : get_page(registry, &l, &local);
    if (status < 0 && l.status == OCV_OK && err)
        *err = local;
    return status;
}
