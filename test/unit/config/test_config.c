/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configuration: YAML with file and line, text of variables and flags, one over the other. */
#include "lib/internal/config/config_internal.h"
#include "test/unit/config/config_util.h"
#include "test/unit/core_util.h"

static int merge(struct ocv_config *c, const char *text, struct ocv_error *err)
{
    return ocv_config_merge_yaml(c, "f.yaml", text, strlen(text), err);
}

static struct ocv_config *config_of(const char *text)
{
    struct ocv_config *c = new_config();
    struct ocv_error err = {0};
    ck_assert_msg(merge(c, text, &err) == OCV_OK, "%s", err.message);
    return c;
}

static const char every_key[] =
    "namespace_priority: [nvidia, x86_64]\n"
    "disable: [intel, 'x86_64::level', 'x86_64 :: level::v4']\n"
    "device_policy: {nvidia: first, amd: any}\n"
    "devices: {nvidia: [0, '0000:3b:00.0'], amd: []}\n"
    "override: {nvidia: {cuda_version_lower_bound: ['12.4', '12.3']}}\n"
    "registries:\n"
    "  r.example:5000: {url: 'http://r', insecure: true, ca: /ca,\n"
    "    cert: /c, key: /k, mirror_of: docker.io}\n"
    "  other:\n"
    "tag_rules: off\nto: podman\nlisten: 127.0.0.1:5050\n"
    "socket: /run/s\nmode: proxy\ntag_ttl: 60\nprobe_interval: 10m\n"
    "serve_private: true\ncredentials: /etc/a.json\n"
    "image_credential_provider_config: /etc/p.yaml\n"
    "image_credential_provider_bin_dir: /p\n"
    "metrics_listen: 127.0.0.1:9100\nlog: json\naccess_log: on\n"
    "policy: warn\nconfig_policy: enforce\nfail: closed\nallow: ['r/*', pause]\n"
    "require: [nvidia, 'amd::gfx_arch']\nknown_namespaces: [mine]\n"
    "os_features: [nydus.remoteimage.v1]\ncpu_levels: on\nchoose: shadow\n"
    "state_dir: /var/lib/x\nhost_names: [node1.example]\nlayout: [r.example=/srv/r, /srv/x]\n"
    "workload_annotations: [label, devices]\n"
    "trust: {'r.example/**': {keys: [/k.pub], repository: match}}\n"
    "repositories: {'docker.io/**': {label: cpu}}\n";

START_TEST(test_every_key)
{
    ocv_auto(ocv_config) c = config_of(every_key);
    for (size_t i = 0; ocv_config_keys()[i]; i++)
        ck_assert_msg(strstr(every_key, ocv_config_keys()[i]) != NULL, "%s", ocv_config_keys()[i]);
    ck_assert_uint_eq(c->namespace_priority.count, 2);
    ck_assert(disabled(c, "intel", NULL, NULL));
    ck_assert(disabled(c, "x86_64", "level", NULL));
    ck_assert(disabled(c, "x86_64", "level", "v4"));
    ck_assert(!disabled(c, "x86_64", NULL, NULL));
    ck_assert(!disabled(c, "x86_64", "level", "v3"));
    ck_assert(!disabled(c, "intel", "x", NULL));
    ck_assert_int_eq(policy(c, "nvidia"), OCV_POLICY_FIRST);
    ck_assert_int_eq(policy(c, "amd"), OCV_POLICY_ANY);
    ck_assert_int_eq(policy(c, "other"), OCV_POLICY_ALL);
    ck_assert_uint_eq(devices(c, "nvidia")->count, 2);
    ck_assert_uint_eq(devices(c, "amd")->count, 0);
    ck_assert_ptr_null(devices(c, "intel"));
    ck_assert_uint_eq(c->n_overrides, 1);
    ck_assert_str_eq(c->overrides[0].values.list[1], "12.3");
    struct ocv_registry_config r = ocv_config_find_registry(c, "r.example:5000");
    ck_assert_str_eq(r.url, "http://r");
    ck_assert_str_eq(r.mirror_of, "docker.io");
    ck_assert(r.insecure);
    const struct ocv_registry_config *list;
    ck_assert_uint_eq(ocv_config_registries(c, &list), 2);
    ck_assert_ptr_null(list[1].url);
    ck_assert_ptr_null(ocv_config_find_registry(c, "r.example").host);
    ck_assert_str_eq(ocv_config_get(c, "tag_ttl"), "60");
    ck_assert_str_eq(ocv_config_get(c, "mode"), "proxy");
    ck_assert_ptr_null(ocv_config_get(c, "unset"));
    ck_assert_uint_eq(c->allow.count, 2);
    ck_assert_str_eq(ocv_config_get(c, "credentials"), "/etc/a.json");
    const char *const *members;
    ck_assert_uint_eq(ocv_config_list(c, "require", &members), 2);
    ck_assert_str_eq(members[1], "amd :: gfx_arch");
    ck_assert_uint_eq(ocv_config_list(c, "known_namespaces", NULL), 1);
    ck_assert_uint_eq(ocv_config_list(c, "os_features", &members), 1);
    ck_assert_str_eq(members[0], "nydus.remoteimage.v1");
    ck_assert_uint_eq(ocv_config_list(c, "host_names", NULL), 1);
    ck_assert_uint_eq(ocv_config_list(c, "to", NULL), 0);
    ck_assert_str_eq(ocv_config_get(c, "cpu_levels"), "on");
    ck_assert_str_eq(ocv_config_get(c, "state_dir"), "/var/lib/x");
    ck_assert_uint_eq(c->n_repositories, 1);
}
END_TEST

/* text, what the message must hold */
static const struct {
    const char *text, *message;
} wrong[] = {
    {"to: docker\nunknown: 1\n", "f.yaml:2: unknown key 'unknown'"},
    {"to: docker\nunknown:\n  - 1\n", "f.yaml:2: unknown key 'unknown'"},
    {"registries:\n  r:\n    urls:\n      - x\n",
     "f.yaml:3: unknown key 'urls' of a registry; did you mean 'url'?"},
    {"override: {nvidia: {sm-arch: [a]}}\n", "'sm-arch' is not a feature"},
    {"override: {n-vidia: {sm: [a]}}\n", "'n-vidia' is not a namespace"},
    {"a\n", "f.yaml:1:"},
    {"[a]\n", "f.yaml:1:"},
    {"namespace_priority: nvidia\n", "f.yaml:1:"},
    {"\nnamespace_priority:\n  - ok\n  - Bad\n", "f.yaml:4: 'Bad'"},
    {"namespace_priority: [[a]]\n", "f.yaml:1:"},
    {"disable: ['a::b::c::d']\n", "f.yaml:1:"},
    {"disable: {a: b}\n", "f.yaml:1:"},
    {"device_policy: {nvidia: some}\n", "'some'"},
    {"device_policy: {Nvidia: all}\n", "'Nvidia'"},
    {"device_policy: all\n", "f.yaml:1:"},
    {"devices: {nvidia: 0}\n", "f.yaml:1:"},
    {"devices: {nvidia: ['']}\n", "f.yaml:1:"},
    {"override: {nvidia: [a]}\n", "f.yaml:1:"},
    {"override: {nvidia: {f: ['1-2']}}\n", "'1-2'"},
    {"registries:\n  r:\n    urll: x\n", "f.yaml:3: unknown key 'urll'"},
    {"registries: {r: {insecure: maybe}}\n", "f.yaml:1:"},
    {"registries:\n  https://r: {}\n", "f.yaml:2: 'https://r' must be the name of a registry"},
    {"registries:\n  r: {mirror_of: docker.io/x}\n",
     "f.yaml:2: invalid value 'docker.io/x' for mirror_of: the name of a registry"},
    {"registries: {r: {url: [a]}}\n", "f.yaml:1:"},
    {"tag_rules: maybe\n", "invalid value 'maybe' for tag_rules: on or off"},
    {"mode: fast\n", "f.yaml:1:"},
    {"policy: strict\n", "f.yaml:1:"},
    {"config_policy: on\n", "f.yaml:1:"},
    {"fail: maybe\n", "f.yaml:1:"},
    {"serve_private: 1\n", "f.yaml:1:"},
    {"mode: auto\ntag_ttl: soon\n",
     "f.yaml:2: invalid value 'soon' for tag_ttl: a duration such as 30s, 10m or 1h"},
    {"tag_ttl: 10 m\n", "'10 m'"},
    {"tag_ttl: -1\n", "'-1'"},
    {"tag_ttl: 1h30m\n", "'1h30m'"},
    {"probe_interval: 1000000000\n", "for probe_interval: a duration"},
    {"listen: '5050'\n",
     "f.yaml:1: invalid value '5050' for listen: ADDRESS:PORT (IPv6: [::1]:5050)"},
    {"listen: 127.0.0.1:\n", "f.yaml:1:"},
    {"listen: 127.0.0.1:65536\n", "ADDRESS:PORT"},
    {"listen: 127.0.0.1:+1\n", "ADDRESS:PORT"},
    {"listen: example.com:80\n", "ADDRESS:PORT"},
    {"listen: '::1:0'\n", "ADDRESS:PORT"},
    {"metrics_listen: '[::1:80'\n", "invalid value '[::1:80' for metrics_listen: "},
    {"socket: run/variantd.sock\n", "absolute path"},
    {"to: [docker]\n", "f.yaml:1:"},
    {"to: docker\nto: podman\n", "f.yaml:2: 'to'"},
    {"device_policy: {nvidia: all, nvidia: any}\n", "twice"},
    {"registries: {r: {}, r: {}}\n", "twice"},
    {"to: &x docker\nlisten: *x\n", "f.yaml:2: aliases"},
    {"to: docker\n---\nmode: auto\n", "f.yaml:2: a second document"},
    {"to: [[[[[[[[[[[[[[[[[[a]]]]]]]]]]]]]]]]]]\n", "f.yaml:1: nested too deeply"},
    {"to: 'a\n", "f.yaml:"},
    {"\tto: a\n", "f.yaml:1:"},
    {"to: \"a\\0b\"\n", "f.yaml:1:"},
    {"to: \xff\n", "f.yaml:"},
    {"require: ['a::b::c::d']\n", "f.yaml:1:"},
    {"known_namespaces: [a-b]\n", "'a-b' is not a namespace"},
    {"os_features: ['a b']\n", "'a b' is not a feature"},
    {"host_names: ['a/b']\n", "'a/b' is not the name of a host"},
    {"layout: [r.example=srv]\n", "'r.example=srv' is not a directory by its full path"},
    {"choose: shado\n",
     "invalid value 'shado' for choose: on, shadow or off; did you mean 'shadow'?"},
    {"mode: proxi\n",
     "invalid value 'proxi' for mode: auto, resolver or proxy; did you mean 'proxy'?"},
    {"choose: y\n", "invalid value 'y' for choose: on, shadow or off"},
    {"policy: true\n", "invalid value 'true' for policy: enforce, warn or off"},
    {"repositories: {a.b/c: {choose: dark}}\n",
     "invalid value 'dark' for choose: on, shadow or off"},
    {"cpu_levels: auto\n", "invalid value 'auto' for cpu_levels: on or off"},
    {"state_dir: here\n", "invalid value 'here' for state_dir: the absolute path of a directory"},
    {"label: cpu\n", "f.yaml:1: 'label' is a key of a repository only"},
    {"repositories: [a]\n", "f.yaml:1:"},
    {"repositories:\n  r.example/a: {to: docker}\n", "f.yaml:2: unknown key 'to' of a repository"},
    {"repositories:\n  r.example/a:\n    chosen: on\n", "f.yaml:3: unknown key 'chosen'"},
    {"repositories:\n  r.example/a:\n    label: A\n",
     "f.yaml:3: invalid value 'A' for label: a label"},
    {"repositories:\n  r.example/a: {disable: [A]}\n", "f.yaml:2: 'A' is not NS"},
    {"repositories:\n  r.example/a:\n  r.example/a:\n", "f.yaml:3: 'r.example/a' is given twice"},
    {"repositories:\n  team/a: {}\n", "f.yaml:2: 'team/a' must begin with a registry"},
};

START_TEST(test_registry_names)
{
    ocv_auto(ocv_config) c = new_config();
    static const char text[] = "registries: {Index.Docker.io: {url: a}, Reg.Example: {url: b}}";
    ck_assert_int_eq(ocv_config_merge_yaml(c, "f", text, strlen(text), NULL), OCV_OK);
    ck_assert_str_eq(ocv_config_find_registry(c, "docker.io").url, "a");
    ck_assert_str_eq(ocv_config_find_registry(c, "registry-1.docker.io").url, "a");
    ck_assert_str_eq(ocv_config_find_registry(c, "reg.example").url, "b");
    ck_assert_ptr_null(ocv_config_find_registry(c, "quay.io").host);
}
END_TEST

START_TEST(test_wrong)
{
    ocv_auto(ocv_config) c = new_config();
    struct ocv_error err = {0};
    ck_assert_msg(merge(c, wrong[_i].text, &err) == OCV_ERR_CONFIG, "%s", wrong[_i].text);
    ck_assert_msg(strstr(err.message, wrong[_i].message) != NULL, "%s: %s", wrong[_i].text,
                  err.message);
    ck_assert_int_eq(strncmp(err.message, "f.yaml:", 7), 0);
    ck_assert_int_eq(merge(c, wrong[_i].text, NULL), OCV_ERR_CONFIG); /* err may be NULL */
}
END_TEST

static const struct {
    const char *key, *text;
} right[] = {{"tag_ttl", "0"},          {"tag_ttl", "999999999"}, {"tag_ttl", "250ms"},
             {"probe_interval", "10m"}, {"probe_interval", "1d"}, {"probe_interval", ""},
             {"listen", "localhost:0"}, {"listen", "[::1]:5050"}, {"listen", "0.0.0.0:65535"},
             {"metrics_listen", ""},    {"socket", "/run/s"}};

START_TEST(test_right)
{
    ocv_auto(ocv_config) c = new_config();
    struct ocv_error err = {0};
    ck_assert_msg(ocv_config_set(c, "OCV_X", right[_i].key, right[_i].text, false, &err) == OCV_OK,
                  "%s", err.message);
    ck_assert_str_eq(ocv_config_get(c, right[_i].key), right[_i].text);
}
END_TEST

START_TEST(test_socket_length)
{
    ocv_auto(ocv_config) c = new_config();
    char path[109];
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[108] = '\0';
    ck_assert_int_eq(ocv_config_set(c, "OCV_SOCKET", "socket", path, false, NULL), OCV_ERR_CONFIG);
    path[107] = '\0';
    ck_assert_int_eq(ocv_config_set(c, "OCV_SOCKET", "socket", path, false, NULL), OCV_OK);
}
END_TEST

static const char *const empty[] = {
    "",           "\n",       "# nothing\n", "---\n",         "{}\n",
    "devices:\n", "allow:\n", "override:\n", "registries:\n", "device_policy:\n  # nvidia: any\n"};

START_TEST(test_empty)
{
    ocv_auto(ocv_config) c = config_of(empty[_i]);
    ck_assert_ptr_null(ocv_config_get(c, "to"));
}
END_TEST

/* A later file's key replaces the earlier one's; keys that it does not have stay. */
START_TEST(test_merge)
{
    ocv_auto(ocv_config) c = config_of(every_key);
    struct ocv_error err = {0};
    ck_assert_int_eq(merge(c, "to: docker\ndevices: {amd: ['1']}\ndisable: []\n", &err), OCV_OK);
    ck_assert_str_eq(ocv_config_get(c, "to"), "docker");
    ck_assert_str_eq(ocv_config_get(c, "mode"), "proxy");
    ck_assert_ptr_null(devices(c, "nvidia"));
    ck_assert_uint_eq(devices(c, "amd")->count, 1);
    ck_assert_uint_eq(c->disable.count, 0);
    ck_assert_uint_eq(c->namespace_priority.count, 2);
    ck_assert_int_eq(ocv_config_set(c, "OCV_TO", "to", "nerdctl", false, &err), OCV_OK);
    ck_assert_str_eq(ocv_config_get(c, "to"), "nerdctl");
}
END_TEST

START_TEST(test_text)
{
    ocv_auto(ocv_config) c = new_config();
    set_config(c, "namespace_priority", " a, b ,,c ");
    ck_assert_uint_eq(c->namespace_priority.count, 3);
    ck_assert_str_eq(c->namespace_priority.list[2], "c");
    set_config(c, "devices", "nvidia=0,2;amd=GPU-1");
    set_config(c, "devices", "nvidia=3");
    ck_assert_uint_eq(devices(c, "nvidia")->count, 3);
    ck_assert_int_eq(ocv_config_set(c, "flag", "devices", "intel=0", false, NULL), OCV_OK);
    ck_assert_ptr_null(devices(c, "nvidia"));
    set_config(c, "device_policy", "a=any; b=first;");
    ck_assert_int_eq(policy(c, "b"), OCV_POLICY_FIRST);
    set_config(c, "device_policy", "b=all");
    ck_assert_int_eq(policy(c, "b"), OCV_POLICY_ALL);
    ck_assert_int_eq(policy(c, "a"), OCV_POLICY_ANY);
    set_config(c, "override", "a::f = 1, 2; a::g=");
    ck_assert_uint_eq(c->n_overrides, 2);
    ck_assert_uint_eq(c->overrides[0].values.count, 2);
    ck_assert_uint_eq(c->overrides[1].values.count, 0);
    set_config(c, "devices", "none=");
    ck_assert_uint_eq(devices(c, "none")->count, 0);
    set_config(c, "disable", "");
    ck_assert_uint_eq(c->disable.count, 0);
}
END_TEST

static const struct {
    const char *key, *text;
} wrong_text[] = {
    {"nope", "x"},
    {"registries", "r=x"},
    {"repositories", "r.example/a=x"},
    {"require", "a:b"},
    {"state_dir", "x"},
    {"device_policy", "any"},
    {"device_policy", "a=some"},
    {"devices", "0"},
    {"devices", "A=0"},
    {"devices", "a=0,,1"},
    {"override", "a=1"},
    {"override", "a::b::c=1"},
    {"override", "a::f=A"},
    {"namespace_priority", "A"},
    {"mode", "x"},
    {"disable", "a:b"},
};

START_TEST(test_wrong_text)
{
    ocv_auto(ocv_config) c = new_config();
    struct ocv_error err = {0};
    ck_assert_int_eq(
        ocv_config_set(c, "--flag", wrong_text[_i].key, wrong_text[_i].text, false, &err),
        OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "--flag"));
    ck_assert_int_eq(ocv_config_set(c, "x", wrong_text[_i].key, wrong_text[_i].text, false, NULL),
                     OCV_ERR_CONFIG);
}
END_TEST

/* 256 KiB of text, 16 levels, 4,096 members. */
START_TEST(test_limits)
{
    size_t max = 256u * 1024;
    char *text = malloc(max + 2);
    ocv_auto(ocv_config) c = new_config();
    struct ocv_error err = {0};
    memset(text, '#', max + 1);
    ck_assert_int_eq(ocv_config_merge_yaml(c, "f", text, max, &err), OCV_OK);
    ck_assert_int_eq(ocv_config_merge_yaml(c, "f", text, max + 1, &err), OCV_ERR_CONFIG);
    for (int past = 0; past < 2; past++) {
        memcpy(text, "allow: [", 9);
        size_t at = strlen(text);
        for (unsigned i = 0; i < OCV_CONFIG_ITEMS_MAX + (unsigned)past; i++, at += 2)
            memcpy(text + at, "a,", 3);
        memcpy(text + at, "]\n", 3);
        ck_assert_int_eq(merge(c, text, &err), past ? OCV_ERR_CONFIG : OCV_OK);
    }
    free(text);
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof(*list))

TEST_FILE
{
    Suite *suite = suite_create("config");
    TCase *tcase = tcase_create("config");
    tcase_add_test(tcase, test_every_key);
    tcase_add_loop_test(tcase, test_wrong, 0, N(wrong));
    tcase_add_loop_test(tcase, test_empty, 0, N(empty));
    tcase_add_loop_test(tcase, test_right, 0, sizeof(right) / sizeof(*right));
    tcase_add_test(tcase, test_socket_length);
    tcase_add_test(tcase, test_registry_names);
    tcase_add_test(tcase, test_merge);
    tcase_add_test(tcase, test_text);
    tcase_add_loop_test(tcase, test_wrong_text, 0, N(wrong_text));
    tcase_add_test(tcase, test_limits);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
