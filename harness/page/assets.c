#include "assets.h"

#include <stddef.h>

// a string a line, made by the Makefile: C bounds the length of one
const char *const ASSETS_HTML[] = {
#include "page.html.lines"
    NULL};

const char *const ASSETS_CSS[] = {
#include "page.css.lines"
    NULL};

const char *const ASSETS_JS[] = {
#include "page.js.lines"
    NULL};
