/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test/unit/store_util.h"

#include "lib/records/records_internal.h"
#include "ocivariant.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

#define CHILD "sha256:" ZEROS
#define INDEX "sha256:1111111111111111111111111111111111111111111111111111111111111111"

#define APP "docker.io/library/app"

static const struct ocv_record sample = {
    .repository = APP,
    .child = CHILD,
    .index = INDEX,
    .label = "cuda12.8",
    .properties = "nvidia :: sm_arch :: 90_real",
    .reference = "docker.io/library/app:1",
};

/* What the walk has told, one after the other. */
struct told {
    struct ocv_record last; /* texts below */
    char repository[128], child[OCV_DIGEST_MAX], index[OCV_DIGEST_MAX], label[64], properties[256],
        reference[128];
    unsigned n;
};

static void keep_text(char *to, size_t size, const char *from, const char **member)
{
    snprintf(to, size, "%s", from ? from : "");
    *member = from ? to : NULL;
}

static int hear(void *data, const struct ocv_record *record)
{
    struct told *told = data;
    told->n++;
    told->last.secret = record->secret;
    keep_text(told->repository, sizeof(told->repository), record->repository,
              &told->last.repository);
    keep_text(told->child, sizeof(told->child), record->child, &told->last.child);
    keep_text(told->index, sizeof(told->index), record->index, &told->last.index);
    keep_text(told->label, sizeof(told->label), record->label, &told->last.label);
    keep_text(told->properties, sizeof(told->properties), record->properties,
              &told->last.properties);
    keep_text(told->reference, sizeof(told->reference), record->reference, &told->last.reference);
    return OCV_OK;
}

static struct told walk(const char *dir, const char *repository, const char *child)
{
    struct told told = {0};
    need(ocv_record_walk(dir, repository, child, hear, &told, &err));
    return told;
}

static struct told read_back(const char *dir)
{
    struct told told = walk(dir, APP, CHILD);
    ck_assert_uint_eq(told.n, 1);
    return told;
}

/* The file of a record, or with `directory` "indexes/" of an index. */
static char *file_of(const char *directory, const char *digest, const char *repository)
{
    static char path[512];
    char name[OCV_RECORD_NAME_MAX];
    need(ocv_record_name(digest, repository, name, &err));
    snprintf(path, sizeof(path), "%s/%s%s", scratch, directory, name);
    return path;
}

#define A_DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B_DIGEST "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

#define A_ENTRY                                                                              \
    "{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"digest\":\"" A_DIGEST "\",\"size\":2," \
    "\"annotations\":{\"" OCV_ANNOTATION_LABEL "\":\"a\",\"" OCV_ANNOTATION_PROPERTIES       \
    "\":\"nvidia :: sm_arch :: 90_real\"}}"

/* An index with two variants; `note` makes its bytes other ones. */
static struct ocv_index *make_index(const char *note)
{
    char text[2048];
    struct ocv_index *index = NULL;
    int n = snprintf(
        text, sizeof(text),
        "{\"schemaVersion\":2,\"annotations\":{\"note\":\"%s\"},\"manifests\":[" A_ENTRY ","
        "{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"digest\":\"" B_DIGEST "\",\"size\":2,"
        "\"annotations\":{\"" OCV_ANNOTATION_LABEL "\":\"b\",\"" OCV_ANNOTATION_PROPERTIES
        "\":\"amd :: gfx_arch :: gfx942\"}}]}",
        note);
    need(ocv_index_parse(text, (size_t)n, NULL, &index, &err));
    return index;
}

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

int mkdirat(int fd, const char *path, mode_t mode)
{
    int rc = (int)syscall(SYS_mkdirat, fd, path, mode);
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

/* ---- in place of the C library's: what is done, in its order -----------------------------------
 */

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

/* ---- indexes -----------------------------------------------------------------------------------
 */

static char *index_path(const char *digest)
{
    return file_of("indexes/", digest, APP);
}

/* Keep the index as resolved in a repository, at its tag `tag`. */
static void keep(const struct ocv_index *index, const char *repository, const char *tag,
                 bool secret)
{
    char reference[256];
    snprintf(reference, sizeof(reference), "%s:%s", repository, tag);
    const struct ocv_record where = {
        .repository = repository, .reference = reference, .secret = secret};
    need(ocv_record_chosen(scratch, index, NULL, &where, &err));
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static size_t count_files(const char *path)
{
    size_t n = 0;
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void age(const char *path, time_t seconds)
{
    const struct timespec then = {.tv_sec = time(NULL) - seconds};
    const struct timespec times[2] = {then, then};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

START_TEST(index_is_found_by_all_that_is_in_it)
{
    struct ocv_index *index = make_index("x");
    struct ocv_record_index found;
    const char *const digests[] = {A_DIGEST, B_DIGEST, ocv_index_digest(index)};
    keep(index, APP, "1", false);
    for (size_t i = 0; i < 3; i++) {
        need(ocv_record_find(scratch, APP, digests[i], &found, &err));
        ck_assert_str_eq(found.digest, ocv_index_digest(index));
        ck_assert_str_eq(found.reference, APP ":1");
        ck_assert_str_eq(found.repository, APP);
        ck_assert(!found.secret);
        const struct ocv_entry *entry = ocv_index_find_digest(found.index, B_DIGEST);
        ck_assert_ptr_nonnull(entry);
        ck_assert_str_eq(entry->label, "b");
        ocv_record_index_free(&found);
    }
    refuses(ocv_record_find(scratch, APP, CHILD, &found, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_find(at("none"), APP, A_DIGEST, &found, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_find(scratch, APP, "sha256:../x", &found, &err), OCV_ERR_INVALID);
    ck_assert_int_eq(mkdirat(AT_FDCWD, at("odd"), 0755), 0);
    write_text(at("odd/indexes"), "no directory");
    refuses(ocv_record_find(at("odd"), APP, A_DIGEST, &found, &err), OCV_ERR_IO);
    /* one that only mentions it, one that is broken, one that is no file */
    write_text(file_of("indexes/", INDEX, APP), "{\"index\":\"" INDEX "\",\"repository\":\"" APP
                                                "\",\"document\":{\"x\":\"" CHILD "\"}}");
    write_text(file_of("indexes/", B_DIGEST, APP), CHILD);
    ck_assert_int_eq(mkdir(file_of("indexes/", CHILD, APP), 0755), 0);
    refuses(ocv_record_find(scratch, APP, CHILD, &found, &err), OCV_ERR_NOT_FOUND);
    need(ocv_record_find(scratch, APP, A_DIGEST, &found, &err));
    ocv_record_index_free(&found);
    ocv_index_free(index);
}
END_TEST

START_TEST(secret_indexes_are_for_the_group_until_anybody_may_read_them)
{
    struct ocv_index *index = make_index("x");
    struct ocv_record_index found;
    const struct ocv_record nameless = {.repository = APP, .secret = true};
    umask(022);
    need(ocv_record_chosen(scratch, index, NULL, &nameless, &err));
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(index))), 0640);
    need(ocv_record_find(scratch, APP, A_DIGEST, &found, &err));
    ck_assert(found.secret);
    ck_assert_str_eq(found.reference, "");
    ocv_record_index_free(&found);
    keep(index, APP, "1", false);
    keep(index, APP, "1", true); /* it is no secret any more */
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(index))), 0644);
    need(ocv_record_find(scratch, APP, A_DIGEST, &found, &err));
    ck_assert(!found.secret);
    ocv_record_index_free(&found);
    ocv_index_free(index);
}
END_TEST

static void finds(const char *reference)
{
    struct ocv_record_index found;
    need(ocv_record_find(scratch, APP, A_DIGEST, &found, &err));
    ck_assert_str_eq(found.reference, reference);
    ocv_record_index_free(&found);
}

START_TEST(index_resolved_last_is_believed)
{
    struct ocv_index *old = make_index("old"), *new = make_index("new");
    keep(new, APP, "new", false);
    keep(old, APP, "old", false);
    age(index_path(ocv_index_digest(old)), 7200);
    finds(APP ":new");
    age(index_path(ocv_index_digest(new)), 3 * 24 * 3600);
    age(index_path(ocv_index_digest(old)), 2 * 24 * 3600);
    keep(new, APP, "again", false); /* seen again: it is young */
    finds(APP ":new");
    age(index_path(ocv_index_digest(new)), 7200); /* in whatever order the directory is read */
    age(index_path(ocv_index_digest(old)), 3600);
    finds(APP ":old");
    ocv_index_free(old);
    ocv_index_free(new);
}
END_TEST

/* ---- repositories ------------------------------------------------------------------------------
 */

#define OTHER "docker.io/attacker/x"

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

static int count_index(void *data, struct ocv_record_index *kept)
{
    unsigned *n = data;
    ck_assert_ptr_nonnull(ocv_index_find_digest(kept->index, A_DIGEST));
    ++*n;
    return OCV_OK;
}

START_TEST(index_speaks_for_its_repository)
{
    unsigned n = 0;
    struct ocv_record_index found;
    struct ocv_index *index = make_index("x"), *newer = make_index("y");
    keep(index, OTHER, "t", false);
    refuses(ocv_record_find(scratch, APP, A_DIGEST, &found, &err), OCV_ERR_NOT_FOUND);
    need(ocv_record_find(scratch, OTHER, A_DIGEST, &found, &err));
    ocv_record_index_free(&found);
    /* what it is by its own digest, it is everywhere */
    need(ocv_record_find(scratch, APP, ocv_index_digest(index), &found, &err));
    ck_assert_str_eq(found.repository, OTHER);
    ocv_record_index_free(&found);
    /* who has no name hears each repository once */
    keep(index, APP, "1", false);
    keep(newer, APP, "2", false);
    need(ocv_record_index_walk(scratch, NULL, A_DIGEST, count_index, &n, &err));
    ck_assert_uint_eq(n, 2);
    ocv_index_free(newer);
    ocv_index_free(index);
}
END_TEST

START_TEST(old_records_are_discarded)
{
    struct ocv_index *index = make_index("x");
    need(ocv_record_write(scratch, &sample, &err));
    keep(index, APP, "1", false);
    write_text(at("sha256-" ZEROS ".json"), "{\"child\":\"" CHILD "\",\"label\":\"old\","
                                            "\"properties\":\"\"}");
    write_text(at("indexes/sha256-" ZEROS ".json"), "{}");
    write_text(at("notes.json"), "{}");
    ck_assert_uint_eq(walk(scratch, NULL, CHILD).n, 1); /* nobody reads it */
    ck_assert_uint_eq(ocv_record_discard_old(scratch), 2);
    ck_assert_uint_eq(ocv_record_discard_old(scratch), 0);
    ck_assert_uint_eq(ocv_record_discard_old(at("none")), 0);
    ck_assert_int_eq(access(at("notes.json"), F_OK), 0);
    ck_assert_uint_eq(walk(scratch, APP, CHILD).n, 1);
    finds(APP ":1");
    ocv_index_free(index);
}
END_TEST

/* ---- bounds ------------------------------------------------------------------------------------
 */

START_TEST(records_are_bounded)
{
    char path[600], name[32];
    struct ocv_index *index = make_index("x"), *other = make_index("y");
    keep(index, APP, "x", false);
    age(index_path(ocv_index_digest(index)), (time_t)(OCV_RECORD_INDEX_DAYS + 1) * 24 * 3600);
    keep(other, APP, "y", false);
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(index))), 0); /* too old */
    for (unsigned i = 0; i < OCV_RECORD_INDEXES_MAX + 10; i++) {
        snprintf(path, sizeof(path), "%s/indexes/sha256-%u.json", scratch, i);
        write_text(path, "{}");
        age(path, 3600);
    }
    keep(index, APP, "x", false);
    ck_assert_uint_eq(count_files(at("indexes")), OCV_RECORD_INDEXES_MAX);
    ck_assert_int_eq(mode_of(index_path(ocv_index_digest(other))), 0644); /* younger than those */
    for (unsigned i = 0; i < OCV_RECORDS_MAX + 3; i++) {
        snprintf(name, sizeof(name), "sha256-%u.json", i);
        write_text(at(name), "{}");
    }
    age(at("sha256-7.json"), 60);
    need(ocv_record_write(scratch, &sample, &err));
    ck_assert_uint_eq(count_files(scratch), OCV_RECORDS_MAX + 1); /* and the directory of indexes */
    ck_assert_int_eq(mode_of(at("sha256-7.json")), 0);
    read_back(scratch);
    ocv_index_free(index);
    ocv_index_free(other);
}
END_TEST

START_TEST(index_that_is_too_large)
{
    char *note = malloc(OCV_RECORD_INDEX_MAX), *text = malloc(OCV_RECORD_INDEX_MAX + 4096);
    struct ocv_index *index = NULL;
    ck_assert(note && text);
    memset(note, 'x', OCV_RECORD_INDEX_MAX - 1);
    note[OCV_RECORD_INDEX_MAX - 1] = '\0';
    int n = snprintf(
        text, OCV_RECORD_INDEX_MAX + 4096,
        "{\"schemaVersion\":2,\"annotations\":{\"note\":\"%s\"},\"manifests\":[" A_ENTRY "]}",
        note);
    need(ocv_index_parse(text, (size_t)n, NULL, &index, &err));
    refuses(
        ocv_record_chosen(scratch, index, ocv_index_find_digest(index, A_DIGEST), &sample, &err),
        OCV_ERR_DATA);
    ck_assert_str_eq(walk(scratch, APP, A_DIGEST).label, "a"); /* the choice is recorded */
    ocv_index_free(index);
    free(note);
    free(text);
}
END_TEST

/* What is read later is what the entry said, and its texts are the reader's own. */
START_TEST(chosen_is_read_as_the_entry_was_described)
{
    static const char text[] = "{\"schemaVersion\":2,\"annotations\":{\"" OCV_ANNOTATION_STATIC
                               "speed\":\"speed :: v :: 1\"},\"manifests\":[{\"mediaType\":"
                               "\"" OCV_MEDIA_TYPE_MANIFEST "\",\"digest\":\"" A_DIGEST
                               "\",\"size\":2,\"annotations\":{\"" OCV_ANNOTATION_LABEL
                               "\":\"a\",\"" OCV_ANNOTATION_PROPERTIES
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
    need(ocv_record_read(scratch, APP, A_DIGEST, &found, &err));
    ck_assert_str_eq(found.repository, APP);
    ck_assert_str_eq(found.child, said.child);
    ck_assert_str_eq(found.label, said.label);
    ck_assert_str_eq(found.properties, said.properties);
    ck_assert_str_eq(found.statics, said.statics);
    ck_assert_str_eq(found.reference, sample.reference);
    refuses(ocv_record_read(scratch, OTHER, A_DIGEST, &said, &err), OCV_ERR_NOT_FOUND);
    refuses(ocv_record_read(scratch, APP, B_DIGEST, &said, &err), OCV_ERR_NOT_FOUND);
}
END_TEST

RUN_SUITE("record", written_and_read, chosen_is_read_as_the_entry_was_described,
          secrets_are_nobodys_business_from_the_start, a_secret_one_is_for_the_group,
          new_directory_is_not_a_link, root_writes_as_the_owner, directory_is_not_a_link,
          replaced_whole, safe_before_it_appears, refused, readers_and_writers_at_once,
          index_is_found_by_all_that_is_in_it,
          secret_indexes_are_for_the_group_until_anybody_may_read_them,
          index_resolved_last_is_believed, record_speaks_for_its_repository,
          record_under_another_name_is_none, index_speaks_for_its_repository,
          old_records_are_discarded, records_are_bounded, index_that_is_too_large)
