/* SPDX-License-Identifier: GPL-3.0-or-later */
/* providers-index FILE.yaml...: prints gen/providers.h: each file's text, and the hardware that it
 * needs to find anything. A probe skips a file known to the build if the machine lacks that
 * hardware (lib/probe/declarative/load.c). Run by the build. */
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/yaml.h"
#include "ocivariant/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (64u * 1024)
#define WORDS_MAX 4096u

/* Add the value of KEY in a part of a rule to a list of words. */
static int add_word(struct ocv_buffer *list, const struct ocv_yaml *rule, const char *part,
                    const char *key, struct ocv_error *err)
{
    const char *word = ocv_yaml_text(ocv_yaml_get(rule, part), key);
    size_t len = word ? strlen(word) : 0;
    for (const char *at = list->data; at && word; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, len) == 0 && (at[len] == ' ' || !at[len]))
            return OCV_OK;
    }
    return word ? ocv_buffer_printf(list, err, "%s%s", list->len ? " " : "", word) : OCV_OK;
}

static void print_string(const char *text)
{
    putchar('"');
    for (; text && *text; text++)
        if (*text == '\n')
            fputs(text[1] ? "\\n\"\n     \"" : "\\n", stdout);
        else if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar(*text);
    putchar('"');
}

/* One entry of the table. With a size that no file has, the file is always parsed. */
static int print_file(const struct ocv_buffer *text, const struct ocv_yaml *tree,
                      struct ocv_error *err)
{
    ocv_auto_buffer vendors, classes;
    ocv_buffer_init(&vendors, WORDS_MAX);
    ocv_buffer_init(&classes, WORDS_MAX);
    const struct ocv_yaml *rules = ocv_yaml_get(tree, "devices");
    const char *ns = ocv_yaml_text(tree, "namespace"), *name = ocv_yaml_text(tree, "name");
    const char *version = ocv_yaml_text(tree, "version");
    bool tree_rule = false, known = ns && !ocv_yaml_get(tree, "replaces");
    for (const struct ocv_yaml *m = rules ? rules->first : NULL; m; m = m->next) {
        OCV_TRY(add_word(&vendors, m, "pci", "vendor", err));
        OCV_TRY(add_word(&classes, m, "sysfs", "class", err));
        tree_rule = tree_rule || ocv_yaml_get(m, "devicetree");
    }
    const char *const words[] = {ns, name ? name : ns, version ? version : "1",
                                 vendors.data ? vendors.data : "",
                                 classes.data ? classes.data : ""};
    printf("    {");
    print_string(text->data);
    printf(",\n     %zu, ", known ? text->len : 0);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        print_string(words[i]);
        fputs(", ", stdout);
    }
    printf("%s},\n", tree_rule ? "true" : "false");
    return OCV_OK;
}

int main(int argc, char **argv)
{
    struct ocv_error err = {0};
    puts("/* SPDX-License-Identifier: GPL-3.0-or-later */\n"
         "/* Generated from plugins/providers/ by index.c. */\n"
         "#include \"lib/probe/declarative/declarative.h\"\n\n"
         "static const struct ocv_known_file ocv_known_files[] = {");
    for (int i = 1; i < argc; i++) {
        struct ocv_yaml *tree = NULL;
        ocv_auto_buffer text;
        ocv_buffer_init(&text, FILE_MAX);
        int status = ocv_file_read(argv[i], OCV_FILE_ANY, &text, &err);
        if (status == OCV_OK && !text.len)
            status = ocv_error_set(&err, OCV_ERR_DATA, "%s: empty", argv[i]);
        if (status == OCV_OK)
            status = ocv_yaml_read(argv[i], text.data, text.len, &tree, &err);
        if (status == OCV_OK)
            status = print_file(&text, tree, &err);
        ocv_yaml_free(tree);
        if (status < 0) {
            fprintf(stderr, "providers-index: %s\n", err.message);
            return 1;
        }
    }
    puts("};");
    return fflush(stdout) != 0;
}
