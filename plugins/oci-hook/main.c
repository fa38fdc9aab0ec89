/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ocivariant-oci-hook: an OCI runtime hook (runtime-spec, "createRuntime").
 * The runtime gives the container's state as JSON on standard input; an exit status other than 0
 * refuses the container, and standard error has the reason. */
#include "lib/base/format/json.h"
#include "plugins/common/plugin_command.h"
#include "plugins/oci-hook/hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFUSED 1
#define USAGE 2

static int report_action(enum verdict_action action, const char *reason)
{
    if (action == VERDICT_ALLOW)
        return 0;
    fprintf(stderr, "ocivariant: %s%s\n", action == VERDICT_WARN ? "warning: " : "", reason);
    return action == VERDICT_REFUSE ? REFUSED : 0;
}

static int check_image(const struct verdict_policy *policy)
{
    struct verdict_answer answer;
    struct container_state state;
    if (verdict_is_off(policy, true))
        return 0;
    ocv_auto_json *json = state_parse(STDIN_FILENO);
    if (!json_is_object(json)) /* no runtime sends this: trust none of it */
        return report_action(verdict_decide(policy, OCV_VERDICT_MISFIT, NULL),
                             "the container's state on standard input is not JSON");
    int code = 0;
    if (state_read(json, &state)) {
        verdict_ask(policy, &state.question, &answer);
        code = report_action(answer.action, answer.reason);
    } else if (state.image.lost || state.unread) {
        code = report_action(
            verdict_decide(policy, OCV_VERDICT_UNKNOWN, state.question.reference),
            state.unread
                ? "the image cannot be checked: the bundle's config.json cannot be read"
                : "the image cannot be checked: the engine's storage does not tell its digest");
    }
    state_free(&state);
    return code;
}

/* -1: go on; else the exit status. */
static int read_arguments(int argc, char **argv, const char **config)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs("Usage: ocivariant-oci-hook [--config FILE] < STATE\n\n"
                  "Run by podman and CRI-O at the start of containers, with the container's state\n"
                  "(JSON) on standard input. Asks variantd whether the image fits this node and\n"
                  "follows `policy` and `fail` of /etc/ocivariant/config.yaml (or of --config, or\n"
                  "of the file in OCIVARIANT_CONFIG).\n",
                  stdout);
            return output_end("ocivariant-oci-hook");
        }
        if (strcmp(argv[i], "--version") == 0) {
            printf("ocivariant-oci-hook %s\n", ocv_version());
            return output_end("ocivariant-oci-hook");
        }
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc && argv[i + 1][0] != '-') {
            *config = argv[++i];
            continue;
        }
        fprintf(stderr, "ocivariant-oci-hook: %s: '%s'\nhint: ocivariant-oci-hook --help\n",
                strcmp(argv[i], "--config") == 0 ? "needs a value" : "unknown option", argv[i]);
        return USAGE;
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct verdict_policy policy;
    struct ocv_error err = {0};
    const char *config = getenv("OCIVARIANT_CONFIG");
    int code = read_arguments(argc, argv, &config);
    if (code >= 0)
        return code;
    if (verdict_policy_read(config, &policy, &err) < 0) {
        fprintf(stderr, "ocivariant: %s\n", err.message);
        return REFUSED; /* if the administrator's file cannot be read, nothing is allowed */
    }
    code = check_image(&policy);
    verdict_policy_free(&policy);
    return code;
}
