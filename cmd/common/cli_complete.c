/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completes values and arguments by kind, as help and usage name the kinds. */
#include "cmd/common/cli.h"

#include "cmd/common/names.h"

#include <string.h>

#define HEAD_MAX 1024

/* `data` of a completion. */
struct completion {
    const struct cli_command *command;
    bool layouts; /* layouts have been offered for "IMAGE | oci:DIR[:TAG]" */
};

/* The word up to the last of `marks`; the text after it is still being typed. */
static const char *head_of(const struct ocv_completion *c, const char *marks, char out[HEAD_MAX])
{
    size_t n = strlen(c->word);
    while (n && !strchr(marks, c->word[n - 1]))
        n--;
    snprintf(out, HEAD_MAX, "%.*s", (int)n, c->word);
    return out;
}

static void offer_namespaces(struct ocv_completion *c, const char *head, const char *behind)
{
    char text[2 * HEAD_MAX];
    const struct vocabulary_namespace *ns;
    for (size_t i = 0; (ns = vocabulary_namespace_at(i)) != NULL; i++) {
        snprintf(text, sizeof(text), "%s%s%s", head, ns->name, behind);
        ocv_complete_offer(c, text, ns->meaning);
    }
    c->how |= OCV_COMPLETE_NO_SPACE;
}

static void offer_property(struct ocv_completion *c, const char *kind)
{
    (void)kind;
    complete_property(c, "", false);
}

/* "A,B" */
static void offer_namespace_list(struct ocv_completion *c, const char *kind)
{
    char head[HEAD_MAX];
    (void)kind;
    offer_namespaces(c, head_of(c, ",", head), "");
}

/* "NS=all|any|first", "NS=0,2" */
static void offer_of_namespace(struct ocv_completion *c, const char *kind)
{
    char head[HEAD_MAX], text[2 * HEAD_MAX];
    const char *words = strchr(kind, '=') + 1;
    head_of(c, "=", head);
    if (!*head)
        offer_namespaces(c, "", "=");
    for (; *head && strchr(kind, '|') && *words;
         words += strcspn(words, "|"), words += *words == '|') {
        snprintf(text, sizeof(text), "%s%.*s", head, (int)strcspn(words, "|"), words);
        ocv_complete_offer(c, text, NULL);
    }
}

static void offer_labels(struct ocv_completion *c, const char *kind)
{
    complete_labels(c, strchr(kind, '=') ? "=" : "");
}

static void offer_images(struct ocv_completion *c, const char *kind)
{
    struct completion *q = c->data;
    (void)kind;
    if (!q->layouts)
        complete_layout(c, "");
    q->layouts = true;
}

/* "LABEL=REF,PROPERTY..." */
static void offer_entry(struct ocv_completion *c, const char *kind)
{
    char head[HEAD_MAX];
    (void)kind;
    if (strchr(c->word, ','))
        complete_property(c, head_of(c, ",", head), true);
    else if (strchr(c->word, '='))
        complete_layout(c, head_of(c, "=", head));
    else
        c->how |= OCV_COMPLETE_NO_SPACE;
}

/* "LABEL=PROPERTY,..." */
static void offer_relabelled(struct ocv_completion *c, const char *kind)
{
    char head[HEAD_MAX];
    if (strchr(c->word, '='))
        complete_property(c, head_of(c, ",=", head), true);
    else
        offer_labels(c, kind);
}

/* "FILE|NAME", "NAME=FILE|NAME" */
static void offer_profiles(struct ocv_completion *c, const char *kind)
{
    char head[HEAD_MAX];
    complete_profiles(c, strchr(kind, '=') ? head_of(c, "=", head) : "");
}

/* Matched by prefix; the first match counts. */
static const struct {
    const char *kind;
    void (*offer)(struct ocv_completion *c, const char *kind);
} kinds[] = {
    {"NS=", offer_of_namespace},
    {"NS::F=", offer_property},
    {"NS[", offer_property},
    {"A,B", offer_namespace_list},
    {"FILE|NAME", offer_profiles},
    {"[NAME=]FILE|NAME", offer_profiles},
    {"LABEL=REF", offer_entry},
    {"LABEL=PROPERTY", offer_relabelled},
    {"LABEL|DIGEST=LABEL", offer_labels},
    {"LABEL", offer_labels},
    {"IMAGE", offer_images},
    {"oci:", offer_images},
    {"REPO", offer_images},
    {"REF", offer_images},
    {"FROM", offer_images},
    {"TO", offer_images},
    {"OLD", offer_images},
    {"NEW", offer_images},
};

/* The command's own completion comes first. */
static bool offer_any(struct ocv_completion *c, const char *kind)
{
    const struct completion *q = c->data;
    if (q->command->complete && q->command->complete(c, kind))
        return true;
    size_t i = 0, n = sizeof(kinds) / sizeof(*kinds);
    while (i < n && strncmp(kinds[i].kind, kind, strlen(kinds[i].kind)) != 0)
        i++;
    if (i < n)
        kinds[i].offer(c, kind);
    return i < n;
}

void cli_complete(const struct cli_command *command, const struct ocv_options *options, int argc,
                  char **argv)
{
    struct completion question = {command, false};
    struct ocv_completion c = {.options = options,
                               .usage = command->usage,
                               .kind = offer_any,
                               .data = &question,
                               .out = stdout};
    ocv_complete(&c, argc, argv);
}
