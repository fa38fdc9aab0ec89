/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of nvml-query: the facts that were gathered so far, shared by the thread that asks the
 * vendor's library and the one that waits for it. */
#ifndef NVML_QUERY_H
#define NVML_QUERY_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#define QUERY_DEVICES_MAX 256u /* GPUs that are asked; more are not looked at */
#define QUERY_MIG_MAX 16u      /* instances of a GPU; NVIDIA's limit is 7 */
#define QUERY_TEXT_MAX 96u     /* NVML's and CUDA's longest name or UUID, with its NUL */

struct query {
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    json_t *root;     /* the answer */
    const char *call; /* the vendor's function that has not returned, or NULL */
    bool done;
};

/* Says which function is entered now, NULL for none. */
void query_call(struct query *query, const char *name);
/* Adds to an object of the answer and takes the value over. */
void query_set(struct query *query, json_t *object, const char *key, json_t *value);
/* A text as long as it is plain ASCII. */
void query_text(struct query *query, json_t *object, const char *key, const char *text);
/* A new object at the end of the list `key` of `owner`; NULL without memory. */
json_t *query_append(struct query *query, json_t *owner, const char *key);
/* Notes a failed call with the code and, where it has one, its name. */
void query_error(struct query *query, json_t *object, const char *call, long code,
                 const char *name);
/* Opens a library of the driver, where the loader or the systems below have it; NULL: none. */
void *query_open(struct query *query, const char *name);

/* nvml.c: true if the library is there and at least one GPU told its capability. */
bool nvml_ask(struct query *query);
/* libcuda.c: devices and version by CUDA's own library, for systems without NVML. */
void libcuda_ask(struct query *query);
/* libcuda.c: which file answers for CUDA, as programs would find it. */
void libcuda_locate(struct query *query);

#endif
