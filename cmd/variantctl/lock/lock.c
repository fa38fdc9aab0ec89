/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl lock: fix what each machine gets of each image, by digests. */
#include "cmd/common/image/image.h"
#include "cmd/common/names.h"
#include "cmd/variantctl/lock/lock_profiles.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define THIS_MACHINE "this"
#define DIRECTORIES_MAX 64u

struct lock_options {
    struct cli *cli;
    const char *output;
    const char *check, *update; /* locks that are there already */
    struct named_profiles machines;
    const char *directories[DIRECTORIES_MAX];
    size_t n_directories;
    bool strict;
};

static int take_profiles(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct lock_options *r = given->into; /* read when all options are known */
    if (r->n_directories == DIRECTORIES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u --profiles", DIRECTORIES_MAX);
    r->directories[r->n_directories++] = given->value;
    return OCV_OK;
}

static const struct ocv_option options[] = {
    {.name = "output",
     .letter = 'o',
     .value = "FILE",
     .help = "the lock (default: standard output)",
     OCV_OPTION_TEXT(struct lock_options, output)},
    {.name = "check",
     .value = "FILE",
     .help = "has an image of this lock moved? exit 5",
     OCV_OPTION_TEXT(struct lock_options, check)},
    {.name = "update",
     .value = "FILE",
     .help = "lock the images and machines of this lock again",
     OCV_OPTION_TEXT(struct lock_options, update)},
    {.name = "profile",
     .value = "[NAME=]FILE|NAME",
     .help = "a machine's profile under a name; again for more",
     OCV_OPTION_MEMBER(named_profiles_take, struct lock_options, machines)},
    {.name = "profiles",
     .value = "DIR",
     .help = "every *.json of a directory, named by its file\n"
             "(neither: this machine, as \"" THIS_MACHINE "\")",
     OCV_OPTION_CALL(take_profiles)},
    {.name = "strict",
     .help = "a malformed profile is an error, not left out",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct lock_options, strict)},
    {.name = "namespace-priority",
     .value = "A,B",
     .names = "--namespace-priority, --disable, --require, --device-policy, --override",
     .help = "\nas for resolve",
     OCV_OPTION_MEMBER(cli_take_setting_of, struct lock_options, cli)},
    CLI_SETTING(struct lock_options, cli, "require", "NS[::F[::V]]"),
    CLI_SETTINGS_OF_NODES(struct lock_options, cli),
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl lock [OPTIONS] IMAGE...\n"
             "       variantctl lock --check FILE | --update FILE\n"
             "\n"
             "Write which manifest each machine gets of each image, with the index's digest,\n"
             "so that \"vpull --locked FILE\" pulls the same everywhere and later.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .arguments = CLI_ANY_ARGUMENTS,
    .end = "\n"
           "Examples:\n"
           "  variantctl lock -o app.lock registry.example/app:1.0\n"
           "  variantctl lock --check app.lock\n"
           "  variantctl lock --profile h100 --require nvidia oci:images:app\n"};

static int lock_for(struct cli *cli, struct image *image, const struct named_profile *machine,
                    json_t *profiles, struct ocv_error *err)
{
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    const struct ocv_config *config = ocv_config_for_reference(cli->config, image->reference);
    OCV_TRY(names_check(cli, config, machine->profile, image->index, err));
    OCV_TRY(ocv_config_override_profile(config, machine->profile, &profile, err));
    OCV_TRY(image_resolve_for(cli, image, profile, &decision, err));
    const struct ocv_entry *entry = ocv_decision_selected(decision);
    if (!entry) {
        int status = names_no_match(cli, image->text, image->reference, image->index, decision,
                                    image_ruled_tag(image), err);
        ocv_error_prefix(err, "%s", machine->name);
        return status;
    }
    uint32_t ids[OCV_ENTRY_PROPERTIES_MAX];
    json_t *matched = json_array();
    size_t n = ocv_decision_matched(decision, entry, ids, OCV_ENTRY_PROPERTIES_MAX);
    for (size_t i = 0; matched && i < n && i < OCV_ENTRY_PROPERTIES_MAX; i++) {
        struct ocv_property p = ocv_index_property(image->index, ids[i]);
        json_array_append_new(matched, json_sprintf("%s :: %s :: %s", p.ns, p.feature, p.value));
    }
    json_t *choice = json_pack("{s:s?, s:s, s:s, s:I, s:o}", "label", entry->label, "digest",
                               entry->digest, "mediaType", entry->media_type, "size",
                               (json_int_t)entry->size, "properties", matched);
    if (!choice || json_object_set_new(profiles, machine->name, choice) < 0)
        return ocv_error_nomem(err);
    if (machine->source && json_object_set_new(choice, "source", json_string(machine->source)) < 0)
        return ocv_error_nomem(err);
    struct ocv_signature signature;
    struct ocv_error ignored = {0};
    const char *subject = image_subject(image, entry);
    OCV_TRY(image_verify(cli, image->reference, subject, NULL, &signature, &ignored, err));
    if (*signature.key &&
        json_object_set_new(choice, "signature",
                            json_pack("{s:s, s:s, s:s}", "subject", subject, "key", signature.key,
                                      "digest", signature.document)) < 0)
        return ocv_error_nomem(err);
    const char *tag = image_tag(image, entry);
    return tag && json_object_set_new(choice, "tag", json_string(tag)) < 0 ? ocv_error_nomem(err)
                                                                           : OCV_OK;
}

static int lock_image(struct cli *cli, const struct lock_options *r, const char *text,
                      json_t *images, struct ocv_error *err)
{
    ocv_auto_image image = {0};
    char name[2048];
    OCV_TRY(image_open_by_rule(cli, text, &image, err));
    if (image.reference)
        lock_name(image.reference, name, sizeof(name));
    else /* an image in a layout */
        snprintf(name, sizeof(name), "%s", image.text);
    for (size_t i = 0; i < json_array_size(images); i++)
        if (strcmp(ocv_json_text(json_array_get(images, i), "reference"), name) == 0)
            return OCV_OK;
    ocv_auto_json *profiles = json_object();
    for (size_t i = 0; i < r->machines.n; i++)
        OCV_TRY(lock_for(cli, &image, &r->machines.list[i], profiles, err));
    json_t *entry = json_pack("{s:s, s:s, s:s, s:O}", "reference", name, "index", image.top.digest,
                              "mediaType", image.top.media_type, "profiles", profiles);
    if (!entry || json_array_append_new(images, entry) < 0)
        return ocv_error_nomem(err);
    if (!image.choice)
        return OCV_OK;
    /* A set made by tag rules: the rules' family, and every tag with its digest, because the choice
     * among them is repeated on each machine. */
    const struct ocv_descriptor *d;
    const char *tag;
    json_t *tags = json_object();
    int lost = !tags || json_object_set_new(entry, "tags", tags) < 0;
    for (size_t i = 0; !lost && (tag = ocv_tag_choice_candidate(image.choice, i, &d)); i++)
        lost = json_object_set_new(tags, tag,
                                   json_pack("{s:s, s:s, s:I}", "digest", d->digest, "mediaType",
                                             d->media_type, "size", (json_int_t)d->size)) < 0;
    if (!lost)
        lost = json_object_set_new(entry, "rule",
                                   json_pack("{s:s, s:s}", "family",
                                             ocv_tag_choice_family(image.choice), "group",
                                             ocv_tag_choice_group(image.choice))) < 0;
    return lost ? ocv_error_nomem(err) : OCV_OK;
}

static int add_this_machine(struct cli *cli, struct lock_options *r, struct ocv_error *err)
{
    int status = cli_profile(cli, err);
    struct ocv_profile *own = cli->plain;
    cli->plain = NULL;
    return status < 0 ? status
                      : named_profiles_add(&r->machines, THIS_MACHINE, strlen(THIS_MACHINE), own,
                                           LOCK_SOURCE_THIS, err);
}

/* A machine of the lock that is updated: given again, or where the lock says that it was this one
 * or a common one. A name alone says nothing: any file may have been called h100. */
static int add_machine(struct cli *cli, struct lock_options *r, const struct lock_choice *was,
                       struct ocv_error *err)
{
    const char *name = was->profile;
    char path[PATH_MAX];
    for (size_t i = 0; i < r->machines.n; i++)
        if (!strcmp(r->machines.list[i].name, name))
            return OCV_OK;
    if (was->source && !strcmp(was->source, LOCK_SOURCE_THIS))
        return add_this_machine(cli, r, err);
    if (was->source && cli_profile_installed(was->source, path))
        return named_profiles_take_common(&r->machines, name, was->source, err);
    ocv_error_set(err, OCV_ERR_INVALID, "%s is locked for '%s', whose profile is not given",
                  r->update, name);
    ocv_error_hint(err, "--profile %s=FILE, or --profiles, as when it was written", name);
    return OCV_ERR_INVALID;
}

static int run_lock(struct cli *cli, struct lock_options *r, struct ocv_error *err)
{
    if (r->check &&
        (r->update || r->output || r->machines.n || r->n_directories || cli->n_arguments))
        return ocv_error_set(err, OCV_ERR_INVALID, "lock: --check takes a lock, and nothing else");
    if (!r->check && !r->update && !cli->n_arguments)
        return ocv_error_set(err, OCV_ERR_INVALID, "lock: no image named");
    OCV_TRY(cli_load(cli, err));
    if (r->check)
        return lock_check(cli, r->check, err);

    __attribute__((cleanup(lock_free))) struct lock before = {0};
    for (size_t i = 0; i < r->n_directories; i++)
        OCV_TRY(
            named_profiles_take_directory(&r->machines, cli, r->directories[i], r->strict, err));
    if (r->update)
        OCV_TRY(lock_read(r->update, &before, err));
    for (size_t i = 0; i < before.n_images; i++)
        for (size_t k = 0; k < before.images[i].n_choices; k++)
            OCV_TRY(add_machine(cli, r, &before.images[i].choices[k], err));
    if (r->machines.n == 0)
        OCV_TRY(add_this_machine(cli, r, err));
    for (size_t i = 0; i < r->machines.n; i++)
        if (strcmp(r->machines.list[i].name, THIS_MACHINE) != 0) {
            cli_forget_host(cli);
            break;
        }
    ocv_auto_json *images = json_array();
    if (!images)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < before.n_images; i++)
        OCV_TRY(lock_image(cli, r, before.images[i].reference, images, err));
    for (char **text = cli->arguments; *text; text++)
        OCV_TRY(lock_image(cli, r, *text, images, err));
    ocv_auto_json *root = json_pack("{s:s, s:O}", "schema", LOCK_SCHEMA, "images", images);
    /* keys are sorted, so that equal input gives equal bytes and a diff shows real changes */
    ocv_auto_free char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    if (!text)
        return ocv_error_nomem(err);
    size_t len = strlen(text);
    text[len] = '\n'; /* replaces the final NUL */
    const char *output = r->output ? r->output : r->update;
    return output && strcmp(output, "-") != 0 ? ocv_file_write(output, text, len + 1, err)
                                              : cli_print(text, len + 1, err);
}

int cmd_lock(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct lock_options r = {.cli = cli};
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code < 0) {
        int status = run_lock(cli, &r, &err);
        code = status < 0 ? cli_fail(cli, &err) : 0;
    }
    named_profiles_free(&r.machines);
    return code;
}
