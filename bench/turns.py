"""Timing engines in turns: the machine is shared, so only ratios of times that were taken together count."""

import statistics
import time

PAUSE_SECONDS = 0.08  # longer than idle workers of any engine keep a processor busy
FEWEST_RUNS = 3


def round_median(run, seconds, pause):
    """The median time of runs that take some seconds together, after a pause and a run that does not count."""
    time.sleep(pause)
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < FEWEST_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def round_processor_time(run, seconds, pause):
    """Processor time of one run, the mean over a round: other programs do not count, and the clock may be coarse."""
    time.sleep(pause)
    run()
    n_runs, start = 0, time.process_time()
    while n_runs == 0 or time.process_time() < start + seconds:
        run()
        n_runs += 1
    return (time.process_time() - start) / n_runs


def take(runs, rounds, seconds, pause=PAUSE_SECONDS, time_round=round_median):
    """{name: seconds of each round}. Each round begins with another engine."""
    names = list(runs)
    times = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            times[name].append(time_round(runs[name], seconds, pause))
    return times


def summary(times, ours="hone"):
    """Milliseconds of every engine; of the others how many times as fast we are (the median of the rounds' ratios)
    and half the distance of the quartiles of these."""
    row = {"milliseconds": {name: statistics.median(found) * 1e3 for name, found in times.items()},
           "ratio": {}, "spread": {}, "rounds_ms": {name: [1e3 * t for t in found] for name, found in times.items()}}
    for name, found in times.items():
        if name != ours:
            ratios = [theirs / own for theirs, own in zip(found, times[ours])]
            low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
            row["ratio"][name] = statistics.median(ratios)
            row["spread"][name] = (high - low) / 2
    return row


def add_options(parser, rounds, seconds):
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=seconds, help="of one engine in one round")
