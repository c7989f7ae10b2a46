/* Integers followed through shape computations: every case ends in a tensor whose sizes are those
 * integers. */
#include "counting_allocator.h"
#include "infer_case.h"

#define OPSET21 "<ir_version: 10, opset_import: [\"\" : 21]>\n"
/* s is the shape of x; the body computes the vector v; the numbers k0, k1, ... are 1-element
 * vectors. */
#define CASE(body)                                                                           \
  OPSET21 "g (float[b,t,768] x) => (y)\n"                                                    \
          "<int64[1] k0 = {0}, int64[1] k1 = {1}, int64[1] k2 = {2}, int64[1] m1 = {-1}, "   \
          "int64[1] last = {9223372036854775807},\n"                                         \
          "int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, int64[3] some = {-1, 5, -1}> {\n" \
          "s = Shape (x) " body " y = ConstantOfShape (v) }"
#define RESHAPED(body)                                                                       \
  OPSET21 "g (float[b,t,768] x) => (y) <int64 i0 = {0}, int64 i1 = {1}, int64[1] k0 = {0}, " \
          "int64[2] heads = {12, -1}> {\n"                                                   \
          "s = Shape (x) " body " y = Reshape (x, v) }"

static const struct {
    const char *text, *type; /* of value y */
} followed[] = {
    {CASE("v = Identity (s)"), "float[b,t,768]"},
    {CASE("v = Shape <start = 1> (x)"), "float[t,768]"},
    {CASE("v = Shape <start = -2, end = -1> (x)"), "float[t]"},
    {CASE("v = Shape <start = 2, end = 1> (x)"), "float"},
    {CASE("z = Size (x) v = Unsqueeze (z, k0)"), "float[768*b*t]"},
    {CASE("v = Gather (s, m1)"), "float[768]"},
    {CASE("v = Slice (s, m1, k0, k0, m1)"), "float[768,t]"},
    {CASE("v = Slice (s, k1, last)"), "float[t,768]"},
    {CASE("v = Concat <axis = 0> (s, k2)"), "float[b,t,768,2]"},
    {CASE("a = Gather (s, i0) c = Unsqueeze (a, k0) d = Squeeze (c) v = Unsqueeze (d, k0)"),
     "float[b]"},
    {CASE("c = Cast <to = 6> (s) v = Cast <to = 7> (c)"), "float[b,t,768]"},
    {CASE("v = Add (s, k1)"), "float[b + 1,t + 1,769]"},
    {CASE("v = Mul (s, s)"), "float[b**2,t**2,589824]"},
    {CASE("a = Mul (s, k2) v = Div (a, k2)"), "float[b,t,768]"},
    {CASE("v = Max (s, k2)"), "float[max(b, 2),max(t, 2),768]"},
    {CASE("v = ReduceProd (s)"), "float[768*b*t]"},
    {CASE("a = ReduceSum <keepdims = 0> (s) v = Reshape (a, m1)"), "float[b + t + 768]"},
    {CASE("e = Equal (some, m1) v = Where (e, s, some)"), "float[b,5,768]"},
    {CASE("e = Less (s, k0) v = Where (e, k1, s)"), "float[b,t,768]"},
    {CASE("v, w = Split <num_outputs = 2> (s)"), "float[b,t]"},
    {CASE("a = Gather (s, i1) v = Expand (a, k2)"), "float[t,t]"},
    {CASE("a = Gather (s, k1) v = Tile (a, k2)"), "float[t,t]"},
    {CASE("a = Neg (s) v = Abs (a)"), "float[b,t,768]"},
    {CASE("a = Range (i0, i2, i1) v = Gather (s, a)"), "float[b,t]"},
    {CASE("a = Gather (s, i1) r = Range (i0, a, i1) v = Shape (r)"), "float[t]"},
    {CASE("a = Gather (s, i1) r = Range (i0, a, i2) v = Shape (r)"), "float[floor((t + 1)/2)]"},
/* A matrix with rows b t, 768 2. */
#define MATRIX \
  "c = Concat <axis = 0> (s, k2) p = Constant <value_ints = [-1, 2]> () m = Reshape (c, p) "
    {CASE(MATRIX "v = Reshape (m, m1)"), "float[b,t,768,2]"},
    {CASE(MATRIX "f = Slice (m, m1, last, k0) v = Reshape (f, m1)"), "float[768,2]"},
    {CASE(MATRIX "r = Transpose (m) v = Reshape (r, m1)"), "float[b,768,t,2]"},
    {CASE(MATRIX "r = Transpose <perm = [0, 1]> (m) v = Reshape (r, m1)"), "float[?,?,?,?]"},
    /* How exporters turn the paddings of torch around, last axis first. */
    {OPSET21
     "g (float[1,1,h,w] x, float[a] l, float[b] t) => (y) <int64[2] pairs = {-1, 2}, "
     "int64[1] m1 = {-1}, int64[1] first = {-9223372036854775807}, int64[1] k0 = {0}, "
     "int64[5] others = {0, 0, 0, 0, 0}> { "
     "la = Shape (l) ta = Shape (t) p = Concat <axis = 0> (la, k0, ta, others) "
     "m = Reshape (p, pairs) r = Slice (m, m1, first, k0, m1) q = Transpose <perm = [1, 0]> "
     "(r) v = Reshape (q, m1) y = Pad (x, v) }",
     "float[1,1,b + h,a + w]"},
    {CASE("c = Cast <to = 2> (s) v = Cast <to = 7> (c)"),
     "float[?,?,?]"}, /* 768 and symbols may wrap in uint8 */
    {RESHAPED("c = Gather (s, i0) d = Unsqueeze (c, k0) e = Gather (s, i1) f = Unsqueeze (e, k0) v "
              "= Concat <axis = 0> (d, f, heads)"),
     "float[b,t,12,64]"},
    {RESHAPED("c = Gather (s, i0) e = Gather (s, i1) m = Mul (c, e) f = Unsqueeze (m, k0) v = "
              "Concat <axis = 0> (f, heads)"),
     "float[b*t,12,64]"},
    {RESHAPED("c = Gather (s, i1) d = Unsqueeze (c, k0) v = Concat <axis = 0> (heads, d)"),
     "float[12,64*b,t]"},
};

static void test_followed(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(followed); i++)
        expect_type(followed[i].text, "y", followed[i].type);
}

static hone_status infer_with(const hone_allocator *a, const char *text) {
    hn_model *m = NULL;
    hone_error err = {0};
    hone_status status = hn_model_parse(text, strlen(text), a, &m, &err);
    if (status != HONE_OK)
        return status;
    status = hn_infer_model(m, &(hn_infer_options){.problems = NULL}, &err);
    hn_model_free(m);
    return status;
}

/* Every allocation may be the one that fails: nothing is left behind. */
static void test_failing_allocations(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(followed); i++) {
        counting_allocator counting = {.n_requests = SIZE_MAX};
        for (size_t fail_at = 1; fail_at <= counting.n_requests; fail_at++) {
            counting_init(&counting, fail_at);
            hone_status status = infer_with(&counting.hook, followed[i].text);
            assert_true(status == HONE_OK || status == HONE_E_NOMEM);
            assert_true(counting_is_clean(&counting));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_followed),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
