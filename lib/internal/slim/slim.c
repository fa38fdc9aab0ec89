/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/internal/slim/slim_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file, mapped. */
struct map {
    unsigned char *bytes;
    size_t size;
};

static void unmap(struct map *map)
{
    if (map->bytes)
        munmap(map->bytes, map->size);
}

static int map_file(int fd, size_t size, int protection, struct map *out, struct ocv_error *err)
{
    void *bytes = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return errno == ENOMEM
                   ? ocv_error_nomem(err)
                   : ocv_error_set(err, OCV_ERR_IO, "mapping a file: %s", strerror(errno));
    *out = (struct map){bytes, size};
    return OCV_OK;
}

void ocv_slim_release(const unsigned char *bytes, uint64_t size)
{
    const uintptr_t page = 65536; /* the largest */
    uintptr_t from = ((uintptr_t)bytes + page - 1) & ~(page - 1);
    uintptr_t to = ((uintptr_t)bytes + size) & ~(page - 1);
    if (to > from)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
}

/* The room itself, so that a full file system is told here and not by a signal at a write to a map
 * of the file. */
static int make_room(int fd, uint64_t size, struct ocv_error *err)
{
    static const unsigned char zeros[4096];
    int failed = fallocate(fd, 0, 0, (off_t)size) < 0 ? errno : 0;
    if (failed == EOPNOTSUPP || failed == ENOSYS) {
        failed = 0;
        for (uint64_t at = 0; at < size && !failed; at += sizeof(zeros)) {
            size_t n = size - at < sizeof(zeros) ? (size_t)(size - at) : sizeof(zeros);
            ssize_t put = pwrite(fd, zeros, n, (off_t)at);
            failed = put < 0 ? errno : (size_t)put < n ? ENOSPC : 0;
        }
    }
    return failed ? ocv_error_set(err, OCV_ERR_IO,
                                  "no room for a temporary file of %" PRIu64 " bytes: %s", size,
                                  strerror(failed))
                  : OCV_OK;
}

/* Room for bundles that are inflated, before any is. */
static int make_scratch(const struct ocv_slim_target *target, uint64_t size, struct ocv_error *err)
{
    return size && target->scratch >= 0 ? make_room(target->scratch, size, err) : OCV_OK;
}

/* The file stays as it is: nothing is removed. */
static void set_outcome(struct ocv_slim_result *result, enum ocv_slim_outcome outcome,
                        const char *why)
{
    result->outcome = outcome;
    result->why = why;
    result->after = result->before;
    result->n_removed = 0;
    if (outcome == OCV_SLIM_LEFT)
        result->by_ptx = result->without = 0;
}

/* A file that is nothing but regions, `.fatbin`: they are cut, one behind the other. */
static int cut_regions(const struct map *in, int fd, const struct ocv_slim_target *target,
                       struct ocv_slim_result *result, struct ocv_error *err)
{
    __attribute__((cleanup(unmap))) struct map out = {0};
    uint64_t inflated = 0, scratch = 0;
    for (uint64_t at = 0, size = 1; at < in->size && size; at += size) {
        size = ocv_slim_region_size(in->bytes + at, in->size - at);
        uint64_t takes = ocv_slim_bundle_scratch(in->bytes + at, size);
        scratch = takes > scratch ? takes : scratch;
        inflated += ocv_slim_bundle_inflated(in->bytes + at, size) / 16;
    }
    if (ocv_slim_inflates_far(inflated, in->size)) {
        set_outcome(result, OCV_SLIM_LEFT, OCV_SLIM_INFLATES_FAR);
        return OCV_OK;
    }
    OCV_TRY(make_scratch(target, scratch, err));
    for (int writes = 0; writes < 2; writes++) {
        uint64_t size, kept = 0;
        for (uint64_t at = 0; at < in->size; at += size) {
            size = ocv_slim_region_size(in->bytes + at, in->size - at);
            uint64_t n = size ? ocv_slim_region_cut(in->bytes + at, size, target,
                                                    writes ? out.bytes + kept : NULL,
                                                    writes ? NULL : result, &result->why)
                              : 0;
            if (!n) {
                set_outcome(result, OCV_SLIM_LEFT,
                            size ? result->why : "its device code is of a form that is not known");
                return ftruncate(fd, 0) < 0
                           ? ocv_error_set(err, OCV_ERR_IO, "a temporary file: %s", strerror(errno))
                           : OCV_OK;
            }
            kept += n;
        }
        if (kept == in->size)
            return OCV_OK;
        if (!writes) {
            OCV_TRY(make_room(fd, kept, err));
            OCV_TRY(map_file(fd, kept, PROT_READ | PROT_WRITE, &out, err));
            result->outcome = OCV_SLIM_CUT;
            result->after = (int64_t)kept;
        }
    }
    return OCV_OK;
}

static int cut_library(const struct map *in, int fd, const struct ocv_slim_target *target,
                       struct ocv_slim_result *result, struct ocv_error *err)
{
    __attribute__((cleanup(ocv_slim_elf_free))) struct ocv_slim_elf elf;
    __attribute__((cleanup(unmap))) struct map out = {0};
    OCV_TRY(ocv_slim_elf_read(in->bytes, in->size, &elf, err));
    if (!elf.why)
        OCV_TRY(ocv_slim_find_regions(&elf, err));
    if (!elf.why && elf.n_devices)
        OCV_TRY(make_scratch(target, elf.scratch, err));
    if (!elf.why && elf.n_devices)
        OCV_TRY(ocv_slim_plan(&elf, target, result, err));
    if (elf.why || result->outcome == OCV_SLIM_NOTHING) {
        /* one that is not understood, and has none, is nobody's concern */
        bool left = elf.why && (elf.n_devices || elf.header.e_machine == EM_CUDA_NUMBER);
        for (size_t at = 0; elf.why && !left && at < in->size; at += 8)
            left = ocv_slim_region_size(in->bytes + at, in->size - at);
        set_outcome(result, left ? OCV_SLIM_LEFT : OCV_SLIM_NOTHING, left ? elf.why : NULL);
        return OCV_OK;
    }
    OCV_TRY(make_room(fd, (uint64_t)result->after, err));
    OCV_TRY(map_file(fd, (size_t)result->after, PROT_READ | PROT_WRITE, &out, err));
    ocv_slim_write(&elf, target, out.bytes);
    OCV_TRY(ocv_slim_check(&elf, out.bytes, out.size, target, &result->why, err));
    if (!result->why)
        return OCV_OK;
    set_outcome(result, OCV_SLIM_LEFT, result->why);
    return ftruncate(fd, 0) < 0
               ? ocv_error_set(err, OCV_ERR_IO, "a temporary file: %s", strerror(errno))
               : OCV_OK;
}

int ocv_slim_file(int in, size_t size, int out, const struct ocv_slim_target *target,
                  struct ocv_slim_result *result, struct ocv_error *err)
{
    __attribute__((cleanup(unmap))) struct map map = {0};
    *result = (struct ocv_slim_result){.before = (int64_t)size, .after = (int64_t)size};
    if (size < OCV_SLIM_REGION_HEADER)
        return OCV_OK;
    OCV_TRY(map_file(in, size, PROT_READ, &map, err));
    int status = OCV_OK;
    if (ocv_slim_region_size(map.bytes, size))
        status = cut_regions(&map, out, target, result, err);
    else if (memcmp(map.bytes, ELFMAG, SELFMAG) == 0)
        status = cut_library(&map, out, target, result, err);
    if (target->scratch >= 0)
        (void)!ftruncate(target->scratch, 0); /* what nobody reads need not reach the disk */
    return status;
}
