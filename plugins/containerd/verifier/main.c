/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ocivariant-verifier: containerd's image verifier (containerd 2.0 and newer, plugin
 * io.containerd.image-verifier.v1.bindir). containerd runs it after resolving a name and before
 * fetching anything:
 *
 *   ocivariant-verifier -name REF -digest DIGEST -stdin-media-type TYPE   < descriptor JSON
 *
 * Exit status 0 allows, any other one blocks, and the output is shown to the user as the reason. */
#include "lib/base/format/json.h"
#include "plugins/common/plugin_command.h"
#include "plugins/common/verdict.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DESCRIPTOR_MAX (64u * 1024)
#define BLOCKED 1
#define USAGE 2

struct verifier_arguments {
    const char *name, *digest;
};

/* -1: go on; else the exit status. */
static int read_arguments(int argc, char **argv, struct verifier_arguments *out)
{
    for (int i = 1; i < argc && argv[i]; i++) {
        const char *name = argv[i] + (strncmp(argv[i], "--", 2) == 0 ? 1 : 0);
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "-help") == 0 || strcmp(name, "-h") == 0) {
            fputs(
                "Usage: ocivariant-verifier -name REF -digest DIGEST [-stdin-media-type TYPE]\n\n"
                "Run by containerd for every pull; install it into its image verifiers' bin_dir\n"
                "(/opt/containerd/image-verifier/bin). Asks variantd whether the image fits this\n"
                "node and follows `policy` and `fail` of /etc/ocivariant/config.yaml (or of the\n"
                "file in OCIVARIANT_CONFIG).\n",
                stdout);
            return output_end("ocivariant-verifier") ? BLOCKED : 0;
        }
        if (strcmp(name, "-version") == 0) {
            printf("ocivariant-verifier %s\n", ocv_version());
            return output_end("ocivariant-verifier") ? BLOCKED : 0;
        }
        bool known = true;
        if (strcmp(name, "-name") == 0)
            out->name = value;
        else if (strcmp(name, "-digest") == 0)
            out->digest = value;
        else
            known = strcmp(name, "-stdin-media-type") == 0; /* later versions may add options */
        if (!value && known) {
            fprintf(stderr, "ocivariant-verifier: %s needs a value\n", argv[i]);
            return USAGE;
        }
        /* as with Go's flags, the word after a known one is its value, even if it begins with
         * "-" */
        i += value && (known || value[0] != '-') ? 1 : 0;
    }
    if (out->name && out->digest)
        return -1;
    fputs("ocivariant-verifier: -name and -digest are needed\nhint: ocivariant-verifier --help\n",
          stderr);
    return USAGE;
}

int main(int argc, char **argv)
{
    struct verifier_arguments arguments = {0};
    struct verdict_policy policy;
    struct verdict_answer answer;
    struct ocv_error err = {0};
    int code = read_arguments(argc, argv, &arguments);
    if (code >= 0)
        return code;
    /* The descriptor on standard input, if there is one, has this digest. */
    char text[DESCRIPTOR_MAX + 1];
    size_t n = isatty(STDIN_FILENO) ? 0 : fread(text, 1, sizeof(text), stdin);
    json_t *root = n > 0 && n <= DESCRIPTOR_MAX ? ocv_json_load_any(text, n, OCV_JSON_VALUES_MAX,
                                                                    JSON_DISABLE_EOF_CHECK, NULL)
                                                : NULL;
    const char *told = ocv_json_text(root, "digest");
    bool same = n == 0 || (told && strcmp(told, arguments.digest) == 0);
    json_decref(root);
    if (!same) {
        printf("the descriptor on standard input is not that of %s", arguments.digest);
        return BLOCKED;
    }
    if (verdict_policy_read(getenv("OCIVARIANT_CONFIG"), &policy, &err) < 0) {
        printf("%s", err.message);
        return BLOCKED; /* if the administrator's file cannot be read, nothing is allowed */
    }
    const struct ocv_verdict_question question = {.reference = arguments.name,
                                                  .digest = arguments.digest};
    verdict_ask(&policy, &question, &answer);
    if (answer.action == VERDICT_WARN)
        fprintf(stderr, "ocivariant-verifier: warning: %s\n", answer.reason);
    if (answer.action == VERDICT_REFUSE)
        printf("%s", answer.reason);
    verdict_policy_free(&policy);
    return answer.action == VERDICT_REFUSE ? BLOCKED : 0;
}
