/*
 * How it works: keys of the table are SECTION.NAME; sections whose keys all
 * stand in the table are checked against it, others (trainer, hardware) by
 * their own readers.
 */
#include "overrides.h"

#include <stdio.h>
#include <string.h>

/* Checks a section whose keys are rows of the table, and perhaps one more. */
static void overrides_check(struct reader top, const char *section,
                            const char *more)
{
    const char *keys[N_OVERRIDES + 1];
    size_t n = 0, len = strlen(section);
    for (int i = 0; i < N_OVERRIDES; i++) {
        const char *key = override_key((enum override_id)i);
        if (strncmp(key, section, len) == 0 && key[len] == '.')
            keys[n++] = key + len + 1;
    }
    if (more)
        keys[n++] = more;
    reader_keys(reader_object(top, section), keys, n);
}

/* The size or the text of one row, where the manifest has it. */
static void overrides_take(struct reader top, enum override_id id,
                           struct overrides *out)
{
    const char *key = strchr(override_key(id), '.');
    const enum flag_id flag = override_flag(id);
    // the longest section of the table is "parallel"
    char section[32];
    if (!key)
        return;
    snprintf(section, sizeof section, "%.*s", (int)(key - override_key(id)),
             override_key(id));
    struct reader at = reader_object(top, section);
    if (flag == FLAG_NONE) {
        reader_text(at, key + 1, &out->text[id]);
        return;
    }
    const struct flag_range r = flag_range(flag);
    const struct json_range range = {(double)r.lo, (double)r.hi};
    reader_int64(at, key + 1, range, &out->size[id]);
}

void manifest_overrides(struct reader top, struct overrides *out)
{
    overrides_check(top, "parallel", "ep_overlap");
    overrides_check(top, "batch", NULL);
    for (int i = 0; i < N_OVERRIDES; i++)
        overrides_take(top, (enum override_id)i, out);
}
