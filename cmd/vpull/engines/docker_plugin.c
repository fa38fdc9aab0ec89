/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/engines/engine.h"

#include "lib/base/format/json.h"
#include "lib/base/system/unix_socket.h"

#include <jansson.h>
#include <ocivariant.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* docker's global options (cli/flags/options.go); those without a field are skipped. */
struct global_option {
    const char *name;
    char letter;
    bool takes_value;
    size_t text; /* offset of a const char *, or NOWHERE */
    size_t flag; /* offset of a bool, or NOWHERE */
};
#define NOWHERE ((size_t)-1)
#define AT(member) offsetof(struct plugin_globals, member)
static const struct global_option options[] = {
    {"config", '\0', true, AT(config), NOWHERE},
    {"context", 'c', true, AT(context), NOWHERE},
    {"debug", 'D', false, NOWHERE, AT(debug)},
    {"host", 'H', true, AT(host), NOWHERE},
    {"log-level", 'l', true, NOWHERE, NOWHERE},
    {"tls", '\0', false, NOWHERE, AT(tls)},
    {"tlscacert", '\0', true, AT(tls_ca), NOWHERE},
    {"tlscert", '\0', true, AT(tls_cert), NOWHERE},
    {"tlskey", '\0', true, AT(tls_key), NOWHERE},
    {"tlsverify", '\0', false, NOWHERE, AT(tls_verify)},
};

static void store_option(struct plugin_globals *globals, const struct global_option *option,
                         const char *value)
{
    char *base = (char *)globals;

    if (option->text != NOWHERE)
        memcpy(base + option->text, &value, sizeof(value));
    if (option->flag != NOWHERE) {
        bool on = value == NULL || strcmp(value, "false") != 0;

        memcpy(base + option->flag, &on, sizeof(on));
    }
}

/* "--name", "--name=value", "--name value": returns the arguments used */
static int parse_long(int left, char **argv, struct plugin_globals *globals)
{
    const char *name = argv[0] + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strncmp(options[i].name, name, len) != 0 || options[i].name[len] != '\0')
            continue;
        if (!options[i].takes_value || equals) {
            store_option(globals, &options[i], equals ? equals + 1 : NULL);
            return 1;
        }
        if (left > 1)
            store_option(globals, &options[i], argv[1]);
        return 2;
    }
    return 1;
}

/* "-D", "-Hunix:///x", "-H unix:///x", "-DH unix:///x" */
static int parse_short(int left, char **argv, struct plugin_globals *globals)
{
    for (const char *letter = argv[0] + 1; *letter; letter++) {
        for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
            if (options[i].letter != *letter)
                continue;
            if (!options[i].takes_value) {
                store_option(globals, &options[i], NULL);
                break;
            }
            if (letter[1] != '\0') {
                store_option(globals, &options[i], letter + (letter[1] == '=' ? 2 : 1));
                return 1;
            }
            if (left > 1)
                store_option(globals, &options[i], argv[1]);
            return 2;
        }
    }
    return 1;
}

/* docker passes its global options before the word `vpull`. When docker-vpull is run by hand the
 * word may be missing; all options are vpull's then. */
static void find_command(int argc, char **argv, struct plugin_args *out)
{
    struct plugin_globals globals = {0};
    bool help = false;

    for (int i = 1; i < argc;) {
        if (strcmp(argv[i], "vpull") == 0) {
            out->call = help ? PLUGIN_HELP : PLUGIN_RUN;
            out->first = i + 1;
            out->globals = globals;
            return;
        }
        if (strcmp(argv[i], "help") == 0) {
            help = true;
            i++;
        } else if (strncmp(argv[i], "--", 2) == 0)
            i += parse_long(argc - i, argv + i, &globals);
        else if (argv[i][0] == '-')
            i += parse_short(argc - i, argv + i, &globals);
        else
            break;
    }
    out->call = PLUGIN_RUN;
    out->first = 1;
}

void plugin_parse(int argc, char **argv, struct plugin_args *out)
{
    *out = (struct plugin_args){.call = PLUGIN_NONE, .first = 1};
    const char *slash = argc < 1 ? NULL : strrchr(argv[0], '/');
    if (argc < 1 ||
        strncmp(slash ? slash + 1 : argv[0], "docker-vpull", strlen("docker-vpull")) != 0)
        return;
    if (argc > 1 && strcmp(argv[1], "docker-cli-plugin-metadata") == 0) {
        out->call = PLUGIN_METADATA;
        return;
    }
    if (argc > 1 && strncmp(argv[1], "__complete", strlen("__complete")) == 0) {
        find_command(argc - 1, argv + 1, out);
        out->call = PLUGIN_COMPLETION;
        out->first++;
        return;
    }
    find_command(argc, argv, out);
    if (out->call == PLUGIN_RUN && out->first < argc &&
        strcmp(argv[out->first], "docker-cli-plugin-hooks") == 0) {
        out->call = PLUGIN_HOOK;
        out->first++;
    }
}

void plugin_print_metadata(FILE *stream)
{
    /* clients before 28.4.1 accept the schema version 0.1.0 only */
    fprintf(stream,
            "{\"SchemaVersion\":\"0.1.0\",\"Vendor\":\"ocivariant\",\"Version\":\"%s\","
            "\"ShortDescription\":\"Pull the image variant that was built for this machine\"}\n",
            ocv_version());
}

void plugin_print_hook(FILE *stream, const char *json)
{
    ocv_auto_json *call = ocv_json_load_any(json, json ? strlen(json) : 0, OCV_JSON_VALUES_MAX,
                                            JSON_REJECT_DUPLICATES, NULL);
    const char *failure = ocv_json_text(call, "CommandError");

    if (failure && strstr(failure, "no matching manifest"))
        fprintf(stream, "{\"Type\":0,\"Template\":\"docker vpull IMAGE chooses the variant that "
                        "fits this machine\"}\n");
}

struct watch {
    int fd;
    volatile int *flag;
};

static void *wait_for_close(void *data)
{
    struct watch *watch = data;
    char byte;

    while (read(watch->fd, &byte, 1) > 0)
        ;
    __atomic_store_n(watch->flag, 1, __ATOMIC_RELAXED);
    close(watch->fd);
    free(watch);
    return NULL;
}

void plugin_watch(volatile int *flag)
{
    const char *name = getenv("DOCKER_CLI_PLUGIN_SOCKET");
    pthread_t thread;
    struct watch *watch;
    int fd;

    if (!name || !*name || ocv_unix_connect(name, 0, &fd, NULL) < 0)
        return;
    watch = malloc(sizeof(*watch));
    if (watch == NULL) {
        close(fd);
        return;
    }
    watch->fd = fd;
    watch->flag = flag;
    if (pthread_create(&thread, NULL, wait_for_close, watch) != 0) {
        close(fd);
        free(watch);
        return;
    }
    pthread_detach(thread);
}
