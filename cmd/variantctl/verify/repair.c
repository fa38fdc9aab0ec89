/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl verify --repair: runs the command of each line, which pulls the right image. */
#include "cmd/variantctl/verify/verify_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "lib/base/system/spawn.h"
#include "lib/internal/records/daemon.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 8u
#define CHOOSER_MS 1000u

bool verify_has_chooser(const struct cli *cli)
{
    const char *path = ocv_config_get(cli->config, "socket");
    ocv_auto_buffer text;
    long http = 0;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    return ocv_daemon_get(path && *path ? path : OCV_PATH_SOCKET, "/v1/healthz", CHOOSER_MS, &http,
                          &text, NULL) == OCV_OK &&
           http == 200;
}

/* "crictl pull REF", by our own client: the one of the line need not be here. */
static bool pull_by_runtime(struct cli *cli, const char *socket, const char *remedy)
{
    char helper[PATH_MAX];
    const char *const argv[] = {helper, socket, "pull", strrchr(remedy, ' ') + 1, NULL};
    int code = 0;
    if (cli->profile_file || !verify_has_chooser(cli)) { /* it would get the default */
        cli_warn(cli, cli->profile_file ? "what a runtime pulls is not chosen for --profile"
                                        : "variantd does not answer, and chooses what is pulled");
        return false;
    }
    int failed = cli_helper(CRI_HELPER, getenv("OCV_DATADIR"), helper, sizeof(helper))
                     ? ocv_run_wait(argv, -1, STDERR_FILENO, STDERR_FILENO, &code)
                     : ENAMETOOLONG;
    if (failed)
        cli_warn(cli, "%s: %s", CRI_HELPER, strerror(failed));
    return !failed && code == 0;
}

/* "vpull --to podman REF": words without quotes, as remedy_of makes them. */
static bool run_remedy(struct cli *cli, const char *remedy)
{
    const char *argv[WORDS_MAX + 8] = {"vpull", "--quiet"};
    size_t n = 2;
    /* vpull as it is installed beside this program, else by PATH */
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash = len > 0 ? (path[len] = '\0', strrchr(path, '/')) : NULL;
    if (slash && (size_t)(slash - path) + sizeof("/vpull") <= sizeof(path)) {
        memcpy(slash, "/vpull", sizeof("/vpull"));
        argv[0] = access(path, X_OK) == 0 ? path : argv[0];
    }
    ocv_auto_free char *words = strdup(remedy);
    char *rest = words;
    (void)(words ? strsep(&rest, " ") : NULL); /* "vpull" */
    if (cli->config_file) {
        argv[n++] = "--config";
        argv[n++] = cli->config_file;
    }
    if (cli->profile_file) {
        argv[n++] = "--profile";
        argv[n++] = cli->profile_file;
    }
    for (char *word; words && n < WORDS_MAX + 7 && (word = strsep(&rest, " "));)
        argv[n++] = word;
    int code = 0,
        failed = words ? ocv_run_wait(argv, -1, STDERR_FILENO, STDERR_FILENO, &code) : ENOMEM;
    if (failed) {
        cli_warn(cli, "%s: %s", argv[0], strerror(failed));
        return false;
    }
    return code == 0;
}

size_t verify_repair(struct cli *cli, const json_t *results, bool *failed)
{
    size_t i, repaired = 0;
    json_t *r;
    json_array_foreach(results, i, r)
    {
        const char *remedy = ocv_json_text(r, "remedy"), *verdict = ocv_json_text(r, "verdict");
        bool due = !strcmp(verdict, "misfit") || !strcmp(verdict, "lesser");
        bool again = false; /* two lines about one name have one command */
        for (size_t k = 0; remedy && k < i && !again; k++) {
            const char *other = ocv_json_text(json_array_get(results, k), "remedy");
            again = other && !strcmp(other, remedy);
        }
        if (!remedy || !due || again || cli_interrupted(cli))
            continue;
        const char *socket = local_images_socket(ocv_json_text(r, "where"));
        fprintf(stderr, "%s\n", remedy);
        bool done = socket ? pull_by_runtime(cli, socket, remedy) : run_remedy(cli, remedy);
        repaired += done;
        *failed = *failed || !done;
        if (!done)
            cli_warn(cli, "%s: failed; the image stays as it is", remedy);
    }
    return repaired;
}
