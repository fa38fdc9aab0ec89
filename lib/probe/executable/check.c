/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Check the output of an executable provider. Everything is checked before anything is used: an
 * unknown key is a mistake that its author should see, and what goes into a profile must be read
 * back by every command. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"
#include "lib/probe/executable/executable.h"
#include "ocivariant/property.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WHERE_MAX 96

struct answer_check {
    char where[WHERE_MAX]; /* "devices[1].features[0]" */
    size_t len;
    struct ocv_error *err;
};

/* Enter a member; leave() with what this returns. */
static size_t enter_member(struct answer_check *check, const char *format, ...) OCV_PRINTF(2, 3);
static size_t enter_member(struct answer_check *check, const char *format, ...)
{
    size_t before = check->len;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(check->where + before, WHERE_MAX - before, format, args);
    va_end(args);
    check->len = n < 0 || before + (size_t)n >= WHERE_MAX ? WHERE_MAX - 1 : before + (size_t)n;
    return before;
}

static void leave_member(struct answer_check *check, size_t before)
{
    check->len = before;
    check->where[before] = '\0';
}

static int add_fault(const struct answer_check *check, const char *format, ...) OCV_PRINTF(2, 3);
static int add_fault(const struct answer_check *check, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return ocv_error_set(check->err, OCV_ERR_DATA, "%s%s%s", check->where, check->len ? ": " : "",
                         what);
}

/* A text member of at most `max` bytes without control characters, and without one that is not
 * seen: people read this on terminals. jansson has made sure that it is UTF-8 without NUL. Absent:
 * nothing. */
static int check_text(const struct answer_check *check, const json_t *object, const char *key,
                      size_t max)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (!value)
        return OCV_OK;
    if (!text || !*text)
        return add_fault(check, "'%s' is not a text or is empty", key);
    if (strlen(text) > max)
        return add_fault(check, "'%s' is longer than %zu bytes", key, max);
    for (size_t left = strlen(text); left > 0; text++, left--)
        if (ocv_text_hidden(text, left))
            return add_fault(check, "'%s' has control characters", key);
    return OCV_OK;
}

/* A member that has to be there and is a namespace's or feature's name. */
static int check_name(const struct answer_check *check, const json_t *object, const char *key)
{
    const char *name = ocv_json_text(object, key);
    if (!name || !ocv_property_name_valid(name, strlen(name)))
        return add_fault(check, "'%s' is missing or not of a-z 0-9 _", key);
    if (strlen(name) > OCV_EXECUTABLE_NAME_MAX)
        return add_fault(check, "'%s' is longer than %u characters", key, OCV_EXECUTABLE_NAME_MAX);
    return OCV_OK;
}

static int check_keys(const struct answer_check *check, const json_t *object,
                      const char *const *known)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return add_fault(check, "not an object");
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return add_fault(check, "'%.60s' is an unknown key", key);
    }
    return OCV_OK;
}

/* A list member. Absent: an empty one. */
static int check_list(const struct answer_check *check, const json_t *object, const char *key,
                      size_t max)
{
    const json_t *list = json_object_get(object, key);
    if (list && !json_is_array(list))
        return add_fault(check, "'%s' is not a list", key);
    if (json_array_size(list) > max)
        return add_fault(check, "'%s' has more than %zu members", key, max);
    return OCV_OK;
}

/* True if an earlier member of the list says the same under that key. */
static bool is_twin(const json_t *list, size_t at, const char *key)
{
    const json_t *own = json_object_get(json_array_get(list, at), key);
    for (size_t i = 0; own && i < at; i++)
        if (json_equal(own, json_object_get(json_array_get(list, i), key)))
            return true;
    return false;
}

static int check_features(struct answer_check *check, const json_t *object)
{
    static const char *const keys[] = {"name", "values", NULL};
    const json_t *features = json_object_get(object, "features");
    OCV_TRY(check_list(check, object, "features", OCV_EXECUTABLE_FEATURES_MAX));
    for (size_t i = 0; i < json_array_size(features); i++) {
        size_t before = enter_member(check, "%sfeatures[%zu]", check->len ? "." : "", i);
        const json_t *feature = json_array_get(features, i);
        const json_t *values = json_object_get(feature, "values");
        OCV_TRY(check_keys(check, feature, keys));
        OCV_TRY(check_name(check, feature, "name"));
        if (!values)
            return add_fault(check, "'values' is missing");
        OCV_TRY(check_list(check, feature, "values", OCV_EXECUTABLE_VALUES_MAX));
        for (size_t k = 0; k < json_array_size(values); k++) {
            const char *value = json_string_value(json_array_get(values, k));
            if (!value || !ocv_property_value_valid(value, strlen(value)))
                return add_fault(check, "values[%zu] is not a text of a-z 0-9 _ .", k);
            if (strlen(value) > OCV_EXECUTABLE_VALUE_MAX)
                return add_fault(check, "values[%zu] is longer than %u characters", k,
                                 OCV_EXECUTABLE_VALUE_MAX);
        }
        if (is_twin(features, i, "name"))
            return add_fault(check, "a feature of this name is listed already");
        leave_member(check, before);
    }
    return OCV_OK;
}

static int check_devices(struct answer_check *check, const json_t *answer)
{
    static const char *const keys[] = {"id",        "name",       "index",    "uuid",
                                       "secondary", "attributes", "features", NULL};
    const json_t *devices = json_object_get(answer, "devices");
    const char *key;
    json_t *value;
    OCV_TRY(check_list(check, answer, "devices", OCV_EXECUTABLE_DEVICES_MAX));
    for (size_t i = 0; i < json_array_size(devices); i++) {
        size_t before = enter_member(check, "devices[%zu]", i);
        const json_t *device = json_array_get(devices, i);
        const json_t *index = json_object_get(device, "index");
        const json_t *secondary = json_object_get(device, "secondary");
        const json_t *attributes = json_object_get(device, "attributes");
        OCV_TRY(check_keys(check, device, keys));
        if (!json_object_get(device, "id"))
            return add_fault(check, "'id' is missing");
        OCV_TRY(check_text(check, device, "id", OCV_EXECUTABLE_TEXT_MAX));
        OCV_TRY(check_text(check, device, "name", OCV_EXECUTABLE_TEXT_MAX));
        OCV_TRY(check_text(check, device, "uuid", OCV_EXECUTABLE_TEXT_MAX));
        if (index && (!json_is_integer(index) || json_integer_value(index) < 0 ||
                      json_integer_value(index) >= INT_MAX))
            return add_fault(check, "'index' is not a whole number from 0");
        if (secondary && !json_is_boolean(secondary))
            return add_fault(check, "'secondary' is not true or false");
        if (attributes && !json_is_object(attributes))
            return add_fault(check, "'attributes' is not an object");
        if (json_object_size(attributes) > OCV_EXECUTABLE_ATTRIBUTES_MAX)
            return add_fault(check, "more than %u attributes", OCV_EXECUTABLE_ATTRIBUTES_MAX);
        json_object_foreach((json_t *)attributes, key, value)
        {
            if (!ocv_property_name_valid(key, strlen(key)) || strlen(key) > OCV_EXECUTABLE_NAME_MAX)
                return add_fault(check,
                                 "the name of an attribute is not of a-z 0-9 _, or too long");
            OCV_TRY(check_text(check, attributes, key, OCV_EXECUTABLE_TEXT_MAX));
        }
        OCV_TRY(check_features(check, device));
        if (is_twin(devices, i, "id") || is_twin(devices, i, "index"))
            return add_fault(check, "its id or index is that of an earlier device");
        if (!index != !json_object_get(json_array_get(devices, 0), "index"))
            return add_fault(check, "either every device has an 'index' or none");
        leave_member(check, before);
    }
    return OCV_OK;
}

int ocv_executable_check(const json_t *answer, struct ocv_error *err)
{
    struct answer_check at_top = {.err = err};
    struct answer_check *check = &at_top;
    static const char *const keys[] = {"namespace", "provider", "status",  "error",    "driver",
                                       "guess",     "features", "devices", "replaces", NULL};
    static const char *const of_provider[] = {"name", "kind", "source", "version", NULL};
    const json_t *guess = json_object_get(answer, "guess");
    const json_t *provider = json_object_get(answer, "provider");
    OCV_TRY(check_keys(check, answer, keys));
    OCV_TRY(check_name(check, answer, "namespace"));
    if (provider) {
        size_t before = enter_member(check, "provider");
        OCV_TRY(check_keys(check, provider, of_provider));
        for (size_t i = 0; of_provider[i]; i++)
            OCV_TRY(check_text(check, provider, of_provider[i], OCV_EXECUTABLE_NAME_MAX));
        leave_member(check, before);
    }
    OCV_TRY(check_text(check, answer, "error", OCV_EXECUTABLE_TEXT_MAX));
    OCV_TRY(check_text(check, answer, "driver", OCV_EXECUTABLE_DRIVER_MAX));
    OCV_TRY(check_text(check, answer, "replaces", OCV_EXECUTABLE_NAME_MAX));
    if (guess && !json_is_boolean(guess))
        return add_fault(check, "'guess' is not true or false");
    OCV_TRY(check_features(check, answer));
    OCV_TRY(check_devices(check, answer));
    /* A namespace that serves says what; one that does not says why. */
    const json_t *value = json_object_get(answer, "status");
    const char *status = value ? json_string_value(value) : "ok";
    bool error = json_object_get(answer, "error") != NULL;
    bool serves = json_array_size(json_object_get(answer, "features")) +
                      json_array_size(json_object_get(answer, "devices")) >
                  0;
    if (!status || (strcmp(status, "ok") != 0 && strcmp(status, "partial") != 0 &&
                    strcmp(status, "failed") != 0 && strcmp(status, "absent") != 0))
        return add_fault(check, "'status' is not one of ok, partial, failed, absent");
    if ((status[0] == 'f' || status[0] == 'a') && serves)
        return add_fault(check, "'status' is '%s', yet there are features or devices", status);
    if ((status[0] == 'f' || status[0] == 'p') && !error)
        return add_fault(check, "'status' is '%s', but no 'error' says why", status);
    return OCV_OK;
}
