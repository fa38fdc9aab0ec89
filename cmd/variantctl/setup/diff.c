/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file's change as a unified diff that patch and git apply take. */
#include "cmd/variantctl/setup/setup.h"

#include <stdlib.h>
#include <string.h>

#define AROUND 3u
#define CELLS_MAX (4u * 1024 * 1024) /* of the comparison; a larger change is shown as a whole */

struct line {
    const char *at;
    size_t len; /* with the newline where there is one */
};

struct side {
    struct line *lines;
    size_t n;
};

/* One line of the diff: ' ', '-' or '+'. */
struct step {
    char sign;
    struct line line;
};

static int split(const struct setup_content *content, struct side *out, struct ocv_error *err)
{
    const char *at = content->text.data;
    size_t left = content->there ? content->text.len : 0;
    size_t cap = 1;
    for (size_t i = 0; i < left; i++)
        cap += at[i] == '\n';
    out->n = 0;
    out->lines = calloc(cap, sizeof(*out->lines));
    if (!out->lines)
        return ocv_error_nomem(err);
    while (left) {
        const char *end = memchr(at, '\n', left);
        size_t len = end ? (size_t)(end - at) + 1 : left;
        out->lines[out->n++] = (struct line){at, len};
        at += len;
        left -= len;
    }
    return OCV_OK;
}

static bool same(struct line a, struct line b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* Longest common subsequence of the middle parts, walked from their beginnings. */
static size_t compare(const struct line *a, size_t n, const struct line *b, size_t m,
                      struct step *out)
{
    size_t count = 0, i = 0, k = 0, width = m + 1;
    unsigned *best = (n + 1) * width <= CELLS_MAX ? calloc((n + 1) * width, sizeof(*best)) : NULL;
    for (size_t x = n; best && x-- > 0;)
        for (size_t y = m; y-- > 0;) {
            unsigned down = best[(x + 1) * width + y], right = best[x * width + y + 1];
            best[x * width + y] = same(a[x], b[y]) ? best[(x + 1) * width + y + 1] + 1
                                  : down > right   ? down
                                                   : right;
        }
    while (i < n || k < m) {
        if (best && i < n && k < m && same(a[i], b[k])) {
            out[count++] = (struct step){' ', a[i++]};
            k++;
        } else if (i < n &&
                   (k == m || !best || best[(i + 1) * width + k] >= best[i * width + k + 1])) {
            out[count++] = (struct step){'-', a[i++]};
        } else {
            out[count++] = (struct step){'+', b[k++]};
        }
    }
    free(best);
    return count;
}

static int print_step(struct ocv_buffer *out, const struct step *step, struct ocv_error *err)
{
    bool ended = step->line.len && step->line.at[step->line.len - 1] == '\n';
    int status = ocv_buffer_append(out, &step->sign, 1, err);
    if (status == OCV_OK)
        status = ocv_buffer_append(out, step->line.at, step->line.len, err);
    return status < 0 || ended ? status
                               : ocv_buffer_printf(out, err, "\n\\ No newline at end of file\n");
}

/* Steps [from, to) as one hunk; `old` and `new`: lines before it on either side. */
static int print_hunk(struct ocv_buffer *out, const struct step *steps, size_t from, size_t to,
                      size_t old, size_t new, struct ocv_error *err)
{
    size_t n_old = 0, n_new = 0;
    for (size_t i = from; i < to; i++) {
        n_old += steps[i].sign != '+';
        n_new += steps[i].sign != '-';
    }
    int status = ocv_buffer_printf(out, err, "@@ -%zu,%zu +%zu,%zu @@\n", old + (n_old > 0), n_old,
                                   new + (n_new > 0), n_new);
    for (size_t i = from; i < to && status == OCV_OK; i++)
        status = print_step(out, &steps[i], err);
    return status;
}

static int print_hunks(struct ocv_buffer *out, const struct step *steps, size_t n,
                       struct ocv_error *err)
{
    size_t old = 0, new = 0, done = 0;
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++) {
        if (steps[i].sign == ' ')
            continue;
        size_t from = i > done + AROUND ? i - AROUND : done, last = i;
        for (size_t k = i; k < n && k <= last + 2 * AROUND; k++)
            last = steps[k].sign == ' ' ? last : k;
        size_t to = last + 1 + AROUND < n ? last + 1 + AROUND : n;
        for (; done < from; done++) {
            old += steps[done].sign != '+';
            new += steps[done].sign != '-';
        }
        status = print_hunk(out, steps, from, to, old, new, err);
        for (; done < to; done++) {
            old += steps[done].sign != '+';
            new += steps[done].sign != '-';
        }
        i = to - 1;
    }
    return status;
}

int setup_diff(const char *path, const struct setup_content *from, const struct setup_content *to,
               struct ocv_buffer *out, struct ocv_error *err)
{
    struct side a = {0}, b = {0};
    struct step *steps = NULL;
    size_t n = 0, head = 0, tail = 0;
    int status = split(from, &a, err);
    if (status == OCV_OK)
        status = split(to, &b, err);
    if (status == OCV_OK && !(steps = calloc(a.n + b.n + 1, sizeof(*steps))))
        status = ocv_error_nomem(err);
    if (status == OCV_OK) {
        while (head < a.n && head < b.n && same(a.lines[head], b.lines[head]))
            steps[n++] = (struct step){' ', a.lines[head++]};
        while (tail < a.n - head && tail < b.n - head &&
               same(a.lines[a.n - 1 - tail], b.lines[b.n - 1 - tail]))
            tail++;
        n += compare(a.lines + head, a.n - head - tail, b.lines + head, b.n - head - tail,
                     steps + n);
        for (size_t i = a.n - tail; i < a.n; i++)
            steps[n++] = (struct step){' ', a.lines[i]};
        status = ocv_buffer_printf(out, err, "--- %s%s\n+++ %s%s\n", from->there ? "a" : "",
                                   from->there ? path : "/dev/null", to->there ? "b" : "",
                                   to->there ? path : "/dev/null");
    }
    if (status == OCV_OK)
        status = print_hunks(out, steps, n, err);
    free(steps);
    free(a.lines);
    free(b.lines);
    return status;
}
