/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/internal/config/config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANNOTATION "annotation dev.ocivariant/"

static int take_wish(struct workload_wishes *out, enum workload_wish wish, const char *text,
                     struct ocv_error *err)
{
    char source[64];
    if (wish == WORKLOAD_DEVICES) {
        if (strcmp(text, "node") == 0)
            out->devices = WISHES_NODE;
        else if (strcmp(text, "cpu") == 0)
            out->devices = WISHES_CPU;
        else if (!strchr(text, '=') ||
                 ocv_config_set(out->config, ANNOTATION "devices", "devices", text, false, err) < 0)
            return ocv_error_set(
                err, OCV_ERR_INVALID,
                ANNOTATION "devices: \"%.80s\" is not node, cpu or NS=ID[,ID][;NS=ID...]", text);
        else
            out->devices = WISHES_NAMED;
        return OCV_OK;
    }
    if (wish == WORKLOAD_LABEL) {
        if (strlen(text) >= sizeof(out->label) || !ocv_label_readable(text, strlen(text)))
            return ocv_error_set(
                err, OCV_ERR_INVALID,
                ANNOTATION "label: \"%.80s\" is not a label (a-z 0-9 . _, at most 63)", text);
        snprintf(out->label, sizeof(out->label), "%s", text);
        return OCV_OK;
    }
    const char *name = workload_wish_names[wish];
    snprintf(source, sizeof(source), ANNOTATION "%s", name);
    int status = ocv_config_set(out->config, source, name, text, false, err);
    if (status == OCV_OK || status == OCV_ERR_NOMEM)
        return status;
    if (err)
        err->status = OCV_ERR_INVALID;
    return OCV_ERR_INVALID;
}

/* "NAME=first,second\n", sorted, without duplicates. */
static int append_list(struct ocv_buffer *out, const char *name, const struct ocv_strings *list,
                       struct ocv_error *err)
{
    if (!list->count)
        return OCV_OK;
    const char **sorted = calloc(list->count, sizeof(*sorted));
    if (!sorted)
        return ocv_error_nomem(err);
    memcpy(sorted, list->list, list->count * sizeof(*sorted));
    qsort(sorted, list->count, sizeof(*sorted), ocv_text_order);
    int status = OCV_OK;
    for (size_t i = 0; i < list->count && status == OCV_OK; i++)
        if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
            status = ocv_buffer_printf(out, err, "%s%s", i ? "," : name, sorted[i]);
    free(sorted);
    return status < 0 ? status : ocv_buffer_append(out, "\n", 1, err);
}

static int compare_devices(const void *a, const void *b)
{
    return strcmp(((const struct ocv_device_setting *)a)->ns,
                  ((const struct ocv_device_setting *)b)->ns);
}

static int write_text(struct workload_wishes *w, struct ocv_error *err)
{
    struct ocv_config *c = w->config;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, WISHES_TEXT_MAX);
    /* "devices=NS=ID,ID;NS=...\n" */
    if (w->devices == WISHES_NODE || w->devices == WISHES_CPU)
        OCV_TRY(ocv_buffer_printf(&text, err, "devices=%s\n",
                                  w->devices == WISHES_NODE ? "node" : "cpu"));
    if (w->devices == WISHES_NAMED) {
        qsort(c->devices, c->n_devices, sizeof(*c->devices), compare_devices);
        for (size_t i = 0; i < c->n_devices; i++) {
            const struct ocv_strings *ids = &c->devices[i].ids;
            OCV_TRY(ocv_buffer_printf(&text, err, "%s%s=", i ? ";" : "devices=", c->devices[i].ns));
            if (ids->count)
                qsort(ids->list, ids->count, sizeof(*ids->list), ocv_text_order);
            for (size_t k = 0; k < ids->count; k++)
                OCV_TRY(ocv_buffer_printf(&text, err, "%s%s", k ? "," : "", ids->list[k]));
        }
        OCV_TRY(ocv_buffer_append(&text, "\n", 1, err));
    }
    OCV_TRY(append_list(&text, "disable=", &c->disable, err));
    if (*w->label)
        OCV_TRY(ocv_buffer_printf(&text, err, "label=%s\n", w->label));
    OCV_TRY(append_list(&text, "require=", &c->require, err));
    w->text = strdup(text.data ? text.data : "");
    return w->text ? OCV_OK : ocv_error_nomem(err);
}

int workload_wishes_read(const struct workload_request *request, const struct ocv_config *config,
                         struct workload_wishes *out, struct ocv_error *err)
{
    char value[WISH_MAX];
    const char *const *names = NULL;
    size_t n = ocv_config_list(config, "workload_annotations", &names);
    *out = (struct workload_wishes){0};
    OCV_TRY(ocv_config_new(&out->config, err));
    for (size_t i = 0; i < WORKLOAD_WISHES; i++) {
        struct request_text text = request->wishes[i];
        bool honoured = n == 0;
        for (size_t k = 0; k < n && !honoured; k++)
            honoured = strcmp(names[k], workload_wish_names[i]) == 0;
        if (!text.at || !text.len || !honoured)
            continue;
        /* In the canonical form each line is one wish, so control characters are refused. */
        bool sound = request_copy(text, value, sizeof(value));
        for (const char *c = value; sound && *c; c++)
            sound = (unsigned char)*c >= ' ' && *c != 0x7f;
        if (!sound)
            return ocv_error_set(
                err, OCV_ERR_INVALID,
                ANNOTATION "%s: \"%.*s...\" has control characters, or %u bytes or more",
                workload_wish_names[i], (int)(text.len < 40 ? text.len : 40), text.at, WISH_MAX);
        OCV_TRY(take_wish(out, (enum workload_wish)i, value, err));
    }
    return write_text(out, err);
}

int workload_wishes_parse(const char *text, struct workload_wishes *out, struct ocv_error *err)
{
    *out = (struct workload_wishes){0};
    OCV_TRY(ocv_config_new(&out->config, err));
    ocv_auto_free char *copy = strdup(text);
    if (!copy)
        return ocv_error_nomem(err);
    for (char *rest = copy, *line; (line = strsep(&rest, "\n"));) {
        char *value = strchr(line, '=');
        size_t wish = 0;
        if (!*line)
            continue;
        if (!value)
            return ocv_error_set(err, OCV_ERR_DATA, "no value in \"%.60s\"", line);
        *value++ = '\0';
        while (wish < WORKLOAD_WISHES && strcmp(line, workload_wish_names[wish]) != 0)
            wish++;
        if (wish == WORKLOAD_WISHES)
            return ocv_error_set(err, OCV_ERR_DATA, "no such annotation: \"%.60s\"", line);
        OCV_TRY(take_wish(out, (enum workload_wish)wish, value, err));
    }
    return write_text(out, err);
}

void workload_wishes_free(struct workload_wishes *wishes)
{
    ocv_config_free(wishes->config);
    free(wishes->text);
    *wishes = (struct workload_wishes){0};
}
