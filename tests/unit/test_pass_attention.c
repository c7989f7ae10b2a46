/* The fusion of attention: heads, masks, groups, a past, and near misses. */
#include "pass_memory.h"

#define OPSET_23 "<ir_version: 10, opset_import: [\"\" : 23]>\n"
#define OPSET_17 "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define WITH_MS "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
#define FUSE .passes = "attention"
#define FUSE_MS .passes = "attention", .target = HN_TARGET_ONNXRUNTIME

/* Two heads of four elements, split from q, k, v by constant shapes. */
#define CUT                                                          \
  " q4 = Reshape (q, cut) qh = Transpose <perm = [0, 2, 1, 3]> (q4)" \
  " k4 = Reshape (k, cut) kt = Transpose <perm = [0, 2, 3, 1]> (k4)" \
  " v4 = Reshape (v, cut) vh = Transpose <perm = [0, 2, 1, 3]> (v4)"
#define JOIN " y4 = Transpose <perm = [0, 2, 1, 3]> (yh) y = Reshape (y4, join)"
#define SHAPES "int64[4] cut = {0, 0, 2, 4}, int64[3] join = {0, 0, 8}, float half = {0.5}"
#define QKV "float[b,s,8] q, float[b,s,8] k, float[b,s,8] v"
#define PLAIN(head)                                                                \
  head "g (" QKV ") => (float[b,s,8] y) <" SHAPES "> {" CUT " h = MatMul (qh, kt)" \
       " i = Mul (h, half) p = Softmax <axis = -1> (i) yh = MatMul (p, vh)" JOIN " }"

static const pass_case fused[] = {
    {FUSE, /* the operator splits the heads */
     .text = PLAIN(OPSET_23),
     .expected = OPSET_23 "g (" QKV ") => (float[b,s,8] y) {"
                          " y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v) }"},
    {FUSE_MS, /* where the standard lacks the operator */
     .text = PLAIN(OPSET_17),
     .expected = WITH_MS "g (" QKV ") => (float[b,s,8] y) {"
                         " y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }"},
    {FUSE, /* queries and values that already have heads */
     .text = OPSET_23 "g (float[b,2,s,4] q, float[b,2,4,t] k, float[b,2,t,4] v) =>"
                      " (float[b,2,s,4] y) <float two = {2}> {"
                      " h = MatMul (q, k) i = Div (h, two) p = Softmax (i) y = MatMul (p, v) }",
     .expected = OPSET_23 "g (float[b,2,s,4] q, float[b,2,4,t] k, float[b,2,t,4] v) =>"
                          " (float[b,2,s,4] y) {"
                          " kh = Transpose <perm = [0, 1, 3, 2]> (k)"
                          " y = Attention (q, kh, v) }"},
    {FUSE, /* scales of queries and keys are included */
     .text = OPSET_23 "g (" QKV ") => (float[b,s,8] y) <" SHAPES "> {" CUT
                      " qs = Mul (qh, half) ks = Div (kt, half) h = MatMul (qs, ks)"
                      " p = Softmax <axis = 3> (h) yh = MatMul (p, vh)" JOIN " }",
     .expected = OPSET_23 "g (" QKV ") => (float[b,s,8] y) {"
                          " y = Attention <q_num_heads = 2, kv_num_heads = 2, scale = 1.0>"
                          " (q, k, v) }"},
    {FUSE, /* a constant triangle is a causal mask */
     .text = OPSET_23 "g (float[b,2,8] q, float[b,2,8] k, float[b,2,8] v) => (float[b,2,8] y)"
                      " <" SHAPES ", float[2,2] m = {0, -1e9, 0, 0}> {" CUT
                      " h = MatMul (qh, kt) i = Mul (h, half) j = Add (i, m)"
                      " p = Softmax (j) yh = MatMul (p, vh)" JOIN " }",
     .expected = OPSET_23 "g (float[b,2,8] q, float[b,2,8] k, float[b,2,8] v) => (float[b,2,8] y)"
                          " { y = Attention <is_causal = 1, q_num_heads = 2, kv_num_heads = 2>"
                          " (q, k, v) }"},
    {FUSE, /* another matrix is not */
     .text = OPSET_23 "g (float[b,2,8] q, float[b,2,8] k, float[b,2,8] v) => (float[b,2,8] y)"
                      " <" SHAPES ", float[1,1,2,2] m = {0, -1e9, -1e9, 0}> {" CUT
                      " h = MatMul (qh, kt) i = Mul (h, half) j = Add (m, i)"
                      " p = Softmax (j) yh = MatMul (p, vh)" JOIN " }",
     .expected = OPSET_23 "g (float[b,2,8] q, float[b,2,8] k, float[b,2,8] v) => (float[b,2,8] y)"
                          " <float[1,1,2,2] m = {0, -1e9, -1e9, 0}> {"
                          " y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v, m) }"},
    {FUSE, /* a mask for all queries is expanded to them; the operator includes the guard */
     .text = OPSET_23 "g (" QKV ", bool[b,1,1,s] open) => (float[b,s,8] y)"
                      " <" SHAPES ", float zero = {0}, float no = {-inf}> {" CUT
                      " h = MatMul (qh, kt) i = Mul (h, half) m = Where (open, zero, no)"
                      " j = Add (i, m) p = Softmax (j) bad = IsNaN (p) pz = Where (bad, zero, p)"
                      " yh = MatMul (pz, vh)" JOIN " }",
     .expected = OPSET_23 "g (" QKV ", bool[b,1,1,s] open) => (float[b,s,8] y)"
                          " <float zero = {0}, float no = {-inf}, int64[2] ones = {1, 1},"
                          " int64[1] one = {1}> {"
                          " m = Where (open, zero, no) n = Shape <start = 3, end = 4> (open)"
                          " to = Concat <axis = 0> (ones, n, one) all = Expand (m, to)"
                          " y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v, all) }"},
    {FUSE, /* without a guard a query without keys gives NaN before and after */
     .text = OPSET_23 "g (" QKV ", bool[1,1,s,s] open) => (float[b,s,8] y)"
                      " <" SHAPES ", float no = {-inf}> {" CUT
                      " h = MatMul (qh, kt) i = Mul (h, half) j = Where (open, i, no)"
                      " p = Softmax (j) yh = MatMul (p, vh)" JOIN " }",
     .expected = OPSET_23 "g (" QKV ", bool[1,1,s,s] open) => (float[b,s,8] y)"
                          " <float zero = {0}, float no = {-inf}, int64[1] axes = {-1},"
                          " float z = {0}> {"
                          " m = Where (open, zero, no) top = ReduceMax (m, axes)"
                          " nan = Mul (top, z) n = Add (m, nan)"
                          " y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v, n) }"},
    {FUSE, /* one head of keys for two of queries, repeated by Expand */
     .text = OPSET_23 "g (float[b,s,8] q, float[b,s,4] k, float[b,s,4] v) => (float[b,s,8] y)"
                      " <" SHAPES ", int64[4] one = {0, 0, 1, 4}, int64[4] two = {1, 2, 1, 1}> {"
                      " q4 = Reshape (q, cut) qh = Transpose <perm = [0, 2, 1, 3]> (q4)"
                      " k4 = Reshape (k, one) k1 = Transpose <perm = [0, 2, 1, 3]> (k4)"
                      " k2 = Expand (k1, two) kt = Transpose <perm = [0, 1, 3, 2]> (k2)"
                      " v4 = Reshape (v, one) v1 = Transpose <perm = [0, 2, 1, 3]> (v4)"
                      " vh = Expand (v1, two) h = MatMul (qh, kt) i = Mul (h, half)"
                      " p = Softmax (i) yh = MatMul (p, vh)" JOIN " }",
     .expected = OPSET_23 "g (float[b,s,8] q, float[b,s,4] k, float[b,s,4] v) =>"
                          " (float[b,s,8] y) {"
                          " y = Attention <q_num_heads = 2, kv_num_heads = 1> (q, k, v) }"},
    {FUSE, /* new keys and values are appended to a past */
     .text = OPSET_23 "g (float[b,2,s,4] q, float[b,2,s,4] k, float[b,2,s,4] v,"
                      " float[b,2,p,4] pk, float[b,2,p,4] pv) =>"
                      " (float[b,2,s,4] y, float[b,2,n,4] nk, float[b,2,n,4] nv)"
                      " <float half = {0.5}> {"
                      " nk = Concat <axis = 2> (pk, k) nv = Concat <axis = -2> (pv, v)"
                      " kt = Transpose <perm = [0, 1, 3, 2]> (nk) h = MatMul (q, kt)"
                      " i = Mul (h, half) w = Softmax (i) y = MatMul (w, nv) }",
     .expected = OPSET_23 "g (float[b,2,s,4] q, float[b,2,s,4] k, float[b,2,s,4] v,"
                          " float[b,2,p,4] pk, float[b,2,p,4] pv) =>"
                          " (float[b,2,s,4] y, float[b,2,n,4] nk, float[b,2,n,4] nv) {"
                          " y, nk, nv = Attention (q, k, v, \"\", pk, pv) }"},
};

static void test_fuses(void **state) {
    (void)state;
    expect_passes(fused, HN_COUNT(fused));
}

/* ---- near misses ----------------------------------------------------------------------------- */

typedef struct miss_case {
    const char *text, *reason;
} miss_case;

#define FOUR "float[b,2,s,4] q, float[b,2,4,t] k, float[b,2,t,4] v"

static const miss_case missed[] = {
    {OPSET_23 "g (" FOUR ") => (float[b,2,s,4] y, float[b,2,s,t] p) {"
              " h = MatMul (q, k) p = Softmax (h) y = MatMul (p, v) }",
     "weights have other readers"},
    {OPSET_23 "g (" FOUR ") => (float[b,2,s,4] y, float[b,2,s,t] h) {"
              " h = MatMul (q, k) p = Softmax (h) y = MatMul (p, v) }",
     "scores have other readers"},
    {OPSET_23 "g (" FOUR ") => (float[b,2,s,4] y) {"
              " h = MatMul (q, k) p = Softmax <axis = 2> (h) y = MatMul (p, v) }",
     "not over the last axis"},
    {OPSET_23 "g (" FOUR ") => (float[b,2,s,4] y) <float[2,1,1] c = {1, 2}> {"
              " h = MatMul (q, k) i = Mul (h, c) p = Softmax (i) y = MatMul (p, v) }",
     "other than one constant number"},
    {OPSET_23 "g (" FOUR ", bool[s,t] m) => (float[b,2,s,4] y) <float c = {-3}> {"
              " h = MatMul (q, k) i = Where (m, h, c) p = Softmax (i) y = MatMul (p, v) }",
     "not a large negative number"},
    {OPSET_23 "g (float[1,2,s,4] q, float[1,2,4,t] k, float[1,2,t,4] v, float[b,1,s,t] m) =>"
              " (float[b,2,s,4] y) {"
              " h = MatMul (q, k) i = Add (h, m) p = Softmax (i) y = MatMul (p, v) }",
     "more dimensions than the scores"},
    {OPSET_23 "g (float[1,2,s,4] q, float[b,2,4,t] k, float[b,2,t,4] v) => (float[b,2,s,4] y) {"
              " h = MatMul (q, k) p = Softmax (h) y = MatMul (p, v) }",
     "queries are broadcast"},
    {OPSET_23 "g (float[b,2,s,4] q, float[1,2,4,t] k, float[1,2,t,4] v) => (float[b,2,s,4] y) {"
              " h = MatMul (q, k) p = Softmax (h) y = MatMul (p, v) }",
     "broadcast over the batch"},
    {OPSET_23 "g (" FOUR ") => (float[b,2,s,4] y) <float c = {-1}> {"
              " h = MatMul (q, k) i = Mul (h, c) p = Softmax (i) y = MatMul (p, v) }",
     "not positive"},
    {OPSET_17 "g (" FOUR ") => (float[b,2,s,4] y) {"
              " h = MatMul (q, k) p = Softmax (h) y = MatMul (p, v) }",
     "operator of opset 23"},
};

static void test_tells_why_not(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(missed); i++) {
        pass_case c = {FUSE, .text = missed[i].text, .expected = missed[i].text};
        expect_pass(&c);
        expect_miss(&c, "attention", missed[i].reason);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Heads in the batch, positions first, a packed projection. */
static const char large[] =
    OPSET_17 "g (float[s,b,24] w) => (float[s,b,8] y)"
             " <int64[4] parts = {0, 0, 3, 8}, int64[3] cut = {0, -1, 4}, int64 i0 = {0},"
             " int64 i1 = {1}, int64 i2 = {2}, float half = {0.5},"
             " int64[3] join = {0, -1, 8}> {"
             " p = Reshape (w, parts) t = Transpose <perm = [2, 0, 1, 3]> (p)"
             " q = Gather (t, i0) k = Gather (t, i1) v = Gather (t, i2)"
             " q3 = Reshape (q, cut) qh = Transpose <perm = [1, 0, 2]> (q3)"
             " k3 = Reshape (k, cut) kt = Transpose <perm = [1, 2, 0]> (k3)"
             " v3 = Reshape (v, cut) vh = Transpose <perm = [1, 0, 2]> (v3)"
             " h = MatMul (qh, kt) i = Mul (h, half) e = Softmax (i) yh = MatMul (e, vh)"
             " y3 = Transpose <perm = [1, 0, 2]> (yh) y = Reshape (y3, join) }";

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    hn_optimize_options o;
    hn_optimize_options_init(&o);
    o.target = HN_TARGET_ONNXRUNTIME;
    o.n_only = 1;
    o.only = (const char *const[]){"attention"};
    expect_every_failure_told(large, &o, 4, 4); /* Transpose, Split, the operator, Transpose */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fuses),
        cmocka_unit_test(test_tells_why_not),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
