/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Features of Slurm nodes: what is written is valid for Slurm, and safe in a shell. */
#include "lib/internal/slurm/slurm.h"
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY(digit, variant, label, properties)                                              \
    "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"size\":1,\"digest\":"    \
    "\"sha256:000000000000000000000000000000000000000000000000000000000000000" digit "\","    \
    "\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"" variant "},\"annotations\":{" \
    "\"dev.ocivariant.label\":\"" label "\",\"dev.ocivariant.properties\":\"" properties "\"}}"

static const char text[] =
    "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
    "\"annotations\":{\"dev.ocivariant.schema\":\"1\",\"dev.ocivariant.namespaces\":\"a, b\"},"
    "\"manifests\":[" ENTRY(
        "0", ",\"variant\":\"x-u\"", "u",
        "a :: a :: a, a :: a :: b, b :: b :: b") "," ENTRY("1", ",\"variant\":\"x-v\"", "v",
                                                           "a :: a :: b") "," ENTRY("2", "", "null",
                                                                                    "") "]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ocv_index *index;
    struct ocv_slurm_nodes *nodes = NULL;
    struct ocv_slurm_how how = {.use_short = size % 2};
    ocv_auto_buffer out;
    ocv_buffer_init(&out, (size_t)1024 * 1024);
    if (!index && ocv_index_parse(text, strlen(text), NULL, &index, NULL) < 0)
        abort();
    if (size > 4096 || ocv_slurm_nodes_read((const char *)data, size, "amd64", &nodes, NULL) < 0)
        return 0;
    if (ocv_slurm_constraint(nodes, index, &how, &out, NULL) == OCV_OK &&
        (out.len == 0 || out.len > OCV_SLURM_CONSTRAINT_MAX ||
         strspn(out.data, "abcdefghijklmnopqrstuvwxyz0123456789_.:&|()[]") != out.len))
        abort();
    ocv_slurm_nodes_free(nodes);
    return 0;
}
