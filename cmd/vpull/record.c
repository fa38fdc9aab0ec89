/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the node records of a choice, and checks of a manifest given by digest, for which no index
 * can be asked. */
#include "cmd/vpull/vpull.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/records/records.h"

#include <stdlib.h>
#include <string.h>

#define RECORD_MAX (64u * 1024)

void pull_record(const struct pull *pull)
{
    char buffer[4096];
    const char *dir = ocv_record_directory(ocv_config_get(pull->cli->config, "state_dir"), buffer,
                                           sizeof(buffer));
    struct ocv_error err = {0};
    const struct ocv_descriptor *tagged =
        NULL; /* a tag rule's index is not in the registry; the tag's own may be */
    /* The repository in which engines will find the image. For an image from a layout: that of its
     * new name, else the layout, which is not a repository. */
    ocv_auto(ocv_reference) named = NULL;
    const char *repository = pull->image.text;
    if (pull->image.reference)
        repository = pull->image.reference->name;
    else if (pull->name && ocv_reference_parse(pull->name, &named, NULL) == OCV_OK)
        repository = named->name;
    bool index = pull->image.kind == OCV_DOCUMENT_INDEX;
    if (pull->image.choice)
        ocv_tag_choice_tag(pull->image.choice, pull->entry, &tagged);
    const struct ocv_record where = {.repository = repository,
                                     .index = tagged ? tagged->digest : pull->image.top.digest,
                                     .reference = pull->image.text,
                                     .secret = pull->image.reference != NULL};
    if (pull->image.index &&
        ocv_record_chosen(dir, pull->image.index, index ? pull->entry : NULL, &where, &err) < 0)
        cli_log(pull->cli, "not recorded on this node: %s", err.message);
    if (!*pull->signature.key)
        return;
    /* With an index all that it names is signed. What tag rules choose from is no document: its
     * other entries are other tags, each with a signature of its own, or none. */
    bool whole = index && !pull->image.choice && !strcmp(pull->subject, pull->image.top.digest);
    ocv_auto_json *members = json_pack("[s]", pull->entry->digest);
    for (size_t i = 0; whole && i < ocv_index_count(pull->image.index); i++)
        json_array_append_new(members, json_string(ocv_index_entry(pull->image.index, i)->digest));
    struct ocv_trust_rule rules[2];
    size_t n = ocv_config_trust(pull->cli->config, pull->image.reference, rules);
    bool matches = false;
    for (size_t i = 0; i < n; i++) /* they hold */
        matches = matches || (rules[i].require && rules[i].match && rules[i].n_keys);
    const struct ocv_trusted trusted = {.repository = repository,
                                        .digest = pull->subject,
                                        .key = pull->signature.key,
                                        .signature = pull->signature.document,
                                        .named = matches,
                                        .members = members};
    if (ocv_trusted_write(dir, &trusted, &err) < 0)
        cli_log(pull->cli, "its signature is not recorded on this node: %s", err.message);
}

/* An image that stands alone has its platform in its config; there is no other to choose. */
static void check_platform(const struct pull *pull, const json_t *config)
{
    char own[128], wanted[128];
    const char *arch = ocv_json_text(config, "architecture");
    const char *variant = ocv_json_text(config, "variant");
    struct ocv_platform image = {.os = ocv_json_text(config, "os"), .architecture = arch};
    struct ocv_platform host =
        pull->cli->platform ? *pull->cli->platform : ocv_profile_platform(pull->cli->profile);
    if (!host.os)
        host.os = "linux";
    if (host.variant) /* else the host's level is unknown */
        image.variant = variant;
    if (!image.os || !arch || !host.architecture || ocv_platform_match(&host, &image, NULL) >= 0)
        return;
    progress_warn(pull->progress, pull->cli->program,
                  "%s: the only image is for %s, not for %s: it runs here only under emulation; "
                  "add --platform %s if you want it, --platform %s to make this an error",
                  pull->image.text, ocv_platform_format(&image, own, sizeof(own)),
                  ocv_platform_format(&host, wanted, sizeof(wanted)), own, wanted);
}

int pull_check_lone(struct pull *pull, struct ocv_error *err)
{
    if (pull->options->choice) /* the lock says for which machine */
        return OCV_OK;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    ocv_auto_record said = {0};
    ocv_auto_json *config = NULL; /* the pull itself reports an error */
    if (child_config(pull->cli, &pull->image, &pull->child, &text, NULL) == OCV_OK)
        config = ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES,
                                   NULL);
    check_platform(pull, config);
    bool pinned = pull->image.kind == OCV_DOCUMENT_MANIFEST && pull->image.reference &&
                  pull->image.reference->digest;
    if (!pinned)
        return OCV_OK;
    /* What is known of the image: from the node's record, else from its config's labels. */
    char buffer[4096];
    const char *dir = ocv_record_directory(ocv_config_get(pull->cli->config, "state_dir"), buffer,
                                           sizeof(buffer));
    if (ocv_record_read(dir, pull->image.reference->name, pull->entry->digest, &said, NULL) < 0) {
        const json_t *labels = json_object_get(json_object_get(config, "config"), "Labels");
        said.label = ocv_json_text(labels, OCV_ANNOTATION_LABEL);
        said.properties = ocv_json_text(labels, OCV_ANNOTATION_PROPERTIES);
        if (!said.label || !said.properties)
            return OCV_OK;
    }
    const struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences_for(pull->cli->config, pull->image.reference),
        .platform = pull->cli->platform,
        .made_of = said.tag};
    bool fits = true;
    ocv_auto_buffer reason;
    ocv_buffer_init(&reason, RECORD_MAX);
    OCV_TRY(ocv_fit_check(said.label, said.properties, said.statics, pull->cli->profile, &options,
                          &fits, &reason, err));
    if (!fits)
        progress_warn(pull->progress, pull->cli->program, "%s does not fit this host: %s",
                      pull->image.text, reason.data ? reason.data : "");
    return OCV_OK;
}
