/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a container's state, and as its bundle's config.json: the resulting question has
 * only texts from the annotations, and well-formed digests. */
#include "plugins/oci-hook/hook.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char top[] = "/tmp/ocv-fuzz-XXXXXX";
static char bundle[128];

static void remove_top(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf '%s'", top);
    if (system(command) != 0)
        fputs("the directory of the fuzzed bundle is left\n", stderr);
}

static int write_bundle(const uint8_t *data, size_t size)
{
    char path[160];
    if (!bundle[0]) {
        if (!mkdtemp(top) || atexit(remove_top) != 0)
            abort();
        snprintf(bundle, sizeof(bundle), "%s/overlay-containers", top);
        mkdir(bundle, 0700);
        snprintf(bundle, sizeof(bundle), "%s/overlay-containers/id", top);
        mkdir(bundle, 0700);
        snprintf(bundle, sizeof(bundle), "%s/overlay-containers/id/userdata", top);
        mkdir(bundle, 0700);
    }
    snprintf(path, sizeof(path), "%s/config.json", bundle);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct container_state state;
    int fd = write_bundle(data, size);
    if (fd < 0)
        return 0;
    json_t *json = state_parse(fd);
    close(fd);
    if (json_is_object(json)) {
        if (json_object_get(json, "bundle")) /* never read a path of this machine */
            json_object_set_new(json, "bundle", json_string(bundle));
        bool found = state_read(json, &state);
        const struct ocv_verdict_question *q = &state.question;
        if (found != (q->digest || q->properties) ||
            (q->digest && !ocv_digest_wellformed(q->digest)) || (q->label && !*q->label))
            __builtin_trap();
        state_free(&state);
    }
    json_decref(json);
    return 0;
}
