/* The ONNX textual syntax: round trips, spellings, errors, hostile input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "counting_allocator.h"
#include "ir/ir.h"

/* ---- helpers --------------------------------------------------------------------------------- */

/* The bytes end where the block ends, so that a sanitizer sees any step beyond. */
static hone_status parse_exact(const char *text, size_t n, const hone_allocator *a, hn_model **out,
                               hone_error *err) {
    char *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, text, n);
    hn_error_clear(err);
    hone_status status = hn_model_parse(exact, n, a, out, err);
    free(exact);
    assert_true((status == HONE_OK) == (*out != NULL));
    return status;
}

static hn_model *parse_text(const char *text) {
    hn_model *m;
    hone_error err;
    if (parse_exact(text, strlen(text), NULL, &m, &err) != HONE_OK)
        fail_msg("%s", err.message);
    return m;
}

static hn_strbuf print_text(const hn_model *m, uint64_t max_elems) {
    hn_strbuf b;
    hn_strbuf_init(&b, NULL);
    hn_model_print(m, &(hn_print_options){max_elems}, &b);
    assert_false(b.failed);
    return b;
}

static void expect_print(const char *text, uint64_t max_elems, const char *printed) {
    hn_model *m = parse_text(text);
    hn_strbuf b = print_text(m, max_elems);
    assert_string_equal(b.at, printed);
    hn_strbuf_free(&b);
    hn_model_free(m);
}

/* The text is just what the printer makes of it. */
static void expect_same(const char *text) {
    expect_print(text, UINT64_MAX, text);
}

static void expect_error(const char *text, const char *message) {
    hn_model *m;
    hone_error err;
    assert_int_not_equal(parse_exact(text, strlen(text), NULL, &m, &err), HONE_OK);
    assert_string_equal(err.message, message);
}

/* One node in a small graph, to the printer and back. */
static void expect_node(const char *written, const char *printed) {
    char text[1024], expected[1024];
    snprintf(text, sizeof(text), "g () => () {\n   %s\n}\n", written);
    snprintf(expected, sizeof(expected), "g () => () {\n   %s\n}\n", printed);
    expect_print(text, UINT64_MAX, expected);
    expect_same(expected);
}

static void expect_node_error(const char *written, const char *message) {
    char text[1024];
    snprintf(text, sizeof(text), "g () => () {\n%s\n}\n", written);
    expect_error(text, message);
}

/* ---- texts that come back as they are -------------------------------------------------------- */

static const char whole_model[] =
    "<\n"
    "   ir_version: 8,\n"
    "   opset_import: [\"\" : 18, \"com.microsoft\" : 1],\n"
    "   producer_name: \"a \\\"quoted\\\" name\",\n"
    "   producer_version: \"1.0\",\n"
    "   domain: \"d\",\n"
    "   model_version: -3,\n"
    "   doc_string: \"two\nlines\",\n"
    "   metadata_props: [\"key\": \"value\", \"k2\": \"\"]\n"
    ">\n"
    "main (float[N,128] X, float[128,10] W, seq(float[]) s, map(int64, string[?]) m,"
    " optional(seq(int4[2])) o, sparse_tensor(float[3,4]) sp, opaque(a.b,c) q, \"float\")"
    " => (float[N,\"2*N + 1\"] C, y)\n"
    "<\n"
    "   float[128,10] W = {},\n"
    "   int64[0] none = {},\n"
    "   float[2] ext = [\"location\": \"w.bin\", \"offset\": \"0\", \"length\": \"8\"],\n"
    "   string[2] names = {\"\", \"a\nb\"},\n"
    "   float[N,10] T,\n"
    "   \"unknown type\"\n"
    "> {\n"
    "   #hone graph doc_string: \"a graph\", metadata_props: [\"a\": \"b\\nc\"]\n"
    "   #hone value X doc_string: \"an input\", denotation: \"IMAGE\", dim_denotations: "
    "[\"DATA_BATCH\", \"\"]\n"
    "   #hone initializer ext doc_string: \"far away\"\n"
    "   #hone sparse_initializer sparse_tensor(float[9]) {float[1] sw = {5}, int64[1] {3}}\n"
    "   #hone quantization X [\"SCALE_TENSOR\": \"x_scale\"]\n"
    "   [\"node/1\"] T = MatMul (X, W)\n"
    "   #hone node doc_string: \"first\", metadata_props: [\"pkg\": \"x\"]\n"
    "   C, \"\" = com.microsoft.Foo:ov <alpha: float = 1, list: ints = [1, -2]> (T, \"\", sw)\n"
    "   = NoOutput ()\n"
    "   [if] y = If (C) <then_branch: graph = t () => (float r) {\n"
    "      r = Identity (X)\n"
    "   }, else_branch: graph = _ () => (r)\n"
    "   <\n"
    "      float r = {0.1}\n"
    "   > {\n"
    "      #hone graph name: \"else/body\"\n"
    "   }>\n"
    "}\n"
    "\n"
    "<\n"
    "   domain: \"local\",\n"
    "   overload: \"ov\",\n"
    "   opset_import: [\"\" : 18],\n"
    "   doc_string: \"a function\"\n"
    ">\n"
    "foo <beta, alpha: float = 0.5> (x, y) => (z)\n"
    "<\n"
    "   float[N] y\n"
    "> {\n"
    "   #hone function metadata_props: [\"f\": \"g\"]\n"
    "   z = Op <a: float = @alpha, b = @beta> (x, y)\n"
    "}\n";

static void a_whole_model_comes_back(void **state) {
    (void)state;
    expect_same(whole_model);
}

static void attributes_of_every_kind_come_back(void **state) {
    (void)state;
    static const char *const nodes[] = {
        "y = A <f: float = -0.5, i: int = -9223372036854775808, s: string = \"a\\\\b\"> ()",
        "y = A <f: float = inf, g: float = -inf, h: float = nan, i: float = -nan> ()",
        "y = A <f: float = 0x7f800001> ()",
        "y = A <fs: floats = [1, 0.1, nan], is: ints = [1, 2], ss: strings = [\"a\", \"\"]> ()",
        "y = A <fs: floats = [], is: ints = [], ss: strings = [], ts: tensors = []> ()",
        "y = A <t: tensor = float[2] {1, 2}, n: tensor = int64 name = {7}> ()",
        "y = A <t: tensor = float[1] {1}> ()\n   #hone attr t tensor_name: \"a/b\", doc_string: "
        "\"d\"",
        "y = A <t: tensor = float[1] = [\"location\": \"f\"]> ()",
        "y = A <ts: tensors = [float[1] {1}, int8 x = {-1}], tp: type_proto = seq(float[N])> ()",
        "y = A <tps: type_protos = [float, int64[]], u: undefined> ()",
        "y = A <s: sparse_tensor = sparse_tensor(float[9]) {float[1] {5}, int64[1] {3}}> ()",
        "y = A <s: sparse_tensors = [sparse_tensor(bool[9]) {bool[1] {1}, int64[1] {3}}]> ()",
        "y = A () <g: graph = a () => () {\n   }, gs: graphs = [b () => () {\n   }, c () => () {\n "
        "  }]>",
        "y = A <i: int = 1, r: ints = @up, \"odd name\": int = 2> ()",
        "y = \"my-domain\".\"an op\":\"over load\" (x)",
        "y = a.b.c.Op (x)",
        "y =  (x)",
    };
    for (size_t i = 0; i < HN_COUNT(nodes); i++)
        expect_node(nodes[i], nodes[i]);
}

static void data_of_every_type_comes_back(void **state) {
    (void)state;
    static const char *const tensors[] = {
        "float[3] {0.1, -0, 3.4028235e+38}",
        "double[2] {0.1, 1.7976931348623157e+308}",
        "double[2] {nan, 0x7ff0000000000001}",
        "uint8[2] {0, 255}",
        "int8[2] {-128, 127}",
        "uint16[1] {65535}",
        "int16[1] {-32768}",
        "int32[2] {-2147483648, 2147483647}",
        "uint32[1] {4294967295}",
        "int64[2] {-9223372036854775808, 9223372036854775807}",
        "uint64[1] {18446744073709551615}",
        "bool[2] {0, 1}",
        "string[2] {\"a\", \"\"}",
        "float16[2] {15360, 65535}",
        "bfloat16[1] {16256}",
        "complex64[1] {1, -2}",
        "complex128[1] {0.5, inf}",
        "float8e4m3fn[1] {56}",
        "float8e4m3fnuz[1] {64}",
        "float8e5m2[1] {60}",
        "float8e5m2fnuz[1] {64}",
        "float8e8m0[1] {127}",
        "uint4[3] {33, 3}",
        "int4[3] {225, 15}",
        "float4e2m1[3] {33, 3}",
        "uint2[5] {228, 1}",
        "int2[1] {3}",
        "float[2,0,3] {}",
    };
    char node[256];
    for (size_t i = 0; i < HN_COUNT(tensors); i++) {
        snprintf(node, sizeof(node), "y = C <value: tensor = %s> ()", tensors[i]);
        expect_node(node, node);
    }
}

/* ---- texts that the printer writes otherwise ------------------------------------------------- */

static void other_spellings_are_read(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"y=A(x)<a=1,b=2.5,c=\"s\",d=[1,2],e=[1,2.5],f=inf,g=[\"s\"]>",
         "y = A <a: int = 1, b: float = 2.5, c: string = \"s\", d: ints = [1, 2], e: floats = [1, "
         "2.5], "
         "f: float = inf, g: strings = [\"s\"]> (x)"},
        {"y = A (x,)", "y = A (x)"},
        {"y = A (,x)", "y = A (\"\", x)"},
        {"y = A (,)", "y = A (\"\")"},
        {"y = A (\"\")", "y = A (\"\")"},
        {"y = # comment\n A # another\n ()", "y = A ()"},
        {"y = A <f: floats = [1, 2]> ()", "y = A <f: floats = [1, 2]> ()"},
        {"y = A <t = float[1] {1e0}, u = seq(float)> ()",
         "y = A <t: tensor = float[1] {1}, u: type_proto = seq(float)> ()"},
        {"y = A <t = float16[3] {1.0, 0x3c00, -Inf}> ()",
         "y = A <t: tensor = float16[3] {15360, 15360, 64512}> ()"},
        {"y = A <t = bfloat16[1] {1.0}, u = float8e4m3fn[1] {1.0}, v = float8e8m0[1] {2.0}> ()",
         "y = A <t: tensor = bfloat16[1] {16256}, u: tensor = float8e4m3fn[1] {56}, "
         "v: tensor = float8e8m0[1] {128}> ()"},
        {"y = A <t = int4[3] {1, -2, 3}, u = uint2[5] {0,1,2,3,1}, v = float4e2m1[3] {0.5, 1.0, "
         "1.5}> ()",
         "y = A <t: tensor = int4[3] {225, 3}, u: tensor = uint2[5] {228, 1}, "
         "v: tensor = float4e2m1[3] {33, 3}> ()"},
        {"y = A <f = 1e-400, g = 0.000000000000000000000000001e27, h: float = 1> ()",
         "y = A <f: float = 0, g: float = 1, h: float = 1> ()"},
    };
    for (size_t i = 0; i < HN_COUNT(pairs); i++)
        expect_node(pairs[i][0], pairs[i][1]);
    expect_print("\xEF\xBB\xBFg => () {}", UINT64_MAX, "g () => () {\n}\n");
    expect_print("g (float[2] x = {1, 2}) => (float[2] x) <> {}", UINT64_MAX,
                 "g (float[2] x) => (float[2] x)\n<\n   float[2] x = {1, 2}\n> {\n}\n");
}

static void large_tensors_are_cut(void **state) {
    (void)state;
    expect_print(
        "g () => () <float[2,3] w = {1,2,3,4,5,6}, int64[2] s = {1,2}> {"
        " y = C <value = int8[4] {1,2,3,4}, l = [1,2,3]> () }",
        3,
        "g () => ()\n<\n"
        "   float[2,3] w = {...},  # 6 elements omitted\n"
        "   int64[2] s = {1, 2}\n"
        "> {\n"
        "   y = C <value: tensor = int8[4] {...}, l: ints = [1, 2, 3]> ()  # 4 elements omitted\n"
        "}\n");
}

/* ---- what the graph looks like --------------------------------------------------------------- */

static hn_id find_value(const hn_model *m, hn_id block, const char *name) {
    return hn_graph_find(m->graph, block, hn_intern_find(m->names, name, strlen(name)));
}

static void names_find_their_values(void **state) {
    (void)state;
    hn_model *m = parse_text(
        "g (x) => (z) { z = Later (w, nowhere) w = If (x)"
        " <then_branch = t () => (v) <float[2] late> { v = Inner (late) }> late = Op (x) }");
    const hn_graph *g = m->graph;
    const hn_node *later = hn_node_at(g, hn_block_at(g, 0)->nodes.at[0]);
    assert_int_equal(later->inputs[0], find_value(m, 0, "w"));
    const hn_value *nowhere = hn_value_at(g, later->inputs[1]);
    assert_int_equal(nowhere->producer, HN_NONE);
    assert_false(nowhere->is_input);
    const hn_node *if_node = hn_node_at(g, hn_block_at(g, 0)->nodes.at[1]);
    assert_int_equal(hn_block_at(g, 1)->owner, hn_block_at(g, 0)->nodes.at[1]);
    assert_int_equal(if_node->attrs[0].v.block, 1);
    /* The inner node reads the outer value, although the inner graph declares a type of that name.
     */
    const hn_node *inner = hn_node_at(g, hn_block_at(g, 1)->nodes.at[0]);
    hn_id late = find_value(m, 0, "late");
    assert_int_equal(inner->inputs[0], late);
    assert_int_equal(hn_value_at(g, late)->uses.n, 1);
    assert_int_equal(hn_value_at(g, find_value(m, 0, "x"))->uses.n, 2);
    hn_model_free(m);
}

static void a_name_that_is_defined_twice_makes_two_values(void **state) {
    (void)state;
    hn_model *m = parse_text("g (x, x) => (y) <float y = {1}, float y = {2}> { y = A (x) }");
    const hn_block *b = hn_block_at(m->graph, 0);
    assert_int_equal(b->inputs.n, 2);
    assert_int_not_equal(b->inputs.at[0], b->inputs.at[1]);
    assert_int_equal(b->inits.n, 2);
    assert_int_not_equal(b->inits.at[0], b->inits.at[1]);
    hn_model_free(m);
}

/* ---- malformed text -------------------------------------------------------------------------- */

static void errors_say_what_and_where(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "line 1, column 1: expected the name of the graph, found the end of the text"},
        {"<ir_version 8>",
         "line 1, column 13: expected ':' after the field 'ir_version', found '8'"},
        {"<speed: 8>", "line 1, column 2: 'speed' is not a field of a model"},
        {"<ir_version: 99999999999999999999>", "line 1, column 14: 99999999999999999999 is out of "
                                               "range: expected -9223372036854775808 to "
                                               "9223372036854775807"},
        {"<opset_import: [\"\" : 1.5]>", "line 1, column 22: expected an integer, found 1.5"},
        {"<domain: \"abc", "line 1, column 10: the string that begins here has no closing quote"},
        {"<domain: \"abc\\", "line 1, column 10: the string that begins here has no closing quote"},
        {"g () = > () {}",
         "line 1, column 6: expected '=>' after the inputs of the graph, found '='"},
        {"g () => () {",
         "line 1, column 13: expected a node or '}' after the nodes, found the end of the text"},
        {"g (float[N x) => () {}",
         "line 1, column 12: expected ']' after the dimensions of a type, found 'x'"},
        {"g (float[1.5] x) => () {}", "line 1, column 10: expected an integer, found 1.5"},
        {"g (seq[] x) => () {}", "line 1, column 7: expected '(' after 'seq', found '['"},
        {"g (seq(blah) x) => () {}", "line 1, column 8: 'blah' is not a type"},
        {"g () => () <x = {1}> {}",
         "line 1, column 16: the initializer 'x' needs a type before its name"},
        {"g () => () <float[] x = {1}> {}",
         "line 1, column 24: the tensor 'x' needs a tensor type with a shape"},
        {"g () => () <float[N] x = {1}> {}",
         "line 1, column 25: dimension 0 of the tensor 'x' is not a number"},
        {"g () => () <float[2] x = {1}> {}",
         "line 1, column 29: expected 2 numbers or strings for the tensor 'x', found fewer"},
        {"g () => () <float[1] x = {1, 2}> {}",
         "line 1, column 29: expected 1 numbers or strings for the tensor 'x', found more"},
        {"g () => () <float[9223372036854775807,3] x = {}> {}",
         "line 1, column 45: the tensor 'x' is too large"},
        {"g () => () <float[9999999999] x = {1}> {}",
         "line 1, column 36: expected 9999999999 numbers or strings for the tensor 'x', found "
         "fewer"},
        {"g () => () <int8[1] x = {128}> {}",
         "line 1, column 26: 128 is out of range: expected -128 to 127"},
        {"g () => () <uint8[1] x = {-1}> {}",
         "line 1, column 27: -1 is out of range: expected 0 to 255"},
        {"g () => () <float[1] x = {1e99}> {}", "line 1, column 27: 1e99 is too large for float"},
        {"g () => () <float[1] x = {1e}> {}",
         "line 1, column 27: the exponent of this number has no digits"},
        {"g () => () <float[1] x = [\"offset\": \"0\"]> {}",
         "line 1, column 41: the external data of tensor 'x' has no \"location\""},
        {"g () => () <float[1] x = [\"location\": \"f\", \"offset\": \"-1\"]> {}",
         "line 1, column 59: the offset of external data is \"-1\", which is not a number"},
        {"g () => () {} <domain: \"d\">",
         "line 1, column 28: expected the name of a function, found the end of the text"},
        {"g () => () {}\n\xFF",
         "line 2, column 1: expected the name of a function, found byte 0xFF"},
        {"g () => () {\n   #hone value x speed: 1\n}",
         "line 2, column 18: expected a field of the note and ':', found 'speed'"},
        {"g () => () {\n   #hone value x doc_string: \"a\" b\n}",
         "line 2, column 34: expected the end of the line, found 'b'"},
        {"g () => () {\n   #hone value x doc_string: \"a\"\n}",
         "a note names the value 'x', which the text does not have"},
        {"g () => () {\n   #hone graph name: \"a\n\"}",
         "line 2, column 22: the string that begins here has no closing quote"},
    };
    for (size_t i = 0; i < HN_COUNT(cases); i++)
        expect_error(cases[i][0], cases[i][1]);
}

static void node_errors_say_what_and_where(void **state) {
    (void)state;
    expect_node_error("y = Relu(x}",
                      "line 2, column 11: expected ')' after the inputs of node 'Relu', found '}'");
    expect_node_error(
        "\xC3\xA4 = Relu(x)",
        "line 2, column 1: expected '=' after the outputs of a node, found byte 0xC3");
    expect_node_error("y = A <a> (x)",
                      "line 2, column 9: expected '=' after attribute 'a', found '>'");
    expect_node_error("y = A <a: blah = 1> (x)",
                      "line 2, column 11: expected the kind of attribute 'a' (int, floats, tensor, "
                      "...), found 'blah'");
    expect_node_error(
        "y = A <a: int = 1.5> (x)",
        "line 2, column 17: attribute 'a' needs a value of kind int, found one of kind float");
    expect_node_error(
        "y = A <a = [1, \"s\"]> (x)",
        "line 2, column 16: attribute 'a' needs a value of kind int, found one of kind string");
    expect_node_error("y = A <a: int = [1]> (x)",
                      "line 2, column 17: attribute 'a' is one int, not a list");
    expect_node_error(
        "y = A <a = []> (x)",
        "line 2, column 12: the empty list of attribute 'a' needs a kind, as in 'a: ints = []'");
    expect_node_error("y = A <a = int4[3] {1, 8, 1}> (x)",
                      "line 2, column 29: element 1 of tensor '' is 8, out of range for int4");
}

static void errors_carry_the_offset(void **state) {
    (void)state;
    hn_model *m;
    hone_error err;
    assert_int_equal(parse_exact("g ()\n!", 6, NULL, &m, &err), HONE_E_FORMAT);
    assert_int_equal(err.offset, 5);
    assert_int_equal(hn_model_parse("!", 1, NULL, &m, NULL), HONE_E_FORMAT);
    assert_int_equal(hn_model_parse(NULL, 0, NULL, &m, NULL), HONE_E_FORMAT);
}

static char *repeated(const char *before, const char *unit, size_t n) {
    char *text = malloc(strlen(before) + n * strlen(unit) + 1);
    assert_non_null(text);
    strcpy(text, before);
    char *end = text + strlen(before);
    for (size_t i = 0; i < n; i++, end += strlen(unit))
        strcpy(end, unit);
    return text;
}

static void nesting_is_limited(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"g (", "seq("},
        {"g () => () {", "y = A () <g = i () => () {"},
        {"g () => () { y = A <a = ", "optional("},
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++) {
        char *text = repeated(texts[i][0], texts[i][1], 100000);
        hn_model *m;
        hone_error err;
        assert_int_equal(parse_exact(text, strlen(text), NULL, &m, &err), HONE_E_LIMIT);
        assert_non_null(strstr(err.message, "nested deeper than 64 levels"));
        free(text);
    }
}

static void strings_may_hold_any_byte(void **state) {
    (void)state;
    static const char text[] = "g () => () { y = A <s = \"a\0b\xFF\"> () }";
    hn_model *m;
    hone_error err;
    assert_int_equal(parse_exact(text, sizeof(text) - 1, NULL, &m, &err), HONE_OK);
    hn_bytes s = hn_node_at(m->graph, 0)->attrs[0].v.s;
    assert_int_equal(s.n, 4);
    assert_memory_equal(s.at, "a\0b\xFF", 4);
    hn_model_free(m);
}

static void try_parse(const char *text, size_t n) {
    hn_model *m;
    hone_error err;
    if (parse_exact(text, n, NULL, &m, &err) == HONE_OK) {
        hn_strbuf b = print_text(m, UINT64_MAX);
        hn_strbuf_free(&b);
        hn_model_free(m);
    }
}

static void any_beginning_is_safe(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof(whole_model); n++)
        try_parse(whole_model, n);
}

static void any_changed_byte_is_safe(void **state) {
    (void)state;
    static const char changes[] = {'\0', '"', '\\', '<', '[', '{', ')',
                                   '=',  ',', '#',  '9', 'x', '\n'};
    char text[sizeof(whole_model)];
    for (size_t i = 0; i + 1 < sizeof(whole_model); i++) {
        memcpy(text, whole_model, sizeof(text));
        text[i] = changes[i % sizeof(changes)];
        try_parse(text, sizeof(text) - 1);
        text[i] = (char)(text[i] ^ 0x80);
        try_parse(text, sizeof(text) - 1);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Large enough that every growing table of the parser grows. */
static hn_strbuf long_text(void) {
    hn_strbuf b;
    hn_strbuf_init(&b, NULL);
    hn_strbuf_puts(&b, whole_model);
    hn_strbuf_puts(&b, "<domain: \"d\"> long (x0) => (y) {\n");
    for (int i = 0; i < 3000; i++)
        hn_strbuf_printf(&b, "x%d = Op <a = [%d, 2], t = float[2] {1, 2}> (x%d)\n", i + 1, i, i);
    hn_strbuf_puts(&b, "}\n");
    assert_false(b.failed);
    return b;
}

static void a_failed_allocation_leaks_nothing(void **state) {
    (void)state;
    hn_strbuf text = long_text();
    hone_status status = HONE_E_NOMEM;
    for (size_t fail_at = 1; status != HONE_OK; fail_at++) {
        counting_allocator c;
        counting_init(&c, fail_at);
        hn_model *m;
        hone_error err;
        status = parse_exact(text.at, text.n, &c.hook, &m, &err);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        assert_true(status == HONE_OK || err.code == HONE_E_NOMEM);
        hn_model_free(m);
        assert_true(counting_is_clean(&c));
    }
    hn_strbuf_free(&text);
}

static void a_failed_print_is_marked(void **state) {
    (void)state;
    hn_model *m = parse_text(whole_model);
    bool failed = true;
    for (size_t fail_at = 1; failed; fail_at++) {
        counting_allocator c;
        counting_init(&c, fail_at);
        hn_strbuf b;
        hn_strbuf_init(&b, &c.hook);
        hn_model_print(m, &(hn_print_options){UINT64_MAX}, &b);
        failed = b.failed;
        assert_true(failed || strcmp(b.at, whole_model) == 0);
        hn_strbuf_free(&b);
        assert_true(counting_is_clean(&c));
    }
    hn_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_model_comes_back),
        cmocka_unit_test(attributes_of_every_kind_come_back),
        cmocka_unit_test(data_of_every_type_comes_back),
        cmocka_unit_test(other_spellings_are_read),
        cmocka_unit_test(large_tensors_are_cut),
        cmocka_unit_test(names_find_their_values),
        cmocka_unit_test(a_name_that_is_defined_twice_makes_two_values),
        cmocka_unit_test(errors_say_what_and_where),
        cmocka_unit_test(node_errors_say_what_and_where),
        cmocka_unit_test(errors_carry_the_offset),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(strings_may_hold_any_byte),
        cmocka_unit_test(any_beginning_is_safe),
        cmocka_unit_test(any_changed_byte_is_safe),
        cmocka_unit_test(a_failed_allocation_leaks_nothing),
        cmocka_unit_test(a_failed_print_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
