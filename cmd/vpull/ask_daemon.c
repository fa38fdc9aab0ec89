/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/vpull.h"
#include "lib/internal/records/daemon.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX (4u * 1024 * 1024) /* a larger decision is made by vpull itself */
#define TIMEOUT_MS 1000u              /* a daemon that hangs must not hang vpull */
#define TARGET_MAX 2048u

char *daemon_choose(const struct cli *cli, const char *text, bool quiet)
{
    ocv_auto(ocv_reference) ref = NULL;
    ocv_auto_buffer answer;
    char target[TARGET_MAX], *reference = NULL;
    ocv_buffer_init(&answer, ANSWER_MAX);
    if (!cli_is_plain(cli) || ocv_reference_parse(text, &ref, NULL) < 0)
        return NULL;
    /* Registry, repository, tag and digest need no escaping in a query, except "+" in algorithm
     * names. */
    int n =
        snprintf(target, TARGET_MAX, "/v1/resolve?ref=%s%s%s%s%s", ref->name, ref->tag ? ":" : "",
                 ref->tag ? ref->tag : "", ref->digest ? "@" : "", ref->digest ? ref->digest : "");
    if (n <= 0 || n >= (int)TARGET_MAX || strchr(target, '+'))
        return NULL;
    const char *path = ocv_config_get(cli->config, "socket");
    struct ocv_error err = {0};
    long http = 0;
    int status = ocv_daemon_get(path && *path ? path : OCV_PATH_SOCKET, target, TIMEOUT_MS, &http,
                                &answer, &err);
    if (status == OCV_OK && http != 200)
        cli_log(cli, "variantd does not choose (HTTP %ld): choosing here", http);
    else if (status < 0 && status != OCV_ERR_NOT_FOUND)
        cli_log(cli, "variantd does not answer: choosing here: %s", err.message);
    if (status < 0 || http != 200)
        return NULL;
    ocv_auto_json *decision =
        ocv_json_load_any(answer.data, answer.len, OCV_JSON_VALUES_MAX, 0, NULL);
    const char *digest = ocv_json_text_or(json_object_get(decision, "selected"), "digest", "");
    if (strcmp(ocv_json_text_or(decision, "schema", ""), "dev.ocivariant.decision/v1") != 0 ||
        strcmp(ocv_json_text_or(decision, "source", ""), "index") != 0 || !ocv_digest_known(digest))
        return NULL;
    cli_log(cli, "%s: chosen by variantd", text);
    if (asprintf(&reference, "%s@%s", ref->name, digest) < 0)
        reference = NULL;
    size_t i;
    const json_t *warning;
    json_array_foreach(json_object_get(decision, "warnings"), i, warning)
    {
        char line[1024];
        if (json_is_string(warning) && !quiet)
            cli_warn(cli, "%s: %s", text, cli_text(json_string_value(warning), line, sizeof(line)));
    }
    return reference;
}
