/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* ustar headers (POSIX.1-1988), deterministic: no owner, no time. Written here because the archive
 * needs nothing else of libarchive, which costs every command one more library at start-up. */
#include "lib/layout/layout_internal.h"

#include <stdio.h>
#include <string.h>

struct ustar {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char user[32];
    char group[32];
    char major[8];
    char minor[8];
    char prefix[155];
    char unused[12];
};
_Static_assert(sizeof(struct ustar) == OCV_TAR_BLOCK, "a ustar header is one block");

/* `width` bytes: octal digits and a NUL. */
static void put_octal(char *field, size_t width, uint64_t value)
{
    field[width - 1] = '\0';
    for (size_t i = width - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static bool put_name(struct ustar *header, const char *name)
{
    size_t len = strlen(name);
    if (len <= sizeof(header->name)) {
        memcpy(header->name, name, len);
        return len > 0;
    }
    for (size_t i = len - 1; i > 0; i--) {
        if (name[i] != '/' || i > sizeof(header->prefix) || i + 1 == len)
            continue;
        if (len - i - 1 > sizeof(header->name))
            return false;
        memcpy(header->prefix, name, i);
        memcpy(header->name, name + i + 1, len - i - 1);
        return true;
    }
    return false;
}

int ocv_tar_header(unsigned char out[OCV_TAR_BLOCK], const char *name, const char *link,
                   unsigned mode, int64_t size, enum ocv_tar_type type, struct ocv_error *err)
{
    struct ustar header = {.type = (char)type, .magic = "ustar", .version = {'0', '0'}};
    size_t link_len = link ? strlen(link) : 0;
    if (size < 0 || link_len > sizeof(header.link) || !put_name(&header, name))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "name too long for a tar archive: %.300s",
                             name);
    if (link_len)
        memcpy(header.link, link, link_len);
    put_octal(header.mode, sizeof(header.mode), mode & 07777);
    put_octal(header.uid, sizeof(header.uid), 0);
    put_octal(header.gid, sizeof(header.gid), 0);
    if (size < (INT64_C(1) << 33))
        put_octal(header.size, sizeof(header.size), (uint64_t)size);
    else { /* GNU's binary form for what does not fit into octal */
        uint64_t left = (uint64_t)size;
        for (size_t i = sizeof(header.size); i-- > 1; left >>= 8)
            header.size[i] = (char)(left & 0xff);
        header.size[0] = (char)0x80;
    }
    put_octal(header.mtime, sizeof(header.mtime), 0);
    memset(header.checksum, ' ', sizeof(header.checksum)); /* counted as blanks */
    memcpy(out, &header, OCV_TAR_BLOCK);
    unsigned sum = 0;
    for (size_t i = 0; i < OCV_TAR_BLOCK; i++)
        sum += out[i];
    put_octal(header.checksum, sizeof(header.checksum) - 1, sum); /* six digits, NUL, blank */
    memcpy(out, &header, OCV_TAR_BLOCK);
    return OCV_OK;
}

size_t ocv_tar_padding(int64_t size)
{
    return (size_t)((OCV_TAR_BLOCK - (uint64_t)size % OCV_TAR_BLOCK) % OCV_TAR_BLOCK);
}
