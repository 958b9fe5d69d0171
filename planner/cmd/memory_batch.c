/* moe-layout memory --batch: many cases, one a line. */
#include "base/json.h"
#include "memory.h"
#include "memory/case.h"

static cJSON *ranks_json(const struct memory_case *c)
{
    cJSON *list = cJSON_CreateArray();
    for (int r = 0; !c->refusal && r < c->layout.pp; r++) {
        const struct memory_rank *k = &c->ranks[r];
        cJSON *s = cJSON_CreateObject();
        cJSON_AddNumberToObject(s, "static_bytes", (double)k->static_bytes);
        cJSON_AddNumberToObject(s, "allocated_bytes",
                                (double)k->allocated_bytes);
        cJSON_AddNumberToObject(s, "peak_bytes", (double)k->peak_bytes);
        cJSON_AddNumberToObject(s, "in_flight", k->in_flight);
        cJSON_AddItemToArray(list, s);
    }
    return list;
}

struct batch_line {
    const char *name;
    struct memory_case_input in;
};

static enum err cmd_memory_batch_read_line(struct arena *a, const cJSON *tree,
                                           const char *where,
                                           struct batch_line *out,
                                           struct err_msg *msg)
{
    static const struct json_range sizes = {0, 1 << 30};
    struct memory_case_input *in = &out->in;
    if (!cJSON_IsObject(tree))
        return err_set(msg, ERR_PARSE, "%s: want a JSON object", where);
    enum err e = json_require(tree, where, "flags", msg);
    if (e == ERR_OK)
        e = json_require(tree, where, "platform", msg);
    if (e == ERR_OK)
        e = json_opt_string(a, tree, where, "case", &out->name, msg);
    if (e == ERR_OK)
        e = json_opt_string(a, tree, where, "platform", &in->platform, msg);
    if (e == ERR_OK)
        e = json_opt_int(tree, where, "world_size", sizes, &in->world_size,
                         msg);
    if (e == ERR_OK)
        e = json_opt_int(tree, where, "padded_vocab_size", sizes,
                         &in->padded_vocab_size, msg);
    in->flags = json_get(tree, "flags");
    return e;
}

static cJSON *case_json(const struct batch_line *line,
                        const struct memory_case *c)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "case", line->name);
    cJSON_AddStringToObject(o, "platform", line->in.platform);
    cJSON_AddBoolToObject(o, "supported", !c->refusal);
    cJSON_AddStringToObject(o, "reason", c->refusal ? c->refusal : "");
    cJSON_AddItemToObject(o, "stages", ranks_json(c));
    return o;
}

static enum err predict_line(const char *text, const char *where,
                             struct err_msg *msg)
{
    struct arena a;
    arena_init(&a);
    cJSON *tree = NULL;
    struct batch_line line = {.name = ""};
    struct memory_case c;
    enum err e = json_parse(text, where, &tree, msg);
    if (e == ERR_OK)
        e = cmd_memory_batch_read_line(&a, tree, where, &line, msg);
    if (e == ERR_OK) {
        e = memory_case_predict(&a, &line.in, &c, msg);
        e = e == ERR_OK ? e : err_prefix(msg, e, "%s", where);
    }
    if (e == ERR_OK)
        e = json_print_and_delete(case_json(&line, &c), false, stdout, msg);
    cJSON_Delete(tree);
    arena_clear(&a);
    return e;
}

enum err cmd_memory_batch(struct cmd *c)
{
    return cmd_each_line(c, c->option[OPT_BATCH], predict_line);
}
