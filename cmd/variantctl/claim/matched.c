/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/claim/claim_verb.h"

#include "cmd/common/names.h"
#include "cmd/variantctl/fleet/fleet_verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

int claim_match(struct cli *cli, const struct claim_job *job, const struct image *image,
                struct claim_matched *out, struct ocv_error *err)
{
    ocv_auto(ocv_match) match = NULL;
    ocv_auto(ocv_placement) placement = NULL;
    const struct ocv_resolve_options how = {
        .preferences = ocv_config_preferences_for(cli->config, image->reference),
        .label = names_label(image->index, cli->label)};
    const struct ocv_match_role role = {
        .count = job->replicas, .architecture = cli->platform ? cli->platform->architecture : NULL};
    const struct ocv_match_request request = {.roles = &role, .n_roles = 1};
    size_t skipped;
    OCV_TRY(ocv_fleet_new(&out->fleet, err));
    OCV_TRY(fleet_read(cli, job->fleet, job->strict, out->fleet, &skipped, err));
    OCV_TRY(ocv_match_new(out->fleet, image->index, &how, &match, err));
    OCV_TRY(ocv_match_place(match, &request, &placement, err));
    if (!ocv_placement_found(placement)) {
        struct ocv_lack lack = {0};
        if (ocv_placement_lack_count(placement))
            lack = ocv_placement_lack(placement, 0);
        const char *label = lack.entry && lack.entry->label ? lack.entry->label : "the default";
        ocv_error_set(err, OCV_ERR_NO_MATCH,
                      "%s: no placement: the nearest entry, %s, has room for %zu, %zu too few",
                      image->text, label, lack.room, lack.missing);
        ocv_error_hint(err, "variantctl match --replicas %u says which nodes lack what",
                       job->replicas);
        return OCV_ERR_NO_MATCH;
    }
    out->entry = ocv_placement_entry(placement, 0);

    /* The classes that have allowed nodes and run the entry. */
    size_t n = ocv_fleet_class_count(out->fleet), place;
    ocv_auto_free bool *used = calloc(n + 1, sizeof(*used));
    out->classes = calloc(n + 1, sizeof(*out->classes));
    if (!used || !out->classes)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < ocv_fleet_count(out->fleet); i++) {
        struct ocv_node node = ocv_fleet_node(out->fleet, i, &place);
        used[place] |= !node.excluded && node.slots > 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct ocv_entry *runs = NULL;
        size_t k = 0;
        while (used[i] && (runs = ocv_decision_order(ocv_match_decision(match, i), k)) &&
               runs != out->entry)
            k++;
        if (runs)
            out->classes[out->n_classes++] = ocv_fleet_class(out->fleet, i);
    }
    qsort(out->classes, out->n_classes, sizeof(*out->classes), ocv_text_order);
    return OCV_OK;
}

void claim_matched_free(struct claim_matched *matched)
{
    free(matched->classes);
    ocv_fleet_free(matched->fleet);
    *matched = (struct claim_matched){0};
}
