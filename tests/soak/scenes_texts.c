/*
 * Texts that are cut or turned into others without a word: zero bytes in
 * everything that is read as text, and switches of a YAML file. The answers are
 * known: a refusal with the place, or the model that the words say.
 */
#include "soak.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int command(struct soak *s, const char *line)
{
    return soak_command(s, &(struct soak_run){.line = line});
}

/* ---- zero bytes ---- */

/* A file below `fixtures` or `base`, and what reads it under the name z. */
struct form {
    const char *path, *line;
    bool json;
};

static const struct form forms[] = {
    {"scripts/launch.sh", "moe-layout size z", false},
    {"scripts/launch.sh", "moe-layout read z --json", false},
    {"scripts/arrays.sh", "moe-layout check z", false},
    {"models/recipe.yaml", "moe-layout size z", false},
    {"models/ci.yaml", "moe-layout read z", false},
    {"models/hf-mixtral-8x7b.json", "moe-layout size z", true},
    {"models/hf-deepseek-v3.json", "moe-layout memory z --pp 4", true},
    {"../../experiments/models/7b-a1b.json", "moe-layout size z", true},
    {"../../experiments/models/glm-4.5.json", "moe-layout read z", true},
    {"fake.json", "moe-bench run z --dry-run", true},
    {"fake.json", "moe-bench status z", true},
    {"base/r/costs.json", "moe-layout costs z", true},
    {"base/r/costs.json",
     "moe-layout plan ../base/model.json --pp 4 --gbs 8 --costs z", true},
    {"batch", "moe-layout check --batch z", false},
    {"batch", "moe-layout memory --batch z", false},
    {"batch", "moe-layout simulate --batch z", false}};

static const char *text_of(struct soak *s, const struct form *f)
{
    if (strcmp(f->path, "batch") == 0)
        return "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n";
    return soak_text(s,
                     strncmp(f->path, "base/", 5) == 0
                         ? arena_printf(s->a, "%s/%s", s->base, f->path + 5)
                         : arena_printf(s->a, "%s/%s", s->fixtures, f->path));
}

/* Behind a quote that begins a string: the texts have none with escapes. */
static size_t place_in_string(struct soak *s, const char *text)
{
    size_t n = 0, want;
    for (const char *p = text; *p; p++)
        n += *p == '"';
    if (n < 2)
        return 0;
    want = 2 * soak_pick(s, n / 2);
    for (const char *p = text; *p; p++)
        if (*p == '"' && want-- == 0)
            return (size_t)(p - text) + 1;
    return 0;
}

/* The text with `n` bytes more at a place, as the file z. */
static void write_with(struct soak *s, const char *text, size_t at,
                       const char *more, size_t n)
{
    size_t len = strlen(text);
    char *all = arena_alloc(s->a, len + n, 1);
    memcpy(all, text, at);
    memcpy(all + at, more, n);
    memcpy(all + at + n, text + at, len - at);
    soak_write(s, "z", all, len + n);
}

static void zero_bytes(struct soak *s)
{
    const struct form *f = &forms[soak_pick(s, COUNT(forms))];
    const char *text = text_of(s, f);
    if (f->json && soak_pick(s, 3) == 0)
        write_with(s, text, place_in_string(s, text), "\\u0000", 6);
    else
        write_with(s, text, soak_pick(s, strlen(text) + 1), "\0\0",
                   1 + soak_pick(s, 2));
    if (command(s, f->line) != 2 || !strstr(soak_text(s, "err"), "zero byte"))
        soak_fail(s, "a zero byte in %s is not refused by '%s': %.200s",
                  f->path, f->line, soak_text(s, "err"));
}

/* Logs hold them: between lines they change nothing. */
static void zeros_in_log(struct soak *s)
{
    const char *path = arena_printf(s->a, "%s/models/dump.log", s->fixtures);
    const char *text = soak_text(s, path);
    command(s, arena_printf(s->a, "moe-layout size %s", path));
    const char *want = soak_text(s, "out");
    size_t at = soak_pick(s, strlen(text)), n = 1 + soak_pick(s, 3);
    at = strcspn(text + at, "\n") + at;
    write_with(s, text, at + (text[at] == '\n'),
               "\0\0\0\n\0\n\n\0\0" + 3 * n - 3, 3);
    if (command(s, "moe-layout size z") != 0 ||
        strcmp(want, soak_text(s, "out")) != 0)
        soak_fail(s, "zero bytes between lines change a log's model: %.200s",
                  soak_text(s, "err"));
}

/* ---- switches ---- */

enum says { SAYS_YES, SAYS_NO, SAYS_NEITHER };

/* As Python's reader has it, of a flat file, and as Megatron's CI has it. */
static const struct {
    const char *word;
    enum says flat, ci;
} words[] = {{"true", SAYS_YES, SAYS_YES},
             {"True", SAYS_YES, SAYS_YES},
             {"TRUE", SAYS_YES, SAYS_YES},
             {"yes", SAYS_YES, SAYS_YES},
             {"on", SAYS_YES, SAYS_YES},
             {"false", SAYS_NO, SAYS_NO},
             {"False", SAYS_NO, SAYS_NO},
             {"FALSE", SAYS_NO, SAYS_NO},
             {"no", SAYS_NO, SAYS_NO},
             {"No", SAYS_NO, SAYS_NO},
             {"off", SAYS_NO, SAYS_NO},
             {"OFF", SAYS_NO, SAYS_NO},
             {"null", SAYS_NO, SAYS_NO},
             {"~", SAYS_NO, SAYS_NO},
             {"0", SAYS_NEITHER, SAYS_NEITHER},
             {"1", SAYS_NEITHER, SAYS_NEITHER},
             {"'no'", SAYS_NEITHER, SAYS_NO},
             {"\"false\"", SAYS_NEITHER, SAYS_NO},
             {"none!", SAYS_NEITHER, SAYS_NEITHER},
             {"''", SAYS_NEITHER, SAYS_NEITHER},
             {"[]", SAYS_NEITHER, SAYS_NEITHER},
             {"disabled", SAYS_NEITHER, SAYS_NEITHER}};

static const char *const switches[] = {"untie_embeddings_and_output_weights",
                                       "swiglu", "disable_bias_linear"};

/* A flag as the form spells it, with its value. */
static const char *add(struct soak *s, const char *text, bool ci,
                       const char *key, const char *value)
{
    char *name = arena_strdup(s->a, key);
    for (char *p = name; ci && *p; p++)
        *p = *p == '_' ? '-' : *p;
    return arena_printf(s->a, "%s%s%s: %s\n", text, ci ? "  --" : "", name,
                        value);
}

/* The model's file; the switch stands in it directly, or in a map that is
 * merged. NULL: without the switch. */
static void write_yaml(struct soak *s, bool ci, bool merged, const char *key,
                       const char *value)
{
    static const char *const sizes[][2] = {
        {"num_layers", "4"},          {"hidden_size", "64"},
        {"num_attention_heads", "4"}, {"padded_vocab_size", "1024"},
        {"seq_length", "32"},         {"ffn_hidden_size", "96"}};
    const char *text = "";
    if (merged && value) {
        text = add(s, "BASE: &base\n", true, key, value);
        text = arena_printf(s->a, "%sMODEL_ARGS:\n  <<: *base\n", text);
    } else if (ci) {
        text = "MODEL_ARGS:\n";
    }
    for (size_t i = 0; i < COUNT(sizes); i++)
        text = add(s, text, ci, sizes[i][0], sizes[i][1]);
    if (value && !merged)
        text = add(s, text, ci, key, value);
    soak_write(s, "y.yaml", text, strlen(text));
}

static void yaml_switches(struct soak *s)
{
    size_t i = soak_pick(s, COUNT(words));
    bool ci = soak_pick(s, 2), merged = ci && soak_pick(s, 2);
    const char *key = soak_choose(s, switches, COUNT(switches));
    enum says says = ci ? words[i].ci : words[i].flat;
    write_yaml(s, ci, merged, key, says == SAYS_NO ? NULL : "true");
    if (command(s, "moe-layout size y.yaml") != 0)
        soak_fail(s, "a model in YAML is refused: %s", soak_text(s, "err"));
    const char *want = soak_text(s, "out");
    write_yaml(s, ci, merged, key, words[i].word);
    int code = command(s, "moe-layout size y.yaml");
    if (says == SAYS_NEITHER ? code != 2
                             : code != 0 || strcmp(want, soak_text(s, "out")))
        soak_fail(s, "%s: %s in %s: exit %d, another model: %.200s", key,
                  words[i].word, ci ? "MODEL_ARGS" : "a flat file", code,
                  soak_text(s, "err"));
}

const struct soak_scene soak_of_texts[] = {{"zero-bytes", zero_bytes, 8},
                                           {"zeros-in-log", zeros_in_log, 2},
                                           {"yaml-switches", yaml_switches, 8},
                                           {NULL, NULL, 0}};
