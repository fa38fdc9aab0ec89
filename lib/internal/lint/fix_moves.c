/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a correction means for clients that know nothing of variants: whether they get another image
 * afterwards. They take the first entry of the platform that fits them best. */
#include "lib/base/cleanup.h"
#include "lib/internal/lint/lint_internal.h"

#include <string.h>

static bool is_image(const struct ocv_entry *entry)
{
    /* a malformed label does not stop an older client */
    return entry->has_platform &&
           (entry->code == OCV_REJECT_NONE || entry->code >= OCV_REJECT_LABEL_MISSING);
}

/* The machine that an entry is for. Older clients detect versions of arm alone. */
static struct ocv_platform machine_of(const struct ocv_entry *entry)
{
    struct ocv_platform machine = {.os = entry->platform.os,
                                   .architecture = entry->platform.architecture};
    if (machine.architecture && !strcmp(machine.architecture, "arm") &&
        !ocv_platform_is_hidden(entry->platform.variant))
        machine.variant = entry->platform.variant;
    return machine;
}

static bool same_text(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

/* Was this machine looked at with an entry before? */
static bool is_seen(const struct ocv_index *index, size_t i, const struct ocv_platform *machine)
{
    for (size_t k = 0; k < i; k++) {
        const struct ocv_entry *entry = ocv_index_entry(index, k);
        struct ocv_platform other = machine_of(entry);
        if (is_image(entry) && same_text(other.os, machine->os) &&
            same_text(other.architecture, machine->architecture) &&
            same_text(other.variant, machine->variant))
            return true;
    }
    return false;
}

/* A correction adds no platform, so those of before are all. */
int ocv_lint_fix_moves(const void *bytes, size_t len, const struct ocv_buffer *fixed,
                       struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_index) before = NULL;
    ocv_auto(ocv_index) after = NULL;
    OCV_TRY(ocv_index_parse(bytes, len, NULL, &before, err));
    OCV_TRY(ocv_index_parse(fixed->data, fixed->len, NULL, &after, err));
    for (size_t i = 0; i < ocv_index_count(before); i++) {
        const struct ocv_entry *entry = ocv_index_entry(before, i);
        struct ocv_platform machine = machine_of(entry);
        char name[128];
        if (!is_image(entry) || is_seen(before, i, &machine))
            continue;
        const struct ocv_entry *was = ocv_index_older_choice(before, &machine, true);
        const struct ocv_entry *is = ocv_index_older_choice(after, &machine, true);
        ocv_platform_format(&machine, name, sizeof(name));
        if (was ? !is || strcmp(was->digest, is->digest) != 0 : is != NULL)
            OCV_TRY(ocv_buffer_printf(out, err, "%s: %s instead of %s\n", name,
                                      is ? is->digest : "no image", was ? was->digest : "none"));
    }
    return OCV_OK;
}
