/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fleet in one process: reading it, checking an index for it, placing a job, one node that
 * changes.
 *
 *   bench_match index       the index on standard output
 *   bench_match FLEET       a table: "NAME MEDIAN_US MIN_US MAX_US", then "memory-MiB MIB"
 *
 * FLEET: JSON Lines of `variantctl fleet generate`. Names with "plain" are the same done without
 * classes, by what a node calls. The index has 64 variants of NVIDIA, AMD and x86 levels and a
 * default entry; the fleet stands ten times over for what is said of 100,000 nodes. */
#include <ocivariant.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define REPETITIONS 11
#define DOCUMENT_MAX ((size_t)1024 * 1024 * 1024)
#define VARIANTS 64
#define GANG 64
#define TIMES 10

static struct ocv_error err;
static struct ocv_buffer lines, packed, many, index_text;
static struct ocv_index *the_index;

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "bench_match: %s\n", err.message);
        exit(1);
    }
}

#define put(buffer, ...) must(ocv_buffer_printf(buffer, &err, __VA_ARGS__))

static void read_file(const char *path, struct ocv_buffer *out)
{
    char chunk[65536];
    size_t n;
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        must(ocv_buffer_append(out, chunk, n, &err));
    fclose(file);
}

static void make_properties(struct ocv_buffer *out, int i)
{
    static const char *const archs[] = {"70_real", "80_real",    "86_real",
                                        "90_real", "90_virtual", "100_real"};
    if (i % 8)
        put(out, "nvidia :: cuda_version_lower_bound :: 12.%d, nvidia :: sm_arch :: %s", i % 10,
            archs[i * 7 % 6]);
    else
        put(out, "amd :: gfx_arch :: gfx94%d", i % 3);
    if (i % 3 == 0)
        put(out, ", x86_64 :: level :: v%d", 2 + i % 3);
}

#define ENTRY                                                                                    \
    "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"digest\":\"sha256:%064d\"," \
    "\"size\":1000,\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"%s}%s"

static void make_index(struct ocv_buffer *out)
{
    char hidden[40], label[160];
    put(out,
        "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
        "\"annotations\":{\"dev.ocivariant.schema\":\"1\",\"dev.ocivariant.namespaces\":"
        "\"nvidia, amd, x86_64\"},\"manifests\":[" ENTRY "}",
        VARIANTS, "", "");
    for (int i = 0; i < VARIANTS; i++) {
        snprintf(hidden, sizeof(hidden), ",\"variant\":\"x-v%d\"", i);
        snprintf(label, sizeof(label),
                 ",\"annotations\":{\"dev.ocivariant.label\":\"v%d\","
                 "\"dev.ocivariant.properties\":\"",
                 i);
        put(out, "," ENTRY, i, hidden, label);
        make_properties(out, i);
        put(out, "\"}}");
    }
    put(out, "]}");
}

/* The packed fleet, with each node under several names. */
static void multiply(const struct ocv_fleet *fleet, struct ocv_buffer *out)
{
    const char *end, *at = packed.data;
    put(out, "{\"schema\":\"dev.ocivariant.fleet/v1\",\"classes\":%zu,\"nodes\":%zu}\n",
        ocv_fleet_class_count(fleet), ocv_fleet_count(fleet) * TIMES);
    for (at = strchr(at, '\n') + 1; *at == '{' && !strncmp(at, "{\"class", 7); at = end + 1) {
        end = strchr(at, '\n');
        must(ocv_buffer_append(out, at, (size_t)(end - at) + 1, &err));
    }
    for (int t = 0; t < TIMES; t++)
        for (size_t k, i = 0; i < ocv_fleet_count(fleet); i++) {
            struct ocv_node node = ocv_fleet_node(fleet, i, &k);
            put(out, "{\"name\":\"t%d-%s\",\"class\":\"%s\"}\n", t, node.name,
                ocv_fleet_class(fleet, k));
        }
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `step` does the work and returns the time of its measured part. */
static void measure(const char *name, double (*step)(void))
{
    double times[REPETITIONS];
    step(); /* warm-up */
    for (size_t i = 0; i < REPETITIONS; i++)
        times[i] = step();
    qsort(times, REPETITIONS, sizeof(*times), by_value);
    printf("%s %.1f %.1f %.1f\n", name, times[REPETITIONS / 2], times[0], times[REPETITIONS - 1]);
    fflush(stdout);
}

static struct ocv_fleet *fleet_of(const struct ocv_buffer *text)
{
    struct ocv_fleet *fleet;
    struct ocv_fleet_reading how = {.source = "bench"};
    must(ocv_fleet_new(&fleet, &err));
    must(ocv_fleet_read(fleet, text->data, text->len, &how, &err));
    return fleet;
}

static double read_it(const struct ocv_buffer *text)
{
    double begin = now_us();
    struct ocv_fleet *fleet = fleet_of(text);
    double took = now_us() - begin;
    ocv_fleet_free(fleet);
    return took;
}

static double read_raw(void)
{
    return read_it(&lines);
}

static double read_packed(void)
{
    return read_it(&packed);
}

static double read_many(void)
{
    return read_it(&many);
}

static double read_plain(void)
{
    double begin = now_us();
    for (const char *end, *at = lines.data; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        struct ocv_profile *profile;
        must(ocv_profile_parse(at, (size_t)(end - at), &profile, &err));
        ocv_profile_free(profile);
    }
    return now_us() - begin;
}

static struct ocv_placement *place(const struct ocv_match *match)
{
    struct ocv_placement *placement;
    const struct ocv_match_role role = {.count = GANG};
    const struct ocv_match_request request = {.roles = &role, .n_roles = 1};
    must(ocv_match_place(match, &request, &placement, &err));
    return placement;
}

static struct ocv_fleet *fleet, *large;
static struct ocv_match *checked;

static double match_fleet(struct ocv_fleet *of)
{
    struct ocv_match *match;
    double begin = now_us();
    must(ocv_match_new(of, the_index, NULL, &match, &err));
    struct ocv_placement *placement = place(match);
    double took = now_us() - begin;
    ocv_placement_free(placement);
    ocv_match_free(match);
    return took;
}

static double match_10k(void)
{
    return match_fleet(fleet);
}

static double match_100k(void)
{
    return match_fleet(large);
}

static double resolve_classes(void)
{
    double begin = now_us();
    for (size_t k = 0; k < ocv_fleet_class_count(fleet); k++) {
        struct ocv_decision *decision;
        must(ocv_resolve(the_index, ocv_fleet_class_profile(fleet, k), NULL, &decision, &err));
        ocv_decision_free(decision);
    }
    return now_us() - begin;
}

static double resolve_nodes(void)
{
    double begin = now_us();
    for (size_t k, i = 0; i < ocv_fleet_count(fleet); i++) {
        struct ocv_decision *decision;
        ocv_fleet_node(fleet, i, &k);
        must(ocv_resolve(the_index, ocv_fleet_class_profile(fleet, k), NULL, &decision, &err));
        ocv_decision_free(decision);
    }
    return now_us() - begin;
}

static double gang(void)
{
    double begin = now_us();
    struct ocv_placement *placement = place(checked);
    double took = now_us() - begin;
    ocv_placement_free(placement);
    return took;
}

/* Time from the bytes of a changed profile to a decision. */
static double change(void)
{
    static size_t turn;
    const char *at = lines.data;
    struct ocv_profile *profile;
    for (size_t i = 0; i < turn % 8; i++)
        at = strchr(at, '\n') + 1;
    struct ocv_node node = ocv_fleet_node(large, turn++ % ocv_fleet_count(large), NULL);
    double begin = now_us();
    must(ocv_profile_parse(at, strcspn(at, "\n"), &profile, &err));
    must(ocv_fleet_change(large, &node, profile, &err));
    must(ocv_match_update(checked, &err));
    double took = now_us() - begin;
    ocv_profile_free(profile);
    return took;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    if (argc != 2) {
        fputs("usage: bench_match index | FLEET\n", stderr);
        return 2;
    }
    ocv_buffer_init(&lines, DOCUMENT_MAX);
    ocv_buffer_init(&packed, DOCUMENT_MAX);
    ocv_buffer_init(&many, DOCUMENT_MAX);
    ocv_buffer_init(&index_text, DOCUMENT_MAX);
    make_index(&index_text);
    if (!strcmp(argv[1], "index"))
        return fwrite(index_text.data, 1, index_text.len, stdout) != index_text.len;
    read_file(argv[1], &lines);
    must(ocv_index_parse(index_text.data, index_text.len, "application/vnd.oci.image.index.v1+json",
                         &the_index, &err));
    fleet = fleet_of(&lines);
    must(ocv_fleet_pack(fleet, &packed, &err));
    multiply(fleet, &many);
    large = fleet_of(&many);
    measure("read-profiles", read_raw);
    measure("read-profiles-plain", read_plain);
    measure("read-packed", read_packed);
    measure("read-packed-100000", read_many);
    measure("match-10000", match_10k);
    measure("match-100000", match_100k);
    measure("resolve-classes-plain", resolve_classes);
    measure("resolve-10000-plain", resolve_nodes);
    must(ocv_match_new(large, the_index, NULL, &checked, &err));
    measure("gang", gang);
    measure("change", change);
    getrusage(RUSAGE_SELF, &usage);
    printf("memory-MiB %.1f\n", (double)usage.ru_maxrss / 1024);
    return 0;
}
