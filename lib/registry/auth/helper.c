/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* docker-credential-NAME get: the server's name on its standard input, JSON on its output. */
#include "lib/base/system/spawn.h"
#include "lib/registry/auth/credentials.h"

#include <stdio.h>
#include <string.h>

#define HELPER_TIMEOUT_MS 60000 /* a person may have to unlock a key ring */

int ocv_helper_get(const char *name, const char *server, const volatile int *interrupted,
                   struct ocv_credentials *out, struct ocv_error *err)
{
    char program[sizeof("docker-credential-") + OCV_HELPER_NAME_MAX];
    struct ocv_buffer text;
    int code = 0;
    *out = (struct ocv_credentials){0};
    snprintf(program, sizeof(program), "docker-credential-%s", name);
    const char *const argv[] = {program, "get", NULL};
    const struct ocv_run helper = {
        .argv = argv, .input = server, .timeout_ms = HELPER_TIMEOUT_MS, .interrupted = interrupted};
    ocv_buffer_init(&text, OCV_HELPER_ANSWER_MAX);
    int status = ocv_run(&helper, &text, &code, err);
    const char *words = text.data ? text.data : "";
    if (status == OCV_OK && code <= 0 && words[0] == '{')
        status = ocv_helper_parse(words, text.len, out, err);
    else if (status == OCV_OK && !strstr(words, "credentials not found") &&
             !strstr(words, "no credentials server URL"))
        status = ocv_error_set(
            err, OCV_ERR_CONFIG, "failed (exit %d)%s%.*s", code, *words ? ": " : "",
            (int)strcspn(words, "\r\n") < 200 ? (int)strcspn(words, "\r\n") : 200, words);
    if (text.data)
        explicit_bzero(text.data, text.len);
    ocv_buffer_free(&text);
    return status < 0 ? ocv_error_prefix(err, "%s", program) : OCV_OK;
}
