/*
 * files: what the script may look at: regular files below its own folder, at
 * most BASH_MAX_FILE_BYTES each and BASH_MAX_FILES in all, and files that it
 * would have written itself on its way. Everything else is not known.
 */
#ifndef SHELL_FILES_H
#define SHELL_FILES_H

#include "script/state.h"

struct bash_parser;

/* A text with commands: its complete commands, parsed as far as needed. */
struct bash_script {
    const char *name; // for messages
    const char *text;
    int line; // of its first
    const struct bash_node **unit;
    size_t n_units, cap_units;
    struct bash_parser *parser;
    bool whole; // no more units
    const char *error;
    int error_line;
};

struct bash_file {
    const char *path; // absolute
    const char *text; // NULL: cannot be read
    struct bash_script script;
    struct bash_file *next;
};

enum bash_file_kind {
    BASH_FILE_NONE,    // not there
    BASH_FILE_REGULAR, // with bytes
    BASH_FILE_EMPTY,
    BASH_FILE_FOLDER,
    BASH_FILE_UNKNOWN // not to be looked at, or its name is not known
};

/* The absolute name with "." and ".." taken out, from the script's folder;
 * with marks where a part is not known. */
const char *bash_path(struct bash *sh, const char *path);

enum bash_file_kind bash_file_look(struct bash *sh, const char *path);

/* Its text; NULL where it is not known (bash_file_look() tells why). */
const char *bash_file_text(struct bash *sh, const char *path);

/* Its commands; NULL where they are not known. */
struct bash_script *bash_file_script(struct bash *sh, const char *path);

/* A script of this way for a text that the script made. */
struct bash_script *bash_text_script(struct bash *sh, const char *name,
                                     const char *text, int line);

/* What the script would have written (`text` NULL: not known). */
void bash_file_write(struct bash *sh, const char *path, const char *text,
                     bool append);

/* The name as messages show it: below the script's folder, relative. */
const char *bash_path_shown(struct bash *sh, const char *path);

/* Line ends of \r\n become \n, marks' own characters '?'. In place. */
void bash_clean(char *text);

/* The script's folder, absolute; NULL: none. */
const char *bash_home_folder(struct bash *sh);

#endif
