/*
 * yaml: maps of a YAML file whose keys are Megatron's flags or the names of its
 * config classes. Each value goes into the slot of its flag with its line
 * ("run.yaml:7"); variables in it (${WAYS}) are replaced where the document
 * says what they are, stand by their default where they have one, which is
 * said, and make the value unknown where neither is so.
 *
 * In: nodes of a tree. Out: slots of args, and its account. Files have some
 * hundred lines; the nodes that are read are counted, so that aliases of
 * aliases end.
 */
#ifndef MEGATRON_YAML_H
#define MEGATRON_YAML_H

#include "base/arena.h"
#include "base/err.h"
#include "base/tree.h"
#include "megatron/args.h"

/* Another name for a key (dashes are underscores), within one form of file. Of
 * a key of true or false, one that begins with '!' is its opposite; "" passes
 * the key over. */
struct yaml_name {
    const char *key, *name;
};

/* A file being read. */
struct yaml_source {
    struct arena *arena;
    const char *where;      // of the file, for messages
    const char *const *set; // NAME=VALUE of the user's, n_set of them
    int n_set;
    const struct tree *top; // names of variables are paths from here
    struct megatron_args *args;
    struct err_msg *msg;
    const struct yaml_name *names; // ends with key NULL; or NULL
    bool quiet; // keys that nobody knows and that are not of a model: of others
    bool defaults; // of a framework, for all of its keys: others say nothing
    const struct tree *map; // that is being read: ${.name} is in it
    int steps;              // nodes read so far
};

/* Reads one member of a map; of a key with dots (trainer.strategy.NAME) the
 * last part counts. Maps and lists of maps are passed over. Quotes within the
 * quotes of a value are of the shell that a launcher hands it to, and are taken
 * off. ERR_PARSE, ERR_RANGE with the line; ERR_NOMEM. */
enum err yaml_take(struct yaml_source *y, const struct tree *member);

/* Reads all members of a map (NULL: none), and, when `deep`, of maps in it. A
 * key that is there twice with two values is warned of. */
enum err yaml_take_map(struct yaml_source *y, const struct tree *map,
                       bool deep);

/* The scalar's text with variables replaced and inner quotes off; NULL for
 * null, for what is no scalar, and for what is not known (*unknown, when not
 * NULL, is then why). */
enum err yaml_text(struct yaml_source *y, const struct tree *node,
                   const char **out, const struct flag_unknown **unknown);

#endif
