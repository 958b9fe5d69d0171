/* writer: documents that are whole or not there. */
#include "base/writer.h"

#include "failing_json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static cJSON *make_document(void *data)
{
    struct writer_doc doc;
    struct writer top = writer_open(&doc);
    (void)data;
    writer_text(top, "text", "a \"quoted\" one");
    writer_number(top, "number", 1.5);
    writer_number(top, "none", (double)NAN);
    writer_bool(top, "yes", true);
    writer_null(top, "null");
    struct writer list = writer_list(top, "list");
    for (int i = 0; i < 3; i++)
        writer_number(writer_object(list, NULL), "i", i);
    writer_text(list, NULL, "end");
    writer_tree(top, "tree", cJSON_CreateArray());
    return writer_close(&doc);
}

Test(writer, values_stand_in_the_order_written)
{
    cJSON *tree = make_document(NULL);
    char *text = cJSON_PrintUnformatted(tree);
    cr_assert_str_eq(text, "{\"text\":\"a \\\"quoted\\\" one\",\"number\":1.5,"
                           "\"none\":null,\"yes\":true,\"null\":null,"
                           "\"list\":[{\"i\":0},{\"i\":1},{\"i\":2},\"end\"],"
                           "\"tree\":[]}");
    cJSON_free(text);
    cJSON_Delete(tree);
}

Test(writer, is_whole_or_nothing_whatever_request_fails)
{
    cr_assert(failing_json_try(make_document, NULL));
}

Test(writer, a_text_or_tree_of_null_is_memory_that_ran_out)
{
    struct writer_doc doc;
    writer_text(writer_open(&doc), "key", NULL);
    cr_assert_null(writer_close(&doc));
    writer_tree(writer_open_list(&doc), NULL, NULL);
    cr_assert_null(writer_close(&doc));
}

Test(writer, printing_tells_of_it_too)
{
    struct writer_doc doc;
    struct err_msg msg;
    struct arena a;
    arena_init(&a);
    writer_text(writer_open(&doc), "key", NULL);
    cr_assert_eq(writer_print(&doc, true, stdout, &msg), ERR_NOMEM);
    cr_assert_null(writer_print_tree(&a, NULL));
    const char *text = writer_print_tree(&a, cJSON_CreateArray());
    cr_assert_str_eq(text, "[]\n");
    arena_clear(&a);
}
