/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Servers: where a name is served, by which scheme, and where a server may send us on.
 *
 * Scheme. A configured URL decides. Loopback starts with plain HTTP, which costs one request where
 * the registry is plain, as it nearly always is; a server that turns out to speak TLS answers 400
 * or garbage and is asked again with TLS. Hosts configured as insecure start with TLS. Nothing else
 * is ever contacted without TLS. */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "lib/registry/registry_internal.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool local_v4(uint32_t address)
{
    return address >> 24 == 127 || address >> 24 == 0 || address >> 16 == 0xa9fe;
}

bool ocv_address_is_local(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof(v4));
        return local_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (address->sa_family != AF_INET6)
        return true;
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof(v6));
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) || IN6_IS_ADDR_V4COMPAT(&v6.sin6_addr)) {
        uint32_t v4;
        memcpy(&v4, &v6.sin6_addr.s6_addr[12], sizeof(v4));
        return local_v4(ntohl(v4)) || IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    }
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) ||
           IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
}

int ocv_url_origin(const char *url, char out[OCV_ORIGIN_MAX], struct ocv_error *err)
{
    char *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    CURLU *u = curl_url();
    if (!u)
        return ocv_error_nomem(err);
    int status = OCV_OK;
    if (curl_url_set(u, CURLUPART_URL, url, 0) || curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) ||
        curl_url_get(u, CURLUPART_HOST, &host, 0) ||
        curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT)) {
        status = ocv_error_set(err, OCV_ERR_DATA, "invalid URL \"%.200s\"", url);
    } else if (strcasecmp(scheme, "http") && strcasecmp(scheme, "https")) {
        status = ocv_error_set(err, OCV_ERR_DATA, "URL scheme %s is not supported", scheme);
    } else if (!curl_url_get(u, CURLUPART_USER, &user, 0)) {
        status = ocv_error_set(err, OCV_ERR_DATA, "a URL with a user name is not supported");
    } else if (strlen(host) > 255) {
        status = ocv_error_set(err, OCV_ERR_DATA, "host name too long");
    } else {
        int n = snprintf(out, OCV_ORIGIN_MAX, "%s://%s:%s", scheme, host, port);
        for (int i = 0; i < n; i++)
            if (out[i] >= 'A' && out[i] <= 'Z')
                out[i] = (char)(out[i] - 'A' + 'a');
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(user);
    curl_url_cleanup(u);
    return status;
}

void ocv_origin_authority(const char *origin, char *out, size_t size)
{
    bool tls = !strncmp(origin, "https:", 6);
    const char *start = strstr(origin, "://");
    snprintf(out, size, "%s", start ? start + 3 : origin);
    char *port = strrchr(out, ':');
    if (port && !strcmp(port, tls ? ":443" : ":80"))
        *port = '\0';
}

void ocv_url_public(const char *url, char *out, size_t size)
{
    size_t len = strcspn(url, "?#");
    snprintf(out, size, "%.*s%s", (int)(len < size ? len : size - 1), url, url[len] ? "?..." : "");
}

int ocv_hop_allowed(struct ocv_registry *registry, const char *from, const char *to,
                    const char *kind, bool *guard, struct ocv_error *err)
{
    char origin[OCV_ORIGIN_MAX], authority[OCV_ORIGIN_MAX];
    *guard = false;
    int status = ocv_url_origin(to, origin, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", kind);
    if (!strcmp(origin, from))
        return OCV_OK;
    ocv_origin_authority(origin, authority, sizeof(authority));
    struct ocv_registry_host *target = NULL;
    if ((status = ocv_registry_host_at(registry, authority, &target, err)) < 0 || !target)
        return status;
    bool plain = !strncmp(origin, "http:", 5);
    if (plain && !strncmp(from, "https:", 6))
        return ocv_error_set(err, OCV_ERR_NETWORK, "%s from TLS to plain HTTP at %s refused", kind,
                             authority);
    /* also for a registry on loopback: other services there do not belong to it */
    bool local_ok = target->configured;
    if (target->loopback && !local_ok) {
        ocv_error_set(err, OCV_ERR_NETWORK, "%s to the loopback host %s refused", kind, authority);
        ocv_error_hint(err, "name %s under `registries` if it belongs to this registry", authority);
        return OCV_ERR_NETWORK;
    }
    if (plain && !target->insecure && !target->loopback) {
        ocv_error_set(err, OCV_ERR_NETWORK, "%s to plain HTTP at %s refused", kind, authority);
        ocv_error_hint(err, "name %s as an insecure registry if you trust the network", authority);
        return OCV_ERR_NETWORK;
    }
    *guard = !local_ok;
    return OCV_OK;
}

void ocv_registry_host_free(struct ocv_registry_host *host)
{
    if (!host)
        return;
    ocv_auth_free(host->tokens);
    ocv_buffer_free(&host->challenges);
    ocv_tls_unload(host);
    free(host->name);
    free(host->authority);
    free(host->prefix);
    free(host->account);
    free(host);
}

/* registries.HOST.url: "https://mirror.example:8443/prefix"; a final /v2 is ours to add. */
static int use_url(struct ocv_registry_host *host, const char *url, struct ocv_error *err)
{
    char full[1024], origin[OCV_ORIGIN_MAX], authority[OCV_ORIGIN_MAX];
    const char *scheme = strstr(url, "://") ? "" : "https://";
    if (snprintf(full, sizeof(full), "%s%s", scheme, url) >= (int)sizeof(full))
        return ocv_error_set(err, OCV_ERR_CONFIG, "registries: %s: url: more than %zu characters",
                             host->name, sizeof(full) - 1);
    int status = ocv_url_origin(full, origin, err);
    if (status < 0)
        return ocv_error_set(err, OCV_ERR_CONFIG, "registries: %s: url: not usable", host->name);
    ocv_origin_authority(origin, authority, sizeof(authority));
    char *path = strchr(strstr(full, "://") + 3, '/');
    if (!path)
        path = full + strlen(full);
    path[strcspn(path, "?#")] = '\0';
    size_t len = strlen(path);
    while (len && path[len - 1] == '/')
        path[--len] = '\0';
    if (len >= 3 && !strcmp(path + len - 3, "/v2"))
        path[len - 3] = '\0';
    free(host->authority);
    free(host->prefix);
    free(host->account);
    host->authority = strdup(authority);
    host->prefix = strdup(path);
    host->account = strdup(authority); /* a mirror never gets the credentials of what it mirrors */
    host->scheme = !strncmp(origin, "https:", 6) ? OCV_SCHEME_HTTPS : OCV_SCHEME_HTTP;
    host->decided = true;
    return OCV_OK;
}

int ocv_registry_host_get(struct ocv_registry *registry, const char *name,
                          struct ocv_registry_host **out, struct ocv_error *err)
{
    for (struct ocv_registry_host *h = registry->hosts; h; h = h->next) {
        if (!strcasecmp(h->name, name)) {
            *out = h;
            return OCV_OK;
        }
    }
    ocv_auto(ocv_registry_host) host = calloc(1, sizeof(*host));
    if (!host || !(host->name = strdup(name)))
        return ocv_error_nomem(err);
    ocv_buffer_init(&host->ca, OCV_CA_MAX);
    ocv_buffer_init(&host->challenges, OCV_CHALLENGES_MAX);
    struct ocv_registry_config config =
        ocv_registry_find(registry->registries, registry->n_registries, name);
    host->authority = strdup(strcmp(name, "docker.io") ? name : "registry-1.docker.io");
    host->account = strdup(name);
    host->prefix = strdup("");
    host->insecure = config.insecure;
    for (size_t i = 0; i < registry->n_insecure && !host->insecure; i++)
        host->insecure = !strcasecmp(registry->insecure[i], name);
    host->configured = config.host || host->insecure;
    host->loopback = ocv_reference_host_is_loopback(name);
    host->scheme = OCV_SCHEME_HTTPS;
    bool own_tls = config.ca || config.cert;
    if (host->insecure) {
        host->decided = false;
    } else if (host->loopback) {
        host->decided = own_tls;
        host->scheme = own_tls ? OCV_SCHEME_HTTPS : OCV_SCHEME_HTTP;
    } else {
        host->decided = true;
    }
    if (config.url)
        OCV_TRY(use_url(host, config.url, err));
    if (!host->authority || !host->account || !host->prefix)
        return ocv_error_nomem(err);
    if (config.url)
        host->loopback = ocv_reference_host_is_loopback(host->authority);
    if (host->scheme == OCV_SCHEME_HTTP && !host->loopback && !host->insecure)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "registries: %s: a plain HTTP url needs `insecure: true`", name);
    host->next = registry->hosts;
    *out = registry->hosts = ocv_steal(&host);
    return OCV_OK;
}

int ocv_registry_host_at(struct ocv_registry *registry, const char *authority,
                         struct ocv_registry_host **out, struct ocv_error *err)
{
    if (ocv_registry_find(registry->registries, registry->n_registries, authority).host) {
        OCV_TRY(ocv_registry_host_get(registry, authority, out, err));
        if (!strcasecmp((*out)->authority, authority))
            return OCV_OK;
    }
    for (struct ocv_registry_host *h = registry->hosts; h; h = h->next) {
        if (!strcasecmp(h->authority, authority)) {
            *out = h;
            return OCV_OK;
        }
    }
    return ocv_registry_host_get(registry, authority, out, err);
}
