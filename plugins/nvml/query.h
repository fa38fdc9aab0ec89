/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of nvml-query: the facts gathered so far, shared by the thread that calls the vendor's
 * library and the one that waits for it. */
#ifndef NVML_QUERY_H
#define NVML_QUERY_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#define QUERY_DEVICES_MAX 256u /* GPUs queried; further ones are ignored */
#define QUERY_MIG_MAX 16u      /* instances per GPU; NVIDIA's limit is 7 */
#define QUERY_TEXT_MAX 96u     /* longest name or UUID of NVML and CUDA, with NUL */

struct query {
    pthread_mutex_t lock; /* for all members below */
    pthread_cond_t changed;
    json_t *root;     /* the answer */
    const char *call; /* the vendor's function that is running, or NULL */
    bool done;
};

/* Records the function being entered, NULL for none. */
void query_call(struct query *query, const char *name);
/* Adds to an object of the answer; takes over the value. */
void query_set(struct query *query, json_t *object, const char *key, json_t *value);
/* Adds a text if it is plain ASCII. */
void query_text(struct query *query, json_t *object, const char *key, const char *text);
/* Appends a new object to the list `key` of `owner`; NULL without memory. */
json_t *query_append(struct query *query, json_t *owner, const char *key);
/* Records a failed call with its code and, if known, the code's name. */
void query_error(struct query *query, json_t *object, const char *call, long code,
                 const char *name);
/* Opens a library of the driver, from the loader's path or the directories of known systems; NULL
 * if it is not installed. */
void *query_open(struct query *query, const char *name);

/* nvml.c: true if the library exists and at least one GPU reported its capability. */
bool nvml_ask(struct query *query);
/* libcuda.c: devices and version from CUDA's own library, for systems without NVML. */
void libcuda_ask(struct query *query);
/* libcuda.c: the file that programs would load as CUDA's library. */
void libcuda_locate(struct query *query);

#endif
