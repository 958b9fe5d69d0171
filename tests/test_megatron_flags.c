#include "megatron/flags.h"

#include <criterion/criterion.h>
#include <string.h>

struct fixture {
    struct arena arena;
    struct megatron_flags f;
    struct err_msg msg;
};

static void set_up(struct fixture *x)
{
    *x = (struct fixture){.msg = {""}};
    arena_init(&x->arena);
    flags_init(&x->f, &x->arena);
}

static enum flag_id named(const char *name)
{
    return flag_by_name(name, strlen(name));
}

Test(flags, slots_hold_what_the_type_says)
{
    struct fixture x;
    set_up(&x);
    cr_assert_eq(flags_set(&x.f, FLAG_NUM_LAYERS, "12", &x.msg), ERR_OK);
    cr_assert_eq(flags_set(&x.f, FLAG_HIDDEN_DROPOUT, "2.5e-1", &x.msg),
                 ERR_OK);
    char text[] = "Et|tL";
    cr_assert_eq(flags_set(&x.f, FLAG_LAYOUT, text, &x.msg), ERR_OK);
    text[0] = 'x'; // a copy was taken
    flags_set_on(&x.f, FLAG_SWIGLU);
    cr_assert_eq(flags_int(&x.f, FLAG_NUM_LAYERS, 0), 12);
    cr_assert_eq(flags_real(&x.f, FLAG_HIDDEN_DROPOUT, 0), 0.25);
    cr_assert_str_eq(flags_text(&x.f, FLAG_LAYOUT), "Et|tL");
    cr_assert(flags_given(&x.f, FLAG_SWIGLU));
    arena_clear(&x.arena);
}

Test(flags, defaults_are_values_but_not_given)
{
    struct fixture x;
    set_up(&x);
    cr_assert_eq(flags_int(&x.f, FLAG_MOE_ROUTER_TOPK, 7), 2);
    cr_assert_eq(flags_real(&x.f, FLAG_HIDDEN_DROPOUT, 7), 0.1);
    cr_assert(flags_is(&x.f, FLAG_NORMALIZATION, "LayerNorm"));
    cr_assert_eq(flags_int(&x.f, FLAG_NUM_LAYERS, 7), 7, "no default");
    cr_assert_null(flags_text(&x.f, FLAG_LAYOUT));
    for (int i = 0; i < N_FLAGS; i++)
        cr_assert_not(flags_given(&x.f, (enum flag_id)i));
    flags_set_int(&x.f, FLAG_MOE_ROUTER_TOPK, 8);
    flags_clear(&x.f, FLAG_MOE_ROUTER_TOPK);
    cr_assert_not(flags_given(&x.f, FLAG_MOE_ROUTER_TOPK));
    cr_assert_eq(flags_int(&x.f, FLAG_MOE_ROUTER_TOPK, 7), 2);
    arena_clear(&x.arena);
}

Test(flags, a_switch_is_off_for_anything_but_true)
{
    static const struct {
        const char *text;
        bool on;
    } cases[] = {
        {"true", true}, {"True", true}, {"False", false}, {"1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture x;
        set_up(&x);
        flags_set_on(&x.f, FLAG_SWIGLU);
        cr_assert_eq(flags_set(&x.f, FLAG_SWIGLU, cases[i].text, &x.msg),
                     ERR_OK);
        cr_expect_eq(flags_given(&x.f, FLAG_SWIGLU), cases[i].on, "%s",
                     cases[i].text);
        arena_clear(&x.arena);
    }
}

Test(flags, texts_of_another_type_are_refused)
{
    static const struct {
        enum flag_id id;
        const char *text, *wanted;
    } bad[] = {{FLAG_NUM_LAYERS, "12.5", "want an integer"},
               {FLAG_NUM_LAYERS, "", "want an integer"},
               {FLAG_NUM_LAYERS, "9999999999999999999", "want an integer"},
               {FLAG_HIDDEN_DROPOUT, "none", "want a number"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct fixture x;
        set_up(&x);
        cr_assert_eq(flags_set(&x.f, bad[i].id, bad[i].text, &x.msg),
                     ERR_PARSE);
        cr_expect(strstr(x.msg.text, bad[i].wanted), "%s", x.msg.text);
        cr_expect(strstr(x.msg.text, flag_name(bad[i].id)));
        cr_expect_not(flags_given(&x.f, bad[i].id));
        arena_clear(&x.arena);
    }
}

Test(flags, other_names_fill_the_same_slot)
{
    cr_assert_eq(named("num-layers"), FLAG_NUM_LAYERS);
    cr_assert_eq(named("encoder-num-layers"), FLAG_NUM_LAYERS);
    cr_assert_eq(named("encoder-seq-length"), FLAG_SEQ_LENGTH);
    cr_assert_eq(named("model-parallel-size"), FLAG_TP);
    cr_assert_eq(named("num-layers-in-first-pipeline-stage"),
                 FLAG_FIRST_LAYERS);
    cr_assert_eq(named("num-layers-in-last-pipeline-stage"), FLAG_LAST_LAYERS);
    cr_assert_eq(named("num-moe-experts"), FLAG_NUM_EXPERTS);
    cr_assert_eq(named("num-layer"), FLAG_NONE);
    cr_assert_eq(flag_by_name("num-layers-x", 10), FLAG_NUM_LAYERS);
    cr_assert_eq(named(""), FLAG_NONE);
}

Test(flags, opposites_are_names_of_a_dump_only)
{
    bool opposite = false;
    cr_assert_eq(flag_by_argument("add-bias-linear", &opposite),
                 FLAG_DISABLE_BIAS_LINEAR);
    cr_assert(opposite);
    cr_assert_eq(flag_by_argument("hidden-size", &opposite), FLAG_HIDDEN_SIZE);
    cr_assert_not(opposite);
    cr_assert_eq(named("add-bias-linear"), FLAG_NONE);
    cr_assert_eq(named("!add-bias-linear"), FLAG_NONE);
}

/* No name of the table stands for two rows. */
Test(flags, names_are_unique)
{
    for (int i = 0; i < N_FLAGS; i++)
        cr_expect_eq(named(flag_name((enum flag_id)i)), (enum flag_id)i, "%s",
                     flag_name((enum flag_id)i));
}

/* A default that its own row would refuse is a typing error of ours. */
Test(flags, defaults_lie_within_their_ranges)
{
    struct fixture x;
    set_up(&x);
    for (int i = 0; i < N_FLAGS; i++) {
        const struct flag_range r = flag_range((enum flag_id)i);
        cr_expect_leq(r.lo, r.hi, "%s", flag_name((enum flag_id)i));
        if (flag_type((enum flag_id)i) != FLAG_TYPE_INT) {
            cr_expect_eq(r.lo, INT64_MIN, "%s", flag_name((enum flag_id)i));
            continue;
        }
        int64_t v = flags_int(&x.f, (enum flag_id)i, r.lo);
        cr_expect(v >= r.lo && v <= r.hi, "%s", flag_name((enum flag_id)i));
    }
    arena_clear(&x.arena);
}

static void set_needed(struct fixture *x)
{
    set_up(x);
    flags_set_int(&x->f, FLAG_NUM_LAYERS, 2);
    flags_set_int(&x->f, FLAG_HIDDEN_SIZE, 8);
    flags_set_int(&x->f, FLAG_NUM_ATTENTION_HEADS, 2);
}

Test(flags, ranges_are_checked_at_both_ends)
{
    for (int i = 0; i < N_FLAGS; i++) {
        const enum flag_id id = (enum flag_id)i;
        const struct flag_range r = flag_range(id);
        if (flag_type(id) != FLAG_TYPE_INT || r.lo == INT64_MIN)
            continue;
        const int64_t values[] = {r.lo, r.hi, r.lo - 1, r.hi + 1};
        for (int k = 0; k < 4; k++) {
            struct fixture x;
            set_needed(&x);
            flags_set_int(&x.f, id, values[k]);
            cr_expect_eq(flags_check_ranges(&x.f, &x.msg),
                         k < 2 ? ERR_OK : ERR_RANGE, "%s %lld", flag_name(id),
                         (long long)values[k]);
            arena_clear(&x.arena);
        }
    }
}

Test(flags, what_is_needed_must_be_given)
{
    static const enum flag_id needed[] = {FLAG_NUM_LAYERS, FLAG_HIDDEN_SIZE,
                                          FLAG_NUM_ATTENTION_HEADS};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        struct fixture x;
        set_needed(&x);
        flags_clear(&x.f, needed[i]);
        cr_assert_eq(flags_check_ranges(&x.f, &x.msg), ERR_PARSE);
        cr_assert(strstr(x.msg.text, "missing") &&
                      strstr(x.msg.text, flag_name(needed[i])),
                  "%s", x.msg.text);
        arena_clear(&x.arena);
    }
}
