/* Nodes that lack what their operator needs: refused with a message that names it. */
#include "run_model.h"

#define PREVIEW_HEAD \
  "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1, \"ai.onnx.preview\" : 1]>\n"

static hone_status run_once(const hone_model *model, hone_value **y, hone_error *error) {
    hone_session *session = NULL;
    const char *out = "y";
    hone_status status = hone_session_create(model, NULL, &session, error);
    if (status == HONE_OK)
        status = hone_session_run(session, NULL, 0, NULL, NULL, 1, &out, y, error);
    hone_session_free(session);
    return status;
}

/* When the session is made, or when it runs. */
static void expect_refused(const char *text, hone_status code, const char *part) {
    hone_model *model;
    hone_value *y = NULL;
    expect_ok(load_text(text, NULL, &model, &error));
    expect_failure(run_once(model, &y, &error), code, part);
    assert_null(y);
    hone_model_free(model);
}

#define FLEX(body)                                                                            \
  PREVIEW_HEAD                                                                                \
  "g () => (float[1,1,2,4] y) <int64[4] dims = {1, 1, 2, 4}> {\n"                             \
  "  q = ConstantOfShape (dims)\n"                                                            \
  "  y = ai.onnx.preview.FlexAttention (q, q, q) <" body " = b (float[1,1,2,2] s) => () { t " \
  "= Neg (s) }> }"

static void bodies_without_outputs_are_refused(void **state) {
    (void)state;
    expect_refused(FLEX("score_mod"), HONE_E_INVALID, "score_mod has 0 outputs");
    expect_refused(FLEX("prob_mod"), HONE_E_INVALID, "prob_mod has 0 outputs");
}

/* One sequence of two tokens; caches of two blocks of four rows. */
#define PAGED(value_cache)                                                                    \
  PREVIEW_HEAD                                                                                \
  "g () => (float16[2,8] y) <int64[2] tokens = {2, 8}, int64[4] blocks = {2, 4, 1, 8}, "      \
  "int64[3] flat = {2, 4, 8}, int32[2] starts = {0, 2}, int32[1] past = {0}, int32[1,2] "     \
  "table = {0, 1}> {\n"                                                                       \
  "  q = ConstantOfShape <value: tensor = float16[1] {1}> (tokens)\n"                         \
  "  keys = ConstantOfShape <value: tensor = float16[1] {0}> (blocks)\n"                      \
  "  low = ConstantOfShape <value: tensor = float16[1] {0}> (flat)\n"                         \
  "  y = com.microsoft.PagedAttention <num_heads: int = 1, kv_num_heads: int = 1> (q, q, q, " \
  "keys, " value_cache ", starts, past, table) }"

static void caches_of_paged_attention_are_checked(void **state) {
    (void)state;
    expect_refused(PAGED(""), HONE_E_INVALID, "value_cache is missing");
    expect_refused(PAGED("low"), HONE_E_SHAPE, "must have rank 4");
}

/* Grouped attention over one head of eight; the past of one side only. */
#define GROUPED(past_key, past_value)                                                           \
  PREVIEW_HEAD                                                                                  \
  "g () => (float[1,1,8] y, float[1,1,m,8] k, float[1,1,m,8] v) <int64[3] fresh = {1, 1, 8}, "  \
  "int64[4] cache = {1, 1, 4, 8}, int32[1] last = {2}, int32 total = {3}> {\n"                  \
  "  q = ConstantOfShape (fresh) past = ConstantOfShape (cache)\n"                              \
  "  y, k, v = com.microsoft.GroupQueryAttention <num_heads: int = 1, kv_num_heads: int = 1> (" \
  "q, q, q, " past_key ", " past_value ", last, total) }"

static void one_past_alone_is_the_fault_of_the_model(void **state) {
    (void)state;
    expect_refused(GROUPED("past", ""), HONE_E_INVALID, "past_value is missing");
    expect_refused(GROUPED("", "past"), HONE_E_INVALID, "past_key is missing");
}

/* The past of packed attention must be [2, batch, heads, length, size]. */
#define PACKED                                                                                   \
  PREVIEW_HEAD                                                                                   \
  "g () => (float[1,1,8] y) <int64[3] tokens = {1, 1, 8}, int64[2] square = {8, 24}, int64[1] "  \
  "flat = {64}, int64[1] wide = {24}> {\n"                                                       \
  "  x = ConstantOfShape (tokens) w = ConstantOfShape (square) b = ConstantOfShape (wide) past " \
  "= ConstantOfShape (flat)\n"                                                                   \
  "  y = com.microsoft.Attention <num_heads: int = 1> (x, w, b, , past) }"

static void pasts_of_low_rank_are_refused(void **state) {
    (void)state;
    expect_refused(PACKED, HONE_E_SHAPE, "input 4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_without_outputs_are_refused),
        cmocka_unit_test(caches_of_paged_attention_are_checked),
        cmocka_unit_test(one_past_alone_is_the_fault_of_the_model),
        cmocka_unit_test(pasts_of_low_rank_are_refused),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
