/* Tables of a measurement. */
#include <math.h>
#include <string.h>

#include "bench/bench_runtime.h"

/* ---- cells ----------------------------------------------------------------------------------- */

typedef struct time_unit {
    const char *name;
    double factor;
} time_unit;

/* Four digits, so that tables of several cases fit a terminal. */
static void add_time_cell(cli_table *t, double v) {
    cli_table_add(t, "%.*f", v < 10 ? 3 : v < 100 ? 2 : v < 1000 ? 1 : 0, v);
}

/* Of a table. */
static time_unit unit_of(const bench_cases *cases) {
    double least = (double)INFINITY;
    for (size_t i = 0; i < cases->n; i++)
        least = fmin(least, cases->at[i].stats.p50);
    return least < 1e-4 ? (time_unit){"us", 1e6} : (time_unit){"ms", 1e3};
}

static void add_cost(cli_table *t, double seconds) {
    if (seconds < 0)
        cli_table_add(t, "-");
    else
        cli_table_add(t, "%.2f", 1e3 * seconds);
}

static void add_size(cli_table *t, int64_t bytes) {
    char text[32];
    cli_table_add(t, "%s", bytes < 0 ? "-" : cli_bytes(text, (uint64_t)bytes));
}

static void head_with_unit(const char *what, const time_unit *unit) {
    char title[640];
    snprintf(title, sizeof title, "%s, %s", what, unit->name);
    cli_heading(title);
}

/* ---- what was measured ----------------------------------------------------------------------- */

static void print_subject(const bench_cases *cases) {
    const bench_options *o = cases->options;
    const bench_case *c = &cases->at[0];
    bool has_other = bench_varies(cases, BENCH_RUNTIME);
    if (cases->n == 1 || !bench_varies(cases, BENCH_MODEL))
        printf("%s%s%s: ", cli_begin(stdout, CLI_BOLD), c->setup.path, cli_end(stdout));
    else
        printf("%s%zu cases%s: ", cli_begin(stdout, CLI_BOLD), cases->n, cli_end(stdout));
    printf("%s %s", c->setup.runtime->name, c->setup.runtime->version());
    if (has_other)
        printf(", onnxruntime %s", bench_onnxruntime.version());
    if (!bench_varies(cases, BENCH_LEVEL))
        printf(", level %s", bench_level_name(c->setup.level));
    if (!bench_varies(cases, BENCH_THREADS) && c->setup.threads)
        printf(", %llu thread%s", (unsigned long long)c->setup.threads,
               c->setup.threads == 1 ? "" : "s");
    if (!bench_varies(cases, BENCH_CONCURRENT) && c->setup.concurrent > 1)
        printf(", %llu sessions at once", (unsigned long long)c->setup.concurrent);
    if (o->parsed_rate > 0)
        printf(", %g runs per second", o->parsed_rate);
    putchar('\n');
    for (uint32_t i = 0; i < c->n_inputs; i++)
        cli_line("  %s", c->inputs[i].text);
}

/* ---- times ----------------------------------------------------------------------------------- */

static void add_times(cli_table *t, const bench_stats *s, double factor) {
    const double values[] = {s->p50, s->mean, s->min, s->p90, s->p95, s->p99, s->p999, s->max};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        add_time_cell(t, factor * values[i]);
}

static void print_latency(const bench_cases *cases) {
    static const char *const headings[] = {"",    "median", "mean",  "min", "P90",
                                           "P95", "P99",    "P99.9", "max", "runs"};
    time_unit unit = unit_of(cases);
    cli_table table;
    head_with_unit("Latency", &unit);
    cli_table_begin(&table, 10, headings, "Lrrrrrrrrr");
    for (size_t i = 0; i < cases->n; i++) {
        cli_table_add(&table, "%s", cases->n > 1 ? cases->at[i].label : "");
        add_times(&table, &cases->at[i].stats, unit.factor);
        cli_table_add(&table, "%zu", cases->at[i].stats.n);
    }
    cli_table_print(&table);
    if (cases->n == 1)
        printf("  median between %.3f and %.3f %s (95 %% interval)\n",
               unit.factor * cases->at[0].stats.median.low,
               unit.factor * cases->at[0].stats.median.high, unit.name);
}

static void print_shapes(const bench_cases *cases) {
    static const char *const headings[] = {"", "inputs", "median", "P95", "P99", "runs"};
    time_unit unit = unit_of(cases);
    cli_table table;
    head_with_unit("Latency by shape", &unit);
    cli_table_begin(&table, 6, headings, "LLrrrr");
    for (size_t i = 0; i < cases->n; i++)
        for (uint32_t k = 0; k < cases->at[i].n_inputs; k++) {
            const bench_stats *s = &cases->at[i].by_feed[k];
            cli_table_add(&table, "%s", cases->n > 1 ? cases->at[i].label : "");
            cli_table_add(&table, "%s", cases->at[i].inputs[k].text);
            add_time_cell(&table, unit.factor * s->p50);
            add_time_cell(&table, unit.factor * s->p95);
            add_time_cell(&table, unit.factor * s->p99);
            cli_table_add(&table, "%zu", s->n);
        }
    cli_table_print(&table);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static void add_verdict(cli_table *t, const bench_change *c) {
    cli_table_add(t, "%.3f", c->ratio);
    cli_table_add(t, "%.3f to %.3f", c->interval.low, c->interval.high);
    if (!c->is_larger_than_noise)
        cli_table_add(t, "within the noise");
    else if (c->ratio < 1)
        cli_table_add(t, "%.2f times as fast", 1 / c->ratio);
    else if (c->ratio < 2)
        cli_table_add(t, "%.1f %% slower", 100 * (c->ratio - 1));
    else
        cli_table_add(t, "takes %.2f times as long", c->ratio);
}

static void print_ratios(const bench_cases *cases) {
    static const char *const headings[] = {"", "ratio", "95 % interval", ""};
    cli_table table;
    char title[600];
    snprintf(title, sizeof title, "Latency, ratio to %s", cases->at[0].label);
    cli_heading(title);
    cli_table_begin(&table, 4, headings, "Lrrl");
    for (size_t i = 1; i < cases->n; i++) {
        cli_table_add(&table, "%s", cases->at[i].label);
        add_verdict(&table, &cases->at[i].against_first);
    }
    cli_table_print(&table);
}

static void print_baseline(const bench_cases *cases) {
    static const char *const headings[] = {"", "before", "now", "ratio", "95 % interval", ""};
    time_unit unit = unit_of(cases);
    cli_table table;
    char title[600];
    snprintf(title, sizeof title, "Median against %s", cases->options->baseline);
    head_with_unit(title, &unit);
    cli_table_begin(&table, 6, headings, "Lrrrrl");
    for (size_t i = 0; i < cases->n; i++) {
        const bench_case *c = &cases->at[i];
        cli_table_add(&table, "%s", cases->n > 1 ? c->label : "");
        if (c->has_baseline) {
            add_time_cell(&table, unit.factor * c->baseline_median);
            add_time_cell(&table, unit.factor * c->stats.p50);
            add_verdict(&table, &c->against_baseline);
        } else {
            cli_table_add(&table, "-");
            add_time_cell(&table, unit.factor * c->stats.p50);
            cli_table_add(&table, "-");
            cli_table_add(&table, "-");
            cli_table_add(&table, "not in the baseline");
        }
    }
    cli_table_print(&table);
}

/* ---- throughput, use of the machine ---------------------------------------------------------- */

static void add_use(cli_table *t, const bench_cases *cases, const bench_case *c) {
    double n = (double)c->series.n, joules = bench_meter_joules(&cases->meter, &c->used);
    char text[32];
    cli_table_add(t, "%.0f %%", c->wall > 0 ? 100 * c->used.cpu_seconds / c->wall : 0);
    if (*cases->meter.energy_note)
        cli_table_add(t, "-");
    else
        cli_table_add(t, "%.4g J", joules / n);
    if (cases->meter.instructions < 0)
        cli_table_add(t, "-");
    else
        cli_table_add(t, "%s", cli_amount(text, (uint64_t)(c->used.instructions / n)));
    if (cases->meter.misses < 0)
        cli_table_add(t, "-");
    else
        cli_table_add(t, "%s", cli_amount(text, (uint64_t)(c->used.misses / n)));
}

static void print_use(const bench_cases *cases) {
    static const char *const headings[] = {"",       "runs/s",       "samples/s",   "CPU",
                                           "energy", "instructions", "cache misses"};
    cli_table table;
    cli_heading("Throughput, and what a run takes");
    cli_table_begin(&table, 7, headings, "Lrrrrrr");
    for (size_t i = 0; i < cases->n; i++) {
        const bench_case *c = &cases->at[i];
        cli_table_add(&table, "%s", cases->n > 1 ? c->label : "");
        cli_table_add(&table, "%.2f", bench_throughput(c));
        cli_table_add(&table, "%.2f", bench_throughput(c) * (double)bench_batch(c));
        add_use(&table, cases, c);
    }
    cli_table_print(&table);
    if (*cases->meter.energy_note)
        cli_line("  energy: %s", cases->meter.energy_note);
    if (*cases->meter.counters_note)
        cli_line("  instructions, cache misses: %s", cases->meter.counters_note);
    for (size_t i = 0; cases->options->parsed_rate > 0 && i < cases->n; i++)
        if (cases->at[i].n_late)
            cli_line("  %s: %llu of %zu runs began late, because the one before had not ended",
                     cases->at[i].label, (unsigned long long)cases->at[i].n_late,
                     cases->at[i].series.n);
}

/* ---- creation, memory ------------------------------------------------------------------------ */

static void print_creation(const bench_cases *cases) {
    static const char *const headings[] = {"",     "load",      "optimize", "pack",
                                           "plan", "first run", "total",    "later runs"};
    cli_table table;
    bool has_other = false;
    cli_heading("Creation, ms");
    cli_table_begin(&table, 8, headings, "Lrrrrrrr");
    for (size_t i = 0; i < cases->n; i++) {
        const bench_costs *k = &cases->at[i].costs;
        const double costs[] = {k->load, k->optimize, k->pack, k->plan, k->first, k->total};
        cli_table_add(&table, "%s", cases->n > 1 ? cases->at[i].label : "");
        for (size_t j = 0; j < sizeof costs / sizeof *costs; j++)
            add_cost(&table, costs[j]);
        add_time_cell(&table, 1e3 * cases->at[i].stats.p50);
        has_other |= cases->at[i].setup.runtime == &bench_onnxruntime;
    }
    cli_table_print(&table);
    if (has_other)
        cli_line("  onnxruntime: optimize contains load, pack and plan");
}

static void print_memory(const bench_cases *cases) {
    static const char *const headings[] = {"", "model file", "planned arena", "resident",
                                           "peak resident"};
    cli_table table;
    cli_heading("Memory");
    cli_table_begin(&table, 5, headings, "Lrrrr");
    for (size_t i = 0; i < cases->n; i++) {
        const bench_case *c = &cases->at[i];
        cli_table_add(&table, "%s", cases->n > 1 ? c->label : "");
        add_size(&table, c->model_bytes);
        add_size(&table, c->costs.planned_bytes);
        add_size(&table, c->costs.steady_bytes);
        add_size(&table, c->costs.peak_bytes);
    }
    cli_table_print(&table);
}

/* ---- accuracy -------------------------------------------------------------------------------- */

static void add_share(cli_table *t, uint64_t n, uint64_t total) {
    if (total)
        cli_table_add(t, "%.2f %%", 100 * (double)n / (double)total);
    else
        cli_table_add(t, "-");
}

static void print_accuracy(const bench_cases *cases) {
    char near[32];
    const char *const headings[] = {"", "samples", "top-1", near};
    cli_table table;
    snprintf(near, sizeof near, "top-%llu", (unsigned long long)cases->at[0].accuracy.top);
    cli_heading("Accuracy");
    cli_table_begin(&table, 4, headings, "Lrrr");
    for (size_t i = 0; i < cases->n; i++) {
        const bench_accuracy *a = &cases->at[i].accuracy;
        cli_table_add(&table, "%s", cases->n > 1 ? cases->at[i].label : "");
        cli_table_add(&table, "%llu", (unsigned long long)a->n_samples);
        add_share(&table, a->n_first, a->n_labelled);
        add_share(&table, a->n_near, a->n_labelled);
    }
    cli_table_print(&table);
}

static void print_differences(const bench_cases *cases) {
    static const char *const headings[] = {"", "max abs", "max rel", "cosine", "SQNR dB"};
    cli_table table;
    char title[600];
    snprintf(title, sizeof title, "Outputs, difference to %s", cases->reference);
    cli_heading(title);
    cli_table_begin(&table, 5, headings, "Lrrrr");
    for (size_t i = 0; i < cases->n; i++) {
        const bench_difference *d = &cases->at[i].difference;
        cli_table_add(&table, "%s", cases->n > 1 ? cases->at[i].label : "");
        cli_table_add(&table, d->n_outputs ? "%.3g" : "-", d->max_abs);
        cli_table_add(&table, d->n_outputs ? "%.3g" : "-", d->max_rel);
        cli_table_add(&table, d->n_outputs ? "%.6f" : "-", d->cosine);
        cli_table_add(&table, d->n_outputs ? "%.1f" : "-", d->sqnr_db);
    }
    cli_table_print(&table);
}

void bench_print_tables(const bench_cases *cases) {
    const bench_options *o = cases->options;
    print_subject(cases);
    print_latency(cases);
    if (cases->at[0].n_inputs > 1)
        print_shapes(cases);
    if (cases->n > 1)
        print_ratios(cases);
    if (o->baseline)
        print_baseline(cases);
    print_use(cases);
    if (!o->no_creation)
        print_creation(cases);
    print_memory(cases);
    if (o->data.source)
        print_accuracy(cases);
    if (cases->reference)
        print_differences(cases);
    for (size_t i = 0; i < cases->n && (o->plot || cases->n == 1); i++)
        bench_print_plots(&cases->at[i]);
}
