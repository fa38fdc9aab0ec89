/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl match: its options. */
#include "cmd/variantctl/match/match_verb.h"
#include "cmd/variantctl/verbs.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

const char *match_policy_name(enum ocv_match_policy policy)
{
    static const char *const names[] = {"homogeneous", "best", "common", "unpinned"};
    return names[policy];
}

const char *match_role_name(const struct match_request *request, size_t role)
{
    const char *name = role < request->n_roles ? request->roles[role].name : NULL;
    return name ? name : "member";
}

const char *match_reference(const struct match_result *result, const struct ocv_entry *entry,
                            char *out, size_t size)
{
    const struct image *image = &result->image;
    if (image->reference)
        snprintf(out, size, "%s@%s", image->reference->name, entry->digest);
    else if (image->layout)
        snprintf(out, size, "oci:%s@%s", ocv_layout_path(image->layout), entry->digest);
    else
        snprintf(out, size, "%s", entry->digest);
    return out;
}

static bool read_count(const char *text, size_t len, size_t *out)
{
    *out = 0;
    if (len == 0 || len > 7)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *out = *out * 10 + (size_t)(text[i] - '0');
    }
    return *out > 0 && *out <= OCV_FLEET_NODES_MAX;
}

static int one_more_role(const struct match_request *r, const char *name, struct ocv_error *err)
{
    if (r->n_roles == OCV_MATCH_ROLES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "more than %u roles", OCV_MATCH_ROLES_MAX);
    for (size_t i = 0; i < r->n_roles; i++) {
        const char *other = r->roles[i].name;
        if (!name || !other)
            return ocv_error_set(err, OCV_ERR_INVALID,
                                 "--replicas is given once, and not with --role");
        if (!strcmp(name, other))
            return ocv_error_set(err, OCV_ERR_INVALID, "--role: '%s' is given twice", name);
    }
    return OCV_OK;
}

/* NAME=N[:ARCH] */
static int take_role(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct match_request *r = given->into;
    struct ocv_match_role role = {0};
    const char *text = given->value;
    size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    size_t digits = text[name] == '=' ? strcspn(text + name + 1, ":") : 0;
    const char *colon = digits ? text + name + 1 + digits : "";
    if (!name || name > MATCH_ROLE_NAME_MAX || !read_count(text + name + 1, digits, &role.count) ||
        (*colon && !colon[1]))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "--role: '%.200s' is not NAME=N[:ARCH], N from 1 to %u", text,
                             OCV_FLEET_NODES_MAX);
    char *copy = strdup(text);
    if (!copy)
        return ocv_error_nomem(err);
    copy[name] = '\0';
    int status = one_more_role(r, copy, err);
    if (status < 0) {
        free(copy);
        return status;
    }
    role.name = r->texts[r->n_roles] = copy;
    role.architecture = *colon ? copy + (colon - text) + 1 : NULL;
    r->roles[r->n_roles++] = role;
    return OCV_OK;
}

static int take_replicas(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct match_request *r = given->into;
    unsigned count;
    const struct ocv_option_given number = {given->option, given->value, &count};
    int status = ocv_option_number(&number, err);
    if (status != OCV_OK)
        return status;
    OCV_TRY(one_more_role(r, NULL, err));
    r->roles[r->n_roles++].count = count;
    return OCV_OK;
}

static const struct ocv_option options[] = {
    {.name = "profiles",
     .value = "FLEET",
     .help = "the nodes",
     OCV_OPTION_TEXT(struct match_request, fleet)},
    {.name = "replicas",
     .value = "N",
     .help = "how many members",
     OCV_OPTION_CALL(take_replicas),
     .least = 1,
     .most = OCV_FLEET_NODES_MAX},
    {.name = "role",
     .value = "NAME=N[:ARCH]",
     .help = "how many of this role; again for more\n"
             "(each role gets one build of its own; ARCH: only on\n"
             "this architecture)",
     OCV_OPTION_CALL(take_role)},
    {.name = "policy",
     .value = "homogeneous|best|common|unpinned",
     .help = "what members share (homogeneous)\n"
             "one build a role; each node its own best; one build\n"
             "that all --nodes run; one that each takes by itself",
     OCV_OPTION_ENUM(struct match_request, policy)},
    {.name = "nodes",
     .value = "LIST",
     .help = "only these nodes: n1,n[3-5,7]",
     OCV_OPTION_TEXT(struct match_request, nodes)},
    {.name = "exclude",
     .value = "LIST",
     .help = "all but these",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct match_request, exclude)},
    {.name = "pin",
     .value = "DIGEST",
     .help = "nodes that run this very child (all, or --replicas)",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct match_request, pin)},
    {.name = "strict",
     .help = "a malformed profile is an error, not left out",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_FLAG(struct match_request, strict)},
    {.name = "print-ref",
     .help = "print repo@sha256:... only\n"
             "(with several roles a line \"ROLE REF\" for each, with\n"
             "best \"NODE REF\")",
     OCV_OPTION_FLAG(struct match_request, print_ref)},
    CLI_INDEX(struct match_request, index_file),
    CLI_FORMAT(struct match_request, json, "what is printed (text)"),
    {.name = "label",
     .value = "LABEL",
     .help = "only this variant; null: the default",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_TEXT(struct match_request, label)},
    {.name = "require",
     .value = "NS[::F[::V]]",
     .names = "--require, --disable, --device-policy, --override,\n"
              "  --namespace-priority, --tag-rules",
     .help = "as for resolve, on every node",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(cli_take_setting_of, struct match_request, cli)},
    CLI_SETTINGS_OF_NODES(struct match_request, cli),
    CLI_SETTING(struct match_request, cli, "namespace-priority", "A,B"),
    CLI_SETTING(struct match_request, cli, "tag-rules", "on|off"),
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl match --profiles FLEET --replicas N [OPTIONS] IMAGE\n"
             "       variantctl match --profiles FLEET --policy common --nodes LIST IMAGE\n"
             "       variantctl match --profiles FLEET --pin DIGEST [OPTIONS] IMAGE\n"
             "\n"
             "Find nodes for the members of a job, so that all of a role get the same build,\n"
             "and the reference that pins it: a node without a pin takes its own best.\n",
    .details = "FLEET: a directory of profiles (*.json), JSON Lines, a packed fleet (variantctl\n"
               "fleet), what `kubectl get nodes -o json` prints; \"-\" is standard input.\n"
               "IMAGE: a name in a registry, or oci:DIR[:TAG].\n"
               "Exit 0: placed; 3: no placement; 4: the fleet or the index is malformed.\n",
    .options = options,
    .groups = CLI_REGISTRY,
    .arguments = {"--profiles and one IMAGE, oci:DIR[:TAG] or --index", 1, 1,
                  CLI_INSTEAD(struct match_request, index_file), NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl match --profiles fleet --replicas 2 registry.example/app:1.0\n"
           "  variantctl match --profiles fleet --role worker=2 --role head=1 oci:images:app\n"
           "  variantctl match --profiles fleet --replicas 1 --print-ref oci:images:app\n"};

int cmd_match(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct match_request r = {.cli = cli};
    int code = cli_read(cli, &command, &r, argc, argv);
    bool common = r.policy == OCV_MATCH_COMMON;
    const char *wrong =
        !r.fleet ? "give --profiles and one IMAGE, oci:DIR[:TAG] or --index"
        : common && (!r.nodes || r.n_roles > 0)
            ? "--policy common places nothing: give the job's --nodes, and neither --replicas nor "
              "--role"
        : !common && !r.n_roles && !r.pin ? "give --replicas or --role"
        : r.pin && (r.n_roles > 1 || r.policy == OCV_MATCH_BEST)
            ? "--pin requires one role with one build"
        : !strcmp(r.fleet, "-") && r.index_file && !strcmp(r.index_file, "-")
            ? "fleet and index cannot both be standard input"
            : NULL;
    if (code < 0 && wrong) {
        ocv_error_set(&err, OCV_ERR_INVALID, "%s: %s", cli->verb, wrong);
        code = cli_fail(cli, &err);
    } else if (code < 0) {
        const char *at = r.pin ? strchr(r.pin, '@') : NULL;
        r.pin = at ? at + 1 : r.pin;
        r.image = *cli->arguments;
        code = match_run(&r);
    }
    for (size_t i = 0; i < OCV_MATCH_ROLES_MAX; i++)
        free(r.texts[i]);
    return code;
}
