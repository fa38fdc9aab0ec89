/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A registry in memory that has what docker-registry 2.8 lacks, for tests: referrers with filter
 * and pages, If-Match on tags, pages of tags with Link, mounts from any repository. Listens on a
 * free loopback port, prints "PORT" and then one line for each request: METHOD URL STATUS. Serves
 * until it is killed or its parent ends.
 *
 *   GET /_test/at?request=METHOD+PATH&n=N&status=S      the N-th such request from now on gets
 *       status S (0: the connection breaks off); PATH may be a prefix
 *   GET /_test/at?request=METHOD+PATH&n=N&retag=REPO:TAG@DIGEST   before the N-th such request the
 *       tag is moved: somebody else writes at that moment
 *   --no-mount, --page N                                refuse mounts; most entries of a page
 *   --upload-at URL         where uploads shall go, in place of a path here; "": it does not say;
 *                           "here" and "here/..." stand for http://127.0.0.1:PORT of its own */
#include "ocivariant.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define BODY_MAX (256u * 1024 * 1024)
#define SUBJECT_MAX 256

/* Blobs, manifests and tags are all kept in one list. */
enum kind { BLOB, MANIFEST, TAG };
struct object {
    struct object *next;
    enum kind kind;
    char *repository, *name; /* digest, or tag */
    char *type;              /* of a manifest */
    char *target;            /* of a tag: a digest */
    char subject[SUBJECT_MAX];
    char *data;
    size_t len;
};

struct rule {
    struct rule *next;
    char *request, *retag;
    unsigned n;
    int status;
    bool used;
};

struct request {
    char *url; /* decoded path */
    struct ocv_buffer body;
};

static struct object *objects;
static struct rule *rules;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool mounts = true;
static unsigned page_size = 100, sessions, port;
static const char *upload_at; /* NULL: a path of this server */

static void *need(void *p)
{
    if (!p)
        abort();
    return p;
}

static struct object *find(enum kind kind, const char *repository, const char *name)
{
    for (struct object *o = objects; o; o = o->next)
        if (o->kind == kind && !strcmp(o->repository, repository) && !strcmp(o->name, name))
            return o;
    return NULL;
}

static struct object *find_blob_anywhere(const char *digest)
{
    for (struct object *o = objects; o; o = o->next)
        if (o->kind == BLOB && !strcmp(o->name, digest))
            return o;
    return NULL;
}

static struct object *put_object(enum kind kind, const char *repository, const char *name)
{
    struct object *o = find(kind, repository, name);
    if (o)
        return o;
    o = need(calloc(1, sizeof(*o)));
    o->kind = kind;
    o->repository = need(strdup(repository));
    o->name = need(strdup(name));
    o->next = objects;
    objects = o;
    return o;
}

static void set_text(char **to, const char *text)
{
    free(*to);
    *to = need(strdup(text));
}

static void set_data(struct object *o, const char *data, size_t len)
{
    free(o->data);
    o->data = need(malloc(len + 1));
    memcpy(o->data, data, len);
    o->len = len;
}

struct answer {
    int status;
    const char *data;
    size_t len;
    char *own; /* freed afterwards */
    const char *headers[8][2];
    size_t n;
    char text[4][1200]; /* room for headers */
};

static void header(struct answer *a, const char *name, const char *value)
{
    a->headers[a->n][0] = name;
    a->headers[a->n++][1] = value;
}

static void fail(struct answer *a, int status, const char *code)
{
    char *text = NULL;
    a->status = status;
    if (asprintf(&text, "{\"errors\":[{\"code\":\"%s\",\"message\":\"said the test\"}]}", code) < 0)
        abort();
    a->own = text;
    a->data = text;
    a->len = strlen(text);
    header(a, "Content-Type", "application/json");
}

static void give(struct answer *a, const struct object *o)
{
    a->status = 200;
    a->data = o->data;
    a->len = o->len;
    header(a, "Content-Type", o->type ? o->type : "application/octet-stream");
    header(a, "Docker-Content-Digest", o->name);
    snprintf(a->text[0], sizeof(a->text[0]), "\"%s\"", o->name);
    header(a, "ETag", a->text[0]);
}

static void give_json(struct answer *a, json_t *json, const char *type)
{
    a->status = 200;
    a->own = need(json_dumps(json, JSON_COMPACT));
    a->data = a->own;
    a->len = strlen(a->own);
    header(a, "Content-Type", type);
    json_decref(json);
}

static const char *query(struct MHD_Connection *c, const char *key)
{
    return MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, key);
}

static struct object *manifest_of(const char *repository, const char *name)
{
    struct object *tag = strchr(name, ':') ? NULL : find(TAG, repository, name);
    const char *digest = strchr(name, ':') ? name : tag ? tag->target : NULL;
    return digest ? find(MANIFEST, repository, digest) : NULL;
}

static bool is_there(const char *repository, const json_t *descriptor, enum kind kind)
{
    const char *digest = json_string_value(json_object_get(descriptor, "digest"));
    return digest && find(kind, repository, digest);
}

/* Everything that it names must exist. */
static bool complete(const char *repository, const json_t *root)
{
    const json_t *config = json_object_get(root, "config");
    json_t *item;
    size_t i;
    bool ok = !config || is_there(repository, config, BLOB);
    json_array_foreach(json_object_get(root, "layers"), i, item) ok =
        ok && is_there(repository, item, BLOB);
    json_array_foreach(json_object_get(root, "manifests"), i, item) ok =
        ok && is_there(repository, item, MANIFEST);
    return ok;
}

/* If-Match: the digest that the tag must name, in quotes. */
static bool matches(struct MHD_Connection *c, const char *repository, const char *name)
{
    const char *wanted = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "If-Match");
    struct object *now = manifest_of(repository, name);
    return !wanted ||
           (now && strlen(wanted) > 2 && !strncmp(wanted + 1, now->name, strlen(now->name)));
}

static void put_manifest(struct MHD_Connection *c, const char *repository, const char *name,
                         const struct request *r, struct answer *a)
{
    const char *type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");
    char digest[OCV_DIGEST_MAX];
    json_t *root = json_loadb(r->body.data ? r->body.data : "", r->body.len, 0, NULL);
    if (!root || !type || ocv_digest_bytes(r->body.data, r->body.len, digest, NULL) < 0) {
        fail(a, 400, "MANIFEST_INVALID");
    } else if (strchr(name, ':') && strcmp(name, digest) != 0) {
        fail(a, 400, "DIGEST_INVALID");
    } else if (!matches(c, repository, name)) {
        fail(a, 412, "PRECONDITION_FAILED");
    } else if (!complete(repository, root)) {
        fail(a, 400, "MANIFEST_BLOB_UNKNOWN");
    } else {
        struct object *o = put_object(MANIFEST, repository, digest);
        const json_t *subject = json_object_get(root, "subject");
        set_text(&o->type, type);
        set_data(o, r->body.data, r->body.len);
        snprintf(o->subject, sizeof(o->subject), "%s",
                 subject ? json_string_value(json_object_get(subject, "digest")) : "");
        if (!strchr(name, ':'))
            set_text(&put_object(TAG, repository, name)->target, digest);
        a->status = 201;
        snprintf(a->text[0], sizeof(a->text[0]), "/v2/%s/manifests/%s", repository, digest);
        header(a, "Location", a->text[0]);
        header(a, "Docker-Content-Digest", o->name);
        if (o->subject[0])
            header(a, "OCI-Subject", o->subject);
    }
    json_decref(root);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_tags(struct MHD_Connection *c, const char *repository, struct answer *a)
{
    const char *last = query(c, "last"), *count = query(c, "n");
    unsigned n = count ? (unsigned)strtoul(count, NULL, 10) : page_size, given = 0;
    const char *names[4096];
    size_t total = 0;
    json_t *tags = json_array();
    n = n > page_size ? page_size : n;
    for (struct object *o = objects; o && total < 4096; o = o->next)
        if (o->kind == TAG && !strcmp(o->repository, repository))
            names[total++] = o->name;
    qsort(names, total, sizeof(*names), by_text);
    for (size_t i = 0; i < total; i++) {
        if (last && strcmp(names[i], last) <= 0)
            continue;
        if (given == n) {
            snprintf(a->text[0], sizeof(a->text[0]),
                     "</v2/%s/tags/list?last=%s&n=%u>; rel=\"next\"", repository,
                     json_string_value(json_array_get(tags, given - 1)), n);
            header(a, "Link", a->text[0]);
            break;
        }
        json_array_append_new(tags, json_string(names[i]));
        given++;
    }
    if (total)
        give_json(a, json_pack("{s:s, s:o}", "name", repository, "tags", tags), "application/json");
    else
        fail(a, 404, "NAME_UNKNOWN");
}

static json_t *referrer(const struct object *o)
{
    json_t *root = json_loadb(o->data, o->len, 0, NULL);
    const char *type = json_string_value(json_object_get(root, "artifactType"));
    json_t *annotations = json_object_get(root, "annotations");
    if (!type)
        type = json_string_value(json_object_get(json_object_get(root, "config"), "mediaType"));
    json_t *out = json_pack("{s:s, s:s, s:I, s:s?}", "mediaType", o->type, "digest", o->name,
                            "size", (json_int_t)o->len, "artifactType", type);
    if (annotations)
        json_object_set(out, "annotations", annotations);
    json_decref(root);
    return out;
}

/* Pages have `page_size` entries. */
static void list_referrers(struct MHD_Connection *c, const char *repository, const char *digest,
                           struct answer *a)
{
    const char *filter = query(c, "artifactType"), *from = query(c, "from");
    size_t skip = from ? strtoul(from, NULL, 10) : 0, seen = 0;
    json_t *list = json_array();
    for (struct object *o = objects; o; o = o->next) {
        if (o->kind != MANIFEST || strcmp(o->repository, repository) != 0 ||
            strcmp(o->subject, digest) != 0)
            continue;
        json_t *item = referrer(o);
        const char *type = json_string_value(json_object_get(item, "artifactType"));
        bool wanted = !filter || (type && !strcmp(type, filter));
        if (wanted && seen++ >= skip && json_array_size(list) < page_size)
            json_array_append(list, item);
        json_decref(item);
    }
    if (seen > skip + json_array_size(list)) {
        snprintf(a->text[0], sizeof(a->text[0]), "</v2/%s/referrers/%s?from=%zu>; rel=\"next\"",
                 repository, digest, skip + json_array_size(list));
        header(a, "Link", a->text[0]);
    }
    if (filter)
        header(a, "OCI-Filters-Applied", "artifactType");
    give_json(a,
              json_pack("{s:i, s:s, s:o}", "schemaVersion", 2, "mediaType", OCV_MEDIA_TYPE_INDEX,
                        "manifests", list),
              OCV_MEDIA_TYPE_INDEX);
}

static void say_where(const char *repository, char *out, size_t size)
{
    bool here = upload_at && !strncmp(upload_at, "here", 4);
    if (here)
        snprintf(out, size, "http://127.0.0.1:%u%s", port, upload_at + 4);
    else if (upload_at)
        snprintf(out, size, "%s", upload_at);
    else
        snprintf(out, size, "/v2/%s/blobs/uploads/%u", repository, ++sessions);
}

static void begin_upload(struct MHD_Connection *c, const char *repository, struct answer *a)
{
    const char *mount = query(c, "mount");
    struct object *source = mount && mounts ? find_blob_anywhere(mount) : NULL;
    if (source) {
        struct object *o = put_object(BLOB, repository, mount);
        set_data(o, source->data, source->len);
        a->status = 201;
        snprintf(a->text[0], sizeof(a->text[0]), "/v2/%s/blobs/%s", repository, mount);
        snprintf(a->text[1], sizeof(a->text[1]), "%s", mount);
        header(a, "Docker-Content-Digest", a->text[1]);
    } else {
        a->status = 202;
        say_where(repository, a->text[0], sizeof(a->text[0]));
    }
    if (a->text[0][0])
        header(a, "Location", a->text[0]);
}

static void end_upload(struct MHD_Connection *c, const char *repository, const struct request *r,
                       struct answer *a)
{
    const char *digest = query(c, "digest");
    const char *data = r->body.data ? r->body.data : "";
    if (!digest || ocv_digest_check(digest, data, r->body.len, NULL) < 0) {
        fail(a, 400, "DIGEST_INVALID");
        return;
    }
    set_data(put_object(BLOB, repository, digest), data, r->body.len);
    a->status = 201;
    snprintf(a->text[0], sizeof(a->text[0]), "/v2/%s/blobs/%s", repository, digest);
    header(a, "Location", a->text[0]);
}

static void take_blob(struct MHD_Connection *c, const char *method, const char *repository,
                      const char *name, const struct request *r, struct answer *a)
{
    struct object *o = find(BLOB, repository, name);
    if (!strcmp(method, "POST") && !strncmp(name, "uploads/", 8))
        begin_upload(c, repository, a);
    else if (!strcmp(method, "PUT") && !strncmp(name, "uploads/", 8))
        end_upload(c, repository, r, a);
    else if (o && (!strcmp(method, "GET") || !strcmp(method, "HEAD")))
        give(a, o);
    else
        fail(a, o ? 405 : 404, "BLOB_UNKNOWN");
}

static void take_manifest(struct MHD_Connection *c, const char *method, const char *repository,
                          const char *name, const struct request *r, struct answer *a)
{
    struct object *o = manifest_of(repository, name);
    if (!strcmp(method, "PUT"))
        put_manifest(c, repository, name, r, a);
    else if (o && (!strcmp(method, "GET") || !strcmp(method, "HEAD")))
        give(a, o);
    else
        fail(a, o ? 405 : 404, "MANIFEST_UNKNOWN");
}

static void route(struct MHD_Connection *c, const char *method, const struct request *r,
                  struct answer *a)
{
    static const char *const parts[] = {"/manifests/", "/blobs/", "/referrers/", "/tags/list"};
    char repository[512];
    const char *path = r->url, *at = NULL;
    size_t part = 0;
    if (!strcmp(path, "/v2/") || !strcmp(path, "/v2")) {
        a->status = 200;
        return;
    }
    for (; !at && part < sizeof(parts) / sizeof(*parts); part++)
        at = strstr(path, parts[part]);
    if (strncmp(path, "/v2/", 4) != 0 || !at || at < path + 4) {
        fail(a, 404, "NAME_UNKNOWN");
        return;
    }
    snprintf(repository, sizeof(repository), "%.*s", (int)(at - path - 4), path + 4);
    const char *name = at + strlen(parts[part - 1]);
    if (part == 1)
        take_manifest(c, method, repository, name, r, a);
    else if (part == 2)
        take_blob(c, method, repository, name, r, a);
    else if (part == 3)
        list_referrers(c, repository, name, a);
    else
        list_tags(c, repository, a);
}

static void add_rule(struct MHD_Connection *c, struct answer *a)
{
    const char *request = query(c, "request"), *n = query(c, "n"), *status = query(c, "status");
    struct rule *rule = need(calloc(1, sizeof(*rule)));
    rule->request = need(strdup(request ? request : ""));
    rule->n = n ? (unsigned)strtoul(n, NULL, 10) : 1;
    rule->status = status ? (int)strtol(status, NULL, 10) : -1;
    if (query(c, "retag"))
        rule->retag = need(strdup(query(c, "retag")));
    rule->next = rules;
    rules = rule;
    a->status = 200;
}

static void retag(char *text)
{
    char *at = strchr(text, '@'), *colon = strchr(text, ':');
    if (!at || !colon || colon > at)
        return;
    *at = *colon = '\0';
    set_text(&put_object(TAG, text, colon + 1)->target, at + 1);
    *at = '@';
    *colon = ':';
}

/* The status that a rule gives to the request, or -1. */
static int check(const char *method, const char *url)
{
    char line[2200];
    int status = -1;
    snprintf(line, sizeof(line), "%s %s", method, url);
    for (struct rule *rule = rules; rule; rule = rule->next) {
        if (rule->used || strncmp(line, rule->request, strlen(rule->request)) != 0 || --rule->n)
            continue;
        rule->used = true;
        if (rule->retag)
            retag(rule->retag);
        status = rule->status;
    }
    return status;
}

static enum MHD_Result send_answer(struct MHD_Connection *c, const char *method,
                                   const struct answer *a)
{
    bool head = !strcmp(method, "HEAD");
    struct MHD_Response *response = MHD_create_response_from_buffer(
        a->len, (void *)(a->data ? a->data : ""), MHD_RESPMEM_MUST_COPY);
    (void)head; /* libmicrohttpd itself omits the body, and sets its length */
    for (size_t i = 0; i < a->n; i++)
        MHD_add_response_header(response, a->headers[i][0], a->headers[i][1]);
    enum MHD_Result result = MHD_queue_response(c, (unsigned)a->status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result serve(struct MHD_Connection *c, const char *method, struct request *r)
{
    struct answer a = {.status = 404};
    pthread_mutex_lock(&lock);
    int status = check(method, r->url);
    if (!strcmp(r->url, "/_test/at"))
        add_rule(c, &a);
    else if (status > 0)
        fail(&a, status, "UNKNOWN");
    else if (status != 0)
        route(c, method, r, &a);
    printf("%s %s %d\n", method, r->url, status == 0 ? 0 : a.status);
    fflush(stdout);
    enum MHD_Result result = status == 0 ? MHD_NO : send_answer(c, method, &a);
    pthread_mutex_unlock(&lock);
    free(a.own);
    return result;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *size, void **state)
{
    struct request *r = *state;
    (void)data;
    (void)version;
    if (!r) {
        r = need(calloc(1, sizeof(*r)));
        r->url = need(strdup(url));
        ocv_buffer_init(&r->body, BODY_MAX);
        *state = r;
        return MHD_YES;
    }
    if (*size) {
        if (ocv_buffer_append(&r->body, upload, *size, NULL) < 0)
            return MHD_NO;
        *size = 0;
        return MHD_YES;
    }
    return serve(c, method, r);
}

static void on_end(void *data, struct MHD_Connection *c, void **state,
                   enum MHD_RequestTerminationCode why)
{
    struct request *r = *state;
    (void)data;
    (void)c;
    (void)why;
    if (!r)
        return;
    free(r->url);
    ocv_buffer_free(&r->body);
    free(r);
    *state = NULL;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--no-mount"))
            mounts = false;
        else if (!strcmp(argv[i], "--upload-at") && i + 1 < argc)
            upload_at = argv[++i];
        else if (!strcmp(argv[i], "--page") && i + 1 < argc)
            page_size = (unsigned)strtoul(argv[++i], NULL, 10);
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL,
                         NULL, on_request, NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
                         MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (!info)
        return 1;
    port = info->port;
    printf("%u\n", port);
    fflush(stdout);
    for (;;)
        pause();
}
