/* Results for programs: JSON, CSV, and the table in Markdown that people publish. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_runtime.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_json_number(cli_buffer *out, const char *key, double v) {
    cli_buffer_printf(out, "\"%s\": ", key);
    cli_json_number(out, v, false);
}

static void put_interval(cli_buffer *out, const char *key, const bench_interval *in) {
    cli_buffer_printf(out, "\"%s\": [", key);
    cli_json_number(out, in->low, false);
    cli_buffer_printf(out, ", ");
    cli_json_number(out, in->high, false);
    cli_buffer_printf(out, "]");
}

static void put_stats(cli_buffer *out, const bench_stats *s) {
    const struct {
        const char *key;
        double value;
    } members[] = {{"mean", s->mean},        {"min", s->min}, {"max", s->max},
                   {"stddev", s->deviation}, {"p50", s->p50}, {"p90", s->p90},
                   {"p95", s->p95},          {"p99", s->p99}, {"p999", s->p999}};
    cli_buffer_printf(out, "{\"runs\": %zu", s->n);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        cli_buffer_printf(out, ", ");
        put_json_number(out, members[i].key, members[i].value);
    }
    cli_buffer_printf(out, ", ");
    put_interval(out, "median_interval", &s->median);
    cli_buffer_printf(out, "}");
}

static void put_change(cli_buffer *out, const char *key, const bench_change *c) {
    cli_buffer_printf(out, ",\n     \"%s\": {", key);
    put_json_number(out, "ratio", c->ratio);
    cli_buffer_printf(out, ", ");
    put_interval(out, "interval", &c->interval);
    cli_buffer_printf(out, ", \"larger_than_noise\": %s}",
                      c->is_larger_than_noise ? "true" : "false");
}

/* A member of an object that is left out when it is unknown. */
static void put_known(cli_buffer *out, const char *key, double v) {
    if (v < 0)
        return;
    bool is_first = out->n > 0 && out->at[out->n - 1] == '{';
    cli_buffer_printf(out, is_first ? "" : ", ");
    put_json_number(out, key, v);
}

static void put_costs(cli_buffer *out, const bench_case *c) {
    const bench_costs *k = &c->costs;
    cli_buffer_printf(out, ",\n     \"creation\": {");
    put_known(out, "load", k->load);
    put_known(out, "optimize", k->optimize);
    put_known(out, "pack", k->pack);
    put_known(out, "plan", k->plan);
    put_known(out, "first_run", k->first);
    put_known(out, "total", k->total);
    cli_buffer_printf(out, "},\n     \"memory\": {");
    put_known(out, "model_bytes", (double)c->model_bytes);
    put_known(out, "planned_bytes", (double)k->planned_bytes);
    put_known(out, "resident_bytes", (double)k->steady_bytes);
    put_known(out, "peak_bytes", (double)k->peak_bytes);
    cli_buffer_printf(out, "}");
}

static void put_use(cli_buffer *out, const bench_cases *cases, const bench_case *c) {
    double n = (double)c->series.n;
    cli_buffer_printf(out, ",\n     \"throughput\": {");
    put_known(out, "runs_per_second", bench_throughput(c));
    put_known(out, "samples_per_second", bench_throughput(c) * (double)bench_batch(c));
    cli_buffer_printf(out, "},\n     \"per_run\": {");
    put_known(out, "cpu_seconds", c->used.cpu_seconds / n);
    if (!*cases->meter.energy_note)
        put_known(out, "joules", bench_meter_joules(&cases->meter, &c->used) / n);
    if (cases->meter.instructions >= 0)
        put_known(out, "instructions", c->used.instructions / n);
    if (cases->meter.misses >= 0)
        put_known(out, "cache_misses", c->used.misses / n);
    cli_buffer_printf(out, "}, ");
    put_json_number(out, "cpu_utilization", c->wall > 0 ? c->used.cpu_seconds / c->wall : 0);
    if (cases->options->parsed_rate > 0)
        cli_buffer_printf(out, ", \"late_runs\": %llu", (unsigned long long)c->n_late);
}

static void put_accuracy(cli_buffer *out, const bench_accuracy *a, const bench_difference *d) {
    if (a->n_samples)
        cli_buffer_printf(out, ",\n     \"accuracy\": {\"samples\": %llu, \"labelled\": %llu",
                          (unsigned long long)a->n_samples, (unsigned long long)a->n_labelled);
    if (a->n_labelled) {
        cli_buffer_printf(out, ", ");
        put_json_number(out, "top1", (double)a->n_first / (double)a->n_labelled);
        cli_buffer_printf(out, ", \"top%llu\": ", (unsigned long long)a->top);
        cli_json_number(out, (double)a->n_near / (double)a->n_labelled, false);
    }
    cli_buffer_printf(out, a->n_samples ? "}" : "");
    if (!d->n_outputs)
        return;
    cli_buffer_printf(out, ",\n     \"difference\": {\"outputs\": %u, ", d->n_outputs);
    put_json_number(out, "max_abs", d->max_abs);
    cli_buffer_printf(out, ", ");
    put_json_number(out, "max_rel", d->max_rel);
    cli_buffer_printf(out, ", ");
    put_json_number(out, "cosine", d->cosine);
    cli_buffer_printf(out, ", ");
    put_json_number(out, "sqnr_db", d->sqnr_db);
    cli_buffer_printf(out, "}");
}

static void put_setup(cli_buffer *out, const bench_setup *s) {
    cli_buffer_printf(out, "    {");
    cli_json_member(out, "model", s->path);
    cli_buffer_printf(out, ", ");
    cli_json_member(out, "runtime", s->runtime->name);
    cli_buffer_printf(out, ", ");
    cli_json_member(out, "version", s->runtime->version());
    cli_buffer_printf(out, ", ");
    cli_json_member(out, "level", bench_level_name(s->level));
    cli_buffer_printf(out, ", \"threads\": %llu, \"sessions\": %llu, \"batch\": %llu",
                      (unsigned long long)s->threads, (unsigned long long)s->concurrent,
                      (unsigned long long)s->batch);
}

static void put_case_shapes(cli_buffer *out, const bench_case *c) {
    cli_buffer_printf(out, ",\n     \"shapes\": [");
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        cli_buffer_printf(out, "%s{", i ? ", " : "");
        cli_json_member(out, "inputs", c->inputs[i].text);
        cli_buffer_printf(out, ", \"latency\": ");
        put_stats(out, &c->by_feed[i]);
        cli_buffer_printf(out, "}");
    }
    cli_buffer_printf(out, "]");
}

static void put_case(cli_buffer *out, const bench_cases *cases, const bench_case *c) {
    put_setup(out, &c->setup);
    put_case_shapes(out, c);
    cli_buffer_printf(out, ",\n     \"latency\": ");
    put_stats(out, &c->stats);
    put_use(out, cases, c);
    put_costs(out, c);
    if (c != cases->at)
        put_change(out, "against_first", &c->against_first);
    if (c->has_baseline)
        put_change(out, "against_baseline", &c->against_baseline);
    put_accuracy(out, &c->accuracy, &c->difference);
    cli_buffer_printf(out, "}");
}

void bench_print_json(const bench_cases *cases) {
    cli_buffer out = {0};
    cli_buffer_printf(&out, "{\n  ");
    cli_json_member(&out, "hone", hone_version());
    cli_buffer_printf(&out, ",\n  ");
    cli_json_member(&out, "cpu_features", hone_cpu_features());
    cli_buffer_printf(&out, ",\n  \"processors\": %ld", sysconf(_SC_NPROCESSORS_ONLN));
    if (*cases->meter.energy_note) {
        cli_buffer_printf(&out, ",\n  ");
        cli_json_member(&out, "energy", cases->meter.energy_note);
    }
    if (*cases->meter.counters_note) {
        cli_buffer_printf(&out, ",\n  ");
        cli_json_member(&out, "counters", cases->meter.counters_note);
    }
    cli_buffer_printf(&out, ",\n  \"results\": [\n");
    for (size_t i = 0; i < cases->n; i++) {
        put_case(&out, cases, &cases->at[i]);
        cli_buffer_printf(&out, i + 1 < cases->n ? ",\n" : "\n");
    }
    cli_buffer_printf(&out, "  ]\n}\n");
    fwrite(out.at, 1, out.n, stdout);
    cli_buffer_free(&out);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_csv_text(cli_buffer *out, const char *text) {
    cli_buffer_printf(out, "\"");
    for (; *text; text++)
        cli_buffer_printf(out, *text == '"' ? "\"\"" : "%c", *text);
    cli_buffer_printf(out, "\"");
}

static void put_csv_known(cli_buffer *out, double v) {
    cli_buffer_printf(out, ",");
    if (v >= 0)
        cli_json_number(out, v, false);
}

static void put_csv_case(cli_buffer *out, const bench_cases *cases, const bench_case *c) {
    const bench_setup *s = &c->setup;
    const bench_stats *t = &c->stats;
    const bench_accuracy *a = &c->accuracy;
    const bench_costs *k = &c->costs;
    double labelled = (double)a->n_labelled, n = (double)c->series.n;
    bool has_energy = !*cases->meter.energy_note;
    put_csv_text(out, s->path);
    cli_buffer_printf(out, ",%s,%s,%llu,%llu,%llu,%zu", s->runtime->name,
                      bench_level_name(s->level), (unsigned long long)s->threads,
                      (unsigned long long)s->concurrent, (unsigned long long)s->batch, t->n);
    const double values[] = {t->mean,
                             t->min,
                             t->max,
                             t->p50,
                             t->p90,
                             t->p95,
                             t->p99,
                             t->p999,
                             t->median.low,
                             t->median.high,
                             bench_throughput(c),
                             bench_throughput(c) * (double)bench_batch(c),
                             c->wall > 0 ? c->used.cpu_seconds / c->wall : 0,
                             has_energy ? bench_meter_joules(&cases->meter, &c->used) / n : -1,
                             cases->meter.instructions < 0 ? -1 : c->used.instructions / n,
                             cases->meter.misses < 0 ? -1 : c->used.misses / n,
                             k->load,
                             k->optimize,
                             k->pack,
                             k->plan,
                             k->first,
                             k->total,
                             (double)c->model_bytes,
                             (double)k->planned_bytes,
                             (double)k->steady_bytes,
                             (double)k->peak_bytes,
                             c->against_first.ratio,
                             labelled > 0 ? (double)a->n_first / labelled : -1,
                             labelled > 0 ? (double)a->n_near / labelled : -1};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        put_csv_known(out, values[i]);
    cli_buffer_printf(out, "\n");
}

void bench_print_csv(const bench_cases *cases) {
    cli_buffer out = {0};
    cli_buffer_printf(
        &out, "model,runtime,level,threads,sessions,batch,runs,mean,min,max,p50,p90,p95,p99,p999,"
              "median_low,median_high,runs_per_second,samples_per_second,cpu_utilization,joules,"
              "instructions,cache_misses,load,optimize,pack,plan,first_run,creation,model_bytes,"
              "planned_bytes,resident_bytes,peak_bytes,ratio,top1,top_k\n");
    for (size_t i = 0; i < cases->n; i++)
        put_csv_case(&out, cases, &cases->at[i]);
    fwrite(out.at, 1, out.n, stdout);
    cli_buffer_free(&out);
}
