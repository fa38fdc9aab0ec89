/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file vocabulary.h
 * Known namespaces, features and values (schema/vocabulary.yaml), and the word that was meant.
 *
 * Ownership: nothing is allocated. Thread safety: the vocabulary is constant.
 */
#ifndef OCIVARIANT_VOCABULARY_H
#define OCIVARIANT_VOCABULARY_H

#include "ocivariant/attributes.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Namespaces that a provider of this project owns (schema/vocabulary.yaml). */
OCV_API bool ocv_vocabulary_owns(const char *ns);
/** Of these, those that describe the processor. */
OCV_API bool ocv_vocabulary_is_cpu(const char *ns);
/** The turn of a namespace in the default order, below OCV_VOCABULARY_TURNS: devices of a maker,
 * what GPUs of any maker have (vulkan), processors. One that is not owned is of the first. */
OCV_API unsigned ocv_vocabulary_turn(const char *ns);
#define OCV_VOCABULARY_TURNS 3u
/** Bytes of a word of the vocabulary that is suggested, with NUL. */
#define OCV_WORD_MAX 64
/** Which part of a property is not in the vocabulary. */
enum ocv_word { OCV_WORD_KNOWN, OCV_WORD_NAMESPACE, OCV_WORD_FEATURE, OCV_WORD_VALUE };
/** The first part that is not; `value`, or `feature` and `value`, may be NULL. `meant` (may be
 * NULL) gets the word that was meant instead, or nothing where none is near. */
OCV_API enum ocv_word ocv_vocabulary_check(const char *ns, const char *feature, const char *value,
                                           char meant[OCV_WORD_MAX]);

#ifdef __cplusplus
}
#endif
#endif
