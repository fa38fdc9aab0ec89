/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machines that a lock is for, as named profiles. */
#ifndef VARIANTCTL_LOCK_PROFILES_H
#define VARIANTCTL_LOCK_PROFILES_H

#include "cmd/common/image/lockfile.h"

struct named_profile {
    char *name;
    struct ocv_profile *profile;
    char *source; /**< for the lock, as in struct lock_choice; NULL: a file of the user's */
};
struct named_profiles {
    struct named_profile *list;
    size_t n;
};
/** Copies `name` and `source`, takes over `profile`. OCV_ERR_INVALID for a duplicate name, or more
 *  than LOCK_PROFILES_MAX. */
int named_profiles_add(struct named_profiles *profiles, const char *name, size_t len,
                       struct ocv_profile *profile, const char *source,
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Option callback: NAME=FILE, or FILE named by itself. */
int named_profiles_take(const struct ocv_option_given *given,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** The shipped profile of a common machine, under a name of the lock. OCV_ERR_NOT_FOUND: there is
 * no such profile now. */
int named_profiles_take_common(struct named_profiles *profiles, const char *name,
                               const char *common, struct ocv_error *err) OCV_WARN_UNUSED;
/** Every *.json of a directory, named by its file. Malformed ones are left out, counted and warned
 *  of; `strict`: an error. */
int named_profiles_take_directory(struct named_profiles *profiles, const struct cli *cli,
                                  const char *dir, bool strict,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Compare what the images of a lock stand for with what it has, and print what moved.
 *  OCV_ERR_CHECK if anything has. */
int lock_check(struct cli *cli, const char *path, struct ocv_error *err) OCV_WARN_UNUSED;
void named_profiles_free(struct named_profiles *profiles);

#endif
