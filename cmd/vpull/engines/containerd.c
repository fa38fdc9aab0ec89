/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --to containerd (ctr) and --to nerdctl: vpull fetches, the client imports the archive. ctr could
 * pull, but would need the user's credentials and certificates as arguments, which every user can
 * read. The archive keeps the manifest's digest. */
#include "cmd/vpull/engines/engine.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *containerd_socket(void)
{
    const char *address = getenv("CONTAINERD_ADDRESS");
    return address && *address ? address : "/run/containerd/containerd.sock";
}

static const char *containerd_namespace(const struct pull_options *options)
{
    const char *ns = options->ns ? options->ns : getenv("CONTAINERD_NAMESPACE");
    return ns && *ns ? ns : "default";
}

static bool is_reachable(const char *client)
{
    return subprocess_available(client) && access(containerd_socket(), R_OK | W_OK) == 0;
}

static bool ctr_available(struct cli *cli, const struct pull_options *options)
{
    (void)cli;
    (void)options;
    return is_reachable("ctr");
}

static bool nerdctl_available(struct cli *cli, const struct pull_options *options)
{
    (void)cli;
    (void)options;
    return is_reachable("nerdctl");
}

/* Both clients print this first: "unpacking registry.example/app:1 (sha256:...)...". */
static void show_line(void *data, const char *text)
{
    struct pull *pull = data;
    if (!strncmp(text, "unpacking ", 10))
        progress_status(pull->progress, "extracting", pull->image.text, "extracting in containerd");
    if (pull->cli->verbose)
        progress_message(pull->progress, "%s", text);
}

/* containerd needs a name to find an image again, so an unnamed one gets its digest reference. */
static int ensure_name(struct pull *pull, struct ocv_error *err)
{
    if (pull->name)
        return OCV_OK;
    if (!pull->image.reference)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: give the result a name with --tag",
                             pull->image.text);
    pull->name = pull_digest_reference(pull);
    return pull->name ? OCV_OK : ocv_error_nomem(err);
}

static int import_archive(struct pull *pull, const char *const *argv, struct ocv_error *err)
{
    if (!subprocess_available(argv[0]))
        return ocv_error_set(err, OCV_ERR_ENGINE, "%s is not installed", argv[0]);
    /* fail before gigabytes are fetched */
    if (access(containerd_socket(), R_OK | W_OK) != 0) {
        ocv_error_set(err, OCV_ERR_ENGINE, "containerd does not answer: %s: %s",
                      containerd_socket(), strerror(errno));
        ocv_error_hint(err, "is containerd running? CONTAINERD_ADDRESS names its socket");
        return OCV_ERR_ENGINE;
    }
    OCV_TRY(ensure_name(pull, err));
    return engine_feed(pull, "containerd", argv, show_line, err);
}

struct content_check {
    const char *digest;
    bool complete;
};

/* REF TYPE DIGEST STATUS SIZE UNPACKED; the status is "complete (3/3)" when every blob is there */
static void check_line(void *data, const char *text)
{
    struct content_check *check = data;
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == ' ')
        n--;
    bool unpacked = n > 5 && !strncmp(text + n - 5, " true", 5);
    if (strstr(text, check->digest) && strstr(text, " complete (") && unpacked)
        check->complete = true;
}

static int pull_ctr(struct pull *pull, const char *argument, char *where, size_t size,
                    struct ocv_error *err)
{
    (void)argument;
    const char *ns = containerd_namespace(pull->options);
    const char *import_argv[] = {
        "ctr", "--address", containerd_socket(), "--namespace", ns, "images", "import", "-", NULL};
    snprintf(where, size, "into containerd, namespace %s", ns);
    OCV_TRY(ensure_name(pull, err));
    /* Nothing need be fetched if the chosen image is there under its name, complete and unpacked.
     */
    struct content_check check = {.digest = pull->entry->digest};
    ocv_auto_free char *filter = NULL;
    if (asprintf(&filter, "name==\"%s\"", pull->name) < 0)
        filter = NULL;
    const char *check_argv[] = {"ctr",         "--address", containerd_socket(),
                                "--namespace", ns,          "images",
                                "check",       filter,      NULL};
    pull->cached =
        filter && is_reachable("ctr") &&
        subprocess_run(check_argv, -1, false, check_line, &check, pull->cli, NULL) == OCV_OK &&
        check.complete;
    if (!pull->cached)
        OCV_TRY(import_archive(pull, import_argv, err));
    /* makes the image visible to the CRI plugin (kubelet) */
    const char *label_argv[] = {"ctr",         "--address", containerd_socket(),
                                "--namespace", ns,          "images",
                                "label",       pull->name,  "io.cri-containerd.image=managed",
                                NULL};
    return subprocess_run(label_argv, -1, false, NULL, NULL, pull->cli, err);
}

static int pull_nerdctl(struct pull *pull, const char *argument, char *where, size_t size,
                        struct ocv_error *err)
{
    (void)argument;
    const char *ns = containerd_namespace(pull->options);
    /* it skips content of other platforms unless told otherwise */
    const char *platform = pull->cli->platform_text;
    const char *argv[] = {"nerdctl",
                          "--address",
                          containerd_socket(),
                          "--namespace",
                          ns,
                          "load",
                          platform ? "--platform" : NULL,
                          platform,
                          NULL};
    snprintf(where, size, "into containerd with nerdctl, namespace %s", ns);
    return import_archive(pull, argv, err);
}

const struct destination destination_containerd = {"containerd", NULL, ctr_available, pull_ctr};
const struct destination destination_nerdctl = {"nerdctl", NULL, nerdctl_available, pull_nerdctl};
