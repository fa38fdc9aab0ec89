/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every call of the snapshotter over its socket, as containerd's own suite for snapshotters asks.
 */
#include "test/unit/snapshotter/snapshotter_calls.h"

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/snapshotter/meta/meta_internal.h"
#include "plugins/containerd/snapshotter/overlay/overlay_internal.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

START_TEST(test_mounts)
{
    char got[4096], wanted[4096];
    struct stat st;
    const char *index = access("/sys/module/overlay/parameters/index", F_OK) ? "" : " index=off";
    ck_assert_int_eq(create(&w, "Prepare", "a", "", NULL, got, sizeof(got)), GRPC_OK);
    snprintf(wanted, sizeof(wanted), "bind %s/snapshots/1/fs rw rbind", w.root);
    ck_assert_str_eq(got, wanted);
    snprintf(wanted, sizeof(wanted), "%s/snapshots/1/fs", w.root);
    ck_assert_int_eq(stat(wanted, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0755);
    ck_assert_int_eq(chown(wanted, 1234, 2345), 0);
    ck_assert_int_eq(commit(&w, "c1", "a", NULL), GRPC_OK);
    ck_assert_int_eq(create(&w, "View", "v", "", NULL, got, sizeof(got)), GRPC_OK);
    snprintf(wanted, sizeof(wanted), "bind %s/snapshots/2/fs ro rbind", w.root);
    ck_assert_str_eq(got, wanted);
    ck_assert_int_eq(create(&w, "View", "v1", "c1", NULL, got, sizeof(got)), GRPC_OK);
    snprintf(wanted, sizeof(wanted), "bind %s/snapshots/1/fs ro rbind", w.root);
    ck_assert_str_eq(got, wanted);
    ck_assert_int_eq(create(&w, "Prepare", "b", "c1", NULL, got, sizeof(got)), GRPC_OK);
    snprintf(wanted, sizeof(wanted),
             "overlay overlay%s workdir=%s/snapshots/4/work upperdir=%s/snapshots/4/fs "
             "lowerdir=%s/snapshots/1/fs",
             index, w.root, w.root, w.root);
    ck_assert_str_eq(got, wanted);
    snprintf(wanted, sizeof(wanted), "%s/snapshots/4/fs", w.root);
    ck_assert_int_eq(stat(wanted, &st), 0);
    ck_assert(st.st_uid == 1234 && st.st_gid == 2345); /* the parent's */
    ck_assert_int_eq(commit(&w, "c2", "b", NULL), GRPC_OK);
    ck_assert_int_eq(create(&w, "View", "v2", "c2", NULL, got, sizeof(got)), GRPC_OK);
    snprintf(wanted, sizeof(wanted),
             "overlay overlay%s lowerdir=%s/snapshots/4/fs:%s/snapshots/1/fs", index, w.root,
             w.root);
    ck_assert_str_eq(got, wanted);
    struct answers a = {.type = &snapshots__mounts_response__descriptor};
    ck_assert_int_eq(by_key(&w, "Mounts", "v2", &a), GRPC_OK);
    const Snapshots__MountsResponse *response = a.list[0];
    ck_assert_str_eq(response->mounts[0]->type, "overlay");
    answers_free(&a);
    ck_assert_int_eq(by_key(&w, "Mounts", "c2", &a), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(by_key(&w, "Mounts", "none", &a), GRPC_NOT_FOUND);
}
END_TEST

START_TEST(test_basic)
{
    char got[1024];
    ck_assert_int_eq(prepare(&w, "p", "", "containerd.io/gc.root=now x=1"), GRPC_OK);
    expect("p", "p  2 containerd.io/gc.root=now x=1");
    ck_assert_int_eq(commit(&w, "c", "p", "y=2"), GRPC_OK); /* labels are replaced */
    expect("c", "c  3 y=2");
    ck_assert_int_eq(stat_snapshot(&w, "p", got, sizeof(got)), GRPC_NOT_FOUND);
    ck_assert_int_eq(prepare(&w, "n", "c", NULL), GRPC_OK);
    expect("n", "n c 2");
    ck_assert_int_eq(commit(&w, "d", "n", NULL), GRPC_OK);
    ck_assert_int_eq(create(&w, "View", "v", "d", NULL, NULL, 0), GRPC_OK);
    expect("v", "v d 1");
    ck_assert_int_eq(remove_snapshot(&w, "c"), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(remove_snapshot(&w, "d"), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(remove_snapshot(&w, "v"), GRPC_OK);
    ck_assert_int_eq(remove_snapshot(&w, "v"), GRPC_NOT_FOUND);
    ck_assert_int_eq(remove_snapshot(&w, "d"), GRPC_OK);
    ck_assert_int_eq(remove_snapshot(&w, "c"), GRPC_OK);
    ck_assert_uint_eq(directories(), 0);
}
END_TEST

START_TEST(test_errors)
{
    ck_assert_int_eq(prepare(&w, "a", "none", NULL), GRPC_NOT_FOUND);
    ck_assert_int_eq(prepare(&w, "", "", NULL), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_ALREADY_EXISTS);
    ck_assert_int_eq(create(&w, "View", "a", "", NULL, NULL, 0), GRPC_ALREADY_EXISTS);
    ck_assert_int_eq(prepare(&w, "b", "a", NULL), GRPC_INVALID_ARGUMENT); /* not committed */
    ck_assert_int_eq(commit(&w, "c", "none", NULL), GRPC_NOT_FOUND);
    ck_assert_int_eq(commit(&w, "a", "a", NULL), GRPC_ALREADY_EXISTS);
    ck_assert_int_eq(commit(&w, "c", "a", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, "d", "a", NULL), GRPC_NOT_FOUND);
    ck_assert_int_eq(commit(&w, "d", "c", NULL), GRPC_FAILED_PRECONDITION); /* committed */
    ck_assert_int_eq(create(&w, "View", "v", "c", NULL, NULL, 0), GRPC_OK);
    ck_assert_int_eq(commit(&w, "d", "v", NULL), GRPC_FAILED_PRECONDITION); /* a view */
    ck_assert_int_eq(prepare(&w, "e", "", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, "c", "e", NULL), GRPC_ALREADY_EXISTS);
    ck_assert_int_eq(prepare(&w, "m", "", "containerd.io/snapshot/uidmapping=0:-1:1"),
                     GRPC_INVALID_ARGUMENT);
    ck_assert_uint_eq(directories(), 3);
    struct answers a = {.type = &snapshots__empty__descriptor};
    ck_assert_int_eq(by_key(&w, "Nothing", "x", &a), GRPC_UNIMPLEMENTED);
    ck_assert_int_eq(by_key(&w, "Usage", "none", &a), GRPC_NOT_FOUND);
}
END_TEST

/* If a snapshot's directory cannot be made, the snapshot does not exist. */
START_TEST(test_unplaced)
{
    char command[128], got[64];
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, "c", "a", NULL), GRPC_OK);
    snprintf(command, sizeof(command), "rm -r %s/snapshots/1", w.root);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(prepare(&w, "b", "c", NULL), GRPC_INTERNAL);
    ck_assert_int_eq(stat_snapshot(&w, "b", got, sizeof(got)), GRPC_NOT_FOUND);
    ck_assert_uint_eq(directories(), 0);
    ck_assert_int_eq(remove_snapshot(&w, "c"), GRPC_OK); /* no child is in the way */
}
END_TEST

/* Names, labels, and parents above each other: as many as are allowed, and one more. */
START_TEST(test_limits)
{
    static char name[SNAP_NAME_MAX + 2], value[SNAP_LABEL_MAX + 1];
    static const char chain[] =
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i <= 1024) INSERT "
        "INTO snapshots(id, name, parent, kind, created, updated) SELECT i, 'p' || i,"
        " CASE i WHEN 1 THEN NULL ELSE i - 1 END, 3, 0, 0 FROM n";
    char command[128];
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    memset(value, 'v', SNAP_LABEL_MAX);
    ck_assert_int_eq(snap_labels_set(&labels, "k", value, NULL), GRPC_INVALID_ARGUMENT);
    value[SNAP_LABEL_MAX - 1] = '\0';
    ck_assert_int_eq(snap_labels_set(&labels, "k", value, NULL), GRPC_OK);
    memset(name, 'n', SNAP_NAME_MAX + 1);
    ck_assert_int_eq(prepare(&w, name, "", NULL), GRPC_INVALID_ARGUMENT);
    name[SNAP_NAME_MAX] = '\0';
    ck_assert_int_eq(prepare(&w, name, "", NULL), GRPC_OK);
    ck_assert_int_eq(remove_snapshot(&w, name), GRPC_OK);
    ck_assert_uint_eq(SNAP_CHAIN_MAX, 1024);
    ck_assert_int_eq(sqlite3_exec(w.service.meta->db, chain, NULL, NULL, NULL), SQLITE_OK);
    snprintf(command, sizeof(command), "cd %s/snapshots && mkdir -p 1024/fs 1025/fs", w.root);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(prepare(&w, "deepest", "p1024", NULL), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "deeper", "p1025", NULL), GRPC_FAILED_PRECONDITION);
}
END_TEST

/* No snapshot has the empty name, nor can one get it. */
START_TEST(test_empty_names)
{
    char got[256];
    struct answers a = {.type = &snapshots__empty__descriptor};
    ck_assert_int_eq(prepare(&w, "", "", NULL), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(create(&w, "View", "", "", NULL, NULL, 0), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, "", "a", NULL), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(commit(&w, "c", "", NULL), GRPC_NOT_FOUND);
    ck_assert_int_eq(remove_snapshot(&w, ""), GRPC_NOT_FOUND);
    ck_assert_int_eq(stat_snapshot(&w, "", got, sizeof(got)), GRPC_NOT_FOUND);
    ck_assert_int_eq(by_key(&w, "Mounts", "", &a), GRPC_NOT_FOUND);
    ck_assert_int_eq(by_key(&w, "Usage", "", &a), GRPC_NOT_FOUND);
    expect("a", "a  2");
}
END_TEST

/* "NAMESPACE/NUMBER/NAME", as containerd calls what its namespaces keep here: one name in two of
 * them is two snapshots, and neither is the other's parent by its bare name. */
START_TEST(test_namespaces)
{
    ck_assert_int_eq(prepare(&w, "one/1/a", "", "x=1"), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "two/1/a", "", "x=2"), GRPC_OK);
    ck_assert_int_eq(commit(&w, "one/2/c", "one/1/a", "x=1"), GRPC_OK);
    expect("two/1/a", "two/1/a  2 x=2");
    ck_assert_int_eq(prepare(&w, "two/3/b", "c", NULL), GRPC_NOT_FOUND);
    ck_assert_int_eq(remove_snapshot(&w, "one/2/c"), GRPC_OK);
    expect("two/1/a", "two/1/a  2 x=2");
}
END_TEST

START_TEST(test_rebase)
{
    Snapshots__CommitRequest request = SNAPSHOTS__COMMIT_REQUEST__INIT;
    struct answers a = {.type = &snapshots__empty__descriptor};
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, "A", "a", NULL), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "b", "", NULL), GRPC_OK);
    request.name = (char *)(uintptr_t) "B";
    request.key = (char *)(uintptr_t) "b";
    request.parent = (char *)(uintptr_t) "none";
    ck_assert_int_eq(world_call(&w, "Commit", &request, &a), GRPC_NOT_FOUND);
    request.parent = (char *)(uintptr_t) "A";
    ck_assert_int_eq(world_call(&w, "Commit", &request, &a), GRPC_OK);
    expect("B", "B A 3");
    ck_assert_int_eq(prepare(&w, "c", "A", NULL), GRPC_OK);
    request.name = (char *)(uintptr_t) "C";
    request.key = (char *)(uintptr_t) "c";
    request.parent = (char *)(uintptr_t) "B";
    ck_assert_int_eq(world_call(&w, "Commit", &request, &a), GRPC_INVALID_ARGUMENT);
    answers_free(&a);
}
END_TEST

/* containerd 2.3 unpacks layers side by side, and says what is below each */
START_TEST(test_unpacked_beside)
{
    Snapshots__CommitRequest request = SNAPSHOTS__COMMIT_REQUEST__INIT;
    struct answers a = {.type = &snapshots__empty__descriptor};
    char got[4096], wanted[4096];
    const char *index = access("/sys/module/overlay/parameters/index", F_OK) ? "" : " index=off";
    ck_assert_int_eq(prepare(&w, "a", "", SNAP_LABEL_REF "=A"), GRPC_OK);
    ck_assert_int_eq(create(&w, "Prepare", "b", "", SNAP_LABEL_REF "=B " SNAP_LABEL_PARENT "=A",
                            got, sizeof(got)),
                     GRPC_OK);
    snprintf(wanted, sizeof(wanted),
             "overlay overlay%s workdir=%s/snapshots/2/work upperdir=%s/snapshots/2/fs", index,
             w.root, w.root);
    ck_assert_str_eq(got, wanted);
    ck_assert_int_eq(commit(&w, "A", "a", NULL), GRPC_OK);
    request.name = (char *)(uintptr_t) "B";
    request.key = (char *)(uintptr_t) "b";
    request.parent = (char *)(uintptr_t) "A";
    ck_assert_int_eq(world_call(&w, "Commit", &request, &a), GRPC_OK);
    /* older ones do not say it, and would lose what a layer deletes */
    ck_assert_int_eq(prepare(&w, "c", "", SNAP_LABEL_REF "=C"), GRPC_OK);
    request.name = (char *)(uintptr_t) "C";
    request.key = (char *)(uintptr_t) "c";
    ck_assert_int_eq(world_call(&w, "Commit", &request, &a), GRPC_FAILED_PRECONDITION);
    answers_free(&a);
}
END_TEST

static enum grpc_code update(const char *name, const char *labels, char *mask, char *out,
                             size_t size)
{
    Snapshots__UpdateRequest request = SNAPSHOTS__UPDATE_REQUEST__INIT;
    Snapshots__Info info = SNAPSHOTS__INFO__INIT;
    Snapshots__FieldMask paths = SNAPSHOTS__FIELD_MASK__INIT;
    Snapshots__Label all[16], *list[16];
    struct answers a = {.type = &snapshots__stat_response__descriptor};
    char *words[8], *save = NULL;
    info.name = (char *)(uintptr_t)name;
    info.parent = (char *)(uintptr_t) "doesnotexist";
    info.n_labels = make_labels(labels, all, list);
    info.labels = list;
    for (char *p = mask ? strtok_r(mask, " ", &save) : NULL; p; p = strtok_r(NULL, " ", &save))
        words[paths.n_paths++] = p;
    paths.paths = words;
    request.info = &info;
    request.update_mask = mask ? &paths : NULL;
    enum grpc_code code = world_call(&w, "Update", &request, &a);
    if (code == GRPC_OK)
        describe(((const Snapshots__StatResponse *)a.list[0])->info, out, size);
    answers_free(&a);
    return code;
}

START_TEST(test_update)
{
    char got[1024], both[] = "labels.l1 labels.l2", whole[] = "labels", parent[] = "parent";
    ck_assert_int_eq(prepare(&w, "a", "", "l0=v0"), GRPC_OK);
    ck_assert_int_eq(update("a", "l1=v1 l2=v2 l3=v3", NULL, got, sizeof(got)), GRPC_OK);
    ck_assert_str_eq(got, "a  2 l1=v1 l2=v2 l3=v3");
    ck_assert_int_eq(update("a", "l1=updated l4=v4", both, got, sizeof(got)), GRPC_OK);
    ck_assert_str_eq(got, "a  2 l1=updated l3=v3");
    ck_assert_int_eq(update("a", "l4=v4", whole, got, sizeof(got)), GRPC_OK);
    ck_assert_str_eq(got, "a  2 l4=v4");
    ck_assert_int_eq(update("a", "l5=v5", parent, got, sizeof(got)), GRPC_INVALID_ARGUMENT);
    char dotted[] = "labels.containerd.io/gc.root", name[] = "name", mixed[] = "labels kind";
    ck_assert_int_eq(update("a", "l4=v4 containerd.io/gc.root=x", dotted, got, sizeof(got)),
                     GRPC_OK);
    ck_assert_str_eq(got, "a  2 containerd.io/gc.root=x l4=v4");
    ck_assert_int_eq(update("a", "", dotted, got, sizeof(got)), GRPC_OK); /* taken away */
    ck_assert_int_eq(update("a", "l5=v5", name, got, sizeof(got)), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(update("a", "l5=v5", mixed, got, sizeof(got)), GRPC_INVALID_ARGUMENT);
    ck_assert_int_eq(update("b", "l5=v5", NULL, got, sizeof(got)), GRPC_NOT_FOUND);
    expect("a", "a  2 l4=v4");
    Snapshots__UpdateRequest empty = SNAPSHOTS__UPDATE_REQUEST__INIT;
    struct answers a = {.type = &snapshots__stat_response__descriptor};
    ck_assert_int_eq(world_call(&w, "Update", &empty, &a), GRPC_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_times)
{
    struct answers a = {.type = &snapshots__stat_response__descriptor};
    char got[256];
    time_t before = time(NULL);
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    ck_assert_int_eq(by_key(&w, "Stat", "a", &a), GRPC_OK);
    const Snapshots__Info *info = ((const Snapshots__StatResponse *)a.list[0])->info;
    int64_t created = info->created_at->seconds;
    ck_assert(created >= before && created <= time(NULL));
    ck_assert_int_eq(info->updated_at->nanos, info->created_at->nanos);
    int32_t nanos = info->created_at->nanos;
    answers_free(&a);
    ck_assert_int_eq(update("a", "x=y", NULL, got, sizeof(got)), GRPC_OK);
    ck_assert_int_eq(by_key(&w, "Stat", "a", &a), GRPC_OK);
    info = ((const Snapshots__StatResponse *)a.list[0])->info;
    ck_assert(info->created_at->seconds == created && info->created_at->nanos == nanos);
    ck_assert(info->updated_at->seconds > created || info->updated_at->nanos > nanos);
    answers_free(&a);
}
END_TEST

START_TEST(test_list)
{
    char got[16384];
    enum grpc_code code;
    ck_assert_uint_eq(list_names(&w, NULL, got, sizeof(got), &code), 0);
    ck_assert_int_eq(code, GRPC_OK);
    ck_assert_int_eq(prepare(&w, "a-np", "", "g=r"), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "p-tmp", "", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, "p", "p-tmp", "g=r"), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "a", "p", "g=r l=1"), GRPC_OK);
    ck_assert_int_eq(create(&w, "View", "v", "p", "g=r d.t=x", NULL, 0), GRPC_OK);
    static const char *const cases[][2] = {
        {"labels.g==r", "a-np p a v"},
        {"kind==active,labels.g==r", "a-np a"},
        {"kind==view", "v"},
        {"kind==committed", "p"},
        {"parent==p", "a v"},
        {"labels.l==1", "a"},
        {"labels.l==2", ""},
        {"labels.l", "a"},
        {"labels.l!=1", "a-np p v"},
        {"kind!=committed", "a-np a v"},
        {"parent==\"\"", "a-np p"},
        {"labels.\"d.t\"==x", "v"},
        {"labels.\"d.t\"", "v"},
        {"labels.d.t==x", "v"},
        {"nothing", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        list_names(&w, cases[i][0], got, sizeof(got), &code);
        ck_assert_int_eq(code, GRPC_OK);
        ck_assert_str_eq(got, cases[i][1]);
    }
    list_names(&w, "name==", got, sizeof(got), &code);
    ck_assert_int_eq(code, GRPC_INVALID_ARGUMENT);
    list_names(&w, "name~=/^a/", got, sizeof(got), &code);
    ck_assert_int_eq(code, GRPC_INVALID_ARGUMENT);
}
END_TEST

/* Any of several filters. */
START_TEST(test_list_any)
{
    static struct answers a;
    char *filters[] = {(char *)(uintptr_t) "nothing", (char *)(uintptr_t) "name==b",
                       (char *)(uintptr_t) "kind==view"};
    Snapshots__ListRequest request = SNAPSHOTS__LIST_REQUEST__INIT;
    a = (struct answers){.type = &snapshots__list_response__descriptor};
    request.n_filters = 3;
    request.filters = filters;
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "b", "", NULL), GRPC_OK);
    ck_assert_int_eq(create(&w, "View", "v", "", NULL, NULL, 0), GRPC_OK);
    ck_assert_int_eq(world_call(&w, "List", &request, &a), GRPC_OK);
    ck_assert_uint_eq(a.n, 1);
    const Snapshots__ListResponse *response = a.list[0];
    ck_assert_uint_eq(response->n_info, 2);
    ck_assert_str_eq(response->info[0]->name, "b");
    ck_assert_str_eq(response->info[1]->name, "v");
    answers_free(&a);
}
END_TEST

START_TEST(test_list_pages)
{
    static char got[65536];
    char key[32];
    enum grpc_code code;
    for (int i = 0; i < 250; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_int_eq(prepare(&w, key, "", i % 50 == 0 ? "l=1" : NULL), GRPC_OK);
    }
    ck_assert_uint_eq(list_names(&w, NULL, got, sizeof(got), &code), 3);
    size_t words = 1;
    for (const char *p = got; *p; p++)
        words += *p == ' ';
    ck_assert_uint_eq(words, 250);
    list_names(&w, "labels.l", got, sizeof(got), &code);
    ck_assert_str_eq(got, "k0 k50 k100 k150 k200");
}
END_TEST

/* A file with labels that are none, which its owner has written into, is told from a bad program.
 */
START_TEST(test_bad_labels)
{
    static const char *const bad[] = {"x'610062'", "x'610062006300'", "x'6100'", "x'006200'"};
    struct answers a = {.type = &snapshots__stat_response__descriptor};
    char text[128], names[64];
    enum grpc_code code;
    struct ocv_error err;
    ck_assert(snap_labels_sound("a\0b\0c\0d", 8));
    for (size_t i = 1; i < 8; i++)
        ck_assert(snap_labels_sound("a\0b\0c\0d", i) == (i == 4));
    ck_assert(!snap_labels_sound("b\0c\0a\0d", 8)); /* not in order */
    ck_assert(!snap_labels_sound("\0b", 3));
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "b", "", NULL), GRPC_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        snprintf(text, sizeof(text), "UPDATE snapshots SET labels = %s WHERE name = 'a'", bad[i]);
        ck_assert_int_eq(sqlite3_exec(w.service.meta->db, text, NULL, NULL, NULL), SQLITE_OK);
        ck_assert_int_eq(by_key(&w, "Stat", "a", &a), GRPC_DATA_LOSS);
        list_names(&w, NULL, names, sizeof(names), &code);
        ck_assert_int_eq(code, GRPC_OK);
        ck_assert_str_eq(names, "b");
        /* the next start succeeds, and keeps the damaged snapshot's directory */
        ck_assert_int_eq(snap_overlay_check(w.service.overlay, &err), GRPC_OK);
    }
}
END_TEST

TEST_FILE
{
    if (geteuid() != 0) {
        puts("skipped: directories of other users need root");
        return 0;
    }
    Suite *suite = suite_create("snapshotter_service");
    TCase *tcase = tcase_create("service");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, opened, closed);
    tcase_add_test(tcase, test_mounts);
    tcase_add_test(tcase, test_basic);
    tcase_add_test(tcase, test_errors);
    tcase_add_test(tcase, test_unplaced);
    tcase_add_test(tcase, test_limits);
    tcase_add_test(tcase, test_empty_names);
    tcase_add_test(tcase, test_namespaces);
    tcase_add_test(tcase, test_rebase);
    tcase_add_test(tcase, test_unpacked_beside);
    tcase_add_test(tcase, test_update);
    tcase_add_test(tcase, test_times);
    tcase_add_test(tcase, test_list);
    tcase_add_test(tcase, test_list_any);
    tcase_add_test(tcase, test_list_pages);
    tcase_add_test(tcase, test_bad_labels);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
