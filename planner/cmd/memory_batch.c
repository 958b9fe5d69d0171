/* moe-layout memory --batch: many cases, one a line. */
#include "base/reader.h"
#include "base/writer.h"
#include "memory.h"
#include "memory/case.h"

/* A refused case has an empty list: members are the same on every line. */
static void memory_batch_write_ranks(struct writer to,
                                     const struct memory_case *c)
{
    struct writer list = writer_list(to, "stages");
    for (int r = 0; !c->refusal && r < c->layout.pp; r++) {
        const struct memory_rank *k = &c->ranks[r];
        struct writer s = writer_object(list, NULL);
        writer_number(s, "static_bytes", (double)k->static_bytes);
        writer_number(s, "allocated_bytes", (double)k->allocated_bytes);
        writer_number(s, "peak_bytes", (double)k->peak_bytes);
        writer_number(s, "in_flight", k->in_flight);
    }
}

struct batch_line {
    const char *name;
    struct memory_case_input in;
};

/* Keys that are not known here are let pass: a case may carry what was measured
 * for it. */
static void memory_batch_read_line(struct reader top, struct batch_line *out)
{
    // 0, or absent: as the flags say
    static const struct json_range sizes = {0, 1 << 30};
    struct memory_case_input *in = &out->in;
    reader_require(top, "flags", NULL);
    reader_require(top, "platform", NULL);
    reader_text(top, "case", &out->name);
    reader_text(top, "platform", &in->platform);
    reader_int64(top, "world_size", sizes, &in->world_size);
    reader_int64(top, "padded_vocab_size", sizes, &in->padded_vocab_size);
    in->flags = reader_get(top, "flags").item;
}

/* One line of JSON a case, also of one that is not supported. */
static enum err memory_batch_print(const struct batch_line *line,
                                   const struct memory_case *c,
                                   struct err_msg *msg)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "case", line->name);
    writer_text(top, "platform", line->in.platform);
    writer_bool(top, "supported", !c->refusal);
    writer_text(top, "reason", c->refusal ? c->refusal : "");
    struct writer assumed = writer_list(top, "assumed");
    for (int i = 0; i < c->assumed.n; i++)
        writer_text(assumed, NULL, c->assumed.text[i]);
    cmd_write_lines(c->account, top);
    memory_batch_write_ranks(top, c);
    return writer_print(&doc, false, stdout, msg);
}

/* An arena a line: cases are independent, and a corpus has hundreds. */
static enum err predict_line(struct cmd *cmd, const char *text,
                             const char *where)
{
    struct err_msg *msg = &cmd->msg;
    struct arena a;
    arena_init(&a);
    struct reader_doc doc;
    struct batch_line line = {.name = ""};
    struct memory_case c;
    memory_batch_read_line(reader_open_text(&doc, &a, text, where, msg), &line);
    // the flags are of the tree, which lives until they are used
    enum err e = doc.err;
    if (e == ERR_OK) {
        e = memory_case_predict(&a, &line.in, &c, msg);
        e = e == ERR_OK ? e : err_prefix(msg, e, "%s", where);
    }
    if (e == ERR_OK)
        e = memory_batch_print(&line, &c, msg);
    reader_close(&doc);
    arena_clear(&a);
    return e;
}

enum err cmd_memory_batch(struct cmd *c)
{
    return cmd_each_line(c, c->option[OPT_BATCH], predict_line);
}
