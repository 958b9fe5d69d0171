/*
 * How it works: Hydra's words are keys of a configuration that is elsewhere.
 * The last part of a key is a name of Megatron's, or it is not; the parts
 * before it say whose it is. What is read and what is not is said in one line
 * each: the user must see what was taken for a flag.
 */
#include "dialect.h"

#include "base/text.h"
#include "base/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_LINE = 400 }; // bytes of a line that lists keys

/* What was found among the words. */
struct words_found {
    struct megatron_args *args;
    struct err_msg *msg;
    char read[WORDS_LINE], passed[WORDS_LINE]; // keys, parted by ", "
    int n_read, n_passed;
    long long nodes, gpus;
    const char *world_from;
    const char *model;  // that names a checkpoint
    const char *config; // that the words are merged into
    const char *from;   // of the first key, for messages
};

/* ---- Hydra's keys ---- */

/* Marks of Hydra before a key: add, add or replace, delete. */
static const char *words_key(const char *word)
{
    return word + strspn(word, "+~");
}

/* Bytes of the key up to its '='; 0: no key. */
static size_t words_key_length(const char *word)
{
    size_t n = 0;
    if (!isalpha((unsigned char)*word) && *word != '_')
        return 0;
    while (isalnum((unsigned char)word[n]) ||
           (word[n] && strchr("_-.@/", word[n])))
        n++;
    return word[n] == '=' ? n : 0;
}

static bool words_has_dots(const char *word)
{
    const char *key = words_key(word);
    size_t n = words_key_length(key);
    return n && memchr(key, '.', n);
}

/* Parts of a key that are of another model or of no training: a reference, a
 * critic, generation. */
static bool words_is_other_role(const char *key, size_t len)
{
    static const char *const roles[] = {
        "ref", "reference", "critic",     "reward", "teacher", "reward_model",
        "rm",  "rollout",   "generation", "eval",   "vllm",    "sglang"};
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        const size_t n = strlen(roles[i]);
        for (const char *p = key; p < key + len; p += strcspn(p, ".") + 1)
            if (strncmp(p, roles[i], n) == 0 && (p[n] == '.' || p[n] == '='))
                return true;
    }
    return false;
}

/* Adds the key to a list; what does not fit is counted only. */
static void words_list(char list[WORDS_LINE], int *n, const char *key)
{
    size_t at = strlen(list);
    if (at + strlen(key) + 3 < WORDS_LINE)
        snprintf(list + at, WORDS_LINE - at, "%s%s", *list ? ", " : "", key);
    ++*n;
}

/* Off the text's own quotes. */
static const char *words_value(struct arena *a, const char *text)
{
    size_t n = strlen(text);
    bool quoted = n >= 2 && strchr("'\"", *text) && text[n - 1] == *text;
    return arena_strndup(a, text + quoted, n - 2 * quoted);
}

/* Facts that are no flags: nodes, GPUs, the model's checkpoint. */
static bool words_note(struct words_found *w, const char *last,
                       const char *value, const char *from)
{
    int64_t n = 0;
    const bool number = text_to_int64(value, &n);
    const bool nodes =
        strcmp(last, "nnodes") == 0 || strcmp(last, "num_nodes") == 0;
    const bool gpus = strcmp(last, "n_gpus_per_node") == 0 ||
                      strcmp(last, "devices") == 0 ||
                      strcmp(last, "gpus_per_node") == 0 ||
                      strcmp(last, "nproc_per_node") == 0;
    if (number && nodes)
        w->nodes = n;
    if (number && gpus)
        w->gpus = n;
    if (nodes || gpus)
        w->world_from = from;
    if (strcmp(last, "path") == 0 || strcmp(last, "restore_from_path") == 0)
        w->model = value;
    return number && (nodes || gpus);
}

/* Where a word comes from; the empty place where nobody says. */
static struct args_origin words_origin(const struct dialect_words *words, int i)
{
    return words->origin ? words->origin[i] : (struct args_origin){.from = ""};
}

/* NeMo 1's keys below `model` that Megatron has other names for. */
struct words_nemo {
    const char *key, *flag;
    // a value that means `text` to the flag; NULL: it takes the key's own value
    const char *value, *text;
};

/* Are these the same word, or the same of true and false? */
static bool words_same(const char *value, const char *want)
{
    bool is = false, wants = false;
    return tree_word_bool(value, &is) && tree_word_bool(want, &wants)
               ? is == wants
               : strcmp(value, want) == 0;
}

/* The row of a key, or NULL. */
static const struct words_nemo *words_nemo_row(const char *key,
                                               const char *value)
{
    static const struct words_nemo rows[] = {
        {"activations_checkpoint_granularity", "recompute-granularity", NULL,
         NULL},
        {"activations_checkpoint_method", "recompute-method", NULL, NULL},
        {"activations_checkpoint_num_layers", "recompute-num-layers", NULL,
         NULL},
        {"bias", "add-bias-linear", NULL, NULL},
        {"override_vocab_size", "vocab-size", NULL, NULL},
        {"share_embeddings_and_output_weights",
         "untie-embeddings-and-output-weights", "false", "true"},
        {"share_embeddings_and_output_weights",
         "untie-embeddings-and-output-weights", "true", "false"},
        {"activation", "swiglu", "swiglu", "true"},
        {"activation", "swiglu", "fast-swiglu", "true"},
        {"optim.name", "use-distributed-optimizer", "mcore_distributed_optim",
         "true"},
        {"optim.name", "use-distributed-optimizer", "distributed_fused_adam",
         "true"},
        {"optim.grad_sync_dtype", "grad-reduce-in-bf16", "bf16", "true"},
        {"optim.overlap_grad_sync", "overlap-grad-reduce", "true", "true"},
        {"optim.overlap_param_sync", "overlap-param-gather", "true", "true"},
    };
    const char *model =
        text_starts(key, "model.") ? key : strstr(key, ".model.");
    if (!model)
        return NULL;
    model = strstr(model, "model.") + strlen("model.");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].key, model) == 0 &&
            (!rows[i].value || words_same(value, rows[i].value)))
            return &rows[i];
    return NULL;
}

/* One key: into its slot when it is Megatron's, else into a list. */
static enum err words_take_key(struct words_found *w, const char *word,
                               struct args_origin origin)
{
    struct arena *a = megatron_args_flags(w->args)->arena;
    const char *key = words_key(word);
    const size_t len = words_key_length(key);
    char *whole = arena_strndup(a, key, len);
    const char *value = words_value(a, key + len + 1);
    if (!whole || !value)
        return err_set(w->msg, ERR_NOMEM, "a launch: out of memory");
    const char *dot = strrchr(whole, '.');
    const char *last = dot ? dot + 1 : whole;
    const char *from = origin.from ? origin.from : "";
    const bool other = !dot || *word == '~' || words_is_other_role(key, len);
    w->from = w->from ? w->from : from;
    if (!other && !origin.unknown && words_note(w, last, value, from)) {
        words_list(w->read, &w->n_read, whole);
        return ERR_OK;
    }
    const struct words_nemo *nemo = other ? NULL : words_nemo_row(whole, value);
    if (other || (!nemo && !megatron_args_has(last))) {
        words_list(w->passed, &w->n_passed, whole);
        return ERR_OK;
    }
    words_list(w->read, &w->n_read, whole);
    const struct args_key flag = {.key = nemo ? nemo->flag : last,
                                  .text =
                                      nemo && nemo->text ? nemo->text : value,
                                  .from = from,
                                  .unknown = origin.unknown,
                                  .quiet = true};
    enum err e = megatron_args_key(w->args, &flag, w->msg);
    return e == ERR_OK ? e : err_prefix(w->msg, e, "%s", whole);
}

/* `--config-name=gpt`, `-cn gpt`: what the keys are merged into. */
static void words_note_config(struct words_found *w,
                              const struct dialect_words *words, int i)
{
    static const char *const names[] = {"--config-name", "-cn",
                                        "--config-path", "-cp",
                                        "--config_file", "--config-file"};
    const char *word = words->argv[i];
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const size_t n = strlen(names[k]);
        if (strncmp(word, names[k], n) != 0)
            continue;
        if (word[n] == '=')
            w->config = word + n + 1;
        else if (!word[n] && i + 1 < words->argc)
            w->config = words->argv[i + 1];
    }
}

/* ---- what is said of them ---- */

static void words_say(struct words_found *w, const char *what, const char *list,
                      int n)
{
    char line[WORDS_LINE + 100];
    struct account *account = megatron_args_account(w->args);
    int shown = *list != '\0';
    for (const char *p = list; (p = strstr(p, ", ")); p++)
        shown++;
    if (!n)
        return;
    snprintf(line, sizeof line, "%s: %s", what, list);
    size_t at = strlen(line);
    if (shown < n)
        snprintf(line + at, sizeof line - at, " and %d more", n - shown);
    account_add(account, &account->assumed, line);
}

static enum err words_finish(struct words_found *w)
{
    char line[300];
    struct megatron_flags *f = megatron_args_flags(w->args);
    struct account *account = megatron_args_account(w->args);
    words_say(w, "Hydra's keys that are read as Megatron's", w->read,
              w->n_read);
    words_say(w, "Hydra's keys that are not read", w->passed, w->n_passed);
    snprintf(
        line, sizeof line,
        "values that these keys do not give are in the configuration%s%.100s "
        "that they are merged into, and Megatron's defaults are taken for "
        "them",
        w->config ? " " : "", w->config ? w->config : "");
    account_add(account, &account->assumed, line);
    dialect_world(w->args, w->nodes, w->gpus, w->world_from);
    // in config classes a number of key heads is all that says so
    if (flags_given(f, FLAG_NUM_QUERY_GROUPS))
        flags_set_on(f, FLAG_GROUP_QUERY_ATTENTION);
    snprintf(line, sizeof line,
             "not among the words, but in the configuration%s%.100s that they "
             "are merged into",
             w->config ? " " : "", w->config ? w->config : "");
    enum err e =
        dialect_batch_elsewhere(w->args, w->from ? w->from : "", line, w->msg);
    if (e != ERR_OK)
        return e;
    snprintf(line, sizeof line, "%s%.120s: its sizes are not among the words",
             w->model ? "the config.json of " : "the configuration ",
             w->model    ? w->model
             : w->config ? w->config
                         : "of this launch");
    return dialect_sizes_elsewhere(w->args, w->from ? w->from : "", line,
                                   w->msg);
}

static bool words_are_verl(const struct dialect_words *words)
{
    for (int i = 0; i < words->argc; i++)
        if (text_starts(words_key(words->argv[i]), "actor_rollout_ref."))
            return true;
    return false;
}

static enum err words_hydra(struct megatron_args *args,
                            const struct dialect_words *words,
                            struct err_msg *msg)
{
    struct words_found w = {.args = args, .msg = msg};
    enum err e = words_are_verl(words) ? dialect_shards_state(args, "verl", msg)
                                       : ERR_OK;
    for (int i = 0; i < words->argc && e == ERR_OK; i++) {
        const char *word = words->argv[i];
        words_note_config(&w, words, i);
        if (words_key_length(words_key(word)))
            e = words_take_key(&w, word, words_origin(words, i));
    }
    return e == ERR_OK ? words_finish(&w) : e;
}

/* ---- ms-swift ---- */

/* Words before its flags: `megatron sft`, or its script; 0: not ms-swift's. */
static int words_swift(const struct dialect_words *words)
{
    static const char *const commands[] = {"sft", "pt", "rlhf", "export"};
    for (int i = 0; i < words->argc; i++) {
        const char *word = words->argv[i];
        if (text_starts(word, "--"))
            return 0;
        if (strstr(word, "swift/cli/_megatron/"))
            return i + 1;
        if (!text_ends(word, "megatron") || i + 1 == words->argc)
            continue;
        for (size_t k = 0; k < sizeof commands / sizeof commands[0]; k++)
            if (strcmp(words->argv[i + 1], commands[k]) == 0)
                return i + 2;
    }
    return 0;
}

/* The value of a flag that only ms-swift has; its place in *at. */
static const char *words_swift_value(const struct dialect_words *words,
                                     const char *name, int *at)
{
    const char *value = NULL;
    for (int i = 0; i + 1 < words->argc; i++)
        if (strcmp(words->argv[i], name) == 0) {
            value = words->argv[i + 1];
            *at = i + 1;
        }
    return value;
}

/* Sizes come from the checkpoint that it names, unless they are given. */
static enum err words_swift_model(struct megatron_args *args,
                                  const struct dialect_words *words,
                                  struct err_msg *msg)
{
    char why[300];
    int at = 0;
    const char *model = words_swift_value(words, "--model", &at);
    if (!model)
        model = words_swift_value(words, "--load", &at);
    snprintf(why, sizeof why,
             "--model %.150s: sizes are those of that checkpoint: read its "
             "config.json with these flags behind --",
             model ? model : "");
    return model ? dialect_sizes_elsewhere(args, words_origin(words, at).from,
                                           why, msg)
                 : ERR_OK;
}

/* ms-swift's own flags are read as Megatron's where both mean the same; the
 * rest of its flags is Megatron's already. */
static enum err words_read_swift(struct megatron_args *args,
                                 const struct dialect_words *words, int first,
                                 struct err_msg *msg)
{
    int at = 0;
    // `megatron sft run.yaml`: all of its flags are there
    if (first < words->argc && (text_ends(words->argv[first], ".yaml") ||
                                text_ends(words->argv[first], ".yml")))
        account_change(megatron_args_account(args), words->argv[first],
                       "ms-swift's values are in that file: read it in place "
                       "of this source");
    const struct megatron_args_options opt = {
        .origin = words->origin ? words->origin + first : NULL};
    const char *model = words_swift_value(words, "--model", &at);
    const char *length = words_swift_value(words, "--max_length", &at);
    enum err e = dialect_swift_defaults(args, msg);
    // told of once, and not as flags that nobody knows
    if (model)
        megatron_args_warn(args, "--model",
                           "--model: sizes are those of that checkpoint; where "
                           "flags give them, they are taken to be the same");
    if (length)
        megatron_args_warn(args, "--max_length",
                           "--max_length is read as Megatron's --seq-length");
    if (e == ERR_OK && length) {
        const struct args_origin origin = words_origin(words, at);
        const struct args_key key = {.key = "seq-length",
                                     .text = length,
                                     .from = origin.from,
                                     .unknown = origin.unknown};
        e = megatron_args_key(args, &key, msg);
    }
    if (e == ERR_OK)
        e = megatron_args_read(args, words->argv + first, words->argc - first,
                               &opt, msg);
    return e == ERR_OK ? words_swift_model(args, words, msg) : e;
}

/* ---- both ---- */

bool dialect_is_words(const struct dialect_words *words)
{
    int n = 0;
    if (words_swift(words))
        return true;
    for (int i = 0; i < words->argc; i++)
        n += words_has_dots(words->argv[i]);
    return n >= 2;
}

enum err dialect_read_words(struct megatron_args *args,
                            const struct dialect_words *words,
                            struct err_msg *msg)
{
    const int first = words_swift(words);
    return first ? words_read_swift(args, words, first, msg)
                 : words_hydra(args, words, msg);
}
