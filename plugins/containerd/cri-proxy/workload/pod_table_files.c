/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/pod_table_internal.h"

#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "plugins/containerd/cri-proxy/pinned/pinned.h"
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_MAX (64u * 1024) /* bytes of a row's file */
#define NAME_MAX_BYTES 192

static int row_name(const struct pod_row *row, char out[NAME_MAX_BYTES], struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    const char *kind = strstr(row->key, "\nuid ") || strstr(row->key, "\nseen ") ? "pod" : "choice";
    OCV_TRY(ocv_digest_bytes(row->key, strlen(row->key), digest, err));
    snprintf(out, NAME_MAX_BYTES, "%s-%s.json", kind, strchr(digest, ':') + 1);
    return OCV_OK;
}

/* The digest's algorithm is known, so it is safe in a name. */
static void index_name(const char *digest, char out[NAME_MAX_BYTES])
{
    snprintf(out, NAME_MAX_BYTES, "index-%s", digest);
    *strchr(out, ':') = '-';
}

int table_directory(struct pod_table *t, bool make, struct ocv_error *err)
{
    if (t->fd >= 0)
        return OCV_OK;
    if (make)
        OCV_TRY(ocv_directory_make(t->dir, 0700, err));
    t->fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (t->fd < 0 && (make || errno != ENOENT))
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", t->dir, strerror(errno));
    return OCV_OK;
}

int table_write_row(struct pod_table *t, const struct pod_row *row, struct ocv_error *err)
{
    char name[NAME_MAX_BYTES];
    ocv_auto_buffer text;
    ocv_buffer_init(&text, ROW_MAX);
    const struct table_value *v = &row->value;
    ocv_auto_json *json =
        json_pack("{s:s, s:s*, s:s*, s:s*, s:s*, s:s, s:s, s:s, s:I}", "reference", row->reference,
                  "wishes", row->wishes, "devices", row->devices, "uid",
                  row->wishes ? NULL : row->uid, "seen", row->wishes ? NULL : row->seen, "child",
                  v->child, "index", v->index, "user", v->user, "time", (json_int_t)row->time);
    if (!json)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_json_append(json, JSON_COMPACT, &text, err));
    OCV_TRY(row_name(row, name, err));
    return ocv_file_replace(t->fd, t->fd, t->dir, name, text.data, text.len, 0600, err);
}

void table_remove_row(struct pod_table *t, const struct pod_row *row)
{
    char name[NAME_MAX_BYTES];
    if (row_name(row, name, NULL) == OCV_OK)
        unlinkat(t->fd, name, 0);
}

int table_write_index(struct pod_table *t, const char *digest, const void *body, size_t len,
                      struct ocv_error *err)
{
    char name[NAME_MAX_BYTES];
    struct stat st;
    index_name(digest, name);
    if (fstatat(t->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == (off_t)len)
        return OCV_OK;
    return ocv_file_replace(t->fd, t->fd, t->dir, name, body, len, 0600, err);
}

int table_index(struct pod_table *t, const char *digest, struct ocv_buffer *out,
                struct ocv_error *err)
{
    char name[NAME_MAX_BYTES];
    index_name(digest, name);
    int status = ocv_file_read_at(t->fd, t->dir, name, out, err);
    if (status == OCV_OK)
        status = ocv_digest_check(digest, out->data ? out->data : "", out->len, err);
    if (status == OCV_ERR_MISMATCH) /* the registry's bytes will replace it */
        unlinkat(t->fd, name, 0);
    return status;
}

static bool index_used(const struct pod_table *t, const char *name)
{
    char other[NAME_MAX_BYTES];
    for (size_t i = 0; i < t->choices.n; i++) {
        index_name(t->choices.list[i].value.index, other);
        if (strcmp(name, other) == 0)
            return true;
    }
    return false;
}

/* A descriptor of its own, since another reader's position must not change. */
static DIR *open_list(const struct pod_table *t)
{
    int copy = openat(t->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (!list && copy >= 0)
        close(copy);
    return list;
}

void table_sweep_indexes(struct pod_table *t)
{
    DIR *list = t->fd >= 0 ? open_list(t) : NULL;
    for (const struct dirent *d; list && (d = readdir(list));)
        if (strncmp(d->d_name, "index-", 6) == 0 && !index_used(t, d->d_name))
            unlinkat(t->fd, d->d_name, 0);
    if (list)
        closedir(list);
}

struct row_texts {
    const char *reference, *wishes, *devices, *uid, *seen, *child, *index, *user;
};

static int read_texts(const json_t *json, struct row_texts *out, struct ocv_error *err)
{
    const struct {
        const char *key, **to;
    } texts[] = {{"reference", &out->reference}, {"wishes", &out->wishes},
                 {"devices", &out->devices},     {"uid", &out->uid},
                 {"seen", &out->seen},           {"child", &out->child},
                 {"index", &out->index},         {"user", &out->user}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        OCV_TRY(ocv_json_string(json, "row", texts[i].key, texts[i].to, err));
    return OCV_OK;
}

/* True for the canonical form, as in keys. */
static bool wishes_good(const char *text)
{
    struct workload_wishes wishes;
    bool good = workload_wishes_parse(text, &wishes, NULL) == OCV_OK && !strcmp(wishes.text, text);
    workload_wishes_free(&wishes);
    return good;
}

static bool reference_good(const char *text)
{
    ocv_auto(ocv_reference) reference = NULL;
    return strlen(text) < PINNED_TEXT_MAX && ocv_reference_parse(text, &reference, NULL) == OCV_OK;
}

static bool texts_good(const struct row_texts *x)
{
    bool choice = x->wishes && x->devices && !x->uid && !x->seen;
    bool pod = x->uid && x->seen && !x->wishes && !x->devices;
    if (!x->reference || !x->child || !x->index || !x->user || !(choice || pod) ||
        !reference_good(x->reference) || !ocv_digest_known(x->child) ||
        !ocv_digest_known(x->index) || !*x->user || strlen(x->user) >= TABLE_USER_MAX)
        return false;
    if (choice)
        return strlen(x->devices) < TABLE_DEVICES_MAX && !strchr(x->devices, '\n') &&
               wishes_good(x->wishes);
    return (*x->uid || *x->seen) && strlen(x->uid) < TABLE_POD_MAX &&
           strlen(x->seen) < TABLE_POD_MAX;
}

static int fill_row(const struct row_texts *x, struct pod_row *out, struct ocv_error *err)
{
    *out = (struct pod_row){.reference = strdup(x->reference)};
    snprintf(out->value.child, sizeof(out->value.child), "%s", x->child);
    snprintf(out->value.index, sizeof(out->value.index), "%s", x->index);
    snprintf(out->value.user, sizeof(out->value.user), "%s", x->user);
    if (x->wishes) {
        out->wishes = strdup(x->wishes);
        out->devices = strdup(x->devices);
    } else {
        snprintf(out->uid, sizeof(out->uid), "%s", x->uid);
        snprintf(out->seen, sizeof(out->seen), "%s", x->seen);
    }
    if (out->reference && (!x->wishes || (out->wishes && out->devices)) &&
        (out->key = table_row_key(out)))
        return OCV_OK;
    table_row_free(out);
    return ocv_error_nomem(err);
}

int table_row_parse(const void *bytes, size_t len, struct pod_row *out, struct ocv_error *err)
{
    struct row_texts texts = {0};
    json_t *parsed = NULL;
    OCV_TRY(ocv_json_load("row", bytes, len, ROW_MAX, &parsed, err));
    ocv_auto_json *json = parsed;
    OCV_TRY(read_texts(json, &texts, err));
    if (!texts_good(&texts))
        return ocv_error_set(err, OCV_ERR_DATA, "not a row of these tables");
    OCV_TRY(fill_row(&texts, out, err));
    out->time = json_integer_value(json_object_get(json, "time"));
    return OCV_OK;
}

static int read_row(struct pod_table *t, const char *name, struct ocv_error *err)
{
    char expected[NAME_MAX_BYTES];
    struct pod_row row = {0}, gone = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, ROW_MAX);
    int status = ocv_file_read_at(t->fd, t->dir, name, &text, err);
    if (status == OCV_OK)
        status = table_row_parse(text.data ? text.data : "", text.len, &row, err);
    if (status == OCV_OK && (row_name(&row, expected, NULL) < 0 || strcmp(expected, name) != 0))
        status = ocv_error_set(err, OCV_ERR_DATA, "its name does not match its content");
    if (status == OCV_OK &&
        (table_other_user(&t->choices, &row) || table_other_user(&t->pods, &row)))
        status = ocv_error_set(err, OCV_ERR_CHECK, "others of that image have another user");
    if (status == OCV_OK)
        status = table_keep(row.wishes ? &t->choices : &t->pods, &row, &gone, err);
    if (gone.key)
        table_remove_row(t, &gone);
    table_row_free(&gone);
    table_row_free(&row);
    return status;
}

int table_read_all(struct pod_table *t, struct ocv_error *err)
{
    DIR *list = open_list(t);
    int status = list ? OCV_OK : ocv_error_set(err, OCV_ERR_IO, "%s: %s", t->dir, strerror(errno));
    for (const struct dirent *d; status == OCV_OK && (d = readdir(list));) {
        size_t n = strlen(d->d_name);
        if (n < 5 || strcmp(d->d_name + n - 5, ".json") != 0)
            continue;
        struct ocv_error why = {0};
        int read = read_row(t, d->d_name, &why);
        if (read == OCV_ERR_NOMEM)
            status = ocv_error_nomem(err);
        else if (read < 0)
            log_line("%s/%s is not used: %s", t->dir, d->d_name, why.message);
    }
    if (list)
        closedir(list);
    return status;
}
