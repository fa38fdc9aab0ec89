/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shared library with device code as hipcc links it: offload bundles in .hip_fatbin, each behind
 * a wrapper in .hipFatBinSegment. The code itself is bytes that tell which it is. */
#include <stddef.h>

#define SHOWN __attribute__((visibility("default")))

/* A row of the list, and a code object of a page. */
__asm__(".macro row base, at, target\n"
        "  .8byte \\at * 4096, 4096, 9f - 8f\n"
        "8: .ascii \"\\target\"\n"
        "9:\n"
        ".endm\n"
        ".macro bundle name, entries\n"
        "  .balign 4096\n"
        "\\name:\n"
        "  .ascii \"__CLANG_OFFLOAD_BUNDLE__\"\n  .8byte \\entries + 1\n"
        "  .8byte 4096, 0, 9f - 8f\n"
        "8: .ascii \"host-x86_64-unknown-linux-gnu-\"\n"
        "9:\n"
        ".endm\n"
        ".section .hip_fatbin, \"a\"\n"
        "bundle hip_first, 5\n"
        "row hip_first, 1, hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+\n"
        "row hip_first, 2, hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-\n"
        "row hip_first, 3, hipv4-amdgcn-amd-amdhsa--gfx942\n"
        "row hip_first, 4, hipv4-amdgcn-amd-amdhsa--gfx1100\n"
        "row hip_first, 5, hipv4-amdgcn-amd-amdhsa--gfx1201\n"
        "  .balign 4096\n"
        "  .fill 4096, 1, 1\n  .fill 4096, 1, 2\n  .fill 4096, 1, 3\n  .fill 4096, 1, 4\n"
        "  .fill 4096, 1, 5\n"
        "bundle hip_second, 3\n"
        "row hip_second, 1, hipv4-amdgcn-amd-amdhsa--gfx9-4-generic\n"
        "row hip_second, 2, hipv4-amdgcn-amd-amdhsa--gfx1100\n"
        "row hip_second, 3, hipv4-amdgcn-amd-amdhsa--gfx1201\n"
        "  .balign 4096\n"
        "  .fill 4096, 1, 6\n  .fill 4096, 1, 7\n  .fill 4096, 1, 8\n"
        "  .text\n");

extern const char hip_first[] __attribute__((visibility("hidden")));
extern const char hip_second[] __attribute__((visibility("hidden")));

struct wrapper {
    unsigned magic, version;
    const char *code;
    void *other;
};

/* Not const: the section is written by the loader. */
SHOWN __attribute__((section(".hipFatBinSegment"))) struct wrapper hip_wrappers[] = {
    {0x48495046, 1, hip_first, NULL}, {0x48495046, 1, hip_second, NULL}};

SHOWN int hip_answer(int n);
int hip_answer(int n)
{
    return n + 1;
}
