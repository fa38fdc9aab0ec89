/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* AMD's kpack: libraries whose code is in archives, and which archives are theirs. */
#include "lib/internal/content/derived.h"
#include "lib/internal/content/reader/reader.h"
#include "test/unit/content/content_util.h"

#include <stdlib.h>
#include <string.h>

/* One value of each form, and how many bytes it has; 0: it is cut off, or none. */
static const struct value {
    unsigned char bytes[40];
    size_t len, whole;
} values[] = {
    {{0x05}, 1, 1},
    {{0xff}, 1, 1},
    {{0xc0}, 1, 1},
    {{0xc3}, 1, 1},
    {{0xa2, 'a', 'b'}, 3, 3},
    {{0xa2, 'a'}, 2, 0},
    {{0xc4, 2, 1, 2}, 4, 4},
    {{0xc5, 0, 1, 9}, 4, 4},
    {{0xc6, 0, 0, 0, 1, 9}, 6, 6},
    {{0xc6, 0xff, 0xff, 0xff, 0xff, 9}, 6, 0},
    {{0xc7, 1, 7, 9}, 4, 4},
    {{0xc8, 0, 1, 7, 9}, 5, 5},
    {{0xc9, 0, 0, 0, 1, 7, 9}, 7, 7},
    {{0xca, 1, 2, 3, 4}, 5, 5},
    {{0xcb, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 9},
    {{0xcb, 1, 2, 3, 4, 5, 6, 7}, 8, 0},
    {{0xcc, 1}, 2, 2},
    {{0xcf, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 9},
    {{0xd0, 1}, 2, 2},
    {{0xd3, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 9},
    {{0xd4, 7, 1}, 3, 3},
    {{0xd8, 7}, 18, 18},
    {{0xd8, 7}, 17, 0},
    {{0xd9, 1, 'a'}, 3, 3},
    {{0xda, 0, 1, 'a'}, 4, 4},
    {{0xdb, 0, 0, 0, 1, 'a'}, 6, 6},
    {{0x92, 1, 0x91, 2}, 4, 4},
    {{0x92, 1}, 2, 0},
    {{0xdc, 0, 2, 1, 1}, 5, 5},
    {{0xdd, 0, 0, 0, 1, 1}, 6, 6},
    {{0xdd, 0xff, 0xff, 0xff, 0xff, 1}, 6, 0},
    {{0x81, 1, 0x81, 2, 3}, 5, 5},
    {{0xde, 0, 1, 1, 1}, 5, 5},
    {{0xdf, 0, 0, 0, 1, 1, 1}, 7, 7},
    {{0xdf, 0xff, 0xff, 0xff, 0xff, 1, 1}, 7, 0},
    {{0xc1}, 1, 0},
    {{0}, 0, 0},
};

START_TEST(test_each_form_of_a_value_is_passed_over)
{
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct ocv_msgpack m = {.at = values[i].bytes, .end = values[i].bytes + values[i].len};
        ocv_msgpack_skip(&m);
        ck_assert_msg(m.bad == !values[i].whole, "value %zu", i);
        if (!m.bad)
            ck_assert_msg(m.at == values[i].bytes + values[i].whole, "value %zu", i);
    }
}
END_TEST

/* Lists in lists, as deep as there are bytes: no recursion. */
START_TEST(test_depth_has_no_limit)
{
    size_t n = (size_t)1 << 22;
    unsigned char *deep = malloc(n);
    ck_assert_ptr_nonnull(deep);
    memset(deep, 0x91, n);
    struct ocv_msgpack m = {.at = deep, .end = deep + n};
    ocv_msgpack_skip(&m);
    ck_assert(m.bad);
    deep[n - 1] = 0;
    m = (struct ocv_msgpack){.at = deep, .end = deep + n};
    ocv_msgpack_skip(&m);
    ck_assert(!m.bad && m.at == m.end);
    free(deep);
}
END_TEST

/* A map of a name and paths, each in its long form; the caller frees it. */
static unsigned char *make_ref(size_t name_len, size_t n_paths, size_t path_len, size_t *len)
{
    char *text;
    FILE *out = open_memstream(&text, len);
    fputs("\x82\xab"
          "kernel_name\xda",
          out);
    fprintf(out, "%c%c%*s", (int)(name_len >> 8), (int)(name_len & 255), (int)name_len, "n");
    fprintf(out, "\xb2kpack_search_paths\xdc%c%c", (int)(n_paths >> 8), (int)(n_paths & 255));
    for (size_t i = 0; i < n_paths; i++)
        fprintf(out, "\xda%c%c%*zu", (int)(path_len >> 8), (int)(path_len & 255), (int)path_len, i);
    fclose(out);
    return (unsigned char *)text;
}

static int parse_ref(size_t name_len, size_t n_paths, size_t path_len)
{
    size_t len;
    unsigned char *ref = make_ref(name_len, n_paths, path_len, &len);
    struct ocv_content_facts facts = {0};
    int found = ocv_kpack_ref_parse(ref, len, &facts, NULL);
    ck_assert_uint_eq(facts.n, found == 1 ? n_paths + 1 : 0);
    ocv_content_facts_free(&facts);
    free(ref);
    return found;
}

START_TEST(test_a_reference_at_its_limits)
{
    ck_assert_int_eq(parse_ref(512, 64, 512), 1);
    ck_assert_int_eq(parse_ref(513, 1, 10), 0);
    ck_assert_int_eq(parse_ref(10, 65, 10), 0);
    ck_assert_int_eq(parse_ref(10, 1, 513), 0);
    ck_assert_int_eq(parse_ref(10, 0, 10), 0);
    ck_assert_int_eq(parse_ref(0, 1, 10), 0);
}
END_TEST

START_TEST(test_what_is_no_reference)
{
    static const char *const refs[] = {
        "",
        "\x80",
        "\x81\xabkernel_name\xa1n",
        "\x81\xb2kpack_search_paths\x91\xa1p",
        "\x82\xabkernel_name\xa1n\xb2kpack_search_paths\x91\x01",
        "\x82\xabkernel_name\x01\xb2kpack_search_paths\x91\xa1p",
        "\x82\xabkernel_name\xa1\n\xb2kpack_search_paths\x91\xa1p", /* no text for a report */
        "\x82\xabkernel_name\xa1n\xb2kpack_search_paths\x91\xa1\x80",
        "\x82\xabkernel_name\xa1n\xb2kpack_search_paths\x92\xa1p",
    };
    for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++) {
        struct ocv_content_facts facts = {0};
        ck_assert_msg(ocv_kpack_ref_parse(refs[i], strlen(refs[i]), &facts, NULL) == 0, "%zu", i);
        ck_assert_uint_eq(facts.n, 0);
    }
}
END_TEST

/* Where the section of kpack.so begins; its header is the third. */
static size_t ref_place(const struct ocv_buffer *bytes, size_t *header)
{
    uint64_t table, place;
    memcpy(&table, bytes->data + 40, sizeof(table));
    *header = (size_t)table + 3 * 64 + 24;
    memcpy(&place, bytes->data + *header, sizeof(place));
    return (size_t)place;
}

#define FOUND "kpack-name lib/libx.so 0;kpack-path ../.kpack/x_@GFXARCH@.kpack 0;"

/* The section's place is known at the end only: it may begin on each side of a window's end, and
 * not be aligned. */
START_TEST(test_a_reference_anywhere)
{
    struct ocv_buffer bytes = sample("kpack.so");
    size_t header, ref = ref_place(&bytes, &header);
    uint64_t table;
    memcpy(&table, bytes.data + 40, sizeof(table));
    for (size_t gap = (256 << 10) - ref - 120; gap < (256 << 10) - ref + 40; gap++) {
        size_t len = bytes.len + gap;
        char *longer = calloc(1, len);
        memcpy(longer, bytes.data, ref);
        memcpy(longer + ref + gap, bytes.data + ref, bytes.len - ref);
        uint64_t moved[] = {table + gap, ref + gap};
        memcpy(longer + 40, &moved[0], 8);
        memcpy(longer + header + gap, &moved[1], 8);
        uint64_t names; /* they come behind it */
        memcpy(&names, longer + table + gap + 4 * 64 + 24, 8);
        names += gap;
        memcpy(longer + table + gap + 4 * 64 + 24, &names, 8);
        struct ocv_content_reader *reader = ocv_content_reader_new();
        struct ocv_content_facts facts = read_chunks(reader, longer, len, 100000, gap & 1);
        char *text = facts_text(&facts);
        ck_assert_msg(strstr(text, FOUND), "gap of %zu: %s", gap, text);
        ck_assert_msg(!strstr(text, "not-looked-at"), "gap of %zu: %s", gap, text);
        free(text);
        ocv_content_facts_free(&facts);
        ocv_content_reader_free(reader);
        free(longer);
    }
    ocv_buffer_free(&bytes);
}
END_TEST

/* Texts that look like one before it: as many as are looked at, and one more. */
START_TEST(test_decoys)
{
    for (size_t decoys = OCV_REFS_MAX - 1; decoys <= OCV_REFS_MAX; decoys++) {
        struct ocv_buffer bytes = sample("kpack.so");
        size_t header, ref = ref_place(&bytes, &header), step = 8192;
        uint64_t table, place = ref + decoys * step, names;
        memcpy(&table, bytes.data + 40, sizeof(table));
        size_t len = bytes.len + decoys * step;
        char *longer = calloc(1, len);
        memcpy(longer, bytes.data, ref);
        for (size_t i = 0; i < decoys; i++)
            memcpy(longer + ref + i * step, "kpack_search_paths", 18);
        memcpy(longer + place, bytes.data + ref, bytes.len - ref);
        uint64_t moved = table + decoys * step;
        memcpy(longer + 40, &moved, 8);
        memcpy(longer + header + decoys * step, &place, 8);
        char *at = longer + moved + 4 * 64 + 24;
        memcpy(&names, at, 8);
        names += decoys * step;
        memcpy(at, &names, 8);
        struct ocv_content_reader *reader = ocv_content_reader_new();
        struct ocv_content_facts facts = read_chunks(reader, longer, len, 1 << 20, false);
        char *text = facts_text(&facts);
        ck_assert_msg(strstr(text, decoys < OCV_REFS_MAX
                                       ? FOUND
                                       : "a reference to .kpack archives that cannot be read"),
                      "%zu: %s", decoys, text);
        free(text);
        ocv_content_facts_free(&facts);
        ocv_content_reader_free(reader);
        free(longer);
        ocv_buffer_free(&bytes);
    }
}
END_TEST

/* As many sections of that name as a table has would all be read. */
START_TEST(test_only_the_first_reference_is_read)
{
    struct ocv_buffer bytes = sample("kpack.so");
    size_t place;
    ref_place(&bytes, &place);
    char *third = bytes.data + place - 24;
    memcpy(third - 2 * (ptrdiff_t)64, third, 64);
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_content_facts facts = read_chunks(reader, bytes.data, bytes.len, 1000, false);
    size_t found = 0;
    for (size_t i = 0; i < facts.n; i++)
        if (facts.list[i].fact == OCV_CONTENT_KPACK_NAME ||
            facts.list[i].fact == OCV_CONTENT_KPACK_PATH) {
            found++;
            ck_assert_int_eq(facts.list[i].count, 1);
        }
    ck_assert_uint_eq(found, 3);
    ocv_content_facts_free(&facts);
    ocv_content_reader_free(reader);
    ocv_buffer_free(&bytes);
}
END_TEST

static char *archive_facts(const char *bytes, size_t len)
{
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_content_facts facts = read_chunks(reader, bytes, len, 1000, true);
    char *text = facts_text(&facts);
    ocv_content_facts_free(&facts);
    ocv_content_reader_free(reader);
    return text;
}

START_TEST(test_an_archive_that_cannot_be_read_is_said_so)
{
    struct ocv_buffer bytes = sample("x_gfx942.kpack");
    static const size_t lengths[] = {8, 15, 100, 512, 700};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        char *text = archive_facts(bytes.data, lengths[i]);
        ck_assert_msg(strstr(text, "not-looked-at a .kpack archive that cannot be read"), "%zu: %s",
                      lengths[i], text);
        free(text);
    }
    bytes.data[4] = 2; /* another version */
    char *text = archive_facts(bytes.data, bytes.len);
    ck_assert_str_eq(text, "not-looked-at a .kpack archive that cannot be read 0;");
    free(text);
    ocv_buffer_free(&bytes);
}
END_TEST

/* A table of 8 MiB, and one of a byte more. */
START_TEST(test_the_longest_table)
{
    static const char toc[] = "\x82\xa3toc\x81\xa6"
                              "libx#0\x81\xa6gfx942\x80\xa1z\xc6";
    size_t max = (size_t)8 << 20;
    for (size_t more = 0; more < 2; more++) {
        size_t len = 64 + max + more, fill = max + more - (sizeof(toc) - 1) - 4;
        char *bytes = calloc(1, len);
        uint64_t offset = 64;
        memcpy(bytes, "KPAK\1\0\0\0", 8);
        memcpy(bytes + 8, &offset, 8);
        memcpy(bytes + 64, toc, sizeof(toc) - 1);
        for (size_t i = 0; i < 4; i++)
            bytes[64 + sizeof(toc) - 1 + i] = (char)(fill >> (24 - 8 * i));
        char *text = archive_facts(bytes, len);
        ck_assert_str_eq(text, more ? "not-looked-at a .kpack archive that cannot be read 0;"
                                    : "kpack-code gfx942 libx 0;");
        free(text);
        free(bytes);
    }
}
END_TEST

static void add_facts(struct ocv_content_report *report, const char *path, const char *facts)
{
    struct ocv_content_report one = {0};
    struct ocv_error err = {0};
    char *text;
    int n = asprintf(&text,
                     "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": [{\"path\": \"%s\", "
                     "\"size\": 99, \"facts\": [%s]}]}",
                     path, facts);
    ck_assert_msg(ocv_content_report_read(text, (size_t)n, &one, &err) == OCV_OK, "%s",
                  err.message);
    ck_assert_int_eq(ocv_content_report_stack(report, &one, &err), OCV_OK); /* as layers are */
    free(text);
}

#define FACT(name, value) "{\"fact\": \"" name "\", \"value\": \"" value "\"}"
#define REF(name, path) FACT("kpack-name", name) "," FACT("kpack-path", path)
#define HAS(code) FACT("kpack-code", code)

static const struct positions {
    struct {
        const char *path, *facts;
    } files[5];
    const char *gpus;    /* that are proposed */
    const char *missing; /* a library without any archive */
} places[] = {
    {{{"opt/lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")},
      {"opt/.kpack/x_gfx942.kpack", HAS("gfx942 lib/libx.so")},
      {"opt/.kpack/x_gfx90a.kpack", HAS("gfx90a lib/libx.so") "," HAS("gfx90a lib/liby.so")}},
     "gfx90a gfx942 ",
     NULL},
    /* the library is in a later layer than its archive, or the other way */
    {{{"opt/.kpack/x_gfx942.kpack", HAS("gfx942 lib/libx.so")},
      {"opt/lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")}},
     "gfx942 ",
     NULL},
    /* a path without the word for the GPU; one from the root */
    {{{"lib/libx.so", REF("lib/libx.so", ".kpack/x.kpack")},
      {"lib/.kpack/x.kpack", HAS("gfx942 lib/libx.so")}},
     "gfx942 ",
     NULL},
    {{{"a/b/libx.so", REF("libx.so", "/opt/x.kpack")}, {"opt/x.kpack", HAS("gfx942 libx.so")}},
     "gfx942 ",
     NULL},
    /* no archive; one elsewhere; one of another library; a path that leads out of the root */
    {{{"lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")}}, "", "lib/libx.so"},
    {{{"a/lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")},
      {"b/.kpack/x_gfx942.kpack", HAS("gfx942 lib/libx.so")}},
     "",
     "a/lib/libx.so"},
    {{{"lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")},
      {".kpack/x_gfx942.kpack", HAS("gfx942 lib/libx.so.1")}},
     "",
     "lib/libx.so"},
    {{{"lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")},
      {".kpack/x_gfx942/y.kpack", HAS("gfx942 lib/libx.so")},
      {".kpack/x_.kpack", HAS("gfx942 lib/libx.so")},
      {".kpack/x_gfx942.kpack.old", HAS("gfx942 lib/libx.so")}},
     "",
     "lib/libx.so"},
    {{{"lib/libx.so", REF("libx.so", "../../.kpack/x.kpack")},
      {".kpack/x.kpack", HAS("gfx942 libx.so")}},
     "",
     "lib/libx.so"},
    /* one library has code for both, the other for one */
    {{{"lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")},
      {"lib/liby.so", REF("lib/liby.so", "../.kpack/x_@GFXARCH@.kpack")},
      {".kpack/x_gfx942.kpack", HAS("gfx942 lib/libx.so") "," HAS("gfx942 lib/liby.so")},
      {".kpack/x_gfx90a.kpack", HAS("gfx90a lib/libx.so")}},
     "gfx942 ",
     NULL},
    /* a library without its archives beside one that was not split */
    {{{"lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")},
      {"lib/libz.so", FACT("hip-code", "gfx942")}},
     "",
     "lib/libx.so"},
    /* wheels are installed into one directory */
    {{{"torch-2.10-cp313.whl/torch/lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")},
      {"torch_gfx942-2.10-cp313.whl/torch/.kpack/x_gfx942.kpack", HAS("gfx942 lib/libx.so")}},
     "gfx942 ",
     NULL},
    /* an archive alone; code that no library asks for is nobody's */
    {{{".kpack/x_gfx942.kpack", HAS("gfx942 lib/libx.so")}}, "gfx942 ", NULL},
    {{{"lib/libx.so", REF("lib/libx.so", "../.kpack/x_@GFXARCH@.kpack")},
      {".kpack/x_gfx942.kpack", HAS("gfx942 lib/libx.so")},
      {".kpack/y_gfx90a.kpack", HAS("gfx90a lib/liby.so")}},
     "gfx942 ",
     NULL},
};

START_TEST(test_the_archives_of_a_library)
{
    const struct positions *m = &places[_i];
    struct ocv_content_report report = {0};
    struct ocv_content_derived derived = {0};
    struct ocv_error err = {0};
    char gpus[128] = "", *missing = NULL;
    size_t len = 0;
    for (size_t i = 0; i < 5 && m->files[i].path; i++)
        add_facts(&report, m->files[i].path, m->files[i].facts);
    for (size_t twice = 0; twice < 2; twice++) { /* a report that was joined stays as it is */
        ocv_content_derived_free(&derived);
        ck_assert_int_eq(ocv_content_derive(&report, NULL, &derived, &err), OCV_OK);
    }
    for (size_t i = 0; i < derived.n_properties; i++) {
        ck_assert(!strncmp(derived.properties[i], "amd :: gfx_arch :: ", 19));
        len += (size_t)snprintf(gpus + len, sizeof(gpus) - len, "%s ", derived.properties[i] + 19);
    }
    for (size_t i = 0; i < report.n_files; i++)
        for (size_t k = 0; k < report.files[i].facts.n; k++) {
            const struct ocv_content_finding *it = &report.files[i].facts.list[k];
            ck_assert_int_eq(it->count, 1);
            if (it->fact == OCV_CONTENT_UNSEEN && !strcmp(it->value, OCV_CONTENT_KPACK_MISSING))
                missing = report.files[i].path;
        }
    ck_assert_str_eq(gpus, m->gpus);
    if (m->missing)
        ck_assert_pstr_eq(missing, m->missing);
    else
        ck_assert_ptr_null(missing);
    ocv_content_derived_free(&derived);
    ocv_content_report_free(&report);
}
END_TEST

/* Archives and libraries: for how many GPUs each archive has code, of which library, and what the
 * report may still keep. */
static const struct {
    size_t libraries, archives, gpus;
    const char *of;
    size_t room;
    const char *error;
} numbers[] = {
    {100, 1, 512, "L", OCV_CONTENT_KEPT_MAX, NULL},
    {1, 1, 513, "L", OCV_CONTENT_KEPT_MAX, "l0.so: code for more than 512 targets"},
    {0, 1, 512, "L", OCV_CONTENT_KEPT_MAX, NULL},
    {0, 1, 513, "L", OCV_CONTENT_KEPT_MAX, "x_0.kpack: code for more than 512 targets"},
    {1, 1, 100, "L", 5000, "the findings in its files exceed 16 MiB"},
    {100, 20, 100, "M", OCV_CONTENT_KEPT_MAX, NULL},
    {1000, 20, 300, "M", OCV_CONTENT_KEPT_MAX,
     "more libraries and .kpack archives than a real image has"},
};

/* What files say together is the publisher's choice as well. */
START_TEST(test_as_much_as_files_may_say_together)
{
    struct ocv_content_report report = {0};
    struct ocv_content_derived derived = {0};
    struct ocv_error err = {0};
    char path[32], value[64];
    for (size_t i = 0; i < numbers[_i].libraries; i++) {
        struct ocv_content_facts facts = {0};
        snprintf(path, sizeof(path), "l%zu.so", i);
        ocv_content_facts_add(&facts, OCV_CONTENT_KPACK_NAME, "L", 0, 1, &err);
        ocv_content_facts_add(&facts, OCV_CONTENT_KPACK_PATH, "x_@GFXARCH@.kpack", 0, 1, &err);
        ck_assert_int_eq(ocv_content_report_file(&report, path, 99, &facts, &err), OCV_OK);
    }
    for (size_t i = 0; i < numbers[_i].archives; i++) {
        struct ocv_content_facts facts = {0};
        snprintf(path, sizeof(path), "x_%zu.kpack", i);
        for (size_t k = 0; k < numbers[_i].gpus; k++) {
            snprintf(value, sizeof(value), "gfx%zx %s", k, numbers[_i].of);
            ocv_content_facts_add(&facts, OCV_CONTENT_KPACK_CODE, value, 1, 1, &err);
        }
        ck_assert_int_eq(ocv_content_report_file(&report, path, 99, &facts, &err), OCV_OK);
    }
    report.kept = OCV_CONTENT_KEPT_MAX - numbers[_i].room;
    int status = ocv_content_derive(&report, NULL, &derived, &err);
    if (numbers[_i].error) {
        ck_assert_int_eq(status, OCV_ERR_DATA);
        ck_assert_str_eq(err.message, numbers[_i].error);
    } else {
        ck_assert_msg(status == OCV_OK, "%s", err.message);
    }
    ocv_content_derived_free(&derived);
    ocv_content_report_free(&report);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("kpack");
    TCase *tcase = tcase_create("kpack");
    tcase_add_test(tcase, test_each_form_of_a_value_is_passed_over);
    tcase_add_test(tcase, test_depth_has_no_limit);
    tcase_add_test(tcase, test_a_reference_at_its_limits);
    tcase_add_test(tcase, test_what_is_no_reference);
    tcase_add_test(tcase, test_a_reference_anywhere);
    tcase_add_test(tcase, test_decoys);
    tcase_add_test(tcase, test_only_the_first_reference_is_read);
    tcase_add_test(tcase, test_an_archive_that_cannot_be_read_is_said_so);
    tcase_add_test(tcase, test_the_longest_table);
    tcase_add_loop_test(tcase, test_the_archives_of_a_library, 0,
                        sizeof(places) / sizeof(places[0]));
    tcase_add_loop_test(tcase, test_as_much_as_files_may_say_together, 0,
                        sizeof(numbers) / sizeof(numbers[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
