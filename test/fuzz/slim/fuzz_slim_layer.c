/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tar archive in which one file is cut: all of it passes, or it is refused. With nothing to cut
 * it passes byte for byte; and what was written is an archive again, in which nothing is left to
 * cut. */
#include "lib/internal/slim/slim.h"
#include "ocivariant/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pass {
    const char *in;
    size_t len, at;
    struct ocv_buffer out;
    size_t cut;
};

static ssize_t give(void *data, void *bytes, size_t len, struct ocv_error *err)
{
    struct pass *p = data;
    (void)err;
    size_t n = p->len - p->at < len ? p->len - p->at : len;
    if (n)
        memcpy(bytes, p->in + p->at, n);
    p->at += n;
    return (ssize_t)n;
}

static int take(void *data, const void *bytes, size_t len, struct ocv_error *err)
{
    struct pass *p = data;
    return ocv_buffer_append(&p->out, bytes, len, err);
}

static int note(void *data, const char *path, const struct ocv_slim_result *result,
                struct ocv_error *err)
{
    struct pass *p = data;
    (void)path;
    (void)err;
    p->cut += result->outcome == OCV_SLIM_CUT || result->outcome == OCV_SLIM_ZEROED;
    return OCV_OK;
}

static int run(const char *bytes, size_t len, size_t n_paths, struct pass *out)
{
    static const char *const paths[] = {"a/b.so", "lib.so"};
    static int files[3] = {-1, -1, -1};
    for (size_t i = 0; i < 3; i++)
        if ((files[i] < 0 && (files[i] = memfd_create("layer", MFD_CLOEXEC)) < 0) ||
            ftruncate(files[i], 0) < 0 || lseek(files[i], 0, SEEK_SET) < 0)
            abort();
    struct ocv_slim_target target = {.sm = {80}, .n = 1, .scratch = -1};
    struct ocv_slim_layer layer = {.target = &target,
                                   .paths = paths,
                                   .n_paths = n_paths,
                                   .files = {files[0], files[1], files[2]},
                                   .read = give,
                                   .write = take,
                                   .done = note,
                                   .data = out};
    *out = (struct pass){.in = bytes, .len = len};
    ocv_buffer_init(&out->out, (size_t)64 << 20);
    return ocv_slim_layer_run(&layer, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct pass first, again;
    int status = run(bytes, size, 0, &first);
    if (status >= 0 &&
        (first.out.len != size || (size && memcmp(first.out.data, bytes, size) != 0)))
        abort();
    ocv_buffer_free(&first.out);
    int cut = run(bytes, size, 2, &first);
    if (cut >= 0 && status < 0) /* nobody could read it before */
        abort();
    if (cut >= 0) {
        if (run(first.out.data, first.out.len, 2, &again) < 0 || again.cut)
            abort();
        ocv_buffer_free(&again.out);
    }
    ocv_buffer_free(&first.out);
    return 0;
}
