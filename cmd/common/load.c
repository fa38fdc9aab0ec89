/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration from its four sources, and the profile; each is made when needed. */
#include "cmd/common/cli.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_MAX (256u * 1024)

static int merge_file(struct cli *cli, const char *path, bool must_exist, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CONFIG_MAX);
    int status = cli_read_file(path, &text, err);
    if (status == OCV_ERR_NOT_FOUND && !must_exist)
        return OCV_OK;
    if (status < 0)
        return ocv_error_set(err, OCV_ERR_CONFIG, "configuration %s", err->message);
    cli_log(cli, "configuration %s", path);
    return ocv_config_merge_yaml(cli->config, path, text.data ? text.data : "", text.len, err);
}

/* The other keys name the engine, the daemon, or the directory of records. */
static bool bears_on_choice(const char *key)
{
    return strcmp(key, "to") != 0 && strcmp(key, "socket") != 0 && strcmp(key, "state_dir") != 0;
}

/* "registry.example/app:1", or the image of "cuda12.8=registry.example/app:1,nvidia :: ...". */
static int add_own_registry(struct cli *cli, const char *argument, struct ocv_error *err)
{
    ocv_auto(ocv_reference) reference = NULL;
    const char *equals = strchr(argument, '=');
    char text[2048];
    equals = equals ? equals + 1 : argument;
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(equals, ","), equals);
    if (!strncmp(text, "oci:", 4) || access(text, F_OK) == 0 ||
        ocv_reference_parse(text, &reference, NULL) < 0)
        return OCV_OK;
    for (size_t i = 0; i < cli->n_insecure; i++)
        if (!strcmp(cli->insecure[i], reference->host))
            return OCV_OK;
    if (cli->n_insecure == sizeof(cli->insecure) / sizeof(*cli->insecure))
        return ocv_error_set(err, OCV_ERR_INVALID, "--tls-verify=false: too many registries");
    cli->insecure[cli->n_insecure] = strdup(reference->host);
    if (!cli->insecure[cli->n_insecure])
        return ocv_error_nomem(err);
    cli->n_insecure++;
    cli->n_named++;
    return OCV_OK;
}

/* From the files, the environment and the flags; each overrides the ones before. */
static int merge_sources(struct cli *cli, struct ocv_error *err)
{
    const char *const *keys = ocv_config_keys();
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
    bool has_xdg = xdg && *xdg;
    char path[4096], name[72];
    OCV_TRY(merge_file(cli, cli->config_file ? cli->config_file : OCV_PATH_CONFIG, cli->config_file,
                       err));
    if (!cli->config_file && (has_xdg || home) && !cli->no_environment) {
        snprintf(path, sizeof(path), "%s%s/ocivariant/config.yaml", has_xdg ? xdg : home,
                 has_xdg ? "" : "/.config");
        cli->own_settings = access(path, F_OK) == 0;
        OCV_TRY(merge_file(cli, path, false, err));
    }
    for (size_t i = 0; keys[i] && !cli->no_environment; i++) {
        snprintf(name, sizeof(name), "OCV_%s", keys[i]);
        for (char *p = name; *p; p++)
            *p = (char)toupper((unsigned char)*p);
        const char *text = getenv(name);
        cli->own_settings = cli->own_settings || (text && bears_on_choice(keys[i]));
        if (text)
            OCV_TRY(ocv_config_set(cli->config, name, keys[i], text, false, err));
    }
    for (size_t i = 0; i < cli->n_flags; i++) {
        const struct cli_flag *flag = &cli->flags[i];
        char key[64];
        bool again = false;
        snprintf(key, sizeof(key), "%s", flag->key);
        snprintf(name, sizeof(name), "--%s", flag->key);
        for (char *p = key; *p; p++)
            if (*p == '-')
                *p = '_';
        for (size_t k = 0; k < i; k++)
            again = again || !strcmp(cli->flags[k].key, flag->key);
        OCV_TRY(ocv_config_set(cli->config, name, key, flag->text, again, err));
    }
    return OCV_OK;
}

int cli_load(struct cli *cli, struct ocv_error *err)
{
    /* "--tls-verify false": the value needs "=", so "false" would be taken for an image */
    static const char *const words[] = {"false", "true", "0", "1"};
    for (char **argument = cli->arguments; cli->tls_bare && argument && *argument; argument++)
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
            if (!strcmp(*argument, words[i]))
                return ocv_error_set(err, OCV_ERR_INVALID, "--tls-verify %s: write --tls-verify=%s",
                                     words[i], words[i]);
    OCV_TRY(ocv_config_new(&cli->config, err));
    ocv_config_tolerate(cli->config, cli->unknown_key);
    OCV_TRY(merge_sources(cli, err));
    if (cli->platform_text && ocv_platform_parse(cli->platform_text, &cli->platform, err) < 0)
        return ocv_error_prefix(err, "--platform");
    if (cli->platform && ocv_platform_is_hidden(cli->platform->variant)) {
        ocv_error_set(err, OCV_ERR_INVALID, "--platform %s names a variant", cli->platform_text);
        char label[64]; /* a platform writes "-" for the label's "."; labels have no "-" */
        snprintf(label, sizeof(label), "%s", cli->platform->variant + 2);
        for (char *at = label; (at = strchr(at, '-')) != NULL;)
            *at = '.';
        ocv_error_hint(err, "use --label %s", label);
        return OCV_ERR_INVALID;
    }
    if (cli->label && !ocv_label_readable(cli->label, strlen(cli->label)))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "--label: '%.64s' is not a label (a-z 0-9 . _, at most 63)",
                             cli->label);
    if (cli->unchecked && !cli->label)
        return ocv_error_set(err, OCV_ERR_INVALID, "--unchecked needs --label");
    if (cli->creds_stdin && cli->profile_file && !strcmp(cli->profile_file, "-"))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "--creds-stdin and --profile - both read standard input");
    for (char **argument = cli->arguments; cli->tls_unverified && argument && *argument; argument++)
        OCV_TRY(add_own_registry(cli, *argument, err));
    if (cli->tls_unverified && !cli->n_insecure) {
        ocv_error_set(err, OCV_ERR_INVALID,
                      "--tls-verify=false: no argument names an image in a registry");
        ocv_error_hint(err, "--insecure HOST[:PORT]");
        return OCV_ERR_INVALID;
    }
    if (!cli->creds_stdin)
        return OCV_OK;
    /* USER:PASSWORD, or USER and PASSWORD on two lines. */
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 64u * 1024);
    OCV_TRY(cli_read_file("-", &text, err));
    const char *user = text.data ? text.data : "";
    size_t cut = strcspn(user, ":\n"), end = user[cut] == '\n' ? strcspn(user, "\r\n") : cut;
    const char *password = user[cut] ? user + cut + 1 : "";
    size_t len = strcspn(password, "\r\n");
    bool nothing = end == 0 || len == 0;
    cli->username = strndup(user, end);
    cli->password = strndup(password, len);
    if (text.data)
        explicit_bzero(text.data, text.len);
    if (nothing)
        return ocv_error_set(err, OCV_ERR_INVALID, "--creds-stdin: expected USER:PASSWORD");
    return cli->username && cli->password ? OCV_OK : ocv_error_nomem(err);
}

bool cli_is_plain(const struct cli *cli)
{
    for (size_t i = 0; i < cli->n_flags; i++)
        if (bears_on_choice(cli->flags[i].key))
            return false;
    return !cli_devices_given(cli) && !cli->own_settings && !cli->config_file &&
           !cli->profile_file && !cli->platform_text && !cli->label && cli->n_insecure == 0 &&
           !cli->ca_file && !cli->cert_file && !cli->key_file && !cli->auth_file &&
           !cli->creds_stdin;
}
