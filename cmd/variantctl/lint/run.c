/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl lint: reads settings, checks each input, writes one report. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/lint/lint_verb.h"
#include "cmd/variantctl/verbs.h"
#include "gen/datadir.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/exit_code.h"
#include "lib/base/format/encodings.h"
#include "lib/base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUTS_MAX 4096u /* tags of a layout */
#define OUTPUT_MAX (256u * 1024 * 1024)

static int remember_failure(struct lint_request *r, const char *name, const struct ocv_error *err)
{
    if (r->exit_code == 0)
        r->exit_code = ocv_error_exit_code(err->status);
    cli_fail(r->cli, err);
    ocv_auto_free char *input = strdup(name);
    ocv_auto_free char *message = strdup(err->message);
    struct ocv_lint_failure *added = ocv_array_grow(&r->failures, r->n_failures);
    if (!added || !input || !message)
        return OCV_ERR_NOMEM;
    *added = (struct ocv_lint_failure){ocv_steal(&input), ocv_steal(&message)};
    r->n_failures++;
    return OCV_OK;
}

static int lint_one(struct lint_request *r, const char *text, bool file, struct ocv_error *err)
{
    __attribute__((cleanup(lint_source_close))) struct lint_source source = {0};
    struct ocv_lint_options how = {.config = r->config, .tag_rules = r->rules};
    struct ocv_error failure = {0}; /* of the correction; findings are reported anyway */
    OCV_TRY(file ? lint_source_file(text, &source, err)
                 : lint_source_image(r->cli, text, &r->lint, &source, err));
    if (r->named && source.is_image && source.image.kind == OCV_DOCUMENT_MANIFEST)
        fprintf(stderr, "%s is a single image, not an index: only the rules about images apply\n",
                text);
    int fixed = r->fix ? lint_fix(r, &source, &failure) : OCV_OK;
    OCV_TRY(source.source ? ocv_lint_run_source(source.name, source.source, &how, &r->report, err)
                          : ocv_lint_run(&source.input, &how, &r->report, err));
    if (fixed < 0)
        *err = failure;
    return fixed;
}

/* A bad input does not prevent checking the others; an interrupt does. */
static int lint_input(struct lint_request *r, const char *text, bool file)
{
    struct ocv_error err = {0};
    int status = lint_one(r, text, file, &err);
    if (status < 0 && remember_failure(r, text, &err) < 0)
        return OCV_ERR_NOMEM;
    /* The first input with findings determines the exit status. */
    bool errors = r->report.counts[OCV_LINT_ERROR] > 0;
    bool warnings = r->report.counts[OCV_LINT_WARNING] > 0;
    if (r->exit_code == 0 && r->fail_on != OCV_LINT_OFF &&
        (errors || (warnings && r->fail_on == OCV_LINT_WARNING)))
        r->exit_code = ocv_error_exit_code(OCV_ERR_CHECK);
    return status == OCV_ERR_INTERRUPTED || status == OCV_ERR_NOMEM ? status : OCV_OK;
}

struct tags_of_layout {
    char *names[INPUTS_MAX];
    size_t n;
    const char *text;
};

static int on_tag(void *data, const char *tag, const char *image_name,
                  const struct ocv_descriptor *descriptor)
{
    struct tags_of_layout *t = data;
    (void)image_name;
    (void)descriptor;
    size_t len = tag ? strlen(tag) : 0;
    bool signature = len > 4 && !strcmp(tag + len - 4, ".sig");
    if (!tag || signature || t->n == INPUTS_MAX)
        return OCV_OK;
    t->n += asprintf(&t->names[t->n], "%s:%s", t->text, tag) > 0;
    return OCV_OK;
}

/* oci:DIR without a tag: all its tags, or its only entry. */
static int lint_layout(struct lint_request *r, const char *text, const char *dir)
{
    ocv_auto(ocv_layout) layout = NULL;
    struct ocv_error err = {0};
    struct tags_of_layout *tags = calloc(1, sizeof(*tags));
    if (!tags)
        return OCV_ERR_NOMEM;
    tags->text = text;
    int status = ocv_layout_open(dir, OCV_LAYOUT_READ, &layout, &err);
    if (status == OCV_OK)
        status = ocv_layout_list(layout, on_tag, tags, &err);
    if (status < 0) {
        ocv_error_prefix(&err, "%s", text);
        status = remember_failure(r, text, &err);
    } else if (tags->n == 0) {
        status = lint_input(r, text, false);
    }
    for (size_t i = 0; i < tags->n; i++) {
        if (status == OCV_OK)
            status = lint_input(r, tags->names[i], false);
        free(tags->names[i]);
    }
    free(tags);
    return status;
}

/* A directory may be given without "oci:"; a registry cannot have such a name. */
static bool is_layout_directory(const char *text)
{
    char marker[PATH_MAX];
    return snprintf(marker, sizeof(marker), "%s/oci-layout", text) < (int)sizeof(marker) &&
           access(marker, F_OK) == 0;
}

static bool is_file(const char *text)
{
    struct stat st;
    return !strcmp(text, "-") || text[0] == '/' || !strncmp(text, "./", 2) ||
           !strncmp(text, "../", 3) || lint_is_source(text) || ocv_text_ends(text, ".json") ||
           (stat(text, &st) == 0 && S_ISREG(st.st_mode));
}

static int lint_argument(struct lint_request *r, const char *text)
{
    ocv_auto_free char *dir = NULL;
    ocv_auto_free char *tag = NULL;
    ocv_auto_free char *name = NULL;
    bool layout = image_split_layout(text, &dir, &tag);
    if (layout && !tag)
        return lint_layout(r, text, dir ? dir : "");
    if (!layout && is_layout_directory(text) && asprintf(&name, "oci:%s", text) < 0)
        return OCV_ERR_NOMEM;
    if (name)
        return lint_layout(r, name, text);
    r->named = true;
    int status = lint_input(r, text, !layout && is_file(text));
    r->named = false;
    return status;
}

/* Compiling all tag rules takes longer than checking an index. A single image of a registry, which
 * lint_argument tells from files and layouts, needs only those of its repository, or of
 * --repository. */
static int load_rules(struct lint_request *r, char **arguments, struct ocv_error *err)
{
    ocv_auto(ocv_reference) only = NULL;
    const char *image = arguments[0];
    bool alone = image && !arguments[1] && !r->n_files && !is_layout_directory(image) &&
                 !is_file(image) && strncmp(image, "oci:", 4) != 0;
    const char *of = r->lint.repository ? r->lint.repository : image;
    if (alone && ocv_reference_parse(of, &only, NULL) < 0)
        only = NULL;
    OCV_TRY(rules_load(r->cli, only, &r->rules, err));
    r->lint.tag_rules = r->rules;
    return OCV_OK;
}

int lint_run(struct lint_request *r, char **arguments, struct ocv_error *err)
{
    OCV_TRY(cli_load(r->cli, err));
    OCV_TRY(lint_settings_read(r->cli, r->settings, &r->config, err));
    OCV_TRY(load_rules(r, arguments, err));
    for (size_t i = 0; i < r->n_files; i++)
        OCV_TRY(lint_input(r, r->files[i], true));
    for (size_t i = 0; arguments[i]; i++)
        OCV_TRY(lint_argument(r, arguments[i]));

    ocv_auto_buffer out;
    ocv_auto_buffer page;
    ocv_buffer_init(&out, OUTPUT_MAX);
    ocv_buffer_init(&page, 3 * 4096 + 16);
    if (r->format == OCV_LINT_FORMAT_SARIF) {
        /* the URI of the rules page, where it is installed */
        char path[4096];
        const char *datadir = cli_datadir(r->cli);
        bool relative = datadir && *datadir && *datadir != '/';
        int n = snprintf(path, sizeof(path), "%s/docs/lint.md",
                         datadir && *datadir ? datadir : OCV_DEFAULT_DATADIR);
        if (!relative && n > 0 && (size_t)n < sizeof(path) && access(path, R_OK) == 0 &&
            ocv_buffer_printf(&page, NULL, "file://") == OCV_OK &&
            ocv_url_escape(path, OCV_URL_UNRESERVED "/@+", &page, NULL) == OCV_OK)
            r->report.page = page.data;
    }
    int status = ocv_lint_format(&r->report, r->format, r->failures, r->n_failures, &out, err);
    r->report.page = NULL;
    if (status < 0)
        return status;
    bool dash = r->output && !strcmp(r->output, "-");
    if (r->fix && dash) { /* the corrected index is on standard output */
        fwrite(out.data, 1, out.len, stderr);
        return OCV_OK;
    }
    if (!r->output || r->fix || dash)
        return cli_print(out.data, out.len, err);
    FILE *file = fopen(r->output, "we");
    bool bad = !file || fwrite(out.data, 1, out.len, file) != out.len || fflush(file) != 0;
    int why = errno;
    if (file && fclose(file) != 0 && !bad) {
        bad = true;
        why = errno;
    }
    return bad ? ocv_error_set(err, OCV_ERR_IO, "%s: %s", r->output, strerror(why)) : OCV_OK;
}
