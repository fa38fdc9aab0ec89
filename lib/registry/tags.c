/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The tags of a repository (distribution-spec, "Listing Tags"): one JSON list a page, the next page
 * by a Link header. docker-registry 2.8 ignores page sizes and sends everything at once. */
#include "lib/registry/registry_internal.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 1000
#define PAGES_MAX 1000u
#define QUERY_MAX 2048u

struct tag_listing {
    const struct ocv_reference *reference;
    int (*visit)(void *data, const char *tag);
    void *data;
    size_t n;
    struct ocv_buffer body;
    char query[QUERY_MAX]; /* of the next page; empty: there is none */
};

/* `</v2/NAME/tags/list?n=..&last=..>; rel="next"`: only its query is used, so a Link cannot
 * redirect to another host. */
static void next_page(struct tag_listing *l, const char *link)
{
    char query[QUERY_MAX];
    const char *end = link ? strchr(link, '>') : NULL;
    const char *mark = end ? memchr(link, '?', (size_t)(end - link)) : NULL;
    size_t n = mark ? (size_t)(end - mark - 1) : 0;
    if (!mark || !strstr(end, "next") || n == 0 || n >= sizeof(query)) {
        l->query[0] = '\0';
        return;
    }
    memcpy(query, mark + 1, n);
    query[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (query[i] <= ' ' || query[i] >= 0x7f || query[i] == '#')
            query[0] = '\0';
    bool same = strcmp(query, l->query) == 0; /* a server that turns in circles */
    snprintf(l->query, sizeof(l->query), "%s", same ? "" : query);
}

static int on_head(void *data, const struct ocv_stream_head *head)
{
    next_page(data, head->link);
    return 0;
}

static int on_body(void *data, const char *bytes, size_t len)
{
    struct tag_listing *l = data;
    return ocv_buffer_append(&l->body, bytes, len, NULL);
}

static int visit_page(struct tag_listing *l, struct ocv_error *err)
{
    json_t *root = json_loadb(l->body.data ? l->body.data : "", l->body.len, 0, NULL), *item;
    json_t *tags = json_object_get(root, "tags");
    size_t i;
    int status = OCV_OK;
    if (!json_is_array(tags) && !json_is_null(tags))
        status = ocv_error_set(err, OCV_ERR_DATA, "%s: the list of tags is malformed",
                               l->reference->name);
    json_array_foreach(tags, i, item)
    {
        const char *tag = json_string_value(item);
        if (status != OCV_OK)
            break;
        if (!tag || !ocv_reference_tag_valid(tag))
            continue; /* cannot be requested, so it is not a tag */
        if (++l->n > OCV_TAGS_MAX)
            status = ocv_error_set(err, OCV_ERR_DATA, "%s has more than %u tags",
                                   l->reference->name, OCV_TAGS_MAX);
        else
            status = l->visit(l->data, tag);
    }
    json_decref(root);
    return status;
}

int ocv_registry_tags(struct ocv_registry *registry, const struct ocv_reference *reference,
                      int (*visit)(void *data, const char *tag), void *data, struct ocv_error *err)
{
    struct tag_listing l = {.reference = reference, .visit = visit, .data = data};
    int status = OCV_OK;
    snprintf(l.query, sizeof(l.query), "n=%d", PAGE);
    ocv_buffer_init(&l.body, OCV_MANIFEST_MAX);
    for (unsigned page = 0; status == OCV_OK && l.query[0]; page++) {
        char query[QUERY_MAX];
        memcpy(query, l.query, sizeof(query));
        const struct ocv_stream request = {.kind = OCV_STREAM_TAGS,
                                           .reference = reference,
                                           .query = query,
                                           .head = on_head,
                                           .body = on_body,
                                           .data = &l};
        ocv_buffer_free(&l.body);
        ocv_buffer_init(&l.body, OCV_MANIFEST_MAX);
        if (page == PAGES_MAX)
            status = ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u pages of tags",
                                   reference->name, PAGES_MAX);
        if (status == OCV_OK)
            status = ocv_registry_stream(registry, &request, err);
        if (status == OCV_OK)
            status = visit_page(&l, err);
    }
    ocv_buffer_free(&l.body);
    return status;
}
