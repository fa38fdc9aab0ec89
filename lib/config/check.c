/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the scalar keys of the configuration may say, so that a mistake is found where it stands and
 * by every program, not by the daemon alone when it starts. */
#include "lib/config/config_set.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define WORDS 4 /* words of one key at most */
#define DURATION_DIGITS 9

static const struct {
    const char *key;
    const char *const values[WORDS];
} words[] = {
    {"tag_rules", {"on", "off"}},           {"mode", {"auto", "resolver", "proxy"}},
    {"policy", {"enforce", "warn", "off"}}, {"fail", {"open", "closed"}},
    {"serve_private", {"true", "false"}},   {"log", {"text", "json"}},
    {"access_log", {"on", "off"}},          {"cpu_levels", {"on", "off"}},
};

static int check_word(const char *key, const char *const values[WORDS], const char *text,
                      struct ocv_error *err)
{
    for (size_t i = 0; i < WORDS && values[i]; i++)
        if (!strcmp(values[i], text))
            return OCV_OK;
    return ocv_error_set(err, OCV_ERR_CONFIG, "%s: '%.60s' is not one of %s, %s%s%s", key, text,
                         values[0], values[1], values[2] ? ", " : "", values[2] ? values[2] : "");
}

/* "30s": seconds where no unit is named. */
static bool is_duration(const char *text)
{
    static const char *const units[] = {"", "ms", "s", "m", "h", "d"};
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > DURATION_DIGITS)
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (!strcmp(text + digits, units[i]))
            return true;
    return false;
}

/* "127.0.0.1:5050", "localhost:5050", "[::1]:5050" */
static bool is_address(const char *text)
{
    char host[INET6_ADDRSTRLEN + 2];
    unsigned char binary[sizeof(struct in6_addr)];
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (n == 0 || n >= sizeof(host) || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) || !colon[1] ||
        strtoul(colon + 1, NULL, 10) > 65535)
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    if (host[0] != '[')
        return !strcmp(host, "localhost") || inet_pton(AF_INET, host, binary) == 1;
    if (host[n - 1] != ']')
        return false;
    host[n - 1] = '\0';
    return inet_pton(AF_INET6, host + 1, binary) == 1;
}

static bool is_socket(const char *text)
{
    return text[0] == '/' && strlen(text) < sizeof(((struct sockaddr_un *)0)->sun_path);
}

static bool is_directory(const char *text)
{
    return text[0] == '/' && strlen(text) < PATH_MAX / 2; /* names below it have to fit, too */
}

static bool is_label(const char *text)
{
    return ocv_label_readable(text, strlen(text));
}

static const struct {
    const char *key;
    bool (*good)(const char *text);
    const char *wanted;
} forms[] = {
    {"tag_ttl", is_duration, "a duration such as 30s, 10m or 1h"},
    {"probe_interval", is_duration, "a duration such as 30s, 10m or 1h"},
    {"listen", is_address, "ADDRESS:PORT (IPv6: [::1]:5050)"},
    {"metrics_listen", is_address, "ADDRESS:PORT (IPv6: [::1]:5050)"},
    {"socket", is_socket, "an absolute path of at most 107 bytes"},
    {"state_dir", is_directory, "the absolute path of a directory"},
    {"label", is_label, "a label (a-z 0-9 . _, at most 63)"},
};

int ocv_config_check_scalar(const char *key, const char *text, struct ocv_error *err)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!strcmp(words[i].key, key))
            return check_word(key, words[i].values, text, err);
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (!strcmp(forms[i].key, key) && *text && !forms[i].good(text)) /* empty: the default */
            return ocv_error_set(err, OCV_ERR_CONFIG, "%s: '%.100s' is not %s", key, text,
                                 forms[i].wanted);
    return OCV_OK;
}
