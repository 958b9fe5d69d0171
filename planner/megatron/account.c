#include "account.h"

#include "base/join.h"

#include <string.h>

void account_init(struct account *to, struct arena *a)
{
    *to = (struct account){.arena = a, .source = "flags"};
}

bool account_has(const struct account_list *list, const char *text)
{
    for (const struct account_line *l = list->first; l; l = l->next)
        if (strcmp(l->text, text) == 0)
            return true;
    return false;
}

/* Whether or not the list has it. */
static void account_append(struct account *to, struct account_list *list,
                           const char *text)
{
    struct account_line *line = arena_alloc(to->arena, 1, sizeof *line);
    const char *copy = arena_strdup(to->arena, text);
    if (!line || !copy)
        return;
    *line = (struct account_line){copy, NULL};
    if (list->last)
        list->last->next = line;
    else
        list->first = line;
    list->last = line;
    list->n++;
}

void account_add(struct account *to, struct account_list *list,
                 const char *text)
{
    if (!account_has(list, text))
        account_append(to, list, text);
}

/* Both lists have as many lines: reasons may be alike. */
void account_change(struct account *to, const char *flag, const char *reason)
{
    if (account_has(&to->changes, flag))
        return;
    account_append(to, &to->changes, flag);
    account_append(to, &to->reasons, reason);
}

/* Texts are shared. */
void account_copy(struct account *to, const struct account *from)
{
    const struct account_list *lists[] = {&from->launches, &from->warnings,
                                          &from->assumed, &from->changes,
                                          &from->reasons};
    struct account_list *copies[] = {&to->launches, &to->warnings, &to->assumed,
                                     &to->changes, &to->reasons};
    *to = *from;
    for (int i = 0; i < 5; i++) {
        const struct account_line *l = lists[i]->first;
        *copies[i] = (struct account_list){NULL, NULL, 0};
        for (; l; l = l->next)
            account_append(to, copies[i], l->text);
    }
}

/* Lines with a separator between; NULL when out of memory. */
static const char *account_join(const struct account *from,
                                const struct account_list *list,
                                const char *between)
{
    struct join all = join_begin(from->arena);
    for (const struct account_line *l = list->first; l; l = l->next) {
        join_add(&all, all.n ? between : "");
        join_add(&all, l->text);
    }
    return join_end(&all);
}

enum err account_ask_launch(const struct account *from, const char *where,
                            struct err_msg *msg)
{
    if (!from->launch.ask)
        return ERR_OK;
    const char *all = account_join(from, &from->launches, "; ");
    if (!all)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    return err_set(msg, ERR_RANGE,
                   "%s: starts %d launches that differ: give --launch K: %s",
                   where, from->launch.of, all);
}

enum err account_refuse_changes(const struct account *from, const char *where,
                                struct err_msg *msg)
{
    if (!from->changes.n)
        return ERR_OK;
    const char *names = account_join(from, &from->changes, ", ");
    if (!names)
        return err_set(msg, ERR_NOMEM, "%s: out of memory", where);
    return err_set(msg, ERR_RANGE,
                   "%s: %s: %s; --ignore-unknown goes on without", where, names,
                   from->reasons.first->text);
}
