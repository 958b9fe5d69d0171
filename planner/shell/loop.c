/*
 * How it works: rounds are counted for limits and to tell questions of
 * different rounds apart. A loop whose number of rounds is not known is read
 * once and not at all, and what it sets is not known behind it.
 */
#include "loop.h"

#include "arith.h"
#include "expand.h"
#include "script/branch.h"

#include <string.h>

enum { LOOP_MAX_ROUNDS = 100000 };

static const char *const why_loop =
    "it is set in a loop, and how often that runs is not known";

/* Handles break and continue at the end of a round; false: the loop ends. */
static bool round_goes_on(struct bash *sh)
{
    bool leaves =
        sh->flow == BASH_BREAK || (sh->flow == BASH_CONTINUE && sh->flow_n > 1);
    if (sh->flow == BASH_BREAK || sh->flow == BASH_CONTINUE) {
        if (--sh->flow_n <= 0)
            sh->flow = BASH_GO;
    }
    return sh->flow == BASH_GO && !leaves;
}

/* Turns make what is read in each round a thing of its own. */
static void begin_round(struct bash *sh, const struct bash_context *at,
                        int round)
{
    bash_step(sh);
    if (round > LOOP_MAX_ROUNDS)
        bash_fail(sh, ERR_RANGE, "a loop of more than %d rounds",
                  LOOP_MAX_ROUNDS);
    sh->at.loops = at->loops + 1;
    sh->at.round = round;
    sh->at.turn = round ? at->turn * 31 + (uint32_t)round : at->turn;
}

/* One round of a loop whose number of rounds is not known. */
struct loop_round {
    const struct bash_node *n;
    const char *text;         // what is not known
    const char *name, *value; // of a for
};

/* One round stands for any number of them: whatever it changed is lost. */
static void round_side(struct bash *sh, const void *arg, int side)
{
    const struct loop_round *r = arg;
    if (side == 1) {
        bash_set_status(sh, 0);
        return;
    }
    struct bash_state *before = bash_state_copy(sh);
    sh->at.round = 2; // a break is where the loop ends
    if (r->name)
        bash_set(sh, r->name, r->value);
    bash_eval(sh, r->n->b);
    round_goes_on(sh);
    bash_state_blur(sh, before, r->text, why_loop);
    bash_state_drop(sh, before);
    if (sh->flow == BASH_GO)
        bash_set_status(sh, 0);
}

/* Has nothing changed since the round began? Then it never ends. */
static bool round_repeats(struct bash *sh, struct bash_state *before)
{
    bool same = bash_state_equal(sh->st, before);
    bash_state_drop(sh, before);
    return same && !sh->at.in;
}

/* Rounds as long as the condition is known. From where it is not, the loop goes
 * on or ends, and both sides are read: one round more stands for all. A round
 * that changed nothing would be followed by the same for ever. */
void bash_eval_while(struct bash *sh, const struct bash_node *n)
{
    struct bash_context at = sh->at;
    struct bash_status status = {0};
    for (int round = 0; sh->flow == BASH_GO; round++) {
        begin_round(sh, &at, round);
        struct bash_state *before = bash_state_copy(sh);
        sh->at.condition++;
        bash_eval(sh, n->a);
        sh->at.condition = at.condition;
        struct bash_status s = sh->st->status;
        if (s.doubt || (sh->flow == BASH_GO && (s.value == 0) == n->negated)) {
            bash_state_drop(sh, before);
            break;
        }
        bash_eval(sh, n->b);
        status = sh->st->status;
        if (!round_goes_on(sh)) {
            bash_state_drop(sh, before);
            break;
        }
        if (round_repeats(sh, before)) {
            bash_note(sh,
                      "the loop of line %d does not end by what is known: "
                      "read once",
                      n->line);
            break;
        }
    }
    struct bash_status s = sh->st->status;
    if (sh->flow == BASH_GO && s.doubt) {
        struct loop_round r = {.n = n, .text = s.doubt->text};
        sh->st->status.negated = s.negated != n->negated;
        bash_on_status(sh, round_side, &r);
    } else if (sh->flow == BASH_GO) {
        sh->st->status = status;
    }
    sh->at = at;
}

/* Without a list, the positional parameters. */
static void for_words(struct bash *sh, const struct bash_node *n,
                      struct bash_words *w)
{
    if (n->has_list) {
        for (size_t i = 1; i < n->n_words; i++)
            bash_expand_words(sh, n->word[i], w);
        return;
    }
    const struct bash_var *v = bash_get(sh, BASH_POSITIONAL);
    for (size_t i = 0; v && i < v->n; i++)
        bash_words_copy(sh, w, &v->item[i]);
}

/* A word of the list; one that is not known may be none or several. */
static void for_round(struct bash *sh, const struct bash_node *n,
                      const struct bash_item_of *e)
{
    if (!e->loose || !bash_has_unknown(sh, e->text)) {
        bash_set(sh, n->word[0].text, e->text);
        bash_eval(sh, n->b);
        return;
    }
    const char *text = bash_readable(sh, e->text);
    struct bash_question *q =
        bash_ask(sh,
                 bash_printf(sh, "for %s:%d:%u %s", sh->at.file, n->line,
                             (unsigned)sh->at.turn, e->text),
                 bash_printf(sh, "for %s in %s", n->word[0].text, text), 2);
    struct loop_round r = {n, text, n->word[0].text, e->text};
    bash_branch(sh, q, round_side, &r);
}

/* A word of unknown length in the list makes rounds of unknown number. */
void bash_eval_for(struct bash *sh, const struct bash_node *n)
{
    struct bash_context at = sh->at;
    struct bash_words w = {0};
    int round = 0;
    for_words(sh, n, &w);
    if (n->kind == BASH_SELECT && w.n) { // the user's choice is not known
        w.n = 1;
        w.item[0].text =
            bash_unknown(sh, n->word[0].text, "who runs the script chooses it");
        w.item[0].loose = true;
    }
    bash_set_status(sh, 0);
    for (size_t i = 0; i < w.n && sh->flow == BASH_GO; i++) {
        if (w.item[i].ghost)
            continue;
        begin_round(sh, &at, round++);
        for_round(sh, n, &w.item[i]);
        if (!round_goes_on(sh))
            break;
    }
    sh->at = at;
}

struct bash_number bash_eval_number(struct bash *sh, struct bash_raw w)
{
    const char *text = bash_expand_text(sh, w, BASH_X_OPERAND);
    return bash_math(sh, text, w.text);
}

static bool blank_text(const char *text)
{
    return text[strspn(text, " \t\n")] == '\0';
}

/* As while, with the count's own step behind each round; a condition that is
 * empty is true. */
void bash_eval_for_math(struct bash *sh, const struct bash_node *n)
{
    struct bash_context at = sh->at;
    struct bash_number c = {1, NULL};
    bash_eval_number(sh, n->word[0]);
    bash_set_status(sh, 0);
    for (int round = 0; sh->flow == BASH_GO; round++) {
        begin_round(sh, &at, round);
        c = blank_text(n->word[1].text) ? (struct bash_number){1, NULL}
                                        : bash_eval_number(sh, n->word[1]);
        if (c.mark || c.value == 0)
            break;
        bash_eval(sh, n->b);
        if (!round_goes_on(sh))
            break;
        bash_eval_number(sh, n->word[2]);
    }
    if (c.mark && sh->flow == BASH_GO) {
        struct loop_round r = {.n = n, .text = n->word[1].text};
        bash_doubt(sh,
                   bash_printf(sh, "for %s:%d:%u", sh->at.file, n->line,
                               (unsigned)sh->at.turn),
                   n->word[1].text);
        bash_on_status(sh, round_side, &r);
    }
    sh->at = at;
}
