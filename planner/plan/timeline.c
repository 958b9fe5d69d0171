#include "timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [OP_FORWARD] = "forward",
    [OP_BACKWARD] = "backward",
    [OP_EXCHANGE] = "exchange",
};

cJSON *timeline_trace(const struct sim_result *r, int n_ranks)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *events = cJSON_AddArrayToObject(tree, "traceEvents");
    for (int rank = 0; rank < n_ranks; rank++) {
        char label[32];
        snprintf(label, sizeof label, "rank %d", rank);
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", "thread_name");
        cJSON_AddStringToObject(item, "ph", "M");
        cJSON_AddNumberToObject(item, "pid", 0);
        cJSON_AddNumberToObject(item, "tid", rank);
        cJSON *args = cJSON_AddObjectToObject(item, "args");
        cJSON_AddStringToObject(args, "name", label);
        cJSON_AddItemToArray(events, item);
    }
    for (int i = 0; i < r->n_events; i++) {
        const struct sim_event *e = &r->events[i];
        char name[48];
        snprintf(name, sizeof name, e->mb == NO_MB ? "%s" : "%s %d",
                 names[e->kind], e->mb);
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", name);
        cJSON_AddStringToObject(item, "cat", names[e->kind]);
        cJSON_AddStringToObject(item, "ph", "X");
        cJSON_AddNumberToObject(item, "pid", 0);
        cJSON_AddNumberToObject(item, "tid", e->rank);
        cJSON_AddNumberToObject(item, "ts", e->start_s * 1e6);
        cJSON_AddNumberToObject(item, "dur", (e->end_s - e->start_s) * 1e6);
        cJSON_AddItemToArray(events, item);
    }
    return tree;
}

/* ---- drawing ---- */

enum { LEFT = 70, TOP = 50, WIDTH = 1100, ROW = 34, BAR = 24, LABEL = 12 };

static void draw_event(FILE *out, const struct sim_event *e, double step_s)
{
    static const char *const style[] = {
        [OP_FORWARD] = "fill=\"#d9d9d9\" stroke=\"#333\"",
        [OP_BACKWARD] = "fill=\"#6e6e6e\" stroke=\"#333\"",
        [OP_EXCHANGE] = "fill=\"none\" stroke=\"#aaa\"",
    };
    double x = LEFT + e->start_s / step_s * WIDTH;
    double w = (e->end_s - e->start_s) / step_s * WIDTH;
    int y = TOP + e->rank * ROW;
    fprintf(out,
            "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
            "stroke-width=\"0.6\" %s/>\n",
            x, y, w, BAR, style[e->kind]);
    if (e->mb != NO_MB && w > LABEL)
        fprintf(out,
                "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\" "
                "font-size=\"11\" fill=\"%s\">%d</text>\n",
                x + w / 2, y + 16, e->kind == OP_FORWARD ? "#000" : "#fff",
                e->mb);
}

/* Text with the characters that XML gives a meaning replaced. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else
            fputc(*text, out);
    }
}

static void draw(FILE *out, const struct sim_result *r, int n_ranks,
                 const char *title)
{
    int height = TOP + n_ranks * ROW + 30;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\">\n<rect width=\"100%%\" "
            "height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"24\" "
            "font-size=\"15\">",
            LEFT + WIDTH + 20, height, LEFT);
    put_text(out, title);
    fputs("</text>\n", out);
    for (int rank = 0; rank < n_ranks; rank++)
        fprintf(out,
                "<text x=\"10\" y=\"%d\" font-size=\"13\">rank %d</text>\n",
                TOP + rank * ROW + 17, rank);
    for (int i = 0; i < r->n_events; i++)
        draw_event(out, &r->events[i], r->step_s);
    fprintf(out,
            "<text x=\"%d\" y=\"%d\" font-size=\"12\">light: forward, dark: "
            "backward, outline: exchange; numbers: micro-batches; whole width "
            "%.3f ms</text>\n</svg>\n",
            LEFT, height - 8, r->step_s * 1e3);
}

char *timeline_svg(struct arena *a, const struct sim_result *r, int n_ranks,
                   const char *title)
{
    char *text = NULL, *copy = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return NULL;
    draw(out, r, n_ranks, title);
    bool ok = !ferror(out);
    ok = fclose(out) == 0 && ok;
    if (ok)
        copy = arena_strndup(a, text, len);
    free(text);
    return copy;
}
