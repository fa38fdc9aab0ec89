/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* As which users images run (OCV412). */
#include "lib/core/core_internal.h"
#include "lib/internal/lint/lint_internal.h"

#include <string.h>

/* The user of an image that readers choose from; false where its config says nothing readable. */
static bool user_of(const struct ocv_lint *lint, size_t i, char out[OCV_IMAGE_USER_MAX])
{
    const struct ocv_lint_child *child = ocv_lint_child(lint, i);
    return ocv_index_entry(lint->index, i)->code == OCV_REJECT_NONE && child && child->config &&
           ocv_image_user_of(child->config, out, NULL) == OCV_OK;
}

void ocv_lint_check_users(struct ocv_lint *lint)
{
    char user[OCV_IMAGE_USER_MAX], other[OCV_IMAGE_USER_MAX];
    for (size_t i = 0; i < ocv_index_count(lint->index) && lint->status == OCV_OK; i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        /* against the first image of its platform */
        for (size_t k = 0; k < i; k++) {
            if (!ocv_lint_same_platform(ocv_index_entry(lint->index, k), entry) ||
                !user_of(lint, k, other))
                continue;
            if (user_of(lint, i, user) && strcmp(user, other) != 0) {
                ocv_lint_entry_at(lint, OCV_LINT_USERS_DIFFER, i, "",
                                  "the image runs as %s, the first one of its platform as %s", user,
                                  other);
                ocv_lint_hint(lint, "build all of them with the same USER");
            }
            break;
        }
    }
}
