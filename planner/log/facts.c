#include "facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays that grow ---- */

/* Doubling keeps the copying linear in the number of items. */
void *log_list_add(struct log_list *l, size_t size)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        char *bigger = realloc(l->data, cap * size);
        if (!bigger)
            return NULL;
        l->data = bigger;
        l->cap = cap;
    }
    void *item = l->data + l->n++ * size;
    memset(item, 0, size);
    return item;
}

void *log_list_to_arena(struct arena *a, const struct log_list *l, size_t size)
{
    void *copy = arena_alloc(a, l->n, size);
    if (copy && l->n)
        memcpy(copy, l->data, l->n * size);
    return copy;
}

/* ---- memory and arguments ---- */

/* What was there is let go. */
static void move_list(struct log_list *from, struct log_list *to)
{
    free(to->data);
    *to = *from;
    *from = (struct log_list){0};
}

static int by_rank(const void *x, const void *y)
{
    const struct log_memory *a = x, *b = y;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* A later section begins. */
static void set_memory_aside(struct log_facts *f)
{
    const int section = f->memory_section + 1;
    if (f->memory.n && section == f->used_section) {
        move_list(&f->memory, &f->memory_used);
        f->memory_used_section = section;
    } else if (f->memory.n) {
        move_list(&f->memory, &f->memory_before);
        f->memory_before_section = section;
    }
}

/* Lines come in order of ranks, mostly: the sort is over at once. */
void logfacts_memory(struct log_facts *f, int section,
                     const struct log_memory *m)
{
    if (section != f->memory_section)
        set_memory_aside(f);
    f->memory_section = section;
    const size_t size = sizeof *m;
    struct log_memory *item =
        f->memory.n ? bsearch(m, f->memory.data, f->memory.n, size, by_rank)
                    : NULL;
    if (item) {
        *item = *m;
        return;
    }
    item = log_list_add(&f->memory, size);
    if (!item) {
        f->failed = true;
        return;
    }
    *item = *m;
    if (f->memory.n > 1 && by_rank(item - 1, item) > 0)
        qsort(f->memory.data, f->memory.n, size, by_rank);
}

/* Texts of events die with the call, so that they are copied. */
static const char *copy_text(struct log_facts *f, struct log_text t)
{
    const char *copy = arena_strndup(f->arena, t.p, t.n);
    f->failed = f->failed || !copy;
    return copy;
}

/* One that no iteration follows is of no run that could count. */
void logfacts_arguments(struct log_facts *f)
{
    if (f->dump > 0 && f->dump == f->used_dump) {
        move_list(&f->arguments, &f->arguments_used);
        f->dump_used = f->dump;
    } else if (f->dump > 0 && f->dump == f->section_dump) {
        move_list(&f->arguments, &f->arguments_before);
        f->dump_before = f->dump;
    }
    f->arguments.n = 0;
    f->dump++;
}

/* The last iteration of a run is told behind the dump of the next one: readers
 * hold it until they know that it is whole. */
void logfacts_iteration(struct log_facts *f, const struct log_iteration *it)
{
    if (it->section + 1 != f->section)
        f->section_dump = f->dump;
    f->section = it->section + 1;
    if (!it->usable)
        return;
    f->used_section = f->section;
    f->used_dump = f->section_dump;
    if (f->used_dump > 0 && f->used_dump == f->dump_before) {
        move_list(&f->arguments_before, &f->arguments_used);
        f->dump_used = f->dump_before;
        f->dump_before = 0;
    }
    if (f->used_section == f->memory_before_section) {
        move_list(&f->memory_before, &f->memory_used);
        f->memory_used_section = f->memory_before_section;
        f->memory_before_section = 0;
    }
}

/* A run that died behind the one that counts has neither its flags nor its
 * memory. */
static void choose_used(struct log_facts *f, const struct log_summary *sum,
                        int64_t *padded_vocab)
{
    *padded_vocab = sum->padded_vocab;
    if (f->used_dump > 0 && f->used_dump != f->dump &&
        f->used_dump == f->dump_used) {
        move_list(&f->arguments_used, &f->arguments);
        *padded_vocab = sum->padded_before;
    }
    if (f->used_section > 0 && f->memory_section + 1 != f->used_section &&
        f->memory_used_section == f->used_section)
        move_list(&f->memory_used, &f->memory);
}

/* A dump has a few hundred flags of some ten bytes; a file that goes on is not
 * a dump, and must not fill the memory. */
void logfacts_argument(struct log_facts *f, const struct log_field *field)
{
    enum { FACTS_MAX_ARGUMENTS = 4096, FACTS_MAX_VALUE = 65536 };
    if (f->arguments.n >= FACTS_MAX_ARGUMENTS ||
        field->value.n > FACTS_MAX_VALUE)
        return;
    struct log_argument *arg = log_list_add(&f->arguments, sizeof *arg);
    if (!arg) {
        f->failed = true;
        return;
    }
    arg->name = copy_text(f, field->name);
    arg->value = copy_text(f, field->value);
}

void logfacts_note(struct log_facts *f, const char *text)
{
    if (f->notes.n >= LOG_MAX_NOTES)
        return;
    const char **note = log_list_add(&f->notes, sizeof *note);
    if (note)
        *note = arena_strdup(f->arena, text);
    f->failed = f->failed || !note || !*note;
}

void logfacts_clear(struct log_facts *f)
{
    free(f->notes.data);
    free(f->memory.data);
    free(f->arguments.data);
    free(f->arguments_before.data);
    free(f->arguments_used.data);
    free(f->memory_before.data);
    free(f->memory_used.data);
}

bool logfacts_finish(struct log_facts *f, const struct log_summary *sum,
                     struct runlog *out)
{
    int64_t padded_vocab;
    choose_used(f, sum, &padded_vocab);
    *out = (struct runlog){
        .dialect = log_dialect_name(sum->dialect),
        .memory = log_list_to_arena(f->arena, &f->memory, sizeof *out->memory),
        .n_memory = f->memory.n,
        .arguments =
            log_list_to_arena(f->arena, &f->arguments, sizeof *out->arguments),
        .n_arguments = f->arguments.n,
        .notes = log_list_to_arena(f->arena, &f->notes, sizeof *out->notes),
        .n_notes = f->notes.n,
        .n_all_notes = sum->n_notes,
        .padded_vocab = padded_vocab,
        .p2p_latency_s = sum->p2p_latency_s,
        .p2p_bytes_per_s = sum->p2p_bytes_per_s,
        .failure = sum->failure,
        .failure_rank = sum->failure_rank,
        .n_sections = sum->n_sections,
        .used_section = -1,
    };
    bool has_clock = sum->clock[0] != '\0';
    if (has_clock)
        out->clock = arena_strdup(f->arena, sum->clock);
    return !f->failed && out->memory && out->arguments && out->notes &&
           (!has_clock || out->clock);
}

/* ---- means ---- */

/* Sums are of distances to the first value: times of a step are close to one
 * another, and squares of whole times would lose the digits that differ. */
double log_running_mean(const struct log_running *r)
{
    return r->n ? r->shift + r->sum / (double)r->n : (double)NAN;
}

double log_running_se(const struct log_running *r)
{
    if (r->n < 2)
        return NAN;
    double n = (double)r->n;
    // what rounding leaves of equal values may lie below 0
    double m2 = r->squares - r->sum * r->sum / n;
    return m2 > 0 ? sqrt(m2 / (n - 1) / n) : 0;
}
