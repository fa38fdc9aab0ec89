/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI devices from a text of `lspci -x`, as users attach them to reports: a line with the address,
 * then rows of the configuration header; with `-k`, the driver between them. A malformed row or
 * line is skipped. */
#include "lib/base/file.h"
#include "lib/probe/pci/pci_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DUMP_MAX (16u * 1024 * 1024) /* of a file; 53 devices with all they have: 290 kB */

/* The device that the lines are about. */
struct dump_reader {
    struct ocv_pci_device device; /* no address: none yet */
    unsigned char config[OCV_PCI_CONFIG];
    size_t len;   /* bytes of it up to the last that was there */
    bool in_rows; /* until an empty line */
};

static bool all_hex(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isxdigit((unsigned char)text[i]))
            return false;
    return true;
}

/* "BB:DD.F", the domain of four or five digits before it or not, then a blank or the line's end.
 * Out: DDDD:BB:DD.F in lower case. */
static bool parse_address(const char *line, size_t len, char *out, size_t size)
{
    size_t domain = len > 4 && all_hex(line, 4) ? 4u + (isxdigit((unsigned char)line[4]) != 0) : 0;
    const char *rest = line + domain + (domain != 0);
    if ((domain && line[domain] != ':') || len < (size_t)(rest - line) + 7)
        return false;
    if (!all_hex(rest, 2) || rest[2] != ':' || !all_hex(rest + 3, 2) || rest[3] > '1' ||
        rest[5] != '.' || rest[6] < '0' || rest[6] > '7')
        return false;
    if (len > (size_t)(rest - line) + 7 && rest[7] != ' ')
        return false;
    snprintf(out, size, "%.*s:%.7s", domain ? (int)domain : 4, domain ? line : "0000", rest);
    for (char *c = out; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return true;
}

/* A row "X0: " of up to sixteen bytes inside the first 64, nothing behind them. */
static bool is_row(const char *line, size_t len)
{
    if (len < 6 || line[0] < '0' || line[0] > '3' || line[1] != '0' || line[2] != ':' || len > 51)
        return false;
    for (size_t i = 3; i < len; i += 3)
        if (line[i] != ' ' || i + 3 > len || !all_hex(line + i + 1, 2))
            return false;
    return true;
}

static int end_device(struct dump_reader *reader, struct ocv_pci_scan *scan, struct ocv_error *err)
{
    if (!reader->device.address[0])
        return OCV_OK;
    bool good = reader->len == OCV_PCI_CONFIG && ocv_pci_decode(reader->config, &reader->device);
    return good ? ocv_pci_append(scan, &reader->device, err) : ocv_pci_broken(scan, err);
}

int ocv_pci_dump_text(const struct ocv_buffer *text, struct ocv_pci_scan *scan,
                      struct ocv_error *err)
{
    static const char words[] = "Kernel driver in use: "; /* of lspci -k, below a device */
    struct dump_reader reader = {.len = 0}, next = {.in_rows = true};
    const char *end = text->data + text->len, *stop;
    bool rows = false;
    memset(next.config, 0xff, sizeof(next.config)); /* as of a device that does not answer */
    for (const char *line = text->data; line < end; line = stop + (stop < end)) {
        stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        size_t n = (size_t)(stop - line); /* without what ends it */
        while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' '))
            n--;
        if (parse_address(line, n, next.device.address, sizeof(next.device.address))) {
            OCV_TRY(end_device(&reader, scan, err));
            reader = next;
        } else if (reader.in_rows && is_row(line, n)) {
            size_t to = (size_t)(line[0] - '0') * 16;
            for (size_t i = 4; i < n; i += 3) {
                const char digits[] = {line[i], line[i + 1], '\0'};
                reader.config[to++] = (unsigned char)strtoul(digits, NULL, 16);
            }
            if (to > reader.len)
                reader.len = to;
            rows = true;
        } else if (n == 0) {
            reader.in_rows = false; /* rows after it belong to no device */
        } else if (reader.device.address[0]) {
            size_t blanks = 0;
            while (blanks < n && (line[blanks] == ' ' || line[blanks] == '\t'))
                blanks++;
            size_t before = blanks + sizeof(words) - 1;
            if (blanks && n > before && memcmp(line + blanks, words, sizeof(words) - 1) == 0)
                ocv_pci_set_driver(&reader.device, line + before, n - before);
        }
    }
    if (!reader.device.address[0])
        return ocv_error_set(err, OCV_ERR_DATA,
                             "no device in it; expected the output of 'lspci -kx'");
    OCV_TRY(end_device(&reader, scan, err));
    if (!rows)
        return ocv_error_set(err, OCV_ERR_DATA,
                             "names devices without their configuration (rows of hexadecimal "
                             "digits); expected the output of 'lspci -kx'");
    return OCV_OK;
}

static int scan_dump(struct ocv_pci_scan *scan, struct ocv_error *err)
{
    const char *path = scan->source->dump;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, DUMP_MAX);
    OCV_TRY(ocv_file_read(path, OCV_FILE_ANY, &text, err));
    int status = ocv_pci_dump_text(&text, scan, err);
    return status < 0 ? ocv_error_prefix(err, "%s", path), status : OCV_OK;
}

const struct ocv_pci_backend ocv_pci_dump = {"dump", scan_dump};
