/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/snapshotter/types/snapshot.h"

#include <stdlib.h>

void snap_info_free(struct snap_info *info)
{
    free(info->name);
    free(info->parent);
    ocv_buffer_free(&info->labels);
    *info = (struct snap_info){0};
}

void snap_mount_free(struct snap_mount *mount)
{
    free(mount->type);
    free(mount->source);
    for (size_t i = 0; i < mount->n_options; i++)
        free(mount->options[i]);
    *mount = (struct snap_mount){0};
}
