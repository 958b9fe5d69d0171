/*
 * How it works: a character at a time, each through the one table of entities,
 * so that no text can be printed around it.
 */
#include "html.h"

#include "base/text.h"

#include <string.h>

/* A parser refuses most control characters, even as &#1;. */
static const char *html_entity(unsigned char c)
{
    return (c < ' ' && c != '\n' && c != '\t') || c == 0x7f
               ? "\xef\xbf\xbd"
               : text_entity((char)c);
}

static void html_character(FILE *out, char c)
{
    const char *entity = html_entity((unsigned char)c);
    if (entity)
        fputs(entity, out);
    else
        putc(c, out);
}

void html_text(FILE *out, const char *text)
{
    for (; text && *text; text++)
        html_character(out, *text);
}

/* No break behind the last character: it would end in an empty line. */
void html_breaking(FILE *out, const char *text)
{
    for (; text && *text; text++) {
        html_character(out, *text);
        if (text[1] && strchr("/|_", *text))
            fputs("<wbr>", out);
    }
}

void html_cell(FILE *out, const char *text)
{
    fputs("<td>", out);
    html_text(out, text);
}

void html_head(FILE *out, const char *scope, const char *text)
{
    fprintf(out, "<th scope=%s>", scope);
    html_text(out, text);
}

/* These three stand in strings only, where \u is the same character. */
enum err html_json(FILE *out, const cJSON *tree, struct err_msg *msg)
{
    char *text = tree ? cJSON_PrintUnformatted(tree) : NULL;
    if (!text)
        return err_set(msg, ERR_NOMEM, "page: out of memory");
    for (const char *c = text; *c; c++) {
        if (strchr("<>&", *c))
            fprintf(out, "\\u%04x", (unsigned)*c);
        else
            putc(*c, out);
    }
    cJSON_free(text);
    return ERR_OK;
}
