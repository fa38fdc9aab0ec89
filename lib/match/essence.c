/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of a profile that resolution reads, as one line of JSON: equal lines are one class.
 *
 * Invariant: the line is itself a profile, for which the result is the same line. The names and the
 * order of its keys never change, since other software stores classes. */
#include "lib/base/buffer_internal.h"
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "ocivariant/digest.h"
#include "ocivariant/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPED 6u /* bytes that one byte takes at most: \u001f */

struct essence_writer {
    struct ocv_buffer *out;
    struct ocv_error *err;
    int status;
};

static void put_text(struct essence_writer *w, const char *text)
{
    if (w->status == OCV_OK)
        w->status = ocv_buffer_append(w->out, text, strlen(text), w->err);
}

static void put_string(struct essence_writer *w, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    static const char prefix[4] = {'\\', 'u', '0', '0'};
    size_t len = strlen(text);
    if (w->status == OCV_OK)
        w->status = ocv_buffer_reserve(w->out, ESCAPED * len + 2, w->err);
    if (w->status < 0)
        return;
    char *to = w->out->data + w->out->len;
    *to++ = '"';
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == '"' || c == '\\') {
            to = mempcpy(to, prefix, sizeof(prefix));
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        } else
            *to++ = (char)c;
    }
    *to++ = '"';
    *to = '\0';
    w->out->len = (size_t)(to - w->out->data);
}

static void put_list(struct essence_writer *w, const char *const *list, size_t n)
{
    put_text(w, "[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            put_text(w, ",");
        put_string(w, list[i]);
    }
    put_text(w, "]");
}

static void put_features(struct essence_writer *w, const struct ocv_feature *list, size_t n)
{
    put_text(w, "\"features\":[");
    for (size_t i = 0; i < n; i++) {
        put_text(w, i ? ",{\"name\":" : "{\"name\":");
        put_string(w, list[i].name);
        put_text(w, ",\"values\":");
        put_list(w, (const char *const *)list[i].values, list[i].n_values);
        put_text(w, "}");
    }
    put_text(w, "]");
}

static void put_member(struct essence_writer *w, const char *before, const char *text)
{
    if (!text)
        return;
    put_text(w, before);
    put_string(w, text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct ocv_namespace *const *)a)->name,
                  (*(const struct ocv_namespace *const *)b)->name);
}

int ocv_profile_essence(const struct ocv_profile *profile, struct ocv_buffer *out,
                        struct ocv_error *err)
{
    struct essence_writer w = {out, err, OCV_OK};
    char number[32];
    put_text(&w, "{\"schema\":\"dev.ocivariant.profile/v1\",");
    if (profile->platform.os || profile->platform.architecture || profile->platform.variant ||
        profile->platform.n_os_features) {
        put_text(&w, "\"platform\":{\"os\":");
        put_string(&w, profile->platform.os ? profile->platform.os
                                            : "linux"); /* as the resolver takes it */
        put_member(&w, ",\"architecture\":", profile->platform.architecture);
        put_member(&w, ",\"variant\":", profile->platform.variant);
        if (profile->platform.n_os_features) {
            put_text(&w, ",\"os.features\":");
            put_list(&w, profile->platform.os_features, profile->platform.n_os_features);
        }
        put_text(&w, "},");
    }

    size_t n = profile->n_namespaces;
    ocv_auto_free const struct ocv_namespace **sorted =
        calloc(n + 1, sizeof(const struct ocv_namespace *));
    if (!sorted)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &profile->namespaces[i];
    qsort(sorted, n, sizeof(*sorted), by_name);
    put_text(&w, "\"namespaces\":[");
    for (size_t i = 0; i < n; i++) {
        const struct ocv_namespace *ns = sorted[i];
        put_text(&w, i ? ",{\"namespace\":" : "{\"namespace\":");
        put_string(&w, ns->name);
        put_text(&w, ",");
        put_features(&w, ns->features, ns->n_features);
        put_text(&w, ns->n_devices ? ",\"devices\":[" : "");
        for (size_t k = 0; k < ns->n_devices; k++) {
            const struct ocv_device *device = &ns->devices[k];
            put_text(&w, k ? ",{\"id\":" : "{\"id\":");
            put_string(&w, device->id);
            snprintf(number, sizeof(number), ",\"index\":%ld", device->index);
            put_text(&w, number);
            put_text(&w, device->secondary ? ",\"secondary\":true," : ",");
            put_features(&w, device->features, device->n_features);
            put_text(&w, "}");
        }
        put_text(&w, ns->n_devices ? "]}" : "}");
    }
    put_text(&w, "]");
    put_text(&w, "}");
    return w.status;
}

int ocv_profile_class(const struct ocv_profile *profile, char out[OCV_CLASS_MAX],
                      struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    OCV_TRY(ocv_profile_essence(profile, &text, err));
    OCV_TRY(ocv_digest_bytes(text.data, text.len, digest, err));
    snprintf(out, OCV_CLASS_MAX, "%s", strchr(digest, ':') + 1);
    return OCV_OK;
}
