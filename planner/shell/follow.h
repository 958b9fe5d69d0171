/*
 * follow: programs. A launch is recorded with its words; a shell script that
 * stands beside is read in its turn, whatever starts it (bash FILE, srun,
 * sbatch, nohup, ./FILE.sh); programs that start no training are passed over.
 */
#ifndef SHELL_FOLLOW_H
#define SHELL_FOLLOW_H

#include "files.h"
#include "script/field.h"

/* The words as a program; no builtin and no function. */
void bash_external(struct bash *sh, const struct bash_words *w);

/* source FILE [args] */
void bash_source(struct bash *sh, const struct bash_words *w);

/* A text of commands or settings that begins with what is not known: says so,
 * and that it may set any variable. False for other texts. */
bool bash_unread_text(struct bash *sh, const char *text);

/* Is the name one of n? */
bool bash_in_table(const char *const *table, size_t n, const char *name);

/* Sets what Slurm's jobs see, where the script has #SBATCH lines. */
void bash_slurm_variables(struct bash *sh, const struct bash_slurm *s);

#endif
