/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/settings.h"
#include "cmd/common/image/image.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/span.h"
#include "lib/base/text.h"
#include "lib/internal/records/records.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PROBE_INTERVAL "10m"

const struct upstream *settings_upstream(const struct settings *settings, const char *name)
{
    name = ocv_reference_host_canonical(name);
    for (size_t i = 0; i < settings->n_upstreams; i++)
        if (strcmp(settings->upstreams[i].name, name) == 0)
            return &settings->upstreams[i];
    return NULL;
}

const struct upstream *settings_segment(const struct settings *settings, const char *segment,
                                        size_t len)
{
    for (size_t i = 0; i < settings->n_upstreams; i++)
        if (strlen(settings->upstreams[i].segment) == len &&
            memcmp(settings->upstreams[i].segment, segment, len) == 0)
            return &settings->upstreams[i];
    return NULL;
}

struct ocv_reference *settings_reference(const char *text)
{
    struct ocv_reference *reference = NULL;
    return text && ocv_reference_parse(text, &reference, NULL) == OCV_OK ? reference : NULL;
}

const struct ocv_config *settings_for_text(const struct settings *settings, const char *text)
{
    ocv_auto(ocv_reference) reference = settings_reference(text);
    return ocv_config_for_reference(settings->config, reference);
}

bool settings_on(const struct settings *settings, const struct ocv_reference *reference,
                 const char *key)
{
    const char *text = ocv_config_get(ocv_config_for_reference(settings->config, reference), key);
    return text && !strcmp(text, "on");
}

/* True for a registry's name as references have it. */
static bool host_ok(const char *name)
{
    char text[512];
    ocv_auto(ocv_reference) reference = NULL;
    int len = snprintf(text, sizeof(text), "%s/x:y", name);
    return len > 0 && len < (int)sizeof(text) &&
           ocv_reference_parse(text, &reference, NULL) == OCV_OK &&
           !strcmp(reference->host, name) &&
           !strcmp(reference->repository, strcmp(name, "docker.io") ? "x" : "library/x");
}

static int add_upstream(struct settings *s, const char *given, const char *layout,
                        struct ocv_error *err)
{
    const char *name = ocv_reference_host_canonical(given);
    struct upstream *old = (struct upstream *)(uintptr_t)settings_upstream(s, name);
    if (!host_ok(name))
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "'%.100s' is not a registry: HOST[:PORT] with a dot, a port, or "
                             "localhost",
                             given);
    char *copy = layout ? strdup(layout) : NULL;
    if (layout && !copy)
        return ocv_error_nomem(err);
    if (old) {
        if (copy) {
            free((char *)(uintptr_t)old->layout);
            old->layout = copy;
        }
        return OCV_OK;
    }
    bool full = s->n_upstreams == SETTINGS_UPSTREAMS_MAX;
    struct upstream *added = full ? NULL : ocv_array_grow(&s->upstreams, s->n_upstreams);
    if (!added) {
        free(copy);
        return !full ? ocv_error_nomem(err)
                     : ocv_error_set(err, OCV_ERR_CONFIG, "more than %u registries",
                                     SETTINGS_UPSTREAMS_MAX);
    }
    s->n_upstreams++;
    char *segment = malloc(strlen(name) * 2 + 1);
    *added = (struct upstream){.name = strdup(name), .segment = segment, .layout = copy};
    /* "registry:5000" -> "registry--5000": podman refuses a colon in a mirror's path. */
    for (const char *p = name; segment && *p; p++) {
        if (*p == ':')
            *segment++ = '-';
        *segment++ = *p == ':' ? '-' : *p;
    }
    if (segment)
        *segment = '\0';
    return added->name && added->segment ? OCV_OK : ocv_error_nomem(err);
}

static int copy_text(char **out, const char *text, struct ocv_error *err)
{
    if (!text)
        return OCV_OK;
    *out = strdup(text);
    return *out ? OCV_OK : ocv_error_nomem(err);
}

static const char *text_setting(const struct settings *s, const char *key, const char *otherwise)
{
    const char *text = ocv_config_get(s->config, key);
    return text && *text ? text : otherwise;
}

static int duration_setting(const struct settings *s, const char *key, const char *otherwise,
                            int64_t *out, struct ocv_error *err)
{
    if (ocv_duration_parse(text_setting(s, key, otherwise), out))
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_CONFIG, "%s: not " OCV_DURATION_FORM, key);
}

/* "HOST[=URL]": the URL goes into the configuration, where the registry client finds it. */
static int add_registry(struct settings *s, const char *text, struct ocv_error *err)
{
    char name[300];
    const char *cut = strchr(text, '=');
    size_t n = cut ? (size_t)(cut - text) : strlen(text);
    if (n == 0 || n >= sizeof(name))
        return ocv_error_set(err, OCV_ERR_CONFIG, "--registry '%.100s' is not HOST[=URL]", text);
    memcpy(name, text, n);
    name[n] = '\0';
    int status = add_upstream(s, name, NULL, err);
    if (status < 0 || !cut)
        return status;
    status = ocv_config_set_registry(s->config, ocv_reference_host_canonical(name), cut + 1, err);
    return status < 0 ? ocv_error_prefix(err, "--registry") : OCV_OK;
}

/* A layout whose images have full names names its registries itself. */
struct layout_names {
    struct settings *settings;
    const char *layout;
    struct ocv_error *err;
    size_t bare; /* images with a tag but no full name */
};

static int name_layout(void *data, const char *tag, const char *image_name,
                       const struct ocv_descriptor *descriptor)
{
    struct layout_names *naming = data;
    ocv_auto(ocv_reference) reference = NULL;
    (void)descriptor;
    if (image_name && ocv_reference_parse(image_name, &reference, NULL) == OCV_OK)
        return add_upstream(naming->settings, reference->host, naming->layout, naming->err);
    naming->bare += tag ? 1 : 0;
    return OCV_OK;
}

/* A layout replaces the registries of --registry, else those that its images name. Usually there is
 * one layout and one registry. */
static int add_layout(struct settings *s, const char *dir, const char *const *registries,
                      size_t n_registries, struct ocv_error *err)
{
    ocv_auto(ocv_layout) layout = NULL;
    struct layout_names naming = {.settings = s, .layout = dir, .err = err};
    int status = ocv_layout_open(dir, 0, &layout, err);
    for (size_t i = 0; status == OCV_OK && i < n_registries; i++) {
        char name[300];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(registries[i], "="), registries[i]);
        if (!strchr(registries[i], '=')) /* one with a URL is a real registry, which no layout
                                          * replaces */
            status = add_upstream(s, name, dir, err);
    }
    if (status == OCV_OK && n_registries == 0)
        status = ocv_layout_list(layout, name_layout, &naming, err);
    if (status == OCV_OK && s->n_upstreams == 0) /* only bare tags: any name will do */
        status = add_upstream(s, "localhost", dir, err);
    return status < 0 ? ocv_error_prefix(err, "%s", dir) : OCV_OK;
}

/* `layout`: "REGISTRY=DIRECTORY", or a directory. */
static int add_configured_layouts(struct settings *s, struct ocv_error *err)
{
    const char *const *list;
    size_t n = ocv_config_list(s->config, "layout", &list);
    for (size_t i = 0; i < n; i++) {
        const char *equals = *list[i] != '/' ? strchr(list[i], '=') : NULL;
        char name[300];
        const char *const names[] = {name};
        snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - list[i]) : 0, list[i]);
        if (add_layout(s, equals ? equals + 1 : list[i], names, equals ? 1 : 0, err) < 0)
            return ocv_error_prefix(err, "layout");
    }
    return OCV_OK;
}

#define PEM_MAX (8u * 1024 * 1024) /* a system's bundle has 300 KiB */

static int check_pem(const char *path, const char *word, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, PEM_MAX);
    OCV_TRY(ocv_file_read(path, OCV_FILE_ANY, &text, err));
    bool found = text.len && memmem(text.data, text.len, word, strlen(word));
    if (text.data)
        explicit_bzero(text.data, text.len);
    return found ? OCV_OK
                 : ocv_error_set(err, OCV_ERR_CONFIG, "%s has no PEM text with %s", path, word);
}

/* Checks the files that the settings name at the start. A registry's certificates are otherwise
 * read when it is first asked, and a pull is too late to find a misspelt path. */
static int check_files(const struct settings *s, struct ocv_error *err)
{
    struct stat st;
    if (s->authfile && (stat(s->authfile, &st) < 0 || access(s->authfile, R_OK) < 0))
        return ocv_error_set(err, OCV_ERR_CONFIG, "credentials: %s: %s", s->authfile,
                             strerror(errno));
    if (s->authfile && (st.st_mode & 037) != 0)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "credentials: others may read %s; make it mode 0600 or 0640",
                             s->authfile);

    /* only a check: the files are read again when they are used */
    ocv_auto(ocv_credential_providers) providers = NULL;
    const struct ocv_credential_providers_options options = {.config = s->provider_config,
                                                             .bin_dir = s->provider_bin_dir};
    int status =
        s->provider_config ? ocv_credential_providers_new(&options, &providers, err) : OCV_OK;
    if (status == OCV_ERR_IO || status == OCV_ERR_NOT_FOUND) {
        ocv_error_prefix(err, "image_credential_provider_config");
        status = OCV_ERR_CONFIG;
        if (err)
            err->status = OCV_ERR_CONFIG;
    }
    if (status < 0)
        return status;

    const struct ocv_registry_config *list;
    size_t n = ocv_config_registries(s->config, &list);
    for (size_t i = 0; i < n; i++) {
        const struct {
            const char *key, *path, *word;
        } files[] = {{"ca", list[i].ca, "CERTIFICATE-----"},
                     {"cert", list[i].cert, "CERTIFICATE-----"},
                     {"key", list[i].key, "PRIVATE KEY-----"}};
        for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++) {
            const char *host = list[i].host, *key = files[k].key;
            if (!files[k].path || check_pem(files[k].path, files[k].word, err) == OCV_OK)
                continue;
            const char *origin = ocv_config_registry_origin(s->config, host, key);
            ocv_error_prefix(err, "%s: registries: %s: %s", origin ? origin : "configuration", host,
                             key);
            if (err)
                err->status = OCV_ERR_CONFIG;
            return OCV_ERR_CONFIG;
        }
    }
    return OCV_OK;
}

static int read_settings(struct settings *s, const struct settings_flags *flags,
                         struct ocv_error *err)
{
    OCV_TRY(copy_text(&s->profile_file, flags->profile_file, err));
    const char *state = text_setting(s, "state_dir", NULL);
    char path[4096];
    if (state)
        OCV_TRY(copy_text(&s->records, ocv_record_directory(state, path, sizeof(path)), err));
    else
        OCV_TRY(copy_text(&s->records, flags->records ? flags->records : OCV_PATH_RECORDS, err));

    for (size_t i = 0; i < flags->n_registries; i++)
        OCV_TRY(add_registry(s, flags->registries[i], err));
    for (size_t i = 0; i < flags->n_layouts; i++)
        if (add_layout(s, flags->layouts[i], flags->registries, flags->n_registries, err) < 0)
            return ocv_error_prefix(err, "--layout");
    OCV_TRY(add_configured_layouts(s, err));
    const struct ocv_registry_config *list;
    size_t n = ocv_config_registries(s->config, &list);
    for (size_t i = 0; i < n; i++)
        OCV_TRY(add_upstream(s, list[i].host, NULL, err));

    const char *listen = text_setting(s, "listen", NULL);
    s->listen_default = !listen;
    s->listen_address = listen ? listen : OCV_LISTEN;
    s->socket_path = text_setting(s, "socket", OCV_PATH_SOCKET);
    s->metrics_listen = text_setting(s, "metrics_listen", NULL);
    s->authfile = text_setting(s, "credentials", NULL);
    s->provider_config = text_setting(s, "image_credential_provider_config", NULL);
    s->provider_bin_dir = text_setting(s, "image_credential_provider_bin_dir", NULL);
    OCV_TRY(duration_setting(s, "tag_ttl", "0", &s->tag_ttl_ms, err));
    OCV_TRY(
        duration_setting(s, "probe_interval", DEFAULT_PROBE_INTERVAL, &s->probe_interval_ms, err));
    const char *mode = text_setting(s, "mode", "auto");
    s->mode = !strcmp(mode, "resolver") ? MODE_RESOLVER
              : !strcmp(mode, "proxy")  ? MODE_PROXY
                                        : MODE_AUTO;
    s->serve_private = !strcmp(text_setting(s, "serve_private", "false"), "true");
    s->tag_rules = !strcmp(text_setting(s, "tag_rules", "off"), "on") ||
                   ocv_config_any_repository(s->config, "tag_rules", "on");
    s->log_json = !strcmp(text_setting(s, "log", "text"), "json");
    s->access_log = !strcmp(text_setting(s, "access_log", "on"), "on");

    struct sockaddr_storage address;
    socklen_t len;
    bool known = ocv_address_parse(s->listen_address, &address, &len);
    if (!known || !ocv_address_is_loopback(&address)) {
        const char *origin = ocv_config_origin(s->config, "listen");
        bool line = origin && origin[0] == '/'; /* of a file */
        ocv_error_set(err, OCV_ERR_CONFIG, "%s%slisten: %.200s%s", line ? origin : "",
                      line ? ": " : "", known ? s->listen_address : "not " OCV_ADDRESS_FORM,
                      known ? " is not a loopback address" : "");
        if (known)
            ocv_error_hint(err, "the mirror answers for this node only: " OCV_LISTEN);
        return OCV_ERR_CONFIG;
    }
    if (s->authfile && s->authfile[0] != '/')
        return ocv_error_set(err, OCV_ERR_CONFIG, "credentials: '%.100s' is not an absolute path",
                             s->authfile);
    if (!s->provider_config != !s->provider_bin_dir)
        return ocv_error_set(err, OCV_ERR_CONFIG, "image_credential_provider_%s is missing",
                             s->provider_config ? "bin_dir" : "config");
    return check_files(s, err);
}

int settings_make(struct ocv_config *config, const struct settings_flags *flags,
                  struct settings **out, struct ocv_error *err)
{
    ocv_auto(settings) s = calloc(1, sizeof(*s));
    if (!s) {
        ocv_config_free(config);
        return ocv_error_nomem(err);
    }
    s->config = config;
    s->once = flags->once;
    s->whole_node = flags->whole_node;
    s->datadir = flags->datadir;
    OCV_TRY(read_settings(s, flags, err));
    struct ocv_trust_rule rule;
    size_t n = ocv_config_trust_rules(config, 0, NULL);
    s->trust = calloc(n + 1, sizeof(*s->trust));
    if (!s->trust)
        return ocv_error_nomem(err);
    for (; s->n_trust < n; s->n_trust++) {
        ocv_config_trust_rules(config, s->n_trust, &rule);
        OCV_TRY(trust_keys(&rule, &s->trust[s->n_trust], err));
    }
    /* a path without a registry is valid only if there is a default registry */
    const struct upstream *hub = settings_upstream(s, "docker.io");
    s->default_upstream = s->n_upstreams == 1 ? s->upstreams : hub;
    *out = ocv_steal(&s);
    return OCV_OK;
}

void settings_free(struct settings *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_trust; i++)
        ocv_signature_keys_free(s->trust[i]);
    free(s->trust);
    for (size_t i = 0; i < s->n_upstreams; i++) {
        free((char *)(uintptr_t)s->upstreams[i].name);
        free((char *)(uintptr_t)s->upstreams[i].segment);
        free((char *)(uintptr_t)s->upstreams[i].layout);
    }
    free(s->upstreams);
    free(s->profile_file);
    free(s->records);
    ocv_config_free(s->config);
    free(s);
}

/* Missing directories are made when the first choice is recorded, so the nearest existing one is
 * checked. */
int settings_records_fault(const struct settings *s)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%s", s->records);
    while (stat(path, &st) < 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || !slash)
            return errno;
        if (slash == path)
            return access("/", W_OK | X_OK) < 0 ? errno : 0;
        *slash = '\0';
    }
    if (!S_ISDIR(st.st_mode))
        return ENOTDIR;
    return access(path, W_OK | X_OK) < 0 ? errno : 0;
}
