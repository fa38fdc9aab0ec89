/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records that are written and read back. */
#ifndef OCV_RECORD_UTIL_H
#define OCV_RECORD_UTIL_H

#include "lib/internal/records/records_internal.h"
#include "ocivariant.h"
#include "test/unit/layout/store_util.h"

#define CHILD "sha256:" ZEROS
#define INDEX "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define APP "docker.io/library/app"
static const struct ocv_record sample = {
    .repository = APP,
    .child = CHILD,
    .index = INDEX,
    .label = "cuda12.8",
    .properties = "nvidia :: sm_arch :: 90_real",
    .reference = "docker.io/library/app:1",
};

/* What the walk has told, one after the other. */
struct told {
    struct ocv_record last; /* texts below */
    char repository[128], child[OCV_DIGEST_MAX], index[OCV_DIGEST_MAX], label[64], properties[256],
        reference[128];
    unsigned n;
};

__attribute__((unused)) static void keep_text(char *to, size_t size, const char *from,
                                              const char **member)
{
    snprintf(to, size, "%s", from ? from : "");
    *member = from ? to : NULL;
}

__attribute__((unused)) static int hear(void *data, const struct ocv_record *record)
{
    struct told *told = data;
    told->n++;
    told->last.secret = record->secret;
    keep_text(told->repository, sizeof(told->repository), record->repository,
              &told->last.repository);
    keep_text(told->child, sizeof(told->child), record->child, &told->last.child);
    keep_text(told->index, sizeof(told->index), record->index, &told->last.index);
    keep_text(told->label, sizeof(told->label), record->label, &told->last.label);
    keep_text(told->properties, sizeof(told->properties), record->properties,
              &told->last.properties);
    keep_text(told->reference, sizeof(told->reference), record->reference, &told->last.reference);
    return OCV_OK;
}

__attribute__((unused)) static struct told walk(const char *dir, const char *repository,
                                                const char *child)
{
    struct told told = {0};
    need(ocv_record_walk(dir, repository, child, hear, &told, &err));
    return told;
}

__attribute__((unused)) static struct told read_back(const char *dir)
{
    struct told told = walk(dir, APP, CHILD);
    ck_assert_uint_eq(told.n, 1);
    return told;
}

/* The file of a record, or with `directory` "indexes/" of an index. */
__attribute__((unused)) static char *file_of(const char *directory, const char *digest,
                                             const char *repository)
{
    static char path[512];
    char name[OCV_RECORD_NAME_MAX];
    need(ocv_record_name(digest, repository, name, &err));
    snprintf(path, sizeof(path), "%s/%s%s", scratch, directory, name);
    return path;
}

#define A_DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_DIGEST "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define A_ENTRY                                                                              \
    "{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"digest\":\"" A_DIGEST "\",\"size\":2," \
    "\"annotations\":{\"" OCV_ANNOTATION_LABEL "\":\"a\",\"" OCV_ANNOTATION_PROPERTIES       \
    "\":\"nvidia :: sm_arch :: 90_real\"}}"

/* An index with two variants; `note` makes its bytes other ones. */
__attribute__((unused)) static struct ocv_index *make_index(const char *note)
{
    char text[2048];
    struct ocv_index *index = NULL;
    int n = snprintf(
        text, sizeof(text),
        "{\"schemaVersion\":2,\"annotations\":{\"note\":\"%s\"},\"manifests\":[" A_ENTRY ","
        "{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"digest\":\"" B_DIGEST "\",\"size\":2,"
        "\"annotations\":{\"" OCV_ANNOTATION_LABEL "\":\"b\",\"" OCV_ANNOTATION_PROPERTIES
        "\":\"amd :: gfx_arch :: gfx942\"}}]}",
        note);
    need(ocv_index_parse(text, (size_t)n, NULL, &index, &err));
    return index;
}

#define OTHER "docker.io/attacker/x"

#endif
