/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/vpull.h"

#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

/* Pull by the locked index digest, or with --lock-profile by the locked manifest digest, without a
 * probe. The result gets the name asked for. */
static int plan_locked(const struct vpull_settings *s, const struct lock_image *locked,
                       struct task *task, struct ocv_error *err)
{
    ocv_auto(ocv_reference) reference = NULL;
    const struct lock_choice *choice =
        s->lock_profile ? lock_choice(locked, s->lock_profile) : NULL;
    task->image = locked->reference;
    if (s->lock_profile && !choice) {
        char question[OCV_NEAREST_QUESTION_MAX];
        struct ocv_nearest nearest = {.wanted = s->lock_profile};
        for (size_t i = 0; i < locked->n_choices; i++)
            ocv_nearest_offer(&nearest, locked->choices[i].profile);
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: nothing is locked for '%s'%s",
                             locked->reference, s->lock_profile,
                             ocv_nearest_question(ocv_nearest_meant(&nearest), question));
    }
    task->options.locked = choice ? NULL : locked;
    task->options.choice = choice;
    bool layout = strncmp(locked->reference, "oci:", 4) == 0;
    /* a set of tags is chosen from again, with the digests that its tags had; a layout is opened by
     * name, and its index digest is compared */
    if (!choice && (locked->n_tags || layout))
        return (task->text = strdup(locked->reference)) ? OCV_OK : ocv_error_nomem(err);
    if (layout)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                             "%s: --lock-profile requires an image in a registry",
                             locked->reference);
    OCV_TRY(ocv_reference_parse(locked->reference, &reference, err));
    if (asprintf(&task->text, "%s@%s", reference->name, choice ? choice->digest : locked->top) < 0)
        task->text = NULL;
    task->options.tag = reference->digest ? NULL : locked->reference;
    return task->text ? OCV_OK : ocv_error_nomem(err);
}

int tasks_plan(const struct vpull_settings *s, char **images, struct tasks *out,
               struct ocv_error *err)
{
    *out = (struct tasks){0};
    if (s->lock_file)
        OCV_TRY(lock_read(s->lock_file, &out->lock, err));
    bool named = images[0] != NULL;
    for (size_t i = 0; named ? images[i] != NULL : i < out->lock.n_images; i++) {
        struct task *task = ocv_array_grow(&out->list, out->n);
        if (!task)
            return ocv_error_nomem(err);
        out->n++;
        task->options = s->pull;
        ocv_buffer_init(&task->prints, TASK_PRINTS_MAX);
        const struct lock_image *locked = !named         ? &out->lock.images[i]
                                          : s->lock_file ? lock_find(&out->lock, images[i])
                                                         : NULL;
        task->image = named ? images[i] : NULL;
        if (locked)
            task->failed = plan_locked(s, locked, task, &task->err) < 0;
        else if (s->lock_file)
            task->failed = ocv_error_set(&task->err, OCV_ERR_NOT_FOUND, "%s: not in %s", images[i],
                                         s->lock_file) < 0;
        else if (task->image && !(task->text = strdup(task->image)))
            task->failed = ocv_error_nomem(&task->err) < 0;
    }
    for (size_t i = 0; i < out->n; i++)
        out->list[i].options.many = out->n > 1;
    return OCV_OK;
}

void tasks_free(struct tasks *tasks)
{
    for (size_t i = 0; i < tasks->n; i++) {
        free(tasks->list[i].text);
        ocv_buffer_free(&tasks->list[i].prints);
    }
    free(tasks->list);
    lock_free(&tasks->lock);
}

void tasks_lanes(struct tasks *tasks, const struct destination *destination)
{
    struct ocv_reference **references = calloc(tasks->n + 1, sizeof(struct ocv_reference *));
    for (size_t i = 0; i < tasks->n; i++) {
        struct task *task = &tasks->list[i];
        task->lane = references ? i : 0; /* without memory, all one after the other */
        if (!references || !task->text)
            continue;
        (void)!ocv_reference_parse(task->options.tag ? task->options.tag : task->text,
                                   &references[i], NULL);
        for (size_t k = 0; k < i; k++) {
            size_t from = task->lane, into = tasks->list[k].lane;
            const struct ocv_reference *a = references[k], *b = references[i];
            if (!a || !b) /* what is no reference has its own */
                continue;
            bool tag =
                destination == &destination_oci && a->tag && b->tag && !strcmp(a->tag, b->tag);
            if (!tag && strcmp(a->name, b->name) != 0)
                continue;
            for (size_t t = 0; t < tasks->n; t++)
                if (tasks->list[t].lane == from)
                    tasks->list[t].lane = into;
        }
    }
    for (size_t i = 0; references && i < tasks->n; i++)
        ocv_reference_free(references[i]);
    free(references);
}
