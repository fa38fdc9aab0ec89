/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a CUDA version in a tag means for a host. Since CUDA 11 machine code of a toolkit runs on
 * older drivers of its major version, too, if they can read it; what the driver must compile (PTX)
 * runs only where the driver knows that toolkit (NVIDIA, "CUDA Compatibility", Minor Version
 * Compatibility). So a build whose family is known to hold machine code is best where the driver
 * has its version, and runs from the major's first one on: two values of one feature. */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "lib/internal/tags/tags_internal.h"

#include "gen/toolkits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PLATFORM "linux/amd64"

static bool is_cuda(struct ocv_property p, const char *feature)
{
    return strcmp(p.ns, OCV_TOOLKIT_NAMESPACE) == 0 && strcmp(p.feature, feature) == 0;
}

static bool is_ptx(const char *sm_arch)
{
    return strstr(sm_arch, "_virtual") != NULL;
}

/* The one value of the feature, NULL: none, or several. */
static const char *only_value(const struct ocv_properties *set, const char *feature)
{
    const char *found = NULL;
    for (size_t i = 0; i < ocv_properties_count(set); i++) {
        struct ocv_property p = ocv_properties_get(set, i);
        if (!is_cuda(p, feature))
            continue;
        if (found)
            return NULL;
        found = p.value;
    }
    return found;
}

/* "12.8" -> 12, 8; "12" -> 12 and an unknown minor version. */
static bool read_version(const char *text, unsigned *major, unsigned *minor, bool *open)
{
    char *end;
    *major = (unsigned)strtoul(text, &end, 10);
    *minor = *end == '.' ? (unsigned)strtoul(end + 1, &end, 10) : 0;
    *open = !strchr(text, '.');
    return *end == '\0';
}

const char *ocv_tag_toolkit(const struct ocv_tag *tag, char out[OCV_TAG_TEXT_MAX])
{
    const char *value = only_value(tag->said, OCV_TOOLKIT_VERSION);
    unsigned major, minor;
    bool open;
    if (!value || !read_version(value, &major, &minor, &open))
        return NULL;
    snprintf(out, OCV_TAG_TEXT_MAX, "%u.%u", major, minor);
    return out;
}

/* The family's table for such a tag and platform, or NULL. */
static const struct ocv_tag_cuda *table_of(const struct ocv_tag *tag, const char *toolkit,
                                           const char *platform, bool *nomem)
{
    regmatch_t captures[OCV_TAG_CAPTURES];
    for (size_t i = 0; i < tag->family->n_cudas; i++) {
        const struct ocv_tag_cuda *t = &tag->family->cudas[i];
        if (t->platform && strcmp(t->platform, platform) != 0)
            continue;
        if (t->toolkit.n && !ocv_tag_match(&t->toolkit.regexes[0], toolkit, captures, nomem))
            continue;
        if (ocv_tag_where_holds(tag, &t->where, nomem))
            return t;
    }
    return NULL;
}

/* What is claimed of a tag's build. */
struct claim {
    const struct ocv_tag *tag;
    const struct ocv_tag_cuda *table; /* NULL: none of the family's applies */
    struct ocv_tag_cuda own;          /* the table of a tag that names its devices itself */
    const char *order;                /* a property more, or NULL */
    const char *made;                 /* what the toolkit makes; NULL: that bounds nothing */
    const char *branch;               /* of compatibility libraries, instead of the version */
};

static int append_property(struct ocv_buffer *out, const char *feature, const char *value,
                           struct ocv_error *err)
{
    return ocv_buffer_printf(out, err, "%s" OCV_TOOLKIT_NAMESPACE " :: %s :: %s",
                             out->len ? ", " : "", feature, value);
}

/* `first` NULL or `version` NULL: not that one. `real`: only devices for which there is machine
 * code. */
static int write_claim(const struct claim *c, const char *version, const char *first, bool real,
                       struct ocv_properties **out, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    /* What the tag says about anything but its CUDA version. */
    for (size_t i = 0; i < ocv_properties_count(c->tag->said); i++) {
        struct ocv_property p = ocv_properties_get(c->tag->said, i);
        if (!is_cuda(p, OCV_TOOLKIT_VERSION))
            OCV_TRY(ocv_buffer_printf(&text, err, "%s%s :: %s :: %s", text.len ? ", " : "", p.ns,
                                      p.feature, p.value));
    }
    if (c->order)
        OCV_TRY(ocv_buffer_printf(&text, err, "%s%s", text.len ? ", " : "", c->order));
    if (c->branch)
        OCV_TRY(append_property(&text, OCV_TOOLKIT_COMPAT, c->branch, err));
    else if (version)
        OCV_TRY(append_property(&text, OCV_TOOLKIT_VERSION, version, err));
    if (first)
        OCV_TRY(append_property(&text, OCV_TOOLKIT_VERSION, first, err));
    for (size_t i = 0; c->table && i < c->table->n_sm_arch; i++)
        if (!real || !is_ptx(c->table->sm_arch[i]))
            OCV_TRY(append_property(&text, OCV_TOOLKIT_DEVICE, c->table->sm_arch[i], err));
    const char *at = c->made;
    for (size_t n; at && *at; at += n + (at[n] == ' ')) {
        char value[16];
        n = strcspn(at, " ");
        snprintf(value, sizeof(value), "%.*s_real", (int)n, at);
        OCV_TRY(append_property(&text, OCV_TOOLKIT_DEVICE, value, err));
    }
    return ocv_properties_parse(text.data ? text.data : "", text.len, out, err);
}

/* A tag that names devices itself is believed; else the table bounds them, else the toolkit. */
static void find_devices(struct claim *c, unsigned major, unsigned minor, bool open)
{
    if (c->table)
        c->own = (struct ocv_tag_cuda){
            .minor = c->table->minor, .from = c->table->from, .compat = c->table->compat};
    c->own.any_sm = true;
    bool named = false;
    for (size_t i = 0; i < ocv_properties_count(c->tag->said); i++)
        named = named || is_cuda(ocv_properties_get(c->tag->said, i), OCV_TOOLKIT_DEVICE);
    if (named)
        c->table = &c->own;
    else if (!c->table || (!c->table->any_sm && !c->table->n_sm_arch))
        for (size_t i = 0; i < sizeof(ocv_toolkits) / sizeof(*ocv_toolkits) && !c->made; i++)
            if (ocv_toolkits[i].major == major && (open || ocv_toolkits[i].minor <= minor))
                c->made = ocv_toolkits[i].makes; /* for a major version alone the newest's */
}

int ocv_tag_claims(const struct ocv_tag *tag, const char *platform, const char *order,
                   struct ocv_properties **all, struct ocv_properties **base, struct ocv_error *err)
{
    char toolkit[OCV_TAG_TEXT_MAX], first[16], branch[16];
    unsigned major, minor;
    bool open, nomem = false;
    struct claim c = {.tag = tag};
    *base = NULL;
    if (!ocv_tag_toolkit(tag, toolkit)) {
        ocv_auto_buffer text;
        ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        OCV_TRY(ocv_properties_format(tag->said, &text, err));
        return ocv_properties_parse(text.data ? text.data : "", text.len, all, err);
    }
    (void)read_version(only_value(tag->said, OCV_TOOLKIT_VERSION), &major, &minor, &open);
    platform = platform ? platform : tag->platform ? tag->platform : DEFAULT_PLATFORM;
    c.table = table_of(tag, toolkit, platform, &nomem);
    c.order = order;
    find_devices(&c, major, minor, open);
    if (nomem)
        return ocv_error_nomem(err);
    /* The branch of the driver that comes with a CUDA version, and of its compatibility libraries;
     * it may be unknown, or older than those that hosts list. */
    bool compat = c.table && c.table->compat && major >= OCV_TOOLKIT_MINOR_FROM;
    for (size_t i = 0; compat && !c.branch && i < sizeof(ocv_drivers) / sizeof(*ocv_drivers); i++)
        if (ocv_drivers[i].major == major && ocv_drivers[i].minor == minor) {
            snprintf(branch, sizeof(branch), "%u", ocv_drivers[i].branch);
            c.branch = branch;
        }
    snprintf(first, sizeof(first), "%u.0", major);
    if (c.table && c.table->from && strtoul(c.table->from, NULL, 10) == major) {
        snprintf(first, sizeof(first), "%s", c.table->from);
        if (ocv_tag_version_compare(toolkit, first) < 0)
            snprintf(toolkit, sizeof(toolkit), "%s", first);
    }
    bool runs = c.table && c.table->minor && !c.branch && major >= OCV_TOOLKIT_MINOR_FROM &&
                ocv_tag_version_compare(toolkit, first) > 0;
    size_t ptx = 0; /* of the table's devices */
    for (size_t i = 0; runs && i < c.table->n_sm_arch; i++)
        ptx += is_ptx(c.table->sm_arch[i]);
    int status = write_claim(&c, toolkit, runs && !ptx ? first : NULL, false, all, err);
    if (status == OCV_OK && ptx && ptx < c.table->n_sm_arch)
        status = write_claim(&c, NULL, first, true, base, err);
    if (status < 0) {
        ocv_properties_free(*all);
        *all = NULL;
    }
    return status;
}

int ocv_tag_assumed(const struct ocv_tag *tag, struct ocv_properties **out, struct ocv_error *err)
{
    char toolkit[OCV_TAG_TEXT_MAX];
    unsigned major, minor;
    bool open, nomem = false;
    struct claim c = {.tag = tag};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    *out = NULL;
    if (tag->family && ocv_tag_toolkit(tag, toolkit)) {
        (void)read_version(only_value(tag->said, OCV_TOOLKIT_VERSION), &major, &minor, &open);
        c.table = table_of(tag, toolkit, tag->platform ? tag->platform : DEFAULT_PLATFORM, &nomem);
        find_devices(&c, major, minor, open);
    }
    if (nomem)
        return ocv_error_nomem(err);
    if (tag->assumed && !tag->n_ambiguous)
        OCV_TRY(ocv_buffer_printf(&text, err, "%s", tag->assumed));
    /* where it is the toolkit alone that says for which devices the build is */
    for (size_t i = 0; c.made && i < ocv_properties_count(tag->properties); i++) {
        struct ocv_property p = ocv_properties_get(tag->properties, i);
        if (is_cuda(p, OCV_TOOLKIT_DEVICE))
            OCV_TRY(append_property(&text, p.feature, p.value, err));
    }
    return ocv_properties_parse(text.data ? text.data : "", text.len, out, err);
}

const char *ocv_tag_base_label(const char *label, char out[OCV_TAG_BASE_LABEL_SIZE])
{
    snprintf(out, OCV_TAG_BASE_LABEL_SIZE, "%.*s" OCV_TAG_BASE_SUFFIX, OCV_TAG_LABEL_MAX, label);
    return out;
}
