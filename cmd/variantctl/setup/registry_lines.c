/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/setup/setup_internal.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "lib/internal/records/daemon.h"

#include <string.h>

#define ASK_MS 20000u /* three seconds per registry, eight at the same time */
#define ANSWER_MAX (1024u * 1024)
#define GUIDE "docs/configuration.md, Private registries"

json_t *setup_ask_registries(const struct setup *setup)
{
    ocv_auto_buffer text;
    long http = 0;
    json_t *out = NULL;
    const char *path = ocv_config_get(setup->cli->config, "socket");
    ocv_buffer_init(&text, ANSWER_MAX);
    if (*setup->root || !setup->daemon ||
        ocv_daemon_get(path ? path : OCV_PATH_SOCKET, "/v1/registries", ASK_MS, &http, &text,
                       NULL) < 0 ||
        http != 200 || setup_json_load("registries", text.data, text.len, &out, NULL) < 0)
        return NULL;
    return out;
}

/* The lines of one registry, for trusted or other clients. */
static int registry_lines(const json_t *r, bool trusted, const char *prefix, bool *bad,
                          struct ocv_buffer *out, struct ocv_error *err)
{
    const char *name = ocv_json_text_or(r, "name", ""),
               *message = ocv_json_text_or(r, "message", ""),
               *hint = ocv_json_text_or(r, "hint", "");
    size_t n = strlen(name);
    if (strncmp(message, name, n) == 0 && strncmp(message + n, ": ", 2) == 0)
        message += n + 2;
    const json_t *refused = json_object_get(r, "refused");
    bool closed = strcmp(ocv_json_text_or(r, "anybody", ""), "no") == 0;
    bool no_login = trusted && closed && strcmp(ocv_json_text_or(r, "login", ""), "none") == 0;
    bool ours = strcmp(ocv_json_text_or(r, "fault", ""), "configuration") == 0;
    if (*message && !ours) /* only the network's state */
        return ocv_buffer_printf(out, err, "%.*snote: %s does not answer variantd: %s\n",
                                 (int)strspn(prefix, " "), prefix, name, message);
    *bad = *bad || *message;
    if (*message)
        return ocv_buffer_printf(out, err, "%s%s: %s%s%s\n", prefix, name, message,
                                 *hint ? "; " : "", hint);
    if (no_login) {
        *bad = true;
        return ocv_buffer_printf(out, err,
                                 "%s%s requires a login (401) and variantd has none: its images "
                                 "are served without a choice; set `credentials` (" GUIDE ")\n",
                                 prefix, name);
    }
    if (!refused || !trusted)
        return OCV_OK;
    return ocv_buffer_printf(out, err,
                             "%s%s refused variantd access to %s (401), perhaps to more: "
                             "private images need `credentials` (" GUIDE ")\n",
                             prefix, name, ocv_json_text_or(refused, "repository", ""));
}

int setup_reach_lines(const json_t *told, const char *engine, const json_t *hosts,
                      const char *prefix, bool *bad, struct ocv_buffer *out, struct ocv_error *err)
{
    size_t i;
    const json_t *r;
    bool trusted = json_is_true(json_object_get(told, "trusted"));
    /* podman and its family send GET, which may use the daemon's credentials only if that is
     * allowed. */
    bool get = engine && (strcmp(engine, "podman") == 0 || strcmp(engine, "crio") == 0) &&
               !json_is_true(json_object_get(told, "servePrivate"));
    json_array_foreach(json_object_get(told, "registries"), i, r)
    {
        bool meant = json_array_size(hosts) == 0;
        for (size_t k = 0; k < json_array_size(hosts) && !meant; k++)
            meant = strcmp(json_string_value(json_array_get(hosts, k)),
                           ocv_json_text_or(r, "name", "")) == 0;
        if (meant && !engine)
            OCV_TRY(registry_lines(r, trusted, prefix, bad, out, err));
        if (!meant || !get || strcmp(ocv_json_text_or(r, "anybody", ""), "no") != 0 ||
            strcmp(ocv_json_text_or(r, "login", ""), "accepted") != 0)
            continue;
        *bad = true;
        OCV_TRY(ocv_buffer_printf(out, err,
                                  "%s%s requires a login: %s gets its variants with "
                                  "`serve_private: true` only (" GUIDE ")\n",
                                  prefix, ocv_json_text_or(r, "name", ""), engine));
    }
    return OCV_OK;
}
