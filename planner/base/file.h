/*
 * file: what programs do with files and folders as a whole. Where a file is
 * made, it is made under a temporary name beside its place and renamed, so
 * that a reader sees the old file or all of the new one (text_write_file() for
 * text in memory).
 *
 * Packed files are gzip without a name and a time: the same bytes give the
 * same file. Sizes: logs of some MB, up to FILE_MAX_BYTES.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "arena.h"
#include "err.h"

#include <stdbool.h>

#define FILE_MAX_BYTES ((long long)1 << 32) // a log this long is no log

/* Makes the folder and those above it; what is there stays. ERR_IO. */
enum err file_make_folders(const char *path, struct err_msg *msg);

/* Makes the folders above the file's name. */
enum err file_make_parents(const char *path, struct err_msg *msg);

/* A name for mkdtemp() and mkstemp(), below TMPDIR where that is an absolute
 * path and else below /tmp: "/tmp/NAME-XXXXXX". Owned by the arena, NULL when
 * out of memory. */
char *file_temporary_name(struct arena *a, const char *name);

/* Removes the file, or the folder with all that is in it. Links are removed,
 * not followed. What cannot be removed stays, without an error: callers remove
 * what they made. */
void file_remove_tree(const char *path);

/* Copies a file's bytes, packs them, or unpacks a packed file. ERR_PARSE when
 * `from` cannot be read, is too large, or (unpacking) is no whole gzip file;
 * ERR_IO when `to` cannot be written, which then is as it was. */
enum err file_copy(const char *from, const char *to, struct err_msg *msg);
enum err file_pack(const char *from, const char *to, struct err_msg *msg);
enum err file_unpack(const char *from, const char *to, struct err_msg *msg);

/* Are both the same plain file, whatever they are called? Not where one is not
 * there, or NULL. */
bool file_is_same(const char *a, const char *b);

/* May what begins with `first` be written to `path`? Not over a plain file that
 * begins with something else: that is somebody's. */
bool file_is_ours(const char *path, const char *first);

/* Waits until nobody else holds the folder, and holds it until *lock is closed,
 * or the process ends: for what is read, changed and written in it. ERR_IO
 * names the folder. */
enum err file_lock(const char *dir, int *lock, struct err_msg *msg);

/* The same of the folder that the file `path` is in. */
enum err file_lock_folder(const char *path, int *lock, struct err_msg *msg);

#endif
