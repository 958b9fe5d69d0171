#include "regress/junit.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static struct err_msg msg;

static void setup(void)
{
    arena_init(&arena);
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(junit, .init = setup, .fini = teardown);

static const char *written(const struct junit *j)
{
    char path[] = "/tmp/junit-XXXXXX";
    struct text_span text;
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    cr_assert_eq(junit_write(j, path, &msg), ERR_OK, "%s", msg.text);
    cr_assert_eq(text_read_file(&arena, path, 1 << 20, &text, &msg), ERR_OK);
    unlink(path);
    return text.data;
}

Test(junit, texts_are_escaped_and_what_xml_cannot_hold_is_replaced)
{
    struct junit j;
    junit_begin(&j, &arena);
    const struct junit_case c = {.dataset = "a&b<c>\"d'",
                                 .name = "\xc3\xa9\x1b\x7f\xff\xed\xa0\x80\xc3",
                                 .result = JUNIT_FAILED,
                                 .text = "1 < 2\nnext\xef\xbf\xbf"};
    junit_add(&j, &c);
    const char *text = written(&j);
    cr_expect(strstr(text, "classname=\"a&amp;b&lt;c&gt;&quot;d&#39;\""), "%s",
              text);
    cr_expect(strstr(text, "name=\"\xc3\xa9???"
                           "???"
                           "?\""),
              "%s", text);
    cr_expect(strstr(text, "<failure message=\"1 &lt; 2?next???\"/>"), "%s",
              text);
}

Test(junit, counts_are_of_the_cases)
{
    struct junit j;
    junit_begin(&j, &arena);
    for (int r = JUNIT_PASSED; r <= JUNIT_ERROR; r++) {
        const struct junit_case c = {"x", "y", (enum junit_result)r, "z", NULL};
        junit_add(&j, &c);
    }
    cr_expect(strstr(written(&j), "tests=\"4\" failures=\"1\" errors=\"1\" "
                                  "skipped=\"1\""));
}

Test(junit, a_mark_with_nothing_to_compare_is_skipped_and_not_passed)
{
    struct junit j;
    struct bound bound = {.dataset = "x"};
    struct verdict v = {.bound = &bound, .unknown = "", .why = ""};
    v.now.pct[MARK_MEAN] = 1;
    v.then.pct[MARK_MEAN] = NAN;
    v.state[MARK_MEAN] = MARK_NEW;
    v.state[MARK_OVER] = MARK_GONE;
    v.now.pct[MARK_OVER] = NAN;
    junit_begin(&j, &arena);
    junit_verdict(&j, "x", &v);
    cr_expect_eq(j.n_of[JUNIT_SKIPPED], 1);
    cr_expect_eq(j.n_of[JUNIT_FAILED], 1);
    v.unknown = " a step error is not known";
    v.n_lost = 2;
    junit_begin(&j, &arena);
    junit_verdict(&j, "x", &v);
    cr_expect_eq(j.n_of[JUNIT_FAILED], 3);
    cr_expect(strstr(written(&j), "message=\"2 are not predicted any more\""));
}

Test(junit, a_text_that_memory_did_not_suffice_for_writes_nothing)
{
    struct junit j;
    junit_begin(&j, &arena);
    const struct junit_case c = {.dataset = "x", .name = "y"};
    junit_add(&j, &c);
    cr_expect_eq(junit_write(&j, "/tmp/no-such-folder/x", &msg), ERR_NOMEM);
}
