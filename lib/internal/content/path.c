/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a path says: some libraries have an object for each GPU, named for it. */
#include "gen/content-rules.h"
#include "lib/base/text.h"
#include "lib/internal/content/content.h"

#include <string.h>

/* Objects of rocBLAS, hipBLASLt and MIOpen: `TensileLibrary_…_gfx942.co`, `…gfx90a.dat`,
 * `gfx942.kdb`, and their lists. */
static bool gpu_of(const char *name, char *out, size_t size)
{
    const char *gpu = strstr(name, "gfx");
    size_t n = gpu ? strspn(gpu + 3, "0123456789abcdef") : 0;
    if (n < 3 || n > 4 || n + 4 > size)
        return false;
    if (!ocv_text_ends(name, ".hsaco") && !ocv_text_ends(name, ".co") &&
        !ocv_text_ends(name, ".dat") && !ocv_text_ends(name, ".kdb"))
        return false;
    memcpy(out, gpu, n + 3);
    out[n + 3] = '\0';
    return true;
}

/* The part of a path behind `before`, up to a slash; false if there is none. */
static bool part_behind(const char *path, const char *before, char *out, size_t size)
{
    const char *at = strstr(path, before);
    size_t n = at ? strcspn(at + strlen(before), "/") : 0;
    if (!n || n >= size || at[strlen(before) + n] != '/')
        return false;
    memcpy(out, at + strlen(before), n);
    out[n] = '\0';
    return true;
}

/* Has the path a directory whose name ends so? */
static bool is_below(const char *path, const char *end)
{
    for (const char *at = path; (at = strstr(at, end)); at++)
        if (at[strlen(end)] == '/')
            return true;
    return false;
}

/* Archives by their names. `opened`: where one is the file that is named, or in a directory that
 * is.
 */
static const struct archive_kind {
    const char *end;
    bool opened;
} archive_kinds[] = {
    {".whl", true},    {".zip", true},      {".egg", true},     {".tar", true},
    {".tar.gz", true}, {".tgz", true},      {".tar.zst", true}, {".tar.xz", false},
    {".txz", false},   {".tar.bz2", false}, {".tbz2", false},   {".conda", false},
    {".deb", false},   {".rpm", false},     {".7z", false},     {".rar", false},
};

static const struct archive_kind *archive_kind_of(const char *path)
{
    for (size_t i = 0; i < sizeof(archive_kinds) / sizeof(archive_kinds[0]); i++)
        if (ocv_text_ends(path, archive_kinds[i].end))
            return &archive_kinds[i];
    return NULL;
}

bool ocv_content_opens(const char *path)
{
    const struct archive_kind *kind = archive_kind_of(path);
    return kind && kind->opened;
}

bool ocv_content_is_named(const char *path)
{
    const char *slash = strrchr(path, '/');
    char gpu[32];
    return gpu_of(slash ? slash + 1 : path, gpu, sizeof(gpu));
}

int ocv_content_path(struct ocv_content_facts *facts, const char *path, int64_t bytes,
                     struct ocv_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *compiler = NULL, *driver = NULL, *soname = NULL;
    char value[32];
    bool compat = false, unseen = false;
    for (size_t i = 0; i < facts->n; i++) {
        if (facts->list[i].fact == OCV_CONTENT_SONAME)
            soname = facts->list[i].value;
        compat = compat || facts->list[i].fact == OCV_CONTENT_CUDA_COMPAT;
        unseen = unseen || facts->list[i].fact == OCV_CONTENT_UNSEEN;
    }
    /* A driver's libraries are for its own version of the kernel's part; those in `stubs` only help
     * to link, those in `compat` (cuda-compat) are made for other versions. */
    bool other = !soname || compat || is_below(path, "compat") || is_below(path, "stubs");
    for (size_t i = 0;
         i < sizeof(content_drivers) / sizeof(content_drivers[0]) && !other && !driver; i++) {
        const struct content_driver *it = &content_drivers[i];
        size_t n = strlen(it->name);
        if (strncmp(name, it->name, n) != 0 || strncmp(soname, it->name, n) != 0)
            continue;
        bool versioned = name[n] == '.' && name[n + 1] >= '0' && name[n + 1] <= '9';
        if (it->below ? strstr(path, it->below) != NULL : versioned)
            driver = it->is;
    }
    /* rules begin with a slash, a path without one */
    for (size_t i = 0; i < sizeof(content_compilers) / sizeof(content_compilers[0]); i++)
        if (!compiler && (ocv_text_ends(path, content_compilers[i].path) ||
                          !strcmp(path, content_compilers[i].path + 1)))
            compiler = content_compilers[i].is;
    if (driver)
        return ocv_content_facts_add(facts, OCV_CONTENT_DRIVER, driver, bytes, 1, err);
    if (part_behind(path, "/glibc-hwcaps/", value, sizeof(value)))
        return ocv_content_facts_add(facts, OCV_CONTENT_HWCAPS, value, bytes, 1, err);
    if (part_behind(path, "/ai_core/tbe/kernel/", value, sizeof(value)) &&
        ocv_text_ends(name, ".o"))
        return ocv_content_facts_add(facts, OCV_CONTENT_NPU_KERNEL, value, bytes, 1, err);
    if (compiler)
        return ocv_content_facts_add(facts, OCV_CONTENT_COMPILER, compiler, bytes, 1, err);
    if (gpu_of(name, value, sizeof(value)))
        return ocv_content_facts_add(facts, OCV_CONTENT_HIP_CODE, value, bytes, 1, err);
    /* archives are not opened in archives and in layers; some are known by their bytes */
    if (!unseen && archive_kind_of(name))
        return ocv_content_facts_add(facts, OCV_CONTENT_UNSEEN, OCV_CONTENT_ARCHIVE, 0, 1, err);
    return OCV_OK;
}
