/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A registry that misbehaves on request, for tests. Listens on two free loopback ports, prints
 * "PORT PORT2" and serves until it is killed or its parent ends. The first component of the
 * repository's name selects what goes wrong; `--file PATH` is what repository "file" serves as an
 * index. Repository "MODE/image" holds a sound image, and only with its layer goes wrong what MODE
 * says. GET /log tells the requests so far, one a line: METHOD PATH AUTHORIZATION RANGE PORT, and
 * GET /connections how many connections there were. */
#include "ocivariant.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#define BLOB_SIZE 3000000

struct request {
    int fd;
    int port; /* 0 or 1: which of the two it came in by */
    char method[8];
    char path[2048];
    char authorization[1024];
    char range[64];
    char body[4096];
    char mode[64]; /* first component of the repository */
    bool blob;
    bool head;
};

struct bytes {
    const char *data;
    size_t len;
    const char *type;
    char digest[OCV_DIGEST_MAX];
};

static int ports[2];
static unsigned char blob[BLOB_SIZE];
static struct bytes served_blob, served_index, served_big, served_file;
static struct bytes image_index, image_manifest, image_config; /* of "MODE/image" */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ocv_buffer request_log;
static struct {
    char mode[64];
    unsigned count;
} counters[64];
static unsigned tokens, connections;

/* How often the mode was asked before. */
static unsigned count(const char *mode)
{
    unsigned before = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
        if (counters[i].mode[0] && strcmp(counters[i].mode, mode))
            continue;
        snprintf(counters[i].mode, sizeof(counters[i].mode), "%s", mode);
        before = counters[i].count++;
        break;
    }
    pthread_mutex_unlock(&lock);
    return before;
}

static bool put(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

OCV_PRINTF(2, 3) static bool say(int fd, const char *format, ...)
{
    char text[8192];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return put(fd, text, (size_t)n);
}

static bool error(const struct request *r, int status, const char *headers, const char *code)
{
    char body[256];
    int n =
        snprintf(body, sizeof(body),
                 "{\"errors\":[{\"code\":\"%s\",\"message\":\"said the bad registry\"}]}", code);
    return say(
        r->fd,
        "HTTP/1.1 %d Error\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
        status, headers, n, r->head ? "" : body);
}

static bool whole(const struct request *r, const struct bytes *b)
{
    return say(r->fd,
               "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nDocker-Content-Digest: %s\r\n"
               "Content-Length: %zu\r\n\r\n",
               b->type, b->digest, b->len) &&
           (r->head || put(r->fd, b->data, b->len));
}

/* Bytes `start` to before `end`, told as something else: all numbers shifted, the end, the total.
 */
struct told {
    size_t shift, end, total;
};

static bool part(const struct request *r, const struct bytes *b, size_t start, size_t end,
                 struct told told)
{
    return say(r->fd,
               "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %zu-%zu/%zu\r\n"
               "Content-Length: %zu\r\n\r\n",
               start + told.shift, end - 1 + told.shift + told.end,
               b->len + told.shift + told.end + told.total, end - start) &&
           (r->head || put(r->fd, b->data + start, end - start));
}

/* The bytes of a Range header; false: all of them. */
static bool range_of(const struct request *r, const struct bytes *b, size_t *start, size_t *end)
{
    char *dash = NULL;
    *start = r->range[0] ? strtoul(r->range + strlen("bytes="), &dash, 10) : 0;
    *end = dash && *dash == '-' && dash[1] ? strtoul(dash + 1, NULL, 10) + 1 : b->len;
    if (*end > b->len)
        *end = b->len;
    return r->range[0] && *start < *end;
}

/* As it should be. */
static bool good(const struct request *r)
{
    const struct bytes *b = r->blob ? &served_blob : &served_index;
    size_t start, end;
    return r->blob && range_of(r, b, &start, &end) ? part(r, b, start, end, (struct told){0})
                                                   : whole(r, b);
}

static void reset_connection(int fd)
{
    struct linger hard = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

/* Announce what is asked for, send half of it, break off. */
static bool half(const struct request *r, bool hard)
{
    const struct bytes *b = r->blob ? &served_blob : &served_index;
    size_t start = 0, end = b->len;
    if (r->blob && range_of(r, b, &start, &end))
        say(r->fd,
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %zu-%zu/%zu\r\n"
            "Content-Length: %zu\r\n\r\n",
            start, end - 1, b->len, end - start);
    else
        say(r->fd,
            "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nDocker-Content-Digest: %s\r\n"
            "Content-Length: %zu\r\n\r\n",
            b->type, b->digest, b->len);
    put(r->fd, b->data + start, (end - start) / 2);
    if (hard) {
        usleep(100000); /* a reset drops what the peer has not read */
        reset_connection(r->fd);
    }
    return false;
}

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
    struct bytes b = served_index;
    b.type = "application/json";
    return whole(r, &b);
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
static bool mode_m500(const struct request *r)
{
    return error(r, 500, "", "UNKNOWN");
}
static bool mode_m503ok(const struct request *r)
{
    return count("m503ok") < 1 ? error(r, 503, "", "UNAVAILABLE") : good(r);
}
static bool mode_silent(const struct request *r)
{
    return count("silent") < 1 ? false : good(r);
}

/* ---- redirects ----------------------------------------------------------------------------------
 */

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

/* ---- authentication -----------------------------------------------------------------------------
 */

#define BASIC_U_P "Basic dTpw" /* u:p */

static bool mode_basic(const struct request *r)
{
    if (strcmp(r->authorization, BASIC_U_P))
        return error(r, 401, "WWW-Authenticate: Basic realm=\"here\"\r\n", "UNAUTHORIZED");
    return good(r);
}
static bool mode_basicredirect(const struct request *r)
{
    if (strcmp(r->authorization, BASIC_U_P))
        return error(r, 401, "WWW-Authenticate: Basic realm=\"here\"\r\n", "UNAUTHORIZED");
    return mode_redirect(r);
}
static bool challenge(const struct request *r, const char *realm)
{
    char header[512];
    snprintf(header, sizeof(header),
             "WWW-Authenticate: Bearer realm=\"http://127.0.0.1:%d/%s\",service=\"bad, registry\","
             "scope=\"repository:%s:pull\"\r\n",
             ports[0], realm, r->mode);
    return error(r, 401, header, "UNAUTHORIZED");
}
static bool has_token(const struct request *r, const char *who)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "Bearer %s-", who);
    return !strncmp(r->authorization, wanted, strlen(wanted));
}
static bool mode_public(const struct request *r) /* an anonymous token is enough */
{
    return has_token(r, "anonymous") || has_token(r, "u") ? good(r) : challenge(r, "token");
}
static bool mode_private(const struct request *r)
{
    return has_token(r, "u") ? good(r) : challenge(r, "token");
}
static bool mode_oauth(const struct request *r)
{
    return has_token(r, "u") ? good(r) : challenge(r, "oauth");
}
/* Every token is good for one request. */
static bool mode_onetime(const struct request *r)
{
    const char *dash = strrchr(r->authorization, '-');
    unsigned mine = dash ? (unsigned)strtoul(dash + 1, NULL, 10) : 0;
    static unsigned used;
    pthread_mutex_lock(&lock);
    bool fresh = mine > used;
    if (fresh)
        used = mine;
    pthread_mutex_unlock(&lock);
    return fresh ? good(r) : challenge(r, "token");
}
static bool mode_localrealm(const struct request *r)
{
    return error(r, 401, "WWW-Authenticate: Bearer realm=\"https://169.254.1.2/token\"\r\n",
                 "UNAUTHORIZED");
}
static bool mode_farrealm(const struct request *r)
{
    return error(r, 401, "WWW-Authenticate: Bearer realm=\"http://auth.invalid/token\"\r\n",
                 "UNAUTHORIZED");
}
static bool mode_badtoken(const struct request *r)
{
    return challenge(r, "badtoken");
}

static bool give_token(const struct request *r, const char *who)
{
    char body[256];
    pthread_mutex_lock(&lock);
    unsigned n = ++tokens;
    pthread_mutex_unlock(&lock);
    int len =
        snprintf(body, sizeof(body), "{\"access_token\":\"%s-%u\",\"expires_in\":300}", who, n);
    return say(r->fd, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len, body);
}
static bool token_get(const struct request *r)
{
    if (!r->authorization[0])
        return give_token(r, "anonymous");
    if (strcmp(r->authorization, BASIC_U_P))
        return error(r, 401, "", "UNAUTHORIZED");
    return give_token(r, "u");
}
static bool token_post(const struct request *r)
{
    if (strcmp(r->method, "POST"))
        return error(r, 405, "", "UNSUPPORTED");
    bool refresh = strstr(r->body, "grant_type=refresh_token") &&
                   strstr(r->body, "refresh_token=identity%2Btoken");
    bool password = strstr(r->body, "grant_type=password") && strstr(r->body, "username=u&") &&
                    strstr(r->body, "password=p");
    return refresh || password ? give_token(r, "u") : error(r, 401, "", "UNAUTHORIZED");
}

/* What is sent is taken, and stored as something else. */
static bool mode_storesother(const struct request *r)
{
    if (!strcmp(r->method, "POST"))
        return say(r->fd, "HTTP/1.1 202 Accepted\r\nLocation: /v2/storesother/blobs/uploads/1\r\n"
                          "Content-Length: 0\r\n\r\n");
    if (!strcmp(r->method, "PUT"))
        return say(r->fd,
                   "HTTP/1.1 201 Created\r\nDocker-Content-Digest: %s\r\n"
                   "Content-Length: 0\r\n\r\n",
                   served_index.digest);
    return error(r, 404, "", "BLOB_UNKNOWN");
}

/* ---- requests
 * ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*answer)(const struct request *);
} modes[] = {
    {"good", good},
    {"reset", mode_reset},
    {"cut", mode_cut},
    {"norange", mode_norange},
    {"anew", mode_anew},
    {"badrange", mode_badrange},
    {"badend", mode_badend},
    {"badtotal", mode_badtotal},
    {"choppy", mode_choppy},
    {"nolength", mode_nolength},
    {"empty", mode_empty},
    {"emptylength", mode_emptylength},
    {"tiny", mode_tiny},
    {"tinycut", mode_tinycut},
    {"lengthless", mode_lengthless},
    {"otherhead", mode_otherhead},
    {"surplus", mode_surplus},
    {"surpluslate", mode_surpluslate},
    {"truncated", mode_truncated},
    {"shortlength", mode_shortlength},
    {"wrongdigest", mode_wrongdigest},
    {"odd203", mode_odd203},
    {"odd206", mode_odd206},
    {"endless", mode_endless},
    {"slow", mode_slow},
    {"gzip", mode_gzip},
    {"badgzip", mode_badgzip},
    {"bigindex", mode_bigindex},
    {"bigchunked", mode_bigchunked},
    {"trailer", mode_trailer},
    {"hints", mode_hints},
    {"storesother", mode_storesother},
    {"latehead", mode_latehead},
    {"nodigest", mode_nodigest},
    {"generic", mode_generic},
    {"file", mode_file},
    {"wronglate", mode_wronglate},
    {"late", mode_late},
    {"moving", mode_moving},
    {"m400", mode_m400},
    {"m401", mode_m401},
    {"m403", mode_m403},
    {"m304", mode_m304},
    {"m404", mode_m404},
    {"m429", mode_m429},
    {"m429long", mode_m429long},
    {"m429ok", mode_m429ok},
    {"m500", mode_m500},
    {"m503ok", mode_m503ok},
    {"silent", mode_silent},
    {"loop", mode_loop},
    {"redirect", mode_redirect},
    {"redirfar", mode_redirfar},
    {"redirlocal", mode_redirlocal},
    {"redirfile", mode_redirfile},
    {"expired", mode_expired},
    {"expiredonce", mode_expiredonce},
    {"basic", mode_basic},
    {"basicredirect", mode_basicredirect},
    {"public", mode_public},
    {"private", mode_private},
    {"oauth", mode_oauth},
    {"onetime", mode_onetime},
    {"localrealm", mode_localrealm},
    {"farrealm", mode_farrealm},
    {"badtoken", mode_badtoken},
};

static void note(const struct request *r)
{
    pthread_mutex_lock(&lock);
    if (ocv_buffer_printf(&request_log, NULL, "%s %s %s %s %d\n", r->method, r->path,
                          r->authorization[0] ? r->authorization : "-",
                          r->range[0] ? r->range : "-", r->port) < 0)
        ocv_buffer_free(&request_log);
    pthread_mutex_unlock(&lock);
}

static bool tell_log(const struct request *r)
{
    pthread_mutex_lock(&lock);
    size_t n = request_log.len;
    bool kept = say(r->fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", n) &&
                put(r->fd, request_log.data, n);
    ocv_buffer_free(&request_log);
    pthread_mutex_unlock(&lock);
    return kept;
}

static bool tell_connections(const struct request *r)
{
    char text[16];
    pthread_mutex_lock(&lock);
    int n = snprintf(text, sizeof(text), "%u", connections);
    pthread_mutex_unlock(&lock);
    return say(r->fd, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", n, text);
}

/* Everything of a sound image but its layer. */
static const struct bytes *image_part(const struct request *r)
{
    const char *image = r->path + 4 + strlen(r->mode);
    if (strncmp(image, "/image/", 7))
        return NULL;
    if (r->blob)
        return strstr(image, image_config.digest) ? &image_config : NULL;
    return strstr(image, image_manifest.digest) ? &image_manifest : &image_index;
}

static bool answer(struct request *r)
{
    if (!strcmp(r->path, "/log"))
        return tell_log(r);
    if (!strcmp(r->path, "/connections"))
        return tell_connections(r);
    note(r);
    if (!strncmp(r->path, "/token?", 7))
        return token_get(r);
    if (!strncmp(r->path, "/oauth", 6))
        return token_post(r);
    if (!strncmp(r->path, "/badtoken", 9))
        return say(r->fd,
                   "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"token\":\"a\\r\\nb:c\"}");
    if (strncmp(r->path, "/v2/", 4))
        return error(r, 404, "", "UNKNOWN");
    snprintf(r->mode, sizeof(r->mode), "%.*s", (int)strcspn(r->path + 4, "/"), r->path + 4);
    r->blob = strstr(r->path, "/blobs/");
    const struct bytes *part = image_part(r);
    if (part)
        return whole(r, part);
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
        if (!strcmp(modes[i].name, r->mode))
            return modes[i].answer(r);
    return error(r, 404, "", "NAME_UNKNOWN");
}

/* Copy the value of a header of the head at `text`. */
static void header(const char *text, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);
    out[0] = '\0';
    for (const char *line = strstr(text, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, n) || line[n] != ':')
            continue;
        line += n + 1 + strspn(line + n + 1, " ");
        snprintf(out, size, "%.*s", (int)strcspn(line, "\r"), line);
        return;
    }
}

/* Read head and body; requests come one after the other, so nothing lies beyond them. */
static bool read_request(struct request *r)
{
    char text[16384], length[32];
    size_t used = 0;
    char *end = NULL;
    while (!end) {
        ssize_t n = recv(r->fd, text + used, sizeof(text) - 1 - used, 0);
        if (n <= 0)
            return false;
        used += (size_t)n;
        text[used] = '\0';
        if (text[0] < 'A' || text[0] > 'Z') { /* TLS: as other servers answer it */
            say(r->fd, "HTTP/1.0 400 Bad Request\r\n\r\n");
            return false;
        }
        end = strstr(text, "\r\n\r\n");
    }
    header(text, "Content-Length", length, sizeof(length));
    size_t body = strtoul(length, NULL, 10), have = used - (size_t)(end + 4 - text);
    if (body >= sizeof(r->body))
        return false;
    memcpy(r->body, end + 4, have < body ? have : body);
    while (have < body) {
        ssize_t n = recv(r->fd, r->body + have, body - have, 0);
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    r->body[body] = '\0';
    header(text, "Authorization", r->authorization, sizeof(r->authorization));
    header(text, "Range", r->range, sizeof(r->range));
    if (sscanf(text, "%7s %2047s", r->method, r->path) != 2)
        return false;
    if (!strncmp(r->path, "http://", 7) && strchr(r->path + 7, '/')) { /* we are the proxy */
        char *path = strchr(r->path + 7, '/');
        memmove(r->path, path, strlen(path) + 1);
    }
    r->head = !strcmp(r->method, "HEAD");
    return true;
}

static void *serve(void *data)
{
    struct request *r = data;
    pthread_mutex_lock(&lock);
    connections++;
    pthread_mutex_unlock(&lock);
    while (read_request(r) && answer(r))
        ;
    close(r->fd);
    free(r);
    return NULL;
}

static void *listen_on(void *data)
{
    int port = *(int *)data >> 16, fd = *(int *)data & 0xffff;
    for (;;) {
        struct request *r = calloc(1, sizeof(*r));
        pthread_t thread;
        if (!r)
            return NULL;
        r->fd = accept(fd, NULL, NULL);
        r->port = port;
        if (r->fd < 0 || pthread_create(&thread, NULL, serve, r)) {
            free(r);
            return NULL;
        }
        pthread_detach(thread);
    }
}

static int open_port(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 64) ||
        getsockname(fd, (struct sockaddr *)&address, &len))
        return -1;
    *port = ntohs(address.sin_port);
    return fd;
}

static struct bytes make(const char *data, size_t len, const char *type)
{
    struct bytes b = {.data = data, .len = len, .type = type};
    if (ocv_digest_bytes(data, len, b.digest, NULL) < 0)
        exit(1);
    return b;
}

static struct bytes load(const char *path)
{
    static char text[16 * 1024 * 1024];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t n = fread(text, 1, sizeof(text), file);
    fclose(file);
    return make(text, n, OCV_MEDIA_TYPE_INDEX);
}

/* An index of one image for every linux/amd64, whose only layer is the blob. */
static void prepare_image(void)
{
    static char manifest[1024], index[1024];
    static const char config[] = "{\"os\":\"linux\",\"architecture\":\"amd64\",\"config\":{},"
                                 "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[]}}";
    image_config = make(config, sizeof(config) - 1, "application/octet-stream");
    int n = snprintf(manifest, sizeof(manifest),
                     "{\"schemaVersion\":2,\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST
                     "\",\"config\":{\"mediaType\":\"" OCV_MEDIA_TYPE_CONFIG
                     "\",\"digest\":\"%s\",\"size\":%zu},\"layers\":[{\"mediaType\":"
                     "\"application/vnd.oci.image.layer.v1.tar\",\"digest\":\"%s\",\"size\":%zu}]}",
                     image_config.digest, image_config.len, served_blob.digest, served_blob.len);
    image_manifest = make(manifest, (size_t)n, OCV_MEDIA_TYPE_MANIFEST);
    n = snprintf(index, sizeof(index),
                 "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST
                 "\",\"digest\":\"%s\",\"size\":%zu,\"platform\":{\"os\":\"linux\","
                 "\"architecture\":\"amd64\"}}]}",
                 image_manifest.digest, image_manifest.len);
    image_index = make(index, (size_t)n, OCV_MEDIA_TYPE_INDEX);
}

static void prepare(void)
{
    static const char index[] =
        "{\"schemaVersion\":2,\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX "\",\"manifests\":[]}";
    static char big[5 * 1024 * 1024];
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof(blob); i++)
        blob[i] = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 16);
    memset(big, ' ', sizeof(big));
    served_blob = make((char *)blob, sizeof(blob), "application/octet-stream");
    served_index = make(index, sizeof(index) - 1, OCV_MEDIA_TYPE_INDEX);
    served_big = make(big, sizeof(big), OCV_MEDIA_TYPE_INDEX);
    prepare_image();
}

int main(int argc, char **argv)
{
    int fds[2];
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ocv_buffer_init(&request_log, 1024 * 1024);
    prepare();
    if (argc == 3 && !strcmp(argv[1], "--file"))
        served_file = load(argv[2]);
    for (int i = 0; i < 2; i++)
        if ((fds[i] = open_port(&ports[i])) < 0)
            return 1;
    printf("%d %d\n%s %zu\n%s %zu\n", ports[0], ports[1], served_index.digest, served_index.len,
           served_blob.digest, served_blob.len);
    fflush(stdout);
    int second = 1 << 16 | fds[1], first = fds[0];
    if (pthread_create(&thread, NULL, listen_on, &second))
        return 1;
    listen_on(&first);
    return 0;
}
