#include "card.h"

#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TERA 1e12
#define GIGA 1e9

/* A100 has no FP8 units: such a model's products run at the rate of 16 bits.
 * Networks: one adapter a card, 200 Gbit/s with A100, 400 with Hopper and the
 * first Blackwells, 800 with Blackwell Ultra. */
const struct card CARDS[] = {
    {"A100", 312 * TERA, 312 * TERA, 2039 * GIGA, 300 * GIGA, 8, 25 * GIGA,
     "NVIDIA A100 data sheet (80 GB SXM); DGX A100"},
    {"H100", 989.4 * TERA, 1978.9 * TERA, 3350 * GIGA, 450 * GIGA, 8, 50 * GIGA,
     "NVIDIA H100 data sheet (SXM); DGX H100"},
    {"H200", 989.4 * TERA, 1978.9 * TERA, 4800 * GIGA, 450 * GIGA, 8, 50 * GIGA,
     "NVIDIA H200 data sheet (SXM); DGX H200"},
    {"GH200", 989.4 * TERA, 1978.9 * TERA, 4800 * GIGA, 450 * GIGA, 1,
     50 * GIGA, "NVIDIA GH200 data sheet (144 GB HBM3e)"},
    {"B200", 2250 * TERA, 4500 * TERA, 7700 * GIGA, 900 * GIGA, 8, 50 * GIGA,
     "verda.com/blog/gb300-nvl72-architecture; DGX B200"},
    {"B300", 2250 * TERA, 4500 * TERA, 7700 * GIGA, 900 * GIGA, 8, 100 * GIGA,
     "verda.com/blog/gb300-nvl72-architecture; DGX B300"},
    {"GB200", 2500 * TERA, 5000 * TERA, 8000 * GIGA, 900 * GIGA, 72, 50 * GIGA,
     "glennklockwood.com/garden/processors/B200 (NVL72, 1200 W)"},
    {"GB300", 2500 * TERA, 5000 * TERA, 8000 * GIGA, 900 * GIGA, 72, 100 * GIGA,
     "verda.com/blog/gb300-nvl72-architecture (NVL72)"},
    {"MI300X", 1307.4 * TERA, 2614.9 * TERA, 5300 * GIGA, 448 * GIGA, 8,
     50 * GIGA, "AMD Instinct MI300X data sheet: 7 links of 64 GB/s a way"},
    {"MI325X", 1307.4 * TERA, 2614.9 * TERA, 6000 * GIGA, 448 * GIGA, 8,
     50 * GIGA, "AMD Instinct MI325X data sheet"},
    {"MI355X", 2500 * TERA, 5000 * TERA, 8000 * GIGA, 537.6 * GIGA, 8,
     50 * GIGA, "AMD Instinct MI355X data sheet: 7 links of 76.8 GB/s a way"},
};
const int N_CARDS = sizeof CARDS / sizeof CARDS[0];

enum { CARD_WORD = 32 }; // of a name, with its end

static bool card_parts(char c)
{
    return c == ' ' || c == '-' || c == '_';
}

/* The next word of `p` in capitals, and what is behind it. */
static const char *card_word(const char *p, char word[CARD_WORD])
{
    size_t n = 0;
    while (card_parts(*p))
        p++;
    for (; *p && !card_parts(*p); p++)
        if (n + 1 < CARD_WORD)
            word[n++] = (char)toupper((unsigned char)*p);
    word[n] = '\0';
    return p;
}

const char *card_without_maker(const char *name)
{
    static const char *const makers[] = {"NVIDIA", "AMD", "INSTINCT"};
    char word[CARD_WORD];
    const char *rest = card_word(name, word);
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (strcmp(word, makers[i]) == 0 && card_parts(*rest))
            return card_without_maker(rest + 1);
    return name;
}

/* Cards of the same name whose data sheet is another one. */
static const struct {
    const char *row, *word;
} CARD_OTHERS[] = {
    {"A100", "40GB"}, {"A100", "PCIE"}, {"H100", "PCIE"},
    {"H100", "NVL"},  {"H200", "NVL"},
};

/* True when `name` is the row's or a variant of it; `*other` is then the word
 * that makes it a card of another data sheet, or "". */
static bool card_is(const char *row, const char *name, char other[CARD_WORD])
{
    char word[CARD_WORD];
    const char *rest = card_word(card_without_maker(name), word);
    const bool is = strcmp(word, row) == 0;
    other[0] = '\0';
    while (is && *rest && !*other) {
        rest = card_word(rest, word);
        for (size_t i = 0; i < sizeof CARD_OTHERS / sizeof *CARD_OTHERS; i++)
            if (strcmp(CARD_OTHERS[i].row, row) == 0 &&
                strcmp(CARD_OTHERS[i].word, word) == 0)
                memcpy(other, word, CARD_WORD);
    }
    return is;
}

/* Cards that are no slip of the pen for one of the table. */
static bool card_is_another(const char *word)
{
    static const char *const names[] = {
        "A10",    "A30",   "A40",   "A800",   "B100",   "GB10",
        "H20",    "H800",  "K100",  "L20",    "L40",    "L40S",
        "MI100",  "MI210", "MI250", "MI250X", "MI300A", "MI308X",
        "MI350X", "P100",  "V100",  "Z100"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

const struct card *card_near(const char *name)
{
    char first[CARD_WORD], whole[CARD_WORD];
    const struct card *near = NULL;
    size_t n = 0;
    card_word(name, first);
    for (const char *p = name; *p && n + 1 < CARD_WORD; p++)
        if (!card_parts(*p))
            whole[n++] = (char)toupper((unsigned char)*p);
    whole[n] = '\0';
    if (card_without_maker(name) != name || card_is_another(first))
        return NULL;
    for (int i = 0; i < N_CARDS && !near; i++) {
        const char *row = CARDS[i].name;
        if (strncmp(first, row, strlen(row)) == 0 || strcmp(whole, row) == 0)
            near = &CARDS[i];
    }
    for (int i = 0; i < N_CARDS && !near; i++)
        if (text_nearest(first, &CARDS[i].name, 1))
            near = &CARDS[i];
    return near;
}

/* Names what is near, and all. */
static enum err card_unknown(const char *name, const char *where,
                             struct err_msg *msg)
{
    char known[256] = "";
    const struct card *near = card_near(name);
    for (int i = 0; i < N_CARDS; i++) {
        const size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", i > 0 ? ", " : "",
                 CARDS[i].name);
    }
    return err_set(msg, ERR_PARSE, "%s: got '%s'%s%s%s, want one of %s", where,
                   name, near ? " (is it " : "", near ? near->name : "",
                   near ? "?)" : "", known);
}

enum err card_find(const char *name, const char *where, const struct card **out,
                   struct err_msg *msg)
{
    char other[CARD_WORD];
    for (int i = 0; i < N_CARDS; i++) {
        if (!card_is(CARDS[i].name, name, other))
            continue;
        if (*other)
            return err_set(msg, ERR_RANGE,
                           "%s: got '%s', and the figures known of %s are not "
                           "those of its variant %s (%s)",
                           where, name, CARDS[i].name, other, CARDS[i].source);
        *out = &CARDS[i];
        return ERR_OK;
    }
    return card_unknown(name, where, msg);
}
