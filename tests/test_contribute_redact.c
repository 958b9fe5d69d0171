/*
 * What must never leave: texts of many kinds planted at every place of a log.
 * The texts are made up; none was ever valid.
 */
#define _GNU_SOURCE // memmem
#include "contribute/redact.h"

#include "base/random.h"
#include "contribute/chunk.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN16 "Ab0Cd1Ef2Gh3Ij4K"

/* Planted, and what of it must not be found (NULL: all of it). */
struct plant {
    char kind[32], text[200], core[80];
};

static struct plant plants[] = {
    {"aws key id", "AKIAIOSFODNN7EXAMPLE", ""},
    {"aws secret", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "K7MDENG"},
    {"jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJhbGci"},
    {"ssh key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx9", "AAAAC3NzaC1l"},
    {"private key", "-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaC1rZXk",
     "b3BlbnNzaC1rZXk"},
    {"bearer", "Authorization: Bearer q1w2e3r4t5y6u7i8", "q1w2e3r4t5y6"},
    {"basic auth", "Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"},
    {"wandb", "WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567",
     "0123456789abcdef"},
    {"hugging face", "HF_TOKEN=hf_" RUN16 RUN16, "hf_Ab0"},
    {"github", "ghp_" RUN16 RUN16, "ghp_"},
    {"github pat", "github_pat_11ABCDE_" RUN16, "11ABCDE"},
    {"gitlab", "glpat-" RUN16, "glpat"},
    {"slack", "xoxb-123456789012-" RUN16, "xoxb"},
    {"webhook", "https://hooks.slack.com/services/T0/B0/" RUN16, "hooks.slack"},
    {"openai", "sk-proj-" RUN16, "sk-proj"},
    {"anthropic", "sk-ant-" RUN16, "sk-ant"},
    {"nvidia", "nvapi-" RUN16, "nvapi"},
    {"google", "AIzaSyA-" RUN16, "AIzaSy"},
    {"gcp json", "{\"private_key_id\": \"c0ffee0ddba11\"}", "c0ffee0ddba11"},
    {"azure sas", "?sv=2021-08-06&sig=Zm9vYmFyYmF6cXV4%3D&se=2027",
     "Zm9vYmFyYmF6"},
    {"azure key", "AccountKey=Zm9vYmFyYmF6cXV4cXV1eA==", "Zm9vYmFyYmF6"},
    {"url password", "https://alice:hunter2@git.acme.example/x", "hunter2"},
    {"database", "postgres://svc:pa55w0rd@db.acme.example:5432/runs",
     "pa55w0rd"},
    {"password", "PGPASSWORD=correcthorse", "correcthorse"},
    {"numeric pin", "PIN=4829135", "4829135"},
    {"mail", "alice.smith@acme.example", "alice"},
    {"user at host", "alice@gpu-login-3", "alice"},
    {"user", "USER=alicesmith", "alicesmith"},
    {"home", "/home/alice/megatron/pretrain_gpt.py", "alice"},
    {"lustre", "/lustre/fsw/team-orion/ckpt/iter_0001000", "orion"},
    {"relative path", "../orion/data/text_document", "orion"},
    {"tilde", "~alice/data", "alice"},
    {"windows path", "C:\\Users\\alice\\data", "alice"},
    {"share", "\\\\fileserver\\projects\\orion", "fileserver"},
    {"bucket", "s3://orion-checkpoints/run-7", "orion"},
    {"node", "gpu-node-017.cluster.local", "017"},
    {"short node", "dgx042", "dgx042"},
    {"pod", "trainer-orion-7d9f8b6c5d-x2x4z", "orion"},
    {"ipv4", "10.143.27.8", "10.143.27.8"},
    {"ipv4 port", "10.143.27.8:29500", "10.143"},
    {"ipv6", "fe80::1ff:fe23:4567:890a", "fe80"},
    {"ipv6 digits", "2001:0:1234::5678", "2001:0"},
    {"mac", "00:1a:2b:3c:4d:5e", "1a:2b"},
    {"mac digits", "00:11:22:33:44:55", "11:22:33:44"},
    {"job id", "SLURM_JOB_ID=48213377", "48213377"},
    {"job name", "SLURM_JOB_NAME=orion-moe-v3", "orion"},
    {"account", "--account=orion_research", "orion"},
    {"partition", "#SBATCH --partition=orion-h100", "orion"},
    {"project", "--wandb-project orion-secret", "orion"},
    {"gpu serial", "GPU-8a56a4bc-2d3e-4f5a-9b6c-7d8e9f0a1b2c", "8a56a4bc"},
    {"phone", "+49-30-901820-55", "901820"},
    {"card", "4111-1111-1111-1111", "4111-1111"},
    {"name", "Alice Smith says hello", "Alice"},
    {"non-ascii", "J\xc3\xbcrgen", "rgen"},
    {"image", "registry.acme.example/orion/train:1.2", "orion"},
    {"docker", "dckr_pat_" RUN16, "dckr"},
    {"commit", "3f2a9c1d7e5b4a6f8091a2b3c4d5e6f708192a3b", "3f2a9c1d"},
    {"unseen", "zq9-vault:plutonium", "plutonium"},
    {"base64", "cGx1dG9uaXVtLXJlY2lwZQ==", "cGx1dG9u"},
    {"escapes", "\033[31mplutonium\033[0m", "plutonium"},
    // machines, pods and jobs that are named by words of training
    {"node of words", "compute-12", "compute-12"},
    {"gpu node", "gpu-17", "gpu-17"},
    {"pod of words", "moe-train-master-0", "train-master"},
    {"rank of a job", "train-rank-7", "train-rank"},
    {"job of words", "moe-hybrid-large-12", "hybrid-large"},
    {"long stage", "stage4711", "4711"},
    {"long tp", "tp-4711", "4711"},
    {"ipv6 zone", "fe80::1ff:fe23:4567:890a%eth0", "fe80"},
    {"mac cisco", "0011.2233.4455", "2233.4455"},
    {"guid", "0x506b4b0300ca8472", "506b4b"},
    {"aws arn", "arn:aws:iam::123456789012:role/orionrole", "123456789012"},
    {"azure sub", "/subscriptions/0b1f6471-1bf0/resourceGroups/orion", "orion"},
    {"url token", "https://hub.example/api?access_token=zz9plural",
     "zz9plural"},
    {"pbs", "4821337.pbs01", "4821337"},
    {"lsf", "LSB_JOBID=4821337", "4821337"},
    {"nodelist", "dgx[101-164]", "101-164"},
    {"mail plus", "zaphod+ci@x.example", "zaphod"},
    {"unc slashes", "//fileserver/share", "fileserver"},
    {"git remote", "git@github.com:orionlab/megaplut.git", "orionlab"},
    {"cookie", "Set-Cookie: sid=plutonium77; Path=/", "plutonium"},
    {"zero width", "plu\xe2\x80\x8btonium", "tonium"},
    {"step of a job", "srun: step 48213377.0", "48213377"},
    {"rank within a name", "rank-7-train", "7-train"},
};
enum { N_PLANTS = sizeof plants / sizeof plants[0] };

/* Where a text is planted: %s. Each is a line of a log, or a part of one. */
static const char *const places[] = {
    "%s\n",
    "launching on %s with 4 ranks\n",
    "%s: ",  // a prefix of the next line
    "[%s] ", //
    "(TrainWorker pid=71, ip=%s) ",
    "  save ............................ %s\n",
    "  wandb_project ................... %s\n",
    "  seq_length ...................... %s\n",
    "  transformer_impl ................ %s\n",
    "  %s .............................. 4096\n",
    "RuntimeError: cannot open %s on rank 3\n",
    "torch.OutOfMemoryError: CUDA out of memory. %s\n",
    "[rank3]: AssertionError: %s\n",
    "    %s .........................: (1.25, 2.50)\n",
    "    %s:\n",
    " iteration 1/ 9 | %s | elapsed time per iteration (ms): 5.0 |\n",
    " iteration 1/ 9 | run: %s | elapsed time per iteration (ms): 5.0 |\n",
    " iteration 1/ 9 | %s: 7 | elapsed time per iteration (ms): 5.0 |\n",
    "[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.5 | on %s\n",
    "{'loss': 2.5, 'iteration': '1/3', 'run': '%s'}\n",
    "iteration=1/4 elapsed_time_per_iteration_ms=3.5 run=%s\n",
    "export NAME=%s\n",
    "Step Time : 1.25s %s\n",
    "[exiting program after 4 iterations] datetime: %s\n",
};
enum { N_PLACES = sizeof places / sizeof places[0] };

static const char body[] =
    " [2026-02-03 04:05:06] iteration        1/       3 | consumed samples: "
    "          64 | elapsed time per iteration (ms): 900.5 | learning rate: "
    "1.0E-05 | global batch size:    64 | lm loss: 1.0E+01 | number of skipped "
    "iterations:   0 | number of nan iterations:   0 |\n"
    "times across ranks (ms):\n  forward-compute:\n     rank  0: 301.50\n     "
    "rank  1: 402.25\n"
    " [2026-02-03 04:05:07] iteration        2/       3 | consumed samples: "
    "         128 | elapsed time per iteration (ms): 101.5 | learning rate: "
    "1.0E-05 | global batch size:    64 | lm loss: 9.0E+00 | number of skipped "
    "iterations:   0 | number of nan iterations:   0 |\n";

/* The place with the text in it. */
static const char *planted(struct arena *a, const char *place, const char *text)
{
    const char *at = strstr(place, "%s");
    return arena_printf(a, "%.*s%s%s", (int)(at - place), place, text, at + 2);
}

static bool holds(const struct text_span *t, const char *part)
{
    return memmem(t->data, t->len, part, strlen(part)) != NULL;
}

/* The redacted log of the text, in the arena. */
static struct text_span redacted(struct arena *a, const char *text, size_t len)
{
    struct removed r;
    struct text_span out = {NULL, 0};
    const struct text_span log = {arena_strndup(a, text, len), len};
    struct err_msg msg;
    removed_init(&r, a);
    cr_assert(redact_log(&log, &r, &out, &msg) == ERR_OK, "%s", msg.text);
    return out;
}

Test(contribute_redact, plants_are_of_many_kinds)
{
    cr_assert(N_PLANTS >= 55 && N_PLACES >= 20);
}

Test(contribute_redact, no_planted_text_survives_anywhere)
{
    for (int i = 0; i < N_PLANTS; i++)
        for (int k = 0; k < N_PLACES; k++) {
            struct arena a;
            arena_init(&a);
            const char *core =
                *plants[i].core ? plants[i].core : plants[i].text;
            const char *line = planted(&a, places[k], plants[i].text);
            const char *log = arena_printf(&a, "%s%s", line, body);
            const struct text_span out = redacted(&a, log, strlen(log));
            cr_expect(!holds(&out, core), "%s survives in '%s': %.300s",
                      plants[i].kind, places[k], out.data);
            arena_clear(&a);
        }
}

Test(contribute_redact, planted_lines_leave_the_figures)
{
    // those that are whole lines: the rest of the log must say the same
    for (int i = 0; i < N_PLANTS; i++) {
        struct arena a;
        const char *why = NULL;
        arena_init(&a);
        char *log = arena_printf(&a, "started by %s\n%sby %s\n", plants[i].text,
                                 body, plants[i].text);
        const struct text_span in = {log, strlen(log)};
        const struct text_span out = redacted(&a, log, strlen(log));
        cr_expect(redact_same(&a, &in, &out, &why), "%s: %s", plants[i].kind,
                  why);
        cr_expect(holds(&out, "900.5") && holds(&out, "402.25"));
        arena_clear(&a);
    }
}

Test(contribute_redact, what_is_redacted_stays_as_it_is)
{
    for (int i = 0; i < N_PLANTS; i++)
        for (int k = 0; k < N_PLACES; k++) {
            struct arena a;
            arena_init(&a);
            const char *line = planted(&a, places[k], plants[i].text);
            const char *log = arena_printf(&a, "%s%s%s", body, line, body);
            const struct text_span once = redacted(&a, log, strlen(log));
            const struct text_span twice = redacted(&a, once.data, once.len);
            cr_expect(once.len == twice.len &&
                          memcmp(once.data, twice.data, once.len) == 0,
                      "%s in '%s':\n%s\nthen\n%s", plants[i].kind, places[k],
                      once.data, twice.data);
            arena_clear(&a);
        }
}

/* A name nobody thought of: letters, digits and signs at random, with a core
 * that is looked for. */
static void random_name(uint64_t *s, char *to, const char **core)
{
    static const char chars[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "-_./:@~+\\=%#";
    static const char heart[] = "qzxjkvwQZXJKVW";
    size_t n = 0;
    const size_t before = random_next(s) % 9;
    while (n < before)
        to[n++] = chars[random_next(s) % (sizeof chars - 1)];
    *core = to + n;
    for (size_t i = 0; i < 6; i++)
        to[n++] = heart[random_next(s) % (sizeof heart - 1)];
    to[n] = '\0';
}

Test(contribute_redact, random_names_never_survive)
{
    uint64_t s = 20261201;
    for (int turn = 0; turn < 4000; turn++) {
        struct arena a;
        char name[40];
        const char *core;
        arena_init(&a);
        random_name(&s, name, &core);
        const int place = (int)(random_next(&s) % N_PLACES);
        const char *line = planted(&a, places[place], name);
        const char *log = arena_printf(&a, "%s%s", line, body);
        const struct text_span out = redacted(&a, log, strlen(log));
        cr_expect(!holds(&out, core), "%s in '%s': %.200s", name, places[place],
                  out.data);
        arena_clear(&a);
    }
}

/* Logs cut at random: no byte outside of the vocabulary survives a cut. */
Test(contribute_redact, names_in_cut_logs_never_survive)
{
    uint64_t s = 7;
    for (int turn = 0; turn < 2000; turn++) {
        struct arena a;
        arena_init(&a);
        const size_t at = random_next(&s) % sizeof body;
        const char *log =
            arena_printf(&a, "%.*splutonium%s", (int)at, body, body + at);
        const struct text_span out = redacted(&a, log, strlen(log));
        cr_expect(!holds(&out, "plutonium"), "at %zu: %s", at, out.data);
        arena_clear(&a);
    }
}

Test(contribute_redact, a_zero_byte_hides_nothing)
{
    static const char log[] = " iteration 1/ 9 | a\0plutonium | x: 5.0 |\n";
    struct arena a;
    arena_init(&a);
    const struct text_span out = redacted(&a, log, sizeof log - 1);
    cr_expect(!holds(&out, "plutonium") && out.len > 0);
    arena_clear(&a);
}

/* Of these logs something is lost, and redact_same() says so: lines that a
 * terminal cut within words, and what is no log of a known dialect. */
static bool loses(const char *name)
{
    static const char *const lost[] = {"41-", "49-",     "50-",
                                       "61-", "20-nemo", "42-"};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        if (strncmp(name, lost[i], strlen(lost[i])) == 0)
            return true;
    return false;
}

static int compare_logs(const char *dir)
{
    struct dirent **e = NULL;
    int n = scandir(dir, &e, NULL, alphasort), n_logs = 0;
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(e[i]->d_name, '.');
        if (dot && strcmp(dot, ".log") == 0 && !loses(e[i]->d_name)) {
            struct arena a;
            struct text_span log;
            struct err_msg msg;
            const char *why = NULL;
            arena_init(&a);
            const char *path = arena_printf(&a, "%s/%s", dir, e[i]->d_name);
            cr_assert(text_read_bytes(&a, path, 1 << 24, &log, &msg) == ERR_OK);
            const struct text_span out = redacted(&a, log.data, log.len);
            cr_expect(redact_same(&a, &log, &out, &why), "%s: %s", path, why);
            n_logs++;
            arena_clear(&a);
        }
        free(e[i]);
    }
    free(e);
    return n_logs;
}

Test(contribute_redact, logs_of_all_dialects_say_the_same)
{
    cr_assert(compare_logs("tests/fixtures/logs") > 50);
    compare_logs("../shared/vectors/logs"); // none where it is not here
}

/* A number is a figure in some places and somebody's in others. */
Test(contribute_redact, long_numbers_without_a_figure_go)
{
    static const char *const lines[] = {
        "48213377: iteration 1/ 9 | elapsed time per iteration (ms): 5.0 |\n",
        "[48213377] iteration 1/ 9 | elapsed time per iteration (ms): 5.0 |\n",
        "step 48213377\n",
        "token: 48213377\n",
        "  seed ............................ 48213377\n",
        "  wandb_entity .................... 48213377\n",
        "  save ............................ 48213377\n",
        "RuntimeError: 48213377\n",
        "48213377\n",
        "step 48213377.0 time limit\n",
        " iteration 1/ 9 of 48213377 | loss: 5.0 |\n",
        " iteration 1/ 9 (plutonium 48213377) | loss: 5.0 |\n",
        " iteration 1/ 9 | 48213377 | loss: 5.0 |\n",
        " iteration job 48213377 | loss: 5.0 |\n",
        "data | 48213377 |\n",
        "{\"job_id\": 48213377, \"iteration\": 1, \"lm loss\": 11.5}\n",
        " iteration 1/ 9 | job: 48213377 | loss: 5.0 |\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct arena a;
        arena_init(&a);
        const char *log = arena_printf(&a, "%s%s", lines[i], body);
        const struct text_span out = redacted(&a, log, strlen(log));
        cr_expect(!holds(&out, "48213377"), "%s", out.data);
        arena_clear(&a);
    }
    static const char kept[] =
        "  vocab_size ...................... 128256\n"
        " iteration 1/ 9 | consumed tokens: 48213377 | loss: 5.0 |\n"
        "moe-train: p2p latency (us): 10.006600000 | bandwidth (MB/s): 9.0\n"
        " > padded vocab (size: 128000) with 256 dummy tokens (new size: "
        "128256)\n";
    struct arena a;
    arena_init(&a);
    const struct text_span out = redacted(&a, kept, sizeof kept - 1);
    cr_expect_str_eq(out.data, kept);
    arena_clear(&a);
}

Test(contribute_redact, a_log_that_lost_something_is_told)
{
    struct arena a;
    const char *why = NULL;
    arena_init(&a);
    const struct text_span log = {arena_strdup(&a, body), sizeof body - 1};
    struct text_span out = redacted(&a, body, sizeof body - 1);
    char *digit = strstr(out.data, "900.5");
    cr_assert(redact_same(&a, &log, &out, &why));
    *digit = '8';
    cr_expect(!redact_same(&a, &log, &out, &why) && why);
    arena_clear(&a);
}

/* Words that are joined have a meaning beside a figure; alone they may be the
 * name of a job. */
Test(contribute_redact, joined_words_without_a_figure_go)
{
    struct arena a;
    arena_init(&a);
    const char *log = arena_printf(
        &a, "[moe-train] iteration 1/ 9 | loss: 5.0 |\nmoe-train: %s", body);
    cr_expect(
        !holds(&(struct text_span){redacted(&a, log, strlen(log)).data, 40},
               "moe-train"));
    arena_clear(&a);
}

Test(contribute_redact, only_lists_of_layers_are_layouts)
{
    static const struct {
        const char *text;
        bool is;
    } cases[] = {{"Et*3|(tt|)*2mL", true},
                 {"M*-E|M/*E", true},
                 {"[[1024], 2]", true},
                 {"[[12345], 2]", false},
                 {"4711,815123,12", false},
                 {"Et*3", true},
                 {"12", false},
                 {"Et|plutonium", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct log_text t = {cases[i].text, strlen(cases[i].text)};
        cr_expect_eq(chunk_is_layout(t), cases[i].is, "%s", cases[i].text);
    }
}

/* moe-train's burst that tells how fast the machine was. */
Test(contribute_redact, a_reference_that_changed_is_told)
{
    static const char log[] =
        " iteration 1/ 9 | elapsed time per iteration (ms): 5.0 | lm loss: 5.0 "
        "| reference burst (ms): 2.5 |\n";
    struct arena a;
    const char *why = NULL;
    arena_init(&a);
    const struct text_span in = {arena_strdup(&a, log), sizeof log - 1};
    const struct text_span out = redacted(&a, log, sizeof log - 1);
    cr_assert(redact_same(&a, &in, &out, &why), "%s", why);
    *strstr(out.data, "2.5") = '3';
    cr_expect(!redact_same(&a, &in, &out, &why) && why);
    arena_clear(&a);
}

Test(contribute_redact, kinds_are_told_apart)
{
    struct arena a;
    struct removed r;
    arena_init(&a);
    removed_init(&r, &a);
    static const struct {
        const char *text;
        enum removed_kind kind;
    } cases[] = {{"ghp_" RUN16 RUN16, REMOVED_SECRET},
                 {"0123456789abcdef0123456789abcdef", REMOVED_SECRET},
                 {"alice@acme.example", REMOVED_ADDRESS},
                 {"10.1.2.3", REMOVED_ADDRESS},
                 {"fe80::1", REMOVED_ADDRESS},
                 {"/home/alice", REMOVED_PATH},
                 {"gpu-node-017.cluster.local", REMOVED_HOST},
                 {"48213377", REMOVED_NUMBER},
                 {"alice", REMOVED_WORD}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct log_text t = {cases[i].text, strlen(cases[i].text)};
        const int number = removed_note(&r, t, false);
        cr_expect(number == removed_note(&r, t, false));
        cr_expect(r.text[number - 1].kind == cases[i].kind, "%s: %s",
                  cases[i].text, removed_kind_name(r.text[number - 1].kind));
    }
    arena_clear(&a);
}

Test(contribute_redact, secrets_are_not_shown)
{
    struct arena a;
    struct removed r;
    char *text = NULL;
    size_t len = 0;
    static const char file[] =
        "export WANDB_API_KEY=shortkey1\nexport HF_TOKEN=hf_" RUN16 RUN16
        "\ntorchrun --save /home/alice/x\n";
    arena_init(&a);
    removed_init(&r, &a);
    removed_note_file(&r, (struct log_text){file, sizeof file - 1});
    FILE *out = open_memstream(&text, &len);
    removed_print(&r, 10, out);
    fclose(out);
    cr_expect(!strstr(text, "shortkey1") && !strstr(text, RUN16), "%s", text);
    cr_expect(strstr(text, "/home/alice/x") && r.count[REMOVED_SECRET] == 2,
              "%s", text);
    free(text);
    arena_clear(&a);
}
