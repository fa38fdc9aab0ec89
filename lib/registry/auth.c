/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Answering a 401: Basic, or a token from the realm that the registry names (distribution's token
 * specification: GET with Basic, or OAuth2 POST for identity tokens and for realms without GET).
 * Tokens are kept per host and repository until shortly before they expire. */
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/format/encodings.h"
#include "lib/base/format/json.h"
#include "lib/registry/auth/credentials.h"
#include "lib/registry/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_LIFE_DEFAULT_S 60 /* the specification's default */
#define TOKEN_LIFE_MAX_S (24 * 3600)
#define SCOPES_MAX 8
#define CHALLENGES 8

static void free_token(struct ocv_token *token)
{
    ocv_secret_free(token->header);
    free(token->repository);
    free(token);
}

void ocv_auth_free(struct ocv_token *tokens)
{
    while (tokens) {
        struct ocv_token *next = tokens->next;
        free_token(tokens);
        tokens = next;
    }
}

const struct ocv_token *ocv_auth_find(const struct ocv_registry_host *host, const char *repository)
{
    for (const struct ocv_token *t = host->tokens; t; t = t->next)
        if (!strcmp(t->repository, repository))
            return t->expires > ocv_clock_ms() ? t : NULL;
    return NULL;
}

static void drop_token(struct ocv_registry_host *host, const char *repository)
{
    for (struct ocv_token **p = &host->tokens; *p; p = &(*p)->next) {
        if (strcmp((*p)->repository, repository))
            continue;
        struct ocv_token *old = *p;
        *p = old->next;
        free_token(old);
        return;
    }
}

static int keep_token(struct ocv_exchange *x, const char *scheme, const char *secret,
                      int64_t life_ms, uint64_t issue, struct ocv_error *err)
{
    struct ocv_registry_host *host = x->host;
    const char *repository = x->repository;
    struct ocv_token *token = calloc(1, sizeof(*token));
    if (!token)
        return ocv_error_nomem(err);
    token->repository = strdup(repository);
    if (asprintf(&token->header, "%s %s", scheme, secret) < 0)
        token->header = NULL;
    if (!token->repository || !token->header) {
        free_token(token);
        return ocv_error_nomem(err);
    }
    drop_token(host, repository);

    /* make room for one more: clients of a daemon choose which repositories it asks for */
    struct ocv_token **oldest = &host->tokens;
    for (unsigned n = 1; *oldest && n < OCV_TOKENS_MAX; n++)
        oldest = &(*oldest)->next;
    ocv_auth_free(*oldest);
    *oldest = NULL;
    token->expires = ocv_clock_ms() + life_ms;
    token->serial = ++x->registry->serial;
    token->issue = issue;
    token->login = x->login;
    memcpy(token->source, x->registry->source, sizeof(token->source));
    token->next = host->tokens;
    host->tokens = token;
    return OCV_OK;
}

static char *basic_secret(const struct ocv_credentials *credentials)
{
    char *pair = NULL;
    const char *password = credentials->password ? credentials->password : "";
    int n = asprintf(&pair, "%s:%s", credentials->username, password);
    if (n < 0)
        return NULL;
    char *out = ocv_base64_encode(pair, (size_t)n);
    explicit_bzero(pair, (size_t)n);
    free(pair);
    return out;
}

static int add_pair(struct ocv_buffer *out, const char *name, const char *value,
                    struct ocv_error *err)
{
    char *escaped = curl_easy_escape(NULL, value, 0);
    if (!escaped)
        return ocv_error_nomem(err);
    int status = ocv_buffer_printf(out, err, "%s%s=%s", out->len ? "&" : "", name, escaped);
    explicit_bzero(escaped, strlen(escaped));
    curl_free(escaped);
    return status;
}

static int take_token(void *data, const struct ocv_json_at *at)
{
    struct ocv_token_answer *answer = data;
    char **into = ocv_json_is_at(at, "token", NULL, NULL)          ? &answer->token
                  : ocv_json_is_at(at, "access_token", NULL, NULL) ? &answer->access_token
                                                                   : NULL;
    if (at->kind == '0' && ocv_json_is_at(at, "expires_in", NULL, NULL))
        answer->life_s = strtoll(at->text, NULL, 10);
    if (into && !*into && at->kind == '"' && *at->text) {
        *into = strdup(at->text);
        return *into ? 0 : OCV_ERR_NOMEM;
    }
    return 0;
}

int ocv_token_read(const char *text, size_t len, struct ocv_token_answer *out,
                   struct ocv_error *err)
{
    *out = (struct ocv_token_answer){.life_s = TOKEN_LIFE_DEFAULT_S};
    int status = ocv_json_walk(text, len, take_token, out, NULL);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(err);
    const char *token = out->token ? out->token : out->access_token;
    if (status < 0 || !token) /* its text may be a secret */
        return ocv_error_set(err, OCV_ERR_DATA, "the token server's answer holds no token");
    for (const char *c = token; *c; c++) /* it becomes a header */
        if (*c <= 0x20 || *c >= 0x7f)
            return ocv_error_set(err, OCV_ERR_DATA, "the token server's token is malformed");
    if (out->life_s < TOKEN_LIFE_DEFAULT_S)
        out->life_s = TOKEN_LIFE_DEFAULT_S; /* the specification's floor */
    if (out->life_s > TOKEN_LIFE_MAX_S)
        out->life_s = TOKEN_LIFE_MAX_S;
    return OCV_OK;
}

void ocv_token_forget(struct ocv_token_answer *answer)
{
    ocv_secret_free(answer->token);
    ocv_secret_free(answer->access_token);
    *answer = (struct ocv_token_answer){0};
}

static int ask_token(struct ocv_exchange *x, struct ocv_exchange *request, struct ocv_error *err)
{
    char what[512], authority[OCV_ORIGIN_MAX], origin[OCV_ORIGIN_MAX];
    OCV_TRY(ocv_url_origin(request->url, origin, err));
    ocv_origin_authority(origin, authority, sizeof(authority));
    snprintf(what, sizeof(what), "token server %s", authority);
    request->registry = x->registry;
    request->host = x->host; /* decides whether loopback is fine; its token is not used */
    request->what = what;
    request->kind = "token";
    request->begun = ocv_exchange_is_document(x) ? x->begun : 0; /* its time is the document's */
    request->body_max = OCV_TOKEN_BODY_MAX;
    int status = ocv_exchange_run(request, err);
    if (status == OCV_OK) {
        const struct ocv_buffer *body = &request->transfer.body;
        struct ocv_token_answer found;
        status = ocv_token_read(body->data ? body->data : "", body->len, &found, err);
        if (status == OCV_OK)
            status = keep_token(x, "Bearer", found.token ? found.token : found.access_token,
                                found.life_s * 1000 - 5000, 0, err);
        ocv_token_forget(&found);
    }
    request->what = "token server";
    return status;
}

static int token_by_get(struct ocv_exchange *x, const struct ocv_challenge *challenge, bool guard,
                        const struct ocv_credentials *credentials, struct ocv_error *err)
{
    struct ocv_buffer query, url;
    struct ocv_exchange request = {.method = "GET", .guard = guard, .accept = "application/json"};
    char *secret = NULL, *header = NULL;
    ocv_buffer_init(&query, 16384);
    ocv_buffer_init(&url, 32768);
    int status = OCV_OK;
    if (challenge->service[0])
        status = add_pair(&query, "service", challenge->service, err);
    /* A scope attribute may hold several scopes, separated by spaces; a GET repeats the parameter.
     */
    const char *scopes = challenge->scope;
    for (unsigned i = 0; i < SCOPES_MAX && status == OCV_OK && *scopes; i++) {
        char one[sizeof(challenge->scope)];
        size_t len = strcspn(scopes, " ");
        snprintf(one, sizeof(one), "%.*s", (int)len, scopes);
        if (len)
            status = add_pair(&query, "scope", one, err);
        scopes += len + (scopes[len] == ' ');
    }
    if (status == OCV_OK && credentials->username)
        status = add_pair(&query, "account", credentials->username, err);
    if (status == OCV_OK && credentials->username) {
        secret = basic_secret(credentials);
        if (!secret || asprintf(&header, "Basic %s", secret) < 0) {
            header = NULL;
            status = ocv_error_nomem(err);
        }
    }
    if (status == OCV_OK)
        status = ocv_buffer_printf(&url, err, "%s%s%s", challenge->realm,
                                   strchr(challenge->realm, '?') ? "&" : "?",
                                   query.data ? query.data : "");
    request.url = url.data;
    request.authorization = header;
    if (status == OCV_OK)
        status = ask_token(x, &request, err);
    if (request.registry)
        ocv_exchange_free(&request);
    ocv_secret_free(secret);
    ocv_secret_free(header);
    ocv_buffer_free(&query);
    ocv_buffer_free(&url);
    return status;
}

static int token_by_post(struct ocv_exchange *x, const struct ocv_challenge *challenge, bool guard,
                         const struct ocv_credentials *credentials, struct ocv_error *err)
{
    struct ocv_buffer form;
    struct ocv_exchange request = {.method = "POST", .guard = guard, .accept = "application/json"};
    ocv_buffer_init(&form, 3 * OCV_DOCKER_CONFIG_MAX); /* every byte may need escaping */
    const char *identity = credentials->identity_token, *password = credentials->password;
    const struct {
        const char *name, *value;
    } pairs[] = {{"grant_type", identity ? "refresh_token" : "password"},
                 {"service", challenge->service},
                 {"client_id", "ocivariant"},
                 {"scope", challenge->scope},
                 {"refresh_token", identity},
                 {"username", identity ? NULL : credentials->username},
                 {"password", identity   ? NULL
                              : password ? password
                                         : ""}};
    int status = OCV_OK;
    for (size_t i = 0; status == OCV_OK && i < sizeof(pairs) / sizeof(*pairs); i++)
        if (pairs[i].value)
            status = add_pair(&form, pairs[i].name, pairs[i].value, err);
    request.url = challenge->realm;
    request.form = form.data;
    if (status == OCV_OK)
        status = ask_token(x, &request, err);
    if (request.registry)
        ocv_exchange_free(&request);
    if (form.data)
        explicit_bzero(form.data, form.len);
    ocv_buffer_free(&form);
    return status;
}

static int fetch_bearer(struct ocv_exchange *x, const char *origin, struct ocv_challenge *challenge,
                        const struct ocv_credentials *credentials, struct ocv_error *err)
{
    bool guard = false;
    int status =
        ocv_hop_allowed(x->registry, origin, challenge->realm, "token server", &guard, err);
    if (status < 0)
        return status;
    if (!challenge->scope[0] && *x->repository) /* some registries leave it out at first */
        snprintf(challenge->scope, sizeof(challenge->scope), "repository:%s:pull%s", x->repository,
                 x->upload ? ",push" : "");
    struct ocv_error local = {0};
    if (credentials->identity_token) {
        status = token_by_post(x, challenge, guard, credentials, &local);
    } else {
        status = token_by_get(x, challenge, guard, credentials, &local);
        if (status < 0 && credentials->username &&
            (local.http_status == 404 || local.http_status == 405)) {
            local = (struct ocv_error){0};
            status = token_by_post(x, challenge, guard, credentials, &local);
        }
    }
    if (status < 0 && err)
        *err = local;
    bool refused = local.http_status == 400 || local.http_status == 401;
    if (status < 0 && refused && err) {
        int http_status = local.http_status;
        status = ocv_error_set(err, OCV_ERR_DENIED, "%s", local.message);
        err->http_status = http_status;
        ocv_creds_hint(x->registry, x->host->name, x->login, err);
    }
    return status;
}

/* The challenges of a response that can be answered. */
static size_t read_challenges(const struct ocv_buffer *text, struct ocv_challenge *list)
{
    size_t n = 0, usable = 0;
    for (const char *line = text->data; line && *line && n < CHALLENGES;) {
        size_t len = strcspn(line, "\n");
        n += ocv_challenge_parse(line, len, list + n, CHALLENGES - n);
        line += len + (line[len] == '\n');
    }
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].scheme, "basic") ||
            (!strcmp(list[i].scheme, "bearer") && list[i].realm[0]))
            list[usable++] = list[i];
    return usable;
}

static int answer_challenge(struct ocv_exchange *x, const char *origin, struct ocv_challenge *list,
                            size_t n, const struct ocv_credentials *credentials,
                            struct ocv_error *err)
{
    x->login = ocv_credentials_empty(credentials) ? OCV_LOGIN_NONE : OCV_LOGIN_USED;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].scheme, "bearer"))
            return fetch_bearer(x, origin, &list[i], credentials, err);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].scheme, "basic") || !credentials->username)
            continue;
        char *secret = basic_secret(credentials);
        if (!secret)
            return ocv_error_nomem(err);
        int64_t life_ms = (int64_t)TOKEN_LIFE_MAX_S * 1000;
        if (credentials->issue && credentials->until_ms - ocv_clock_ms() < life_ms)
            life_ms = credentials->until_ms - ocv_clock_ms();
        int status = keep_token(x, "Basic", secret, life_ms, credentials->issue, err);
        ocv_secret_free(secret);
        return status;
    }
    if (x->login == OCV_LOGIN_USED)
        x->login = OCV_LOGIN_UNUSED;
    return OCV_ERR_NOT_FOUND;
}

/* A token that was given is sent once, and what is refused stays so. */
static int answer_token(struct ocv_exchange *x, const char *token, struct ocv_error *err)
{
    x->login = OCV_LOGIN_USED;
    if (ocv_auth_find(x->host, x->repository))
        return OCV_ERR_NOT_FOUND;
    for (const char *p = token; *p; p++) /* it becomes a header */
        if (*p <= 0x20 || *p >= 0x7f)
            return ocv_error_set(err, OCV_ERR_INVALID, "the given token is malformed");
    return keep_token(x, "Bearer", token, (int64_t)TOKEN_LIFE_MAX_S * 1000, 0, err);
}

bool ocv_auth_renew(struct ocv_exchange *x)
{
    const struct ocv_token *token = ocv_auth_find(x->host, x->repository);
    if (!token || token->serial != x->token_serial ||
        !ocv_providers_renew(x->registry->credential_providers, token->issue))
        return false;
    drop_token(x->host, x->repository);
    return true;
}

int ocv_auth_answer(struct ocv_exchange *x, const char *origin, struct ocv_error *err)
{
    x->login = OCV_LOGIN_NONE;
    if (x->registry->registry_token && !x->registry->anonymous)
        return answer_token(x, x->registry->registry_token, err);
    ocv_auto_free struct ocv_challenge *list = calloc(CHALLENGES, sizeof(*list));
    if (!list)
        return ocv_error_nomem(err);
    drop_token(x->host, x->repository); /* it was refused */
    /* What a credential provider gave may have ended before its time: it is asked once more. */
    int status;
    bool again = false;
    size_t n = 0;
    if (x->transfer.response.status == 404 && x->host->pinged && !x->host->challenges.len)
        return OCV_ERR_NOT_FOUND; /* nobody logs in there: no helper need be asked */
    do {
        struct ocv_credentials credentials = {0};
        status = ocv_creds_find(x->registry, x->host->account, x->repository, &credentials, err);
        bool empty = ocv_credentials_empty(&credentials);
        if (status == OCV_OK && empty && x->transfer.response.status != 401)
            status = OCV_ERR_NOT_FOUND;
        if (status == OCV_OK && !credentials.registry_token)
            n = read_challenges(&x->transfer.response.challenges, list);
        /* Some registries refuse with 403, with 404, or with 401 and no more, and only /v2/ says
         * how to log in (zot, Docker Hub). The scope there is not this repository's. */
        if (status == OCV_OK && !credentials.registry_token && n == 0 && *x->repository) {
            const struct ocv_buffer *text = NULL;
            status = ocv_ping_challenges(x, &text, err);
            n = status == OCV_OK ? read_challenges(text, list) : 0;
            for (size_t i = 0; i < n; i++)
                list[i].scope[0] = '\0';
        }
        if (status == OCV_OK && credentials.registry_token)
            status = answer_token(x, credentials.registry_token, err);
        else if (status == OCV_OK)
            status = answer_challenge(x, origin, list, n, &credentials, err);
        again = !again && status == OCV_ERR_DENIED &&
                ocv_providers_renew(x->registry->credential_providers, credentials.issue);
        ocv_credentials_free(&credentials);
    } while (again);
    return status;
}
