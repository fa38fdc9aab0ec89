/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/coverage/coverage.h"
#include "cmd/variantctl/verbs.h"

#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST_SHOWN 12 /* digits, as docker shows them */

static int put_choice(const struct coverage_choice *c, struct ocv_buffer *out,
                      struct ocv_error *err)
{
    const char *colon = strchr(c->digest, ':');
    if (*c->problem)
        return ocv_buffer_printf(out, err, "cannot be chosen (%s)", c->problem);
    if (!*c->digest)
        return ocv_buffer_printf(out, err, "nothing");
    return ocv_buffer_printf(out, err, "%s (%.*s)", c->name, DIGEST_SHOWN,
                             colon ? colon + 1 : c->digest);
}

static bool same_change(const struct coverage_change *a, const struct coverage_change *b)
{
    return !strcmp(a->image, b->image) && !strcmp(a->before.digest, b->before.digest) &&
           !strcmp(a->after.digest, b->after.digest);
}

int coverage_changes_format(const struct coverage_changes *changes, struct ocv_buffer *out,
                            struct ocv_error *err)
{
    for (size_t i = 0; i < changes->n; i++) {
        const char *image = changes->list[i].image;
        if (i == 0 || strcmp(image, changes->list[i - 1].image) != 0)
            OCV_TRY(ocv_buffer_printf(out, err, "%s\n", image));
        /* The first of several equal changes is printed for all. */
        const struct coverage_change *change = &changes->list[i];
        size_t first = 0;
        while (first < i && !same_change(&changes->list[first], change))
            first++;
        if (first < i)
            continue;
        OCV_TRY(ocv_buffer_printf(out, err, "  %s", change->host));
        for (size_t k = i + 1; k < changes->n; k++)
            if (same_change(change, &changes->list[k]))
                OCV_TRY(ocv_buffer_printf(out, err, ", %s", changes->list[k].host));
        OCV_TRY(ocv_buffer_printf(out, err, ": "));
        OCV_TRY(put_choice(&change->before, out, err));
        OCV_TRY(ocv_buffer_printf(out, err, " -> "));
        OCV_TRY(put_choice(&change->after, out, err));
        OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    }
    return ocv_buffer_printf(out, err, "%s%zu of %zu choices change (images %zu, machines %zu)\n",
                             changes->n ? "\n" : "", changes->n, changes->images * changes->hosts,
                             changes->images, changes->hosts);
}

static json_t *choice_json(const struct coverage_choice *c)
{
    if (*c->problem)
        return json_pack("{s:s}", "problem", c->problem);
    if (!*c->digest)
        return json_null();
    return json_pack("{s:s, s:s}", "digest", c->digest, "name", c->name);
}

int coverage_changes_format_json(const struct coverage_changes *changes, struct ocv_buffer *out,
                                 struct ocv_error *err)
{
    ocv_auto_json *list = json_array();
    for (size_t i = 0; i < changes->n; i++) {
        const struct coverage_change *c = &changes->list[i];
        if (json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o, s:o}", "image", c->image,
                                                  "host", c->host, "profile", c->profile, "before",
                                                  choice_json(&c->before), "after",
                                                  choice_json(&c->after))) < 0)
            return ocv_error_nomem(err);
    }
    return format_document(json_pack("{s:s, s:s?, s:s?, s:I, s:I, s:O}", "schema",
                                     "dev.ocivariant.coverage-changes/v1", "before",
                                     changes->before, "after", changes->after, "images",
                                     (json_int_t)changes->images, "hosts",
                                     (json_int_t)changes->hosts, "changes", list),
                           out, err);
}
