/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/oci-hook: what image a container was made of. */
#include "lib/internal/records/records_internal.h"
#include "plugins/oci-hook/hook.h"
#include "test/unit/layout/store_util.h"

#define A_DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_DIGEST "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct container_state state;
static json_t *json;

static bool reads(const char *text)
{
    state_free(&state);
    json_decref(json);
    json = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(json);
    return state_read(json, &state);
}

static void done(void)
{
    state_free(&state);
    json_decref(json);
    json = NULL;
}

START_TEST(annotations)
{
    ck_assert(reads("{\"annotations\":{\"dev.ocivariant.properties\":\"amd :: gfx_arch :: gfx942\","
                    "\"dev.ocivariant.label\":\"rocm\",\"dev.ocivariant.digest\":\"" A_DIGEST
                    "\"}}"));
    ck_assert_str_eq(state.question.properties, "amd :: gfx_arch :: gfx942");
    ck_assert_str_eq(state.question.label, "rocm");
    ck_assert_str_eq(state.question.digest, A_DIGEST);
    ck_assert_ptr_null(state.question.reference);
    ck_assert(reads("{\"annotations\":{\"io.kubernetes.cri-o.ImageName\":\"r.example/app:1\","
                    "\"org.opencontainers.image.ref.name\":\"1\","
                    "\"io.kubernetes.cri-o.ImageRef\":\"r.example/app@" A_DIGEST "\"}}"));
    ck_assert_str_eq(state.question.digest, A_DIGEST);
    ck_assert_str_eq(state.question.reference, "r.example/app:1");
    /* an image's id beside a name that is pinned */
    ck_assert(reads("{\"annotations\":{\"io.kubernetes.cri-o.ImageName\":\"r.example/app@" A_DIGEST
                    "\",\"io.kubernetes.cri-o.ImageRef\":\"" ZEROS "\"}}"));
    ck_assert_str_eq(state.question.digest, A_DIGEST);
    done();
}
END_TEST

START_TEST(nothing_said)
{
    static const char *const texts[] = {
        "{}",
        "{\"annotations\":null}",
        "{\"annotations\":[\"dev.ocivariant.digest\"]}",
        "{\"annotations\":{\"dev.ocivariant.digest\":7,\"dev.ocivariant.properties\":{}}}",
        "{\"annotations\":{\"dev.ocivariant.digest\":\"sha256:../../x\"}}",
        "{\"annotations\":{\"dev.ocivariant.properties\":\"\"}}",
        "{\"annotations\":{\"dev.ocivariant.label\":\"rocm\"}}", /* a name says nothing */
        /* an image id is not a manifest digest, and the base is another image */
        "{\"annotations\":{\"io.kubernetes.cri-o.ImageRef\":\"" ZEROS "\"}}",
        "{\"annotations\":{\"org.opencontainers.image.base.digest\":\"" A_DIGEST "\"}}",
        "{\"bundle\":\"\"}",
        "{\"bundle\":\"/\"}",
        "{\"bundle\":\"/userdata\"}",
        "{\"bundle\":\"/x/userdata\"}",
        "{\"bundle\":\"/-containers/x/userdata\"}",
        "{\"bundle\":\"/no/such/overlay-containers/x/userdata\"}",
        "{\"bundle\":[]}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        ck_assert_msg(!reads(texts[i]), "%s", texts[i]);
    done();
}
END_TEST

static void make_storage(const char *root)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/overlay-containers", at(root));
    need(ocv_directory_make(path, 0700, &err));
    snprintf(path, sizeof(path), "%s/overlay-images", at(root));
    need(ocv_directory_make(path, 0700, &err));
    snprintf(path, sizeof(path), "%s/overlay-containers/volatile-containers.json", at(root));
    write_text(path, "[{\"id\":\"other\",\"image\":\"i2\"},{\"id\":\"c1\",\"image\":\"i1\"},7]");
    snprintf(path, sizeof(path), "%s/overlay-images/images.json", at(root));
    write_text(path,
               "[{\"id\":\"i1\",\"digest\":\"" B_DIGEST "\",\"names\":[\"r.example/app@" B_DIGEST
               "\",\"r.example/app:1\"]},{\"id\":\"i2\",\"digest\":\"../x\"}]");
}

START_TEST(engine_storage)
{
    char text[1024];
    make_storage("graph");
    snprintf(text, sizeof(text), "{\"bundle\":\"%s/graph/overlay-containers/c1/userdata\"}",
             scratch);
    ck_assert(reads(text));
    ck_assert_str_eq(state.question.digest, B_DIGEST);
    ck_assert_str_eq(state.question.reference, "r.example/app:1");
    snprintf(text, sizeof(text), "{\"bundle\":\"%s/graph/overlay-containers/other/userdata\"}",
             scratch);
    ck_assert(!reads(text)); /* a digest that is none */
    ck_assert(state.image.lost);
    snprintf(text, sizeof(text), "{\"bundle\":\"%s/graph/overlay-containers/rootfs/userdata\"}",
             scratch);
    ck_assert(!reads(text)); /* made of no image */
    ck_assert(!state.image.lost);
    /* pulled by an index's digest: the manifest that was taken of it */
    write_text(at("graph/overlay-images/images.json"),
               "[{\"id\":\"i1\",\"digest\":\"" A_DIGEST "\",\"big-data-digests\":{"
               "\"manifest-" A_DIGEST "\":\"" A_DIGEST "\",\"manifest\":\"" B_DIGEST
               "\"},\"names\":[\"r.example/app:1\"]}]");
    snprintf(text, sizeof(text),
             "{\"bundle\":\"%s/graph/overlay-containers/c1/userdata\",\"annotations\":{"
             "\"io.kubernetes.cri-o.ImageRef\":\"r.example/app@" A_DIGEST "\"}}",
             scratch);
    ck_assert(reads(text));
    ck_assert_str_eq(state.question.digest, B_DIGEST);
    /* CRI-O: the bundle is in the run root */
    snprintf(text, sizeof(text), "{\"bundle\":\"%s/run/overlay-containers/c1/userdata\"}", scratch);
    ck_assert(!reads(text));
    snprintf(text, sizeof(text),
             "{\"bundle\":\"%s/run/overlay-containers/c1/userdata\",\"annotations\":{"
             "\"io.kubernetes.cri-o.MountPoint\":\"%s/graph/overlay/layer/merged\"}}",
             scratch, scratch);
    ck_assert(reads(text));
    ck_assert_str_eq(state.question.digest, B_DIGEST);
    /* what is there and cannot be read is not what is not there */
    snprintf(text, sizeof(text), "{\"bundle\":\"%s/graph/overlay-containers/c1/userdata\"}",
             scratch);
    write_text(at("graph/overlay-images/images.json"), "[{\"id\":\"i1\",");
    ck_assert(!reads(text) && state.image.lost);
    ck_assert_int_eq(unlink(at("graph/overlay-images/images.json")), 0);
    ck_assert(!reads(text) && state.image.lost);
    write_text(at("graph/overlay-containers/volatile-containers.json"), "");
    ck_assert(!reads(text) && state.image.lost);
    ck_assert_int_eq(unlink(at("graph/overlay-containers/volatile-containers.json")), 0);
    ck_assert(!reads(text) && !state.image.lost);
    done();
}
END_TEST

START_TEST(bundle_annotations)
{
    char text[1024];
    write_text(at("config.json"), "{\"annotations\":{\"dev.ocivariant.digest\":\"" A_DIGEST "\"}}");
    snprintf(text, sizeof(text), "{\"bundle\":\"%s\",\"annotations\":{}}", scratch);
    ck_assert(reads(text));
    ck_assert_str_eq(state.question.digest, A_DIGEST);
    snprintf(text, sizeof(text),
             "{\"bundle\":\"%s\",\"annotations\":{\"dev.ocivariant.digest\":\"" B_DIGEST "\"}}",
             scratch);
    ck_assert(reads(text)); /* the state is later */
    ck_assert_str_eq(state.question.digest, B_DIGEST);
    write_text(at("config.json"), "{\"annotations\":");
    snprintf(text, sizeof(text), "{\"bundle\":\"%s\"}", scratch);
    ck_assert(!reads(text) && state.unread);
    ck_assert_int_eq(unlink(at("config.json")), 0);
    ck_assert(!reads(text) && !state.unread); /* that there is no file is not a secret */
    ck_assert_int_eq(mkfifo(at("config.json"), 0600), 0); /* nobody writes: must not wait */
    ck_assert(!reads(text) && state.unread);
    ck_assert_int_eq(unlink(at("config.json")), 0);
    write_text(at("config.json"), "{\"annotations\":{\"dev.ocivariant.digest\":\"" A_DIGEST "\"}}");
    ck_assert_int_eq(truncate(at("config.json"), STATE_MAX + 1),
                     0); /* whoever starts it may fill it */
    ck_assert(!reads(text) && state.unread);
    done();
}
END_TEST

START_TEST(parsing)
{
    static const char *const broken[] = {"", "{", "nonsense", "\xff", "{\"a\":\"\xff\"}"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        write_text(at("state"), broken[i]);
        int fd = open(at("state"), O_RDONLY);
        json_t *root = state_parse(fd);
        ck_assert_ptr_null(root);
        close(fd);
    }
    char *large = malloc(STATE_MAX + 2);
    ck_assert_ptr_nonnull(large);
    memset(large, ' ', STATE_MAX + 1);
    memcpy(large, "{}", 2);
    for (int over = 0; over < 2; over++) {
        large[STATE_MAX + (size_t)over] = '\0';
        if (over)
            large[STATE_MAX] = ' ';
        write_text(at("state"), large);
        int fd = open(at("state"), O_RDONLY);
        json_t *root = state_parse(fd);
        ck_assert_int_eq(root != NULL, over == 0);
        json_decref(root);
        close(fd);
    }
    free(large);
}
END_TEST

RUN_SUITE("oci-hook", annotations, nothing_said, engine_storage, bundle_annotations, parsing)
