#include "manifest/secret.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN16 "Ab0Cd1Ef2Gh3Ij4K" // letters and digits as tokens have them
#define RUN34 "abcdefghijklmnopqrstuvwxyzabcdefgh"

struct text {
    char text[200];
};

ParameterizedTestParameters(manifest_secret, entries_that_are_secrets)
{
    static struct text cases[] = {
        {"HF_TOKEN=x"},
        {"HFTOKEN=x"},
        {"GHTOKEN=x"},
        {"hf_token=x"},
        {"hfToken=x"},
        {"PGPASSWORD=x"},
        {"MYSQL_PWD=x"},
        {"SSHPASS=x"},
        {"DB_PASS=x"},
        {"AWS_SECRET_ACCESS_KEY=x"},
        {"AWS_ACCESS_KEY_ID=x"},
        {"OPENAIKEY=x"},
        {"MYAPIKEY=x"},
        {"WANDB_API_KEY"},
        {"WANDBKEY=x"},
        {"GITHUB_PAT=x"},
        {"REGISTRY_AUTH=x"},
        {"GOOGLE_APPLICATION_CREDENTIALS=/x"},
        {"MY_CREDS=x"},
        {"GPG_PASSPHRASE=x"},
        {"SLACK_WEBHOOK_URL=x"},
        {"SESSION_COOKIE=x"},
        {"CLIENTSECRET=x"},
        {"ACCESSTOKENS=x"},
        {"NCCL_X=hf_" RUN34},
        {"NCCL_X=ghp_" RUN16},
        {"A=https://me:pw@example.org/x"},
        {"A=postgres://me:pw@db"},
        {"A=glpat-" RUN16},
        {"A=AKIA0123456789ABCDEF"},
        {"A=xoxb-0123456789-" RUN16},
        {"A=sk-proj-" RUN16},
        {"A=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"},
        {"A=-----BEGIN OPENSSH PRIVATE KEY-----"},
        {"A=dapi0123456789abcdef0123456789ABCDEF"},
        {"A=hvb." RUN16},
        {"A=tskey-auth-" RUN16},
        {"A=dop_v1_" RUN16 RUN16},
        {"A=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" RUN16},
        {"A=ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB" RUN16},
        {"A=DefaultEndpointsProtocol=https;AccountKey=" RUN16},
    };
    return cr_make_param_array(struct text, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct text *c, manifest_secret, entries_that_are_secrets)
{
    cr_expect(secret_is_entry(c->text), "%s", c->text);
}

ParameterizedTestParameters(manifest_secret, entries_that_are_none)
{
    static struct text cases[] = {
        {"NCCL_DEBUG=WARN"},
        {"NCCL_IB_PKEY=0x8001"},
        {"TOKENIZERS_PARALLELISM=false"},
        {"TIKTOKEN_CACHE_DIR=/x"},
        {"MAX_TOKENS=4096"},
        {"MONKEY=x"},
        {"PWD=/x"},
        {"OLDPWD=/x"},
        {"HF_TOKEN="},
        {"HF_TOKEN=$HF_TOKEN"},
        {"NVTE_BYPASS=1"},
        {"KEYBOARD=us"},
        {"PATH=/bin"},
        {"A=https://example.org:443/x@y"},
        {"A=hf_checkpoint"},
        {"A=hf_mixtral8x7b"},
        {"A=git@github.com:a/b"},
        {"A=nvcr.io/nvidia/pytorch:25.09-py3@sha256:f3b4a33fd60d5e035"},
        {"A=3bec9aa97dda898d16ff5a89bac0ed2b6682b172"},
        {"A=npm_config_registry"},
        {"A=https://me:$PW@example.org"},
        {"CUDA_DEVICE_MAX_CONNECTIONS=1"},
        {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    };
    return cr_make_param_array(struct text, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct text *c, manifest_secret, entries_that_are_none)
{
    cr_expect_not(secret_is_entry(c->text), "%s", c->text);
}

ParameterizedTestParameters(manifest_secret, texts_with_secrets)
{
    static struct text cases[] = {
        {"export HFTOKEN=x"},
        {"#SBATCH --export=ALL,PGPASSWORD=x"},
        {"HF_TOKEN='x y' python train.py"},
        {"huggingface-cli login --token x"},
        {"x --wandb-api-key abcdef"},
        {"x --api-key=abcdef"},
        {"x --hftoken abcdef"},
        {"x --db_password abcdef"},
        {"curl -H 'Authorization: Bearer " RUN16 "'"},
        {"curl 'https://x/y?sig=abcdef'"},
        {"wget https://x/y?a=1&access_token=abcdef"},
        {"git clone https://me:pw@example.org/x"},
        {"# hf_" RUN34},
    };
    return cr_make_param_array(struct text, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct text *c, manifest_secret, texts_with_secrets)
{
    struct secret s = {0};
    cr_expect(secret_find(c->text, &s), "%s", c->text);
}

ParameterizedTestParameters(manifest_secret, texts_without_secrets)
{
    static struct text cases[] = {
        {"--moe-token-dispatcher-type alltoall"},
        {"--moe-token-dispatcher-type=alltoall"},
        {"--moe-token-drop-policy probs"},
        {"--tokenizer-type NullTokenizer --tokenizer-model /x/hf_tokenizer"},
        {"--tiktoken-special-tokens a"},
        {"--tiktoken-pattern v2"},
        {"--max-tokens-to-oom 12000"},
        {"--max-tokens-per-batch 4096"},
        {"--eod-mask-loss --pad-token <pad> --image-token x"},
        {"--json-keys text"},
        {"--use-auth-token true"},
        {"--token $HF_TOKEN"},
        {"--token"},
        {"--token --next"},
        {"export HF_TOKEN=$(cat /run/secrets/x)"},
        {"export HF_TOKEN"},
        {"ulimit -n 65536"},
        {"Does the key question hold: tokens=4096, m/t=1.4?"},
        {"module load cuda && source env.sh"},
    };
    return cr_make_param_array(struct text, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct text *c, manifest_secret, texts_without_secrets)
{
    struct secret s = {0};
    cr_expect_not(secret_find(c->text, &s), "%s: %s at %zu", c->text,
                  s.what ? s.what : "", s.at);
}

struct planted {
    char json[200], place[40];
};

ParameterizedTestParameters(manifest_secret, is_found_anywhere_in_a_document)
{
    static struct planted cases[] = {
        {"{\"launcher\":{\"env\":[\"A=b\",\"HFTOKEN=value\"]}}",
         "launcher.env[1]: 'HFTOKEN'"},
        {"{\"trainer\":{\"args\":[\"--api-key\",\"value\"]}}",
         "trainer.args[0]: '--api-key'"},
        {"{\"trainer\":{\"args\":[\"--x=hf_" RUN34 "\"]}}",
         "trainer.args[0]: a token of Hug"},
        {"{\"launcher\":{\"lines\":[\"export GHTOKEN=value\"]}}",
         "launcher.lines[0]: 'GHTOKEN'"},
        {"{\"assumed\":{\"x\":\"https://a:value@b\"}}",
         "assumed.x: a password in a URL"},
        {"{\"model\":{\"a\":[[\"ghp_" RUN16 "\"]]}}",
         "model.a[0][0]: a token of GitHub"},
    };
    return cr_make_param_array(struct planted, cases,
                               sizeof cases / sizeof cases[0]);
}

ParameterizedTest(struct planted *c, manifest_secret,
                  is_found_anywhere_in_a_document)
{
    struct arena a;
    struct reader_doc doc;
    struct err_msg msg = {""};
    arena_init(&a);
    secret_check(reader_open_text(&doc, &a, c->json, "x.json", &msg));
    cr_expect_eq(reader_close(&doc), ERR_PARSE, "%s", c->json);
    cr_expect_not_null(strstr(msg.text, c->place), "%s", msg.text);
    cr_expect_null(strstr(msg.text, "value "), "%s", msg.text);
    cr_expect_null(strstr(msg.text, RUN16), "%s", msg.text);
    arena_clear(&a);
}

/* Every form is found by its first letter, at its place. */
Test(manifest_secret, is_found_at_its_place_in_a_long_text)
{
    static const char *const starts[] = {"hf_",
                                         "api_org_",
                                         "gho_",
                                         "ghu_",
                                         "ghs_",
                                         "ghr_",
                                         "sk-",
                                         "sk-ant-",
                                         "sk_live_",
                                         "rk_live_",
                                         "gsk_",
                                         "r8_",
                                         "nvapi-",
                                         "xoxp-",
                                         "xoxa-",
                                         "xoxs-",
                                         "xapp-",
                                         "ASIA",
                                         "AIza",
                                         "ya29.",
                                         "npm_",
                                         "pypi-",
                                         "hvs.",
                                         "SG.",
                                         "dckr_pat_",
                                         "wandb_v1_",
                                         "github_pat_",
                                         "https://hooks.slack.com/services/",
                                         "https://discord.com/api/webhooks/",
                                         "Basic ",
                                         "bearer "};
    enum { BEFORE = 5000000 };
    char *text = malloc(BEFORE + 200);
    cr_assert_not_null(text);
    for (size_t i = 0; i < BEFORE; i++)
        text[i] = "hf ghp sk-a: eyJ\n"[i % 17];
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct secret s = {0};
        snprintf(text + BEFORE, 200, " %s" RUN16 RUN16, starts[i]);
        cr_assert(secret_find_value(text, &s), "%s", starts[i]);
        cr_expect_geq(s.at, BEFORE + 1);
    }
    free(text);
}
