/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index push, copy: copy an index, or an image, with everything in it. Bytes stay the
 * same, so digests and signatures remain valid. */
#include "cmd/variantctl/index/index_verbs.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_command command = {
    .usage = "Usage: variantctl index copy [OPTIONS] FROM TO\n"
             "\n"
             "Copy an index or image with everything in it, byte for byte: between registries\n"
             "and OCI layouts. FROM is REPO:TAG, REPO@DIGEST or oci:DIR[:TAG], TO is REPO:TAG\n"
             "or oci:DIR:TAG. Within one registry blobs are mounted.\n",
    .options = write_rows,
    .groups = CLI_REGISTRY,
    .end = "\n"
           "Examples:\n"
           "  variantctl index copy registry.example/app:1.0 registry.example/stable:1.0\n"
           "  variantctl index copy --referrers registry.example/app:1.0 oci:mirror:app\n"
           "  variantctl index copy --expect none oci:images:app registry.example/new:1.0\n"};

/* Referrers of all images of an index, each once. */
static int all_referrers(struct copier *copier, const struct image *image, struct ocv_error *err)
{
    int status = copy_referrers(copier, image, image->top.digest, err);
    for (size_t i = 0;
         image->kind == OCV_DOCUMENT_INDEX && i < ocv_index_count(image->index) && status == OCV_OK;
         i++)
        status = copy_referrers(copier, image, ocv_index_entry(image->index, i)->digest, err);
    return status;
}

static const char *type_of(const struct image *image)
{
    if (image->top.media_type[0])
        return image->top.media_type;
    return image->kind == OCV_DOCUMENT_INDEX ? OCV_MEDIA_TYPE_INDEX : OCV_MEDIA_TYPE_MANIFEST;
}

static int copy_all(struct build *b, struct image *image, struct copier *copier,
                    struct ocv_error *err)
{
    int status = OCV_OK;
    bool here = place_holds(&b->to, image);
    if (!b->options.dry_run) {
        status = place_prepare(&b->to, err);
        if (status == OCV_OK && !here)
            status = copier_tree(copier, image, &image->top, err);
        if (status == OCV_OK && !here && b->options.referrers)
            status = all_referrers(copier, image, err);
    }
    if (status == OCV_OK)
        status = publication_write(&b->publication, type_of(image), &image->body, err);
    progress_finish(copier->progress);
    return status == OCV_OK ? publication_print(&b->publication, copier, NULL, err) : status;
}

static int push_index(struct build *b, const char *from, const char *to, struct ocv_error *err)
{
    struct image image = {0};
    struct copier copier = {0};
    int status = cli_load(b->cli, err);
    if (status == OCV_OK)
        status = place_open(b->cli, to, &b->to, err);
    if (status == OCV_OK)
        status = publication_begin(&b->publication, &b->to, &b->options, err);
    if (status == OCV_OK)
        status = image_open(b->cli, from, &image, err);
    if (status == OCV_OK)
        status = copier_open(b->cli, &b->to, write_progress(b->cli, &b->options), &copier, err);
    if (status == OCV_OK)
        status = copy_all(b, &image, &copier, err);
    copier_close(&copier);
    image_close(&image);
    return status;
}

int cmd_index_copy(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct build build = {.cli = cli};
    int status, code = cli_read(cli, &command, &build.options, argc, argv);
    if (code < 0) {
        status = cli->n_arguments != 2
                     ? ocv_error_set(&err, OCV_ERR_INVALID, "index %s: give FROM and TO", argv[0])
                     : push_index(&build, cli->arguments[0], cli->arguments[1], &err);
        code = status < 0 ? cli_fail(cli, &err) : 0;
    }
    build_free(&build);
    return code;
}
