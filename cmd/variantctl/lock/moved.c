/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lock --check: do the names of a lock still stand for what is locked? */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/lock/lock_profiles.h"
#include "lib/base/cleanup.h"

#include <string.h>

/* Print that it moved. */
static size_t note_moved(const char *name, const char *tag, const char *was, const char *is)
{
    printf("%s%s%s: was %s, %s%s\n", name, *tag ? ": tag " : "", tag, was, *is ? "is " : "is gone",
           is);
    return 1;
}

/* Tags of a set have their own digests; one that came since may win, too. */
static size_t moved_tags(const struct lock_image *locked, const struct image *image)
{
    const struct ocv_descriptor *d = NULL;
    const char *tag;
    size_t moved = 0;
    for (size_t i = 0; i < locked->n_tags; i++) {
        const struct lock_tag *was = &locked->tags[i];
        bool there = false;
        for (size_t k = 0; (tag = ocv_tag_choice_candidate(image->choice, k, &d)) && !there; k++)
            if (!strcmp(tag, was->tag)) {
                there = true;
                if (strcmp(d->digest, was->descriptor.digest) != 0)
                    moved += note_moved(locked->reference, tag, was->descriptor.digest, d->digest);
            }
        if (!there)
            moved += note_moved(locked->reference, was->tag, was->descriptor.digest, "");
    }
    for (size_t k = 0; (tag = ocv_tag_choice_candidate(image->choice, k, &d)); k++) {
        size_t i = 0;
        while (i < locked->n_tags && strcmp(locked->tags[i].tag, tag) != 0)
            i++;
        if (i == locked->n_tags) {
            printf("%s: tag %s is new: %s\n", locked->reference, tag, d->digest);
            moved++;
        }
    }
    return moved;
}

int lock_check(struct cli *cli, const char *path, struct ocv_error *err)
{
    __attribute__((cleanup(lock_free))) struct lock lock = {0};
    size_t moved = 0;
    OCV_TRY(lock_read(path, &lock, err));
    for (size_t i = 0; i < lock.n_images; i++) {
        const struct lock_image *locked = &lock.images[i];
        ocv_auto_image image = {0};
        int status = image_open_by_rule(cli, locked->reference, &image, err);
        if (status < 0 && status != OCV_ERR_NOT_FOUND)
            return status;
        if (status < 0)
            moved += note_moved(locked->reference, "", locked->top, "");
        else if (image.choice && locked->n_tags)
            moved += moved_tags(locked, &image) > 0;
        else if (strcmp(image.top.digest, locked->top) != 0)
            moved += note_moved(locked->reference, "", locked->top, image.top.digest);
    }
    OCV_TRY(cli_print("", 0, err));
    if (moved == 0)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_CHECK, "%s: %zu of %zu image%s moved", path, moved, lock.n_images,
                  lock.n_images == 1 ? " has" : "s have");
    ocv_error_hint(err, "variantctl lock --update %.200s", path);
    return OCV_ERR_CHECK;
}
