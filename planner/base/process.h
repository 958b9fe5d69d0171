/*
 * process: what a program makes sure of before it does anything, and when it
 * ends, so that the limits of its surroundings end it with a message and not by
 * a signal or never: a stack that is too small, a limit on file sizes, standard
 * streams that are closed (the next file that is opened would take their
 * number, and printed lines would land in it), a limit of address space.
 */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include "err.h"

/* The least stack that every command works with; a usual one has 8 MiB. */
#define PROCESS_STACK_KIB 1024

/* To be called before all else in main() but process_one_thread(). ERR_CHILD
 * when the stack is too small. Writing beyond a limit on file sizes then fails
 * as on a full disk; a closed standard output fails when it is written to. */
enum err process_prepare(struct err_msg *msg);

/* Where address space is limited (ulimit -v or -d), starts the program again
 * with one thread of OpenBLAS: its others would look for buffers without end,
 * holding a lock that the first needs. The environment is the user's own again
 * behind it. Returns where nothing is to be done, or nothing can be. */
void process_one_thread(char *const *argv);

/* To be called last in main(), with its exit code: flushes what is printed and
 * ends. Threads are not waited for: OpenBLAS starts one a core with the
 * program, and where address space is limited (ulimit -v, as on login nodes)
 * they look for it without end. */
_Noreturn void process_end(int code);

#endif
