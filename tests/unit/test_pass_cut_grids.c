/* Split from Slices and Gathers; the fusion of SpaceToDepth and DepthToSpace. */
#include "pass_case.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define OLD "<ir_version: 8, opset_import: [\"\" : 9]>\n"
#define CUT .passes = "slices-to-split,space-depth"
#define GRID                                                                              \
  "g (float[1,2,4,6] x) => (float[1,8,2,3] y) <int64[2] a = {2, 3}, int64[2] t = {2, 2}," \
  " int64[2] e = {100000000000, 100000000000}, int64[2] s00 = {0, 0},"                    \
  " int64[2] s01 = {0, 1}, int64[2] s10 = {1, 0}, int64[2] s11 = {1, 1}> {"               \
  " p = Slice (x, s00, e, a, t) q = Slice (x, s01, e, a, t)"                              \
  " r = Slice (x, s10, e, a, t) s = Slice (x, s11, e, a, t)"

static const pass_case cut[] = {
    {CUT, /* in any order, with negative ends */
     .text = HEAD "g (float[n,6] x) => (float[n,3] y) <int64[1] i0 = {0}, int64[1] i3 = {3},"
                  " int64[1] m3 = {-3}, int64[1] end = {1000}, int64[1] a = {-1}> {"
                  " p = Slice (x, i3, end, a) q = Slice (x, i0, m3, a) y = Sub (q, p) }",
     .expected = HEAD "g (float[n,6] x) => (float[n,3] y) <int64[2] s = {3, 3}> {"
                      " q, p = Split <axis = 1> (x, s) y = Sub (q, p) }"},
    {CUT,
     .text = OLD "g (float[n,6] x) => (float[n,2] y) {"
                 " i = Constant <value = int64[2] {2, 3}> () p = Slice <axes = [1], starts = [0],"
                 " ends = [2]> (x) q = Gather <axis = 1> (x, i)"
                 " r = Slice <axes = [1], starts = [4], ends = [6]> (x) y = Sum (p, q, r) }",
     .expected = OLD "g (float[n,6] x) => (float[n,2] y) {"
                     " p, q, r = Split <axis = 1, split = [2, 2, 2]> (x) y = Sum (p, q, r) }"},
    {CUT, .text = HEAD GRID " y = Concat <axis = 1> (p, q, r, s) }",
     .expected = HEAD "g (float[1,2,4,6] x) => (float[1,8,2,3] y) {"
                      " y = SpaceToDepth <blocksize = 2> (x) }"},
    {CUT, /* another order of the blocks */
     .text = HEAD GRID " y = Concat <axis = 1> (p, r, q, s) }",
     .expected = HEAD "g (float[1,2,4,6] x) => (float[1,8,2,3] y)"
                      " <int64[8] c = {0, 1, 4, 5, 2, 3, 6, 7}> {"
                      " d = SpaceToDepth <blocksize = 2> (x) y = Gather <axis = 1> (d, c) }"},
    {CUT,
     .text = HEAD "g (float[n,8,3,4] x) => (float[n,2,6,8] y) <int64[6] s = {-1, 2, 2, 2, 3, 4},"
                  " int64[4] t = {-1, 2, 6, 8}> { h = Reshape (x, s)"
                  " i = Transpose <perm = [0, 3, 4, 1, 5, 2]> (h) y = Reshape (i, t) }",
     .expected = HEAD "g (float[n,8,3,4] x) => (float[n,2,6,8] y) {"
                      " y = DepthToSpace <blocksize = 2, mode = \"DCR\"> (x) }"},
    {CUT,
     .text = HEAD "g (float[n,8,3,4] x) => (float[n,2,6,8] y) <int64[6] s = {-1, 2, 2, 2, 3, 4},"
                  " int64[4] t = {-1, 2, 6, 8}> { h = Reshape (x, s)"
                  " i = Transpose <perm = [0, 1, 4, 2, 5, 3]> (h) y = Reshape (i, t) }",
     .expected = HEAD "g (float[n,8,3,4] x) => (float[n,2,6,8] y) {"
                      " y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x) }"},
    {CUT,
     .text = HEAD "g (float[n,2,6,8] x) => (float[n,8,3,4] y) <int64[6] s = {-1, 2, 3, 2, 4, 2},"
                  " int64[4] t = {-1, 8, 3, 4}> { h = Reshape (x, s)"
                  " i = Transpose <perm = [0, 3, 5, 1, 2, 4]> (h) y = Reshape (i, t) }",
     .expected = HEAD "g (float[n,2,6,8] x) => (float[n,8,3,4] y) {"
                      " y = SpaceToDepth <blocksize = 2> (x) }"},
};

static void test_cuts(void **state) {
    (void)state;
    expect_passes(cut, HN_COUNT(cut));
}

static void test_leaves_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* an element is omitted, or taken twice */
        HEAD "g (float[n,6] x) => (float[n,2] y) <int64[1] i0 = {0}, int64[1] i2 = {2},"
             " int64[1] i4 = {4}, int64[1] a = {1}> {"
             " p = Slice (x, i0, i2, a) q = Slice (x, i2, i4, a) y = Sub (q, p) }",
        HEAD "g (float[n,3] x) => (float[n,2] y) <int64[1] i0 = {0}, int64[1] i1 = {1},"
             " int64[1] i2 = {2}, int64[1] i3 = {3}, int64[1] a = {1}> {"
             " p = Slice (x, i0, i2, a) q = Slice (x, i1, i3, a) y = Sub (q, p) }",
        /* a size that is unknown */
        HEAD "g (float[n,2] x) => (float[m,2] y) <int64[1] i0 = {0}, int64[1] i1 = {1},"
             " int64[1] i3 = {1000}, int64[1] a = {0}> {"
             " p = Slice (x, i0, i1, a) q = Slice (x, i1, i3, a) y = Sub (q, p) }",
        /* steps, single numbers */
        HEAD "g (float[n,2] x) => (float[n] y) <int64 i0 = {0}, int64 i1 = {1}> {"
             " p = Gather <axis = 1> (x, i0) q = Gather <axis = 1> (x, i1) y = Sub (q, p) }",
        /* a block twice, another axis */
        HEAD GRID " y = Concat <axis = 1> (p, q, r, r) }",
        /* blocks that are not of pixels */
        HEAD "g (float[n,8,3,4] x) => (float[n,2,6,8] y) <int64[6] s = {-1, 2, 4, 1, 3, 4},"
             " int64[4] t = {-1, 2, 6, 8}> { h = Reshape (x, s)"
             " i = Transpose <perm = [0, 1, 4, 2, 5, 3]> (h) y = Reshape (i, t) }",
        HEAD "g (float[n,8,3,4] x) => (float[n,8,3,4] y) <int64[6] s = {-1, 2, 2, 2, 3, 4},"
             " int64[4] t = {-1, 8, 3, 4}> { h = Reshape (x, s)"
             " i = Transpose <perm = [0, 1, 4, 2, 5, 3]> (h) y = Reshape (i, t) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_pass(&(pass_case){CUT, .text = texts[i], .expected = texts[i]});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_leaves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
