/* SPDX-License-Identifier: GPL-3.0-or-later */
/* load LIBRARY: the dynamic loader maps it, tells of the program headers that are in the file, and
 * every wrapper of device code leads to the bytes that the file has there. Prints how many. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const char *path;
static const unsigned char *file;
static size_t file_size;
static uintptr_t base;

static int fail(const char *why)
{
    printf("%s: %s\n", path, why);
    exit(1);
}

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
    (void)size;
    (void)data;
    if (strcmp(info->dlpi_name, path) != 0)
        return 0;
    base = info->dlpi_addr;
    if (info->dlpi_phnum != header->e_phnum ||
        memcmp(info->dlpi_phdr, file + header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr)) != 0)
        fail("the loader has other program headers than the file");
    return 1;
}

/* A pointer into a section of device code: the same bytes in memory as in the file. */
static void follow(const Elf64_Shdr *sections, size_t n, const char *names, uintptr_t pointer)
{
    for (size_t i = 0; i < n; i++) {
        const Elf64_Shdr *s = &sections[i];
        const char *name = names + s->sh_name;
        if (strcmp(name, ".nv_fatbin") && strcmp(name, "__nv_relfatbin") &&
            strcmp(name, ".hip_fatbin"))
            continue;
        if (pointer < base + s->sh_addr || pointer >= base + s->sh_addr + s->sh_size)
            continue;
        uint64_t at = pointer - base - s->sh_addr;
        if (memcmp((const void *)pointer, file + s->sh_offset + at, s->sh_size - at) != 0)
            fail("memory is not what the file has");
        if (memcmp((const void *)pointer, "\x50\xed\x55\xba", 4) != 0 &&
            memcmp((const void *)pointer, "__CLANG_OFFLOAD_BUNDLE__", 24) != 0 &&
            memcmp((const void *)pointer, "CCOB", 4) != 0)
            fail("a wrapper leads to nothing");
        return;
    }
    fail("a wrapper leads elsewhere");
}

int main(int argc, char **argv)
{
    struct stat st;
    size_t count = 0;
    path = argc == 2 ? argv[1] : "";
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail("cannot be opened");
    file_size = (size_t)st.st_size;
    file = mmap(NULL, file_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return fail("cannot be mapped");
    if (!dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        return fail(dlerror());
    if (dl_iterate_phdr(find, NULL) != 1)
        return fail("the loader does not know it");
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + header->e_shoff);
    const char *names = (const char *)file + sections[header->e_shstrndx].sh_offset;
    for (size_t i = 0; i < header->e_shnum; i++) {
        const char *name = names + sections[i].sh_name;
        if (strcmp(name, ".nvFatBinSegment") && strcmp(name, ".hipFatBinSegment"))
            continue;
        for (uint64_t at = 0; at + 24 <= sections[i].sh_size; at += 24) {
            const unsigned char *wrapper = (const unsigned char *)(base + sections[i].sh_addr + at);
            uintptr_t pointer;
            memcpy(&pointer, wrapper + 8, sizeof(pointer));
            if (memcmp(wrapper, "\xb1\x43\x62\x46", 4) && memcmp(wrapper, "FPIH", 4))
                continue;
            follow(sections, header->e_shnum, names, pointer);
            count++;
        }
    }
    printf("%zu wrappers\n", count);
    return 0;
}
