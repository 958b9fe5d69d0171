#include "log.h"

#include <stdio.h>
#include <string.h>

/* Arguments whose name or sense differs from the flag's: a switch that turns
 * something off is stored as the thing itself. */
static const struct {
    const char *argument, *flag;
    bool inverse;
} renamed[] = {
    {"add_bias_linear", "disable-bias-linear", true},
    {"add_position_embedding", "no-position-embedding", true},
    {"gradient_accumulation_fusion", "no-gradient-accumulation-fusion", true},
    {"overlap_p2p_comm", "no-overlap-p2p-communication", true},
    {"create_attention_mask_in_dataloader",
     "no-create-attention-mask-in-dataloader", true},
    {"num_moe_experts", "num-experts", false},
};

/* Arguments that Megatron fills in from others, so that they say nothing of
 * their own: the virtual size is in the layout or the flag it came from. */
static bool megatron_log_derived(const char *name)
{
    static const char *const names[] = {
        "encoder_num_layers", "encoder_seq_length", "decoder_num_layers",
        "model_parallel_size", "spec"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool megatron_log_is_word(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

static enum err megatron_log_take(const struct log_argument *arg,
                                  struct megatron_args *args,
                                  struct err_msg *msg)
{
    char flag[128];
    bool none = megatron_log_is_word(arg->value, "None") ||
                megatron_log_is_word(arg->value, "[]");
    if (none || megatron_log_derived(arg->name))
        return ERR_OK;
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (megatron_log_is_word(arg->name, renamed[i].argument)) {
            const char *value = arg->value;
            if (renamed[i].inverse)
                value = megatron_log_is_word(value, "False") ? "true" : "false";
            return megatron_args_set(args, renamed[i].flag, value, msg);
        }
    snprintf(flag, sizeof flag, "%s", arg->name);
    for (char *p = flag; *p; p++)
        *p = *p == '_' ? '-' : *p;
    return megatron_args_set(args, flag, arg->value, msg);
}

enum err source_log_read(const struct runlog *log, const char *where,
                         struct megatron_args *args, struct err_msg *msg)
{
    if (log->n_arguments == 0)
        return err_set(msg, ERR_PARSE,
                       "%s: this log has no dump of arguments, name a model "
                       "file or the launch script",
                       where);
    enum err e = megatron_args_where(args, where, msg);
    for (size_t i = 0; i < log->n_arguments && e == ERR_OK; i++)
        e = megatron_log_take(&log->arguments[i], args, msg);
    return e;
}
