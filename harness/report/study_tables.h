/*
 * study_tables: Markdown tables of what others published beside what is
 * computed here (studies.csv), of the roofline's constants and errors
 * (constants.csv, errors.csv) and of plans by several kinds of costs
 * (plans.csv). Which room writes them: study.
 */
#ifndef REPORT_STUDY_TABLES_H
#define REPORT_STUDY_TABLES_H

#include "base/csv.h"

#include <stdio.h>

/* A row a figure: published, computed and measured in columns of their own. */
void study_tables_studies(FILE *out, const struct csv *t);

/* A row a constant, with its standard error; a row a source and use. */
void study_tables_constants(FILE *out, const struct csv *t);
void study_tables_errors(FILE *out, const struct csv *t);

/* A row a layout: how much slower it is by each kind of costs. */
void study_tables_plans(FILE *out, const struct csv *t);

#endif
