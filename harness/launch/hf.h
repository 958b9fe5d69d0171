/*
 * hf: Hugging Face Jobs through the `hf` program: a job a run, or one
 * that carries the harness and runs the whole experiment (launcher.per). The
 * log comes back at every poll, results through the bucket of
 * launcher.results, so a job that ends early loses only the run in progress.
 */
#ifndef LAUNCH_HF_H
#define LAUNCH_HF_H

#include "launcher.h"

extern const struct launcher launch_hf;

/* The job's id in what `hf jobs run` printed ("id: ID", "id=ID", "ID: ID",
 * JSON, or the id alone); NULL when there is none. */
const char *launch_hf_id(struct arena *a, const char *printed);

/* The stage in what `hf jobs inspect` printed, JSON or table. */
struct job_view launch_hf_view(struct arena *a, const char *text);

#endif
