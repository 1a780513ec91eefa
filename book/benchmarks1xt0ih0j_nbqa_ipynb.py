# %%NBQA-CELL-SEP476b88
import json

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown

from executable_claims.ledger import LEDGER_FOLDER
from lib import figures
from lib.prose import say

figures.use_style()
results = json.loads(
    (LEDGER_FOLDER.parents[1] / "results" / "benchmarks.json").read_text(encoding="utf-8")
)
about, comparisons, growth = (results[key] for key in ("about", "comparisons", "growth"))
by_name = {one["name"]: one for one in comparisons}
peaks = [peak for one in comparisons for peak in one["peak_mib"].values()]
peaks += results["growth_peak_mib"].values()
missed = [
    one["title"][0].lower() + one["title"][1:] for one in comparisons if not one["met"]
]


def table(heads, rows):
    return Markdown(
        "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])
    )


def duration(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
changes = " with uncommitted changes" if about["uncommitted_changes"] else ""
say(date=about["date"], commit=about["commit"] + changes, processor=about["processor"])
say(cores=about["cores"], system=about["system"], python=about["python"], versions=versions)
say(missed="; ".join(missed) or "none", missed_count=len(missed), count=len(comparisons))
say(imports=comparisons[0]["imports_mib"], peak=max(peaks))


# %%NBQA-CELL-SEP476b88
table(
    ["Work", "Ours", "Plain way", "Ratio", "Goal", "Met"],
    [
        [
            one["title"],
            duration(one["seconds"]["ours"]),
            f"{duration(one['seconds']['plain'])}: {one['plain_title']}",
            f"{one['ratio']:.3g}" if one["ratio"] < 100 else f"{one['ratio']:,.0f}",
            one["goal"],
            "yes" if one["met"] else "**no**",
        ]
        for one in comparisons
    ],
)


# %%NBQA-CELL-SEP476b88
say(scale_cost=1 / by_name["tiny"]["ratio"])
say(moons=by_name["ten_seeds"]["ratio"], inverse=by_name["million"]["seconds"]["ours"])
say(flow=by_name["by_flow"]["ratio"], loose=by_name["by_loose_flow"]["ratio"])
say(closer=by_name["by_flow"]["error"]["plain"] / by_name["by_flow"]["error"]["ours"])


# %%NBQA-CELL-SEP476b88
table(
    ["Work", "Peak, ours", "Peak, plain", "Error, ours", "Error, plain", "Error of"],
    [
        [
            one["title"],
            *(f"{one['peak_mib'][way]:.0f} MiB" for way in ("ours", "plain")),
            *(f"{one['error'][way]:.0e}" for way in ("ours", "plain")),
            one["error_of"],
        ]
        for one in comparisons
    ],
)


# %%NBQA-CELL-SEP476b88
def exponent(sizes, seconds):
    """Slope of the line through the logarithms, and the line."""
    slope, offset = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return slope, np.exp(offset) * np.asarray(sizes, dtype=float) ** slope


def column(axis, key):
    return np.array([point[key] for point in growth[axis]], dtype=float)


fits = {axis: exponent(column(axis, "size"), column(axis, "seconds")) for axis in "nmd"}
fits["events"] = exponent(column("alive", "events"), column("alive", "seconds"))
each = {
    axis: exponent(column(axis, "size"), column(axis, "seconds") / column(axis, "steps"))[0]
    for axis in "nmd"
}
events_in_n, events_in_m = (
    exponent(column(axis, "size"), column(axis, "events"))[0] for axis in "nm"
)
say(in_n=fits["n"][0], in_m=fits["m"][0], in_d=fits["d"][0], in_events=fits["events"][0])
say(step_n=each["n"], step_m=each["m"], step_d=each["d"])
say(events_in_n=events_in_n, events_in_m=events_in_m)
last = {
    axis: np.log2(column(axis, "seconds")[-1] / column(axis, "seconds")[-2])
    for axis in "nmd"
}
say(last_n=last["n"], last_m=last["m"], last_d=last["d"])
say(fewest=int(column("alive", "events")[0]), most=int(column("alive", "events")[-1]))


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(2, height=3.4, sharey=True)
names = {"n": "examples", "m": "neurons", "d": "dimension"}
colours = (figures.SIMULATION, figures.CONTRAST, figures.THIRD)
places = ((-1, -10, "right"), (0, 12, "left"), (-1, -10, "right"))  # point, shift, side
for (axis, name), colour, (k, shift, side) in zip(names.items(), colours, places):
    sizes, (slope, line) = column(axis, "size"), fits[axis]
    axes[0].plot(sizes, line, **figures.DASHED)
    axes[0].plot(sizes, column(axis, "seconds"), "o", color=colour, zorder=4)
    place = {"xytext": (shift, 4 if k else -6), "textcoords": "offset points", "ha": side}
    axes[0].annotate(f"{name} {slope:.2f}", (sizes[k], line[k]), color=colour, **place)
events, (slope, line) = column("alive", "events"), fits["events"]
axes[1].plot(events, line, **figures.DASHED)
axes[1].plot(events, column("alive", "seconds"), "o", color=figures.FOURTH, zorder=4)
axes[1].annotate(
    f"events {slope:.2f}", (events[-1], line[-1]), color=figures.FOURTH, **place
)
axes[0].set(xscale="log", yscale="log", xlabel="size", ylabel="seconds")
axes[1].set(xscale="log", xlabel="activation changes")
plt.show()
