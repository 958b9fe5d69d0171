/*
 * secret: what looks like a secret, in one place for all that is kept or given
 * away: manifests (run), environments that are recorded, and files that are
 * published. Names are known by their parts (HF_TOKEN, HFTOKEN, PGPASSWORD),
 * values by the forms of well-known services (hf_..., ghp_..., a password in a
 * URL, a private key).
 *
 * A list cannot be whole: it errs to the side of refusing, with a line that
 * names the place and never the value. A reference ($HF_TOKEN), an empty value
 * and a count (MAX_TOKENS=4096) are no secrets. Sized for logs of some 100 MB:
 * one pass over the bytes.
 */
#ifndef MANIFEST_SECRET_H
#define MANIFEST_SECRET_H

#include "base/reader.h"

#include <stdbool.h>
#include <stddef.h>

enum { SECRET_NAME_BYTES = 64 };

/* What was found. */
struct secret {
    const char *what;             // "a token of GitHub", "a value of 'HFTOKEN'"
    char name[SECRET_NAME_BYTES]; // of the variable or option, "" for a form
    size_t at;                    // bytes before it
};

/* Whether a variable's name (of `len` bytes) is one for secrets, by any of its
 * parts. */
bool secret_is_name(const char *name, size_t len);

/* Whether "NAME=value" or a bare name is a secret, by name or by value. */
bool secret_is_entry(const char *entry);

/* The first value of a known form in a text. */
bool secret_find_value(const char *text, struct secret *out);

/* The same, or the first NAME=value or --option value that a text of words
 * (a command line, a line of a script) gives to a name for secrets. */
bool secret_find(const char *text, struct secret *out);

/* All strings of a document; those of a list are the words of one command line.
 * The first secret is ERR_PARSE in the document, with its place. */
void secret_check(struct reader top);

#endif
