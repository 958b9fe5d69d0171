/*
 * hf_config: reading keys of a config.json of Hugging Face into Megatron's
 * flags. Keys are paths with a dot between an object and its member; messages
 * name them with the object that holds the language model, such as
 * "text_config.num_experts". The first error is kept in the reader's document,
 * and everything after it does nothing: a reader lists what it reads and asks
 * once.
 */
#ifndef MEGATRON_HF_CONFIG_H
#define MEGATRON_HF_CONFIG_H

#include "base/reader.h"
#include "hf_families.h"
#include "megatron/args.h"

#include <stdbool.h>
#include <stdint.h>

struct hf {
    struct reader at; // the object with the language model's keys
    struct megatron_args *args;
    const struct hf_family *family;
    int n_layers;        // once it has been read
    const char *symbols; // of a hybrid model's layers; NULL: another model
};

/* Has the family's modules the part? */
bool hf_part(const struct hf *h, enum hf_part part);

/* Is the key there, and not null? */
bool hf_has(const struct hf *h, const char *path);

/* The key's integer from `lo` on; `other` where it is absent. A list counts as
 * its value where that is the same in all layers, and is refused with the
 * layer's index else. */
int64_t hf_int(const struct hf *h, const char *path, int64_t lo, int64_t other);

/* The same, from 0 on, of a key that must be there. */
int64_t hf_need(const struct hf *h, const char *path);

/* The key's switch (true, false, 1, 0); `other` where it is absent. */
bool hf_switch(const struct hf *h, const char *path, bool other);

/* The key's text; "" where it is absent or no text. */
const char *hf_text(const struct hf *h, const char *path);

/* A list with an element for each layer at least; absent where it is absent. */
struct reader hf_layers(const struct hf *h, const char *path);

/* A switch for each layer, all off; NULL, and an error is kept, when there is
 * no memory. */
bool *hf_new_layers(const struct hf *h);

/* The elements of `list` that are texts equal to `word`, as such switches. */
void hf_match_layers(const struct hf *h, struct reader list, const char *word,
                     bool *out);

/* Notes that what the key says is not counted: ERR_RANGE. */
void hf_refuse(const struct hf *h, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Tells the line once for each name, with the file before it. */
void hf_warn(const struct hf *h, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Give a flag a value: an integer, which is refused with the key's name where
 * the flag does not take it; a switch; a text; one digit a layer as a list. */
void hf_set(const struct hf *h, const char *path, enum flag_id flag,
            int64_t value);
void hf_on(const struct hf *h, enum flag_id flag);
void hf_put(const struct hf *h, enum flag_id flag, const char *text);
void hf_put_layers(const struct hf *h, enum flag_id flag, const bool *layers);

/* Copies the key to the flag; absent: `other`, or nothing where that is 0. */
void hf_copy(const struct hf *h, const char *path, enum flag_id flag,
             int64_t other);

#endif
