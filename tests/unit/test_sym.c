/* Symbolic dimensions: canonical forms, arithmetic, parsing, substitution. */
#include "syms_fixture.h"

static hn_dim sym(fixture *f, const char *name) {
    return hn_dim_symbol(f->syms, hn_intern_z(f->names, name));
}

static hn_dim parse(fixture *f, const char *text) {
    return hn_dim_parse(f->syms, hn_intern_z(f->names, text));
}

static const char *text_of(fixture *f, hn_dim d) {
    f->text.n = 0;
    hn_dim_text(f->syms, d, &f->text);
    assert_false(f->text.failed);
    return f->text.at;
}

/* The dimension prints so, and the text reads back as the same dimension. */
static void expect_text(fixture *f, hn_dim d, const char *text) {
    assert_string_equal(text_of(f, d), text);
    assert_true(parse(f, text) == d);
}

static void test_known_and_unknown(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim h = sym(f, "h");
    assert_true(hn_dim_add(s, 2, 3) == 5);
    assert_true(hn_dim_sub(s, 2, 3) == HN_DIM_UNKNOWN);
    assert_true(hn_dim_mul(s, INT64_MAX, 2) == HN_DIM_UNKNOWN);
    assert_true(hn_dim_floor_div(s, 7, 2) == 3 && hn_dim_ceil_div(s, 7, 2) == 4);
    assert_true(hn_dim_floor_div(s, 7, 0) == HN_DIM_UNKNOWN &&
                hn_dim_ceil_div(s, h, 0) == HN_DIM_UNKNOWN);
    assert_true(hn_dim_max(s, 7, 2) == 7 && hn_dim_min(s, 7, 2) == 2);
    assert_true(hn_dim_add(s, h, HN_DIM_UNKNOWN) == HN_DIM_UNKNOWN);
    assert_true(hn_dim_max(s, HN_DIM_UNKNOWN, h) == HN_DIM_UNKNOWN);
    assert_true(hn_dim_add(s, INT64_MIN, 1) == HN_DIM_UNKNOWN); /* no expression of this table */
    assert_true(hn_dim_symbol(s, NULL) == HN_DIM_UNKNOWN &&
                hn_dim_parse(s, NULL) == HN_DIM_UNKNOWN);
    assert_string_equal(text_of(f, 224), "224");
    assert_string_equal(text_of(f, HN_DIM_UNKNOWN), "?");
    assert_string_equal(text_of(f, INT64_MIN), "?");
    assert_false(hn_syms_failed(s));
}

static void test_sums_and_products(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim batch = sym(f, "batch"), seq = sym(f, "seq"), h = sym(f, "h");
    assert_true(sym(f, "h") == h);
    assert_true(hn_dim_add(s, h, seq) == hn_dim_add(s, seq, h));
    assert_true(hn_dim_sub(s, h, h) == 0);
    assert_true(hn_dim_mul_i(s, h, 0) == 0);
    assert_true(hn_dim_sub(s, hn_dim_add_i(s, h, 5), h) == 5);
    hn_dim sum = hn_dim_add(s, hn_dim_mul_i(s, h, 2), hn_dim_mul(s, seq, batch));
    expect_text(f, hn_dim_add_i(s, sum, -1), "batch*seq + 2*h - 1");
    expect_text(f, hn_dim_mul(s, h, h), "h**2");
    expect_text(f, hn_dim_mul(s, hn_dim_add_i(s, h, 1), hn_dim_add_i(s, h, -1)), "h**2 - 1");
    expect_text(f, hn_dim_sub(s, 3, h), "-h + 3");
    expect_text(f, hn_dim_add(s, hn_dim_add(s, seq, h), hn_dim_mul(s, h, seq)), "h*seq + h + seq");
    hn_str name;
    assert_true(hn_dim_is_symbol(s, h, &name) && hn_str_is(name, "h"));
    assert_false(hn_dim_is_symbol(s, sum, &name) || hn_dim_is_symbol(s, 3, &name));
    assert_false(hn_dim_is_symbol(s, hn_dim_mul_i(s, h, 2), &name));
}

static void test_division_by_numbers(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim h = sym(f, "h"), w = sym(f, "w");
    hn_dim two_h = hn_dim_mul_i(s, h, 2);
    assert_true(hn_dim_floor_div(s, two_h, 2) == h);
    assert_true(hn_dim_floor_div(s, hn_dim_add_i(s, hn_dim_mul_i(s, h, 4), 2), 2) ==
                hn_dim_add_i(s, two_h, 1));
    assert_true(hn_dim_floor_div(s, hn_dim_add_i(s, two_h, 1), 2) == h);
    assert_true(hn_dim_floor_div(s, h, 1) == h);
    expect_text(f, hn_dim_floor_div(s, h, 2), "floor(h/2)");
    expect_text(f, hn_dim_floor_div(s, hn_dim_mul(s, h, w), 2), "floor(h*w/2)");
    expect_text(f, hn_dim_floor_div(s, hn_dim_sub(s, h, w), 2), "floor((h - w)/2)");
    expect_text(f, hn_dim_floor_div(s, hn_dim_mul_i(s, h, 3), 2), "h + floor(h/2)");
    expect_text(f, hn_dim_floor_div(s, hn_dim_add_i(s, hn_dim_mul_i(s, h, 6), 3), 4),
                "h + floor((h + 1)/2)");
    /* Halves of halves, and the two spellings of a rounded-up quotient. */
    hn_dim quarter = hn_dim_floor_div(s, hn_dim_floor_div(s, h, 2), 2);
    assert_true(quarter == hn_dim_floor_div(s, h, 4));
    hn_dim up = hn_dim_ceil_div(s, h, 4);
    expect_text(f, up, "floor((h + 3)/4)");
    hn_sint minus_h = hn_sint_apply(s, HN_SINT_SUB, hn_sint_const(0), hn_sint_from_dim(h));
    hn_sint mod = hn_sint_apply(s, HN_SINT_MOD, minus_h, hn_sint_const(4));
    hn_sint padded = hn_sint_apply(s, HN_SINT_ADD, hn_sint_from_dim(h), mod);
    assert_true(hn_sint_to_dim(padded) == hn_dim_mul_i(s, up, 4));
}

static hn_dim conv_out(hn_syms *s, hn_dim in, int64_t kernel, int64_t pad, int64_t stride) {
    return hn_dim_add_i(s, hn_dim_floor_div(s, hn_dim_add_i(s, in, 2 * pad - kernel), stride), 1);
}

static void test_strided_layers(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim h = sym(f, "h");
    hn_dim half = conv_out(s, h, 3, 1, 2);
    expect_text(f, half, "floor((h + 1)/2)");
    assert_true(half == conv_out(s, h, 7, 3, 2) && half == hn_dim_ceil_div(s, h, 2));
    assert_true(conv_out(s, h, 3, 1, 1) == h);
    expect_text(f, conv_out(s, half, 3, 1, 2), "floor((h + 3)/4)");
    hn_dim deep = h;
    for (int i = 0; i < 5; i++)
        deep = conv_out(s, deep, 3, 1, 2);
    expect_text(f, deep, "floor((h + 31)/32)");
    assert_true(hn_dim_subst(s, deep, hn_intern_z(f->names, "h"), 224) == 7);
}

static void test_division_by_symbols(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim batch = sym(f, "batch"), seq = sym(f, "seq"), h = sym(f, "h");
    hn_dim tokens = hn_dim_mul(s, batch, seq);
    hn_dim total = hn_dim_mul_i(s, tokens, 768);
    assert_true(hn_dim_floor_div(s, total, tokens) == 768);
    assert_true(hn_dim_floor_div(s, total, 768) == tokens);
    assert_true(hn_dim_floor_div(s, total, hn_dim_mul_i(s, batch, 64)) == hn_dim_mul_i(s, seq, 12));
    hn_dim seq1 = hn_dim_add_i(s, seq, 1), tokens1 = hn_dim_mul(s, batch, seq1);
    assert_true(hn_dim_floor_div(s, hn_dim_mul_i(s, tokens1, 768), seq1) ==
                hn_dim_mul_i(s, batch, 768));
    assert_true(hn_dim_floor_div(s, hn_dim_mul_i(s, tokens1, 768), tokens1) == 768);
    assert_true(hn_dim_floor_div(s, tokens1, hn_dim_mul_i(s, seq1, 2)) ==
                hn_dim_floor_div(s, batch, 2));
    hn_dim half = hn_dim_floor_div(s, h, 2);
    assert_true(hn_dim_floor_div(s, hn_dim_mul(s, half, total), hn_dim_mul(s, half, seq)) ==
                hn_dim_mul_i(s, batch, 768));
    expect_text(f, hn_dim_floor_div(s, h, tokens), "floor(h/(batch*seq))");
    expect_text(f, hn_dim_floor_div(s, 7, hn_dim_mul_i(s, h, 2)), "floor(3/h)");
    expect_text(f, hn_dim_floor_div(s, h, seq1), "floor(h/(seq + 1))");
    assert_true(hn_dim_floor_div(s, 1, hn_dim_add_i(s, h, 2)) == 0);
    assert_true(hn_dim_subst(s, hn_dim_floor_div(s, h, seq), hn_intern_z(f->names, "seq"), 0) ==
                HN_DIM_UNKNOWN);
}

static void test_max_and_min(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim a = sym(f, "a"), b = sym(f, "b"), c = sym(f, "c");
    assert_true(hn_dim_max(s, a, a) == a && hn_dim_min(s, a, a) == a);
    assert_true(hn_dim_max(s, a, 0) == a && hn_dim_min(s, a, 0) == 0);
    assert_true(hn_dim_max(s, hn_dim_add_i(s, a, 2), 1) == hn_dim_add_i(s, a, 2));
    assert_true(hn_dim_max(s, a, hn_dim_add(s, a, b)) == hn_dim_add(s, a, b));
    assert_true(hn_dim_min(s, hn_dim_floor_div(s, a, 2), a) == hn_dim_floor_div(s, a, 2));
    expect_text(f, hn_dim_max(s, b, a), "max(a, b)");
    expect_text(f, hn_dim_max(s, 1, a), "max(a, 1)");
    expect_text(f, hn_dim_min(s, hn_dim_add_i(s, b, -1), hn_dim_mul_i(s, a, 2)), "min(2*a, b - 1)");
    hn_dim three = hn_dim_max(s, a, hn_dim_max(s, c, b));
    assert_true(three == hn_dim_max(s, hn_dim_max(s, a, b), c));
    expect_text(f, three, "max(a, b, c)");
    assert_true(hn_dim_max(s, three, hn_dim_add(s, hn_dim_add(s, a, b), c)) ==
                hn_dim_add(s, hn_dim_add(s, a, b), c));
    assert_true(hn_dim_subst(s, three, hn_intern_z(f->names, "b"), 0) == hn_dim_max(s, a, c));
}

static void test_at_least(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim h = sym(f, "h"), w = sym(f, "w");
    hn_dim half = hn_dim_floor_div(s, h, 2);
    assert_true(hn_dim_at_least(s, 3, 3) && !hn_dim_at_least(s, 3, 4));
    assert_false(hn_dim_at_least(s, HN_DIM_UNKNOWN, 0));
    assert_true(hn_dim_at_least(s, h, 0) && !hn_dim_at_least(s, h, 1));
    assert_true(hn_dim_at_least(s, hn_dim_add_i(s, hn_dim_mul(s, h, w), 2), 2));
    assert_false(hn_dim_at_least(s, hn_dim_sub(s, h, w), 0));
    assert_true(hn_dim_at_least(s, hn_dim_sub(s, h, half), 0));
    assert_true(
        hn_dim_at_least(s, hn_dim_add_i(s, hn_dim_sub(s, hn_dim_mul_i(s, half, 2), h), 1), 0));
    assert_false(hn_dim_at_least(s, hn_dim_sub(s, hn_dim_mul_i(s, half, 2), h), 0));
    assert_true(hn_dim_at_least(s, hn_dim_ceil_div(s, hn_dim_add_i(s, h, 1), 2), 1));
    assert_true(hn_dim_at_least(s, hn_dim_sub(s, h, hn_dim_min(s, h, 10)), 0));
    assert_true(hn_dim_at_least(s, hn_dim_sub(s, hn_dim_max(s, h, w), w), 0));
    assert_true(hn_dim_at_least(s, hn_dim_sub(s, hn_dim_add(s, h, w), hn_dim_max(s, h, w)), 0));
    assert_false(hn_dim_at_least(s, hn_dim_sub(s, h, hn_dim_max(s, h, w)), 0));
    assert_false(
        hn_dim_at_least(s, h, INT64_MIN)); /* cannot be negated: not proved, and no overflow */
}

static void test_parse_keeps_letters(void **state) {
    fixture *f = *state;
    static const char *const opaque[] = {
        "b + a",      "h+1",        "1*h",
        "2 * h",      "h + 0",      "h - h",
        "3",          "-5",         "?",
        "(h)",        "floor(h/1)", "floor(2*h/2)",
        "floor(h/0)", "max(b, a)",  "max(a)",
        "max(a, b",   "h**1",       "h**",
        "h*h",        "h + ",       " h",
        "h ",         "--h",        "h\n",
        "batch-size", "input/dim",  "99999999999999999999*h",
        "\"h\"",      "\"x",        "h**17",
        "floor(h)",   "floor(h/2",
    };
    hn_str name;
    for (size_t i = 0; i < HN_COUNT(opaque); i++) {
        hn_dim d = parse(f, opaque[i]);
        assert_true(hn_dim_is_symbol(f->syms, d, &name) && hn_str_is(name, opaque[i]));
        assert_string_equal(text_of(f, d), opaque[i]);
    }
    assert_true(hn_dim_parse(f->syms, hn_intern_z(f->names, "")) == HN_DIM_UNKNOWN);
    assert_true(parse(f, "past_len + 1") == hn_dim_add_i(f->syms, sym(f, "past_len"), 1));
    assert_true(parse(f, "/m/Concat.1:0_dim") == sym(f, "/m/Concat.1:0_dim"));
}

static void test_odd_names_cannot_pass_for_expressions(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    expect_text(f, hn_dim_mul_i(s, sym(f, "b + a"), 2), "2*\"b + a\"");
    expect_text(f, hn_dim_add_i(s, sym(f, "3"), 1), "\"3\" + 1");
    expect_text(f, hn_dim_floor_div(s, sym(f, "say \"x\""), 2), "floor(\"say \"\"x\"\"\"/2)");
    expect_text(f, hn_dim_add_i(s, sym(f, "\""), 1), "\"\"\"\" + 1");
    expect_text(f, hn_dim_add_i(s, sym(f, "max"), 1), "max + 1");
    expect_text(f, hn_dim_max(s, sym(f, "floor"), sym(f, "min")), "max(floor, min)");
}

static void test_limits_give_unknown(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim power = sym(f, "h"), sum = 0, nested = sym(f, "h"), coef = sym(f, "h");
    for (int i = 0; i < 70; i++) {
        power = hn_dim_mul(s, power, sym(f, "h"));
        sum = hn_dim_add(s, sum, hn_dim_symbol(s, hn_internf(f->names, "s%d", i)));
        nested = hn_dim_floor_div(s, hn_dim_add(s, hn_dim_mul_i(s, nested, 2), sym(f, "w")), 5);
        coef = hn_dim_mul_i(s, coef, 3);
    }
    assert_true(power == HN_DIM_UNKNOWN && sum == HN_DIM_UNKNOWN);
    assert_true(nested == HN_DIM_UNKNOWN && coef == HN_DIM_UNKNOWN);
    hn_strbuf deep;
    hn_strbuf_init(&deep, NULL);
    for (int i = 0; i < 300; i++)
        hn_strbuf_puts(&deep, "floor((");
    hn_dim d = parse(f, deep.at);
    assert_string_equal(text_of(f, d), deep.at);
    hn_strbuf_free(&deep);
    assert_false(hn_syms_failed(s));
}

static void test_substitution(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim h = sym(f, "h"), w = sym(f, "w");
    hn_str h_name = hn_intern_z(f->names, "h");
    hn_dim d = hn_dim_add(s, hn_dim_floor_div(s, hn_dim_add(s, h, w), 2), hn_dim_mul(s, h, w));
    assert_true(hn_dim_subst(s, d, h_name, h) == d);
    assert_true(hn_dim_subst(s, d, h_name, w) == hn_dim_add(s, w, hn_dim_mul(s, w, w)));
    assert_true(hn_dim_subst(s, d, h_name, 0) == hn_dim_floor_div(s, w, 2));
    assert_true(hn_dim_subst(s, d, h_name, HN_DIM_UNKNOWN) == HN_DIM_UNKNOWN);
    assert_true(hn_dim_subst(s, w, h_name, HN_DIM_UNKNOWN) == w);
    assert_true(hn_dim_subst(s, hn_dim_sub(s, h, w), h_name, 3) == hn_dim_sub(s, 3, w));
    assert_true(hn_dim_subst(s, hn_dim_add_i(s, h, -5), h_name, 3) == HN_DIM_UNKNOWN);
    assert_true(hn_dim_subst(s, 7, h_name, 3) == 7);
}

static void test_shape_integers(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    static const struct {
        hn_sint_op op;
        int64_t a, b, result;
    } numbers[] = {
        {HN_SINT_ADD, -2, 1, -1}, {HN_SINT_SUB, 2, 5, -3},   {HN_SINT_MUL, -2, 3, -6},
        {HN_SINT_DIV, 7, 2, 3},   {HN_SINT_DIV, -7, 2, -3},  {HN_SINT_DIV, 7, -2, -3},
        {HN_SINT_DIV, -7, -2, 3}, {HN_SINT_MOD, -7, 3, 2},   {HN_SINT_MOD, 7, -3, -2},
        {HN_SINT_MOD, 7, 3, 1},   {HN_SINT_MAX, -1, -4, -1}, {HN_SINT_MIN, -1, -4, -4},
    };
    for (size_t i = 0; i < HN_COUNT(numbers); i++) {
        hn_sint r = hn_sint_apply(s, numbers[i].op, hn_sint_const(numbers[i].a),
                                  hn_sint_const(numbers[i].b));
        assert_true(r.kind == HN_SINT_CONST && r.v == numbers[i].result);
    }
    hn_sint zero = hn_sint_const(0), lowest = hn_sint_const(INT64_MIN), minus1 = hn_sint_const(-1);
    assert_true(hn_sint_apply(s, HN_SINT_DIV, minus1, zero).kind == HN_SINT_UNKNOWN);
    assert_true(hn_sint_apply(s, HN_SINT_MOD, minus1, zero).kind == HN_SINT_UNKNOWN);
    assert_true(hn_sint_apply(s, HN_SINT_DIV, lowest, minus1).kind == HN_SINT_UNKNOWN);
    assert_true(hn_sint_to_dim(minus1) == HN_DIM_UNKNOWN);
    hn_sint h = hn_sint_from_dim(sym(f, "h")), two = hn_sint_const(2);
    assert_true(h.kind == HN_SINT_DIM && hn_sint_from_dim(3).kind == HN_SINT_CONST);
    assert_true(hn_sint_from_dim(HN_DIM_UNKNOWN).kind == HN_SINT_UNKNOWN);
    assert_true(hn_sint_apply(s, HN_SINT_MAX, h, minus1).v == h.v);
    hn_sint minus_h = hn_sint_apply(s, HN_SINT_MUL, h, minus1);
    expect_text(f, minus_h.v, "-h");
    expect_text(f, hn_sint_apply(s, HN_SINT_DIV, minus_h, two).v, "-floor(h/2)");
    expect_text(f, hn_sint_apply(s, HN_SINT_MOD, h, two).v, "h - 2*floor(h/2)");
    expect_text(f, hn_sint_apply(s, HN_SINT_SUB, h, hn_sint_const(5)).v, "h - 5");
}

/* A shape computation of a few layers; every operation must survive the failure of any allocation.
 */
static void compute_under_pressure(hn_arena *arena, size_t *n_unknown, bool *failed) {
    hn_strtab *names = hn_strtab_new(arena);
    hn_syms *s = names ? hn_syms_new(arena, names) : NULL;
    if (!s) {
        *failed = true;
        return;
    }
    hn_dim total = 1;
    for (int i = 0; i < 24; i++) {
        hn_str name = hn_internf(names, "symbol_%d", i);
        hn_str text = hn_internf(names, "floor((max(s%d, 2) + 1)/3) + 7", i);
        *failed = *failed || !name || !text;
        hn_dim sum = hn_dim_add(s, hn_dim_symbol(s, name), hn_dim_parse(s, text));
        hn_dim d = hn_dim_max(s, hn_dim_floor_div(s, sum, 2), hn_dim_ceil_div(s, sum, 3));
        total = hn_dim_add(s, hn_dim_subst(s, d, name, 12), 1);
        *n_unknown += total == HN_DIM_UNKNOWN;
    }
    *failed = *failed || hn_syms_failed(s);
}

/* Returns false once no request is left to fail. The padding moves the point inside the computation
 * at which the arena asks for its next chunk. */
static bool run_with_failure(size_t nth, size_t padding_bytes) {
    counting_allocator memory;
    counting_init(&memory, nth);
    hn_arena *arena = hn_arena_new(&memory.hook);
    size_t n_unknown = 0;
    bool failed = !arena || !hn_arena_alloc(arena, padding_bytes);
    if (!failed)
        compute_under_pressure(arena, &n_unknown, &failed);
    assert_true(failed || n_unknown == 0); /* nothing is lost without a word */
    hn_arena_free(arena);
    assert_true(counting_is_clean(&memory));
    assert_true(failed == (memory.n_requests >= nth));
    return failed;
}

#if defined(__SANITIZE_THREAD__) /* there is one thread, and arenas take long */
enum { PADDING_STEP = 9088 };
#else
enum { PADDING_STEP = 1136 };
#endif

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    for (size_t padding_bytes = 16; padding_bytes < 32768; padding_bytes += PADDING_STEP) {
        size_t nth = 1;
        while (run_with_failure(nth, padding_bytes))
            nth++;
        assert_true(nth > 4);
    }
}

/* A frozen table still answers what it knows, and computes with numbers. */
static void test_frozen(void **state) {
    fixture *f = *state;
    hn_syms *s = f->syms;
    hn_dim h = sym(f, "h"), next = hn_dim_add_i(s, h, 1);
    hn_syms_freeze(s);
    assert_true(hn_dim_add_i(s, h, 1) == next && hn_dim_add_i(s, next, -1) == h);
    assert_true(hn_dim_add_i(s, h, 2) == HN_DIM_UNKNOWN);
    assert_true(hn_dim_max(s, h, 7) == HN_DIM_UNKNOWN);
    assert_true(hn_dim_max(s, 123457, 7) == 123457 && hn_dim_min(s, 123457, 7) == 7);
    assert_true(hn_dim_floor_div(s, 123457, 7) == 17636 && hn_dim_mul(s, 123457, 3) == 370371);
    hn_sint below = hn_sint_apply(s, HN_SINT_MIN, hn_sint_const(-9), hn_sint_const(4));
    assert_true(below.kind == HN_SINT_CONST && below.v == -9);
    assert_false(hn_syms_failed(s));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_known_and_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sums_and_products, setup, teardown),
        cmocka_unit_test_setup_teardown(test_division_by_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strided_layers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_division_by_symbols, setup, teardown),
        cmocka_unit_test_setup_teardown(test_max_and_min, setup, teardown),
        cmocka_unit_test_setup_teardown(test_at_least, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parse_keeps_letters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_odd_names_cannot_pass_for_expressions, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_limits_give_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(test_substitution, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shape_integers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_frozen, setup, teardown),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
