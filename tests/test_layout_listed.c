#include "layout/listed.h"

#include <criterion/criterion.h>
#include <string.h>

static enum err letters(struct arena *a, const char *text, const char **out,
                        struct err_msg *msg)
{
    arena_init(a);
    return layout_of_list(a, text, out, msg);
}

Test(listed, lists_of_words_are_the_letters_of_the_flag)
{
    static const char *const rows[][2] = {
        {"[[\"embedding\", \"decoder\"], [\"decoder\", \"mtp\", \"loss\"]]",
         "Et|tmL"},
        {"[['embedding'], [], ['decoder','loss']]", "E||tL"},
        {" [ [embedding, decoder,], [loss], ] ", "Et|L"},
        {"[[], ['decoder']]", "|t"},
        {"[['embedding', 'decoder', 'decoder', 'decoder'], ['decoder', "
         "'decoder', 'loss']]",
         "Et*3|t*2L"},
        {"Et*2|t*2mL", "Et*2|t*2mL"}, // the flag's own
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a;
        const char *out = NULL;
        struct err_msg msg = {""};
        cr_expect_eq(letters(&a, rows[i][0], &out, &msg), ERR_OK, "%s: %s",
                     rows[i][0], msg.text);
        cr_expect(out && strcmp(out, rows[i][1]) == 0, "%s: %s", rows[i][0],
                  out ? out : "none");
        arena_clear(&a);
    }
}

Test(listed, what_is_no_list_of_stages_is_refused_where_it_ends)
{
    static const char *const rows[] = {"[",
                                       "[[",
                                       "[[\"decoder\"",
                                       "[['decodr']]",
                                       "[['decoders']]",
                                       "[\"decoder\"]",
                                       "[[\"decoder']]",
                                       "[['decoder']] x",
                                       "[['decoder' 'loss']]",
                                       "[[Et]]",
                                       "[[['decoder']]]"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a;
        const char *out = NULL;
        struct err_msg msg = {""};
        cr_expect_eq(letters(&a, rows[i], &out, &msg), ERR_RANGE, "%s",
                     rows[i]);
        cr_expect(strstr(msg.text, "layout list: at"), "%s", msg.text);
        arena_clear(&a);
    }
}
