/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The head of an answer: the few headers that matter, each with its limit. A header that is too
 * long or malformed counts as absent. */
#include "lib/registry/registry_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INTERIM_MAX 32 /* heads before the one that counts: 100 Continue, 103 Early Hints */

void ocv_response_reset(struct ocv_response *response)
{
    free(response->location);
    free(response->next);
    ocv_buffer_free(&response->challenges);
    *response = (struct ocv_response){
        .content_length = -1, .range_start = -1, .range_end = -1, .range_total = -1};
    ocv_buffer_init(&response->challenges, OCV_CHALLENGES_MAX);
}

/* Decimal digits only: no sign, no overflow. */
static bool read_number(const char **p, int64_t *out)
{
    int64_t n = 0;
    const char *start = *p;
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        if (n > (INT64_MAX - 9) / 10)
            return false;
        n = n * 10 + (**p - '0');
    }
    *out = n;
    return *p > start;
}

/* May it be a header again? */
static bool is_clean(const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
            return false;
    return true;
}

static void keep_value(char *out, size_t size, const char *value, size_t len)
{
    if (len < size && is_clean(value, len))
        memcpy(out, value, len + 1);
}

static void store_header(struct ocv_response *r, const char *name, const char *value, size_t len)
{
    if (!strcasecmp(name, "content-type")) {
        size_t n = strcspn(value, "; \t");
        if (n >= sizeof(r->content_type) || !is_clean(value, n))
            return;
        for (size_t i = 0; i < n; i++)
            r->content_type[i] =
                (char)(value[i] >= 'A' && value[i] <= 'Z' ? value[i] - 'A' + 'a' : value[i]);
        r->content_type[n] = '\0';
    } else if (!strcasecmp(name, "content-length")) {
        int64_t n;
        if (read_number(&value, &n) && !*value)
            r->content_length = n;
    } else if (!strcasecmp(name, "content-range")) {
        int64_t start, end, total = -1; /* "bytes START-END/TOTAL", TOTAL may be "*" */
        if (strncasecmp(value, "bytes ", 6))
            return;
        value += 6;
        if (!read_number(&value, &start) || *value++ != '-' || !read_number(&value, &end) ||
            *value++ != '/')
            return;
        if (strcmp(value, "*") && (!read_number(&value, &total) || *value))
            return;
        if (end < start || (total >= 0 && end >= total))
            return;
        r->range_start = start;
        r->range_end = end;
        r->range_total = total;
    } else if (!strcasecmp(name, "content-encoding")) {
        r->encoded = strcasecmp(value, "identity") && *value;
    } else if (!strcasecmp(name, "docker-content-digest")) {
        if (len < sizeof(r->digest) && ocv_digest_wellformed(value))
            memcpy(r->digest, value, len + 1);
    } else if (!strcasecmp(name, "etag")) {
        keep_value(r->etag, sizeof(r->etag), value, len);
    } else if (!strcasecmp(name, "oci-filters-applied")) {
        keep_value(r->filters, sizeof(r->filters), value, len);
    } else if (!strcasecmp(name, "link") && !r->next) { /* there may be several */
        const char *target;
        size_t n = ocv_link_next(value, len, &target);
        if (n && n < OCV_LINK_MAX)
            r->next = strndup(target, n);
    } else if (!strcasecmp(name, "location") && len < OCV_LOCATION_MAX) {
        free(r->location);
        r->location = strdup(value);
    } else if (!strcasecmp(name, "www-authenticate")) {
        if (ocv_buffer_append(&r->challenges, value, len, NULL) == OCV_OK &&
            ocv_buffer_append(&r->challenges, "\n", 1, NULL) < 0)
            ocv_buffer_free(&r->challenges);
    }
}

size_t ocv_response_header(char *line, size_t size, size_t count, void *data)
{
    struct ocv_response *response = data;
    size_t len = size * count;
    char text[OCV_LOCATION_MAX + 64];
    while (len && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    if (len >= sizeof(text) || memchr(line, '\0', len))
        return size * count;
    memcpy(text, line, len);
    text[len] = '\0';
    if (!strncasecmp(text, "HTTP/", 5)) { /* 100 Continue has a head of its own */
        unsigned interim = response->interim + (response->status > 0);
        const char *code = text + strcspn(text, " ");
        int64_t n = 0;
        ocv_response_reset(response);
        if (*code++ && read_number(&code, &n) && n >= 100 && n <= 999)
            response->status = (long)n;
        response->interim = interim;
        return interim <= INTERIM_MAX ? size * count : 0;
    }
    if (!len)
        response->complete = response->status >= 200;
    if (response->complete) /* what follows the body is not a header */
        return size * count;
    char *colon = strchr(text, ':');
    if (!colon)
        return size * count;
    *colon = '\0';
    char *value = colon + 1;
    value += strspn(value, " \t");
    size_t value_len = strlen(value);
    while (value_len && strchr(" \t", value[value_len - 1]))
        value[--value_len] = '\0';
    store_header(response, text, value, value_len);
    return size * count;
}
