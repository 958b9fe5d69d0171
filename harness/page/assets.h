/*
 * assets: the files page.html, page.css and page.js, as the build put them into
 * the program: an installed moe-bench needs nothing beside it.
 *
 * Each is lines with their ends; page.html names the places of the others and
 * of the data in lines of their own, "@NAME@".
 */
#ifndef PAGE_ASSETS_H
#define PAGE_ASSETS_H

/* Lines of a file, NULL behind the last. */
extern const char *const ASSETS_HTML[];
extern const char *const ASSETS_CSS[];
extern const char *const ASSETS_JS[];

#endif
