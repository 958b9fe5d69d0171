#include "base/tree.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static enum err read_tree(struct arena *a, const char *text,
                          const struct tree **top, struct err_msg *msg)
{
    arena_init(a);
    *top = NULL;
    return tree_read_yaml(a, text, "t.yaml", top, msg);
}

Test(tree, nodes_know_their_lines)
{
    struct arena a;
    const struct tree *top;
    struct err_msg msg = {""};
    long long n = 0;
    cr_assert_eq(
        read_tree(&a, "# x\na:\n  b: 3\n  c: '4'\nd: [1, 2]\n", &top, &msg),
        ERR_OK, "%s", msg.text);
    cr_assert_eq(tree_find(top, "a.b")->line, 3);
    cr_assert(tree_int(tree_find(top, "a.b"), &n) && n == 3);
    cr_assert_not(tree_find(top, "a.c")->plain);
    cr_assert_eq(tree_get(top, "d")->kind, TREE_LIST);
    cr_assert_null(tree_find(top, "a.b.c"));
    cr_assert_null(tree_find(NULL, "a"));
    arena_clear(&a);
}

Test(tree, null_is_no_text_and_quoted_null_is)
{
    struct arena a;
    const struct tree *top;
    struct err_msg msg = {""};
    cr_assert_eq(read_tree(&a, "a: null\nb: ~\nc:\nd: 'null'\n", &top, &msg),
                 ERR_OK);
    cr_assert_null(tree_text(tree_get(top, "a")));
    cr_assert_null(tree_text(tree_get(top, "b")));
    cr_assert_null(tree_text(tree_get(top, "c")));
    cr_assert_str_eq(tree_text(tree_get(top, "d")), "null");
    arena_clear(&a);
}

Test(tree, aliases_and_merge_keys_are_followed)
{
    struct arena a;
    const struct tree *top;
    struct err_msg msg = {""};
    cr_assert_eq(read_tree(&a,
                           "base: &b {x: 1, y: 2}\nmore: &m {z: 9}\n"
                           "c: *b\nd:\n  y: 5\n  <<: [*b, *m]\n",
                           &top, &msg),
                 ERR_OK, "%s", msg.text);
    cr_assert_str_eq(tree_find(top, "c.x")->text, "1");
    cr_assert_eq(tree_get(top, "c")->line, 3);
    cr_assert_str_eq(tree_find(top, "d.x")->text, "1");
    cr_assert_str_eq(tree_find(top, "d.y")->text, "5");
    cr_assert_str_eq(tree_find(top, "d.z")->text, "9");
    arena_clear(&a);
}

Test(tree, the_last_of_two_values_counts)
{
    struct arena a;
    const struct tree *top;
    struct err_msg msg = {""};
    cr_assert_eq(read_tree(&a, "a: 1\nb: 2\na: 3\n", &top, &msg), ERR_OK);
    cr_assert_str_eq(tree_get(top, "a")->text, "3");
    cr_assert_eq(tree_get(top, "a")->twice, 1);
    cr_assert_eq(tree_get(top, "b")->twice, 0);
    cr_assert_eq(top->child->next->next, NULL);
    arena_clear(&a);
}

/* text, and what the message must hold */
static const struct {
    const char *text, *word;
} bad[] = {
    {"- a\n", "t.yaml:1:1: want a map"},
    {"a: *x\n", "alias of no anchor"},
    {"a: &x [1, *x]\n", "within its own anchor"},
    {"a: [1\n", "t.yaml:2"},
    {"? [a]\n: 1\n", "want a key"},
    {"<<: 3\n", "want a map or a list of maps"},
};

Test(tree, errors_have_line_and_column)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena a;
        const struct tree *top;
        struct err_msg msg = {""};
        cr_expect_eq(read_tree(&a, bad[i].text, &top, &msg), ERR_PARSE, "%s",
                     bad[i].text);
        cr_expect(strstr(msg.text, bad[i].word), "'%s' lacks '%s'", msg.text,
                  bad[i].word);
        arena_clear(&a);
    }
}

Test(tree, no_document_is_no_error)
{
    struct arena a;
    const struct tree *top;
    struct err_msg msg = {""};
    cr_assert_eq(read_tree(&a, "# nothing\n", &top, &msg), ERR_OK);
    cr_assert_null(top);
    arena_clear(&a);
}

/* A hostile file: levels, values, and aliases of aliases. */
Test(tree, hostile_files_end_soon)
{
    struct arena a;
    const struct tree *top;
    struct err_msg msg = {""};
    char *text = calloc(1, 1 << 20);
    memcpy(text, "a: ", 4);
    memset(text + 3, '[', 500);
    cr_expect_eq(read_tree(&a, text, &top, &msg), ERR_PARSE);
    cr_expect(strstr(msg.text, "levels"), "%s", msg.text);
    arena_clear(&a);
    memcpy(text, "a: [", 5);
    for (int i = 0; i < TREE_MAX_NODES; i++)
        memcpy(text + 4 + 2 * i, "1,", 3);
    cr_expect_eq(read_tree(&a, text, &top, &msg), ERR_PARSE);
    cr_expect(strstr(msg.text, "too many values"), "%s", msg.text);
    arena_clear(&a);
    free(text);
    cr_expect_eq(read_tree(&a,
                           "a: &a [1,1,1,1]\nb: &b [*a,*a,*a,*a]\n"
                           "c: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n",
                           &top, &msg),
                 ERR_OK);
    arena_clear(&a);
}
