/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the node remembers of a resolution, and what a manifest says of itself when it is named by
 * digest and no index can be asked. */
#include "paths.h"
#include "pull.h"

#include <stdlib.h>
#include <string.h>

#define RECORD_MAX (64u * 1024)

static const char *record_dir(char *out, size_t size)
{
    const char *state = getenv("OCV_STATE_DIR");
    snprintf(out, size, "%s/resolved", state && *state ? state : OCV_PATH_STATE);
    return out;
}

void pull_record(const struct pull *pull)
{
    char dir[4096];
    struct ocv_error err = {0};
    ocv_auto_buffer properties, statics;
    ocv_buffer_init(&properties, OCV_MANIFEST_MAX);
    ocv_buffer_init(&statics, OCV_MANIFEST_MAX);
    if (pull->image.index && ocv_index_has_variants(pull->image.index) &&
        ocv_record_index(record_dir(dir, sizeof(dir)), pull->image.index, pull->image.text,
                         pull->image.reference != NULL, &err) < 0)
        cli_say(pull->cli, "not recorded on this node: %s", err.message);
    if (pull->image.kind != OCV_DOCUMENT_INDEX || !pull->entry->label)
        return;
    int status = OCV_OK;
    for (size_t i = 0; i < pull->entry->n_properties && status == OCV_OK; i++) {
        struct ocv_property p = ocv_index_property(pull->image.index, pull->entry->properties[i]);
        status = ocv_buffer_printf(&properties, &err, "%s%s :: %s :: %s", i ? ", " : "", p.ns,
                                   p.feature, p.value);
        if (status == OCV_OK && ocv_index_namespace_static(pull->image.index, p.ns))
            status = ocv_buffer_printf(&statics, &err, "%s%s", statics.len ? ", " : "", p.ns);
    }
    const struct ocv_descriptor *tagged = NULL; /* by a rule there is no index but the tag's own */
    if (pull->image.choice)
        ocv_tag_choice_tag(pull->image.choice, pull->entry, &tagged);
    struct ocv_record record = {.child = pull->entry->digest,
                                .index = tagged ? tagged->digest : pull->image.top.digest,
                                .label = pull->entry->label,
                                .properties = properties.data ? properties.data : "",
                                .statics = statics.data,
                                .reference = pull->image.text};
    if (status == OCV_OK)
        status = ocv_record_write(record_dir(dir, sizeof(dir)), &record, &err);
    if (status < 0)
        cli_say(pull->cli, "not recorded on this node: %s", err.message);
}

/* The two keys as label and properties: from the node's record, else from the config's labels. */
static json_t *recorded(const struct pull *pull, struct ocv_buffer *text)
{
    char dir[4096];
    if (ocv_record_read(record_dir(dir, sizeof(dir)), pull->entry->digest, text, NULL) < 0)
        return NULL;
    json_t *record = json_loadb(text->data, text->len, JSON_REJECT_DUPLICATES, NULL);
    json_t *pair =
        json_pack("{s:O, s:O, s:O*}", OCV_ANNOTATION_LABEL, json_object_get(record, "label"),
                  OCV_ANNOTATION_PROPERTIES, json_object_get(record, "properties"), "static",
                  json_object_get(record, "static"));
    json_decref(record);
    return pair;
}

static json_t *read_config(struct pull *pull, struct ocv_buffer *text)
{
    if (child_config(pull->cli, &pull->image, &pull->child, text, NULL) < 0)
        return NULL; /* whatever is wrong with it, the pull itself will say */
    return json_loadb(text->data, text->len, JSON_REJECT_DUPLICATES, NULL);
}

static json_t *labelled(const json_t *config)
{
    json_t *labels = json_object_get(json_object_get(config, "config"), "Labels");
    return json_pack("{s:O, s:O}", OCV_ANNOTATION_LABEL,
                     json_object_get(labels, OCV_ANNOTATION_LABEL), OCV_ANNOTATION_PROPERTIES,
                     json_object_get(labels, OCV_ANNOTATION_PROPERTIES));
}

/* A lone manifest says nothing of its platform, its config does: there is no other to choose. */
static void check_platform(const struct pull *pull, const json_t *config)
{
    char own[128], wanted[128];
    const char *arch = json_string_value(json_object_get(config, "architecture"));
    const char *variant = json_string_value(json_object_get(config, "variant"));
    struct ocv_platform image = {.os = json_string_value(json_object_get(config, "os")),
                                 .architecture = arch};
    struct ocv_platform host =
        pull->cli->platform ? *pull->cli->platform : ocv_profile_platform(pull->cli->profile);
    if (!host.os)
        host.os = "linux";
    if (host.variant) /* else nothing is known of the host's level */
        image.variant = variant;
    if (!image.os || !arch || !host.architecture || ocv_platform_match(&host, &image, NULL) >= 0)
        return;
    progress_warn(pull->progress, pull->cli->program, "%s is for %s, not for %s", pull->image.text,
                  ocv_platform_format(&image, own, sizeof(own)),
                  ocv_platform_format(&host, wanted, sizeof(wanted)));
}

static int judge(struct pull *pull, const json_t *annotations, struct ocv_error *err)
{
    const char *properties =
        json_string_value(json_object_get(annotations, OCV_ANNOTATION_PROPERTIES));
    const struct ocv_resolve_options options = {.config = pull->cli->config,
                                                .platform = pull->cli->platform};
    bool fits = true;
    ocv_auto_buffer reason;
    ocv_buffer_init(&reason, RECORD_MAX);
    int status = ocv_judge(json_string_value(json_object_get(annotations, OCV_ANNOTATION_LABEL)),
                           properties, json_string_value(json_object_get(annotations, "static")),
                           pull->cli->profile, &options, &fits, &reason, err);
    if (status == OCV_OK && !fits)
        progress_warn(pull->progress, pull->cli->program, "%s does not fit this host: %s",
                      pull->image.text, reason.data ? reason.data : "");
    return status;
}

int pull_check_lone(struct pull *pull, struct ocv_error *err)
{
    ocv_auto_buffer text, record;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    ocv_buffer_init(&record, OCV_MANIFEST_MAX);
    json_t *config = read_config(pull, &text), *annotations = NULL;
    check_platform(pull, config);
    if (pull->image.reference && pull->image.reference->digest) {
        annotations = recorded(pull, &record);
        if (!annotations)
            annotations = labelled(config);
    }
    int status = annotations ? judge(pull, annotations, err) : OCV_OK;
    json_decref(annotations);
    json_decref(config);
    return status;
}
