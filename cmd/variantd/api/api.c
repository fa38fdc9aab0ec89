/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every user of the node may read the profile: it has nothing that sysfs does not show. What only
 * the daemon's credentials can read is for root and the group `ocivariant`. */
#include "cmd/variantd/api/api.h"

#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/fit/image_fit.h"
#include "cmd/variantd/http/httpd.h"
#include "cmd/variantd/node/node.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESOLVE_STACK (512u * 1024)
#define STALL_S 30u

/* One request. Only /v1/resolve outlives its first call. */
struct call {
    struct current *current;
    struct httpd_suspended suspended;
    char *reference, *digest, *label, *properties, *config, *devices, *given;
    bool verdict;    /* /v1/verdict */
    bool registries; /* /v1/registries; neither: /v1/resolve */
    bool trusted;
    uid_t user;
    bool held;        /* the image is on the node */
    atomic_bool done; /* set by the thread, read when the connection is resumed */
    unsigned status;
    struct ocv_buffer body;
};

static enum MHD_Result queue_answer(struct MHD_Connection *connection, unsigned status,
                                    const char *type, struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_copy(struct MHD_Connection *connection, unsigned status,
                                   const char *type, const char *text, size_t len)
{
    return queue_answer(connection, status, type,
                        MHD_create_response_from_buffer(len, (char *)(uintptr_t)(len ? text : ""),
                                                        MHD_RESPMEM_MUST_COPY));
}

static void error_json(const char *message, const char *hint, struct ocv_buffer *out)
{
    json_t *root = json_pack("{s:s}", "error", message);
    if (root && hint && *hint)
        json_object_set_new(root, "hint", json_string(hint));
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (!text || ocv_buffer_printf(out, NULL, "%s\n", text) < 0)
        out->len = 0;
    free(text);
}

static enum MHD_Result answer_error(struct MHD_Connection *connection, unsigned status,
                                    const char *message)
{
    ocv_auto_buffer body;
    ocv_buffer_init(&body, 16384);
    error_json(message, NULL, &body);
    return answer_copy(connection, status, "application/json", body.data, body.len);
}

static unsigned http_status(int status)
{
    switch (status) {
    case OCV_ERR_INVALID:
    case OCV_ERR_CONFIG:
        return MHD_HTTP_BAD_REQUEST;
    case OCV_ERR_NOT_FOUND:
    case OCV_ERR_DENIED: /* does not reveal whether the image exists */
        return MHD_HTTP_NOT_FOUND;
    case OCV_ERR_NOMEM:
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    case OCV_ERR_NETWORK:
    case OCV_ERR_TLS:
    case OCV_ERR_DATA:
    case OCV_ERR_MISMATCH:
        return MHD_HTTP_BAD_GATEWAY;
    default:
        return MHD_HTTP_INTERNAL_SERVER_ERROR;
    }
}

static void *resolve_on_thread(void *data)
{
    struct call *call = data;
    struct ocv_error err = {0};
    const bool trusted = call->trusted;
    const uid_t user = call->user;
    struct instance *instance = current_borrow(call->current);
    const struct fit_question question = {.reference = call->reference,
                                          .digest = call->digest,
                                          .label = call->label,
                                          .properties = call->properties,
                                          .trusted = call->trusted,
                                          .config = call->config,
                                          .devices = call->devices,
                                          .given = call->given,
                                          .held = call->held};
    int status = call->registries ? mirror_registries(instance->mirror, trusted, &call->body, &err)
                 : call->verdict  ? fit_answer(instance, &question, &call->body, &err)
                                  : mirror_resolve(instance->mirror, call->reference, call->trusted,
                                                   &call->body, &err);
    current_return(call->current, instance);
    call->status = status == OCV_OK ? MHD_HTTP_OK : http_status(status);
    if (status < 0) {
        ocv_buffer_free(&call->body);
        error_json(err.message, err.hint, &call->body);
    }
    atomic_store(&call->done, true);
    httpd_resume(&call->suspended); /* may free `call` */
    api_thread_give(trusted, user);
    return NULL;
}

static void free_call(struct call *call)
{
    free(call->reference);
    free(call->digest);
    free(call->label);
    free(call->properties);
    free(call->config);
    free(call->devices);
    free(call->given);
    ocv_buffer_free(&call->body);
    free(call);
}

/* A copy of an argument; NULL if it is missing or empty. */
static bool copy_argument(struct MHD_Connection *connection, const char *name, char **out)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    if (!text || !*text)
        return true;
    *out = strdup(text);
    return *out != NULL;
}

/* An escape that httpd.c did not decode is a NUL. */
static enum MHD_Result find_nul(void *found, enum MHD_ValueKind kind, const char *key,
                                const char *value)
{
    (void)kind;
    if (strstr(key, "%00") || (value && strstr(value, "%00")))
        *(bool *)found = true;
    return MHD_YES;
}

static enum MHD_Result handle_question(struct current *current, struct MHD_Connection *connection,
                                       bool verdict, bool registries, struct call **out)
{
    bool nul = false;
    if (!registries)
        MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, find_nul, &nul);
    if (nul)
        return answer_error(connection, MHD_HTTP_BAD_REQUEST, "an argument contains a NUL");
    struct call *call = calloc(1, sizeof(*call));
    if (!call)
        return MHD_NO;
    ocv_buffer_init(&call->body, (registries ? 1u : 16u) * 1024 * 1024);
    if (!registries && (!copy_argument(connection, "ref", &call->reference) ||
                        !copy_argument(connection, "digest", &call->digest) ||
                        !copy_argument(connection, "label", &call->label) ||
                        !copy_argument(connection, "properties", &call->properties) ||
                        !copy_argument(connection, "config", &call->config) ||
                        !copy_argument(connection, "devices", &call->devices) ||
                        !copy_argument(connection, "given", &call->given))) {
        free_call(call);
        return MHD_NO;
    }
    bool enough = registries || call->reference ||
                  (verdict && (call->digest || call->properties || call->config));
    if (!enough) {
        free_call(call);
        return answer_error(connection, MHD_HTTP_BAD_REQUEST,
                            verdict ? "?ref=, digest= or properties= is missing"
                                    : "?ref=REFERENCE is missing");
    }
    call->current = current;
    call->verdict = verdict;
    call->registries = registries;
    call->trusted = api_trusted(connection, &call->user);
    const char *held = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "held");
    call->held = held && strcmp(held, "1") == 0;
    *out = call;

    pthread_attr_t attributes;
    pthread_t thread;
    /* counted before the thread starts: a stop waits for counted threads only */
    bool taken = api_thread_take(call->trusted, call->user);
    if (!taken || atomic_load(&current->stopping)) {
        if (taken)
            api_thread_give(call->trusted, call->user);
        return answer_error(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "too many references are being resolved; try again");
    }
    httpd_suspend(connection, &call->suspended);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, RESOLVE_STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &attributes, resolve_on_thread, call);
    pthread_attr_destroy(&attributes);
    if (failed) {
        api_thread_give(call->trusted, call->user);
        call->status = MHD_HTTP_SERVICE_UNAVAILABLE;
        error_json("cannot start a thread", NULL, &call->body);
        atomic_store(&call->done, true);
        httpd_resume(&call->suspended);
    }
    return MHD_YES;
}

static void put_snapshot(void *data)
{
    node_put(data);
}

/* The response holds the snapshot until its last byte is sent. */
static enum MHD_Result handle_profile(struct current *current, struct MHD_Connection *connection)
{
    struct instance *instance = current_borrow(current);
    const struct snapshot *snapshot = node_get(instance->node);
    current_return(current, instance);
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        snapshot->json.len, snapshot->json.data, put_snapshot, (void *)(uintptr_t)snapshot);
    if (!response)
        node_put(snapshot);
    return queue_answer(connection, MHD_HTTP_OK, "application/json", response);
}

/* Metrics that are open to the network do not name the registries. */
static enum MHD_Result handle_health(struct current *current, struct MHD_Connection *connection,
                                     bool full)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, API_HEALTH_MAX);
    struct instance *instance = current_borrow(current);
    const struct settings *settings = instance->settings;
    const struct snapshot *snapshot = node_get(instance->node);
    const char *address = current->address;
    int status = ocv_buffer_printf(
        &text, NULL,
        "{\"status\":\"ok\",\"version\":\"%s\",\"profile_age_seconds\":%.1f,"
        "\"listen\":\"%.*s:%u\",\"uid\":%u",
        ocv_version(), (double)(ocv_clock_ms() - snapshot->probed_at) / 1e3,
        (int)(strrchr(address, ':') - address), address, current->port, (unsigned)geteuid());
    if (status == OCV_OK && full)
        status = ocv_buffer_printf(&text, NULL, ",\"choose\":\"%s\",\"registries\":[",
                                   ocv_choose_name(ocv_config_choose(settings->config)));
    for (size_t i = 0; status == OCV_OK && full && i < settings->n_upstreams; i++)
        status = ocv_buffer_printf(&text, NULL, "%s\"%s\"", i ? "," : "",
                                   settings->upstreams[i].name); /* needs no escaping */
    if (status == OCV_OK && full)
        status =
            ocv_buffer_printf(&text, NULL, "],\"denied\":%llu",
                              (unsigned long long)metrics_get(current->metrics, METRIC_DENY_TOTAL));
    if (status == OCV_OK)
        status = ocv_buffer_append(&text, "}\n", 2, NULL);
    node_put(snapshot);
    current_return(current, instance);
    if (status < 0)
        return answer_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
    return answer_copy(connection, MHD_HTTP_OK, "application/json", text.data, text.len);
}

static enum MHD_Result handle_metrics(struct current *current, struct MHD_Connection *connection)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1024u * 1024);
    size_t lesser;
    metrics_set(current->metrics, METRIC_LESSER_IMAGES,
                local_images_lesser(&lesser) ? lesser : METRICS_ABSENT);
    if (metrics_format(current->metrics, ocv_clock_ms(), &text, NULL) < 0)
        return answer_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
    return answer_copy(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                       text.data, text.len);
}

/* Frees the memory that was reserved for the body: a decision about thousands of entries has
 * megabytes, and a client may be slow to read it. */
static void give_body(void *data)
{
    struct ocv_buffer *body = data;
    budget_release(body->len);
    ocv_buffer_free(body);
    free(body);
}

static enum MHD_Result answer_call(struct MHD_Connection *connection, struct call *call)
{
    struct ocv_buffer *body = malloc(sizeof(*body));
    if (!body || !budget_acquire(call->body.len)) {
        free(body);
        return answer_error(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "too many unread answers; try again");
    }
    *body = call->body;
    ocv_buffer_init(&call->body, 0);
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->len, body->data ? body->data : (char *)body, give_body, body);
    if (!response)
        give_body(body);
    return queue_answer(connection, call->status, "application/json", response);
}

static enum MHD_Result handle_request(struct current *current, struct MHD_Connection *connection,
                                      const char *url, const char *method, bool full, size_t upload,
                                      void **context)
{
    struct call *call = *context, **new_call = (struct call **)context;
    if (!call)
        connections_mark(connection, true);
    if (upload)
        return MHD_NO; /* no path takes a request body */
    if (call)
        return atomic_load(&call->done) ? answer_call(connection, call) : MHD_YES;
    /* an address that serves only /metrics to the network accepts any Host header */
    if (full) {
        struct instance *instance = current_borrow(current);
        bool foreign = foreign_request(connection, instance->settings);
        current_return(current, instance);
        if (foreign)
            return foreign_refuse(connection, current->metrics, "api");
    }

    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
    if (strcmp(url, "/metrics") == 0)
        return handle_metrics(current, connection);
    if (strcmp(url, "/v1/healthz") == 0)
        return handle_health(current, connection, full);
    if (full && strcmp(url, "/v1/profile") == 0)
        return handle_profile(current, connection);
    if (full && strcmp(url, "/v1/resolve") == 0)
        return handle_question(current, connection, false, false, new_call);
    if (full && strcmp(url, "/v1/registries") == 0)
        return handle_question(current, connection, false, true, new_call);
    if (full && strcmp(url, "/v1/verdict") == 0)
        return handle_question(current, connection, true, false, new_call);
    return answer_error(
        connection, MHD_HTTP_NOT_FOUND,
        full ? "available: /v1/profile, /v1/resolve?ref=, /v1/verdict, /v1/registries, /v1/healthz "
               "and /metrics"
             : "available: /metrics and /v1/healthz");
}

static enum MHD_Result handle_full(void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_size, void **context)
{
    (void)version, (void)upload;
    return handle_request(cls, connection, url, method, true, *upload_size, context);
}

static enum MHD_Result handle_some(void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_size, void **context)
{
    (void)version, (void)upload;
    return handle_request(cls, connection, url, method, false, *upload_size, context);
}

static void request_completed(void *cls, struct MHD_Connection *connection, void **context,
                              enum MHD_RequestTerminationCode why)
{
    struct call *call = *context;
    (void)cls, (void)why;
    connections_mark(connection, false);
    if (!call)
        return;
    free_call(call);
    *context = NULL;
}

int api_start(struct current *current, int fd, bool full, struct connections *peers,
              struct httpd **out, struct ocv_error *err)
{
    const struct httpd_calls calls = {full ? handle_full : handle_some, request_completed,
                                      connections_notify, current, peers};
    const struct httpd_limits limits = {1, (unsigned)peers->max, STALL_S, HTTPD_HEAD_MAX};
    int status = httpd_new(fd, &calls, &limits, out, err);
    return status < 0 ? ocv_error_prefix(err, "API") : OCV_OK;
}

void api_stop(struct httpd *httpd)
{
    /* suspended connections must be resumed before the daemon stops; each resolve has a deadline */
    while (httpd && api_threads_run())
        usleep(10000);
    httpd_free(httpd);
}
