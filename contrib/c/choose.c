/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Prints the digest of the entry of an index that a machine takes, with libocivariant.
 *     choose INDEX PROFILE     exit status 0: chosen; 3: nothing fits; 4: malformed */
#include <ocivariant.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX (4u * 1024 * 1024) /* the library reads no more of an index or a profile */

static char *read_file(const char *path, size_t *len)
{
    char *text = malloc(FILE_MAX + 1);
    FILE *file = fopen(path, "rb");
    *len = text && file ? fread(text, 1, FILE_MAX + 1, file) : 0;
    int failed = !text || !file || ferror(file);
    if (file)
        fclose(file);
    if (!failed)
        return text;
    perror(path);
    exit(1);
}

static int choose(const char *index_file, const char *profile_file, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    size_t index_len, profile_len;
    char *index_text = read_file(index_file, &index_len);
    char *profile_text = read_file(profile_file, &profile_len);
    int status = ocv_index_parse(index_text, index_len, NULL, &index, err);
    if (status == OCV_OK)
        status = ocv_profile_parse(profile_text, profile_len, &profile, err);
    free(index_text); /* neither is needed any more */
    free(profile_text);
    if (status == OCV_OK)
        status = ocv_resolve(index, profile, NULL, &decision, err);
    if (status < 0)
        return 4;
    const struct ocv_entry *chosen = ocv_decision_selected(decision);
    for (size_t i = 0; !chosen && i < ocv_decision_rejected_count(decision); i++) {
        struct ocv_rejection why = ocv_decision_rejected(decision, i);
        fprintf(stderr, "%s: %s\n", why.entry->digest, ocv_reject_name(why.code));
    }
    if (chosen)
        puts(chosen->digest);
    return chosen ? 0 : 3;
}

int main(int argc, char **argv)
{
    struct ocv_error err = {0};
    if (argc != 3)
        return fprintf(stderr, "usage: choose INDEX PROFILE\n"), 2;
    int code = choose(argv[1], argv[2], &err);
    if (err.status != OCV_OK)
        fprintf(stderr, "choose: %s\n", err.message);
    return code;
}
