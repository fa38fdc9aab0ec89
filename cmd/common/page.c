/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages for a browser: one file, light and dark, without script or anything from elsewhere. */
#include "cmd/common/cli.h"

#include <stdio.h>
#include <string.h>

void page_raw(struct page *p, const char *text)
{
    if (p->status >= 0)
        p->status = ocv_buffer_append(p->out, text, strlen(text), p->err);
}

void page_text(struct page *p, const char *text)
{
    for (; *text; text++) {
        char one[2] = {*text, '\0'};
        page_raw(p, *text == '<'   ? "&lt;"
                    : *text == '>' ? "&gt;"
                    : *text == '&' ? "&amp;"
                    : *text == '"' ? "&quot;"
                                   : one);
    }
}

void page_number(struct page *p, long long number)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", number);
    page_raw(p, text);
}

void page_begin(struct page *p, const char *title, const char *style)
{
    page_raw(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    page_text(p, title);
    page_raw(p, "</title>\n<style>\n"
                ":root { color-scheme: light dark; }\n"
                "body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; "
                "padding: 0 1rem; }\n"
                "table { border-collapse: collapse; margin: 1rem 0; }\n"
                "th, td { text-align: left; padding: .2rem .8rem .2rem 0; "
                "border-bottom: 1px solid #8884; }\n"
                "td.n { text-align: right; font-variant-numeric: tabular-nums; }\n"
                "code { font-family: ui-monospace, monospace; }\n");
    page_raw(p, style);
    page_raw(p, "</style>\n");
}
