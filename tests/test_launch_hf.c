#include "launch/hf.h"

#include <criterion/criterion.h>

static struct arena arena;

static void setup(void)
{
    arena_init(&arena);
}

static void teardown(void)
{
    arena_clear(&arena);
}

TestSuite(launch_hf, .init = setup, .fini = teardown);

Test(launch_hf, finds_the_id_in_every_form_of_the_answer)
{
    static const char *const texts[] = {
        "✓ Job started\n  id: 69402ea6c0ffee0123456789\n  url: https://x/y\n",
        "id=69402ea6c0ffee0123456789 url=https://x/jobs/me/other\n",
        "Job started with ID: 69402ea6c0ffee0123456789\nView at: https://x\n",
        "{\"id\": \"69402ea6c0ffee0123456789\", \"url\": \"https://x\"}\n",
        "69402ea6c0ffee0123456789\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *id = launch_hf_id(&arena, texts[i]);
        cr_assert_not_null(id, "%s", texts[i]);
        cr_expect_str_eq(id, "69402ea6c0ffee0123456789", "%s", texts[i]);
    }
    cr_expect_null(launch_hf_id(&arena, "invalid: nothing was started\n"));
}

Test(launch_hf, reads_stages_from_json)
{
    static const struct {
        const char *text;
        enum job_state state;
    } cases[] = {
        {"[{\"id\": \"a\", \"status\": {\"stage\": \"SCHEDULING\"}}]",
         JOB_WAITING},
        {"[{\"status\": {\"stage\": \"RUNNING\", \"message\": null}}]",
         JOB_RUNNING},
        {"{\"stage\": \"COMPLETED\", \"message\": null}", JOB_ENDED},
        {"warning: a newer hf [x] is there, stage RUNNING\n"
         "[\n {\n  \"id\": \"a\",\n  \"command\": [\"echo\", \"stage ERROR\"],"
         "\n  \"status\": {\n   \"stage\": \"COMPLETED\"\n  }\n }\n]\n",
         JOB_ENDED},
        {"[{\"status\": {\"stage\": \"RUNN", JOB_WAITING},
        {"[]", JOB_WAITING},
        {"[{\"status\": \"RUNNING\"}]", JOB_WAITING},
        {"{\"stage\": \"ERROR\", \"message\": \"exit 1\"}", JOB_FAILED},
        {"{\"stage\": \"ERROR\", \"message\": \"Job timeout\"}", JOB_OVER_TIME},
        {"{\"stage\": \"CANCELED\"}", JOB_CANCELLED},
        {"{\"stage\": \"DELETED\"}", JOB_LOST},
        {"nothing", JOB_WAITING}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(launch_hf_view(&arena, cases[i].text).state,
                     cases[i].state, "%s", cases[i].text);
}
