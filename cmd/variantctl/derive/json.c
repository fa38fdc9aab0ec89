/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/derive/derive_verb.h"

#include <string.h>

static json_t *highest_json(const struct ocv_content_highest *it)
{
    return it->value ? json_pack("{s:s, s:s}", "value", it->value, "path", it->path) : json_null();
}

static void add_words(void *data, const char *source, const char *words)
{
    json_array_append_new(data, json_pack("{s:s, s:s}", "source", source, "words", words));
}

json_t *derive_format_json(const struct derive_result *result)
{
    const struct ocv_content_derived *d = &result->content.derived;
    json_t *properties = json_array(), *base = d->n_base ? json_array() : NULL;
    const struct ocv_content_report *report = &result->content.report;
    json_t *machines = json_object(), *words = json_array(), *needs = json_array();
    json_t *targets = json_array();
    json_t *unseen = json_array(); /* what was not examined, overall and in files */
    for (size_t i = 0; i < report->notes.n; i++)
        json_array_append_new(unseen, json_pack("{s:s}", "what", report->notes.list[i].value));
    for (size_t i = 0; i < report->n_files; i++) {
        const struct ocv_content_facts *facts = &report->files[i].facts;
        for (size_t k = 0; k < facts->n; k++)
            if (facts->list[k].fact == OCV_CONTENT_UNSEEN)
                json_array_append_new(unseen, json_pack("{s:s, s:s}", "what", facts->list[k].value,
                                                        "path", report->files[i].path));
    }
    for (size_t i = 0; i < d->n_targets; i++) {
        const struct ocv_content_target *it = &d->targets[i];
        json_t *settings = json_array();
        char setting[128], name[OCV_CONTENT_TARGET_MAX];
        for (size_t k = 0; ocv_content_setting(it, k, setting, sizeof(setting)); k++)
            json_array_append_new(settings, json_string(setting));
        json_array_append_new(targets,
                              json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s?, s:b, s:i, s:o}",
                                        "fact", ocv_content_fact_name(it->fact), "value", it->value,
                                        "target", ocv_content_target_name(it, name, sizeof(name)),
                                        "bytes", (json_int_t)it->bytes, "files",
                                        (json_int_t)it->files, "lacking", (json_int_t)it->lacking,
                                        "without", it->without, "proposed", it->proposed, "saving",
                                        derive_saving(result, it), "settings", settings));
    }
    for (size_t i = 0; i < d->n_needs; i++)
        json_array_append_new(
            needs, json_pack("{s:s, s:s, s:s, s:I, s:s}", "is", d->needs[i].is, "library",
                             d->needs[i].name, "version", d->needs[i].version, "files",
                             (json_int_t)d->needs[i].files, "path", d->needs[i].path));
    for (size_t i = 0; i < d->n_properties; i++)
        json_array_append_new(properties, json_string(d->properties[i]));
    for (size_t i = 0; i < d->n_base; i++)
        json_array_append_new(base, json_string(d->base[i]));
    for (size_t i = 0; i < d->machines.n; i++)
        json_object_set_new(machines, d->machines.list[i].value,
                            json_integer(d->machines.list[i].count));
    derive_words(result, add_words, words);
    return json_pack("{s:s, s:I, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:b, s:o, "
                     "s:o, s:s*, s:o*, s:o*}",
                     "name", result->name, "files", (json_int_t)result->content.report.members,
                     "bytes", (json_int_t)result->content.report.bytes, "properties", properties,
                     "label", d->label, "targets", targets, "needs", needs, "machines", machines,
                     "x86_level", highest_json(&d->level), "glibc", highest_json(&d->glibc),
                     "glibcxx", highest_json(&d->glibcxx), "ptx", highest_json(&d->ptx), "toolkit",
                     d->toolkit, "mixed", d->mixed, "says", words, "not_looked_at", unseen,
                     "attached", result->attached[0] ? result->attached : NULL, "properties_minor",
                     base, "zstd", d->zstd.value ? highest_json(&d->zstd) : NULL);
}
