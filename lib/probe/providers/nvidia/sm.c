/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lists of namespace nvidia: CUDA versions and machine code. */
#include "lib/base/cleanup.h"
#include "lib/core/resolve/resolve_internal.h"
#include "lib/probe/providers/nvidia/nvidia.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MAJOR.from ... MAJOR.to, downwards, and the bare major if `to` is -1. */
static int add_versions(struct ocv_result *result, const char *feature, unsigned major,
                        unsigned from, int to, struct ocv_error *err)
{
    for (int minor = (int)from; minor >= to; minor--) {
        char value[32];
        if (minor < 0)
            snprintf(value, sizeof(value), "%u", major);
        else
            snprintf(value, sizeof(value), "%u.%d", major, minor);
        OCV_TRY(ocv_result_add(result, feature, value, err));
    }
    return OCV_OK;
}

struct lower_bounds {
    struct ocv_result *result;
    struct ocv_error *err;
};

static int add_lower_bound(void *data, const char *version)
{
    const struct lower_bounds *to = data;
    return ocv_result_add(to->result, "cuda_version_lower_bound", version, to->err);
}

int ocv_nvidia_add_cuda(struct ocv_result *result, struct ocv_cuda_version cuda,
                        struct ocv_error *err)
{
    static const char upper[] = "cuda_version_upper_bound";
    struct lower_bounds to = {result, err};
    if (cuda.major >= OCV_NVIDIA_CUDA_MIN)
        OCV_TRY(ocv_versions_below("nvidia", "cuda_version_lower_bound", cuda.major, cuda.minor,
                                   add_lower_bound, &to));
    for (unsigned major = OCV_NVIDIA_CUDA_MAX; major > cuda.major; major--)
        if (major >= OCV_NVIDIA_CUDA_MIN)
            OCV_TRY(add_versions(result, upper, major, OCV_NVIDIA_MINOR_MAX, -1, err));
    if (cuda.major <= OCV_NVIDIA_CUDA_MAX)
        OCV_TRY(add_versions(result, upper, cuda.major, OCV_NVIDIA_MINOR_MAX, (int)cuda.minor + 1,
                             err));
    return OCV_OK;
}

/* The chips that compilers know with an `f` (CUDA programming guide, feature sets; PTX ISA 9.4). */
static bool has_family(unsigned sm)
{
    return sm == 100 || sm == 103 || sm == 107 || sm == 110 || sm == 120 || sm == 121;
}

static int add_form(struct ocv_result *result, json_t *device, unsigned sm, const char *form,
                    struct ocv_error *err)
{
    char value[32];
    snprintf(value, sizeof(value), "%u%s", sm, form);
    return device ? ocv_device_add(device, "sm_arch", value, err)
                  : ocv_result_add(result, "sm_arch", value, err);
}

int ocv_nvidia_add_sm(struct ocv_result *result, json_t *device, unsigned sm, bool guess,
                      struct ocv_error *err)
{
    if (sm < OCV_NVIDIA_SM_MIN)
        return OCV_OK;
    for (unsigned code = sm; ocv_sm_runs(code, 'r', sm); code--) { /* `a` began with 9.0 */
        if (code == sm && !guess && (sm == 90 || has_family(sm)))
            OCV_TRY(add_form(result, device, code, "a_real", err));
        if (!guess && has_family(code) && ocv_sm_runs(code, 'f', sm))
            OCV_TRY(add_form(result, device, code, "f_real", err));
        OCV_TRY(add_form(result, device, code, "_real", err));
    }
    for (unsigned code = sm; code >= OCV_NVIDIA_SM_MIN; code--)
        OCV_TRY(add_form(result, device, code, "_virtual", err));
    return OCV_OK;
}

int ocv_nvidia_add_user_spaces(struct ocv_result *result, json_t *device, unsigned branch,
                               bool data_centre, struct ocv_error *err)
{
    static const char feature[] = "forward_compatibility";
    char value[16];
    for (size_t i = 0;; i++) {
        unsigned user_space = ocv_nvidia_user_space(branch, data_centre, i);
        if (!user_space)
            break;
        snprintf(value, sizeof(value), "%u", user_space);
        OCV_TRY(device ? ocv_device_add(device, feature, value, err)
                       : ocv_result_add(result, feature, value, err));
    }
    return OCV_OK;
}

/* At most two digits, zeroes before them aside. */
static bool read_number(const char **text, unsigned *out)
{
    while (**text == '0' && isdigit((unsigned char)(*text)[1]))
        (*text)++;
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
    if (*text == 'v' || *text == 'V')
        text++;
    if (!read_number(&text, &cuda.major) || cuda.major == 0)
        return false;
    if (*text == '.' && isdigit((unsigned char)text[1])) {
        text++;
        if (!read_number(&text, &cuda.minor))
            return false;
    }
    if (*text == '!')
        return false; /* an epoch: versions of another count */
    /* what else follows is a patch level, "rc1" or "+local": no part of the lists */
    *out = cuda;
    return true;
}

bool ocv_nvidia_force_sm(const char *text, unsigned *out)
{
    unsigned major, minor;
    if (!read_number(&text, &major) || major == 0 || *text++ != '.' ||
        !read_number(&text, &minor) || minor > 9 || *text != '\0')
        return false;
    *out = major * 10 + minor;
    return true;
}
