/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads one layer of an image with content-scan. */
#ifndef OCV_LAYER_READ_H
#define OCV_LAYER_READ_H

#include "cmd/common/image/image.h"
#include "lib/internal/content/content_report.h"

#include <pthread.h>

/** Reads layers, one at a time; several may work at the same time, each in its own thread. */
struct layer_reader {
    struct cli *cli;
    const struct image *image;
    struct ocv_registry *registry; /**< its own client, made for the first layer; the owner frees */
    const volatile int *stop;      /**< non-zero: give up with OCV_ERR_INTERRUPTED */
    pthread_mutex_t *parsing;      /**< held while a report is parsed */
};

/** The layer's report, from the cache or by reading the layer, which is then cached. Two readers
 * may read the same layer at once, if an image has it twice. */
int layer_read(struct layer_reader *reader, const struct ocv_descriptor *layer,
               struct ocv_content_report *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
