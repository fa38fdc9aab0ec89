/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of the CRI image service: with another image name all other bytes stay the same, and the
 * new name is found in the place of the old one. */
#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void edit(const uint8_t *data, size_t size, const struct wire_image *image, const char *name)
{
    struct wire_image again;
    struct ocv_buffer out, back;
    char *old = strndup((const char *)data + image->inner_at, image->inner_len);
    check(old != NULL);
    ocv_buffer_init(&out, size + 4096);
    ocv_buffer_init(&back, size + 8192);
    check(wire_replace_image(data, size, image, name, &out, NULL) == OCV_OK);
    check(wire_find_image((const uint8_t *)out.data, out.len, &again));
    check(again.inner_len == strlen(name));
    check(memcmp(out.data + again.inner_at, name, again.inner_len) == 0);
    size_t head = image->outer, tail = size - image->inner_at - image->inner_len;
    check(again.outer == head && memcmp(out.data, data, head) == 0);
    check(memcmp(out.data + out.len - tail, data + size - tail, tail) == 0);
    /* with the old name again the content is the same; lengths may have had longer encodings */
    if (strlen(old) == image->inner_len) {
        check(wire_replace_image((const uint8_t *)out.data, out.len, &again, old, &back, NULL) ==
              OCV_OK);
        check(back.len <= size);
    }
    ocv_buffer_free(&back);
    ocv_buffer_free(&out);
    free(old);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_image image;
    struct wire_auth auth;
    char key[PINNED_TEXT_MAX], text[PINNED_TEXT_MAX];
    if (wire_read_auth(data, size, &auth, NULL) == OCV_OK) {
        int status = pinned_credentials(&auth, "registry.example:5000", NULL);
        check(status == OCV_OK || status == OCV_ERR_DATA);
        wire_auth_free(&auth);
    }
    if (!wire_find_image(data, size, &image))
        return 0;
    check(image.inner_at + image.inner_len <= image.outer_at + image.outer_len);
    check(image.outer_at + image.outer_len <= size);
    const uint8_t *name = data + image.inner_at;
    struct ocv_reference *reference = pinned_parse(name, image.inner_len);
    if (reference && pinned_key(reference, key) &&
        pinned_rewrite(name, image.inner_len, reference->digest, text)) {
        struct ocv_reference *again = pinned_parse(text, strlen(text));
        check(again && strcmp(again->name, reference->name) == 0);
        check(strcmp(again->digest, reference->digest) == 0);
        ocv_reference_free(again);
        edit(data, size, &image, text);
    }
    ocv_reference_free(reference);
    edit(data, size, &image, "");
    edit(data, size, &image, "registry.example:5000/team/app");
    return 0;
}
