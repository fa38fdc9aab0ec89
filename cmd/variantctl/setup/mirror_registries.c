/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mirror that engines are to ask: where this machine's variantd listens, which registries it
 * has, and whether it is variantd that answers. The API's socket is in a directory owned by root,
 * and the kernel reports the owner of a TCP socket, so a program that took the port can forge
 * neither. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/records/daemon.h"

#include "cmd/common/daemons.h"
#include "lib/base/file.h"
#include "lib/base/format/span.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_MS 2000
#define HEALTH_MAX (256u * 1024) /* 256 registries */

void setup_ask_daemon(struct setup *setup)
{
    ocv_auto_buffer text;
    long http = 0;
    ocv_auto_json *root = NULL;
    struct setup_daemon *daemon = NULL;
    const char *path = ocv_config_get(setup->cli->config, "socket");
    ocv_buffer_init(&text, HEALTH_MAX);
    if (*setup->root || setup->daemon ||
        ocv_daemon_get(path ? path : OCV_PATH_SOCKET, "/v1/healthz", ASK_MS, &http, &text, NULL) <
            0 ||
        http != 200 || setup_json_load("healthz", text.data, text.len, &root, NULL) < 0)
        return;
    const char *listen = ocv_json_text(root, "listen"), *choose = ocv_json_text(root, "choose");
    json_t *registries = json_object_get(root, "registries");
    const json_t *uid = json_object_get(root, "uid");
    if (!listen || strlen(listen) >= sizeof(daemon->listen) || !json_is_integer(uid) ||
        !(daemon = calloc(1, sizeof(*daemon))))
        return; /* not a daemon's report, or no memory */
    snprintf(daemon->listen, sizeof(daemon->listen), "%s", listen);
    snprintf(daemon->choose, sizeof(daemon->choose), "%s", choose ? choose : "");
    daemon->uid = (uid_t)json_integer_value(uid);
    daemon->registries = json_is_array(registries) ? json_incref(registries) : NULL;
    setup->daemon = daemon;
}

enum setup_known setup_registry_known(const struct setup *setup, const char *host)
{
    const struct ocv_config *config = setup->cli->config;
    const struct ocv_registry_config *list;
    size_t configured = ocv_config_registries(config, &list);
    bool in_file = host ? ocv_config_find_registry(config, host).host != NULL : configured > 0;
    const json_t *told = setup->daemon ? setup->daemon->registries : NULL;
    if (!told)
        return in_file ? SETUP_KNOWN : configured > 0 ? SETUP_KNOWN_NOT : SETUP_KNOWN_NONE;
    for (size_t i = 0; i < json_array_size(told); i++) {
        const char *name = json_string_value(json_array_get(told, i));
        if (name && (!host || strcmp(name, host) == 0))
            return SETUP_KNOWN;
    }
    return in_file                     ? SETUP_KNOWN_LATER
           : json_array_size(told) > 0 ? SETUP_KNOWN_NOT
                                       : SETUP_KNOWN_NONE;
}

static int check_registry(struct setup *setup, const char *host, struct ocv_error *err)
{
    const char *file = setup->cli->config_file ? setup->cli->config_file : OCV_PATH_CONFIG;
    switch (setup_registry_known(setup, host)) {
    case SETUP_KNOWN_NOT:
        ocv_error_set(err, OCV_ERR_CONFIG, "%s is not in variantd's registries", host);
        ocv_error_hint(err, "add it under `registries` in %s%s",
                       *setup->root ? OCV_PATH_CONFIG : file,
                       setup->daemon ? ", then: systemctl reload variantd" : "");
        return OCV_ERR_CONFIG;
    case SETUP_KNOWN_LATER:
        return setup_note(setup, err,
                          "warning: variantd has not read yet that it has %s: systemctl reload "
                          "variantd",
                          host ? host : "registries");
    case SETUP_KNOWN_NONE:
        return *setup->root ? OCV_OK /* its configuration may come later */
                            : setup_note(setup, err,
                                         "warning: variantd has no registries: name %s under "
                                         "`registries` in " OCV_PATH_CONFIG,
                                         host ? host : "those that it may ask");
    case SETUP_KNOWN:
        break;
    }
    return OCV_OK;
}

int setup_check_registries(struct setup *setup, struct ocv_error *err)
{
    if (!setup->n_registries)
        OCV_TRY(check_registry(setup, NULL, err));
    for (size_t i = 0; i < setup->n_registries; i++)
        OCV_TRY(check_registry(setup, setup->registries[i], err));
    if (!*setup->root && !setup->daemon)
        OCV_TRY(setup_note(setup, err, "note: variantd: not answering at %s: %s", setup->listen,
                           setup->fail_closed ? "pulls fail" : "engines take the default"));
    /* Warn of registries that variantd cannot serve now: the set-up is valid, but has no effect. */
    ocv_auto_json *told = setup_ask_registries(setup), *hosts = json_array();
    bool bad = false;
    for (size_t i = 0; i < setup->n_registries; i++)
        json_array_append_new(hosts, json_string(setup->registries[i]));
    OCV_TRY(setup_reach_lines(told, NULL, hosts, "warning: ", &bad, &setup->notes, err));
    return setup_reach_lines(told, setup->engine, hosts, "warning: ", &bad, &setup->notes, err);
}

enum setup_mirror setup_check_mirror(const struct setup *setup, const char *listen,
                                     char detail[SETUP_ADDRESS_MAX])
{
    struct sockaddr_storage address;
    socklen_t len = 0;
    struct listener who;
    const struct setup_daemon *daemon = setup->daemon;
    *detail = '\0';
    if (*setup->root || !ocv_address_parse(listen, &address, &len))
        return SETUP_MIRROR_UNKNOWN;
    bool same = daemon && strcmp(daemon->listen, listen) == 0;
    if (listener_find(&address, &who)) {
        snprintf(detail, SETUP_ADDRESS_MAX, "%u", (unsigned)who.uid);
        return same && who.uid == daemon->uid ? SETUP_MIRROR_OURS : SETUP_MIRROR_FOREIGN;
    }
    if (!daemon || same) /* same: the kernel does not report the listener */
        return daemon ? SETUP_MIRROR_OURS : SETUP_MIRROR_NOBODY;
    snprintf(detail, SETUP_ADDRESS_MAX, "%s", daemon->listen);
    return SETUP_MIRROR_ELSEWHERE;
}
