/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of an executable provider: accepted output gives a profile that every command reads,
 * within the size limit, and is accepted again in the profile's form. */
#include "lib/probe/executable/executable.h"
#include "lib/probe/host/host.h"
#include "lib/probe/result/result.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_profile(const char *text, size_t len)
{
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto_buffer document;
    ocv_buffer_init(&document, OCV_PROFILE_MAX * 2);
    if (ocv_buffer_printf(&document, NULL, "{\"namespaces\": [%.*s]}", (int)len, text) < 0 ||
        ocv_profile_parse(document.data, document.len, &profile, NULL) < 0)
        abort();
}

static void expect_again(const char *text, size_t len)
{
    char replaces[OCV_EXECUTABLE_NAME_MAX + 1];
    json_t *again = NULL;
    if (ocv_executable_answer("fuzz", text, len, &again, replaces, NULL) < 0 || replaces[0])
        abort();
    json_decref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char replaces[OCV_EXECUTABLE_NAME_MAX + 1] = "";
    struct ocv_error err = {0};
    json_t *answer = NULL;
    if (ocv_executable_answer("fuzz", (const char *)data, size, &answer, replaces, &err) < 0) {
        if (answer || err.message[0] == '\0' || strpbrk(err.message, "\n\x1b"))
            abort();
        return 0;
    }
    ocv_auto_buffer pretty;
    ocv_buffer_init(&pretty, OCV_EXECUTABLE_PROFILE_MAX);
    /* larger than all programs' part of a profile: reported instead of added */
    if (ocv_pretty_append(answer, 4, &pretty, NULL) == OCV_OK) {
        expect_profile(pretty.data, pretty.len);
        expect_again(pretty.data, pretty.len);
    }
    json_decref(answer);
    return 0;
}
