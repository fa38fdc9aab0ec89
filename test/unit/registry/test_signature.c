/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signatures by key: what is good, and that nothing else is. */
#include "test/unit/registry/sign_util.h"
#include "test/unit/suite.h"

#include <sys/stat.h>

#define DIGEST "sha256:6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f"
#define OTHER "sha256:7f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f"
#define STATEMENT(type, digest, predicate)                                            \
    "{\"_type\":\"" type "\",\"subject\":[{\"digest\":{\"sha256\":\"" digest "\"}}]," \
    "\"predicateType\":\"" predicate "\",\"predicate\":{}}"
#define V1 "https://in-toto.io/Statement/v1"
#define SIGN "https://sigstore.dev/cosign/sign/v1"
#define GOOD STATEMENT(V1, "6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f", SIGN)
#define PAYLOAD(name, digest, type)                                              \
    "{\"critical\":{\"identity\":{\"docker-reference\":\"" name "\"},\"image\":" \
    "{\"docker-manifest-digest\":\"" digest "\"},\"type\":\"" type "\"},\"optional\":null}"
#define COSIGN "cosign container image signature"

static char dir[64];
static struct ocv_error err;

static void make_directory(void)
{
    snprintf(dir, sizeof(dir), "/tmp/ocv-sign-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_directory(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    ck_assert_int_eq(system(command), 0);
}

/* The keys of these files below the directory. */
static int read_keys(const char *a, const char *b, struct ocv_signature_keys **out)
{
    static char paths[2][128];
    const char *files[2] = {paths[0], paths[1]};
    snprintf(paths[0], sizeof(paths[0]), "%s/%s", dir, a);
    snprintf(paths[1], sizeof(paths[1]), "%s/%s", dir, b ? b : "");
    err = (struct ocv_error){0};
    return ocv_signature_keys_new(files, b ? 2 : 1, out, &err);
}

static EVP_PKEY *make_key(const char *kind, const char *name)
{
    char path[128];
    EVP_PKEY *key = sign_key(kind);
    ck_assert_ptr_nonnull(key);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    ck_assert(sign_publish(key, path, 0644));
    return key;
}

static int check(const struct ocv_signature_keys *keys, const char *type, const char *bytes,
                 const char *signature, const char *repository)
{
    const struct ocv_signature_subject subject = {
        .digest = DIGEST, .repositories = &repository, .n_repositories = repository ? 1 : 0};
    struct ocv_signature out = {.key = ""};
    err = (struct ocv_error){0};
    int status =
        ocv_signature_check(keys, type, bytes, strlen(bytes), signature, &subject, &out, &err);
    ck_assert(status == OCV_OK || status == OCV_ERR_UNTRUSTED);
    ck_assert_int_eq(err.status, status);
    ck_assert_int_eq(status == OCV_OK, ocv_digest_known(out.key));
    return status;
}

static const struct {
    const char *kind, *hash;
    bool good;
} kinds[] = {
    {"P-256", "SHA256", true},   {"P-256", "SHA384", false}, {"P-384", "SHA384", true},
    {"P-384", "SHA256", true},   {"P-384", "SHA512", false}, {"ED25519", NULL, true},
    {"RSA2048", "SHA256", true}, {"RSA2048", "SHA1", false},
};

START_TEST(test_a_signature_of_each_kind_of_key)
{
    char bundle[SIGN_TEXT_MAX];
    ocv_auto(ocv_signature_keys) keys = NULL;
    EVP_PKEY *key = make_key(kinds[_i].kind, "a.pub"), *other = make_key("P-256", "b.pub");
    ck_assert_int_eq(read_keys("b.pub", "a.pub", &keys), OCV_OK);
    size_t n = sign_bundle(key, kinds[_i].hash, GOOD, strlen(GOOD), bundle, sizeof(bundle));
    ck_assert_uint_gt(n, 0);
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_BUNDLE, bundle, NULL, NULL) == OCV_OK,
                     kinds[_i].good);
    static const char payload[] = PAYLOAD("registry.example/app", DIGEST, COSIGN);
    char *signature = sign_bytes(key, kinds[_i].hash, payload, strlen(payload));
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_PAYLOAD, payload, signature, NULL) == OCV_OK,
                     kinds[_i].good);
    free(signature);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
}
END_TEST

/* Every byte of a good one is changed, one after the other. */
START_TEST(test_no_changed_byte_is_good)
{
    char bundle[SIGN_TEXT_MAX];
    unsigned unread = 0;
    ocv_auto(ocv_signature_keys) keys = NULL;
    EVP_PKEY *key = make_key("P-256", "a.pub");
    ck_assert_int_eq(read_keys("a.pub", NULL, &keys), OCV_OK);
    size_t n = sign_bundle(key, "SHA256", GOOD, strlen(GOOD), bundle, sizeof(bundle));
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_BUNDLE, bundle, NULL, NULL), OCV_OK);
    for (size_t i = 0; i < n; i++) {
        char old = bundle[i];
        bundle[i] = old == 'A' ? 'B' : 'A';
        if (check(keys, OCV_SIGNATURE_BUNDLE, bundle, NULL, NULL) == OCV_OK)
            unread++; /* names of members that say nothing of the image */
        bundle[i] = old;
    }
    /* "verificationMaterial":{"publicKey":{"hint":"h"}} between their first and last quotes, and
     * the last characters of base64, of which not all bits are used */
    ck_assert_uint_lt(unread, sizeof("verificationMaterialpublicKeyhinth") + 6);
    static const char payload[] = PAYLOAD("registry.example/app", DIGEST, COSIGN);
    char copy[sizeof(payload)], *signature = sign_bytes(key, "SHA256", payload, strlen(payload));
    for (size_t i = 0; i < strlen(payload); i++) {
        memcpy(copy, payload, sizeof(copy));
        copy[i] = copy[i] == 'A' ? 'B' : 'A';
        ck_assert_int_eq(check(keys, OCV_SIGNATURE_PAYLOAD, copy, signature, NULL),
                         OCV_ERR_UNTRUSTED);
    }
    free(signature);
    EVP_PKEY_free(key);
}
END_TEST

static const struct {
    const char *statement, *why;
} statements[] = {
    {STATEMENT(V1, "7f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f", SIGN),
     "another digest"},
    {STATEMENT(V1, "6F6F6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f", SIGN),
     "another digest"},
    {STATEMENT(V1, "6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f",
               "https://slsa.dev/provenance/v1"),
     "a statement about the image"},
    {STATEMENT("https://in-toto.io/Statement/v9",
               "6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f", SIGN),
     "no in-toto statement"},
    {"{\"_type\":\"" V1 "\",\"predicateType\":\"" SIGN "\"}", "another digest"},
    {"{\"_type\":\"" V1 "\",\"predicateType\":\"" SIGN "\",\"subject\":{\"digest\":1}}",
     "another digest"},
    {"[]", "statement"},
    {"{\"_type\":\"" V1 "\",\"_type\":\"" V1 "\"}", "statement"},
    {"x", "statement"},
};

START_TEST(test_what_a_key_signed_has_to_be_a_signature_of_this)
{
    char bundle[SIGN_TEXT_MAX];
    ocv_auto(ocv_signature_keys) keys = NULL;
    EVP_PKEY *key = make_key("P-256", "a.pub");
    ck_assert_int_eq(read_keys("a.pub", NULL, &keys), OCV_OK);
    const char *statement = statements[_i].statement;
    ck_assert_uint_gt(
        sign_bundle(key, "SHA256", statement, strlen(statement), bundle, sizeof(bundle)), 0);
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_BUNDLE, bundle, NULL, NULL), OCV_ERR_UNTRUSTED);
    ck_assert_msg(strstr(err.message, statements[_i].why), "%s", err.message);
    EVP_PKEY_free(key);
}
END_TEST

static const struct {
    const char *payload, *repository, *why; /* NULL: good */
} payloads[] = {
    {PAYLOAD("registry.example/app", DIGEST, COSIGN), NULL, NULL},
    {PAYLOAD("registry.example/app", DIGEST, COSIGN), "registry.example/app", NULL},
    {PAYLOAD("registry.example/app:1", DIGEST, COSIGN), "registry.example/app", NULL},
    {PAYLOAD("index.docker.io/library/app", DIGEST, COSIGN), "docker.io/library/app", NULL},
    {PAYLOAD("registry.example/other", DIGEST, COSIGN), NULL, NULL},
    {PAYLOAD("registry.example/other", DIGEST, COSIGN), "registry.example/app",
     "repository registry.example/other"},
    {PAYLOAD("", DIGEST, COSIGN), "registry.example/app", "repository \"\""},
    {PAYLOAD("registry.example/app", OTHER, COSIGN), NULL, "another digest"},
    {PAYLOAD("registry.example/app", DIGEST, "atomic container signature"), NULL,
     "no signature of an image"},
    {"{\"critical\":null}", NULL, "no signature of an image"},
    {"[1]", NULL, "payload"},
};

START_TEST(test_payloads)
{
    ocv_auto(ocv_signature_keys) keys = NULL;
    EVP_PKEY *key = make_key("P-256", "a.pub");
    ck_assert_int_eq(read_keys("a.pub", NULL, &keys), OCV_OK);
    const char *payload = payloads[_i].payload;
    char *signature = sign_bytes(key, "SHA256", payload, strlen(payload));
    int status = check(keys, OCV_SIGNATURE_PAYLOAD, payload, signature, payloads[_i].repository);
    ck_assert_int_eq(status, payloads[_i].why ? OCV_ERR_UNTRUSTED : OCV_OK);
    if (payloads[_i].why)
        ck_assert_msg(strstr(err.message, payloads[_i].why), "%s", err.message);
    free(signature);
    EVP_PKEY_free(key);
}
END_TEST

START_TEST(test_bundles_that_are_not_for_this)
{
    char bundle[SIGN_TEXT_MAX], changed[SIGN_TEXT_MAX];
    ocv_auto(ocv_signature_keys) keys = NULL;
    EVP_PKEY *key = make_key("P-256", "a.pub");
    ck_assert_int_eq(read_keys("a.pub", NULL, &keys), OCV_OK);
    sign_bundle(key, "SHA256", GOOD, strlen(GOOD), bundle, sizeof(bundle));
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_BUNDLE, bundle, NULL, "registry.example/app"),
                     OCV_ERR_UNTRUSTED);
    ck_assert_ptr_nonnull(strstr(err.message, "names no repository"));
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_PAYLOAD, bundle, NULL, NULL), OCV_ERR_UNTRUSTED);
    ck_assert_int_eq(check(keys, "application/json", bundle, NULL, NULL), OCV_ERR_UNTRUSTED);
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_BUNDLE, "{}", NULL, NULL), OCV_ERR_UNTRUSTED);
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_BUNDLE, "", NULL, NULL), OCV_ERR_UNTRUSTED);
    /* keyless */
    char *material = strstr(bundle, "\"publicKey\":{\"hint\":\"h\"}");
    snprintf(changed, sizeof(changed), "%.*s\"certificate\":{\"rawBytes\":\"\"}%s",
             (int)(material - bundle), bundle, material + strlen("\"publicKey\":{\"hint\":\"h\"}"));
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_BUNDLE, changed, NULL, NULL), OCV_ERR_UNTRUSTED);
    ck_assert_ptr_nonnull(strstr(err.message, "keyless"));
    /* two signatures, of which one is good */
    char *list = strstr(bundle, "{\"sig\"");
    snprintf(changed, sizeof(changed), "%.*s{\"sig\":\"AAAA\"},%s", (int)(list - bundle), bundle,
             list);
    ck_assert_int_eq(check(keys, OCV_SIGNATURE_BUNDLE, changed, NULL, NULL), OCV_ERR_UNTRUSTED);
    EVP_PKEY_free(key);
}
END_TEST

static void write_file(const char *name, const char *text, mode_t mode)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

START_TEST(test_files_that_are_no_keys)
{
    struct ocv_signature_keys *keys = NULL;
    char path[128];
    static const char *const kinds_refused[] = {"P-521", "RSA1024"};
    EVP_PKEY *key = make_key("P-256", "writable.pub");
    snprintf(path, sizeof(path), "%s/writable.pub", dir);
    ck_assert_int_eq(chmod(path, 0664), 0);
    ck_assert_int_eq(read_keys("writable.pub", NULL, &keys), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "can be written by others"));
    ck_assert_int_eq(chmod(path, 0444), 0);
    ck_assert_int_eq(read_keys("writable.pub", NULL, &keys), OCV_OK);
    ocv_signature_keys_free(keys);
    snprintf(path, sizeof(path), "%s/private.pem", dir);
    FILE *file = fopen(path, "w");
    ck_assert_int_eq(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(read_keys("private.pem", NULL, &keys), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "is a private key"));
    EVP_PKEY_free(key);
    write_file("empty", "", 0644);
    write_file("text", "hello\n", 0644);
    ck_assert_int_eq(read_keys("empty", NULL, &keys), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "is empty"));
    ck_assert_int_eq(read_keys("text", NULL, &keys), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "has no public key"));
    ck_assert_int_eq(read_keys("absent", NULL, &keys), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "No such file"));
    ck_assert_int_eq(read_keys("", NULL, &keys), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "is a directory"));
    for (size_t i = 0; i < 2; i++) {
        EVP_PKEY_free(make_key(kinds_refused[i], "refused.pub"));
        ck_assert_int_eq(read_keys("refused.pub", NULL, &keys), OCV_ERR_CONFIG);
        ck_assert_ptr_nonnull(strstr(err.message, "is none of ECDSA"));
    }
    ck_assert_ptr_null(keys);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("signature");
    TCase *c = tcase_create("signature");
    tcase_add_checked_fixture(c, make_directory, remove_directory);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, test_a_signature_of_each_kind_of_key, 0,
                        (int)(sizeof(kinds) / sizeof(*kinds)));
    tcase_add_test(c, test_no_changed_byte_is_good);
    tcase_add_loop_test(c, test_what_a_key_signed_has_to_be_a_signature_of_this, 0,
                        (int)(sizeof(statements) / sizeof(*statements)));
    tcase_add_loop_test(c, test_payloads, 0, (int)(sizeof(payloads) / sizeof(*payloads)));
    tcase_add_test(c, test_bundles_that_are_not_for_this);
    tcase_add_test(c, test_files_that_are_no_keys);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
