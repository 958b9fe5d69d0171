#include "contribute/redact.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(contribute_redact, tmp_all)
{
    const char *dirs[] = {"tests/fixtures/logs", "../shared/vectors/logs"};
    for (int d = 0; d < 2; d++) {
        struct dirent **e;
        int n = scandir(dirs[d], &e, NULL, alphasort);
        for (int i = 0; i < n; i++) {
            const char *dot = strrchr(e[i]->d_name, '.');
            if (!dot || strcmp(dot, ".log"))
                continue;
            struct arena a;
            arena_init(&a);
            struct text_span t, out;
            struct err_msg m;
            struct removed r;
            removed_init(&r, &a);
            cr_assert(text_read_bytes(&a, arena_printf(&a, "%s/%s", dirs[d], e[i]->d_name), 1 << 24, &t, &m) == ERR_OK);
            cr_assert(redact_log(&t, &r, &out, &m) == ERR_OK);
            const char *why;
            if (!redact_same(&a, &t, &out, &why))
                printf("%s: %s\n", e[i]->d_name, why);
            if (getenv("SHOW") && strstr(e[i]->d_name, getenv("SHOW"))) {
                fwrite(out.data, 1, out.len, stdout);
                removed_print(&r, 1000, stdout);
            }
            arena_clear(&a);
        }
    }
}
