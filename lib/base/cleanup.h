/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Variables that free what they hold on leaving their scope, and giving it away before that. */
#ifndef OCV_CLEANUP_H
#define OCV_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void ocv_fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline int ocv_fd_steal(int *fd)
{
    int out = *fd;
    *fd = -1;
    return out;
}

static inline void ocv_free_cleanup(void *p)
{
    free(*(void **)p);
}

static inline void ocv_file_cleanup(FILE **file)
{
    if (*file)
        fclose(*file);
}

static inline void ocv_dir_cleanup(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

/** `ocv_auto_fd int fd = -1;` and the like. */
#define ocv_auto_fd __attribute__((cleanup(ocv_fd_close)))
#define ocv_auto_free __attribute__((cleanup(ocv_free_cleanup)))
#define ocv_auto_file __attribute__((cleanup(ocv_file_cleanup)))
#define ocv_auto_dir __attribute__((cleanup(ocv_dir_cleanup)))

/** The pointer's value; the pointer is NULL afterwards, so that its cleanup frees nothing. What
 * else the statement reads through the pointer may be read too late: `list[p->i] = ocv_steal(&p)`.
 */
#define ocv_steal(pointer)                           \
    __extension__({                                  \
        __typeof__(*(pointer)) *ocv_p_ = (pointer);  \
        __typeof__(*(pointer)) ocv_value_ = *ocv_p_; \
        *ocv_p_ = NULL;                              \
        ocv_value_;                                  \
    })

/** Return a call's status where it failed; what is held has a cleanup attribute. */
#define OCV_TRY(call)           \
    do {                        \
        int ocv_tried = (call); \
        if (ocv_tried < 0)      \
            return ocv_tried;   \
    } while (0)

#endif
