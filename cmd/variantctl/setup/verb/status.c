/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports what is set up: the recorded state compared with the files as they are now. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "cmd/variantctl/setup/verb/run.h"

#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdio.h>
#include <string.h>

#define WARNING "  WARNING: "
#define SCHEMA "dev.ocivariant.setup-status/v1"

#define CHANGED "changed since by others"
#define KEPT "changed since by others, and has what the set-up wrote"

static const char *record_status(struct setup *setup, const struct setup_record *record)
{
    struct setup_file *file = NULL;
    char digest[OCV_DIGEST_MAX] = "";
    struct ocv_error err = {0};
    if (setup_open(setup, record->path, &file, &err) < 0)
        return "cannot be read";
    if (!file->disk.there)
        return "missing";
    if (ocv_digest_bytes(file->disk.text.data, file->disk.text.len, digest, &err) < 0)
        return "cannot be read";
    if (record->n_written && strcmp(digest, record->written[0]) == 0)
        return "as written";
    if (strcmp(digest, record->before) == 0)
        return "as it was before the set-up";
    /* It is kept if each of our parts can still be removed from it. */
    bool all = record->n_own > 0;
    for (size_t i = 0; i < record->n_own && all; i++) {
        ocv_auto_buffer text;
        ocv_buffer_init(&text, SETUP_FILE_MAX);
        all = ocv_buffer_append(&text, file->disk.text.data, file->disk.text.len, NULL) == OCV_OK &&
              setup_own_remove(&record->own[i], record->path, &text, NULL) == OCV_OK &&
              (text.len != file->disk.text.len ||
               memcmp(text.data, file->disk.text.data, text.len) != 0);
    }
    return all ? KEPT : CHANGED;
}

/* Indexed by enum setup_mirror. */
static const char *const answers[] = {"unknown", "variantd", "nobody", "foreign", "elsewhere"};

static json_t *engine_json(struct setup *setup, const struct setup_state *state)
{
    if (!state->there)
        return json_pack("{s:s, s:b}", "engine", setup->engine, "setUp", 0);
    json_t *registries = json_array(), *unknown = json_array(), *files = json_array();
    for (size_t i = 0; i < state->n_registries; i++) {
        json_array_append_new(registries, json_string(state->registries[i]));
        if (!*setup->root && setup_registry_known(setup, state->registries[i]) != SETUP_KNOWN)
            json_array_append_new(unknown, json_string(state->registries[i]));
    }
    for (size_t i = 0; i < state->n_records; i++)
        json_array_append_new(files, json_pack("{s:s, s:s}", "path", state->records[i].path,
                                               "state", record_status(setup, &state->records[i])));
    char detail[SETUP_ADDRESS_MAX] = "";
    enum setup_mirror found =
        state->listen ? setup_check_mirror(setup, state->listen, detail) : SETUP_MIRROR_UNKNOWN;
    json_t *mirror = json_pack("{s:s, s:s?, s:s?}", "answers", answers[found], "user",
                               found == SETUP_MIRROR_FOREIGN ? detail : NULL, "variantd",
                               found == SETUP_MIRROR_ELSEWHERE ? detail : NULL);
    /* What goes past the mirror now; a configuration that cannot be read is named by `files`. */
    const struct setup_engine *engine = setup_find_engine(setup->engine);
    json_t *passed_by = json_array();
    struct ocv_error err = {0};
    if (passed_by && state->listen && engine && engine->passed_by &&
        engine->passed_by(setup, state, passed_by, &err) < 0)
        json_array_append_new(passed_by, json_pack("{s:n, s:s}", "registry", "file", err.message));
    return json_pack("{s:s, s:b, s:s?, s:s, s:o, s:o, s:o, s:o, s:o}", "engine", setup->engine,
                     "setUp", 1, "listen", state->listen, "fail",
                     state->fail_closed ? "closed" : "open", "registries", registries,
                     "notInVariantd", unknown, "mirror", mirror, "passedBy", passed_by, "files",
                     files);
}

static int print_mirror(const json_t *engine, struct ocv_buffer *out, struct ocv_error *err)
{
    const json_t *mirror = json_object_get(engine, "mirror");
    const char *found = ocv_json_text_or(mirror, "answers", "?"),
               *listen = ocv_json_text_or(engine, "listen", "?");
    if (strcmp(found, "foreign") == 0)
        return ocv_buffer_printf(out, err,
                                 "  WARNING: not variantd, but a program of user %s listens at %s, "
                                 "and answers this engine's pulls (ss -ltnp)\n",
                                 ocv_json_text_or(mirror, "user", "?"), listen);
    if (strcmp(found, "elsewhere") == 0)
        return ocv_buffer_printf(out, err,
                                 "  WARNING: variantd listens at %s, not at %s: run `variantctl "
                                 "setup %s` again\n",
                                 ocv_json_text_or(mirror, "variantd", "?"), listen,
                                 ocv_json_text_or(engine, "engine", "?"));
    if (strcmp(found, "nobody") == 0)
        return ocv_buffer_printf(out, err, "  nothing listens at %s: variantd is not running\n",
                                 listen);
    return OCV_OK;
}

/* Where engines ask, which may differ from where a daemon would listen now, and what they do
 * without one. */
static int print_daemon(const json_t *root, struct ocv_buffer *out, struct ocv_error *err)
{
    size_t i;
    const json_t *engine, *daemon = json_object_get(root, "variantd");
    const char *listen = ocv_json_text_or(daemon, "listen", "?");
    bool any = false, open = false, closed = false;
    if (json_is_null(daemon))
        return OCV_OK;
    if (json_is_true(json_object_get(daemon, "answers"))) {
        const char *choose = ocv_json_text(daemon, "choose");
        bool serves = !choose || strcmp(choose, "on") == 0;
        return ocv_buffer_printf(out, err, "variantd: answers at %s%s%s%s\n", listen,
                                 serves ? "" : "; choose is ", serves ? "" : choose,
                                 serves ? "" : ": engines take the default");
    }
    json_array_foreach(json_object_get(root, "engines"), i, engine)
    {
        if (!json_is_true(json_object_get(engine, "setUp")))
            continue;
        listen = any ? listen : ocv_json_text_or(engine, "listen", "?");
        any = true;
        open = open || strcmp(ocv_json_text_or(engine, "fail", "?"), "open") == 0;
        closed = closed || strcmp(ocv_json_text_or(engine, "fail", "?"), "closed") == 0;
    }
    return ocv_buffer_printf(out, err, "variantd: not answering at %s%s%s%s\n", listen,
                             any ? ": " : "", open ? "engines take the default" : "",
                             !closed ? ""
                             : open  ? ", and fail-closed ones cannot pull"
                                     : "engines cannot pull (fail-closed)");
}

/* True if it is as written, or still has our part. */
static bool is_kept(const json_t *file)
{
    const char *state = ocv_json_text_or(file, "state", "?");
    return strcmp(state, "as written") == 0 || strcmp(state, KEPT) == 0;
}

static int print_engine(const json_t *engine, const json_t *told, struct ocv_buffer *out,
                        struct ocv_error *err)
{
    size_t i;
    const json_t *item;
    const char *name = ocv_json_text_or(engine, "engine", "?");
    bool closed = strcmp(ocv_json_text_or(engine, "fail", "?"), "closed") == 0, bad = false;
    bool lost = json_array_size(json_object_get(engine, "passedBy"));
    if (!json_is_true(json_object_get(engine, "setUp")))
        return ocv_buffer_printf(out, err, "%s: not set up\n", name);
    OCV_TRY(ocv_buffer_printf(out, err, "%s: set up for variantd at %s, fail-%s", name,
                              ocv_json_text_or(engine, "listen", "?"),
                              ocv_json_text_or(engine, "fail", "?")));
    json_array_foreach(json_object_get(engine, "registries"), i, item)
    {
        OCV_TRY(ocv_buffer_printf(out, err, "%s%s", i ? ", " : "; ", json_string_value(item)));
    }
    OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    OCV_TRY(print_mirror(engine, out, err));
    json_array_foreach(json_object_get(engine, "notInVariantd"), i, item)
    {
        OCV_TRY(ocv_buffer_printf(
            out, err, "  WARNING: %s is not in variantd's registries: its images %s\n",
            json_string_value(item), closed ? "cannot be pulled" : "are served without a choice"));
    }
    json_array_foreach(json_object_get(engine, "passedBy"), i, item)
    {
        const char *registry = ocv_json_text(item, "registry"),
                   *file = ocv_json_text_or(item, "file", "?");
        if (!registry)
            OCV_TRY(ocv_buffer_printf(
                out, err, "  WARNING: %s: no hosts.toml is read, so variantd is not asked\n",
                file));
        else
            OCV_TRY(ocv_buffer_printf(
                out, err, "  WARNING: %s does not ask variantd first: pulls of %s go past it\n",
                file, strcmp(registry, "_default") == 0 ? "all other registries" : registry));
    }
    OCV_TRY(setup_reach_lines(told, name, json_object_get(engine, "registries"), WARNING, &bad, out,
                              err));
    json_array_foreach(json_object_get(engine, "files"), i, item)
    {
        OCV_TRY(ocv_buffer_printf(out, err, "  %s: %s\n", ocv_json_text_or(item, "path", "?"),
                                  ocv_json_text_or(item, "state", "?")));
        lost = lost || !is_kept(item);
    }
    if (!lost)
        return OCV_OK;
    return ocv_buffer_printf(
        out, err, "  to write it again: variantctl setup %s, with the options of before\n", name);
}

/* False if a file has lost our part, others' files go past it, variantd lacks a registry, or
 * variantd does not answer.
 * `*any`: an engine is set up. */
static bool is_good(const json_t *engine, bool *any)
{
    size_t i;
    const json_t *file;
    const char *found = ocv_json_text_or(json_object_get(engine, "mirror"), "answers", "?");
    *any = *any || json_is_true(json_object_get(engine, "setUp"));
    if (strcmp(found, "foreign") == 0 || strcmp(found, "elsewhere") == 0 ||
        strcmp(found, "nobody") == 0 || json_array_size(json_object_get(engine, "notInVariantd")) ||
        json_array_size(json_object_get(engine, "passedBy")))
        return false;
    json_array_foreach(json_object_get(engine, "files"), i, file)
    {
        if (!is_kept(file))
            return false;
    }
    return true;
}

/* The daemon's report on the registries of the engines that are set up. */
static int check_registries(const json_t *told, const json_t *engines, bool *good,
                            struct ocv_buffer *out, struct ocv_error *err)
{
    size_t i;
    const json_t *engine;
    bool bad = false;
    ocv_auto_buffer unused;
    ocv_buffer_init(&unused, SETUP_STATE_MAX);
    OCV_TRY(setup_reach_lines(told, NULL, NULL, WARNING, &bad, out, err));
    json_array_foreach(engines, i, engine)
    {
        if (json_is_true(json_object_get(engine, "setUp")))
            OCV_TRY(setup_reach_lines(told, ocv_json_text_or(engine, "engine", "?"),
                                      json_object_get(engine, "registries"), "", &bad, &unused,
                                      err));
    }
    *good = *good && !bad;
    return OCV_OK;
}

int setup_show_status(struct setup *setup, const char *name, struct ocv_error *err)
{
    ocv_auto_buffer out, warnings;
    ocv_buffer_init(&out, SETUP_STATE_MAX);
    ocv_buffer_init(&warnings, SETUP_STATE_MAX);
    json_t *engines = json_array();
    ocv_auto_json *told = setup_ask_registries(setup);
    const struct setup_daemon *found = setup->daemon;
    json_t *daemon = *setup->root /* nothing is known of the daemon of another tree */
                         ? json_null()
                         : json_pack("{s:b, s:s, s:s?, s:O?}", "answers", found != NULL, "listen",
                                     found ? found->listen : setup->listen, "choose",
                                     found && *found->choose ? found->choose : NULL, "registries",
                                     found ? found->registries : NULL);
    ocv_auto_json *root =
        json_pack("{s:s, s:o, s:O?, s:o}", "schema", SCHEMA, "variantd", daemon, "registries",
                  json_object_get(told, "registries"), "engines", engines);
    if (!root)
        return ocv_error_nomem(err);
    for (const struct setup_engine *engine = setup_engines; engine->name; engine++) {
        struct setup_state state;
        if (name && strcmp(name, engine->name) != 0)
            continue;
        setup->engine = engine->name;
        OCV_TRY(setup_load_state(setup, &state, err));
        int failed = json_array_append_new(engines, engine_json(setup, &state));
        setup_state_free(&state);
        if (failed)
            return ocv_error_nomem(err);
    }

    bool any = false, good = true, as_json = setup->format && strcmp(setup->format, "json") == 0;
    OCV_TRY(check_registries(told, engines, &good, &warnings, err));
    if (!as_json)
        OCV_TRY(print_daemon(root, &out, err));
    if (!as_json && warnings.len)
        OCV_TRY(ocv_buffer_append(&out, warnings.data, warnings.len, err));
    for (size_t i = 0; i < json_array_size(engines); i++) {
        const json_t *one = json_array_get(engines, i);
        const struct setup_engine *known = setup_find_engine(ocv_json_text_or(one, "engine", "?"));
        /* one that this version no longer sets up, and that is not set up */
        bool past = known && !known->plan && !json_is_true(json_object_get(one, "setUp"));
        good = is_good(one, &any) && good;
        if (!as_json && (json_array_size(engines) == 1 || !past))
            OCV_TRY(print_engine(one, told, &out, err));
    }
    OCV_TRY(as_json ? print_document(json_incref(root), err) : cli_print(out.data, out.len, err));
    if (!(any && good)) {
        *err = (struct ocv_error){0}; /* of a query whose result is optional */
        return OCV_ERR_CHECK;
    }
    return OCV_OK;
}
