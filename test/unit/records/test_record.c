/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test/unit/records/record_util.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

START_TEST(written_and_read)
{
    umask(077); /* hooks of other users must still be able to read */
    need(ocv_record_write(at("var/lib/resolved"), &sample, &err));
    struct told told = read_back(at("var/lib/resolved"));
    ck_assert_str_eq(told.repository, APP);
    ck_assert_str_eq(told.child, CHILD);
    ck_assert_str_eq(told.index, INDEX);
    ck_assert_str_eq(told.label, "cuda12.8");
    ck_assert_str_eq(told.properties, sample.properties);
    ck_assert_str_eq(told.reference, sample.reference);
    struct stat st;
    ck_assert_int_eq(stat(at("var/lib/resolved"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0755);
    ck_assert_int_eq(stat(file_of("var/lib/resolved/", CHILD, APP), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0644);
}
END_TEST

/* The store's own calls come here: whoever owns the directory above is quick. */
static const char *swap_for; /* what the next new directory becomes a link to, or NULL */
static bool full;            /* there is no space for one */

int mkdirat(int fd, const char *path, mode_t mode)
{
    int rc = full ? -1 : (int)syscall(SYS_mkdirat, fd, path, mode);
    if (full)
        errno = ENOSPC;
    if (rc == 0 && swap_for) {
        ck_assert_int_eq(unlinkat(fd, path, AT_REMOVEDIR), 0);
        ck_assert_int_eq(symlinkat(swap_for, fd, path), 0);
        swap_for = NULL;
    }
    return rc;
}

/* Whose the state directory is may not have root change the mode of something else. */
START_TEST(new_directory_is_not_a_link)
{
    struct stat st;
    ck_assert_int_eq(mkdirat(AT_FDCWD, at("secret"), 0700), 0);
    swap_for = at("secret");
    refuses(ocv_record_write(at("state"), &sample, &err), OCV_ERR_IO);
    ck_assert_int_eq(stat(at("secret"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0700);
}
END_TEST

/* Nor write, or clear away what is old, elsewhere. */
START_TEST(directory_is_not_a_link)
{
    struct ocv_index *index = make_index("x");
    ck_assert_int_eq(mkdirat(AT_FDCWD, at("elsewhere"), 0755), 0);
    ck_assert_int_eq(symlink(at("elsewhere"), at("state")), 0);
    refuses(ocv_record_write(at("state"), &sample, &err), OCV_ERR_IO);
    refuses(ocv_record_chosen(at("state"), index, NULL, &sample, &err), OCV_ERR_IO);
    ocv_index_free(index);
    ck_assert_int_eq(rmdir(at("elsewhere")), 0); /* it is empty */
}
END_TEST

/* Root may do everything, and does in another user's directory only what that user may. */
START_TEST(root_writes_as_the_owner)
{
    struct ocv_index *index = make_index("x");
    struct stat st;
    if (geteuid() != 0) /* nobody else can */
        return ocv_index_free(index);
    ck_assert_int_eq(chmod(scratch, 0755), 0);
    ck_assert_int_eq(mkdirat(AT_FDCWD, at("theirs"), 0755), 0);
    ck_assert_int_eq(chown(at("theirs"), 4242, 4343), 0);
    need(ocv_record_chosen(at("theirs/resolved"), index, NULL, &sample, &err));
    need(ocv_record_write(at("theirs/resolved"), &sample, &err));
    static const char *const made[] = {"theirs/resolved", "theirs/resolved/indexes"};
    for (size_t i = 0; i < 2; i++) { /* or its owner could write nothing there */
        ck_assert_int_eq(stat(at(made[i]), &st), 0);
        ck_assert_int_eq(st.st_uid, 4242);
        ck_assert_int_eq(st.st_gid, 4343);
    }
    ck_assert_int_eq(stat(file_of("theirs/resolved/", CHILD, APP), &st), 0);
    ck_assert_int_eq(st.st_uid, 4242);
    ck_assert_int_eq(chmod(at("theirs/resolved"), 0555), 0); /* root could all the same */
    refuses(ocv_record_write(at("theirs/resolved"), &sample, &err), OCV_ERR_IO);
    ck_assert_int_eq(mkdirat(AT_FDCWD, at("own"), 0700), 0); /* and is root again */
    ck_assert_int_eq(stat(at("own"), &st), 0);
    ck_assert_int_eq(st.st_uid, 0);
    ocv_index_free(index);
}
END_TEST

static bool anybodys; /* bytes were written into a file that every user may read */

ssize_t write(int fd, const void *bytes, size_t len)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
        anybodys = true;
    return syscall(SYS_write, fd, bytes, len);
}

/* Not even while it has no name yet that anybody knows: a directory can be watched. */
START_TEST(secrets_are_nobodys_business_from_the_start)
{
    struct ocv_record secret = sample;
    struct ocv_index *index = make_index("x");
    umask(022);
    secret.secret = true;
    anybodys = false;
    need(ocv_record_chosen(scratch, index, NULL, &secret, &err));
    need(ocv_record_write(scratch, &secret, &err));
    ck_assert(!anybodys);
    ocv_index_free(index);
}
END_TEST

START_TEST(a_secret_one_is_for_the_group)
{
    struct ocv_record record = sample;
    struct stat st;
    record.secret = true;
    need(ocv_record_write(scratch, &record, &err));
    ck_assert_int_eq(stat(file_of("", CHILD, APP), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0640);
    if (geteuid() == 0) { /* which is the directory's, not the writer's */
        ck_assert_int_eq(chown(scratch, 0, 12345), 0);
        need(ocv_record_write(scratch, &record, &err));
        ck_assert_int_eq(stat(file_of("", CHILD, APP), &st), 0);
        ck_assert_int_eq(st.st_gid, 12345);
    }
    need(ocv_record_write(scratch, &sample, &err)); /* it is none any more */
    ck_assert_int_eq(stat(file_of("", CHILD, APP), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0644);
}
END_TEST

START_TEST(replaced_whole)
{
    need(ocv_record_write(scratch, &sample, &err));
    struct ocv_record other = {
        .repository = APP, .child = CHILD, .index = INDEX, .reference = "other"};
    need(ocv_record_write(scratch, &other, &err));
    struct told told = read_back(scratch);
    ck_assert_ptr_null(told.last.label); /* a non-variant */
    ck_assert_str_eq(told.reference, "other");
    DIR *dir = opendir(scratch);
    int files = 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        files += entry->d_name[0] != '.';
    closedir(dir);
    ck_assert_int_eq(files, 1); /* no temporary file stays */
}
END_TEST

START_TEST(refused)
{
    struct told told = {0};
    ck_assert_uint_eq(walk(at("none"), APP, CHILD).n, 0);
    ck_assert_uint_eq(walk(scratch, APP, CHILD).n, 0);
    refuses(ocv_record_walk(scratch, APP, "sha256:../../etc/passwd", hear, &told, &err),
            OCV_ERR_DATA);
    struct ocv_record bad = sample;
    bad.child = "sha256:../../x";
    refuses(ocv_record_write(scratch, &bad, &err), OCV_ERR_DATA);
    bad = sample;
    bad.index = "rubbish";
    refuses(ocv_record_write(scratch, &bad, &err), OCV_ERR_DATA);
    bad = sample;
    bad.reference = "\xff";
    refuses(ocv_record_write(scratch, &bad, &err), OCV_ERR_INVALID);
    write_text(at("file"), "");
    refuses(ocv_record_write(at("file"), &sample, &err), OCV_ERR_IO);
    refuses(ocv_record_write(at("file/below"), &sample, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, strerror(ENOTDIR)));
}
END_TEST

static char steps[128];

static void step(const char *what)
{
    size_t n = strlen(steps);
    snprintf(steps + n, sizeof(steps) - n, "%s%s", n ? ", " : "", what);
}

int fsync(int fd)
{
    struct stat st;
    ck_assert_int_eq(fstat(fd, &st), 0);
    step(S_ISDIR(st.st_mode) ? "sync directory" : st.st_size ? "sync file" : "sync nothing");
    return (int)syscall(SYS_fsync, fd);
}

int renameat(int from, const char *old, int to, const char *new)
{
    step("rename");
    return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

/* The error is that of what failed first. */
START_TEST(full_disk_is_named)
{
    bool other;
    int fd = -1;
    full = true;
    refuses(ocv_record_open(scratch, "below", &fd, &other, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, strerror(ENOSPC)));
    refuses(ocv_record_write(at("new"), &sample, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, strerror(ENOSPC)));
    full = false;
    ck_assert_int_eq(fd, -1);
}
END_TEST

/* What appears survives a power cut: whole before it has its name, and the name for good. */
START_TEST(safe_before_it_appears)
{
    steps[0] = '\0';
    need(ocv_record_write(scratch, &sample, &err));
    ck_assert_str_eq(steps, "sync file, rename, sync directory");
}
END_TEST

/* A reader never sees half a record. */
START_TEST(readers_and_writers_at_once)
{
    need(ocv_record_write(scratch, &sample, &err));
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 100; i++)
            if (ocv_record_write(scratch, &sample, NULL) < 0)
                _exit(1);
        _exit(0);
    }
    int status;
    do
        read_back(scratch);
    while (waitpid(pid, &status, WNOHANG) == 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

START_TEST(record_speaks_for_its_repository)
{
    struct ocv_record other = sample;
    other.repository = OTHER;
    other.properties = "amd :: gfx_arch :: gfx942";
    need(ocv_record_write(scratch, &other, &err));
    ck_assert_uint_eq(walk(scratch, APP, CHILD).n, 0);
    need(ocv_record_write(scratch, &sample, &err));
    ck_assert_str_eq(read_back(scratch).properties, sample.properties);
    ck_assert_str_eq(walk(scratch, OTHER, CHILD).properties, other.properties);
    ck_assert_uint_eq(walk(scratch, NULL, CHILD).n, 2); /* who has no name hears both */
    ck_assert_uint_eq(walk(scratch, NULL, NULL).n, 2);
    ck_assert_uint_eq(walk(scratch, APP, NULL).n, 1);
    ck_assert_uint_eq(walk(scratch, NULL, INDEX).n, 0);
}
END_TEST

/* One repository's file under another's name says nothing of that. */
START_TEST(record_under_another_name_is_none)
{
    char path[512];
    struct ocv_record other = sample;
    other.repository = OTHER;
    need(ocv_record_write(scratch, &other, &err));
    snprintf(path, sizeof(path), "%s", file_of("", CHILD, OTHER));
    ck_assert_int_eq(rename(path, file_of("", CHILD, APP)), 0);
    ck_assert_uint_eq(walk(scratch, APP, CHILD).n, 0);
    ck_assert_uint_eq(walk(scratch, NULL, NULL).n, 0);
}
END_TEST

/* What is read later is what the entry said, and its texts are the reader's own. */
START_TEST(chosen_is_read_as_the_entry_was_described)
{
    static const char text[] =
        "{\"schemaVersion\":2,\"annotations\":{\"" OCV_ANNOTATION_STATIC
        "speed\":\"speed :: v :: 1\"},\"manifests\":[{\"mediaType\":"
        "\"" OCV_MEDIA_TYPE_MANIFEST "\",\"digest\":\"" A_DIGEST
        "\",\"size\":2,\"annotations\":{\"" OCV_ANNOTATION_LABEL
        "\":\"a\",\"" OCV_ANNOTATION_REF_NAME "\":\"1-a\",\"" OCV_ANNOTATION_PROPERTIES
        "\":\"speed :: v :: 1, nvidia :: sm_arch :: 90_real\"}}]}";
    ocv_auto_record said = {0}, found = {0};
    struct ocv_index *index = NULL;
    need(ocv_index_parse(text, sizeof(text) - 1, NULL, &index, &err));
    const struct ocv_entry *entry = ocv_index_entry(index, 0);
    need(ocv_entry_describe(index, entry, &said, &err));
    need(ocv_record_chosen(scratch, index, entry, &sample, &err));
    ocv_index_free(index);
    ck_assert_str_eq(said.child, A_DIGEST);
    ck_assert_str_eq(said.label, "a");
    ck_assert_str_eq(said.properties, "nvidia :: sm_arch :: 90_real, speed :: v :: 1");
    ck_assert_str_eq(said.statics, "speed");
    ck_assert_str_eq(said.tag, "1-a");
    need(ocv_record_read(scratch, APP, A_DIGEST, &found, &err));
    ck_assert_str_eq(found.repository, APP);
    ck_assert_str_eq(found.child, said.child);
    ck_assert_str_eq(found.label, said.label);
    ck_assert_str_eq(found.properties, said.properties);
    ck_assert_str_eq(found.statics, said.statics);
    ck_assert_str_eq(found.tag, said.tag);
    ck_assert_str_eq(found.reference, sample.reference);
    refuses(ocv_record_read(scratch, OTHER, A_DIGEST, &said, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_read(scratch, APP, B_DIGEST, &said, &err), OCV_ERR_NOT_FOUND);
}
END_TEST

RUN_SUITE("record", written_and_read, chosen_is_read_as_the_entry_was_described,
          secrets_are_nobodys_business_from_the_start, a_secret_one_is_for_the_group,
          new_directory_is_not_a_link, root_writes_as_the_owner, directory_is_not_a_link,
          replaced_whole, safe_before_it_appears, full_disk_is_named, refused,
          readers_and_writers_at_once, record_speaks_for_its_repository,
          record_under_another_name_is_none)
