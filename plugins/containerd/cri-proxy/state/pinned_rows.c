/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/state/state_internal.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_pinned_key(const char *key)
{
    char again[PINNED_TEXT_MAX];
    ocv_auto(ocv_reference) reference = pinned_parse(key, strlen(key));
    return reference && pinned_key(reference, again) && strcmp(key, again) == 0;
}

static sqlite3_stmt *select_pinned(sqlite3 *db, const char *key)
{
    return state_query(db, "SELECT child, idx, '' FROM pinned WHERE reference = ?1", "s", key);
}

bool state_find_pinned(struct state *state, const char *key, char child[OCV_DIGEST_MAX])
{
    struct state_value value;
    pthread_mutex_lock(&state->reading);
    bool found = state_take_value(select_pinned(state->reader, key), &value);
    pthread_mutex_unlock(&state->reading);
    if (found)
        memcpy(child, value.child, OCV_DIGEST_MAX);
    return found;
}

bool state_next_pinned(struct state *state, char key[PINNED_TEXT_MAX], char child[OCV_DIGEST_MAX])
{
    pthread_mutex_lock(&state->reading);
    sqlite3_stmt *row = state_query(state->reader,
                                    "SELECT reference, child FROM pinned WHERE reference > ?1"
                                    " ORDER BY reference LIMIT 1",
                                    "s", key);
    bool found = row && sqlite3_step(row) == SQLITE_ROW;
    if (found) {
        state_copy_text(row, 0, key, PINNED_TEXT_MAX);
        state_copy_text(row, 1, child, OCV_DIGEST_MAX);
    }
    sqlite3_finalize(row);
    pthread_mutex_unlock(&state->reading);
    return found;
}

bool state_rewrite(struct state *state, const struct ocv_reference *reference, const char *text,
                   char out[PINNED_TEXT_MAX])
{
    char key[PINNED_TEXT_MAX], child[OCV_DIGEST_MAX];
    return pinned_by_digest(reference) && pinned_key(reference, key) &&
           state_find_pinned(state, key, child) && pinned_rewrite(text, strlen(text), child, out);
}

static int put_pinned_row(struct state *state, const char *key, const char *child, int64_t when,
                          struct ocv_error *err)
{
    OCV_TRY(
        state_run(state,
                  state_query(state->writer, "INSERT OR REPLACE INTO pinned VALUES(?1, ?2, ?3, ?4)",
                              "sssi", key, child, strrchr(key, '@') + 1, when),
                  err));
    return state_keep_newest(state, "pinned", STATE_PINNED_MAX, err);
}

int state_put_pinned(struct state *state, const char *key, const char *child, const void *index,
                     size_t len, struct ocv_error *err)
{
    struct state_value known;
    if (!is_pinned_key(key) || !ocv_digest_known(child))
        return ocv_error_set(err, OCV_ERR_INVALID, "%.200s: not a pinned reference", key);
    OCV_TRY(state_begin(state, err));
    int status = state_put_index(state, strrchr(key, '@') + 1, index, len, err);
    if (status == OCV_OK && (!state_take_value(select_pinned(state->writer, key), &known) ||
                             strcmp(known.child, child) != 0))
        status = put_pinned_row(state, key, child, (int64_t)time(NULL), err);
    return state_end(state, status, err);
}

int state_put_old_pinned(struct state *state, const struct state_old *old, struct ocv_error *err)
{
    struct state_value known;
    if (!is_pinned_key(old->reference))
        return ocv_error_set(err, OCV_ERR_DATA, "not a pinned reference");
    if (state_take_value(select_pinned(state->writer, old->reference), &known))
        return OCV_OK;
    return put_pinned_row(state, old->reference, old->child, old->time, err);
}

/* Call with the lock held. */
static struct state_seen *find_seen(struct state *state, const char *key)
{
    for (size_t i = 0; i < STATE_SEEN_MAX; i++)
        if (state->seen[i].key && strcmp(state->seen[i].key, key) == 0)
            return &state->seen[i];
    return NULL;
}

bool state_checked(struct state *state, const char *key, const char *child)
{
    pthread_mutex_lock(&state->seeing);
    const struct state_seen *seen = find_seen(state, key);
    bool same = seen && strcmp(seen->child, child) == 0;
    pthread_mutex_unlock(&state->seeing);
    return same;
}

void state_set_checked(struct state *state, const char *key, const char *child)
{
    pthread_mutex_lock(&state->seeing);
    struct state_seen *seen = find_seen(state, key);
    char *copy = seen ? NULL : strdup(key);
    if (copy) {
        seen = &state->seen[state->next_seen++ % STATE_SEEN_MAX];
        free(seen->key);
        seen->key = copy;
    }
    if (seen)
        snprintf(seen->child, sizeof(seen->child), "%s", child);
    pthread_mutex_unlock(&state->seeing);
}

void state_set_unchecked(struct state *state, const char *key)
{
    pthread_mutex_lock(&state->seeing);
    struct state_seen *seen = find_seen(state, key);
    if (seen && *seen->child)
        snprintf(seen->child, sizeof(seen->child), "unchecked");
    pthread_mutex_unlock(&state->seeing);
}
