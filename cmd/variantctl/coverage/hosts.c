/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hosts of a fleet: profiles, and recorded machines that are probed. */
#include "cmd/common/names.h"
#include "cmd/variantctl/coverage/coverage.h"
#include "cmd/variantctl/fleet/fleet_verbs.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/match/match_internal.h"
#include "ocivariant-probe.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int add_host(struct coverage *c, const char *path, struct ocv_error *err)
{
    if (c->n == COVERAGE_HOSTS_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u profiles", COVERAGE_HOSTS_MAX);
    struct coverage_host *host = ocv_array_grow(&c->hosts, c->n);
    if (!host)
        return ocv_error_nomem(err);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = strlen(name);
    host->path = strdup(path);
    host->name = strndup(name, len > 5 && !strcmp(name + len - 5, ".json") ? len - 5 : len);
    host->nodes = 1;
    c->n++;
    if (host->name)
        ocv_text_clean(host->name); /* a file's name may be any bytes */
    return host->path && host->name ? OCV_OK : ocv_error_nomem(err);
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* True for a directory with a machine's /sys or /proc in it (`variantctl probe --sysroot`). */
static bool is_machine(const char *path)
{
    char below[2][4096];
    snprintf(below[0], sizeof(below[0]), "%.4000s/sys", path);
    snprintf(below[1], sizeof(below[1]), "%.4000s/proc", path);
    return is_directory(below[0]) || is_directory(below[1]);
}

static int add_directory(struct coverage *c, const char *dir, struct ocv_error *err)
{
    struct dirent **names = NULL;
    size_t before = c->n;
    int n = scandir(dir, &names, ocv_directory_visible, ocv_directory_order), status = OCV_OK;
    if (n < 0)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s cannot be read", dir);
    for (int i = 0; i < n; i++) {
        char path[4096];
        const char *name = names[i]->d_name;
        size_t len = strlen(name);
        int used = snprintf(path, sizeof(path), "%s/%s", dir, name);
        if (status == OCV_OK && (used < 0 || (size_t)used >= sizeof(path)))
            status = ocv_error_set(err, OCV_ERR_INVALID, "%s: the name is too long", dir);
        bool profile = len > 5 && !strcmp(name + len - 5, ".json");
        if (status == OCV_OK && (profile || is_machine(path)))
            status = add_host(c, path, err);
        free(names[i]);
    }
    free(names);
    if (status < 0 || c->n > before)
        return status;
    return ocv_error_set(err, OCV_ERR_DATA, "%s has no profile (*.json) and no recorded machine",
                         dir);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct coverage_host *const *)a)->name,
                  (*(struct coverage_host *const *)b)->name);
}

static int read_profile(struct cli *cli, struct coverage_host *host, struct ocv_error *err)
{
    if (host->profile)
        return OCV_OK;
    cli_forget_host(cli);
    ocv_auto_buffer text;
    ocv_auto(ocv_profile) profile = NULL;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    const struct ocv_probe_options options = {
        .sysroot = host->path, .datadir = cli_datadir(cli), .libexecdir = getenv("OCV_LIBEXECDIR")};
    bool machine = is_machine(host->path);
    if (!machine)
        OCV_TRY(cli_read_file(host->path, &text, err));
    if ((machine && ocv_probe(&options, &text, err) < 0) ||
        ocv_profile_parse(text.data ? text.data : "", text.len, &profile, err) < 0 ||
        ocv_config_override_profile(cli->config, profile, &host->profile, err) < 0)
        return ocv_error_prefix(err, "%s", host->path);
    return OCV_OK;
}

static void free_host(struct coverage_host *host)
{
    if (!host->in_fleet)
        ocv_profile_free(host->profile);
    free(host->path);
    free(host->name);
}

/* Malformed profiles are left out. Other errors (with --strict, all) are printed, so that they can
 * be fixed together; the last one is returned. */
static int read_profiles(const struct coverage_request *r, struct coverage *c,
                         struct ocv_error *err)
{
    struct ocv_error bad = {0};
    struct fleet_skipped skipped = {0};
    size_t kept = 0, i = 0;
    for (; i < c->n; i++) {
        struct coverage_host host = c->hosts[i];
        int status = read_profile(r->cli, &host, err);
        bool left_out = status == OCV_ERR_DATA && !r->strict;
        if (left_out) {
            fleet_skip(&skipped, 1, err->message, "");
            free_host(&host);
        } else {
            c->hosts[kept++] = host;
        }
        if (status < 0 && !left_out)
            cli_keep_failure(r->cli, &bad, err);
        if (status == OCV_ERR_NOMEM || status == OCV_ERR_INTERRUPTED)
            break;
    }
    for (i++; i < c->n; i++) /* not read any more */
        c->hosts[kept++] = c->hosts[i];
    c->n = kept;
    fleet_warn_skipped(r->cli, "bad", &skipped);
    if (!bad.status && !c->n)
        ocv_error_set(&bad, OCV_ERR_DATA, "%s: no node with a profile", r->profiles[0]);
    if (bad.status)
        *err = bad;
    return bad.status;
}

/* Many nodes in one document: JSON Lines, what `fleet pack` writes, a list of Kubernetes nodes. One
 * profile is none of these, and what is no profile either is said to be a bad one. */
static bool is_document(const char *path)
{
    ocv_auto_buffer text;
    ocv_auto(ocv_profile) profile = NULL;
    struct ocv_error err = {0};
    ocv_buffer_init(&text, OCV_FLEET_MAX);
    if (!strcmp(path, "-"))
        return true;
    if (cli_read_file(path, &text, &err) < 0 || !text.len ||
        ocv_profile_parse(text.data, text.len, &profile, &err) == OCV_OK)
        return false;
    static const char items[] = "\"items\"", line[] = "}\n{";
    return text.data[0] == '{' && (memmem(text.data, text.len, items, sizeof(items) - 1) ||
                                   memmem(text.data, text.len, line, sizeof(line) - 1));
}

/* A host for each class of the documents' nodes. */
static int add_classes(struct coverage *c, const char *path, struct ocv_error *err)
{
    size_t n = ocv_fleet_class_count(c->fleet), place;
    ocv_auto_free size_t *host_of = calloc(n + 1, sizeof(*host_of));
    if (!host_of)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < ocv_fleet_count(c->fleet); i++) {
        const struct ocv_node node = ocv_fleet_node(c->fleet, i, &place);
        if (host_of[place]) {
            c->hosts[host_of[place] - 1].nodes++;
            continue;
        }
        if (c->n == COVERAGE_HOSTS_MAX)
            return ocv_error_set(err, OCV_ERR_INVALID, "more than %u classes", COVERAGE_HOSTS_MAX);
        struct coverage_host *host = ocv_array_grow(&c->hosts, c->n);
        if (!host)
            return ocv_error_nomem(err);
        c->n++;
        host_of[place] = c->n;
        host->nodes = 1;
        host->in_fleet = true;
        host->profile = (struct ocv_profile *)(uintptr_t)ocv_fleet_class_profile(c->fleet, place);
        host->name = strdup(node.name);
        host->path = strdup(path);
        if (!host->name || !host->path)
            return ocv_error_nomem(err);
    }
    return OCV_OK;
}

const char *coverage_name(const struct coverage_host *host, char out[COVERAGE_NAME_MAX])
{
    if (host->nodes > 1)
        snprintf(out, COVERAGE_NAME_MAX, "%.280s+%zu", host->name, host->nodes - 1);
    else
        snprintf(out, COVERAGE_NAME_MAX, "%.300s", host->name);
    return out;
}

size_t coverage_count(const struct coverage *c, bool (*wanted)(const struct coverage_host *))
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += !wanted || wanted(&c->hosts[i]) ? c->hosts[i].nodes : 0;
    return n;
}

int coverage_read_hosts(const struct coverage_request *r, struct coverage *c, struct ocv_error *err)
{
    const char *document = NULL;
    for (size_t i = 0; i < r->n_profiles; i++) {
        const char *path = r->profiles[i];
        char file[PATH_MAX];
        if (is_directory(path)) {
            OCV_TRY(is_machine(path) ? add_host(c, path, err) : add_directory(c, path, err));
            continue;
        }
        snprintf(file, sizeof(file), "-");
        if (strcmp(path, "-") != 0)
            OCV_TRY(cli_profile_path(path, file, err));
        if (!is_document(file)) {
            OCV_TRY(add_host(c, file, err));
            continue;
        }
        size_t skipped;
        if (!c->fleet)
            OCV_TRY(ocv_fleet_new(&c->fleet, err));
        OCV_TRY(fleet_read(r->cli, file, r->strict, c->fleet, &skipped, err));
        document = document ? document : path;
    }
    if (document)
        OCV_TRY(add_classes(c, document, err));
    /* Hosts with equal file names (a/gpu.json and b/gpu.json) are named by their paths. */
    ocv_auto_free struct coverage_host **sorted = calloc(c->n + 1, sizeof(struct coverage_host *));
    if (!sorted)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < c->n; i++)
        sorted[i] = &c->hosts[i];
    qsort(sorted, c->n, sizeof(*sorted), by_name);
    for (size_t i = 0, end; i < c->n; i = end) {
        for (end = i + 1; end < c->n && !strcmp(sorted[i]->name, sorted[end]->name); end++)
            ;
        for (size_t k = i; end - i > 1 && k < end; k++) {
            char *path = strdup(sorted[k]->path);
            size_t len = path ? strlen(path) : 0;
            if (len > 5 && !strcmp(path + len - 5, ".json"))
                path[len - 5] = '\0';
            free(sorted[k]->name);
            sorted[k]->name = path;
            if (!path)
                return ocv_error_nomem(err);
            ocv_text_clean(path);
        }
    }
    return read_profiles(r, c, err);
}

/* Rules that do not decide for one host do for others. */
static int take_status(const struct image *image, struct coverage_host *host, int status,
                       struct ocv_error *err)
{
    bool doubtful = false; /* nothing tells the image chosen from others */
    for (size_t i = 0; status == OCV_ERR_DATA && i < ocv_index_count(image->index); i++) {
        const char *doubt = ocv_index_doubt(image->index, ocv_index_entry(image->index, i));
        doubtful = doubtful || (doubt && strstr(err->message, doubt));
    }
    if (!doubtful || !image->choice)
        return status < 0 ? ocv_error_prefix(err, "%s", host->path) : OCV_OK;
    free(host->undecided);
    host->undecided = strdup(err->message);
    *err = (struct ocv_error){0};
    return host->undecided ? OCV_OK : ocv_error_nomem(err);
}

int coverage_decide(struct cli *cli, struct image *image, struct coverage *c, struct ocv_error *err)
{
    coverage_forget(c);
    c->image = image;
    /* A name is correct if any of the hosts knows it. */
    const struct ocv_config *config = ocv_config_for_reference(cli->config, image->reference);
    int known = OCV_OK;
    for (size_t i = 0; i < c->n; i++) {
        known = names_check(cli, config, c->hosts[i].profile, image->index, err);
        if (known == OCV_OK)
            break;
    }
    if (known < 0)
        return known;
    /* With a tag rule, choosing first reads an image's platform, which may give another index. So
     * all hosts choose once before decisions are kept. */
    for (size_t i = 0; i < c->n && image->choice; i++) {
        struct coverage_host *host = &c->hosts[i];
        ocv_auto(ocv_decision) decision = NULL;
        int status = image_resolve_for(cli, image, host->profile, &decision, err);
        OCV_TRY(take_status(image, host, status, err));
    }
    for (size_t i = 0; i < c->n; i++) {
        struct coverage_host *host = &c->hosts[i];
        struct ocv_resolve_options how = {
            .preferences = ocv_config_preferences_for(cli->config, image->reference),
            .platform = cli->platform,
            .label = names_label(image->index, cli->label),
            .unchecked = cli->unchecked};
        if (host->undecided)
            continue;
        int status = ocv_resolve(image->index, host->profile, &how, &host->decision, err);
        OCV_TRY(take_status(image, host, status, err));
    }
    return OCV_OK;
}

void coverage_forget(struct coverage *c)
{
    for (size_t i = 0; i < c->n; i++) {
        ocv_decision_free(c->hosts[i].decision);
        free(c->hosts[i].undecided);
        c->hosts[i].decision = NULL;
        c->hosts[i].undecided = NULL;
    }
    c->image = NULL;
}

void coverage_free(struct coverage *c)
{
    coverage_forget(c);
    for (size_t i = 0; i < c->n; i++)
        free_host(&c->hosts[i]);
    free(c->hosts);
    ocv_fleet_free(c->fleet);
}
