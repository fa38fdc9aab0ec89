/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl vocabulary: the meaning of properties, with examples, and the provider of each. */
#include "cmd/common/names.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct vocabulary_options {
    bool json;
};

static const struct ocv_option options[] = {
    CLI_FORMAT(struct vocabulary_options, json, "what is printed (text)"), OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl vocabulary [OPTIONS] [NS[::FEATURE[::VALUE]]]\n"
             "\n"
             "Look up what properties mean: every namespace, the features of one, or one of\n"
             "its features with its values, an example and the provider that gives it. A word\n"
             "that is not a namespace lists the properties that contain it.\n"
             "Exit 0: shown; 2: unknown word.\n",
    .options = options,
    .arguments = CLI_ANY_ARGUMENTS,
    .end = "\n"
           "Examples:\n"
           "  variantctl vocabulary\n"
           "  variantctl vocabulary nvidia\n"
           "  variantctl vocabulary nvidia::sm_arch\n"};

#define OUTPUT_MAX (1024u * 1024)
#define WIDTH 78u

typedef const struct vocabulary_namespace *namespace_ref;
typedef const struct vocabulary_feature *feature_ref;

/* NS, FEATURE and VALUE as given; "" if missing. */
struct vocabulary_query {
    char ns[OCV_WORD_MAX], feature[OCV_WORD_MAX], value[OCV_WORD_MAX];
};

static const char *provider_of(namespace_ref ns)
{
    return !ns->provider ? "none yet" : *ns->provider ? ns->provider : "built in";
}

/* Without an example in the file, the first value. */
static void example_of(namespace_ref ns, feature_ref feature, char *out, size_t size)
{
    if (feature->example)
        snprintf(out, size, "%s", feature->example);
    else
        snprintf(out, size, "%s :: %s :: %.*s", ns->name, feature->name,
                 (int)strcspn(feature->values ? feature->values : "", ","),
                 feature->values ? feature->values : "");
}

static int print_features(namespace_ref ns, struct ocv_buffer *out, struct ocv_error *err)
{
    char example[256];
    OCV_TRY(ocv_buffer_printf(out, err, "%s: %s (%s; provider: %s)\n\n", ns->name, ns->meaning,
                              ns->kind, provider_of(ns)));
    for (size_t i = 0; i < ns->n; i++) {
        feature_ref feature = vocabulary_feature_at(ns, i);
        example_of(ns, feature, example, sizeof(example));
        OCV_TRY(ocv_buffer_printf(out, err, "  %-26s %s\n", feature->name, example));
    }
    return OCV_OK;
}

/* Words up to each `separator`, wrapped to the screen; `what` is printed first. */
static int print_wrapped(const char *what, char separator, const char *text, struct ocv_buffer *out,
                         struct ocv_error *err)
{
    const char ends[] = {separator, '\0'};
    size_t indent = strlen(what), column = indent;
    OCV_TRY(ocv_buffer_printf(out, err, "%s", what));
    while (*text) {
        size_t n = strcspn(text, ends), comma = separator == ',' && text[n];
        if (column + 1 + n + comma > WIDTH) {
            OCV_TRY(ocv_buffer_printf(out, err, "\n%*s", (int)indent, ""));
            column = indent;
        }
        OCV_TRY(ocv_buffer_printf(out, err, "%s%.*s%s", column ? " " : "", (int)n, text,
                                  comma ? "," : ""));
        column += (column > 0) + n + comma;
        text += n + (text[n] != '\0');
    }
    return ocv_buffer_append(out, "\n", 1, err);
}

static int print_feature(namespace_ref ns, feature_ref feature, struct ocv_buffer *out,
                         struct ocv_error *err)
{
    char example[256];
    example_of(ns, feature, example, sizeof(example));
    OCV_TRY(ocv_buffer_printf(out, err, "%s :: %s\n", ns->name, feature->name));
    OCV_TRY(print_wrapped("", ' ', feature->meaning, out, err));
    OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    if (feature->values)
        OCV_TRY(print_wrapped("Values:  ", ',', feature->values, out, err));
    else
        OCV_TRY(ocv_buffer_printf(out, err, "Values:   match %s\n", feature->pattern));
    if (feature->names)
        OCV_TRY(print_wrapped("Names:   ", ',', feature->names, out, err));
    if (feature->documented && *feature->documented != '*')
        OCV_TRY(print_wrapped("Not yet: ", ',', feature->documented, out, err));
    return ocv_buffer_printf(
        out, err, "Example:  %s\nProvider: %s%s\n", example, provider_of(ns),
        feature->documented && *feature->documented == '*' ? ", which does not report it yet" : "");
}

static json_t *json_list(const char *list)
{
    json_t *array = list ? json_array() : NULL;
    for (; array && *list; list += strcspn(list, ","), list += *list == ',')
        json_array_append_new(array, json_stringn(list, strcspn(list, ",")));
    return array;
}

static json_t *json_namespace(namespace_ref ns, feature_ref only)
{
    json_t *features = json_array();
    for (size_t i = 0; i < ns->n; i++) {
        feature_ref feature = vocabulary_feature_at(ns, i);
        char example[256];
        if (only && only != feature)
            continue;
        bool all = feature->documented && *feature->documented == '*';
        example_of(ns, feature, example, sizeof(example));
        /* "h100=90_real,..." as {"h100": "90_real", ...} */
        const char *list = feature->names;
        json_t *names = list ? json_object() : NULL;
        for (; names && *list; list += strcspn(list, ","), list += *list == ',') {
            char name[OCV_WORD_MAX];
            size_t n = strcspn(list, "=");
            snprintf(name, sizeof(name), "%.*s", (int)n, list);
            list += n + (list[n] == '=');
            json_object_set_new(names, name, json_stringn(list, strcspn(list, ",")));
        }
        json_array_append_new(
            features,
            json_pack("{s:s, s:s, s:o*, s:s*, s:o*, s:o*, s:s}", "feature", feature->name,
                      "meaning", feature->meaning, "values", json_list(feature->values), "pattern",
                      feature->pattern, "names", names, "documented",
                      all ? json_true() : json_list(feature->documented), "example", example));
    }
    return json_pack("{s:s, s:s, s:s, s:s?, s:o}", "namespace", ns->name, "kind", ns->kind,
                     "meaning", ns->meaning, "provider", ns->provider ? provider_of(ns) : NULL,
                     "features", features);
}

/* The value for a product's name ("h100=90_real,..."), with its length; NULL: none. */
static const char *value_of_name(const char *list, const char *word, size_t *len)
{
    for (size_t n; list && *list; list += n, list += *list == ',') {
        n = strcspn(list, ",");
        size_t name = strcspn(list, "=");
        if (name == strlen(word) && !strncmp(list, word, name)) {
            *len = n - name - 1;
            return list + name + 1;
        }
    }
    return NULL;
}

/* Print a line for each property whose value or product name is `word`, or whose feature begins
 * with it. */
static size_t find_word(const char *text, struct ocv_buffer *out)
{
    char word[OCV_WORD_MAX] = "", meant[OCV_WORD_MAX];
    size_t found = 0;
    namespace_ref ns;
    for (size_t i = 0; text[i] && i + 1 < sizeof(word); i++)
        word[i] = (char)tolower((unsigned char)text[i]);
    for (size_t i = 0; (ns = vocabulary_namespace_at(i)) != NULL; i++)
        for (size_t k = 0; k < ns->n; k++) {
            feature_ref f = vocabulary_feature_at(ns, k);
            size_t len = strlen(word);
            const char *value = value_of_name(f->names, word, &len);
            if (!value && ocv_vocabulary_check(ns->name, f->name, word, meant) == OCV_WORD_KNOWN)
                value = word;
            if (!value && strncmp(f->name, word, strlen(word)) != 0)
                continue;
            found += ocv_buffer_printf(out, NULL, "%s :: %s%s%.*s\n", ns->name, f->name,
                                       value ? " :: " : "", value ? (int)len : 0,
                                       value ? value : "") == OCV_OK;
        }
    return found;
}

int cmd_vocabulary(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct vocabulary_options r = {0};
    struct vocabulary_query w;
    ocv_auto_buffer out;
    ocv_buffer_init(&out, OUTPUT_MAX);
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    char text[4 * OCV_WORD_MAX] = "";
    size_t at = 0;
    for (char **word = cli->arguments; *word && at < sizeof(text); word++) /* unquoted too */
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", *word);
    const char *rest = text; /* "NS :: FEATURE :: VALUE" */
    char *const parts[] = {w.ns, w.feature, w.value};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        const char *end = strstr(rest, "::");
        rest += strspn(rest, " ");
        size_t len = end ? (size_t)(end - rest) : strlen(rest);
        while (len && rest[len - 1] == ' ')
            len--;
        snprintf(parts[i], OCV_WORD_MAX, "%.*s", (int)len, rest);
        rest = end ? end + 2 : "";
    }
    if (*rest || strlen(text) + 1 == sizeof(text))
        return ocv_error_set(err, OCV_ERR_INVALID, "vocabulary: more than NS :: FEATURE :: VALUE");
    bool alone = *w.ns && !*w.feature && !vocabulary_namespace_find(w.ns);
    if (alone && !r.json && find_word(w.ns, &out))
        return cli_print(out.data, out.len, err);
    char meant[OCV_WORD_MAX] = "", question[OCV_NEAREST_QUESTION_MAX] = "";
    enum ocv_word wrong = OCV_WORD_KNOWN;
    if (*w.ns)
        wrong = ocv_vocabulary_check(w.ns, *w.feature ? w.feature : NULL, *w.value ? w.value : NULL,
                                     meant);
    if (wrong != OCV_WORD_KNOWN)
        ocv_nearest_question(meant, question);
    if (wrong == OCV_WORD_NAMESPACE)
        return ocv_error_set(err, OCV_ERR_INVALID, "no namespace '%s'%s", w.ns, question);
    if (wrong == OCV_WORD_FEATURE)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s has no feature '%s'%s", w.ns, w.feature,
                             question);
    if (wrong != OCV_WORD_KNOWN)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s :: %s has no value '%s'%s", w.ns, w.feature,
                             w.value, question);
    namespace_ref each, ns = vocabulary_namespace_find(w.ns);
    feature_ref feature = ns && *w.feature ? vocabulary_feature_find(ns, w.feature) : NULL;
    ocv_auto_json *list = json_array();
    if (ns && !r.json)
        OCV_TRY(feature ? print_feature(ns, feature, &out, err) : print_features(ns, &out, err));
    for (size_t i = 0; (r.json || !ns) && (each = vocabulary_namespace_at(i)) != NULL; i++) {
        if (!r.json)
            OCV_TRY(ocv_buffer_printf(&out, err, "%-12s  %s  %s\n", each->name, each->kind,
                                      each->meaning));
        else if (!ns || ns == each)
            json_array_append_new(list, json_namespace(each, feature));
    }
    return r.json ? print_document(json_pack("{s:s, s:O}", "schema", "dev.ocivariant.vocabulary/v1",
                                             "namespaces", list),
                                   err)
                  : cli_print(out.data, out.len, err);
}
