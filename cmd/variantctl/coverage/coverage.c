/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index coverage: which host of a fleet gets which variant, which get only the default,
 * and which variants nobody gets. */
#include "cmd/variantctl/coverage/coverage.h"
#include "cmd/common/names.h"

#include "cmd/variantctl/verbs.h"
#include "lib/base/array.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPTION_INDEX = 1, OPTION_FORMAT, OPTION_PROFILES };

static const struct option options[] = {{"index", required_argument, NULL, OPTION_INDEX},
                                        {"format", required_argument, NULL, OPTION_FORMAT},
                                        {"profiles", required_argument, NULL, OPTION_PROFILES},
                                        CLI_RESOLVE_OPTIONS,
                                        CLI_REGISTRY_OPTIONS,
                                        CLI_COMMON_OPTIONS,
                                        CLI_OPTIONS_END};

static const char help[] =
    "Usage: variantctl index coverage --profiles DIR [OPTIONS] IMAGE|oci:DIR[:TAG]\n"
    "\n"
    "Resolve an index for every host of a directory of profiles (*.json) and show who\n"
    "gets what. Hosts that are alike share a column where there are many.\n"
    "Exit 0: shown; 4: a profile or the index cannot be read.\n"
    "\n"
    "Options:\n"
    "  --profiles DIR|FILE      again for more\n"
    "  --index FILE             an index document, '-' for standard input\n"
    "  --format text|json       what is printed (text)\n" CLI_RESOLVE_HELP CLI_COMMON_HELP
        CLI_REGISTRY_HELP "\n"
    "Examples:\n"
    "  variantctl index coverage --profiles fleet registry.example/app:1.0\n"
    "  variantctl index coverage --profiles fleet --index index.json\n"
    "  variantctl index coverage --profiles fleet --json oci:images:app\n";

struct request {
    struct cli *cli;
    const char *index_file, *image;
    bool json;
    const char *profiles[COVERAGE_SOURCES_MAX];
    size_t n_profiles;
};

/* ---- hosts ---- */

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
    c->n++;
    return host->path && host->name ? OCV_OK : ocv_error_nomem(err);
}

static int only_json(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > 5 && !strcmp(entry->d_name + len - 5, ".json");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_directory(struct coverage *c, const char *dir, struct ocv_error *err)
{
    struct dirent **names = NULL;
    int n = scandir(dir, &names, only_json, by_bytes), status = OCV_OK;
    if (n < 0)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s cannot be read", dir);
    if (n == 0)
        status = ocv_error_set(err, OCV_ERR_DATA, "%s has no profile (*.json)", dir);
    for (int i = 0; i < n; i++) {
        char path[4096];
        int len = snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
        if (status == OCV_OK)
            status = len < 0 || (size_t)len >= sizeof(path)
                         ? ocv_error_set(err, OCV_ERR_INVALID, "%s: the name is too long", dir)
                         : add_host(c, path, err);
        free(names[i]);
    }
    free(names);
    return status;
}

static int add_source(struct coverage *c, const char *path, struct ocv_error *err)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? add_directory(c, path, err)
                                                       : add_host(c, path, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct coverage_host *const *)a)->name,
                  (*(struct coverage_host *const *)b)->name);
}

/* a/gpu.json and b/gpu.json: the path tells them apart. */
static int tell_apart(struct coverage *c, struct ocv_error *err)
{
    struct coverage_host **sorted = calloc(c->n + 1, sizeof(struct coverage_host *));
    bool failed = !sorted;
    for (size_t i = 0; sorted && i < c->n; i++)
        sorted[i] = &c->hosts[i];
    if (sorted)
        qsort(sorted, c->n, sizeof(*sorted), by_name);
    for (size_t i = 0, end; !failed && i < c->n; i = end) {
        for (end = i + 1; end < c->n && !strcmp(sorted[i]->name, sorted[end]->name); end++)
            ;
        for (size_t k = i; end - i > 1 && k < end && !failed; k++) {
            char *path = strdup(sorted[k]->path);
            size_t len = path ? strlen(path) : 0;
            failed = !path;
            if (len > 5 && !strcmp(path + len - 5, ".json"))
                path[len - 5] = '\0';
            free(sorted[k]->name);
            sorted[k]->name = path;
        }
    }
    free(sorted);
    return failed ? ocv_error_nomem(err) : OCV_OK;
}

static int read_profile(struct cli *cli, struct coverage_host *host, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_auto(ocv_profile) profile = NULL;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    int status = cli_read_file(host->path, &text, err);
    if (status < 0)
        return status;
    status = ocv_profile_parse(text.data ? text.data : "", text.len, &profile, err);
    if (status == OCV_OK)
        status = ocv_config_override_profile(cli->config, profile, &host->profile, err);
    return status < 0 ? ocv_error_prefix(err, "%s", host->path) : OCV_OK;
}

static int resolve_host(struct cli *cli, const struct image *image, struct coverage_host *host,
                        struct ocv_error *err)
{
    const struct ocv_config *config = ocv_config_for_reference(cli->config, image->reference);
    struct ocv_resolve_options how = {.preferences = ocv_config_preferences(config),
                                      .platform = cli->platform,
                                      .label = cli->label,
                                      .unchecked = cli->unchecked};
    int status = ocv_resolve(image->index, host->profile, &how, &host->decision, err);
    return status < 0 ? ocv_error_prefix(err, "%s", host->path) : OCV_OK;
}

/* By a rule, an image's platform is read when it is first chosen, and that makes another index: all
 * hosts choose once before decisions are kept. */
static int settle(struct cli *cli, struct image *image, const struct coverage_host *host,
                  struct ocv_error *err)
{
    ocv_auto(ocv_decision) decision = NULL;
    if (!image->choice)
        return OCV_OK;
    int status = image_resolve_for(cli, image, host->profile, &decision, err);
    return status < 0 ? ocv_error_prefix(err, "%s", host->path) : OCV_OK;
}

/* What one of the hosts knows is no mistake. */
static int check_names(struct cli *cli, const struct coverage *c, const struct image *image,
                       struct ocv_error *err)
{
    const struct ocv_config *config = ocv_config_for_reference(cli->config, image->reference);
    int status = OCV_OK;
    for (size_t i = 0; i < c->n; i++) {
        status = names_check(cli, config, c->hosts[i].profile, image->index, err);
        if (status == OCV_OK)
            break;
    }
    return status;
}

static void free_coverage(struct coverage *c)
{
    for (size_t i = 0; i < c->n; i++) {
        ocv_decision_free(c->hosts[i].decision);
        ocv_profile_free(c->hosts[i].profile);
        free(c->hosts[i].path);
        free(c->hosts[i].name);
    }
    free(c->hosts);
}

static int run(const struct request *r, struct image *image, struct coverage *c,
               struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, COVERAGE_OUTPUT_MAX);
    int status = cli_load(r->cli, err);
    for (size_t i = 0; i < r->n_profiles && status == OCV_OK; i++)
        status = add_source(c, r->profiles[i], err);
    if (status == OCV_OK)
        status = tell_apart(c, err);
    for (size_t i = 0; i < c->n && status == OCV_OK; i++)
        status = read_profile(r->cli, &c->hosts[i], err);
    if (status == OCV_OK)
        status = image_open_either(r->cli, r->index_file, r->image, image, true, err);
    if (status == OCV_OK)
        status = check_names(r->cli, c, image, err);
    for (size_t i = 0; i < c->n && status == OCV_OK; i++)
        status = settle(r->cli, image, &c->hosts[i], err);
    for (size_t i = 0; i < c->n && status == OCV_OK; i++)
        status = resolve_host(r->cli, image, &c->hosts[i], err);
    c->image = image;
    if (status == OCV_OK)
        status = r->json ? coverage_format_json(c, &out, err) : coverage_format(c, &out, err);
    return status == OCV_OK ? cli_print(out.data, out.len, err) : status;
}

int cmd_index_coverage(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct request r = {.cli = cli};
    int value, code = -1;
    while (cli_next_option(cli, argc, argv, options, help, &value, &code)) {
        if (value == OPTION_INDEX)
            r.index_file = optarg;
        else if (value == OPTION_PROFILES && optarg && r.n_profiles < COVERAGE_SOURCES_MAX)
            r.profiles[r.n_profiles++] = optarg;
        else if (value != OPTION_FORMAT || !cli_format(optarg, &r.json))
            return cli_bad_option(cli, argv, value);
    }
    if (code >= 0)
        return code;
    if (cli->profile_file && r.n_profiles < COVERAGE_SOURCES_MAX)
        r.profiles[r.n_profiles++] = cli->profile_file;
    r.image = argv[optind];
    if ((r.index_file != NULL) + (argc - optind) != 1 || r.n_profiles == 0) {
        ocv_error_set(&err, OCV_ERR_INVALID,
                      "index coverage: give --profiles and one IMAGE, oci:DIR[:TAG] or --index");
        return cli_fail(cli, &err);
    }
    struct image image = {0};
    struct coverage coverage = {0};
    int status = run(&r, &image, &coverage, &err);
    free_coverage(&coverage);
    image_close(&image);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
