#include "page/html.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t len;
static FILE *out;

static void open_text(void)
{
    out = open_memstream(&text, &len);
    cr_assert_not_null(out);
}

static void close_text(void)
{
    if (out)
        fclose(out);
    free(text);
}

static const char *written(void)
{
    cr_assert_eq(fclose(out), 0);
    out = NULL;
    return text;
}

TestSuite(html, .init = open_text, .fini = close_text);

Test(html, text_is_never_markup)
{
    html_text(out, "</script><a href=\"x\" title='y'>&amp;");
    cr_assert_str_eq(written(), "&lt;/script&gt;&lt;a href=&quot;x&quot; "
                                "title=&#39;y&#39;&gt;&amp;amp;");
}

Test(html, text_keeps_letters_of_other_alphabets_and_line_ends)
{
    html_text(out, "\xce\xbc\n\tz");
    cr_assert_str_eq(written(), "\xce\xbc\n\tz");
}

Test(html, control_characters_become_the_replacement_character)
{
    html_text(out, "a\x01\x1b\x7f");
    cr_assert_str_eq(written(), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

Test(html, no_text_is_nothing)
{
    html_text(out, NULL);
    html_breaking(out, NULL);
    cr_assert_str_eq(written(), "");
}

Test(html, a_line_may_break_within_layouts_but_not_at_their_end)
{
    html_breaking(out, "Et|<L|");
    cr_assert_str_eq(written(), "Et|<wbr>&lt;L|");
}

Test(html, cells_hold_text)
{
    html_head(out, "row", "<");
    html_cell(out, ">");
    cr_assert_str_eq(written(), "<th scope=row>&lt;<td>&gt;");
}

/* The same document when it is read again, and nothing that ends a script. */
Test(html, json_within_a_script_is_the_same_document)
{
    static const char evil[] = "</script><!-- & \"\\\n \xe2\x80\xa8";
    struct err_msg msg;
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, evil, evil);
    cr_assert_eq(html_json(out, tree, &msg), ERR_OK);
    cJSON_Delete(tree);
    cr_assert_null(strpbrk(written(), "<>&\n"));
    cJSON *again = cJSON_Parse(text);
    cr_assert_not_null(again);
    cr_assert_str_eq(
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(again, evil)),
        evil);
    cJSON_Delete(again);
}

Test(html, a_document_that_memory_ran_out_for_is_an_error)
{
    struct err_msg msg;
    cr_assert_eq(html_json(out, NULL, &msg), ERR_NOMEM);
}
