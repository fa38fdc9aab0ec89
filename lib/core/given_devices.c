/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define UID_LEN 36u /* of a claim, before the name that CDI has for its device */

/* "gpu.nvidia.com/x" is of the namespace that is a part of the domain; "huawei.com/Ascend910" of
 * the one that the class begins with. */
static bool owner_serves(const char *owner, const char *ns)
{
    size_t n = strlen(ns), domain = strcspn(owner, "/=");
    const char *class = owner + domain;
    for (const char *part = owner; part < class; part += strcspn(part, "./=") + 1)
        if (strcspn(part, "./=") == n && strncasecmp(part, ns, n) == 0)
            return true;
    return *class == '/' && strncasecmp(class + 1, ns, n) == 0;
}

/* A number of at most five digits, and nothing else. */
static bool is_number(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n < 6 && !text[n];
}

/* The index in "0", "gpu0", "gpu-0", "CLASS-0" and, of a claim, "UID-gpu-0"; else NULL. Names with
 * more numbers in them ("card0-1", "gpu-0-mig-1g.5gb-19-0") are parts of devices. */
static const char *index_of(const char *id, const char *class)
{
    size_t n = strlen(class);
    if (n && strncasecmp(id, class, n) == 0 && id[n] == '-' && is_number(id + n + 1))
        return id + n + 1;
    if (strlen(id) > UID_LEN + 1 && id[8] == '-' && id[13] == '-' && id[UID_LEN] == '-')
        id += UID_LEN + 1;
    while (isalpha((unsigned char)*id))
        id++;
    id += *id == '-';
    return is_number(id) ? id : NULL;
}

/* What stands behind CDI's "VENDOR/CLASS=", without the "::3" of a device that is shared. */
static void plain_id(const char *id, char out[OCV_GIVEN_TEXT_MAX])
{
    const char *slash = strchr(id, '/'), *equals = slash ? strchr(slash, '=') : NULL;
    snprintf(out, OCV_GIVEN_TEXT_MAX, "%s", equals ? equals + 1 : id);
    char *replica = strstr(out, "::");
    if (replica && is_number(replica + 2))
        *replica = '\0';
}

/* Is it of the namespace, by its owner or by CDI's name? */
static bool serves(const struct ocv_given_device *given, const char *ns)
{
    return owner_serves(given->owner, ns) ||
           (strchr(given->id, '=') && owner_serves(given->id, ns));
}

struct device_match {
    const struct ocv_given_devices *given;
    bool known[OCV_GIVEN_MAX]; /* by group: the profile has it */
    bool *taken;               /* devices of the profile, in its order */
    size_t at[OCV_GIVEN_MAX];  /* by group: which */
};

/* Names of one group have to mean one device. False where they do not. */
static bool match_devices(struct device_match *f, const struct ocv_profile *profile)
{
    size_t place = 0;
    for (size_t i = 0; i < profile->n_namespaces; i++) {
        const struct ocv_namespace *ns = &profile->namespaces[i];
        for (size_t d = 0; d < ns->n_devices; d++, place++)
            for (size_t k = 0; k < f->given->n; k++) {
                const struct ocv_given_device *given = &f->given->list[k];
                char id[OCV_GIVEN_TEXT_MAX];
                plain_id(given->id, id);
                bool ours = serves(given, ns->name);
                /* "nvidia.com/gpu=all": every device of its owner */
                bool all = ours && strcmp(id, "all") == 0;
                /* a UUID or an address is one device's whatever its owner is called; a number only
                 * the owner's */
                const char *slash = strchr(given->owner, '/');
                const char *number = ours ? index_of(id, slash ? slash + 1 : "") : NULL;
                if (!all && !(id[strspn(id, "0123456789")] && ocv_device_is(&ns->devices[d], id)) &&
                    !(number && ocv_device_is(&ns->devices[d], number)))
                    continue;
                if (!all && f->known[given->group] && f->at[given->group] != place)
                    return false;
                f->known[given->group] = true;
                f->at[given->group] = place;
                f->taken[place] = true;
            }
    }
    return true;
}

static bool is_ours(const struct ocv_given_device *given, const struct ocv_profile *profile)
{
    for (size_t i = 0; i < profile->n_namespaces; i++)
        if (serves(given, profile->namespaces[i].name))
            return true;
    return false;
}

int ocv_given_find(const struct ocv_given_devices *given, const struct ocv_profile *profile,
                   char *out, size_t size, struct ocv_error *err)
{
    size_t n = 0, place = 0, at = 0;
    for (size_t i = 0; i < profile->n_namespaces; i++)
        n += profile->namespaces[i].n_devices;
    ocv_auto_free bool *taken = calloc(n + 1, sizeof(*taken));
    if (!taken)
        return ocv_error_nomem(err);
    struct device_match f = {.given = given, .taken = taken};
    if (!match_devices(&f, profile))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND,
                             "names of one device mean different ones in the profile");
    /* one that no device answers to is refused where it is ours, or where none was found */
    bool any = false;
    const struct ocv_given_device *stranger = NULL;
    for (size_t i = 0; i < given->n; i++) {
        const struct ocv_given_device *one = &given->list[i];
        any = any || f.known[one->group];
        if (!f.known[one->group] && (!stranger || is_ours(one, profile)))
            stranger = one;
    }
    if (stranger && (!any || is_ours(stranger, profile)))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "the profile has no device %.100s of %.100s",
                             stranger->id, stranger->owner);
    out[0] = '\0';
    for (size_t i = 0; i < profile->n_namespaces; i++) {
        const struct ocv_namespace *ns = &profile->namespaces[i];
        bool begun = false;
        for (size_t d = 0; d < ns->n_devices; d++, place++) {
            const char *id = ns->devices[d].id;
            if (!taken[place])
                continue;
            if (at + strlen(ns->name) + strlen(id) + 4 > size || strpbrk(id, ",;\n"))
                return ocv_error_set(err, OCV_ERR_DATA, "too many devices");
            at += begun ? (size_t)snprintf(out + at, size - at, ",%s", id)
                        : (size_t)snprintf(out + at, size - at, "%s%s=%s", at ? ";" : "", ns->name,
                                           id);
            begun = true;
        }
    }
    return OCV_OK;
}
