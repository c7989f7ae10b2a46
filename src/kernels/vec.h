/* Loops over floats that have a version for each instruction set. */
#ifndef HN_VEC_H
#define HN_VEC_H

#include "kernels/kernel.h"

typedef struct hn_vec_map {
    const char *op;
    hn_map_f32 fn;
} hn_vec_map;

#endif /* HN_VEC_H */
