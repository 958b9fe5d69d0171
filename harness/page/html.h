/*
 * html: text of others within a page of ours. Data may hold anything
 * ("</script>", quotes, control characters); what is printed here shows as that
 * text and is never taken for markup.
 */
#ifndef PAGE_HTML_H
#define PAGE_HTML_H

#include "base/err.h"
#include "base/json.h"

#include <stdio.h>

/* The text as it may stand between tags and within a quoted attribute; NULL is
 * nothing. Control characters become U+FFFD. */
void html_text(FILE *out, const char *text);

/* The same with places where a line may break: behind / | and _, as they part
 * layouts, paths and names. */
void html_breaking(FILE *out, const char *text);

/* Cells of a table: a text, and a text under a scope ("row", "col"). */
void html_cell(FILE *out, const char *text);
void html_head(FILE *out, const char *scope, const char *text);

/* The tree, compact, as it may stand within <script type="application/json">:
 * no '<', '>' or '&' is left in it. The tree stays the caller's; NULL is memory
 * that ran out: ERR_NOMEM. */
enum err html_json(FILE *out, const cJSON *tree, struct err_msg *msg);

#endif
