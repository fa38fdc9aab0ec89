/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reader of test/data/machines (the format stands in the README there): makes each machine in turn,
 * and hands its expectations out. */
#ifndef MACHINES_H
#define MACHINES_H

#include "test/unit/probe/probe_util.h"

#include <dirent.h>

#define MACHINES "test/data/machines"
#define MACHINES_MAX 1024

struct machine {
    char file[64];
    char name[96];
    size_t line;
    char *text; /* its lines, comments included */
};

/* Machines are read before check runs, so its assertions are of no use yet. */
#define NEED(condition, ...)              \
    do {                                  \
        if (!(condition)) {               \
            fprintf(stderr, __VA_ARGS__); \
            exit(EXIT_FAILURE);           \
        }                                 \
    } while (0)

static struct machine machines[MACHINES_MAX];
static size_t n_machines;

UNUSED static void read_machine_file(const char *name)
{
    char path[128], line[4096];
    struct machine *m = NULL;
    snprintf(path, sizeof(path), MACHINES "/%s", name);
    FILE *file = fopen(path, "rb");
    NEED(file != NULL, "%s\n", path);
    for (size_t n = 1; fgets(line, sizeof(line), file); n++) {
        if (strncmp(line, "machine ", 8) == 0) {
            NEED(n_machines < MACHINES_MAX, "too many machines\n");
            m = &machines[n_machines++];
            line[strcspn(line, "\n")] = '\0';
            snprintf(m->file, sizeof(m->file), "%.63s", name);
            snprintf(m->name, sizeof(m->name), "%.95s", line + 8);
            m->line = n;
            m->text = strdup("");
        } else if (m) {
            char *longer = NULL;
            NEED(asprintf(&longer, "%s%s", m->text, line) >= 0, "no memory\n");
            free(m->text);
            m->text = longer;
        } else {
            NEED(line[0] == '#' || line[0] == '\n', "%s:%zu: before the first machine\n", path, n);
        }
    }
    fclose(file);
    NEED(m != NULL, "%s: no machine\n", path);
}

UNUSED static void read_machines(void)
{
    struct dirent **entries;
    int n = scandir(MACHINES, &entries, NULL, alphasort);
    NEED(n > 0, "%s: no files\n", MACHINES);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.' && strcmp(entries[i]->d_name, "README") != 0)
            read_machine_file(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* Cut the next word off; NULL at the end. */
UNUSED static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    size_t len = strcspn(word, " \t");
    if (len == 0)
        return NULL;
    *rest = word + len + (word[len] != '\0');
    word[len] = '\0';
    return word;
}

/* "\n", "\t", "\0" and "\\" as in C, in place. */
UNUSED static size_t unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        if (*in == '\\' && in[1]) {
            in++;
            *out++ = *in == 'n'   ? '\n'
                     : *in == 't' ? '\t'
                     : *in == '0' ? '\0'
                     : *in == 'f' ? '\xff'
                                  : *in;
        } else {
            *out++ = *in;
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

UNUSED static void write_bytes(const char *path, char *text)
{
    char full[512];
    size_t len = unescape(text);
    write_text(path, "%s", ""); /* makes the directories */
    snprintf(full, sizeof(full), "%s/%s", root, path);
    FILE *file = fopen(full, "wb");
    ck_assert_msg(file != NULL, "%s", full);
    ck_assert_uint_eq(fwrite(text, 1, len, file), len);
    fclose(file);
}

/* pci ADDRESS VENDOR:DEVICE [class=] [rev=] [sub=VENDOR:DEVICE] [driver=] [pf=ADDRESS] [vfs=N] */
UNUSED static void make_pci(char *rest)
{
    char dir[128], path[256];
    const char *address = next_word(&rest), *id = next_word(&rest);
    ck_assert_ptr_nonnull(id);
    snprintf(dir, sizeof(dir), "sys/bus/pci/devices/%s", address);
#define PUT(name, format, ...)                            \
    do {                                                  \
        snprintf(path, sizeof(path), "%s/%s", dir, name); \
        write_text(path, format, __VA_ARGS__);            \
    } while (0)
#define LINK(name, format, ...)                                \
    do {                                                       \
        char target[256];                                      \
        snprintf(path, sizeof(path), "%s/%s", dir, name);      \
        snprintf(target, sizeof(target), format, __VA_ARGS__); \
        link_to(target, path);                                 \
    } while (0)
    PUT("vendor", "0x%.4s\n", id);
    PUT("device", "0x%s\n", id + 5);
    PUT("class", "0x%s\n", "120000");
    PUT("revision", "0x%s\n", "00");
    PUT("subsystem_vendor", "0x%.4s\n", id);
    PUT("subsystem_device", "0x%s\n", "0000");
    for (const char *word; (word = next_word(&rest));) {
        if (strncmp(word, "class=", 6) == 0) {
            PUT("class", "0x%s\n", word + 6);
        } else if (strncmp(word, "rev=", 4) == 0) {
            PUT("revision", "0x%s\n", word + 4);
        } else if (strncmp(word, "sub=", 4) == 0) {
            PUT("subsystem_vendor", "0x%.4s\n", word + 4);
            PUT("subsystem_device", "0x%s\n", word + 9);
        } else if (strncmp(word, "driver=", 7) == 0) {
            LINK("driver", "../../drivers/%s", word + 7);
        } else if (strncmp(word, "pf=", 3) == 0) {
            LINK("physfn", "../%s", word + 3);
        } else {
            ck_assert_msg(strncmp(word, "vfs=", 4) == 0, "pci %s: what is '%s'?", address, word);
            PUT("sriov_numvfs", "%s\n", word + 4);
        }
    }
#undef PUT
#undef LINK
}

typedef void (*on_expectation)(const struct machine *m, size_t line, const char *verb, char *rest,
                               void *data);

/* Every line of a machine: what it consists of is made, the rest is handed to `call`. */
UNUSED static void each_line(const struct machine *m, bool make, on_expectation call, void *data)
{
    char *text = strdup(m->text), *line = text;
    for (size_t n = m->line + 1; *line; n++) {
        size_t len = strcspn(line, "\n");
        char *next = line + len + (line[len] == '\n');
        line[len] = '\0';
        char *rest = line;
        const char *verb = next_word(&rest);
        if (verb && verb[0] != '#') {
            if (strcmp(verb, "pci") == 0) {
                if (make)
                    make_pci(rest);
            } else if (strcmp(verb, "file") == 0) {
                const char *path = next_word(&rest);
                if (make)
                    write_bytes(path, rest);
            } else if (strcmp(verb, "link") == 0) {
                const char *path = next_word(&rest);
                if (make)
                    link_to(rest, path);
            } else if (call) {
                call(m, n, verb, rest, data);
            }
        }
        line = next;
    }
    free(text);
}

UNUSED static json_t *probe_machine(const struct machine *m)
{
    new_root();
    each_line(m, true, NULL, NULL);
    return probe();
}

#endif
