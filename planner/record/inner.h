/*
 * inner: which word of a launcher's call is the program that it would start,
 * and what its options say of the job. Both follow the options of srun(1),
 * sbatch(1) and mpirun(1); of containers and profilers only the first word that
 * names a launcher or a shell is looked for.
 */
#ifndef RECORD_INNER_H
#define RECORD_INNER_H

#include "base/arena.h"
#include "lines.h"
#include "program.h"

/* Index of the inner program among the words (0 is the launcher itself), or
 * words.n where there is none. */
int inner_find(enum program_kind kind, struct record_words words);

/* What options of sbatch or srun say, as written; NULL: not said. */
struct inner_job {
    const char *nodes, *tasks, *tasks_per_node, *gpus, *gpus_per_node,
        *gpus_per_task, *gres, *cpus_per_task;
    const char *export_list; // --export
    const char *wrap;        // --wrap: the job is this command
};

/* Adds what the words say, up to the inner program (0 is the launcher). */
void inner_job_read(struct record_words words, struct inner_job *job);

/* Adds what the #SBATCH lines above the first command of a script say; owned
 * by the arena. False when out of memory. */
bool inner_job_script(struct arena *a, const char *text, struct inner_job *job);

/* The sizes of the job as options of sbatch, "--nodes=2", for
 * inner_job_read(); none when nothing was said. Owned by the arena; false when
 * out of memory. */
bool inner_job_words(struct arena *a, const struct inner_job *job,
                     struct record_words *out);

/* Sets what Slurm would set in the job's environment; `keep` leaves variables
 * that are set. sbatch(1), output environment variables. */
void inner_job_environment(const struct inner_job *job, bool keep);

/* Sets what --export=ALL,NAME=VALUE and mpirun's -x NAME=VALUE give to the
 * program inside, and the number of ranks where mpirun says it. */
void inner_set_exports(const struct inner_job *job);
void inner_mpirun_environment(struct record_words words);

#endif
