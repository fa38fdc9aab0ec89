/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/content/reader/reader.h"

#include <string.h>

/* What the first byte of a value says. */
struct head {
    enum ocv_msgpack_kind kind;
    uint64_t number; /* itself, or how many bytes, values or pairs follow */
};

/* A number of `n` bytes, big endian. */
static uint64_t take_bytes(struct ocv_msgpack *m, size_t n)
{
    uint64_t number = 0;
    if (m->bad || (size_t)(m->end - m->at) < n) {
        m->bad = true;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        number = number << 8 | *m->at++;
    return number;
}

/* Values that are neither numbers nor texts nor made of others: bytes follow, OCV_MSGPACK_OTHER. */
static struct head take_head(struct ocv_msgpack *m)
{
    uint8_t first = (uint8_t)take_bytes(m, 1);
    if (first < 0x80)
        return (struct head){OCV_MSGPACK_NUMBER, first};
    if (first < 0x90)
        return (struct head){OCV_MSGPACK_MAP, first & 0x0fu};
    if (first < 0xa0)
        return (struct head){OCV_MSGPACK_ARRAY, first & 0x0fu};
    if (first < 0xc0)
        return (struct head){OCV_MSGPACK_TEXT, first & 0x1fu};
    if (first >= 0xe0) /* below 0 */
        return (struct head){OCV_MSGPACK_OTHER, 0};
    switch (first) {
    case 0xc0: /* nil, false, true */
    case 0xc2:
    case 0xc3:
        return (struct head){OCV_MSGPACK_OTHER, 0};
    case 0xc4: /* bytes */
    case 0xc5:
    case 0xc6:
        return (struct head){OCV_MSGPACK_OTHER, take_bytes(m, (size_t)1 << (first - 0xc4))};
    case 0xc7: /* extensions: a type, and bytes */
    case 0xc8:
    case 0xc9:
        return (struct head){OCV_MSGPACK_OTHER, take_bytes(m, (size_t)1 << (first - 0xc7)) + 1};
    case 0xca: /* floating point */
    case 0xcb:
        return (struct head){OCV_MSGPACK_OTHER, UINT64_C(4) << (first - 0xca)};
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        return (struct head){OCV_MSGPACK_NUMBER, take_bytes(m, (size_t)1 << (first - 0xcc))};
    case 0xd0: /* with a sign */
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return (struct head){OCV_MSGPACK_OTHER, UINT64_C(1) << (first - 0xd0)};
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        return (struct head){OCV_MSGPACK_OTHER, (UINT64_C(1) << (first - 0xd4)) + 1};
    case 0xd9:
    case 0xda:
    case 0xdb:
        return (struct head){OCV_MSGPACK_TEXT, take_bytes(m, (size_t)1 << (first - 0xd9))};
    case 0xdc:
    case 0xdd:
        return (struct head){OCV_MSGPACK_ARRAY, take_bytes(m, (size_t)2 << (first - 0xdc))};
    case 0xde:
    case 0xdf:
        return (struct head){OCV_MSGPACK_MAP, take_bytes(m, (size_t)2 << (first - 0xde))};
    default: /* 0xc1 is never used */
        m->bad = true;
        return (struct head){OCV_MSGPACK_OTHER, 0};
    }
}

uint64_t ocv_msgpack_take(struct ocv_msgpack *m, enum ocv_msgpack_kind kind)
{
    struct head head = take_head(m);
    m->bad = m->bad || head.kind != kind;
    return m->bad ? 0 : head.number;
}

static void pass_bytes(struct ocv_msgpack *m, uint64_t n)
{
    if (m->bad || (uint64_t)(m->end - m->at) < n)
        m->bad = true;
    else
        m->at += n;
}

struct ocv_msgpack_text ocv_msgpack_text(struct ocv_msgpack *m)
{
    uint64_t n = ocv_msgpack_take(m, OCV_MSGPACK_TEXT);
    const char *text = (const char *)m->at;
    pass_bytes(m, n);
    return m->bad ? (struct ocv_msgpack_text){"", 0} : (struct ocv_msgpack_text){text, (size_t)n};
}

void ocv_msgpack_skip(struct ocv_msgpack *m)
{
    for (uint64_t left = 1; left && !m->bad; left--) {
        struct head head = take_head(m);
        if (head.kind == OCV_MSGPACK_ARRAY || head.kind == OCV_MSGPACK_MAP)
            left += head.kind == OCV_MSGPACK_MAP ? 2 * head.number : head.number;
        else if (head.kind != OCV_MSGPACK_NUMBER)
            pass_bytes(m, head.number);
        if (left > (uint64_t)(m->end - m->at) + 1) /* each has a byte */
            m->bad = true;
    }
}

bool ocv_msgpack_is(struct ocv_msgpack_text text, const char *other)
{
    return text.len == strlen(other) && !memcmp(text.text, other, text.len);
}
