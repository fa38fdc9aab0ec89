/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file attributes.h
 * What every public header needs: attributes of functions and types that free themselves.
 *
 * Holds no state and no functions. Compilers other than GCC and clang get empty macros, so that
 * the headers read the same to them; ocv_auto is for C only.
 */
#ifndef OCIVARIANT_ATTRIBUTES_H
#define OCIVARIANT_ATTRIBUTES_H

#if defined(__GNUC__)
#define OCV_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define OCV_WARN_UNUSED __attribute__((warn_unused_result))
#define OCV_API __attribute__((visibility("default")))
#else
#define OCV_PRINTF(fmt, args)
#define OCV_WARN_UNUSED
#define OCV_API
#endif

#if defined(__GNUC__) && !defined(__cplusplus)
/** `ocv_auto(ocv_index) index = NULL;` frees on leaving the scope. */
#define ocv_auto(type) __attribute__((cleanup(type##_cleanup))) struct type *
#define OCV_DEFINE_CLEANUP(type)                                               \
    __attribute__((unused)) static inline void type##_cleanup(struct type **p) \
    {                                                                          \
        type##_free(*p);                                                       \
    }
#else
#define OCV_DEFINE_CLEANUP(type)
#endif

#endif
