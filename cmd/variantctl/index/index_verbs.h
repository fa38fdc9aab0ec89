/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the verbs of `variantctl index` that make or edit an index. */
#ifndef OCV_INDEX_VERBS_H
#define OCV_INDEX_VERBS_H

#include "cmd/variantctl/index/index_build.h"
#include "cmd/variantctl/verbs.h"

#define EDIT_ANNOTATIONS_MAX 256u

/** Kind of an annotation option. */
enum edit_annotation { EDIT_NAMESPACES, EDIT_STATIC, EDIT_ANNOTATION };

/** State of such a verb. Zero-initialise. */
struct edit {
    struct build build;
    struct ocv_option_list defaults;
    const char *from, *tags, *rules;
    struct ocv_option_list labels; /**< --label WHICH=LABEL */
    struct edit_annotations {
        struct {
            enum edit_annotation kind;
            const char *text;
        } list[EDIT_ANNOTATIONS_MAX];
        size_t n;
    } annotations; /**< --namespaces, --static, --annotation, in the given order */
    struct ocv_platform *platform;
    bool ordinary, relayout;
};

/** Rows for annotations of the index; --relabel; --platform. */
extern const struct ocv_option edit_annotation_rows[], edit_relabel_rows[], edit_platform_rows[];
/** Option callback: a `const char *` that may be given once, because a second value would silently
 *  replace the first. */
int edit_take_once(const struct ocv_option_given *given, struct ocv_error *err) OCV_WARN_UNUSED;
/** Rows appended to a verb's own. */
#define EDIT_ANNOTATION_ROWS                                                        \
    {                                                                               \
        .group = edit_annotation_rows, .offset = offsetof(struct edit, annotations) \
    }
#define EDIT_WRITE_ROWS(rows)                                           \
    {                                                                   \
        .group = (rows), .offset = offsetof(struct edit, build.options) \
    }

/** Set the requested annotations. */
int edit_annotations(struct edit *edit, struct ocv_error *err) OCV_WARN_UNUSED;
void edit_free(struct edit *edit);

int cmd_index_add(struct cli *cli, int argc, char **argv);
int cmd_index_remove(struct cli *cli, int argc, char **argv);
int cmd_index_annotate(struct cli *cli, int argc, char **argv);
int cmd_index_copy(struct cli *cli, int argc, char **argv);
int cmd_index_diff(struct cli *cli, int argc, char **argv);

#endif
