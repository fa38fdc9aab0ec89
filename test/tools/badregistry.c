/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A registry that misbehaves on request, for tests. Listens on two free loopback ports, prints
 * "PORT PORT2" and serves until it is killed or its parent ends. The first component of the
 * repository's name selects what goes wrong; `--file PATH` is what repository "file" serves as an
 * index. Repository "MODE/image" holds a sound image, and only with its layer goes wrong what MODE
 * says. GET /log tells the requests so far, one a line: METHOD PATH AUTHORIZATION RANGE PORT, and
 * GET /connections how many connections there were. */
#include "test/tools/badregistry_auth.h"
#include "test/tools/badregistry_modes.h"

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
    {"genericcut", mode_genericcut},
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
    {"m429wait", mode_m429wait},
    {"m500", mode_m500},
    {"m503ok", mode_m503ok},
    {"silent", mode_silent},
    {"mute", mode_mute},
    {"mutetoken", mode_mutetoken},
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
    {"fattoken", mode_fattoken},
    {"fulltoken", mode_fulltoken},
    {"overtoken", mode_overtoken},
    {"fulluntold", mode_fulluntold},
    {"overuntold", mode_overuntold},
    {"faterror", mode_faterror},
    {"fattags", mode_fattags},
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

/* All parts of a valid image except its layer. */
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
    if (!strncmp(r->path, "/mute", 5))
        return mode_mute(r);
    if (!strncmp(r->path, "/fattoken", 9))
        return fat(r, 200, "x", 250000);
    if (!strncmp(r->path, "/sized/", 7) || !strncmp(r->path, "/untold/", 8))
        return sized_token(r, r->path[1] == 's');
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

/* Read head and body; requests are sequential, so nothing follows them. */
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
        if (text[0] < 'A' || text[0] > 'Z') { /* TLS: answered as by other servers */
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
    if (!strncmp(r->path, "http://", 7) && strchr(r->path + 7, '/')) { /* we are used as a proxy */
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
    static const char generic[] = "{\"schemaVersion\":2,\"artifactType\":\"mediaType\","
                                  "\"annotations\":{\"mediaType\":\"text/plain\"},"
                                  "\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX "\",\"manifests\":[]}";
    static char big[5 * 1024 * 1024];
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof(blob); i++)
        blob[i] = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 16);
    memset(big, ' ', sizeof(big));
    served_blob = make((char *)blob, sizeof(blob), "application/octet-stream");
    served_index = make(index, sizeof(index) - 1, OCV_MEDIA_TYPE_INDEX);
    served_generic = make(generic, sizeof(generic) - 1, "application/json");
    static const char cut[] = "{\"mediaType\":\"application/vnd.oci.image.index.v1+json";
    served_cut = make(cut, sizeof(cut) - 1, "application/json");
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
