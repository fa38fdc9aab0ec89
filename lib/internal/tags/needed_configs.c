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

struct hope_text {
    const struct ocv_tag *tag;
    struct ocv_buffer text;
    struct ocv_error *err;
};

static bool tag_says(const struct ocv_tag *tag, const char *ns, const char *feature)
{
    for (size_t i = 0; i < ocv_properties_count(tag->said); i++) {
        struct ocv_property p = ocv_properties_get(tag->said, i);
        if (strcmp(p.ns, ns) == 0 && strcmp(p.feature, feature) == 0)
            return true;
    }
    return false;
}

static bool is_there(const struct ocv_buffer *text, const char *piece)
{
    size_t n = strlen(piece);
    for (const char *at = text->len ? strstr(text->data, piece) : NULL; at;
         at = strstr(at + n, piece))
        if (at[n] == '\0' || at[n] == ',')
            return true;
    return false;
}

/* Values beyond the limit are left out: the first ones count most. */
static int append_property(struct hope_text *h, const char *ns, const char *feature,
                           const char *value)
{
    char piece[512];
    snprintf(piece, sizeof(piece), "%s :: %s :: %s", ns, feature, value);
    if (is_there(&h->text, piece) ||
        h->text.len + strlen(piece) + 2 > OCV_ENTRY_PROPERTIES_BYTES_MAX)
        return OCV_OK;
    return ocv_buffer_printf(&h->text, h->err, "%s%s", h->text.len ? ", " : "", piece);
}

/* What no answer gives such a tag: the branch of libraries that its family does not bring. */
static bool is_out_of_reach(const struct ocv_tag *tag, const char *ns, const char *feature)
{
    if (strcmp(ns, OCV_TOOLKIT_NAMESPACE) != 0 || strcmp(feature, OCV_TOOLKIT_COMPAT) != 0)
        return false;
    for (size_t i = 0; i < tag->family->n_cudas; i++)
        if (tag->family->cudas[i].compat)
            return false;
    return true;
}

/* The best values of the host, and of each of its devices: a list of any length ranks as its best.
 */
static int append_features(struct hope_text *h, const char *ns, const char *asked,
                           const struct ocv_feature *list, size_t n)
{
    int status = OCV_OK;
    for (size_t i = 0; i < n; i++) {
        bool is_asked = strcmp(list[i].name, asked) == 0;
        size_t most = is_asked ? ASKED_VALUES_MAX : OTHER_VALUES_MAX;
        if ((!is_asked && tag_says(h->tag, ns, list[i].name)) ||
            is_out_of_reach(h->tag, ns, list[i].name))
            continue;
        for (size_t k = 0; k < list[i].n_values && k < most && status == OCV_OK; k++)
            status = append_property(h, ns, list[i].name, list[i].values[k]);
    }
    return status;
}

static const struct ocv_namespace *find_namespace(const struct ocv_profile *profile,
                                                  const char *name)
{
    for (size_t i = 0; profile && i < profile->n_namespaces; i++)
        if (strcmp(profile->namespaces[i].name, name) == 0)
            return &profile->namespaces[i];
    return NULL;
}

static int write_hope(struct hope_text *h, const struct ocv_profile *profile)
{
    struct ocv_tag_answer_part part;
    char ns[sizeof(part.feature)], *feature;
    bool nomem = false;
    if (!ocv_tag_answer_part(h->tag->family, h->tag->asks[0], "12.8", &part, &nomem))
        return ocv_error_nomem(h->err); /* the rules were checked when they were read */
    memcpy(ns, part.feature, sizeof(ns));
    feature = strstr(ns, " :: ");
    *feature = '\0';
    feature += 4;
    *strstr(feature, " :: ") = '\0';
    const struct ocv_namespace *host = find_namespace(profile, ns);
    /* the tag's own values are kept, except the one that it leaves open */
    for (size_t i = 0; i < ocv_properties_count(h->tag->said); i++) {
        struct ocv_property p = ocv_properties_get(h->tag->said, i);
        if (strcmp(p.ns, ns) != 0 || strcmp(p.feature, feature) != 0)
            OCV_TRY(append_property(h, p.ns, p.feature, p.value));
    }
    size_t before = h->text.len;
    for (size_t i = 0; host && i <= host->n_devices; i++)
        OCV_TRY(i ? append_features(h, ns, feature, host->devices[i - 1].features,
                                    host->devices[i - 1].n_features)
                  : append_features(h, ns, feature, host->features, host->n_features));
    return h->text.len == before ? append_property(h, ns, feature, UNREAD) : OCV_OK;
}

int ocv_tag_hope(const struct ocv_tag *tag, const struct ocv_profile *profile,
                 struct ocv_properties **out, struct ocv_error *err)
{
    struct hope_text h = {.tag = tag, .err = err};
    ocv_buffer_init(&h.text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = write_hope(&h, profile);
    if (status == OCV_OK)
        status = ocv_properties_parse(h.text.data, h.text.len, out, err);
    ocv_buffer_free(&h.text);
    return status;
}
