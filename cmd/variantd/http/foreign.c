/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/http/foreign.h"

#include "cmd/variantd/http/header.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

struct name_search {
    const char *const *names;
    size_t n;
    bool foreign;
};

/* True if the browser fetches this for a page of another site; a typed address has no site. */
static bool from_elsewhere(const char *site)
{
    return strcmp(site, "none") != 0 && strcmp(site, "same-origin") != 0;
}

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
        look->foreign |= from_elsewhere(value);
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
    metrics_foreign(metrics, where);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_NOT_FOUND, response);
    MHD_destroy_response(response);
    return result;
}
