/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/engines/engines.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <string.h>

/* `verify --help` and the message of find() name them, too. */
static const struct engine *const engines[] = {&engine_docker, &engine_podman, &engine_containerd,
                                               &engine_cri, &engine_layout};
#define ENGINES (sizeof(engines) / sizeof(*engines))

/* A path may follow the name; anything else has to. */
static bool stands_alone(const struct engine *e)
{
    return !e->argument || *e->argument == '/';
}

static const struct engine *find(const char *where, struct ocv_error *err)
{
    const char *names[ENGINES];
    char question[OCV_NEAREST_QUESTION_MAX];
    size_t n = strcspn(where, ":"), n_names = 0;
    for (size_t i = 0; i < ENGINES; i++) {
        const struct engine *e = engines[i];
        bool fits = where[n] ? e->argument && (*e->argument != '/' || where[n + 1] == '/')
                             : stands_alone(e);
        if (fits && strncmp(e->name, where, n) == 0 && !e->name[n])
            return e;
        if (stands_alone(e))
            names[n_names++] = e->name;
    }
    const char *meant = ocv_nearest(where, names, n_names);
    ocv_error_set(err, OCV_ERR_INVALID,
                  "invalid value '%.100s' for --from: docker, podman, containerd, cri[:/SOCKET] or "
                  "oci:DIR%s",
                  where, ocv_nearest_question(meant, question));
    return NULL;
}

int local_images(const char *where, const struct ocv_profile *profile, local_image_visit visit,
                 void *data, struct ocv_error *err)
{
    const struct engine *engine = find(where, err);
    struct engine_walk walk = {.where = where, .profile = profile, .visit = visit, .data = data};
    return engine ? engine->images(&walk, err) : OCV_ERR_INVALID;
}

int local_containers(const char *where, local_image_visit visit, void *data, struct ocv_error *err)
{
    const struct engine *engine = find(where, err);
    struct engine_walk walk = {.where = where, .visit = visit, .data = data};
    if (!engine)
        return OCV_ERR_INVALID;
    return engine->containers ? engine->containers(&walk, err) : OCV_OK;
}

bool local_images_complete(struct ocv_completion *c, const char *kind)
{
    if (strcmp(kind, "PLACE") != 0)
        return false;
    for (size_t i = 0; i < ENGINES; i++)
        if (stands_alone(engines[i]))
            ocv_complete_offer(c, engines[i]->name, NULL);
    complete_layout(c, "");
    return true;
}

int local_walk(const struct local_walk *walk, struct ocv_error *err)
{
    const size_t named = walk->named->n, n = named ? named : ENGINES;
    for (size_t i = 0; i < n; i++) {
        const char *where = named ? walk->named->texts[i] : engines[i]->name;
        struct ocv_error why = {0};
        if (!named && !engines[i]->always)
            continue;
        int status = walk->look(walk->data, where, &why);
        if (status == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
        if (status < 0 && named && status != OCV_ERR_ENGINE) {
            *err = why;
            return status;
        }
        if (status < 0)
            OCV_TRY(walk->missed(walk->data, where, &why));
    }
    return OCV_OK;
}
