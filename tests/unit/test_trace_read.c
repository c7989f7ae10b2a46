/* Reading traces: those of hone and onnxruntime, and text that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/profile.h"

/* The command's own way to make up a message, without the rest of it. */
#define EVENT(name, ts, dur, args)                                         \
  "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :7,\"dur\" :" dur ",\"ts\" :" ts \
  ",\"ph\" : \"X\",\"name\" :\"" name "_kernel_time\",\"args\" : {" args "}}"
#define SESSION(name, ts, dur)                                                \
  "{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :7,\"dur\" :" dur ",\"ts\" :" ts \
  ",\"ph\" : \"X\",\"name\" :\"" name "\",\"args\" : {}}"
#define CONV                                                                                      \
  "\"op_name\" : \"Conv\",\"provider\" : \"CPUExecutionProvider\",\"node_index\" : \"3\","        \
  "\"parameter_size\" : \"3584\",\"activation_size\" : \"602112\",\"output_size\" : \"1605632\"," \
  "\"input_type_shape\" : [{\"float\":[1,3,224,224]},{\"float\":[32,3,3,3]},{\"float\":[32]}],"   \
  "\"output_type_shape\" : [{\"float\":[1,32,112,112]}]"

static bool parse(const char *text, size_t n, profile *p, hone_error *error) {
    cli_buffer file = {0};
    *p = (profile){0};
    *error = (hone_error){0};
    cli_buffer_add(&file, text, n);
    return trace_parse(&file, "t.json", p, error);
}

static void expect_refused(const char *text, const char *message) {
    profile p;
    hone_error error;
    if (parse(text, strlen(text), &p, &error))
        fail_msg("accepted: %s", text);
    if (!strstr(error.message, message))
        fail_msg("'%s' does not say '%s'", error.message, message);
    profile_free(&p);
}

static const char onnxruntime_profile[] =
    "[\n" SESSION("model_loading_uri", "1", "10") ",\n" EVENT("c1", "100", "50", CONV) ",\n" EVENT("r", "150", "5", "\"op_name\" : \"Relu\",\"node_index\" : \"4\"") ",\n" SESSION(
        "model_run",
        "90", "80") ",\n" EVENT("c1", "200",
                                "30", CONV) ",\n" EVENT("r", "231", "3",
                                                        "\"op_name\" : \"Relu\",\"node_index\" : "
                                                        "\"4\"") ",\n" SESSION("model_run", "195",
                                                                               "40") ",\n" EVENT("c"
                                                                                                 "1",
                                                                                                 "3"
                                                                                                 "0"
                                                                                                 "0",
                                                                                                 "3"
                                                                                                 "2",
                                                                                                 CONV) ",\n" SESSION("model_run",
                                                                                                                     "299",
                                                                                                                     "36") "\n]\n";

static void profiles_of_onnxruntime_are_read(void **state) {
    (void)state;
    profile p;
    hone_error error;
    assert_true(parse(onnxruntime_profile, strlen(onnxruntime_profile), &p, &error));
    assert_int_equal(p.n_nodes, 2);
    assert_int_equal(p.n_events, 5);
    assert_int_equal(p.n_runs, 2); /* the first of three is not counted */
    assert_string_equal(p.nodes[0].name, "c1");
    assert_string_equal(p.nodes[0].op, "Conv");
    assert_string_equal(p.nodes[0].provider, "cpu");
    assert_int_equal(p.nodes[0].macs, 32 * 112 * 112 * 27);
    assert_int_equal(p.nodes[0].count, 2);
    assert_true(p.nodes[0].us == 62);
    assert_true(p.us == 65);
    assert_true(p.run_us == 76);
    assert_string_equal(p.writer, "onnxruntime");
    profile_free(&p);
}

static void what_was_written_is_read_again(void **state) {
    (void)state;
    profile p, q;
    hone_error error;
    cli_buffer text = {0};
    const char *const parts[] = {"conv \"1\"", "norm\n", "relu"};
    assert_true(parse(onnxruntime_profile, strlen(onnxruntime_profile), &p, &error));
    profile_name_node(&p, &p.nodes[0], "relu", parts, 3);
    p.nodes[0].kernel = "winograd avx2";
    trace_write(&p, &text);
    assert_true(parse((const char *)text.at, text.n, &q, &error));
    assert_int_equal(q.n_nodes, p.n_nodes);
    assert_int_equal(q.n_events, p.n_events);
    assert_int_equal(q.nodes[0].n_parts, 3);
    assert_string_equal(q.nodes[0].parts[0], parts[0]);
    assert_string_equal(q.nodes[0].parts[1], parts[1]);
    assert_string_equal(q.nodes[0].kernel, "winograd avx2");
    assert_string_equal(q.nodes[0].inputs, p.nodes[0].inputs);
    assert_int_equal(q.nodes[0].macs, p.nodes[0].macs);
    assert_true(q.us == p.us);
    assert_string_equal(q.writer, "hone");
    cli_buffer_free(&text);
    profile_free(&p);
    profile_free(&q);
}

static void broken_text_is_refused_with_its_byte(void **state) {
    (void)state;
    expect_refused("", "byte 0");
    expect_refused("[", "byte 1");
    expect_refused("[{\"cat\": \"Node\"", "byte 15");
    expect_refused("[]x", "byte 2");
    expect_refused("3", "byte 0: a trace is an array of events");
    expect_refused("{\"events\": []}", "byte 0: a trace is an array of events");
    expect_refused("[]", "no events of nodes");
    expect_refused("[1]", "an event must be an object");
    expect_refused("[" EVENT("a", "-1", "1", CONV) "]", "\"ts\" must be a number");
    expect_refused("[" EVENT("a", "1", "\"x\"", CONV) "]", "\"dur\" must be a number");
    expect_refused("[" EVENT("a", "1", "1e999", CONV) "]", "\"dur\" must be a number");
    expect_refused("[" EVENT("a", "1", "1", "") "]", "no \"op_name\"");
    expect_refused("[{\"ph\": \"X\", \"cat\": \"Node\"}]", "byte 3: an event has no \"name\"");
}

/* Every beginning of a profile is refused, and so is one with any byte turned into another: or it
 * is read, but nothing else happens. */
static void cut_and_changed_text_is_harmless(void **state) {
    (void)state;
    size_t n = strlen(onnxruntime_profile) - 2; /* the last ] and its end of line */
    char *text = malloc(n + 3);
    profile p;
    hone_error error;
    assert_non_null(text);
    for (size_t cut = 0; cut < n; cut++) {
        assert_false(parse(onnxruntime_profile, cut, &p, &error));
        assert_non_null(strstr(error.message, "byte "));
        profile_free(&p);
    }
    for (size_t i = 0; i < n + 2; i++) {
        static const char others[] = "\"[]{},:0-e\\\0\xff";
        for (size_t k = 0; k < sizeof others - 1; k++) {
            memcpy(text, onnxruntime_profile, n + 2);
            text[i] = others[k];
            parse(text, n + 2, &p, &error);
            profile_free(&p);
        }
    }
    free(text);
}

static void shapes_of_strangers_are_harmless(void **state) {
    (void)state;
    int64_t dims[CLI_MAX_RANK];
    char type[32];
    cli_buffer many = {0};
    assert_int_equal(trace_dims("[{\"float\":[1,3]},{}]", 0, dims, type), 2);
    assert_string_equal(type, "float");
    assert_int_equal(dims[1], 3);
    assert_int_equal(trace_dims("[{\"float\":[1,3]},{}]", 1, dims, type), -1);
    assert_int_equal(trace_dims("[{\"float\":[1,3]}]", 7, dims, type), -1);
    assert_int_equal(trace_dims("[{\"float\":[]}]", 0, dims, type), 0);
    assert_int_equal(trace_dims("[{\"float\":[x]}]", 0, dims, type), -1);
    cli_buffer_printf(&many, "[{\"a type whose name is longer than thirty-one bytes\":[");
    for (int i = 0; i < 200; i++)
        cli_buffer_printf(&many, "%s9223372036854775807", i ? "," : "");
    cli_buffer_add(&many, "]}]", 4);
    assert_int_equal(trace_dims((const char *)many.at, 0, dims, type), CLI_MAX_RANK);
    assert_int_equal(strlen(type), 31);
    assert_int_equal(trace_macs("Conv", (const char *)many.at, (const char *)many.at), 0);
    cli_buffer_free(&many);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_of_onnxruntime_are_read),
        cmocka_unit_test(what_was_written_is_read_again),
        cmocka_unit_test(broken_text_is_refused_with_its_byte),
        cmocka_unit_test(cut_and_changed_text_is_harmless),
        cmocka_unit_test(shapes_of_strangers_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
