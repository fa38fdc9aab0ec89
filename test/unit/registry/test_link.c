/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Link headers, RFC 8288: which target is the next page. */
#include "lib/registry/registry_internal.h"
#include "test/unit/suite.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *header, *next; /* NULL: none */
} links[] = {
    {"</v2/a/tags/list?last=b&n=2>; rel=\"next\"", "/v2/a/tags/list?last=b&n=2"},
    {"</p?x>; rel=next", "/p?x"},
    {"</p?x>;rel=next;title=\"a page\"", "/p?x"},
    {"</p?x> ; title=\"rel=prev, <no>\" ; REL = \"Next\"", "/p?x"},
    {"</p?x>; title=\"a \\\" quote\"; rel=next", "/p?x"},
    {"</p?x>; rel=\"last next\"", "/p?x"},
    {"</p?x>; rel=\"next\tprefetch\"", "/p?x"},
    {"</first>; rel=first, </p?x>; rel=next, </last>; rel=last", "/p?x"},
    {"</p?a,b;c>; rel=next", "/p?a,b;c"},
    {" , </p?x>; rel=next", "/p?x"},
    {"</p?x>; rel=next, </q?y>; rel=next", "/p?x"},
    {"<https://r.example/p?x>; rel=\"next\"", "https://r.example/p?x"},
    {"</p?x>; crossorigin; rel=next", "/p?x"},
    {"</p?x>; rel=prev", NULL},
    {"</p?x>; rel=prev; rel=next", NULL}, /* the first one counts */
    {"</p?x>; rel=nextish", NULL},
    {"</p?x>; title=next", NULL},
    {"</p?x>; anchor=\"#other\"; rel=next", NULL},
    {"</p?x>", NULL},
    {"</p?x; rel=next", NULL},
    {"/p?x; rel=next", NULL},
    {"</p?x>; rel=\"next", "/p?x"}, /* not closed */
    {"<>; rel=next", NULL},
    {"", NULL},
};

START_TEST(next_of_a_header)
{
    const char *target = NULL, *wanted = links[_i].next;
    size_t n = ocv_link_next(links[_i].header, strlen(links[_i].header), &target);
    ck_assert_msg(n == (wanted ? strlen(wanted) : 0), "%s: %zu", links[_i].header, n);
    if (wanted)
        ck_assert_msg(!strncmp(target, wanted, n), "%s: %.*s", links[_i].header, (int)n, target);
}
END_TEST

/* Lines of an answer, as they arrive. */
static void answer(struct ocv_response *response, const char *const *lines)
{
    *response = (struct ocv_response){0};
    ocv_response_reset(response);
    for (; *lines; lines++) {
        char line[256];
        size_t n = (size_t)snprintf(line, sizeof(line), "%s\r\n", *lines);
        ck_assert_uint_eq(ocv_response_header(line, 1, n, response), n);
    }
}

START_TEST(next_of_several_headers)
{
    struct ocv_response r;
    const char *const lines[] = {"HTTP/1.1 200 OK",
                                 "Link: </a>; rel=prev",
                                 "link: </b?n>; rel=next",
                                 "LINK: </c>; rel=last, </d>; rel=next",
                                 "",
                                 NULL};
    answer(&r, lines);
    ck_assert_str_eq(r.next, "/b?n");
    ocv_response_reset(&r);
}
END_TEST

START_TEST(status_line_without_a_status)
{
    struct ocv_response r;
    const char *const lines[] = {"HTTP/1.1", NULL}, *const more[] = {"HTTP/1.1 ", NULL};
    answer(&r, lines);
    ck_assert_int_eq(r.status, 0);
    answer(&r, more);
    ck_assert_int_eq(r.status, 0);
}
END_TEST

static const struct {
    const char *header;
    int64_t start, end, total; /* -1: the header says nothing */
} ranges[] = {
    {"bytes 0-4/12", 0, 4, 12},    {"BYTES 5-11/12", 5, 11, 12},
    {"bytes 0-4/*", 0, 4, -1},     {"bytes 0-4/12x", -1, -1, -1},
    {"bytes 0-4/", -1, -1, -1},    {"bytes 0-4/x", -1, -1, -1},
    {"bytes 0-4/**", -1, -1, -1},  {"bytes 4-0/12", -1, -1, -1},
    {"bytes 0-12/12", -1, -1, -1}, {"bytes 0-0/1", 0, 0, 1},
    {"bytes 0/12", -1, -1, -1},    {"bytes -4/12", -1, -1, -1},
    {"items 0-4/12", -1, -1, -1},  {"bytes 0-99999999999999999999/*", -1, -1, -1},
};

START_TEST(range_of_a_part)
{
    struct ocv_response r;
    char line[128];
    snprintf(line, sizeof(line), "Content-Range: %s", ranges[_i].header);
    const char *const lines[] = {"HTTP/1.1 206 Partial Content", line, "", NULL};
    answer(&r, lines);
    ck_assert_int_eq(r.range_start, ranges[_i].start);
    ck_assert_int_eq(r.range_end, ranges[_i].end);
    ck_assert_int_eq(r.range_total, ranges[_i].total);
    ocv_response_reset(&r);
}
END_TEST

/* A line that is longer than any that matters is passed over whole. */
START_TEST(lines_at_their_limit)
{
    struct ocv_response r = {0};
    ocv_response_reset(&r);
    for (size_t n = OCV_LOCATION_MAX + 60; n < OCV_LOCATION_MAX + 70; n++) {
        char *line = malloc(n);
        ck_assert_ptr_nonnull(line);
        memset(line, 'a', n);
        memcpy(line, "Docker-Content-Digest: ", 23);
        ck_assert_uint_eq(ocv_response_header(line, 1, n, &r), n);
        ck_assert_str_eq(r.digest, "");
        free(line);
    }
    char *status = strdup("HTTP/1.1 200 OK\r\n"), *length = strdup("Content-Length: 17\r\n");
    ck_assert_uint_eq(ocv_response_header(status, 1, strlen(status), &r), strlen(status));
    ck_assert_uint_eq(ocv_response_header(length, 1, strlen(length), &r), strlen(length));
    ck_assert_int_eq(r.content_length, 17);
    free(status);
    free(length);
    ocv_response_reset(&r);
}
END_TEST

/* A value that is too long, or that could not be a header again, is none. */
START_TEST(values_that_are_kept)
{
    struct ocv_response r = {0};
    for (size_t len = sizeof(r.etag) - 2; len <= sizeof(r.etag) + 1; len++)
        for (int clean = 0; clean < 2; clean++) {
            char line[sizeof(r.etag) + 16];
            ocv_response_reset(&r);
            size_t n = (size_t)snprintf(line, sizeof(line), "ETag: %0*d", (int)len, 0);
            line[n - 2] = clean ? 'x' : '\x1f';
            ck_assert_uint_eq(ocv_response_header(line, 1, n, &r), n);
            ck_assert_uint_eq(strlen(r.etag), clean && len < sizeof(r.etag) ? len : 0);
            ck_assert_str_eq(r.filters, "");
        }
    ocv_response_reset(&r);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("link");
    TCase *tc = tcase_create("link");
    tcase_add_loop_test(tc, next_of_a_header, 0, (int)(sizeof(links) / sizeof(*links)));
    tcase_add_test(tc, next_of_several_headers);
    tcase_add_test(tc, status_line_without_a_status);
    tcase_add_test(tc, lines_at_their_limit);
    tcase_add_test(tc, values_that_are_kept);
    tcase_add_loop_test(tc, range_of_a_part, 0, (int)(sizeof(ranges) / sizeof(*ranges)));
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
