/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The image of a target: FROM's configuration and manifest with the layers that changed. */
#include "cmd/variantctl/slim/slim_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Annotations that speak of the bytes of a compressed layer: eStargz and zstd:chunked. */
static const char *const byte_annotations[] = {
    "containerd.io/snapshot/stargz/", "io.containers.estargz.", "io.containers.zstd-chunked.",
    "io.github.containers.zstd-"};

static int load(const struct ocv_buffer *bytes, const char *what, json_t **out,
                struct ocv_error *err)
{
    *out =
        ocv_json_load_any(bytes->data ? bytes->data : "", bytes->len, OCV_JSON_VALUES_MAX, 0, NULL);
    return json_is_object(*out) ? OCV_OK
                                : ocv_error_set(err, OCV_ERR_DATA, "%s is not a JSON object", what);
}

static int store(struct slim *slim, const json_t *root, const char *media_type,
                 struct ocv_descriptor *out, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    *out = (struct ocv_descriptor){0};
    OCV_TRY(ocv_json_append(root, JSON_COMPACT, &text, err));
    OCV_TRY(ocv_layout_write_blob(slim->stage, text.data, text.len, out->digest, err));
    out->size = (int64_t)text.len;
    snprintf(out->media_type, sizeof(out->media_type), "%s", media_type);
    return OCV_OK;
}

static int make_config(struct slim *slim, const struct ocv_buffer *old,
                       const struct slim_variant *variant, struct ocv_descriptor *out,
                       struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    ocv_auto_buffer properties;
    char text[256];
    ocv_buffer_init(&properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    OCV_TRY(load(old, "the image's configuration", &root, err));
    OCV_TRY(relabel_properties(NULL, variant->properties, &properties, err));
    json_t *labels = ocv_json_object(ocv_json_object(root, "config"), "Labels");
    json_t *diff_ids = json_object_get(ocv_json_object(root, "rootfs"), "diff_ids");
    if (!labels || json_array_size(diff_ids) != variant->n_layers)
        return ocv_error_set(err, OCV_ERR_DATA,
                             "the image's configuration does not name each of its layers");
    json_object_set_new(labels, OCV_ANNOTATION_LABEL, json_string(variant->label));
    json_object_set_new(labels, OCV_ANNOTATION_PROPERTIES, json_string(properties.data));
    for (size_t i = 0; i < variant->n_layers; i++)
        if (variant->layers[i].rewritten)
            json_array_set_new(diff_ids, i, json_string(variant->layers[i].diff_id));
    json_t *history = json_object_get(root, "history");
    snprintf(text, sizeof(text), "variantctl slim: %s", variant->label);
    if (json_is_array(
            history)) { /* the time is the image's, so that equal input gives equal bytes */
        json_t *line = json_pack("{s:s, s:b}", "created_by", text, "empty_layer", 1);
        if (ocv_json_text(root, "created"))
            json_object_set(line, "created", json_object_get(root, "created"));
        json_array_append_new(history, line);
    }
    return store(slim, root, OCV_MEDIA_TYPE_CONFIG, out, err);
}

static void set_descriptor(json_t *json, const struct ocv_descriptor *d)
{
    json_object_set_new(json, "mediaType", json_string(d->media_type));
    json_object_set_new(json, "digest", json_string(d->digest));
    json_object_set_new(json, "size", json_integer((json_int_t)d->size));
    json_object_del(json, "data");
    json_object_del(json, "urls");
}

/* Docker's names of what OCI has, too, byte for byte. */
static const char *const oci_types[][2] = {
    {"application/vnd.docker.container.image.v1+json", OCV_MEDIA_TYPE_CONFIG},
    {"application/vnd.docker.image.rootfs.diff.tar", "application/vnd.oci.image.layer.v1.tar"},
    {"application/vnd.docker.image.rootfs.diff.tar.gzip",
     "application/vnd.oci.image.layer.v1.tar+gzip"},
    {"application/vnd.docker.image.rootfs.diff.tar.zstd",
     "application/vnd.oci.image.layer.v1.tar+zstd"},
    {"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
     "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"}};

static void drop_byte_annotations(json_t *layer)
{
    json_t *annotations = json_object_get(layer, "annotations");
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(
        annotations, next, key,
        value) for (size_t i = 0; i < sizeof(byte_annotations) / sizeof(byte_annotations[0]);
                    i++) if (!strncmp(key, byte_annotations[i], strlen(byte_annotations[i])))
    {
        json_object_del(annotations, key);
        break;
    }
    if (annotations && json_object_size(annotations) == 0)
        json_object_del(layer, "annotations");
}

/* The manifest's JSON with the layers of today, and this configuration. */
static int make_manifest(const struct image *from, const struct manifest_doc *child,
                         const struct ocv_descriptor *config, const struct slim_variant *variant,
                         json_t **out, struct ocv_error *err)
{
    json_t *root;
    OCV_TRY(load(&child->body, "the image's manifest", out, err));
    root = *out;
    json_t *layers = json_object_get(root, "layers");
    json_object_set_new(root, "mediaType", json_string(OCV_MEDIA_TYPE_MANIFEST));
    json_t *config_json = ocv_json_object(root, "config");
    set_descriptor(config_json, config);
    for (size_t i = 0; i < variant->n_layers; i++) {
        json_t *layer = json_array_get(layers, i);
        const char *type = ocv_json_text(layer, "mediaType");
        for (size_t k = 0; type && k < sizeof(oci_types) / sizeof(oci_types[0]); k++)
            if (!strcmp(type, oci_types[k][0])) {
                json_object_set_new(layer, "mediaType", json_string(oci_types[k][1]));
                break;
            }
        if (!variant->layers[i].rewritten)
            continue;
        set_descriptor(layer, &variant->layers[i].descriptor);
        drop_byte_annotations(layer);
    }
    json_t *annotations = ocv_json_object(root, "annotations");
    if (!annotations)
        return ocv_error_nomem(err);
    json_object_set_new(annotations, "org.opencontainers.image.base.digest",
                        json_string(child->descriptor.digest));
    if (from->reference)
        json_object_set_new(annotations, "org.opencontainers.image.base.name",
                            json_string(from->text));
    return OCV_OK;
}

/* The threads that make a variant's layers: while one cuts, another reads or compresses. */
#define CREW_MAX 4u

struct crew {
    struct slim *slim;
    const struct image *from;
    const struct manifest_doc *child;
    const struct slim_list *lists;
    struct slim_variant *variant;
    pthread_mutex_t lock;   /* of what follows, and of the progress */
    size_t next;            /* layer */
    struct ocv_error error; /* the first one; the others end with their layer */
};

static void draw_progress(void *data, int64_t done)
{
    struct crew *crew = data;
    (void)done;
    pthread_mutex_lock(&crew->lock);
    progress_tick(crew->slim->progress);
    pthread_mutex_unlock(&crew->lock);
}

/* The next layer; false: there is none, or another one has failed. */
static bool next_layer(struct crew *crew, size_t *i)
{
    const struct slim_variant *v = crew->variant;
    char size[FORMAT_NUMBER_MAX];
    pthread_mutex_lock(&crew->lock);
    while (crew->next < v->n_layers && !crew->lists[crew->next].n)
        crew->next++;
    bool more = crew->next < v->n_layers && crew->error.status >= 0;
    *i = more ? crew->next++ : 0;
    if (more)
        progress_status(crew->slim->progress, "slimming", crew->from->text,
                        "%s: layer %zu of %zu, %s", v->label, *i + 1, v->n_layers,
                        format_bytes(ocv_manifest_layer(crew->child->manifest, *i)->size, size));
    pthread_mutex_unlock(&crew->lock);
    return more;
}

static void *make_layers(void *data)
{
    struct crew *crew = data;
    struct layer_reader reader = {.cli = crew->slim->build.cli,
                                  .image = crew->from,
                                  .stop = crew->slim->build.cli->interrupted,
                                  .progress = draw_progress,
                                  .data = crew};
    for (size_t i; next_layer(crew, &i);) {
        struct ocv_error err = {0};
        int status = slim_layer_make(crew->slim, &reader,
                                     ocv_manifest_layer(crew->child->manifest, i), &crew->lists[i],
                                     &crew->variant->serves, &crew->variant->layers[i], &err);
        pthread_mutex_lock(&crew->lock);
        if (status < 0 && crew->error.status >= 0)
            crew->error = err;
        pthread_mutex_unlock(&crew->lock);
    }
    ocv_registry_free(reader.registry);
    return NULL;
}

static int make_all_layers(struct crew *crew, struct ocv_error *err)
{
    pthread_t threads[CREW_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t work = 0, n = 0;
    for (size_t i = 0; i < crew->variant->n_layers; i++)
        work += crew->lists[i].n != 0;
    pthread_mutex_init(&crew->lock, NULL);
    /* this thread is one of them */
    while (n + 1 < work && n + 1 < CREW_MAX && (long)n + 1 < processors &&
           pthread_create(&threads[n], NULL, make_layers, crew) == 0)
        n++;
    make_layers(crew);
    while (n)
        pthread_join(threads[--n], NULL);
    pthread_mutex_destroy(&crew->lock);
    if (crew->error.status < 0 && err)
        *err = crew->error;
    return crew->error.status;
}

int slim_image_make(struct slim *slim, const struct image *from, const struct manifest_doc *child,
                    const struct ocv_buffer *config, const struct slim_list *lists,
                    struct slim_variant *variant, struct ocv_error *err)
{
    struct crew crew = {
        .slim = slim, .from = from, .child = child, .lists = lists, .variant = variant};
    struct ocv_descriptor new_config;
    int status = OCV_OK;
    bool dry = slim->build.options.dry_run;
    memcpy(variant->base, child->descriptor.digest, sizeof(variant->base));
    for (size_t i = 0; i < variant->n_layers && dry && status >= 0; i++)
        status = slim_layer_estimate(ocv_manifest_layer(child->manifest, i), &lists[i],
                                     &variant->serves, &variant->layers[i], err);
    if (!dry)
        status = make_all_layers(&crew, err);
    progress_status_end(slim->progress);
    OCV_TRY(status);
    for (size_t i = 0; i < variant->n_layers; i++) {
        const struct ocv_descriptor *layer = ocv_manifest_layer(child->manifest, i);
        variant->before += layer->size;
        variant->after +=
            variant->layers[i].rewritten ? variant->layers[i].descriptor.size : layer->size;
    }
    for (size_t i = 0; i < variant->n_layers; i++)
        variant->cut = variant->cut || variant->layers[i].rewritten;
    if (dry || !variant->cut)
        return OCV_OK;
    ocv_auto_json *manifest = NULL;
    OCV_TRY(
        make_manifest(from, child, ocv_manifest_config(child->manifest), variant, &manifest, err));
    /* the properties that its files show, beside those that say what it is for */
    struct image stage = {.text = variant->label, .layout = slim->stage};
    struct ocv_content content = {0};
    ocv_auto_child made = {0};
    ocv_auto(ocv_properties) all = NULL;
    ocv_auto(ocv_properties) base = NULL;
    ocv_buffer_init(&made.body, OCV_MANIFEST_MAX);
    OCV_TRY(ocv_json_append(manifest, JSON_COMPACT, &made.body, err));
    OCV_TRY(ocv_manifest_parse(made.body.data, made.body.len, OCV_MEDIA_TYPE_MANIFEST,
                               &made.manifest, err));
    status = derive_read_content(slim->build.cli, &stage, &made, config, variant->properties,
                                 &content, err);
    if (status >= 0)
        status = derive_properties(&content, variant->properties, &all, &base, err);
    ocv_content_free(&content);
    OCV_TRY(status);
    ocv_properties_free(variant->properties);
    variant->properties = ocv_steal(&all);
    OCV_TRY(make_config(slim, config, variant, &new_config, err));
    set_descriptor(json_object_get(manifest, "config"), &new_config);
    return store(slim, manifest, OCV_MEDIA_TYPE_MANIFEST, &variant->descriptor, err);
}
