/* Thousands of input shapes for a transformer and a U-net: memory stops growing after the first
 * hundred. */
#include "run_model.h"

#include "counting_allocator.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* runs are ten times as slow */
enum { RUNS = 300, WARM_UP = 100 };
#else
enum { RUNS = 2000, WARM_UP = 100 };
#endif

/* ---- the text of a model --------------------------------------------------------------------- */

typedef struct text_out {
    char *at;
    size_t n, cap;
} text_out;

static void put(text_out *t, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->at + t->n, t->cap - t->n, fmt, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < t->cap - t->n);
    t->n += (size_t)n;
}

/* An initializer of small numbers; `dims` as written in the type. */
static void put_weights(text_out *t, const char *name, const char *dims, int n_elems) {
    put(t, "float[%s] %s = {", dims, name);
    for (int i = 0; i < n_elems; i++)
        put(t, "%s%g", i ? "," : "", (i * 37 % 19 - 9) / 40.0);
    put(t, "}, ");
}

static void put_layer_weights(text_out *t, int layer) {
    static const char *const square[] = {"wq", "wk", "wv", "wo"};
    char name[32];
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%d", square[i], layer);
        put_weights(t, name, "16,16", 256);
    }
    snprintf(name, sizeof name, "wide%d", layer);
    put_weights(t, name, "16,32", 512);
    snprintf(name, sizeof name, "narrow%d", layer);
    put_weights(t, name, "32,16", 512);
}

static void put_heads(text_out *t, int layer, char which, const char *perm) {
    put(t, "%c%d_ = MatMul (n%d, w%c%d) %c%d4 = Reshape (%c%d_, heads) ", which, layer, layer,
        which, layer, which, layer, which, layer);
    put(t, "%c%d = Transpose <perm = [%s]> (%c%d4)\n", which, layer, perm, which, layer);
}

static void put_layer(text_out *t, int l) {
    put(t, "n%d = LayerNormalization (x%d, gain)\n", l, l);
    put_heads(t, l, 'q', "0, 2, 1, 3");
    put_heads(t, l, 'k', "0, 2, 3, 1");
    put_heads(t, l, 'v', "0, 2, 1, 3");
    put(t, "s%d = MatMul (q%d, k%d) m%d = Add (s%d, hidden) p%d = Softmax (m%d)\n", l, l, l, l, l,
        l, l);
    put(t, "c%d4 = MatMul (p%d, v%d) c%dt = Transpose <perm = [0, 2, 1, 3]> (c%d4)\n", l, l, l, l,
        l);
    put(t, "c%d = Reshape (c%dt, joined) o%d = MatMul (c%d, wo%d) r%d = Add (x%d, o%d)\n", l, l, l,
        l, l, l, l, l);
    put(t, "f%d = LayerNormalization (r%d, gain) h%d = MatMul (f%d, wide%d) e%d = Erf (h%d)\n", l,
        l, l, l, l, l, l);
    put(t, "g%d = Mul (h%d, e%d) d%d = MatMul (g%d, narrow%d) x%d = Add (r%d, d%d)\n", l, l, l, l,
        l, l, l + 1, l, l);
}

static void write_transformer(text_out *t) {
    put(t, RUN_HEAD "g (int64[b,s] ids, int64[b,s] mask) => (float[b,s,16] x2) <\n");
    put_weights(t, "words", "50,16", 800);
    put_weights(t, "places", "64,16", 1024);
    put_weights(t, "gain", "16", 16);
    put_layer_weights(t, 0);
    put_layer_weights(t, 1);
    put(t,
        "int64 zero = {0}, int64 one = {1}, int64[2] middle = {1, 2}, float onef = {1}, float far "
        "= {-10000}, int64[4] heads = {0, 0, 2, 8}, int64[3] joined = {0, 0, 16}> {\n"
        "shape = Shape (ids) length = Gather (shape, one) range = Range (zero, length, one)\n"
        "word = Gather (words, ids) place = Gather (places, range) x0 = Add (word, place)\n"
        "seen = Cast <to = 1> (mask) seen4 = Unsqueeze (seen, middle) unseen = Sub (onef, seen4) "
        "hidden = Mul (unseen, far)\n");
    put_layer(t, 0);
    put_layer(t, 1);
    put(t, "}");
}

static void write_unet(text_out *t) {
    put(t, RUN_HEAD "g (float[b,3,h,w] x) => (float[b,1,h,w] y) <\n");
    put_weights(t, "w1", "4,3,3,3", 108);
    put_weights(t, "w2", "8,4,3,3", 288);
    put_weights(t, "w3", "8,8,3,3", 576);
    put_weights(t, "w4", "4,16,3,3", 576);
    put_weights(t, "w5", "4,4,2,2", 64);
    put_weights(t, "w6", "1,8,3,3", 72);
    put(t,
        "float[4] twice = {1, 1, 2, 2}> {\n"
        "a1 = Conv <pads = [1, 1, 1, 1]> (x, w1) c1 = Relu (a1)\n"
        "p1 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c1)\n"
        "a2 = Conv <pads = [1, 1, 1, 1]> (p1, w2) c2 = Relu (a2)\n"
        "p2 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c2)\n"
        "a3 = Conv <pads = [1, 1, 1, 1]> (p2, w3) c3 = Relu (a3) u2 = Resize (c3, , twice)\n"
        "j2 = Concat <axis = 1> (u2, c2) a4 = Conv <pads = [1, 1, 1, 1]> (j2, w4) c4 = Relu (a4)\n"
        "u1 = ConvTranspose <strides = [2, 2]> (c4, w5) j1 = Concat <axis = 1> (u1, c1)\n"
        "y = Conv <pads = [1, 1, 1, 1]> (j1, w6) }");
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* In kB; 0 where the system does not provide it, or a sanitizer keeps freed memory. */
static size_t resident_kb(void) {
    unsigned long long pages = 0;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*s %llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
#endif
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

static int64_t random_below(uint32_t *seed, int64_t n) {
    *seed = *seed * 1664525 + 1013904223;
    return (int64_t)(*seed >> 8) % n;
}

static void run_transformer(const runner *r, int64_t batch, int64_t length) {
    const char *names[] = {"ids", "mask"};
    hone_value *ids = tensor_of(ELEM_INT64, NULL, DIMS(batch, length)), *x = NULL;
    for (uint64_t i = 0; i < (uint64_t)(batch * length); i++)
        hone_value_set_i64(ids, i, 1, &(int64_t){(int64_t)i % 50});
    const hone_value *in[] = {ids, ids};
    expect_ok(hone_session_run(r->session, NULL, 2, names, in, 0, NULL, &x, &error));
    expect_dims(x, DIMS(batch, length, 16));
    hone_value_free(ids);
    hone_value_free(x);
}

static void run_unet(const runner *r, int64_t batch, int64_t side) {
    int64_t size = 4 * ((side + 3) / 4);
    hone_value *x = counting_floats(DIMS(batch, 3, size, 32)), *y = result_of(r, "x", x, "y");
    expect_dims(y, DIMS(batch, 1, size, 32));
    hone_value_free(x);
    hone_value_free(y);
}

typedef void (*run_fn)(const runner *r, int64_t batch, int64_t length);

/* The largest shape comes first: nothing after it needs more. */
static void expect_flat(void (*write)(text_out *t), run_fn run) {
    text_out text = {.cap = 1 << 18};
    counting_allocator memory;
    hone_load_options load;
    hone_session_options options;
    size_t most_bytes = 0, most_kb = 0;
    uint32_t seed = 1;
    text.at = malloc(text.cap);
    write(&text);
    counting_init(&memory, 0);
    hone_load_options_init(&load);
    load.allocator = &memory.hook;
    hone_session_options_init(&options);
    options.n_threads = 2;
    runner r = runner_with(text.at, &load, &options);
    run(&r, 3, 64);
    for (int i = 1; i < RUNS; i++) {
        int64_t batch = 1 + random_below(&seed, 3);
        run(&r, batch, 1 + random_below(&seed, 64));
        size_t kb = resident_kb();
        if (i < WARM_UP) {
            most_bytes = memory.n_bytes > most_bytes ? memory.n_bytes : most_bytes;
            most_kb = kb > most_kb ? kb : most_kb;
            continue;
        }
        assert_in_range(memory.n_bytes, 0,
                        most_bytes + most_bytes / 20); /* of 16 plans, never the same */
        assert_in_range(kb, 0, most_kb + most_kb / 20);
    }
    runner_free(&r);
    free(text.at);
    assert_true(counting_is_clean(&memory));
}

static void a_transformer_of_any_length_stays_flat(void **state) {
    (void)state;
    expect_flat(write_transformer, run_transformer);
}

static void a_unet_of_any_size_stays_flat(void **state) {
    (void)state;
    expect_flat(write_unet, run_unet);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transformer_of_any_length_stays_flat),
        cmocka_unit_test(a_unet_of_any_size_stays_flat),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
