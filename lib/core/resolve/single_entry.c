/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One variant without its index: build an index with this entry alone, and resolve it for the host,
 * so that there is one rule for what fits. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/core/core_internal.h"
#include "lib/core/resolve/resolve_internal.h"
#include "ocivariant/resolve.h"

#include <string.h>

/* An entry that runs everywhere, or is ranked by its index alone: only preferences can rule it out.
 */
static int check_bare(const char *label, const struct ocv_resolve_options *options, bool *fits,
                      struct ocv_buffer *reason, struct ocv_error *err)
{
    static const struct ocv_preferences none = {0};
    const struct ocv_preferences *preferences = options ? &options->preferences : &none;
    const struct ocv_strings *required =
        options && options->any_use ? &none.require : &preferences->require;
    const char *asked = options ? options->label : NULL;
    const char *own = asked ? NULL : preferences->label;
    const char *wanted = own ? own : asked;
    *fits = false;
    if (required->count)
        return ocv_buffer_printf(reason, err, "does not use %s, which is required (%s)",
                                 required->list[0], required->origins[0]);
    if (wanted && strcmp(wanted, label && *label ? label : "null") != 0)
        return ocv_buffer_printf(reason, err, "fits, but another label was asked for%s%s%s",
                                 own ? " (" : "", own ? preferences->label_origin : "",
                                 own ? ")" : "");
    *fits = true;
    return OCV_OK;
}

int ocv_fit_check(const char *label, const char *properties, const char *statics,
                  const struct ocv_profile *profile, const struct ocv_resolve_options *options,
                  bool *fits, struct ocv_buffer *reason, struct ocv_error *err)
{
    static const char any[] =
        "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    ocv_auto(ocv_properties) list = NULL;
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    ocv_auto_buffer text, document;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&document, OCV_MANIFEST_MAX);
    struct ocv_resolve_options own = options ? *options : (struct ocv_resolve_options){0};
    const char *plain = properties && *properties ? NULL : "null", *glob, *origin;
    *fits = false;
    /* the canonical text without the properties of static namespaces */
    OCV_TRY(ocv_properties_parse(properties ? properties : "", properties ? strlen(properties) : 0,
                                 &list, err));
    for (size_t i = 0; i < ocv_properties_count(list); i++) {
        struct ocv_property p = ocv_properties_get(list, i);
        struct ocv_span rest = {statics, statics ? strlen(statics) : 0}, piece;
        bool is_static = false;
        while (!is_static && rest.data && ocv_span_split(&rest, ',', &piece))
            is_static = piece.len == strlen(p.ns) && !memcmp(piece.data, p.ns, piece.len);
        if (!is_static)
            OCV_TRY(ocv_buffer_printf(&text, err, "%s%s :: %s :: %s", text.len ? ", " : "", p.ns,
                                      p.feature, p.value));
    }
    /* by its own label: the entry that is made of it may have another */
    if (ocv_preferences_deny(&own.preferences, label && *label ? label : plain, own.made_of, &glob,
                             &origin))
        return ocv_buffer_printf(reason, err, "never taken here: deny has '%.100s' (%s)", glob,
                                 origin);
    own.preferences.deny.count = 0;
    if (text.len == 0)
        return check_bare(label, options, fits, reason, err);
    ocv_auto_json *root =
        json_pack("{s:i, s:[{s:s, s:s, s:i, s:{s:s, s:s}}]}", "schemaVersion", 2, "manifests",
                  "mediaType", OCV_MEDIA_TYPE_MANIFEST, "digest", any, "size", 2, "annotations",
                  OCV_ANNOTATION_LABEL, label && strcmp(label, "null") != 0 ? label : "variant",
                  OCV_ANNOTATION_PROPERTIES, text.data);
    if (!root)
        return ocv_error_set(err, OCV_ERR_DATA, "label or properties are not UTF-8");
    OCV_TRY(ocv_json_append(root, JSON_COMPACT, &document, err));
    OCV_TRY(ocv_index_parse(document.data, document.len, OCV_MEDIA_TYPE_INDEX, &index, err));
    const struct ocv_entry *entry = ocv_index_entry(index, 0);
    if (entry->code != OCV_REJECT_NONE)
        return ocv_error_set(err, OCV_ERR_DATA, "%s",
                             entry->detail ? entry->detail : "malformed label or properties");
    OCV_TRY(ocv_resolve(index, profile, &own, &decision, err));
    *fits = ocv_decision_selected(decision) != NULL;
    return *fits ? ocv_decision_note(decision, ocv_decision_selected(decision), reason, err)
                 : ocv_decision_reason(decision, 0, reason, err);
}
