/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which child replaced a pinned index, stored on disk: ImageStatus and RemoveImage have no
 * credentials with which to find out, and must know it after a restart of proxy, engine or node.
 *
 * DIR/<sha256 of the key>.json is an entry {"reference", "child", "time"}; DIR/index-<digest>
 * has the bytes of an index, to choose again when the node has changed. Both appear by rename
 * after fsync, names contain only digests, and malformed entries are skipped on reading. */
#ifndef CRI_PROXY_MAP_H
#define CRI_PROXY_MAP_H

#include "plugins/containerd/cri-proxy/pinned/pinned.h"

#define MAP_ENTRIES_MAX 1024u       /**< the oldest ones are dropped */
#define MAP_ENTRY_MAX (8u * 1024)   /**< bytes of an entry's file */
#define MAP_INDEX_MAX (512u * 1024) /**< larger indexes are not kept */

struct map;
/** Open and read it; creates the directory if it is missing. Thread-safe afterwards. */
int map_open(const char *dir, struct map **out, struct ocv_error *err) OCV_WARN_UNUSED;
void map_free(struct map *map);
/** Move the entries of an earlier version from `dir`; does nothing if that does not exist. An entry
 *  is accepted only if the kept index lists its child. If one cannot be written, all stay in
 *  `dir`. */
void map_adopt(struct map *map, const char *dir);
/** The child for a key; false if there is none. */
bool map_find(struct map *map, const char *key, char child[OCV_DIGEST_MAX]);
/** True if the entry has this child, which was seen in the registry since the start, and no pull of
 *  it has failed since. Asking the registry again would then give nothing new, because the digest
 *  fixes the content. */
bool map_checked(struct map *map, const char *key, const char *child);
void map_set_checked(struct map *map, const char *key, bool checked);
/** True if the key is known to be an image or an index without variants, which never changes.
 *  map_add_plain remembers it; the last MAP_ENTRIES_MAX are kept, in memory. */
bool map_is_plain(struct map *map, const char *key);
void map_add_plain(struct map *map, const char *key);
/** `text`, which `reference` was parsed from, with the child in place of the index. False: leave it
 *  unchanged, as it is not pinned or unknown here. */
bool map_rewrite(struct map *map, const struct ocv_reference *reference, const char *text,
                 char out[PINNED_TEXT_MAX]);
/** Store a decision, on disk first. `index`: the bytes it was made from, or NULL. */
int map_put(struct map *map, const char *key, const char *child, const void *index, size_t len,
            struct ocv_error *err) OCV_WARN_UNUSED;
/** The i-th entry's key and child; false past the last one. Adding entries may change their
 *  order. */
bool map_get(struct map *map, size_t i, char key[PINNED_TEXT_MAX], char child[OCV_DIGEST_MAX]);
/** The kept bytes of a key's index, verified. OCV_ERR_NOT_FOUND if there are none. */
int map_index(struct map *map, const char *key, struct ocv_buffer *out,
              struct ocv_error *err) OCV_WARN_UNUSED;

#endif
