/*
 * soak: hostile inputs at random, bounded and repeatable. A scene makes one
 * input from the random numbers of its turn, runs a program on it, and says
 * what it knows of the answer; the frame checks what holds for all of them: no
 * crash, no hang, an exit code of 0 to 3, at most SOAK_MAX_KB of memory, no
 * process left, and nothing outside the scene's folder touched.
 *
 * A scene is a row of one of the tables at the end of this header, in a file
 * scenes_*.c; add new ones there.
 */
#ifndef SOAK_H
#define SOAK_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SOAK_MAX_KB = 500 * 1024, SOAK_ANY = -1 };

/* A turn of the soak: one scene with its random numbers. */
struct soak {
    struct arena *a;      // of this turn
    uint64_t random;      // state of its numbers
    const char *programs; // folder of the programs, absolute
    const char *fixtures; // tests/fixtures, absolute
    const char *work;     // empty folder of this turn, the working folder
    const char *outside;  // folder that nobody may touch
    const char *base;     // finished results of base/fake.json, base/set its
                          // dataset, base/table its closing table; not to be
                          // touched
    const char *failed;   // first thing that was wrong, or NULL
};

/* A number in [0, n); one of `n` texts. */
size_t soak_pick(struct soak *s, size_t n);
const char *soak_choose(struct soak *s, const char *const *texts, size_t n);

/* Notes what is wrong, with what is needed to see it; the first counts. */
void soak_fail(struct soak *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* How a command is run. */
struct soak_run {
    const char *line;       // words parted by blanks; quotes do not count;
                            // the first is one of ours, or a path from the root
    double limit_s;         // 0: ten seconds, longer on a busy machine
    long stack_kb, file_kb; // limits on the program, 0: none
    double kill_after_s;    // then `signal` is sent to it, 0: never
    int signal;
    double cpu_s; // that it may take, 0: any
    long max_kb;  // of memory, 0: SOAK_MAX_KB
    bool guard;   // the signal goes to the program's first child
    bool hurry;   // what is left of it may still end when the next one begins
};

/* Runs it with standard output to `out` and messages to `err` in the working
 * folder; its exit code, or 128 + signal. Fails the turn on all that no
 * command may do. */
int soak_command(struct soak *s, const struct soak_run *run);

/* The program fits a limit of time only where no sanitizer slows it. */
bool soak_is_slow(const struct soak *s);

/* The text of a file of the working folder, "" when there is none. */
const char *soak_text(struct soak *s, const char *path);
void soak_write(struct soak *s, const char *path, const char *text, size_t n);
void soak_copy(struct soak *s, const char *from, const char *to);

/* A copy of a file with one to eight random changes (bits, bytes, cuts,
 * repeats, numbers that are none, NUL bytes); its name. */
const char *soak_mutate(struct soak *s, const char *from, const char *to);

/* A random regular file below a folder, NULL when it holds none. */
const char *soak_any_file(struct soak *s, const char *folder);

struct soak_scene {
    const char *name;
    void (*play)(struct soak *s);
    int times; // inputs of one turn, each in an empty folder: cheap ones more
};

/* Each ends with a name of NULL. */
extern const struct soak_scene soak_of_results[], soak_of_runs[],
    soak_of_inputs[], soak_of_texts[], soak_of_words[], soak_of_sizes[];

#endif
