/*
 * blas: which of OpenBLAS's kernels runs. The library may not know a new CPU
 * and take a kernel several times slower than what the CPU can do; it reads
 * OPENBLAS_CORETYPE when it is loaded, so the program has to start anew.
 */
#ifndef BLAS_H
#define BLAS_H

/* Name of the kernel in use. */
const char *blas_kernel(void);

/* Name of the kernel to ask for when the one in use is older than the CPU and
 * the user has not chosen; else NULL. */
const char *blas_better_kernel(void);

/* Restarts the program once with the better kernel, where there is one; must
 * be called before MPI starts. Returns when nothing is to be done or the
 * restart failed. One thread a rank in any case. */
void blas_choose(char *const *argv);

#endif
