/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executable providers: programs that an administrator put into LIBEXECDIR/providers, each of which
 * prints one namespace of the profile (plugins/providers/README.md). They
 * run at the same time, each in a child with limits, before any other provider is asked, because
 * one may stand in another's place. */
#ifndef OCV_EXECUTABLE_H
#define OCV_EXECUTABLE_H

#include "lib/probe/declarative/declarative.h"

/* Limits on a directory and on what a program prints (its size: OCV_CHILD_OUTPUT_MAX) */
#define OCV_EXECUTABLES_MAX 64u               /**< programs of the directory */
#define OCV_EXECUTABLE_NAME_MAX 64u           /**< characters of a namespace, feature, attribute */
#define OCV_EXECUTABLE_VALUE_MAX 128u         /**< characters of a value */
#define OCV_EXECUTABLE_TEXT_MAX 1024u         /**< bytes of a text: name, id, attribute, error */
#define OCV_EXECUTABLE_DRIVER_MAX 63u         /**< bytes of a driver's version */
#define OCV_EXECUTABLE_FEATURES_MAX 256u      /**< features of a namespace or device */
#define OCV_EXECUTABLE_VALUES_MAX 4096u       /**< values of a feature */
#define OCV_EXECUTABLE_DEVICES_MAX 1024u      /**< devices */
#define OCV_EXECUTABLE_ATTRIBUTES_MAX 64u     /**< attributes of a device */
#define OCV_EXECUTABLE_PROFILE_MAX (2u << 20) /**< bytes that all of them add to a profile */

struct ocv_executable {
    char *path;
    char name[OCV_EXECUTABLE_NAME_MAX + 1];     /**< from the file's name; legal as a namespace */
    int status;                                 /**< of finding, running and reading it */
    struct ocv_error error;                     /**< names the file */
    json_t *answer;                             /**< the namespace, as it goes into the profile */
    char replaces[OCV_EXECUTABLE_NAME_MAX + 1]; /**< a provider's name, or empty */
    bool replaced;                              /**< a later program replaces it */
};

struct ocv_executables {
    struct ocv_executable *items; /**< by file name */
    size_t n;
};

/** List the directory. A file that may not run is listed with its reason. No directory: none. */
int ocv_executables_find(const char *directory, struct ocv_executables *out,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** A provider's name for a file's name: up to the first dot, lower case, `_` for what a namespace
 *  cannot have. */
void ocv_executable_name(const char *file, char out[OCV_EXECUTABLE_NAME_MAX + 1]);

/** Check a namespace object: anything that the profile's schema does not have (but for "replaces"),
 *  or that is past a limit, is OCV_ERR_DATA with the place ("devices[1].features[0]: ..."). */
int ocv_executable_check(const json_t *answer, struct ocv_error *err) OCV_WARN_UNUSED;
/** Check what a program printed and bring it into the form of a profile, with `name` as its
 *  provider. `replaces` is filled (empty: nothing). */
int ocv_executable_answer(const char *name, const char *bytes, size_t len, json_t **out,
                          char replaces[OCV_EXECUTABLE_NAME_MAX + 1],
                          struct ocv_error *err) OCV_WARN_UNUSED;

/** Run the programs of a probe and decide which one answers for a namespace. One that fails is kept
 * with its reason; two providers for one namespace: OCV_ERR_CONFIG. `host` says where they look. */
int ocv_executables_open(const struct ocv_probe_options *options, const struct ocv_probe_host *host,
                         const struct ocv_declarations *declarations,
                         const struct provider *const *builtin, size_t n_builtin,
                         struct ocv_executables *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** True if a program replaces that provider of that namespace. */
bool ocv_executables_replace(const struct ocv_executables *set, const char *ns, const char *name);
/** Add their namespaces to a profile's, and what became of those that failed. */
int ocv_executables_report(const struct ocv_executables *set, json_t *namespaces,
                           struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_executables_free(struct ocv_executables *set);

#endif
