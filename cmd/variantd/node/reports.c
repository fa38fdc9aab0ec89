/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/log.h"
#include "cmd/variantd/node/node.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* An image, keyed by the hash of its name, since names are long. */
struct image_sighting {
    char key[OCV_DIGEST_MAX], digest[OCV_DIGEST_MAX];
    int64_t told_ms;
    enum here what;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct image_sighting images[HERE_MAX];
static size_t n_images;
static bool told; /* of any image since the start */

/* A tag stands for one image on this node; an image without a tag is keyed by its digest. */
static bool make_key(const struct ocv_reference *name, const char *digest, char key[OCV_DIGEST_MAX])
{
    char text[1024];
    int len = snprintf(text, sizeof(text), "%s%c%s", name->name, name->tag ? ':' : '@',
                       name->tag ? name->tag : digest);
    return len > 0 && len < (int)sizeof(text) && strlen(digest) < OCV_DIGEST_MAX &&
           ocv_digest_bytes(text, (size_t)len, key, NULL) == OCV_OK;
}

/* Call with the lock held, as the functions below. */
static void forget_old(int64_t now)
{
    for (size_t i = 0; i < n_images;)
        if (now - images[i].told_ms > (int64_t)HERE_S * 1000)
            images[i] = images[--n_images];
        else
            i++;
}

static struct image_sighting *find_image(const char *key)
{
    for (size_t i = 0; i < n_images; i++)
        if (strcmp(images[i].key, key) == 0)
            return &images[i];
    return NULL;
}

bool local_images_report(const struct ocv_reference *name, const char *digest, enum here what)
{
    char key[OCV_DIGEST_MAX];
    if (!make_key(name, digest, key))
        return false;
    pthread_mutex_lock(&lock);
    int64_t now = ocv_clock_ms();
    forget_old(now);
    told = true;
    struct image_sighting *image = find_image(key);
    if (!image) {
        image = images; /* the oldest, if there is no room */
        for (size_t i = 1; n_images == HERE_MAX && i < n_images; i++)
            if (images[i].told_ms < image->told_ms)
                image = &images[i];
        if (n_images < HERE_MAX)
            image = &images[n_images++];
        *image = (struct image_sighting){.what = HERE_FITS};
        memcpy(image->key, key, strlen(key) + 1);
    }
    bool same = strcmp(image->digest, digest) == 0;
    bool news = what == HERE_LESSER && !(same && image->what == HERE_LESSER);
    memcpy(image->digest, digest, strlen(digest) + 1);
    image->what = what;
    image->told_ms = now;
    pthread_mutex_unlock(&lock);
    return news;
}

bool local_images_is_ordinary(const struct ocv_reference *name, const char *digest)
{
    char key[OCV_DIGEST_MAX];
    if (!make_key(name, digest, key))
        return false;
    pthread_mutex_lock(&lock);
    forget_old(ocv_clock_ms());
    const struct image_sighting *image = find_image(key);
    bool ordinary = image && image->what == HERE_ORDINARY && strcmp(image->digest, digest) == 0;
    pthread_mutex_unlock(&lock);
    return ordinary;
}

bool local_images_lesser(size_t *n)
{
    *n = 0;
    pthread_mutex_lock(&lock);
    forget_old(ocv_clock_ms());
    for (size_t i = 0; i < n_images; i++)
        *n += images[i].what == HERE_LESSER;
    bool known = told;
    pthread_mutex_unlock(&lock);
    return known;
}

#define REPORT_MAX 1024u /* bytes; the reason is one line of text */

void setup_report_read(const char *path, struct metrics *metrics)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, REPORT_MAX);
    if (!path)
        return;
    int status = ocv_file_read(path, OCV_FILE_REGULAR, &text, &err);
    if (status == OCV_OK && text.data)
        text.data[strcspn(text.data, "\n")] = '\0';
    bool configured = status == OCV_OK && text.data && strcmp(text.data, "configured") == 0;
    if (!configured && status == OCV_OK && text.data)
        ocv_text_clean(text.data);
    if (!configured)
        log_line(LOG_LEVEL_WARNING, "no engine of this node asks the mirror: %s",
                 status < 0  ? err.message
                 : text.data ? text.data
                             : "the report is empty");
    metrics_set(metrics, METRIC_ENGINE_NOT_CONFIGURED, !configured);
}
