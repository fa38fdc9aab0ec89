/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of namespace nvidia and the lists that are made of them. */
#include "nvidia.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PCI device id -> compute capability. Up to Ada: the ids that pci.ids (2023-04-11, GPL-2+ or
 * BSD-3) gives a chip's code name, neighbours of one capability put together; other functions of a
 * chip (audio, USB) and NVSwitch lie in between and are told apart by their class. From Hopper's
 * later boards on: key ids are exact, the blocks reserved for a chip are marked as a guess. Chip ->
 * capability: CUDA's list of GPUs. First hit wins. */
static const struct {
    uint16_t first, last;
    uint8_t sm;
    bool guess;
} ids[] = {
    {0x06c0, 0x06df, 20, false},  {0x0dc0, 0x0e3b, 21, false},
    {0x0f00, 0x0f06, 21, false},  {0x0fc0, 0x0fff, 30, false},
    {0x1001, 0x102a, 35, false},  {0x102d, 0x102d, 37, false},
    {0x102e, 0x103f, 35, false},  {0x1040, 0x107d, 21, false},
    {0x1080, 0x109b, 20, false},  {0x1140, 0x1140, 21, false},
    {0x1180, 0x11fc, 30, false},  {0x1200, 0x1251, 21, false},
    {0x1280, 0x12ba, 35, false},  {0x1340, 0x13bd, 50, false},
    {0x13c0, 0x1436, 52, false},  {0x15f0, 0x15f9, 60, false},
    {0x1617, 0x1667, 52, false},  {0x1725, 0x172f, 60, false},
    {0x174d, 0x179c, 50, false},  {0x17c2, 0x17fd, 52, false},
    {0x1b00, 0x1d56, 61, false},  {0x1d81, 0x1df6, 70, false},
    {0x1e02, 0x1ff9, 75, false},  {0x2082, 0x20fd, 80, false},
    {0x2182, 0x21d1, 75, false},  {0x2200, 0x223f, 86, false},
    {0x2302, 0x2339, 90, false},  {0x2414, 0x25fb, 86, false},
    {0x2681, 0x28e1, 89, false},  {0x233b, 0x233b, 90, false}, /* H200 NVL */
    {0x2342, 0x2342, 90, false},                               /* GH200 */
    {0x2901, 0x2901, 100, false},                              /* B200 */
    {0x2941, 0x2941, 100, false},                              /* GB200 */
    {0x2b00, 0x2b00, 110, false},                              /* Jetson AGX Thor */
    {0x2b85, 0x2b85, 120, false},                              /* RTX 5090 */
    {0x2bb5, 0x2bb5, 120, false},                              /* RTX PRO 6000 Server Edition */
    {0x2e12, 0x2e12, 121, false},                              /* GB10 */
    {0x3182, 0x3182, 103, false},                              /* B300 */
    {0x31c2, 0x31c2, 103, false},                              /* GB300 */
    {0x22a3, 0x23f0, 90, true},   {0x2681, 0x28ff, 89, true},
    {0x2900, 0x29f1, 100, true},  {0x2b80, 0x2c7f, 120, true},
    {0x2d00, 0x2dff, 120, true},  {0x2e00, 0x2e2a, 121, true},
    {0x2f00, 0x2f80, 120, true},  {0x3000, 0x3040, 107, true},
    {0x3180, 0x31fe, 103, true},  {0x3200, 0x323e, 103, true},
};

/* Driver branch -> CUDA, Linux. Source: CUDA release notes, table of driver versions. */
static const struct {
    unsigned branch;
    struct ocv_cuda_version cuda;
} branches[] = {
    {595, {13, 2}}, {590, {13, 1}}, {580, {13, 0}}, {575, {12, 9}}, {570, {12, 8}}, {565, {12, 7}},
    {560, {12, 6}}, {555, {12, 5}}, {550, {12, 4}}, {545, {12, 3}}, {535, {12, 2}}, {530, {12, 1}},
    {525, {12, 0}}, {520, {11, 8}}, {515, {11, 7}}, {510, {11, 6}}, {495, {11, 5}}, {470, {11, 4}},
    {465, {11, 3}}, {460, {11, 2}}, {455, {11, 1}}, {450, {11, 0}}, {440, {10, 2}}, {418, {10, 1}},
    {410, {10, 0}}, {396, {9, 2}},
};
#define BRANCH_UNKNOWN 600u /* the first branch after the table's newest */

unsigned ocv_nvidia_sm(uint16_t device, bool *guess)
{
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        if (device >= ids[i].first && device <= ids[i].last) {
            *guess = ids[i].guess;
            return ids[i].sm;
        }
    *guess = false;
    return 0;
}

bool ocv_nvidia_integrated(uint16_t device)
{
    return device == 0x2b00 || (device >= 0x2e00 && device <= 0x2e2a); /* Thor, GB10 */
}

struct ocv_cuda_version ocv_nvidia_cuda(unsigned driver_major, bool *newer)
{
    *newer = driver_major >= BRANCH_UNKNOWN;
    for (size_t i = 0; i < sizeof(branches) / sizeof(*branches); i++)
        if (driver_major >= branches[i].branch)
            return branches[i].cuda;
    return (struct ocv_cuda_version){0, 0};
}

static int add_version(struct ocv_result *result, const char *feature, unsigned major, int minor,
                       struct ocv_error *err)
{
    char value[32];
    if (minor < 0)
        snprintf(value, sizeof(value), "%u", major);
    else
        snprintf(value, sizeof(value), "%u.%d", major, minor);
    return ocv_result_add(result, feature, value, err);
}

/* MAJOR.from ... MAJOR.to, downwards, and the bare major if `to` is -1. */
static int add_versions(struct ocv_result *result, const char *feature, unsigned major,
                        unsigned from, int to, struct ocv_error *err)
{
    int status = OCV_OK;
    for (int minor = (int)from; status == OCV_OK && minor >= to; minor--)
        status = add_version(result, feature, major, minor, err);
    return status;
}

int ocv_nvidia_add_cuda(struct ocv_result *result, struct ocv_cuda_version cuda,
                        struct ocv_error *err)
{
    static const char lower[] = "cuda_version_lower_bound", upper[] = "cuda_version_upper_bound";
    int status = OCV_OK;
    for (unsigned major = cuda.major; status == OCV_OK && major >= OCV_NVIDIA_CUDA_MIN; major--)
        status = add_versions(result, lower, major,
                              major == cuda.major ? cuda.minor : OCV_NVIDIA_MINOR_MAX, -1, err);
    for (unsigned major = OCV_NVIDIA_CUDA_MAX; status == OCV_OK && major > cuda.major; major--)
        if (major >= OCV_NVIDIA_CUDA_MIN)
            status = add_versions(result, upper, major, OCV_NVIDIA_MINOR_MAX, -1, err);
    if (status == OCV_OK && cuda.major <= OCV_NVIDIA_CUDA_MAX)
        status =
            add_versions(result, upper, cuda.major, OCV_NVIDIA_MINOR_MAX, (int)cuda.minor + 1, err);
    return status;
}

/* Arch-specific code (`a`) runs on its own chip, family code (`f`) on the chip and on those that
 * came after it with the same major. Source: CUDA programming guide, feature sets. */
static bool has_specific(unsigned sm)
{
    return sm == 90 || sm == 100 || sm == 103 || sm == 110 || sm == 120 || sm == 121;
}

static bool runs_family(unsigned sm, unsigned family)
{
    switch (family) {
    case 100:
        return sm == 100 || sm == 103;
    case 120:
        return sm == 120 || sm == 121;
    case 103:
    case 110:
    case 121:
        return sm == family;
    default:
        return false;
    }
}

static int add_form(struct ocv_result *result, json_t *device, unsigned sm, const char *form,
                    struct ocv_error *err)
{
    char value[32];
    snprintf(value, sizeof(value), "%u%s", sm, form);
    return device ? ocv_device_add(device, "sm_arch", value, err)
                  : ocv_result_add(result, "sm_arch", value, err);
}

int ocv_nvidia_add_sm(struct ocv_result *result, json_t *device, unsigned sm, struct ocv_error *err)
{
    int status = OCV_OK;
    if (sm < OCV_NVIDIA_SM_MIN)
        return OCV_OK;
    for (unsigned code = sm; status == OCV_OK && code >= sm / 10 * 10; code--) {
        if (code == sm && has_specific(sm))
            status = add_form(result, device, code, "a_real", err);
        if (status == OCV_OK && runs_family(sm, code))
            status = add_form(result, device, code, "f_real", err);
        if (status == OCV_OK)
            status = add_form(result, device, code, "_real", err);
    }
    for (unsigned code = sm; status == OCV_OK && code >= OCV_NVIDIA_SM_MIN; code--)
        status = add_form(result, device, code, "_virtual", err);
    return status;
}

/* At most two digits. */
static bool number(const char **text, unsigned *out)
{
    size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > 2)
        return false;
    *out = (unsigned)strtoul(*text, NULL, 10);
    *text += digits;
    return true;
}

bool ocv_nvidia_force_cuda(const char *text, struct ocv_cuda_version *out)
{
    struct ocv_cuda_version cuda = {0, 0};
    if (!number(&text, &cuda.major) || cuda.major == 0)
        return false;
    if (*text == '.' && isdigit((unsigned char)text[1])) {
        text++;
        if (!number(&text, &cuda.minor))
            return false;
    }
    *out = cuda; /* what follows is a patch level, "rc1" or "+local": no part of the lists */
    return true;
}

bool ocv_nvidia_force_sm(const char *text, unsigned *out)
{
    unsigned major, minor;
    if (!number(&text, &major) || major == 0 || *text++ != '.' || !number(&text, &minor) ||
        minor > 9 || *text != '\0')
        return false;
    *out = major * 10 + minor;
    return true;
}
