/*
 * err: how a function says that it failed, and what the user is told.
 *
 * Fallible functions return enum err and put one line of text into the
 * caller's struct err_msg: where, what, found, wanted, next step; lower case,
 * no full stop. Only main() prints the line and exits with err_exit_code().
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* name, exit code, text. Exit codes: 1 no, 2 bad input, 3 environment. */
#define ERR_TABLE(X)                                                           \
    X(ERR_OK, 0, "ok")                                                         \
    X(ERR_PARSE, 2, "input cannot be read")                                    \
    X(ERR_RANGE, 2, "value out of range")                                      \
    X(ERR_IO, 3, "input or output failed")                                     \
    X(ERR_NOMEM, 3, "out of memory")                                           \
    X(ERR_MODEL, 1, "the answer is no")                                        \
    X(ERR_CHILD, 3, "a program that was started failed")

enum err {
#define ERR_ENUM(name, code, text) name,
    ERR_TABLE(ERR_ENUM)
#undef ERR_ENUM
};

/* Exit codes that do not come from an enum err. */
enum { EXIT_ANSWER_NO = 1, EXIT_BAD_INPUT = 2, EXIT_ENVIRONMENT = 3 };

struct err_msg {
    char text[1024];
};

/* Writes the message and returns `code`, so that callers can
 * `return err_set(msg, ERR_RANGE, "...", ...)`. `msg` may be NULL. */
enum err err_set(struct err_msg *msg, enum err code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "<prefix>: " before the message and returns `code` unchanged. */
enum err err_prefix(struct err_msg *msg, enum err code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Documented exit code (0..3), the enumerator's name, and its meaning. */
int err_exit_code(enum err code);
const char *err_name(enum err code);
const char *err_text(enum err code);

#endif
