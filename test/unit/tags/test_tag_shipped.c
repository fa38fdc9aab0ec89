/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the shipped tag rules may say is in the vocabulary, and a family can be found. */
#include "test/unit/tags/shipped_rules.h"

#include <dirent.h>

static size_t check_gives(const char *where, const struct ocv_tag_pair *gives, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char ns[64], feature[64], value[64];
        ck_assert_int_eq(sscanf(gives[i].text, "%63s :: %63s :: %63s", ns, feature, value), 3);
        check_listed(where, ns, feature, strchr(value, '\\') ? NULL : value);
    }
    return n;
}

START_TEST(test_constants)
{
    size_t n = 0;
    for (size_t i = 0; i < rules->n; i++) {
        const struct ocv_tag_family *f = rules->families[i];
        for (size_t k = 0; k < f->n_items; k++)
            n += check_gives(f->name, f->items[k].gives, f->items[k].n_gives) +
                 check_gives(f->name, f->items[k].assumes, f->items[k].n_assumes);
        for (size_t k = 0; k < f->n_repositories; k++)
            n += check_gives(f->name, f->repositories[k].gives, f->repositories[k].n_gives) +
                 check_gives(f->name, f->repositories[k].assumes, f->repositories[k].n_assumes);
        for (size_t k = 0; k < f->n_defaults; k++)
            n += check_gives(f->name, f->defaults[k].gives, f->defaults[k].n_gives) +
                 check_gives(f->name, f->defaults[k].assumes, f->defaults[k].n_assumes);
        for (size_t k = 0; k < f->n_cudas; k++)
            for (size_t m = 0; m < f->cudas[k].n_sm_arch; m++)
                check_listed(f->name, "nvidia", "sm_arch", f->cudas[k].sm_arch[m]);
    }
    ck_assert_uint_gt(n, 200);
}
END_TEST

/* A family can be found by its file's name, and says what it is. */
START_TEST(test_files)
{
    DIR *dir = opendir("plugins/tags.d");
    size_t n = 0;
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *d; (d = readdir(dir));) {
        char name[256];
        if (!strstr(d->d_name, ".yaml") || strncmp(d->d_name, "00-", 3) == 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(strlen(d->d_name) - 5), d->d_name);
        size_t i = 0;
        while (i < rules->n && strcmp(rules->families[i]->name, name) != 0)
            i++;
        ck_assert_msg(i < rules->n, "%s: its family is not called %s", d->d_name, name);
        ck_assert_ptr_nonnull(rules->families[i]->description);
        n++;
    }
    closedir(dir);
    ck_assert_uint_eq(n, rules->n);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("tag_shipped");
    TCase *tcase = tcase_create("tag_shipped");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_constants);
    tcase_add_test(tcase, test_files);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
