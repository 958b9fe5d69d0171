/*
 * How it works: a name is cut into parts at what is no letter or digit, and a
 * part is held against three short lists: whole parts, what it contains, what
 * it ends with. Options are known by their last part alone, since Megatron's
 * own speak of tokens that are no secrets. Values are searched by their
 * beginnings, of which only a few letters can be the first.
 */
#include "secret.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// longer parts are no names of people's
enum { SECRET_PART_BYTES = 48, SECRET_RANDOM_CHARS = 16 };

/* ---- names ---- */

static const char *const whole_parts[] = {
    "KEY", "KEYS", "PASS", "PWD",  "PW",    "AUTH",   "PAT",
    "SAS", "SIG",  "JWT",  "CRED", "CREDS", "COOKIE", "COOKIES"};

static const char *const inner_parts[] = {
    "TOKEN",      "SECRET",    "PASSWORD", "PASSWD", "PASSPHRASE",
    "CREDENTIAL", "APIKEY",    "PRIVKEY",  "BEARER", "SIGNATURE",
    "WEBHOOK",    "ACCESSKEY", "KEYFILE",  "AUTHKEY"};

static const char *const last_letters[] = {"KEY", "KEYS", "PASS",
                                           "PWD", "AUTH", "CREDS"};

// words that hold one of the above and mean something else
static const char *const harmless_parts[] = {
    "PKEY",   "MONKEY",  "HOTKEY",    "TURKEY",  "DONKEY", "HOCKEY",  "BYPASS",
    "OLDPWD", "COMPASS", "ENCOMPASS", "SURPASS", "OAUTH",  "TIKTOKEN"};

static bool is_among(const char *part, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(part, list[i]) == 0)
            return true;
    return false;
}

/* One part in capitals; what does not fit is cut, from the left: names end with
 * what they are. Returns the length in `name`, 0 at its end. */
static size_t next_part(const char *name, size_t len,
                        char part[SECRET_PART_BYTES])
{
    size_t n = 0;
    while (n < len && isalnum((unsigned char)name[n]))
        n++;
    size_t skip = n < SECRET_PART_BYTES ? 0 : n - SECRET_PART_BYTES + 1;
    for (size_t i = skip; i < n; i++)
        part[i - skip] = (char)toupper((unsigned char)name[i]);
    part[n - skip] = '\0';
    return n;
}

/* "TOKENIZER" and "TOKENIZATION" hold a token, too. */
static bool holds_inner(const char *part)
{
    for (size_t i = 0; i < COUNT(inner_parts); i++) {
        const char *at = strstr(part, inner_parts[i]);
        if (at && strncmp(at, "TOKENIZ", 7) != 0)
            return true;
    }
    return false;
}

static bool is_secret_part(const char *part)
{
    size_t n = strlen(part);
    if (is_among(part, harmless_parts, COUNT(harmless_parts)))
        return false;
    if (is_among(part, whole_parts, COUNT(whole_parts)) || holds_inner(part))
        return true;
    for (size_t i = 0; i < COUNT(last_letters); i++) {
        size_t k = strlen(last_letters[i]);
        if (n > k && strcmp(part + n - k, last_letters[i]) == 0)
            return true;
    }
    return false;
}

/* $PWD is the folder that a shell is in. */
bool secret_is_name(const char *name, size_t len)
{
    char part[SECRET_PART_BYTES];
    if (len == 3 && strncmp(name, "PWD", 3) == 0)
        return false;
    for (size_t i = 0; i < len;) {
        size_t n = next_part(name + i, len - i, part);
        if (n > 0 && is_secret_part(part))
            return true;
        i += n + 1;
    }
    return false;
}

// what stands before "token" and "key" in options that have no secrets
static const char *const vocabulary[] = {
    "PAD",   "EOS",   "BOS",   "EOD",   "UNK",    "SEP",   "CLS",
    "MASK",  "IMAGE", "VIDEO", "AUDIO", "VISION", "TEXT",  "START",
    "END",   "STOP",  "NULL",  "PER",   "LAST",   "NEXT",  "JSON",
    "INPUT", "LABEL", "SORT",  "DATA",  "NEW",    "THINK", "SPECIAL"};

/* By the last part; "tokens" are counted, and passes and keys of JSON are no
 * secrets. */
static bool is_secret_option(const char *name, size_t len)
{
    static const char *const counted[] = {"TOKENS", "KEYS", "PASS"};
    char now[SECRET_PART_BYTES], last[SECRET_PART_BYTES] = "",
                                 before[SECRET_PART_BYTES] = "";
    for (size_t i = 0; i < len;) {
        size_t n = next_part(name + i, len - i, now);
        if (n > 0) {
            memcpy(before, last, sizeof before);
            memcpy(last, now, sizeof last);
        }
        i += n + 1;
    }
    return is_secret_part(last) && !is_among(last, counted, COUNT(counted)) &&
           !is_among(before, vocabulary, COUNT(vocabulary));
}

/* ---- values ---- */

/* Tokens begin with letters that say whose they are. `least` characters of
 * letters and digits follow; of fewer than SECRET_RANDOM_CHARS one must be no
 * small letter, since "hf_checkpoint" is a folder. */
struct form {
    const char *start;
    size_t least;
    const char *what;
};

static const struct form forms[] = {
    {"hf_", 12, "a token of Hugging Face"},
    {"api_org_", 12, "a token of Hugging Face"},
    {"ghp_", 8, "a token of GitHub"},
    {"gho_", 8, "a token of GitHub"},
    {"ghu_", 8, "a token of GitHub"},
    {"ghs_", 8, "a token of GitHub"},
    {"ghr_", 8, "a token of GitHub"},
    {"github_pat_", 8, "a token of GitHub"},
    {"glpat-", 8, "a token of GitLab"},
    {"sk-", 16, "a key of an API"},
    {"sk-proj-", 8, "a key of an API"},
    {"sk-ant-", 8, "a key of an API"},
    {"sk_live_", 8, "a key of an API"},
    {"rk_live_", 8, "a key of an API"},
    {"gsk_", 16, "a key of an API"},
    {"r8_", 16, "a key of an API"},
    {"nvapi-", 8, "a key of NVIDIA"},
    {"xoxb-", 8, "a token of Slack"},
    {"xoxp-", 8, "a token of Slack"},
    {"xoxa-", 8, "a token of Slack"},
    {"xoxs-", 8, "a token of Slack"},
    {"xapp-", 8, "a token of Slack"},
    {"AKIA", 12, "a key of AWS"},
    {"ASIA", 12, "a key of AWS"},
    {"AIza", 16, "a key of Google"},
    {"ya29.", 8, "a token of Google"},
    {"npm_", 16, "a token of npm"},
    {"pypi-", 16, "a token of PyPI"},
    {"dckr_pat_", 8, "a token of Docker"},
    {"hvs.", 8, "a token of Vault"},
    {"SG.", 16, "a key of SendGrid"},
    {"eyJ", 16, "a JSON web token"},
    {"wandb_v1_", 8, "a key of W&B"},
    {"dapi", 24, "a token of Databricks"},
    {"hvb.", 8, "a token of Vault"},
    {"xai-", 16, "a key of an API"},
    {"pplx-", 16, "a key of an API"},
    {"tskey-", 8, "a key of Tailscale"},
    {"dop_v1_", 16, "a token of DigitalOcean"},
    {"shpat_", 16, "a token of Shopify"},
    {"AGE-SECRET-KEY-", 8, "a private key"},
    {"AAAAC3NzaC1lZDI1NTE5", 8, "a key of SSH"},
    {"AAAAB3NzaC1yc2E", 16, "a key of SSH"},
    {"AccountKey=", 8, "a key of Azure"},
    {"SharedAccessKey=", 8, "a key of Azure"},
    {"hooks.slack.com/services/", 4, "a webhook"},
    {"discord.com/api/webhooks/", 4, "a webhook"},
    {"Bearer ", 8, "an Authorization header"},
    {"bearer ", 12, "an Authorization header"},
    {"Basic ", 12, "an Authorization header"},
    {"-----BEGIN ", 2, "a private key"},
};

// of the forms above, and of "://"
static const char first_letters[] = "hagsrnxAypdSewBbt-:";

/* Letters, digits, and what stands between them in tokens. */
static size_t token_length(const char *p, size_t *plain)
{
    size_t n = 0, small = 0, chars = 0;
    for (; isalnum((unsigned char)p[n]) || (p[n] && strchr("_-./+", p[n]));
         n++) {
        chars += isalnum((unsigned char)p[n]) != 0;
        small += islower((unsigned char)p[n]) != 0;
    }
    *plain = small;
    return chars;
}

/* Words of a log: "hf_" needs letters and digits without a gap. */
static bool fits_form(const struct form *f, const char *p)
{
    size_t small = 0, k = strlen(f->start), n;
    if (strncmp(p, f->start, k) != 0)
        return false;
    p += k;
    if (*f->start == '-')
        return strncmp(p + strcspn(p, "-\n"), "-----", 5) == 0 &&
               strcspn(p, "\n") >= 11 && strstr(p, "PRIVATE KEY-----");
    if (strcmp(f->start, "hf_") == 0)
        for (n = 0; isalnum((unsigned char)p[n]); n++)
            small += islower((unsigned char)p[n]) != 0;
    else
        n = token_length(p, &small);
    if (strcmp(f->start, "eyJ") == 0 && !memchr(p, '.', n))
        return false;
    return n >= f->least &&
           (small < n || n >= SECRET_RANDOM_CHARS + f->least / 2);
}

/* "//user:password@": a reference in place of the password is none. */
static bool is_url_with_password(const char *p)
{
    if (strncmp(p, "://", 3) != 0)
        return false;
    p += 3;
    size_t n = strcspn(p, "/?# \t\n\"'<>\\");
    const char *at = memchr(p, '@', n);
    const char *colon = memchr(p, ':', n);
    return at && colon && colon < at && colon + 1 < at &&
           !strchr("$*{", colon[1]);
}

/* A known form that begins here, or NULL. */
static const char *value_at(const char *text, const char *p)
{
    if (*p == ':' && is_url_with_password(p))
        return "a password in a URL";
    if (p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_'))
        return NULL;
    for (size_t i = 0; i < COUNT(forms); i++)
        if (fits_form(&forms[i], p))
            return forms[i].what;
    return NULL;
}

bool secret_find_value(const char *text, struct secret *out)
{
    for (const char *p = text; (p = strpbrk(p, first_letters)); p++) {
        const char *what = value_at(text, p);
        if (!what)
            continue;
        *out = (struct secret){.what = what, .at = (size_t)(p - text)};
        return true;
    }
    return false;
}

/* ---- names with values ---- */

static bool is_number(const char *value, size_t len)
{
    char text[32];
    char *rest;
    if (len == 0 || len >= sizeof text)
        return false;
    memcpy(text, value, len);
    text[len] = '\0';
    strtod(text, &rest);
    return *rest == '\0';
}

/* No value, a reference, a word that switches something, or a mark such as
 * "<pad>". */
static bool is_harmless_value(const char *value, size_t len)
{
    static const char *const words[] = {"none",  "null", "true",
                                        "false", "yes",  "no"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (strlen(words[i]) == len && strncasecmp(value, words[i], len) == 0)
            return true;
    return len == 0 || strchr("$<[*-", value[0]) != NULL;
}

/* MAX_TOKENS=4096 counts. */
static bool is_count(const char *name, size_t len, const char *value,
                     size_t value_len)
{
    char part[SECRET_PART_BYTES];
    bool other = false, tokens = false;
    if (!is_number(value, value_len))
        return false;
    for (size_t i = 0; i < len;) {
        size_t n = next_part(name + i, len - i, part);
        if (strcmp(part, "TOKENS") == 0)
            tokens = true;
        else if (n > 0 && is_secret_part(part))
            other = true;
        i += n + 1;
    }
    return tokens && !other;
}

bool secret_is_entry(const char *entry)
{
    struct secret ignored;
    size_t n = strcspn(entry, "=");
    const char *value = entry[n] ? entry + n + 1 : "";
    if (entry[n] && secret_find_value(value, &ignored))
        return true;
    if (!secret_is_name(entry, n))
        return false;
    return !entry[n] || (!is_harmless_value(value, strlen(value)) &&
                         !is_count(entry, n, value, strlen(value)));
}

/* A word of a command line: where it stands and how long it is. */
struct span {
    const char *at;
    size_t len;
};

/* What parts words in shells, lists and URLs. */
static struct span next_word(const char *p)
{
    static const char between[] = " \t\r\n'\"`;|&()<>,?\\";
    p += strspn(p, between);
    return (struct span){p, strcspn(p, between)};
}

static void note_name(struct secret *out, const char *text, const char *name,
                      size_t len)
{
    *out = (struct secret){.what = "a value", .at = (size_t)(name - text)};
    snprintf(out->name, sizeof out->name, "%.*s",
             (int)(len < SECRET_NAME_BYTES ? len : SECRET_NAME_BYTES - 1),
             name);
}

/* What is assigned: up to the end of the word, or of the quotes that follow. */
static struct span assigned_value(struct span w, const char *equals)
{
    struct span v = {equals + 1, w.len - (size_t)(equals - w.at) - 1};
    const char quote[] = {*v.at, '\0'};
    if (v.len == 0 && (*quote == '\'' || *quote == '"'))
        v = (struct span){v.at + 1, strcspn(v.at + 1, quote)};
    return v;
}

/* NAME=value, --option=value. */
static bool is_assigned(struct span w, size_t *name_len)
{
    const char *equals = memchr(w.at, '=', w.len);
    if (!equals)
        return false;
    size_t n = (size_t)(equals - w.at);
    const struct span v = assigned_value(w, equals);
    *name_len = n;
    if (is_harmless_value(v.at, v.len) || is_count(w.at, n, v.at, v.len))
        return false;
    if (*w.at != '-')
        return secret_is_name(w.at, n);
    return is_secret_option(w.at, n) && !is_number(v.at, v.len);
}

/* "--option value". */
static bool is_given(struct span option, struct span value)
{
    return option.len > 2 && *option.at == '-' &&
           !memchr(option.at, '=', option.len) && value.len > 0 &&
           !is_harmless_value(value.at, value.len) &&
           !is_number(value.at, value.len) &&
           is_secret_option(option.at, option.len);
}

bool secret_find(const char *text, struct secret *out)
{
    struct span before = {text, 0};
    size_t n = 0;
    if (secret_find_value(text, out))
        return true;
    for (struct span w = next_word(text); w.len > 0;
         w = next_word(w.at + w.len)) {
        if (is_assigned(w, &n)) {
            note_name(out, text, w.at, n);
            return true;
        }
        if (is_given(before, w)) {
            note_name(out, text, before.at, before.len);
            return true;
        }
        before = w;
    }
    return false;
}

/* ---- documents ---- */

static void fail_secret(struct reader at, const struct secret *s)
{
    static const char next[] =
        "which a manifest must not hold, it is published with its results; set "
        "it in the job's own environment";
    if (*s->name)
        reader_fail(at, ERR_PARSE, "'%s' looks like a secret, %s", s->name,
                    next);
    else
        reader_fail(at, ERR_PARSE, "%s looks like a secret, %s", s->what, next);
}

/* Two words of one command line. */
static void check_pair(struct reader at, const cJSON *next)
{
    struct secret s;
    const char *option = at.item->valuestring;
    if (!cJSON_IsString(next) || option[0] != '-')
        return;
    if (!is_given((struct span){option, strlen(option)},
                  (struct span){next->valuestring, strlen(next->valuestring)}))
        return;
    note_name(&s, option, option, strlen(option));
    fail_secret(at, &s);
}

/* As deep as JSON may be nested. */
void secret_check(struct reader top)
{
    struct secret s;
    if (!reader_is_there(top))
        return;
    if (cJSON_IsString(top.item) && secret_find(top.item->valuestring, &s))
        fail_secret(top, &s);
    if (!cJSON_IsObject(top.item) && !cJSON_IsArray(top.item))
        return;
    for (struct reader c = reader_first(top); c.item; c = reader_next(c)) {
        secret_check(c);
        if (cJSON_IsArray(top.item) && cJSON_IsString(c.item))
            check_pair(c, c.item->next);
    }
}
