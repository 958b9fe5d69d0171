#include "card.h"

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

/* True when `name` is the row's or a variant of it. */
static bool card_is(const char *row, const char *name)
{
    for (; *row; row++, name++)
        if (toupper((unsigned char)*row) != toupper((unsigned char)*name))
            return false;
    return !*name || *name == '-' || *name == ' ' || *name == '_';
}

enum err card_find(const char *name, const char *where, const struct card **out,
                   struct err_msg *msg)
{
    char known[256] = "";
    for (int i = 0; i < N_CARDS; i++) {
        const size_t at = strlen(known);
        if (card_is(CARDS[i].name, name)) {
            *out = &CARDS[i];
            return ERR_OK;
        }
        snprintf(known + at, sizeof known - at, "%s%s", i > 0 ? ", " : "",
                 CARDS[i].name);
    }
    return err_set(msg, ERR_PARSE, "%s: got '%s', want one of %s", where, name,
                   known);
}
