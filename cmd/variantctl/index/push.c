/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index push, copy: copy an index, or an image, with everything in it. Bytes stay the
 * same, so digests and signatures remain valid. */
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

struct copy {
    struct build build; /* first: its options are the verb's */
    struct sparse_options sparse;
};

static const struct ocv_option options[] = {
    {.name = "for",
     .value = "FLEET",
     .help = "only what these machines get, and the default",
     OCV_OPTION_LIST(struct copy, sparse.fleet)},
    {.name = "sparse",
     .help = "leave images out, keep the index\n"
             "(without --for: images that FROM lacks)",
     OCV_OPTION_FLAG(struct copy, sparse.sparse)},
    {.name = "prune",
     .help = "the same, with an index of what is copied",
     OCV_OPTION_FLAG(struct copy, sparse.prune)},
    {.name = "update",
     .help = "with --for: TO is such a copy; add what it lacks now",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct copy, sparse.update)},
    {.name = "all-ranks",
     .help = "with --for: also what these machines could run",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct copy, sparse.all_ranks)},
    {.group = write_rows, .offset = offsetof(struct copy, build.options)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl index copy [OPTIONS] FROM TO\n"
             "\n"
             "Copy an index or image with everything in it, byte for byte: between registries\n"
             "and OCI layouts. FROM is REPO:TAG, REPO@DIGEST or oci:DIR[:TAG], TO is REPO:TAG\n"
             "or oci:DIR:TAG. Within one registry blobs are mounted.\n",
    .details = "FLEET is a directory of profiles, a file or the name of a machine (h100). Give\n"
               "it again for more.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .arguments = {"FROM and TO", 2, 2, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl index copy registry.example/app:1.0 registry.example/stable:1.0\n"
           "  variantctl index copy --referrers registry.example/app:1.0 oci:mirror:app\n"
           "  variantctl index copy --for fleet --sparse registry.example/app:1.0 oci:m:app\n"};

static void build_free_at(struct build **b)
{
    build_free(*b);
}

static int check_sparse(const struct sparse_options *o, struct ocv_error *err)
{
    if (o->update && o->prune)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "index copy: --update keeps what is there, and --prune makes another "
                             "index");
    if (o->sparse && o->prune)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "index copy: give --sparse or --prune, not both");
    if (o->fleet.n && !o->update && !o->sparse && !o->prune)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "index copy: --for needs --sparse, where the index stays as it is, or "
                             "--prune, where it becomes one of what is copied");
    if (!o->fleet.n && (o->all_ranks || o->update))
        return ocv_error_set(err, OCV_ERR_INVALID, "index copy: --%s needs --for, the machines",
                             o->update ? "update" : "all-ranks");
    return OCV_OK;
}

int cmd_index_copy(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct copy copy = {.build = {.cli = cli}};
    __attribute__((cleanup(build_free_at))) struct build *b = &copy.build;
    __attribute__((cleanup(sparse_free))) struct sparse sparse = {0};
    int code = cli_read(cli, &command, &copy, argc, argv);
    if (code >= 0)
        return code;
    OCV_TRY(check_sparse(&copy.sparse, err));
    ocv_auto_image image = {0};
    ocv_auto_copier copier = {0};
    ocv_auto_buffer pruned;
    ocv_buffer_init(&pruned, OCV_MANIFEST_MAX);
    OCV_TRY(cli_load(cli, err));
    OCV_TRY(place_open(cli, cli->arguments[1], &b->to, err));
    OCV_TRY(publication_begin(&b->publication, &b->to, &b->options, err));
    struct ocv_descriptor there;
    int status = copy.sparse.update ? place_head(&b->to, b->to.tag, &there, err) : OCV_OK;
    if (status == OCV_ERR_NOT_FOUND)
        ocv_error_hint(err, "the first copy is made with --sparse");
    OCV_TRY(status);
    OCV_TRY(image_open(cli, cli->arguments[0], &image, err));
    bool part = copy.sparse.fleet.n || copy.sparse.sparse || copy.sparse.prune;
    if (part) {
        OCV_TRY(sparse_choose(cli, &copy.sparse, &image, &sparse, err));
        OCV_TRY(sparse_tell(cli, &image, &sparse, b->options.quiet || b->options.json, err));
    }
    OCV_TRY(copier_open(cli, &b->to, write_progress(cli, &b->options), &copier, err));
    copier.keep = sparse.keep;
    bool index = image.kind == OCV_DOCUMENT_INDEX, here = place_holds(&b->to, &image);
    if (!b->options.dry_run)
        OCV_TRY(place_prepare(&b->to, err));
    if (!b->options.dry_run && !here)
        OCV_TRY(copier_tree(&copier, &image, &image.top, 0, err));
    /* what refers to the images, and to the index where it stays as it is */
    bool referrers = !b->options.dry_run && !here && (b->options.referrers || part);
    if (referrers && !copy.sparse.prune)
        OCV_TRY(copy_referrers(&copier, &image, image.top.digest, err));
    for (size_t i = 0; referrers && index && i < ocv_index_count(image.index); i++)
        if (!copier.keep || copier.keep[i])
            OCV_TRY(copy_referrers(&copier, &image, ocv_index_entry(image.index, i)->digest, err));
    const char *type = image.top.media_type[0] ? image.top.media_type
                       : index                 ? OCV_MEDIA_TYPE_INDEX
                                               : OCV_MEDIA_TYPE_MANIFEST;
    if (copy.sparse.prune)
        OCV_TRY(sparse_prune(&image, &sparse, &pruned, err));
    status =
        publication_write(&b->publication, type, copy.sparse.prune ? &pruned : &image.body, err);
    if (status < 0 && part && !copy.sparse.prune && err->http_status == 400)
        ocv_error_hint(err, "a registry that wants all images of an index takes one with --prune");
    OCV_TRY(status);
    progress_finish(copier.progress);
    return publication_print(&b->publication, &copier, NULL, err);
}
