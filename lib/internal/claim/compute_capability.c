/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Compute capabilities as properties name them. */
#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/claim/claim_internal.h"

#include <string.h>

bool ocv_capability_parse(const char *value, struct ocv_capability *out)
{
    size_t digits = strspn(value, "0123456789");
    unsigned code = 0;
    if (digits < 2 || digits > 3)
        return false;
    for (size_t i = 0; i < digits; i++)
        code = code * 10 + (unsigned)(value[i] - '0');
    const char *form = value + digits;
    out->code = code;
    out->form = *form == 'a' || *form == 'f' ? *form : 'r';
    if (!strcmp(form, "_virtual"))
        out->form = 'v';
    else if (strcmp(form + (out->form != 'r'), "_real") != 0)
        return false;
    return code < 256;
}

bool ocv_capability_fits(const struct ocv_capability *code, unsigned capability)
{
    return ocv_sm_runs(code->code, code->form, capability);
}

/* As a host lists them: machine code of the newest first, of one capability the narrowest first,
 * then PTX. */
int ocv_capability_order(const struct ocv_capability *a, const struct ocv_capability *b)
{
    static const char forms[] = "afr";
    if ((a->form == 'v') != (b->form == 'v'))
        return a->form == 'v' ? 1 : -1;
    if (a->code != b->code)
        return a->code > b->code ? -1 : 1;
    if (a->form == b->form)
        return 0;
    return strchr(forms, a->form) < strchr(forms, b->form) ? -1 : 1;
}
