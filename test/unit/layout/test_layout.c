/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test/unit/layout/store_util.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <sys/mount.h>
#include <utime.h>

static const struct ocv_platform amd64 = {.os = "linux", .architecture = "amd64"};

static struct ocv_descriptor add_manifest(struct ocv_layout *layout, const char *text)
{
    return add_blob(layout, OCV_MEDIA_TYPE_MANIFEST, text, strlen(text));
}

static json_t *load_index(const char *layout)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s/index.json", scratch, layout);
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(json);
    return json;
}

START_TEST(created_and_opened_again)
{
    struct ocv_layout *layout;
    refuses(ocv_layout_open(at("a/b/l"), OCV_LAYOUT_READ, &layout, &err), OCV_ERR_NOT_FOUND);
    need(ocv_layout_open(at("a/b/l"), OCV_LAYOUT_CREATE, &layout, &err));
    ck_assert_str_eq(ocv_layout_path(layout), at("a/b/l"));
    ocv_layout_free(layout);
    need(ocv_layout_open(at("a/b/l/"), OCV_LAYOUT_CREATE, &layout, &err));
    ocv_layout_free(layout);
    need(ocv_layout_open(at("a/b/l"), OCV_LAYOUT_READ, &layout, &err));
    char digest[OCV_DIGEST_MAX] = "";
    refuses(ocv_layout_write_blob(layout, "x", 1, digest, &err), OCV_ERR_INVALID);
    struct ocv_descriptor descriptor;
    refuses(ocv_layout_resolve(layout, "latest", &descriptor, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_layout_resolve(layout, NULL, &descriptor, &err), OCV_ERR_NOT_FOUND);
    ocv_layout_free(layout);
    ocv_layout_free(NULL);
}
END_TEST

START_TEST(completes_what_a_crash_left)
{
    ck_assert_int_eq(mkdir(at("l"), 0755), 0);
    ck_assert_int_eq(mkdir(at("l/.ocivariant"), 0755), 0);
    ck_assert_int_eq(mkdir(at("l/blobs"), 0755), 0);
    ocv_layout_free(open_layout("l"));
    ck_assert_int_eq(unlink(at("l/index.json")), 0);
    ocv_layout_free(open_layout("l"));
    json_decref(load_index("l"));
}
END_TEST

START_TEST(what_is_no_layout)
{
    struct ocv_layout *layout;
    write_text(at("file"), "");
    refuses(ocv_layout_open(at("file"), OCV_LAYOUT_READ, &layout, &err), OCV_ERR_DATA);
    refuses(ocv_layout_open(at("file"), OCV_LAYOUT_CREATE, &layout, &err), OCV_ERR_DATA);
    refuses(ocv_layout_open(scratch, OCV_LAYOUT_READ, &layout, &err), OCV_ERR_DATA);
    refuses(ocv_layout_open(scratch, OCV_LAYOUT_CREATE, &layout, &err), OCV_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "'file'"));
    ck_assert(!is_there(at("blobs")));
    refuses(ocv_layout_open("", OCV_LAYOUT_CREATE, &layout, &err), OCV_ERR_INVALID);
    static const char *const markers[] = {"", "{}", "{\"imageLayoutVersion\":\"2.0.0\"}",
                                          "{\"imageLayoutVersion\":1}", "[]"};
    ocv_layout_free(open_layout("l"));
    for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++) {
        write_text(at("l/oci-layout"), markers[i]);
        refuses(ocv_layout_open(at("l"), OCV_LAYOUT_READ, &layout, &err), OCV_ERR_DATA);
    }
    unlink(at("l/oci-layout"));
    ck_assert_int_eq(mkfifo(at("l/oci-layout"), 0600), 0); /* must not block */
    refuses(ocv_layout_open(at("l"), OCV_LAYOUT_READ, &layout, &err), OCV_ERR_DATA);
}
END_TEST

START_TEST(blobs_in_and_out)
{
    struct ocv_layout *layout = open_layout("l");
    char digest[OCV_DIGEST_MAX] = "";
    need(ocv_layout_write_blob(layout, "hello", 5, digest, &err));
    need(ocv_digest_check(digest, "hello", 5, &err));
    need(ocv_layout_write_blob(layout, "hello", 5, digest, &err)); /* again */
    refuses(ocv_layout_write_blob(layout, "hellO", 5, digest, &err), OCV_ERR_MISMATCH);
    struct ocv_buffer out;
    ocv_buffer_init(&out, 5);
    need(ocv_layout_read_blob(layout, digest, &out, &err));
    ck_assert_str_eq(out.data, "hello");
    ocv_buffer_free(&out);
    ocv_buffer_init(&out, 4);
    refuses(ocv_layout_read_blob(layout, digest, &out, &err), OCV_ERR_DATA);
    ocv_buffer_free(&out);
    ocv_buffer_init(&out, 100);
    int fd;
    int64_t size;
    need(ocv_layout_open_blob(layout, digest, &fd, &size, &err));
    ck_assert_int_eq(size, 5);
    close(fd);
    refuses(ocv_layout_read_blob(layout, "sha256:" ZEROS, &out, &err), OCV_ERR_NOT_FOUND);
    char path[512];
    snprintf(path, sizeof(path), "%s/l/blobs/sha256/%s", scratch, digest + 7);
    write_text(path, "hullo");
    refuses(ocv_layout_read_blob(layout, digest, &out, &err), OCV_ERR_MISMATCH);
    unlink(path);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0); /* a blob is a file, nothing else */
    refuses(ocv_layout_open_blob(layout, digest, &fd, &size, &err), OCV_ERR_IO);
    ck_assert(!ocv_layout_has_blob(layout, digest, -1));
    ocv_buffer_free(&out);
    ocv_layout_free(layout);
}
END_TEST

START_TEST(tags_and_names)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    struct ocv_descriptor b = add_manifest(layout, "bb");
    struct ocv_descriptor out;
    need(ocv_layout_tag(layout, "1", "docker.io/library/a:1", &a, &amd64, &err));
    need(ocv_layout_resolve(layout, NULL, &out, &err));
    ck_assert_str_eq(out.digest, a.digest);
    need(ocv_layout_tag(layout, "2", NULL, &b, NULL, &err));
    need(ocv_layout_resolve(layout, "1", &out, &err));
    ck_assert_str_eq(out.digest, a.digest);
    ck_assert_str_eq(out.media_type, OCV_MEDIA_TYPE_MANIFEST);
    ck_assert_int_eq(out.size, 1);
    need(ocv_layout_resolve(layout, "2", &out, &err));
    ck_assert_str_eq(out.digest, b.digest);
    need(ocv_layout_resolve(layout, "docker.io/library/a:1", &out, &err));
    ck_assert_str_eq(out.digest, a.digest);
    refuses(ocv_layout_resolve(layout, NULL, &out, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_layout_resolve(layout, "3", &out, &err), OCV_ERR_NOT_FOUND);
    ck_assert_str_eq(err.hint, "it has: 1, 2");
    /* the tag moves; the old entry keeps its full name */
    need(ocv_layout_tag(layout, "1", NULL, &b, NULL, &err));
    need(ocv_layout_resolve(layout, "1", &out, &err));
    ck_assert_str_eq(out.digest, b.digest);
    need(ocv_layout_resolve(layout, "docker.io/library/a:1", &out, &err));
    ck_assert_str_eq(out.digest, a.digest);
    /* the name moves too */
    need(ocv_layout_tag(layout, "1", "docker.io/library/a:1", &b, NULL, &err));
    need(ocv_layout_resolve(layout, "docker.io/library/a:1", &out, &err));
    ck_assert_str_eq(out.digest, b.digest);
    json_t *index = load_index("l");
    ck_assert_uint_eq(json_array_size(json_object_get(index, "manifests")), 3);
    json_decref(index);
    /* the nameless entry is taken up again */
    need(ocv_layout_tag(layout, "3", NULL, &a, NULL, &err));
    index = load_index("l");
    ck_assert_uint_eq(json_array_size(json_object_get(index, "manifests")), 3);
    json_decref(index);
    ocv_layout_free(layout);
}
END_TEST

START_TEST(a_tag_moves_only_from_where_it_is_thought)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    struct ocv_descriptor b = add_manifest(layout, "bb");
    struct ocv_descriptor out;
    char now[OCV_DIGEST_MAX];
    need(ocv_layout_retag(layout, "1", "", &a, now, &err));
    refuses(ocv_layout_retag(layout, "1", "", &b, now, &err), OCV_ERR_DENIED);
    ck_assert_str_eq(now, a.digest);
    ck_assert_msg(strstr(err.message, "l:1 was changed meanwhile"), "%s", err.message);
    need(ocv_layout_retag(layout, "1", a.digest, &b, now, &err));
    refuses(ocv_layout_retag(layout, "1", a.digest, &a, now, &err), OCV_ERR_DENIED);
    refuses(ocv_layout_retag(layout, "2", a.digest, &a, now, &err), OCV_ERR_DENIED);
    ck_assert_str_eq(now, "");
    need(ocv_layout_resolve(layout, "1", &out, &err));
    ck_assert_str_eq(out.digest, b.digest);
    ocv_layout_free(layout);
}
END_TEST

START_TEST(same_tag_twice_changes_nothing)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    need(ocv_layout_tag(layout, "1", "x/a:1", &a, &amd64, &err));
    json_t *before = load_index("l");
    need(ocv_layout_tag(layout, "1", "x/a:1", &a, &amd64, &err));
    need(ocv_layout_tag(layout, "1", NULL, &a, NULL, &err));
    json_t *after = load_index("l");
    ck_assert(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    ocv_layout_free(layout);
}
END_TEST

START_TEST(only_what_is_there_is_tagged)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    a.size = 2;
    refuses(ocv_layout_tag(layout, "1", NULL, &a, NULL, &err), OCV_ERR_NOT_FOUND);
    snprintf(a.digest, sizeof(a.digest), "sha256:../../x");
    refuses(ocv_layout_tag(layout, "1", NULL, &a, NULL, &err), OCV_ERR_NOT_FOUND);
    ocv_layout_free(layout);
}
END_TEST

START_TEST(what_others_wrote_is_kept)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    write_text(
        at("l/index.json"),
        "{\"schemaVersion\":2,\"x-unknown\":{\"deep\":[1,2.5,null,\"\\u00e9\"]},\"manifests\":"
        "[{\"mediaType\":\"x/y\",\"digest\":\"sha3:abc\",\"size\":3,\"urls\":[\"u\"]},"
        "\"rubbish\",{\"annotations\":{\"org.opencontainers.image.ref.name\":\"1\","
        "\"other\":\"stays\"}}],\"annotations\":{\"k\":\"v\"}}");
    json_t *before = load_index("l");
    need(ocv_layout_tag(layout, "1", NULL, &a, &amd64, &err));
    json_t *after = load_index("l");
    ck_assert(
        json_equal(json_object_get(before, "x-unknown"), json_object_get(after, "x-unknown")));
    ck_assert(
        json_equal(json_object_get(before, "annotations"), json_object_get(after, "annotations")));
    json_t *old = json_object_get(before, "manifests");
    json_t *new = json_object_get(after, "manifests");
    ck_assert_uint_eq(json_array_size(new), 4);
    ck_assert(json_equal(json_array_get(old, 0), json_array_get(new, 0)));
    ck_assert(json_equal(json_array_get(old, 1), json_array_get(new, 1)));
    json_t *annotations = json_object_get(json_array_get(new, 2), "annotations");
    ck_assert_uint_eq(json_object_size(annotations), 1);
    ck_assert_str_eq(json_string_value(json_object_get(annotations, "other")), "stays");
    json_decref(before);
    json_decref(after);
    ocv_layout_free(layout);
}
END_TEST

START_TEST(malformed_index)
{
    static const char *const bad[] = {
        "", "[]", "{}", "{\"manifests\":{}}", "{\"manifests\":[],\"manifests\":[]}",
    };
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    struct ocv_descriptor out;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        write_text(at("l/index.json"), bad[i]);
        refuses(ocv_layout_resolve(layout, "1", &out, &err), OCV_ERR_DATA);
        ck_assert_ptr_nonnull(strstr(err.message, at("l")));
        refuses(ocv_layout_tag(layout, "1", NULL, &a, NULL, &err), OCV_ERR_DATA);
    }
    write_text(at("l/index.json"),
               "{\"manifests\":[{\"mediaType\":\"m\",\"size\":1,\"digest\":\"sha256:../../x\"}]}");
    refuses(ocv_layout_resolve(layout, NULL, &out, &err), OCV_ERR_DATA);
    ocv_layout_free(layout);
}
END_TEST

static void write_entries(size_t n)
{
    FILE *file = fopen(at("l/index.json"), "w");
    fprintf(file, "{\"manifests\":[");
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%s{}", i ? "," : "");
    fprintf(file, "]}");
    fclose(file);
}

START_TEST(limits)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    struct ocv_descriptor out;
    write_entries(OCV_INDEX_ENTRIES_MAX - 1);
    need(ocv_layout_tag(layout, "1", NULL, &a, NULL, &err));
    need(ocv_layout_resolve(layout, "1", &out, &err));
    refuses(ocv_layout_tag(layout, "2", NULL, &a, NULL, &err), OCV_ERR_DATA);
    need(ocv_layout_resolve(layout, "1", &out, &err));
    write_entries(OCV_INDEX_ENTRIES_MAX + 1);
    refuses(ocv_layout_resolve(layout, "1", &out, &err), OCV_ERR_DATA);
    write_text(at("l/index.json"), "{\"manifests\":[]}");
    ck_assert_int_eq(truncate(at("l/index.json"), OCV_MANIFEST_MAX + 1), 0);
    refuses(ocv_layout_resolve(layout, "1", &out, &err), OCV_ERR_DATA);
    ocv_layout_free(layout);
}
END_TEST

static int collect(void *data, const char *tag, const char *image_name,
                   const struct ocv_descriptor *descriptor)
{
    char *text = data;
    size_t len = strlen(text);
    snprintf(text + len, 256 - len, "[%s %s %lld]", tag ? tag : "-", image_name ? image_name : "-",
             (long long)descriptor->size);
    return tag && strcmp(tag, "stop") == 0 ? 7 : 0;
}

START_TEST(listed)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    struct ocv_descriptor b = add_manifest(layout, "bb");
    char text[256] = "";
    need(ocv_layout_list(layout, collect, text, &err));
    ck_assert_str_eq(text, "");
    need(ocv_layout_tag(layout, "1", "x:1", &a, NULL, &err));
    need(ocv_layout_tag(layout, "stop", NULL, &b, NULL, &err));
    need(ocv_layout_tag(layout, "3", NULL, &b, NULL, &err));
    ck_assert_int_eq(ocv_layout_list(layout, collect, text, &err), 7);
    ck_assert_str_eq(text, "[1 x:1 1][stop - 2]");
    ocv_layout_free(layout);
}
END_TEST

START_TEST(processes_at_once_keep_every_tag)
{
    enum { PROCESSES = 4, TAGS = 15 };
    pid_t pids[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        pids[p] = fork();
        ck_assert_int_ge(pids[p], 0);
        if (pids[p])
            continue;
        struct ocv_layout *layout = open_layout("l"); /* created by all threads at the same time */
        for (int t = 0; t < TAGS; t++) {
            char tag[32];
            snprintf(tag, sizeof(tag), "t%d-%d", p, t);
            struct ocv_descriptor d = add_manifest(layout, tag);
            if (ocv_layout_tag(layout, tag, NULL, &d, NULL, NULL) < 0)
                _exit(1);
        }
        _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        ck_assert_int_eq(waitpid(pids[p], &status, 0), pids[p]);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct ocv_layout *layout = open_layout("l");
    for (int i = 0; i < PROCESSES * TAGS; i++) {
        char tag[32];
        struct ocv_descriptor out;
        snprintf(tag, sizeof(tag), "t%d-%d", i / TAGS, i % TAGS);
        need(ocv_layout_resolve(layout, tag, &out, &err));
        need(ocv_digest_check(out.digest, tag, strlen(tag), &err));
    }
    ocv_layout_free(layout);
}
END_TEST

/* After a kill at any point of tagging, the layout is valid and the next tagging succeeds. */
START_TEST(killed_while_tagging)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    need(ocv_layout_tag(layout, "first", NULL, &a, NULL, &err));
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0)
            for (int n = 0;; n++) {
                char tag[32];
                snprintf(tag, sizeof(tag), "t%d", n % 50);
                struct ocv_descriptor d = add_manifest(layout, tag);
                if (ocv_layout_tag(layout, tag, NULL, &d, NULL, NULL) < 0)
                    _exit(1);
            }
        usleep((useconds_t)(1000 + i * 700));
        kill(pid, SIGKILL);
        int status;
        waitpid(pid, &status, 0);
        ck_assert(WIFSIGNALED(status));
        struct ocv_layout *reader;
        struct ocv_descriptor out;
        need(ocv_layout_open(at("l"), OCV_LAYOUT_READ, &reader, &err));
        need(ocv_layout_resolve(reader, "first", &out, &err));
        ocv_layout_free(reader);
        need(ocv_layout_tag(layout, "next", NULL, &a, NULL, &err));
    }
    ocv_layout_free(layout);
}
END_TEST

START_TEST(old_temporary_files_are_swept)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    write_text(at("l/.ocivariant/.tmp-old"), "");
    write_text(at("l/.ocivariant/.tmp-new"), "");
    write_text(at("l/.ocivariant/sha256-x.partial"), "");
    struct utimbuf long_ago = {1, 1};
    utime(at("l/.ocivariant/.tmp-old"), &long_ago);
    utime(at("l/.ocivariant/sha256-x.partial"), &long_ago);
    need(ocv_layout_tag(layout, "1", NULL, &a, NULL, &err));
    ck_assert(!is_there(at("l/.ocivariant/.tmp-old")));
    ck_assert(is_there(at("l/.ocivariant/.tmp-new")));
    ck_assert(is_there(at("l/.ocivariant/sha256-x.partial")));
    ocv_layout_free(layout);
}
END_TEST

static void check_read_only(const char *name)
{
    struct ocv_layout *layout = NULL;
    struct ocv_descriptor out;
    char digest[OCV_DIGEST_MAX] = "";
    need(ocv_layout_open(at(name), OCV_LAYOUT_READ, &layout, &err));
    need(ocv_layout_resolve(layout, "1", &out, &err));
    ocv_layout_free(layout);
    need(ocv_layout_open(at(name), OCV_LAYOUT_CREATE, &layout, &err));
    refuses(ocv_layout_write_blob(layout, "new", 3, digest, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, at(name)));
    refuses(ocv_layout_tag(layout, "2", NULL, &out, NULL, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, at(name)));
    ocv_layout_free(layout);
    char below[128];
    snprintf(below, sizeof(below), "%s/below", name);
    refuses(ocv_layout_open(at(below), OCV_LAYOUT_CREATE, &layout, &err), OCV_ERR_IO);
}

START_TEST(read_only)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor a = add_manifest(layout, "a");
    need(ocv_layout_tag(layout, "1", NULL, &a, NULL, &err));
    ocv_layout_free(layout);
    if (geteuid() != 0) {
        chmod(at("l"), 0555);
        chmod(at("l/.ocivariant"), 0555);
        chmod(at("l/.ocivariant/lock"), 0444);
        check_read_only("l");
        chmod(at("l"), 0755);
        chmod(at("l/.ocivariant"), 0755);
        return;
    }
    if (mount(at("l"), at("l"), NULL, MS_BIND, NULL) < 0 ||
        mount(NULL, at("l"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0) {
        printf("skipped: read_only: cannot mount: %s\n", strerror(errno));
        return;
    }
    pid_t pid = fork(); /* so that a failure still unmounts */
    if (pid == 0) {
        check_read_only("l");
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    umount(at("l"));
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

START_TEST(skopeo_agrees)
{
    if (!have_program("skopeo", "skopeo_agrees"))
        return;
    struct ocv_layout *layout = open_layout("l");
    static const char config[] = "{\"architecture\":\"amd64\",\"os\":\"linux\",\"config\":{},"
                                 "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[]}}";
    struct ocv_descriptor c = add_blob(layout, OCV_MEDIA_TYPE_CONFIG, config, strlen(config));
    char manifest[1024];
    snprintf(manifest, sizeof(manifest),
             "{\"schemaVersion\":2,\"mediaType\":\"%s\",\"config\":{\"mediaType\":\"%s\","
             "\"digest\":\"%s\",\"size\":%lld},\"layers\":[]}",
             OCV_MEDIA_TYPE_MANIFEST, c.media_type, c.digest, (long long)c.size);
    struct ocv_descriptor m = add_manifest(layout, manifest);
    need(ocv_layout_tag(layout, "1.0", "x.example/a:1.0", &m, &amd64, &err));
    struct ocv_descriptor other = add_manifest(layout, "other");
    need(ocv_layout_tag(layout, "2.0", NULL, &other, NULL, &err));
    ocv_layout_free(layout);
    char command[1024];
    snprintf(command, sizeof(command), "skopeo inspect oci:%s/l:1.0 | grep -q %s", scratch,
             m.digest);
    ck_assert_int_eq(system(command), 0); // NOLINT(cert-env33-c)
}
END_TEST

RUN_SUITE("layout", created_and_opened_again, completes_what_a_crash_left, what_is_no_layout,
          blobs_in_and_out, tags_and_names, a_tag_moves_only_from_where_it_is_thought,
          same_tag_twice_changes_nothing, only_what_is_there_is_tagged, what_others_wrote_is_kept,
          malformed_index, limits, listed, processes_at_once_keep_every_tag, killed_while_tagging,
          old_temporary_files_are_swept, read_only, skopeo_agrees)
