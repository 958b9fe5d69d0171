/*
 * How it works: commands are read one after the other. `if`, `elif`, `else`
 * and `case` switch acting on and off where their conditions are known; a
 * condition that is not known counts as true, so the first branch is taken.
 * A loop's body is read once.
 */
#include "script.h"

#include "base/text.h"
#include "flags.h"
#include "shell_text.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

// published scripts nest three deep, commands in a word (bash -c "...") twice;
// nobody gives 64 KB of flags
enum {
    SCRIPT_MAX_NESTING = 64,
    SCRIPT_MAX_TEXTS = 4,
    SCRIPT_MAX_TEXT = 1 << 16
};

enum tri { SCRIPT_NO, SCRIPT_YES, SCRIPT_MAYBE };

struct frame {
    bool outer;          // acting outside
    bool acting;         // in this branch
    bool done;           // a branch was taken
    const char *subject; // of a case, else NULL
};

struct script {
    struct arena *arena;
    struct shell shell;
    struct frame frame[SCRIPT_MAX_NESTING];
    int depth; // frames that are open; those beyond SCRIPT_MAX_NESTING only
               // counted
    enum tri status;         // of the last command
    bool skip;               // the next command, after && or ||
    struct shell_words best; // the command with most flags
    int best_score, nested;
};

static bool script_acting(const struct script *s)
{
    int top = s->depth < SCRIPT_MAX_NESTING ? s->depth : SCRIPT_MAX_NESTING;
    return top == 0 || s->frame[top - 1].acting;
}

/* ---- conditions ---- */

static enum tri script_known(bool yes)
{
    return yes ? SCRIPT_YES : SCRIPT_NO;
}

/* [ and [[ of bash: = and == match a pattern, -eq and its like compare numbers.
 */
static enum tri script_compare(const char *a, const char *op, const char *b)
{
    int64_t x = 0, y = 0;
    bool numbers = text_to_int64(a, &x) && text_to_int64(b, &y);
    // what only running could tell decides nothing
    if (shell_unknown(a) || shell_unknown(b))
        return SCRIPT_MAYBE;
    if (strcmp(op, "=") == 0 || strcmp(op, "==") == 0)
        return script_known(fnmatch(b, a, 0) == 0);
    if (strcmp(op, "!=") == 0)
        return script_known(fnmatch(b, a, 0) != 0);
    if (!numbers || op[0] != '-')
        return SCRIPT_MAYBE;
    static const char *const ops[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    const bool holds[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(op, ops[i]) == 0)
            return script_known(holds[i]);
    return SCRIPT_MAYBE;
}

/* Words of [ ... ] or [[ ... ]], the brackets included. */
static enum tri test_words(const char *const *w, size_t n)
{
    bool opens = n > 2 && (strcmp(w[0], "[") == 0 || strcmp(w[0], "[[") == 0);
    if (!opens || (strcmp(w[n - 1], "]") != 0 && strcmp(w[n - 1], "]]") != 0))
        return n == 1 && strcmp(w[0], "true") == 0    ? SCRIPT_YES
               : n == 1 && strcmp(w[0], "false") == 0 ? SCRIPT_NO
                                                      : SCRIPT_MAYBE;
    w++;
    n -= 2;
    if (n >= 2 && strcmp(w[0], "!") == 0) {
        // a copy of the words without '!' and with the brackets kept
        const char *inner[6] = {"["};
        if (n > 4)
            return SCRIPT_MAYBE;
        memcpy(inner + 1, w + 1, (n - 1) * sizeof *inner);
        inner[n] = "]";
        enum tri t = test_words(inner, n + 1);
        return t == SCRIPT_MAYBE ? SCRIPT_MAYBE : script_known(t == SCRIPT_NO);
    }
    // a variable that was never set is empty in a test
    if (n == 2 && (strcmp(w[0], "-z") == 0 || strcmp(w[0], "-n") == 0))
        return script_known((*w[1] == '\0' || w[1][0] == SHELL_UNKNOWN) ==
                            (w[0][1] == 'z'));
    return n == 3 ? script_compare(w[0], w[1], w[2]) : SCRIPT_MAYBE;
}

/* ---- branches ---- */

/* A frame remembers whether anything outside acts: a branch within one that is
 * not taken never acts. */
static void script_push(struct script *s, bool taken, const char *subject)
{
    bool outer = script_acting(s);
    if (s->depth < SCRIPT_MAX_NESTING)
        s->frame[s->depth] =
            (struct frame){outer, outer && taken, taken, subject};
    s->depth++;
}

static struct frame *script_top(struct script *s)
{
    return s->depth > 0 && s->depth <= SCRIPT_MAX_NESTING
               ? &s->frame[s->depth - 1]
               : NULL;
}

/* elif, else and the patterns of a case: only the first that holds is taken. */
static void next_branch(struct script *s, bool holds)
{
    struct frame *f = script_top(s);
    if (!f)
        return;
    f->acting = f->outer && !f->done && holds;
    f->done = f->done || holds;
}

static bool script_is(const struct shell_words *w, const char *word)
{
    return w->n > 0 && strcmp(w->word[0], word) == 0;
}

/* Keywords that open, change and close branches; true when `w` was one. */
static bool script_branch(struct script *s, const struct shell_words *w)
{
    const char *const *rest = w->n ? w->word + 1 : NULL;
    if (script_is(w, "if"))
        script_push(s, test_words(rest, w->n - 1) != SCRIPT_NO, NULL);
    else if (script_is(w, "elif"))
        next_branch(s, test_words(rest, w->n - 1) != SCRIPT_NO);
    else if (script_is(w, "else"))
        next_branch(s, true);
    else if (script_is(w, "fi") || script_is(w, "esac"))
        s->depth -= s->depth > 0;
    else if (script_is(w, "case") && w->n > 1)
        script_push(s, false, w->word[1]);
    else
        return false;
    return true;
}

/* A pattern list of the case on top: one word here, alternatives are commands
 * of their own before a bar. */
static bool case_pattern(struct script *s, const struct shell_words *w)
{
    struct frame *f = script_top(s);
    if (!f || !f->subject || w->n == 0 || f->acting)
        return false;
    const char *pattern = w->word[w->n - 1];
    bool holds = shell_unknown(f->subject)
                     ? !f->done
                     : fnmatch(pattern, f->subject, 0) == 0;
    next_branch(s, holds);
    return true;
}

/* ---- commands ---- */

static const char *flag_word(const char *word)
{
    return text_starts(word, "--") && word[2] ? word + 2 : NULL;
}

static enum flag_id flag_of(const char *word)
{
    return flag_word(word) ? megatron_args_flag_of(word) : FLAG_NONE;
}

/* The launch is the command with most of Megatron's flags; torchrun, srun and
 * singularity have few or none of these names. */
static int script_score(const struct shell_words *w)
{
    int n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += flag_of(w->word[i]) != FLAG_NONE;
    return n;
}

static void script_read_text(struct script *s, const char *text);

/* A command in one word, as `bash -c "..."` and `eval` take it. */
static void read_nested(struct script *s, const struct shell_words *w)
{
    for (size_t i = 0; i < w->n && s->nested < SCRIPT_MAX_TEXTS; i++)
        if (strchr(w->word[i], ' ') && strstr(w->word[i], "--num-layers")) {
            s->nested++;
            script_read_text(s, w->word[i]);
            s->nested--;
        }
}

/* Nothing is executed: only conditions have a status, of other commands it is
 * not known. */
static void run_command(struct script *s, const struct shell_words *w)
{
    s->status = test_words(w->word, w->n);
    int n = script_score(w);
    if (n > s->best_score) {
        s->best_score = n;
        s->best = *w;
    }
    if (n == 0)
        read_nested(s, w);
}

static void script_read_text(struct script *s, const char *text)
{
    while (*text && !s->shell.failed) {
        struct shell_words w = {0};
        bool act = script_acting(s) && !s->skip;
        enum shell_end end = shell_command(&s->shell, &text, act, &w);
        if (end == SHELL_CLOSE && case_pattern(s, &w))
            continue;
        if (end == SHELL_CASE_END && script_top(s) && script_top(s)->subject) {
            if (act && w.n)
                run_command(s, &w);
            script_top(s)->acting = false;
            continue;
        }
        if (!script_branch(s, &w) && act && w.n)
            run_command(s, &w);
        // `A && B`: B acts unless A is known to fail; `A || B` the other way
        // about
        s->skip = (end == SHELL_AND && s->status == SCRIPT_NO) ||
                  (end == SHELL_OR && s->status == SCRIPT_YES);
        if (end != SHELL_AND && end != SHELL_OR)
            s->status = SCRIPT_MAYBE;
    }
}

/* Does the variable hold flags? */
static bool holds_flags(const struct shell_var *v)
{
    const char *text = v->value.n ? v->value.word[0] : "";
    return flag_word(text + strspn(text, " \t\n")) != NULL;
}

/* Words of all variables that hold flags, for a script without a launch. */
static void gather_variables(struct script *s)
{
    struct shell inner = {.arena = s->arena};
    struct shell_words all = {0};
    const char *text = "";
    for (const struct shell_var *v = s->shell.vars; v && text; v = v->next)
        for (size_t i = 0; holds_flags(v) && i < v->value.n && text; i++) {
            // an array's words keep their blanks, a text is cut at them
            const char *quote = v->array ? "'" : "";
            const char *word = v->value.word[i];
            if (!strchr(word, '\'') &&
                strlen(text) + strlen(word) < SCRIPT_MAX_TEXT)
                text = arena_printf(s->arena, "%s %s%s%s", text, quote, word,
                                    quote);
        }
    while (text && *text && !inner.failed)
        shell_command(&inner, &text, true, &all);
    s->best = all;
    s->best_score = script_score(&all);
}

/* ---- what the command says ---- */

/* First word behind the program: behind NAME.py, or the first flag of
 * Megatron's where no such word is. */
static size_t first_flag(const struct shell_words *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (text_ends(w->word[i], ".py"))
            return i + 1;
    for (size_t i = 0; i < w->n; i++)
        if (flag_of(w->word[i]) != FLAG_NONE)
            return i;
    return w->n;
}

/* Value of a torchrun option before word `end`; `other` when it is absent, 0
 * when it is no number. */
static int64_t launcher_value(const struct shell_words *w, size_t end,
                              const char *name, int64_t other)
{
    for (size_t i = 0; i < end; i++) {
        char flag[40];
        const char *word = flag_word(w->word[i]);
        if (!word)
            continue;
        size_t len = strcspn(word, "=");
        snprintf(flag, sizeof flag, "%.*s", (int)len, word);
        for (char *p = flag; *p; p++)
            *p = *p == '_' ? '-' : *p;
        const char *value = word[len] == '=' ? word + len + 1
                            : i + 1 < end    ? w->word[i + 1]
                                             : "";
        int64_t v = 0;
        if (strcmp(flag, name) == 0)
            return text_to_int64(value, &v) && v > 0 ? v : 0;
    }
    return other;
}

/* A size that may divide ranks; `other` for one that Megatron would refuse. */
static int64_t script_size(const struct megatron_flags *f, enum flag_id id,
                           int64_t other)
{
    int64_t v = flags_int(f, id, other);
    // the bound of the flags' own table
    return v > 0 && v < 1 << 12 ? v : other;
}

/* Takes the launcher's number of ranks where the parallel sizes divide it; in
 * published scripts it is often one node's, the user sets the others. */
static void script_set_world(const struct shell_words *w, size_t end,
                             struct megatron_args *args)
{
    char text[160];
    int64_t ranks = launcher_value(w, end, "nproc-per-node", 0);
    int64_t nodes = launcher_value(w, end, "nnodes", 1);
    if (!ranks || !nodes || ranks > 1 << 12 || nodes > 1 << 12)
        return;
    struct megatron_flags *f = megatron_args_flags(args);
    int64_t tp = script_size(f, FLAG_TP, 1), pp = script_size(f, FLAG_PP, 1);
    int64_t one = tp * pp * script_size(f, FLAG_CP, 1);
    int64_t experts =
        script_size(f, FLAG_ETP, tp) * pp * script_size(f, FLAG_EP, 1);
    if (ranks * nodes % one == 0 && ranks * nodes % experts == 0) {
        flags_set_int(f, FLAG_WORLD_SIZE, ranks * nodes);
        return;
    }
    snprintf(text, sizeof text,
             "the launcher starts %lld ranks, which the parallel sizes do not "
             "divide: taking the smallest number that they do, or give --world",
             (long long)(ranks * nodes));
    megatron_args_warn(args, "nproc-per-node", text);
}

/* Does a wrong value of the flag give a wrong model? */
static bool script_decides(enum flag_id id)
{
    return id != FLAG_NONE && flag_effect(id) <= FLAG_FX_BATCH &&
           id != FLAG_TOKENIZER_TYPE;
}

/* Copies the flags to `argv`. A word that only running could tell is dropped,
 * unless it is the value of a flag that decides sizes. */
static enum err script_clean(struct script *s, size_t from, char **argv,
                             int *argc, struct err_msg *msg)
{
    const struct shell_words *w = &s->best;
    for (size_t i = from; i < w->n; i++) {
        const char *word = w->word[i], *equals = strchr(word, '=');
        const char *mark = strchr(word, SHELL_UNKNOWN);
        enum flag_id id = flag_of(word);
        bool own = id != FLAG_NONE && equals && mark > equals;
        if (!own)
            id = i > from ? flag_of(w->word[i - 1]) : FLAG_NONE;
        if (mark && script_decides(id) && flag_type(id) != FLAG_TYPE_BOOL)
            return err_set(msg, ERR_PARSE,
                           "--%s: its value '%.80s' is not known without "
                           "running the script: set the variable in it",
                           flag_name(id), mark + 1);
        if (mark && id == FLAG_NONE)
            continue;
        if (*word && !(argv[(*argc)++] = arena_strdup(s->arena, word)))
            return err_set(msg, ERR_NOMEM, "out of memory");
    }
    return ERR_OK;
}

/* Not strict: launch scripts have flags of the user's own program. */
static enum err read_best(struct script *s, struct megatron_args *args,
                          struct err_msg *msg)
{
    const struct shell_words *w = &s->best;
    size_t from = first_flag(w);
    int argc = 0;
    char **argv = arena_alloc(s->arena, w->n + 1, sizeof *argv);
    if (!argv)
        return err_set(msg, ERR_NOMEM, "out of memory");
    enum err e = script_clean(s, from, argv, &argc, msg);
    const struct megatron_args_options opt = {.strict = false};
    if (e == ERR_OK)
        e = megatron_args_read(args, argv, argc, &opt, msg);
    if (e == ERR_OK)
        script_set_world(w, from, args);
    return e;
}

enum err source_script_read(struct arena *a, const char *text,
                            const char *where, struct megatron_args *args,
                            struct err_msg *msg)
{
    struct script *s = arena_alloc(a, 1, sizeof *s);
    char *unix_text = arena_strdup(a, text);
    if (!s || !unix_text)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    char *to = unix_text;
    for (const char *p = unix_text; *p; p++)
        // files that went through Windows
        if (*p != '\r' || p[1] != '\n')
            *to++ = *p;
    *to = '\0';
    s->arena = s->shell.arena = a;
    s->status = SCRIPT_MAYBE;
    script_read_text(s, unix_text);
    enum err e = shell_status(&s->shell, where, msg);
    if (e != ERR_OK)
        return e;
    if (s->best_score < 2)
        gather_variables(s);
    if (s->best_score < 2)
        return err_set(msg, ERR_PARSE,
                       "%s: no command with Megatron's flags found, want one "
                       "such as 'torchrun ... pretrain_gpt.py --num-layers N "
                       "...'",
                       where);
    e = megatron_args_where(args, where, msg);
    if (e == ERR_OK)
        e = read_best(s, args, msg);
    return e == ERR_OK || text_starts(msg->text, where)
               ? e
               : err_prefix(msg, e, "%s", where);
}
