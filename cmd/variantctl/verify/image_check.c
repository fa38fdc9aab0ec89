/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/verify/verify_verb.h"

#include "cmd/common/names.h"
#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_MAX (64u * 1024)

int image_checker_begin(struct image_checker *j, struct cli *cli, struct ocv_error *err)
{
    int status = cli_load(cli, err);
    const char *state = status == OCV_OK ? ocv_config_get(cli->config, "state_dir") : NULL;
    ocv_record_directory(state, j->records, sizeof(j->records));
    j->cli = cli;
    j->ask = !cli->profile_file;
    if (status == OCV_OK)
        status = cli_profile(cli, err);
    OCV_TRY(status);
    OCV_TRY(names_check(cli, cli->config, cli->plain, NULL, err));
    return signed_read(j->records, &j->signed_images, err);
}

void image_checker_end(struct image_checker *j)
{
    json_decref(j->signed_images);
}

/* A reference needs no quoting in a shell; a name with a digest always means the same image. */
static bool can_be_pulled(const char *name)
{
    ocv_auto(ocv_reference) reference = NULL;
    return name && strpbrk(name, "/:") && !strchr(name, '@') && !ocv_digest_known(name) &&
           ocv_reference_parse(name, &reference, NULL) == OCV_OK;
}

/* True if the word needs no quoting: the command is meant to be copied, and names in a layout are
 * chosen by its author. */
static bool is_plain_word(const char *text)
{
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                             "._-/:@+=,%")] == '\0';
}

/* The name under which this machine's build can be pulled: the reference resolved here, since the
 * image's name may be a tag of this image only. NULL: unknown. */
static const char *source_of(const struct known_image *k, const char *name)
{
    ocv_auto(ocv_reference) asked = NULL;
    const char *reference = k->fit.said.reference;
    if (reference && k->repository && can_be_pulled(reference) && is_plain_word(reference) &&
        ocv_reference_parse(reference, &asked, NULL) == OCV_OK &&
        strcmp(asked->name, k->repository) == 0)
        return reference;
    ocv_auto(ocv_reference) own = NULL;
    if (!can_be_pulled(name) || ocv_reference_parse(name, &own, NULL) < 0)
        return NULL;
    return !k->repository || strcmp(own->name, k->repository) == 0 ? name : NULL;
}

/* The command that fixes an image that does not fit, or is not the best; NULL: none, or no memory.
 * Images in a layout may have only tags; the reference recorded for the choice has the name. */
static char *remedy_of(const struct local_image *image, const struct known_image *k,
                       enum ocv_verdict verdict)
{
    const char *name = image->name;
    char *line = NULL;
    const char *ns = strncmp(image->where, "containerd:", 11) == 0 ? image->where + 11 : NULL;
    bool due = verdict == OCV_VERDICT_LESSER || verdict == OCV_VERDICT_MISFIT ||
               verdict == OCV_VERDICT_WARNING;
    int made = -1;
    if (!due || !name || image->index || !is_plain_word(image->where) || !is_plain_word(name))
        return NULL;
    const char *source = source_of(k, name);
    if (image->tag && !source && can_be_pulled(k->fit.said.reference))
        source = k->fit.said.reference;
    if (!source || (image->tag ? !is_plain_word(image->tag) : !can_be_pulled(name)))
        return NULL;
    /* a layout's tag is named where it is not the reference's own, which vpull gives by itself */
    ocv_auto(ocv_reference) from = NULL;
    bool own = !image->tag || (ocv_reference_parse(source, &from, NULL) == OCV_OK && from->tag &&
                               strcmp(from->tag, image->tag) == 0);
    const char *socket = local_images_socket(image->where);
    if (socket && strcmp(image->where, "cri") == 0)
        made = asprintf(&line, "crictl pull %s", source);
    else if (socket)
        made = asprintf(&line, "crictl -r unix://%s pull %s", socket, source);
    else if (ns)
        made = asprintf(&line, "vpull --to containerd -n %s %s", ns, source);
    else
        made = asprintf(&line, "vpull --to %s%s%s %s", image->where, own ? "" : ":",
                        own ? "" : image->tag, source);
    return made < 0 ? NULL : line;
}

/* An index in a layout fits if one of its entries does. */
static enum ocv_verdict check_index(const struct ocv_fit_host *host, const struct ocv_index *index,
                                    const struct ocv_resolve_options *choose, struct known_image *k,
                                    struct ocv_buffer *reason, struct ocv_error *err)
{
    ocv_auto(ocv_decision) decision = NULL;
    k->by = "index";
    ocv_record_free(&k->fit.said);
    if (ocv_resolve(index, host->profile, choose, &decision, err) < 0)
        return OCV_VERDICT_UNKNOWN;
    const struct ocv_entry *chosen = ocv_decision_selected(decision);
    if (chosen) {
        known_set_label(k, chosen->label);
        return OCV_VERDICT_FITS;
    }
    int status = ocv_buffer_printf(reason, err, "no variant fits and there is no default");
    return status < 0 ? OCV_VERDICT_UNKNOWN : OCV_VERDICT_MISFIT;
}

/* If variants are chosen for it, the default may not be the best, unless pods have builds of
 * their own. Compares with the kept index, else asks variantd, which also records the image. */
static enum ocv_verdict compare_to_best(struct image_checker *j, const struct ocv_fit_host *host,
                                        const struct local_image *image,
                                        const struct ocv_config *config,
                                        const struct ocv_resolve_options *choose,
                                        struct known_image *k, struct ocv_buffer *reason)
{
    enum ocv_verdict verdict = k->fit.verdict;
    bool fits = verdict == OCV_VERDICT_FITS;
    bool on = ocv_config_choose(config) == OCV_CHOOSE_ON &&
              ocv_config_workload(config) == OCV_WORKLOAD_OFF;
    if (!image->name || !strpbrk(image->name, "/:") || ocv_digest_known(image->name))
        return verdict; /* the name now belongs to another image */
    if (fits && on && known_best(host, k, choose, reason) == OCV_VERDICT_LESSER)
        verdict = OCV_VERDICT_LESSER;
    if (!j->ask || (!fits && verdict != OCV_VERDICT_NONE))
        return verdict;
    enum ocv_verdict told = known_ask(j->cli->config, k, image, reason, &j->ask);
    if (told == OCV_VERDICT_OPEN || (fits && told == OCV_VERDICT_NONE))
        return verdict;
    if (!on && told == OCV_VERDICT_LESSER)
        told = OCV_VERDICT_FITS;
    if (!k->by)
        k->by = "daemon";
    return told;
}

void image_check(struct image_checker *j, const struct local_image *image, struct image_result *out)
{
    struct known_image *known = &out->known;
    const struct ocv_fit_host host = {.profile = j->cli->profile,
                                      .config = j->cli->config,
                                      .records = j->records,
                                      .platform = j->cli->platform};
    *out = (struct image_result){0};
    known_find(&host, image, known, &out->err);
    struct ocv_buffer *text = &known->fit.reason;
    if (!text->max)
        ocv_buffer_init(text, REASON_MAX);
    ocv_auto(ocv_reference) reference = NULL;
    const char *name = known->repository            ? known->repository
                       : known->fit.said.repository ? known->fit.said.repository
                                                    : image->name;
    if (name && ocv_reference_parse(name, &reference, NULL) < 0)
        reference = NULL; /* a layout's bare tag names no repository */
    ocv_auto_json *by = signed_by(j->signed_images, image, reference);
    out->key = ocv_json_text(json_array_get(by, 0), "key"); /* `signed_images` has it, too */
    out->wanting = signed_wanting(j->cli->config, reference, by);
    ocv_auto(ocv_reference) own = NULL; /* a layout's tag is bare */
    if (image->name && strpbrk(image->name, "/:") &&
        ocv_reference_parse(image->name, &own, NULL) < 0)
        own = NULL;
    const struct ocv_fit_image about = {.reference = reference ? reference->name : NULL,
                                        .tag = own ? own->tag : NULL,
                                        .given = image->given};
    struct ocv_resolve_options choose;
    struct ocv_workload_input input;
    if (ocv_fit_options(&host, &about, &input, &choose, NULL, &out->err) < 0) {
        out->verdict = OCV_VERDICT_UNKNOWN;
        out->reason = out->err.message;
        ocv_workload_input_free(&input);
        return;
    }
    const struct ocv_config *config = ocv_config_for_reference(j->cli->config, reference);
    if (image->index)
        text->len = 0;
    out->verdict = image->index ? check_index(&host, image->index, &choose, known, text, &out->err)
                                : compare_to_best(j, &host, image, config, &choose, known, text);
    bool by_config = j->configs && out->verdict == OCV_VERDICT_NONE &&
                     image_check_config(j, &host, image, &out->verdict, text);
    if (out->verdict == OCV_VERDICT_NONE) {
        /* an image without a record may still have variants */
        text->len = 0;
        if (ocv_buffer_printf(text, NULL, "%s",
                              known->by ? "an image without variants"
                                        : "no record here says whether it is a variant") < 0)
            text->len = 0;
    } else if (by_config) {
        known->by = "config";
    }
    bool hopeless = !by_config && out->verdict == OCV_VERDICT_MISFIT &&
                    known_best(&host, known, &choose, NULL) == OCV_VERDICT_MISFIT;
    ocv_workload_input_free(&input);
    if (hopeless && ocv_buffer_printf(text, NULL, "; nor does anything else of %s: remove it",
                                      known->fit.said.reference ? known->fit.said.reference
                                                                : known->repository) < 0)
        hopeless = false;
    out->reason = out->err.message[0] ? out->err.message : text->data;
    out->remedy = hopeless || by_config ? NULL : remedy_of(image, known, out->verdict);
}

void image_result_free(struct image_result *checked)
{
    ocv_fit_free(&checked->known.fit);
    free(checked->known.repository);
    free(checked->remedy);
}
