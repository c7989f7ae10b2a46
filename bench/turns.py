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


def take(runs, rounds, seconds, pause=PAUSE_SECONDS):
    """{name: seconds of each round}. Each round begins with another engine."""
    names = list(runs)
    times = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            times[name].append(round_median(runs[name], seconds, pause))
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
