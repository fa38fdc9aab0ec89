/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What slim did, for people. */
#include "cmd/variantctl/slim/slim_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_MAX ((size_t)16 << 20)
#define FILES_SHOWN 12u /* of each variant, the largest */

static int64_t number(const json_t *file, const char *key)
{
    return json_integer_value(json_object_get(file, key));
}

static int compare_files(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int64_t p = number(x, "before"), q = number(y, "before");
    return p != q ? (p < q) - (p > q) : strcmp(ocv_json_text(x, "path"), ocv_json_text(y, "path"));
}

json_t *slim_variant_json(const struct slim_variant *v)
{
    char number[16];
    json_t *targets = json_array(), *files = json_array();
    for (size_t i = 0; i < v->target.n; i++) {
        snprintf(number, sizeof(number), "sm_%u", v->target.sm[i]);
        json_array_append_new(targets, json_string(number));
    }
    for (size_t i = 0; i < v->target.n_gfx; i++)
        json_array_append_new(targets, json_string(v->target.gfx[i]));
    for (size_t i = 0; i < v->n_layers; i++)
        json_array_extend(files, v->layers[i].files);
    return json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:o}", "schema", "dev.ocivariant.slim/v1",
                     "label", v->label, "targets", targets, "base", v->base, "bytesBefore",
                     (json_int_t)v->before, "bytesAfter", (json_int_t)v->after, "files", files);
}

/* "  (nothing to cut: none of ...; ...)", or nothing. */
static int print_remarks(const json_t *file, struct ocv_buffer *out, struct ocv_error *err)
{
    char bytes[FORMAT_NUMBER_MAX], text[1024];
    const char *why = ocv_json_text(file, "why"), *outcome = ocv_json_text(file, "outcome"),
               *listed = ocv_json_text(file, "listed");
    long long without = number(file, "without"), by_ptx = number(file, "byPtx"),
              regions = number(file, "regions");
    ocv_auto_buffer all;
    ocv_buffer_init(&all, 65536);
    if (strcmp(outcome, ocv_slim_outcome_name(OCV_SLIM_CUT)) != 0)
        OCV_TRY(ocv_buffer_printf(&all, err, "; %s", outcome));
    if (why)
        OCV_TRY(ocv_buffer_printf(&all, err, "%s%s", all.len ? ": " : "; ",
                                  cli_text(why, text, sizeof(text))));
    if (without)
        OCV_TRY(ocv_buffer_printf(&all, err,
                                  "; %lld of its %lld fat binaries not for this GPU, and the "
                                  "smallest entry of each stays",
                                  without, regions));
    if (by_ptx)
        OCV_TRY(ocv_buffer_printf(&all, err, "; %lld of its %lld fat binaries by PTX", by_ptx,
                                  regions));
    if (listed)
        OCV_TRY(ocv_buffer_printf(&all, err, "; its sum in %s is wrong now",
                                  cli_text(listed, text, sizeof(text))));
    if (number(file, "outside"))
        OCV_TRY(ocv_buffer_printf(&all, err, "; %s of code beside its sections for it stays",
                                  format_bytes(number(file, "outside"), bytes)));
    return all.len ? ocv_buffer_printf(out, err, "  (%s)", all.data + 2) : OCV_OK;
}

static int print_variant(const struct slim *slim, const struct slim_variant *v,
                         struct ocv_buffer *out, struct ocv_error *err)
{
    bool dry = slim->build.options.dry_run;
    char a[FORMAT_NUMBER_MAX], b[FORMAT_NUMBER_MAX], c[FORMAT_NUMBER_MAX], d[FORMAT_NUMBER_MAX];
    int64_t before = 0, after = 0;
    size_t n = 0;
    for (size_t i = 0; i < v->n_layers; i++)
        n += json_array_size(v->layers[i].files);
    ocv_auto_free json_t **files = calloc(n + 1, sizeof(*files));
    if (!files)
        return ocv_error_nomem(err);
    n = 0;
    for (size_t i = 0; i < v->n_layers; i++)
        for (size_t k = 0; k < json_array_size(v->layers[i].files); k++) {
            files[n] = json_array_get(v->layers[i].files, k);
            before += number(files[n], "before");
            after += number(files[n++], "after");
        }
    qsort(files, n, sizeof(*files), compare_files);
    if (!v->cut)
        OCV_TRY(ocv_buffer_printf(out, err, "%s: nothing can be cut, so no variant is made\n",
                                  v->label));
    else
        OCV_TRY(ocv_buffer_printf(
            out, err, "%s: pull %s%s instead of %s; its libraries %s instead of %s\n", v->label,
            dry ? "about " : "", format_bytes(v->after, a), format_bytes(v->before, b),
            format_bytes(after, c), format_bytes(before, d)));
    if (v == slim->variants)
        OCV_TRY(ocv_buffer_printf(out, err, "  %10s  %10s  %s\n", "before", "after", "on disk"));
    for (size_t i = 0; i < n; i++) {
        char path[1024];
        if (i == FILES_SHOWN) {
            OCV_TRY(ocv_buffer_printf(out, err, "  and %zu files more\n", n - i));
            break;
        }
        OCV_TRY(ocv_buffer_printf(out, err, "  %10s  %10s  %s",
                                  format_bytes(number(files[i], "before"), a),
                                  format_bytes(number(files[i], "after"), b),
                                  cli_text(ocv_json_text(files[i], "path"), path, sizeof(path))));
        OCV_TRY(print_remarks(files[i], out, err));
        OCV_TRY(ocv_buffer_printf(out, err, "\n"));
    }
    return OCV_OK;
}

int slim_table_print(const struct slim *slim, struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, TABLE_MAX);
    for (size_t i = 0; i < slim->n_variants; i++)
        OCV_TRY(print_variant(slim, &slim->variants[i], &out, err));
    if (slim->n_vendors) {
        char bytes[FORMAT_NUMBER_MAX];
        OCV_TRY(ocv_buffer_printf(&out, err,
                                  "left as they are, by their licence: %zu file%s with %s "
                                  "(--vendor-files, where you have the right)\n",
                                  slim->n_vendors, slim->n_vendors == 1 ? "" : "s",
                                  format_bytes(slim->vendors_bytes, bytes)));
    }
    if (slim->build.options.dry_run)
        OCV_TRY(ocv_buffer_printf(&out, err, "sizes are estimates; nothing was written\n"));
    return cli_print(out.data, out.len, err);
}
