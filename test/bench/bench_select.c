/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse and select in one process, and the documents for the whole-process measurements.
 *
 *   bench_select run                       a table: "NAME MEDIAN_US MIN_US MAX_US"
 *   bench_select index N | profile         one document on standard output
 *
 * Shape: N variants with 4 properties each from 4 namespaces, a host with 120 values in 3 of them;
 * about a third of the variants fits. The same numbers in every run. */
#include <ocivariant.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPETITIONS 41
#define DOCUMENT_MAX ((size_t)64 * 1024 * 1024)

static struct ocv_error err;

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "bench_select: %s\n", err.message);
        exit(1);
    }
}

#define put(buffer, ...) must(ocv_buffer_printf(buffer, &err, __VA_ARGS__))

static unsigned pseudo_random(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 16;
}

/* The host: gpu :: arch (50 values), gpu :: runtime (40), cpu :: level (20), cpu :: simd (10). */
static void make_profile(struct ocv_buffer *out)
{
    static const struct {
        const char *ns, *feature;
        int values;
        bool first, last;
    } features[] = {{"benchgpu", "arch", 50, true, false},
                    {"benchgpu", "runtime", 40, false, true},
                    {"benchcpu", "level", 20, true, false},
                    {"benchcpu", "simd", 10, false, true}};
    put(out, "{\"schema\":\"dev.ocivariant.profile/v1\",\"platform\":{\"os\":\"linux\","
             "\"architecture\":\"amd64\"},\"namespaces\":[");
    for (size_t f = 0; f < sizeof(features) / sizeof(features[0]); f++) {
        if (features[f].first)
            put(out, "%s{\"namespace\":\"%s\",\"features\":[", f > 0 ? "," : "", features[f].ns);
        put(out, "%s{\"name\":\"%s\",\"values\":[", features[f].first ? "" : ",",
            features[f].feature);
        for (int v = 0; v < features[f].values; v++)
            put(out, "%s\"%d.%d\"", v > 0 ? "," : "", v / 10, v % 10);
        put(out, "]}%s", features[f].last ? "]}" : "");
    }
    put(out, "]}");
}

static void make_entry(struct ocv_buffer *out, unsigned i, unsigned *seed)
{
    /* one in three asks for values that this host has; the others fail in one or more features */
    unsigned beyond = i % 3 == 0 ? 0 : 1 + pseudo_random(seed) % 2;
    unsigned arch = pseudo_random(seed) % 50 + (beyond == 1 ? 50 : 0);
    unsigned runtime = pseudo_random(seed) % 40 + (beyond == 2 ? 40 : 0);
    unsigned level = pseudo_random(seed) % 20;
    unsigned simd = pseudo_random(seed) % 10;
    put(out,
        "%s{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"digest\":\"sha256:%064x\","
        "\"size\":1024,\"platform\":{\"architecture\":\"amd64\",\"os\":\"linux\","
        "\"variant\":\"x-build%u\"},\"annotations\":{\"" OCV_ANNOTATION_LABEL "\":\"build%u\","
        "\"" OCV_ANNOTATION_PROPERTIES "\":\"benchcpu :: level :: %u.%u, benchcpu :: simd :: 0.%u, "
        "benchgpu :: arch :: %u.%u, benchgpu :: runtime :: %u.%u\"}}",
        i > 0 ? "," : "", i + 1, i, i, level / 10, level % 10, simd, arch / 10, arch % 10,
        runtime / 10, runtime % 10);
}

static void make_index(struct ocv_buffer *out, unsigned n)
{
    unsigned seed = 817;
    put(out, "{\"schemaVersion\":2,\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX "\",\"annotations\":{"
             "\"" OCV_ANNOTATION_SCHEMA "\":\"1\",\"" OCV_ANNOTATION_NAMESPACES
             "\":\"benchgpu, benchcpu\"},\"manifests\":[");
    for (unsigned i = 0; i < n; i++)
        make_entry(out, i, &seed);
    put(out, "]}");
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show(const char *name, double *times)
{
    qsort(times, REPETITIONS, sizeof(*times), by_value);
    printf("%s %.1f %.1f %.1f\n", name, times[REPETITIONS / 2], times[0], times[REPETITIONS - 1]);
}

/* A measurement counts only if the result is the expected one. */
static void must_choose(const struct ocv_decision *decision, size_t n)
{
    size_t fits = ocv_decision_order_count(decision);
    if (!ocv_decision_selected(decision) || fits < n / 4 || fits > n / 2 + 1) {
        fprintf(stderr, "bench_select: %zu of %zu fit\n", fits, n);
        exit(1);
    }
}

static void measure(unsigned n, const struct ocv_profile *profile)
{
    double parse[REPETITIONS], select[REPETITIONS], both[REPETITIONS];
    struct ocv_buffer text;
    ocv_buffer_init(&text, DOCUMENT_MAX);
    make_index(&text, n);
    for (int i = -3; i < REPETITIONS; i++) {
        struct ocv_index *index = NULL;
        struct ocv_decision *decision = NULL;
        double start = now_us();
        must(ocv_index_parse(text.data, text.len, OCV_MEDIA_TYPE_INDEX, &index, &err));
        double parsed = now_us();
        must(ocv_resolve(index, profile, NULL, &decision, &err));
        double end = now_us();
        must_choose(decision, n);
        if (i >= 0) {
            parse[i] = parsed - start;
            select[i] = end - parsed;
            both[i] = end - start;
        }
        ocv_decision_free(decision);
        ocv_index_free(index);
    }
    char name[64];
    snprintf(name, sizeof(name), "parse-%u", n);
    show(name, parse);
    snprintf(name, sizeof(name), "select-%u", n);
    show(name, select);
    snprintf(name, sizeof(name), "parse+select-%u", n);
    show(name, both);
    ocv_buffer_free(&text);
}

int main(int argc, char **argv)
{
    struct ocv_buffer text;
    ocv_buffer_init(&text, DOCUMENT_MAX);
    if (argc == 3 && strcmp(argv[1], "index") == 0) {
        make_index(&text, (unsigned)strtoul(argv[2], NULL, 10));
        fwrite(text.data, 1, text.len, stdout);
    } else if (argc == 2 && strcmp(argv[1], "profile") == 0) {
        make_profile(&text);
        fwrite(text.data, 1, text.len, stdout);
    } else if (argc == 2 && strcmp(argv[1], "run") == 0) {
        struct ocv_profile *profile = NULL;
        make_profile(&text);
        must(ocv_profile_parse(text.data, text.len, &profile, &err));
        measure(8, profile);
        measure(200, profile);
        measure(1000, profile);
        ocv_profile_free(profile);
    } else {
        fprintf(stderr, "usage: bench_select run | index N | profile\n");
        return 2;
    }
    ocv_buffer_free(&text);
    return 0;
}
