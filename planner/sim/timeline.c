/*
 * How it works: both forms walk the simulation's events once. In the trace an
 * event's name carries its chunk as letters, since Perfetto colours by name
 * and leaves digits out: so a chunk has a colour, and micro-batches share it.
 * Messages are asynchronous events, which may overlap each other.
 */
#include "timeline.h"

#include "base/text.h"
#include "base/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[N_OP_KINDS] = {
    [OP_FORWARD] = "forward",      [OP_BACKWARD] = "backward",
    [OP_EXCHANGE] = "exchange",    [OP_COMBINED] = "combined",
    [OP_HEAD_FORWARD] = "forward", [OP_HEAD_BACKWARD] = "backward",
    [OP_TAILS] = "combined",       [OP_POST] = "message",
    [OP_WAIT] = "exchange",
};

/* What of a combined operation an event is, beside its layers. */
static const char *part_of(enum op_kind kind)
{
    return kind == OP_HEAD_FORWARD    ? " embedding"
           : kind == OP_HEAD_BACKWARD ? " head"
           : kind == OP_TAILS         ? " ends"
                                      : "";
}

enum {
    TIMELINE_PROCESS_RANKS,
    TIMELINE_PROCESS_MESSAGES,
    TIMELINE_N_PROCESSES
};

/* A chunk as letters: A to Z, then AA and on. */
static const char *chunk_name(int chunk, char out[4])
{
    char *at = out;
    if (chunk >= 26)
        *at++ = (char)('A' + (chunk / 26 - 1) % 26);
    *at++ = (char)('A' + chunk % 26);
    *at = '\0';
    return out;
}

static bool has_backward_only(const struct sim_event *e)
{
    return e->kind == OP_HEAD_BACKWARD;
}

/* "forward 3", or with chunks "forward B 3", "combined B 3 + A 1". */
static void event_name(const struct sim_event *e, int vpp, char *out,
                       size_t room)
{
    char one[4], two[4];
    const int chunk = has_backward_only(e) ? e->bwd_chunk : e->chunk;
    const int mb = has_backward_only(e) ? e->bwd_mb : e->mb;
    const char *space = vpp > 1 ? " " : "";
    const char *name = vpp > 1 ? chunk_name(chunk, one) : "";
    size_t n = 0;
    if (mb == NO_MB)
        n = (size_t)snprintf(out, room, "%s", names[e->kind]);
    else
        n = (size_t)snprintf(out, room, "%s%s%s%s %d", names[e->kind],
                             part_of(e->kind), space, name, mb);
    if ((e->kind == OP_COMBINED || e->kind == OP_TAILS) && n < room)
        snprintf(out + n, room - n, " +%s%s %d", space,
                 vpp > 1 ? chunk_name(e->bwd_chunk, two) : "", e->bwd_mb);
}

/* ---- trace ---- */

/* Colours of chrome://tracing's fixed list (Catapult's color_scheme.html), by
 * chunk; waiting is grey. Perfetto colours by name instead, letters only. */
static const char *trace_colour(const struct sim_event *e)
{
    static const char *const list[] = {"thread_state_running",
                                       "thread_state_iowait",
                                       "rail_response",
                                       "rail_animation",
                                       "rail_load",
                                       "thread_state_runnable",
                                       "thread_state_uninterruptible",
                                       "rail_idle"};
    enum { TIMELINE_N_LIST = sizeof list / sizeof list[0] };
    if (e->mb == NO_MB && e->bwd_mb == NO_MB)
        return "grey";
    return list[(has_backward_only(e) ? e->bwd_chunk : e->chunk) %
                TIMELINE_N_LIST];
}

/* An object with the fields that every trace event has. */
static struct writer trace_item(struct writer events, const char *name,
                                const char *phase, int process, int track)
{
    struct writer item = writer_object(events, NULL);
    writer_text(item, "name", name);
    writer_text(item, "ph", phase);
    writer_number(item, "pid", process);
    writer_number(item, "tid", track);
    return item;
}

/* Names a process or a track; `kind` is the trace format's. */
static void trace_name(struct writer events, const char *kind, int process,
                       int track, const char *name)
{
    struct writer item = trace_item(events, kind, "M", process, track);
    writer_text(writer_object(item, "args"), "name", name);
}

/* Its place among the others. */
static void trace_place(struct writer events, const char *kind, int process,
                        int track, int place)
{
    struct writer item = trace_item(events, kind, "M", process, track);
    writer_number(writer_object(item, "args"), "sort_index", place);
}

/* Two processes, and in the first a track a rank in the order of ranks. */
static void trace_tracks(struct writer events, int n_ranks)
{
    static const char *const processes[TIMELINE_N_PROCESSES] = {
        [TIMELINE_PROCESS_RANKS] = "ranks",
        [TIMELINE_PROCESS_MESSAGES] = "messages"};
    for (int p = 0; p < TIMELINE_N_PROCESSES; p++) {
        trace_name(events, "process_name", p, 0, processes[p]);
        trace_place(events, "process_sort_index", p, 0, p);
    }
    for (int rank = 0; rank < n_ranks; rank++) {
        char label[32];
        snprintf(label, sizeof label, "rank %d", rank);
        trace_name(events, "thread_name", TIMELINE_PROCESS_RANKS, rank, label);
        trace_place(events, "thread_sort_index", TIMELINE_PROCESS_RANKS, rank,
                    rank);
    }
}

/* A piece of work or a wait, on its rank's track. */
static void trace_work(struct writer events, const struct sim_event *e, int vpp)
{
    char name[64];
    event_name(e, vpp, name, sizeof name);
    struct writer item =
        trace_item(events, name, "X", TIMELINE_PROCESS_RANKS, e->rank);
    writer_text(item, "cat", names[e->kind]);
    writer_number(item, "ts", e->start_s * 1e6);
    writer_number(item, "dur", (e->end_s - e->start_s) * 1e6);
    writer_text(item, "cname", trace_colour(e));
    const bool back = has_backward_only(e);
    if ((back ? e->bwd_mb : e->mb) == NO_MB)
        return; // a wait
    struct writer args = writer_object(item, "args");
    writer_number(args, "chunk", back ? e->bwd_chunk : e->chunk);
    writer_number(args, "micro_batch", back ? e->bwd_mb : e->mb);
    if (e->kind == OP_COMBINED || e->kind == OP_TAILS) {
        writer_number(args, "backward_chunk", e->bwd_chunk);
        writer_number(args, "backward_micro_batch", e->bwd_mb);
    }
}

/* A message begins and ends, told from others by its number. All messages of
 * a rank have one name, since Perfetto makes a track of each name. */
static void trace_message(struct writer events, const struct sim_event *e,
                          int number)
{
    const bool forward =
        e->message == SEND_FORWARD || e->message == RECV_FORWARD;
    char name[64];
    snprintf(name, sizeof name, "rank %02d sends", e->rank);
    const double at[2] = {e->start_s, e->end_s};
    for (int i = 0; i < 2; i++) {
        struct writer item = trace_item(events, name, i == 0 ? "b" : "e",
                                        TIMELINE_PROCESS_MESSAGES, e->rank);
        writer_text(item, "cat", names[OP_POST]);
        writer_number(item, "id", number);
        writer_number(item, "ts", at[i] * 1e6);
        if (i > 0)
            continue;
        struct writer args = writer_object(item, "args");
        writer_text(args, "what", forward ? "output" : "gradient");
        writer_number(args, "chunk", e->chunk);
        writer_number(args, "micro_batch", e->mb);
    }
}

/* ---- order ---- */

/* By rank, then by start: viewers nest what begins earlier around what begins
 * later, and read a track faster in order. */
static int by_start(const void *x, const void *y)
{
    const struct sim_event *a = *(const struct sim_event *const *)x;
    const struct sim_event *b = *(const struct sim_event *const *)y;
    if (a->rank != b->rank)
        return a->rank - b->rank;
    return (a->start_s > b->start_s) - (a->start_s < b->start_s);
}

/* Caller frees; NULL when out of memory. */
static const struct sim_event **events_in_order(const struct sim_result *r)
{
    const size_t n = (size_t)r->n_events;
    const struct sim_event **out = calloc(n + 1, sizeof *out);
    for (size_t i = 0; i < n && out; i++)
        out[i] = &r->events[i];
    if (out)
        qsort(out, n, sizeof *out, by_start);
    return out;
}

cJSON *timeline_trace(const struct sim_result *r, const struct schedule *s)
{
    const struct sim_event **order = events_in_order(r);
    if (!order)
        return NULL;
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    writer_text(top, "displayTimeUnit", "ms");
    struct writer events = writer_list(top, "traceEvents");
    trace_tracks(events, s->pp);
    for (int i = 0; i < r->n_events; i++) {
        if (order[i]->kind == OP_POST)
            trace_message(events, order[i], i);
        else
            trace_work(events, order[i], s->vpp);
    }
    free(order);
    return writer_close(&doc);
}

/* ---- drawing ---- */

enum {
    SVG_LEFT = 70,
    SVG_RIGHT = 70, // the ranks' names again: a drawing is wider than a screen
    SVG_TOP = 50,
    SVG_ROW = 34,
    SVG_BAR = 24,
    SVG_MESSAGE = 3, // height of a message's bar
    SVG_FONT = 10,
    SVG_DIGIT = 6,  // width of one
    SVG_MARGIN = 3, // beside the digits of a number
    SVG_WIDTH_LEAST = 1100,
    SVG_WIDTH_MOST = 30000, // viewers still open it
    SVG_PER_EVENT = 24      // so that most work has room for two digits
};

/* The shortest message that is still seen. */
static const double SVG_LEAST_MESSAGE = 1.5;

/* Light and dark of a chunk: grey first, for one chunk a rank, then hues that
 * differ in lightness too. */
static const struct {
    const char *light, *dark;
} colours[] = {
    {"#d9d9d9", "#6e6e6e"}, {"#a6cee3", "#1f78b4"}, {"#fdbf6f", "#c05f00"},
    {"#b2df8a", "#33802c"}, {"#fb9a99", "#c41a1c"}, {"#cab2d6", "#6a3d9a"},
    {"#f2e394", "#8c6d1f"}, {"#9fe0d8", "#1b7f79"}, {"#f4bfe0", "#a8327e"},
};

enum { TIMELINE_N_COLOURS = sizeof colours / sizeof colours[0] };

static int colour_of(int chunk, int vpp)
{
    return vpp == 1 ? 0 : 1 + chunk % (TIMELINE_N_COLOURS - 1);
}

struct drawing {
    FILE *out;
    double step_s;
    int vpp, width;
};

static double width_of_event(const struct drawing *d, const struct sim_event *e)
{
    return (e->end_s - e->start_s) / d->step_s * d->width;
}

static void draw_box(const struct drawing *d, const struct sim_event *e, int y,
                     int height, const char *style)
{
    double x = SVG_LEFT + e->start_s / d->step_s * d->width;
    double w = width_of_event(d, e);
    if (e->kind == OP_POST && w < SVG_LEAST_MESSAGE)
        w = SVG_LEAST_MESSAGE;
    fprintf(d->out,
            "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
            "stroke-width=\"0.6\" %s/>\n",
            x, y, w, height, style);
}

/* A micro-batch's number, where there is room for all of its digits. */
static void draw_number(const struct drawing *d, const struct sim_event *e,
                        int y, int mb, const char *colour)
{
    double x = SVG_LEFT + (e->start_s + e->end_s) / 2 / d->step_s * d->width;
    const int digits = snprintf(NULL, 0, "%d", mb);
    if (width_of_event(d, e) >= digits * SVG_DIGIT + SVG_MARGIN)
        fprintf(d->out,
                "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\" "
                "font-size=\"%d\" fill=\"%s\">%d</text>\n",
                x, y, SVG_FONT, colour, mb);
}

static void draw_work(const struct drawing *d, const struct sim_event *e,
                      int chunk, bool forward, int y)
{
    char style[64];
    const int c = colour_of(chunk, d->vpp);
    snprintf(style, sizeof style, "fill=\"%s\" stroke=\"#333\"",
             forward ? colours[c].light : colours[c].dark);
    draw_box(d, e, y, SVG_BAR, style);
}

/* Forward above, backward below. */
static void draw_combined(const struct drawing *d, const struct sim_event *e,
                          int y)
{
    char style[64];
    snprintf(style, sizeof style, "fill=\"%s\" stroke=\"#333\"",
             colours[colour_of(e->chunk, d->vpp)].light);
    draw_box(d, e, y, SVG_BAR / 2, style);
    snprintf(style, sizeof style, "fill=\"%s\" stroke=\"#333\"",
             colours[colour_of(e->bwd_chunk, d->vpp)].dark);
    draw_box(d, e, y + SVG_BAR / 2, SVG_BAR / 2, style);
    if (e->kind != OP_COMBINED)
        return;
    draw_number(d, e, y + SVG_BAR / 2 - 2, e->mb, "#000");
    draw_number(d, e, y + SVG_BAR - 2, e->bwd_mb, "#fff");
}

/* Forward messages above backward ones, in the colour of their sender's. */
static void draw_message(const struct drawing *d, const struct sim_event *e,
                         int y)
{
    char style[64];
    const bool forward = e->message == SEND_FORWARD;
    const int c = colour_of(e->chunk, d->vpp);
    snprintf(style, sizeof style, "fill=\"%s\" stroke=\"none\"",
             colours[c].dark);
    draw_box(d, e, y + SVG_BAR + 1 + (forward ? 0 : SVG_MESSAGE),
             SVG_MESSAGE - 1, style);
}

static void draw_event(const struct drawing *d, const struct sim_event *e)
{
    const int y = SVG_TOP + e->rank * SVG_ROW;
    switch (e->kind) {
    case OP_FORWARD:
    case OP_HEAD_FORWARD:
        draw_work(d, e, e->chunk, true, y);
        draw_number(d, e, y + 16, e->mb, "#000");
        break;
    case OP_BACKWARD:
        draw_work(d, e, e->chunk, false, y);
        draw_number(d, e, y + 16, e->mb, "#fff");
        break;
    case OP_HEAD_BACKWARD:
        draw_work(d, e, e->bwd_chunk, false, y);
        draw_number(d, e, y + 16, e->bwd_mb, "#fff");
        break;
    case OP_COMBINED:
    case OP_TAILS:
        draw_combined(d, e, y);
        break;
    case OP_POST:
        draw_message(d, e, y);
        break;
    default:
        draw_box(d, e, y, SVG_BAR, "fill=\"none\" stroke=\"#aaa\"");
    }
}

/* Text with the characters that XML gives a meaning replaced. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        const char *entity = text_entity(*text);
        if (entity)
            fputs(entity, out);
        else
            fputc(*text, out);
    }
}

/* Which colours are which chunk's. */
static void draw_legend(const struct drawing *d, int y)
{
    for (int v = 0; v < d->vpp && d->vpp > 1; v++) {
        const int x = SVG_LEFT + v * 90, c = colour_of(v, d->vpp);
        char name[4];
        fprintf(d->out,
                "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" "
                "fill=\"%s\"/><rect x=\"%d\" y=\"%d\" width=\"12\" "
                "height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\" "
                "font-size=\"12\">chunk %s</text>\n",
                x, y - 10, colours[c].light, x + 12, y - 10, colours[c].dark,
                x + 28, y, chunk_name(v, name));
    }
}

/* At both ends. */
static void draw_rank_name(const struct drawing *d, int rank)
{
    const int places[] = {10, SVG_LEFT + d->width + 10};
    for (int i = 0; i < 2; i++)
        fprintf(d->out,
                "<text x=\"%d\" y=\"%d\" font-size=\"13\">rank %d</text>\n",
                places[i], SVG_TOP + rank * SVG_ROW + 17, rank);
}

static void draw(const struct drawing *d, const struct sim_result *r,
                 int n_ranks, const char *title)
{
    const int height = SVG_TOP + n_ranks * SVG_ROW + (d->vpp > 1 ? 50 : 30);
    const int width = SVG_LEFT + d->width + SVG_RIGHT;
    fprintf(d->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"24\" font-size=\"15\">",
            width, height, width, height, SVG_LEFT);
    put_text(d->out, title);
    fputs("</text>\n", d->out);
    for (int rank = 0; rank < n_ranks; rank++)
        draw_rank_name(d, rank);
    for (int i = 0; i < r->n_events; i++)
        draw_event(d, &r->events[i]);
    draw_legend(d, height - 28);
    fprintf(d->out,
            "<text x=\"%d\" y=\"%d\" font-size=\"12\">light: forward, dark: "
            "backward, outline: exchange, thin: messages; numbers: "
            "micro-batches; whole width %.3f ms</text>\n</svg>\n",
            SVG_LEFT, height - 8, r->step_s * 1e3);
}

/* Wide enough for the rank with most work. */
static int width_of(const struct schedule *s)
{
    int most = 0;
    for (int r = 0; r < s->pp; r++) {
        const int n = order_size(&s->order, r);
        most = n > most ? n : most;
    }
    const int width = most < SVG_WIDTH_MOST / SVG_PER_EVENT
                          ? most * SVG_PER_EVENT
                          : SVG_WIDTH_MOST;
    return width > SVG_WIDTH_LEAST ? width : SVG_WIDTH_LEAST;
}

char *timeline_svg(struct arena *a, const struct sim_result *r,
                   const struct schedule *s, const char *title)
{
    char *text = NULL, *copy = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return NULL;
    const struct drawing d = {out, r->step_s, s->vpp, width_of(s)};
    draw(&d, r, s->pp, title);
    bool ok = !ferror(out);
    ok = fclose(out) == 0 && ok;
    if (ok)
        copy = arena_strndup(a, text, len);
    free(text);
    return copy;
}
