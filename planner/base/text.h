/*
 * text: strings, numbers and files as the command line and the data files
 * need them. Strict where a mistake would go unnoticed: a number must fill its
 * whole field, a file must fit the stated limit.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "arena.h"
#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_SHA256_HEX = 65 }; // 64 hex digits and the terminator

struct text_span {
    char *data; // zero-terminated
    size_t len; // bytes, without the terminator
};

/* Reads a whole file (also a pipe such as /dev/stdin) of at most `max_bytes`;
 * the text is zero-terminated and owned by the arena. Missing, unreadable,
 * silent (base/input) or too large is ERR_PARSE: the user named a wrong file.
 * So is one that holds a zero byte, with its place: what follows would be cut
 * off without a word. */
enum err text_read_file(struct arena *a, const char *path, size_t max_bytes,
                        struct text_span *out, struct err_msg *msg);

/* The same of bytes of any value, for logs, which hold zeros too. */
enum err text_read_bytes(struct arena *a, const char *path, size_t max_bytes,
                         struct text_span *out, struct err_msg *msg);

/* As text_read_bytes(); of a plain file that gzip packed, what it holds. */
enum err text_read_unpacked(struct arena *a, const char *path, size_t max_bytes,
                            struct text_span *out, struct err_msg *msg);

/* ERR_PARSE when the text, from `path`, holds a zero byte. */
enum err text_check_zeros(const struct text_span *text, const char *path,
                          struct err_msg *msg);

/* Writes `len` bytes to `path` under a temporary name in the same folder,
 * flushes them to the disk and renames; ERR_IO leaves the old file. What is
 * no regular file (a link, /dev/stdout) is written in place; a named pipe must
 * have a reader (base/input). */
enum err text_write_file(const char *path, const char *text, size_t len,
                         struct err_msg *msg);

/* The same for files in folders of ours, at names that we chose: a link or a
 * device there is somebody's, so it is ERR_IO and neither followed nor
 * replaced. */
enum err text_write_own(const char *path, const char *text, size_t len,
                        struct err_msg *msg);

/* As text_write_file(), but a file that holds this text already is not written:
 * its date stays, and a checkout clean. `a` holds what was there. */
enum err text_write_changed(struct arena *a, const char *path, const char *text,
                            struct err_msg *msg);

/* True when the whole of `text` is a decimal integer (a finite number) that
 * fits; *out is written only then. No blanks, no sign '+' , no trailing text.
 */
bool text_to_int64(const char *text, int64_t *out);
bool text_to_double(const char *text, double *out);

/* The name among `names` nearest to `word` by edit distance, or NULL when none
 * is near enough to be worth suggesting (more than a third of it differs). */
const char *text_nearest(const char *word, const char *const *names,
                         size_t n_names);

/* Bytes of the character of UTF-8 (RFC 3629) that the text begins with, 1 at
 * its end, 0 where there is none. */
size_t text_utf8_bytes(const char *text);

/* The text without control characters, which a terminal would obey: itself, or
 * a copy with '?' in their places; "" when out of memory. */
const char *text_one_line(struct arena *a, const char *text);

/* What stands for the character within XML and HTML, in texts and in quoted
 * attributes; NULL where it stands for itself. */
const char *text_entity(char c);

/* True when `text` starts (ends) with `part`. */
bool text_starts(const char *text, const char *part);
bool text_ends(const char *text, const char *part);

/* Lower-case hex SHA-256 of a file's bytes (of `len` bytes of memory). What is
 * no plain file may have no end: ERR_PARSE beyond 256 MB. */
enum err text_sha256_file(const char *path, char hex[TEXT_SHA256_HEX],
                          struct err_msg *msg);
void text_sha256(const void *data, size_t len, char hex[TEXT_SHA256_HEX]);

/* A byte for a message: 'x' in quotes, or what a terminal may not show by its
 * number, "\xC3"; "the end" for '\0'. Returns `out`. */
enum { TEXT_BYTE_NAME = 8 };
const char *text_name_byte(char c, char out[TEXT_BYTE_NAME]);

#endif
