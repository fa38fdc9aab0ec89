/* SPDX-License-Identifier: GPL-3.0-or-later */
/* daemon.json: any bytes. An edit changes only one list, and undoing it restores the same document.
 */
#include "cmd/variantctl/setup/setup_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto_json *before = NULL, *after = NULL, *back = NULL;
    ocv_auto_buffer text;
    bool made;
    ocv_buffer_init(&text, SETUP_FILE_MAX);
    if (size > SETUP_FILE_MAX / 2 || ocv_buffer_append(&text, data, size, NULL) < 0)
        return 0;
    if (setup_json_load("f", text.data, text.len, &before, NULL) < 0)
        before = json_object(); /* an empty file is also accepted */
    if (setup_json_add("f", &text, "m", "v", &made, NULL) < 0)
        return 0;
    if (setup_json_load("f", text.data, text.len, &after, NULL) < 0)
        abort();
    json_t *list = json_object_get(before, "m");
    bool there = false;
    for (size_t i = 0; i < json_array_size(list); i++)
        there = there || !strcmp(json_string_value(json_array_get(list, i)), "v");
    if (!list)
        json_object_set_new(before, "m", json_pack("[s]", "v"));
    else if (!there)
        json_array_insert_new(list, 0, json_string("v"));
    if (!json_equal(before, after))
        abort();
    if (setup_json_remove("f", &text, "m", "v", made, NULL) < 0 ||
        setup_json_load("f", text.data, text.len, &back, NULL) < 0)
        abort();
    if (made)
        json_object_del(before, "m");
    else if (!there)
        json_array_remove(list, 0);
    if (!there && !json_equal(before, back))
        abort();
    return 0;
}
