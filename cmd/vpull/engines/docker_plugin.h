/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file docker_plugin.h
 * vpull as Docker CLI plugin: docker runs `docker-vpull` with all of its own arguments, global
 * options before the word `vpull` included.
 */
#ifndef VPULL_PLUGIN_H
#define VPULL_PLUGIN_H

#include <stdbool.h>
#include <stdio.h>

enum plugin_call {
    PLUGIN_NONE,       /**< an ordinary program, not called as a plugin */
    PLUGIN_METADATA,   /**< docker asks for the plugin's metadata */
    PLUGIN_COMPLETION, /**< cobra's completion protocol */
    PLUGIN_HOOK,       /**< docker asks for a hint after one of its own commands failed */
    PLUGIN_HELP,       /**< docker help vpull */
    PLUGIN_RUN,        /**< docker [GLOBAL] vpull ARGS, or docker-vpull ARGS */
};

/** docker's global options that select an engine. Borrowed from argv; NULL if not given. */
struct plugin_globals {
    const char *config;
    const char *context;
    const char *host;
    const char *tls_ca, *tls_cert, *tls_key;
    bool tls, tls_verify;
    bool debug;
};

struct plugin_args {
    enum plugin_call call;
    int first; /**< index in argv of vpull's first argument */
    struct plugin_globals globals;
};

/** Read argv as docker passes it. */
void plugin_parse(int argc, char **argv, struct plugin_args *out);
/** The metadata docker wants on stdout. */
void plugin_print_metadata(FILE *stream);
/** Answer a hook call; `json` is docker's description of the failed command. Prints a hint if an
 *  image had no entry for this machine, else nothing. */
void plugin_print_hook(FILE *stream, const char *json);
/** docker closes the socket named in the environment to stop the command: `*flag` is set then. Does
 *  nothing if docker names none. */
void plugin_watch(volatile int *flag);

#endif
