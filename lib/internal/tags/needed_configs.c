/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which configurations need to be read: those of images that would win if they said the best for
 * the host. */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "lib/internal/tags/tags_internal.h"

#include <stdio.h>
#include <string.h>

#define UNREAD "unread" /* a value that no provider has */
/* Values that may count where settings disable the first ones. */
#define ASKED_VALUES_MAX 24u
#define OTHER_VALUES_MAX 8u

/* Each once; values beyond the limit are left out: the first ones count most. */
static int append_property(struct ocv_buffer *text, const char *ns, const char *feature,
                           const char *value, struct ocv_error *err)
{
    char piece[512];
    snprintf(piece, sizeof(piece), "%s :: %s :: %s", ns, feature, value);
    size_t n = strlen(piece);
    for (const char *at = text->len ? strstr(text->data, piece) : NULL; at;
         at = strstr(at + n, piece))
        if (at[n] == '\0' || at[n] == ',')
            return OCV_OK;
    if (text->len + n + 2 > OCV_ENTRY_PROPERTIES_BYTES_MAX)
        return OCV_OK;
    return ocv_buffer_printf(text, err, "%s%s", text->len ? ", " : "", piece);
}

/* The best values of the host, and of each of its devices: a list of any length ranks as its best.
 */
static int append_features(const struct ocv_tag *tag, const char *ns, const char *asked,
                           const struct ocv_feature *list, size_t n, struct ocv_buffer *text,
                           struct ocv_error *err)
{
    for (size_t i = 0; i < n; i++) {
        bool is_asked = strcmp(list[i].name, asked) == 0;
        size_t most = is_asked ? ASKED_VALUES_MAX : OTHER_VALUES_MAX;
        bool said = false;
        for (size_t k = 0; k < ocv_properties_count(tag->said); k++) {
            struct ocv_property p = ocv_properties_get(tag->said, k);
            said = said || (strcmp(p.ns, ns) == 0 && strcmp(p.feature, list[i].name) == 0);
        }
        /* what no answer gives such a tag: the branch of libraries that its family does not bring
         */
        bool lacks =
            !strcmp(ns, OCV_TOOLKIT_NAMESPACE) && !strcmp(list[i].name, OCV_TOOLKIT_COMPAT);
        for (size_t k = 0; k < tag->family->n_cudas && lacks; k++)
            lacks = !tag->family->cudas[k].compat;
        if ((said && !is_asked) || lacks)
            continue;
        for (size_t k = 0; k < list[i].n_values && k < most; k++)
            OCV_TRY(append_property(text, ns, list[i].name, list[i].values[k], err));
    }
    return OCV_OK;
}

int ocv_tag_hope(const struct ocv_tag *tag, const struct ocv_profile *profile,
                 struct ocv_properties **out, struct ocv_error *err)
{
    struct ocv_tag_answer_part part;
    char ns[sizeof(part.feature)], *feature;
    bool nomem = false;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    if (!ocv_tag_answer_part(tag->family, tag->asks[0], "12.8", &part, &nomem))
        return ocv_error_nomem(err); /* the rules were checked when they were read */
    memcpy(ns, part.feature, sizeof(ns));
    feature = strstr(ns, " :: ");
    *feature = '\0';
    feature += 4;
    *strstr(feature, " :: ") = '\0';
    const struct ocv_namespace *host = profile ? ocv_profile_namespace(profile, ns) : NULL;
    /* the tag's own values are kept, except the one that it leaves open */
    for (size_t i = 0; i < ocv_properties_count(tag->said); i++) {
        struct ocv_property p = ocv_properties_get(tag->said, i);
        if (strcmp(p.ns, ns) != 0 || strcmp(p.feature, feature) != 0)
            OCV_TRY(append_property(&text, p.ns, p.feature, p.value, err));
    }
    size_t before = text.len;
    if (host)
        OCV_TRY(append_features(tag, ns, feature, host->features, host->n_features, &text, err));
    for (size_t i = 0; host && i < host->n_devices; i++)
        OCV_TRY(append_features(tag, ns, feature, host->devices[i].features,
                                host->devices[i].n_features, &text, err));
    if (text.len == before)
        OCV_TRY(append_property(&text, ns, feature, UNREAD, err));
    return ocv_properties_parse(text.data, text.len, out, err);
}
