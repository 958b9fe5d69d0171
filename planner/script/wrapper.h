/*
 * wrapper: programs that start another program behind their own options, and
 * what Slurm is told: by #SBATCH lines and by options of sbatch.
 */
#ifndef SCRIPT_WRAPPER_H
#define SCRIPT_WRAPPER_H

#include "result.h"

/* Index of the program that word[0] starts: 1 or more for nohup, srun, env,
 * docker run ...; n where word[0] is none of these, or starts nothing. */
size_t bash_inner(const struct bash_word *word, size_t n);

/* The program's name without its folders. */
const char *bash_base_name(const char *path);

/* Reads the #SBATCH lines above the first command of a script. */
void bash_slurm_read(const char *text, struct bash_slurm *out);

/* Adds what the options of sbatch say; words are those before the script. */
void bash_slurm_options(const struct bash_word *word, size_t n,
                        struct bash_slurm *out);

#endif
