/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/variantd/common/log.c: what texts from outside may do to a line. */
#include "cmd/variantd/common/log.h"
#include "lib/base/text.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *clean;
} texts[] = {
    {"", ""},
    {"plain text", "plain text"},
    {"a\nb\r\tc\x1b[2J\x7f", "a?b??c?[2J?"},
    {"na\xc3\xafve \xe2\x82\xac", "na\xc3\xafve \xe2\x82\xac"},
    {"\xc2\x9b"
     "2J \xc2\x80\xc2\x9f \xc2\xa0",
     "??2J ???? \xc2\xa0"}, /* C1: a CSI of one character */
    {"\xff", "?"},
    {"caf\xc3", "caf?"},           /* cut within a character */
    {"\xc3\xa9\xc3", "\xc3\xa9?"}, /* what is UTF-8 stays */
    {"a\xe2\x80\xae"
     "b",
     "a???b"}, /* a direction override */
    {"\xe2\xc2\x9b"
     "2J",
     "???2J"},
    {"\xed\xa0\x80", "???"}, /* a surrogate */
};

START_TEST(cleaned)
{
    char text[64];
    snprintf(text, sizeof(text), "%s", texts[_i].text);
    ocv_text_clean(text);
    ck_assert_str_eq(text, texts[_i].clean);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("variantd log");
    TCase *tcase = tcase_create("log");
    tcase_add_loop_test(tcase, cleaned, 0, (int)(sizeof(texts) / sizeof(*texts)));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
