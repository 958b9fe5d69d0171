#include "overrides.h"

#include <stdio.h>
#include <string.h>

/* The manifest that is read. */
struct place {
    struct arena *a;
    const cJSON *top;
    const char *path;
};

/* Checks a section whose keys are all rows of the table. */
static enum err overrides_check(const struct place *in, const char *section,
                                struct err_msg *msg)
{
    const char *keys[N_OVERRIDES];
    size_t n = 0, len = strlen(section);
    const cJSON *object = json_get(in->top, section);
    struct err_msg where;
    for (int i = 0; i < N_OVERRIDES; i++) {
        const char *key = override_key((enum override_id)i);
        if (strncmp(key, section, len) == 0 && key[len] == '.')
            keys[n++] = key + len + 1;
    }
    if (!object)
        return ERR_OK;
    err_set(&where, ERR_OK, "%s: %s", in->path, section);
    if (!cJSON_IsObject(object))
        return err_set(msg, ERR_PARSE, "%s: want an object {...}, got %s",
                       where.text,
                       cJSON_IsArray(object) ? "a list" : "a value");
    return json_check_keys(object, where.text, keys, n, msg);
}

/* The size or the text of one row, where the manifest has it. */
static enum err overrides_read(const struct place *in, enum override_id id,
                               struct overrides *out, struct err_msg *msg)
{
    const char *key = strchr(override_key(id), '.');
    const enum flag_id flag = override_flag(id);
    struct err_msg where;
    char section[32];
    if (!key)
        return ERR_OK;
    snprintf(section, sizeof section, "%.*s", (int)(key - override_key(id)),
             override_key(id));
    const cJSON *object = json_get(in->top, section);
    if (!cJSON_IsObject(object)) // other sections are checked by their readers
        return ERR_OK;
    err_set(&where, ERR_OK, "%s: %s", in->path, section);
    if (flag == FLAG_NONE)
        return json_opt_string(in->a, object, where.text, key + 1,
                               &out->text[id], msg);
    const struct flag_range r = flag_range(flag);
    const struct json_range range = {(double)r.lo, (double)r.hi};
    return json_opt_int(object, where.text, key + 1, range, &out->size[id],
                        msg);
}

enum err manifest_overrides(struct arena *a, const cJSON *top, const char *path,
                            struct overrides *out, struct err_msg *msg)
{
    const struct place in = {a, top, path};
    enum err e = overrides_check(&in, "parallel", msg);
    if (e == ERR_OK)
        e = overrides_check(&in, "batch", msg);
    for (int i = 0; i < N_OVERRIDES && e == ERR_OK; i++)
        e = overrides_read(&in, (enum override_id)i, out, msg);
    return e;
}
