/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which device code runs on which NVIDIA GPU. */
#include "lib/core/resolve/resolve_internal.h"

/* Family code (`f`) runs on its chip and on those that came after it in its family. Source: CUDA
 * programming guide, feature sets; 107: PTX ISA 9.4 (CUDA 13.4), which has sm_107, sm_107a and
 * sm_107f. That 100f or 103f code runs on it is not said. */
static bool is_family(unsigned code, unsigned sm)
{
    return code == sm || (code == 100 && sm == 103) || (code == 120 && sm == 121);
}

/* Machine code runs on chips of its major version from its minor one up, but on a Tegra only its
 * own. Source: CUDA programming guide, "Binary Compatibility". */
bool ocv_sm_runs(unsigned code, char form, unsigned sm)
{
    bool tegra = sm == 53 || sm == 62 || sm == 72 || sm == 87;
    switch (form) {
    case 'a':
        return code == sm;
    case 'f':
        return is_family(code, sm);
    case 'v':
        return code <= sm;
    default:
        return code == sm || (code / 10 == sm / 10 && code < sm && !tegra);
    }
}
