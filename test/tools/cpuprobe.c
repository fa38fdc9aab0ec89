/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CPU providers of other architectures as one static program without libraries, to be
 * cross-built and run under an emulator (test/integration/probe/qemu_arch.bats).
 *
 *   cpuprobe            the processor this runs on, with its /proc/cpuinfo where words are not all
 *   cpuprobe FILE       the processor of a recorded /proc/cpuinfo, if it is of this architecture
 *
 * Prints "source S", "variant V" where there is one, and a line for each property. */
#include "lib/probe/providers/cpu/cpu.h"

#include <stdio.h>
#include <string.h>

#if defined(__aarch64__)
#define OWN (&ocv_cpu_aarch64)
#elif defined(__riscv)
#define OWN (&ocv_cpu_riscv64)
#elif defined(__powerpc64__)
#define OWN (&ocv_cpu_ppc64le)
#elif defined(__s390x__)
#define OWN (&ocv_cpu_s390x)
#elif defined(__loongarch__)
#define OWN (&ocv_cpu_loongarch64)
#endif

#ifdef OWN
static int read_file(const char *path, struct ocv_cpuinfo *out)
{
    char block[65536];
    size_t n;
    struct ocv_buffer text;
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    ocv_buffer_init(&text, OCV_CPUINFO_MAX);
    while ((n = fread(block, 1, sizeof(block), file)) > 0)
        if (ocv_buffer_append(&text, block, n, NULL) < 0)
            break;
    fclose(file);
    return ocv_cpuinfo_parse(&text, out, NULL);
}

static void print(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts)
{
    struct ocv_cpu_answer answer;
    ocv_cpu_detect(cpu, facts, &answer);
    printf("source %s\n", facts->source);
    if (answer.variant)
        printf("variant %s\n", answer.variant);
    for (size_t i = 0; i < answer.n; i++)
        printf("%s :: %s :: %s\n", cpu->ns, answer.items[i].feature, answer.items[i].value);
}

int main(int argc, char **argv)
{
    struct ocv_cpuinfo cpuinfo = {0};
    struct ocv_cpu_facts facts = {0};
    const struct ocv_cpu *cpu = OWN;
    bool live = argc < 2 && ocv_cpu_live(cpu, &facts);
    if (!live || ocv_cpu_thin(cpu, &facts)) {
        bool known = read_file(argc > 1 ? argv[1] : "/proc/cpuinfo", &cpuinfo) == 0 &&
                     ocv_cpu_recorded(cpu, &cpuinfo, &facts);
        if (!known && !live) {
            fputs("cpuprobe: no facts about a processor of this architecture\n", stderr);
            return 1;
        }
    }
    print(cpu, &facts);
    ocv_cpuinfo_free(&cpuinfo);
    return 0;
}
#else
int main(void)
{
    fputs("cpuprobe: nothing to look at on this architecture\n", stderr);
    return 1;
}
#endif
