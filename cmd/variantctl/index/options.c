/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"
#include "lib/internal/edit/edit.h"

#include <stdlib.h>
#include <string.h>

int edit_take_once(const struct ocv_option_given *given, struct ocv_error *err)
{
    const char **text = given->into;
    if (*text)
        return ocv_error_set(err, OCV_ERR_INVALID, "--%s is given twice", given->option->name);
    *text = given->value;
    return OCV_OK;
}

static int take_annotation(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct edit_annotations *annotations = given->into;
    if (annotations->n == EDIT_ANNOTATIONS_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u annotations",
                             EDIT_ANNOTATIONS_MAX);
    annotations->list[annotations->n].option = given->option->name;
    annotations->list[annotations->n++].text = given->value;
    return OCV_OK;
}

static int take_platform(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct ocv_platform **platform = given->into;
    ocv_platform_free(*platform);
    *platform = NULL;
    return ocv_platform_parse(given->value, platform, err) < 0 ? ocv_error_prefix(err, "--platform")
                                                               : OCV_OK;
}

const struct ocv_option edit_annotation_rows[] = {
    {.name = "namespaces",
     .value = "A,B",
     .help = "most important namespace first",
     OCV_OPTION_CALL(take_annotation)},
    {.name = "static",
     .value = "NS='F :: V, ...'",
     .help = "rank builds by a list of the publisher's own",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_CALL(take_annotation)},
    {.name = "annotation",
     .value = "KEY=VALUE",
     .help = "on the index; an empty VALUE removes it",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_CALL(take_annotation)},
    OCV_OPTIONS_END};

const struct ocv_option edit_relabel_rows[] = {
    {.name = "relabel",
     .help = "write them into the images, too: new digests",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct edit, build.relabel)},
    OCV_OPTIONS_END};

const struct ocv_option edit_platform_rows[] = {
    {.name = "platform",
     .value = "OS/ARCH",
     .help = "only of this platform",
     OCV_OPTION_MEMBER(take_platform, struct edit, platform)},
    OCV_OPTIONS_END};

int edit_items(struct edit *e, char **arguments, struct ocv_error *err)
{
    for (size_t i = 0; i < e->defaults.n; i++)
        OCV_TRY(build_item(&e->build, NULL, e->defaults.texts[i], NULL, NULL, err));
    for (size_t i = 0; arguments[i]; i++)
        OCV_TRY(build_argument(&e->build, arguments[i], err));
    return OCV_OK;
}

/* Split KEY=VALUE; the key gets the prefix. */
static int set_pair(struct edit *e, const char *prefix, const char *text, const char *what,
                    struct ocv_error *err)
{
    const char *equals = strchr(text, '=');
    ocv_auto_free char *key = NULL;
    if (!equals || equals == text)
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not %s", text, what);
    if (asprintf(&key, "%s%.*s", prefix, (int)(equals - text), text) < 0)
        return ocv_error_nomem(err);
    bool own = !*prefix && !strncmp(key, "dev.ocivariant.", strlen("dev.ocivariant."));
    return own ? ocv_error_set(err, OCV_ERR_INVALID, "%.100s is written by this command itself",
                               key)
               : ocv_edit_set(e->build.document, key, equals[1] || *prefix ? equals + 1 : NULL,
                              err);
}

int edit_annotations(struct edit *e, struct ocv_error *err)
{
    for (size_t i = 0; i < e->annotations.n; i++) {
        const char *option = e->annotations.list[i].option, *text = e->annotations.list[i].text;
        if (!strcmp(option, "namespaces"))
            OCV_TRY(ocv_edit_set(e->build.document, OCV_ANNOTATION_NAMESPACES, text, err));
        else if (!strcmp(option, "static"))
            OCV_TRY(set_pair(e, OCV_ANNOTATION_STATIC, text, "NS='FEATURE :: VALUE, ...'", err));
        else
            OCV_TRY(set_pair(e, "", text, "KEY=VALUE", err));
    }
    return OCV_OK;
}

void edit_free(struct edit *e)
{
    build_free(&e->build);
    ocv_platform_free(e->platform);
}
