/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl slim: an index of an image and of what it is without the GPU code that a target does
 * not need. */
#include "cmd/variantctl/slim/slim_verb.h"

#include "cmd/common/image/document_cache.h"
#include "gen/slim-vendors.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const struct ocv_option options[] = {
    {.name = "for",
     .value = "TARGETS",
     .help = "a variant each: sm_80,gfx942; sm_80+sm_86 share one",
     OCV_OPTION_TEXT(struct slim, wanted)},
    {.name = "profiles",
     .value = "DIR|FILE",
     .help = "a variant for each GPU of these machines",
     OCV_OPTION_TEXT(struct slim, profiles)},
    {.name = "to",
     .value = "REPO:TAG|oci:DIR:TAG",
     .help = "where the index is written",
     OCV_OPTION_TEXT(struct slim, to)},
    {.name = "keep-ptx",
     .help = "keep PTX beside machine code, too",
     OCV_OPTION_FLAG(struct slim, keep_ptx)},
    {.name = "vendor-files",
     .help = "cut NVIDIA's libraries, too, if you have the right",
     OCV_OPTION_FLAG(struct slim, vendor_files)},
    {.name = "compression",
     .value = "gzip|zstd",
     .help = "of layers that change (that of FROM)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct slim, compression)},
    {.group = lint_rows, .offset = offsetof(struct slim, build.options)},
    {.group = write_rows, .offset = offsetof(struct slim, build.options)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl slim [OPTIONS] FROM --for TARGETS|--profiles DIR --to TO\n"
             "\n"
             "Make variants of an image that have the code of one GPU architecture each, of\n"
             "CUDA or ROCm, without a rebuild. TO becomes an index: FROM as it is; FROM again\n"
             "as `fat`, for GPUs with code of their own; and a variant for each target.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .arguments = {"one image", 1, 1, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl slim --dry-run registry.example/gpu:1 --for sm_90 --to oci:cut:gpu\n"
           "  variantctl slim oci:images:gpu --for sm_80+sm_86,sm_90 --to oci:images:slim\n"
           "  variantctl slim registry.example/gpu:1 --for sm_80 --to registry.example/gpu:2\n"};

static bool is_vendors(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    for (size_t i = 0; i < sizeof(slim_vendors) / sizeof(slim_vendors[0]); i++)
        if (fnmatch(slim_vendors[i].files, name, 0) == 0)
            return true;
    return false;
}

static bool has_gpu_code(const struct ocv_content_file *file)
{
    for (size_t i = 0; i < file->facts.n; i++) {
        enum ocv_content_fact fact = file->facts.list[i].fact;
        if (fact == OCV_CONTENT_CUDA_CODE || fact == OCV_CONTENT_CUDA_PTX ||
            fact == OCV_CONTENT_HIP_CODE || fact == OCV_CONTENT_KPACK_CODE)
            return true;
    }
    return false;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp((*(const struct ocv_content_file *const *)a)->path,
                  (*(const struct ocv_content_file *const *)b)->path);
}

/* The files to cut of each layer: those that the image shows, in the topmost layer that has them,
 * with what `whole` says of them, which is sorted. */
static int list_files(struct slim *s, const struct image *image, const struct manifest_doc *child,
                      const struct ocv_content_report *whole, struct slim_list *lists,
                      struct ocv_error *err)
{
    struct cli *cli = s->build.cli;
    struct layer_reader reader = {.cli = cli, .image = image, .stop = cli->interrupted};
    ocv_auto_free const struct ocv_content_file **shown =
        calloc(whole->n_files + 1, sizeof(*shown));
    ocv_auto_free bool *taken = calloc(whole->n_files + 1, sizeof(*taken));
    ocv_auto_free bool *covers = calloc(whole->n_files + 1, sizeof(*covers));
    int status = OCV_OK;
    if (!taken || !shown || !covers)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < whole->n_files && status >= 0; i++)
        shown[i] = &whole->files[i];
    if (status >= 0)
        qsort(shown, whole->n_files, sizeof(*shown), compare_paths);
    for (size_t i = ocv_manifest_layer_count(child->manifest); i-- > 0 && status >= 0;) {
        ocv_auto_content_report struct ocv_content_report report = {0};
        status = layer_read(&reader, ocv_manifest_layer(child->manifest, i), &report, err);
        lists[i].files = calloc(report.n_files + 1, sizeof(*lists[i].files));
        lists[i].bytes = report.bytes;
        if (status >= 0 && !lists[i].files)
            status = ocv_error_nomem(err);
        /* what has the path of a file of a layer above, with code or without, or as a link */
        ocv_content_report_sort(&report);
        for (size_t k = 0; k < whole->n_files && status >= 0; k++)
            covers[k] =
                covers[k] || (taken[k] && ocv_content_report_names(&report, shown[k]->path));
        for (size_t k = 0; k < report.n_files && status >= 0; k++) {
            const struct ocv_content_file *key = &report.files[k];
            const struct ocv_content_file **found =
                bsearch(&key, shown, whole->n_files, sizeof(*shown), compare_paths);
            if (!found || taken[found - shown])
                continue;
            taken[found - shown] = true;
            if (!has_gpu_code(*found))
                continue;
            /* bytes that the publisher may not pass on, changed or not */
            const char *type = ocv_manifest_layer(child->manifest, i)->media_type;
            bool foreign = strstr(type, ".foreign.") || strstr(type, "nondistributable");
            if (!foreign && (s->vendor_files || !is_vendors((*found)->path))) {
                lists[i].files[lists[i].n++] = *found;
                continue;
            }
            s->n_vendors++;
            s->vendors_bytes += (*found)->size;
        }
        if (status >= 0 && lists[i].files && lists[i].n)
            qsort(lists[i].files, lists[i].n, sizeof(*lists[i].files), compare_paths);
    }
    for (size_t i = 0; i < ocv_manifest_layer_count(child->manifest) && status >= 0; i++) {
        lists[i].covers = calloc(lists[i].n + 1, sizeof(*lists[i].covers));
        if (!lists[i].covers) {
            status = ocv_error_nomem(err);
            break;
        }
        for (size_t k = 0; k < lists[i].n; k++) {
            const struct ocv_content_file **found =
                bsearch(&lists[i].files[k], shown, whole->n_files, sizeof(*shown), compare_paths);
            lists[i].covers[k] = found && covers[found - shown];
        }
    }
    ocv_registry_free(reader.registry);
    return status;
}

bool slim_same_properties(const struct ocv_properties *a, const struct ocv_properties *b)
{
    size_t n = ocv_properties_count(a);
    bool same = n == ocv_properties_count(b);
    for (size_t i = 0; i < n && same; i++)
        same = edit_has_property(b, ocv_properties_get(a, i));
    return same;
}

/* A label that no entry has with other properties: that of another platform gets its architecture.
 */
static void choose_label(const struct slim *s, const char *wanted, const char *architecture,
                         const struct ocv_properties *properties, char *out, size_t size)
{
    snprintf(out, size, "%s", wanted);
    for (size_t i = 0; i < s->n_variants + s->n_originals; i++) {
        bool variant = i < s->n_variants;
        const char *label = variant ? s->variants[i].label : s->originals[i - s->n_variants].label;
        const struct ocv_properties *set =
            variant ? s->variants[i].described : s->originals[i - s->n_variants].properties;
        if (set && !strcmp(label, wanted) && !slim_same_properties(set, properties))
            snprintf(out, size, "%s.%s", wanted, architecture);
    }
}

int slim_copy_properties(const struct ocv_properties *set, struct ocv_properties **out,
                         struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    OCV_TRY(ocv_properties_format(set, &text, err));
    return ocv_properties_parse(text.data ? text.data : "", text.len, out, err);
}

static void slim_variant_free(struct slim_variant *v)
{
    for (size_t k = 0; v->layers && k < v->n_layers; k++)
        slim_layer_free(&v->layers[k]);
    free(v->layers);
    ocv_properties_free(v->properties);
    ocv_properties_free(v->described);
}

static int add_variant(struct slim *s, const struct image *image, const struct manifest_doc *child,
                       const struct ocv_buffer *config, const struct ocv_content *content,
                       const struct slim_list *lists, const struct ocv_slim_target *target,
                       const struct slim_source *source, size_t first, struct ocv_error *err)
{
    char label[OCV_SLIM_LABEL_MAX];
    ocv_auto_buffer text;
    ocv_auto(ocv_properties) properties = NULL;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    OCV_TRY(slim_describe_variant(&content->derived, source->given, target, &text, err));
    OCV_TRY(ocv_properties_parse(text.data ? text.data : "", text.len, &properties, err));
    struct slim_variant *variant = ocv_array_grow(&s->variants, s->n_variants);
    if (!variant)
        return ocv_error_nomem(err);
    choose_label(s, slim_label(source, target, label), source->architecture, properties,
                 variant->label, sizeof(variant->label));
    s->n_variants++;
    if (!ocv_label_valid(variant->label, strlen(variant->label))) {
        ocv_error_set(err, OCV_ERR_DATA, "'%s' is too long for a label", variant->label);
        ocv_error_hint(err, "labels have at most 48 characters: give FROM's variant a shorter one");
        return OCV_ERR_DATA;
    }
    slim_find_served(&content->derived, target, &variant->serves);
    for (size_t i = first; i + 1 < s->n_variants; i++)
        if (slim_same_properties(s->variants[i].described, properties)) {
            char other[OCV_SLIM_LABEL_MAX];
            if (s->profiles) { /* one variant for machines of both */
                slim_variant_free(variant);
                s->n_variants--;
                return OCV_OK;
            }
            ocv_slim_target_format(&s->variants[i].target, other, sizeof(other));
            ocv_slim_target_format(target, label, sizeof(label));
            ocv_error_set(err, OCV_ERR_INVALID, "of %s, GPUs of %s and of %s run the same code",
                          image->text, other, label);
            ocv_error_hint(err, "name one of them, or let both share a variant: %s+%s", other,
                           label);
            return OCV_ERR_INVALID;
        }
    snprintf(variant->tag, sizeof(variant->tag), "%s.%s", variant->label, source->architecture);
    variant->target = *target;
    OCV_TRY(slim_copy_properties(properties, &variant->described, err));
    variant->properties = ocv_steal(&properties);
    variant->n_layers = ocv_manifest_layer_count(child->manifest);
    variant->layers = calloc(variant->n_layers + 1, sizeof(*variant->layers));
    if (!variant->layers)
        return ocv_error_nomem(err);
    OCV_TRY(slim_image_make(s, image, child, config, lists, variant, err));
    return s->stage && variant->cut
               ? ocv_layout_tag(s->stage, variant->tag, NULL, &variant->descriptor, NULL, err)
               : OCV_OK;
}

/* The entry of the original for GPUs of one maker: not where every GPU that takes it takes a slim
 * variant before it, nor where it is there. */
static int add_original(struct slim *s, const struct image *image,
                        const struct ocv_content *content, const struct slim_source *source,
                        size_t first, bool rocm, struct ocv_error *err)
{
    ocv_auto(ocv_properties) fat = NULL;
    bool cuda_too = false, rocm_too = false;
    char name[OCV_SLIM_LABEL_MAX], label[OCV_SLIM_LABEL_MAX + 8];
    for (size_t i = first; i < s->n_variants; i++) {
        cuda_too = cuda_too || s->variants[i].target.n;
        rocm_too = rocm_too || s->variants[i].target.n_gfx;
    }
    if (!(rocm ? rocm_too : cuda_too))
        return OCV_OK;
    OCV_TRY(slim_describe_fat(s, content, source->given,
                              rocm ? OCV_CONTENT_HIP_CODE : OCV_CONTENT_CUDA_CODE, &fat, err));
    bool both = cuda_too && rocm_too;
    snprintf(label, sizeof(label), "%s%s", slim_label(source, NULL, name),
             !both  ? ""
             : rocm ? ".rocm"
                    : ".cuda");
    if (!slim_fat_is_reached(s, first, fat) || slim_has_entry(image->index, source, label) ||
        (source->given && slim_same_properties(fat, source->given)))
        return OCV_OK;
    struct slim_original *original = ocv_array_grow(&s->originals, s->n_originals);
    if (!original)
        return ocv_error_nomem(err);
    original->properties = ocv_steal(&fat);
    original->source = *source;
    original->source.given = NULL;
    choose_label(s, label, source->architecture, original->properties, original->label,
                 sizeof(original->label));
    s->n_originals++;
    return OCV_OK;
}

/* An image of FROM: a variant for each target that it has code for. */
static int slim_image(struct slim *s, const struct image *image, const struct slim_source *source,
                      struct ocv_error *err)
{
    struct build *b = &s->build;
    ocv_auto_child child = {0};
    ocv_auto_buffer config;
    struct ocv_content content = {0};
    size_t before = s->n_variants;
    ocv_buffer_init(&config, OCV_MANIFEST_MAX);
    OCV_TRY(child_read(b->cli, image, &source->descriptor, &child, err));
    OCV_TRY(child_config(b->cli, image, &child, &config, err));
    size_t n = ocv_manifest_layer_count(child.manifest);
    ocv_auto_free struct slim_list *lists = calloc(n + 1, sizeof(*lists));
    int status =
        lists ? derive_read_content(b->cli, image, &child, &config, source->given, &content, err)
              : ocv_error_nomem(err);
    if (status >= 0)
        status = list_files(s, image, &child, &content.report, lists, err);
    for (size_t t = 0; t < s->n_targets && status >= 0; t++) {
        bool made = slim_was_made(s, image->index, source, &s->targets[t]);
        bool has_all = !made && slim_may_take(source->given, &s->targets[t]) &&
                       slim_has_code(&content.derived, &s->targets[t]);
        s->found[t] = s->found[t] || has_all || made;
        s->n_made += made;
        if (has_all)
            status = add_variant(s, image, &child, &config, &content, lists, &s->targets[t], source,
                                 before, err);
    }
    for (size_t m = 0; m < 2 && status >= 0; m++)
        status = add_original(s, image, &content, source, before, m != 0, err);
    for (size_t i = 0; lists && i < n; i++) {
        free(lists[i].files);
        free(lists[i].covers);
    }
    ocv_content_free(&content);
    return status;
}

/* Is the image slimmed as another entry: one with a label, or the one that slim made of an
 * original?
 */
static bool stands_better(const struct slim *s, const struct ocv_index *index,
                          const struct ocv_entry *entry)
{
    bool better = false;
    for (size_t i = 0; i < ocv_index_count(index) && !better; i++) {
        const struct ocv_entry *it = ocv_index_entry(index, i);
        if (it != entry && it->label && !strcmp(it->digest, entry->digest))
            better = !entry->label ||
                     (slim_is(s, index, it, SLIM_FAT) && !slim_is(s, index, entry, SLIM_FAT));
    }
    return better;
}

/* All images of FROM. Each target has to be found in one of them. */
static int slim_images(struct slim *s, const struct image *image, struct ocv_error *err)
{
    const struct ocv_index *index = image->index;
    size_t n = image->kind == OCV_DOCUMENT_INDEX ? ocv_index_count(index) : 0;
    if (!n) {
        const struct slim_source only = {.descriptor = image->top, .architecture = ""};
        OCV_TRY(slim_image(s, image, &only, err));
    }
    for (size_t i = 0; i < n; i++) {
        const struct ocv_entry *entry = ocv_index_entry(index, i);
        const struct ocv_platform *platform = &entry->platform;
        struct slim_source source = {
            .entry = entry, .architecture = platform->architecture ? platform->architecture : ""};
        ocv_auto(ocv_properties) given = NULL;
        ocv_auto_buffer text;
        ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        if (entry->code != OCV_REJECT_NONE || stands_better(s, index, entry) ||
            slim_is(s, index, entry, "slim"))
            continue;
        OCV_TRY(child_descriptor(entry, &source.descriptor, err));
        if (entry->label && strcmp(entry->label, "null") != 0) {
            source.label = entry->label;
            for (size_t k = 0; k < entry->n_properties; k++) {
                struct ocv_property p = ocv_index_property(index, entry->properties[k]);
                if (slim_is_order(s, p)) {
                    source.fat = source.fat || !strcmp(p.value, SLIM_FAT);
                    continue;
                }
                OCV_TRY(ocv_buffer_printf(&text, err, "%s%s :: %s :: %s", text.len ? ", " : "",
                                          p.ns, p.feature, p.value));
            }
            OCV_TRY(ocv_properties_parse(text.data ? text.data : "", text.len, &given, err));
            source.given = given;
        }
        OCV_TRY(slim_image(s, image, &source, err));
    }
    for (size_t t = 0; t < s->n_targets; t++) {
        char text[OCV_SLIM_LABEL_MAX];
        if (s->found[t] || s->profiles)
            continue;
        for (size_t i = 0; i < n; i++)
            if (slim_is(s, index, ocv_index_entry(index, i), "slim")) {
                ocv_error_set(err, OCV_ERR_DATA,
                              "%s was slimmed, and none of its originals is for %s", image->text,
                              ocv_slim_target_format(&s->targets[t], text, sizeof(text)));
                ocv_error_hint(err, "slim the image that it was made of again, for all targets");
                return OCV_ERR_DATA;
            }
        ocv_error_set(err, OCV_ERR_DATA, "%s has no machine code for %s", image->text,
                      ocv_slim_target_format(&s->targets[t], text, sizeof(text)));
        ocv_error_hint(err, "'variantctl derive %s' says what it has", image->text);
        return OCV_ERR_DATA;
    }
    return OCV_OK;
}

/* The stage of this image and these targets: what an interrupted run has left is used. A user
 * without a cache gets one for this run: what was read of layers is asked for again. */
static int open_stage(struct slim *s, const struct image *image, struct ocv_error *err)
{
    char key[OCV_DIGEST_MAX], base[4000];
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 65536);
    OCV_TRY(ocv_buffer_printf(&text, err, "%s %s %s", image->top.digest,
                              s->wanted ? s->wanted : s->profiles, s->to));
    OCV_TRY(ocv_digest_bytes(text.data, text.len, key, err));
    s->keeps_stage = digest_cache_directory("slim", base, sizeof(base));
    if (s->keeps_stage) {
        snprintf(s->stage_dir, sizeof(s->stage_dir), "%s/stage-%.12s", base, key + 7);
    } else {
        const char *tmp = getenv("TMPDIR");
        snprintf(s->stage_dir, sizeof(s->stage_dir), "%.3000s/variantctl.XXXXXX",
                 tmp && *tmp ? tmp : "/var/tmp");
        if (!mkdtemp(s->stage_dir)) {
            s->stage_dir[0] = '\0';
            return ocv_error_set(err, OCV_ERR_IO, "cannot make a temporary directory in %s",
                                 tmp && *tmp ? tmp : "/var/tmp");
        }
        setenv("XDG_CACHE_HOME", s->stage_dir, 1);
    }
    struct stat st = {0};
    do { /* another run that ends removes the directory, even between these steps */
        ocv_layout_free(s->stage);
        s->stage = NULL;
        ocv_fd_close(&s->lock);
        s->lock = -1;
        OCV_TRY(ocv_layout_open(s->stage_dir, OCV_LAYOUT_CREATE, &s->stage, err));
        s->lock = open(s->stage_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s->lock < 0 && errno != ENOENT)
            return ocv_error_set(err, OCV_ERR_IO, "%s: %s", s->stage_dir, strerror(errno));
        if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) < 0) {
            s->keeps_stage = true; /* it is another's */
            return ocv_error_set(err, OCV_ERR_IO, "%s: another run makes the same image",
                                 image->text);
        }
    } while (s->lock < 0 || (fstat(s->lock, &st) == 0 && st.st_nlink == 0));
    /* files that an interrupted run did not finish */
    ocv_auto_dir DIR *stage = opendir(s->stage_dir);
    for (const struct dirent *it; stage && (it = readdir(stage));)
        if (!strncmp(it->d_name, SLIM_UNFINISHED, strlen(SLIM_UNFINISHED)))
            unlinkat(s->lock, it->d_name, 0);
    return OCV_OK;
}

static int run_slim(struct slim *s, const char *from, struct ocv_error *err)
{
    struct build *b = &s->build;
    ocv_auto_image image = {0};
    OCV_TRY(cli_load(b->cli, err));
    OCV_TRY(slim_read_targets(s, err));
    OCV_TRY(build_begin(b, s->to, false, err));
    OCV_TRY(image_open(b->cli, from, &image, err));
    slim_choose_order(s, &image);
    OCV_TRY(progress_new(write_progress(b->cli, &b->options), stderr, NULL, &s->progress, err));
    if (!b->options.dry_run) {
        OCV_TRY(place_check(&b->to, err)); /* before minutes of work */
        OCV_TRY(open_stage(s, &image, err));
    }
    OCV_TRY(slim_images(s, &image, err));
    bool any = false;
    for (size_t i = 0; i < s->n_variants; i++)
        any = any || s->variants[i].cut;
    bool json = b->options.json, told = !b->options.quiet && !json;
    if (told && s->n_variants)
        OCV_TRY(slim_table_print(s, err));
    if (b->options.dry_run && json && s->n_variants) {
        json_t *variants = json_array();
        for (size_t i = 0; i < s->n_variants; i++)
            json_array_append_new(variants, slim_variant_json(&s->variants[i]));
        OCV_TRY(print_document(variants, err));
    }
    if (b->options.dry_run && s->n_variants && (any || (s->n_made && json))) /* one document */
        return OCV_OK;
    if (any) {
        OCV_TRY(slim_index_write(s, &image, err));
        s->keeps_stage = false;
        return OCV_OK;
    }
    /* Is there an image for each target, and were they made before? */
    bool found = false;
    for (size_t t = 0; t < s->n_targets; t++)
        found = found || s->found[t];
    if (!s->n_made)
        return ocv_error_set(err, OCV_ERR_DATA,
                             "%s: nothing could be cut, and nothing was written%s", image.text,
                             found ? "" : ": it has machine code for no GPU of these machines");
    s->keeps_stage = false;
    if (json)
        return cli_print("[]\n", 3, err);
    if (told)
        printf("%s has %s already: there is nothing to do, and %s is not written\n", image.text,
               s->n_variants ? "all variants that there can be" : "these variants", s->to);
    return cli_print("", 0, err);
}

int cmd_slim(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct slim s = {.build = {.cli = cli}, .lock = -1, .asking = PTHREAD_MUTEX_INITIALIZER};
    int status, code = cli_read(cli, &command, &s, argc, argv);
    if (code >= 0)
        return code;
    if (!s.to)
        status =
            ocv_error_set(&err, OCV_ERR_INVALID, "slim: give --to, where the index is written");
    else if (!s.wanted == !s.profiles)
        status = ocv_error_set(
            &err, OCV_ERR_INVALID,
            s.wanted ? "slim: give --for or --profiles, not both"
                     : "slim: give --for, the targets (--for sm_80,sm_90), or --profiles");
    else if (s.compression && strcmp(s.compression, "gzip") != 0 && strcmp(s.compression, "zstd"))
        status = ocv_error_set(&err, OCV_ERR_INVALID, "slim: --compression is gzip or zstd");
    else
        status = run_slim(&s, cli->arguments[0], &err);
    /* what a second run cannot mend needs no stage */
    if (status == OCV_ERR_DATA || status == OCV_ERR_INVALID || status == OCV_ERR_UNSUPPORTED)
        s.keeps_stage = false;
    code = status < 0 ? cli_fail(cli, &err) : 0;
    for (size_t i = 0; i < s.n_variants; i++)
        slim_variant_free(&s.variants[i]);
    free(s.variants);
    for (size_t i = 0; i < s.n_originals; i++)
        ocv_properties_free(s.originals[i].properties);
    free(s.originals);
    progress_free(s.progress);
    ocv_layout_free(s.stage);
    build_free(&s.build);
    if (s.stage_dir[0] && !s.keeps_stage)
        ocv_directory_remove(s.stage_dir);
    ocv_fd_close(&s.lock);
    return code;
}
