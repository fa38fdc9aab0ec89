/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/content/reader/reader.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define SIGHTINGS_MAX ((size_t)1 << 19)
#define VALUES_MAX 4096u
#define PLACES (2u * VALUES_MAX) /* a power of two */
#define WORK_FREE (INT64_C(1) << 20)
#define WORK_BYTES 8 /* of input, for one unit more */
#define IDENTIFY 64u /* bytes that tell what a file is */

/* What belongs to one file. */
static void clear_reader(struct ocv_content_reader *r)
{
    ocv_arena_free(&r->arena);
    free(r->sightings);
    free(r->values);
    free(r->words);
    free(r->places);
    free(r->table.data);
    for (size_t i = 0; i < r->n_refs; i++)
        free(r->refs[i].data);
    free(r->elf.segments.data);
    free(r->elf.sections.data);
    free(r->elf.dynamic.data);
    free(r->elf.property.data);
    memset(r, 0, offsetof(struct ocv_content_reader, work));
    r->container = -1;
}

struct ocv_content_reader *ocv_content_reader_new(void)
{
    struct ocv_content_reader *r = calloc(1, sizeof(*r));
    if (r)
        r->container = -1;
    return r;
}

void ocv_content_reader_free(struct ocv_content_reader *reader)
{
    if (!reader)
        return;
    clear_reader(reader);
    ZSTD_freeDCtx(reader->zstd);
    free(reader->header);
    free(reader);
}

const unsigned char *ocv_window_at(const struct ocv_content_reader *r, int64_t offset, size_t *len)
{
    int64_t at = offset - r->base;
    if (at < 0 || at > (int64_t)r->len) {
        *len = 0;
        return r->window;
    }
    *len = r->len - (size_t)at;
    return r->window + at;
}

void ocv_content_unseen(struct ocv_content_reader *r, const char *why)
{
    size_t i = 0;
    while (i < r->n_unseen && strcmp(r->unseen[i], why) != 0)
        i++;
    if (i == r->n_unseen && i < sizeof(r->unseen) / sizeof(r->unseen[0]))
        r->unseen[r->n_unseen++] = why;
}

void ocv_content_allow(struct ocv_content_reader *reader, int64_t bytes)
{
    reader->read = bytes;
}

int ocv_content_work(struct ocv_content_reader *r, int64_t units, struct ocv_error *err)
{
    r->work += units;
    return r->work <= WORK_FREE + r->read / WORK_BYTES
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_DATA,
                               "too much to read: more pieces of device code than so few bytes "
                               "hold in a real image");
}

int ocv_content_sight(struct ocv_content_reader *r, int64_t container, enum ocv_content_fact fact,
                      const char *value, int64_t bytes, struct ocv_error *err)
{
    uint32_t slot = 5381 + (uint32_t)fact;
    OCV_TRY(ocv_content_work(r, 8, err));
    if (!r->places && !(r->places = calloc(PLACES, sizeof(*r->places))))
        return ocv_error_nomem(err);
    for (const char *c = value; *c; c++)
        slot = slot * 33 + (unsigned char)*c;
    slot = (slot ^ slot >> 16) % PLACES;
    for (; r->places[slot]; slot = (slot + 1) % PLACES) {
        const struct ocv_content_value *known = &r->values[r->places[slot] - 1];
        if (known->fact == fact && !strcmp(known->text, value))
            break;
    }
    size_t place = r->places[slot] ? r->places[slot] - 1u : r->n_values;
    if (r->n_sightings >= SIGHTINGS_MAX || place >= VALUES_MAX) {
        ocv_content_unseen(r, "device code: too many pieces");
        return OCV_OK;
    }
    if (place == r->n_values) {
        const char *text = ocv_arena_text(&r->arena, value);
        struct ocv_content_value *added = text ? ocv_array_grow(&r->values, place) : NULL;
        if (!added)
            return ocv_error_nomem(err);
        *added = (struct ocv_content_value){fact, text};
        r->places[slot] = (uint16_t)++r->n_values;
    }
    struct ocv_sighting *sighting = ocv_array_grow(&r->sightings, r->n_sightings);
    if (!sighting)
        return ocv_error_nomem(err);
    *sighting = (struct ocv_sighting){container, bytes, (uint32_t)place, false};
    r->n_sightings++;
    return OCV_OK;
}

int ocv_content_leap(struct ocv_content_reader *r, int64_t offset, int64_t end,
                     struct ocv_error *err)
{
    int status = ocv_words_scan(r, offset, true, err);
    r->words_next = end;
    r->words_floor = end;
    r->next = end;
    return status;
}

/* Where device code may begin in the window, at the earliest at r->next; -1: nowhere. */
static int64_t find_magic(struct ocv_content_reader *r)
{
    size_t have;
    int64_t at = r->next;
    const unsigned char *p = ocv_window_at(r, at, &have);
    uint32_t bundle = ocv_le32((const unsigned char *)OCV_BUNDLE_MAGIC);
    for (size_t i = 0; i + 8 <= have; i += 8) {
        uint32_t word;
        memcpy(&word, p + i, sizeof(word));
        if (word == OCV_FATBIN_MAGIC || word == bundle || word == OCV_CCOB_MAGIC ||
            (word == OCV_ELF_MAGIC && at + (int64_t)i))
            return at + (int64_t)i;
    }
    r->next = at + (int64_t)(have & ~(size_t)7);
    return -1;
}

#define ZIP_MAGIC 0x04034b50u /* wheels, too */
#define AR_MAGIC "!<arch>\n"  /* static libraries, and packages of Debian */

static void identify_file(struct ocv_content_reader *r)
{
    uint32_t magic = r->len >= 8 ? ocv_le32(r->window) : 0;
    r->kind = OCV_KIND_NONE;
    if (magic == OCV_FATBIN_MAGIC || magic == OCV_CCOB_MAGIC ||
        (r->len >= OCV_BUNDLE_MAGIC_LEN &&
         !memcmp(r->window, OCV_BUNDLE_MAGIC, OCV_BUNDLE_MAGIC_LEN)))
        r->kind = OCV_KIND_DEVICE;
    else if (r->len >= IDENTIFY && !memcmp(r->window, "\177ELF", 4))
        ocv_elf_begin(r);
    else if (magic == OCV_KPACK_MAGIC)
        ocv_kpack_begin(r);
    else if (magic == ZIP_MAGIC)
        ocv_content_unseen(r, OCV_CONTENT_ZIP);
    else if (r->len > sizeof(AR_MAGIC) - 1 && !memcmp(r->window, AR_MAGIC, sizeof(AR_MAGIC) - 1))
        ocv_content_unseen(r, OCV_CONTENT_ARCHIVE);
}

/* The first byte that is still wanted. */
static int64_t wanted_from(const struct ocv_content_reader *r)
{
    if (r->kind == OCV_KIND_NONE)
        return INT64_MAX;
    if (r->kind == OCV_KIND_KPACK)
        return ocv_capture_wants(r, &r->table);
    int64_t from = r->next;
    if (r->kind != OCV_KIND_ELF)
        return from;
    if (r->container < 0) {
        int64_t words = r->words_next - (int64_t)OCV_CONTENT_WORD_MAX - 1;
        if (words > r->ref_next - OCV_REF_BEFORE)
            words = r->ref_next - OCV_REF_BEFORE;
        if (words < r->words_floor)
            words = r->words_floor;
        if (words < from)
            from = words;
    }
    const struct ocv_elf *e = &r->elf;
    const struct ocv_capture *all[] = {&e->segments, &e->sections, &e->dynamic, &e->property};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (ocv_capture_wants(r, all[i]) < from)
            from = ocv_capture_wants(r, all[i]);
    for (size_t i = 0; i < r->n_refs; i++)
        if (ocv_capture_wants(r, &r->refs[i]) < from)
            from = ocv_capture_wants(r, &r->refs[i]);
    return from;
}

/* Scan the window, and drop what is no longer needed. */
static int scan_bytes(struct ocv_content_reader *r, bool last, struct ocv_error *err)
{
    if (r->kind == OCV_KIND_UNKNOWN)
        identify_file(r);
    int64_t end = r->base + (int64_t)r->len;
    bool device = ocv_elf_is_device(r);
    if (device)
        ocv_elf_device(r, last);
    else if (r->kind == OCV_KIND_KPACK)
        OCV_TRY(ocv_capture_keep(r, &r->table, err));
    else if (r->kind == OCV_KIND_ELF)
        ocv_kpack_search(r);
    if (r->kind == OCV_KIND_ELF && !device)
        OCV_TRY(ocv_elf_capture(r, err));
    if (r->kind != OCV_KIND_NONE && !device) {
        /* find the device code of the window */
        int status = OCV_STEP_DONE;
        while (status == OCV_STEP_DONE) {
            if (r->container >= 0) {
                status = ocv_fatbin_walk(r, last, err);
                continue;
            }
            if (r->next >= r->base + (int64_t)r->len)
                break;
            int64_t at = find_magic(r);
            if (at < 0)
                break;
            size_t have;
            uint32_t magic = ocv_le32(ocv_window_at(r, at, &have));
            if (magic == OCV_FATBIN_MAGIC)
                status = ocv_fatbin_begin(r, at, last, err);
            else if (magic == OCV_CCOB_MAGIC)
                status = ocv_ccob_begin(r, at, last, err);
            else if (magic == OCV_ELF_MAGIC)
                status = ocv_cubin_begin(r, at, last, err);
            else
                status = ocv_bundle_begin(r, at, last, err);
        }
        OCV_TRY(status);
    }
    if (r->kind == OCV_KIND_ELF && r->container < 0 && !device)
        OCV_TRY(ocv_words_scan(r, r->next < end && !last ? r->next : end, last, err));
    int64_t from = wanted_from(r);
    if (from > end)
        from = end;
    size_t drop = from > r->base ? (size_t)(from - r->base) : 0;
    if (!drop && r->len == OCV_WINDOW)
        return ocv_error_set(err, OCV_ERR_INVALID, "reader of content: the window is stuck");
    memmove(r->window, r->window + drop, r->len - drop);
    r->base += (int64_t)drop;
    r->len -= drop;
    return OCV_OK;
}

int64_t ocv_content_unwanted(const struct ocv_content_reader *reader)
{
    if (reader->kind == OCV_KIND_UNKNOWN || reader->len)
        return reader->kind == OCV_KIND_NONE ? INT64_MAX : 0;
    int64_t from = wanted_from(reader);
    if (from == INT64_MAX)
        return from;
    return from > reader->base ? from - reader->base : 0;
}

void ocv_content_skip(struct ocv_content_reader *reader, int64_t n)
{
    reader->base += (int64_t)reader->len + n;
    reader->len = 0;
}

int ocv_content_feed(struct ocv_content_reader *reader, const void *data, size_t len,
                     struct ocv_error *err)
{
    const unsigned char *p = data;
    while (len) {
        int64_t unwanted = ocv_content_unwanted(reader);
        if (unwanted > 0) {
            size_t n = unwanted < (int64_t)len ? (size_t)unwanted : len;
            ocv_content_skip(reader, (int64_t)n);
            p += n;
            len -= n;
            continue;
        }
        size_t limit = reader->kind == OCV_KIND_UNKNOWN ? IDENTIFY : OCV_WINDOW;
        size_t n = limit - reader->len < len ? limit - reader->len : len;
        memcpy(reader->window + reader->len, p, n);
        reader->len += n;
        p += n;
        len -= n;
        if (reader->len < limit)
            continue;
        if (limit == IDENTIFY) {
            identify_file(reader);
            continue;
        }
        OCV_TRY(scan_bytes(reader, false, err));
    }
    return OCV_OK;
}

/* What the file says, of which nothing more comes. */
static int add_facts(struct ocv_content_reader *r, struct ocv_content_facts *facts,
                     struct ocv_error *err)
{
    OCV_TRY(scan_bytes(r, true, err));
    int64_t size = r->base + (int64_t)r->len;
    if (r->kind == OCV_KIND_KPACK)
        OCV_TRY(ocv_kpack_end(r, size, err));
    size_t n = 0;
    for (size_t i = 0; i < r->n_sightings; i++) {
        const struct ocv_sighting it = r->sightings[i];
        if (it.whole && it.bytes > size - it.container)
            ocv_content_unseen(r, "a cubin that is longer than its file");
        else
            r->sightings[n++] = it;
    }
    r->n_sightings = n;
    /* in a file of no known format device code counts at any offset */
    bool all = r->kind == OCV_KIND_DEVICE || r->kind == OCV_KIND_KPACK;
    for (size_t i = 0; all && i < r->n_sightings; i++) {
        const struct ocv_content_value *value = &r->values[r->sightings[i].value];
        OCV_TRY(ocv_content_work(r, (int64_t)facts->n / 16, err));
        OCV_TRY(
            ocv_content_facts_add(facts, value->fact, value->text, r->sightings[i].bytes, 1, err));
    }
    if (r->kind == OCV_KIND_ELF)
        OCV_TRY(ocv_elf_end(r, facts, size, err));
    for (size_t i = 0; i < r->n_unseen; i++)
        OCV_TRY(ocv_content_facts_add(facts, OCV_CONTENT_UNSEEN, r->unseen[i], 0, 1, err));
    return OCV_OK;
}

int ocv_content_end(struct ocv_content_reader *reader, struct ocv_content_facts *facts,
                    struct ocv_error *err)
{
    int status = add_facts(reader, facts, err);
    ocv_content_facts_sort(facts);
    clear_reader(reader);
    return status;
}
