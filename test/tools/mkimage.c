/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mkimage LAYOUTDIR TAG [options]: make a small image in an OCI layout for tests. The same
 * arguments give the same bytes. Prints the manifest digest.
 *
 *   --os OS --arch ARCH --variant V   platform (linux, amd64, none)
 *   --file PATH=CONTENT               a file, mode 644       } all in
 *   --binary PATH=HOSTFILE            a host's file, mode 755 } the
 *   --symlink PATH=TARGET                                     } first layer
 *   --layer FILE|SIZE[K|M|G]          one more layer with that file, or with SIZE random bytes
 *   --seed N                          other random bytes
 *   --cmd ARG                         next word of the command; --env K=V; --label K=V
 *   --user USER                       the config's
 *   --annotate K=V                    the last layer's descriptor
 *   --name NAME                       io.containerd.image.name
 *   --gzip                            compress the layers
 *   --docker                          Docker schema 2 media types
 */
#include "lib/layout/layout_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define LAYERS_MAX 128
#define CHUNK (256u * 1024)

struct options {
    const char *dir, *tag, *os, *arch, *variant, *name, *user;
    const char *extra[LAYERS_MAX]; /* --layer */
    size_t n_extra;
    json_t *files; /* array of {"kind", "text"} */
    json_t *cmd, *env, *labels, *annotations;
    uint64_t seed;
    bool gzip, docker;
};

static struct ocv_error err;

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "mkimage: %s%s%s\n", what, err.message[0] ? ": " : "", err.message);
    exit(1);
}

static void need(int status, const char *what)
{
    if (status < 0)
        die(what);
}

/* Destination of tar bytes: always hashed for the diff id, then raw or compressed into a hash or a
 * writer. */
struct sink {
    struct ocv_hasher *diff;
    struct ocv_hasher *hash;        /* first pass */
    struct ocv_blob_writer *writer; /* second pass */
    int64_t skip;                   /* bytes the writer resumed with */
    int64_t size;
    z_stream *deflate;
};

static void put_raw(struct sink *sink, const void *data, size_t len)
{
    sink->size += (int64_t)len;
    if (sink->hash)
        need(ocv_hasher_update(sink->hash, data, len, &err), "hash");
    if (!sink->writer)
        return;
    size_t skip = sink->skip < (int64_t)len ? (size_t)sink->skip : len;
    sink->skip -= (int64_t)skip;
    need(ocv_blob_writer_write(sink->writer, (const char *)data + skip, len - skip, &err), "write");
}

static void put_deflated(struct sink *sink, const void *data, size_t len, int flush)
{
    static unsigned char out[CHUNK];
    z_stream *z = sink->deflate;
    z->next_in = (unsigned char *)(uintptr_t)data;
    z->avail_in = (unsigned)len;
    do {
        z->next_out = out;
        z->avail_out = sizeof(out);
        if (deflate(z, flush) == Z_STREAM_ERROR)
            die("deflate");
        put_raw(sink, out, sizeof(out) - z->avail_out);
    } while (z->avail_out == 0);
}

static void put(struct sink *sink, const void *data, size_t len)
{
    if (sink->diff)
        need(ocv_hasher_update(sink->diff, data, len, &err), "hash");
    if (sink->deflate)
        put_deflated(sink, data, len, Z_NO_FLUSH);
    else
        put_raw(sink, data, len);
}

static void put_header(struct sink *sink, const char *name, const char *link, unsigned mode,
                       int64_t size, enum ocv_tar_type type)
{
    unsigned char header[OCV_TAR_BLOCK];
    need(ocv_tar_header(header, name, link, mode, size, type, &err), "tar");
    put(sink, header, sizeof(header));
}

static void put_padding(struct sink *sink, int64_t size)
{
    static const char zeros[OCV_TAR_BLOCK];
    put(sink, zeros, ocv_tar_padding(size));
}

static void put_host_file(struct sink *sink, const char *name, const char *path, unsigned mode)
{
    static char bytes[CHUNK];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st = {0};
    if (fd < 0 || fstat(fd, &st) < 0)
        die(path);
    put_header(sink, name, NULL, mode, st.st_size, OCV_TAR_FILE);
    for (int64_t left = st.st_size; left > 0;) {
        ssize_t n = read(fd, bytes, left < (int64_t)CHUNK ? (size_t)left : CHUNK);
        if (n <= 0)
            die(path);
        put(sink, bytes, (size_t)n);
        left -= n;
    }
    close(fd);
    put_padding(sink, st.st_size);
}

/* splitmix64: not compressible, and fast enough for benchmarks. */
static void put_random(struct sink *sink, const char *name, int64_t size, uint64_t seed)
{
    static uint64_t words[CHUNK / 8];
    put_header(sink, name, NULL, 0644, size, OCV_TAR_FILE);
    for (int64_t left = size; left > 0;) {
        size_t n = left < (int64_t)CHUNK ? (size_t)left : CHUNK;
        for (size_t i = 0; i < (n + 7) / 8; i++) {
            uint64_t z = (seed += 0x9e3779b97f4a7c15u);
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            words[i] = z ^ (z >> 31);
        }
        put(sink, words, n);
        left -= (int64_t)n;
    }
    put_padding(sink, size);
}

static bool parse_size(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || end == text || n < 0)
        return false;
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift)
        end++;
    *out = n << shift;
    return *end == '\0';
}

/* Directories above PATH, each once in a layer. */
static void put_parents(struct sink *sink, const char *path, json_t *made)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        char dir[256];
        snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path);
        if (json_object_get(made, dir))
            continue;
        json_object_set_new(made, dir, json_true());
        put_header(sink, dir, NULL, 0755, 0, OCV_TAR_DIR);
    }
}

static void put_file(struct sink *sink, const json_t *file, json_t *made)
{
    const char *kind = json_string_value(json_object_get(file, "kind"));
    const char *text = json_string_value(json_object_get(file, "text"));
    const char *equals = text ? strchr(text, '=') : NULL;
    if (!equals)
        die("PATH=... is needed");
    char path[256];
    snprintf(path, sizeof(path), "%.*s", (int)(equals - text), text);
    const char *name = path + strspn(path, "/");
    put_parents(sink, name, made);
    const char *value = equals + 1;
    if (strcmp(kind, "binary") == 0) {
        put_host_file(sink, name, value, 0755);
    } else if (strcmp(kind, "symlink") == 0) {
        put_header(sink, name, value, 0777, 0, OCV_TAR_LINK);
    } else {
        put_header(sink, name, NULL, 0644, (int64_t)strlen(value), OCV_TAR_FILE);
        put(sink, value, strlen(value));
        put_padding(sink, (int64_t)strlen(value));
    }
}

/* Layer 0 holds the named files; layer i is --layer number i. */
static void put_layer(struct sink *sink, const struct options *o, size_t layer)
{
    static const char end[2 * OCV_TAR_BLOCK];
    z_stream z = {0};
    if (o->gzip) {
        if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            die("deflate");
        sink->deflate = &z;
    }
    if (layer == 0) {
        json_t *made = json_object();
        size_t i;
        json_t *file;
        json_array_foreach(o->files, i, file) put_file(sink, file, made);
        json_decref(made);
    } else {
        const char *what = o->extra[layer - 1];
        char name[128];
        int64_t size;
        put_header(sink, "data/", NULL, 0755, 0, OCV_TAR_DIR);
        if (parse_size(what, &size)) {
            snprintf(name, sizeof(name), "data/random-%zu", layer);
            put_random(sink, name, size, o->seed + layer * 0x1234567);
        } else {
            const char *base = strrchr(what, '/');
            snprintf(name, sizeof(name), "data/%.90s", base ? base + 1 : what);
            put_host_file(sink, name, what, 0644);
        }
    }
    put(sink, end, sizeof(end));
    if (o->gzip) {
        put_deflated(sink, NULL, 0, Z_FINISH);
        deflateEnd(&z);
        sink->deflate = NULL;
    }
}

/* Two passes over the same bytes: a blob can be written only when its digest is known. */
static void make_layer(struct ocv_layout *layout, const struct options *o, size_t layer,
                       json_t *layers, json_t *diff_ids)
{
    char digest[OCV_DIGEST_MAX];
    char diff[OCV_DIGEST_MAX];
    static const char sha256[] =
        "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    struct sink sink = {0};
    need(ocv_hasher_new(sha256, &sink.hash, &err), "hash");
    need(ocv_hasher_new(sha256, &sink.diff, &err), "hash");
    put_layer(&sink, o, layer);
    need(ocv_hasher_final(sink.hash, digest, &err), "hash");
    need(ocv_hasher_final(sink.diff, diff, &err), "hash");
    ocv_hasher_free(sink.hash);
    ocv_hasher_free(sink.diff);
    int64_t size = sink.size;
    sink = (struct sink){0};
    bool present;
    need(ocv_blob_writer_open(layout, digest, size, &sink.writer, &sink.skip, &present, &err),
         "layer");
    if (!present) {
        put_layer(&sink, o, layer);
        need(ocv_blob_writer_commit(sink.writer, &err), "layer");
    }
    const char *type = o->docker ? "application/vnd.docker.image.rootfs.diff.tar"
                                 : "application/vnd.oci.image.layer.v1.tar";
    const char *suffix = !o->gzip ? "" : o->docker ? ".gzip" : "+gzip";
    json_array_append_new(layers, json_pack("{s:s+, s:s, s:I}", "mediaType", type, suffix, "digest",
                                            digest, "size", (json_int_t)size));
    json_array_append_new(diff_ids, json_string(diff));
}

static void write_json(struct ocv_layout *layout, json_t *json, struct ocv_descriptor *out)
{
    struct ocv_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    if (!json)
        die("not UTF-8");
    need(ocv_json_append(json, JSON_COMPACT, &text, &err), "JSON");
    out->digest[0] = '\0';
    out->size = (int64_t)text.len;
    need(ocv_layout_write_blob(layout, text.data, text.len, out->digest, &err), "blob");
    ocv_buffer_free(&text);
    json_decref(json);
}

static json_t *make_config(const struct options *o, json_t *diff_ids)
{
    json_t *settings = json_object();
    if (json_array_size(o->cmd))
        json_object_set(settings, "Cmd", o->cmd);
    if (json_array_size(o->env))
        json_object_set(settings, "Env", o->env);
    if (json_object_size(o->labels))
        json_object_set(settings, "Labels", o->labels);
    if (o->user)
        json_object_set_new(settings, "User", json_string(o->user));
    return json_pack("{s:s, s:s, s:s, s:s*, s:o, s:{s:s, s:o}}", "created", "1970-01-01T00:00:00Z",
                     "architecture", o->arch, "os", o->os, "variant", o->variant, "config",
                     settings, "rootfs", "type", "layers", "diff_ids", diff_ids);
}

static void make_image(const struct options *o)
{
    struct ocv_layout *layout;
    need(ocv_layout_open(o->dir, OCV_LAYOUT_CREATE, &layout, &err), "layout");
    json_t *layers = json_array();
    json_t *diff_ids = json_array();
    for (size_t i = 0; i <= o->n_extra; i++)
        if (i > 0 || json_array_size(o->files) || o->n_extra == 0)
            make_layer(layout, o, i, layers, diff_ids);
    if (json_object_size(o->annotations))
        json_object_set(json_array_get(layers, json_array_size(layers) - 1), "annotations",
                        o->annotations);
    struct ocv_descriptor config;
    struct ocv_descriptor manifest;
    write_json(layout, make_config(o, diff_ids), &config);
    const char *type = o->docker ? OCV_MEDIA_TYPE_DOCKER_MANIFEST : OCV_MEDIA_TYPE_MANIFEST;
    snprintf(manifest.media_type, sizeof(manifest.media_type), "%s", type);
    const char *config_type =
        o->docker ? "application/vnd.docker.container.image.v1+json" : OCV_MEDIA_TYPE_CONFIG;
    write_json(layout,
               json_pack("{s:i, s:s, s:{s:s, s:s, s:I}, s:o}", "schemaVersion", 2, "mediaType",
                         type, "config", "mediaType", config_type, "digest", config.digest, "size",
                         (json_int_t)config.size, "layers", layers),
               &manifest);
    struct ocv_platform platform = {.os = o->os, .architecture = o->arch, .variant = o->variant};
    need(ocv_layout_tag(layout, o->tag, o->name, &manifest, &platform, &err), "tag");
    printf("%s\n", manifest.digest);
    ocv_layout_free(layout);
}

static void add_label(json_t *labels, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        die("--label and --annotate need K=V");
    char key[256];
    snprintf(key, sizeof(key), "%.*s", (int)(equals - text), text);
    json_object_set_new(labels, key, json_string(equals + 1));
}

static void read_options(int argc, char **argv, struct options *o)
{
    static const struct option names[] = {
        {"os", 1, NULL, 'o'},       {"arch", 1, NULL, 'a'},  {"variant", 1, NULL, 'v'},
        {"layer", 1, NULL, 'l'},    {"file", 1, NULL, 'f'},  {"binary", 1, NULL, 'b'},
        {"symlink", 1, NULL, 's'},  {"cmd", 1, NULL, 'c'},   {"env", 1, NULL, 'e'},
        {"user", 1, NULL, 'u'},     {"label", 1, NULL, 'L'}, {"seed", 1, NULL, 'S'},
        {"name", 1, NULL, 'n'},     {"gzip", 0, NULL, 'z'},  {"docker", 0, NULL, 'd'},
        {"annotate", 1, NULL, 'A'}, {NULL, 0, NULL, 0}};
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        const char *kind = c == 'b' ? "binary" : c == 's' ? "symlink" : "file";
        switch (c) {
        case 'o':
            o->os = optarg;
            break;
        case 'a':
            o->arch = optarg;
            break;
        case 'v':
            o->variant = optarg;
            break;
        case 'n':
            o->name = optarg;
            break;
        case 'z':
            o->gzip = true;
            break;
        case 'd':
            o->docker = true;
            break;
        case 'S':
            o->seed = strtoull(optarg, NULL, 0);
            break;
        case 'u':
            o->user = optarg;
            break;
        case 'c':
            json_array_append_new(o->cmd, json_string(optarg));
            break;
        case 'e':
            json_array_append_new(o->env, json_string(optarg));
            break;
        case 'L':
            add_label(o->labels, optarg);
            break;
        case 'A':
            add_label(o->annotations, optarg);
            break;
        case 'f':
        case 'b':
        case 's':
            json_array_append_new(o->files, json_pack("{s:s, s:s}", "kind", kind, "text", optarg));
            break;
        case 'l':
            if (o->n_extra == LAYERS_MAX)
                die("too many layers");
            o->extra[o->n_extra++] = optarg;
            break;
        default:
            exit(2);
        }
    }
    if (argc - optind != 2) {
        fprintf(stderr,
                "usage: mkimage LAYOUTDIR TAG [--layer FILE|SIZE]... [--file PATH=TEXT]...\n");
        exit(2);
    }
    o->dir = argv[optind];
    o->tag = argv[optind + 1];
}

int main(int argc, char **argv)
{
    struct options o = {.os = "linux", .arch = "amd64"};
    o.files = json_array();
    o.cmd = json_array();
    o.env = json_array();
    o.labels = json_object();
    o.annotations = json_object();
    read_options(argc, argv, &o);
    if (json_array_size(o.files) == 0 && o.n_extra == 0)
        json_array_append_new(
            o.files, json_pack("{s:s, s:s++}", "kind", "file", "text", "image=", o.tag, "\n"));
    make_image(&o);
    json_decref(o.files);
    json_decref(o.cmd);
    json_decref(o.env);
    json_decref(o.labels);
    json_decref(o.annotations);
    return 0;
}
