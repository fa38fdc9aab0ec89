/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/state/state_internal.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3_stmt *select_choice(sqlite3 *db, const struct state_key *key)
{
    return state_query(db,
                       "SELECT child, idx, user FROM choices"
                       " WHERE reference = ?1 AND wishes = ?2 AND devices = ?3",
                       "sss", key->reference, key->wishes, key->devices);
}

bool state_find_choice(struct state *state, const struct state_key *key, struct state_value *out)
{
    pthread_mutex_lock(&state->reading);
    bool found = state_take_value(select_choice(state->reader, key), out);
    pthread_mutex_unlock(&state->reading);
    return found;
}

/* By its uid where both have one, else by its config.seen; rather one with a uid than one
 * without. */
static sqlite3_stmt *select_pod(sqlite3 *db, const char *columns, const char *reference,
                                const struct state_pod *pod)
{
    char sql[256];
    snprintf(sql, sizeof(sql),
             "SELECT %s FROM pods WHERE reference = ?1 AND CASE WHEN ?2 <> '' AND uid <> ''"
             " THEN uid = ?2 ELSE ?3 <> '' AND seen = ?3 END ORDER BY uid = '' LIMIT 1",
             columns);
    return state_query(db, sql, "sss", reference, pod->uid ? pod->uid : "",
                       pod->seen ? pod->seen : "");
}

bool state_find_pod(struct state *state, const char *reference, const struct state_pod *pod,
                    struct state_value *out)
{
    pthread_mutex_lock(&state->reading);
    bool found =
        state_take_value(select_pod(state->reader, "child, idx, user", reference, pod), out);
    pthread_mutex_unlock(&state->reading);
    return found;
}

bool state_find_only(struct state *state, const char *reference, const char *wishes,
                     struct state_value *out)
{
    pthread_mutex_lock(&state->reading);
    bool found =
        state_take_value(state_query(state->reader,
                                     "SELECT min(child), idx, user FROM choices"
                                     " WHERE reference = ?1 AND wishes = ?2"
                                     " GROUP BY reference HAVING count(DISTINCT child) = 1",
                                     "ss", reference, wishes),
                         out);
    pthread_mutex_unlock(&state->reading);
    return found;
}

size_t state_children(struct state *state, const char *reference, char (*out)[OCV_DIGEST_MAX],
                      size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&state->reading);
    sqlite3_stmt *row =
        state_query(state->reader,
                    "SELECT child FROM (SELECT child, time, id FROM choices"
                    " WHERE reference = ?1 UNION ALL"
                    " SELECT child, time, id FROM pods WHERE reference = ?1)"
                    " GROUP BY child ORDER BY max(time) DESC, max(id) DESC LIMIT ?2",
                    "si", reference, (int64_t)max);
    while (row && n < max && sqlite3_step(row) == SQLITE_ROW)
        state_copy_text(row, 0, out[n++], OCV_DIGEST_MAX);
    sqlite3_finalize(row);
    pthread_mutex_unlock(&state->reading);
    return n;
}

bool state_knows_digest(struct state *state, const char *name, const char *digest)
{
    bool known = false;
    pthread_mutex_lock(&state->reading);
    sqlite3_stmt *row = state_query(state->reader,
                                    "SELECT reference FROM choices WHERE child = ?1 UNION"
                                    " SELECT reference FROM pods WHERE child = ?1",
                                    "s", digest);
    while (row && !known && sqlite3_step(row) == SQLITE_ROW) {
        ocv_auto(ocv_reference) reference = NULL;
        const char *text = (const char *)sqlite3_column_text(row, 0);
        known = text && ocv_reference_parse(text, &reference, NULL) == OCV_OK &&
                strcmp(reference->name, name) == 0;
    }
    sqlite3_finalize(row);
    pthread_mutex_unlock(&state->reading);
    return known;
}

/* Before a row is added: no other of the reference has another user. Choices from another index
 * are dropped for it; `index` "": no choice is. */
static int make_room(struct state *state, const char *reference, const char *user,
                     const char *index, struct ocv_error *err)
{
    struct state_value other;
    if (state_take_value(
            state_query(state->writer,
                        "SELECT child, idx, user FROM pods WHERE reference = ?1 AND user <> ?2"
                        " UNION ALL SELECT child, idx, user FROM choices WHERE reference = ?1"
                        " AND user <> ?2 AND (?3 = '' OR idx = ?3) LIMIT 1",
                        "sss", reference, user, index),
            &other)) {
        bool order = strcmp(user, other.user) < 0;
        return ocv_error_set(err, OCV_ERR_CHECK, "variants of %s run as different users (%s, %s)",
                             reference, order ? user : other.user, order ? other.user : user);
    }
    return state_run(state,
                     state_query(state->writer,
                                 "DELETE FROM choices WHERE reference = ?1 AND user <> ?2", "ss",
                                 reference, user),
                     err);
}

static int put_choice_row(struct state *state, const struct state_key *key,
                          const struct state_value *value, int64_t when, struct ocv_error *err)
{
    OCV_TRY(make_room(state, key->reference, value->user, value->index, err));
    OCV_TRY(state_run(
        state,
        state_query(state->writer,
                    "INSERT INTO choices(reference, wishes, devices, child, idx, user, time)"
                    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(reference, wishes, devices)"
                    " DO UPDATE SET"
                    " child = ?4, idx = ?5, user = ?6, time = ?7",
                    "ssssssi", key->reference, key->wishes, key->devices, value->child,
                    value->index, value->user, when),
        err));
    return state_keep_newest(state, "choices", STATE_CHOICES_MAX, err);
}

int state_put_choice(struct state *state, const struct state_key *key,
                     const struct state_value *value, const void *body, size_t len,
                     struct ocv_error *err)
{
    struct state_value known;
    OCV_TRY(state_begin(state, err));
    bool same = state_take_value(select_choice(state->writer, key), &known) &&
                strcmp(known.child, value->child) == 0 && strcmp(known.index, value->index) == 0 &&
                strcmp(known.user, value->user) == 0;
    int status = same ? OCV_OK : put_choice_row(state, key, value, (int64_t)time(NULL), err);
    if (status == OCV_OK)
        status = state_put_index(state, value->index, body, len, err);
    return state_end(state, status, err);
}

static int put_pod_row(struct state *state, const char *reference, const struct state_pod *pod,
                       const struct state_value *value, int64_t when, struct ocv_error *err)
{
    OCV_TRY(make_room(state, reference, value->user, "", err));
    OCV_TRY(state_run(state,
                      state_query(state->writer,
                                  "INSERT INTO pods(reference, uid, seen, child, idx, user, time)"
                                  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                                  "ssssssi", reference, pod->uid, pod->seen, value->child,
                                  value->index, value->user, when),
                      err));
    return state_keep_newest(state, "pods", STATE_PODS_MAX, err);
}

int state_put_pod(struct state *state, const char *reference, const struct state_pod *pod,
                  struct state_value *value, struct ocv_error *err)
{
    const struct state_pod texts = {pod->uid ? pod->uid : "", pod->seen ? pod->seen : ""};
    int64_t now = (int64_t)time(NULL), id = 0;
    OCV_TRY(state_begin(state, err));
    int status = OCV_OK;
    if (state_take_number(select_pod(state->writer, "id", reference, &texts), &id)) {
        state_take_value(select_pod(state->writer, "child, idx, user", reference, &texts), value);
        if (*texts.uid) /* config.seen changes when kubelet restarts */
            status = state_run(
                state,
                state_query(state->writer,
                            "UPDATE pods SET uid = ?2, time = CASE WHEN ?3 IN ('', seen)"
                            " THEN time ELSE ?4 END, seen = coalesce(nullif(?3, ''), seen)"
                            " WHERE id = ?1 AND (uid <> ?2 OR ?3 NOT IN ('', seen))",
                            "issi", id, texts.uid, texts.seen, now),
                err);
    } else if (*texts.uid || *texts.seen) {
        status = put_pod_row(state, reference, &texts, value, now, err);
    }
    return state_end(state, status, err);
}

static void drop(struct state *state, const char *table, int64_t id)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE id = ?1", table);
    if (state_run(state, state_query(state->writer, sql, "i", id), NULL) < 0)
        log_line("%s: %s", state->path, sqlite3_errmsg(state->writer));
}

void state_drop_choice(struct state *state, const struct state_key *key)
{
    int64_t id = 0;
    pthread_mutex_lock(&state->writing);
    if (state_take_number(state_query(state->writer,
                                      "SELECT id FROM choices"
                                      " WHERE reference = ?1 AND wishes = ?2 AND devices = ?3",
                                      "sss", key->reference, key->wishes, key->devices),
                          &id))
        drop(state, "choices", id);
    pthread_mutex_unlock(&state->writing);
}

void state_drop_pod(struct state *state, const char *reference, const struct state_pod *pod)
{
    int64_t id = 0;
    pthread_mutex_lock(&state->writing);
    if (state_take_number(select_pod(state->writer, "id", reference, pod), &id))
        drop(state, "pods", id);
    pthread_mutex_unlock(&state->writing);
}

bool state_next_choice(struct state *state, int64_t *after, struct state_copy *out)
{
    *out = (struct state_copy){0};
    pthread_mutex_lock(&state->reading);
    sqlite3_stmt *row = state_query(state->reader,
                                    "SELECT child, idx, user, reference, wishes, devices, id"
                                    " FROM choices WHERE id > ?1 ORDER BY id LIMIT 1",
                                    "i", *after);
    if (row && sqlite3_step(row) == SQLITE_ROW) {
        state_copy_text(row, 0, out->value.child, sizeof(out->value.child));
        state_copy_text(row, 1, out->value.index, sizeof(out->value.index));
        state_copy_text(row, 2, out->value.user, sizeof(out->value.user));
        char **texts[] = {&out->reference, &out->wishes, &out->devices};
        for (int i = 0; i < 3; i++) {
            const char *text = (const char *)sqlite3_column_text(row, 3 + i);
            *texts[i] = text ? strdup(text) : NULL;
        }
        *after = sqlite3_column_int64(row, 6);
    }
    sqlite3_finalize(row);
    pthread_mutex_unlock(&state->reading);
    if (out->reference && out->wishes && out->devices)
        return true;
    state_copy_free(out);
    return false;
}

void state_copy_free(struct state_copy *copy)
{
    free(copy->reference);
    free(copy->wishes);
    free(copy->devices);
    *copy = (struct state_copy){0};
}

size_t state_count_pods(struct state *state)
{
    int64_t n = 0;
    pthread_mutex_lock(&state->reading);
    state_take_number(state_query(state->reader, "SELECT count(*) FROM pods", ""), &n);
    pthread_mutex_unlock(&state->reading);
    return (size_t)n;
}

void state_prune(struct state *state, const struct state_pod *live, size_t n, int64_t since)
{
    struct ocv_error err = {0};
    if (state_begin(state, &err) < 0) {
        log_line("%s", err.message);
        return;
    }
    int status = OCV_OK;
    pthread_mutex_lock(
        &state->reading); /* what the writer changes does not change for the reader */
    sqlite3_stmt *row = state_query(state->reader, "SELECT id, uid, seen, time FROM pods", "");
    while (status == OCV_OK && row && sqlite3_step(row) == SQLITE_ROW) {
        const char *uid = (const char *)sqlite3_column_text(row, 1);
        const char *seen = (const char *)sqlite3_column_text(row, 2);
        int64_t id = sqlite3_column_int64(row, 0);
        if (!uid || !seen)
            continue;
        const struct state_pod *pod = NULL;
        for (size_t i = 0; i < n && !pod; i++) {
            bool by_uid = live[i].uid && *live[i].uid && *uid;
            if (by_uid ? strcmp(live[i].uid, uid) == 0
                       : live[i].seen && *live[i].seen && strcmp(live[i].seen, seen) == 0)
                pod = &live[i];
        }
        if (!pod && sqlite3_column_int64(row, 3) < since)
            status = state_run(
                state, state_query(state->writer, "DELETE FROM pods WHERE id = ?1", "i", id), &err);
        else if (pod && !*uid && pod->uid && *pod->uid)
            status = state_run(state,
                               state_query(state->writer, "UPDATE pods SET uid = ?2 WHERE id = ?1",
                                           "is", id, pod->uid),
                               &err);
    }
    sqlite3_finalize(row);
    pthread_mutex_unlock(&state->reading);
    if (status == OCV_OK)
        status = state_drop_unnamed_indexes(state, &err);
    if (state_end(state, status, &err) < 0)
        log_line("%s", err.message);
}

int state_put_old_choice(struct state *state, const struct state_old *old, struct ocv_error *err)
{
    struct state_value value = {0}, known;
    const struct state_key key = {old->reference, old->wishes, old->devices};
    const struct state_pod pod = {old->uid, old->seen};
    snprintf(value.child, sizeof(value.child), "%s", old->child);
    snprintf(value.index, sizeof(value.index), "%s", old->index);
    snprintf(value.user, sizeof(value.user), "%s", old->user);
    if (state_take_value(old->wishes
                             ? select_choice(state->writer, &key)
                             : select_pod(state->writer, "child, idx, user", old->reference, &pod),
                         &known))
        return OCV_OK;
    return old->wishes ? put_choice_row(state, &key, &value, old->time, err)
                       : put_pod_row(state, old->reference, &pod, &value, old->time, err);
}
