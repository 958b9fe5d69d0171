#include "manifest/grammar.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

struct sample {
    enum grammar grammar;
    char text[80];
    bool fits;
};

ParameterizedTestParameters(manifest_grammar, tells_right_from_wrong)
{
    static struct sample cases[] = {
        {GRAMMAR_COMMIT, "3bec9aa97dda898d16ff5a89bac0ed2b6682b172", true},
        {GRAMMAR_COMMIT, "3BEC9AA", true},
        {GRAMMAR_COMMIT, "3bec9a", false},
        {GRAMMAR_COMMIT, "3bec9aa; touch x", false},
        {GRAMMAR_COMMIT, "$(touch x)abcdef", false},
        {GRAMMAR_COMMIT, "--upload-pack=x", false},
        {GRAMMAR_COMMIT, "", false},
        {GRAMMAR_NAMES, "gpu,gpu-long", true},
        {GRAMMAR_NAMES, "gpu\n#SBATCH --wrap=x", false},
        {GRAMMAR_NAMES, "gpu --wrap=x", false},
        {GRAMMAR_NAME, "abc@v100", true},
        {GRAMMAR_NAME, "a,b", false},
        {GRAMMAR_NAME, "-x", false},
        {GRAMMAR_NAME, "a\r", false},
        {GRAMMAR_ID, "69402ea6c0ff", true},
        {GRAMMAR_ID, "--me", false},
        {GRAMMAR_ID, "../1", false},
        {GRAMMAR_MODULE, "cuda/12.4", true},
        {GRAMMAR_MODULE, "a; b", false},
        {GRAMMAR_MOUNT, "/data:/data", true},
        {GRAMMAR_MOUNT, "hf://datasets/a/b:/data:ro", true},
        {GRAMMAR_MOUNT, "/data", false},
        {GRAMMAR_MOUNT, "/data:", false},
        {GRAMMAR_MOUNT, "/a:/a,/etc:/etc", false},
        {GRAMMAR_MOUNT, "/a:/a\nx", false},
        {GRAMMAR_IMAGE, "nvcr.io/nvidia/pytorch:25.09-py3@sha256:f3b4", true},
        {GRAMMAR_IMAGE, "nvcr.io#nvidia/pytorch:25.09", true},
        {GRAMMAR_IMAGE, "a\ntouch x", false},
        {GRAMMAR_IMAGE, "--privileged", false},
        {GRAMMAR_BUCKET, "hf://buckets/me/moe", true},
        {GRAMMAR_BUCKET, "hf://buckets/me/../you", false},
        {GRAMMAR_BUCKET, "hf://buckets/me/moe:/x", false},
        {GRAMMAR_BUCKET, "/etc", false},
        {GRAMMAR_ADDRESS, "head-1.site:29500", true},
        {GRAMMAR_ADDRESS, "[::1]:29500", true},
        {GRAMMAR_ADDRESS, "head", false},
        {GRAMMAR_ADDRESS, ":29500", false},
        {GRAMMAR_ADDRESS, "head:99999", false},
        {GRAMMAR_ADDRESS, "$(x):1", false},
        {GRAMMAR_ASSIGNMENT, "NCCL_DEBUG=WARN", true},
        {GRAMMAR_ASSIGNMENT, "A=b c 'd'", true},
        {GRAMMAR_ASSIGNMENT, "A=", true},
        {GRAMMAR_ASSIGNMENT, "=x", false},
        {GRAMMAR_ASSIGNMENT, "1A=x", false},
        {GRAMMAR_ASSIGNMENT, "A;touch x=1", false},
        {GRAMMAR_ASSIGNMENT, "A=b\nc", false},
        {GRAMMAR_BELOW, "models/a..b.json", true},
        {GRAMMAR_BELOW, "../..", false},
        {GRAMMAR_BELOW, "a/../../b", false},
        {GRAMMAR_BELOW, "/a", false},
        {GRAMMAR_BELOW, "", false},
        {GRAMMAR_OPERAND, "my script.py", true},
        {GRAMMAR_OPERAND, "-m", false},
        {GRAMMAR_LINE, "ulimit -n\t65536", true},
        {GRAMMAR_LINE,
         "Gr\xc3\xb6\xc3\x9f"
         "e",
         true},
        {GRAMMAR_LINE, "\x1b[2J", false},
        {GRAMMAR_LINE, "a\nb", false},
    };
    return cr_make_param_array(struct sample, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct sample *c, manifest_grammar, tells_right_from_wrong)
{
    cr_expect_eq(grammar_fits(c->grammar, c->text), c->fits, "'%s' as %s",
                 c->text, grammar_wanted(c->grammar));
}

/* A manifest with one key of a section, and where the message points to. */
struct planted {
    char section[12], member[160], place[24];
};

ParameterizedTestParameters(manifest_grammar, no_key_lets_a_line_end)
{
    static struct planted cases[] = {
        {"launcher", "\"partition\":\"a\\nb\"", "launcher.partition"},
        {"launcher", "\"account\":\"a\\nb\"", "launcher.account"},
        {"launcher", "\"flavor\":\"a\\nb\"", "launcher.flavor"},
        {"launcher", "\"namespace\":\"a\\nb\"", "launcher.namespace"},
        {"launcher", "\"results\":\"hf://a\\nb\"", "launcher.results"},
        {"launcher", "\"rendezvous\":\"a\\nb:1\"", "launcher.rendezvous"},
        {"launcher", "\"platform\":\"a\\nb\"", "launcher.platform"},
        {"launcher", "\"modules\":[\"x\",\"a\\nb\"]", "launcher.modules[1]"},
        {"launcher", "\"mounts\":[\"/a:/b\\nc\"]", "launcher.mounts[0]"},
        {"launcher", "\"lines\":[\"#SBATCH -x\\nrm\"]", "launcher.lines[0]"},
        {"launcher", "\"env\":[\"A=b\\nc\"]", "launcher.env[0]"},
        {"launcher", "\"command\":[\"a\\nb\"]", "launcher.command[0]"},
        {"trainer", "\"commit\":\"abcdef0\\n\"", "trainer.commit"},
        {"trainer", "\"container\":\"a\\nb\"", "trainer.container"},
        {"trainer", "\"entry\":\"a\\nb\"", "trainer.entry"},
        {"trainer", "\"args\":[\"a\\nb\"]", "trainer.args[0]"},
        {"hardware", "\"gpu\":\"a\\nb\"", "hardware.gpu"},
    };
    return cr_make_param_array(struct planted, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct planted *c, manifest_grammar, no_key_lets_a_line_end)
{
    struct arena a;
    struct reader_doc doc;
    struct err_msg msg = {""};
    char text[256];
    arena_init(&a);
    snprintf(text, sizeof text, "{\"%s\":{%s}}", c->section, c->member);
    grammar_check(reader_open_text(&doc, &a, text, "x.json", &msg));
    cr_expect_eq(reader_close(&doc), ERR_PARSE, "%s", text);
    cr_expect_not_null(strstr(msg.text, c->place), "%s", msg.text);
    cr_expect_null(strchr(msg.text, '\n'), "%s", msg.text);
    arena_clear(&a);
}

Test(manifest_grammar, wrong_types_are_left_to_the_reader)
{
    struct arena a;
    struct reader_doc doc;
    struct err_msg msg = {""};
    arena_init(&a);
    grammar_check(reader_open_text(&doc, &a,
                                   "{\"launcher\":7,\"trainer\":[],\"hardware\""
                                   ":{\"gpu\":3},\"model\":{}}",
                                   "x.json", &msg));
    cr_expect_eq(reader_close(&doc), ERR_OK, "%s", msg.text);
    arena_clear(&a);
}
