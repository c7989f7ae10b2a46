"""Means of ratios, with and without outliers.

An outlier is a ratio that is more than twice or less than half of the median of its column. The rule knows no
names, so nobody chooses which models count.
"""

import math
import statistics

OUTLIER_FACTOR = 2.0


def geometric(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def outliers(ratios):
    """Names of the outliers in a dictionary of ratios."""
    middle = statistics.median(ratios.values())
    return sorted(name for name, ratio in ratios.items() if not middle / OUTLIER_FACTOR <= ratio <= middle * OUTLIER_FACTOR)


def of(ratios):
    """The means of a dictionary of ratios, None when it is empty."""
    if not ratios:
        return None
    out = outliers(ratios)
    kept = [ratio for name, ratio in ratios.items() if name not in out]
    return {"mean": geometric(ratios.values()), "without_outliers": geometric(kept), "outliers": out,
            "ahead": sum(ratio >= 1 for ratio in ratios.values()), "count": len(ratios)}


def sentence(found):
    """The means in words, for a line under a table."""
    if found is None:
        return "nothing to compare"
    text = f"{found['mean']:.2f} x"
    if found["outliers"]:
        text += f", {found['without_outliers']:.2f} x without the outliers {', '.join(found['outliers'])}"
    else:
        text += " (no outliers)"
    return f"{text}, at least as fast on {found['ahead']} of {found['count']}"


def per_key(rows, key, value):
    """{key of a row: {model: value of the row}} for rows that have one; rows that failed have none."""
    columns = {}
    for row in rows:
        number = None if "failure" in row else value(row)
        if number is not None:
            columns.setdefault(row.get(key), {})[row["model"]] = number
    return columns


def shares(found):
    """The means of shares, of which less is better, in words."""
    text = f"{found['mean']:.2f}"
    if found["outliers"]:
        text += f", {found['without_outliers']:.2f} without the outliers {', '.join(found['outliers'])}"
    return text
