/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of the new document: what an image's manifest, configuration and files say of it. */
#include "cmd/variantctl/derive/derive_verb.h"
#include "cmd/variantctl/index/index_verbs.h"
#include "gen/toolkits.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/edit/edit.h"

#include <stdlib.h>
#include <string.h>

#define OS_FEATURES_MAX 64u

static struct index_image *new_job(struct build *b, size_t image, const char *label,
                                   struct ocv_error *err)
{
    struct index_image *job = ocv_array_grow(&b->jobs, b->n_jobs);
    if (!job || (label && !(job->label = strdup(label)))) {
        ocv_error_nomem(err);
        return NULL;
    }
    b->n_jobs++;
    job->image = image;
    ocv_buffer_init(&job->config, OCV_MANIFEST_MAX);
    ocv_buffer_init(&job->child.body, OCV_MANIFEST_MAX);
    return job;
}

/* --derive: the image's properties come from its files. Lint compares properties given by hand with
 * them before anything is written. */
static int derive_child(struct build *b, const struct item *item, struct index_image *job,
                        const struct ocv_buffer *config, struct ocv_properties **base,
                        struct ocv_error *err)
{
    job->content = calloc(1, sizeof(*job->content));
    if (!job->content)
        return ocv_error_nomem(err);
    int status = derive_read_content(b->cli, &b->images[job->image], &job->child, config,
                                     item->properties, job->content, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", item->reference);
    if (item_is_default(item)) /* a default claims no properties */
        return OCV_OK;
    status = derive_properties(job->content, item->properties, &job->properties, base, err);
    const char *maker = derive_maker(job->properties, NULL);
    const char *other = maker ? derive_maker(job->properties, maker) : NULL;
    if (status == OCV_OK && other) {
        ocv_error_set(err, OCV_ERR_DATA,
                      "%s: the files of %s have code for %s and for %s: a build that asks for both "
                      "fits no machine with one of them",
                      item->label, item->reference, maker, other);
        ocv_error_hint(err,
                       "make two entries of it, each with a property of one by hand; see "
                       "'variantctl derive %s'",
                       item->reference);
        return OCV_ERR_DATA;
    }
    if (status < 0 || ocv_properties_count(job->properties))
        return status;
    ocv_error_set(err, OCV_ERR_DATA, "%s: the files of %s need no particular machine", item->label,
                  item->reference);
    ocv_error_hint(err, "see 'variantctl derive %s', and write its properties by hand",
                   item->reference);
    return OCV_ERR_DATA;
}

/* An image's platform is the one in its config. But tools that make a twin in another format set
 * os.features only in the index (`listed`, or NULL). */
static int list_job(struct build *b, const struct item *item, struct index_image *job,
                    const struct ocv_entry *listed, const struct ocv_buffer *config,
                    struct ocv_error *err)
{
    const struct ocv_properties *properties = job->properties ? job->properties : item->properties;
    if (b->relabel && job->label) {
        memcpy(job->relabelled_from, job->child.descriptor.digest, OCV_DIGEST_MAX);
        ocv_auto_buffer own;
        ocv_buffer_init(&own, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        OCV_TRY(relabel_properties(b->document, properties, &own, err));
        OCV_TRY(relabel_child(&job->child, config, job->label, own.data ? own.data : "",
                              &job->config, err));
    }
    /* For lint; a config that is not JSON is the registry's fault, and is refused elsewhere. */
    const struct ocv_buffer *body = &job->child.body,
                            *new = job->config.len ? &job->config : config;
    job->manifest = ocv_json_load_any(body->data, body->len, OCV_JSON_VALUES_MAX, 0, NULL);
    job->config_json = ocv_json_load_any(new->data, new->len, OCV_JSON_VALUES_MAX, 0, NULL);

    const char *features[OS_FEATURES_MAX];
    ocv_auto_json *root = NULL;
    int status = ocv_json_load_counted("the image config", config->data, config->len,
                                       OCV_MANIFEST_MAX, OCV_JSON_VALUES_MAX, &root, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", item->reference);
    struct ocv_edit_image image = {
        .label = job->label,
        .properties = properties,
        .descriptor = job->child.descriptor,
        .replace = b->replace,
        .platform = {.os = ocv_json_some_text(root, "os"),
                     .architecture = ocv_json_some_text(root, "architecture"),
                     .variant = ocv_json_some_text(root, "variant"),
                     .os_version = ocv_json_some_text(root, "os.version"),
                     .os_features = features}};
    const json_t *list = json_object_get(root, "os.features");
    for (size_t i = 0; i < json_array_size(list) && i < OS_FEATURES_MAX; i++) {
        const char *feature = json_string_value(json_array_get(list, i));
        if (feature)
            features[image.platform.n_os_features++] = feature;
    }
    if (image.platform.n_os_features == 0 && listed) {
        image.platform.os_features = listed->platform.os_features;
        image.platform.n_os_features = listed->platform.n_os_features;
    }
    if (!image.platform.os || !image.platform.architecture)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: the image config names no os and architecture",
                             item->reference);
    return ocv_edit_add(b->document, &image, err);
}

int build_add_image(struct build *b, const struct item *item, size_t image,
                    const struct ocv_descriptor *descriptor, const struct ocv_entry *listed,
                    struct ocv_error *err)
{
    ocv_auto_buffer config;
    ocv_auto(ocv_properties) base = NULL;
    ocv_buffer_init(&config, OCV_MANIFEST_MAX);
    size_t first = b->n_jobs;
    struct index_image *job = new_job(b, image, item->label, err);
    if (!job)
        return OCV_ERR_NOMEM;
    OCV_TRY(child_read(b->cli, &b->images[image], descriptor, &job->child, err));
    OCV_TRY(child_config(b->cli, &b->images[image], &job->child, &config, err));
    if (b->derive)
        OCV_TRY(derive_child(b, item, job, &config, &base, err));
    OCV_TRY(list_job(b, item, job, listed, &config, err));
    if (!base)
        return OCV_OK;

    /* The entry for drivers that cannot compile the image's PTX. */
    char label[64];
    int n = snprintf(label, sizeof(label), "%s" OCV_TOOLKIT_MINOR_LABEL, item->label);
    bool valid = n > 0 && (size_t)n < sizeof(label) && ocv_label_valid(label, (size_t)n);
    bool taken = false;
    for (size_t i = 0; i < b->n_items; i++)
        taken = taken || (b->items[i].label && !strcmp(b->items[i].label, label));
    if (b->relabel || !valid || taken) {
        cli_warn(b->cli, "%s is left without its entry %s for older drivers: %s", item->label,
                 label,
                 b->relabel ? "with --relabel it would be another image"
                 : valid    ? "another build has that label"
                            : "that label is too long");
        return OCV_OK;
    }
    job = new_job(b, image, label, err);
    if (!job)
        return OCV_ERR_NOMEM;
    job->content = b->jobs[first].content;
    job->shares_content = true;
    job->properties = ocv_steal(&base);
    OCV_TRY(child_read(b->cli, &b->images[image], descriptor, &job->child, err));
    return list_job(b, item, job, listed, &config, err);
}

/* The image's attestations follow it, with the bytes that they had in its index. */
static int add_attestations(struct build *b, const struct item *item, size_t image,
                            const struct ocv_edit *from, const struct ocv_descriptor *descriptor,
                            struct ocv_error *err)
{
    const struct ocv_index *index = b->images[image].index;
    for (size_t i = 0; from && i < ocv_edit_count(from); i++) {
        const char *text = ocv_edit_entry(from, i);
        struct ocv_descriptor d;
        if (ocv_index_entry(index, i)->code != OCV_REJECT_ATTESTATION)
            continue;
        ocv_auto_json *json = ocv_json_load_any(text, strlen(text), OCV_JSON_VALUES_MAX, 0, NULL);
        const char *subject =
            ocv_json_text(json_object_get(json, "annotations"), "vnd.docker.reference.digest");
        if (!subject || strcmp(subject, descriptor->digest) != 0)
            continue;
        if (b->relabel && item->label) {
            cli_warn(b->cli,
                     "%s: an attestation of %s is left out, since --relabel makes another "
                     "image",
                     item->label, descriptor->digest);
            continue;
        }
        struct index_image *job = new_job(b, image, NULL, err);
        OCV_TRY(job ? child_descriptor(ocv_index_entry(index, i), &d, err) : OCV_ERR_NOMEM);
        OCV_TRY(child_read(b->cli, &b->images[image], &d, &job->child, err));
        OCV_TRY(ocv_edit_add_raw(b->document, text, strlen(text), err));
    }
    return OCV_OK;
}

int build_add_index(struct build *b, const struct item *item, size_t image, bool own,
                    struct ocv_error *err)
{
    ocv_auto(ocv_edit) from = NULL;
    const struct image *m = &b->images[image];
    size_t used = 0;
    int status = ocv_edit_open(m->body.data, m->body.len, NULL, OCV_EDIT_HIDDEN, &from, err);
    if (status < 0 && status != OCV_ERR_UNSUPPORTED) /* a Docker list has no attestations */
        return status;
    for (size_t i = 0; i < ocv_index_count(m->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(m->index, i);
        struct ocv_descriptor descriptor;
        if (!build_wants(b, item, entry, own))
            continue;
        OCV_TRY(child_descriptor(entry, &descriptor, err));
        OCV_TRY(build_add_image(b, item, image, &descriptor, entry, err));
        OCV_TRY(add_attestations(b, item, image, from, &descriptor, err));
        used++;
    }
    return used == 0 && !own ? item_missing(item, m, err) : OCV_OK;
}
