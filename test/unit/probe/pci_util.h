/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A temporary directory for files that PCI back ends read. */
#ifndef PCI_UTIL_H
#define PCI_UTIL_H

#include "lib/probe/pci/pci_internal.h"
#include "test/unit/core_util.h"

static char root[64];

UNUSED static void make_root(void)
{
    snprintf(root, sizeof(root), "/tmp/ocv-pci-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

UNUSED static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

UNUSED static const char *at(const char *path)
{
    static char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    return full;
}

UNUSED static void make_directory(const char *path)
{
    char command[1024];
    snprintf(command, sizeof(command), "mkdir -p '%s'", at(path));
    ck_assert_int_eq(system(command), 0);
}

UNUSED static void write_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(at(path), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

UNUSED static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

#endif
