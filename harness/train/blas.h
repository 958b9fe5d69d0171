/*
 * blas: which of OpenBLAS's kernels runs. The library may not know a new CPU
 * and take a kernel several times slower than what the CPU can do; it reads
 * OPENBLAS_CORETYPE when it is loaded, so the program has to start anew.
 */
#ifndef TRAIN_BLAS_H
#define TRAIN_BLAS_H

/* Name of the kernel in use. */
const char *blas_kernel(void);

/* Name of the kernel to ask for when the one in use is older than the CPU and
 * the user has not chosen; else NULL. */
const char *blas_better_kernel(void);

/* Restarts the program once with the better kernel, where there is one; must
 * be called before MPI starts. Returns when nothing is to be done or the
 * restart failed. */
void blas_choose(char *const *argv);

/* One thread a rank: a rank is a core, and SimGrid times the calling thread
 * only. */
void blas_use_one_thread(void);

#endif
