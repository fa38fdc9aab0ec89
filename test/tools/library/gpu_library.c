/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shared library with device code as nvcc links it: fat binaries in .nv_fatbin and, as of
 * relocatable device code, in __nv_relfatbin, each behind a wrapper in .nvFatBinSegment. The code
 * itself is bytes that tell which it is. With an argument of the build
 * something else leads there, too: GPU_STRAY, a pointer; GPU_TAKEN, code that takes an address;
 * GPU_UNWRAPPED, an instruction, and one has no wrapper.
 *
 * Linked as a shared library; tests cut it and load what is left. */
#include <stddef.h>

#define SHOWN __attribute__((visibility("default")))

/* An entry: its kind (1: PTX, 2: machine code), architecture, flags, and 8 KiB. */
__asm__(".macro entry kind, sm, flags, fill\n"
        "  .2byte \\kind, 0x101\n  .4byte 64\n  .8byte 8192\n  .8byte 0\n  .2byte 0, 8\n"
        "  .4byte \\sm\n  .8byte 0\n  .8byte \\flags\n  .8byte 0\n  .8byte 0\n"
        "  .fill 8192, 1, \\fill\n"
        ".endm\n"
        ".macro region name, entries\n"
        "  .balign 8\n"
        "\\name:\n"
        "  .4byte 0xba55ed50, 0x100001\n  .8byte \\entries * (64 + 8192)\n"
        ".endm\n"
        ".section .nv_fatbin, \"a\"\n"
        "region gpu_first, 5\n"
        "entry 2, 80, 0, 1\n entry 2, 86, 0, 2\n entry 2, 90, 0, 3\n entry 2, 90, 0x100000, 4\n"
        "entry 1, 90, 0, 5\n"
        "region gpu_second, 3\n"
        "entry 2, 80, 0, 6\n entry 2, 100, 0x200000, 7\n entry 2, 120, 0, 8\n"
        "region gpu_third, 2\n"
        "entry 2, 90, 0x100000, 9\n entry 2, 120, 0, 10\n"
        ".section __nv_relfatbin, \"a\"\n"
        "region gpu_fourth, 3\n"
        "entry 2, 75, 0, 11\n entry 1, 75, 0, 12\n entry 8, 75, 0, 13\n"
        "region gpu_fifth, 12\n"
        "entry 2, 52, 0, 14\n entry 2, 60, 0, 15\n entry 2, 61, 0, 16\n entry 2, 70, 0, 17\n"
        "entry 2, 72, 0, 18\n entry 2, 75, 0, 19\n entry 2, 80, 0, 20\n entry 2, 86, 0, 21\n"
        "entry 2, 87, 0, 22\n entry 2, 89, 0, 23\n entry 2, 90, 0, 24\n entry 1, 52, 0, 25\n"
        ".text\n");

extern const char gpu_first[] __attribute__((visibility("hidden")));
extern const char gpu_second[] __attribute__((visibility("hidden")));
extern const char gpu_third[] __attribute__((visibility("hidden")));
extern const char gpu_fourth[] __attribute__((visibility("hidden")));
extern const char gpu_fifth[] __attribute__((visibility("hidden")));

struct wrapper {
    unsigned magic, version;
    const char *code;
    void *other;
};

/* Not const: the section is written by the loader. */
SHOWN __attribute__((section(".nvFatBinSegment"))) struct wrapper gpu_wrappers[] = {
    {0x466243b1, 1, gpu_first, NULL},
#ifndef GPU_UNWRAPPED
    {0x466243b1, 1, gpu_second, NULL},
#endif
    {0x466243b1, 1, gpu_third, NULL},
    {0x466243b1, 2, gpu_fourth, &gpu_wrappers},
    {0x466243b1, 1, gpu_fifth, NULL}};

#ifdef GPU_UNWRAPPED
SHOWN int gpu_code(void);
int gpu_code(void)
{
    return gpu_second[0];
}
#endif

#ifdef GPU_TAKEN
SHOWN const char *gpu_taken(void);
const char *gpu_taken(void)
{
    return gpu_second;
}
#endif

#ifdef GPU_STRAY
SHOWN const char *gpu_stray = gpu_second;
#endif

/* What the code of the library is called with: it runs. */
SHOWN int gpu_answer(int x);
int gpu_answer(int x)
{
    return gpu_wrappers[0].version == 1 ? x + 1 : x;
}

static const char *volatile loaded; /* no compiler knows what the loader has put there */
__attribute__((constructor)) static void note_loaded(void)
{
    loaded = ((volatile struct wrapper *)gpu_wrappers)[1].code;
}
SHOWN const char *gpu_loaded(void);
const char *gpu_loaded(void)
{
    return loaded;
}
