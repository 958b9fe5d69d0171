#include "plan/timeline.h"

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
    cJSON *tree = timeline_trace(&f.r, 2);
    int forward = 0, backward = 0;
    double end = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, json_get(tree, "traceEvents"))
    {
        const cJSON *cat = json_get(e, "cat");
        if (!cat)
            continue; // names of ranks
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
    const char *svg = timeline_svg(&f.arena, &f.r, 2, "a<b&c");
    cr_assert(strstr(svg, "a&lt;b&amp;c"));
    cr_assert(strstr(svg, ">rank 0<") && strstr(svg, ">rank 1<"));
    cr_assert_null(strstr(svg, ">rank 2<"));
    cr_assert(strstr(svg, "</svg>"));
    arena_clear(&f.arena);
}
