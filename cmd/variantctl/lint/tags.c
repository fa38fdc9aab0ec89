/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tags of an index's repository: what they name, and which digests are signed. */
#include "lib/internal/tags/tags.h"
#include "cmd/common/image/image.h"
#include "cmd/variantctl/index/index_verbs.h"
#include "cmd/variantctl/lint/lint_verb.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

#define HEADS_MAX 256u /* tags whose digests are requested, one request each */

static struct ocv_reference *tag_reference(const char *repository, const char *tag)
{
    struct ocv_reference *reference = NULL;
    char text[1024];
    int n = snprintf(text, sizeof(text), "%s:%s", repository, tag);
    if (n < 0 || (size_t)n >= sizeof(text) || !ocv_reference_tag_valid(tag) ||
        ocv_reference_parse(text, &reference, NULL) < 0)
        return NULL;
    return reference;
}

static int add_signature(struct lint_source *s, const char *digest, struct ocv_error *err)
{
    if (s->n_signatures == LINT_SIGNATURES_MAX)
        return OCV_OK;
    char **copy = ocv_array_grow(&s->signatures, s->n_signatures);
    if (!copy || !(*copy = strdup(digest)))
        return ocv_error_nomem(err);
    s->n_signatures++;
    return OCV_OK;
}

/* cosign's tag for a signature: "sha256-<hex>.sig". */
static bool signature_tag(const char *tag, char digest[OCV_DIGEST_MAX])
{
    size_t len = strlen(tag);
    const char *dash = strchr(tag, '-');
    if (!dash || len < 5 || len >= OCV_DIGEST_MAX || strcmp(tag + len - 4, ".sig") != 0)
        return false;
    snprintf(digest, OCV_DIGEST_MAX, "%.*s", (int)(len - 4), tag);
    digest[dash - tag] = ':';
    return ocv_digest_known(digest);
}

static int ask_referrers(struct place *place, const char *digest, struct lint_source *s,
                         struct ocv_error *err)
{
    /* in media types of cosign bundles, and of signatures by cosign and notation */
    static const char *const words[] = {"sigstore", "cosign", "notary", "signature"};
    ocv_auto_json *list = json_array();
    json_t *entry;
    size_t i;
    bool api, found = false;
    OCV_TRY(list ? list_referrers(place, digest, &api, list, err) : ocv_error_nomem(err));
    json_array_foreach(list, i, entry)
    {
        const char *type = ocv_json_text(entry, "artifactType");
        for (size_t k = 0; type && k < sizeof(words) / sizeof(*words); k++)
            found = found || strstr(type, words[k]);
    }
    return found ? add_signature(s, digest, err) : OCV_OK;
}

struct layout_walk {
    const struct lint_options *options;
    struct lint_source *source;
    struct ocv_error *err;
};

static int on_layout_tag(void *data, const char *tag, const char *image_name,
                         const struct ocv_descriptor *descriptor)
{
    struct layout_walk *w = data;
    char digest[OCV_DIGEST_MAX];
    struct ocv_reference *reference = NULL;
    if (tag && signature_tag(tag, digest))
        return add_signature(w->source, digest, w->err);
    if (w->options->repository && tag)
        reference = tag_reference(w->options->repository, tag);
    else if (image_name && ocv_reference_parse(image_name, &reference, NULL) < 0)
        reference = NULL;
    return reference ? lint_source_tag(w->source, reference, descriptor->digest, 0, w->err)
                     : OCV_OK;
}

static int add_head(struct cli *cli, const struct lint_options *options, struct lint_source *s,
                    const char *tag, bool head, struct ocv_error *err)
{
    const struct ocv_reference *own = s->image.reference;
    struct ocv_reference *reference =
        tag_reference(options->repository ? options->repository : own->name, tag);
    struct ocv_descriptor descriptor = {0};
    struct ocv_reference asked = *own;
    struct ocv_error local = {0};
    if (!reference)
        return OCV_OK;
    asked.tag = (char *)(uintptr_t)tag; /* borrowed for the call */
    asked.digest = NULL;
    if (head && ocv_registry_head(cli->registry, &asked, &descriptor, &local) < 0)
        cli_log(cli, "%s: %s", tag, local.message);
    return lint_source_tag(s, reference, descriptor.digest[0] ? descriptor.digest : NULL, 0, err);
}

/* For repositories that no rule knows: tags such as "1.0-cu128" and "cpu-1.0" belong to "1.0". */
static bool is_beside(const char *tag, const char *own)
{
    size_t n = strlen(own), len = strlen(tag);
    if (len <= n + 1)
        return false;
    return (!strncmp(tag, own, n) && (tag[n] == '-' || tag[n] == '_')) ||
           (!strcmp(tag + len - n, own) && (tag[len - n - 1] == '-' || tag[len - n - 1] == '_'));
}

static int read_registry(struct cli *cli, const struct lint_options *options, struct lint_source *s,
                         struct ocv_error *err)
{
    ocv_auto_tags tags = {0};
    struct ocv_error local = {0};
    char digest[OCV_DIGEST_MAX];
    int status = rules_list_tags(cli, s->image.reference, &tags, &local);
    if (status < 0) { /* a registry may serve images but refuse to list tags */
        cli_warn(cli, "%s: tags are not checked: %s", s->name, local.message);
        return status == OCV_ERR_INTERRUPTED || status == OCV_ERR_NOMEM
                   ? ocv_error_set(err, status, "%s", local.message)
                   : OCV_OK;
    }
    for (size_t i = 0; i < tags.n; i++) {
        if (signature_tag(tags.list[i], digest))
            OCV_TRY(add_signature(s, digest, err));
        else if (options->all_tags)
            OCV_TRY(add_head(cli, options, s, tags.list[i], i < HEADS_MAX, err));
    }
    if (options->all_tags)
        return OCV_OK;

    /* Tags that the rules put into the same set as the index's own tag. */
    const struct ocv_reference *own = s->image.reference;
    ocv_auto(ocv_tag_plan) plan = NULL;
    ocv_auto(ocv_reference) named = tag_reference(
        options->repository ? options->repository : own->name, own->tag ? own->tag : "latest");
    if (!named)
        return OCV_OK;
    OCV_TRY(ocv_tag_plan_new(options->tag_rules, named, named->tag, (const char *const *)tags.list,
                             tags.n, &plan, err));
    size_t beside = 0, heads = 0;
    ocv_auto(ocv_tag) parsed = NULL;
    bool known = ocv_tag_parse(options->tag_rules, named, named->tag, &parsed, NULL) == OCV_OK &&
                 ocv_tag_family(parsed);
    for (size_t i = 0; i < tags.n && !known; i++)
        if (is_beside(tags.list[i], named->tag))
            OCV_TRY(add_head(cli, options, s, tags.list[i], beside++ < HEADS_MAX, err));
    for (size_t i = 0; i < ocv_tag_plan_sets(plan); i++)
        for (size_t k = 0; k < ocv_tag_plan_members(plan, i); k++) {
            const char *label;
            const char *tag = ocv_tag_text(ocv_tag_plan_member(plan, i, k, &label));
            if (strcmp(tag, named->tag) != 0 || !ocv_index_has_variants(s->image.index))
                OCV_TRY(add_head(cli, options, s, tag, heads++ < HEADS_MAX, err));
        }
    return OCV_OK;
}

int lint_source_tags(struct cli *cli, const struct lint_options *options, struct lint_source *s,
                     struct ocv_error *err)
{
    struct layout_walk walk = {options, s, err};
    OCV_TRY(s->image.layout ? ocv_layout_list(s->image.layout, on_layout_tag, &walk, err)
                            : read_registry(cli, options, s, err));
    /* Children's signatures are read only if the index itself is signed. */
    struct place place = {.cli = cli,
                          .reference = s->image.reference,
                          .layout = s->image.layout,
                          .dir = s->image.layout ? s->name : NULL,
                          .name = s->name};
    bool is_signed = false;
    const char *top = ocv_index_digest(s->image.index);
    OCV_TRY(ask_referrers(&place, top, s, err));
    for (size_t i = 0; i < s->n_signatures; i++)
        is_signed = is_signed || !strcmp(s->signatures[i], top);
    for (size_t i = 0; is_signed && i < ocv_index_count(s->image.index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(s->image.index, i);
        if (entry->code == OCV_REJECT_NONE)
            OCV_TRY(ask_referrers(&place, entry->digest, s, err));
    }

    s->input.tags = s->tags;
    s->input.n_tags = s->n_tags;
    s->input.signatures = (const char *const *)s->signatures;
    s->input.n_signatures = s->n_signatures;
    return OCV_OK;
}
