/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The tables of the programs, and two pages of documentation, from the YAML files of this
 * directory:
 *
 *     generate NAME FILE.yaml [PROVIDER.yaml...]
 *
 * prints NAME, a row of outputs[] below. Run at build time, in the root of the tree. A file that is
 * wrong ends it with "FILE:LINE: why". */
#include "schema/generate/generate.h"

#include "lib/base/file.h"
#include "ocivariant/buffer.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *source;
char **providers;
node document;

_Noreturn void fail(node at, const char *why, ...)
{
    va_list values;
    fprintf(stderr, "%s:%zu: ", source, at ? at->line : 1);
    va_start(values, why);
    vfprintf(stderr, why, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

const char *need(node map, const char *key)
{
    const char *text = ocv_yaml_text(map, key);
    if (!text || !*text)
        fail(map, "%s is missing", key);
    return text;
}

node need_list(node map, const char *key)
{
    node list = ocv_yaml_get(map, key);
    if (!list || !list->first)
        fail(map, "%s is missing", key);
    return list;
}

node first_of(node map, const char *key)
{
    node list = ocv_yaml_get(map, key);
    return list ? list->first : NULL;
}

const char *need_word(node map, const char *key, const char *const *words)
{
    static char upper[64];
    const char *text = need(map, key);
    while (*words && strcmp(*words, text) != 0)
        words++;
    if (!*words)
        fail(map, "unknown %s: %s", key, text);
    for (size_t i = 0; i <= strlen(text) && i < sizeof(upper); i++)
        upper[i] = text[i] == '-' ? '_' : (char)toupper((unsigned char)text[i]);
    return upper;
}

void print_upper(const char *text)
{
    for (; *text; text++)
        putchar(*text == '-' ? '_' : toupper((unsigned char)*text));
}

void print_string(const char *text)
{
    if (!text) {
        printf("NULL");
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

void print_strings(node map, const char *const *keys)
{
    for (size_t i = 0; keys[i]; i++) {
        printf(i ? ", " : "");
        print_string(ocv_yaml_text(map, keys[i]));
    }
}

void print_joined(node list, const char *between)
{
    if (!list) {
        printf("NULL");
        return;
    }
    putchar('"');
    for (node item = list->first; item; item = item->next)
        printf("%s%s", item == list->first ? "" : between, item->text);
    putchar('"');
}

void split_feature(node map, const char *key, char ns[64], char feature[64])
{
    if (sscanf(need(map, key), "%63[a-z0-9_] :: %63[a-z0-9_]", ns, feature) != 2)
        fail(ocv_yaml_get(map, key), "not 'namespace :: feature'");
}

void head(const char *guard)
{
    printf("/* SPDX-License-Identifier: LGPL-3.0-or-later */\n"
           "/* Generated from %s by schema/generate. */\n#ifndef %s\n#define %s\n\n",
           source, guard, guard);
}

static const struct {
    const char *name;
    void (*print)(void);
    bool page;
} outputs[] = {
    {"vocabulary", vocabulary, false},
    {"vocabulary-words", vocabulary_words, false},
    {"hints", hints, false},
    {"toolkits", toolkits, false},
    {"device-drivers", device_drivers, false},
    {"config-facts", config_facts, false},
    {"lint-facts", lint_facts, false},
    {"content-rules", content_rules, false},
    {"slim-vendors", slim_vendors, false},
    {"daemon-metrics", daemon_metrics, false},
    {"metrics-page", metrics_page, true},
    {"lint-rules", lint_rules, false},
    {"lint-page", lint_page, true},
};

int main(int argc, char **argv)
{
    struct ocv_error err = {0};
    struct ocv_yaml *root = NULL;
    ocv_auto_buffer text;
    size_t i = 0, n = sizeof(outputs) / sizeof(*outputs);
    while (i < n && argc > 2 && strcmp(outputs[i].name, argv[1]) != 0)
        i++;
    if (argc < 3 || i == n) {
        fprintf(stderr, "usage: generate NAME FILE.yaml [PROVIDER.yaml...]\n");
        return 2;
    }
    source = argv[2];
    providers = argv + 3;
    ocv_buffer_init(&text, 8 << 20);
    if (ocv_file_read(source, OCV_FILE_ANY, &text, &err) < 0 ||
        ocv_yaml_read(source, text.data ? text.data : "", text.len, &root, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    document = root;
    outputs[i].print();
    if (!outputs[i].page)
        printf("\n#endif\n");
    ocv_yaml_free(root);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
