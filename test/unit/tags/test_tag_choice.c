/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/tags/choose.c: a repository in memory; tests listing, fixing and choosing among its
 * tags. */
#include "lib/internal/tags/tags.h"
#include "test/unit/core_util.h"

static const char rules_text[] =
    "schema: dev.ocivariant.tags/v1\n"
    "family: demo\n"
    "repositories: [docker.io/demo/app]\n"
    "parts:\n"
    "  - {match: 'cu([0-9][0-9])([0-9])', kind: device, gives: ['nvidia :: "
    "cuda_version_lower_bound :: \\1.\\2']}\n"
    "  - {match: 'cpu', kind: device}\n"
    "  - {match: 'big|large', kind: device, gives: ['nvidia :: sm_arch :: 90_real']}\n"
    "  - {match: '[0-9]+\\.[0-9]+', group: version}\n"
    "group_tags: ['{version}']\n";

#define CONFIG_AMD64 "{\"architecture\":\"amd64\",\"os\":\"linux\"}"
#define CONFIG_ARM64 "{\"architecture\":\"arm64\",\"os\":\"linux\",\"variant\":\"v8\"}"

enum kind { AMD64, ARM64, BOTH, GONE, BROKEN };

/* One tag: an image of an architecture, or an index of both. */
struct image {
    const char *tag;
    enum kind kind;
    char config_digest[OCV_DIGEST_MAX], digest[OCV_DIGEST_MAX];
    char body[2048];
};

struct repository {
    struct image images[8];
    size_t n;
    size_t heads, gets, blobs; /* how often they were asked for */
    int failure, http_status;  /* of the list of tags */
    int head_failure;          /* of "1.9" */
};

static void make_manifest(struct image *image, const char *config)
{
    char digest[OCV_DIGEST_MAX]; /* not of the struct that is written */
    ck_assert_int_eq(ocv_digest_bytes(config, strlen(config), digest, NULL), OCV_OK);
    memcpy(image->config_digest, digest, sizeof(digest));
    snprintf(
        image->body, sizeof(image->body),
        "{\"schemaVersion\":2,\"mediaType\":\"%s\",\"config\":{\"mediaType\":\"%s\",\"digest\":"
        "\"%s\",\"size\":%zu},\"layers\":[],\"annotations\":{\"is\":\"%s\"}}",
        OCV_MEDIA_TYPE_MANIFEST, OCV_MEDIA_TYPE_CONFIG, digest, strlen(config), image->tag);
}

static void add(struct repository *r, const char *tag, enum kind kind)
{
    struct image *image = &r->images[r->n++];
    image->tag = tag;
    image->kind = kind;
    if (kind != BOTH)
        make_manifest(image, kind == ARM64 ? CONFIG_ARM64 : CONFIG_AMD64);
    else
        snprintf(image->body, sizeof(image->body),
                 "{\"schemaVersion\":2,\"mediaType\":\"%s\",\"manifests\":[{\"mediaType\":\"%s\","
                 "\"digest\":\"sha256:%064d\",\"size\":5,\"platform\":{\"os\":\"linux\","
                 "\"architecture\":\"amd64\"}},{\"mediaType\":\"%s\",\"digest\":\"sha256:%064d\","
                 "\"size\":6,\"platform\":{\"os\":\"linux\",\"architecture\":\"arm64\"}}]}",
                 OCV_MEDIA_TYPE_INDEX, OCV_MEDIA_TYPE_MANIFEST, 1, OCV_MEDIA_TYPE_MANIFEST, 2);
    ck_assert_int_eq(ocv_digest_bytes(image->body, strlen(image->body), image->digest, NULL),
                     OCV_OK);
}

static int refuse_list(struct ocv_error *err, const struct repository *r)
{
    ocv_error_set(err, r->failure, "no list");
    if (err)
        err->http_status = r->http_status;
    return r->failure;
}

static int list_tags(void *data, int (*visit)(void *visit_data, const char *tag), void *visit_data,
                     struct ocv_error *err)
{
    struct repository *r = data;
    if (r->failure < 0)
        return refuse_list(err, r);
    for (size_t i = r->n; i-- > 0;)
        if (visit(visit_data, r->images[i].tag))
            return ocv_error_set(err, OCV_ERR_INTERRUPTED, "stopped");
    return OCV_OK;
}

static int head(void *data, const char *tag, struct ocv_descriptor *out, struct ocv_error *err)
{
    struct repository *r = data;
    r->heads++;
    if (r->head_failure < 0 && !strcmp(tag, "1.9"))
        return ocv_error_set(err, r->head_failure, "no answer");
    for (size_t i = 0; i < r->n; i++) {
        const struct image *image = &r->images[i];
        if (strcmp(image->tag, tag) != 0 || image->kind == GONE)
            continue;
        snprintf(out->media_type, sizeof(out->media_type), "%s",
                 image->kind == BOTH ? OCV_MEDIA_TYPE_INDEX : OCV_MEDIA_TYPE_MANIFEST);
        snprintf(out->digest, sizeof(out->digest), "%s", image->digest);
        out->size = (int64_t)strlen(image->body);
        return OCV_OK;
    }
    return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: not found", tag);
}

static int get(void *data, const char *digest, struct ocv_buffer *body, struct ocv_descriptor *out,
               struct ocv_error *err)
{
    struct repository *r = data;
    r->gets++;
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->images[i].digest, digest) == 0) {
            const char *text = r->images[i].kind == BROKEN ? "{}" : r->images[i].body;
            int status = head(data, r->images[i].tag, out, err);
            r->heads--;
            return status < 0 ? status : ocv_buffer_append(body, text, strlen(text), err);
        }
    return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: not found", digest);
}

static int blob(void *data, const struct ocv_descriptor *wanted, struct ocv_buffer *body,
                struct ocv_error *err)
{
    struct repository *r = data;
    r->blobs++;
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->images[i].config_digest, wanted->digest) == 0) {
            const char *text = r->images[i].kind == ARM64 ? CONFIG_ARM64 : CONFIG_AMD64;
            return ocv_buffer_append(body, text, strlen(text), err);
        }
    return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: not found", wanted->digest);
}

static struct ocv_tag_rules *rules;
static struct ocv_reference *reference;
static struct repository repository;
static struct ocv_tag_source source;

static void setup(void)
{
    repository = (struct repository){0};
    source = (struct ocv_tag_source){
        .data = &repository, .tags = list_tags, .head = head, .get = get, .blob = blob};
    ck_assert_int_eq(ocv_tag_rules_new(&rules, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_rules_add(rules, "r.yaml", rules_text, strlen(rules_text), NULL, NULL),
                     OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("demo/app:1.9", &reference, NULL), OCV_OK);
}

static void teardown(void)
{
    ocv_tag_rules_free(rules);
    ocv_reference_free(reference);
}

static struct ocv_profile *host(const char *arch, const char *cuda)
{
    char *text = quoted("{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux',"
                        "'architecture':'%s'},'namespaces':[{'namespace':'nvidia','features':[{"
                        "'name':'cuda_version_lower_bound','values':[%s]},{'name':'sm_arch',"
                        "'values':['90_real','90_virtual']}]}]}",
                        arch, cuda);
    struct ocv_profile *profile = parse_profile(text);
    free(text);
    return profile;
}

/* The tag that such a host gets; "" for none. */
static void check_choice(const char *arch, const char *cuda, const char *wanted)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_tag_choice) choice = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    ocv_auto(ocv_profile) profile = host(arch, cuda);
    struct ocv_resolve_options options = {0};
    ck_assert_msg(ocv_tag_choice_new(rules, reference, &source, &choice, &err) == OCV_OK, "%s",
                  err.message);
    ck_assert_ptr_nonnull(choice);
    ck_assert_str_eq(ocv_tag_choice_family(choice), "demo");
    ck_assert_str_eq(ocv_tag_choice_group(choice), "1.9");
    ck_assert_msg(ocv_tag_choice_resolve(choice, &source, profile, &options, &decision, &err) ==
                      OCV_OK,
                  "%s", err.message);
    const struct ocv_entry *entry = ocv_decision_selected(decision);
    const struct ocv_descriptor *descriptor = NULL;
    ck_assert_str_eq(entry ? ocv_tag_choice_tag(choice, entry, &descriptor) : "", wanted);
    if (entry)
        ck_assert_int_gt(descriptor->size, 0);
}

START_TEST(test_choose)
{
    add(&repository, "1.9-cpu", BOTH);
    add(&repository, "1.9-cu128", AMD64);
    add(&repository, "1.9-cu130", AMD64);
    add(&repository, "2.0-cu130", AMD64);
    check_choice("amd64", "'13.0','12.9','12.8'", "1.9-cu130");
    ck_assert_uint_eq(repository.heads, 3);
    ck_assert_uint_eq(repository.gets, 2); /* the index, and the winner for its config */
    ck_assert_uint_eq(repository.blobs, 1);
    check_choice("amd64", "'12.8'", "1.9-cu128");
    check_choice("amd64", "", "1.9-cpu");
    check_choice("arm64", "", "1.9-cpu");
}
END_TEST

/* The best by its tag turns out to be for another machine, and so does the next. */
START_TEST(test_platform_is_learnt)
{
    add(&repository, "1.9-cpu", AMD64);
    add(&repository, "1.9-cu128", ARM64);
    add(&repository, "1.9-cu130", ARM64);
    check_choice("amd64", "'13.0','12.9','12.8'", "1.9-cpu");
    ck_assert_uint_eq(repository.blobs, 3);
    check_choice("arm64", "'13.0','12.9','12.8'", "1.9-cu130");
    check_choice("arm64", "", "");
}
END_TEST

START_TEST(test_decision_names_the_tag)
{
    ocv_auto(ocv_tag_choice) choice = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    ocv_auto(ocv_profile) profile = host("amd64", "'13.0'");
    struct ocv_resolve_options options = {0};
    ocv_auto_buffer json;
    ocv_buffer_init(&json, 65536);
    add(&repository, "1.9-cpu", AMD64);
    add(&repository, "1.9-cu130", AMD64);
    ck_assert_int_eq(ocv_tag_choice_new(rules, reference, &source, &choice, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_choice_resolve(choice, &source, profile, &options, &decision, NULL),
                     OCV_OK);
    ck_assert_int_eq(ocv_decision_format_json(decision, &json, NULL), OCV_OK);
    json_t *root = json_loadb(json.data, json.len, 0, NULL);
    json_t *rule = json_object_get(root, "rule"), *selected = json_object_get(root, "selected");
    ck_assert_str_eq(json_string_value(json_object_get(root, "source")), "rule");
    ck_assert_str_eq(json_string_value(json_object_get(rule, "family")), "demo");
    ck_assert_str_eq(json_string_value(json_object_get(rule, "group")), "1.9");
    ck_assert_str_eq(json_string_value(json_object_get(selected, "tag")), "1.9-cu130");
    json_decref(root);
}
END_TEST

/* Nothing to choose, or not by a rule: no error, no choice, and no list where none is needed. */
START_TEST(test_as_it_is)
{
    static const char *const names[] = {"demo/app:1.9-cu130", "demo/app:other", "else/app:1.9",
                                        "demo/app"};
    ocv_auto(ocv_tag_choice) choice = NULL;
    add(&repository, "1.9", AMD64);
    ck_assert_int_eq(ocv_tag_choice_new(rules, reference, &source, &choice, NULL), OCV_OK);
    ck_assert_ptr_null(choice);
    repository.failure = OCV_ERR_DENIED; /* listing them would fail */
    for (size_t i = 0; i < 4; i++) {
        ocv_auto(ocv_reference) other = NULL;
        ck_assert_int_eq(ocv_reference_parse(names[i], &other, NULL), OCV_OK);
        ck_assert_int_eq(ocv_tag_choice_new(rules, other, &source, &choice, NULL), OCV_OK);
        ck_assert_ptr_null(choice);
    }
}
END_TEST

/* "1.9" does not say what it needs: where it is a tag, it is what was asked for; where it is none,
 * it is the name of those that do say. */
START_TEST(test_refused_name)
{
    static const char text[] =
        "schema: dev.ocivariant.tags/v1\n"
        "family: demo\n"
        "repositories: [docker.io/demo/app]\n"
        "parts:\n"
        "  - {match: 'cu([0-9][0-9])([0-9])', kind: device, gives: ['nvidia :: "
        "cuda_version_lower_bound :: \\1.\\2']}\n"
        "  - {match: 'driver', group: version, refuse: 'a driver'}\n"
        "  - {match: '[0-9]+\\.[0-9]+', group: version}\n"
        "defaults: [{missing: device, refuse: 'not said'}]\n"
        "group_tags: ['{version}']\n";
    static const char *const names[] = {"demo/app:driver", "demo/app:1.9-x"};
    ocv_auto(ocv_tag_rules) own = NULL;
    ocv_auto(ocv_tag_choice) choice = NULL;
    ck_assert_int_eq(ocv_tag_rules_new(&own, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_rules_add(own, "own.yaml", text, strlen(text), NULL, NULL), OCV_OK);
    add(&repository, "1.9-cu128", AMD64);
    add(&repository, "1.9-cu130", AMD64);
    ck_assert_int_eq(ocv_tag_choice_new(own, reference, &source, &choice, NULL), OCV_OK);
    ck_assert_ptr_nonnull(choice);
    ck_assert_str_eq(ocv_tag_choice_group(choice), "1.9");
    ocv_tag_choice_free(choice);
    choice = NULL;
    repository.failure = OCV_ERR_DENIED; /* no list is asked for */
    for (size_t i = 0; i < 2; i++) {     /* invalid: refused by a part, or unknown to all rules */
        ocv_auto(ocv_reference) other = NULL;
        ck_assert_int_eq(ocv_reference_parse(names[i], &other, NULL), OCV_OK);
        ck_assert_int_eq(ocv_tag_choice_new(own, other, &source, &choice, NULL), OCV_OK);
        ck_assert_ptr_null(choice);
    }
    add(&repository, "1.9", AMD64);
    ck_assert_int_eq(ocv_tag_choice_new(own, reference, &source, &choice, NULL), OCV_OK);
    ck_assert_ptr_null(choice);
    /* whether there is one cannot be told: nothing is chosen in its place */
    repository.failure = 0;
    repository.head_failure = OCV_ERR_NETWORK;
    ck_assert_int_eq(ocv_tag_choice_new(own, reference, &source, &choice, NULL), OCV_ERR_NETWORK);
    ck_assert_ptr_null(choice);
}
END_TEST

/* Tags between which the rules do not decide stop a choice only where they would be chosen. */
START_TEST(test_doubts)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_tag_choice) choice = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    ocv_auto(ocv_profile) profile = host("amd64", "'12.0'");
    struct ocv_resolve_options options = {0};
    add(&repository, "1.9-cpu", BOTH);
    add(&repository, "1.9-big", AMD64);
    add(&repository, "1.9-large", AMD64);
    add(&repository, "1.9-cu130", AMD64);
    check_choice("amd64", "'13.0'", "1.9-cu130");
    check_choice("arm64", "'12.0'", "1.9-cpu"); /* they are images for another platform */
    ck_assert_int_eq(ocv_tag_choice_new(rules, reference, &source, &choice, &err), OCV_OK);
    ck_assert_int_eq(ocv_tag_choice_resolve(choice, &source, profile, &options, &decision, &err),
                     OCV_ERR_DATA);
    ck_assert_ptr_null(decision);
    ck_assert_str_eq(err.message, "demo/app:1.9: the tag rules cannot decide: 1.9-big and "
                                  "1.9-large say the same");
    ck_assert_str_eq(err.hint, "name one of them: demo/app:1.9-big, demo/app:1.9-large");
    /* whoever has the index meets them, too */
    ck_assert_int_eq(ocv_resolve(ocv_tag_choice_index(choice), profile, &options, &decision, &err),
                     OCV_ERR_DATA);
    options.preferences.label = "null";
    ck_assert_int_eq(ocv_tag_choice_resolve(choice, &source, profile, &options, &decision, &err),
                     OCV_OK);
    ck_assert_str_eq(ocv_tag_choice_tag(choice, ocv_decision_selected(decision), NULL), "1.9-cpu");
}
END_TEST

START_TEST(test_failures)
{
    struct ocv_error err = {0};
    struct ocv_tag_choice *choice = NULL;
    add(&repository, "1.9-cpu", AMD64);
    repository.failure = OCV_ERR_NETWORK;
    repository.http_status = 405; /* it has no lists at all */
    ck_assert_int_eq(ocv_tag_choice_new(rules, reference, &source, &choice, &err),
                     OCV_ERR_NOT_FOUND);
    ck_assert_int_eq(err.status, OCV_ERR_NOT_FOUND);
    repository.http_status = 500;
    ck_assert_int_eq(ocv_tag_choice_new(rules, reference, &source, &choice, &err), OCV_ERR_NETWORK);
    repository.failure = 0;
    repository.n = 0;
    add(&repository, "1.9-cpu", AMD64);
    add(&repository, "1.9-cu130", GONE); /* listed, and deleted since */
    check_choice("amd64", "'13.0'", "1.9-cpu");
    add(&repository, "1.9-cu128", BROKEN);
    ocv_auto(ocv_profile) profile = host("amd64", "'12.8'");
    ocv_auto(ocv_decision) decision = NULL;
    struct ocv_resolve_options options = {0};
    ck_assert_int_eq(ocv_tag_choice_new(rules, reference, &source, &choice, &err), OCV_OK);
    ck_assert_int_eq(ocv_tag_choice_resolve(choice, &source, profile, &options, &decision, &err),
                     OCV_ERR_DATA);
    ck_assert_ptr_null(decision);
    ck_assert_msg(strstr(err.message, "1.9-cu128") != NULL, "%s", err.message);
    ocv_tag_choice_free(choice);
}
END_TEST

static size_t listed, others, paid;
static int depth;

static int list_many(void *data, int (*visit)(void *visit_data, const char *tag), void *visit_data,
                     struct ocv_error *err)
{
    char tag[64];
    int status = list_tags(data, visit, visit_data, err);
    for (size_t i = 0; status == OCV_OK && i < others; i++) {
        snprintf(tag, sizeof(tag), "2.%zu-cu128", i);
        status = visit(visit_data, tag);
    }
    for (size_t i = 0; status == OCV_OK && i < listed; i++)
        status = visit(visit_data, "1.9-cpu");
    return status;
}

static void enclose(void *data, bool begin)
{
    (void)data;
    depth += begin ? 1 : -1;
    ck_assert(depth == 0 || depth == 1);
}

static int pay(void *data, size_t bytes, struct ocv_error *err)
{
    (void)data;
    paid += bytes;
    return paid > 1024 * 1024 ? ocv_error_set(err, OCV_ERR_NOMEM, "no room") : OCV_OK;
}

/* Whoever publishes decides how many tags there are: only those of the group are kept and paid. */
START_TEST(test_many_tags)
{
    struct ocv_tag_choice *choice = NULL;
    struct ocv_error err = {0};
    source.tags = list_many;
    source.parse = enclose;
    source.pay = pay;
    add(&repository, "1.9-cpu", AMD64);
    add(&repository, "1.9-cu128", AMD64);
    others = 3000;
    paid = 0;
    check_choice("amd64", "'12.8'", "1.9-cu128");
    ck_assert_int_eq(depth, 0);
    ck_assert_uint_gt(paid, 0);
    ck_assert_uint_le(paid, 2 * 64 * 1024);
    others = 0;
    listed = 4096 - 2; /* a tag may be told twice */
    check_choice("amd64", "'12.8'", "1.9-cu128");
    listed++;
    ck_assert_int_eq(ocv_tag_choice_new(rules, reference, &source, &choice, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "more than 4096 tags stand for it"));
    listed = 0;
    paid = 2 * 1024 * 1024;
    ck_assert_int_eq(ocv_tag_choice_new(rules, reference, &source, &choice, &err), OCV_ERR_NOMEM);
    ck_assert_int_eq(depth, 0);
}
END_TEST

RUN_TESTS_IN("tag_choice", setup, teardown, test_choose, test_platform_is_learnt,
             test_decision_names_the_tag, test_as_it_is, test_refused_name, test_doubts,
             test_failures, test_many_tags)
