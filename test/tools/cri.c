/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small CRI client for tests: what kubelet and crictl ask of containerd and its proxies.
 *
 *   cri SOCKET METHOD [JSON]        any call of cri.proto; names and shapes are the protocol's own,
 *                                   maps are objects, "-" reads the JSON from stdin. Prints JSON
 *   cri SOCKET pull REF             PullImage; prints the image's id
 *   cri SOCKET images [REF]         ListImages; a line of id, tags and digests for each
 *   cri SOCKET status REF           ImageStatus: the image, or null
 *   cri SOCKET rmi REF              RemoveImage
 *   cri SOCKET run REF [WORD...]    a pod with one container, as a kubelet runs it, on the host's
 *                                   network; prints its output and ends with its exit status
 *
 * Exit status 1 and one line of the status' name and message when a call fails, 2 for wrong use. */
#include "cri.pb-c.h"
#include "lib/internal/grpc/grpc.h"
#include "ocivariant.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_MAX (4u * 1024 * 1024)
#define CALL_MS 120000u
#define RUN_POLLS 2400 /* of 50 ms */

static struct ocv_error err;
static struct grpc_client *client;

__attribute__((noreturn)) static void die(int status, const char *what, const char *why)
{
    fprintf(stderr, "cri: %s%s%s\n", what, why && *why ? ": " : "", why && *why ? why : "");
    exit(status);
}

static void need(int status, const char *what)
{
    if (status < 0)
        die(1, what, err.message);
}

static void put_varint(struct ocv_buffer *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    need(ocv_buffer_append(out, bytes, n, &err), "request");
}

static void put_bytes(struct ocv_buffer *out, uint32_t id, const void *bytes, size_t len)
{
    put_varint(out, (uint64_t)id << 3 | 2);
    put_varint(out, len);
    need(ocv_buffer_append(out, bytes, len, &err), "request");
}

static void put_message(struct ocv_buffer *out, const ProtobufCMessageDescriptor *type,
                        const json_t *json);

static uint64_t number_of(const ProtobufCFieldDescriptor *field, const json_t *json)
{
    if (json_is_boolean(json))
        return json_is_true(json);
    if (json_is_integer(json))
        return (uint64_t)json_integer_value(json);
    const ProtobufCEnumValue *value = NULL;
    if (field->type == PROTOBUF_C_TYPE_ENUM && json_is_string(json))
        value = protobuf_c_enum_descriptor_get_value_by_name(field->descriptor,
                                                             json_string_value(json));
    if (!value)
        die(2, field->name, "wrong value");
    return (uint64_t)value->value;
}

static void put_value(struct ocv_buffer *out, const ProtobufCFieldDescriptor *field,
                      const json_t *json)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        ocv_auto_buffer inner;
        ocv_buffer_init(&inner, REQUEST_MAX);
        put_message(&inner, field->descriptor, json);
        put_bytes(out, field->id, inner.data, inner.len);
    } else if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES) {
        if (!json_is_string(json))
            die(2, field->name, "is a string");
        put_bytes(out, field->id, json_string_value(json), json_string_length(json));
    } else {
        put_varint(out, (uint64_t)field->id << 3);
        put_varint(out, number_of(field, json));
    }
}

static void put_repeated(struct ocv_buffer *out, const ProtobufCFieldDescriptor *field,
                         json_t *json)
{
    const char *key;
    json_t *value;
    size_t i;
    json_array_foreach(json, i, value)
    {
        put_value(out, field, value);
    }
    json_object_foreach(json, key, value)
    {
        json_t *pair = json_pack("{s:s, s:O}", "key", key, "value", value);
        put_value(out, field, pair);
        json_decref(pair);
    }
}

static void put_message(struct ocv_buffer *out, const ProtobufCMessageDescriptor *type,
                        const json_t *json)
{
    const char *key;
    json_t *value;
    if (!json_is_object(json))
        die(2, type->short_name, "is an object");
    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(type, key);
        if (!field)
            die(2, type->short_name, "has no such field");
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
            put_repeated(out, field, value);
        else
            put_value(out, field, value);
    }
}

static json_t *json_of(const ProtobufCMessage *message);

static json_t *value_of(const ProtobufCFieldDescriptor *field, const void *at)
{
    const ProtobufCBinaryData *bytes = at;
    const ProtobufCEnumValue *name;
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return json_string(*(char *const *)at);
    case PROTOBUF_C_TYPE_BYTES:
        return json_stringn((const char *)bytes->data, bytes->len);
    case PROTOBUF_C_TYPE_MESSAGE:
        return json_of(*(ProtobufCMessage *const *)at);
    case PROTOBUF_C_TYPE_BOOL:
        return json_boolean(*(const protobuf_c_boolean *)at);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        return json_integer(*(const int64_t *)at);
    case PROTOBUF_C_TYPE_ENUM:
        name = protobuf_c_enum_descriptor_get_value(field->descriptor, *(const int *)at);
        return name ? json_string(name->name) : json_integer(*(const int *)at);
    default:
        return json_integer(*(const int32_t *)at);
    }
}

static bool is_pair(const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessageDescriptor *type = field->descriptor;
    return field->type == PROTOBUF_C_TYPE_MESSAGE && type->n_fields == 2 &&
           strcmp(type->fields[0].name, "key") == 0 && strcmp(type->fields[1].name, "value") == 0;
}

static json_t *list_of(const ProtobufCFieldDescriptor *field, const void *at, size_t n)
{
    size_t size = field->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData)
                  : field->type == PROTOBUF_C_TYPE_INT32 || field->type == PROTOBUF_C_TYPE_UINT32 ||
                          field->type == PROTOBUF_C_TYPE_ENUM || field->type == PROTOBUF_C_TYPE_BOOL
                      ? 4
                      : 8;
    json_t *list = is_pair(field) ? json_object() : json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *one = value_of(field, (const char *)at + i * size);
        if (json_is_array(list)) {
            json_array_append_new(list, one);
        } else {
            json_object_set(list, json_string_value(json_object_get(one, "key")),
                            json_object_get(one, "value"));
            json_decref(one);
        }
    }
    return list;
}

static json_t *json_of(const ProtobufCMessage *message)
{
    if (!message)
        return json_null();
    json_t *json = json_object();
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *at = (const char *)message + field->offset;
        size_t n = 0;
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            memcpy(&n, (const char *)message + field->quantifier_offset, sizeof(n));
            json_object_set_new(json, field->name, list_of(field, *(char *const *)at, n));
        } else {
            json_object_set_new(json, field->name, value_of(field, at));
        }
    }
    return json;
}

static const ProtobufCMethodDescriptor *find_method(const char *name, const char **service)
{
    const ProtobufCMethodDescriptor *method =
        protobuf_c_service_descriptor_get_method_by_name(&cri__image_service__descriptor, name);
    *service = "ImageService";
    if (method)
        return method;
    *service = "RuntimeService";
    return protobuf_c_service_descriptor_get_method_by_name(&cri__runtime_service__descriptor,
                                                            name);
}

static int keep_message(void *data, const uint8_t *message, size_t len)
{
    return ocv_buffer_append(data, message, len, &err);
}

static const char *code_name(enum grpc_code code)
{
    static const char *const names[] = {
        "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
        "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
        "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
        "DataLoss", "Unauthenticated"};
    return code < sizeof(names) / sizeof(names[0]) ? names[code] : "?";
}

/* Call a method; takes `request`, gives the answer or NULL when it failed, which has been said. */
static json_t *try_call(const char *name, json_t *request)
{
    const char *service;
    const ProtobufCMethodDescriptor *method = find_method(name, &service);
    struct grpc_result result = {0};
    char path[128];
    ocv_auto_buffer out, in;
    ocv_buffer_init(&out, REQUEST_MAX);
    ocv_buffer_init(&in, GRPC_MESSAGE_MAX);
    if (!method)
        die(2, name, "no such call");
    put_message(&out, method->input, request);
    json_decref(request);
    snprintf(path, sizeof(path), "/runtime.v1.%s/%s", service, name);
    need(grpc_client_call(client, path, NULL, 0, out.data, out.len, CALL_MS, keep_message, &in,
                          &result, &err),
         name);
    if (result.code != GRPC_OK) {
        fprintf(stderr, "cri: %s: %s: %s\n", name, code_name(result.code), result.message);
        return NULL;
    }
    ProtobufCMessage *message =
        protobuf_c_message_unpack(method->output, NULL, in.len, (const uint8_t *)in.data);
    if (!message)
        die(1, name, "malformed answer");
    json_t *json = json_of(message);
    protobuf_c_message_free_unpacked(message, NULL);
    return json;
}

static json_t *call(const char *name, json_t *request)
{
    json_t *answer = try_call(name, request);
    if (!answer)
        exit(1);
    return answer;
}

static json_t *image_request(const char *ref)
{
    return json_pack("{s:{s:s}}", "image", "image", ref);
}

static void print_json(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
    putchar('\n');
    json_decref(json);
}

static void print_images(const char *ref)
{
    json_t *image, *answer = call("ListImages",
                                  ref ? json_pack("{s:{s:{s:s}}}", "filter", "image", "image", ref)
                                      : json_object());
    size_t i, j;
    json_array_foreach(json_object_get(answer, "images"), i, image)
    {
        json_t *name;
        printf("%s", json_string_value(json_object_get(image, "id")));
        json_array_foreach(json_object_get(image, "repo_tags"), j, name)
        {
            printf(" %s", json_string_value(name));
        }
        json_array_foreach(json_object_get(image, "repo_digests"), j, name)
        {
            printf(" %s", json_string_value(name));
        }
        putchar('\n');
    }
    json_decref(answer);
}

struct run {
    char dir[64];
    char log[128];
    char *pod, *container;
    json_t *sandbox;
};

static char *take_id(json_t *answer, const char *key)
{
    const char *id = json_string_value(json_object_get(answer, key));
    char *copy = answer && id ? strdup(id) : NULL;
    json_decref(answer);
    return copy;
}

static int wait_for_end(const char *container)
{
    for (int i = 0; i < RUN_POLLS; i++) {
        json_t *answer = try_call("ContainerStatus", json_pack("{s:s}", "container_id", container));
        json_t *status = json_object_get(answer, "status");
        const char *state = json_string_value(json_object_get(status, "state"));
        int code = (int)json_integer_value(json_object_get(status, "exit_code"));
        bool ended = !state || strcmp(state, "CONTAINER_EXITED") == 0;
        json_decref(answer);
        if (ended)
            return state ? code : 1;
        usleep(50000);
    }
    fputs("cri: run: the container does not end\n", stderr);
    return 1;
}

/* containerd tells that a container has ended before its last line is in the log: a read lease is
 * to be had when nobody has the file open for writing any more. */
static void wait_for_log(int fd)
{
    for (int i = 0; i < RUN_POLLS; i++) {
        if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
            fcntl(fd, F_SETLEASE, F_UNLCK);
            return;
        }
        if (errno != EAGAIN)
            return;
        usleep(5000);
    }
}

/* The log's lines are "TIME stdout F text". */
static void print_log(const char *path)
{
    char line[16384];
    FILE *file = fopen(path, "re");
    if (file)
        wait_for_log(fileno(file));
    while (file && fgets(line, sizeof(line), file)) {
        char *text = line;
        for (int i = 0; i < 3 && text; i++)
            text = (text = strchr(text, ' ')) ? text + 1 : NULL;
        fputs(text ? text : line, stdout);
    }
    if (file)
        fclose(file);
}

static int run_container(struct run *run, const char *ref, char **words)
{
    json_t *command = json_array();
    for (; *words; words++)
        json_array_append_new(command, json_string(*words));
    run->pod = take_id(try_call("RunPodSandbox", json_pack("{s:O}", "config", run->sandbox)),
                       "pod_sandbox_id");
    if (!run->pod) {
        json_decref(command);
        return 1;
    }
    run->container = take_id(
        try_call("CreateContainer",
                 json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:o, s:s}, s:O}", "pod_sandbox_id", run->pod,
                           "config", "metadata", "name", "c", "image", "image", ref, "command",
                           command, "log_path", "c.log", "sandbox_config", run->sandbox)),
        "container_id");
    if (!run->container)
        return 1;
    json_t *started =
        try_call("StartContainer", json_pack("{s:s}", "container_id", run->container));
    if (!started)
        return 1;
    json_decref(started);
    return wait_for_end(run->container);
}

static int run_pod(const char *ref, char **words)
{
    struct run run = {.dir = "/tmp/cri.XXXXXX"};
    if (!mkdtemp(run.dir))
        die(1, "run", "no directory for the log");
    snprintf(run.log, sizeof(run.log), "%s/c.log", run.dir);
    run.sandbox =
        json_pack("{s:{s:s, s:s, s:s}, s:s, s:{s:{s:{s:s}}}}", "metadata", "name", run.dir + 9,
                  "uid", run.dir + 9, "namespace", "test", "log_directory", run.dir, "linux",
                  "security_context", "namespace_options", "network", "NODE");
    int status = run_container(&run, ref, words);
    print_log(run.log);
    if (run.container)
        json_decref(try_call("RemoveContainer", json_pack("{s:s}", "container_id", run.container)));
    if (run.pod) {
        json_decref(try_call("StopPodSandbox", json_pack("{s:s}", "pod_sandbox_id", run.pod)));
        json_decref(try_call("RemovePodSandbox", json_pack("{s:s}", "pod_sandbox_id", run.pod)));
    }
    json_decref(run.sandbox);
    free(run.container);
    free(run.pod);
    unlink(run.log);
    rmdir(run.dir);
    return status;
}

static json_t *read_json(const char *text)
{
    json_error_t why;
    json_t *json = !text                    ? json_object()
                   : strcmp(text, "-") == 0 ? json_loadf(stdin, 0, &why)
                                            : json_loads(text, 0, &why);
    if (!json)
        die(2, "JSON", why.text);
    return json;
}

static int act(const char *verb, char **args)
{
    const char *ref = args[0];
    bool known = ref && !args[1];
    if (strcmp(verb, "images") == 0 && (known || !ref)) {
        print_images(ref);
    } else if (strcmp(verb, "pull") == 0 && known) {
        json_t *answer = call("PullImage", image_request(ref));
        puts(json_string_value(json_object_get(answer, "image_ref")));
        json_decref(answer);
    } else if (strcmp(verb, "status") == 0 && known) {
        json_t *answer = call("ImageStatus", image_request(ref));
        print_json(json_incref(json_object_get(answer, "image")));
        json_decref(answer);
    } else if (strcmp(verb, "rmi") == 0 && known) {
        json_decref(call("RemoveImage", image_request(ref)));
    } else if (strcmp(verb, "run") == 0 && ref) {
        return run_pod(ref, args + 1);
    } else if (verb[0] >= 'A' && verb[0] <= 'Z' && (known || !ref)) {
        print_json(call(verb, read_json(ref)));
    } else {
        die(2, verb, "usage: cri SOCKET pull|images|status|rmi|run|METHOD ...");
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        die(2, "usage: cri SOCKET VERB [ARGUMENT...]", NULL);
    need(grpc_client_new(argv[1], &client, &err), argv[1]);
    int status = act(argv[2], argv + 3);
    grpc_client_free(client);
    return status;
}
