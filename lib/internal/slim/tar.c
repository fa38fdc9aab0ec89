/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The members of a tar archive that is a stream (POSIX.1-2008 pax, "ustar Interchange Format"; GNU
 * tar, "Basic Tar Format"). libarchive is not used: what it writes is not, byte for byte, what it
 * has read. */
#include "lib/base/cleanup.h"
#include "lib/internal/slim/slim_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK OCV_SLIM_BLOCK
#define EXTENSIONS_MAX ((size_t)1 << 20) /* of one member: names, attributes */

/* Where fields of a header are (ustar). */
enum { AT_LINK = 157, AT_SIZE = 124, AT_SUM = 148, AT_MAGIC = 257, AT_PREFIX = 345 };
enum { SIZE_LEN = 12, SUM_LEN = 8, NAME_LEN = 100, PREFIX_LEN = 155 };

void ocv_slim_member_free(struct ocv_slim_member *m)
{
    ocv_buffer_free(&m->extensions);
    free(m->path);
    free(m->link);
    m->path = m->link = NULL;
}

static int cut_off(struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_DATA, "a layer ends in the middle of a file");
}

/* Exactly `len` bytes; *end (may be NULL): the archive ended before the first. */
int ocv_slim_read(const struct ocv_slim_layer *layer, void *out, size_t len, bool *end,
                  struct ocv_error *err)
{
    for (size_t have = 0; have < len;) {
        ssize_t n = layer->read(layer->data, (unsigned char *)out + have, len - have, err);
        if (n < 0)
            return (int)n;
        if (!n && end && !have) {
            *end = true;
            return OCV_OK;
        }
        if (!n)
            return cut_off(err);
        have += (size_t)n;
    }
    return OCV_OK;
}

int64_t ocv_slim_blocks(int64_t size)
{
    return (size + (int64_t)BLOCK - 1) / (int64_t)BLOCK * (int64_t)BLOCK;
}

/* Octal digits, or base 256 as GNU tar has it for what does not fit; -1: neither. */
static int64_t parse_number(const unsigned char *field, size_t width)
{
    int64_t value = 0;
    if (field[0] & 0x80) {
        for (size_t i = 1; i < width; i++) {
            if (value >> 54)
                return -1;
            value = value << 8 | field[i];
        }
        return field[0] == 0x80 ? value : -1;
    }
    size_t i = 0;
    while (i < width && field[i] == ' ')
        i++;
    for (; i < width && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (field[i] - '0');
    return i == width || !field[i] || field[i] == ' ' ? value : -1;
}

static unsigned header_sum(const unsigned char *header)
{
    unsigned sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= AT_SUM && i < AT_SUM + SUM_LEN ? ' ' : header[i];
    return sum;
}

static void put_size(unsigned char *header, int64_t size)
{
    char text[32];
    if (header[AT_SIZE] & 0x80 || size >= INT64_C(1) << 33) {
        for (size_t i = SIZE_LEN; i-- > 1; size >>= 8)
            header[AT_SIZE + i] = (unsigned char)size;
        header[AT_SIZE] = 0x80;
    } else {
        snprintf(text, sizeof(text), "%011llo", (unsigned long long)size);
        memcpy(header + AT_SIZE, text, SIZE_LEN);
    }
    snprintf(text, sizeof(text), "%06o", header_sum(header));
    memcpy(header + AT_SUM, text, 7); /* six digits, NUL, blank */
    header[AT_SUM + 7] = ' ';
}

/* "usr/lib/x" of "./usr//lib/x". */
static int set_path(char **path, const char *text, size_t len, struct ocv_error *err)
{
    char *out = malloc(len + 1);
    size_t at = 0;
    free(*path);
    *path = out;
    if (!out)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < len && text[i];) {
        const char *part = text + i;
        size_t n = 0;
        while (i + n < len && part[n] && part[n] != '/')
            n++;
        if (n && !(n == 1 && part[0] == '.')) {
            if (at)
                out[at++] = '/';
            memcpy(out + at, part, n);
            at += n;
        }
        i += n;
        while (i < len && text[i] == '/')
            i++;
    }
    out[at] = '\0';
    return OCV_OK;
}

/* The next record of pax, "LENGTH KEY=VALUE\n"; false: there is none, or it is malformed. */
static bool next_record(const char **at, const char *end, const char **key, size_t *key_len,
                        const char **value, size_t *value_len)
{
    const char *p = *at;
    size_t len = 0;
    for (; p < end && *p >= '0' && *p <= '9' && len < EXTENSIONS_MAX; p++)
        len = len * 10 + (size_t)(*p - '0');
    if (p == *at || p == end || *p != ' ' || len > (size_t)(end - *at) ||
        len < (size_t)(p - *at) + 3 || (*at)[len - 1] != '\n')
        return false;
    *key = p + 1;
    const char *equals = memchr(*key, '=', len - (size_t)(*key - *at));
    if (!equals)
        return false;
    *key_len = (size_t)(equals - *key);
    *value = equals + 1;
    *value_len = (size_t)(*at + len - 1 - *value);
    *at += len;
    return true;
}

static bool is_key(const char *key, size_t len, const char *name)
{
    return len == strlen(name) && !memcmp(key, name, len);
}

/* A header that extends the member after it, with its content. */
static int take_extension(const struct ocv_slim_layer *layer, struct ocv_slim_member *m,
                          int64_t size, struct ocv_error *err)
{
    size_t before = m->extensions.len, len = (size_t)ocv_slim_blocks(size);
    unsigned char type = m->header[OCV_SLIM_AT_TYPE];
    if (type == 'x' && m->has_pax)
        return ocv_error_set(err, OCV_ERR_DATA, "a file in a layer has two pax headers");
    if (size > (int64_t)EXTENSIONS_MAX || len + BLOCK > EXTENSIONS_MAX - before)
        return ocv_error_set(err, OCV_ERR_DATA, "a file in a layer has headers of more than 1 MiB");
    OCV_TRY(ocv_buffer_append(&m->extensions, m->header, BLOCK, err));
    ocv_auto_free char *content = calloc(1, len + 1);
    if (!content)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_slim_read(layer, content, len, NULL, err));
    OCV_TRY(ocv_buffer_append(&m->extensions, content, len, err));
    if (type == 'L' || type == 'K')
        return set_path(type == 'L' ? &m->path : &m->link, content, (size_t)size, err);
    if (type != 'x')
        return OCV_OK;
    m->pax = before;
    m->has_pax = true;
    const char *at = content, *end = content + size, *key, *value;
    size_t key_len, value_len;
    while (next_record(&at, end, &key, &key_len, &value, &value_len)) {
        if (is_key(key, key_len, "path") || is_key(key, key_len, "GNU.sparse.name"))
            OCV_TRY(set_path(&m->path, value, value_len, err));
        if (is_key(key, key_len, "linkpath"))
            OCV_TRY(set_path(&m->link, value, value_len, err));
        if (key_len > 11 && !memcmp(key, "GNU.sparse.", 11))
            m->sparse = true;
        if (is_key(key, key_len, "size")) {
            char *behind, text[24];
            snprintf(text, sizeof(text), "%.*s", (int)(value_len < 20 ? value_len : 20), value);
            errno = 0;
            long long number = strtoll(text, &behind, 10);
            if (errno || *behind || number < 0 || number > INT64_MAX / 2 || value_len > 19)
                return ocv_error_set(err, OCV_ERR_DATA, "a file in a layer has no size");
            m->size = number;
            m->pax_size = true;
        }
    }
    return at == end ? OCV_OK
                     : ocv_error_set(err, OCV_ERR_DATA, "a layer has malformed pax records");
}

/* The next member; *end: there is none, and m->header is the block of zeros, if there is one. */
int ocv_slim_member_next(const struct ocv_slim_layer *layer, struct ocv_slim_member *m, bool *end,
                         struct ocv_error *err)
{
    static const unsigned char zeros[BLOCK];
    *m = (struct ocv_slim_member){0};
    ocv_buffer_init(&m->extensions, EXTENSIONS_MAX + 2 * BLOCK);
    for (;;) {
        OCV_TRY(ocv_slim_read(layer, m->header, BLOCK, end, err));
        if (*end || !memcmp(m->header, zeros, BLOCK)) {
            if (m->extensions.len)
                return cut_off(err);
            if (!*end) {
                *end = true;
                return ocv_buffer_append(&m->extensions, zeros, BLOCK, err);
            }
            return OCV_OK;
        }
        int64_t size = parse_number(m->header + AT_SIZE, SIZE_LEN);
        if (size < 0 || parse_number(m->header + AT_SUM, SUM_LEN) != header_sum(m->header))
            return ocv_error_set(err, OCV_ERR_DATA, "a layer is no tar archive, or is damaged");
        unsigned char type = m->header[OCV_SLIM_AT_TYPE];
        if (type == 'x' || type == 'L' || type == 'K') {
            OCV_TRY(take_extension(layer, m, size, err));
            continue;
        }
        if (!m->pax_size)
            m->size = size;
        /* links, devices and directories have none, whatever they say */
        if (type >= '1' && type <= '6')
            m->size = 0;
        if (type == '1' && !m->link)
            OCV_TRY(set_path(&m->link, (const char *)m->header + AT_LINK, NAME_LEN, err));
        if (m->path)
            return OCV_OK;
        char name[NAME_LEN + PREFIX_LEN + 2];
        bool ustar = !memcmp(m->header + AT_MAGIC, "ustar", 6); /* GNU's own has no prefix */
        snprintf(name, sizeof(name), "%.*s%s%.*s", ustar ? PREFIX_LEN : 0,
                 (const char *)m->header + AT_PREFIX, ustar && m->header[AT_PREFIX] ? "/" : "",
                 NAME_LEN, (const char *)m->header);
        return set_path(&m->path, name, strlen(name), err);
    }
}

int ocv_slim_member_resize(struct ocv_slim_member *m, int64_t size, struct ocv_error *err)
{
    ocv_auto_buffer old;
    old = m->extensions;
    ocv_buffer_init(&m->extensions, EXTENSIONS_MAX + 4 * BLOCK);
    put_size(m->header, size);
    m->size = size;
    if (!m->has_pax || !m->pax_size)
        return old.len ? ocv_buffer_append(&m->extensions, old.data, old.len, err) : OCV_OK;
    ocv_auto_buffer records;
    unsigned char header[BLOCK], padding[BLOCK] = {0};
    ocv_buffer_init(&records, EXTENSIONS_MAX + 64);
    memcpy(header, old.data + m->pax, BLOCK);
    int64_t old_size = parse_number(header + AT_SIZE, SIZE_LEN);
    const char *at = old.data + m->pax + BLOCK, *end = at + old_size, *key, *value;
    size_t key_len, value_len;
    for (const char *from = at; next_record(&at, end, &key, &key_len, &value, &value_len);
         from = at) {
        if (!is_key(key, key_len, "size")) {
            OCV_TRY(ocv_buffer_append(&records, from, (size_t)(at - from), err));
            continue;
        }
        /* the length of a record counts its own digits */
        char text[64];
        int rest = snprintf(text, sizeof(text), " size=%lld\n", (long long)size), len = rest;
        while (len != rest + snprintf(NULL, 0, "%d", len))
            len = rest + snprintf(NULL, 0, "%d", len);
        OCV_TRY(ocv_buffer_printf(&records, err, "%d%s", len, text));
    }
    put_size(header, (int64_t)records.len);
    size_t after = m->pax + BLOCK + (size_t)ocv_slim_blocks(old_size);
    size_t pad = (size_t)ocv_slim_blocks((int64_t)records.len) - records.len;
    OCV_TRY(ocv_buffer_append(&m->extensions, old.data, m->pax, err));
    OCV_TRY(ocv_buffer_append(&m->extensions, header, BLOCK, err));
    OCV_TRY(ocv_buffer_append(&m->extensions, records.data, records.len, err));
    OCV_TRY(ocv_buffer_append(&m->extensions, padding, pad, err));
    return ocv_buffer_append(&m->extensions, old.data + after, old.len - after, err);
}
