/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/system/spawn.h"
#include "lib/registry/auth/credentials.h"
#include "lib/registry/auth/providers_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int ocv_provider_check(const char *directory, const char *name, char path[4096],
                       struct ocv_error *err)
{
    ocv_auto_fd int dir = -1;
    ocv_auto_fd int program = -1;
    bool script;
    if (snprintf(path, 4096, "%s/%s", directory, name) >= 4096)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: too long", name);
    OCV_TRY(ocv_trusted_open(directory, S_IFDIR, &dir, err));
    return ocv_trusted_program(path, &program, &script, err);
}

/* Variables by which the service manager addresses this process alone. */
static bool is_ours(const char *variable)
{
    static const char *const names[] = {"NOTIFY_SOCKET=", "LISTEN_",        "WATCHDOG_",
                                        "FDSTORE=",       "MAINPID=",       "MEMORY_PRESSURE_",
                                        "OCV_",           "JOURNAL_STREAM="};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strncmp(variable, names[i], strlen(names[i])))
            return true;
    return false;
}

static bool is_overridden(const char *variable, char *const *by)
{
    size_t len = strcspn(variable, "=");
    for (; *by; by++)
        if (len == strcspn(*by, "=") && !memcmp(variable, *by, len))
            return true;
    return false;
}

int ocv_provider_run(const struct ocv_provider *provider, const char *directory, const char *image,
                     unsigned timeout_ms, const volatile int *interrupted,
                     struct ocv_provider_answer *out, struct ocv_error *err)
{
    char path[4096];
    *out = (struct ocv_provider_answer){0};
    OCV_TRY(ocv_provider_check(directory, provider->name, path, err));
    ocv_auto_json *root = json_pack("{s:s, s:s, s:s}", "kind", "CredentialProviderRequest",
                                    "apiVersion", provider->version, "image", image);
    ocv_auto_free char *question = root ? json_dumps(root, JSON_COMPACT) : NULL;
    /* This program's variables, and the configuration's in their place; they are not copied. */
    size_t n = 0;
    for (char **v = environ; v && *v; v++)
        n++;
    for (char **v = provider->variables; *v; v++)
        n++;
    ocv_auto_free const char **environment = calloc(n + 1, sizeof(*environment));
    if (!question || !environment)
        return ocv_error_nomem(err);
    n = 0;
    for (char **v = environ; v && *v; v++)
        if (!is_ours(*v) && !is_overridden(*v, provider->variables))
            environment[n++] = *v;
    for (char **v = provider->variables; *v; v++)
        if (!is_overridden(*v, v + 1))
            environment[n++] = *v;
    const struct ocv_run program = {.path = path,
                                    .argv = provider->argv,
                                    .environment = environment,
                                    .input = question,
                                    .timeout_ms = timeout_ms,
                                    .confined = true,
                                    .trusted = true,
                                    .interrupted = interrupted};
    struct ocv_buffer text;
    int code = 0;
    ocv_buffer_init(&text, OCV_PROVIDER_ANSWER_MAX);
    int status = ocv_run(&program, &text, &code, err);
    if (status == OCV_OK && code > 128)
        status = ocv_error_set(err, OCV_ERR_CONFIG, "ended by signal %d", code - 128);
    else if (status == OCV_OK && code > 0)
        status = ocv_error_set(err, OCV_ERR_CONFIG, "exit status %d", code);
    if (status == OCV_OK)
        status = ocv_provider_answer_parse(text.data ? text.data : "", text.len, provider->version,
                                           out, err);
    if (text.data)
        explicit_bzero(text.data, text.len);
    ocv_buffer_free(&text);
    return status;
}
