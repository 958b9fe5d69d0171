/*
 * machine: what the computer of a run is, as far as it decides step times:
 * processor, cores, memory, system, compiler, BLAS. The hash of these tells
 * whether a finished run may be used again; the commit is recorded beside it.
 * All fields are texts or counts; what cannot be found is "unknown" or 0.
 */
#ifndef MANIFEST_MACHINE_H
#define MANIFEST_MACHINE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/text.h"

#include <stdint.h>

struct machine {
    const char *cpu_model;
    int n_cores; // online
    int64_t mem_bytes;
    const char *os;        // name and version, kernel, architecture
    const char *compiler;  // that built this program
    const char *blas;      // version and options of OpenBLAS
    const char *blas_core; // kernel set that runs are told to use
    const char *commit;    // of the source tree around the working directory
    char sha256[TEXT_SHA256_HEX]; // of all but the commit
};

/* Looks at this machine; owned by the arena. ERR_NOMEM only. */
enum err machine_read(struct arena *a, struct machine *out,
                      struct err_msg *msg);

/* The same as JSON, format moe-bench/machine/1; NULL when out of memory. */
cJSON *machine_to_json(const struct machine *m);

/* OPENBLAS_CORETYPE for a list of CPU flags as in /proc/cpuinfo: "SkylakeX"
 * with avx512f, "Haswell" with avx2, else "" (the library's own choice). */
const char *machine_blas_core(const char *cpu_flags);

#endif
