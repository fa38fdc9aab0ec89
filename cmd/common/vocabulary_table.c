/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/vocabulary_table.h"

#include "gen/vocabulary-words.h"

#include <string.h>

#define NAMESPACES (sizeof(vocabulary_namespaces) / sizeof(*vocabulary_namespaces))

const struct vocabulary_namespace *vocabulary_namespace_at(size_t i)
{
    return i < NAMESPACES ? &vocabulary_namespaces[i] : NULL;
}

const struct vocabulary_namespace *vocabulary_namespace_find(const char *name)
{
    for (size_t i = 0; i < NAMESPACES; i++)
        if (!strcmp(vocabulary_namespaces[i].name, name))
            return &vocabulary_namespaces[i];
    return NULL;
}

const struct vocabulary_feature *vocabulary_feature_at(const struct vocabulary_namespace *ns,
                                                       size_t i)
{
    return &vocabulary_features[ns->first + i];
}

const struct vocabulary_feature *vocabulary_feature_find(const struct vocabulary_namespace *ns,
                                                         const char *name)
{
    for (size_t i = 0; i < ns->n; i++)
        if (!strcmp(vocabulary_features[ns->first + i].name, name))
            return &vocabulary_features[ns->first + i];
    return NULL;
}
