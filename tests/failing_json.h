/*
 * failing_json: memory for cJSON of which the n-th request fails, to test that
 * a document is whole or not there at all. Counts what is not given back.
 */
#ifndef TESTS_FAILING_JSON_H
#define TESTS_FAILING_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct {
    long at, n; // requests until one fails (never: -1), requests so far
    long held;  // not given back
} failing_json;

static void *failing_json_malloc(size_t size)
{
    if (failing_json.n++ == failing_json.at)
        return NULL;
    failing_json.held++;
    return malloc(size);
}

static void failing_json_free(void *p)
{
    failing_json.held -= p != NULL;
    free(p);
}

/* Request `at` (from 0) of cJSON fails from now on; -1: none. */
static inline void failing_json_begin(long at)
{
    cJSON_Hooks hooks = {failing_json_malloc, failing_json_free};
    failing_json.at = at;
    failing_json.n = failing_json.held = 0;
    cJSON_InitHooks(&hooks);
}

/* As before; returns how many pieces are still held. */
static inline long failing_json_end(void)
{
    cJSON_InitHooks(NULL);
    return failing_json.held;
}

/* Makes the document with every request failing once. True when it is NULL as
 * long as one fails, the same text as without, and nothing is left over. */
static inline bool failing_json_try(cJSON *(*make)(void *data), void *data)
{
    cJSON *tree = make(data);
    char *want = cJSON_PrintUnformatted(tree);
    cJSON_Delete(tree);
    bool ok = want != NULL;
    for (long at = 0; ok; at++) {
        failing_json_begin(at);
        tree = make(data);
        bool failed = failing_json.n > at;
        failing_json.at = -1;
        char *got = tree ? cJSON_PrintUnformatted(tree) : NULL;
        ok = failed ? !tree : got && strcmp(got, want) == 0;
        cJSON_free(got);
        cJSON_Delete(tree);
        ok = failing_json_end() == 0 && ok;
        if (!failed)
            break;
    }
    free(want);
    return ok;
}

#endif
