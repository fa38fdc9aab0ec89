/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* All alternatives count. One that names a brand and a branch of the driver is NVIDIA's way of
 * saying that the image's forward-compatibility libraries work there. What no alternative admits is
 * told apart by why: machine code runs on older drivers of its CUDA major version, too, unless zstd
 * compressed it, so an older minor one is a warning. */
#include "lib/base/cleanup.h"
#include "lib/internal/content/image_config.h"

#include "gen/config-facts.h"
#include "gen/hints.h"
#include "gen/toolkits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

struct condition_check {
    const struct ocv_requirement *r;
    const struct ocv_gpu_host *host;
    const struct ocv_gpu *gpu;
    bool compat;          /* compatibility libraries are for such GPUs */
    const char *variable; /* "NVIDIA_REQUIRE_CUDA=cuda>=12.8 ..." */
};

/* Does the alternative hold, as far as conditions of `only` go (NULL: all)? An unknown value
 * refuses nothing. */
static bool alternative_holds(const struct condition_check *j, size_t alternative, const char *only)
{
    for (size_t i = 0; i < j->r->n; i++) {
        const struct ocv_condition *c = &j->r->list[i];
        const char *have = !strcmp(c->name, "cuda")     ? j->host->cuda
                           : !strcmp(c->name, "driver") ? j->host->driver
                           : !strcmp(c->name, "arch")   ? j->gpu->arch
                                                        : j->gpu->brand;
        char cut[64];
        if (c->alternative != alternative || (only && strcmp(c->name, only) != 0) || !have ||
            !*have)
            continue;
        if (strcmp(c->name, "driver") == 0) {
            /* "535.161.08" is of branch 535: as many parts count as the condition has. */
            size_t parts = 1, n = 0;
            for (const char *at = strchr(c->value, '.'); at; at = strchr(at + 1, '.'))
                parts++;
            for (; have[n] && (have[n] != '.' || --parts > 0) && n + 1 < sizeof(cut); n++)
                cut[n] = have[n];
            cut[n] = '\0';
            have = cut;
        }
        int order = ocv_version_compare(have, c->value);
        bool holds = !strcmp(c->name, "brand")
                         ? (strcmp(have, c->value) == 0) == (strcmp(c->op, "=") == 0)
                     : !strcmp(c->op, "=")  ? order == 0
                     : !strcmp(c->op, "!=") ? order != 0
                     : !strcmp(c->op, "<")  ? order < 0
                     : !strcmp(c->op, "<=") ? order <= 0
                     : !strcmp(c->op, ">")  ? order > 0
                                            : order >= 0;
        if (!holds)
            return false;
    }
    return true;
}

static bool names_variable(const struct ocv_requirement *r, size_t alternative, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->list[i].alternative == alternative && strcmp(r->list[i].name, name) == 0)
            return true;
    return false;
}

#define NO_COMPAT "; the compatibility libraries in it are not for %s, and fail there (error 804)"

static void report_cuda(const struct condition_check *j, const char *least,
                        struct ocv_config_finding *out)
{
    const char *driver = j->host->driver && *j->host->driver ? j->host->driver : "here";
    unsigned long wanted = strtoul(least, NULL, 10), have = strtoul(j->host->cuda, NULL, 10);
    if (wanted > have) {
        char property[128];
        const char *needs = NULL;
        snprintf(property, sizeof(property),
                 OCV_TOOLKIT_NAMESPACE " :: " OCV_TOOLKIT_VERSION " :: %lu.0", wanted);
        for (size_t i = 0; i < COUNT(ocv_hints) && !needs; i++)
            if (strcmp(ocv_hints[i].property, property) == 0)
                needs = ocv_hints[i].needs;
        out->fit = OCV_CONFIG_MISFIT;
        snprintf(out->reason, sizeof(out->reason),
                 "this image is built for CUDA %s; driver %s runs %lu: %s", least, driver, have,
                 needs ? needs : "a newer driver");
        return;
    }
    out->fit = OCV_CONFIG_WARNING;
    bool branches = false; /* the image has such libraries for branches that it lists */
    for (size_t a = 0; a < j->r->alternatives; a++)
        branches =
            branches || (names_variable(j->r, a, "brand") && names_variable(j->r, a, "driver"));
    bool unread = ocv_version_compare(j->host->cuda, OCV_TOOLKIT_ZSTD) < 0 &&
                  have == strtoul(OCV_TOOLKIT_ZSTD, NULL, 10) &&
                  ocv_version_compare(least, OCV_TOOLKIT_ZSTD) > 0;
    int n = snprintf(out->reason, sizeof(out->reason),
                     "this image is built for CUDA %s; driver %s has %s, and runs it by CUDA "
                     "minor-version compatibility, without what is newer%s",
                     least, driver, j->host->cuda,
                     unread ? "; not code that is compressed with zstd, which drivers read from "
                              "CUDA " OCV_TOOLKIT_ZSTD " on"
                            : "");
    if (branches && !j->compat && n > 0 && (size_t)n < sizeof(out->reason))
        snprintf(out->reason + n, sizeof(out->reason) - (size_t)n, NO_COMPAT,
                 j->gpu->name ? j->gpu->name : "this GPU");
}

static void check_gpu(const struct condition_check *j, struct ocv_config_finding *out)
{
    bool met = false, plain = false, arch = false;
    *out = (struct ocv_config_finding){.fit = OCV_CONFIG_FITS};
    for (size_t a = 0; a < j->r->alternatives; a++) {
        bool holds_all = alternative_holds(j, a, NULL);
        met = met || holds_all;
        plain = plain || (holds_all &&
                          !(names_variable(j->r, a, "brand") && names_variable(j->r, a, "driver")));
        arch = arch || alternative_holds(j, a, "arch");
    }
    /* The lowest CUDA that an alternative asks for which is open to this GPU on any driver; NULL:
     * none does. */
    const char *least = NULL;
    for (size_t a = 0; a < j->r->alternatives; a++) {
        const char *bound = NULL;
        bool open = !names_variable(j->r, a, "driver") && alternative_holds(j, a, "arch") &&
                    alternative_holds(j, a, "brand");
        for (size_t i = 0; i < j->r->n && open; i++) {
            const struct ocv_condition *c = &j->r->list[i];
            bool lower = !strcmp(c->op, ">=") || !strcmp(c->op, ">") || !strcmp(c->op, "=");
            if (c->alternative == a && !strcmp(c->name, "cuda") && lower &&
                (!bound || ocv_version_compare(c->value, bound) > 0))
                bound = c->value;
        }
        if (bound && (!least || ocv_version_compare(bound, least) < 0))
            least = bound;
    }
    if (met || !j->r->alternatives) {
        if (!met || plain || j->compat)
            return;
        const char *built = ocv_requirement_least(j->r, "cuda");
        out->fit = OCV_CONFIG_WARNING;
        snprintf(out->reason, sizeof(out->reason),
                 "this image is built for CUDA %s, newer than driver %s" NO_COMPAT,
                 built ? built : "of its own", j->host->driver ? j->host->driver : "here",
                 j->gpu->name ? j->gpu->name : "this GPU");
    } else if (!arch) {
        out->fit = OCV_CONFIG_MISFIT;
        snprintf(out->reason, sizeof(out->reason),
                 "this image is not for compute capability %s (%s): %.120s%s", j->gpu->arch,
                 j->gpu->name ? j->gpu->name : "a GPU here", j->variable,
                 strlen(j->variable) > 120 ? "..." : "");
    } else if (least && j->host->cuda && ocv_version_compare(j->host->cuda, least) < 0)
        report_cuda(j, least, out);
    else {
        out->fit = OCV_CONFIG_WARNING;
        snprintf(out->reason, sizeof(out->reason), "%s does not meet %.160s%s",
                 j->gpu->name ? j->gpu->name : "a GPU here", j->variable,
                 strlen(j->variable) > 160 ? "..." : "");
    }
}

int ocv_config_check(const struct ocv_image_config *config, const struct ocv_gpu_host *host,
                     struct ocv_config_finding *out, struct ocv_error *err)
{
    const char *off = ocv_image_config_variable(config, OCV_REQUIREMENT_OFF), *text;
    size_t at = 0;
    *out = (struct ocv_config_finding){.fit = OCV_CONFIG_NO_WORD};
    if (!host->n || (off && (!strcmp(off, "1") || !strcmp(off, "true"))))
        return OCV_OK;
    while ((text = ocv_image_config_next(config, OCV_REQUIREMENT_PREFIX, &at))) {
        ocv_auto_requirement requirement = {0};
        struct ocv_config_finding one = {.fit = OCV_CONFIG_WARNING};
        struct ocv_error why = {0};
        const char *equals = strchr(text, '=');
        int status = ocv_requirement_parse(equals + 1, &requirement, &why);
        if (status == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
        if (status < 0) {
            snprintf(one.reason, sizeof(one.reason), "%.*s cannot be read: %.200s",
                     (int)(equals - text > 100 ? 100 : equals - text), text, why.message);
            if (one.fit > out->fit)
                *out = one;
            continue;
        }
        for (size_t i = 0; i < host->n; i++) {
            const struct ocv_gpu *gpu = &host->gpus[i];
            struct condition_check j = {&requirement, host, gpu, true, text};
            for (size_t k = 0; gpu->brand && k < COUNT(config_without_compat); k++)
                j.compat = j.compat && strcmp(config_without_compat[k].a, gpu->brand) != 0;
            check_gpu(&j, &one);
            if (one.fit > out->fit)
                *out = one;
        }
    }
    return OCV_OK;
}

const char *ocv_config_fit_name(enum ocv_config_fit fit)
{
    static const char *const all[] = {"none", "fits", "warning", "misfit"};
    return all[fit];
}
