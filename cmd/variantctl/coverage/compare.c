/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resolves the same images for the same fleet with two data directories. Tag rules and providers
 * come from each; the program, the administrator's rules and the configuration are the same. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/coverage/coverage.h"

#include "lib/base/arena.h"
#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIDES 2

struct side {
    const char *datadir;
    struct coverage fleet;
    struct coverage_choice *choices; /* by host */
};

static int read_side(const struct coverage_request *r, const char *datadir, struct side *side,
                     struct ocv_error *err)
{
    side->datadir = r->cli->datadir = datadir;
    static const char *const parts[] = {"tags.d", "providers"};
    char path[4096];
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && datadir; i++) {
        snprintf(path, sizeof(path), "%.4000s/%s", datadir, parts[i]);
        if (access(path, R_OK) < 0)
            return ocv_error_set(err, OCV_ERR_CONFIG, "%s is not a data directory: it has no %s",
                                 datadir, parts[i]);
    }

    OCV_TRY(coverage_read_hosts(r, &side->fleet, err));
    side->choices = calloc(side->fleet.n + 1, sizeof(*side->choices));
    return side->choices ? OCV_OK : ocv_error_nomem(err);
}

/* An answer of the rules for the name, including that nothing fits. */
static bool is_answer(int status)
{
    return status == OCV_ERR_NOT_FOUND || status == OCV_ERR_DATA;
}

static int decide_side(struct cli *cli, const char *text, struct side *side, struct ocv_error *err)
{
    ocv_auto_image image = {0};
    struct ocv_error why = {0};
    char name[80];
    memset(side->choices, 0, side->fleet.n * sizeof(*side->choices));
    cli->datadir = side->datadir;
    int status = image_open_by_rule(cli, text, &image, &why);
    if (status == OCV_OK)
        status = coverage_decide(cli, &image, &side->fleet, &why);
    for (size_t i = 0; i < side->fleet.n; i++) {
        const struct ocv_entry *entry = status < 0 ? NULL : coverage_gets(&side->fleet.hosts[i]);
        struct coverage_choice *choice = &side->choices[i];
        if (is_answer(status))
            snprintf(choice->problem, sizeof(choice->problem), "%.255s", why.message);
        if (!entry)
            continue;
        const char *tag = image_tag(&image, entry);
        snprintf(choice->digest, sizeof(choice->digest), "%s", entry->digest);
        snprintf(choice->name, sizeof(choice->name), "%s",
                 tag ? tag : explain_name(image.index, entry, name, sizeof(name)));
    }
    coverage_forget(&side->fleet);
    if (status < 0)
        *err = why;
    return status;
}

static int compare_image(struct cli *cli, const char *text, struct side sides[SIDES],
                         struct coverage_changes *changes, struct ocv_error *err)
{
    int of[SIDES];
    for (size_t i = 0; i < SIDES; i++) {
        of[i] = decide_side(cli, text, &sides[i], err);
        if (of[i] < 0 && !is_answer(of[i]))
            return of[i];
    }
    if (of[0] < 0 && of[1] < 0 && of[1] != OCV_ERR_DATA) /* not caused by the rules */
        return of[1];
    if (of[0] < 0 && of[1] < 0)
        cli_warn(cli, "by neither: %s", err->message);
    bool same = sides[0].fleet.n == sides[1].fleet.n;
    for (size_t i = 0; same && i < sides[0].fleet.n; i++)
        same = !strcmp(sides[0].fleet.hosts[i].path, sides[1].fleet.hosts[i].path);
    if (!same)
        return ocv_error_set(err, OCV_ERR_DATA, "the profiles changed while they were read");
    for (size_t i = 0; i < sides[0].fleet.n; i++) {
        const struct coverage_host *host = &sides[0].fleet.hosts[i];
        const struct coverage_choice *was = &sides[0].choices[i], *is = &sides[1].choices[i];
        if (!strcmp(was->digest, is->digest)) /* so it is for different reasons for no choice */
            continue;
        struct coverage_change *change = ocv_array_grow(&changes->list, changes->n);
        if (!change)
            return ocv_error_nomem(err);
        changes->n++;
        change->image = strdup(text);
        change->host = strdup(host->name);
        change->profile = strdup(host->path);
        change->before = *was;
        change->after = *is;
        if (!change->image || !change->host || !change->profile)
            return ocv_error_nomem(err);
    }
    return OCV_OK;
}

static int compare_sides(const struct coverage_request *r, struct side sides[SIDES],
                         struct coverage_changes *changes, int *code, struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, COVERAGE_OUTPUT_MAX);
    OCV_TRY(cli_load(r->cli, err));
    OCV_TRY(read_side(r, r->before, &sides[0], err));
    OCV_TRY(read_side(r, r->after, &sides[1], err));
    changes->hosts = sides[0].fleet.n;
    /* All images are tried; the exit code is the first failure's. */
    for (size_t i = 0; i < r->n_images; i++) {
        struct ocv_error why = {0};
        if (compare_image(r->cli, r->images[i], sides, changes, &why) == OCV_OK)
            continue;
        int failed = cli_fail(r->cli, &why);
        *code = *code ? *code : failed;
        changes->images--;
    }
    OCV_TRY(r->json ? coverage_changes_format_json(changes, &out, err)
                    : coverage_changes_format(changes, &out, err));
    return cli_print(out.data, out.len, err);
}

int coverage_compare(const struct coverage_request *r)
{
    struct ocv_error err = {0};
    struct side sides[SIDES] = {{0}};
    struct coverage_changes changes = {
        .before = r->before, .after = r->after, .images = r->n_images};
    int code = 0, status = compare_sides(r, sides, &changes, &code, &err);
    code = status < 0 ? cli_fail(r->cli, &err) : code ? code : changes.n ? 5 : 0;
    for (size_t i = 0; i < SIDES; i++) {
        coverage_free(&sides[i].fleet);
        free(sides[i].choices);
    }
    for (size_t i = 0; i < changes.n; i++) {
        free(changes.list[i].image);
        free(changes.list[i].host);
        free(changes.list[i].profile);
    }
    free(changes.list);
    return code;
}
