/*
 * How it works: each side runs as a probe, on a copy of the state. A probe is
 * left (longjmp) as soon as it would do what cannot be merged: a call, or a
 * question without an answer. If all sides come to their end alike, the states
 * are merged. If not, and some only end the script with an error, the others
 * count. Else the question is answered for this way and its side read for good.
 *
 * A probe inside a probe leaves the outer one, too, so the work for deep nests
 * grows with the square of their depth, not with a power.
 */
#include "branch.h"

#include "state.h"

#include <stdio.h>
#include <string.h>

enum { BRANCH_MAX_SIDES = 24 };

/* How a side ended. */
struct branch_end {
    bool whole; // to its end, as a probe
    enum bash_flow flow;
    int flow_n;
    struct bash_state *state;
    const char *out;
    size_t in_pos;
};

/* What a side may change, before it. */
struct branch_start {
    struct bash_state *state;
    size_t out_n, in_pos;
    bash_side_fn *fn;
    const void *arg;
};

/* ---- questions ---- */

/* The key says what is asked, not where, so that the same test at two
 * places has one answer in a way. Linear: a script has some tens of
 * questions. */
struct bash_question *bash_ask(struct bash *sh, const char *key,
                               const char *text, int n_sides)
{
    struct bash_oracle *o = sh->oracle;
    size_t n = 0;
    for (struct bash_question *q = o->questions; q; q = q->next, n++)
        if (strcmp(q->key, key) == 0)
            return q;
    bash_work(sh, 8 * n);
    struct bash_question *q = bash_keep(sh, 1, sizeof *q);
    q->key = bash_keep_text(sh, key);
    q->text = bash_keep_text(sh, text);
    q->file = sh->at.file;
    q->line = sh->at.line;
    q->n_sides = n_sides;
    q->next = o->questions;
    o->questions = q;
    return q;
}

/* The answers of a way are a stack, in the order of asking; the next way
 * pops from its end as a depth-first walk does. */
static void push_answer(struct bash *sh, struct bash_question *q, int answer)
{
    struct bash_oracle *o = sh->oracle;
    if (o->n == o->cap) {
        size_t cap = 2 * o->cap + 32;
        struct bash_question **asked = bash_keep(sh, cap, sizeof *asked);
        int *answers = bash_keep(sh, cap, sizeof *answers);
        if (o->n) {
            memcpy(asked, o->asked, o->n * sizeof *asked);
            memcpy(answers, o->answer, o->n * sizeof *answers);
        }
        o->asked = asked;
        o->answer = answers;
        o->cap = cap;
    }
    o->asked[o->n] = q;
    o->answer[o->n++] = answer;
}

void bash_matters(struct bash *sh)
{
    if (sh->oracle->probe)
        longjmp(*sh->oracle->probe, 1);
}

/* Holds for the rest of this way. */
static void set_answer(struct bash *sh, struct bash_question *q, int answer)
{
    q->way = sh->oracle->way;
    q->answer = answer;
}

/* A question that is asked again within a way must not be answered anew:
 * bash saw one value. While ways are varied alone, all but the flipped
 * question take their first side. */
int bash_decide(struct bash *sh, struct bash_question *q)
{
    struct bash_oracle *o = sh->oracle;
    if (q->way == o->way)
        return q->answer;
    bash_matters(sh);
    int answer = 0;
    if (o->alone)
        answer = q == o->flipped ? o->flip_to : 0;
    else if (o->n < o->n_given && o->asked[o->n] == q)
        answer = o->answer[o->n];
    push_answer(sh, q, answer);
    set_answer(sh, q, answer);
    return answer;
}

/* ---- probes ---- */

/* Everything between setjmp() and the call that longjmp() may skip is in
 * sh, and restored by value here; nothing else may change in between. */
static bool branch_probe(struct bash *sh, const struct branch_start *start,
                         int side)
{
    jmp_buf here;
    jmp_buf *const outer = sh->oracle->probe;
    const struct bash_context at = sh->at;
    const size_t notes = sh->notes.n, missing = sh->missing.n;
    if (setjmp(here)) {
        sh->oracle->probe = outer;
        sh->at = at;
        sh->notes.n = notes;
        sh->missing.n = missing;
        sh->flow = BASH_GO;
        return false;
    }
    sh->oracle->probe = &here;
    start->fn(sh, start->arg, side);
    sh->oracle->probe = outer;
    return true;
}

/* Back to how all was before the sides, for the next one. */
static void branch_rewind(struct bash *sh, const struct branch_start *start)
{
    bash_state_restore(sh, start->state);
    sh->flow = BASH_GO;
    if (sh->at.out) {
        sh->at.out->n = start->out_n;
        if (sh->at.out->s)
            sh->at.out->s[start->out_n] = '\0';
    }
    if (sh->at.in)
        sh->at.in->pos = start->in_pos;
}

/* Reads a side from the start, and notes how it ended. */
static struct branch_end branch_try(struct bash *sh,
                                    const struct branch_start *start, int side)
{
    struct branch_end end = {0};
    branch_rewind(sh, start);
    end.whole = branch_probe(sh, start, side);
    end.flow = sh->flow;
    end.flow_n = sh->flow_n;
    if (!end.whole)
        return end;
    end.state = bash_state_copy(sh);
    const struct bash_text *out = sh->at.out;
    end.out =
        out && out->n > start->out_n
            ? bash_strndup(sh, out->s + start->out_n, out->n - start->out_n)
            : "";
    end.in_pos = sh->at.in ? sh->at.in->pos : 0;
    return end;
}

/* ---- merging ---- */

/* Can the ends be one state? Locals and options cannot be choices. */
static bool branch_alike(const struct branch_end *end, int n)
{
    for (int i = 0; i < n; i++)
        if (!end[i].whole || end[i].flow != end[0].flow ||
            end[i].flow_n != end[0].flow_n || end[i].in_pos != end[0].in_pos ||
            end[i].state->options != end[0].state->options ||
            end[i].state->saved != end[0].state->saved ||
            strcmp(end[i].out, end[0].out) != 0)
            return false;
    return true;
}

/* Statuses by what they say, not by their bytes: the value of a doubtful
 * one means nothing. */
static bool same_status(struct bash_status a, struct bash_status b)
{
    return a.doubt == b.doubt &&
           (a.doubt ? a.negated == b.negated : a.value == b.value);
}

/* Known statuses are told apart as true and false only, as conditions do. */
static const char *status_key(struct bash *sh, struct bash_status s)
{
    return s.doubt
               ? bash_printf(sh, "%c%s", s.negated ? '!' : '?', s.doubt->key)
               : bash_printf(sh, "%d", s.value != 0);
}

/* The status of all sides as one. */
static struct bash_status merged_status(struct bash *sh,
                                        struct bash_question *q,
                                        const struct branch_end *end, int n)
{
    bool equal = true, known = true;
    const char *key = bash_printf(sh, "(%s)", q->key);
    const char *text = q->text;
    for (int i = 0; i < n; i++) {
        struct bash_status s = end[i].state->status;
        equal = equal && same_status(s, end[0].state->status);
        known = known && !s.doubt;
        key = bash_printf(sh, "%s %s", key, status_key(sh, s));
        if (s.doubt && s.doubt != q && strlen(text) < 200)
            text = bash_printf(sh, "%s, %s", text, s.doubt->text);
    }
    struct bash_status first = end[0].state->status;
    if (equal)
        return first;
    if (known && n == 2 &&
        (first.value == 0) != (end[1].state->status.value == 0))
        return (struct bash_status){q, first.value != 0, 0};
    return (struct bash_status){bash_ask(sh, key, text, 2), false, 0};
}

/* Output and position in the input are those of any side, since
 * branch_alike() found them equal. */
static void branch_merge(struct bash *sh, struct bash_question *q,
                         const struct branch_end *end, int n)
{
    struct bash_state *side[BRANCH_MAX_SIDES];
    const char *unread = NULL;
    for (int i = 0; i < n; i++) {
        side[i] = end[i].state;
        unread = unread ? unread : side[i]->unread;
    }
    struct bash_status status = merged_status(sh, q, end, n);
    bash_state_merge(sh, q, side, (size_t)n);
    sh->st->status = status;
    sh->st->unread = unread;
    if (sh->at.out)
        bash_puts(sh, sh->at.out, end[0].out);
    if (sh->at.in)
        sh->at.in->pos = end[0].in_pos;
    sh->flow = end[0].flow;
    sh->flow_n = end[0].flow_n;
}

/* ---- which sides count ---- */

/* Does the side only end the script, before it started anything? */
static bool branch_gives_up(const struct bash *sh, const struct branch_end *end)
{
    bool failed = end->state && !end->state->status.doubt &&
                  end->state->status.value != 0;
    return end->whole &&
           ((end->flow == BASH_EXIT && (failed || sh->n_calls == 0)) ||
            (end->flow == BASH_RETURN && failed));
}

/* The side to take without asking, or -1: the only one that does not give up;
 * in later rounds of a loop the one that leaves it. */
static int branch_only(const struct bash *sh, const struct branch_end *end,
                       int n)
{
    int live = -1, n_live = 0, leaves = -1;
    for (int i = 0; i < n; i++) {
        if (end[i].whole && end[i].flow != BASH_GO &&
            end[i].flow != BASH_CONTINUE)
            leaves = i;
        if (!branch_gives_up(sh, &end[i])) {
            live = i;
            n_live++;
        }
    }
    if (n_live == 1)
        return live;
    return sh->at.round >= 2 ? leaves : -1;
}

/* Copies are large and short-lived: they go back to the list of free ones. */
static void branch_drop(struct bash *sh, const struct branch_start *start,
                        struct branch_end *end, int n)
{
    for (int i = 0; i < n; i++)
        if (end[i].state)
            bash_state_drop(sh, end[i].state);
    bash_state_drop(sh, start->state);
}

/* Probing costs each side once more where the states cannot be merged; that
 * is bounded by BASH_MAX_STEPS. */
void bash_branch(struct bash *sh, struct bash_question *q, bash_side_fn *fn,
                 const void *arg)
{
    int n = q->n_sides < BRANCH_MAX_SIDES ? q->n_sides : BRANCH_MAX_SIDES;
    struct branch_end end[BRANCH_MAX_SIDES] = {0};
    if (q->way == sh->oracle->way) {
        fn(sh, arg, q->answer);
        return;
    }
    bash_enter(sh);
    struct branch_start start = {bash_state_copy(sh),
                                 sh->at.out ? sh->at.out->n : 0,
                                 sh->at.in ? sh->at.in->pos : 0, fn, arg};
    for (int i = 0; i < n; i++)
        end[i] = branch_try(sh, &start, i);
    branch_rewind(sh, &start);
    if (branch_alike(end, n)) {
        branch_merge(sh, q, end, n);
        branch_drop(sh, &start, end, n);
        bash_leave(sh);
        return;
    }
    int only = branch_only(sh, end, n);
    branch_drop(sh, &start, end, n);
    if (only >= 0) {
        bash_note(sh, "'%s' is not known: taken as %s, else the script ends",
                  q->text, only == 0 ? "holding" : "not holding");
        set_answer(sh, q, only);
    } else {
        only = bash_decide(sh, q);
    }
    fn(sh, arg, only);
    bash_leave(sh);
}

/* ---- conditions ---- */

struct on_status {
    bash_side_fn *fn;
    const void *arg;
};

/* bash has ! before a command, questions have not: the sides are swapped
 * instead. */
static void negated_side(struct bash *sh, const void *arg, int side)
{
    const struct on_status *on = arg;
    on->fn(sh, on->arg, !side);
}

/* A status that hangs on a question makes two ways, one that is certain only
 * one: a script of many tests has few ways. */
void bash_on_status(struct bash *sh, bash_side_fn *fn, const void *arg)
{
    struct bash_status s = sh->st->status;
    struct on_status on = {fn, arg};
    if (!s.doubt)
        fn(sh, arg, s.value != 0);
    else if (s.negated)
        bash_branch(sh, s.doubt, negated_side, &on);
    else
        bash_branch(sh, s.doubt, fn, arg);
}

void bash_doubt(struct bash *sh, const char *key, const char *text)
{
    struct bash_question *q = bash_ask(sh, key, text, 2);
    sh->st->status = (struct bash_status){q, false, 0};
}
