/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The keys of a configuration: their names, what each takes, and which of them a repository may
 * have for itself. schema/config.schema.json says the same; scalars are checked here, so that every
 * program reports a mistake with its line, not only the daemon when it starts. */
#include "lib/internal/config/config_internal.h"

#include "lib/base/format/span.h"
#include "lib/base/system/unix_socket.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool is_duration(const char *text)
{
    int64_t ms;
    return ocv_duration_parse(text, &ms);
}

static bool is_address(const char *text)
{
    struct sockaddr_storage address;
    socklen_t len;
    return ocv_address_parse(text, &address, &len);
}

static bool is_socket(const char *text)
{
    return text[0] == '/' && strlen(text) <= OCV_UNIX_PATH_MAX;
}

static bool is_absolute(const char *text)
{
    return text[0] == '/' && strlen(text) < PATH_MAX / 2; /* names below it have to fit, too */
}

static bool is_label(const char *text)
{
    return ocv_label_readable(text, strlen(text));
}

/* an empty text is the default */
#define WORDS(...)                                              \
    {                                                           \
        .takes = OCV_TAKES_TEXT, .words = (const char *const[]) \
        {                                                       \
            __VA_ARGS__, NULL                                   \
        }                                                       \
    }
#define FORM(is, text)                                                         \
    {                                                                          \
        .takes = OCV_TAKES_TEXT, .empty = true, .good = (is), .wanted = (text) \
    }

static const struct ocv_yaml_rule any_text = {.takes = OCV_TAKES_TEXT, .empty = true};
static const struct ocv_yaml_rule on_off = WORDS("on", "off");
static const struct ocv_yaml_rule true_false = WORDS("true", "false");
static const struct ocv_yaml_rule modes = WORDS("auto", "resolver", "proxy");
static const struct ocv_yaml_rule chooses = WORDS("on", "shadow", "off");
static const struct ocv_yaml_rule policies = WORDS("enforce", "warn", "off");
static const struct ocv_yaml_rule fails = WORDS("open", "closed");
static const struct ocv_yaml_rule workloads = WORDS("off", "annotations", "devices");
static const struct ocv_yaml_rule no_devices = WORDS("node", "cpu");
static const struct ocv_yaml_rule logs = WORDS("text", "json");
static const struct ocv_yaml_rule duration = FORM(is_duration, OCV_DURATION_FORM);
static const struct ocv_yaml_rule address = FORM(is_address, OCV_ADDRESS_FORM);
static const struct ocv_yaml_rule unix_socket =
    FORM(is_socket, "an absolute path of at most 107 bytes");
static const struct ocv_yaml_rule directory = FORM(is_absolute, "the absolute path of a directory");
static const struct ocv_yaml_rule file = FORM(is_absolute, "the absolute path of a file");
static const struct ocv_yaml_rule label = FORM(is_label, "a label (a-z 0-9 . _, at most 63)");

#define LIST_OF(rule)                                                                        \
    {                                                                                        \
        .takes = OCV_TAKES_LIST, .empty = true, .max = OCV_CONFIG_ITEMS_MAX, .item = &(rule) \
    }
#define MAP_OF(rule)                                                                        \
    {                                                                                       \
        .takes = OCV_TAKES_MAP, .empty = true, .max = OCV_CONFIG_ITEMS_MAX, .each = &(rule) \
    }

static const struct ocv_yaml_rule texts = LIST_OF(any_text);
static const struct ocv_yaml_rule device_policy = WORDS("all", "any", "first");
static const struct ocv_yaml_rule device_policies = MAP_OF(device_policy);
static const struct ocv_yaml_rule devices = MAP_OF(texts);
static const struct ocv_yaml_rule overrides = MAP_OF(devices);

#define REGISTRY .wanted = "the name of a registry", .good = ocv_reference_host_valid
static const struct ocv_yaml_rule host = {.takes = OCV_TAKES_TEXT, REGISTRY};

/* "harbor.example", "harbor.example/dockerhub" */
static bool names_registry(const char *text)
{
    char name[300];
    size_t n = strcspn(text, "/");
    int len = snprintf(name, sizeof(name), "%.*s", (int)n, text);
    if (len <= 0 || (size_t)len >= sizeof(name) || !ocv_reference_host_valid(name))
        return false;
    for (const char *part = text + n; *part; part += strcspn(part + 1, "/") + 1) {
        size_t letters = strspn(part + 1, "abcdefghijklmnopqrstuvwxyz0123456789._-");
        if (!letters || (part[1 + letters] && part[1 + letters] != '/'))
            return false;
    }
    return true;
}

static const struct ocv_yaml_rule registry_name = {
    .takes = OCV_TAKES_TEXT, .wanted = "the name of a registry", .good = names_registry};
static const struct ocv_yaml_rule insecure = {
    .takes = OCV_TAKES_TEXT,
    .wanted = "true or false",
    .words = (const char *const[]){"true", "false", "yes", "no", NULL}};
static const struct ocv_yaml_rule sparse = WORDS("next", "error");
static const struct ocv_yaml_key registry_keys[] = {
    {"url", &any_text, false},  {"insecure", &insecure, false}, {"ca", &any_text, false},
    {"cert", &any_text, false}, {"key", &any_text, false},      {"mirror_of", &host, false},
    {"sparse", &sparse, false}};
static const struct ocv_yaml_table registry_table = {"a registry", OCV_YAML_KEYS(registry_keys)};
static const struct ocv_yaml_rule registry = {
    .takes = OCV_TAKES_MAP, .empty = true, .table = &registry_table};
static const struct ocv_yaml_rule registries = {.takes = OCV_TAKES_MAP,
                                                .empty = true,
                                                .max = OCV_CONFIG_ITEMS_MAX,
                                                .name = &registry_name,
                                                .each = &registry};

static const struct ocv_yaml_rule key_files = {
    .takes = OCV_TAKES_LIST, .min = 1, .max = 64, .once = true, .item = &file};
static const struct ocv_yaml_rule names_match = WORDS("match", "any");
static const struct ocv_yaml_key trust_keys[] = {{"keys", &key_files, false},
                                                 {"require", &true_false, false},
                                                 {"repository", &names_match, false}};
static const struct ocv_yaml_table trust_table = {"a rule of trust", OCV_YAML_KEYS(trust_keys)};
static const struct ocv_yaml_rule trust_rule = {.takes = OCV_TAKES_MAP, .table = &trust_table};
static const struct ocv_yaml_rule trust = MAP_OF(trust_rule);

/* The first OWN_KEYS are in no other table. */
#define OWN_KEYS 4u
static const struct ocv_yaml_key repository_keys[] = {{"label", &label, false},
                                                      {"workload", &workloads, false},
                                                      {"no_device", &no_devices, false},
                                                      {"deny", &texts, false},
                                                      {"disable", &texts, false},
                                                      {"require", &texts, false},
                                                      {"device_policy", &device_policies, false},
                                                      {"tag_rules", &on_off, false},
                                                      {"cpu_levels", &on_off, false},
                                                      {"choose", &chooses, false}};
static const struct ocv_yaml_table repository_table = {"a repository",
                                                       OCV_YAML_KEYS(repository_keys)};
static const struct ocv_yaml_rule repository = {
    .takes = OCV_TAKES_MAP, .empty = true, .table = &repository_table};
static const struct ocv_yaml_rule repositories = MAP_OF(repository);

/* LIST: a member of struct ocv_config of that name */
#define KEYS(LIST, KEY)                               \
    KEY(choose, chooses)                              \
    LIST(namespace_priority)                          \
    LIST(disable)                                     \
    LIST(require)                                     \
    KEY(device_policy, device_policies)               \
    KEY(devices, devices)                             \
    KEY(override, overrides)                          \
    LIST(known_namespaces)                            \
    LIST(os_features)                                 \
    KEY(cpu_levels, on_off)                           \
    KEY(repositories, repositories)                   \
    KEY(registries, registries)                       \
    KEY(trust, trust)                                 \
    KEY(tag_rules, on_off)                            \
    KEY(to, any_text)                                 \
    KEY(listen, address)                              \
    KEY(socket, unix_socket)                          \
    KEY(state_dir, directory)                         \
    LIST(host_names)                                  \
    LIST(layout)                                      \
    KEY(mode, modes)                                  \
    KEY(tag_ttl, duration)                            \
    KEY(probe_interval, duration)                     \
    KEY(serve_private, true_false)                    \
    KEY(credentials, any_text)                        \
    KEY(image_credential_provider_config, file)       \
    KEY(image_credential_provider_bin_dir, directory) \
    KEY(metrics_listen, address)                      \
    KEY(log, logs)                                    \
    KEY(access_log, on_off)                           \
    KEY(policy, policies)                             \
    KEY(config_policy, policies)                      \
    KEY(fail, fails)                                  \
    LIST(allow)                                       \
    LIST(workload_annotations)

#define LIST_NAME(key) #key,
#define KEY_NAME(key, rule) #key,
static const char *const names[] = {KEYS(LIST_NAME, KEY_NAME) NULL};

#define LIST_KEY(key) {#key, &texts, false},
#define KEY_KEY(key, rule) {#key, &(rule), false},
static const struct ocv_yaml_key keys[] = {KEYS(LIST_KEY, KEY_KEY)};

#define LIST_OFFSET(key) {#key, offsetof(struct ocv_config, key)},
#define KEY_OFFSET(key, rule)
static const struct {
    const char *key;
    size_t offset;
} lists[] = {KEYS(LIST_OFFSET, KEY_OFFSET) LIST_OFFSET(deny)};

static const struct ocv_yaml_table table = {OCV_YAML_KEYS(keys), .inner = &repository_table};
const struct ocv_yaml_rule ocv_config_rule = {
    .takes = OCV_TAKES_MAP, .empty = true, .table = &table};

#define N(list) (sizeof(list) / sizeof(*(list)))
_Static_assert(N(keys) + OWN_KEYS <= 64, "a key is a bit of uint64_t");

const char *const *ocv_config_keys(void)
{
    return names;
}

const char *ocv_config_key(const char *name)
{
    for (size_t i = 0; names[i]; i++)
        if (!strcmp(names[i], name))
            return names[i];
    return NULL;
}

const char *ocv_config_repository_key(const char *name)
{
    for (size_t i = 0; i < N(repository_keys); i++)
        if (!strcmp(repository_keys[i].name, name))
            return repository_keys[i].name;
    return NULL;
}

uint64_t ocv_config_key_bit(const char *key)
{
    size_t i = 0, own = 0;
    while (names[i] && strcmp(names[i], key) != 0)
        i++;
    while (!names[i] && own + 1 < OWN_KEYS && strcmp(repository_keys[own].name, key) != 0)
        own++;
    return UINT64_C(1) << (i + own);
}

struct ocv_strings *ocv_config_list_of(struct ocv_config *c, const char *key)
{
    for (size_t i = 0; i < N(lists); i++)
        if (!strcmp(lists[i].key, key))
            return (struct ocv_strings *)((char *)c + lists[i].offset);
    return NULL;
}

static const struct ocv_yaml_rule *rule_of(const char *key)
{
    for (size_t i = 0; i < N(keys); i++)
        if (!strcmp(keys[i].name, key))
            return keys[i].rule;
    for (size_t i = 1; i < OWN_KEYS; i++)
        if (!strcmp(repository_keys[i].name, key))
            return repository_keys[i].rule;
    return &label;
}

enum ocv_key_shape ocv_config_shape(const char *key)
{
    const struct ocv_yaml_rule *rule = rule_of(key);
    if (rule->takes == OCV_TAKES_MAP)
        return rule == &registries || rule == &repositories || rule == &trust ? OCV_KEY_FILE_ONLY
                                                                              : OCV_KEY_MAP;
    return rule->takes == OCV_TAKES_LIST ? OCV_KEY_LIST : OCV_KEY_SCALAR;
}

int ocv_config_check_scalar(const char *key, const char *name, const char *text,
                            struct ocv_error *err)
{
    return ocv_yaml_check_text(rule_of(key), name, text, err);
}
