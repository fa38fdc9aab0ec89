/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/snapshotter/types/snapshot.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void snap_info_free(struct snap_info *info)
{
    free(info->name);
    free(info->parent);
    ocv_buffer_free(&info->labels);
    *info = (struct snap_info){0};
}

void snap_mount_free(struct snap_mount *mount)
{
    free(mount->type);
    free(mount->source);
    for (size_t i = 0; i < mount->n_options; i++)
        free(mount->options[i]);
    *mount = (struct snap_mount){0};
}

enum grpc_code snap_fail(struct ocv_error *err, enum grpc_code code, const char *format, ...)
{
    char text[OCV_ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ocv_error_set(err, OCV_ERR_INVALID, "%s", text);
    return code;
}

void snap_labels_init(struct ocv_buffer *labels)
{
    ocv_buffer_init(labels, SNAP_LABELS_MAX);
}

bool snap_labels_next(const struct ocv_buffer *labels, size_t *at, const char **key,
                      const char **value)
{
    if (*at >= labels->len)
        return false;
    *key = labels->data + *at;
    *value = *key + strlen(*key) + 1;
    *at = (size_t)(*value + strlen(*value) + 1 - labels->data);
    return true;
}

/* Length of a text with its NUL; 0 if it has none. */
static size_t text_at(const char *bytes, size_t len)
{
    size_t n = strnlen(bytes, len);
    return n < len ? n + 1 : 0;
}

bool snap_labels_sound(const char *bytes, size_t len)
{
    const char *before = NULL;
    for (size_t at = 0; at < len;) {
        const char *key = bytes + at;
        size_t n = text_at(key, len - at);
        size_t value = n > 1 ? text_at(key + n, len - at - n) : 0;
        if (!value || (before && strcmp(before, key) >= 0))
            return false;
        before = key;
        at += n + value;
    }
    return true;
}

/* The position of the key, or where it belongs; `end` is after its value if it exists. */
static bool find_label(const struct ocv_buffer *labels, const char *wanted, size_t *start,
                       size_t *end)
{
    const char *key, *value;
    size_t at = 0;
    for (*start = 0; snap_labels_next(labels, &at, &key, &value); *start = at) {
        int order = strcmp(key, wanted);
        *end = at;
        if (order >= 0)
            return order == 0;
    }
    return false;
}

const char *snap_labels_get(const struct ocv_buffer *labels, const char *key)
{
    size_t start, end;
    return find_label(labels, key, &start, &end) ? labels->data + start + strlen(key) + 1 : NULL;
}

enum grpc_code snap_labels_set(struct ocv_buffer *labels, const char *key, const char *value,
                               struct ocv_error *err)
{
    size_t start, end, key_len = strlen(key) + 1, value_len = strlen(value) + 1;
    if (key_len + value_len - 2 > SNAP_LABEL_MAX)
        return snap_fail(err, GRPC_INVALID_ARGUMENT,
                         "label key and value length (%zu bytes) greater than maximum size (%u "
                         "bytes), key: %.64s",
                         key_len + value_len - 2, SNAP_LABEL_MAX, key);
    if (find_label(labels, key, &start, &end)) {
        memmove(labels->data + start, labels->data + end, labels->len - end);
        labels->len -= end - start;
    }
    if (!*value)
        return GRPC_OK;
    if (!*key)
        return snap_fail(err, GRPC_INVALID_ARGUMENT, "a label has no key");
    size_t tail = labels->len - start;
    if (ocv_buffer_append(labels, key, key_len, NULL) < 0 ||
        ocv_buffer_append(labels, value, value_len, NULL) < 0)
        return snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "more than %u bytes of labels",
                         SNAP_LABELS_MAX);
    memmove(labels->data + start + key_len + value_len, labels->data + start, tail);
    memcpy(labels->data + start, key, key_len);
    memcpy(labels->data + start + key_len, value, value_len);
    return GRPC_OK;
}

enum grpc_code snap_labels_copy(struct ocv_buffer *out, const struct ocv_buffer *labels,
                                struct ocv_error *err)
{
    ocv_buffer_free(out);
    snap_labels_init(out);
    if (labels->len && ocv_buffer_append(out, labels->data, labels->len, NULL) < 0)
        return snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    return GRPC_OK;
}

/* Tests of interruptions: compiled only into the tests' build of the program. */

#ifdef OCV_CRASH_POINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void snap_crash_point(const char *name)
{
    const char *wanted = getenv("OCV_CRASH_AT");
    if (wanted && strcmp(wanted, name) == 0)
        kill(getpid(), SIGKILL);
}
#else
typedef int nothing_here;
#endif
