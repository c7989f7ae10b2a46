/* Search loops of com.microsoft over a decoder whose next word depends on the last one only, and
 * Tokenizer. */
#include "eval_text.h"

/* The states that it carries on are zeros; the mask and the positions are not looked at. */
#define DECODER(name)                                                                             \
  name " = d (int32[b,s] input_ids, int32[b,s] position_ids, int32[b,t] attention_mask, "         \
       "float[2,b,1,p,1] past_0) => (float[b,s,5] logits, float[2,b,1,t,1] present_0) <"          \
       "float[5,5] w = {0, 0, 0, 0, 0, 0, 0, 5, 4, 0, 0, 0, 0, 5, 3, 0, 4, 0, 0, 5, 5, 0, 0, 0, " \
       "0}, int64[1] two = {2}, int64[1] one = {1}, int64[2] parts = {1, 1}> {"                   \
       " logits = Gather (w, input_ids) n = Shape (input_ids) rows, cols = Split (n, parts)"      \
       " shape = Concat <axis = 0> (two, rows, one, cols, one) new = ConstantOfShape (shape)"     \
       " present_0 = Concat <axis = 3> (past_0, new) }"
#define SEARCH(op, more, ids, values, inputs, rank)                                       \
  HEAD("17")                                                                              \
  "g () => (int32[" rank "] z) <int32[" ids "] ids = {" values "}, int32[1] most = {6}, " \
  "int32[1] two = {2}, int32[1] one = {1}, float[1] f = {1}, int32[1] no = {0}> {"        \
  " z = com.microsoft." op                                                                \
  " <eos_token_id = 4, pad_token_id = 0, " more DECODER("decoder") "> "                   \
                                                                   "(" inputs ") }"

/* 1 is followed by 2, 2 by 3, 3 by the end; 0 is padding. */
static void test_greedy_search(void **state) {
    (void)state;
    EXPECT_INTS(SEARCH("GreedySearch", "", "2,1", "1, 3", "ids, most", "?,?"), /**/
                1, 2, 3, 0, 0, 0, 3, 0, 0, 0, 0, 0);
    EXPECT_INTS(SEARCH("GreedySearch", "", "1,2", "0, 2", "ids, most", "?,?"), 0, 2, 3, 0, 0, 0);
    EXPECT_INTS(
        SEARCH("GreedySearch", DECODER("init_decoder") ", ", "1,1", "1", "ids, most", "?,?"), 1, 2,
        3, 0, 0, 0);
    EXPECT_INTS(SEARCH("GreedySearch", "", "1,1", "1", "ids, most, most", "?,?"), /* min_length */
                1, 2, 3, 1, 2, 3);
}

static void test_sampling(void **state) {
    (void)state;
    EXPECT_INTS(SEARCH("Sampling", "top_p = 0.1, min_tokens_to_keep = 1, ", "1,1", "1",
                       "ids, most, , , , , , , one", "?,?"),
                1, 2, 3, 0, 0, 0);
}

static void test_beam_search(void **state) {
    (void)state;
    EXPECT_INTS(SEARCH("BeamSearch", "", "1,1", "1", "ids, most, no, two, one, f", "?,?,?"), /**/
                1, 2, 3, 0, 0, 0);
    EXPECT_INTS(SEARCH("BeamSearch", "", "1,1", "1", "ids, most, no, two, two, f", "?,?,?"), /**/
                1, 2, 3, 0, 0, 0, 1, 2, 3, 1, 2, 3);
}

/* The encoder's states are zeros, too: with a start token of 1 the words are those of above. */
#define ENCODED_BEAMS                                                                              \
  HEAD("17")                                                                                       \
  "g () => (int32[?,?,?] z) <int32[1,3] ids = {0, 2, 2}, int32[1] most = {6}, int32[1] no = {0}, " \
  "int32[1] two = {2}, int32[1] one = {1}, float[1] f = {1}> {"                                    \
  " z = com.microsoft.BeamSearch <eos_token_id = 4, pad_token_id = 0, model_type = 1, "            \
  "decoder_start_token_id = 1, encoder = e (int32[b,s] encoder_input_ids, "                        \
  "int32[b,s] encoder_attention_mask) => (float[b,1,s,1] key, float[b,1,s,1] value) <"             \
  "int64[2] axes = {1, 3}> { c = Cast <to = 1> (encoder_input_ids) key = Unsqueeze (c, axes)"      \
  " value = Identity (key) }, decoder = d (int32[b,1] input_ids, int32[b,s] mask, "                \
  "float[b,1,p,1] k, float[b,1,p,1] v, float[b,1,s,1] ck, float[b,1,s,1] cv) => "                  \
  "(float[b,1,5] logits, float[b,1,t,1] k1, float[b,1,t,1] v1) <float[5,5] w = {0, 0, 0, 0, 0, "   \
  "0, 0, 5, 4, 0, 0, 0, 0, 5, 3, 0, 4, 0, 0, 5, 5, 0, 0, 0, 0}, int64[2] axes = {2, 3}> {"         \
  " logits = Gather (w, input_ids) c = Cast <to = 1> (input_ids) new = Unsqueeze (c, axes)"        \
  " k1 = Concat <axis = 2> (k, new) v1 = Concat <axis = 2> (v, new) }> "                           \
  "(ids, most, no, two, one, f) }"

static void test_encoded_beam_search(void **state) {
    (void)state;
    EXPECT_INTS(ENCODED_BEAMS, 1, 2, 3, 0, 0, 0);
}

static void test_refuses_searches(void **state) {
    (void)state;
    expect_refused(SEARCH("GreedySearch", "", "1,1", "1", "ids, one", "?,?"), "max_length is 1");
    expect_refused(SEARCH("GreedySearch", "model_type = 1, ", "1,1", "1", "ids, most", "?,?"),
                   "model_type 1 cannot be run");
    expect_refused(SEARCH("BeamSearch", "", "1,1", "1", "ids, most, no, one, two, f", "?,?,?"),
                   "num_return_sequences 1 to num_beams");
    expect_refused(
        HEAD("17") "g () => (int32[?,?] z) <int32[1,1] ids = {1}, int32[1] most = {6}> {"
                   " z = com.microsoft.GreedySearch <eos_token_id = 4, pad_token_id = 0, "
                   "decoder = d (int32[b,s] i, int32[b,s] p, int32[b,t] m) => (logits) {"
                   " logits = Cast <to = 1> (i) }> (ids, most) }",
        "decoder must take");
    expect_refused(
        HEAD("17") "g () => (int32[?,?] z) <int32[1,1] ids = {1}, int32[1] most = {6}> {"
                   " z = com.microsoft.GreedySearch <eos_token_id = 4, pad_token_id = 0, "
                   "decoder = d (int32[b,s] i, int32[b,s] p, int32[b,t] m, "
                   "float[2,b,1,p,1] past) => (logits, past2) {"
                   " logits = Cast <to = 1> (i) past2 = Identity (past) }> (ids, most) }",
        "logits [batch, length, words]");
}

/* ---- Tokenizer ------------------------------------------------------------------------------- */

/* Where tokens are, and not padding. */
#define TOKENS(attributes)                                                                    \
  HEAD("20")                                                                                  \
  "g () => (int64[?,?] z) <string[2] x = {\"ab cd,e\", \" \xc3\xa9\"}, string no = {\"\"}> {" \
  " t = com.microsoft.Tokenizer <pad_value = \"\", " attributes "> (x)"                       \
  " e = Equal (t, no) n = Not (e) z = Cast <to = 7> (n) }"

static void test_tokenizer(void **state) {
    (void)state;
    EXPECT_INTS(TOKENS("mark = 0, mincharnum = 1, separators = [\" \", \",\"]"), 1, 1, 1, 1, 0, 0);
    EXPECT_INTS(TOKENS("mark = 0, mincharnum = 2, separators = [\" \", \",\"]"), 1, 1, 0, 0);
    EXPECT_INTS(TOKENS("mark = 1, mincharnum = 1, tokenexp = \"[a-d]+\""), 1, 1, 1, 1, 1, 1, 0, 0);
    EXPECT_INTS(TOKENS("mark = 0, mincharnum = 1, separators = [\"\"]"), /**/
                1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0);
    expect_refused(TOKENS("mark = 0, mincharnum = 1"), "separators or tokenexp must be given");
    expect_refused(TOKENS("mark = 0, mincharnum = 1, tokenexp = \"(\""), "cannot be used");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_search),    cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_beam_search),      cmocka_unit_test(test_encoded_beam_search),
        cmocka_unit_test(test_refuses_searches), cmocka_unit_test(test_tokenizer),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
