/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy/workload: what pods say, the tables, and who shares a user. */
#include "lib/core/core_internal.h"
#include "plugins/containerd/cri-proxy/state/state.h"
#include "plugins/containerd/cri-proxy/workload/workload.h"
#include "test/unit/core_util.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define A "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define APP "r.example/app:1"

static struct ocv_error err;

static const struct {
    enum workload_wish wish;
    const char *value, *text; /* NULL: refused */
} wishes[] = {
    {WORKLOAD_LABEL, "cuda12.8", "label=cuda12.8\n"},
    {WORKLOAD_LABEL, "", ""},
    {WORKLOAD_LABEL, "A", NULL},
    {WORKLOAD_LABEL, "a\n", NULL},
    {WORKLOAD_REQUIRE, "nvidia, amd ,nvidia", "require=amd,nvidia\n"},
    {WORKLOAD_REQUIRE, "x86_64::level::v3", "require=x86_64 :: level :: v3\n"},
    {WORKLOAD_REQUIRE, "x86_64::level::v3::w", NULL},
    {WORKLOAD_DISABLE, " amd", "disable=amd\n"},
    {WORKLOAD_DISABLE, "amd\nlabel=x", NULL},
    {WORKLOAD_DEVICES, "node", "devices=node\n"},
    {WORKLOAD_DEVICES, "cpu", "devices=cpu\n"},
    {WORKLOAD_DEVICES, "nvidia=1,0;amd=2", "devices=amd=2;nvidia=0,1\n"},
    {WORKLOAD_DEVICES, "nvidia=", "devices=nvidia=\n"},
    {WORKLOAD_DEVICES, "1", NULL},
    {WORKLOAD_DEVICES, "all", NULL},
};

START_TEST(one_form)
{
    struct workload_request request = {0};
    struct workload_wishes out, again;
    ocv_auto(ocv_config) config = NULL;
    ck_assert_int_eq(ocv_config_new(&config, &err), OCV_OK);
    request.wishes[wishes[_i].wish] =
        (struct request_text){wishes[_i].value, strlen(wishes[_i].value)};
    int status = workload_wishes_read(&request, config, &out, &err);
    if (wishes[_i].text) {
        ck_assert_msg(status == OCV_OK, "%s", err.message);
        ck_assert_str_eq(out.text, wishes[_i].text);
        ck_assert_int_eq(workload_wishes_parse(out.text, &again, &err), OCV_OK);
        ck_assert_str_eq(again.text, out.text);
        workload_wishes_free(&again);
    } else {
        ck_assert_int_eq(status, OCV_ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(err.message, "annotation dev.ocivariant/"));
    }
    workload_wishes_free(&out);
}
END_TEST

START_TEST(long_wish)
{
    struct workload_request request = {0};
    struct workload_wishes out;
    ocv_auto(ocv_config) config = NULL;
    char text[WISH_MAX + 1];
    ck_assert_int_eq(ocv_config_new(&config, &err), OCV_OK);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = "amd,"[i % 4];
    request.wishes[WORKLOAD_REQUIRE] = (struct request_text){text, WISH_MAX - 1};
    ck_assert_int_eq(workload_wishes_read(&request, config, &out, &err), OCV_OK);
    workload_wishes_free(&out);
    request.wishes[WORKLOAD_REQUIRE].len++;
    ck_assert_int_eq(workload_wishes_read(&request, config, &out, &err), OCV_ERR_INVALID);
    workload_wishes_free(&out);
}
END_TEST

static char dir[] = "/tmp/ocv-workload-XXXXXX";
static struct state *state;

static void open_state(void)
{
    if (state)
        state_free(state);
    state = NULL;
    ck_assert_msg(state_open(dir, NULL, &state, &err) == OCV_OK, "%s", err.message);
}

static void set_up(void)
{
    snprintf(dir, sizeof(dir), "/tmp/ocv-workload-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    state = NULL;
    open_state();
}

static void tear_down(void)
{
    char command[128];
    state_free(state);
    state = NULL;
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

static struct state_value value_of(const char *child, const char *index, const char *user)
{
    struct state_value value = {0};
    snprintf(value.child, sizeof(value.child), "%s", child);
    snprintf(value.index, sizeof(value.index), "%s", index);
    snprintf(value.user, sizeof(value.user), "%s", user);
    return value;
}

static int put(const char *wishes_text, const char *devices, const char *child, const char *index,
               const char *user)
{
    const struct state_key key = {APP, wishes_text, devices};
    const struct state_value value = value_of(child, index, user);
    return state_put_choice(state, &key, &value, NULL, 0, &err);
}

static int put_pod(const char *uid, const char *seen, const char *child, const char *user)
{
    const struct state_pod pod = {uid, seen};
    struct state_value value = value_of(child, C, user);
    return state_put_pod(state, APP, &pod, &value, &err);
}

static const char *pods_child(const char *uid, const char *seen)
{
    static struct state_value value;
    const struct state_pod pod = {uid, seen};
    return state_find_pod(state, APP, &pod, &value) ? value.child : "";
}

START_TEST(rows_come_back)
{
    struct state_value value;
    const struct state_key a = {APP, "label=a\n", "node"}, b = {APP, "label=a\n", "cpu"};
    ck_assert_int_eq(put("label=a\n", "node", A, C, "1000"), OCV_OK);
    ck_assert_int_eq(put("label=b\n", "node", B, C, "1000"), OCV_OK);
    ck_assert_int_eq(put_pod("uid-1", "s1", B, "1000"), OCV_OK);
    ck_assert_int_eq(put_pod("", "s2", A, "1000"), OCV_OK);
    for (int i = 0; i < 2; i++, open_state()) {
        ck_assert(state_find_choice(state, &a, &value));
        ck_assert_str_eq(value.child, A);
        ck_assert_str_eq(value.user, "1000");
        ck_assert(!state_find_choice(state, &b, &value));
        ck_assert_str_eq(pods_child("uid-1", ""), B);
        ck_assert_str_eq(pods_child("uid-1", "s2"), B);
        ck_assert_str_eq(pods_child("uid-3", "s2"), A); /* until its uid is known */
        ck_assert_str_eq(pods_child("", "s1"), B);
        ck_assert_str_eq(pods_child("", ""), "");
        ck_assert(state_find_only(state, APP, "label=a\n", &value));
        ck_assert(!state_find_only(state, APP, "", &value));
    }
}
END_TEST

/* After a restart of kubelet a pod has another config.seen, even if the proxy was restarted too. */
START_TEST(a_pod_is_seen_anew)
{
    ck_assert_int_eq(put_pod("uid-1", "s1", A, "root"), OCV_OK);
    ck_assert_int_eq(put_pod("uid-1", "s2", B, "root"), OCV_OK);
    for (int i = 0; i < 2; i++, open_state()) {
        ck_assert_str_eq(pods_child("", "s2"), A);
        ck_assert_str_eq(pods_child("", "s1"), "");
        ck_assert_uint_eq(state_count_pods(state), 1);
    }
}
END_TEST

/* The first choice of a pod is the one that counts. */
START_TEST(a_pod_keeps_its_own)
{
    const struct state_pod pod = {"uid-1", "s1"};
    struct state_value value = value_of(A, C, "root");
    ck_assert_int_eq(state_put_pod(state, APP, &pod, &value, &err), OCV_OK);
    value = value_of(B, C, "root");
    ck_assert_int_eq(state_put_pod(state, APP, &pod, &value, &err), OCV_OK);
    ck_assert_str_eq(value.child, A);
    state_drop_pod(state, APP, &pod);
    ck_assert_str_eq(pods_child("uid-1", "s1"), "");
    open_state();
    ck_assert_str_eq(pods_child("uid-1", "s1"), "");
}
END_TEST

START_TEST(one_user)
{
    char children[4][OCV_DIGEST_MAX];
    ck_assert_int_eq(put("label=a\n", "node", A, A, "1000"), OCV_OK);
    ck_assert_int_eq(put("label=b\n", "node", B, A, "root"), OCV_ERR_CHECK);
    ck_assert_str_eq(err.message, "variants of " APP " run as different users (1000, root)");
    /* the tag has moved: choices made from the old index are dropped */
    ck_assert_int_eq(put("label=b\n", "node", B, B, "root"), OCV_OK);
    ck_assert_uint_eq(state_children(state, APP, children, 4), 1);
    ck_assert_str_eq(children[0], B);
    /* unless a pod has it */
    ck_assert_int_eq(put_pod("uid-1", "", B, "root"), OCV_OK);
    ck_assert_int_eq(put("label=a\n", "node", A, C, "1000"), OCV_ERR_CHECK);
    ck_assert_int_eq(put_pod("uid-2", "", A, "1000"), OCV_ERR_CHECK);
    open_state();
    ck_assert_uint_eq(state_children(state, APP, children, 4), 1);
    /* other images have their own */
    const struct state_key other = {"r.example/other:1", "", "node"};
    const struct state_value value = value_of(A, C, "1000");
    ck_assert_int_eq(state_put_choice(state, &other, &value, NULL, 0, &err), OCV_OK);
    ck_assert(state_knows_digest(state, "r.example/other", A));
    ck_assert(!state_knows_digest(state, "r.example/app", A));
}
END_TEST

START_TEST(pods_that_are_gone)
{
    const struct state_pod live[] = {{"uid-1", "s1"}, {"uid-3", "s3"}};
    ck_assert_int_eq(put_pod("uid-1", "s1", A, "root"), OCV_OK);
    ck_assert_int_eq(put_pod("uid-2", "s2", A, "root"), OCV_OK);
    ck_assert_int_eq(put_pod("", "s3", B, "root"), OCV_OK);
    state_prune(state, live, 2, 0);
    ck_assert_str_eq(pods_child("uid-2", "s2"), A); /* its sandbox may be about to come */
    for (int i = 0; i < 2; i++, open_state()) {
        state_prune(state, live, 2, (int64_t)time(NULL) + 1);
        ck_assert_str_eq(pods_child("uid-1", "s1"), A);
        ck_assert_str_eq(pods_child("uid-2", "s2"), "");
        ck_assert_str_eq(pods_child("uid-3", "another"), B); /* it has its uid now */
    }
}
END_TEST

START_TEST(damaged_rows)
{
    static const char *const texts[] = {
        "",
        "{}",
        "{\"reference\":\"" APP "\",\"child\":\"" A "\",\"index\":\"" A "\",\"user\":\"root\"}",
        "{\"reference\":\"" APP "\",\"wishes\":\"\",\"devices\":\"node\",\"child\":\"sha256:1\","
        "\"index\":\"" A "\",\"user\":\"root\",\"time\":1}",
        "{\"reference\":\"" APP "\",\"wishes\":\"\",\"devices\":\"node\",\"child\":\"" A
        "\",\"index\":\"" A "\",\"user\":\"\",\"time\":1}",
        "{\"reference\":\"" APP "\",\"wishes\":\"\",\"uid\":\"1\",\"seen\":\"\",\"child\":\"" A
        "\",\"index\":\"" A "\",\"user\":\"root\",\"time\":1}",
        "{\"reference\":\"" APP "\",\"wishes\":\"\",\"devices\":\"node\",\"uid\":\"1\",\"seen\":"
        "\"\",\"child\":\"" A "\",\"index\":\"" A "\",\"user\":\"root\",\"time\":1}",
    };
    char path[128], children[1][OCV_DIGEST_MAX];
    snprintf(path, sizeof(path), "%s/workload", dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        snprintf(path, sizeof(path), "%s/workload/choice-%064zu.json", dir, i);
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(texts[i], file);
        ck_assert_int_eq(fclose(file), 0);
    }
    open_state();
    ck_assert_uint_eq(state_children(state, APP, children, 1), 0);
}
END_TEST

/* The files of versions before the database. */
START_TEST(old_rows)
{
    static const char *const texts[] = {
        "{\"reference\":\"" APP "\",\"wishes\":\"label=a\\n\",\"devices\":\"node\",\"child\":\"" A
        "\",\"index\":\"" C "\",\"user\":\"1000\",\"time\":7}",
        "{\"reference\":\"" APP "\",\"uid\":\"uid-1\",\"seen\":\"s1\",\"child\":\"" B
        "\",\"index\":\"" C "\",\"user\":\"1000\",\"time\":8}",
        "{\"reference\":\"" APP "\",\"uid\":\"uid-2\",\"seen\":\"s2\",\"child\":\"" A
        "\",\"index\":\"" C "\",\"user\":\"root\",\"time\":9}"}; /* another user */
    char path[128];
    struct state_value value;
    const struct state_key key = {APP, "label=a\n", "node"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        snprintf(path, sizeof(path), "%s/workload", dir);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        snprintf(path, sizeof(path), "%s/workload/pod-%064zu.json", dir, i);
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(texts[i], file);
        ck_assert_int_eq(fclose(file), 0);
        open_state();
    }
    ck_assert(state_find_choice(state, &key, &value));
    ck_assert_str_eq(value.child, A);
    ck_assert_str_eq(value.index, C);
    ck_assert_str_eq(pods_child("uid-1", ""), B);
    ck_assert_str_eq(pods_child("uid-2", ""), "");
    snprintf(path, sizeof(path), "%s/workload", dir);
    ck_assert_int_lt(access(path, F_OK), 0);
}
END_TEST

START_TEST(kept_indexes)
{
    static const char body[] = "{\"schemaVersion\":2}";
    char digest[OCV_DIGEST_MAX];
    ocv_auto_buffer out;
    ocv_buffer_init(&out, STATE_INDEX_MAX);
    ck_assert_int_eq(ocv_digest_bytes(body, sizeof(body) - 1, digest, &err), OCV_OK);
    const struct state_key key = {APP, "", "node"};
    const struct state_value value = value_of(A, digest, "root");
    ck_assert_int_eq(state_put_choice(state, &key, &value, body, sizeof(body) - 1, &err), OCV_OK);
    ck_assert_int_eq(state_index(state, digest, &out, &err), OCV_OK);
    ck_assert_str_eq(out.data, body);
    state_prune(state, NULL, 0, 0);
    out.len = 0;
    ck_assert_int_eq(state_index(state, digest, &out, &err), OCV_OK);
    state_drop_choice(state, &key);
    state_prune(state, NULL, 0, 0);
    out.len = 0;
    ck_assert_int_eq(state_index(state, digest, &out, &err), OCV_ERR_NOT_FOUND);
}
END_TEST

static const struct {
    const char *config, *user; /* NULL: malformed */
} users[] = {
    {"{}", "root"},
    {"{\"config\":null}", "root"},
    {"{\"config\":{\"User\":\"\"}}", "root"},
    {"{\"config\":{\"User\":\"0\"}}", "root"},
    {"{\"config\":{\"User\":\"00:7\"}}", "root"},
    {"{\"config\":{\"User\":\"root\"}}", "root"},
    {"{\"config\":{\"User\":\":7\"}}", "root"},
    {"{\"config\":{\"User\":\"1000\"}}", "1000"},
    {"{\"config\":{\"User\":\"1000:1000\"}}", "1000"},
    {"{\"config\":{\"User\":\"app:app\"}}", "app"},
    {"{\"config\":{\"User\":7}}", NULL},
    {"[]", NULL},
    {"", NULL},
};

START_TEST(users_of_configs)
{
    char user[OCV_IMAGE_USER_MAX];
    int status = ocv_image_user(users[_i].config, strlen(users[_i].config), user, &err);
    ck_assert_int_eq(status, users[_i].user ? OCV_OK : OCV_ERR_DATA);
    if (users[_i].user)
        ck_assert_str_eq(user, users[_i].user);
}
END_TEST

START_TEST(longest_user)
{
    char config[OCV_IMAGE_USER_MAX + 64], name[OCV_IMAGE_USER_MAX + 1], user[OCV_IMAGE_USER_MAX];
    memset(name, 'u', sizeof(name));
    for (size_t n = OCV_IMAGE_USER_MAX - 1; n <= OCV_IMAGE_USER_MAX; n++) {
        snprintf(config, sizeof(config), "{\"config\":{\"User\":\"%.*s\"}}", (int)n, name);
        ck_assert_int_eq(ocv_image_user(config, strlen(config), user, &err),
                         n < OCV_IMAGE_USER_MAX ? OCV_OK : OCV_ERR_DATA);
    }
}
END_TEST

#define TEXT(text) ((struct request_text){(text), strlen(text)})

START_TEST(who_asks)
{
    struct pods *pods = NULL;
    struct pod pod;
    struct workload_request one = {
        .uid = TEXT("u1"), .seen = TEXT("s"), .pod_name = TEXT("a"), .name_space = TEXT("n")};
    struct workload_request two = {.uid = TEXT("u2"), .seen = TEXT("s")};
    struct workload_request asks = {.seen = TEXT("s")};
    ck_assert_int_eq(pods_new(&pods, &err), OCV_OK);
    pods_of_request(pods, &asks, &pod);
    ck_assert_str_eq(pod.uid, "");
    pods_of_request(pods, &one, &pod);
    pods_of_request(pods, &asks, &pod);
    ck_assert_str_eq(pod.uid, "u1");
    ck_assert_str_eq(pod.name, "a");
    /* two pods first seen at the same moment: neither */
    pods_of_request(pods, &two, &pod);
    pods_of_request(pods, &asks, &pod);
    ck_assert_str_eq(pod.uid, "");
    /* a static pod's hash is its uid; a pod of the API may say what it likes */
    struct workload_request file = {.seen = TEXT("t"), .hash = TEXT("h"), .source = TEXT("file")};
    pods_of_request(pods, &file, &pod);
    ck_assert_str_eq(pod.uid, "h");
    file.source = TEXT("api");
    pods_of_request(pods, &file, &pod);
    ck_assert_str_eq(pod.uid, "");
    pods_free(pods);
}
END_TEST

static const char two_kinds[] =
    "{\"schema\":\"dev.ocivariant.profile/v1\",\"platform\":{\"os\":\"linux\",\"architecture\":"
    "\"amd64\"},\"namespaces\":[{\"namespace\":\"amd\",\"status\":\"ok\",\"features\":[],"
    "\"devices\":[{\"id\":\"0000:c1:00.0\",\"index\":0,\"features\":[]}]},{\"namespace\":"
    "\"nvidia\",\"status\":\"ok\",\"features\":[],\"devices\":[{\"id\":\"0000:41:00.0\",\"index\":"
    "1,\"uuid\":\"GPU-b\",\"features\":[]},{\"id\":\"0000:3b:00.0\",\"index\":0,\"uuid\":"
    "\"GPU-a\",\"features\":[]}]}]}";

#define CLAIM "39efb201-82c2-4cf5-ad11-5001884f2f51-"
static const struct {
    struct ocv_given_device given[4];
    size_t n;
    const char *devices; /* NULL: not known */
} given_cases[] = {
    {{{"", "", 0}}, 0, ""},
    {{{"nvidia.com/gpu", "GPU-a", 0}}, 1, "nvidia=0000:3b:00.0"},
    {{{"nvidia.com/gpu", "gpu-A::3", 0}}, 1, "nvidia=0000:3b:00.0"},
    {{{"any.example/gpu", "GPU-b", 0}}, 1, "nvidia=0000:41:00.0"},
    {{{"nvidia.com/gpu", "1", 0}}, 1, "nvidia=0000:41:00.0"},
    {{{"nvidia.com/gpu", "GPU-b", 0}, {"nvidia.com/gpu", "GPU-a", 1}},
     2,
     "nvidia=0000:41:00.0,0000:3b:00.0"},
    {{{"amd.com/gpu", "0000:c1:00.0", 0}, {"nvidia.com/gpu", "0", 1}},
     2,
     "amd=0000:c1:00.0;nvidia=0000:3b:00.0"},
    {{{"gpu.nvidia.com", "k8s.gpu.nvidia.com/claim=" CLAIM "gpu-0", 0},
      {"gpu.nvidia.com", "gpu-0", 0}},
     2,
     "nvidia=0000:3b:00.0"},
    {{{"", "nvidia.com/gpu=1", 0}}, 1, "nvidia=0000:41:00.0"},
    {{{"", "nvidia.com/gpu=GPU-a", 0}}, 1, "nvidia=0000:3b:00.0"},
    {{{"", "nvidia.com/gpu=all", 0}}, 1, "nvidia=0000:41:00.0,0000:3b:00.0"},
    {{{"", "amd.com/gpu=all", 0}, {"", "nvidia.com/gpu=1", 1}},
     2,
     "amd=0000:c1:00.0;nvidia=0000:41:00.0"},
    {{{"", "example.com/gpu=all", 0}}, 1, NULL},
    /* names of one device that mean two */
    {{{"gpu.nvidia.com", "nvidia.com/gpu=1", 0}, {"gpu.nvidia.com", "gpu-0", 0}}, 2, NULL},
    /* parts of devices, other vendors' numbers, more than there are, names that say nothing */
    {{{"gpu.nvidia.com", "gpu-0-mig-1g.5gb-19-0", 0}}, 1, NULL},
    {{{"nvidia.com/gpu", "MIG-1234", 0}}, 1, NULL},
    {{{"gpu.intel.com/i915", "card0-1", 0}}, 1, NULL},
    {{{"example.com/gpu", "0", 0}}, 1, NULL},
    {{{"nvidia.com/gpu", "2", 0}}, 1, NULL},
    {{{"nvidia.com/gpu", "GPU-a", 0}, {"nvidia.com/gpu", "GPU-c", 1}}, 2, NULL},
    /* a device that is not an accelerator does not matter beside a known one */
    {{{"nvidia.com/gpu", "GPU-a", 0}, {"example.com/fuse", "7", 1}}, 2, "nvidia=0000:3b:00.0"},
};

START_TEST(devices_of_the_profile)
{
    static struct ocv_given_devices given;
    char out[STATE_DEVICES_MAX] = "?";
    ocv_auto(ocv_profile) profile = NULL;
    ck_assert_msg(ocv_profile_parse(two_kinds, strlen(two_kinds), &profile, &err) == OCV_OK, "%s",
                  err.message);
    given.n = given_cases[_i].n;
    memcpy(given.list, given_cases[_i].given, sizeof(given_cases[_i].given));
    int status = ocv_given_find(&given, profile, out, sizeof(out), &err);
    ck_assert_int_eq(status, given_cases[_i].devices ? OCV_OK : OCV_ERR_NOT_FOUND);
    if (given_cases[_i].devices)
        ck_assert_str_eq(out, given_cases[_i].devices);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("cri-proxy-workload");
    TCase *pure = tcase_create("pure"), *disk = tcase_create("disk");
    tcase_add_loop_test(pure, one_form, 0, sizeof(wishes) / sizeof(*wishes));
    tcase_add_test(pure, long_wish);
    tcase_add_loop_test(pure, users_of_configs, 0, sizeof(users) / sizeof(*users));
    tcase_add_test(pure, longest_user);
    tcase_add_test(pure, who_asks);
    tcase_add_loop_test(pure, devices_of_the_profile, 0,
                        sizeof(given_cases) / sizeof(*given_cases));
    suite_add_tcase(suite, pure);
    tcase_add_checked_fixture(disk, set_up, tear_down);
    tcase_add_test(disk, rows_come_back);
    tcase_add_test(disk, a_pod_keeps_its_own);
    tcase_add_test(disk, a_pod_is_seen_anew);
    tcase_add_test(disk, one_user);
    tcase_add_test(disk, pods_that_are_gone);
    tcase_add_test(disk, damaged_rows);
    tcase_add_test(disk, old_rows);
    tcase_add_test(disk, kept_indexes);
    suite_add_tcase(suite, disk);
    return run_suite(suite);
}
