/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl lock: fix what each machine gets of each image, by digests. */
#include "cmd/common/image.h"
#include "cmd/common/names.h"
#include "cmd/variantctl/lock/lock_profiles.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define THIS_MACHINE "this"

struct request {
    const char *output;
    struct named_profiles machines;
};

enum { OPTION_OUTPUT = 'o', OPTION_PROFILE_NAMED = 1, OPTION_PROFILES };

static const struct option options[] = {
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"profile", required_argument, NULL, OPTION_PROFILE_NAMED},
    {"profiles", required_argument, NULL, OPTION_PROFILES},
    {"namespace-priority", required_argument, NULL, CLI_OPTION_FLAG},
    {"disable", required_argument, NULL, CLI_OPTION_FLAG},
    {"device-policy", required_argument, NULL, CLI_OPTION_FLAG},
    {"override", required_argument, NULL, CLI_OPTION_FLAG},
    {"require", required_argument, NULL, CLI_OPTION_FLAG},
    CLI_REGISTRY_OPTIONS,
    CLI_COMMON_OPTIONS,
    CLI_OPTIONS_END};

static const char help[] =
    "Usage: variantctl lock [OPTIONS] IMAGE...\n"
    "\n"
    "Write which manifest each machine gets of each image, with the index's digest,\n"
    "so that \"vpull --locked FILE\" pulls the same everywhere and later.\n"
    "\n"
    "Options:\n"
    "  -o, --output FILE        the lock (default: standard output)\n"
    "  --profile NAME=FILE      a machine's profile under a name; again for more\n"
    "  --profiles DIR           every *.json of a directory, named by its file\n"
    "                           (neither: this machine, as \"" THIS_MACHINE "\")\n"
    "  --namespace-priority, --disable, --require, --device-policy, --override\n"
    "                           as for resolve\n" CLI_COMMON_HELP CLI_REGISTRY_HELP "\n"
    "Examples:\n"
    "  variantctl lock -o app.lock registry.example/app:1.0\n"
    "  variantctl lock --profiles fleet registry.example/app:1.0\n"
    "  variantctl lock --profile h100=h100.json --require nvidia oci:images:app\n";

/* ---- choosing ----------------------------------------------------------------------------------
 */

static json_t *matched(const struct image *image, const struct ocv_decision *decision,
                       const struct ocv_entry *entry)
{
    uint32_t ids[OCV_ENTRY_PROPERTIES_MAX];
    json_t *list = json_array();
    size_t n = ocv_decision_matched(decision, entry, ids, OCV_ENTRY_PROPERTIES_MAX);
    for (size_t i = 0; list && i < n && i < OCV_ENTRY_PROPERTIES_MAX; i++) {
        struct ocv_property p = ocv_index_property(image->index, ids[i]);
        json_array_append_new(list, json_sprintf("%s :: %s :: %s", p.ns, p.feature, p.value));
    }
    return list;
}

static int lock_for(struct cli *cli, struct image *image, const struct named_profile *machine,
                    json_t *profiles, struct ocv_error *err)
{
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    const struct ocv_config *config = ocv_config_for_reference(cli->config, image->reference);
    int status = names_check(cli, config, machine->profile, image->index, err);
    if (status == OCV_OK)
        status = ocv_config_override_profile(config, machine->profile, &profile, err);
    if (status == OCV_OK)
        status = image_resolve_for(cli, image, profile, &decision, err);
    const struct ocv_entry *entry = status == OCV_OK ? ocv_decision_selected(decision) : NULL;
    if (status == OCV_OK && !entry) {
        status = names_no_match(cli, image->text, image->reference, image->index, decision, err);
        ocv_error_prefix(err, "%s", machine->name);
    }
    if (status < 0 || !entry)
        return status;
    json_t *choice =
        json_pack("{s:s?, s:s, s:s, s:I, s:o}", "label", entry->label, "digest", entry->digest,
                  "mediaType", entry->media_type, "size", (json_int_t)entry->size, "properties",
                  matched(image, decision, entry));
    if (!choice || json_object_set_new(profiles, machine->name, choice) < 0)
        return ocv_error_nomem(err);
    const char *tag = image_tag(image, entry);
    return tag && json_object_set_new(choice, "tag", json_string(tag)) < 0 ? ocv_error_nomem(err)
                                                                           : OCV_OK;
}

/* A layout stays as it was named. */
static void full_name(const struct image *image, char *out, size_t size)
{
    if (image->reference)
        lock_name(image->reference, out, size);
    else
        snprintf(out, size, "%s", image->text);
}

static bool is_there(const json_t *images, const char *name)
{
    size_t i;
    json_t *image;
    json_array_foreach(images, i, image)
    {
        if (strcmp(json_string_value(json_object_get(image, "reference")), name) == 0)
            return true;
    }
    return false;
}

/* Of a set that tag rules made: whose rules, and every tag with what it stood for, since the choice
 * is made among them again. */
static int add_tags(const struct image *image, json_t *entry, struct ocv_error *err)
{
    const struct ocv_descriptor *d;
    const char *tag;
    json_t *tags = json_object();
    int lost = !tags || json_object_set_new(entry, "tags", tags) < 0;
    for (size_t i = 0; !lost && (tag = ocv_tag_choice_candidate(image->choice, i, &d)); i++)
        lost = json_object_set_new(tags, tag,
                                   json_pack("{s:s, s:s, s:I}", "digest", d->digest, "mediaType",
                                             d->media_type, "size", (json_int_t)d->size)) < 0;
    if (!lost)
        lost = json_object_set_new(entry, "rule",
                                   json_pack("{s:s, s:s}", "family",
                                             ocv_tag_choice_family(image->choice), "group",
                                             ocv_tag_choice_group(image->choice))) < 0;
    return lost ? ocv_error_nomem(err) : OCV_OK;
}

static int lock_image(struct cli *cli, const struct request *r, const char *text, json_t *images,
                      struct ocv_error *err)
{
    struct image image = {0};
    char name[2048];
    int status = image_open_by_rule(cli, text, &image, err);
    json_t *profiles = json_object();
    if (status == OCV_OK)
        full_name(&image, name, sizeof(name));
    bool twice = status == OCV_OK && is_there(images, name);
    for (size_t i = 0; status == OCV_OK && !twice && i < r->machines.n; i++)
        status = lock_for(cli, &image, &r->machines.list[i], profiles, err);
    if (status == OCV_OK && !twice) {
        json_t *entry =
            json_pack("{s:s, s:s, s:s, s:O}", "reference", name, "index", image.top.digest,
                      "mediaType", image.top.media_type, "profiles", profiles);
        if (!entry || json_array_append_new(images, entry) < 0)
            status = ocv_error_nomem(err);
        else if (image.choice)
            status = add_tags(&image, entry, err);
    }
    json_decref(profiles);
    image_close(&image);
    return status;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

/* What is there and no file (a pipe, a device) is written through, never replaced. */
static int write_special(const char *path, const char *text, size_t len, struct ocv_error *err)
{
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC), status = OCV_OK;
    if (fd < 0 || !ocv_fd_write(fd, text, len))
        status = ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

/* What another program's new file would have. */
static mode_t usual_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Whole or not at all. One that is there keeps its mode. */
static int write_file(const char *path, const char *text, size_t len, struct ocv_error *err)
{
    char part[4096];
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode))
        return write_special(path, text, len, err);
    mode_t mode = there ? st.st_mode & 0777 : usual_mode();
    if (snprintf(part, sizeof(part), "%s.XXXXXX", path) >= (int)sizeof(part))
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: the path is too long", path);
    int fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    bool ok = ocv_fd_write(fd, text, len) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    int why = errno;
    close(fd);
    if (ok && rename(part, path) == 0)
        return OCV_OK;
    why = ok ? errno : why;
    unlink(part);
    return ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(why));
}

static int write_lock(const struct request *r, json_t *images, struct ocv_error *err)
{
    json_t *root = json_pack("{s:s, s:O}", "schema", LOCK_SCHEMA, "images", images);
    /* keys sorted: the same input gives the same bytes, and a diff shows what changed */
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    json_decref(root);
    if (!text)
        return ocv_error_nomem(err);
    size_t len = strlen(text);
    text[len] = '\n'; /* in place of the final NUL */
    int status = r->output && strcmp(r->output, "-") != 0
                     ? write_file(r->output, text, len + 1, err)
                     : cli_print(text, len + 1, err);
    free(text);
    return status;
}

static int run(struct cli *cli, struct request *r, char **texts, struct ocv_error *err)
{
    int status = cli_load(cli, err);
    if (status == OCV_OK && r->machines.n == 0) {
        status = cli_profile(cli, err);
        struct ocv_profile *own = cli->plain;
        cli->plain = NULL;
        if (status == OCV_OK)
            status = named_profiles_add(&r->machines, THIS_MACHINE, strlen(THIS_MACHINE), own, err);
    }
    json_t *images = json_array();
    if (status == OCV_OK && !images)
        status = ocv_error_nomem(err);
    for (; status == OCV_OK && *texts; texts++)
        status = lock_image(cli, r, *texts, images, err);
    if (status == OCV_OK)
        status = write_lock(r, images, err);
    json_decref(images);
    return status;
}

/* 1: no option. */
static int own_option(struct request *r, int value, struct ocv_error *err)
{
    switch (value) {
    case OPTION_OUTPUT:
        r->output = optarg;
        return OCV_OK;
    case OPTION_PROFILE_NAMED:
        return named_profiles_take(&r->machines, optarg, err);
    case OPTION_PROFILES:
        return named_profiles_take_directory(&r->machines, optarg, err);
    default:
        return 1;
    }
}

int cmd_lock(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct request r = {0};
    int value, code = -1;
    while (code < 0 && cli_next_option(cli, argc, argv, options, help, &value, &code)) {
        int status = own_option(&r, value, &err);
        if (status != OCV_OK)
            code = status < 0 ? cli_fail(cli, &err) : cli_bad_option(cli, argv, value);
    }
    if (code < 0) {
        int status = optind < argc ? run(cli, &r, argv + optind, &err)
                                   : ocv_error_set(&err, OCV_ERR_INVALID, "lock: no image named");
        code = status < 0 ? cli_fail(cli, &err) : 0;
    }
    named_profiles_free(&r.machines);
    return code;
}
