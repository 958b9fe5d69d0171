/*
 * How it works: the form is told by the text's own marks and not by the file's
 * name, since launch scripts and logs have any. Each reader fills the slots of
 * args.
 */
#include "source.h"

#include "base/json.h"
#include "base/text.h"
#include "dialect.h"
#include "hf.h"
#include "launch.h"
#include "log.h"
#include "log/means.h"
#include "log/parse.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// whole files in memory; a script has some KB, a log of this size a million
// lines
enum { SOURCE_MAX_BYTES = 32 << 20 };

// above a log's dump of arguments, with dashes on both sides
#define DUMP_RULE "--- arguments ---"

/* Does a line of the text begin with `word`? */
static bool has_line(const char *text, const char *word)
{
    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
        if (p == text || p[-1] == '\n')
            return true;
    return false;
}

/* Behind a byte order mark and blank lines. */
static const char *source_content(const char *text)
{
    text += text_starts(text, "\xef\xbb\xbf") ? 3 : 0;
    return text + strspn(text, " \t\r\n");
}

/* A script may write a YAML file or print a dump's rule: "#!" and the order of
 * these questions keep them apart. */
enum source_form model_source_form(const char *text)
{
    text = source_content(text);
    if (*text == '{')
        return dialect_is_yaml(text) ? SOURCE_YAML : SOURCE_MODEL;
    if (has_line(text, "MODEL_ARGS:") && !has_line(text, "#!"))
        return SOURCE_YAML;
    if (strstr(text, DUMP_RULE))
        return SOURCE_LOG;
    return dialect_is_yaml(text) ? SOURCE_YAML : SOURCE_SCRIPT;
}

/* Python by its first line of code: an import, or a text in three quotes; or
 * by its mark. */
static bool source_is_python(const char *text)
{
    if (text_starts(text, "#!")) {
        const char *name = strstr(text, "python");
        return name && name < text + strcspn(text, "\n");
    }
    while (*text == '#')
        text = source_content(text + strcspn(text, "\n"));
    const char *import = strstr(text, " import ");
    return text_starts(text, "\"\"\"") || text_starts(text, "'''") ||
           text_starts(text, "import ") ||
           (text_starts(text, "from ") && import &&
            import < text + strcspn(text, "\n"));
}

/* Model files say what they are; Hugging Face's configs have model_type. */
static enum err read_json(struct arena *a, const char *text, const char *where,
                          struct megatron_args *args, struct err_msg *msg)
{
    cJSON *tree = NULL;
    enum err e = json_parse_python(a, text, where, &tree, msg);
    if (e == ERR_OK && json_get(tree, "format")) {
        // a model file is ours, and strict
        cJSON_Delete(tree);
        e = json_parse(text, where, &tree, msg);
    }
    if (e != ERR_OK)
        return e;
    const cJSON *format = json_get(tree, "format");
    megatron_args_account(args)->source = format ? "model" : "hf";
    if (!format && json_get(tree, "model_type"))
        e = source_hf_read(a, tree, where, args, msg);
    else if (!cJSON_IsString(format) ||
             strcmp(format->valuestring, "moe-layout/model/1") != 0)
        e = err_set(msg, ERR_PARSE,
                    "%s: want \"format\": \"moe-layout/model/1\", or a Hugging "
                    "Face config with \"model_type\"",
                    where);
    else
        e = megatron_args_read_json(args, tree, where, msg);
    cJSON_Delete(tree);
    return e;
}

/* Read as any log: its dump may follow megabytes of other lines. */
static enum err source_read_log(struct arena *a, const struct text_span *text,
                                const char *where, struct megatron_args *args,
                                struct err_msg *msg)
{
    struct runlog log;
    enum err e = logparse_read_memory(a, text->data, text->len, &log, msg);
    if (e != ERR_OK)
        return err_prefix(msg, e, "%s", where);
    megatron_args_account(args)->source = "log";
    return source_log_read(&log, where, args, msg);
}

/* Logs hold zero bytes, where processes died or wrote over each other; of any
 * other form what follows one would be lost without a word. The dump may stand
 * behind them. */
static enum err source_form_of(const struct text_span *text, const char *where,
                               enum source_form *out, struct err_msg *msg)
{
    *out = model_source_form(text->data);
    if (!memchr(text->data, '\0', text->len) || *out == SOURCE_LOG)
        return ERR_OK;
    const char *p = text->data, *end = text->data + text->len;
    for (; *out == SOURCE_SCRIPT && p < end; p += strlen(p) + 1)
        if (strstr(p, DUMP_RULE))
            *out = SOURCE_LOG;
    return *out == SOURCE_LOG ? ERR_OK : text_check_zeros(text, where, msg);
}

/* By form; `from` of the slots is the file where a reader has no line. */
static enum err source_read_form(struct arena *a, const struct text_span *text,
                                 const struct source_request *req,
                                 struct megatron_args *args,
                                 struct err_msg *msg)
{
    const char *begin = source_content(text->data);
    enum source_form form;
    enum err e = source_form_of(text, req->path, &form, msg);
    if (e != ERR_OK)
        return e;
    switch (form) {
    case SOURCE_YAML:
        megatron_args_account(args)->source = "yaml";
        return dialect_read_yaml(
            a, &(struct dialect_file){begin, req->path, req->set, req->n_set},
            args, msg);
    case SOURCE_LOG:
        return source_read_log(a, text, req->path, args, msg);
    case SOURCE_SCRIPT:
        if (source_is_python(begin))
            return err_set(msg, ERR_PARSE,
                           "%s: a Python program, whose values are known when "
                           "it runs only: want its log, the configuration "
                           "that it writes (run_config.yaml), a launch script, "
                           "or Megatron's flags after '--'",
                           req->path);
        megatron_args_account(args)->source = "script";
        // blank lines before it count in its places
        return launch_read(
            a, text->data + (text_starts(text->data, "\xef\xbb\xbf") ? 3 : 0),
            req, args, msg);
    default:
        return read_json(a, begin, req->path, args, msg);
    }
}

enum err model_source_read_text(struct arena *a, const struct text_span *text,
                                const struct source_request *req,
                                struct megatron_args *args, struct err_msg *msg)
{
    struct megatron_flags *f = megatron_args_flags(args);
    const char *before = f->from;
    f->from = arena_strdup(a, req->path);
    if (!f->from)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", req->path);
    enum err e = source_read_form(a, text, req, args, msg);
    f->from = before;
    return e;
}

enum err model_source_read(struct arena *a, const struct source_request *req,
                           struct megatron_args *args, struct err_msg *msg)
{
    struct stat st;
    struct text_span text;
    bool large = stat(req->path, &st) == 0 && S_ISREG(st.st_mode) &&
                 st.st_size > SOURCE_MAX_BYTES;
    if (!large) {
        enum err e =
            text_read_unpacked(a, req->path, SOURCE_MAX_BYTES, &text, msg);
        if (e != ERR_OK)
            return e;
        return model_source_read_text(a, &text, req, args, msg);
    }
    // only a log can be as large
    struct logmeans means;
    enum err e = logmeans_read(a, req->path, &means, msg);
    if (e != ERR_OK)
        return e;
    megatron_args_account(args)->source = "log";
    return source_log_read(&means.log, req->path, args, msg);
}
