/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Programs that nobody but root and this user could have put where they are. The path is walked
 * once, each component in the directory before it, so that nothing is looked up twice. */
#ifndef OCV_TRUSTED_H
#define OCV_TRUSTED_H

#include "ocivariant/error.h"

#include <sys/stat.h>

/** Open a file or directory (`type`: S_IFREG, S_IFDIR). Each directory on the way, each link and
 *  the directory that it lies in must belong to root or to this user, and no other may write there;
 *  on the way, a directory may have the sticky bit (/tmp). Without right to read it, `*fd` can only
 *  be executed. OCV_ERR_NOT_FOUND; OCV_ERR_CONFIG names what is not trusted, and why. */
int ocv_trusted_open(const char *path, mode_t type, int *fd, struct ocv_error *err) OCV_WARN_UNUSED;
/** The same of a program, and of what reads it: the interpreter that its first line names, or,
 * where it is neither ELF nor a script, every program that is registered for such files
 * (binfmt_misc). What an interpreter finds by itself (env) is not looked at. `*script`: another
 * program reads it, and needs the descriptor to stay open. */
int ocv_trusted_program(const char *path, int *fd, bool *script,
                        struct ocv_error *err) OCV_WARN_UNUSED;

#endif
