/* One arena for the path, one stream for the text: both end here. */
#include "table.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/file.h"

#include <stdlib.h>

/* In memory first, so that a table is replaced as a whole. */
enum err table_write(const char *dir, const char *name, table_print print,
                     const void *data, struct err_msg *msg)
{
    struct arena a; // of the path
    char *text = NULL;
    size_t len = 0;
    arena_init(&a);
    const char *path = arena_printf(&a, "%s/%s", dir, name);
    FILE *out = path ? open_memstream(&text, &len) : NULL;
    bool ok = out && print(out, data);
    ok = out && fclose(out) == 0 && ok;
    enum err e = ok ? file_make_folders(dir, msg)
                    : err_set(msg, ERR_NOMEM, "%s: out of memory", dir);
    if (e == ERR_OK)
        e = csv_replace_file(path, text, len, msg);
    free(text);
    arena_clear(&a);
    return e;
}
