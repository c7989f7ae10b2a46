/* Products with weights of few bits for the vectors of a simd_dot_*.h. */
enum { D_NAME(NBITS_COLS) = 2 * V_ELEMS };
#define NBITS_COLS D_NAME(NBITS_COLS)
#define NBITS_VECTOR_BYTES (V_ELEMS * HN_NBITS_GROUP)
#define NBITS_MASK(bits) ((bits) == 2 ? 0x03030303 : 0x0F0F0F0F)

/* ---- digits of a ------------------------------------------------------------------------------ */

typedef struct D_NAME(digit_block) {
    V by;
    int64_t n, block; /* numbers that there are; all */
    int8_t *out;
    int32_t *sums;
    int32_t zero; /* that all weights have; 1: others */
} D_NAME(digit_block);

V_INLINE void D_NAME(block_digits)(const D_NAME(digit_block) * b, const float *x,
                                   const int n_digits) {
    const float base = HN_NBITS_BASE, square = base * base;
    V sums[HN_NBITS_MOST_DIGITS];
    for (int d = 0; d < n_digits; d++)
        sums[d] = V_ZERO();
    for (int64_t i = 0; i < b->block; i += V_ELEMS) {
        V_SOME some = V_FIRST(HN_MIN(HN_MAX(b->n - i, 0), V_ELEMS));
        V rest = V_ROUND(V_MUL(V_LOAD_SOME(x + i, some), b->by));
        for (int d = 0; d < n_digits; d++) {
            float unit = d == n_digits - 1 ? 1 : d == n_digits - 2 ? base : square;
            V digit = unit == 1 ? rest : V_ROUND(V_MUL(rest, V_SET1(1 / unit)));
            rest = V_FNMA(digit, V_SET1(unit), rest);
            V_STORE_S8(b->out + d * b->block + i, digit);
            sums[d] = V_ADD(sums[d], digit);
        }
    }
    for (int d = 0; d < n_digits; d++) {
        float sum = V_SUM(sums[d]);
        b->sums[d] = sum == sum ? -(int32_t)sum * b->zero : 0; /* NaN: nobody reads it */
    }
}

static V_TARGET void D_NAME(nbits_digits)(const hn_nbits_form *form, const float *a,
                                          const hn_nbits_left *out) {
    const float least = 1e-30f; /* steps, and their inverses, are normal numbers */
    float top = out->n_digits == 1 ? 127.0f : 8225000.0f;
    V strange = V_ZERO();
    for (int64_t b = 0; b < out->n_blocks; b++) {
        D_NAME(digit_block)
        block = {.n = HN_MIN(form->block, form->k - b * form->block),
                 .block = form->block,
                 .zero = form->zeros == HN_NBITS_NO_ZEROS ? 1 << (form->bits - 1) : 1,
                 .out = out->digits + b * form->block * out->n_digits,
                 .sums = out->sums + b * out->n_digits};
        const float *x = a + b * form->block;
        V most = V_SET1(least);
        for (int64_t i = 0; i < block.n; i += V_ELEMS) {
            V size = V_ABS(V_LOAD_SOME(x + i, V_FIRST(HN_MIN(block.n - i, V_ELEMS))));
            most = V_MAX(size, most);
            strange = V_FMA(size, V_ZERO(), strange);
        }
        float largest = V_LARGEST(most);
        block.by = V_SET1(top / largest);
        out->steps[b] = largest / top;
        if (out->n_digits == 1)
            D_NAME(block_digits)(&block, x, 1);
        else
            D_NAME(block_digits)(&block, x, HN_NBITS_MOST_DIGITS);
    }
    out->steps[0] += V_SUM(strange);
}

/* ---- tiles ------------------------------------------------------------------------------------ */

V_INLINE V D_NAME(zero_floats)(const hn_nbits_form *form, const void *zeros, int64_t at) {
    return form->zeros == HN_NBITS_INT_ZEROS ? D_TO_FLOAT(D_WIDEN_U8((const uint8_t *)zeros + at))
           : form->zeros == HN_NBITS_FLOAT_ZEROS ? V_LOAD((const float *)zeros + at)
                                                 : V_SET1((float)(1 << (form->bits - 1)));
}

/* What the sums of a block begin with: zero points that are whole numbers, times the numbers of a.
 */
V_INLINE void D_NAME(begin_sums)(const hn_nbits_form *form, const void *zeros, int64_t at,
                                 const int32_t *of_block, const int n_digits, D sums[][2]) {
    _Pragma("GCC unroll 3") for (int d = 0; d < n_digits; d++) {
        sums[d][0] = sums[d][1] = D_SET1(form->zeros == HN_NBITS_FLOAT_ZEROS ? 0 : of_block[d]);
        if (form->zeros == HN_NBITS_INT_ZEROS) {
            const uint8_t *bytes = (const uint8_t *)zeros + at;
            sums[d][0] = D_MUL(sums[d][0], D_WIDEN_U8(bytes));
            sums[d][1] = D_MUL(sums[d][1], D_WIDEN_U8(bytes + V_ELEMS));
        }
    }
}

/* The products of one block. */
V_INLINE void D_NAME(nbits_block)(const uint8_t *w, const int8_t *a, int64_t a_row, int64_t block,
                                  const int bits, const int n_digits, const int rows,
                                  D sums[HN_NBITS_MOST_ROWS][HN_NBITS_MOST_DIGITS][2]) {
    for (int64_t k = 0; k < block; k += HN_NBITS_GROUP * 8 / bits) {
        D bytes0 = D_LOAD(w), bytes1 = D_LOAD(w + NBITS_VECTOR_BYTES);
        w += 2 * NBITS_VECTOR_BYTES;
        _Pragma("GCC unroll 4") for (int h = 0; h < 8 / bits; h++) {
            D q0 = bytes0, q1 = bytes1;
            if (bits < 8) {
                D mask = D_SET1(NBITS_MASK(bits));
                q0 = D_AND(h ? D_SHIFT(bytes0, bits * h) : bytes0, mask);
                q1 = D_AND(h ? D_SHIFT(bytes1, bits * h) : bytes1, mask);
            }
            _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++)
                _Pragma("GCC unroll 3") for (int d = 0; d < n_digits; d++) {
                D left = D_BROADCAST(a + r * a_row + d * block + k + h * HN_NBITS_GROUP);
                if (bits < 8) {
                    D_DOT_LOW(sums[r][d][0], q0, left);
                    D_DOT_LOW(sums[r][d][1], q1, left);
                } else {
                    D_DOT(sums[r][d][0], q0, left);
                    D_DOT(sums[r][d][1], q1, left);
                }
            }
        }
    }
}

/* The number that digits write. */
V_INLINE V D_NAME(of_digits)(D sums[HN_NBITS_MOST_DIGITS][2], int v, const int n_digits) {
    V number = D_TO_FLOAT(sums[0][v]);
    _Pragma("GCC unroll 3") for (int d = 1; d < n_digits; d++) number =
        V_FMA(number, V_SET1(HN_NBITS_BASE), D_TO_FLOAT(sums[d][v]));
    return number;
}

V_INLINE float D_NAME(block_sum)(const int32_t *sums, const int n_digits) {
    float sum = (float)sums[0];
    for (int d = 1; d < n_digits; d++)
        sum = sum * HN_NBITS_BASE + (float)sums[d];
    return sum;
}

V_INLINE void D_NAME(nbits_tile)(const hn_nbits_tile *t, const int bits, const int n_digits,
                                 const int rows) {
    const hn_nbits_form *form = t->form;
    const hn_nbits_left *left = &t->left;
    int64_t block = form->block, n_blocks = left->n_blocks, a_row = n_blocks * block * n_digits;
    int64_t data_bytes = block * NBITS_COLS * bits / 8;
    const uint8_t *weights = t->weights;
    V total[HN_NBITS_MOST_ROWS][2];
    _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) total[r][0] = total[r][1] = V_ZERO();
    for (int64_t b = 0; b < n_blocks; b++) {
        D sums[HN_NBITS_MOST_ROWS][HN_NBITS_MOST_DIGITS][2];
        int64_t at = b * NBITS_COLS;
        _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) D_NAME(begin_sums)(
            form, t->zeros, at, left->sums + (r * n_blocks + b) * n_digits, n_digits, sums[r]);
        D_NAME(nbits_block)
        (weights, left->digits + b * block * n_digits, a_row, block, bits, n_digits, rows, sums);
        const float *scales = (const float *)(const void *)(weights + data_bytes);
        V scale[2] = {V_LOAD(scales), V_LOAD(scales + V_ELEMS)};
        weights += data_bytes + NBITS_COLS * (int64_t)sizeof(float);
        _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) {
            V step = V_BROADCAST(left->steps + r * n_blocks + b);
            _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) {
                V number = D_NAME(of_digits)(sums[r], v, n_digits);
                if (form->zeros == HN_NBITS_FLOAT_ZEROS)
                    number = V_FMA(D_NAME(zero_floats)(form, t->zeros, at + v * V_ELEMS),
                                   V_SET1(D_NAME(block_sum)(
                                       left->sums + (r * n_blocks + b) * n_digits, n_digits)),
                                   number);
                total[r][v] = V_FMA(V_MUL(number, step), scale[v], total[r][v]);
            }
        }
    }
    _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++)
        _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) {
        V_SOME some = V_FIRST(HN_MIN(HN_MAX(t->cols - v * V_ELEMS, 0), V_ELEMS));
        V y = total[r][v];
        if (t->bias)
            y = V_ADD(y, V_LOAD_SOME(t->bias + v * V_ELEMS, some));
        V_STORE_SOME(t->c + r * form->n + v * V_ELEMS, some, y);
    }
}

#define NBITS_TILE_NAME(bits, digits, rows) D_NAME(nbits_##bits##_##digits##_##rows)
#define NBITS_TILE(bits, digits, rows)                                               \
  static V_TARGET void NBITS_TILE_NAME(bits, digits, rows)(const hn_nbits_tile *t) { \
    D_NAME(nbits_tile)(t, bits, digits, rows);                                       \
  }
#define NBITS_ROWS(X, bits, digits) X(bits, digits, 1) X(bits, digits, 2) X(bits, digits, 4)
#define NBITS_EACH(X, bits) NBITS_ROWS(X, bits, 1) NBITS_ROWS(X, bits, 3)
NBITS_EACH(NBITS_TILE, 2)
NBITS_EACH(NBITS_TILE, 4)
NBITS_EACH(NBITS_TILE, 8)

/* ---- floats ----------------------------------------------------------------------------------- */

V_INLINE void D_NAME(widen_column)(const hn_nbits_column *c, const int bits) {
    const hn_nbits_form *form = c->form;
    enum { ROW_BYTES = 2 * NBITS_VECTOR_BYTES };
    const int unit = HN_NBITS_GROUP * 8 / bits; /* steps along k in a vector */
    int64_t k1 = c->k0 + c->nk, data_bytes = form->block * NBITS_COLS * bits / 8;
    const uint8_t *at = NULL; /* of the block */
    V scale = V_ZERO(), zero = V_ZERO();
    for (int64_t u = c->k0 / unit * unit, last = -1; u < k1; u += unit) {
        int64_t b = u / form->block;
        float *out = c->out + (u - c->k0) * c->out_stride;
        if (b != last) {
            at = c->weights + b * (data_bytes + NBITS_COLS * (int64_t)sizeof(float));
            scale = V_LOAD((const float *)(const void *)(at + data_bytes));
            zero = D_NAME(zero_floats)(form, c->zeros, b * NBITS_COLS);
            last = b;
        }
        D bytes = D_LOAD(at + u % form->block / unit * ROW_BYTES);
        _Pragma("GCC unroll 16") for (int i = 0; i < unit; i++) {
            int shift = i % HN_NBITS_GROUP * 8 + i / HN_NBITS_GROUP * bits;
            D q = D_AND(D_SHIFT(bytes, shift), D_SET1((1 << bits) - 1));
            if (u + i >= c->k0 && u + i < k1)
                V_STORE(out + i * c->out_stride, V_MUL(V_SUB(D_TO_FLOAT(q), zero), scale));
        }
    }
}
#define NBITS_WIDEN(bits)                                                     \
  static V_TARGET void D_NAME(nbits_widen_##bits)(const hn_nbits_column *c) { \
    D_NAME(widen_column)(c, bits);                                            \
  }
NBITS_WIDEN(2)
NBITS_WIDEN(4)
NBITS_WIDEN(8)

#define NBITS_NAMES(bits, digits)                                       \
  {                                                                     \
    NBITS_TILE_NAME(bits, digits, 1), NBITS_TILE_NAME(bits, digits, 2), \
        NBITS_TILE_NAME(bits, digits, 4)                                \
  }
#define NBITS_BOTH(bits) \
  { NBITS_NAMES(bits, 1), NBITS_NAMES(bits, 3) }
const hn_nbits_set D_NAME(hn_nbits_set) = {
    .cols = NBITS_COLS,
    .vector = V_ELEMS,
    .float_rows = D_SLOW_ROWS,
    .tiles = {NBITS_BOTH(2), NBITS_BOTH(4), NBITS_BOTH(8)},
    .widen = {D_NAME(nbits_widen_2), D_NAME(nbits_widen_4), D_NAME(nbits_widen_8)},
    .to_digits = D_NAME(nbits_digits)};

#undef NBITS_BOTH
#undef NBITS_NAMES
#undef NBITS_WIDEN
#undef NBITS_EACH
#undef NBITS_ROWS
#undef NBITS_TILE
#undef NBITS_TILE_NAME
#undef NBITS_MASK
#undef NBITS_VECTOR_BYTES
#undef NBITS_COLS
