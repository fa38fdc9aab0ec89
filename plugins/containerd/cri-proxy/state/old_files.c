/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Versions before 0.2 kept a JSON file for each choice and each index ("index-ALGORITHM-HEX"); this
 * goes when nobody upgrades from them any more. */
#include "plugins/containerd/cri-proxy/state/state_internal.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (64u * 1024)

static bool is_sound(const struct state_old *x)
{
    ocv_auto(ocv_reference) reference = NULL;
    if (strlen(x->reference) >= PINNED_TEXT_MAX ||
        ocv_reference_parse(x->reference, &reference, NULL) < 0 || !ocv_digest_known(x->child))
        return false;
    if (!x->index && !x->user)
        return !x->wishes && !x->devices && !x->uid && !x->seen && pinned_by_digest(reference);
    if (!x->index || !x->user || !ocv_digest_known(x->index) || !*x->user ||
        strlen(x->user) >= STATE_USER_MAX)
        return false;
    if (x->wishes && x->devices && !x->uid && !x->seen)
        return strlen(x->devices) < STATE_DEVICES_MAX;
    return x->uid && x->seen && !x->wishes && !x->devices && (*x->uid || *x->seen) &&
           strlen(x->uid) < STATE_POD_MAX && strlen(x->seen) < STATE_POD_MAX;
}

int state_old_parse(const void *bytes, size_t len, struct state_old *out, struct ocv_error *err)
{
    const struct {
        const char *key, **to;
    } texts[] = {{"reference", &out->reference}, {"wishes", &out->wishes},
                 {"devices", &out->devices},     {"uid", &out->uid},
                 {"seen", &out->seen},           {"child", &out->child},
                 {"index", &out->index},         {"user", &out->user}};
    json_t *json = NULL;
    *out = (struct state_old){0};
    int status = ocv_json_load("file", bytes, len, FILE_MAX, &json, err);
    for (size_t i = 0; status == OCV_OK && i < sizeof(texts) / sizeof(*texts); i++)
        status = ocv_json_string(json, "file", texts[i].key, texts[i].to, err);
    if (status == OCV_OK && (!out->reference || !out->child || !is_sound(out)))
        status = ocv_error_set(err, OCV_ERR_DATA, "not a choice of this proxy");
    if (status < 0) {
        json_decref(json);
        return status;
    }
    if (!out->index && out->reference)
        out->index = strrchr(out->reference, '@') + 1;
    out->time = json_integer_value(json_object_get(json, "time"));
    out->owner = json;
    return OCV_OK;
}

/* Read a file. One that cannot be read holds up none of the others: it is no choice. */
static int read_file(int fd, const char *dir, const char *name, struct ocv_buffer *out,
                     struct ocv_error *err)
{
    int status = ocv_file_read_at(fd, dir, name, out, err);
    return status < 0 && status != OCV_ERR_NOMEM ? OCV_ERR_DATA : status;
}

static int take_file(struct state *state, int fd, const char *dir, const char *name, bool proved,
                     struct ocv_error *err)
{
    struct state_old old;
    char index_name[OCV_DIGEST_MAX + 16];
    ocv_auto_buffer text;
    ocv_auto_buffer body;
    ocv_buffer_init(&text, FILE_MAX);
    ocv_buffer_init(&body, STATE_INDEX_MAX);
    OCV_TRY(read_file(fd, dir, name, &text, err));
    OCV_TRY(state_old_parse(text.data ? text.data : "", text.len, &old, err));
    ocv_auto_json *owner = old.owner;
    (void)owner; /* freed on every way out */
    snprintf(index_name, sizeof(index_name), "index-%s", old.index);
    *strchr(index_name, ':') = '-';
    int kept = read_file(fd, dir, index_name, &body, err);
    if (kept == OCV_OK)
        kept = ocv_digest_check(old.index, body.data ? body.data : "", body.len, err);
    if (proved) { /* another user could have written it; only a pin says of which index it speaks */
        ocv_auto(ocv_index) index = NULL;
        if (old.user)
            return ocv_error_set(err, OCV_ERR_DATA, "not a choice of a pinned index");
        OCV_TRY(kept);
        OCV_TRY(ocv_index_parse(body.data ? body.data : "", body.len, NULL, &index, err));
        if (!ocv_index_find_digest(index, old.child))
            return ocv_error_set(err, OCV_ERR_DATA, "%s is not in that index", old.child);
    }
    OCV_TRY(old.user ? state_put_old_choice(state, &old, err)
                     : state_put_old_pinned(state, &old, err));
    return kept == OCV_OK ? state_put_index(state, old.index, body.data, body.len, err) : OCV_OK;
}

void state_take_over(struct state *state, const char *dir, bool proved)
{
    struct ocv_error err = {0};
    size_t n = 0, taken = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list) {
        if (fd >= 0)
            close(fd);
        return;
    }
    int status = state_begin(state, &err);
    bool begun = status == OCV_OK;
    for (const struct dirent *d; status == OCV_OK && (d = readdir(list));) {
        size_t len = strlen(d->d_name);
        struct ocv_error why = {0};
        if (len < 6 || strcmp(d->d_name + len - 5, ".json") != 0)
            continue;
        n++;
        int got = take_file(state, fd, dir, d->d_name, proved, &why);
        taken += got == OCV_OK;
        if (got == OCV_ERR_NOMEM || got == OCV_ERR_IO) {
            status = got;
            err = why;
        } else if (got < 0) {
            log_line("%s/%s is not used: %s", dir, d->d_name, why.message);
        }
    }
    if (begun)
        status = state_end(state, status, &err);
    if (status < 0)
        log_line("%s: nothing is taken over: %s", dir, err.message);
    bool stored = status == OCV_OK && !state->in_memory;
    rewinddir(list);
    for (const struct dirent *d; stored && (d = readdir(list));) {
        size_t len = strlen(d->d_name);
        if (strncmp(d->d_name, "index-", 6) == 0 ||
            (len > 5 && strcmp(d->d_name + len - 5, ".json") == 0))
            (void)unlinkat(fd, d->d_name, 0);
    }
    closedir(list);
    if (strcmp(dir, state->dir) != 0)
        (void)rmdir(dir); /* fails if it is not empty */
    if (n)
        log_line("%zu of %zu choices in %s are now in %s", status == OCV_OK ? taken : 0, n, dir,
                 state->in_memory ? "memory" : state->path);
}
