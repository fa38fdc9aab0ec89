/* SPDX-License-Identifier: GPL-3.0-or-later */
/* At the end of a file, adds its findings to the report. */
#include "plugins/content/scan.h"

#include "gen/content-rules.h"

#include <stdlib.h>
#include <string.h>

/* Library names are reported only if they tell what a file was built for. */
static bool finding_tells(const struct ocv_content_finding *it)
{
    if (it->fact == OCV_CONTENT_SONAME)
        return false;
    if (it->fact != OCV_CONTENT_NEEDED)
        return true;
    for (size_t i = 0; i < sizeof(content_libraries) / sizeof(content_libraries[0]); i++) {
        size_t n = strlen(content_libraries[i].name);
        if (!strncmp(it->value, content_libraries[i].name, n) &&
            (!it->value[n] || it->value[n] == '.'))
            return true;
    }
    return false;
}

int scan_file(struct scan *scan, const char *path, int64_t size, struct ocv_error *err)
{
    struct ocv_content_facts facts = {0};
    size_t kept = 0;
    int status = ocv_content_end(scan->reader, &facts, err);
    if (status >= 0 && !(facts.n && facts.list[0].fact == OCV_CONTENT_HIP_CODE))
        status = ocv_content_path(&facts, path, size, err);
    for (size_t i = 0; i < facts.n; i++) {
        if (finding_tells(&facts.list[i]))
            facts.list[kept++] = facts.list[i];
        else
            free(facts.list[i].value);
    }
    facts.n = kept;
    if (status >= 0)
        status = ocv_content_report_file(&scan->report, path, size, &facts, err);
    ocv_content_facts_free(&facts);
    return status;
}
