/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which child a pinned index became, kept on disk: ImageStatus and RemoveImage carry no credentials
 * to find out with, and must know it after a restart of proxy, engine or node.
 *
 * DIR/<sha256 of the key>.json is one entry {"reference", "child", "time"}; DIR/index-<digest> the
 * bytes of an index, to choose again when the node has changed. Both appear by rename after fsync,
 * names are made of digests only, and malformed ones are skipped when they are read. */
#ifndef CRI_PROXY_MAP_H
#define CRI_PROXY_MAP_H

#include "plugins/containerd/cri-proxy/pinned/pinned.h"

#define MAP_ENTRIES_MAX 1024u       /**< the oldest go */
#define MAP_ENTRY_MAX (8u * 1024)   /**< bytes of an entry's file */
#define MAP_INDEX_MAX (512u * 1024) /**< larger indexes are not kept */

struct map;
/** Open and read it; the directory is made where it is missing. Thread-safe from then on. */
int map_open(const char *dir, struct map **out, struct ocv_error *err) OCV_WARN_UNUSED;
void map_free(struct map *map);
/** Take over what an earlier version kept in `dir`, and empty that; without a word where there is
 *  no such directory. An entry comes only if it can be proved: by the kept index, which lists it.
 * Where one could not be written, all stay in `dir`. */
void map_adopt(struct map *map, const char *dir);
/** The child of a key; false where nothing is known. */
bool map_find(struct map *map, const char *key, char child[OCV_DIGEST_MAX]);
/** Is the entry this child, seen in the registry since we started, and has no pull of it failed
 *  since? Then another look at the registry would tell nothing new: the digest is the content's. */
bool map_checked(struct map *map, const char *key, const char *child);
void map_set_checked(struct map *map, const char *key, bool checked);
/** The key is an image or an index without variants, which never changes. The last
 *  MAP_ENTRIES_MAX are remembered, in memory. */
bool map_is_plain(struct map *map, const char *key);
void map_add_plain(struct map *map, const char *key);
/** A request's text with the child in place of the index; false: it is to stay as it is. */
bool map_rewrite(struct map *map, const void *text, size_t len, char out[PINNED_TEXT_MAX]);
/** Keep a decision, on disk first. `index`: the bytes that it was made of, or NULL. */
int map_put(struct map *map, const char *key, const char *child, const void *index, size_t len,
            struct ocv_error *err) OCV_WARN_UNUSED;
/** The i-th entry's key and child; false past the last. Entries may move when others are put. */
bool map_get(struct map *map, size_t i, char key[PINNED_TEXT_MAX], char child[OCV_DIGEST_MAX]);
/** The kept bytes of a key's index, verified. OCV_ERR_NOT_FOUND where they are not. */
int map_index(struct map *map, const char *key, struct ocv_buffer *out,
              struct ocv_error *err) OCV_WARN_UNUSED;

#endif
