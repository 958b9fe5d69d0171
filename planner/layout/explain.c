/*
 * How it works: the string is expanded again with the place that each
 * character came from, the character at which the error shows is looked for,
 * and its place given back.
 */
#include "explain.h"

#include "expand.h"

#include <string.h>

const char *layout_megatron_words(enum layout_error e)
{
    // texts of pipeline_parallel_layer_layout.py, without its file name and
    // line; for users who search the web for what they see
    static const char *const words[] = {
        [LAYOUT_OK] = "",
        [LAYOUT_BAD_CHAR] = "AssertionError: Invalid layer character",
        [LAYOUT_TOO_LARGE] = "(Megatron would run out of memory)",
        [LAYOUT_NOT_DIVISIBLE] =
            "AssertionError: pipeline_model_parallel_layout must be divisible "
            "by pipeline_model_parallel_size",
        [LAYOUT_EMPTY] = "IndexError: list index out of range",
        [LAYOUT_FIRST_NOT_E] =
            "AssertionError: The first layer must be embedding",
        [LAYOUT_LAST_NOT_L] = "AssertionError: The last layer must be loss",
        [LAYOUT_E_COUNT] =
            "AssertionError: Embedding must be specified exactly once",
        [LAYOUT_L_COUNT] =
            "AssertionError: Loss must be specified exactly once",
        [LAYOUT_T_COUNT] =
            "AssertionError: Number of decoder layers must match num_layers",
        [LAYOUT_M_COUNT] = "AssertionError: Number of mtp layers in layout "
                           "must match mtp_num_layers",
        [LAYOUT_T_AFTER_M] =
            "AssertionError: decoder layers must be placed before MTP layers",
        [LAYOUT_M_NOT_LAST_VPP] =
            "AssertionError: Currently we restrict that the MTP should be "
            "always in the last virtual pipeline stage of that rank",
        [LAYOUT_M_SPLIT] = "AssertionError: All of the MTP layers must be in "
                           "the same one virtual pipeline stage",
        [LAYOUT_NO_MEMORY] = "", // this program's failure, not Megatron's
    };
    return words[e];
}

/* ---- places ---- */

static bool is_unit(uint32_t c)
{
    return c == 'E' || c == 't' || c == 'm' || c == 'L';
}

/* Index of the nth (0-based) character c, of the last one when there are
 * fewer, or n when there is none. */
static size_t explain_nth(const struct layout_chars *s, uint32_t c, int n)
{
    size_t found = s->n;
    for (size_t i = 0; i < s->n && n >= 0; i++)
        if (s->c[i] == c) {
            found = i;
            n--;
        }
    return found;
}

/* Bars and characters that are no units are passed over: a check of the last
 * unit does not see them either. */
static size_t last_unit(const struct layout_chars *s)
{
    size_t i = s->n;
    while (i > 0 && !is_unit(s->c[i - 1]))
        i--;
    return i ? i - 1 : s->n;
}

static size_t first_unit(const struct layout_chars *s)
{
    size_t i = 0;
    while (i < s->n && !is_unit(s->c[i]))
        i++;
    return i;
}

/* Reached after expansion: a star or a bracket that no rule took is one. */
static size_t first_stranger(const struct layout_chars *s)
{
    size_t i = 0;
    while (i < s->n && (is_unit(s->c[i]) || s->c[i] == '|'))
        i++;
    return i;
}

/* First m of a stage other than the first one's (from it on). */
static size_t second_stage_m(const struct layout_chars *s)
{
    size_t i = explain_nth(s, 'm', 0);
    while (i < s->n && s->c[i] != '|')
        i++;
    while (i < s->n && s->c[i] != 'm')
        i++;
    return i;
}

/* First m in a chunk that is not the last one of its rank. */
static size_t early_chunk_m(const struct layout_chars *s, int pp)
{
    int n_stages = 1, stage = 0;
    for (size_t i = 0; i < s->n; i++)
        n_stages += s->c[i] == '|';
    for (size_t i = 0; i < s->n; i++) {
        stage += s->c[i] == '|';
        if (s->c[i] == 'm' && stage / pp != n_stages / pp - 1)
            return i;
    }
    return s->n;
}

/* A count that is wrong: the first unit beyond it, or the last one there is, or
 * L where there is none. */
static size_t explain_miscounted(const struct layout_chars *s, uint32_t c,
                                 int wanted)
{
    size_t i = explain_nth(s, c, wanted);
    return i < s->n ? i : explain_nth(s, 'L', 0);
}

/* The errors of Megatron say what is wrong, not where; the place is a matter of
 * this program alone. */
static size_t explain_place(const struct layout_question *q,
                            enum layout_error e, const struct layout_chars *s)
{
    switch (e) {
    case LAYOUT_BAD_CHAR:
        return first_stranger(s);
    case LAYOUT_FIRST_NOT_E:
        return first_unit(s);
    case LAYOUT_LAST_NOT_L:
        return last_unit(s);
    case LAYOUT_E_COUNT:
        return explain_miscounted(s, 'E', 1);
    case LAYOUT_L_COUNT:
        return explain_miscounted(s, 'L', 1);
    case LAYOUT_T_COUNT:
        return explain_miscounted(s, 't', q->n_layers);
    case LAYOUT_M_COUNT:
        return explain_miscounted(s, 'm', q->n_mtp);
    case LAYOUT_T_AFTER_M:
        for (size_t i = explain_nth(s, 'm', 0); i < s->n; i++)
            if (s->c[i] == 't')
                return i;
        return s->n;
    case LAYOUT_M_NOT_LAST_VPP:
        return early_chunk_m(s, q->pp);
    case LAYOUT_M_SPLIT:
        return second_stage_m(s);
    case LAYOUT_OK:
        return explain_nth(s, 'm', 0);
    default:
        return s->n ? s->n - 1 : 0;
    }
}

bool layout_error_place(const struct layout_question *q, enum layout_error e,
                        size_t *byte)
{
    struct layout_expansion *x = layout_expansion_new();
    if (!x)
        return false;
    const struct layout_chars *s = &x->out;
    size_t at = 0;
    if (layout_expand(q->text, x)) {
        at = explain_place(q, e, s);
    } else {
        // the expansion stopped within the string: point at the part that did
        // not fit
        s = &x->other;
        at = s->n < LAYOUT_MAX_CHARS ? s->n : LAYOUT_MAX_CHARS - 1;
    }
    bool found = at < s->n || s == &x->other;
    if (found)
        *byte = s->from[at];
    layout_expansion_free(x);
    return found;
}

const char *layout_caret(struct arena *a, const char *text, size_t byte)
{
    size_t len = strlen(text), column = 0;
    char *shown = arena_strdup(a, text);
    if (!shown)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        // a control character would move the caret, or the terminal
        if (c < ' ' || c == 127)
            shown[i] = '?';
        // a column for each character, not for each byte of UTF-8
        column += i < byte && (c & 0xc0) != 0x80;
    }
    return arena_printf(a, "  %s\n  %*s^", shown, (int)column, "");
}
