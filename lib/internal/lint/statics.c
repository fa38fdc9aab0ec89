/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Static namespaces as readers see them, looked up once for each distinct property. */
#include "lib/internal/lint/lint_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX 512u        /* of a list; readers take no more */
#define LIST_MAX (64u * 1024) /* bytes of a list that is looked into */

/* "feature :: value" of `item`, blanks around them not counted. False: malformed. */
static bool split_item(const char *item, size_t len, const char *parts[2], size_t lens[2])
{
    const char *middle = memmem(item, len, "::", 2);
    if (!middle)
        return false;
    parts[0] = item;
    lens[0] = (size_t)(middle - item);
    parts[1] = middle + 2;
    lens[1] = len - lens[0] - 2;
    for (int i = 0; i < 2; i++) {
        while (lens[i] && strchr(" \t\n", *parts[i])) {
            parts[i]++;
            lens[i]--;
        }
        while (lens[i] && strchr(" \t\n", parts[i][lens[i] - 1]))
            lens[i]--;
    }
    return ocv_property_name_valid(parts[0], lens[0]) &&
           ocv_property_value_valid(parts[1], lens[1]);
}

static bool is_text(const char *part, size_t len, const char *text)
{
    return strlen(text) == len && !memcmp(part, text, len);
}

int ocv_lint_read_statics(struct ocv_lint *lint)
{
    size_t n = ocv_index_property_count(lint->index);
    const char *last = "", *list = NULL;
    lint->statics = calloc(n + 1, sizeof(*lint->statics));
    if (!lint->statics)
        return ocv_error_nomem(lint->err);
    for (size_t i = 0; i < n; i++) {
        struct ocv_property p = ocv_index_property(lint->index, (uint32_t)i);
        if (strcmp(p.ns, last) != 0) {
            char key[256];
            int length = snprintf(key, sizeof(key), "%s%s", OCV_ANNOTATION_STATIC, p.ns);
            bool own =
                length >= 0 && (size_t)length < sizeof(key) && !ocv_lint_known_namespace(p.ns);
            list = own ? ocv_lint_index_annotation(lint, key) : NULL;
        }
        last = p.ns;
        struct ocv_lint_static *out = &lint->statics[i];
        *out = (struct ocv_lint_static){.is_static = list, .value = -1, .feature = -1};
        /* Features and values count from their first place; a malformed list has none, as readers
         * have it. */
        const char *at = list && strlen(list) <= LIST_MAX ? list : NULL, *parts[2];
        for (int place = 0; at && !out->malformed; place++) {
            size_t len = strcspn(at, ","), lens[2];
            out->malformed = place == (int)ITEMS_MAX || !split_item(at, len, parts, lens);
            if (!out->malformed && is_text(parts[0], lens[0], p.feature)) {
                out->feature = out->feature < 0 ? place : out->feature;
                if (out->value < 0 && is_text(parts[1], lens[1], p.value))
                    out->value = place;
            }
            at = at[len] ? at + len + 1 : NULL;
        }
        if (out->malformed)
            out->value = out->feature = -1;
    }
    return OCV_OK;
}
