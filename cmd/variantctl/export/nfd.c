/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl export nfd: a feature file for Kubernetes' node-feature-discovery, which silently
 * drops invalid lines, and only logs a file that is too large. With --compatibility: what an
 * image's variants need, as an image compatibility specification (v1alpha1), whose rules ask for
 * those features. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/place/place.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/span.h"
#include "lib/core/core_internal.h"
#include "lib/internal/slurm/slurm.h"

#include <string.h>
#include <time.h>

#define NFD_PREFIX "dev.ocivariant/" /* of the features of node-feature-discovery */
#define FILE_MAX_BYTES 65536u        /* node-feature-discovery, source/local: MaxFeatureFileSize */
#define SPEC_MAX_BYTES (4u * 1024 * 1024)
#define EXPIRES "1d"
#define ARTIFACT_TYPE "application/vnd.nfd.image-compatibility.v1alpha1"
#define LAYER_TYPE "application/vnd.nfd.image-compatibility.spec.v1alpha1+yaml"
#define HEAD "version: v1alpha1\ncompatibilities:\n"

static bool same_feature(struct ocv_property a, struct ocv_property b)
{
    return !strcmp(a.ns, b.ns) && !strcmp(a.feature, b.feature);
}

/* All features have to match. */
static int put_variant(const struct ocv_index *index, const struct ocv_entry *entry,
                       struct ocv_buffer *out, struct ocv_error *err)
{
    bool any = false;
    OCV_TRY(ocv_buffer_printf(out, err, "- tag: \"%s\"\n  rules:", entry->label));
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(index, entry->properties[i]);
        bool done = false; /* a static one, or one that was put before */
        for (size_t k = 0; k < index->n_statics && !done; k++)
            done = !strcmp(index->statics[k].name, p.ns);
        for (size_t k = 0; k < i && !done; k++)
            done = same_feature(p, ocv_index_property(index, entry->properties[k]));
        if (done)
            continue;
        if (!any)
            OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
        any = true;
        /* Any value of the feature will do. */
        OCV_TRY(ocv_buffer_printf(out, err, "  - name: \"%s :: %s\"\n    matchAny:\n", p.ns,
                                  p.feature));
        for (size_t k = i; k < entry->n_properties; k++) {
            struct ocv_property q = ocv_index_property(index, entry->properties[k]);
            if (same_feature(p, q))
                OCV_TRY(ocv_buffer_printf(out, err,
                                          "    - matchFeatures:\n"
                                          "      - feature: local.feature\n"
                                          "        matchExpressions:\n"
                                          "          \"" NFD_PREFIX "%s.%s.%s\": {op: IsTrue}\n",
                                          q.ns, q.feature, q.value));
        }
    }
    return any ? OCV_OK : ocv_buffer_printf(out, err, " []\n");
}

static bool is_variant(const struct ocv_entry *entry)
{
    return entry->kind == OCV_ENTRY_VARIANT && entry->code == OCV_REJECT_NONE;
}

static int attach_to(struct place *place, const struct ocv_index *index,
                     const struct ocv_entry *entry, struct ocv_error *err)
{
    ocv_auto_buffer spec;
    struct ocv_descriptor subject;
    char digest[OCV_DIGEST_MAX];
    ocv_buffer_init(&spec, SPEC_MAX_BYTES);
    OCV_TRY(child_descriptor(entry, &subject, err));
    OCV_TRY(ocv_buffer_printf(&spec, err, HEAD));
    OCV_TRY(put_variant(index, entry, &spec, err));
    OCV_TRY(attach_layer(place, &subject, ARTIFACT_TYPE, LAYER_TYPE, &spec, digest, err));
    char line[512];
    int n =
        snprintf(line, sizeof(line), "%s  %s  attached %s\n", entry->label, entry->digest, digest);
    return cli_print(line, (size_t)n, err);
}

static int export_image(struct cli *cli, const char *text, bool attach, struct ocv_buffer *out,
                        struct ocv_error *err)
{
    ocv_auto_image image = {0};
    OCV_TRY(image_open(cli, text, &image, err));
    size_t n = 0;
    for (size_t i = 0; i < ocv_index_count(image.index); i++)
        n += is_variant(ocv_index_entry(image.index, i));
    if (!n)
        return ocv_error_set(err, OCV_ERR_DATA, "%s has no variants: there is nothing to write",
                             text);
    if (!attach) {
        OCV_TRY(ocv_buffer_printf(out, err, HEAD));
        for (size_t i = 0; i < ocv_index_count(image.index); i++)
            if (is_variant(ocv_index_entry(image.index, i)))
                OCV_TRY(put_variant(image.index, ocv_index_entry(image.index, i), out, err));
        return OCV_OK;
    }
    /* Each manifest gets its own, as a referrer. */
    struct place place = {.cli = cli,
                          .reference = image.reference,
                          .name = image.reference ? image.reference->name
                                                  : (char *)(uintptr_t)image.text};
    int status = OCV_OK;
    if (image.layout) {
        place.dir = (char *)(uintptr_t)ocv_layout_path(image.layout);
        status = place_prepare(&place, err);
    }
    for (size_t i = 0; i < ocv_index_count(image.index) && status >= 0; i++)
        if (is_variant(ocv_index_entry(image.index, i)))
            status = attach_to(&place, image.index, ocv_index_entry(image.index, i), err);
    ocv_layout_free(place.layout);
    return status < 0 ? ocv_error_prefix(err, "--attach: %s", image.text) : OCV_OK;
}

struct nfd_options {
    struct cli *cli;
    const char *output, *image;
    bool attach;
    int64_t expires_ms;
};

static int take_expires(const struct ocv_option_given *given, struct ocv_error *err)
{
    int64_t *expires_ms = given->into;
    if (!ocv_duration_parse(given->value, expires_ms))
        return ocv_error_set(err, OCV_ERR_INVALID, "--expires: '%.40s' is not " OCV_DURATION_FORM,
                             given->value);
    return OCV_OK;
}

static const struct ocv_option options[] = {
    {.name = "output",
     .letter = 'o',
     .value = "FILE",
     .help = "this file, replaced atomically (standard output)",
     OCV_OPTION_TEXT(struct nfd_options, output)},
    {.name = "expires",
     .value = "TIME",
     .help = "time until it expires (" EXPIRES "; 0: never)",
     OCV_OPTION_MEMBER(take_expires, struct nfd_options, expires_ms)},
    {.name = "compatibility",
     .value = "IMAGE",
     .help = "instead: what IMAGE's variants need, for nfd compat",
     OCV_OPTION_TEXT(struct nfd_options, image)},
    {.name = "attach",
     .help = "attach it to each variant, as a referrer",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct nfd_options, attach)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl export nfd [OPTIONS]\n"
             "       variantctl export nfd --compatibility IMAGE [--attach]\n"
             "\n"
             "Write what this machine, or the one of --profile, supports as a feature file of\n"
             "node-feature-discovery: the label dev.ocivariant/class, which is equal on nodes\n"
             "that choose alike, and, for its rules, a feature (not a label) for each\n"
             "property: dev.ocivariant/NAMESPACE.FEATURE.VALUE.\n",
    .options = options,
    .groups = CLI_HOST | CLI_REGISTRY,
    .end = "\n"
           "Examples:\n"
           "  variantctl export nfd\n"
           "  variantctl export nfd --compatibility oci:images:app\n"
           "  variantctl export nfd --expires 1h \\\n"
           "    -o /etc/kubernetes/node-feature-discovery/features.d/ocivariant\n"};

/* The first two dots of a name separate namespace, feature and value. */
static int put_property(void *data, struct ocv_property p, struct ocv_error *err)
{
    return ocv_buffer_printf(data, err, "# +no-label\n" NFD_PREFIX "%s.%s.%s=true\n", p.ns,
                             p.feature, p.value);
}

int cmd_export_nfd(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct nfd_options r = {.cli = cli};
    ocv_auto_buffer out;
    char class[OCV_CLASS_MAX];
    ocv_buffer_init(&out, FILE_MAX_BYTES);
    (void)ocv_duration_parse(EXPIRES, &r.expires_ms);
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    if (r.attach && !r.image)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: --attach needs --compatibility", cli->verb);
    if (r.image && r.attach && r.output)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: --attach writes no file", cli->verb);
    OCV_TRY(cli_load(cli, err));
    if (r.image) {
        ocv_auto_buffer spec;
        ocv_buffer_init(&spec, SPEC_MAX_BYTES);
        OCV_TRY(export_image(cli, r.image, r.attach, &spec, err));
        return r.output ? ocv_file_write(r.output, spec.data, spec.len, err)
                        : cli_print(spec.len ? spec.data : "", spec.len, err);
    }
    OCV_TRY(cli_profile(cli, err));
    OCV_TRY(ocv_profile_class(cli->profile, class, err));
    if (r.expires_ms > 0) {
        char text[32];
        struct tm tm;
        time_t when = time(NULL) + (time_t)(r.expires_ms / 1000);
        if (!gmtime_r(&when, &tm) || tm.tm_year > 8000 ||
            !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
            return ocv_error_set(err, OCV_ERR_INVALID, "--expires: too long");
        OCV_TRY(ocv_buffer_printf(&out, err, "# +expiry-time=%s\n", text));
    }
    int status = ocv_buffer_printf(&out, err, NFD_PREFIX "class=%s\n", class);
    if (status == OCV_OK)
        status = ocv_slurm_properties(cli->profile, put_property, &out, err);
    if (status == OCV_ERR_DATA)
        return ocv_error_set(err, status,
                             "the properties take more than %u bytes, which "
                             "node-feature-discovery would not read",
                             FILE_MAX_BYTES);
    if (status < 0)
        return status;
    return r.output ? ocv_file_write(r.output, out.data, out.len, err)
                    : cli_print(out.data, out.len, err);
}
