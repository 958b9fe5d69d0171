/*
 * How it works: between two sights of a running job it ran; between one that
 * waited and one that runs it may have. A record holds the time of the last
 * sight by both clocks, and the boot that the monotonic one belongs to: on the
 * same boot counting simply goes on. After another one, or on another machine,
 * the wall clock bounds the price, but no limit ends a job by it.
 */
#include "meter.h"

#include "base/text.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { METER_BOOT_BYTES = 256 }; // a UUID and a newline

#define METER_MAX_S 1e9 // 30 years

/* Of this start of this machine; "" where the kernel does not tell. */
static const char *meter_boot(struct arena *a)
{
    struct text_span text;
    struct err_msg ignored;
    if (text_read_file(a, "/proc/sys/kernel/random/boot_id", METER_BOOT_BYTES,
                       &text, &ignored) != ERR_OK)
        return "";
    const char *id = arena_strndup(a, text.data, strcspn(text.data, "\n"));
    return id ? id : "";
}

static double meter_utc_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec;
}

void meter_start(struct meter *m, double now_s)
{
    *m = (struct meter){.sight_s = now_s};
}

void meter_see_waiting(struct meter *m, double now_s)
{
    if (!m->running)
        meter_start(m, now_s);
}

void meter_see_running(struct meter *m, double now_s, double told_s)
{
    double gap_s = fmax(now_s - m->sight_s, 0);
    if (m->running)
        m->sure_s += gap_s;
    else
        m->unseen_s += gap_s;
    if (told_s > m->sure_s) {
        double more_s = fmin(told_s - m->sure_s, m->unseen_s);
        m->sure_s += more_s;
        m->unseen_s -= more_s;
    }
    m->running = true;
    m->sight_s = now_s;
}

double meter_ran_s(const struct meter *m, double now_s, double told_s,
                   double most_s)
{
    double end_s = m->sure_s + m->unseen_s + fmax(now_s - m->sight_s, 0);
    if (most_s > 0)
        end_s = fmax(m->sure_s, fmin(end_s, most_s));
    return told_s > 0 ? fmin(fmax(told_s, m->sure_s), end_s) : end_s;
}

void meter_write(const struct meter *m, double now_s, struct arena *a,
                 struct writer o)
{
    writer_bool(o, "running", m->running);
    writer_number(o, "ran_s", m->sure_s);
    writer_number(o, "unseen_s", m->unseen_s);
    writer_number(o, "seen_s", m->sight_s);
    // the same moment by the wall clock
    writer_number(o, "seen_utc_s", meter_utc_s() - fmax(now_s - m->sight_s, 0));
    writer_text(o, "boot", meter_boot(a));
}

/* A sight in the future is none of this boot. */
void meter_read(struct meter *m, double now_s, struct reader top)
{
    const struct json_range range = {0, METER_MAX_S}, any = {-1e12, 1e12};
    double seen_s = -1, utc_s = 0;
    const char *boot = "";
    meter_start(m, now_s);
    reader_bool(top, "running", &m->running);
    reader_double(top, "ran_s", range, &m->sure_s);
    reader_double(top, "unseen_s", range, &m->unseen_s);
    reader_double(top, "seen_s", any, &seen_s);
    reader_double(top, "seen_utc_s", any, &utc_s);
    reader_text(top, "boot", &boot);
    if (seen_s < 0 || !reader_is_ok(top))
        return;
    if (*boot && seen_s <= now_s && strcmp(boot, meter_boot(top.doc->a)) == 0)
        m->sight_s = seen_s;
    else
        m->unseen_s += fmin(fmax(meter_utc_s() - utc_s, 0), METER_MAX_S);
}
