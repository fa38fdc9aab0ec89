/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/engines/engines.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/system/spawn.h"

#include <string.h>

#define ERRORS_MAX 4096  /* size of the end of its errors that is searched */
#define CLIENT_MS 120000 /* a daemon with thousands of images is slow */

int client_capture(const char *const argv[], struct ocv_buffer *out, struct ocv_error *err)
{
    char why[ERRORS_MAX];
    int code = 0;
    const struct ocv_run client = {
        .argv = argv, .timeout_ms = CLIENT_MS, .why = why, .why_size = sizeof(why)};
    int status = ocv_run(&client, out, &code, err);
    if (status == OCV_ERR_NOT_FOUND)
        return ocv_error_set(err, status, "%s is not installed", argv[0]);
    if (status == OCV_ERR_CONFIG || status == OCV_ERR_NETWORK) {
        ocv_error_prefix(err, "%s %s", argv[0], argv[1]);
        if (err)
            err->status = OCV_ERR_ENGINE;
        return OCV_ERR_ENGINE;
    }
    if (status < 0 || code <= 0) /* below 0: not known, and it has answered */
        return status;
    if (*why)
        return ocv_error_set(err, OCV_ERR_ENGINE, "%s", why);
    return ocv_error_set(err, OCV_ERR_ENGINE, "%s %s fails without a message", argv[0], argv[1]);
}

int client_capture_first(const char *const argv[], struct ocv_buffer *out, struct ocv_error *err)
{
    int status = client_capture(argv, out, err);
    if (status != OCV_ERR_ENGINE)
        return status;
    if (err)
        err->status = OCV_ERR_NOT_FOUND;
    return OCV_ERR_NOT_FOUND;
}

char *client_next_line(char **rest)
{
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return line && *line ? line : NULL;
}

int client_each_line(const char *const argv[], client_visit visit, void *data,
                     struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    OCV_TRY(client_capture(argv, &text, err));
    char *rest = text.len ? text.data : NULL, *line;
    while ((line = client_next_line(&rest)))
        OCV_TRY(visit(data, line, err));
    return OCV_OK;
}

json_t *client_json(const char *const argv[])
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    if (client_capture(argv, &text, NULL) < 0 || !text.len)
        return NULL;
    return ocv_json_load_any(text.data, text.len, CLIENT_VALUES_MAX, 0, NULL);
}
