/* judge_ask: a launch's flags on one line, judged, for the tests of room judge.
 * Header of test code only. */
#ifndef JUDGE_ASK_H
#define JUDGE_ASK_H

#include "judge/judge.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define PP "--pipeline-model-parallel-size "
#define VPP "--num-virtual-stages-per-pipeline-rank "
#define LPV "--num-layers-per-virtual-pipeline-stage "
#define FIRST "--decoder-first-pipeline-num-layers "
#define LAST "--decoder-last-pipeline-num-layers "
#define LAYOUT "--pipeline-model-parallel-layout "
#define TP "--tensor-model-parallel-size "
#define WORLD "--world-size "
#define GBS "--global-batch-size "
#define GROUP "--microbatch-group-size-per-virtual-pipeline-stage "
#define MOE                                                                    \
    "--num-layers 8 --num-experts 8 --disable-bias-linear "                    \
    "--sequence-parallel "
#define EPO                                                                    \
    MOE "--overlap-moe-expert-parallel-comm --bf16 "                           \
        "--moe-token-dispatcher-type alltoall --expert-model-parallel-size 2 "

/* Flags and values of one line into their slots; "?" is a value that is not
 * known. */
static inline void read_line(struct arena *a, struct megatron_flags *f,
                             const char *line)
{
    static const struct flag_unknown unknown = {"run.sh:3", "$(hostname)"};
    flags_init(f, a);
    char *rest = arena_strdup(a, line);
    for (char *w; (w = strtok_r(rest, " ", &rest));) {
        enum flag_id id = flag_by_name(w + 2, strlen(w + 2));
        cr_assert_neq(id, FLAG_NONE, "%s", w);
        const char *value = flag_type(id) == FLAG_TYPE_BOOL
                                ? "true"
                                : strtok_r(rest, " ", &rest);
        if (flag_type(id) == FLAG_TYPE_BOOL && *rest == '?')
            value = strtok_r(rest, " ", &rest);
        char words[200];
        snprintf(words, sizeof words, "%s", value);
        for (char *p = words; *p && flag_type(id) == FLAG_TYPE_WORDS; p++)
            *p = *p == ',' ? ' ' : *p;
        if (strcmp(value, "?") == 0)
            flags_set_unknown(f, id, &unknown, NULL);
        else
            cr_assert_eq(flags_set(f, id, words, NULL), ERR_OK, "%s", w);
    }
}

struct asked {
    struct arena a;
    struct megatron_flags f;
    struct judge_verdict v;
    struct err_msg msg;
    enum err e;
};

static inline void ask(struct asked *q, const char *line, const char *core,
                       bool launch)
{
    const struct core_version *version;
    arena_init(&q->a);
    q->msg.text[0] = '\0';
    read_line(&q->a, &q->f, line);
    cr_assert_eq(core_version_find(core, &version, NULL), ERR_OK);
    q->e = judge(&q->a, &(struct judge_question){&q->f, version, launch}, &q->v,
                 &q->msg);
}

static inline bool warned(const struct judge_verdict *v, const char *word)
{
    for (const struct account_line *l = v->warnings.first; l; l = l->next)
        if (strstr(l->text, word))
            return true;
    return false;
}

#endif
