/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl tags VERB: what published tags mean by the rules of this machine. */
#include "cmd/variantctl/tags/tags_verbs.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX (64u * 1024 * 1024)

static const struct verb all[] = {
    {"parse", "what tags say, one JSON object a line", cmd_tags_parse},
    {"plan", "the variant sets that a repository's tags form", cmd_tags_plan},
    {"check", "check a rule file", cmd_tags_check},
    {NULL, NULL, NULL},
};

int cmd_tags(struct cli *cli, int argc, char **argv)
{
    const struct verbs verbs = {
        .usage = "Usage: variantctl tags VERB [OPTIONS]\n\nVerbs:\n",
        .list = all,
        .end = "\nExamples:\n"
               "  variantctl tags parse pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime\n"
               "  variantctl tags plan --tags-file tags.txt pytorch/pytorch\n"
               "  variantctl tags check rules.yaml\n",
    };
    return verbs_run(cli, &verbs, argc, argv);
}

int tags_each_line(const char *path, int (*each)(void *data, size_t line, const char *text),
                   void *data, struct ocv_error *err)
{
    ocv_auto_buffer list;
    ocv_buffer_init(&list, LIST_MAX);
    int status = cli_read_file(path, &list, err);
    if (status < 0)
        return status;
    char *rest = list.data;
    for (size_t line = 1; rest && status == OCV_OK; line++) {
        char *text = strsep(&rest, "\n");
        text += strspn(text, " \t\r");
        text[strcspn(text, " \t\r")] = '\0';
        if (strlen(text) > TAGS_LINE_MAX)
            status = ocv_error_set(err, OCV_ERR_DATA, "%s:%zu: longer than %u bytes", path, line,
                                   TAGS_LINE_MAX);
        else if (*text && *text != '#')
            status = each(data, line, text);
    }
    return status;
}

int tags_format_properties(const struct ocv_tag *tag, struct ocv_buffer *out, struct ocv_error *err)
{
    const struct ocv_properties *properties = ocv_tag_properties(tag);
    if (ocv_tag_asks(tag, 0) && ocv_tag_refused(tag))
        return ocv_buffer_printf(out, err, "(its configuration says: %s)", ocv_tag_asks(tag, 0));
    return ocv_properties_count(properties) ? ocv_properties_format(properties, out, err)
                                            : ocv_buffer_append(out, "-", 1, err);
}
