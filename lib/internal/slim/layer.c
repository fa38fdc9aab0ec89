/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A layer in which some files are cut, and some left out: what is between them passes as it is. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/encodings.h"
#include "lib/base/text.h"
#include "lib/internal/slim/slim_internal.h"
#include "ocivariant/digest.h"

#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK OCV_SLIM_BLOCK
#define CHUNK ((size_t)256 << 10)
#define RECORD_MAX ((size_t)4 << 20)
#define HELD_MAX ((size_t)32 << 20) /* of RECORDs that wait; others pass as they are */
#define RECORD ".dist-info/RECORD"
#define DPKG_SUMS ".md5sums" /* below var/lib/dpkg/info */
#define IMA "security.ima"   /* the attribute of a signature that kernels check */

/* What became of a file of the list. */
struct state {
    bool done, cut, gone;
    char *listed;              /* where its sum or signature is */
    char hash[OCV_DIGEST_MAX]; /* as RECORD has it, "sha256=..." */
    int64_t size;
};

/* A RECORD that waits for its files: it belongs where the spool had `at` bytes. */
struct held {
    struct ocv_slim_member member;
    struct ocv_buffer text; /* with its padding */
    int64_t at;
    size_t missing;       /* files of it that are still to come */
    unsigned char *waits; /* a bit for each path: it is one of these */
    char **names;         /* others of them: they may turn out to be hard links to one */
    size_t n_names;
};

/* A file that is not in the list, and is named like one that is. */
struct namesake {
    char *path;
    struct state *state; /* of the file that it is a hard link to, or NULL */
};

struct run {
    struct ocv_slim_layer *layer;
    struct state *states; /* of each path */
    struct held *held;
    size_t n_held, held_bytes;
    int64_t spooled;
    void *namesakes; /* a tree of struct namesake, tsearch(3) */
    unsigned char chunk[CHUNK];
};

static void free_held(struct held *held)
{
    ocv_slim_member_free(&held->member);
    ocv_buffer_free(&held->text);
    free(held->waits);
    for (size_t i = 0; i < held->n_names; i++)
        free(held->names[i]);
    free(held->names);
}

static int write_bytes(struct run *run, const void *bytes, size_t len, struct ocv_error *err)
{
    if (!run->n_held)
        return run->layer->write(run->layer->data, bytes, len, err);
    if (!ocv_fd_write(run->layer->files[2], bytes, len))
        return ocv_error_set(err, OCV_ERR_IO, "a temporary file: %s", strerror(errno));
    run->spooled += (int64_t)len;
    return OCV_OK;
}

static int write_headers(struct run *run, const struct ocv_slim_member *m, struct ocv_error *err)
{
    if (m->extensions.len)
        OCV_TRY(write_bytes(run, m->extensions.data, m->extensions.len, err));
    return write_bytes(run, m->header, BLOCK, err);
}

static int write_padding(struct run *run, int64_t size, struct ocv_error *err)
{
    static const unsigned char zeros[BLOCK];
    return write_bytes(run, zeros, (size_t)(ocv_slim_blocks(size) - size), err);
}

/* A path's state; NULL: it is not in the list. */
static struct state *state_of(const struct run *run, const char *path)
{
    const char *const *found = bsearch(&path, run->layer->paths, run->layer->n_paths,
                                       sizeof(*run->layer->paths), ocv_text_order);
    return found ? &run->states[found - run->layer->paths] : NULL;
}

static int compare_namesakes(const void *a, const void *b)
{
    return strcmp(((const struct namesake *)a)->path, ((const struct namesake *)b)->path);
}

static void free_namesake(void *namesake)
{
    free(((struct namesake *)namesake)->path);
    free(namesake);
}

static const struct namesake *namesake_of(const struct run *run, char *path)
{
    const struct namesake key = {.path = path};
    struct namesake *const *found = tfind(&key, &run->namesakes, compare_namesakes);
    return found ? *found : NULL;
}

/* Is a file of the list called so, in whatever directory? */
static bool is_listed_name(const struct run *run, const char *path)
{
    const char *name = strrchr(path, '/');
    size_t len = strlen(name ? name : path);
    for (size_t i = 0; name && i < run->layer->n_paths; i++) {
        size_t n = strlen(run->layer->paths[i]);
        if (n >= len && !strcmp(run->layer->paths[i] + n - len, name))
            return true;
    }
    return false;
}

/* With `out`: a RECORD's text with the rows of today; else note which files are still to come. */
static int read_record(const struct run *run, struct held *held, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    const char *text = held->text.len ? held->text.data : "", *end = text + held->member.size;
    const char *record = held->member.path, *beside = strrchr(record, '/');
    while (beside && beside > record && beside[-1] != '/') /* of the directory .dist-info */
        beside--;
    for (const char *row = text; row < end;) {
        const char *newline = memchr(row, '\n', (size_t)(end - row));
        size_t len = (size_t)((newline ? newline + 1 : end) - row);
        /* "PATH,HASH,SIZE"; paths in quotes are none of libraries */
        const char *comma = memchr(row, ',', len);
        char path[PATH_MAX] = "";
        int n = comma && beside ? snprintf(path, sizeof(path), "%.*s%.*s", (int)(beside - record),
                                           record, (int)(comma - row), row)
                                : 0;
        bool named = n > 0 && n < PATH_MAX;
        const struct state *state = named ? state_of(run, path) : NULL;
        const struct namesake *like = named && !state ? namesake_of(run, path) : NULL;
        state = like ? like->state : state;
        if (!out && named && !state && !like && is_listed_name(run, path)) {
            char **added = ocv_array_grow(&held->names, held->n_names);
            if (!added || !(*added = strdup(path)))
                return ocv_error_nomem(err);
            held->n_names++;
            held->missing++;
        }
        if (!out && state && !state->done) {
            size_t i = (size_t)(state - run->states);
            held->missing += !(held->waits[i / 8] >> i % 8 & 1);
            held->waits[i / 8] |= (unsigned char)(1u << i % 8);
        }
        if (out && state && state->gone) {
            row += len;
            continue;
        }
        if (out && state && state->cut) {
            bool carriage = newline && newline > row && newline[-1] == '\r';
            OCV_TRY(ocv_buffer_append(out, row, (size_t)(comma - row), err));
            OCV_TRY(ocv_buffer_printf(out, err, ",%s,%lld%s%s", state->hash, (long long)state->size,
                                      carriage ? "\r" : "", newline ? "\n" : ""));
        } else if (out) {
            OCV_TRY(ocv_buffer_append(out, row, len, err));
        }
        row += len;
    }
    return OCV_OK;
}

/* Bytes of the spool from `*at` up to `end`. */
static int write_spool(struct run *run, int64_t *at, int64_t end, struct ocv_error *err)
{
    while (*at < end) {
        size_t n = end - *at < (int64_t)CHUNK ? (size_t)(end - *at) : CHUNK;
        ssize_t got = pread(run->layer->files[2], run->chunk, n, *at);
        if (got <= 0)
            return ocv_error_set(err, OCV_ERR_IO, "a temporary file: %s",
                                 got ? strerror(errno) : "it ends early");
        OCV_TRY(run->layer->write(run->layer->data, run->chunk, (size_t)got, err));
        *at += got;
    }
    return OCV_OK;
}

/* Where no RECORD waits any more, or the archive ends: they and what came behind them. */
static int release_held(struct run *run, bool last, struct ocv_error *err)
{
    size_t missing = 0;
    for (size_t i = 0; i < run->n_held && !last; i++)
        missing += run->held[i].missing;
    if (!run->n_held || missing)
        return OCV_OK;
    size_t n = run->n_held;
    int64_t at = 0, end = run->spooled;
    run->n_held = 0; /* what is written now is written */
    run->spooled = 0;
    int status = OCV_OK;
    for (size_t i = 0; i < n; i++) {
        struct held *held = &run->held[i];
        ocv_auto_buffer text;
        ocv_buffer_init(&text, 2 * RECORD_MAX);
        if (status >= 0)
            status = write_spool(run, &at, held->at, err);
        if (status >= 0)
            status = read_record(run, held, &text, err);
        bool same = (int64_t)text.len == held->member.size &&
                    (!text.len || !memcmp(text.data, held->text.data, text.len));
        if (status >= 0 && (int64_t)text.len != held->member.size)
            status = ocv_slim_member_resize(&held->member, (int64_t)text.len, err);
        if (status >= 0)
            status = write_headers(run, &held->member, err);
        if (status >= 0 && same && held->text.len) /* whatever its padding is */
            status = write_bytes(run, held->text.data, held->text.len, err);
        if (status >= 0 && !same && text.len)
            status = write_bytes(run, text.data, text.len, err);
        if (status >= 0 && !same)
            status = write_padding(run, (int64_t)text.len, err);
        free_held(held);
    }
    free(run->held);
    run->held = NULL;
    run->held_bytes = 0;
    OCV_TRY(status);
    OCV_TRY(write_spool(run, &at, end, err));
    return ftruncate(run->layer->files[2], 0) < 0 || lseek(run->layer->files[2], 0, SEEK_SET) < 0
               ? ocv_error_set(err, OCV_ERR_IO, "a temporary file: %s", strerror(errno))
               : OCV_OK;
}

/* Keep a RECORD until all of its files are known. The member is moved. */
static int hold_record(struct run *run, struct ocv_slim_member *m, struct ocv_error *err)
{
    struct held held = {.at = run->spooled};
    ocv_buffer_init(&held.text, RECORD_MAX + BLOCK);
    for (int64_t left = ocv_slim_blocks(m->size); left > 0;) {
        size_t n = left < (int64_t)CHUNK ? (size_t)left : CHUNK;
        int status = ocv_slim_read(run->layer, run->chunk, n, NULL, err);
        if (status >= 0)
            status = ocv_buffer_append(&held.text, run->chunk, n, err);
        if (status < 0) {
            ocv_buffer_free(&held.text);
            return status;
        }
        left -= (int64_t)n;
    }
    held.waits = calloc(run->layer->n_paths / 8 + 1, 1);
    struct held *added = held.waits ? ocv_array_grow(&run->held, run->n_held) : NULL;
    if (!added) {
        ocv_buffer_free(&held.text);
        free(held.waits);
        return ocv_error_nomem(err);
    }
    *added = held;
    added->member = *m;
    m->path = m->link = NULL;
    ocv_buffer_init(&m->extensions, 0);
    run->n_held++;
    run->held_bytes += added->text.len + run->layer->n_paths / 8;
    OCV_TRY(read_record(run, added, NULL, err));
    return release_held(run, false, err);
}

/* A file that is not in the list: if it is named like one that is, a RECORD may wait for it. */
static int note_namesake(struct run *run, const struct ocv_slim_member *m, struct state *state,
                         struct ocv_error *err)
{
    if (!state && !is_listed_name(run, m->path))
        return OCV_OK;
    struct namesake *added = calloc(1, sizeof(*added)), **place = NULL;
    if (added && (added->path = strdup(m->path)))
        place = tsearch(added, &run->namesakes, compare_namesakes);
    if (!place) {
        if (added)
            free_namesake(added);
        return ocv_error_nomem(err);
    }
    (*place)->state = state; /* of a path that comes twice, the last counts */
    if (*place != added)
        free_namesake(added);
    for (size_t i = 0; i < run->n_held; i++)
        for (size_t k = 0; k < run->held[i].n_names; k++)
            if (!strcmp(run->held[i].names[k], m->path)) {
                free(run->held[i].names[k]);
                run->held[i].names[k--] = run->held[i].names[--run->held[i].n_names];
                run->held[i].missing--;
            }
    return OCV_OK;
}

/* RECORD's hash of a file: URL-safe base64 without padding (PEP 376, PEP 427). */
static int hash_file(struct run *run, int fd, int64_t size, struct state *state,
                     struct ocv_error *err)
{
    static const char algorithm[] =
        "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    ocv_auto(ocv_hasher) hasher = NULL;
    char digest[OCV_DIGEST_MAX];
    unsigned char raw[32];
    OCV_TRY(ocv_hasher_new(algorithm, &hasher, err));
    for (int64_t at = 0; at < size;) {
        ssize_t n = pread(fd, run->chunk, CHUNK, at);
        if (n <= 0)
            return ocv_error_set(err, OCV_ERR_IO, "a temporary file: %s",
                                 n ? strerror(errno) : "it ends early");
        OCV_TRY(ocv_hasher_update(hasher, run->chunk, (size_t)n, err));
        at += n;
    }
    OCV_TRY(ocv_hasher_final(hasher, digest, err));
    for (size_t i = 0; i < sizeof(raw); i++) {
        const char byte[3] = {digest[7 + 2 * i], digest[8 + 2 * i], '\0'};
        raw[i] = (unsigned char)strtoul(byte, NULL, 16);
    }
    ocv_auto_free char *text = ocv_base64_encode(raw, sizeof(raw));
    if (!text)
        return ocv_error_nomem(err);
    text[strcspn(text, "=")] = '\0';
    for (char *c = text; *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    snprintf(state->hash, sizeof(state->hash), "sha256=%s", text);
    state->size = size;
    return OCV_OK;
}

static int empty_file(int fd, struct ocv_error *err)
{
    return ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0
               ? ocv_error_set(err, OCV_ERR_IO, "a temporary file: %s", strerror(errno))
               : OCV_OK;
}

static int finish_member(struct run *run, const char *path, struct state *state,
                         const struct ocv_slim_result *result, struct ocv_error *err)
{
    size_t at = (size_t)(state - run->states);
    unsigned char bit = (unsigned char)(1u << at % 8);
    OCV_TRY(run->layer->done(run->layer->data, path, result, err));
    for (size_t i = 0; i < run->n_held; i++) {
        run->held[i].missing -= (run->held[i].waits[at / 8] & bit) != 0;
        run->held[i].waits[at / 8] &= (unsigned char)~bit;
    }
    return release_held(run, false, err);
}

/* A file of the list: taken out of the archive, cut, and put in again. */
static int cut_member(struct run *run, struct ocv_slim_member *m, struct state *state,
                      struct ocv_error *err)
{
    struct ocv_slim_layer *layer = run->layer;
    struct ocv_slim_result result;
    int in = layer->files[0], out = layer->files[1];
    OCV_TRY(empty_file(in, err));
    OCV_TRY(empty_file(out, err));
    for (int64_t left = ocv_slim_blocks(m->size); left > 0;) {
        size_t n = left < (int64_t)CHUNK ? (size_t)left : CHUNK;
        OCV_TRY(ocv_slim_read(run->layer, run->chunk, n, NULL, err));
        if (!ocv_fd_write(in, run->chunk, n))
            return ocv_error_set(err, OCV_ERR_IO, "a temporary file: %s", strerror(errno));
        left -= (int64_t)n;
    }
    OCV_TRY(ocv_slim_file(in, (size_t)m->size, out, layer->target, &result, err));
    bool cut = result.outcome == OCV_SLIM_CUT || result.outcome == OCV_SLIM_ZEROED;
    int from = cut ? out : in;
    if (cut)
        OCV_TRY(hash_file(run, out, result.after, state, err));
    state->done = true;
    state->cut = cut;
    if (cut)
        OCV_TRY(ocv_slim_member_resize(m, result.after, err));
    OCV_TRY(write_headers(run, m, err));
    /* one that stays has its padding, whatever that is */
    for (int64_t at = 0, end = cut ? result.after : ocv_slim_blocks(m->size); at < end;) {
        ssize_t n = pread(from, run->chunk, CHUNK, at);
        if (n <= 0)
            return ocv_error_set(err, OCV_ERR_IO, "a temporary file: %s",
                                 n ? strerror(errno) : "it ends early");
        OCV_TRY(write_bytes(run, run->chunk, (size_t)n, err));
        at += n;
    }
    if (cut)
        OCV_TRY(write_padding(run, result.after, err));
    return finish_member(run, m->path, state, &result, err);
}

static int keep_place(struct state *state, const char *where, struct ocv_error *err)
{
    if (!state->listed && !(state->listed = strdup(where)))
        return ocv_error_nomem(err);
    return OCV_OK;
}

/* dpkg's sums pass as they are, and files of the list are noted: "SUM  PATH" lines. */
static int pass_sums(struct run *run, const struct ocv_slim_member *m, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, RECORD_MAX + BLOCK);
    OCV_TRY(write_headers(run, m, err));
    for (int64_t left = ocv_slim_blocks(m->size); left > 0;) {
        size_t n = left < (int64_t)CHUNK ? (size_t)left : CHUNK;
        OCV_TRY(ocv_slim_read(run->layer, run->chunk, n, NULL, err));
        OCV_TRY(write_bytes(run, run->chunk, n, err));
        OCV_TRY(ocv_buffer_append(&text, run->chunk, n, err));
        left -= (int64_t)n;
    }
    for (char *line = text.len ? text.data : NULL, *rest; line && *line; line = rest) {
        char *newline = strchr(line, '\n'), *blank;
        rest = newline ? newline + 1 : NULL;
        if (newline)
            *newline = '\0';
        blank = strchr(line, ' ');
        struct state *state = blank ? state_of(run, blank + strspn(blank, " ")) : NULL;
        if (state)
            OCV_TRY(keep_place(state, m->path, err));
    }
    return OCV_OK;
}

static int pass_member(struct run *run, struct ocv_slim_member *m, struct ocv_error *err)
{
    unsigned char type = m->header[OCV_SLIM_AT_TYPE];
    bool file = type == '0' || type == '\0' || type == '7' || type == 'S';
    struct state *state = file ? state_of(run, m->path) : NULL;
    size_t len = strlen(m->path);
    if (!state && (file || (type == '1' && m->link))) {
        struct state *linked = file ? NULL : state_of(run, m->link);
        const struct namesake *like = file || linked ? NULL : namesake_of(run, m->link);
        linked = like ? like->state : linked;
        OCV_TRY(note_namesake(run, m, linked, err));
        if (linked && linked->gone) /* what it links to was left out */
            return release_held(run, false, err);
    }
    if (state && m->extensions.len &&
        memmem(m->extensions.data, m->extensions.len, IMA "=", strlen(IMA "=")))
        OCV_TRY(keep_place(state, IMA, err));
    if (file && !m->sparse && m->size <= (int64_t)RECORD_MAX &&
        !strncmp(m->path, "var/lib/dpkg/", strlen("var/lib/dpkg/")) && len > strlen(DPKG_SUMS) &&
        !strcmp(m->path + len - strlen(DPKG_SUMS), DPKG_SUMS))
        return pass_sums(run, m, err);
    if (state && !m->sparse && type != 'S') {
        if (!run->layer->leaves_out || !run->layer->leaves_out[state - run->states])
            return cut_member(run, m, state, err);
        /* the layer is to have it no more */
        const struct ocv_slim_result omitted = {.outcome = OCV_SLIM_OMITTED, .before = m->size};
        for (int64_t left = ocv_slim_blocks(m->size); left > 0;) {
            size_t n = left < (int64_t)CHUNK ? (size_t)left : CHUNK;
            OCV_TRY(ocv_slim_read(run->layer, run->chunk, n, NULL, err));
            left -= (int64_t)n;
        }
        state->done = state->gone = true;
        return finish_member(run, m->path, state, &omitted, err);
    }
    if (state) {
        const struct ocv_slim_result left = {.outcome = OCV_SLIM_LEFT,
                                             .why = "it is a sparse file",
                                             .before = m->size,
                                             .after = m->size};
        state->done = true;
        OCV_TRY(finish_member(run, m->path, state, &left, err));
    }
    if (file && !m->sparse && type != 'S' && m->size <= (int64_t)RECORD_MAX &&
        run->held_bytes < HELD_MAX && len > strlen(RECORD) &&
        !strcmp(m->path + len - strlen(RECORD), RECORD))
        return hold_record(run, m, err);
    OCV_TRY(write_headers(run, m, err));
    /* GNU's sparse files have more headers behind the first */
    unsigned char more[BLOCK];
    for (bool goes_on = type == 'S' && m->header[OCV_SLIM_AT_MORE]; goes_on; goes_on = more[504]) {
        OCV_TRY(ocv_slim_read(run->layer, more, BLOCK, NULL, err));
        OCV_TRY(write_bytes(run, more, BLOCK, err));
    }
    for (int64_t left = ocv_slim_blocks(m->size); left > 0;) {
        size_t n = left < (int64_t)CHUNK ? (size_t)left : CHUNK;
        OCV_TRY(ocv_slim_read(run->layer, run->chunk, n, NULL, err));
        OCV_TRY(write_bytes(run, run->chunk, n, err));
        left -= (int64_t)n;
    }
    return release_held(run, false, err);
}

static int run_members(struct run *run, struct ocv_error *err)
{
    for (bool end = false; !end;) {
        struct ocv_slim_member m;
        int status = ocv_slim_member_next(run->layer, &m, &end, err);
        if (status >= 0 && end) {
            status = release_held(run, true, err);
            if (status >= 0 && m.extensions.len)
                status = write_bytes(run, m.extensions.data, m.extensions.len, err);
        } else if (status >= 0) {
            status = pass_member(run, &m, err);
        }
        ocv_slim_member_free(&m);
        OCV_TRY(status);
    }
    for (;;) { /* what is behind the archive belongs to the layer */
        ssize_t n = run->layer->read(run->layer->data, run->chunk, CHUNK, err);
        if (n <= 0)
            return (int)n;
        OCV_TRY(write_bytes(run, run->chunk, (size_t)n, err));
    }
}

int ocv_slim_layer_run(struct ocv_slim_layer *layer, struct ocv_error *err)
{
    struct run *run = calloc(1, sizeof(*run));
    struct state *states = calloc(layer->n_paths + 1, sizeof(*states));
    int status = OCV_ERR_NOMEM;
    if (run && states) {
        run->layer = layer;
        run->states = states;
        status = run_members(run, err);
        for (size_t i = 0; i < layer->n_paths; i++) {
            if (status >= 0 && layer->listed && states[i].listed &&
                (states[i].cut || states[i].gone))
                status = layer->listed(layer->data, layer->paths[i], states[i].listed, err);
            free(states[i].listed);
        }
        for (size_t i = 0; i < run->n_held; i++)
            free_held(&run->held[i]);
        free(run->held);
        tdestroy(run->namesakes, free_namesake);
    } else {
        ocv_error_nomem(err);
    }
    free(states);
    free(run);
    return status;
}
