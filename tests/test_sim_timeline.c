#include "sim/timeline.h"

#include <criterion/criterion.h>
#include <string.h>

struct fixture {
    struct arena arena;
    struct schedule schedule;
    struct sim_result r;
};

static void set_up(struct fixture *f)
{
    static const double fwd[] = {1e-3, 2e-3}, bwd[] = {2e-3, 3e-3},
                        x[] = {1e-4, 0};
    struct err_msg msg;
    arena_init(&f->arena);
    schedule_1f1b(&f->arena, 2, 3, &f->schedule, &msg);
    const struct sim_input in = {.schedule = &f->schedule,
                                 .fwd_s = fwd,
                                 .bwd_s = bwd,
                                 .x_s = x,
                                 .mode = P2P_BLOCKING,
                                 .want_events = true};
    cr_assert_eq(sim_run(&f->arena, &in, &f->r, &msg), ERR_OK);
}

Test(timeline, trace_holds_every_operation_once)
{
    struct fixture f;
    set_up(&f);
    cJSON *tree = timeline_trace(&f.r, &f.schedule);
    int forward = 0, backward = 0;
    double end = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, json_get(tree, "traceEvents"))
    {
        const cJSON *cat = json_get(e, "cat");
        if (!cat || !json_get(e, "dur"))
            continue; // names of ranks, messages
        forward += strcmp(cat->valuestring, "forward") == 0;
        backward += strcmp(cat->valuestring, "backward") == 0;
        double to =
            json_get(e, "ts")->valuedouble + json_get(e, "dur")->valuedouble;
        end = to > end ? to : end;
    }
    cr_assert_eq(forward, 6);
    cr_assert_eq(backward, 6);
    cr_assert_float_eq(end, f.r.step_s * 1e6, 1e-6);
    cJSON_Delete(tree);
    arena_clear(&f.arena);
}

Test(timeline, drawing_has_a_row_a_rank_and_escapes_its_title)
{
    struct fixture f;
    set_up(&f);
    const char *svg = timeline_svg(&f.arena, &f.r, &f.schedule, "a<b&c");
    cr_assert(strstr(svg, "a&lt;b&amp;c"));
    cr_assert(strstr(svg, ">rank 0<") && strstr(svg, ">rank 1<"));
    cr_assert_null(strstr(svg, ">rank 2<"));
    cr_assert(strstr(svg, "</svg>"));
    arena_clear(&f.arena);
}

/* P 3, V 2 with EP overlap and overlapped transfers. */
static void set_up_chunks(struct fixture *f)
{
    static const double fwd[6] = {1, 2, 1, 2, 1, 2},
                        bwd[6] = {2, 3, 2, 3, 2, 3},
                        x[6] = {0.5, 0.5, 0.5, 0.5, 0.5, 0};
    const struct order o = {3, 2, 6, 3, true};
    struct err_msg msg;
    arena_init(&f->arena);
    cr_assert_eq(schedule_build(&f->arena, &o, P2P_OVERLAP, &f->schedule, &msg),
                 ERR_OK);
    const struct sim_input in = {.schedule = &f->schedule,
                                 .fwd_s = fwd,
                                 .bwd_s = bwd,
                                 .x_s = x,
                                 .mode = P2P_OVERLAP,
                                 .want_events = true};
    cr_assert_eq(sim_run(&f->arena, &in, &f->r, &msg), ERR_OK);
}

static int count_phase(const cJSON *tree, const char *cat, const char *phase)
{
    int n = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, json_get(tree, "traceEvents"))
    {
        const cJSON *c = json_get(e, "cat");
        n += c && strcmp(c->valuestring, cat) == 0 &&
             strcmp(json_get(e, "ph")->valuestring, phase) == 0;
    }
    return n;
}

Test(timeline, trace_shows_chunks_combined_operations_and_messages)
{
    struct fixture f;
    set_up_chunks(&f);
    cJSON *tree = timeline_trace(&f.r, &f.schedule);
    int combined = 0, alone = 0;
    for (int r = 0; r < 3; r++) {
        int warm = order_warmup(&f.schedule.order, r);
        combined += 12 - warm;
        alone += warm;
    }
    cr_assert_eq(count_phase(tree, "combined", "X"), combined);
    cr_assert_eq(count_phase(tree, "forward", "X"), alone);
    cr_assert_eq(count_phase(tree, "backward", "X"), alone);
    // five boundaries, both ways, six micro-batches
    cr_assert_eq(count_phase(tree, "message", "b"), 60);
    cr_assert_eq(count_phase(tree, "message", "e"), 60);
    char *text = cJSON_PrintUnformatted(tree);
    cr_assert(strstr(text, "\"forward B 0\""), "%s", text);
    cr_assert(strstr(text, " + A "));
    cJSON_free(text);
    cJSON_Delete(tree);
    arena_clear(&f.arena);
}

/* Work of a rank follows itself on its track, and every track has its name and
 * its place. */
Test(timeline, trace_has_a_track_a_rank_in_order)
{
    struct fixture f;
    set_up_chunks(&f);
    cJSON *tree = timeline_trace(&f.r, &f.schedule);
    double free_at[3] = {0, 0, 0};
    int names = 0, places = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, json_get(tree, "traceEvents"))
    {
        const char *name = json_get(e, "name")->valuestring;
        const int rank = json_get(e, "tid")->valueint;
        names += strcmp(name, "thread_name") == 0;
        places += strcmp(name, "thread_sort_index") == 0 &&
                  json_get(json_get(e, "args"), "sort_index")->valueint == rank;
        if (!json_get(e, "dur"))
            continue;
        cr_assert_geq(json_get(e, "ts")->valuedouble, free_at[rank] - 1e-6);
        free_at[rank] =
            json_get(e, "ts")->valuedouble + json_get(e, "dur")->valuedouble;
    }
    cr_assert(names == 3 && places == 3);
    cJSON_Delete(tree);
    arena_clear(&f.arena);
}

/* A number stands where its digits fit: drawn wide, all of twelve have room. */
Test(timeline, messages_are_seen_and_numbers_fit)
{
    struct fixture f;
    set_up_chunks(&f);
    const char *svg = timeline_svg(&f.arena, &f.r, &f.schedule, "t");
    int numbers = 0;
    for (const char *p = svg; (p = strstr(p, "text-anchor")); p++)
        numbers++;
    int want = 0; // combined operations have two
    for (int i = 0; i < f.r.n_events; i++)
        want +=
            f.r.events[i].kind == OP_COMBINED
                ? 2
                : f.r.events[i].mb != NO_MB && f.r.events[i].kind != OP_POST;
    cr_assert_eq(numbers, want);
    arena_clear(&f.arena);
}

/* Messages lie on the sender's row; no event leaves the drawing. */
Test(timeline, drawing_has_a_colour_a_chunk)
{
    struct fixture f;
    set_up_chunks(&f);
    const char *svg = timeline_svg(&f.arena, &f.r, &f.schedule, "t");
    cr_assert(strstr(svg, ">chunk A<") && strstr(svg, ">chunk B<"));
    cr_assert_null(strstr(svg, ">chunk C<"));
    cr_assert(strstr(svg, "#a6cee3") && strstr(svg, "#c05f00"));
    for (int i = 0; i < f.r.n_events; i++) {
        cr_assert_leq(f.r.events[i].end_s, f.r.step_s);
        cr_assert_lt(f.r.events[i].rank, 3);
        cr_assert_lt(f.r.events[i].chunk, 2);
    }
    arena_clear(&f.arena);
}
