/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/cli.h"
#include "lib/base/cleanup.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define OCI "oci:"

struct tags {
    struct ocv_completion *c;
    const char *before; /* "oci:DIR:" */
};

static int offer_tag(void *data, const char *tag, const char *image_name,
                     const struct ocv_descriptor *descriptor)
{
    const struct tags *tags = data;
    char text[2 * PATH_MAX];
    (void)descriptor;
    tag = tag ? tag : image_name;
    snprintf(text, sizeof(text), "%s%s", tags->before, tag ? tag : "");
    if (tag)
        ocv_complete_offer(tags->c, text, NULL);
    return 0;
}

void complete_layout(struct ocv_completion *c, const char *head)
{
    const char *typed = c->word + strlen(head);
    char dir[PATH_MAX], before[2 * PATH_MAX];
    struct ocv_error err = {0};
    ocv_auto(ocv_layout) layout = NULL;
    if (strncmp(typed, OCI, strlen(OCI)) != 0) {
        char text[PATH_MAX];
        snprintf(text, sizeof(text), "%s" OCI, head);
        if (*typed && !strncmp(OCI, typed, strlen(typed))) { /* most images are in registries */
            ocv_complete_offer(c, text, "an image layout in a directory");
            c->how |= OCV_COMPLETE_NO_SPACE;
        }
        return;
    }
    typed += strlen(OCI);
    const char *colon = strrchr(typed, ':');
    snprintf(dir, sizeof(dir), "%.*s", colon ? (int)(colon - typed) : (int)strlen(typed), typed);
    if (*dir && ocv_layout_open(dir, OCV_LAYOUT_READ, &layout, &err) == OCV_OK) {
        struct tags tags = {c, before};
        snprintf(before, sizeof(before), "%s" OCI "%s:", head, dir);
        (void)!ocv_layout_list(layout, offer_tag, &tags, &err);
        return;
    }

    const char *slash = strrchr(typed, '/'), *name = slash ? slash + 1 : typed;
    char path[PATH_MAX], parent[PATH_MAX], file[PATH_MAX + 16], text[2 * PATH_MAX];
    snprintf(parent, sizeof(parent), "%.*s", (int)(name - typed), typed);
    ocv_auto_dir DIR *entries = opendir(*parent ? parent : ".");
    for (const struct dirent *e = entries ? readdir(entries) : NULL; e; e = readdir(entries)) {
        bool hidden = e->d_name[0] == '.' &&
                      (name[0] != '.' || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."));
        if ((e->d_type != DT_DIR && e->d_type != DT_LNK && e->d_type != DT_UNKNOWN) || hidden ||
            snprintf(path, sizeof(path), "%s%s", parent, e->d_name) >= (int)sizeof(path) ||
            access(path, X_OK) != 0)
            continue;
        /* the layout if it is one, else a part of the path */
        snprintf(file, sizeof(file), "%s/oci-layout", path);
        snprintf(text, sizeof(text), "%s" OCI "%s%s", head, path,
                 access(file, R_OK) == 0 ? "" : "/");
        ocv_complete_offer(c, text, NULL);
        c->how |= OCV_COMPLETE_NO_SPACE;
    }
}

void complete_labels(struct ocv_completion *c, const char *behind)
{
    char text[256], dir[PATH_MAX];
    struct ocv_error err = {0};
    struct ocv_descriptor top;
    ocv_auto(ocv_layout) layout = NULL;
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    size_t i = 0;
    while (i < c->n_before && strncmp(c->before[i], OCI, strlen(OCI)) != 0)
        i++;
    snprintf(text, sizeof(text), "null%s", behind);
    ocv_complete_offer(c, text, "the default");
    /* the index that "oci:DIR[:TAG]" names */
    const char *path = i < c->n_before ? c->before[i] + strlen(OCI) : "";
    const char *tag = strrchr(path, ':');
    snprintf(dir, sizeof(dir), "%.*s", tag ? (int)(tag - path) : (int)strlen(path), path);
    if (i < c->n_before && ocv_layout_open(dir, OCV_LAYOUT_READ, &layout, &err) == OCV_OK &&
        ocv_layout_resolve(layout, tag ? tag + 1 : NULL, &top, &err) == OCV_OK &&
        ocv_layout_read_blob(layout, top.digest, &body, &err) == OCV_OK)
        (void)!ocv_index_parse(body.data, body.len, top.media_type, &index, &err);
    for (size_t k = 0; index && k < ocv_index_count(index); k++) {
        const struct ocv_entry *entry = ocv_index_entry(index, k);
        if (entry->label && strcmp(entry->label, "null") != 0 &&
            snprintf(text, sizeof(text), "%s%s", entry->label, behind) < (int)sizeof(text))
            ocv_complete_offer(c, text, NULL);
    }
    if (*behind)
        c->how |= OCV_COMPLETE_NO_SPACE;
}
