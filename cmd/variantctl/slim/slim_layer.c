/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One layer for one target. content-scan cuts it, another one compresses it, and this program only
 * passes bytes: the layer to the first, and what the second writes into the stage. */
#include "cmd/common/image/document_cache.h"
#include "cmd/variantctl/slim/slim_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIND "slim"
#define VERSION "3" /* of what a layer becomes: another rule for files is another version */
#define MEMORY_MAX (UINT64_C(64) << 20)
#define WINDOW_MAX (UINT64_C(128) << 20) /* of zstd: a layer that needs it is read again */
#define RESULT_MAX ((size_t)64 << 20)
#define CHUNK ((size_t)256 << 10)
#define SHA256_NONE "sha256:0000000000000000000000000000000000000000000000000000000000000000"

void slim_layer_free(struct slim_layer *layer)
{
    json_decref(layer->files);
    layer->files = NULL;
}

/* How the layer is compressed: "gzip", "zstd", or "" for not at all. */
static const char *compression_of(const struct slim *slim, const struct ocv_descriptor *layer)
{
    const char *type = layer->media_type;
    size_t len = strlen(type);
    if (slim->compression)
        return slim->compression;
    if (len > 5 && (!strcmp(type + len - 5, "+zstd") || !strcmp(type + len - 5, ".zstd")))
        return "zstd";
    return len > 5 && (!strcmp(type + len - 5, "+gzip") || !strcmp(type + len - 5, ".gzip"))
               ? "gzip"
               : "";
}

/* A file of code for GPUs alone, which its program looks for by the name of the GPU it has: one
 * for others is left out, but not if that would show an older one. */
static bool leaves_out(const struct slim_list *list, size_t i, const struct ocv_slim_target *target)
{
    const struct ocv_content_file *file = list->files[i];
    static const char *const ends[] = {".cubin", ".fatbin", ".hsaco", ".co", ".kpack"};
    bool alone = ocv_content_is_named(file->path);
    for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
        alone = alone || ocv_text_ends(file->path, ends[k]);
    if (!alone || list->covers[i])
        return false;
    /* Does a GPU of the target take anything that the file has? */
    for (size_t k = 0; k < file->facts.n; k++) {
        const struct ocv_content_finding *it = &file->facts.list[k];
        bool compiled = it->fact == OCV_CONTENT_CUDA_PTX || it->fact == OCV_CONTENT_CUDA_IR;
        char gpu[64];
        if (it->fact == OCV_CONTENT_SYCL_CODE) /* SPIR-V, which is compiled for any */
            return false;
        for (size_t t = 0; t < target->n; t++)
            if ((compiled || it->fact == OCV_CONTENT_CUDA_CODE ||
                 it->fact == OCV_CONTENT_CUDA_EMPTY) &&
                ocv_slim_runs(it->value, compiled, target->sm[t]))
                return false;
        /* of a kpack archive: "gfx942 lib/libx.so" */
        snprintf(gpu, sizeof(gpu), "%.*s", (int)strcspn(it->value, " "), it->value);
        for (size_t t = 0; t < target->n_gfx; t++)
            if ((it->fact == OCV_CONTENT_HIP_CODE || it->fact == OCV_CONTENT_KPACK_CODE) &&
                ocv_slim_gfx_runs(gpu, target->gfx[t]))
                return false;
    }
    return true;
}

/* Is the blob in the stage, or at the target? One that is only there must have been read by derive,
 * since it is not fetched again. */
static bool blob_is_there(struct slim *slim, const struct ocv_descriptor *d)
{
    const struct place *to = &slim->build.to;
    if (ocv_layout_has_blob(slim->stage, d->digest, d->size))
        return true;
    if (!layer_is_known(d->digest))
        return false;
    if (to->reference) {
        pthread_mutex_lock(&slim->asking);
        int has = ocv_registry_has_blob(slim->build.cli->registry, to->reference, d->digest,
                                        d->size, NULL);
        pthread_mutex_unlock(&slim->asking);
        return has == 1;
    }
    return to->layout && ocv_layout_has_blob(to->layout, d->digest, d->size);
}

/* A result that was remembered; false: none, or one whose layer is gone. */
static bool recall_result(struct slim *slim, const char *key, struct slim_layer *out)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, RESULT_MAX);
    if (!digest_cache_read(KIND, key, &text))
        return false;
    ocv_auto_json *root =
        ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES, NULL);
    const char *digest = ocv_json_text(root, "digest"), *diff_id = ocv_json_text(root, "diffId"),
               *type = ocv_json_text(root, "mediaType");
    json_t *files = json_object_get(root, "files");
    if (!json_is_array(files))
        return false;
    *out = (struct slim_layer){0};
    if (digest) {
        if (!ocv_digest_known(digest) || !diff_id || !ocv_digest_known(diff_id) || !type ||
            strlen(type) >= sizeof(out->descriptor.media_type))
            return false;
        out->rewritten = true;
        out->descriptor.size = json_integer_value(json_object_get(root, "size"));
        snprintf(out->descriptor.digest, OCV_DIGEST_MAX, "%s", digest);
        snprintf(out->descriptor.media_type, sizeof(out->descriptor.media_type), "%s", type);
        snprintf(out->diff_id, OCV_DIGEST_MAX, "%s", diff_id);
        if (!blob_is_there(slim, &out->descriptor))
            return false;
    }
    out->files = json_incref(files);
    return true;
}

/* Takes what the last program writes: into a file, with its digest. */
struct collector {
    int in, out;
    int64_t size;
    char digest[OCV_DIGEST_MAX];
    struct ocv_error error;
};

static void *collect(void *data)
{
    struct collector *c = data;
    ocv_auto(ocv_hasher) hasher = NULL;
    ocv_auto_free char *chunk = malloc(CHUNK);
    int status =
        chunk ? ocv_hasher_new(SHA256_NONE, &hasher, &c->error) : ocv_error_nomem(&c->error);
    for (;;) {
        char drain[512]; /* after a failure, so that nobody waits for this end */
        ssize_t n = status >= 0 ? read(c->in, chunk, CHUNK) : read(c->in, drain, sizeof(drain));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        if (status >= 0)
            status = ocv_hasher_update(hasher, chunk, (size_t)n, &c->error);
        if (status >= 0 && !ocv_fd_write(c->out, chunk, (size_t)n))
            status =
                ocv_error_set(&c->error, OCV_ERR_IO, "a file of the stage: %s", strerror(errno));
        c->size += n;
    }
    if (status >= 0)
        status = ocv_hasher_final(hasher, c->digest, &c->error);
    return NULL;
}

/* "BYTES\n" and the paths, each ended by NUL; in front of each what is to become of it. */
static bool send_list(struct scanner *scanner, const struct slim_list *list,
                      const struct ocv_slim_target *target)
{
    char head[32];
    size_t bytes = 0;
    for (size_t i = 0; i < list->n; i++)
        bytes += strlen(list->files[i]->path) + 2;
    int n = snprintf(head, sizeof(head), "%zu\n", bytes);
    bool sent = scanner_write(scanner, head, (size_t)n);
    for (size_t i = 0; i < list->n && sent; i++)
        sent = scanner_write(scanner, leaves_out(list, i, target) ? "-" : "+", 1) &&
               scanner_write(scanner, list->files[i]->path, strlen(list->files[i]->path) + 1);
    return sent;
}

/* What content-scan said of each file: a line of JSON each. */
static int parse_lines(const struct ocv_buffer *text, json_t **out, struct ocv_error *err)
{
    *out = json_array();
    for (size_t at = 0; *out && at < text->len;) {
        const char *line = text->data + at, *end = memchr(line, '\n', text->len - at);
        size_t len = end ? (size_t)(end - line) : text->len - at;
        json_t *file =
            ocv_json_load_any(line, len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES, NULL);
        const char *path = ocv_json_text(file, "path"), *listed = ocv_json_text(file, "listed");
        at += len + 1;
        if (path && listed) { /* more about one that was told of before */
            for (size_t i = 0; i < json_array_size(*out); i++)
                if (!strcmp(ocv_json_text(json_array_get(*out, i), "path"), path))
                    json_object_set_new(json_array_get(*out, i), "listed", json_string(listed));
            json_decref(file);
            continue;
        }
        if (!path || !ocv_json_text(file, "outcome")) {
            json_decref(file);
            return ocv_error_set(err, OCV_ERR_DATA, "content-scan: an answer that is not its own");
        }
        json_array_append_new(*out, file);
    }
    return *out ? OCV_OK : ocv_error_nomem(err);
}

/* The programs of one layer, and the ends of their pipes that are still open here. */
struct work {
    struct scanner cutter, compressor;
    int between[2], end[2], file;
    char path[4200];
};

static void end_work(struct work *w)
{
    scanner_drop(&w->cutter);
    scanner_drop(&w->compressor);
    for (size_t i = 0; i < 2; i++) {
        ocv_fd_close(&w->between[i]);
        ocv_fd_close(&w->end[i]);
    }
    if (w->path[0])
        unlink(w->path);
    ocv_fd_close(&w->file);
}

static void close_end(int *fd)
{
    ocv_fd_close(fd);
    *fd = -1;
}

static int start_work(struct slim *slim, struct work *w, const struct ocv_descriptor *layer,
                      const struct ocv_slim_target *target, uint64_t memory, struct ocv_error *err)
{
    char name[OCV_SLIM_LABEL_MAX];
    const char *method = compression_of(slim, layer);
    ocv_slim_target_format(target, name, sizeof(name));
    int n = snprintf(w->path, sizeof(w->path), "%s/" SLIM_UNFINISHED "XXXXXX", slim->stage_dir);
    if (n < 0 || (size_t)n >= sizeof(w->path) || (w->file = mkostemp(w->path, O_CLOEXEC)) < 0) {
        w->path[0] = '\0';
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", slim->stage_dir, strerror(errno));
    }
    if (pipe2(w->end, O_CLOEXEC) < 0 || (*method && pipe2(w->between, O_CLOEXEC) < 0))
        return ocv_error_set(err, OCV_ERR_IO, "a pipe: %s", strerror(errno));
    if (*method) {
        const struct scanner_job job = {.arguments = {"--compress", method},
                                        .in = w->between[0],
                                        .out = w->end[1],
                                        .size = -1,
                                        .memory = MEMORY_MAX};
        OCV_TRY(scanner_start(slim->build.cli, &job, &w->compressor, err));
    }
    const struct scanner_job job = {
        .arguments = {"--slim", name, slim->stage_dir, slim->keep_ptx ? "--keep-ptx" : NULL},
        .fed = true,
        .out = *method ? w->between[1] : w->end[1],
        .size = layer->size > 0 ? layer->size : -1,
        .memory = memory};
    OCV_TRY(scanner_start(slim->build.cli, &job, &w->cutter, err));
    /* of these ends only the programs have a copy now, so that each sees when the other ends */
    close_end(&w->between[0]);
    close_end(&w->between[1]);
    close_end(&w->end[1]);
    return OCV_OK;
}

/* Put the file into the stage, under its digest. */
static int store_blob(const struct slim *slim, struct work *w, const char *digest,
                      struct ocv_error *err)
{
    char path[4400];
    snprintf(path, sizeof(path), "%s/blobs", slim->stage_dir);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/blobs/sha256", slim->stage_dir);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/blobs/sha256/%s", slim->stage_dir, digest + strlen("sha256:"));
    if (fsync(w->file) < 0 || rename(w->path, path) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    w->path[0] = '\0';
    return OCV_OK;
}

/* A name that is not UTF-8 cannot be passed on: that file stays as it is. */
static int add_missing(json_t *files, const struct slim_list *list, struct ocv_error *err)
{
    size_t n = json_array_size(files);
    for (size_t i = 0; i < list->n && n < list->n; i++) {
        const struct ocv_content_file *file = list->files[i];
        bool told = false;
        for (size_t k = 0; k < n && !told; k++)
            told = !strcmp(ocv_json_text(json_array_get(files, k), "path"), file->path);
        if (!told && json_array_append_new(
                         files, json_pack("{s:s, s:s, s:s, s:I, s:I}", "path", file->path,
                                          "outcome", ocv_slim_outcome_name(OCV_SLIM_LEFT), "why",
                                          "its name is not UTF-8", "before", (json_int_t)file->size,
                                          "after", (json_int_t)file->size)) < 0)
            return ocv_error_nomem(err);
    }
    return OCV_OK;
}

static int cut_layer(struct slim *slim, struct layer_reader *reader,
                     const struct ocv_descriptor *layer, const struct slim_list *list,
                     const struct ocv_slim_target *target, uint64_t memory, struct slim_layer *out,
                     struct ocv_error *err)
{
    __attribute__((cleanup(end_work))) struct work w = {
        .cutter = {.in = -1, .out = -1, .errors = -1},
        .compressor = {.in = -1, .out = -1, .errors = -1},
        .between = {-1, -1},
        .end = {-1, -1},
        .file = -1};
    ocv_auto_buffer report, diff_id;
    pthread_t thread;
    bool refused = false;
    ocv_buffer_init(&report, RESULT_MAX);
    ocv_buffer_init(&diff_id, OCV_DIGEST_MAX);
    OCV_TRY(start_work(slim, &w, layer, target, memory, err));
    struct collector collector = {.in = w.end[0], .out = w.file};
    if (pthread_create(&thread, NULL, collect, &collector) != 0)
        return ocv_error_set(err, OCV_ERR_IO, "cannot start a thread");
    int status = OCV_OK;
    refused = !send_list(&w.cutter, list, target);
    if (!refused)
        status = layer_feed(reader, layer, &w.cutter, &refused, err);
    if (status >= 0 || refused) {
        int finished = scanner_finish(&w.cutter, NULL, &report, err);
        status = finished < 0 ? finished : status;
    }
    scanner_drop(&w.cutter); /* its end of the pipe */
    if (status < 0)
        scanner_drop(&w.compressor);
    pthread_join(thread, NULL);
    OCV_TRY(status);
    if (collector.error.status < 0) {
        *err = collector.error;
        return err->status;
    }
    const char *method = compression_of(slim, layer);
    if (*method)
        OCV_TRY(scanner_finish(&w.compressor, NULL, &diff_id, err));
    else
        OCV_TRY(ocv_buffer_printf(&diff_id, err, "%s\n", collector.digest));
    OCV_TRY(parse_lines(&report, &out->files, err));
    OCV_TRY(add_missing(out->files, list, err));
    for (size_t i = 0; i < json_array_size(out->files); i++) {
        const char *outcome = ocv_json_text(json_array_get(out->files, i), "outcome");
        out->rewritten = out->rewritten || !strcmp(outcome, ocv_slim_outcome_name(OCV_SLIM_CUT)) ||
                         !strcmp(outcome, ocv_slim_outcome_name(OCV_SLIM_ZEROED)) ||
                         !strcmp(outcome, ocv_slim_outcome_name(OCV_SLIM_OMITTED));
    }
    if (!out->rewritten)
        return OCV_OK;
    snprintf(out->diff_id, sizeof(out->diff_id), "%.*s",
             (int)strcspn(diff_id.len ? diff_id.data : "", "\n"), diff_id.len ? diff_id.data : "");
    if (!ocv_digest_known(out->diff_id))
        return ocv_error_set(err, OCV_ERR_DATA, "content-scan: an answer that is not its own");
    snprintf(out->descriptor.media_type, sizeof(out->descriptor.media_type),
             "application/vnd.oci.image.layer.v1.tar%s%s", *method ? "+" : "", method);
    memcpy(out->descriptor.digest, collector.digest, OCV_DIGEST_MAX);
    out->descriptor.size = collector.size;
    return store_blob(slim, &w, collector.digest, err);
}

/* What a file would keep. Of each fat binary the best machine code for each target stays, and PTX
 * where there is none; where there is neither, its smallest entry. Facts are sums over a file's fat
 * binaries, so this is what the least of them would keep. `*none`: nothing of a maker is for the
 * target. */
static int64_t estimate_file(const struct ocv_content_file *file,
                             const struct ocv_slim_target *target, bool *none)
{
    struct maker {
        unsigned code[OCV_SLIM_TARGETS_MAX], ptx[OCV_SLIM_TARGETS_MAX];
        int64_t removed, least; /* bytes: of what goes, and of the smallest architecture */
        bool stays, has;
    } makers[2] = {0};
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < file->facts.n; i++) {
            const struct ocv_content_finding *it = &file->facts.list[i];
            bool is_code = it->fact == OCV_CONTENT_CUDA_CODE, stays = false;
            bool hip = it->fact == OCV_CONTENT_HIP_CODE;
            struct maker *m = &makers[hip];
            if (!hip && !is_code && it->fact != OCV_CONTENT_CUDA_PTX)
                continue;
            for (size_t t = 0; t < target->n_gfx && hip; t++)
                stays = stays || ocv_slim_gfx_runs(it->value, target->gfx[t]);
            for (size_t t = 0; t < target->n && !hip; t++) {
                unsigned sm = ocv_slim_runs(it->value, !is_code, target->sm[t]);
                unsigned *best = is_code ? &m->code[t] : &m->ptx[t];
                *best = !pass && sm > *best ? sm : *best;
                stays =
                    stays || (sm && sm == *best && (is_code || !m->code[t] || target->keep_ptx));
            }
            if (!pass)
                continue;
            m->stays = m->stays || stays;
            if (!stays)
                ocv_content_sum(&m->removed, it->bytes);
            m->least = !m->has || it->bytes < m->least ? it->bytes : m->least;
            m->has = true;
        }
    int64_t after = file->size;
    *none = false;
    for (size_t i = 0; i < 2; i++) {
        const struct maker *m = &makers[i];
        int64_t gone = m->removed - (m->stays ? 0 : m->least);
        *none = *none || (m->has && !m->stays);
        after -= gone < after ? gone : after;
    }
    return after;
}

static int compare_path(const void *key, const void *file)
{
    return strcmp(key, (*(const struct ocv_content_file *const *)file)->path);
}

/* Code beside the sections for it stays; so much of it each file has. */
static void note_outside(json_t *files, const struct slim_list *list)
{
    for (size_t i = 0; i < json_array_size(files); i++) {
        json_t *file = json_array_get(files, i);
        const struct ocv_content_file *const *found = bsearch(
            ocv_json_text(file, "path"), list->files, list->n, sizeof(*list->files), compare_path);
        int64_t bytes = 0;
        for (size_t f = 0; found && f < (*found)->facts.n; f++)
            if ((*found)->facts.list[f].fact == OCV_CONTENT_OUTSIDE)
                ocv_content_sum(&bytes, (*found)->facts.list[f].bytes);
        if (bytes)
            json_object_set_new(file, "outside", json_integer((json_int_t)bytes));
    }
}

int slim_layer_estimate(const struct ocv_descriptor *layer, const struct slim_list *list,
                        const struct ocv_slim_target *target, struct slim_layer *out,
                        struct ocv_error *err)
{
    int64_t saved = 0;
    *out = (struct slim_layer){.descriptor = *layer, .files = json_array()};
    for (size_t i = 0; i < list->n; i++) {
        const struct ocv_content_file *file = list->files[i];
        bool gone = leaves_out(list, i, target);
        bool none = false;
        int64_t after = gone ? 0 : estimate_file(file, target, &none);
        bool same = after == file->size;
        enum ocv_slim_outcome outcome = gone   ? OCV_SLIM_OMITTED
                                        : same ? OCV_SLIM_NOTHING
                                               : OCV_SLIM_CUT;
        json_array_append_new(out->files,
                              json_pack("{s:s, s:s, s:I, s:I, s:s*}", "path", file->path, "outcome",
                                        ocv_slim_outcome_name(outcome), "before",
                                        (json_int_t)file->size, "after", (json_int_t)after, "why",
                                        none && !gone ? "nothing in it is for this GPU" : NULL));
        saved += file->size - after;
        out->rewritten = out->rewritten || !same;
    }
    note_outside(out->files, list);
    /* as much of what is pulled as of what is unpacked */
    if (out->rewritten && list->bytes > 0)
        out->descriptor.size -=
            (int64_t)((double)layer->size * ((double)saved / (double)list->bytes));
    return out->files ? OCV_OK : ocv_error_nomem(err);
}

int slim_layer_make(struct slim *slim, struct layer_reader *reader,
                    const struct ocv_descriptor *layer, const struct slim_list *list,
                    const struct ocv_slim_target *target, struct slim_layer *out,
                    struct ocv_error *err)
{
    char key[OCV_DIGEST_MAX], name[OCV_SLIM_LABEL_MAX];
    ocv_auto_buffer made_of;
    ocv_buffer_init(&made_of, RESULT_MAX);
    *out = (struct slim_layer){0};
    if (!list->n)
        return OCV_OK;
    /* What the result depends on, as a digest: the name under which it is remembered. */
    ocv_slim_target_format(target, name, sizeof(name));
    OCV_TRY(ocv_buffer_printf(&made_of, err, VERSION " %s %s %s%s", layer->digest, name,
                              compression_of(slim, layer), slim->keep_ptx ? " ptx" : ""));
    for (size_t i = 0; i < list->n; i++) { /* what is left out depends on the layers below, too */
        const char *path = list->files[i]->path;
        OCV_TRY(ocv_buffer_append(&made_of, leaves_out(list, i, target) ? "-" : "+", 1, err));
        OCV_TRY(ocv_buffer_append(&made_of, path, strlen(path) + 1, err));
    }
    OCV_TRY(ocv_digest_bytes(made_of.data, made_of.len, key, err));
    if (recall_result(slim, key, out))
        return OCV_OK;
    *out = (struct slim_layer){0};
    int status = cut_layer(slim, reader, layer, list, target, MEMORY_MAX, out, err);
    if (status == OCV_ERR_NOMEM) {
        struct ocv_error again = {0};
        status = cut_layer(slim, reader, layer, list, target, MEMORY_MAX + WINDOW_MAX, out, &again);
        *err = again;
    }
    if (status < 0)
        return ocv_error_prefix(err, "layer %s", layer->digest);
    note_outside(out->files, list);
    /* remembered, for a run that needs the same */
    ocv_auto_buffer text;
    ocv_buffer_init(&text, RESULT_MAX);
    ocv_auto_json *root = json_pack("{s:O}", "files", out->files);
    if (root && out->rewritten) {
        json_object_set_new(root, "digest", json_string(out->descriptor.digest));
        json_object_set_new(root, "size", json_integer((json_int_t)out->descriptor.size));
        json_object_set_new(root, "mediaType", json_string(out->descriptor.media_type));
        json_object_set_new(root, "diffId", json_string(out->diff_id));
    }
    if (root && ocv_json_append(root, JSON_COMPACT, &text, NULL) >= 0)
        digest_cache_write(KIND, key, &text);
    return OCV_OK;
}
