# %%NBQA-CELL-SEP476b88
import sys

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown

sys.path.insert(0, "_site")  # the site's own modules
from executable_claims.drift import movements, read_releases
from executable_claims.ledger import read_ledger
from lib import figures
from lib.prose import say

figures.use_style()
releases = read_releases()
moved = movements(*releases[-2:]) if len(releases) > 1 else {}
far = {name: by for name, by in moved.items() if by > 0.1}
heads = ["Release", "Claims decided", "Made with"]
shown = ("python", "numpy", "scipy", "torch")
rows = [
    [
        release.date,
        f"{len(release.claims)} of {release.listed}",
        f"code `{release.digest[:8]}`, "
        + ", ".join(
            f"{name} {release.versions[name]}" for name in shown if name in release.versions
        ),
    ]
    for release in releases
]
if len(releases) > 1:
    what = (
        f"Of {len(moved)} claims that the last two releases decide, {len(far)} have moved by "
        f"more than a tenth of their tolerance, and {sum(by > 1 for by in moved.values())} by more "
        f"than all of it."
    )
elif releases:
    what = "There is only one release so far, so nothing can have moved yet."
else:
    what = "There is no release yet."
say(what=what)


def table(heads, rows):
    return Markdown(
        "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])
    )


table(heads, rows)


# %%NBQA-CELL-SEP476b88
FLOOR = 1e-10
papers = [paper.key for paper in read_ledger()]
fig, axes = figures.panels(len(papers), height=3.6, sharey=True)
for axis, paper in zip(axes, papers):
    names = sorted(
        {name for release in releases for name in release.claims if name.startswith(paper)}
    )
    for k, name in enumerate(names):
        used = [getattr(release.claims.get(name), "used", None) for release in releases]
        at = [
            (place, max(part, FLOOR)) for place, part in enumerate(used) if part is not None
        ]
        if at:
            places, parts = np.transpose(at)
            beside = 0.5 * (k / len(names) - 0.5)
            colour = figures.CONTRAST if name in far else figures.SIMULATION
            axis.plot(
                places + beside, parts, "o-", color=colour, markersize=3, linewidth=0.7
            )
    axis.axhline(1, **figures.DASHED)
    last = max(len(releases) - 1, 0)
    axis.set(title=paper, yscale="log", ylim=(FLOOR / 2, 3), xlim=(-0.5, last + 0.5))
    axis.set_xticks(
        sorted({0, last}), [releases[k].date for k in sorted({0, last}) if releases]
    )
    axis.tick_params(axis="x", labelsize=7, labelrotation=20)
axes[0].set_ylabel("part of the tolerance")
plt.show()


# %%NBQA-CELL-SEP476b88
def change(name):
    """What a claim measured before and after, and how far it moved."""
    old, new = (release.claims[name] for release in releases[-2:])
    return [f"`{name}`", f"{old.measured:.6g}", f"{new.measured:.6g}", f"{moved[name]:.2g}"]


def verdict_changes(old, new):
    """Claims whose verdict is new, gone or another one."""
    before, after = (
        {name: one.verdict for name, one in release.claims.items()}
        for release in (old, new)
    )
    return [
        [f"`{name}`", before.get(name, "not yet"), after.get(name, "not yet")]
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


largest = [name for name, by in moved.items() if by > 0][:12]
table(
    ["Claim", "Before", "After", "Moved"], [change(name) for name in largest]
) if largest else Markdown(what)


# %%NBQA-CELL-SEP476b88
verdicts = verdict_changes(*releases[-2:]) if len(releases) > 1 else []
table(["Claim", "Verdict before", "After"], verdicts) if verdicts else Markdown(
    "No verdict has changed between the last two releases."
    if len(releases) > 1
    else "With two releases, changes of verdicts will be listed here too."
)
