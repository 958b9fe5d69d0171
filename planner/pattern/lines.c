/*
 * How it works: a line is read with base/reader into the plain structs of this
 * room, asked, and the answer written with base/writer. A refusal is an answer;
 * only what is no question at all ends a batch.
 */
#include "lines.h"

#include "translate.h"

#include <string.h>

// far above any layout: what is checked is the grammar, not a machine
static const struct json_range lines_stages = {1, 1 << 20};
static const struct json_range lines_layers = {0, 1 << 20};
static const struct json_range lines_ends = {-(1 << 20), 1 << 20};

/* ---- reading ---- */

bool pattern_line_is(struct reader top)
{
    return top.item && !json_get(top.item, "layout") &&
           cJSON_GetObjectItemCaseSensitive(top.item, "pattern");
}

/* Was the flag given, whatever its value? */
static bool pattern_line_has(struct reader flags, const char *key)
{
    return reader_is_there(reader_get(flags, key));
}

/* The value, and a pointer to it where it was given. */
static void pattern_line_int(struct reader flags, const char *key, int *value,
                             const int **out)
{
    reader_int(flags, key, lines_ends, value);
    *out = pattern_line_has(flags, key) ? value : NULL;
}

/* Flags are named as Megatron's arguments, shortened. A value of null is a flag
 * that is not given; of flags that never go with a pattern only that counts. */
static void pattern_line_flags(struct reader flags, struct pattern_line *out)
{
    static const char *const keys[] = {
        "num_layers",         "mtp_num_layers", "override",
        "mtp_override",       "first",          "last",
        "layers_per_virtual", "virtual_stages", "layout",
        "account_embedding",  "account_loss",   "no_overlap_p2p",
        "position_embedding"};
    struct pattern_flags *f = &out->flags;
    reader_keys(flags, keys, sizeof keys / sizeof keys[0]);
    reader_text(flags, "override", &f->override);
    reader_text(flags, "mtp_override", &f->mtp_override);
    reader_text(flags, "position_embedding", &f->positions);
    reader_int(flags, "mtp_num_layers", lines_layers, &f->mtp_num_layers);
    pattern_line_int(flags, "num_layers", &out->num_layers, &f->num_layers);
    pattern_line_int(flags, "first", &out->first, &f->first);
    pattern_line_int(flags, "last", &out->last, &f->last);
    f->layers_per_virtual = pattern_line_has(flags, "layers_per_virtual");
    f->virtual_stages = pattern_line_has(flags, "virtual_stages");
    f->layout = pattern_line_has(flags, "layout");
    reader_bool(flags, "account_embedding", &f->account_embedding);
    reader_bool(flags, "account_loss", &f->account_loss);
    reader_bool(flags, "no_overlap_p2p", &f->no_overlap_p2p);
}

/* Layers that must be stated, before a pattern stated them. */
static void pattern_line_check(struct reader top,
                               const struct pattern_line *line)
{
    const struct pattern_flags *f = &line->flags;
    if (!pattern_is_given(f))
        reader_fail_at(top, "pattern", ERR_PARSE,
                       "got null, want a pattern, or one in flags.override");
    else if (line->core && !line->core->has_pattern && !f->pattern &&
             (!f->override || !f->num_layers))
        reader_fail_at(top, "flags", ERR_PARSE,
                       "core %s wants override and num_layers",
                       line->core->name);
}

/* What the members alone cannot say is checked when all of them could be read:
 * the first error of the reader is the one that is told. */
void pattern_line_read(struct reader top, const struct core_version *core,
                       struct pattern_line *out)
{
    *out = (struct pattern_line){.core = core, .flags = {.pp = 1}};
    reader_require(top, "pp", NULL);
    reader_text(top, "pattern", &out->flags.pattern);
    reader_int(top, "pp", lines_stages, &out->flags.pp);
    pattern_line_flags(reader_object(top, "flags"), out);
    if (reader_is_ok(top))
        pattern_line_check(top, out);
}

/* ---- writing ---- */

static void pattern_write_segments(struct writer to, const struct pattern *p)
{
    struct writer list = writer_list(to, "segments");
    for (int s = 0; s < p->n_segments; s++)
        writer_text(list, NULL, p->segment[s]);
}

/* All members stand in every answer, so that readers need not ask which there
 * are; only offsets of what is refused would be read as layers. */
void pattern_write(struct writer to, const struct pattern *p)
{
    static const struct pattern none = {.mtp = ""};
    const struct pattern *q = p ? p : &none;
    writer_number(to, "vpp", q->vpp);
    writer_number(to, "num_layers", q->n_layers);
    writer_text(to, "mtp", q->mtp);
    writer_number(to, "mtp_depths", q->n_depths);
    writer_bool(to, "mla", q->mla);
    pattern_write_segments(to, q);
    writer_bool(to, "covers", q->covers);
    if (!p)
        return;
    struct writer offsets = writer_list(to, "offsets");
    for (int s = 0; s < q->n_segments; s++)
        writer_number(offsets, NULL, q->offset[s]);
}

/* Megatron builds layers twice without a word where segments overlap: that is a
 * warning of ours, behind its own. */
enum err pattern_line_answer(struct arena *a, struct pattern_line *line,
                             struct writer to, struct err_msg *msg)
{
    struct pattern p;
    struct err_msg why;
    const char *texts[PATTERN_MAX_WARNINGS];
    enum pattern_error e =
        line->core ? pattern_read_by(a, line->core, &line->flags, &p, &why)
                   : pattern_read(a, &line->flags, &p, &why);
    if (e == PATTERN_NO_MEMORY)
        return err_set(msg, ERR_NOMEM, "check: out of memory");
    writer_bool(to, "valid", e == PATTERN_OK);
    writer_text(to, "error", pattern_error_id(e));
    writer_text(to, "where", pattern_error_where(e));
    pattern_write(to, e == PATTERN_OK ? &p : NULL);
    struct writer warnings = writer_list(to, "warnings");
    bool told = e == PATTERN_OK && (!line->core || line->core->has_pattern);
    int n = told ? pattern_warnings(a, &line->flags, &p, texts) : 0;
    for (int i = 0; i < n; i++)
        writer_text(warnings, NULL, texts[i]);
    if (e == PATTERN_OK && !p.covers)
        writer_text(warnings, NULL,
                    "the segments do not add up to the pattern: layers are "
                    "built twice or left out, and Megatron does not say so");
    return ERR_OK;
}

/* ---- translations ---- */

/* A line with the members that it may have. */
struct translate_line {
    const char *layout, *pattern, *moe, *attention;
    int pp;
};

/* One letter stands for all layers. */
static void translate_line_attention(struct arena *a, struct reader top,
                                     struct translate_line *t)
{
    const size_t n = strlen(t->moe), m = strlen(t->attention);
    char *all = arena_alloc(a, n + 1, 1);
    if (m != n && m != 1) {
        reader_fail_at(top, "attention", ERR_PARSE,
                       "got %zu letters, want one, or one for each of the %zu "
                       "layers",
                       m, n);
        return;
    }
    if (!all) {
        reader_fail(top, ERR_NOMEM, "out of memory");
        return;
    }
    memcpy(all, t->attention, m);
    if (m == 1)
        memset(all, t->attention[0], n);
    t->attention = all;
}

/* A layout leaves open what its layers are: the line says it. */
static void translate_line_layout(struct arena *a, struct reader top,
                                  struct translate_line *t)
{
    static const char *const required[] = {"layout", "pp", "moe", "attention"};
    for (int i = 0; i < 4; i++)
        reader_require(top, required[i], NULL);
    reader_text(top, "layout", &t->layout);
    reader_text(top, "moe", &t->moe);
    reader_text(top, "attention", &t->attention);
    if (!reader_is_ok(top))
        return;
    if (strlen(t->moe) > PATTERN_MAX_CHARS || t->moe[strspn(t->moe, "de")])
        reader_fail_at(top, "moe", ERR_PARSE,
                       "want d (dense) or e (experts) for each layer");
    else if (t->attention[strspn(t->attention, "*+DG")])
        reader_fail_at(top, "attention", ERR_PARSE, "want * + D or G");
    else
        translate_line_attention(a, top, t);
}

static void translate_line_pattern(struct reader top, struct translate_line *t)
{
    reader_require(top, "pattern", NULL);
    reader_require(top, "pp", NULL);
    reader_text(top, "pattern", &t->pattern);
}

/* Members of the answer on a pattern, the same for an error, which is a name;
 * the text of what was found goes along. */
static void translate_write_pattern(struct writer to, const struct pattern *p,
                                    const char *text, const char *error)
{
    static const struct pattern none = {.mtp = ""};
    const struct pattern *q = p ? p : &none;
    writer_text(to, "pattern", text);
    writer_text(to, "error", error);
    writer_number(to, "vpp", q->vpp);
    pattern_write_segments(to, q);
    writer_text(to, "mtp", q->mtp);
    writer_number(to, "mtp_depths", q->n_depths);
}

/* Its own m are what the layout wants: a line does not say how many. */
static enum layout_error translate_line_read(struct arena *a,
                                             const struct translate_line *t,
                                             struct layout *l,
                                             struct err_msg *why)
{
    int n_mtp = 0;
    enum layout_error e = layout_parse(a, t->layout, t->pp, l, why);
    for (int s = 0; e == LAYOUT_OK && s < l->n_stages; s++)
        n_mtp += layout_stage(l, s).n_mtp;
    return e == LAYOUT_OK ? layout_validate(l, (int)strlen(t->moe), n_mtp, why)
                          : e;
}

/* Three steps may say why not, each with names of its own: the layout, the
 * translation, and Megatron's reading of its result. */
static enum err translate_answer_pattern(struct arena *a,
                                         const struct translate_line *t,
                                         struct writer to, struct err_msg *msg)
{
    struct layout l;
    struct pattern p;
    struct err_msg why = {""};
    const struct gpt_layers layers = {t->moe, t->attention};
    const char *text = "", *error;
    bool good = false;
    enum layout_error le = translate_line_read(a, t, &l, &why);
    error = layout_error_id(le);
    if (le == LAYOUT_OK) {
        enum translate_error te =
            translate_to_pattern(a, &l, &layers, &text, &why);
        error = translate_error_id(te);
        const struct pattern_flags f = {.pattern = text, .pp = t->pp};
        if (te == TRANSLATE_OK) {
            enum pattern_error pe = pattern_read(a, &f, &p, &why);
            error = pattern_error_id(pe);
            good = pe == PATTERN_OK;
        }
    }
    if (strcmp(error, "out_of_memory") == 0)
        return err_set(msg, ERR_NOMEM, "translate: out of memory");
    translate_write_pattern(to, good ? &p : NULL, good ? text : "", error);
    writer_text(to, "message", good ? "" : why.text);
    return ERR_OK;
}

/* One letter where all are alike. */
static const char *translate_attention(struct arena *a, const char *attention)
{
    return attention[strspn(attention, (char[]){attention[0], '\0'})]
               ? attention
               : arena_strndup(a, attention, 1);
}

/* "" or why the pattern has no layout. */
static const char *translate_line_error(struct arena *a,
                                        const struct translate_line *t,
                                        struct layout *l,
                                        struct gpt_layers *layers,
                                        struct err_msg *why)
{
    struct pattern p;
    const struct pattern_flags f = {.pattern = t->pattern, .pp = t->pp};
    enum pattern_error e = pattern_read(a, &f, &p, why);
    return e != PATTERN_OK
               ? pattern_error_id(e)
               : translate_error_id(translate_to_layout(a, &p, l, layers, why));
}

/* The other way, with the members of its own. */
static enum err translate_answer_layout(struct arena *a,
                                        const struct translate_line *t,
                                        struct writer to, struct err_msg *msg)
{
    struct layout l;
    struct gpt_layers layers;
    struct err_msg why = {""};
    const char *error = translate_line_error(a, t, &l, &layers, &why);
    if (strcmp(error, "out_of_memory") == 0)
        return err_set(msg, ERR_NOMEM, "translate: out of memory");
    bool good = !*error;
    writer_text(to, "layout", good ? translate_plain(a, &l) : "");
    writer_text(to, "moe", good ? layers.moe : "");
    writer_text(to, "attention",
                good ? translate_attention(a, layers.attention) : "");
    writer_text(to, "error", error);
    writer_text(to, "message", good ? "" : why.text);
    return ERR_OK;
}

/* `dir` decides which members are read, so it comes first. */
enum err translate_line_answer(struct arena *a, struct reader top,
                               struct writer to, struct err_msg *msg)
{
    static const char *const dirs[] = {"layout_to_pattern",
                                       "pattern_to_layout"};
    struct translate_line t = {.pp = 1};
    int dir = 0;
    reader_require(top, "dir", "layout_to_pattern or pattern_to_layout");
    reader_choice(top, "dir", dirs, 2, &dir);
    reader_int(top, "pp", lines_stages, &t.pp);
    if (dir == 0)
        translate_line_layout(a, top, &t);
    else
        translate_line_pattern(top, &t);
    if (!reader_is_ok(top))
        return top.doc->err;
    return dir == 0 ? translate_answer_pattern(a, &t, to, msg)
                    : translate_answer_layout(a, &t, to, msg);
}
