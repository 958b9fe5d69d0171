/* Any flags, some of them with values that are not known, are judged without a
 * fault: a verdict has refusals or none, and every text is one line. */
#include "judge/judge.h"
#include "megatron/args.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { MAX_WORDS = 64 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_line(const char *text)
{
    require(text && *text && !strchr(text, '\n'));
}

static void check_verdict(const struct megatron_flags *f,
                          const struct judge_verdict *v)
{
    require(v->valid == !v->refusals);
    for (const struct judge_refusal *r = v->refusals; r; r = r->next)
        check_line(r->text);
    for (const struct account_line *l = v->warnings.first; l; l = l->next)
        check_line(l->text);
    if (!v->valid || !v->has_layout)
        return;
    int64_t n_layers = 0;
    for (int s = 0; s < v->layout.n_stages; s++)
        n_layers += layout_stage(&v->layout, s).n_layers;
    require(n_layers == (v->pattern ? v->pattern->n_layers
                                    : flags_int(f, FLAG_NUM_LAYERS, 0)));
}

/* The first byte says the version of core, and whether the flags are all. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena a;
    struct err_msg msg = {""};
    char *words[MAX_WORDS], core[] = "0.1?";
    static const struct flag_unknown unknown = {"f:1", "$N"};
    struct args_origin origin[MAX_WORDS];
    int n = 0;
    if (len < 1)
        return 0;
    arena_init(&a);
    char *rest = arena_strndup(&a, (const char *)data + 1, len - 1);
    for (char *w; n < MAX_WORDS && (w = strtok_r(rest, " \n", &rest)); n++) {
        words[n] = w;
        origin[n] =
            (struct args_origin){"f", strcmp(w, "?") == 0 ? &unknown : NULL};
    }
    core[3] = (char)('2' + data[0] % 8);
    struct megatron_args *args = megatron_args_new(&a);
    const struct megatron_args_options opt = {.strict = false,
                                              .origin = origin};
    struct judge_question q = {megatron_args_flags(args), NULL, data[0] & 8};
    struct judge_verdict v;
    require(core_version_find(core, &q.core, &msg) == ERR_OK);
    enum err e = megatron_args_read(args, words, n, &opt, &msg);
    if (e == ERR_OK)
        e = judge(&a, &q, &v, &msg);
    if (e == ERR_OK)
        check_verdict(q.flags, &v);
    else
        check_line(msg.text);
    arena_clear(&a);
    return 0;
}
