/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index push, copy: copy an index, or an image, with everything in it. Bytes stay the
 * same, so digests and signatures remain valid. */
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"

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

int cmd_index_copy(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    __attribute__((cleanup(build_free))) struct build b = {.cli = cli};
    int code = cli_read(cli, &command, &b.options, argc, argv);
    if (code >= 0)
        return code;
    if (cli->n_arguments != 2)
        return ocv_error_set(err, OCV_ERR_INVALID, "index %s: give FROM and TO", argv[0]);
    ocv_auto_image image = {0};
    ocv_auto_copier copier = {0};
    OCV_TRY(cli_load(cli, err));
    OCV_TRY(place_open(cli, cli->arguments[1], &b.to, err));
    OCV_TRY(publication_begin(&b.publication, &b.to, &b.options, err));
    OCV_TRY(image_open(cli, cli->arguments[0], &image, err));
    OCV_TRY(copier_open(cli, &b.to, write_progress(cli, &b.options), &copier, err));
    bool index = image.kind == OCV_DOCUMENT_INDEX, here = place_holds(&b.to, &image);
    if (!b.options.dry_run)
        OCV_TRY(place_prepare(&b.to, err));
    if (!b.options.dry_run && !here) {
        OCV_TRY(copier_tree(&copier, &image, &image.top, 0, err));
        if (b.options.referrers)
            OCV_TRY(copy_referrers(&copier, &image, image.top.digest, err));
        for (size_t i = 0; index && b.options.referrers && i < ocv_index_count(image.index); i++)
            OCV_TRY(copy_referrers(&copier, &image, ocv_index_entry(image.index, i)->digest, err));
    }
    const char *type = image.top.media_type[0] ? image.top.media_type
                       : index                 ? OCV_MEDIA_TYPE_INDEX
                                               : OCV_MEDIA_TYPE_MANIFEST;
    OCV_TRY(publication_write(&b.publication, type, &image.body, err));
    progress_finish(copier.progress);
    return publication_print(&b.publication, &copier, NULL, err);
}
