/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Part of badregistry.c: ways to serve a blob, an index or nothing, each a mode, and redirects. */
#ifndef OCV_BADREGISTRY_MODES_H
#define OCV_BADREGISTRY_MODES_H

#include "test/tools/badregistry_answer.h"

static bool mode_reset(const struct request *r)
{
    return r->blob && !count("reset") ? half(r, true) : good(r);
}
static bool mode_cut(const struct request *r)
{
    return r->blob && !count("cut") ? half(r, true) : good(r);
}
static bool mode_norange(const struct request *r)
{
    if (r->blob && !count("norange"))
        return half(r, true);
    return whole(r, r->blob ? &served_blob : &served_index);
}
/* Half of it; then all of it again, of which less comes; then the rest. */
static bool mode_anew(const struct request *r)
{
    const unsigned n = r->blob ? count("anew") : 2;
    if (n == 0)
        return half(r, true);
    if (n > 1)
        return good(r);
    say(r->fd, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
        served_blob.type, served_blob.len);
    put(r->fd, served_blob.data, served_blob.len / 4);
    usleep(100000); /* a reset drops what the peer has not read */
    return false;
}
/* After a break the rest is told as what it is not. */
static bool rest_told(const struct request *r, const char *mode, struct told told)
{
    size_t start, end;
    if (r->blob && !count(mode))
        return half(r, true);
    return r->blob && range_of(r, &served_blob, &start, &end)
               ? part(r, &served_blob, start, end, told)
               : good(r);
}
static bool mode_badrange(const struct request *r)
{
    return rest_told(r, "badrange", (struct told){.shift = 7});
}
static bool mode_badend(const struct request *r)
{
    return rest_told(r, "badend", (struct told){.end = 7});
}
static bool mode_badtotal(const struct request *r)
{
    return rest_told(r, "badtotal", (struct told){.total = 7});
}
/* Every connection breaks once it has brought something new. */
static bool mode_choppy(const struct request *r)
{
    size_t start, end;
    if (!r->blob || (range_of(r, &served_blob, &start, &end) && end - start < 1000000))
        return good(r);
    return half(r, true);
}
/* The end of the connection is the end of the body. */
static bool mode_nolength(const struct request *r)
{
    const struct bytes *b = r->blob ? &served_blob : &served_index;
    if (r->head)
        return good(r);
    say(r->fd, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n", b->type);
    put(r->fd, b->data, b->len);
    return false;
}
/* Nothing, and it says so; or it does not say. */
static bool mode_empty(const struct request *r)
{
    return r->head ? good(r) : say(r->fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}
static bool mode_emptylength(const struct request *r)
{
    if (r->head)
        return good(r);
    say(r->fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    return false;
}
/* A few bytes, and not the right ones. */
static bool mode_tiny(const struct request *r)
{
    return r->head ? good(r) : say(r->fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntiny");
}

/* Half of few bytes, and never the rest of them. */
static bool mode_tinycut(const struct request *r)
{
    if (!r->blob || r->head)
        return good(r);
    say(r->fd, r->range[0] ? "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n"
                           : "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nti");
    return false;
}

/* A HEAD that does not tell the length. */
static bool mode_lengthless(const struct request *r)
{
    const struct bytes *b = r->blob ? &served_blob : &served_index;
    return r->head ? say(r->fd,
                         "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nDocker-Content-Digest: %s\r\n\r\n",
                         b->type, b->digest)
                   : good(r);
}
/* A HEAD that tells of something else. */
static bool mode_otherhead(const struct request *r)
{
    if (!r->head)
        return good(r);
    return say(r->fd,
               "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nDocker-Content-Digest: %s\r\n"
               "Content-Length: 7\r\n\r\n",
               r->blob ? served_blob.type : served_index.type,
               r->blob || strstr(r->path, "/manifests/sha256:") ? image_config.digest
                                                                : served_index.digest);
}
/* More than it announced, at once or when whoever asked believes to have all. */
static bool mode_surplus(const struct request *r)
{
    return good(r) && put(r->fd, "0\r\n\r\n", 5);
}
static bool mode_surpluslate(const struct request *r)
{
    bool kept = good(r);
    usleep(100000);
    return kept && put(r->fd, "0\r\n\r\n", 5);
}
static bool mode_truncated(const struct request *r)
{
    return r->head ? good(r) : half(r, false);
}
static bool mode_shortlength(const struct request *r)
{
    const struct bytes *b = r->blob ? &served_blob : &served_index;
    say(r->fd,
        "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nDocker-Content-Digest: %s\r\nContent-Length: "
        "%zu\r\n\r\n",
        b->type, b->digest, b->len - 5);
    if (!r->head)
        put(r->fd, b->data, b->len);
    return false;
}
/* Whole, but called otherwise; a blob is a wrong one. */
static bool odd(const struct request *r, const char *status)
{
    const struct bytes *b = r->blob ? &served_blob : &served_index;
    char *bytes = malloc(b->len);
    if (!bytes)
        return false;
    memcpy(bytes, b->data, b->len);
    bytes[0] = (char)(r->blob ? bytes[0] ^ 1 : bytes[0]);
    bool kept = say(r->fd,
                    "HTTP/1.1 %s\r\nContent-Type: application/x%s\r\n"
                    "Content-Length: %zu\r\n\r\n",
                    status, r->blob ? "" : "\rX-Odd: 1", b->len) &&
                (r->head || put(r->fd, bytes, b->len));
    free(bytes);
    return kept;
}
static bool mode_odd203(const struct request *r)
{
    return odd(r, "203 Non-Authoritative Information");
}
static bool mode_odd206(const struct request *r)
{
    return odd(r, "206 Partial Content");
}
static bool mode_wrongdigest(const struct request *r)
{
    if (r->blob) {
        struct bytes other = served_blob;
        char *copy = malloc(other.len);
        if (!copy)
            return false;
        memset(copy, 'x', other.len);
        other.data = copy;
        bool kept = whole(r, &other);
        free(copy);
        return kept;
    }
    struct bytes other = served_index;
    memcpy(other.digest, served_blob.digest, sizeof(other.digest));
    return whole(r, &other);
}
static bool mode_endless(const struct request *r)
{
    char chunk[4096];
    memset(chunk, ' ', sizeof(chunk));
    say(r->fd, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n",
        served_index.type);
    while (!r->head && put(r->fd, chunk, sizeof(chunk)))
        ;
    return false;
}
static bool mode_slow(const struct request *r)
{
    if (r->head)
        return good(r);
    const struct bytes *b = r->blob ? &served_blob : &served_index;
    say(r->fd, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%c", b->type,
        b->len, b->data[0]);
    char byte;
    while (recv(r->fd, &byte, 1, 0) > 0) /* until the client has had enough */
        ;
    return false;
}
static bool mode_gzip(const struct request *r)
{
    unsigned char out[65536];
    z_stream z = {0};
    if (r->blob)
        return good(r);
    deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    z.next_in = (unsigned char *)(uintptr_t)served_index.data;
    z.avail_in = (uInt)served_index.len;
    z.next_out = out;
    z.avail_out = sizeof(out);
    deflate(&z, Z_FINISH);
    size_t n = z.total_out;
    deflateEnd(&z);
    return say(r->fd,
               "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Encoding: gzip\r\n"
               "Docker-Content-Digest: %s\r\nContent-Length: %zu\r\n\r\n",
               served_index.type, served_index.digest, n) &&
           (r->head || put(r->fd, out, n));
}
static bool mode_badgzip(const struct request *r)
{
    return say(r->fd,
               "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Encoding: gzip\r\n"
               "Content-Length: 4\r\n\r\n%s",
               served_index.type, r->head ? "" : "nope");
}
/* Other words behind the body than before it. */
static bool mode_trailer(const struct request *r)
{
    if (r->head)
        return good(r);
    say(r->fd,
        "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nDocker-Content-Digest: %s\r\n"
        "Transfer-Encoding: chunked\r\n\r\n%zx\r\n",
        served_index.type, served_index.digest, served_index.len);
    put(r->fd, served_index.data, served_index.len);
    return say(r->fd, "\r\n0\r\nContent-Type: text/html\r\nDocker-Content-Digest: %s\r\n\r\n",
               served_blob.digest);
}
/* Hints, and never an end of them. */
static bool mode_hints(const struct request *r)
{
    for (int i = 0; i < 40; i++)
        say(r->fd, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
    return good(r);
}
static bool mode_latehead(const struct request *r)
{
    say(r->fd, "HTTP/1.1 200 OK\r\nX-Slow: ");
    for (int i = 0; i < 300 && say(r->fd, "a"); i++)
        usleep(100000);
    return false;
}
static bool mode_bigindex(const struct request *r)
{
    return whole(r, &served_big);
}
static bool mode_bigchunked(const struct request *r)
{
    say(r->fd, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n", served_big.type);
    if (!r->head)
        put(r->fd, served_big.data, served_big.len);
    return false;
}
static bool mode_nodigest(const struct request *r)
{
    return say(r->fd,
               "HTTP/1.1 200 OK\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: "
               "%zu\r\n\r\n",
               served_index.type, served_index.len) &&
           (r->head || put(r->fd, served_index.data, served_index.len));
}
static bool mode_generic(const struct request *r)
{
    return whole(r, &served_generic);
}

static bool mode_genericcut(const struct request *r)
{
    return whole(r, &served_cut);
}
static bool mode_file(const struct request *r)
{
    return r->blob || !served_file.data ? error(r, 404, "", "MANIFEST_UNKNOWN")
                                        : whole(r, &served_file);
}
/* A wrong blob whose last bytes come when whoever it is for has all others. */
static bool mode_wronglate(const struct request *r)
{
    static const size_t last = 100;
    char some[1024];
    if (!r->blob)
        return good(r);
    memset(some, 'x', sizeof(some));
    bool kept = say(r->fd, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
                    served_blob.type, served_blob.len);
    for (size_t n, left = served_blob.len - last; kept && left; left -= n) {
        n = left < sizeof(some) ? left : sizeof(some);
        kept = put(r->fd, some, n);
    }
    usleep(700000);
    return kept && put(r->fd, some, last);
}
/* Takes its time: requests meet. */
static bool mode_late(const struct request *r)
{
    usleep(700000);
    return good(r);
}
/* The tag is moved between HEAD and GET: from the index to the file's. By its digest, and by the
 * tag "still", the index is there. Every other manifest is there, too, and has two bytes. */
static bool mode_moving(const struct request *r)
{
    const char *digest = strstr(r->path, "/manifests/sha256:");
    if (strstr(r->path, "/manifests/still") || (digest && strstr(digest, served_index.digest)))
        return whole(r, &served_index);
    if (!r->blob && digest)
        return say(r->fd,
                   "HTTP/1.1 200 OK\r\nContent-Type: " OCV_MEDIA_TYPE_MANIFEST
                   "\r\nDocker-Content-Digest: %s\r\nContent-Length: 2\r\n\r\n%s",
                   digest + strlen("/manifests/"), r->head ? "" : "{}");
    return r->head ? whole(r, &served_index) : mode_file(r);
}
static bool mode_m304(const struct request *r) /* Location says where it was: not where to go */
{
    return say(r->fd, "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nLocation: %s\r\n\r\n", r->path);
}
static bool mode_m400(const struct request *r)
{
    return error(r, 400, "", "NAME_INVALID");
}
static bool mode_m401(const struct request *r)
{
    return error(r, 401, "", "UNAUTHORIZED");
}
static bool mode_m403(const struct request *r)
{
    return error(r, 403, "", "DENIED");
}
static bool mode_m404(const struct request *r)
{
    return error(r, 404, "", "MANIFEST_UNKNOWN");
}
static bool mode_m429(const struct request *r)
{
    return error(r, 429, "", "TOOMANYREQUESTS");
}
static bool mode_m429long(const struct request *r)
{
    return error(r, 429, "Retry-After: 3600\r\n", "TOOMANYREQUESTS");
}
static bool mode_m429ok(const struct request *r)
{
    return count("m429ok") < 2 ? error(r, 429, "Retry-After: 0\r\n", "TOOMANYREQUESTS") : good(r);
}
/* Asks for a short wait twice. */
static bool mode_m429wait(const struct request *r)
{
    return count("m429wait") < 2 ? error(r, 429, "Retry-After: 2\r\n", "TOOMANYREQUESTS") : good(r);
}
static bool mode_m500(const struct request *r)
{
    return error(r, 500, "", "UNKNOWN");
}
static bool mode_m503ok(const struct request *r)
{
    return count("m503ok") < 1 ? error(r, 503, "", "UNAVAILABLE") : good(r);
}
/* Never a word, until the client has had enough. */
static bool mode_mute(const struct request *r)
{
    char byte;
    while (recv(r->fd, &byte, 1, 0) > 0)
        ;
    return false;
}
static bool mode_silent(const struct request *r)
{
    return count("silent") < 1 ? false : good(r);
}

static bool redirect(const struct request *r, const char *to)
{
    return say(r->fd, "HTTP/1.1 307 Elsewhere\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", to);
}
static bool mode_loop(const struct request *r)
{
    return redirect(r, r->path);
}
/* To the other port, which is another server. */
static bool mode_redirect(const struct request *r)
{
    char to[256];
    snprintf(to, sizeof(to), "http://127.0.0.1:%d/v2/good/%s?signature=secret", ports[1],
             r->blob ? "blobs/x" : "manifests/x");
    return redirect(r, to);
}
static bool mode_redirfar(const struct request *r)
{
    return redirect(r, "http://cdn.invalid/blob");
}
static bool mode_redirlocal(const struct request *r)
{
    return redirect(r, "https://169.254.1.2/latest");
}
static bool mode_redirfile(const struct request *r)
{
    return redirect(r, "file:///etc/passwd");
}
static bool mode_expired(const struct request *r)
{
    char to[256];
    snprintf(to, sizeof(to), "http://127.0.0.1:%d/v2/expiredonce/blobs/x", ports[1]);
    return r->blob ? redirect(r, to) : good(r);
}
static bool mode_expiredonce(const struct request *r)
{
    return count("expiredonce") < 1 ? error(r, 403, "", "EXPIRED") : good(r);
}

#endif
