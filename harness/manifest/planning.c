/*
 * How it works: each list is one function, which takes room for as many entries
 * as the list has and fills them with a reader of the document. The document
 * keeps the first error, so nothing here returns one.
 */
#include "planning.h"

// more is a slip: a way takes minutes with a grid of ratios
enum { MAX_WAYS = 32, MAX_RECIPES = 64, MAX_RATIOS = 16 };

/* Sizes as schedule/order.h has them. */
static const struct json_range SIZE = {1, 1024};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Room for the elements of a list of objects, of which there may be none only
 * where `optional`; NULL where there are none. */
static void *planning_room(struct reader at, const char *key, size_t size,
                           bool optional, int most)
{
    struct reader list = reader_list(at, key);
    int n = reader_count(list);
    if (!reader_is_ok(at) || (n == 0 && optional))
        return NULL;
    if (n < 1 || n > most) {
        reader_fail_at(at, key, ERR_RANGE, "got %d entries, want 1 to %d", n,
                       most);
        return NULL;
    }
    void *room = arena_alloc(at.doc->a, (size_t)n, size);
    if (!room)
        reader_fail(list, ERR_NOMEM, "out of memory");
    return room;
}

/* One chunk a rank where nothing is said, as Megatron has it. */
static void planning_split(struct reader item, int *pp, int *vpp)
{
    *vpp = 1;
    reader_require(item, "pp", "the pipeline size");
    reader_int(item, "pp", SIZE, pp);
    reader_int(item, "vpp", SIZE, vpp);
}

static void planning_read_ways(struct reader s, struct planning *out)
{
    static const char *const keys[] = {"pp", "vpp", "ep", "standalone_mtp"};
    struct planning_way *w =
        planning_room(s, "ways", sizeof *w, false, MAX_WAYS);
    struct reader c = reader_first(reader_list(s, "ways"));
    int n = 0;
    for (; w && c.item; c = reader_next(c), n++) {
        reader_keys(c, keys, COUNT(keys));
        w[n] = (struct planning_way){0};
        planning_split(c, &w[n].pp, &w[n].vpp);
        reader_int(c, "ep", SIZE, &w[n].ep);
        reader_bool(c, "standalone_mtp", &w[n].standalone_mtp);
        // recipes find their way by this pair
        for (int i = 0; i < n && reader_is_ok(c); i++)
            if (w[i].pp == w[n].pp && w[i].vpp == w[n].vpp)
                reader_fail(c, ERR_PARSE, "pp %d with vpp %d is given twice",
                            w[n].pp, w[n].vpp);
    }
    out->way = w;
    out->n_ways = n;
}

/* A recipe for a way that is not planned would be read and never seen. */
static void planning_check_recipe(struct reader item,
                                  const struct planning_recipe *r,
                                  const struct planning *p)
{
    for (int i = 0; i < p->n_ways; i++)
        if (p->way[i].pp == r->pp && p->way[i].vpp == r->vpp)
            return;
    if (reader_is_ok(item))
        reader_fail(item, ERR_RANGE,
                    "got pp %d with vpp %d, want a pair of 'ways'", r->pp,
                    r->vpp);
}

static void planning_read_recipes(struct reader s, struct planning *out)
{
    static const char *const keys[] = {"pp", "vpp", "layout", "source"};
    struct planning_recipe *r =
        planning_room(s, "recipes", sizeof *r, true, MAX_RECIPES);
    struct reader c = reader_first(reader_list(s, "recipes"));
    int n = 0;
    for (; r && c.item; c = reader_next(c), n++) {
        reader_keys(c, keys, COUNT(keys));
        r[n] = (struct planning_recipe){0};
        planning_split(c, &r[n].pp, &r[n].vpp);
        reader_require(c, "layout", "a layout string");
        reader_require(c, "source", "where it was published");
        reader_text(c, "layout", &r[n].layout);
        reader_text(c, "source", &r[n].source);
        planning_check_recipe(c, &r[n], out);
    }
    out->recipe = r;
    out->n_recipes = n;
}

/* [false, true]: which of both are planned; both where nothing is said. */
static void planning_read_overlap(struct reader s, struct planning *out)
{
    struct reader list = reader_list(s, "ep_overlap");
    out->without_overlap = out->with_overlap = reader_count(list) == 0;
    for (struct reader c = reader_first(list); c.item; c = reader_next(c)) {
        if (!cJSON_IsBool(c.item))
            reader_fail(c, ERR_PARSE, "want true or false");
        else if (cJSON_IsTrue(c.item))
            out->with_overlap = true;
        else
            out->without_overlap = true;
    }
}

static void planning_read_list(struct reader s, const char *key,
                               struct planning_ratios *out)
{
    // beyond these a layer count decides, and the head is no unit among others
    const struct json_range range = {0.01, 100};
    double *x = planning_room(s, key, sizeof *x, true, MAX_RATIOS);
    struct reader c = reader_first(reader_list(s, key));
    int n = 0;
    for (; x && c.item; c = reader_next(c), n++)
        reader_double_here(c, range, &x[n]);
    *out = (struct planning_ratios){x, n};
}

static void planning_read_ratios(struct reader s, struct planning *out)
{
    static const char *const keys[] = {"m", "L", "time_limit_s"};
    struct reader r = reader_object(s, "ratios");
    reader_keys(r, keys, COUNT(keys));
    planning_read_list(r, "m", &out->m);
    planning_read_list(r, "L", &out->l);
    // searches with ratios are many: theirs may be a shorter one
    out->ratio_limit_s = out->time_limit_s;
    reader_double(r, "time_limit_s", (struct json_range){0.001, 1e6},
                  &out->ratio_limit_s);
}

/* What hybrid models do not have: EP overlap, m apart from the loss. Ratios are
 * of whole layers. */
static void planning_check_hybrid(struct reader s, const struct planning *p)
{
    bool standalone = false;
    for (int i = 0; i < p->n_ways; i++)
        standalone = standalone || p->way[i].standalone_mtp;
    if (p->hybrid && reader_is_ok(s) &&
        (p->with_overlap || standalone || p->m.n + p->l.n > 0))
        reader_fail(s, ERR_RANGE,
                    "hybrid: wants 'ep_overlap': [false] and neither "
                    "'standalone_mtp' nor 'ratios'");
}

void planning_read(struct reader top, struct planning *out)
{
    static const char *const keys[] = {"ways",   "recipes",      "ep_overlap",
                                       "ratios", "save_share",   "tflops",
                                       "flags",  "time_limit_s", "hybrid"};
    struct reader s = reader_object(top, "plan");
    *out =
        (struct planning){.save_share = 0, .tflops = 100, .time_limit_s = 10};
    if (!reader_is_there(s))
        return;
    reader_keys(s, keys, COUNT(keys));
    // a pair of layers cannot take less than one of them: half of both
    reader_double(s, "save_share", (struct json_range){0, 0.9},
                  &out->save_share);
    reader_double(s, "tflops", (struct json_range){1e-6, 1e9}, &out->tflops);
    reader_double(s, "time_limit_s", (struct json_range){0.001, 1e6},
                  &out->time_limit_s);
    planning_read_ways(s, out);
    planning_read_recipes(s, out);
    planning_read_overlap(s, out);
    planning_read_ratios(s, out);
    reader_bool(s, "hybrid", &out->hybrid);
    planning_check_hybrid(s, out);
    int n = reader_texts(s, "flags", PLANNING_MAX_FLAGS, &out->flags);
    out->n_flags = n > 0 ? n : 0;
}
