/*
 * Mutated manifests, logs, models, costs and scripts: any answer or refusal,
 * but no crash, no hang, no gigabyte.
 */
#include "soak.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void command(struct soak *s, const char *line)
{
    soak_command(s, &(struct soak_run){.line = line});
}

static void mutated_manifest(struct soak *s)
{
    static const char *const lines[] = {
        "moe-bench run m.json --dry-run", "moe-bench status m.json",
        "moe-bench status m.json --out r",
        "moe-bench publish m.json --out r --to new"};
    soak_copy(s, arena_printf(s->a, "%s/r", s->base), "r");
    soak_copy(s, arena_printf(s->a, "%s/fake_trainer.sh", s->base),
              "fake_trainer.sh");
    soak_mutate(s, arena_printf(s->a, "%s/fake.json", s->base), "m.json");
    command(s, soak_choose(s, lines, COUNT(lines)));
}

static void mutated_log(struct soak *s)
{
    const char *from;
    do
        from = soak_any_file(s, s->base);
    while (!strstr(from, "log.txt") || strstr(from, ".gz"));
    soak_mutate(s, from, "log.txt");
    command(s, "moe-bench parse log.txt");
    command(s, "moe-bench parse log.txt --json");
}

static void mutated_model(struct soak *s)
{
    static const char *const lines[] = {
        "moe-layout size m", "moe-layout memory m --pp 4",
        "moe-layout baselines m --pp 4", "moe-layout read m",
        "moe-layout count m --pp 4"};
    const char *from =
        soak_any_file(s, arena_printf(s->a, "%s/%s", s->fixtures,
                                      soak_pick(s, 2) ? "models" : "scripts"));
    soak_mutate(s, from, "m");
    command(s, soak_choose(s, lines, COUNT(lines)));
}

static void mutated_costs(struct soak *s)
{
    soak_mutate(s, arena_printf(s->a, "%s/r/costs.json", s->base), "c.json");
    command(s, "moe-layout costs c.json");
}

const struct soak_scene soak_of_inputs[] = {
    {"mutated-manifest", mutated_manifest, 4},
    {"mutated-log", mutated_log, 4},
    {"mutated-model", mutated_model, 8},
    {"mutated-costs", mutated_costs, 4},
    {NULL, NULL, 0}};
