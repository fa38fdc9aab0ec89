/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters with names from outside: exact when many threads raise them, bounded, escaped. */
#include "cmd/variantd/common/metrics.h"
#include "test/unit/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8
#define ROUNDS 2000
#define NAMES_MAX 256

static struct metrics *metrics;
static struct ocv_buffer page;

static void setup(void)
{
    ck_assert_int_eq(metrics_new(&metrics, NULL), OCV_OK);
    ocv_buffer_init(&page, 1024 * 1024);
}

static void teardown(void)
{
    metrics_free(metrics);
    ocv_buffer_free(&page);
}

static void print(void)
{
    page.len = 0;
    ck_assert_int_eq(metrics_format(metrics, 1000, &page, NULL), OCV_OK);
    ck_assert_int_eq(ocv_buffer_append(&page, "", 1, NULL), OCV_OK);
}

static unsigned long long value_of(const char *name)
{
    char line[256];
    snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(page.data, line);
    return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

static size_t lines_of(const char *name)
{
    size_t n = 0;
    char line[256];
    snprintf(line, sizeof(line), "\n%s{", name);
    for (const char *at = page.data; (at = strstr(at, line)); at += strlen(line))
        n++;
    return n;
}

static void *raise_all(void *data)
{
    (void)data;
    for (int i = 0; i < ROUNDS; i++) {
        char label[16];
        snprintf(label, sizeof(label), "label%d", i % 50);
        metrics_raise(metrics, METRICS_CHOSEN, label, NULL, 1);
        metrics_request(metrics, OUTCOME_VARIANT, 10, 5);
    }
    return NULL;
}

START_TEST(many_threads_lose_nothing)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, raise_all, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    print();
    ck_assert_uint_eq(lines_of("variantd_chosen_total"), 50);
    for (int i = 0; i < 50; i++) {
        char name[64];
        snprintf(name, sizeof(name), "variantd_chosen_total{label=\"label%d\"}", i);
        ck_assert_uint_eq(value_of(name), THREADS * ROUNDS / 50);
    }
    ck_assert_uint_eq(value_of("variantd_requests_total{outcome=\"variant\"}"), THREADS * ROUNDS);
    ck_assert_uint_eq(value_of("variantd_sent_bytes_total"), THREADS * ROUNDS * 5);
}
END_TEST

START_TEST(names_are_bounded)
{
    for (int i = 0; i < NAMES_MAX + 20; i++) {
        char label[16];
        snprintf(label, sizeof(label), "label%d", i);
        metrics_raise(metrics, METRICS_CHOSEN, label, NULL, 1);
    }
    metrics_raise(metrics, METRICS_CHOSEN, "label255", NULL, 1);
    metrics_raise(metrics, METRICS_CHOSEN, "label256", NULL, 1);
    print();
    ck_assert_uint_eq(lines_of("variantd_chosen_total"), NAMES_MAX + 1);
    ck_assert_uint_eq(value_of("variantd_chosen_total{label=\"label255\"}"), 2);
    ck_assert_uint_eq(value_of("variantd_chosen_total{label=\"label256\"}"), 0);
    ck_assert_uint_eq(value_of("variantd_chosen_total{label=\"other\"}"), 21);
}
END_TEST

START_TEST(long_names_are_cut_alike)
{
    char name[300], line[400];
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    metrics_raise(metrics, METRICS_ERRORS, name, "network", 1);
    name[200] = 'b';
    metrics_raise(metrics, METRICS_ERRORS, name, "network", 1);
    metrics_raise(metrics, METRICS_ERRORS, name, "denied", 1);
    print();
    name[127] = '\0';
    snprintf(line, sizeof(line), "variantd_upstream_errors_total{registry=\"%s\",kind=\"network\"}",
             name);
    ck_assert_uint_eq(value_of(line), 2);
    ck_assert_uint_eq(lines_of("variantd_upstream_errors_total"), 2);
}
END_TEST

START_TEST(values_are_escaped)
{
    metrics_raise(metrics, METRICS_CHOSEN, "a\"b\\c\nd", NULL, 1);
    print();
    ck_assert_uint_eq(value_of("variantd_chosen_total{label=\"a\\\"b\\\\c\\nd\"}"), 1);
}
END_TEST

RUN_TESTS_IN("variantd metrics", setup, teardown, many_threads_lose_nothing, names_are_bounded,
             long_names_are_cut_alike, values_are_escaped)
