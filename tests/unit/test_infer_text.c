/* Shapes of the operators on strings. */
#include "infer_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
#define TFIDF(mode, indexes)                                                            \
  "y = TfIdfVectorizer <max_gram_length = 2, max_skip_count = 0, min_gram_length = 1, " \
  "mode = \"" mode "\", ngram_counts = [0, 2], ngram_indexes = [" indexes "], "         \
  "pool_int64s = [1, 2, 3, 4]> (x) }"
#define TOKENIZER                                                              \
  "y = com.microsoft.Tokenizer <mark = 1, mincharnum = 1, pad_value = \"#\", " \
  "separators = [\" \"]> (x) }"

static const typed_case typed[] = {
    {HEAD "g (string[2,1] a, string[n] b) => (y) { y = StringConcat (a, b) }", "string[2,n]", "y"},
    {HEAD "g (string[3] x) => (y) { y = StringNormalizer (x) }", "string[3]", "y"},
    {HEAD "g (string[n] x) => (y) { y = StringNormalizer (x) }", "string[?]", "y"},
    {HEAD "g (string[1,3] x) => (y) { y = StringNormalizer <stopwords = [\"a\"]> (x) }",
     "string[1,?]", "y"},
    {HEAD "g (string[2,n] x) => (y, z) { y, z = StringSplit (x) }", "string[2,n,?]", "y"},
    {HEAD "g (string[2,n] x) => (y, z) { y, z = StringSplit (x) }", "int64[2,n]", "z"},
    {HEAD "g (string x) => (y, z) { y, z = StringSplit (x) }", "string[?]", "y"},
    {HEAD "g (string[2,n] x) => (y) { y = RegexFullMatch <pattern = \"a\"> (x) }", "bool[2,n]",
     "y"},
    {HEAD "g (int64[6] x) => (y) { " TFIDF("TF", "0, 1, 4"), "float[5]", "y"},
    {HEAD "g (int64[n,6] x) => (y) { " TFIDF("IDF", "0, 1, 4"), "float[n,5]", "y"},
    {HEAD "g (string[n,2] x) => (y) { " TOKENIZER, "string[n,2,?]", "y"},
};

static const wrong_case wrong[] = {
    {HEAD "g (string[2] a, string[3] b) => (y) { y = StringConcat (a, b) }", "do not broadcast"},
    {HEAD "g (string[2,3] x) => (y) { y = StringNormalizer (x) }", "[C] or [1,C]"},
    {HEAD "g (string[3] x) => (y) { y = StringNormalizer <case_change_action = \"UP\"> (x) }",
     "LOWER, UPPER or NONE"},
    {HEAD "g (int64[6] x) => (y) { " TFIDF("XX", "0, 1"), "TF, IDF or TFIDF"},
    {HEAD "g (int64[6] x) => (y) { " TFIDF("TF", "0, -1"), "coordinates start at 0"},
    {HEAD "g (int64[6] x) => (y) { " TFIDF("TF", "9223372036854775807"), "too large"},
    {HEAD "g (int64[1,2,3] x) => (y) { " TFIDF("TF", "0"), "rank must be between 1 and 2"},
    {HEAD "g (string x) => (y) { " TOKENIZER, "rank must be between 1 and 2"},
};

RUN_TABLE_TESTS()
