#include "regress/compare.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define A "aaaa000000000000000000000000000000000000"
#define B "bbbb000000000000000000000000000000000000"

static struct arena arena;
static struct err_msg msg;
static char path[32];

static void setup(void)
{
    arena_init(&arena);
    msg = (struct err_msg){""};
    snprintf(path, sizeof path, "/tmp/history-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    unlink(path);
}

static void teardown(void)
{
    unlink(path);
    arena_clear(&arena);
}

TestSuite(history, .init = setup, .fini = teardown);

static struct history_line line(const char *dataset, double mean)
{
    struct history_line l = {.dataset = dataset, .measured = "0123456789ab"};
    l.marks = (struct marks){.n = 3, .pct = {mean, 1, 1, 0, 0, NAN, 0.1}};
    return l;
}

/* A session of datasets x and y. */
static void record(const char *commit, const char *reason, double mean)
{
    struct history_line lines[] = {line("x", mean), line("y", 2)};
    struct history_session s = {.line = lines, .n = 2};
    history_sign(&arena, &s, commit, reason);
    cr_assert_eq(history_append(&arena, path, &s, &msg), ERR_OK, "%s",
                 msg.text);
}

static enum err find(const char *text, const char *commit,
                     struct history_session *out)
{
    struct history h;
    const struct history_name name = {text, commit};
    cr_assert_eq(history_read(&arena, path, &h, &msg), ERR_OK, "%s", msg.text);
    return history_find(&arena, &h, name, out, &msg);
}

Test(history, lines_read_as_written)
{
    struct history h;
    record(A, "a \"reason\", with a comma", 1.0 / 3);
    cr_assert_eq(history_read(&arena, path, &h, &msg), ERR_OK, "%s", msg.text);
    cr_assert_eq(h.n, 2);
    cr_expect_str_eq(h.line[0].commit, A);
    cr_expect_str_eq(h.line[0].reason, "a \"reason\", with a comma");
    cr_expect_str_eq(h.line[1].dataset, "y");
    cr_expect_eq(h.line[0].marks.n, 3);
    cr_expect_eq(h.line[0].marks.pct[MARK_MEAN], 1.0 / 3);
    cr_expect(isnan(h.line[0].marks.pct[MARK_REGRET]));
}

Test(history, a_missing_file_has_no_lines_and_no_session)
{
    struct history_session s;
    cr_expect_eq(find("last", NULL, &s), ERR_PARSE);
    cr_expect(strstr(msg.text, "there are no sessions"), "%s", msg.text);
}

Test(history, sessions_are_found_by_last_line_and_commit)
{
    struct history_session s;
    record(A, "one", 1);
    record(A, "two", 2);
    record(B "+", "three", 3);
    cr_assert_eq(find("last", NULL, &s), ERR_OK, "%s", msg.text);
    cr_expect_eq(s.n, 2);
    cr_expect_eq(s.line[0].marks.pct[MARK_MEAN], 3);
    cr_assert_eq(find("3", NULL, &s), ERR_OK, "%s", msg.text);
    cr_expect_eq(s.line[0].marks.pct[MARK_MEAN], 1);
    cr_assert_eq(find("v1", A, &s), ERR_OK, "%s", msg.text);
    cr_expect_eq(s.n, 2, "a dataset once");
    cr_expect_eq(s.line[0].marks.pct[MARK_MEAN], 2, "its last line");
    cr_assert_eq(find("bbbb", NULL, &s), ERR_OK, "%s", msg.text);
    cr_expect_eq(s.line[0].marks.pct[MARK_MEAN], 3);
    cr_expect(strstr(s.name, "bbbb00000000+"), "%s", s.name);
}

Test(history, a_clean_line_of_a_commit_goes_before_one_with_changes)
{
    struct history_session s;
    record(A, "clean", 1);
    record(A "+", "with changes on top", 2);
    cr_assert_eq(find("HEAD", A, &s), ERR_OK, "%s", msg.text);
    cr_expect_eq(s.line[0].marks.pct[MARK_MEAN], 1);
}

Test(history, a_name_without_a_line_lists_those_there_are)
{
    struct history_session s;
    record(A, "one", 1);
    record("aaab" A, "two", 1);
    const char *const none[] = {"cccc", "1", "6", "999999", "aa", "", "main"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cr_expect_eq(find(none[i], NULL, &s), ERR_PARSE, "%s", none[i]);
        cr_expect(strstr(msg.text, "line 2 aaaa00000000"), "%s", msg.text);
        cr_expect(strstr(msg.text, "line 4 aaabaaaa0000"), "%s", msg.text);
    }
    cr_expect_eq(find("main", B, &s), ERR_PARSE, "a commit without a line");
    cr_expect_eq(find("aaaa", NULL, &s), ERR_OK, "%s", msg.text);
    record("aaaac" A, "three", 1);
    cr_expect_eq(find("aaaa", NULL, &s), ERR_PARSE, "it begins two");
    cr_expect(strstr(msg.text, "more than one commit"), "%s", msg.text);
}

Test(history, old_bytes_stay_and_a_damaged_file_is_not_added_to)
{
    struct history h;
    record(A, "one", 1);
    FILE *f = fopen(path, "a");
    fputs("moe-bench/history/1," A ",now,why,x,1,0,nan,,,,,,\n", f);
    fclose(f);
    cr_expect_eq(history_read(&arena, path, &h, &msg), ERR_PARSE);
    cr_expect(strstr(msg.text, "line 4: mean_pct: got 'nan'"), "%s", msg.text);
    struct history_line l = line("x", 1);
    struct history_session s = {.line = &l, .n = 1};
    history_sign(&arena, &s, A, "two");
    cr_expect_eq(history_append(&arena, path, &s, &msg), ERR_PARSE);
}

/* An editor may have saved it without its last line's end. */
Test(history, a_last_line_without_an_end_keeps_its_own)
{
    struct history h;
    struct text_span text;
    record(A, "one", 1);
    cr_assert_eq(text_read_file(&arena, path, 1 << 20, &text, &msg), ERR_OK);
    cr_assert_eq(truncate(path, (off_t)text.len - 1), 0);
    record(B, "two", 2);
    cr_assert_eq(history_read(&arena, path, &h, &msg), ERR_OK, "%s", msg.text);
    cr_expect_eq(h.n, 4);
    cr_expect_str_eq(h.line[2].commit, B);
}

Test(history, reasons_are_one_line)
{
    char longer[HISTORY_REASON_BYTES + 2];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    const char *const bad[] = {"", "  ", "a\nb", "a\x1b[0m", "\t", longer};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_eq(history_check_reason(bad[i], &msg), ERR_RANGE, "%zu", i);
    longer[HISTORY_REASON_BYTES] = '\0';
    cr_expect_eq(history_check_reason(longer, &msg), ERR_OK);
}

Test(history, what_is_not_known_makes_no_line)
{
    struct validate_row r[] = {{.experiment = "x",
                                .role = "pick",
                                .layout = "EtL",
                                .meas_ms = 1,
                                .step_error_pct = 1},
                               {.experiment = "x",
                                .role = "default",
                                .layout = "EtL",
                                .meas_ms = 1,
                                .step_error_pct = NAN}};
    struct history_line out;
    struct validate_rows rows = {r, 2};
    cr_expect_eq(history_line_of(&arena, &rows, &out, &msg), ERR_MODEL);
    rows.n = 0;
    cr_expect_eq(history_line_of(&arena, &rows, &out, &msg), ERR_MODEL);
    rows.n = 1;
    cr_assert_eq(history_line_of(&arena, &rows, &out, &msg), ERR_OK);
    const char *measured = out.measured;
    r[0].pred_ms = 7; // a prediction is no measurement
    cr_assert_eq(history_line_of(&arena, &rows, &out, &msg), ERR_OK);
    cr_expect_str_eq(out.measured, measured);
    r[0].meas_ms = 2;
    cr_assert_eq(history_line_of(&arena, &rows, &out, &msg), ERR_OK);
    cr_expect_str_neq(out.measured, measured);
}

/* ---- compare ---- */

static struct comparison compare(struct history_line then,
                                 struct history_line now, bool whole)
{
    struct bounds *b = arena_alloc(&arena, 1, sizeof *b);
    *b = bounds_default();
    struct history_line *lines = arena_alloc(&arena, 2, sizeof *lines);
    lines[0] = then;
    lines[1] = now;
    const struct history_session s = {"s", lines, 1}, t = {"t", lines + 1, 1};
    const struct compare_by by = {&s, &t, b, whole};
    struct comparison c;
    cr_assert_eq(compare_sessions(&arena, &by, &c, &msg), ERR_OK);
    return c;
}

Test(history, each_mark_is_held_to_its_bound)
{
    for (int m = 0; m < N_MARKS; m++) {
        struct history_line then = line("x", 1), now = line("x", 1);
        then.marks.pct[MARK_REGRET] = now.marks.pct[MARK_REGRET] = 0;
        const double room = mark_default_bound((enum mark)m);
        const double was = m == MARK_REPLAY ? 0 : then.marks.pct[m];
        now.marks.pct[m] = was + room;
        struct comparison c = compare(then, now, true);
        cr_expect_not(c.worse, "%s", c.row[0].why);
        now.marks.pct[m] = was + room + 0.001;
        c = compare(then, now, true);
        cr_expect(c.worse && c.n_worse == 1, "mark %d", m);
        cr_expect(strstr(c.row[0].why, mark_words((enum mark)m)), "%s",
                  c.row[0].why);
        now.marks.pct[m] = NAN;
        cr_expect(compare(then, now, true).worse, "mark %d is gone", m);
    }
}

Test(history, nothing_to_compare_is_no_pass)
{
    struct history_line then = line("x", 1), now = line("y", 1);
    cr_expect(compare(then, now, false).worse, "no dataset of both");
    cr_expect_eq(compare(then, now, false).n_worse, 0);
    cr_expect_eq(compare(then, now, true).n_worse, 1, "x is gone");
    now = line("x", 9);
    now.measured = "another";
    struct comparison c = compare(then, now, true);
    cr_expect(c.worse && c.n_judged == 0 && c.n_worse == 0);
    now.marks.n = 2;
    cr_expect_eq(compare(then, now, true).n_worse, 1, "fewer layouts");
}
