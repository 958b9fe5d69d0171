/*
 * How it works: the model's file and the manifest's sizes fill one set of
 * flags, from which both the model for the planner and the trainer's words are
 * made: so they cannot differ.
 */
#include "workload.h"

#include "base/json.h"
#include "megatron/args.h"
#include "megatron/convert.h"
#include "megatron/overrides.h"

#include <string.h>
#include <unistd.h>

/* Flags of the model with the manifest's sizes in them. Those that are the
 * launcher's to say stay away: ranks; the layout or a pattern, which tell the
 * virtual stages; EP overlap, which profile runs are without. Megatron has none
 * for the padded vocabulary: it takes the vocabulary from trainer.args, with
 * the tokenizer. */
static enum err make_flags(struct arena *a, const struct manifest *mf,
                           const struct megatron_flags *f, struct words *out,
                           struct err_msg *msg)
{
    // ends with FLAG_NONE
    const enum flag_id ours[] = {FLAG_WORLD_SIZE,
                                 FLAG_VPP,
                                 FLAG_LAYOUT,
                                 FLAG_HYBRID_LAYER_PATTERN,
                                 FLAG_HYBRID_OVERRIDE_PATTERN,
                                 FLAG_OVERLAP_MOE_COMM,
                                 mf->trainer.kind == TRAINER_MEGATRON
                                     ? FLAG_PADDED_VOCAB_SIZE
                                     : FLAG_NONE,
                                 FLAG_NONE};
    struct flag_words words;
    enum err e = flags_to_argv(a, f, ours, &words, msg);
    if (e == ERR_OK)
        *out = (struct words){words.word, words.n};
    return e;
}

/* Flags of a `plan`: what the model's file leaves open, as recomputation. */
static enum err add_flags(struct arena *a, struct megatron_args *args,
                          const struct manifest *mf, struct err_msg *msg)
{
    const struct planning *p = &mf->planning;
    const struct megatron_args_options strict = {.strict = true};
    char *argv[PLANNING_MAX_FLAGS];
    for (int i = 0; i < p->n_flags; i++) {
        argv[i] = arena_strdup(a, p->flags[i]);
        if (!argv[i])
            return err_set(msg, ERR_NOMEM, "%s: out of memory", mf->path);
    }
    enum err e = megatron_args_read(args, argv, p->n_flags, &strict, msg);
    return e == ERR_OK ? e : err_prefix(msg, e, "%s: plan: flags", mf->path);
}

/* Overrides last: a manifest's parallel sizes win over those of the model's
 * file. */
static enum err make_model(struct arena *a, const cJSON *object,
                           const struct manifest *mf, struct workload *out,
                           struct err_msg *msg)
{
    const char *where = out->model_path ? out->model_path : mf->path;
    struct megatron_args *args = megatron_args_new(a);
    if (!args)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    struct megatron_flags *f = megatron_args_flags(args);
    enum err e = megatron_args_read_json(args, object, where, msg);
    if (e != ERR_OK)
        return e;
    e = add_flags(a, args, mf, msg);
    if (e != ERR_OK)
        return e;
    overrides_apply(&mf->overrides, f);
    if (mf->ep_overlap)
        flags_set_on(f, FLAG_OVERLAP_MOE_COMM);
    e = megatron_args_model(a, args, &out->model, msg);
    return e == ERR_OK ? make_flags(a, mf, f, &out->flags, msg) : e;
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

/* The hash is of the model's own text, wherever its file lies. */
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
    e = make_model(a, object, mf, &w, msg);
    if (e == ERR_OK)
        *out = w;
done:
    cJSON_Delete(object);
    return e;
}

enum err workload_read_way(struct arena *a, const struct manifest *mf,
                           const struct planning_way *way, struct workload *out,
                           struct err_msg *msg)
{
    struct manifest of = *mf;
    of.overrides.size[OVERRIDE_PP] = way->pp;
    of.overrides.size[OVERRIDE_VPP] = way->vpp > 1 ? way->vpp : 0;
    if (way->ep > 0)
        of.overrides.size[OVERRIDE_EP] = way->ep;
    return workload_read(a, &of, out, msg);
}
