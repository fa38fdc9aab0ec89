/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a set-up: plan, print or write, report. */
#include "cmd/variantctl/setup/verb/run.h"
#include "cmd/variantctl/setup/setup_internal.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

const struct setup_engine setup_engines[] = {
    {"containerd", setup_containerd, setup_containerd_passed_by, false,
     "systemctl restart containerd", &setup_containerd_command},
    {"docker", setup_docker, setup_docker_passed_by, true, "systemctl reload docker",
     &setup_docker_command},
    {"podman", setup_containers, setup_containers_passed_by, true, NULL, &setup_podman_command},
    {"crio", setup_containers, setup_containers_passed_by, true, "systemctl reload crio",
     &setup_crio_command},
    /* can only be undone: earlier versions set it up */
    {"buildkit", NULL, NULL, false, "systemctl restart buildkit", NULL},
    {NULL, NULL, NULL, false, NULL, NULL},
};

#define GONE_MAX 1000u /* limit for attempts to lock it while others remove it */

const struct setup_engine *setup_find_engine(const char *name)
{
    const struct setup_engine *engine = setup_engines;
    while (engine->name && (!name || strcmp(engine->name, name) != 0))
        engine++;
    return engine->name ? engine : NULL;
}

/* One run at a time: a second one waits and then sees the first one's state. The lock's holder
 * removes the directory if it is empty, perhaps just before another run opens it. */
static int lock_state(struct setup *setup, int *fd, struct ocv_error *err)
{
    struct stat st = {0};
    for (unsigned gone = 0;; gone++) {
        OCV_TRY(setup_note_directories(setup, setup->state_dir, err));
        errno = 0;
        int status = setup_make_directories(setup, setup->state_dir, 0700, fd, err);
        if (status == OCV_ERR_IO && errno == ENOENT && gone < GONE_MAX)
            continue;
        if (status < 0)
            return status;
        if (flock(*fd, LOCK_EX) < 0 || fstat(*fd, &st) < 0)
            return ocv_error_set(err, OCV_ERR_IO, "%s%s: cannot lock: %s", setup->root,
                                 setup->state_dir, strerror(errno));
        if (st.st_nlink > 0)
            break;
        close(*fd);
        *fd = -1;
    }
    if (err)
        *err = (struct ocv_error){0};
    return OCV_OK;
}

static int plan_and_apply(struct setup *setup, const struct setup_engine *engine,
                          enum setup_action action, bool dry_run, struct ocv_error *err)
{
    OCV_TRY(setup_undo(setup, err));
    if (action == SETUP_ACTION_SETUP) {
        OCV_TRY(engine->plan(setup, err));
        OCV_TRY(setup_check_registries(setup, err));
    }
    /* hosts.toml is read at every pull; other files only when the engine starts or reloads */
    size_t changes = 0;
    bool read_once = false;
    for (size_t i = 0; i < setup->n_files; i++)
        if (setup_changes(setup->files[i])) {
            changes++;
            read_once = read_once || !ocv_text_ends(setup->files[i]->path, "/hosts.toml");
        }
    if (!read_once)
        setup->restart[0] = '\0';
    else if (action == SETUP_ACTION_UNINSTALL && engine->restart)
        snprintf(setup->restart, sizeof(setup->restart), "%s", engine->restart);
    FILE *out = dry_run ? stderr : stdout; /* standard output is then a diff for patch */
    if (setup->notes.len)
        fputs(setup->notes.data, out);
    if (!dry_run)
        OCV_TRY(setup_apply(setup, err));
    for (size_t i = 0; i < setup->n_files && dry_run; i++) {
        const struct setup_file *file = setup->files[i];
        if (setup_changes(file))
            OCV_TRY(setup_print_diff(file->path, &file->disk, &file->want, err));
    }
    bool ours = false;
    for (size_t i = 0; i < setup->n_files; i++)
        ours = ours || setup_is_ours(setup->files[i]);
    if (changes == 0 && action == SETUP_ACTION_SETUP)
        fputs(ours ? "nothing to change: already set up\n"
                   : "nothing to change: the files have these settings already, and stay their "
                     "owner's\n",
              out);
    else if (changes == 0)
        fprintf(out,
                setup->installed ? "%s: nothing is left of the set-up\n" : "%s is not set up\n",
                setup->engine);
    if (changes && setup->restart[0])
        fprintf(out, setup->root[0] ? "due on the machine of %s: %s\n" : "due now%s: %s\n",
                setup->root, setup->restart);
    if (action == SETUP_ACTION_SETUP && changes)
        fputs(
            "note: a mirrored tag always means this machine's platform; engines do not pass "
            "on\n      --platform or `skopeo copy --all`. For another platform use a digest, "
            "vpull --platform or --label, variantd's /raw/\n"
            "note: what this engine builds starts from images for this machine, too: variants, and "
            "with\n      `cpu_levels: on` amd64 levels. Build images for others elsewhere, or "
            "from digests\n",
            out);
    if (action == SETUP_ACTION_SETUP && setup->fail_closed)
        fputs("note: fail-closed: without variantd, or for a registry that it is not configured "
              "for, pulls fail\n",
              out);
    return OCV_OK;
}

int setup_run(struct setup *setup, const struct setup_engine *engine, enum setup_action action,
              bool dry_run, struct ocv_error *err)
{
    if (action == SETUP_ACTION_SETUP && !engine->plan)
        return ocv_error_set(
            err, OCV_ERR_INVALID,
            "setup %s was removed: in buildkitd.toml write mirrors = [\"%s\"] under "
            "[registry.\"HOST\"] and http = true under [registry.\"%s\"], or "
            "build from digests (docs/configuration.md, Builds)",
            engine->name, setup->listen, setup->listen);
    if (action == SETUP_ACTION_SETUP && engine->needs_registry && setup->n_registries == 0) {
        ocv_error_set(err, OCV_ERR_INVALID, "setup %s needs --registry HOST, at least once",
                      engine->name);
        ocv_error_hint(err, "every tag of that registry will mean this machine's variant there");
        return OCV_ERR_INVALID;
    }
    int fd = -1, status = dry_run ? OCV_OK : lock_state(setup, &fd, err);
    if (status == OCV_OK)
        status = plan_and_apply(setup, engine, action, dry_run, err);
    if (fd >= 0) {
        setup_remove_directory(setup, setup->state_dir); /* stays while it has a state */
        setup_remove_directories(setup);
        close(fd);
    }
    return status;
}

int setup_uninstall_all(struct setup *setup, bool dry_run, struct ocv_error *err)
{
    bool any = false;
    int result = OCV_OK;
    for (const struct setup_engine *engine = setup_engines; engine->name; engine++) {
        struct setup_state state;
        struct ocv_error own = {0};
        setup->engine = engine->name;
        int status = setup_load_state(setup, &state, &own);
        bool there = status == OCV_OK && state.there;
        if (status == OCV_OK)
            setup_state_free(&state);
        if (there)
            status = setup_run(setup, engine, SETUP_ACTION_UNINSTALL, dry_run, &own);
        any = any || there || status < 0;
        setup_reset_plan(setup);
        if (status < 0 && result < 0)
            cli_fail(setup->cli, &own);
        if (status < 0 && result == OCV_OK) {
            result = status;
            *err = own;
        }
    }
    if (!dry_run)
        setup_remove_directories(setup); /* including those that held another engine's files */
    if (!any)
        fputs("nothing is set up\n", dry_run ? stderr : stdout);
    return result;
}
