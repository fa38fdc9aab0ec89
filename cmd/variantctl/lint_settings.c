/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/verbs.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int read_one(const struct cli *cli, const char *path, bool named,
                    struct ocv_lint_config **out, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_LINT_CONFIG_MAX);
    int status = cli_read_file(path, &text, err);
    if (status == OCV_ERR_NOT_FOUND && !named)
        return status;
    if (status < 0)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s", err->message);
    cli_log(cli, "settings %s", path);
    return ocv_lint_config_read(path, text.data ? text.data : "", text.len, out, err);
}

#define PARENTS_MAX 64u

/* Without a path: search from the current directory upwards to the top of the git repository, or to
 * the root. */
int lint_settings_read(const struct cli *cli, const char *path, struct ocv_lint_config **out,
                       struct ocv_error *err)
{
    char file[4096] = OCV_LINT_CONFIG_FILE, top[4096] = ".git", up[4096] = "";
    struct ocv_error local = {0};
    struct stat st;
    if (path)
        return read_one(cli, path, true, out, err);
    for (unsigned i = 0; i < PARENTS_MAX; i++) {
        int status = read_one(cli, file, false, out, &local);
        if (status < 0 && status != OCV_ERR_NOT_FOUND) {
            if (err)
                *err = local;
            return status;
        }
        if (status == OCV_OK || stat(top, &st) == 0)
            break;
        size_t n = strlen(up);
        snprintf(up + n, sizeof(up) - n, "../");
        snprintf(file, sizeof(file), "%.4000s%s", up, OCV_LINT_CONFIG_FILE);
        snprintf(top, sizeof(top), "%.4000s.git", up);
    }
    return OCV_OK;
}
