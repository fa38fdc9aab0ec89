/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mirror that engines are to ask: where this machine's variantd listens, and whether it is
 * variantd that answers there. The API's socket lies in a directory of root's, and whose a TCP
 * socket is the kernel tells, so that neither can be forged by whoever took the port. */
#include "cmd/variantctl/setup/mirror_registries.h"
#include "lib/records/daemon.h"

#include "cmd/common/listener.h"
#include "cmd/variantctl/setup/document.h"
#include "lib/base/paths.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_MS 2000
#define HEALTH_MAX 4096u

struct health {
    char listen[64];
    uid_t uid;
};

/* What this machine's daemon says of itself; false: none answers, or an older one. */
static bool ask(const struct setup *setup, struct health *out)
{
    ocv_auto_buffer text;
    long http = 0;
    json_t *parsed = NULL;
    const char *path = ocv_config_get(setup->cli->config, "socket");
    ocv_buffer_init(&text, HEALTH_MAX);
    if (*setup->root ||
        ocv_daemon_get(path ? path : OCV_PATH_SOCKET, "/v1/healthz", ASK_MS, &http, &text, NULL) <
            0 ||
        http != 200 || setup_json_load("healthz", text.data, text.len, &parsed, NULL) < 0)
        return false;
    setup_auto_json *root = parsed;
    const char *listen = json_string_value(json_object_get(root, "listen"));
    const json_t *uid = json_object_get(root, "uid");
    if (!listen || strlen(listen) >= sizeof(out->listen) || !json_is_integer(uid))
        return false;
    snprintf(out->listen, sizeof(out->listen), "%s", listen);
    out->uid = (uid_t)json_integer_value(uid);
    return true;
}

const char *setup_find_listen(const struct setup *setup, char out[SETUP_ADDRESS_MAX])
{
    struct health health;
    if (!ask(setup, &health))
        return OCV_LISTEN;
    snprintf(out, SETUP_ADDRESS_MAX, "%s", health.listen);
    return out;
}

static bool parse(const char *text, struct sockaddr_storage *out)
{
    char host[INET_ADDRSTRLEN];
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    const char *colon = strrchr(text, ':');
    *out = (struct sockaddr_storage){.ss_family = AF_INET};
    if (!colon || (size_t)(colon - text) >= sizeof(host))
        return false;
    snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
    four->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return inet_pton(AF_INET, host, &four->sin_addr) == 1;
}

enum setup_mirror setup_look_at_mirror(const struct setup *setup, const char *listen,
                                       char detail[SETUP_ADDRESS_MAX])
{
    struct sockaddr_storage address;
    struct listener who;
    struct health health = {0};
    *detail = '\0';
    if (*setup->root || !parse(listen, &address))
        return SETUP_MIRROR_UNKNOWN;
    bool runs = ask(setup, &health), same = runs && strcmp(health.listen, listen) == 0;
    if (listener_find(&address, &who)) {
        snprintf(detail, SETUP_ADDRESS_MAX, "%u", (unsigned)who.uid);
        return same && who.uid == health.uid ? SETUP_MIRROR_OURS : SETUP_MIRROR_FOREIGN;
    }
    if (!runs || same) /* same: the kernel does not tell who listens */
        return runs ? SETUP_MIRROR_OURS : SETUP_MIRROR_NOBODY;
    snprintf(detail, SETUP_ADDRESS_MAX, "%s", health.listen);
    return SETUP_MIRROR_ELSEWHERE;
}
