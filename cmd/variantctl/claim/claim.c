/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl claim: the Kubernetes and Slurm requirements of an image. */
#include "cmd/common/names.h"
#include "cmd/variantctl/claim/claim_verb.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <string.h>

#define REFERENCE_MAX 4608u
#define NAME_LENGTH 52u /* with a suffix it still fits a DNS label */

#define CLASSES_MAX ((size_t)1 << 20)

struct claim_options {
    struct cli *cli;
    struct claim_slurm slurm;
    const char *index_file, *image, *name, *pods_image, *engine, *classes;
    struct claim_job job;
    unsigned count;
    bool json;
};

static const struct ocv_option options[] = {
    {.name = "index",
     .value = "FILE",
     .help = "an index document, '-' for standard input",
     OCV_OPTION_TEXT(struct claim_options, index_file)},
    {.name = "for",
     .value = "kubernetes|slurm",
     .help = "the scheduler (kubernetes)",
     OCV_OPTION_WORD(struct claim_options, engine)},
    {.name = "classes",
     .value = "FILE",
     .help = "the cluster's DeviceClasses; others are left out",
     OCV_OPTION_TEXT(struct claim_options, classes)},
    {.group = claim_slurm_options, .offset = offsetof(struct claim_options, slurm)},
    {.name = "name",
     .value = "NAME",
     .help = "of the objects (the repository's last part)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct claim_options, name)},
    {.name = "image",
     .value = "IMAGE",
     .help = "what the pods name (the image as given)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct claim_options, pods_image)},
    {.name = "count",
     .value = "N",
     .help = "devices of one pod, all alike (1)",
     OCV_OPTION_NUMBER(struct claim_options, count, 1, CLAIM_DEVICES_MAX)},
    {.name = "replicas",
     .value = "N",
     .help = "for N members of one job: the build that all get",
     OCV_OPTION_NUMBER(struct claim_options, job.replicas, 1, OCV_FLEET_NODES_MAX)},
    {.name = "profiles",
     .value = "FLEET",
     .help = "the nodes, as variantctl match takes them",
     OCV_OPTION_TEXT(struct claim_options, job.fleet)},
    {.name = "strict",
     .help = "a malformed profile is an error, not left out",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct claim_options, job.strict)},
    CLI_FORMAT(struct claim_options, json, "YAML for kubectl, or the same as a JSON list (text)"),
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl claim [OPTIONS] IMAGE | oci:DIR[:TAG] | --index FILE\n"
             "\n"
             "Write which devices the variants of an image need: for Kubernetes 1.34 a\n"
             "ResourceClaimTemplate and PodTemplates, for Slurm the --constraint of a job.\n",
    .details = "Kubernetes 1.34 or newer: the template has the alternatives in the order in\n"
               "which nodes choose. --platform takes one architecture; --namespace-priority,\n"
               "--disable, --label and --require choose as on the nodes. With --replicas and\n"
               "--profiles the pods name the build by its digest, and nodes by the label\n"
               "dev.ocivariant/class. For Slurm see ocivariant-placing(7).\n"
               "Exit 0: written; 3: no variant needs a device that Kubernetes can claim, or no\n"
               "build has room; 4: malformed index or fleet, or too much for a claim.\n",
    .options = options,
    .groups = CLI_RESOLVE | CLI_REGISTRY,
    .arguments = {"one IMAGE, oci:DIR[:TAG] or --index FILE", 1, 1,
                  CLI_INSTEAD(struct claim_options, index_file), NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl claim registry.example/app:1.0 | kubectl apply -f -\n"
           "  variantctl claim --index index.json --image registry.example/app:1.0\n"
           "  variantctl claim --replicas 2 --profiles fleet.packed registry.example/app:1.0\n"};

static int find_names(const struct claim_options *r, const struct image *image,
                      struct claim_manifest *out, char name[CLAIM_NAME_MAX],
                      struct ocv_reference **reference, struct ocv_error *err)
{
    out->image = r->pods_image ? r->pods_image : image->reference ? r->image : NULL;
    if (!out->image)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "%s: --image is required: the name that the pods use", r->cli->verb);
    OCV_TRY(ocv_reference_parse(out->image, reference, err));
    /* "registry.example/team/my_app.x" -> "my-app-x" */
    const char *repository = (*reference)->repository, *slash = strrchr(repository, '/');
    const char *from = slash ? slash + 1 : repository;
    size_t n = 0;
    for (; n < NAME_LENGTH && from[n]; n++)
        name[n] = from[n] == '_' || from[n] == '.' ? '-' : from[n];
    while (n && name[n - 1] == '-')
        n--;
    name[n] = '\0';
    out->name = r->name ? r->name : name;
    n = strlen(out->name);
    if (!n || n > NAME_LENGTH || strspn(out->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != n ||
        out->name[0] == '-' || out->name[n - 1] == '-')
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "--name: '%.100s' is not 1 to 52 of a-z, 0-9 and - between them",
                             out->name);
    return OCV_OK;
}

/* What kubectl prints of classes, as a table or by their names: "gpu.example.com  5d",
 * "deviceclass.resource.k8s.io/gpu.example.com". */
static bool names_class(const char *text, const char *class)
{
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, " \t\r\n"), n = strlen(class);
        const char *slash = memchr(line, '/', len);
        const char *name = slash ? slash + 1 : line;
        if ((size_t)(line + len - name) == n && !memcmp(name, class, n))
            return true;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return false;
}

/* Leave out alternatives whose DeviceClass the cluster lacks: one that does not exist leaves every
 * pod of the claim pending, wherever it could run. */
static int keep_classes(const struct claim_options *r, struct ocv_claim *claim,
                        struct ocv_error *err)
{
    struct ocv_claim_alternative *list =
        (struct ocv_claim_alternative *)(uintptr_t)claim->alternatives;
    ocv_auto_buffer text;
    size_t n = claim->n_alternatives;
    ocv_buffer_init(&text, CLASSES_MAX);
    if (!r->classes) {
        for (size_t i = 1; i < n; i++)
            if (strcmp(list[i].driver, list[0].driver) != 0) {
                cli_warn(r->cli,
                         "the claim names several DeviceClasses (%s, %s): a cluster that lacks one "
                         "schedules no pod of it; --classes FILE names those that are there",
                         list[0].driver, list[i].driver);
                break;
            }
        return OCV_OK;
    }
    OCV_TRY(cli_read_file(r->classes, &text, err));
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told = told || !strcmp(list[k].driver, list[i].driver);
        if (!told && !names_class(text.len ? text.data : "", list[i].driver))
            cli_warn(r->cli, "the cluster has no DeviceClass %s: builds for it are left out",
                     list[i].driver);
    }
    for (size_t i = 0; i < n; i++)
        if (names_class(text.len ? text.data : "", list[i].driver))
            list[kept++] = list[i];
    claim->n_alternatives = kept;
    if (!n || kept)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_NO_MATCH, "%s has none of the DeviceClasses that the builds need",
                  r->classes);
    ocv_error_hint(err, "it is what 'kubectl get deviceclasses -o name' prints");
    return OCV_ERR_NO_MATCH;
}

static int make_claim(const struct claim_options *r, const struct image *image,
                      const struct claim_matched *matched, struct ocv_claim **out,
                      struct ocv_error *err)
{
    struct cli *cli = r->cli;
    struct ocv_resolve_options resolve = {
        .preferences = ocv_config_preferences_for(cli->config, image->reference),
        .platform = cli->platform,
        .label = !matched->entry                             ? names_label(image->index, cli->label)
                 : matched->entry->kind == OCV_ENTRY_VARIANT ? matched->entry->label
                                                             : "null",
    };
    if (matched->entry && matched->entry->kind != OCV_ENTRY_VARIANT)
        cli_warn(cli, "no variant has room for all members: they get the default");
    if (matched->entry && matched->entry->has_platform)
        resolve.platform = &matched->entry->platform;
    OCV_TRY(ocv_claim_new(image->index, &resolve, out, err));
    for (size_t i = 0; i < (*out)->n_warnings; i++)
        cli_warn(cli, "%s", (*out)->warnings[i]);
    OCV_TRY(keep_classes(r, *out, err));
    if (matched->entry || (*out)->n_alternatives || (*out)->n_nodes)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_NO_MATCH, "%s: no variant needs a device that can be claimed",
                  image->text);
    ocv_error_hint(err, "variantctl index show lists what the index holds");
    return OCV_ERR_NO_MATCH;
}

static int check_options(const struct claim_options *r, struct ocv_error *err)
{
    struct cli *cli = r->cli;
    if (cli->profile_file)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: a claim is for all machines: no --profile",
                             cli->verb);
    if (!r->job.fleet != !r->job.replicas)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: --replicas and --profiles go together",
                             cli->verb);
    if (r->engine && !strcmp(r->engine, "slurm")) {
        /* An option that would do nothing is not what was meant. */
        const char *option = r->job.replicas ? "--replicas"
                             : r->name       ? "--name"
                             : r->pods_image ? "--image"
                             : r->json       ? "--format json"
                             : r->classes    ? "--classes"
                                             : NULL;
        if (r->count)
            return ocv_error_set(err, OCV_ERR_INVALID,
                                 "%s: --count is for Kubernetes; Slurm has --gpus-per-node",
                                 r->cli->verb);
        if (option)
            return ocv_error_set(err, OCV_ERR_INVALID, "%s: %s is for Kubernetes", r->cli->verb,
                                 option);
        return OCV_OK;
    }
    const char *option = r->slurm.features        ? "--features"
                         : r->slurm.features_file ? "--features-file"
                         : r->slurm.use_short     ? "--short"
                                                  : NULL;
    if (option)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: %s requires --for slurm", cli->verb,
                             option);
    return OCV_OK;
}

int cmd_claim(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct claim_options r = {.cli = cli};
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    r.image = *cli->arguments;
    OCV_TRY(check_options(&r, err));
    if (r.engine && !strcmp(r.engine, "slurm"))
        return claim_for_slurm(cli, &r.slurm, r.index_file, err);

    ocv_auto_image image = {0};
    __attribute__((cleanup(claim_matched_free))) struct claim_matched matched = {0};
    OCV_TRY(cli_load(cli, err));
    OCV_TRY(image_open_either(cli, r.index_file, r.image, &image, true, err));
    /* A misspelt name must not pass as a property that the image does not need. */
    OCV_TRY(names_check(cli, ocv_config_for_reference(cli->config, image.reference), NULL,
                        image.index, err));
    OCV_TRY(names_check_label(image.text, image.index, cli->label, err));
    OCV_TRY(image_finish(cli, &image, err));
    ocv_auto(ocv_claim) claim = NULL;
    ocv_auto(ocv_reference) reference = NULL;
    struct claim_manifest manifest = {0};
    char name[CLAIM_NAME_MAX], index[REFERENCE_MAX], pinned[REFERENCE_MAX];
    OCV_TRY(find_names(&r, &image, &manifest, name, &reference, err));
    if (r.job.fleet)
        OCV_TRY(claim_match(cli, &r.job, &image, &matched, err));
    OCV_TRY(make_claim(&r, &image, &matched, &claim, err));
    snprintf(index, sizeof(index), "%s@%s", reference->name, ocv_index_digest(image.index));
    manifest.index = image.choice ? NULL : index; /* a tag rule's index is not in the registry */
    manifest.claim = claim;
    manifest.count = r.count;
    if (matched.entry) { /* by digest, since a node might otherwise choose another build */
        snprintf(pinned, sizeof(pinned), "%s@%s", reference->name, matched.entry->digest);
        manifest.image = pinned;
        manifest.classes = matched.classes;
        manifest.n_classes = matched.n_classes;
    }
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLAIM_OUTPUT_MAX);
    ocv_auto_json *objects = claim_manifest_make(&manifest);
    if (!objects)
        return ocv_error_nomem(err);
    if (r.json)
        return print_document(
            json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", objects),
            err);
    OCV_TRY(claim_yaml_format(objects, &text, err));
    return cli_print(text.data, text.len, err);
}
