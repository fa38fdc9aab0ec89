/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/edit/edit.h"

#include <stdlib.h>
#include <string.h>

static int add_text(const char **list, size_t *n, size_t max, const char *what,
                    struct ocv_error *err)
{
    if (*n == max)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %zu %s", max, what);
    list[(*n)++] = optarg;
    return OCV_OK;
}

static int add_annotation(struct edit *e, int option, struct ocv_error *err)
{
    if (e->n_annotations == EDIT_ANNOTATIONS_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u annotations",
                             EDIT_ANNOTATIONS_MAX);
    e->annotations[e->n_annotations].option = option;
    e->annotations[e->n_annotations++].text = optarg;
    return OCV_OK;
}

/* What may be given once: a second one would silently put the first out of force. */
static int set_text(const char **text, const char *what, struct ocv_error *err)
{
    if (*text)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s is given twice", what);
    *text = optarg;
    return OCV_OK;
}

static int take(struct edit *e, int value, struct ocv_error *err)
{
    switch (value) {
    case EDIT_OPTION_DEFAULT:
        return add_text(e->defaults, &e->n_defaults, EDIT_DEFAULTS_MAX, "--default", err);
    case EDIT_OPTION_LABEL:
        return add_text(e->labels, &e->n_labels, EDIT_LABELS_MAX, "--label", err);
    case EDIT_OPTION_FROM:
        return set_text(&e->from, "--from", err);
    case EDIT_OPTION_TAGS:
        return set_text(&e->tags, "--from-tags", err);
    case EDIT_OPTION_RULES:
        return set_text(&e->rules, "--rules", err);
    case EDIT_OPTION_RELABEL:
        e->build.relabel = true;
        return OCV_OK;
    case EDIT_OPTION_ORDINARY:
        e->ordinary = true;
        return OCV_OK;
    case EDIT_OPTION_RELAYOUT:
        e->relayout = true;
        return OCV_OK;
    case EDIT_OPTION_PLATFORM:
        ocv_platform_free(e->platform);
        e->platform = NULL;
        return ocv_platform_parse(optarg, &e->platform, err) < 0
                   ? ocv_error_prefix(err, "--platform")
                   : OCV_OK;
    default:
        return add_annotation(e, value, err);
    }
}

int edit_options(struct edit *e, int argc, char **argv, const struct option *options,
                 const char *help, struct ocv_error *err)
{
    struct cli *cli = e->build.cli;
    int value, code = -1;
    while (cli_next_option(cli, argc, argv, options, help, &value, &code)) {
        int written = write_option(&e->build.options, value);
        if (written > 0)
            continue;
        if (written < 0)
            return cli_bad_option(cli, argv, value);
        int status = take(e, value, err);
        if (status < 0)
            return status;
    }
    return code < 0 ? EDIT_GO_ON : code;
}

/* KEY=VALUE into its key, with a prefix. */
static int set_pair(struct edit *e, const char *prefix, const char *text, const char *what,
                    struct ocv_error *err)
{
    const char *equals = strchr(text, '=');
    char *key = NULL;
    if (!equals || equals == text)
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not %s", text, what);
    if (asprintf(&key, "%s%.*s", prefix, (int)(equals - text), text) < 0)
        return ocv_error_nomem(err);
    bool own = !*prefix && !strncmp(key, "dev.ocivariant.", strlen("dev.ocivariant."));
    int status =
        own ? ocv_error_set(err, OCV_ERR_INVALID, "%.100s is written by this command itself", key)
            : ocv_edit_set(e->build.document, key, equals[1] || *prefix ? equals + 1 : NULL, err);
    free(key);
    return status;
}

int edit_annotations(struct edit *e, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; i < e->n_annotations && status == OCV_OK; i++) {
        const char *text = e->annotations[i].text;
        if (e->annotations[i].option == EDIT_OPTION_NAMESPACES)
            status = ocv_edit_set(e->build.document, OCV_ANNOTATION_NAMESPACES, text, err);
        else if (e->annotations[i].option == EDIT_OPTION_STATIC)
            status = set_pair(e, OCV_ANNOTATION_STATIC, text, "NS='FEATURE :: VALUE, ...'", err);
        else
            status = set_pair(e, "", text, "KEY=VALUE", err);
    }
    return status;
}

void edit_free(struct edit *e)
{
    build_free(&e->build);
    ocv_platform_free(e->platform);
}
