/*
 * program: the names that stand-ins take, and what each does when it is called.
 * One table: a launcher that is not in it would start for real.
 */
#ifndef RECORD_PROGRAM_H
#define RECORD_PROGRAM_H

#include <stdbool.h>

enum program_kind {
    PROGRAM_NONE,     // no name of a stand-in
    PROGRAM_LAUNCH,   // torchrun: noted, and nothing runs
    PROGRAM_PYTHON,   // a file is noted; -c and standard input run
    PROGRAM_SRUN,     // noted in front of what stands behind its options
    PROGRAM_MPIRUN,   // the same with another syntax
    PROGRAM_SBATCH,   // runs its job script here, as a job would
    PROGRAM_SCONTROL, // tells the names of the job's nodes
    PROGRAM_INSIDE, // singularity, nsys: what stands behind is all that counts
    PROGRAM_PASS,   // nohup: the real one, with the stand-ins in front again
    PROGRAM_ELSEWHERE // ssh, docker: noted; stand-ins do not reach there
};

/* The kind of a program by its name, with or without folders. */
enum program_kind program_kind(const char *path);

/* The K-th name of a stand-in from 0 on, NULL behind the last. */
const char *program_name(int k);

/* The path behind its last '/'. */
const char *program_base(const char *path);

/* Shells whose scripts can be run: bash, sh, ... by name or path. */
bool program_is_shell(const char *path);

#endif
