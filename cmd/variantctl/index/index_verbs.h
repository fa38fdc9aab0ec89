/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the verbs of `variantctl index` share that make or edit an index. */
#ifndef OCV_INDEX_VERBS_H
#define OCV_INDEX_VERBS_H

#include "cmd/variantctl/index/index_build.h"
#include "cmd/variantctl/verbs.h"

enum {
    EDIT_OPTION_DEFAULT = 1,
    EDIT_OPTION_FROM,
    EDIT_OPTION_TAGS,
    EDIT_OPTION_RULES,
    EDIT_OPTION_RELABEL,
    EDIT_OPTION_NAMESPACES,
    EDIT_OPTION_STATIC,
    EDIT_OPTION_ANNOTATION,
    EDIT_OPTION_PLATFORM,
    EDIT_OPTION_LABEL,
    EDIT_OPTION_ORDINARY,
    EDIT_OPTION_RELAYOUT
};

/* Annotations of the index. */
#define EDIT_INDEX_OPTIONS                                            \
    {"namespaces", required_argument, NULL, EDIT_OPTION_NAMESPACES},  \
        {"static", required_argument, NULL, EDIT_OPTION_STATIC},      \
    {                                                                 \
        "annotation", required_argument, NULL, EDIT_OPTION_ANNOTATION \
    }
#define EDIT_INDEX_HELP                                                           \
    "  --namespaces A,B         most important namespace first\n"                 \
    "  --static NS='F :: V, ...'  rank builds by a list of the publisher's own\n" \
    "  --annotation KEY=VALUE   on the index; an empty VALUE takes it away\n"

#define EDIT_DEFAULTS_MAX 64u
#define EDIT_LABELS_MAX 256u
#define EDIT_ANNOTATIONS_MAX 256u

/** One run of such a verb. Zero-initialise. */
struct edit {
    struct build build;
    const char *defaults[EDIT_DEFAULTS_MAX];
    size_t n_defaults;
    const char *from, *tags, *rules;
    const char *labels[EDIT_LABELS_MAX]; /**< --label WHICH=LABEL */
    size_t n_labels;
    struct {
        int option;
        const char *text;
    } annotations[EDIT_ANNOTATIONS_MAX]; /**< --namespaces, --static, --annotation */
    size_t n_annotations;
    struct ocv_platform *platform;
    bool ordinary, relayout;
};

/** edit_options: neither an error nor done. */
#define EDIT_GO_ON 1000
/** Read the options. EDIT_GO_ON, a negative status, or what the command ends with. */
int edit_options(struct edit *edit, int argc, char **argv, const struct option *options,
                 const char *help, struct ocv_error *err) OCV_WARN_UNUSED;
/** Set the annotations that were asked for. */
int edit_annotations(struct edit *edit, struct ocv_error *err) OCV_WARN_UNUSED;
void edit_free(struct edit *edit);

int cmd_index_add(struct cli *cli, int argc, char **argv);
int cmd_index_remove(struct cli *cli, int argc, char **argv);
int cmd_index_annotate(struct cli *cli, int argc, char **argv);
int cmd_index_copy(struct cli *cli, int argc, char **argv);
int cmd_index_diff(struct cli *cli, int argc, char **argv);

#endif
