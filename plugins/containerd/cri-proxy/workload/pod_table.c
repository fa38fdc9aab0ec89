/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/pod_table_internal.h"

#include "lib/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char *table_row_key(const struct pod_row *row)
{
    char *key = NULL;
    int n = row->wishes ? asprintf(&key, "%s\n%s\n%s", row->reference, row->devices, row->wishes)
                        : asprintf(&key, "%s\n%s %s", row->reference, *row->uid ? "uid" : "seen",
                                   *row->uid ? row->uid : row->seen);
    return n < 0 ? NULL : key;
}

void table_row_free(struct pod_row *row)
{
    free(row->key);
    free(row->reference);
    free(row->wishes);
    free(row->devices);
    *row = (struct pod_row){0};
}

static struct pod_row *find_key(const struct pod_rows *rows, const char *key)
{
    for (size_t i = 0; i < rows->n; i++)
        if (strcmp(rows->list[i].key, key) == 0)
            return &rows->list[i];
    return NULL;
}

static void take_out(struct pod_rows *rows, struct pod_row *row)
{
    *row = rows->list[--rows->n];
}

int table_keep(struct pod_rows *rows, struct pod_row *row, struct pod_row *gone,
               struct ocv_error *err)
{
    *gone = (struct pod_row){0};
    if (!row->key && !(row->key = table_row_key(row)))
        return ocv_error_nomem(err);
    struct pod_row *there = find_key(rows, row->key);
    if (there) {
        table_row_free(there);
    } else if (rows->n < rows->max) {
        there = &rows->list[rows->n++];
    } else {
        there = rows->list;
        for (size_t i = 1; i < rows->n; i++)
            if (rows->list[i].time < there->time)
                there = &rows->list[i];
        *gone = *there;
    }
    *there = *row;
    *row = (struct pod_row){0};
    return OCV_OK;
}

int64_t table_now(void)
{
    return (int64_t)time(NULL);
}

struct pod_row *table_other_user(const struct pod_rows *rows, const struct pod_row *row)
{
    for (size_t i = 0; i < rows->n; i++)
        if (strcmp(rows->list[i].reference, row->reference) == 0 &&
            strcmp(rows->list[i].value.user, row->value.user) != 0)
            return &rows->list[i];
    return NULL;
}

static bool is_choice(const struct pod_row *row, const struct table_key *key)
{
    return strcmp(row->reference, key->reference) == 0 && strcmp(row->wishes, key->wishes) == 0 &&
           strcmp(row->devices, key->devices) == 0;
}

static bool is_pod(const struct pod_row *row, const struct table_pod *pod)
{
    if (pod->uid && *pod->uid && *row->uid)
        return strcmp(row->uid, pod->uid) == 0;
    return pod->seen && *pod->seen && strcmp(row->seen, pod->seen) == 0;
}

static struct pod_row *find_choice(const struct pod_table *t, const struct table_key *key)
{
    for (size_t i = 0; i < t->choices.n; i++)
        if (is_choice(&t->choices.list[i], key))
            return &t->choices.list[i];
    return NULL;
}

/* Prefers a row with that uid to one without a uid. */
static struct pod_row *find_pod(const struct pod_table *t, const char *reference,
                                const struct table_pod *pod)
{
    struct pod_row *best = NULL;
    for (size_t i = 0; i < t->pods.n; i++) {
        struct pod_row *row = &t->pods.list[i];
        if (strcmp(row->reference, reference) == 0 && is_pod(row, pod) && (!best || *row->uid))
            best = row;
    }
    return best;
}

bool table_find_choice(struct pod_table *t, const struct table_key *key, struct table_value *out)
{
    pthread_mutex_lock(&t->lock);
    const struct pod_row *row = find_choice(t, key);
    if (row)
        *out = row->value;
    pthread_mutex_unlock(&t->lock);
    return row;
}

bool table_find_pod(struct pod_table *t, const char *reference, const struct table_pod *pod,
                    struct table_value *out)
{
    pthread_mutex_lock(&t->lock);
    const struct pod_row *row = find_pod(t, reference, pod);
    if (row)
        *out = row->value;
    pthread_mutex_unlock(&t->lock);
    return row;
}

bool table_find_only(struct pod_table *t, const char *reference, const char *wishes,
                     struct table_value *out)
{
    bool found = false, only = true;
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < t->choices.n; i++) {
        const struct pod_row *row = &t->choices.list[i];
        if (strcmp(row->reference, reference) != 0 || strcmp(row->wishes, wishes) != 0)
            continue;
        only = only && (!found || strcmp(out->child, row->value.child) == 0);
        *out = row->value;
        found = true;
    }
    pthread_mutex_unlock(&t->lock);
    return found && only;
}

/* The newest row for the reference whose child is not in `out` yet. */
static const struct pod_row *next_child(const struct pod_rows *rows, const char *reference,
                                        char (*out)[OCV_DIGEST_MAX], size_t n)
{
    const struct pod_row *best = NULL;
    for (size_t i = 0; i < rows->n; i++) {
        const struct pod_row *row = &rows->list[i];
        bool taken = strcmp(row->reference, reference) != 0 || (best && row->time <= best->time);
        for (size_t k = 0; k < n && !taken; k++)
            taken = strcmp(out[k], row->value.child) == 0;
        best = taken ? best : row;
    }
    return best;
}

size_t table_children(struct pod_table *t, const char *reference, char (*out)[OCV_DIGEST_MAX],
                      size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&t->lock);
    while (n < max) {
        const struct pod_row *a = next_child(&t->choices, reference, out, n);
        const struct pod_row *b = next_child(&t->pods, reference, out, n);
        if (!a || (b && b->time > a->time))
            a = b;
        if (!a)
            break;
        memcpy(out[n++], a->value.child, OCV_DIGEST_MAX);
    }
    pthread_mutex_unlock(&t->lock);
    return n;
}

static bool has_digest(const struct pod_rows *rows, const char *name, const char *digest)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct pod_row *row = &rows->list[i];
        ocv_auto(ocv_reference) reference = NULL;
        if (strcmp(row->value.child, digest) == 0 &&
            ocv_reference_parse(row->reference, &reference, NULL) == OCV_OK &&
            strcmp(reference->name, name) == 0)
            return true;
    }
    return false;
}

bool table_knows_digest(struct pod_table *t, const char *name, const char *digest)
{
    pthread_mutex_lock(&t->lock);
    bool known = has_digest(&t->choices, name, digest) || has_digest(&t->pods, name, digest);
    pthread_mutex_unlock(&t->lock);
    return known;
}

bool table_get_choice(struct pod_table *t, size_t i, struct table_copy *out)
{
    *out = (struct table_copy){0};
    pthread_mutex_lock(&t->lock);
    bool there = i < t->choices.n;
    if (there) {
        const struct pod_row *row = &t->choices.list[i];
        *out = (struct table_copy){strdup(row->reference), strdup(row->wishes),
                                   strdup(row->devices), row->value};
    }
    pthread_mutex_unlock(&t->lock);
    if (there && out->reference && out->wishes && out->devices)
        return true;
    table_copy_free(out);
    return false;
}

void table_copy_free(struct table_copy *copy)
{
    free(copy->reference);
    free(copy->wishes);
    free(copy->devices);
    *copy = (struct table_copy){0};
}

size_t table_count_pods(struct pod_table *t)
{
    pthread_mutex_lock(&t->lock);
    size_t n = t->pods.n;
    pthread_mutex_unlock(&t->lock);
    return n;
}

static int refuse_user(const char *reference, const char *a, const char *b, struct ocv_error *err)
{
    bool order = strcmp(a, b) < 0;
    return ocv_error_set(err, OCV_ERR_CHECK, "variants of %s run as different users (%s, %s)",
                         reference, order ? a : b, order ? b : a);
}

static void drop_row(struct pod_table *t, struct pod_rows *rows, struct pod_row *row)
{
    struct pod_row gone = *row;
    pthread_mutex_lock(&t->lock);
    take_out(rows, row);
    pthread_mutex_unlock(&t->lock);
    table_remove_row(t, &gone);
    table_row_free(&gone);
}

/* Before a row is added. Call with `writing` held, without which rows never change. */
static int make_room(struct pod_table *t, const struct pod_row *row, struct ocv_error *err)
{
    const char *user = row->value.user;
    struct pod_row *other = table_other_user(&t->pods, row);
    if (other)
        return refuse_user(row->reference, user, other->value.user, err);
    while ((other = table_other_user(&t->choices, row))) {
        if (!row->wishes || strcmp(other->value.index, row->value.index) == 0)
            return refuse_user(row->reference, user, other->value.user, err);
        drop_row(t, &t->choices, other);
    }
    return OCV_OK;
}

/* Store on disk, then in memory. Call with `writing` held; takes over the row. */
static int put_row(struct pod_table *t, struct pod_rows *rows, struct pod_row *row,
                   struct ocv_error *err)
{
    struct pod_row gone = {0};
    row->time = table_now();
    row->key = table_row_key(row);
    int status = row->key ? table_write_row(t, row, err) : ocv_error_nomem(err);
    pthread_mutex_lock(&t->lock);
    if (status == OCV_OK)
        status = table_keep(rows, row, &gone, err);
    pthread_mutex_unlock(&t->lock);
    if (gone.key)
        table_remove_row(t, &gone);
    table_row_free(&gone);
    table_row_free(row);
    return status;
}

int table_put_choice(struct pod_table *t, const struct table_key *key,
                     const struct table_value *value, const void *body, size_t len,
                     struct ocv_error *err)
{
    struct pod_row row = {.reference = strdup(key->reference),
                          .wishes = strdup(key->wishes),
                          .devices = strdup(key->devices),
                          .value = *value};
    if (!row.reference || !row.wishes || !row.devices) {
        table_row_free(&row);
        return ocv_error_nomem(err);
    }
    pthread_mutex_lock(&t->writing);
    const struct pod_row *there = find_choice(t, key);
    bool same = there && memcmp(&there->value, value, sizeof(*value)) == 0;
    int status = table_directory(t, true, err);
    if (status == OCV_OK && !same)
        status = make_room(t, &row, err);
    if (status == OCV_OK && body && len <= TABLE_INDEX_MAX)
        status = table_write_index(t, value->index, body, len, err);
    if (status == OCV_OK && !same)
        status = put_row(t, &t->choices, &row, err);
    pthread_mutex_unlock(&t->writing);
    table_row_free(&row);
    return status;
}

/* Give a uid to a row that has only config.seen; this also changes its file's name. */
static void name_row(struct pod_table *t, struct pod_row *row, const char *uid)
{
    struct pod_row copy = {.reference = strdup(row->reference), .value = row->value};
    struct pod_row old = {.key = row->key ? strdup(row->key) : NULL};
    snprintf(copy.uid, sizeof(copy.uid), "%s", uid);
    memcpy(copy.seen, row->seen, sizeof(copy.seen));
    copy.time = row->time;
    copy.key = copy.reference ? table_row_key(&copy) : NULL;
    if (copy.key && old.key && table_write_row(t, &copy, NULL) == OCV_OK) {
        pthread_mutex_lock(&t->lock);
        free(row->key);
        row->key = strdup(copy.key);
        memcpy(row->uid, copy.uid, sizeof(row->uid));
        if (!row->key) {
            row->key = old.key;
            old.key = NULL;
            row->uid[0] = '\0';
        }
        pthread_mutex_unlock(&t->lock);
        if (old.key)
            table_remove_row(t, &old);
    }
    table_row_free(&copy);
    table_row_free(&old);
}

int table_put_pod(struct pod_table *t, const char *reference, const struct table_pod *pod,
                  struct table_value *value, struct ocv_error *err)
{
    struct pod_row row = {.reference = strdup(reference), .value = *value};
    snprintf(row.uid, sizeof(row.uid), "%s", pod->uid ? pod->uid : "");
    snprintf(row.seen, sizeof(row.seen), "%s", pod->seen ? pod->seen : "");
    pthread_mutex_lock(&t->writing);
    int status = row.reference ? table_directory(t, true, err) : ocv_error_nomem(err);
    struct pod_row *there = status == OCV_OK ? find_pod(t, reference, pod) : NULL;
    if (there && *row.uid && !*there->uid)
        name_row(t, there, row.uid);
    if (there) {
        *value = row.value = there->value;
        /* config.seen changes when kubelet restarts */
        if (*row.seen && *row.uid && strcmp(there->uid, row.uid) == 0 &&
            strcmp(there->seen, row.seen) != 0)
            status = put_row(t, &t->pods, &row, err);
    }
    if (!there && status == OCV_OK && (*row.uid || *row.seen))
        status = make_room(t, &row, err);
    if (!there && status == OCV_OK && (*row.uid || *row.seen))
        status = put_row(t, &t->pods, &row, err);
    pthread_mutex_unlock(&t->writing);
    table_row_free(&row);
    return status;
}

void table_drop_choice(struct pod_table *t, const struct table_key *key)
{
    pthread_mutex_lock(&t->writing);
    struct pod_row *row = find_choice(t, key);
    if (row)
        drop_row(t, &t->choices, row);
    pthread_mutex_unlock(&t->writing);
}

void table_drop_pod(struct pod_table *t, const char *reference, const struct table_pod *pod)
{
    pthread_mutex_lock(&t->writing);
    struct pod_row *row = find_pod(t, reference, pod);
    if (row)
        drop_row(t, &t->pods, row);
    pthread_mutex_unlock(&t->writing);
}

static const struct table_pod *find_live(const struct pod_row *row, const struct table_pod *live,
                                         size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_pod(row, &live[i]))
            return &live[i];
    return NULL;
}

void table_prune(struct pod_table *t, const struct table_pod *live, size_t n, int64_t since)
{
    pthread_mutex_lock(&t->writing);
    for (size_t i = 0; i < t->pods.n;) {
        struct pod_row *row = &t->pods.list[i];
        const struct table_pod *pod = find_live(row, live, n);
        if (!pod && row->time < since) {
            drop_row(t, &t->pods, row);
            continue; /* another one has taken its place */
        }
        if (pod && !*row->uid && pod->uid && *pod->uid)
            name_row(t, row, pod->uid);
        i++;
    }
    table_sweep_indexes(t);
    pthread_mutex_unlock(&t->writing);
}

int table_open(const char *dir, struct pod_table **out, struct ocv_error *err)
{
    struct pod_table *t = calloc(1, sizeof(*t));
    if (!t)
        return ocv_error_nomem(err);
    pthread_mutex_init(&t->lock, NULL);
    pthread_mutex_init(&t->writing, NULL);
    t->fd = -1;
    t->dir = strdup(dir);
    t->choices =
        (struct pod_rows){calloc(TABLE_CHOICES_MAX, sizeof(struct pod_row)), 0, TABLE_CHOICES_MAX};
    t->pods = (struct pod_rows){calloc(TABLE_PODS_MAX, sizeof(struct pod_row)), 0, TABLE_PODS_MAX};
    int status = t->dir && t->choices.list && t->pods.list ? table_directory(t, false, err)
                                                           : ocv_error_nomem(err);
    if (status == OCV_OK && t->fd >= 0) {
        ocv_file_sweep(t->fd);
        status = table_read_all(t, err);
    }
    if (status < 0)
        table_free(t);
    else
        *out = t;
    return status;
}

static void free_rows(struct pod_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        table_row_free(&rows->list[i]);
    free(rows->list);
}

void table_free(struct pod_table *t)
{
    if (!t)
        return;
    free_rows(&t->choices);
    free_rows(&t->pods);
    if (t->fd >= 0)
        close(t->fd);
    free(t->dir);
    pthread_mutex_destroy(&t->lock);
    pthread_mutex_destroy(&t->writing);
    free(t);
}
