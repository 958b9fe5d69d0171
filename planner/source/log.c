/*
 * How it works: an argument of the dump is a flag with underscores; its value
 * is Python's text. Most arguments of a dump are defaults, which change
 * nothing.
 */
#include "log.h"

#include <stdio.h>
#include <string.h>

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
    // longer than any flag: what is cut matches none
    char name[128];
    bool opposite = false;
    // what was not given, and lists that are empty
    bool none = megatron_log_is_word(arg->value, "None") ||
                megatron_log_is_word(arg->value, "[]");
    if (none || megatron_log_derived(arg->name))
        return ERR_OK;
    snprintf(name, sizeof name, "%s", arg->name);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    enum flag_id id = flag_by_argument(name, &opposite);
    const char *value = arg->value;
    if (opposite)
        value = megatron_log_is_word(value, "False") ? "true" : "false";
    return id == FLAG_NONE ? ERR_OK : megatron_args_set(args, id, value, msg);
}

/* Without virtual stages Megatron turns overlap off by itself (arguments.py),
 * so that the dump says nothing of what the user wants. */
static void megatron_log_drop_p2p(const struct runlog *log,
                                  struct megatron_args *args)
{
    for (size_t i = 0; i < log->n_arguments; i++)
        if (strcmp(log->arguments[i].name,
                   "virtual_pipeline_model_parallel_size") == 0 &&
            megatron_log_is_word(log->arguments[i].value, "None"))
            flags_clear(megatron_args_flags(args), FLAG_NO_OVERLAP_P2P);
}

/* The older flag's pattern is forwarded to the newer one (arguments.py), so
 * that a dump has both; behind the newer one that of MTP stands, too. */
static void megatron_log_drop_forwarded(struct megatron_flags *f)
{
    if (flags_given(f, FLAG_HYBRID_LAYER_PATTERN))
        flags_clear(f, FLAG_HYBRID_OVERRIDE_PATTERN);
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
    megatron_log_drop_p2p(log, args);
    megatron_log_drop_forwarded(megatron_args_flags(args));
    // the dump has None where the tokenizer decides; the line behind it tells
    if (e == ERR_OK && log->padded_vocab > 0 &&
        !flags_given(megatron_args_flags(args), FLAG_PADDED_VOCAB_SIZE)) {
        char digits[24];
        snprintf(digits, sizeof digits, "%lld", (long long)log->padded_vocab);
        e = megatron_args_set(args, FLAG_PADDED_VOCAB_SIZE, digits, msg);
    }
    return e;
}
