/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index create: one index over images that exist already, in the layout of the
 * specification's section 2. The same input gives the same bytes. */
#include "index_write.h"
#include "transfer.h"
#include "verbs.h"

#include <stdlib.h>
#include <string.h>

enum { OPTION_DEFAULT = 1, OPTION_NAMESPACES, OPTION_STATIC, OPTION_ANNOTATION, OPTION_QUIET };

static const struct option options[] = {{"default", required_argument, NULL, OPTION_DEFAULT},
                                        {"namespaces", required_argument, NULL, OPTION_NAMESPACES},
                                        {"static", required_argument, NULL, OPTION_STATIC},
                                        {"annotation", required_argument, NULL, OPTION_ANNOTATION},
                                        {"quiet", no_argument, NULL, OPTION_QUIET},
                                        CLI_REGISTRY_OPTIONS,
                                        CLI_COMMON_OPTIONS,
                                        CLI_OPTIONS_END};

static void print_help(void)
{
    fputs("Usage: variantctl index create [OPTIONS] oci:DIR:TAG LABEL=REF[,PROPERTY...]...\n\n"
          "Write an index over existing images. REF is oci:DIR:TAG or a registry image; what it\n"
          "names is copied into DIR. A PROPERTY is 'namespace :: feature :: value'. The label\n"
          "'null' is for the build that needs nothing. Push it with\n"
          "  skopeo copy --all --preserve-digests oci:DIR:TAG "
          "docker://REGISTRY/REPO:TAG\n\nOptions:\n"
          "  --default REF            an ordinary image for clients without variants, before null\n"
          "  --namespaces A,B         most important namespace first\n"
          "  --static NS='F :: V, ...'  rank builds by a list of the publisher's own\n"
          "  --annotation KEY=VALUE   on the index\n"
          "  --quiet                  print the digest only\n" CLI_REGISTRY_HELP CLI_COMMON_HELP,
          stdout);
}

#define REFERENCE_MAX_BYTES 4096u

/* "LABEL=REF,PROPERTY,..." cut into its parts; `copy` is owned by the caller. */
static int split_variant(const char *text, char **copy, const char **label, const char **ref,
                         const char **properties, struct ocv_error *err)
{
    if (strlen(text) > REFERENCE_MAX_BYTES + OCV_ENTRY_PROPERTIES_BYTES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.60s...' is too long", text);
    *copy = strdup(text);
    if (!*copy)
        return ocv_error_nomem(err);
    char *equals = strchr(*copy, '=');
    if (!equals || equals == *copy || !equals[1])
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not LABEL=REF[,PROPERTY...]", text);
    *equals = '\0';
    char *comma = strchr(equals + 1, ',');
    if (comma)
        *comma = '\0';
    *label = *copy;
    *ref = equals + 1;
    *properties = comma ? comma + 1 : "";
    if (!ocv_label_valid(*label, strlen(*label))) {
        ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not a label", *label);
        ocv_error_hint(err, "a-z 0-9 with single . or _ between them, at most 48 characters");
        return OCV_ERR_INVALID;
    }
    return OCV_OK;
}

struct create {
    struct cli *cli;
    struct ocv_layout *to;
    struct index_plan plan;
};

/* Copy one manifest of `image` and add it to the plan under its true platform. */
static int add_child(struct create *c, const struct image *image,
                     const struct ocv_descriptor *descriptor, const char *label,
                     const struct ocv_properties *properties, struct ocv_error *err)
{
    struct child child;
    ocv_auto_buffer config;
    ocv_buffer_init(&config, OCV_MANIFEST_MAX);
    int status = child_read(c->cli, image, descriptor, &child, err);
    if (status == OCV_OK)
        status = child_config(c->cli, image, &child, &config, err);
    if (status == OCV_OK)
        status = child_transfer(c->cli, image, &child, c->to, 0, NULL, NULL, err);
    if (status == OCV_OK)
        status = index_plan_add(&c->plan, label, properties, descriptor, &config, err);
    child_free(&child);
    return status < 0 ? ocv_error_prefix(err, "%s", label ? label : "--default") : OCV_OK;
}

/* Every image of REF: the manifest itself, or each real image of a multi-platform index. */
static int add_reference(struct create *c, const char *ref, const char *label,
                         const struct ocv_properties *properties, struct ocv_error *err)
{
    struct image image = {0};
    size_t used = 0;
    int status = image_open(c->cli, ref, &image, err);
    if (status == OCV_OK && ocv_index_has_variants(image.index))
        status = ocv_error_set(err, OCV_ERR_INVALID, "%s has variants itself", ref);
    if (status == OCV_OK && image.kind == OCV_DOCUMENT_MANIFEST) {
        status = add_child(c, &image, &image.top, label, properties, err);
        used++;
    }
    for (size_t i = 0;
         status == OCV_OK && image.kind == OCV_DOCUMENT_INDEX && i < ocv_index_count(image.index);
         i++) {
        const struct ocv_entry *entry = ocv_index_entry(image.index, i);
        struct ocv_descriptor descriptor;
        if (entry->code != OCV_REJECT_NONE)
            continue;
        status = child_descriptor(entry, &descriptor, err);
        if (status == OCV_OK)
            status = add_child(c, &image, &descriptor, label, properties, err);
        used++;
    }
    if (status == OCV_OK && used == 0)
        status = ocv_error_set(err, OCV_ERR_DATA, "%s names no image", ref);
    image_close(&image);
    return status;
}

static int add_variant(struct create *c, const char *text, struct ocv_error *err)
{
    char *copy = NULL;
    const char *label = NULL, *ref = NULL, *list = NULL;
    ocv_auto(ocv_properties) properties = NULL;
    int status = split_variant(text, &copy, &label, &ref, &list, err);
    if (status == OCV_OK && ocv_properties_parse(list, strlen(list), &properties, err) < 0) {
        ocv_error_prefix(err, "%s", label);
        status = ocv_error_set(err, OCV_ERR_INVALID, "%s", err->message);
    }
    bool is_null = status == OCV_OK && !strcmp(label, "null");
    size_t n = status == OCV_OK ? ocv_properties_count(properties) : 0;
    if (status == OCV_OK && is_null && n)
        status = ocv_error_set(err, OCV_ERR_INVALID, "the label null is for no property");
    if (status == OCV_OK && !is_null && n == 0) {
        status = ocv_error_set(err, OCV_ERR_INVALID, "%s has no property", label);
        ocv_error_hint(err, "a build that needs nothing is labelled null");
    }
    if (status == OCV_OK)
        status = add_reference(c, ref, label, properties, err);
    free(copy);
    return status;
}

static int write_result(struct create *c, const char *tag, bool quiet, struct ocv_error *err)
{
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_MANIFEST_MAX);
    int status = index_plan_format(&c->plan, &bytes, err);
    struct ocv_descriptor index = {.media_type = OCV_MEDIA_TYPE_INDEX};
    if (status == OCV_OK)
        status = ocv_layout_write_blob(c->to, bytes.data, bytes.len, index.digest, err);
    if (status < 0)
        return status;
    index.size = (int64_t)bytes.len;
    status = ocv_layout_tag(c->to, tag, NULL, &index, NULL, err);
    if (status < 0)
        return status;
    index_plan_warn(&c->plan, c->cli);
    if (quiet)
        printf("%s\n", index.digest);
    else
        printf("%s:%s  %s  (%zu entries)\n", ocv_layout_path(c->to), tag, index.digest,
               c->plan.count);
    return cli_print("", 0, err);
}

static int run(struct create *c, const char *target, char **variants, const char *const *defaults,
               size_t n_defaults, bool quiet, struct ocv_error *err)
{
    char *dir, *tag;
    bool layout = image_split_layout(target, &dir, &tag);
    int status = cli_load(c->cli, err);
    if (status == OCV_OK && (!layout || !tag || !ocv_tag_valid(tag))) {
        status = ocv_error_set(err, OCV_ERR_INVALID, "'%.200s' is not oci:DIR:TAG", target);
        ocv_error_hint(err,
                       "write a layout, then push it: skopeo copy --all oci:DIR:TAG docker://...");
    }
    if (status == OCV_OK)
        status = ocv_layout_open(dir, OCV_LAYOUT_CREATE, &c->to, err);
    for (size_t i = 0; i < n_defaults && status == OCV_OK; i++)
        status = add_reference(c, defaults[i], NULL, NULL, err);
    for (size_t i = 0; variants[i] && status == OCV_OK; i++)
        status = add_variant(c, variants[i], err);
    if (status == OCV_OK)
        status = write_result(c, tag, quiet, err);
    free(dir);
    free(tag);
    return status;
}

#define DEFAULTS_MAX 16u

int cmd_index_create(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct create c = {.cli = cli};
    const char *defaults[DEFAULTS_MAX];
    size_t n_defaults = 0;
    bool quiet = false;
    int value, index = 0, status = OCV_OK;
    while (status >= 0 && (value = getopt_long(argc, argv, ":v", options, &index)) != -1) {
        status = cli_option(cli, value, options, index, &err);
        if (status != 0)
            continue;
        if (value == CLI_OPTION_HELP) {
            print_help();
            return 0;
        }
        if (value == CLI_OPTION_VERSION) {
            cli_print_version(cli);
            return 0;
        }
        if (value == OPTION_DEFAULT && n_defaults == DEFAULTS_MAX)
            status = ocv_error_set(&err, OCV_ERR_INVALID, "more than %u --default", DEFAULTS_MAX);
        else if (value == OPTION_DEFAULT)
            defaults[n_defaults++] = optarg;
        else if (value == OPTION_NAMESPACES)
            status = index_plan_namespaces(&c.plan, optarg, &err);
        else if (value == OPTION_STATIC)
            status = index_plan_static(&c.plan, optarg, &err);
        else if (value == OPTION_ANNOTATION)
            status = index_plan_annotation(&c.plan, optarg, &err);
        else if (value == OPTION_QUIET)
            quiet = true;
        else {
            index_plan_free(&c.plan);
            return cli_bad_option(cli, argv, value);
        }
    }
    if (status >= 0 && argc - optind < (n_defaults ? 1 : 2))
        status = ocv_error_set(&err, OCV_ERR_INVALID,
                               "index create: give oci:DIR:TAG and at least one LABEL=REF");
    if (status >= 0)
        status = run(&c, argv[optind], argv + optind + 1, defaults, n_defaults, quiet, &err);
    index_plan_free(&c.plan);
    ocv_layout_free(c.to);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
