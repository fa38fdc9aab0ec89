/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executable providers in a probe: run them all, decide which one answers for a namespace, report.
 */
#include "lib/probe/executable/executable.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include "lib/probe/host/host.h"
#include "lib/probe/result/result.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Take what a program printed, as long as the profile has room for it. */
static void take_output(struct ocv_executable *item, const struct ocv_buffer *text, size_t *room)
{
    item->status = ocv_executable_answer(item->name, text->data, text->len, &item->answer,
                                         item->replaces, &item->error);
    if (item->status < 0)
        return;
    ocv_auto_buffer pretty;
    ocv_buffer_init(&pretty, *room);
    item->status = ocv_pretty_append(item->answer, 4, &pretty, &item->error);
    if (item->status < 0) {
        json_decref(item->answer);
        item->answer = NULL;
    }
    if (item->status == OCV_ERR_DATA)
        item->status = ocv_error_set(&item->error, OCV_ERR_DATA,
                                     "what it printed takes the programs' part of the profile over "
                                     "%u bytes",
                                     OCV_EXECUTABLE_PROFILE_MAX);
    else if (item->status == OCV_OK)
        *room -= pretty.len;
}

/* The sysroot is always passed, so that no program forgets to use it. */
static int run_all(const struct ocv_probe_options *options, struct ocv_executables *set,
                   struct ocv_error *err)
{
    static const struct ocv_child none = {0};
    const struct ocv_child_limits limits = {.timeout_ms = options->timeout_ms, .trusted = true};
    ocv_auto_free struct ocv_child *children = calloc(set->n, sizeof(*children));
    ocv_auto_free struct ocv_buffer *texts = calloc(set->n, sizeof(*texts));
    ocv_auto_free const char *(*argv)[5] = calloc(set->n, sizeof(*argv));
    size_t n = 0, room = OCV_EXECUTABLE_PROFILE_MAX;
    int status = OCV_OK;
    if (!children || !texts || !argv)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < set->n; i++) {
        ocv_buffer_init(&texts[i], OCV_CHILD_OUTPUT_MAX);
        if (set->items[i].status < 0)
            continue;
        const char *path = set->items[i].path;
        const char *words[5] = {path, "--sysroot", options->sysroot ? options->sysroot : "/",
                                options->deep ? "--deep" : NULL, NULL};
        memcpy(argv[i], words, sizeof(words));
        children[n++] =
            (struct ocv_child){.path = path, .argv = argv[i], .limits = &limits, .out = &texts[i]};
    }
    ocv_child_run_all(children, n);
    for (size_t i = set->n; i-- > 0;) { /* each to the place of its program */
        const bool ran = set->items[i].status == OCV_OK;
        children[i] = ran ? children[--n] : none;
    }
    for (size_t i = 0; i < set->n; i++) {
        struct ocv_executable *item = &set->items[i];
        if (children[i].path) {
            item->status = children[i].status;
            item->error = children[i].error;
            if (item->status == OCV_OK)
                take_output(item, &texts[i], &room);
            if (item->status < 0 && item->status != OCV_ERR_NOMEM)
                ocv_error_prefix(&item->error, "%s", item->path);
        }
        if (item->status == OCV_ERR_NOMEM)
            status = ocv_error_nomem(err);
        ocv_buffer_free(&texts[i]);
    }
    return status;
}

static const char *namespace_of(const struct ocv_executable *item)
{
    return item->answer ? ocv_json_text(item->answer, "namespace") : NULL;
}

/* All other providers that could answer for a namespace. */
struct other_providers {
    const struct ocv_declarations *declarations;
    const struct provider *const *builtin;
    size_t n_builtin;
};

/* Name of the provider that has the namespace so far, or NULL; `*earlier` if it is a program. */
static const char *owner_of(struct ocv_executables *set, size_t at,
                            const struct other_providers *others, const char *ns,
                            struct ocv_executable **earlier)
{
    *earlier = NULL;
    for (size_t i = 0; i < at; i++)
        if (namespace_of(&set->items[i]) && !set->items[i].replaced &&
            strcmp(namespace_of(&set->items[i]), ns) == 0) {
            *earlier = &set->items[i];
            return set->items[i].name;
        }
    for (size_t i = 0; i < others->declarations->n; i++) {
        const struct ocv_declaration *d = &others->declarations->items[i];
        if (!d->replaced && strcmp(d->ns, ns) == 0)
            return d->name;
    }
    for (size_t i = 0; i < others->n_builtin; i++)
        if (strcmp(others->builtin[i]->ns, ns) == 0)
            return others->builtin[i]->name;
    return NULL;
}

int ocv_executables_open(const struct ocv_probe_options *options, const struct ocv_probe_host *host,
                         const struct ocv_declarations *declarations,
                         const struct provider *const *builtin, size_t n_builtin,
                         struct ocv_executables *out, struct ocv_error *err)
{
    const struct other_providers others = {declarations, builtin, n_builtin};
    __attribute__((cleanup(ocv_executables_free))) struct ocv_executables set = {0};
    char directory[PATH_MAX];
    *out = set;
    /* programs look at this machine, which a file or a dump given by itself need not be of */
    if (options->check || options->pci_dump ||
        !ocv_probe_host_libexec(host, "providers", directory, sizeof(directory)))
        return OCV_OK;
    OCV_TRY(ocv_executables_find(directory, &set, err));
    if (set.n > 0)
        OCV_TRY(run_all(options, &set, err));
    /* every namespace has one provider, or one that another replaces */
    for (size_t i = 0; i < set.n; i++) {
        struct ocv_executable *item = &set.items[i], *earlier;
        const char *ns = namespace_of(item);
        const char *owner = ns ? owner_of(&set, i, &others, ns, &earlier) : NULL;
        if (!ns || (!owner && !item->replaces[0]))
            continue;
        if (owner && strcmp(owner, item->replaces) == 0) {
            if (earlier)
                earlier->replaced = true;
            continue;
        }
        if (item->replaces[0])
            return ocv_error_set(err, OCV_ERR_CONFIG,
                                 "%s: it replaces '%s', but namespace '%s' has %s%s%s", item->path,
                                 item->replaces, ns, owner ? "the provider '" : "no provider",
                                 owner ? owner : "", owner ? "'" : "");
        ocv_error_set(err, OCV_ERR_CONFIG, "%s: namespace '%s' has a provider already: '%s'",
                      item->path, ns, owner);
        ocv_error_hint(err, "the program that should replace it prints \"replaces\": \"%s\"",
                       owner);
        return OCV_ERR_CONFIG;
    }
    *out = set;
    set = (struct ocv_executables){0};
    return OCV_OK;
}

bool ocv_executables_replace(const struct ocv_executables *set, const char *ns, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (namespace_of(&set->items[i]) && strcmp(namespace_of(&set->items[i]), ns) == 0 &&
            strcmp(set->items[i].replaces, name) == 0)
            return true;
    return false;
}

int ocv_executables_report(const struct ocv_executables *set, json_t *namespaces,
                           struct ocv_error *err)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct ocv_executable *item = &set->items[i];
        if (item->answer && !item->replaced && json_array_append(namespaces, item->answer) < 0)
            return ocv_error_nomem(err);
    }
    for (size_t k = 0; k < set->n; k++) {
        const struct ocv_executable *item = &set->items[k];
        size_t i;
        json_t *ns = NULL, *one;
        struct ocv_error joined = {0};
        if (item->status == OCV_OK)
            continue;
        json_array_foreach(namespaces, i, one)
        {
            if (!ns && strcmp(ocv_json_text(one, "namespace"), item->name) == 0)
                ns = one;
        }
        if (!ns) {
            ns = json_pack("{s:s, s:{s:s, s:s}, s:s, s:s, s:[]}", "namespace", item->name,
                           "provider", "name", item->name, "kind", "executable", "status", "failed",
                           "error", item->error.message, "features");
            if (!ns || json_array_append_new(namespaces, ns) < 0)
                return ocv_error_nomem(err);
            continue;
        }
        /* A program answered for the namespace that a failed program is named after, perhaps the
         * one that it was to replace: that answer stands, and says what it lacks. */
        const char *status = ocv_json_text(ns, "status");
        const char *before = ocv_json_text(ns, "error");
        ocv_error_set(&joined, OCV_ERR_IO, "%s%s%s", before ? before : "", before ? "; " : "",
                      item->error.message);
        const char *now = strcmp(status, "ok") == 0       ? "partial"
                          : strcmp(status, "absent") == 0 ? "failed"
                                                          : status;
        if (json_object_set_new(ns, "status", json_string(now)) < 0 ||
            json_object_set_new(ns, "error", json_string(joined.message)) < 0)
            return ocv_error_nomem(err);
    }
    return OCV_OK;
}

void ocv_executables_free(struct ocv_executables *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free(set->items[i].path);
        json_decref(set->items[i].answer);
    }
    free(set->items);
    *set = (struct ocv_executables){0};
}
