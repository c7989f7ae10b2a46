/* Evaluation of TfIdfVectorizer: how often known n-grams occur in rows of tokens. */
#include "ops/eval/copy.h"
#include "base/sort.h"

/* The n-grams of one length lie next to each other in the pool. */
typedef struct gram_pool {
    const int64_t *numbers; /* one of these two */
    const hn_bytes *strings;
    uint64_t first, length;     /* of the grams looked for now: where they begin, tokens in each */
    uint64_t n_grams, n_before; /* how many, and how many shorter ones there are */
    uint64_t *order;            /* sorted */
} gram_pool;

/* Tokens of the text: numbers or strings like the pool. */
typedef struct gram_text {
    const int64_t *numbers;
    const hn_bytes *strings;
    uint64_t step; /* distance of the tokens of a gram */
} gram_text;

static int compare_tokens(const int64_t *numbers_a, const hn_bytes *strings_a, uint64_t a,
                          const int64_t *numbers_b, const hn_bytes *strings_b, uint64_t b) {
    if (numbers_a)
        return (numbers_a[a] > numbers_b[b]) - (numbers_a[a] < numbers_b[b]);
    return hn_compare_text(strings_a[a], strings_b[b]);
}

static bool gram_less(const void *ctx, uint64_t a, uint64_t b) {
    const gram_pool *p = ctx;
    int sign = 0;
    for (uint64_t j = 0; j < p->length && sign == 0; j++)
        sign = compare_tokens(p->numbers, p->strings, p->first + a * p->length + j, p->numbers,
                              p->strings, p->first + b * p->length + j);
    return sign < 0;
}

/* How the gram at token `at` of the text is ordered against gram g of the pool. */
static int compare_gram(const gram_pool *p, const gram_text *t, uint64_t at, uint64_t g) {
    int sign = 0;
    for (uint64_t j = 0; j < p->length && sign == 0; j++)
        sign = compare_tokens(t->numbers, t->strings, at + j * t->step, p->numbers, p->strings,
                              p->first + g * p->length + j);
    return sign;
}

/* The number of the gram that stands at token `at`; UINT64_MAX when it is not known. */
static uint64_t find_gram(const gram_pool *p, const gram_text *t, uint64_t at) {
    uint64_t lo = 0, hi = p->n_grams;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        int sign = compare_gram(p, t, at, p->order[mid]);
        if (sign == 0)
            return p->n_before + p->order[mid];
        if (sign < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return UINT64_MAX;
}

typedef struct tfidf_job {
    gram_pool pool;
    uint64_t n_pool;
    uint32_t n_counts, n_indexes;
    const int64_t *counts,
        *indexes; /* where grams of each length begin; the output column of each gram */
    int64_t min_length, max_length, max_skips;
    const int64_t *numbers;
    const hn_bytes *strings;
    uint64_t n_rows, n_tokens, n_columns;
    float *hits; /* [rows, columns] */
} tfidf_job;

static hone_status tfidf_read_text(hn_eval *c, tfidf_job *j) {
    const hn_array *x = hn_arg(c, 0);
    j->n_rows = x->rank == 2 ? (uint64_t)x->dims[0] : 1;
    j->n_tokens = x->rank == 0 ? 1 : (uint64_t)x->dims[x->rank - 1];
    if (x->dtype == HN_STRING) {
        j->strings = x->data;
        return HONE_OK;
    }
    int64_t *numbers = hn_eval_scratch(c, x->n_elems * sizeof *numbers);
    HN_TRY_PTR(numbers);
    hn_load_i64(x, 0, x->n_elems, numbers);
    j->numbers = numbers;
    return HONE_OK;
}

static hone_status tfidf_open(hn_eval *c, tfidf_job *j) {
    const hn_infer *node = hn_eval_node(c);
    const hn_attr *strings = hn_attr_raw(node, "pool_strings"),
                  *numbers = hn_attr_raw(node, "pool_int64s");
    *j = (tfidf_job){.min_length = hn_attr_i(node, "min_gram_length", 1),
                     .max_length = hn_attr_i(node, "max_gram_length", 1)};
    j->max_skips = hn_attr_i(node, "max_skip_count", 0);
    HN_TRY(tfidf_read_text(c, j));
    const hn_attr *pool = j->strings ? strings : numbers;
    if (!pool)
        return hn_eval_fail(c, HONE_E_INVALID, "the pool holds no tokens of the input's type");
    j->n_pool = pool->n;
    if (j->strings)
        j->pool.strings = pool->v.strings;
    else
        j->pool.numbers = pool->v.ints;
    hn_attr_ints(node, "ngram_counts", &j->n_counts, &j->counts);
    hn_attr_ints(node, "ngram_indexes", &j->n_indexes, &j->indexes);
    if (j->min_length < 1 || j->max_length < j->min_length || j->max_skips < 0)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "min_gram_length, max_gram_length or max_skip_count is out of range");
    for (uint32_t i = 0; i < j->n_indexes; i++)
        j->n_columns = HN_MAX(j->n_columns, (uint64_t)j->indexes[i] + 1);
    return HONE_OK;
}

/* The grams of `length` tokens, sorted. */
static hone_status tfidf_take_length(hn_eval *c, tfidf_job *j, uint64_t length) {
    gram_pool *p = &j->pool;
    int64_t begin = j->counts[length - 1],
            end = length < j->n_counts ? j->counts[length] : (int64_t)j->n_pool;
    bool is_valid = begin >= 0 && end >= begin && (uint64_t)end <= j->n_pool &&
                    (uint64_t)(end - begin) % length == 0;
    if (!is_valid)
        return hn_eval_fail(c, HONE_E_INVALID, "ngram_counts[%llu] does not fit the pool",
                            (unsigned long long)(length - 1));
    p->first = (uint64_t)begin;
    p->length = length;
    p->n_grams = (uint64_t)(end - begin) / length;
    if (p->n_before + p->n_grams > j->n_indexes)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "ngram_indexes has %u entries, but the pool has more n-grams",
                            j->n_indexes);
    p->order = hn_eval_scratch(c, p->n_grams * sizeof *p->order);
    uint64_t *room = hn_eval_scratch(c, p->n_grams * sizeof *room);
    if (!p->order || !room)
        return HONE_E_NOMEM;
    for (uint64_t i = 0; i < p->n_grams; i++)
        p->order[i] = i;
    hn_sort_items(p->n_grams, p->order, room, gram_less, p);
    return HONE_OK;
}

/* Counts grams whose tokens lie `step` apart in every row. */
static void tfidf_count(tfidf_job *j, uint64_t step) {
    uint64_t span = (j->pool.length - 1) * step + 1;
    gram_text t = {j->numbers, j->strings, step};
    for (uint64_t row = 0; row < j->n_rows; row++)
        for (uint64_t at = 0; at + span <= j->n_tokens && !hn_spent(32); at++) {
            uint64_t gram = find_gram(&j->pool, &t, row * j->n_tokens + at);
            if (gram != UINT64_MAX)
                j->hits[row * j->n_columns + (uint64_t)j->indexes[gram]]++;
        }
}

/* TF: counts; IDF: the weight of what occurs; TFIDF: counts times weights. */
static hone_status tfidf_weigh(hn_eval *c, tfidf_job *j) {
    const hn_infer *node = hn_eval_node(c);
    const hn_attr *weights = hn_attr_raw(node, "weights");
    bool is_idf = hn_attr_is(node, "mode", "IDF");
    if (hn_attr_is(node, "mode", "TF"))
        return HONE_OK;
    if (weights && weights->n != j->n_indexes)
        return hn_eval_fail(c, HONE_E_INVALID, "weights has %u entries, but ngram_indexes has %u",
                            weights->n, j->n_indexes);
    float *by_column = hn_eval_scratch(c, j->n_columns * sizeof *by_column);
    HN_TRY_PTR(by_column);
    for (uint64_t k = 0; k < j->n_columns; k++)
        by_column[k] = 1;
    for (uint32_t i = 0; weights && i < weights->n; i++)
        by_column[j->indexes[i]] = weights->v.floats[i];
    for (uint64_t i = 0; i < j->n_rows * j->n_columns; i++)
        j->hits[i] = (is_idf ? (float)(j->hits[i] > 0) : j->hits[i]) * by_column[i % j->n_columns];
    return HONE_OK;
}

static hone_status eval_tfidf_vectorizer(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    tfidf_job j;
    if (!y)
        return HONE_OK;
    HN_TRY(tfidf_open(c, &j));
    j.hits = y->data;
    HN_TRY(hn_copy_fill(c, y, 0, y->n_elems, NULL));
    for (uint64_t length = 1; length <= j.n_counts && length <= (uint64_t)j.max_length; length++) {
        HN_TRY(tfidf_take_length(c, &j, length));
        /* Single tokens skip nothing. */
        int64_t n_steps = length > 1 ? HN_MIN(j.max_skips, (int64_t)j.n_tokens) : 0;
        for (int64_t skip = 0; length >= (uint64_t)j.min_length && skip <= n_steps; skip++)
            tfidf_count(&j, (uint64_t)skip + 1);
        j.pool.n_before += j.pool.n_grams;
    }
    return tfidf_weigh(c, &j);
}
const hn_impl hn_impl_tfidf_vectorizer[1] = {{.eval = eval_tfidf_vectorizer}};
