#include "dialect_primus.h"

#include "base/text.h"
#include "megatron/hybrid.h"

#include <string.h>

/* A file of Primus's own; a name may be without its ending. */
static enum err dialect_preset(struct dialect *d, const struct tree *at,
                               const char *folder, const char **name,
                               bool *found)
{
    enum err e = yaml_text(&d->y, at, name, NULL);
    *found = false;
    if (e != ERR_OK || !*name)
        return e;
    if (!text_ends(*name, ".yaml") && !text_ends(*name, ".yml"))
        *name = arena_printf(d->y.arena, "%s.yaml", *name);
    return *name
               ? dialect_beside(d, *name, folder, found)
               : err_set(d->y.msg, ERR_NOMEM, "%s: out of memory", d->y.where);
}

/* Layers of a Mamba model are not in its number of layers. */
static void dialect_primus_type(struct dialect *d)
{
    struct megatron_flags *f = megatron_args_flags(d->y.args);
    const char *type = d->all->model_type;
    if (!type || strcmp(type, "gpt") == 0 || hybrid_text_of(f))
        return;
    const char *name = arena_printf(d->y.arena, "model_type: %s", type);
    if (name)
        account_change(megatron_args_account(d->y.args), name,
                       "another model than GPT: give --hybrid-layer-pattern, "
                       "the symbols of its layers");
}

/* The trainer of a module: its defaults, its model's file, then what it says
 * instead. */
static enum err dialect_primus_module(struct dialect *d,
                                      const struct tree *module)
{
    const struct tree *at = tree_get(module, "model");
    const struct tree *config = tree_get(module, "config");
    const char *model = NULL, *trainer = NULL;
    bool found, told;
    d->y.defaults = true;
    enum err e = dialect_preset(d, config, "primus/configs/modules/megatron",
                                &trainer, &told);
    d->y.defaults = false;
    if (e == ERR_OK)
        e = dialect_preset(d, at, "primus/configs/models/megatron", &model,
                           &found);
    // such as bf16 and the micro-batch
    if (e == ERR_OK && trainer && !told)
        e = dialect_lacks_defaults(d, config, trainer);
    if (e == ERR_OK)
        e = yaml_take_map(&d->y, tree_get(module, "overrides"), false);
    if (e == ERR_OK)
        dialect_primus_type(d);
    if (e != ERR_OK || !model || found)
        return e;
    const char *flag = arena_printf(d->y.arena, "model: %s", model);
    const char *why = arena_printf(
        d->y.arena,
        "%s:%d: sizes are in that file of Primus: put it and those that it "
        "extends beside this one, or give the flags behind --",
        d->y.where, at->line);
    if (!flag || !why)
        return err_set(d->y.msg, ERR_NOMEM, "%s: out of memory", d->y.where);
    account_change(megatron_args_account(d->y.args), flag, why);
    return ERR_OK;
}

enum err dialect_primus(struct dialect *d)
{
    const struct tree *modules = tree_get(d->y.top, "modules");
    const struct tree *module =
        modules && modules->kind == TREE_MAP ? modules->child : NULL;
    for (; module; module = module->next) {
        const char *framework = tree_text(tree_get(module, "framework"));
        if (module->kind == TREE_MAP &&
            (!framework || strcmp(framework, "megatron") == 0))
            return dialect_primus_module(d, module);
    }
    return err_set(d->y.msg, ERR_PARSE,
                   "%s: a Primus file: no module of it has the framework "
                   "megatron",
                   d->y.where);
}
