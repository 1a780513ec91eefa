# %%NBQA-CELL-SEP476b88
from IPython.display import HTML, Markdown

from lib.experiments.records import NoRecord, command, recorded
from lib.experiments.registry import load, quick
from lib.prose import say

lines, records, missing = [], [], 0
for name, experiment in load().items():
    states = []
    for variant in experiment.configurations:
        if variant == "quick":
            continue
        try:
            record = recorded(name, variant)
        except NoRecord:
            missing += 1
            states.append(f"{variant}: not yet")
            continue
        records.append(record)
        link = f'<a href="#{record.anchor}">{record.size}</a>'
        states.append(f"{variant}: {link}" + ", **stale**" * bool(record.stale()))
    lines.append(f"- `{name}`: {experiment.title}.<br>{'; '.join(states)}")
say(
    experiments=len(lines),
    configurations=len(records) + missing,
    recorded=len(records),
    stale=sum(bool(one.stale()) for one in records),
)
Markdown("\n".join(lines))


# %%NBQA-CELL-SEP476b88
HTML("".join(one._repr_html_() for one in records) or "<p>There is no record yet.</p>")


# %%NBQA-CELL-SEP476b88
[metrics] = quick("boursier2022-figure-6", [0])
{name: value for name, value in metrics.items() if isinstance(value, (int, float))}


# %%NBQA-CELL-SEP476b88
command("boursier2022-figure-6")
