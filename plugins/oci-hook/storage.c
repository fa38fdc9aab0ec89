/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ROOT/DRIVER-containers/containers.json names the image's id, ROOT/DRIVER-images/images.json that
 * image's manifest digest and names. Engines replace both files by rename, so a read sees a whole
 * one. */
#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "plugins/oci-hook/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (32u * 1024 * 1024) /* tens of thousands of images */
#define VALUES_MAX (FILE_MAX / 32)   /* of which each has about 40, in more than a kilobyte */
#define SUFFIX "-containers"

/* `*lost`: the file exists but cannot be read. */
static json_t *read_list(const char *path, bool *lost)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, FILE_MAX);
    int status = ocv_file_read(path, OCV_FILE_REGULAR, &text, NULL);
    json_t *list =
        status == OCV_OK ? ocv_json_load_any(text.data, text.len, VALUES_MAX, 0, NULL) : NULL;
    *lost |= !list && status != OCV_ERR_NOT_FOUND;
    return list;
}

static const json_t *find_item(const json_t *list, const char *id)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        const char *own = ocv_json_text(item, "id");
        if (own && strcmp(own, id) == 0)
            return item;
    }
    return NULL;
}

static bool search_root(const char *root, const char *driver, const char *id,
                        struct storage_image *out)
{
    char path[4300];
    static const char *const files[] = {"containers.json", "volatile-containers.json"};
    json_t *containers = NULL;
    const char *image = NULL;
    /* Newer versions keep containers that are removed at their end (--rm) in a file of their own.
     */
    for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !image; i++) {
        json_decref(containers);
        snprintf(path, sizeof(path), "%s/%s-containers/%s", root, driver, files[i]);
        containers = read_list(path, &out->lost);
        image = ocv_json_text(find_item(containers, id), "image");
    }
    snprintf(path, sizeof(path), "%s/%s-images/images.json", root, driver);
    json_t *images = image ? read_list(path, &out->lost) : NULL;
    const json_t *entry = image ? find_item(images, image) : NULL;
    /* An image that was pulled by an index's digest has that digest. What runs is the entry that
     * the engine chose, whose manifest is among the image's data. */
    const json_t *kept = json_object_get(entry, "big-data-digests");
    const char *digest = ocv_json_text(kept, "manifest");
    if (!digest || !ocv_digest_wellformed(digest))
        digest = ocv_json_text(entry, "digest");
    /* The first name with a tag: it leads to the index with the other variants, a digest does not.
     */
    const json_t *names = json_object_get(entry, "names");
    const char *name = NULL;
    for (size_t i = 0; i < json_array_size(names) && !name; i++) {
        const char *one = json_string_value(json_array_get(names, i));
        name = one && !strchr(one, '@') ? one : NULL;
    }
    if (!name)
        name = json_string_value(json_array_get(names, 0));
    if (digest && ocv_digest_wellformed(digest))
        snprintf(out->digest, sizeof(out->digest), "%s", digest);
    out->lost |= image && *image && !out->digest[0];
    snprintf(out->name, sizeof(out->name), "%s", name ? name : "");
    json_decref(containers);
    json_decref(images);
    return out->digest[0] != '\0';
}

bool storage_find(const char *bundle, const char *root, struct storage_image *out)
{
    char own[4096], driver[64], id[128];
    *out = (struct storage_image){0};
    /* Split "ROOT/DRIVER-containers/ID/userdata". */
    if (snprintf(own, sizeof(own), "%s", bundle) >= (int)sizeof(own))
        return false;
    char *tail = strrchr(own, '/');
    if (!tail || strcmp(tail, "/userdata") != 0)
        return false;
    *tail = '\0';
    char *name = strrchr(own, '/');
    if (!name || strlen(name + 1) >= sizeof(id) || !name[1])
        return false;
    memcpy(id, name + 1, strlen(name + 1) + 1);
    *name = '\0';
    char *directory = strrchr(own, '/');
    size_t len = directory ? strlen(directory + 1) : 0, suffix = strlen(SUFFIX);
    if (len <= suffix || len - suffix >= sizeof(driver) ||
        strcmp(directory + 1 + len - suffix, SUFFIX) != 0)
        return false;
    memcpy(driver, directory + 1, len - suffix);
    driver[len - suffix] = '\0';
    *directory = '\0';
    return search_root(own, driver, id, out) || (root && search_root(root, driver, id, out));
}
