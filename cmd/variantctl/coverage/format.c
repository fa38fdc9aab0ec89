/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Coverage as a table and as JSON. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/coverage/coverage.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t count_cells(const struct coverage *c, const struct ocv_entry *entry,
                          enum coverage_cell least)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += coverage_cell(&c->hosts[i], entry) >= least;
    return n;
}

const struct ocv_entry *coverage_gets(const struct coverage_host *host)
{
    return host->undecided ? NULL : ocv_decision_selected(host->decision);
}

bool coverage_gets_default(const struct coverage_host *host)
{
    const struct ocv_entry *selected = coverage_gets(host);
    return selected && selected->kind != OCV_ENTRY_VARIANT;
}

bool coverage_gets_nothing(const struct coverage_host *host)
{
    return !coverage_gets(host);
}

#define HOST_WIDTH 24

/* Column header: the host's name, and how many more share the column. */
static const char *head_of(const struct coverage_host *host, char out[48])
{
    size_t more = host->sharing ? host->sharing - 1 : host->nodes - 1;
    if (more)
        snprintf(out, 48, "%.*s+%zu", HOST_WIDTH - 5, host->name, more);
    else
        snprintf(out, 48, "%.*s", HOST_WIDTH, host->name);
    return out;
}

static int width_of(const struct coverage_host *host)
{
    char head[48];
    size_t len = strlen(head_of(host, head));
    return (int)(len < 4 ? 4 : len);
}

static int put_hosts(const struct coverage *c, const char *title,
                     bool (*wanted)(const struct coverage_host *), struct ocv_buffer *out,
                     struct ocv_error *err)
{
    size_t n = 0;
    char name[COVERAGE_NAME_MAX];
    for (size_t i = 0; i < c->n; i++)
        if (wanted(&c->hosts[i]))
            OCV_TRY(ocv_buffer_printf(out, err, "%s%s", n++ ? ", " : title,
                                      coverage_name(&c->hosts[i], name)));
    return n ? ocv_buffer_append(out, "\n", 1, err) : OCV_OK;
}

static int put_unused(const struct coverage *c, struct ocv_buffer *out, struct ocv_error *err)
{
    size_t n = 0;
    char name[80];
    for (size_t i = 0; i < ocv_index_count(c->image->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(c->image->index, i);
        size_t fits = count_cells(c, entry, COVERAGE_FITS);
        if (coverage_candidate(entry) && count_cells(c, entry, COVERAGE_CHOSEN) == 0)
            OCV_TRY(ocv_buffer_printf(out, err, "%s%s (%s)", n++ ? ", " : "Nobody gets        ",
                                      explain_name(c->image->index, entry, name, sizeof(name)),
                                      fits ? "others are better" : "fits no host"));
    }
    return n ? ocv_buffer_append(out, "\n", 1, err) : OCV_OK;
}

/* Each reason once, with its hosts. */
static int put_undecided(const struct coverage *c, struct ocv_buffer *out, struct ocv_error *err)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *why = c->hosts[i].undecided;
        size_t first = 0;
        while (why && first < i &&
               (!c->hosts[first].undecided || strcmp(c->hosts[first].undecided, why) != 0))
            first++;
        if (!why || first < i)
            continue;
        char name[COVERAGE_NAME_MAX];
        OCV_TRY(ocv_buffer_printf(out, err, "Not decided        %s",
                                  coverage_name(&c->hosts[i], name)));
        for (size_t k = i + 1; k < c->n; k++)
            if (c->hosts[k].undecided && !strcmp(c->hosts[k].undecided, why))
                OCV_TRY(ocv_buffer_printf(out, err, ", %s", coverage_name(&c->hosts[k], name)));
        OCV_TRY(ocv_buffer_printf(out, err, ": %s\n", why));
    }
    return OCV_OK;
}

#define TABLE_WIDTH 160 /* a wider table cannot be read */

/* The hosts of a shared column. */
static int put_alike(const struct coverage *c, struct ocv_buffer *out, struct ocv_error *err)
{
    for (size_t i = 0; i < c->n; i++) {
        char head[48];
        if (c->hosts[i].alike < 2)
            continue;
        char name[COVERAGE_NAME_MAX];
        OCV_TRY(ocv_buffer_printf(out, err, "%-17s  %s", head_of(&c->hosts[i], head),
                                  coverage_name(&c->hosts[i], name)));
        for (size_t k = i + 1; k < c->n; k++)
            if (c->hosts[k].of == i)
                OCV_TRY(ocv_buffer_printf(out, err, ", %s", coverage_name(&c->hosts[k], name)));
        OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    }
    return OCV_OK;
}

int coverage_format(struct coverage *c, struct ocv_buffer *out, struct ocv_error *err)
{
    static const char *const marks[] = {"?", ".", "+", "*"};
    int first = 12, second = 12; /* widths of columns */
    char name[80], platform[128];
    for (size_t i = 0; i < ocv_index_count(c->image->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(c->image->index, i);
        if (!coverage_candidate(entry))
            continue;
        int n = (int)strlen(explain_name(c->image->index, entry, name, sizeof(name)));
        int m = (int)strlen(ocv_platform_format(&entry->platform, platform, sizeof(platform)));
        first = n > first ? n : first;
        second = m > second ? m : second;
    }
    size_t width = (size_t)first + 2 + (size_t)second;
    bool undecided = false;
    for (size_t i = 0; i < c->n; i++) {
        c->hosts[i].alike = 1;
        c->hosts[i].sharing = 0;
        c->hosts[i].of = i;
        width += 2 + (size_t)width_of(&c->hosts[i]);
        undecided = undecided || c->hosts[i].undecided;
    }
    if (width > TABLE_WIDTH)
        OCV_TRY(coverage_share_columns(c, err));
    for (size_t i = 0; i < c->n; i++)
        c->hosts[c->hosts[i].of].sharing += c->hosts[i].nodes;
    OCV_TRY(ocv_buffer_printf(out, err, "Index   %s\nHosts   %zu\n\n%-*s",
                              ocv_index_digest(c->image->index), coverage_count(c, NULL),
                              first + 2 + second, ""));
    for (size_t i = 0; i < c->n; i++) {
        char head[48];
        if (c->hosts[i].alike)
            OCV_TRY(ocv_buffer_printf(out, err, "  %*s", width_of(&c->hosts[i]),
                                      head_of(&c->hosts[i], head)));
    }
    OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    for (size_t i = 0; i < ocv_index_count(c->image->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(c->image->index, i);
        if (!coverage_candidate(entry))
            continue;
        OCV_TRY(ocv_buffer_printf(
            out, err, "%-*s  %-*s", first, explain_name(c->image->index, entry, name, sizeof(name)),
            second,
            entry->has_platform ? ocv_platform_format(&entry->platform, platform, sizeof(platform))
                                : "-"));
        for (size_t k = 0; k < c->n; k++)
            if (c->hosts[k].alike)
                OCV_TRY(ocv_buffer_printf(out, err, "  %*s", width_of(&c->hosts[k]),
                                          marks[coverage_cell(&c->hosts[k], entry)]));
        OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    }
    OCV_TRY(ocv_buffer_printf(out, err,
                              "\n* gets it   + fits, and another is better   . does not fit%s\n\n",
                              undecided ? "   ? not decided" : ""));
    OCV_TRY(put_hosts(c, "Only the default   ", coverage_gets_default, out, err));
    OCV_TRY(put_hosts(c, "Nothing at all     ", coverage_gets_nothing, out, err));
    OCV_TRY(put_undecided(c, out, err));
    OCV_TRY(put_unused(c, out, err));
    return put_alike(c, out, err);
}

static json_t *entry_json(const struct ocv_entry *entry)
{
    char platform[128] = "";
    if (entry->has_platform)
        ocv_platform_format(&entry->platform, platform, sizeof(platform));
    const char *kind = entry->kind == OCV_ENTRY_VARIANT ? "variant"
                       : entry->kind == OCV_ENTRY_NULL  ? "null"
                                                        : "non-variant";
    return json_pack("{s:s?, s:s, s:s, s:s?}", "label", entry->label, "kind", kind, "digest",
                     entry->digest, "platform", entry->has_platform ? platform : NULL);
}

/* Names of the hosts for which the entry is at least `cell`. */
static json_t *names_with(const struct coverage *c, const struct ocv_entry *entry,
                          enum coverage_cell least)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < c->n; i++) {
        if (coverage_cell(&c->hosts[i], entry) >= least &&
            json_array_append_new(list, json_string(c->hosts[i].name)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *names_of(const struct coverage *c, bool (*wanted)(const struct coverage_host *))
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < c->n; i++) {
        if (wanted(&c->hosts[i]) &&
            json_array_append_new(list, json_string(c->hosts[i].name)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

int coverage_format_json(const struct coverage *c, struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_json *hosts = json_array();
    ocv_auto_json *variants = json_array();
    ocv_auto_json *unused = json_array();
    for (size_t i = 0; i < c->n; i++) {
        const struct coverage_host *host = &c->hosts[i];
        const struct ocv_entry *selected = coverage_gets(host);
        struct ocv_platform of = ocv_profile_platform(host->profile);
        char platform[128] = "";
        if (of.architecture)
            ocv_platform_format(&of, platform, sizeof(platform));
        ocv_auto_free char *path = strdup(host->path);
        if (path)
            ocv_text_clean(path); /* a file's name may be any bytes */
        json_t *json = json_pack(
            "{s:s, s:I, s:s, s:s?, s:b, s:o, s:s*}", "host", host->name, "nodes",
            (json_int_t)host->nodes, "profile", path, "platform", of.architecture ? platform : NULL,
            "onlyDefault", coverage_gets_default(host), "selected",
            selected ? entry_json(selected) : json_null(), "undecided", host->undecided);
        if (json_array_append_new(hosts, json) < 0)
            return ocv_error_nomem(err);
    }
    for (size_t i = 0; i < ocv_index_count(c->image->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(c->image->index, i);
        if (!coverage_candidate(entry))
            continue;
        json_t *json = entry_json(entry);
        if (!json ||
            json_object_set_new(json, "chosenBy", names_with(c, entry, COVERAGE_CHOSEN)) < 0 ||
            json_object_set_new(json, "fits", names_with(c, entry, COVERAGE_FITS)) < 0) {
            json_decref(json);
            return ocv_error_nomem(err);
        }
        bool failed = json_array_append_new(variants, json) < 0;
        if (count_cells(c, entry, COVERAGE_CHOSEN) == 0)
            failed = json_array_append_new(unused, entry_json(entry)) < 0 || failed;
        if (failed)
            return ocv_error_nomem(err);
    }

    return format_document(
        json_pack("{s:s, s:s, s:O, s:O, s:o, s:o, s:O}", "schema", "dev.ocivariant.coverage/v1",
                  "index", ocv_index_digest(c->image->index), "hosts", hosts, "variants", variants,
                  "onlyDefault", names_of(c, coverage_gets_default), "nothing",
                  names_of(c, coverage_gets_nothing), "nobodyGets", unused),
        out, err);
}
