/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What docker, podman and ctr print about their images, as `variantctl verify` reads it: an image
 * that is visited has a place and names within bounds. The first byte: JSON of docker and podman,
 * or rows of ctr. */
#include "cmd/variantctl/engines/client.c"
#include "cmd/variantctl/engines/containerd.c"
#include "cmd/variantctl/engines/docker.c"
#include "cmd/variantctl/engines/inspect.c"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static int visit_any(void *data, const struct local_image *image)
{
    size_t *bytes = data;
    check(image->where && image->n_digests <= DIGESTS_MAX);
    for (size_t i = 0; i < image->n_digests; i++)
        *bytes +=
            strlen(image->digests[i]) +
            (image->repositories && image->repositories[i] ? strlen(image->repositories[i]) : 0);
    *bytes += image->name ? strlen(image->name) : 0;
    *bytes += image->label ? strlen(image->label) : 0;
    *bytes += image->properties ? strlen(image->properties) : 0;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t bytes = 0;
    if (!size)
        return 0;
    if (data[0] & 1) {
        const struct engine_walk walk = {.where = "docker", .visit = visit_any, .data = &bytes};
        json_t *list = json_loadb((const char *)data + 1, size - 1, 0, NULL);
        check(engine_visit_inspected(&walk, list) == OCV_OK);
        (void)is_listed(list, "sha256:00");
        json_decref(list);
        return 0;
    }
    struct engine_walk rows = {.where = "containerd:default", .visit = visit_any, .data = &bytes};
    char *text = strndup((const char *)data + 1, size - 1), *rest = text, *line;
    while (text && (line = client_next_line(&rest)))
        check(visit_row(&rows, line, NULL) == OCV_OK);
    free(text);
    return 0;
}
