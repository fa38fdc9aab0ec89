/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantd --check: reads everything that a start would read, without opening a socket. Root can
 * read every file, but the service runs as another user, so the kernel is asked as that user. */
#include "cmd/variantd/instance/instance.h"
#include "cmd/variantd/variantd.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/internal/records/daemon.h"

#include "cmd/variantd/upstream/upstream.h"
#include "lib/base/format/json.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <jansson.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASK_MS 1000u
#define HEALTH_MAX (256u * 1024)
#define GROUPS_MAX 64
#define SERVICE_USER "ocivariant" /* in the unit file and the packages */
#define SETUP_STATE_MAX (1024u * 1024)
#define VERIFIER \
    "/opt/containerd/image-verifier/bin/ocivariant-verifier" /* where containerd looks */

struct service {
    uid_t uid;
    gid_t gid, groups[GROUPS_MAX];
    int n_groups;
    char name[64];
    bool unit; /* run by systemd, which hides home directories */
};

/* False: the service's user is unknown, or root. */
static bool find_service(const struct settings *settings, struct service *out)
{
    *out = (struct service){.unit = access("/etc/systemd/system/variantd.service", F_OK) == 0 ||
                                    access("/usr/lib/systemd/system/variantd.service", F_OK) == 0 ||
                                    access("/lib/systemd/system/variantd.service", F_OK) == 0};
    /* the user of the running daemon, unless that is root */
    ocv_auto_buffer text;
    long http = 0;
    ocv_buffer_init(&text, HEALTH_MAX);
    if (ocv_daemon_get(settings->socket_path, "/v1/healthz", ASK_MS, &http, &text, NULL) ==
            OCV_OK &&
        http == 200) {
        ocv_auto_json *root = ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, 0, NULL);
        out->uid = (uid_t)json_integer_value(json_object_get(root, "uid"));
    }
    bool running = out->uid != 0;
    const struct passwd *user = running     ? getpwuid(out->uid)
                                : out->unit ? getpwnam(SERVICE_USER)
                                            : NULL;
    if (!user && !running)
        return false;
    out->uid = user ? user->pw_uid : out->uid;
    out->gid = user ? user->pw_gid : (gid_t)out->uid;
    out->n_groups = user ? GROUPS_MAX : 0;
    if (user && getgrouplist(user->pw_name, out->gid, out->groups, &out->n_groups) < 0)
        out->n_groups = 0;
    if (user)
        snprintf(out->name, sizeof(out->name), "%s", user->pw_name);
    else
        snprintf(out->name, sizeof(out->name), "%u", (unsigned)out->uid);
    return true;
}

static int check_file(const struct daemon *d, const struct service *who, const char *origin,
                      const char *key, const char *path, bool secret, struct ocv_error *err)
{
    static const char *const hidden[] = {"/home", "/root", "/run/user"}; /* see systemd.exec(5) */
    for (size_t i = 0; who->unit && i < sizeof(hidden) / sizeof(*hidden); i++) {
        size_t n = strlen(hidden[i]);
        if (!strncmp(path, hidden[i], n) && path[n] == '/')
            cli_warn(&d->cli, "%s: %s: %s: the service sees no home directories (ProtectHome=)",
                     origin, key, path);
    }
    /* the errno with which that user fails to read it */
    int fault = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups((size_t)who->n_groups, who->groups) < 0 || setgid(who->gid) < 0 ||
            setuid(who->uid) < 0)
            _exit(0);
        _exit(access(path, R_OK) < 0 ? errno : 0);
    }
    while (pid > 0 && waitpid(pid, &fault, 0) < 0 && errno == EINTR)
        ;
    fault = WIFEXITED(fault) ? WEXITSTATUS(fault) : 0;
    if (!fault)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_CONFIG,
                  "%s: %s: %s: the service runs as user %s and cannot read it: %s", origin, key,
                  path, who->name, strerror(fault));
    ocv_error_hint(err,
                   secret ? "chown root:%s %s; chmod 0640 %s" : "chown root:%s %s; chmod 0644 %s",
                   who->name, path, path);
    return OCV_ERR_CONFIG;
}

static int check_service(const struct daemon *d, const struct settings *s, const char *file,
                         struct ocv_error *err)
{
    struct service who;
    if (geteuid() != 0 || !find_service(s, &who))
        return OCV_OK;
    static const char *const keys[] = {"credentials", "image_credential_provider_config"};
    const struct ocv_registry_config *list;
    size_t n = ocv_config_registries(s->config, &list);
    if (access(file, F_OK) == 0)
        OCV_TRY(check_file(d, &who, "--config", "the configuration", file, false, err));
    for (size_t i = 0; i < 2; i++) {
        const char *path = ocv_config_get(s->config, keys[i]);
        const char *origin = ocv_config_origin(s->config, keys[i]);
        if (path)
            OCV_TRY(check_file(d, &who, origin ? origin : file, keys[i], path, i == 0, err));
    }
    for (size_t i = 0; i < n; i++) {
        const struct {
            const char *key, *path;
        } files[] = {{"ca", list[i].ca}, {"cert", list[i].cert}, {"key", list[i].key}};
        for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++) {
            const char *host = list[i].host, *key = files[k].key, *path = files[k].path;
            const char *origin = ocv_config_registry_origin(s->config, host, key);
            if (path)
                OCV_TRY(check_file(d, &who, origin ? origin : host, key, path, !strcmp(key, "key"),
                                   err));
        }
    }
    return OCV_OK;
}

/* A signature that is required binds an engine only where that cannot go to the registry itself. */
static int check_trust(const struct settings *s, struct ocv_error *err)
{
    struct ocv_trust_rule rule;
    size_t i = 0, n = ocv_config_trust_rules(s->config, 0, &rule);
    while (i < n && (ocv_config_trust_rules(s->config, i, &rule), !rule.require))
        i++;
    if (i == n || access(VERIFIER, X_OK) == 0)
        return OCV_OK;
    /* Did `variantctl setup` leave an engine of this node no way past the mirror? */
    bool closed = false;
    const struct dirent *entry;
    DIR *list = opendir(OCV_PATH_SETUP);
    while (list && !closed && (entry = readdir(list))) {
        ocv_auto_json *root = NULL;
        ocv_auto_buffer text;
        ocv_buffer_init(&text, SETUP_STATE_MAX);
        if (ocv_text_ends(entry->d_name, ".json") &&
            ocv_file_read_at(dirfd(list), OCV_PATH_SETUP, entry->d_name, &text, NULL) == OCV_OK)
            root = ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, 0, NULL);
        closed = json_is_true(json_object_get(root, "fail_closed"));
    }
    if (list)
        closedir(list);
    if (closed)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_CONFIG,
                  "%s: trust: %s: engines of this node can go to the registry where this refuses",
                  rule.origin, rule.glob);
    ocv_error_hint(err,
                   "variantctl setup ENGINE --fail-closed, or for containerd 2 its image verifier, "
                   "%s (docs/trust.md)",
                   VERIFIER);
    return OCV_ERR_CONFIG;
}

static int check_all(struct daemon *d, const char *file, size_t *registries, uint64_t *unknown,
                     struct ocv_error *err)
{
    static const char *const keys[] = {"ca", "cert", "key"};
    ocv_auto(settings) settings = NULL;
    ocv_auto(instance) instance = NULL;
    OCV_TRY(daemon_read_settings(d, &settings, err));
    OCV_TRY(check_service(d, settings, file, err));
    OCV_TRY(check_trust(settings, err));
    OCV_TRY(metrics_new(&d->metrics, err));
    OCV_TRY(instance_new(ocv_steal(&settings), d->metrics, NULL, &instance, err));
    (void)!unknown_names(instance, unknown, NULL);

    /* The network's state is not part of the configuration: a registry that does not answer is only
     * a warning. */
    const struct settings *s = instance->settings;
    *registries = s->n_upstreams;
    struct clients *clients = NULL;
    struct reach *list = calloc(s->n_upstreams + 1, sizeof(*list));
    char where[600];
    if (list && clients_new(s, d->metrics, &clients, NULL) == OCV_OK)
        reach_all(clients, s, true, list);
    for (size_t i = 0; clients && i < s->n_upstreams; i++) {
        const struct reach *r = &list[i];
        const char *name = s->upstreams[i].name, *message = r->err.message, *origin = NULL;
        size_t n = strlen(name);
        if (!strncmp(message, name, n) && !strncmp(message + n, ": ", 2))
            message += n + 2;
        for (size_t k = 0; k < 3 && !origin; k++)
            origin = ocv_config_registry_origin(s->config, name, keys[k]);
        snprintf(where, sizeof(where), "%s%sregistries: %s", origin ? origin : "",
                 origin ? ": " : "", name);
        if (r->status < 0)
            cli_warn(&d->cli, "%s: %s%s%s", where, message, *r->err.hint ? "; " : "", r->err.hint);
        else if (r->access == OCV_REGISTRY_ACCESS_LOGIN && !r->login)
            cli_warn(&d->cli,
                     "%s requires a login, and `credentials` has none: its images are served "
                     "without a choice",
                     where);
    }
    clients_free(clients);
    free(list);
    return OCV_OK;
}

/* Unknown names, which are only a warning at a start, are errors here. */
int daemon_check(struct daemon *d)
{
    struct ocv_error err = {0};
    size_t registries = 0;
    uint64_t unknown = 0;
    const char *file = d->cli.config_file ? d->cli.config_file : OCV_PATH_CONFIG;
    int status = check_all(d, file, &registries, &unknown, &err);
    if (status < 0)
        cli_fail(&d->cli, &err);
    int code = status < 0 || unknown ? ocv_error_exit_code(OCV_ERR_CONFIG) : 0;
    bool there = access(file, F_OK) == 0;
    if (!code && !registries)
        cli_warn(&d->cli, "no registry is configured: nothing is served%s%s",
                 there ? "" : ", for there is no file ", there ? "" : file);
    fprintf(stderr, "%s: the configuration (%s%s) is %ssound\n", d->cli.program,
            there ? "" : "defaults: no file ", file, code ? "not " : "");
    return code;
}
