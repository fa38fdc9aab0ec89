/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Index, profile and configuration in one input, split at bytes 0xff, which never occur in UTF-8.
 */
#include "lib/internal/config/config.h"
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct piece {
    const char *data;
    size_t len;
};

static struct piece cut(struct piece *rest)
{
    const char *end = rest->len ? memchr(rest->data, 0xff, rest->len) : NULL;
    struct piece piece = {rest->data, end ? (size_t)(end - rest->data) : rest->len};
    *rest = end ? (struct piece){end + 1, rest->len - piece.len - 1} : (struct piece){"", 0};
    return piece;
}

static bool clean(const struct ocv_buffer *text)
{
    for (size_t i = 0; i < text->len; i++)
        if ((unsigned char)text->data[i] < 0x20)
            return false;
    return true;
}

static void check(const struct ocv_decision *d, const struct ocv_index *index)
{
    size_t order = ocv_decision_order_count(d), rejected = ocv_decision_rejected_count(d);
    if (order + rejected != ocv_index_count(index))
        abort(); /* every entry is either a candidate or rejected, once */
    for (size_t i = 0; i < rejected; i++) {
        ocv_auto_buffer text;
        ocv_buffer_init(&text, 1u << 16);
        if (ocv_decision_reason(d, i, &text, NULL) < 0 || text.len == 0)
            abort();
        if (ocv_decision_hint(d, i, &text, NULL) < 0 || !clean(&text))
            abort();
        struct ocv_rejection r = ocv_decision_rejected(d, i);
        if (r.code == OCV_REJECT_NONE || r.code >= OCV_REJECT_MAX || !r.ns != !r.feature)
            abort();
    }
    for (size_t i = 0; i < order; i++) {
        ocv_auto_buffer text;
        ocv_buffer_init(&text, 1u << 16);
        if (ocv_decision_note(d, ocv_decision_order(d, i), &text, NULL) < 0 || !clean(&text))
            abort();
    }
    ocv_auto_buffer json;
    ocv_buffer_init(&json, 1u << 28);
    if (ocv_decision_format_json(d, &json, NULL) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct piece rest = {(const char *)data, size};
    struct piece a = cut(&rest), b = cut(&rest), c = cut(&rest), label = cut(&rest);
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_profile) plain = NULL;
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_config) config = NULL;
    if (ocv_index_parse(a.data, a.len, NULL, &index, NULL) < 0 ||
        ocv_profile_parse(b.data, b.len, &plain, NULL) < 0 || ocv_config_new(&config, NULL) < 0)
        return 0;
    if (ocv_config_merge_yaml(config, "fuzz", c.data, c.len, NULL) < 0) {
        /* the settings before a mistake are used: the object must be complete */
    }
    if (ocv_config_override_profile(config, plain, &profile, NULL) < 0)
        return 0;
    struct ocv_platform platform = {.os = "linux", .architecture = "amd64"};
    char *only = strndup(label.data, label.len);
    struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config),
                                          .label = label.len ? only : NULL};
    for (int i = 0; i < 4; i++) {
        ocv_auto(ocv_decision) d = NULL;
        options.platform = i & 1 ? &platform : NULL;
        options.unchecked = i & 2;
        if (ocv_resolve(index, profile, &options, &d, NULL) == OCV_OK)
            check(d, index);
    }
    free(only);
    return 0;
}
