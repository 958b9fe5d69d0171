/*
 * How it works: the table of flags.h becomes an array of rows; a set of slots
 * begins as the defaults, parsed once, and every flag that is given replaces
 * its slot and gets the next turn. A slot is cleared by making it its default
 * again. Names are looked up by walking the rows: some hundred comparisons of
 * mostly one byte, for words of a command line or keys of a file.
 */
#include "flags.h"

#include "base/text.h"
#include "names.h"

#include <assert.h>
#include <string.h>

// the three forms of a range in the table; braces are added here, because the
// commas within them would part a macro's argument
#define FLAG_RANGE_ANY                                                         \
    {                                                                          \
        INT64_MIN, INT64_MAX, false                                            \
    }
#define FLAG_RANGE_FROM(lo, hi)                                                \
    {                                                                          \
        lo, hi, false                                                          \
    }
#define FLAG_RANGE_NEED(lo, hi)                                                \
    {                                                                          \
        lo, hi, true                                                           \
    }

static const struct flag {
    const char *name, *aliases;
    enum flag_type type;
    const char *standard; // default, "" for none
    struct flag_range range;
    enum flag_effect effect;
} flags[N_FLAGS] = {
#define FLAG_ROW(id, name, aliases, type, def, range, fx)                      \
    {name, aliases, FLAG_TYPE_##type, def, FLAG_RANGE_##range, FLAG_FX_##fx},
    MEGATRON_FLAG_TABLE(FLAG_ROW)
#undef FLAG_ROW
};

/* ---- the table ---- */

/* Is `name` one of the words of the list? Older names: launch scripts of years
 * ago still have them. */
static bool flags_has_alias(const char *list, const char *name, size_t len)
{
    while (*list) {
        size_t n = strcspn(list, " ");
        if (n == len && memcmp(list, name, len) == 0)
            return true;
        list += n + strspn(list + n, " ");
    }
    return false;
}

static enum flag_id flags_find_alias(const char *name, size_t len)
{
    for (int i = 0; i < N_FLAGS; i++)
        if (*flags[i].aliases && flags_has_alias(flags[i].aliases, name, len))
            return (enum flag_id)i;
    return FLAG_NONE;
}

enum flag_id flag_by_name(const char *name, size_t len)
{
    for (int i = 0; i < N_FLAGS; i++)
        if (strncmp(flags[i].name, name, len) == 0 &&
            flags[i].name[len] == '\0')
            return (enum flag_id)i;
    // an opposite is no flag of a command line
    return *name == '!' ? FLAG_NONE : flags_find_alias(name, len);
}

/* A dump has "add_bias_linear False" where the command line had
 * --disable-bias-linear: argparse stores a switch that turns something off
 * under the name of the thing. Aliases with a mark stand for it. */
enum flag_id flag_by_argument(const char *name, bool *opposite)
{
    char marked[NAMES_MAX_BYTES] = "!";
    size_t len = strlen(name);
    *opposite = false;
    if (len < sizeof marked - 1) {
        memcpy(marked + 1, name, len);
        enum flag_id id = flags_find_alias(marked, len + 1);
        *opposite = id != FLAG_NONE;
        if (id != FLAG_NONE)
            return id;
    }
    return flag_by_name(name, len);
}

const char *flag_name(enum flag_id id)
{
    return flags[id].name;
}

enum flag_type flag_type(enum flag_id id)
{
    return flags[id].type;
}

enum flag_effect flag_effect(enum flag_id id)
{
    return flags[id].effect;
}

struct flag_range flag_range(enum flag_id id)
{
    return flags[id].range;
}

const char *flag_nearest(const char *word)
{
    const char *names[N_FLAGS];
    for (int i = 0; i < N_FLAGS; i++)
        names[i] = flags[i].name;
    return text_nearest(word, names, N_FLAGS);
}

/* ---- filling slots ---- */

/* Parses into the slot; false when the type does not take the text. Text is
 * not copied. */
static bool flags_parse(enum flag_type type, const char *text,
                        struct flag_slot *out)
{
    switch (type) {
    case FLAG_TYPE_INT:
        return text_to_int64(text, &out->value.whole);
    case FLAG_TYPE_REAL:
        return text_to_double(text, &out->value.real);
    // "True" is Python's spelling in a dump of arguments, "true" is JSON's
    case FLAG_TYPE_BOOL:
        out->value.on = strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
        return true;
    default:
        out->value.text = text;
        return true;
    }
}

/* Defaults are ours: one that does not parse is a mistake in the table. */
static struct flag_slot flags_default(enum flag_id id)
{
    struct flag_slot slot = {.turn = 0};
    if (*flags[id].standard) {
        slot.known = flags_parse(flags[id].type, flags[id].standard, &slot);
        assert(slot.known);
    }
    return slot;
}

void flags_init(struct megatron_flags *f, struct arena *a)
{
    *f = (struct megatron_flags){.arena = a, .where = "", .from = ""};
    for (int i = 0; i < N_FLAGS; i++)
        f->slot[i] = flags_default((enum flag_id)i);
}

/* The last one given wins, and comes last on a command line. */
static void flags_fill(struct megatron_flags *f, enum flag_id id,
                       struct flag_slot slot)
{
    slot.known = !slot.unknown;
    slot.turn = ++f->n_turns;
    slot.from = f->from;
    f->slot[id] = slot;
}

/* What does not parse leaves the slot as it was. */
enum err flags_set(struct megatron_flags *f, enum flag_id id, const char *text,
                   struct err_msg *msg)
{
    struct flag_slot slot = {.turn = 0};
    enum flag_type type = flags[id].type;
    if (!flags_parse(type, text, &slot))
        return err_set(msg, ERR_PARSE, "%s%s--%s: got '%s', want %s", f->where,
                       *f->where ? ": " : "", flags[id].name, text,
                       type == FLAG_TYPE_INT ? "an integer" : "a number");
    if (type == FLAG_TYPE_BOOL && !slot.value.on) {
        flags_clear(f, id);
        return ERR_OK;
    }
    if (type == FLAG_TYPE_TEXT || type == FLAG_TYPE_WORDS) {
        slot.value.text = arena_strdup(f->arena, text);
        if (!slot.value.text)
            return err_set(msg, ERR_NOMEM, "flags: out of memory");
    }
    flags_fill(f, id, slot);
    return ERR_OK;
}

void flags_set_int(struct megatron_flags *f, enum flag_id id, int64_t value)
{
    assert(flags[id].type == FLAG_TYPE_INT);
    flags_fill(f, id, (struct flag_slot){.value = {.whole = value}});
}

void flags_set_on(struct megatron_flags *f, enum flag_id id)
{
    assert(flags[id].type == FLAG_TYPE_BOOL);
    flags_fill(f, id, (struct flag_slot){.value = {.on = true}});
}

/* A switch that may be on is as unknown as a size. */
enum err flags_set_unknown(struct megatron_flags *f, enum flag_id id,
                           const struct flag_unknown *unknown,
                           struct err_msg *msg)
{
    struct flag_unknown *u = arena_alloc(f->arena, 1, sizeof *u);
    const char *where = arena_strdup(f->arena, unknown->where);
    const char *why = arena_strdup(f->arena, unknown->why);
    if (!u || !where || !why)
        return err_set(msg, ERR_NOMEM, "flags: out of memory");
    *u = (struct flag_unknown){where, why};
    flags_fill(f, id, (struct flag_slot){.unknown = u});
    return ERR_OK;
}

/* Back to Megatron's default, not to nothing: a command line without the flag.
 */
void flags_clear(struct megatron_flags *f, enum flag_id id)
{
    f->slot[id] = flags_default(id);
}

/* A flag without a row has a turn all the same, so that the trainer's command
 * line has all flags in the order of the source. */
enum err flags_pass(struct megatron_flags *f, const struct flag_passed *flag,
                    struct err_msg *msg)
{
    struct flag_passed *p = arena_alloc(f->arena, 1, sizeof *p);
    const char *name = arena_strdup(f->arena, flag->name);
    const char *text = flag->text ? arena_strdup(f->arena, flag->text) : NULL;
    if (!p || !name || (flag->text && !text))
        return err_set(msg, ERR_NOMEM, "flags: out of memory");
    *p = (struct flag_passed){name, text, flag->words, ++f->n_turns, f->passed};
    f->passed = p;
    return ERR_OK;
}

/* ---- reading slots ---- */

bool flags_given(const struct megatron_flags *f, enum flag_id id)
{
    return f->slot[id].turn > 0;
}

bool flags_unknown(const struct megatron_flags *f, enum flag_id id)
{
    return f->slot[id].unknown != NULL;
}

int64_t flags_int(const struct megatron_flags *f, enum flag_id id,
                  int64_t other)
{
    assert(flags[id].type == FLAG_TYPE_INT);
    return f->slot[id].known ? f->slot[id].value.whole : other;
}

double flags_real(const struct megatron_flags *f, enum flag_id id, double other)
{
    assert(flags[id].type == FLAG_TYPE_REAL);
    return f->slot[id].known ? f->slot[id].value.real : other;
}

const char *flags_text(const struct megatron_flags *f, enum flag_id id)
{
    assert(flags[id].type == FLAG_TYPE_TEXT ||
           flags[id].type == FLAG_TYPE_WORDS);
    return f->slot[id].known ? f->slot[id].value.text : NULL;
}

bool flags_is(const struct megatron_flags *f, enum flag_id id,
              const char *wanted)
{
    const char *text = flags_text(f, id);
    return text && strcmp(text, wanted) == 0;
}

/* After all sources have been read: an override may replace a value that is out
 * of range. */
enum err flags_check_given(const struct megatron_flags *f, struct err_msg *msg)
{
    for (int i = 0; i < N_FLAGS; i++) {
        const struct flag *row = &flags[i];
        if (!f->slot[i].turn || row->type != FLAG_TYPE_INT ||
            f->slot[i].unknown)
            continue;
        int64_t v = f->slot[i].value.whole;
        if (v < row->range.lo || v > row->range.hi)
            return err_set(msg, ERR_RANGE,
                           "%s%s--%s: got %lld, want %lld to %lld", f->where,
                           *f->where ? ": " : "", row->name, (long long)v,
                           (long long)row->range.lo, (long long)row->range.hi);
    }
    return ERR_OK;
}

/* Needed flags in the order of the table. */
enum err flags_check_ranges(const struct megatron_flags *f, struct err_msg *msg)
{
    for (int i = 0; i < N_FLAGS; i++)
        if (!f->slot[i].turn && flags[i].range.needed)
            return err_set(msg, ERR_PARSE, "%s%smodel: --%s: missing", f->where,
                           *f->where ? ": " : "", flags[i].name);
    return flags_check_given(f, msg);
}
