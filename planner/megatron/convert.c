/*
 * How it works: from JSON every value becomes the text that a command line
 * would have, so that one parser judges both. To an argument vector, flags go
 * in the order of their turns: what was given last comes last, as on the line
 * it came from.
 */
#include "convert.h"

#include "base/join.h"

#include <stdlib.h>
#include <string.h>

/* ---- from JSON ---- */

/* 15 digits give every decimal text of so many back, 17 every double. */
const char *flag_number_text(struct arena *a, double value)
{
    const char *text = arena_printf(a, "%.15g", value);
    if (text && strtod(text, NULL) != value)
        text = arena_printf(a, "%.17g", value);
    return text;
}

/* "[1,1,0]", as Megatron evaluates lists. */
static const char *convert_numbers(struct arena *a, const cJSON *list)
{
    struct join all = join_begin(a);
    join_add(&all, "[");
    for (const cJSON *c = list->child; c; c = c->next) {
        const char *one = flag_number_text(a, c->valuedouble);
        if (!one)
            return NULL;
        join_add(&all, c == list->child ? "" : ",");
        join_add(&all, one);
    }
    join_add(&all, "]");
    return join_end(&all);
}

/* Words of a list go to one text, as args keeps them; a blank would part one,
 * and no module's name has any. */
static const char *convert_strings(struct arena *a, const cJSON *list)
{
    struct join all = join_begin(a);
    for (const cJSON *c = list->child; c; c = c->next) {
        join_add(&all, all.n ? " " : "");
        join_add(&all, c->valuestring);
    }
    return join_end(&all);
}

/* A list is one value where all are numbers (a frequency), and several values
 * where all are strings (modules); Megatron has no flag that mixes them. */
static enum flag_json convert_list(struct arena *a, const cJSON *list,
                                   const char **out)
{
    int n = 0, n_numbers = 0, n_strings = 0;
    for (const cJSON *c = list->child; c; c = c->next, n++) {
        n_numbers += cJSON_IsNumber(c);
        n_strings += cJSON_IsString(c);
    }
    if (n_numbers < n && n_strings < n)
        return FLAG_JSON_BAD;
    *out = n_numbers == n ? convert_numbers(a, list) : convert_strings(a, list);
    return n_numbers == n ? FLAG_JSON_WORD : FLAG_JSON_WORDS;
}

/* The forms that a command line knows: not there, a switch, a word, several. */
enum flag_json flag_from_json(struct arena *a, const cJSON *item,
                              const char **text)
{
    *text = NULL;
    // a switch that is false and a flag that is null are not on a command line
    if (cJSON_IsNull(item) || cJSON_IsFalse(item))
        return FLAG_JSON_OFF;
    if (cJSON_IsTrue(item))
        return FLAG_JSON_ON;
    if (cJSON_IsArray(item))
        return convert_list(a, item, text);
    if (cJSON_IsString(item))
        *text = item->valuestring;
    else if (cJSON_IsNumber(item))
        *text = flag_number_text(a, item->valuedouble);
    else
        return FLAG_JSON_BAD;
    return FLAG_JSON_WORD;
}

/* ---- to an argument vector ---- */

/* What was given at one turn; name NULL: since taken back or left out. */
struct convert_entry {
    const char *name, *value; // value NULL: a switch
    bool words;               // of the value each is an argument
};

/* From the slot and not from the text that was given: a value that another
 * source put there has no text. */
static const char *convert_value(struct arena *a, const struct flag_slot *slot,
                                 enum flag_type type)
{
    if (type == FLAG_TYPE_INT)
        return arena_printf(a, "%lld", (long long)slot->value.whole);
    if (type == FLAG_TYPE_REAL)
        return flag_number_text(a, slot->value.real);
    return slot->value.text;
}

/* The list ends with FLAG_NONE; it has some five members. */
static bool convert_is_left_out(enum flag_id id, const enum flag_id *without)
{
    for (; *without != FLAG_NONE; without++)
        if (*without == id)
            return true;
    return false;
}

/* One entry a turn; NULL when out of memory. */
static struct convert_entry *convert_turns(struct arena *a,
                                           const struct megatron_flags *f,
                                           const enum flag_id *without)
{
    struct convert_entry *all =
        arena_alloc(a, (size_t)f->n_turns + 1, sizeof *all);
    for (int i = 0; i < N_FLAGS && all; i++) {
        const struct flag_slot *slot = &f->slot[i];
        enum flag_type type = flag_type((enum flag_id)i);
        if (!slot->turn || convert_is_left_out((enum flag_id)i, without))
            continue;
        // turns count from 1, and each belongs to one flag: a list by turn is
        // in order
        struct convert_entry *to = &all[slot->turn];
        to->name = flag_name((enum flag_id)i);
        to->words = type == FLAG_TYPE_WORDS;
        to->value =
            type == FLAG_TYPE_BOOL ? NULL : convert_value(a, slot, type);
        if (type != FLAG_TYPE_BOOL && !to->value)
            return NULL;
    }
    for (const struct flag_passed *p = f->passed; p && all; p = p->next)
        all[p->turn] = (struct convert_entry){p->name, p->text, p->words};
    return all;
}

/* Adds the words of a text that are parted by spaces. */
static bool convert_add_words(struct arena *a, const char *text,
                              struct flag_words *out)
{
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t n = strcspn(text, " ");
        out->word[out->n] = arena_strndup(a, text, n);
        if (!out->word[out->n++])
            return false;
        text += n;
    }
    return true;
}

/* Arguments that the entry may become: its name and its values. */
static size_t convert_room(const struct convert_entry *e)
{
    return e->value && e->words ? 1 + strlen(e->value) : 2;
}

static bool convert_add(struct arena *a, const struct convert_entry *e,
                        struct flag_words *out)
{
    out->word[out->n] = arena_printf(a, "--%s", e->name);
    if (!out->word[out->n++])
        return false;
    if (e->value && e->words)
        return convert_add_words(a, e->value, out);
    if (e->value)
        out->word[out->n++] = e->value;
    return true;
}

/* In the order in which they were given, so that a user finds them again;
 * `without` are those that another layout makes void. */
enum err flags_to_argv(struct arena *a, const struct megatron_flags *f,
                       const enum flag_id *without, struct flag_words *out,
                       struct err_msg *msg)
{
    struct convert_entry *all = convert_turns(a, f, without);
    size_t room = 1;
    for (int t = 1; t <= f->n_turns && all; t++)
        room += convert_room(&all[t]);
    struct flag_words words = {arena_alloc(a, room, sizeof *words.word), 0};
    bool ok = all && words.word;
    for (int t = 1; t <= f->n_turns && ok; t++)
        ok = !all[t].name || convert_add(a, &all[t], &words);
    if (!ok)
        return err_set(msg, ERR_NOMEM, "flags: out of memory");
    *out = words;
    return ERR_OK;
}
