/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI devices from a text of `lspci -x`, as users attach them to reports. libpci reads such texts,
 * but one malformed row or long line ends it, so it is given only what it can take: a copy without
 * everything else, in memory. The driver, which it does not look for, is taken from the line that
 * `lspci -k` writes. */
#include "lib/probe/pci/pci_libpci.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DUMP_MAX (16u * 1024 * 1024) /* of a file; 53 devices with all they have: 290 kB */
#define ADDRESS_MAX 16

static bool all_hex(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isxdigit((unsigned char)text[i]))
            return false;
    return true;
}

/* "BB:DD.F", the domain of four or five digits before it or not, then a blank or the line's end.
 * Out: DDDD:BB:DD.F in lower case. */
static bool header(const char *line, size_t len, char out[ADDRESS_MAX])
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
    snprintf(out, ADDRESS_MAX, "%.*s:%.7s", domain ? (int)domain : 4, domain ? line : "0000", rest);
    for (char *c = out; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return true;
}

/* A row "X0: " of up to sixteen bytes inside the first 64, nothing behind them. */
static bool row(const char *line, size_t len)
{
    if (len < 6 || line[0] < '0' || line[0] > '3' || line[1] != '0' || line[2] != ':' || len > 51)
        return false;
    for (size_t i = 3; i < len; i += 3)
        if (line[i] != ' ' || i + 3 > len || !all_hex(line + i + 1, 2))
            return false;
    return true;
}

/* The next line without its end; false after the last. */
static bool next_line(const char **at, const char *end, const char **line, size_t *len)
{
    if (*at == end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *len = (size_t)((stop ? stop : end) - *at);
    *at = stop ? stop + 1 : end;
    while (*len > 0 && ((*line)[*len - 1] == '\r' || (*line)[*len - 1] == ' '))
        --*len;
    return true;
}

/* What a dump needs to become harmless to libpci: header lines cut to their address, well-formed
 * rows of the first 64 bytes, nothing else. */
static int clean_dump(const char *text, size_t len, struct ocv_buffer *out, struct ocv_error *err)
{
    const char *end = text + len, *line;
    size_t n, devices = 0;
    char address[ADDRESS_MAX];
    int status = OCV_OK;
    while (status == OCV_OK && next_line(&text, end, &line, &n)) {
        if (header(line, n, address)) {
            if (devices++ == OCV_PCI_DEVICES_MAX)
                return ocv_error_set(err, OCV_ERR_DATA, "more than %u devices",
                                     OCV_PCI_DEVICES_MAX);
            status = ocv_buffer_printf(out, err, "\n%s \n", address);
        } else if (devices && row(line, n)) {
            status = ocv_buffer_printf(out, err, "%.*s\n", (int)n, line);
        } else if (devices && n == 0) {
            status = ocv_buffer_append(out, "\n", 1, err); /* rows after it are nobody's */
        }
    }
    if (status == OCV_OK && devices == 0)
        status = ocv_error_set(err, OCV_ERR_DATA,
                               "no device in it; wanted is the output of 'lspci -kx'");
    return status;
}

/* The line that lspci -k writes below a device. */
static void add_drivers(const char *text, size_t len, const struct ocv_pci_list *list)
{
    static const char words[] = "Kernel driver in use: ";
    const char *end = text + len, *line;
    size_t n;
    char address[ADDRESS_MAX] = "";
    while (next_line(&text, end, &line, &n)) {
        size_t blanks = 0;
        while (blanks < n && (line[blanks] == ' ' || line[blanks] == '\t'))
            blanks++;
        size_t before = blanks + sizeof(words) - 1;
        if (blanks == 0)
            header(line, n, address);
        else if (n > before && memcmp(line + blanks, words, sizeof(words) - 1) == 0) {
            struct ocv_pci_device *device = ocv_pci_find(list, address);
            if (device)
                ocv_pci_set_driver(device, line + before, n - before);
        }
    }
}

/* A file in memory for a library that only takes names. */
static int in_memory(const struct ocv_buffer *text, struct ocv_error *err)
{
    int fd = memfd_create("pci-dump", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && at < text->len;) {
        ssize_t n = write(fd, text->data + at, text->len - at);
        if (n < 0 && errno != EINTR) {
            close(fd);
            fd = -1;
        } else if (n > 0) {
            at += (size_t)n;
        }
    }
    return fd < 0 ? ocv_error_set(err, OCV_ERR_IO, "a file in memory: %s", strerror(errno)) : fd;
}

static int read_file(const char *path, struct ocv_buffer *out, struct ocv_error *err)
{
    char block[16384];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return ocv_error_set(err, errno == ENOENT ? OCV_ERR_NOT_FOUND : OCV_ERR_IO, "%s",
                             strerror(errno));
    int status = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)
                     ? ocv_error_set(err, OCV_ERR_IO, "it is a directory")
                     : OCV_OK;
    for (ssize_t n = 1; status == OCV_OK && n != 0;) {
        n = read(fd, block, sizeof(block));
        if (n > 0)
            status = ocv_buffer_append(out, block, (size_t)n, err);
        else if (n < 0 && errno != EINTR)
            status = ocv_error_set(err, OCV_ERR_IO, "%s", strerror(errno));
    }
    close(fd);
    return status;
}

int ocv_pci_dump_text(const struct ocv_buffer *text, struct ocv_pci_scan *scan,
                      struct ocv_error *err)
{
    char path[32];
    struct ocv_libpci *pci;
    ocv_auto_buffer clean;
    ocv_buffer_init(&clean, 2 * DUMP_MAX);
    int status = clean_dump(text->data, text->len, &clean, err);
    if (status < 0)
        return status;
    int fd = in_memory(&clean, err);
    if (fd < 0)
        return fd;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    status = ocv_libpci_open(&pci, OCV_LIBPCI_DUMP, path, err);
    if (status == OCV_OK)
        status = ocv_libpci_scan(pci, scan, err);
    ocv_libpci_close(pci);
    close(fd);
    if (status < 0)
        return status;
    ocv_pci_sort(&scan->list);
    add_drivers(text->data, text->len, &scan->list);
    return OCV_OK;
}

static int scan_dump(struct ocv_pci_scan *scan, struct ocv_error *err)
{
    const char *path = scan->source->dump;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, DUMP_MAX);
    int status = read_file(path, &text, err);
    if (status == OCV_OK)
        status = ocv_pci_dump_text(&text, scan, err);
    return status < 0 ? ocv_error_prefix(err, "%s", path), status : OCV_OK;
}

const struct ocv_pci_backend ocv_pci_dump = {"dump", scan_dump};
