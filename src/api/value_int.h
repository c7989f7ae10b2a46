/* Definition of hone_value. */
#ifndef HN_VALUE_INT_H
#define HN_VALUE_INT_H

#include "api/api_int.h"
#include "ops/eval_engine.h"

struct hone_value {
    const hone_allocator *alloc;
    hn_heap *heap; /* owns the object; NULL for an item of another value, and for borrowed memory */
    hn_object *object;
    hn_object
        borrowed;   /* the object itself when the memory is the caller's; dims follow the handle */
    size_t n_bytes; /* of this handle */
    hone_value **items; /* handles of items */
    uint32_t n_items;
};
hone_value *hn_value_handle(
    const hone_allocator *alloc); /* with a heap and no object; NULL: out of memory */

void hn_value_free_items(hone_value *v);
/* The tensor of a value. For an observed value with strided rows the handle gets a heap with a
 * dense copy; NULL: not a tensor, or out of memory. */
const hn_array *hn_value_array(const hone_value *value);

#endif /* HN_VALUE_INT_H */
