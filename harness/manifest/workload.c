#include "workload.h"

#include "base/json.h"
#include "megatron/args.h"

#include <string.h>
#include <unistd.h>

enum { MAX_FLAGS = 256, MAX_MODEL_BYTES = 16 << 20 };

/* Manifest keys that become flags and win (vpp does not: the layout tells) over
 * the model's own. */
struct override {
    const char *flag;
    int64_t value;
};

enum { N_OVERRIDES = 8 };

struct flag_list {
    struct arena *a;
    const struct manifest *mf;
    const char **word; // NULL after a failed allocation
    int n;
};

static void workload_add(struct flag_list *f, const char *text)
{
    if (!text || f->n == MAX_FLAGS)
        f->word = NULL;
    else if (f->word)
        f->word[f->n++] = text;
}

/* "[1,1,0]", as Megatron evaluates lists. */
static const char *list_text(struct arena *a, const cJSON *list)
{
    const char *text = "[";
    for (const cJSON *c = list->child; c && text; c = c->next)
        text = arena_printf(a, "%s%s%.12g", text, c == list->child ? "" : ",",
                            c->valuedouble);
    return text ? arena_printf(a, "%s]", text) : NULL;
}

static const char *workload_value_text(struct arena *a, const cJSON *item)
{
    if (cJSON_IsString(item))
        return arena_strdup(a, item->valuestring);
    if (cJSON_IsArray(item))
        return list_text(a, item);
    return arena_printf(a, "%.12g", item->valuedouble);
}

static const char *flag_name(struct arena *a, const char *key)
{
    char *flag = arena_printf(a, "--%s", key);
    for (char *p = flag; p && *p; p++)
        if (*p == '_')
            *p = '-';
    return flag;
}

/* Flags that are the launcher's to say, or that Megatron itself lacks: it
 * takes the vocabulary from trainer.args, with the tokenizer. */
static bool is_ours(const char *flag, const struct manifest *mf)
{
    return strcmp(flag, "--world-size") == 0 ||
           (mf->trainer.kind == TRAINER_MEGATRON &&
            strcmp(flag, "--padded-vocab-size") == 0);
}

static bool is_overridden(const char *flag, const struct override *o)
{
    for (int i = 0; i < N_OVERRIDES; i++)
        if (o[i].value && strcmp(o[i].flag, flag) == 0)
            return true;
    return false;
}

static void add_model_flags(struct flag_list *f, const cJSON *object,
                            const struct override *o)
{
    for (const cJSON *c = object->child; c && f->word; c = c->next) {
        const char *flag = flag_name(f->a, c->string);
        if (!flag || strcmp(c->string, "format") == 0 ||
            strcmp(c->string, "comment") == 0 || cJSON_IsFalse(c) ||
            cJSON_IsNull(c) || is_ours(flag, f->mf) || is_overridden(flag, o))
            continue;
        workload_add(f, flag);
        if (!cJSON_IsTrue(c))
            workload_add(f, workload_value_text(f->a, c));
    }
}

static enum err make_flags(struct arena *a, const struct manifest *mf,
                           const cJSON *object, struct words *out,
                           struct err_msg *msg)
{
    const struct manifest_parallel *p = &mf->parallel;
    const struct manifest_batch *b = &mf->batch;
    const struct override o[N_OVERRIDES] = {
        {"--tensor-model-parallel-size", p->tp},
        {"--pipeline-model-parallel-size", p->pp},
        {"--context-parallel-size", p->cp},
        {"--expert-model-parallel-size", p->ep},
        {"--expert-tensor-parallel-size", p->etp},
        {"--micro-batch-size", b->micro_batch},
        {"--global-batch-size", b->global_batch},
        {"--seq-length", b->seq_tokens}};
    struct flag_list f = {a, mf,
                          arena_alloc(a, MAX_FLAGS, sizeof(const char *)), 0};
    add_model_flags(&f, object, o);
    for (int i = 0; i < N_OVERRIDES; i++) {
        if (!o[i].value)
            continue;
        workload_add(&f, o[i].flag);
        workload_add(&f, arena_printf(a, "%lld", (long long)o[i].value));
    }
    if (!f.word)
        return err_set(msg, ERR_NOMEM, "model: more than %d flags or no memory",
                       MAX_FLAGS);
    *out = (struct words){f.word, f.n};
    return ERR_OK;
}

static enum err make_model(struct arena *a, const cJSON *object,
                           const struct manifest *mf, const char *where,
                           struct model *out, struct err_msg *msg)
{
    const struct manifest_parallel *p = &mf->parallel;
    const struct manifest_batch *b = &mf->batch;
    struct model_overrides o = {.tp = (int)p->tp,
                                .pp = (int)p->pp,
                                .vpp = (int)p->vpp,
                                .ep = (int)p->ep,
                                .etp = (int)p->etp,
                                .cp = (int)p->cp,
                                .world = (int)p->world,
                                .micro_batch = b->micro_batch,
                                .global_batch = b->global_batch,
                                .seq_tokens = b->seq_tokens};
    struct megatron_args *args = megatron_args_new(a);
    if (!args)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    enum err e = megatron_args_read_json(args, object, where, msg);
    if (e != ERR_OK)
        return e;
    megatron_args_override(args, &o);
    return megatron_args_model(a, args, out, msg);
}

/* Relative to the manifest's folder, else to the working directory. */
static const char *model_file(struct arena *a, const struct manifest *mf)
{
    if (mf->model_path[0] == '/')
        return mf->model_path;
    const char *beside = arena_printf(a, "%s/%s", mf->dir, mf->model_path);
    if (beside && access(beside, R_OK) == 0)
        return beside;
    return mf->model_path;
}

static enum err open_model(struct arena *a, const struct manifest *mf,
                           struct workload *w, cJSON **object,
                           struct err_msg *msg)
{
    if (mf->model_json) {
        text_sha256(mf->model_json, strlen(mf->model_json), w->sha256);
        return json_parse(mf->model_json, mf->path, object, msg);
    }
    w->model_path = model_file(a, mf);
    enum err e =
        json_read_file(a, w->model_path, "moe-layout/model/1", object, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s: model", mf->path);
    return text_sha256_file(w->model_path, w->sha256, msg);
}

enum err workload_read(struct arena *a, const struct manifest *mf,
                       struct workload *out, struct err_msg *msg)
{
    struct workload w = {0};
    cJSON *object = NULL;
    enum err e = open_model(a, mf, &w, &object, msg);
    if (e != ERR_OK)
        goto done;
    e = make_model(a, object, mf, w.model_path ? w.model_path : mf->path,
                   &w.model, msg);
    if (e == ERR_OK)
        e = make_flags(a, mf, object, &w.flags, msg);
    if (e == ERR_OK)
        *out = w;
done:
    cJSON_Delete(object);
    return e;
}
