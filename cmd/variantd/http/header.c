/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/http/httpd.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#define RANGE_MAX 64 /* characters: two numbers of 18 digits fit */
#define DIGITS_MAX 18
#define BYTES "bytes="

/* True if the parameter list has q=0 (or 0.000). */
static bool is_refused(const char *parameters, size_t len)
{
    static const char space[] = " \t;";
    for (size_t i = 0; i < len;) {
        i += strspn(parameters + i, space);
        size_t n = i < len ? strcspn(parameters + i, ";,") : 0;
        const char *p = parameters + i;
        if (n > 2 && (p[0] == 'q' || p[0] == 'Q') && p[1] == '=' && p[2] == '0')
            return strspn(p + 2, "0. \t") >= n - 2;
        i += n ? n : 1;
    }
    return false;
}

bool header_accepts(const char *value, const char *type)
{
    size_t type_len = strlen(type), major = strcspn(type, "/") + 1;
    for (const char *p = value; *p;) {
        p += strspn(p, " \t,");
        size_t len = strcspn(p, ","), name = strcspn(p, ";, \t");
        bool all = name == 3 && !memcmp(p, "*/*", 3);
        bool kin = name == major + 1 && p[major] == '*' && !strncasecmp(p, type, major);
        bool same = name == type_len && !strncasecmp(p, type, name);
        if ((all || kin || same) && !is_refused(p + name, len - name))
            return true;
        p += len;
    }
    return false;
}

bool header_range_single(const char *value)
{
    size_t len = strlen(value), prefix = strlen(BYTES);
    return len < RANGE_MAX && !strncmp(value, BYTES, prefix) &&
           strspn(value + prefix, "0123456789-") == len - prefix;
}

static bool read_digits(const char **p, int64_t *out)
{
    const char *start = *p;
    for (*out = 0; **p >= '0' && **p <= '9' && *p - start < DIGITS_MAX; (*p)++)
        *out = *out * 10 + (**p - '0');
    return *p > start;
}

bool header_range_of(const char *value, int64_t size, int64_t *from, int64_t *end)
{
    int64_t first = 0, last = size - 1;
    if (!header_range_single(value))
        return false;
    const char *p = value + strlen(BYTES);
    if (*p == '-') { /* the last N bytes */
        p++;
        if (!read_digits(&p, &first) || first == 0)
            return false;
        first = first < size ? size - first : 0;
    } else if (!read_digits(&p, &first) || *p++ != '-' || (*p && !read_digits(&p, &last))) {
        return false;
    }
    *from = first;
    *end = last < size ? last : size - 1;
    return !*p && first < size && first <= *end;
}

#define HOST_MAX 256 /* a name has at most 253 characters, plus a final dot */

bool header_host_is_ours(const char *value, const char *const *names, size_t n)
{
    static const char *const loopback[] = {"localhost", "localhost.localdomain", "ip6-localhost"};
    char host[HOST_MAX];
    const char *colon = strrchr(value, ':');
    bool port = colon && strspn(colon + 1, "0123456789") == strlen(colon + 1);
    size_t len = port ? (size_t)(colon - value) : strlen(value);
    if (len == 0 || len >= sizeof(host))
        return len == 0 && !colon; /* empty: the client sends no name */
    memcpy(host, value, len);
    host[len] = '\0';
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(names[i], host) == 0 || strcasecmp(names[i], value) == 0)
            return true;
    if (host[len - 1] == '.')
        host[len - 1] = '\0';
    for (size_t i = 0; i < sizeof(loopback) / sizeof(*loopback); i++)
        if (strcasecmp(loopback[i], host) == 0)
            return true;
    unsigned char bytes[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, host, bytes) == 1)
        return true;
    /* "[::1]", but not "[fe80::1%eth0]", which no client sends */
    if (len < 4 || host[0] != '[' || host[len - 1] != ']')
        return false;
    host[len - 1] = '\0';
    return inet_pton(AF_INET6, host + 1, bytes) == 1;
}

struct name_search {
    const char *const *names;
    size_t n;
    bool foreign;
};

static enum MHD_Result check_header(void *cls, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    struct name_search *look = cls;
    (void)kind;
    if (!value)
        value = "";
    if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0)
        look->foreign |= !header_host_is_ours(value, look->names, look->n);
    else if (strcasecmp(key, MHD_HTTP_HEADER_ORIGIN) == 0)
        look->foreign = true;
    else if (strcasecmp(key, "Sec-Fetch-Site") == 0)
        /* the browser fetches this for a page of another site; a typed address has no site */
        look->foreign |= strcmp(value, "none") != 0 && strcmp(value, "same-origin") != 0;
    return MHD_YES;
}

bool foreign_request(struct MHD_Connection *connection, const struct settings *settings)
{
    struct name_search look = {0};
    look.n = ocv_config_list(settings->config, "host_names", &look.names);
    MHD_get_connection_values(connection, MHD_HEADER_KIND, check_header, &look);
    return look.foreign;
}

enum MHD_Result foreign_refuse(struct MHD_Connection *connection, struct metrics *metrics,
                               const char *where)
{
    static char text[] = "{\"errors\":[{\"code\":\"UNSUPPORTED\",\"message\":"
                         "\"the Host header has to be localhost, a loopback address or one "
                         "of host_names, and a web page may not ask\"}]}\n";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof(text) - 1, text, MHD_RESPMEM_PERSISTENT);
    metrics_raise(metrics, METRICS_FOREIGN, where, NULL, 1);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_NOT_FOUND, response);
    MHD_destroy_response(response);
    return result;
}
