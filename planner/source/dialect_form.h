/*
 * dialect_form: what the parts of dialect share: a configuration being read,
 * and the table of forms. In: a tree. Out: slots of args. For dialect's own
 * files only; sizes are those of dialect.h.
 */
#ifndef MEGATRON_DIALECT_FORM_H
#define MEGATRON_DIALECT_FORM_H

#include "base/err.h"
#include "base/tree.h"
#include "yaml.h"

#include <stdbool.h>

enum { DIALECT_MAX_SECTIONS = 6 };

/* Of all files of one configuration. */
struct dialect_all {
    int n_files;            // read so far
    const char *model_type; // the last one that a flat file states, or NULL
    bool packed, dynamic;   // micro-batches are filled by tokens
    bool apart;             // some ranks generate and do not train
    long long nodes, gpus;  // of each, where any file states them; or 0
    const char *ranks_from; // the place of the last of them
    const char *model;      // that the last of the files names, or NULL
};

struct dialect {
    struct yaml_source y;
    const struct dialect_form *form;
    struct dialect_all *all;
    bool drawn_in; // by another file, which knows its form
};

struct dialect_form {
    const char *name;
    const char *marks; // paths, all of which are there; '|': or these
    // maps that are read, "" is the top; one that ends with '/' with all maps
    // in it
    const char *sections[DIALECT_MAX_SECTIONS];
    const struct yaml_name *names;
    enum err (*more)(struct dialect *d); // before the sections, or NULL
    const char *nodes, *gpus;            // paths of what makes the world
    const char *model;     // path of what names the model, for messages
    const char *elsewhere; // where sizes are, if not here
    const char *merged;    // what it is merged into, and has its batch; or NULL
    bool config; // names of config classes: key heads alone make groups
};

/* The form that the keys at the top tell, or NULL. A file that another one
 * draws in and that nothing tells is flat: its keys may all be the framework's.
 */
const struct dialect_form *dialect_form_of(const struct tree *top,
                                           bool drawn_in);

/* Reads the file of d->y.top: a form's own code, then its maps. */
enum err dialect_read(struct dialect *d);

/* Reads a file that the configuration names, if it stands beside it (*found) or
 * in the folder `presets` (NULL: none) of the checkout around it. ERR_PARSE
 * when it cannot be read, or when there are too many. */
enum err dialect_beside(struct dialect *d, const char *name,
                        const char *presets, bool *found);

/* The same of a file that is needed: where it is not there, it is a change of
 * the account, as it may hold anything but defaults. */
enum err dialect_need(struct dialect *d, const struct tree *at,
                      const char *name);

/* Says of a file of a framework's defaults, named at `at`, that it is not
 * there. ERR_NOMEM. */
enum err dialect_lacks_defaults(struct dialect *d, const struct tree *at,
                                const char *name);

/* Gives a flag (its name, or a key) a value that a node states in other words.
 */
enum err dialect_set(struct dialect *d, const char *flag, const char *text,
                     const struct tree *at);

#endif
