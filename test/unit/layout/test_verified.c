/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Blobs of the right size and with wrong bytes are found, and replaced by whoever writes them. */
#include "test/unit/layout/store_util.h"

static const char right[] = "the right bytes", wrong[] = "the wrong bytes";
#define SIZE ((int64_t)(sizeof(right) - 1))

static char digest[OCV_DIGEST_MAX];

static const char *blob_path(void)
{
    char name[OCV_DIGEST_MAX + 32];
    snprintf(name, sizeof(name), "l/blobs/sha256/%s", digest + 7);
    return at(name);
}

static const char *mark_path(void)
{
    char name[OCV_DIGEST_MAX + 64];
    snprintf(name, sizeof(name), "l/.ocivariant/verified/sha256-%s", digest + 7);
    return at(name);
}

/* In place; `quietly`: the file looks as it did. */
static void spoil(bool quietly)
{
    struct stat st;
    ck_assert_int_eq(stat(blob_path(), &st), 0);
    int fd = open(blob_path(), O_WRONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, wrong, sizeof(wrong) - 1), (ssize_t)sizeof(wrong) - 1);
    const struct timespec later[2] = {{.tv_sec = 1}, {.tv_sec = st.st_mtim.tv_sec + 1}};
    const struct timespec same[2] = {st.st_atim, st.st_mtim};
    ck_assert_int_eq(futimens(fd, quietly ? same : later), 0);
    close(fd);
}

static bool is_right(struct ocv_layout *layout)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, 1024);
    return ocv_layout_read_blob(layout, digest, &out, &err) == OCV_OK;
}

/* Is it there, for who would write it? Writes it where not. */
static bool present(struct ocv_layout *layout)
{
    struct ocv_blob_writer *writer = NULL;
    int64_t offset;
    bool there;
    need(ocv_blob_writer_open(layout, digest, SIZE, &writer, &offset, &there, &err));
    if (!there) {
        need(ocv_blob_writer_write(writer, right, sizeof(right) - 1, &err));
        need(ocv_blob_writer_commit(writer, &err));
    }
    return there;
}

static struct ocv_layout *layout_with_blob(void)
{
    struct ocv_layout *layout = open_layout("l");
    digest[0] = '\0';
    need(ocv_layout_write_blob(layout, right, sizeof(right) - 1, digest, &err));
    ck_assert(is_right(layout));
    return layout;
}

START_TEST(wrong_bytes_are_found_and_replaced)
{
    struct ocv_layout *layout = layout_with_blob();
    ck_assert(present(layout)); /* read once, and remembered */
    ck_assert(is_there(mark_path()));
    ck_assert(present(layout));
    spoil(false);
    ck_assert(!present(layout));
    ck_assert(is_right(layout));
    ck_assert(present(layout));
    spoil(false); /* what is written whole, as manifests are */
    need(ocv_layout_write_blob(layout, right, sizeof(right) - 1, digest, &err));
    ck_assert(is_right(layout));
    ocv_layout_free(layout);
}
END_TEST

START_TEST(what_is_remembered_is_not_read_unless_asked_for)
{
    struct ocv_layout *layout = layout_with_blob(), *again = NULL;
    ck_assert(present(layout));
    spoil(true);
    ck_assert(present(layout));
    need(ocv_layout_open(at("l"), OCV_LAYOUT_CREATE | OCV_LAYOUT_VERIFY, &again, &err));
    ck_assert(!present(again));
    ck_assert(is_right(again));
    ck_assert(present(again));
    ocv_layout_free(again);
    ocv_layout_free(layout);
}
END_TEST

/* A mark with other content, or that is not a file, does not count. */
START_TEST(odd_marks_are_none)
{
    struct ocv_layout *layout = layout_with_blob();
    static const char *const texts[] = {"", "1 2.3 4\n", "nonsense", NULL};
    for (size_t i = 0; i <= sizeof(texts) / sizeof(*texts); i++) {
        ck_assert(present(layout));
        spoil(true);
        unlink(mark_path());
        if (i < sizeof(texts) / sizeof(*texts) && texts[i])
            write_text(mark_path(), texts[i]);
        else if (i < sizeof(texts) / sizeof(*texts))
            ck_assert_int_eq(mkfifo(mark_path(), 0600), 0);
        else
            ck_assert_int_eq(symlink("/dev/zero", mark_path()), 0);
        ck_assert(!present(layout));
        ck_assert(is_right(layout));
        unlink(mark_path());
    }
    ocv_layout_free(layout);
}
END_TEST

/* Each blob has a mark, the first one and those for which the directory is there. */
START_TEST(every_blob_is_remembered)
{
    struct ocv_layout *layout = layout_with_blob();
    for (int i = 0; i < 2; i++) {
        ck_assert(present(layout));
        ck_assert_int_eq(access(mark_path(), F_OK), 0);
        unlink(mark_path());
    }
    ocv_layout_free(layout);
}
END_TEST

RUN_TESTS_IN("verified", setup, teardown, wrong_bytes_are_found_and_replaced,
             what_is_remembered_is_not_read_unless_asked_for, odd_marks_are_none,
             every_blob_is_remembered)
