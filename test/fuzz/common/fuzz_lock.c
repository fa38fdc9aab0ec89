/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as variants.lock: an accepted lock has usable digests and names, and every image and
 * machine is found by its name. */
#include "cmd/common/image/lockfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct lock *lock)
{
    for (size_t i = 0; i < lock->n_images; i++) {
        const struct lock_image *image = &lock->images[i];
        if (!ocv_digest_known(image->top) || !image->n_choices ||
            !lock_find(lock, image->reference))
            abort();
        if (!image->n_tags != !image->tags || image->n_tags > LOCK_TAGS_MAX)
            abort();
        for (size_t j = 0; j < image->n_tags; j++)
            if (!ocv_reference_tag_valid(image->tags[j].tag) ||
                !ocv_digest_known(image->tags[j].descriptor.digest))
                abort();
        for (size_t j = 0; j < image->n_choices; j++) {
            const struct lock_choice *choice = &image->choices[j];
            if (lock_choice(image, choice->profile) != choice ||
                !lock_holds(image, choice->digest) || !ocv_digest_known(choice->digest))
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct lock lock;
    struct ocv_error err = {0};
    int fd = memfd_create("lock", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int status = lock_read(path, &lock, &err);
    if (status == OCV_OK) {
        check(&lock);
        lock_free(&lock);
    } else if (status != OCV_ERR_DATA && status != OCV_ERR_NOMEM) {
        abort();
    } else if (lock.n_images || lock.root || !err.message[0]) {
        abort();
    }
    close(fd);
    return 0;
}
