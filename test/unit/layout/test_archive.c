/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test/unit/layout/store_util.h"

#include "lib/layout/layout_internal.h"

#include <errno.h>
#include <stdarg.h>

#define DOCKER_CONFIG "application/vnd.docker.container.image.v1+json"
#define LAYER "application/vnd.oci.image.layer.v1.tar"

static const char config_text[] =
    "{\"architecture\":\"amd64\",\"os\":\"linux\",\"config\":{},\"rootfs\":{\"type\":\"layers\","
    "\"diff_ids\":[\"%s\",\"%s\"]}}";

/* An image of two layers with the given bytes and media type. */
static struct ocv_descriptor make_image(struct ocv_layout *layout, const char *config_type,
                                        const char *layer_type, const void *one, size_t one_len,
                                        const void *two, size_t two_len)
{
    struct ocv_descriptor a = add_blob(layout, layer_type, one, one_len);
    struct ocv_descriptor b = add_blob(layout, layer_type, two, two_len);
    char text[2048];
    snprintf(text, sizeof(text), config_text, a.digest, b.digest);
    struct ocv_descriptor c = add_blob(layout, config_type, text, strlen(text));
    snprintf(
        text, sizeof(text),
        "{\"schemaVersion\":2,\"config\":{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%lld},"
        "\"layers\":[{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%lld},"
        "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%lld}]}",
        c.media_type, c.digest, (long long)c.size, a.media_type, a.digest, (long long)a.size,
        b.media_type, b.digest, (long long)b.size);
    return add_blob(layout, OCV_MEDIA_TYPE_MANIFEST, text, strlen(text));
}

static int write_archive(const struct ocv_layout *layout, const char *digest, const char *const *n,
                         size_t count)
{
    int fd = open(at("a.tar"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ck_assert_int_ge(fd, 0);
    err.message[0] = '\0';
    int status = ocv_layout_write_archive(layout, digest, n, count, fd, &err);
    close(fd);
    return status;
}

static int64_t archive_size(void)
{
    struct stat st;
    ck_assert_int_eq(stat(at("a.tar"), &st), 0);
    return st.st_size;
}

OCV_PRINTF(1, 2) static int shell(const char *format, ...)
{
    char command[1024];
    char line[1536];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    snprintf(line, sizeof(line), "cd %s && %s", scratch, command);
    return system(line); // NOLINT(cert-env33-c)
}

/* A tar of one file, made by the system's tar; the caller frees. */
static char *make_tar(const char *name, size_t *len)
{
    write_text(at(name), name);
    ck_assert_int_eq(
        shell("tar --sort=name --owner=0 --group=0 --mtime=@0 -cf %s.tar %s", name, name), 0);
    char path[64];
    snprintf(path, sizeof(path), "%s.tar", name);
    int fd = open(at(path), O_RDONLY);
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    char *bytes = malloc((size_t)st.st_size);
    *len = (size_t)st.st_size;
    ck_assert_int_eq(read(fd, bytes, *len), st.st_size);
    close(fd);
    return bytes;
}

/* What was unpacked to x is an OCI layout with the same manifest under every name. */
static void check_unpacked(const char *digest)
{
    static const char *const names[] = {"1.0", "latest", "example.com/app:1.0", "app:latest"};
    struct ocv_layout *layout;
    need(ocv_layout_open(at("x"), OCV_LAYOUT_READ, &layout, &err));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct ocv_descriptor found;
        need(ocv_layout_resolve(layout, names[i], &found, &err));
        ck_assert_str_eq(found.digest, digest);
        ck_assert(ocv_layout_has_blob(layout, found.digest, found.size));
    }
    ocv_layout_free(layout);
}

START_TEST(other_tools_read_it)
{
    static const char *const names[] = {"example.com/app:1.0", "app:latest"};
    struct ocv_layout *layout = open_layout("l");
    size_t one_len;
    size_t two_len;
    char *one = make_tar("one", &one_len);
    char *two = make_tar("two", &two_len);
    struct ocv_descriptor m =
        make_image(layout, OCV_MEDIA_TYPE_CONFIG, LAYER, one, one_len, two, two_len);
    int status = write_archive(layout, m.digest, names, 2);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    ck_assert_int_eq(archive_size() % OCV_TAR_BLOCK, 0);
    ck_assert_int_eq(shell("mkdir x && tar -C x -xf a.tar && test $(ls x | wc -l) = 4 && "
                           "test $(ls x/blobs/sha256 | wc -l) = 4"),
                     0);
    ck_assert_int_eq(shell("for f in x/blobs/sha256/*; do test $(sha256sum $f | cut -c1-64) = "
                           "$(basename $f) || exit 1; done"),
                     0);
    check_unpacked(m.digest);
    ck_assert_int_eq(
        shell("grep -q '\"RepoTags\":\\[\"%s\",\"%s\"\\]' x/manifest.json", names[0], names[1]), 0);
    if (have_program("skopeo", "other_tools_read_it: skopeo"))
        ck_assert_int_eq(shell("skopeo inspect docker-archive:a.tar:%s | grep -q Layers && "
                               "skopeo copy -q docker-archive:a.tar:%s oci:copy:x && "
                               "skopeo inspect oci:x:1.0 | grep -q %s",
                               names[0], names[1], m.digest),
                         0);
    ocv_layout_free(layout);
    free(one);
    free(two);
}
END_TEST

START_TEST(same_layer_once)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor m = make_image(layout, DOCKER_CONFIG, LAYER, "same", 4, "same", 4);
    ck_assert_int_eq(write_archive(layout, m.digest, NULL, 0), OCV_OK);
    ck_assert_int_eq(shell("test $(tar -tf a.tar | wc -l) = 6"), 0);
    ck_assert_int_eq(shell("tar -xOf a.tar manifest.json | grep -q '\"RepoTags\":null'"), 0);
    ocv_layout_free(layout);
}
END_TEST

START_TEST(refused_before_the_first_byte)
{
    struct ocv_layout *layout = open_layout("l");
    struct ocv_descriptor m =
        make_image(layout, OCV_MEDIA_TYPE_CONFIG, LAYER "+zstd", "one", 3, "two", 3);
    ck_assert_int_eq(write_archive(layout, m.digest, NULL, 0), OCV_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.message, "zstd"));
    ck_assert_str_ne(err.hint, "");
    m = make_image(layout, OCV_MEDIA_TYPE_CONFIG, LAYER, "one", 3, "\x28\xb5\x2f\xfd.", 5);
    ck_assert_int_eq(write_archive(layout, m.digest, NULL, 0), OCV_ERR_UNSUPPORTED);
    m = make_image(layout, "application/vnd.example", LAYER, "one", 3, "two", 3);
    ck_assert_int_eq(write_archive(layout, m.digest, NULL, 0), OCV_ERR_UNSUPPORTED);
    char wide[OCV_DIGEST_MAX] = "sha512:" ZEROS ZEROS;
    struct ocv_hasher *hasher;
    struct ocv_buffer text;
    ocv_buffer_init(&text, 4096);
    m = make_image(layout, OCV_MEDIA_TYPE_CONFIG, LAYER, "one", 3, "two", 3);
    need(ocv_layout_read_blob(layout, m.digest, &text, &err));
    need(ocv_hasher_new(wide, &hasher, &err));
    need(ocv_hasher_update(hasher, text.data, text.len, &err));
    need(ocv_hasher_final(hasher, wide, &err));
    ocv_hasher_free(hasher);
    need(ocv_layout_write_blob(layout, text.data, text.len, wide, &err));
    ocv_buffer_free(&text);
    ck_assert_int_eq(write_archive(layout, wide, NULL, 0), OCV_ERR_UNSUPPORTED);
    ck_assert_int_eq(write_archive(layout, "sha256:" ZEROS, NULL, 0), OCV_ERR_NOT_FOUND);
    ck_assert_int_eq(write_archive(layout, "sha256:../../x", NULL, 0), OCV_ERR_DATA);
    m = make_image(layout, OCV_MEDIA_TYPE_CONFIG, LAYER, "one", 3, "gone", 4);
    char gone[OCV_DIGEST_MAX];
    need(ocv_digest_bytes("gone", 4, gone, &err));
    char path[256];
    snprintf(path, sizeof(path), "l/blobs/sha256/%s", gone + 7);
    write_text(at(path), "shorter than announced");
    ck_assert_int_eq(write_archive(layout, m.digest, NULL, 0), OCV_ERR_MISMATCH);
    unlink(at(path));
    ck_assert_int_eq(write_archive(layout, m.digest, NULL, 0), OCV_ERR_NOT_FOUND);
    ck_assert_int_eq(archive_size(), 0);
    /* same size, other bytes: only found on the way, but found */
    write_text(at(path), "GONE");
    ck_assert_int_eq(write_archive(layout, m.digest, NULL, 0), OCV_ERR_MISMATCH);
    static const char *const bad[] = {"\xff"};
    write_text(at(path), "gone");
    ck_assert_int_eq(write_archive(layout, m.digest, bad, 1), OCV_ERR_INVALID);
    ck_assert_int_eq(write_archive(layout, m.digest, NULL, 0), OCV_OK);
    ocv_layout_free(layout);
}
END_TEST

START_TEST(full_and_slow_outputs)
{
    struct ocv_layout *layout = open_layout("l");
    unsigned char *bytes = make_bytes(1000000, 1);
    struct ocv_descriptor m =
        make_image(layout, OCV_MEDIA_TYPE_CONFIG, LAYER, bytes, 1000000, bytes, 500000);
    int fd = open("/dev/full", O_WRONLY);
    refuses(ocv_layout_write_archive(layout, m.digest, NULL, 0, fd, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, strerror(ENOSPC)));
    close(fd);
    /* a non-blocking pipe that is read slowly gets the same bytes */
    ck_assert_int_eq(write_archive(layout, m.digest, NULL, 0), OCV_OK);
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        close(ends[0]);
        _exit(ocv_layout_write_archive(layout, m.digest, NULL, 0, ends[1], NULL) < 0);
    }
    close(ends[1]);
    fd = open(at("a.tar"), O_RDONLY);
    char got[10007];
    char wanted[sizeof(got)];
    ssize_t n;
    bool same = true;
    while ((n = read(ends[0], got, sizeof(got))) > 0)
        same = same && read(fd, wanted, (size_t)n) == n && memcmp(got, wanted, (size_t)n) == 0;
    ck_assert(same);
    ck_assert_int_eq(read(fd, wanted, 1), 0);
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    ocv_layout_free(layout);
    free(bytes);
}
END_TEST

START_TEST(headers)
{
    unsigned char header[OCV_TAR_BLOCK];
    char name[300];
    memset(name, 'a', sizeof(name));
    name[100] = '\0';
    need(ocv_tar_header(header, name, NULL, 0644, 1, OCV_TAR_FILE, &err));
    name[100] = 'a';
    name[101] = '\0';
    refuses(ocv_tar_header(header, name, NULL, 0644, 1, OCV_TAR_FILE, &err), OCV_ERR_UNSUPPORTED);
    memset(name, 'a', sizeof(name));
    name[155] = '/';
    name[256] = '\0';
    need(ocv_tar_header(header, name, NULL, 0644, 1, OCV_TAR_FILE, &err));
    ck_assert_mem_eq(header, name + 156, 100); /* the name, and at 345 its prefix */
    ck_assert_mem_eq(header + 345, name, 155);
    name[256] = 'a';
    name[257] = '\0';
    refuses(ocv_tar_header(header, name, NULL, 0644, 1, OCV_TAR_FILE, &err), OCV_ERR_UNSUPPORTED);
    refuses(ocv_tar_header(header, "", NULL, 0644, 1, OCV_TAR_FILE, &err), OCV_ERR_UNSUPPORTED);
    /* the last octal size, and the first binary one, as tar reads them */
    static const long long sizes[] = {0, 8589934591, 8589934592, 1125899906842624};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        need(ocv_tar_header(header, "dir/file", NULL, 0640, sizes[i], OCV_TAR_FILE, &err));
        int fd = open(at("h.tar"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
        ck_assert_int_eq(write(fd, header, sizeof(header)), (ssize_t)sizeof(header));
        close(fd);
        char size[32];
        snprintf(size, sizeof(size), "%lld", sizes[i]);
        ck_assert_int_eq(shell("tar --numeric-owner -tvf h.tar 2>/dev/null | "
                               "grep -q -- '-rw-r----- 0/0 *%s 1970-01-01 00:00 dir/file'",
                               size),
                         0);
    }
    ck_assert_uint_eq(ocv_tar_padding(0), 0);
    ck_assert_uint_eq(ocv_tar_padding(1), 511);
    ck_assert_uint_eq(ocv_tar_padding(512), 0);
}
END_TEST

RUN_SUITE("archive", other_tools_read_it, same_layer_once, refused_before_the_first_byte,
          full_and_slow_outputs, headers)
