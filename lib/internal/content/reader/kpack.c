/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* AMD's kpack (ROCm 7.14 on; shared/kpack of rocm-systems): after the build the code for GPUs is
 * taken out of a library, and put into archives, one for each GPU. The library names its code and
 * the archives:
 *
 * .rocm_kpack_ref: {"kernel_name": "lib/libx.so", "kpack_search_paths":
 * ["../.kpack/x_@GFXARCH@.kpack"]} archive: "KPAK", u32 version, u64 place of the table, at the end
 * of the file:
 *          {"toc": {"lib/libx.so#0": {"gfx942": {"ordinal": 0, "original_size": 7472}}}, ...}
 *
 * Both are MessagePack. `#0` counts the objects of a library. What is in an archive is compressed,
 * and not read. */
#include "lib/base/cleanup.h"
#include "lib/internal/content/reader/reader.h"

#include <stdio.h>
#include <string.h>

#define VERSION 1u
#define TABLE_MAX ((size_t)8 << 20) /* 100,000 objects; PyTorch has 3,000 for each GPU */
#define KEY "kpack_search_paths"
#define KEY_LEN (sizeof(KEY) - 1)
#define REF_BEHIND 7168 /* bytes of a reference from that key on */
#define NAME_LEN_MAX 512u
#define GPU_LEN_MAX 63u
#define PATHS_MAX 64u

#define UNREADABLE "a .kpack archive that cannot be read"

/* A section table stands at the end of its file. So what may be a reference is kept while it
 * passes. */
void ocv_kpack_search(struct ocv_content_reader *r)
{
    size_t have;
    int64_t from = r->ref_next > r->base ? r->ref_next : r->base;
    const unsigned char *p = ocv_window_at(r, from, &have);
    const unsigned char *end = p + have;
    for (const unsigned char *at; (at = memmem(p, (size_t)(end - p), KEY, KEY_LEN)); p = at + 1) {
        int64_t place = from + (at - (end - have));
        struct ocv_capture *last = r->n_refs ? &r->refs[r->n_refs - 1] : NULL;
        if (last && place < last->offset + (int64_t)last->want)
            continue;
        if (r->n_refs == OCV_REFS_MAX)
            break; /* a program that makes them has some; the section may be one of these */
        int64_t begin = place - OCV_REF_BEFORE > r->base ? place - OCV_REF_BEFORE : r->base;
        r->refs[r->n_refs++] =
            (struct ocv_capture){.offset = begin, .want = (size_t)(place - begin) + REF_BEHIND};
    }
    r->ref_next = from + (int64_t)(have < KEY_LEN ? 0 : have - KEY_LEN + 1);
}

/* Names and paths go into reports, which are JSON. */
static bool copy_text(struct ocv_msgpack_text text, size_t max, char *out)
{
    if (!text.len || text.len > max)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.text[i] < ' ' || text.text[i] > '~')
            return false;
    memcpy(out, text.text, text.len);
    out[text.len] = '\0';
    return true;
}

int ocv_kpack_ref_parse(const void *bytes, size_t len, struct ocv_content_facts *facts,
                        struct ocv_error *err)
{
    struct ocv_msgpack m = {.at = bytes, .end = (const unsigned char *)bytes + len};
    struct ocv_content_facts found = {0};
    char name[NAME_LEN_MAX + 1], path[NAME_LEN_MAX + 1];
    bool named = false;
    int status = OCV_OK;
    uint64_t n = ocv_msgpack_take(&m, OCV_MSGPACK_MAP);
    for (uint64_t i = 0; i < n && !m.bad && status >= 0; i++) {
        struct ocv_msgpack_text key = ocv_msgpack_text(&m);
        if (ocv_msgpack_is(key, KEY)) {
            uint64_t paths = ocv_msgpack_take(&m, OCV_MSGPACK_ARRAY);
            m.bad = !paths || paths > PATHS_MAX;
            for (uint64_t k = 0; k < paths && !m.bad && status >= 0; k++) {
                m.bad = !copy_text(ocv_msgpack_text(&m), NAME_LEN_MAX, path);
                if (!m.bad)
                    status = ocv_content_facts_add(&found, OCV_CONTENT_KPACK_PATH, path, 0, 1, err);
            }
        } else if (ocv_msgpack_is(key, "kernel_name"))
            m.bad = m.bad || !(named = copy_text(ocv_msgpack_text(&m), NAME_LEN_MAX, name));
        else
            ocv_msgpack_skip(&m);
    }
    bool whole = !m.bad && named && found.n;
    if (status >= 0 && whole)
        status = ocv_content_facts_add(facts, OCV_CONTENT_KPACK_NAME, name, 0, 1, err);
    if (status >= 0 && whole)
        status = ocv_content_facts_merge(facts, &found, err);
    ocv_content_facts_free(&found);
    return status < 0 ? status : whole;
}

int ocv_kpack_ref(struct ocv_content_reader *r, int64_t offset, int64_t size,
                  struct ocv_content_facts *facts, struct ocv_error *err)
{
    for (size_t i = 0; i < r->n_refs; i++) {
        const struct ocv_capture *c = &r->refs[i];
        if (offset < c->offset || size > (int64_t)c->have ||
            offset - c->offset > (int64_t)c->have - size)
            continue;
        int status = ocv_kpack_ref_parse(c->data + (offset - c->offset), (size_t)size, facts, err);
        if (status != 0)
            return status < 0 ? status : OCV_OK;
    }
    ocv_content_unseen(r, "a reference to .kpack archives that cannot be read");
    return OCV_OK;
}

void ocv_kpack_begin(struct ocv_content_reader *r)
{
    uint64_t offset = r->len >= 16 ? ocv_le64(r->window + 8) : 0;
    if (offset < 16 || offset > INT64_MAX / 4 || ocv_le32(r->window + 4) != VERSION) {
        ocv_content_unseen(r, UNREADABLE);
        return;
    }
    r->kind = OCV_KIND_KPACK;
    r->table = (struct ocv_capture){.offset = (int64_t)offset, .want = TABLE_MAX};
    r->next = INT64_MAX / 4; /* nothing else is looked for */
}

/* The objects of one name: {"gfx942": {"original_size": 7472, ...}, ...}. */
static int sight_objects(struct ocv_content_reader *r, struct ocv_msgpack *m,
                         struct ocv_msgpack_text name, struct ocv_error *err)
{
    char gpu[GPU_LEN_MAX + 1], path[NAME_LEN_MAX + 1], value[GPU_LEN_MAX + NAME_LEN_MAX + 2];
    const char *number = memrchr(name.text, '#', name.len);
    if (number)
        name.len = (size_t)(number - name.text);
    bool known = copy_text(name, NAME_LEN_MAX, path);
    uint64_t n = ocv_msgpack_take(m, OCV_MSGPACK_MAP);
    for (uint64_t i = 0; i < n && !m->bad; i++) {
        struct ocv_msgpack_text target = ocv_msgpack_text(m);
        uint64_t size = 0;
        uint64_t members = ocv_msgpack_take(m, OCV_MSGPACK_MAP);
        for (uint64_t k = 0; k < members && !m->bad; k++) {
            struct ocv_msgpack_text key = ocv_msgpack_text(m);
            if (ocv_msgpack_is(key, "original_size") || ocv_msgpack_is(key, "size"))
                size = ocv_msgpack_take(m, OCV_MSGPACK_NUMBER);
            else
                ocv_msgpack_skip(m);
        }
        if (m->bad)
            break;
        if (!known || !copy_text(target, GPU_LEN_MAX, gpu) || strncmp(gpu, "gfx", 3) != 0) {
            ocv_content_unseen(r, "code in a .kpack archive for what is not known");
            continue;
        }
        snprintf(value, sizeof(value), "%s %s", gpu, path);
        int64_t bytes = size < INT64_MAX / 4 ? (int64_t)size : INT64_MAX / 4;
        OCV_TRY(ocv_content_sight(r, 0, OCV_CONTENT_KPACK_CODE, value, bytes, err));
    }
    return OCV_OK;
}

int ocv_kpack_table_parse(struct ocv_content_reader *r, const void *bytes, size_t len,
                          struct ocv_error *err)
{
    struct ocv_msgpack m = {.at = bytes, .end = (const unsigned char *)bytes + len};
    uint64_t n = ocv_msgpack_take(&m, OCV_MSGPACK_MAP);
    bool found = false;
    for (uint64_t i = 0; i < n && !m.bad; i++) {
        if (!ocv_msgpack_is(ocv_msgpack_text(&m), "toc")) {
            ocv_msgpack_skip(&m);
            continue;
        }
        uint64_t names = ocv_msgpack_take(&m, OCV_MSGPACK_MAP);
        found = true;
        for (uint64_t k = 0; k < names && !m.bad; k++) {
            struct ocv_msgpack_text name = ocv_msgpack_text(&m);
            OCV_TRY(sight_objects(r, &m, name, err));
        }
    }
    if (m.bad || !found)
        ocv_content_unseen(r, UNREADABLE);
    return OCV_OK;
}

/* Sizes in the table are of what the code inflates to; those in reports are parts of the file. */
__extension__ typedef unsigned __int128 wide_number;

int ocv_kpack_end(struct ocv_content_reader *r, int64_t size, struct ocv_error *err)
{
    if (!r->table.have || size - r->table.offset != (int64_t)r->table.have) {
        ocv_content_unseen(r, UNREADABLE); /* cut off, or a table that is too long */
        return OCV_OK;
    }
    int64_t all = 0, room = r->table.offset;
    OCV_TRY(ocv_content_work(r, (int64_t)r->table.have / 64, err));
    OCV_TRY(ocv_kpack_table_parse(r, r->table.data, r->table.have, err));
    for (size_t i = 0; i < r->n_sightings; i++)
        ocv_content_sum(&all, r->sightings[i].bytes);
    for (size_t i = 0; i < r->n_sightings && all > room; i++)
        r->sightings[i].bytes =
            (int64_t)((wide_number)r->sightings[i].bytes * (uint64_t)room / (uint64_t)all);
    return OCV_OK;
}
