/* Loops over two operands for one instruction set. What is equal for signed and unsigned numbers is
 * compiled once per size, and comparisons of integers are made of "less". */

#define PAIR(name, T, Z, expr) HN_PAIR_LOOP(V_TARGET, V_NAME(name), T, Z, expr)

/* ---- arithmetic, bits, order ----------------------------------------------------------------- */

#define WRAPPING_PAIRS(bits, T)                 \
  PAIR(typed_add_##bits, T, T, (uint64_t)x + y) \
  PAIR(typed_sub_##bits, T, T, (uint64_t)x - y) \
  PAIR(typed_mul_##bits, T, T, (uint64_t)x *y)  \
  PAIR(typed_bitand_##bits, T, T, x &y)         \
  PAIR(typed_bitor_##bits, T, T, x | y)         \
  PAIR(typed_bitxor_##bits, T, T, x ^ y)        \
  PAIR(typed_equal_##bits, T, uint8_t, x == y)
WRAPPING_PAIRS(8, uint8_t)
WRAPPING_PAIRS(16, uint16_t)
WRAPPING_PAIRS(32, uint32_t)
WRAPPING_PAIRS(64, uint64_t)

#define ORDERED_PAIRS(T)                   \
  PAIR(typed_max_##T, T, T, x > y ? x : y) \
  PAIR(typed_min_##T, T, T, x < y ? x : y) \
  PAIR(typed_less_##T, T, uint8_t, x < y)
ORDERED_PAIRS(int8_t)
ORDERED_PAIRS(int16_t)
ORDERED_PAIRS(int32_t)
ORDERED_PAIRS(int64_t)
ORDERED_PAIRS(uint8_t)
ORDERED_PAIRS(uint16_t)
ORDERED_PAIRS(uint32_t)
ORDERED_PAIRS(uint64_t)

/* A NaN on either side is the result of Max and Min. */
PAIR(typed_add_double, double, double, x + y)
PAIR(typed_sub_double, double, double, x - y)
PAIR(typed_mul_double, double, double, x *y)
PAIR(typed_div_double, double, double, x / y)
PAIR(typed_max_double, double, double, x > y || x != x ? x : y)
PAIR(typed_min_double, double, double, x < y || x != x ? x : y)
PAIR(typed_equal_double, double, uint8_t, x == y)
PAIR(typed_less_double, double, uint8_t, x < y)
PAIR(typed_less_equal_double, double, uint8_t, x <= y)

PAIR(typed_and_bool, uint8_t, uint8_t, (x != 0) & (y != 0))
PAIR(typed_or_bool, uint8_t, uint8_t, (x | y) != 0)
PAIR(typed_xor_bool, uint8_t, uint8_t, (x != 0) ^ (y != 0))
PAIR(typed_equal_bool, uint8_t, uint8_t, (x != 0) == (y != 0))

/* Quotients of int32 are exact in doubles. The smallest number over -1 wraps; there are no zeros.
 */
PAIR(typed_div_int32_t, int32_t, int32_t,
     y == -1 ? 0 - (uint32_t)x : (uint32_t)(int32_t)((double)x / (double)(y == -1 ? 1 : y)))

/* ---- comparisons made of others -------------------------------------------------------------- */

static V_TARGET void V_NAME(flip_truth)(uint8_t *z, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        z[i] ^= 1;
}

#define SWAPPED(name, of)                                                                 \
  static void V_NAME(name)(const void *x, int step_x, const void *y, int step_y, void *z, \
                           uint64_t n) {                                                  \
    V_NAME(of)(y, step_y, x, step_x, z, n);                                               \
  }
#define NEGATED(name, of)                                                                 \
  static void V_NAME(name)(const void *x, int step_x, const void *y, int step_y, void *z, \
                           uint64_t n) {                                                  \
    V_NAME(of)(x, step_x, y, step_y, z, n);                                               \
    V_NAME(flip_truth)(z, n);                                                             \
  }
#define COMPARISONS(T)                             \
  SWAPPED(typed_greater_##T, typed_less_##T)       \
  NEGATED(typed_less_equal_##T, typed_greater_##T) \
  NEGATED(typed_greater_equal_##T, typed_less_##T)
COMPARISONS(int8_t)
COMPARISONS(int16_t)
COMPARISONS(int32_t)
COMPARISONS(int64_t)
COMPARISONS(uint8_t)
COMPARISONS(uint16_t)
COMPARISONS(uint32_t)
COMPARISONS(uint64_t)
SWAPPED(typed_greater_double, typed_less_double)
SWAPPED(typed_greater_equal_double, typed_less_equal_double)

/* ---- the table ------------------------------------------------------------------------------- */

#define PAIRS_BY_SIZE(of)                                                            \
  V_NAME(of##_8), V_NAME(of##_16), V_NAME(of##_32), V_NAME(of##_64), V_NAME(of##_8), \
      V_NAME(of##_16), V_NAME(of##_32), V_NAME(of##_64)
#define PAIRS_BY_TYPE(of)                                                                        \
  V_NAME(of##_int8_t), V_NAME(of##_int16_t), V_NAME(of##_int32_t), V_NAME(of##_int64_t),         \
      V_NAME(of##_uint8_t), V_NAME(of##_uint16_t), V_NAME(of##_uint32_t), V_NAME(of##_uint64_t), \
      V_NAME(of##_double)

static const hn_typed_pair V_NAME(typed_pair_rows)[] = {
    {"Add", {PAIRS_BY_SIZE(typed_add), V_NAME(typed_add_double)}},
    {"Sub", {PAIRS_BY_SIZE(typed_sub), V_NAME(typed_sub_double)}},
    {"Mul", {PAIRS_BY_SIZE(typed_mul), V_NAME(typed_mul_double)}},
    {"Div", {[HN_PAIR_I32] = V_NAME(typed_div_int32_t), [HN_PAIR_F64] = V_NAME(typed_div_double)}},
    {"Max", {PAIRS_BY_TYPE(typed_max)}},
    {"Min", {PAIRS_BY_TYPE(typed_min)}},
    {"BitwiseAnd", {PAIRS_BY_SIZE(typed_bitand)}},
    {"BitwiseOr", {PAIRS_BY_SIZE(typed_bitor)}},
    {"BitwiseXor", {PAIRS_BY_SIZE(typed_bitxor)}},
    {"Equal", {PAIRS_BY_SIZE(typed_equal), V_NAME(typed_equal_double), V_NAME(typed_equal_bool)}},
    {"Less", {PAIRS_BY_TYPE(typed_less)}},
    {"LessOrEqual", {PAIRS_BY_TYPE(typed_less_equal)}},
    {"Greater", {PAIRS_BY_TYPE(typed_greater)}},
    {"GreaterOrEqual", {PAIRS_BY_TYPE(typed_greater_equal)}},
    {"And", {[HN_PAIR_BOOL] = V_NAME(typed_and_bool)}},
    {"Or", {[HN_PAIR_BOOL] = V_NAME(typed_or_bool)}},
    {"Xor", {[HN_PAIR_BOOL] = V_NAME(typed_xor_bool)}},
    {NULL, {NULL}}};

/* ---- choices --------------------------------------------------------------------------------- */

/* Masks of all bits or none: no branch to guess. */
#define CHOICE(bits)                                                                             \
  static V_TARGET void V_NAME(typed_choose_##bits)(const uint8_t *condition, const void *px,     \
                                                   const void *py, const int steps[3], void *pz, \
                                                   uint64_t n) {                                 \
    typedef uint##bits##_t word;                                                                 \
    const word *xs = px, *ys = py;                                                               \
    word *z = pz;                                                                                \
    word xs_one[CHOICE_TILE], ys_one[CHOICE_TILE];                                               \
    uint64_t at_once = HN_MIN(n, CHOICE_TILE);                                                   \
    if (!steps[0]) {                                                                             \
      const word *from = n && condition[0] ? xs : ys;                                            \
      if (n && steps[condition[0] ? 1 : 2])                                                      \
        memmove(z, from, (size_t)n * sizeof *z);                                                 \
      else if (n)                                                                                \
        hn_repeat_element(from, sizeof *z, n, z);                                                \
      return;                                                                                    \
    }                                                                                            \
    if (!steps[1])                                                                               \
      hn_repeat_element(px, sizeof(word), at_once, xs_one);                                      \
    if (!steps[2])                                                                               \
      hn_repeat_element(py, sizeof(word), at_once, ys_one);                                      \
    for (uint64_t i = 0; i < n; i += at_once) {                                                  \
      uint64_t some = HN_MIN(at_once, n - i);                                                    \
      const word *x = steps[1] ? xs + i : xs_one, *y = steps[2] ? ys + i : ys_one;               \
      HN_LANES_APART                                                                             \
      for (uint64_t k = 0; k < some; k++) {                                                      \
        word mask = (word)(0 - (word)(condition[i + k] != 0));                                   \
        z[i + k] = (word)((x[k] & mask) | (y[k] & (word)~mask));                                 \
      }                                                                                          \
    }                                                                                            \
  }
#define CHOICE_TILE ((uint64_t)256)
CHOICE(8)
CHOICE(16)
CHOICE(64)

const hn_typed_pairs V_NAME(hn_typed_pairs) = {V_NAME(typed_pair_rows), V_NAME(typed_choose_8),
                                               V_NAME(typed_choose_16), V_NAME(typed_choose_64)};

#undef PAIR
#undef WRAPPING_PAIRS
#undef ORDERED_PAIRS
#undef SWAPPED
#undef NEGATED
#undef COMPARISONS
#undef PAIRS_BY_SIZE
#undef PAIRS_BY_TYPE
#undef CHOICE
#undef CHOICE_TILE
