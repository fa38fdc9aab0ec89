/* SPDX-License-Identifier: GPL-3.0-or-later */
/* BuildKit: mirrors in buildkitd.toml. Never done with another engine's set-up: what a builder
 * takes for its own machine goes into images for others. */
#include "cmd/variantctl/setup/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_DEFAULT "/etc/buildkit/buildkitd.toml"
#define REGISTRY_TABLE "registry" TOML_DOT

/* A header that stands there already is its owner's, also with nothing under it. */
static int has_header(const struct setup_file *file, const char *table, bool *out,
                      struct ocv_error *err)
{
    toml_auto toml = {0};
    const struct ocv_buffer *text = &file->base.text;
    int status = toml_scan(file->path, text->data ? text->data : "", text->len, &toml, err);
    *out = false;
    for (size_t i = 0; i < toml.count && status == OCV_OK; i++)
        *out = *out || (toml.items[i].kind == TOML_TABLE && strcmp(toml.items[i].path, table) == 0);
    return status;
}

static int add_mirror(struct setup *setup, struct setup_file *file, struct ocv_buffer *text,
                      const char *host, struct ocv_error *err)
{
    ocv_auto_buffer table;
    ocv_buffer_init(&table, TOML_KEY_MAX);
    bool made = false, header = false;
    int status = ocv_buffer_printf(&table, err, REGISTRY_TABLE "%s", host);
    if (status == OCV_OK)
        status = has_header(file, table.data, &header, err);
    if (status == OCV_OK)
        status =
            setup_toml_add_item(file->path, text, table.data, "mirrors", setup->listen, &made, err);
    return status < 0 ? status
                      : setup_add_own(file, header ? SETUP_OWN_TOML_MEMBER : SETUP_OWN_TOML_ITEM,
                                      table.data, "mirrors", setup->listen, made ? NULL : "", err);
}

/* The mirror itself is plain HTTP on loopback. */
static int allow_http(struct setup *setup, struct setup_file *file, struct ocv_buffer *text,
                      struct ocv_error *err)
{
    toml_auto toml = {0};
    ocv_auto_buffer table;
    ocv_buffer_init(&table, TOML_KEY_MAX);
    bool header = false;
    int status = ocv_buffer_printf(&table, err, REGISTRY_TABLE "%s", setup->listen);
    if (status == OCV_OK)
        status = has_header(file, table.data, &header, err);
    if (status == OCV_OK)
        status = toml_scan(file->path, text->data, text->len, &toml, err);
    char *path = status == OCV_OK ? toml_join(table.data, "http", err) : NULL;
    if (!path)
        return status < 0 ? status : OCV_ERR_NOMEM;
    const struct toml_item *item = toml_find(&toml, path);
    free(path);
    char *previous = item ? strndup(toml.text + item->start, item->end - item->start) : NULL;
    status = item && !previous
                 ? ocv_error_nomem(err)
                 : setup_add_own(file, header ? SETUP_OWN_TOML_KEY : SETUP_OWN_TOML_TABLE,
                                 table.data, "http", "true", previous, err);
    free(previous);
    return status < 0 ? status : toml_set(file->path, text, table.data, "http", "true", err);
}

int setup_buildkit(struct setup *setup, struct ocv_error *err)
{
    const char *path = setup->engine_config ? setup->engine_config : CONFIG_DEFAULT;
    struct setup_version version;
    struct setup_file *file = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, SETUP_FILE_MAX);
    if (setup->fail_closed)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "--fail-closed: BuildKit always goes to the "
                             "registry itself when its mirrors fail");
    setup_find_version(setup, "buildkitd", &version);
    int status =
        setup_note(setup, err, "buildkitd %s", version.known ? version.text : "of unknown version");
    if (status == OCV_OK)
        status = setup_open(setup, path, &file, err);
    if (status == OCV_OK)
        status = ocv_buffer_append(&text, file->want.text.data, file->want.text.len, err);
    for (size_t i = 0; i < setup->n_registries && status == OCV_OK; i++)
        status = add_mirror(setup, file, &text, setup->registries[i], err);
    if (status == OCV_OK)
        status = allow_http(setup, file, &text, err);
    if (status == OCV_OK)
        status = setup_want(file, text.data, text.len, err);
    snprintf(setup->restart, sizeof(setup->restart), "systemctl restart buildkit");
    return status < 0 ? status
                      : setup_note(setup, err,
                                   "warning: builds on this machine now take its own variant for "
                                   "every tag in FROM; the image that they make may not run on "
                                   "another machine (write FROM image@sha256:... where it must)");
}
