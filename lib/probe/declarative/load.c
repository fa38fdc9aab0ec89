/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories of declarative providers, and which provider answers for a namespace. */
#include "gen/datadir.h"
#include "gen/providers.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/probe/declarative/declarative.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_provider(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && strcmp(dot, ".yaml") == 0;
}

/* With a host: a shipped file is not read if its devices are absent. */
static int append_file(struct ocv_declarations *set, int directory, const char *name,
                       const char *path, const struct ocv_probe_host *host, struct ocv_error *err)
{
    struct ocv_declaration d;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_DECLARATION_MAX);
    /* of a directory: opening a FIFO would wait for its writer */
    enum ocv_file_kind kind = directory == AT_FDCWD ? OCV_FILE_ANY : OCV_FILE_REGULAR;
    struct stat st;
    int status = ocv_file_read_in(directory, name, path, kind, &text, err);
    if (status < 0 && directory != AT_FDCWD &&
        (fstatat(directory, name, &st, 0) != 0 || !S_ISREG(st.st_mode)))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: not a regular file", path);
    if (status == OCV_ERR_DATA)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: larger than %u bytes", path,
                             OCV_DECLARATION_MAX);
    if (status < 0)
        return status;
    const char *data = text.data ? text.data : "";
    const struct ocv_known_file *known = host ? ocv_known_file(data, text.len) : NULL;
    if (!known || ocv_known_file_concerns(known, host)) {
        status = ocv_declaration_read(path, data, text.len, &d, err);
        if (status < 0)
            return status;
    } else {
        d = (struct ocv_declaration){.ns = known->ns,
                                     .name = known->name,
                                     .version = known->version,
                                     .source = strdup(path)};
    }
    struct ocv_declaration *added = d.source ? ocv_array_grow(&set->items, set->n) : NULL;
    if (!added) {
        ocv_declaration_free(&d);
        return ocv_error_nomem(err);
    }
    *added = d;
    set->n++;
    return OCV_OK;
}

int ocv_declarations_load(struct ocv_declarations *set, const char *directory,
                          const struct ocv_probe_host *host, struct ocv_error *err)
{
    struct dirent **entries;
    ocv_auto_fd int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = fd < 0 ? -1 : scandirat(fd, ".", &entries, is_provider, ocv_directory_order);
    if (n < 0)
        return errno == ENOENT ? OCV_OK
               : errno == ENOMEM
                   ? ocv_error_nomem(err)
                   : ocv_error_set(err, OCV_ERR_IO, "%s: %s", directory, strerror(errno));
    int status = OCV_OK;
    if ((size_t)n > OCV_DECLARATIONS_MAX)
        status = ocv_error_set(err, OCV_ERR_CONFIG, "%s: more than %u providers", directory,
                               OCV_DECLARATIONS_MAX);
    for (int i = 0; i < n; i++) {
        char *path = NULL;
        if (status == OCV_OK && asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0)
            status = ocv_error_nomem(err);
        else if (status == OCV_OK)
            status = append_file(set, fd, entries[i]->d_name, path, host, err);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int line_of(const struct ocv_declaration *d, const char *key)
{
    const struct ocv_yaml *node = ocv_yaml_get(d->tree, key);
    return node ? (int)node->line : 1;
}

static int fail_conflict(const struct ocv_declaration *d, const char *name, const char *where,
                         struct ocv_error *err)
{
    ocv_error_set(err, OCV_ERR_CONFIG, "%s:%d: namespace '%s' has a provider already: '%s' (%s)",
                  d->source, line_of(d, "namespace"), d->ns, name, where);
    ocv_error_hint(err, "write 'replaces: %s' into the file that should replace it", name);
    return OCV_ERR_CONFIG;
}

/* Apply `replaces`; afterwards every namespace has one provider. */
static int apply_replacements(struct ocv_declarations *set, const struct provider *const *builtin,
                              size_t n_builtin, struct ocv_error *err)
{
    /* a later file may replace an earlier one, never the reverse */
    for (size_t at = 0; at < set->n; at++) {
        const struct ocv_declaration *d = &set->items[at];
        const char *ns = NULL;
        if (!d->replaces)
            continue;
        for (size_t i = 0; i < n_builtin && !ns; i++)
            if (strcmp(builtin[i]->name, d->replaces) == 0)
                ns = builtin[i]->ns;
        for (size_t i = 0; i < at && !ns; i++)
            if (!set->items[i].replaced && strcmp(set->items[i].name, d->replaces) == 0) {
                ns = set->items[i].ns;
                set->items[i].replaced = true;
            }
        if (!ns)
            return ocv_error_set(err, OCV_ERR_CONFIG, "%s:%d: no provider is called '%s'",
                                 d->source, line_of(d, "replaces"), d->replaces);
        if (strcmp(ns, d->ns) != 0)
            return ocv_error_set(err, OCV_ERR_CONFIG,
                                 "%s:%d: provider '%s' is of namespace '%s', not '%s'", d->source,
                                 line_of(d, "replaces"), d->replaces, ns, d->ns);
    }
    for (size_t i = 0; i < set->n; i++) {
        const struct ocv_declaration *d = &set->items[i];
        for (size_t k = 0; k < i; k++)
            if (!d->replaced && !set->items[k].replaced && strcmp(d->ns, set->items[k].ns) == 0)
                return fail_conflict(d, set->items[k].name, set->items[k].source, err);
        for (size_t k = 0; k < n_builtin; k++)
            if (!d->replaced && builtin[k]->ns && strcmp(d->ns, builtin[k]->ns) == 0 &&
                !ocv_declarations_replace(set, builtin[k]))
                return fail_conflict(d, builtin[k]->name, "built in", err);
    }
    return OCV_OK;
}

int ocv_declarations_open(const struct ocv_probe_options *options,
                          const struct ocv_probe_host *host, const struct provider *const *builtin,
                          size_t n_builtin, struct ocv_declarations *out, struct ocv_error *err)
{
    const char *datadir = options->datadir ? options->datadir : OCV_DEFAULT_DATADIR;
    const char *own = options->providers ? options->providers : OCV_PATH_PROVIDERS;
    struct ocv_declarations set = {0};
    char *shipped = NULL;
    int status;
    if (options->check) {
        status = append_file(&set, AT_FDCWD, options->check, options->check, NULL, err);
    } else if (asprintf(&shipped, "%s/providers", datadir) < 0) {
        return ocv_error_nomem(err);
    } else {
        status = ocv_declarations_load(&set, shipped, host, err);
        if (status == OCV_OK)
            status = ocv_declarations_load(&set, own, NULL, err);
        if (status == OCV_OK)
            status = apply_replacements(&set, builtin, n_builtin, err);
        free(shipped);
    }
    if (status < 0)
        ocv_declarations_free(&set);
    else
        *out = set;
    return status;
}

bool ocv_declarations_replace(const struct ocv_declarations *set, const struct provider *provider)
{
    for (size_t i = 0; i < set->n; i++)
        if (!set->items[i].replaced && strcmp(set->items[i].ns, provider->ns) == 0 &&
            set->items[i].replaces && strcmp(set->items[i].replaces, provider->name) == 0)
            return true;
    return false;
}

void ocv_declarations_free(struct ocv_declarations *set)
{
    for (size_t i = 0; i < set->n; i++)
        ocv_declaration_free(&set->items[i]);
    free(set->items);
    *set = (struct ocv_declarations){0};
}

/* Leaves out shipped files that need not be parsed: most machines have the devices of one or two,
 * and parsing the others would be most of the time of a probe. The build has recorded what devices
 * each file is for.
 *
 * Invariant: a file is skipped only if its bytes are those that the build read, and these are
 * tested; a file that an administrator adds or changes is always parsed and checked. */

const struct ocv_known_file *ocv_known_file(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(ocv_known_files) / sizeof(*ocv_known_files); i++)
        if (len && ocv_known_files[i].len == len && memcmp(ocv_known_files[i].text, text, len) == 0)
            return &ocv_known_files[i];
    return NULL;
}

bool ocv_known_file_concerns(const struct ocv_known_file *known, const struct ocv_probe_host *host)
{
    char *end, path[96];
    for (const char *at = known->vendors; *at; at = end + (*end == ' ')) {
        unsigned long vendor = strtoul(at, &end, 16);
        for (size_t i = 0; i < host->pci.n; i++)
            if (host->pci.devices[i].vendor == vendor)
                return true;
    }
    for (const char *at = known->classes; *at;) {
        int len = (int)strcspn(at, " ");
        snprintf(path, sizeof(path), "sys/class/%.*s", len, at);
        if (ocv_sysroot_directory(host->root, path))
            return true;
        at += len + (at[len] == ' ');
    }
    /* a running kernel with a device tree shows it; a recording may have no more than the devices
     */
    return known->devicetree && ocv_sysroot_directory(host->root, "sys/bus/platform/devices") &&
           (!host->live || ocv_sysroot_directory(host->root, "sys/firmware/devicetree/base"));
}
