"""Bad arguments of what compares releases with each other."""

import dataclasses

from hypothesis import strategies as st

from lib import drift
from tests.bad_input.cases import Case
from tests.folders import kept_folder

FOLDER = kept_folder("bad-drift")
LOG, BROKEN = FOLDER / "log.jsonl", FOLDER / "broken.jsonl"
BROKEN.write_text('{"date": "2026-01-31"}\n', encoding="utf-8")

OTHER_THINGS = st.sampled_from([None, 3, "thing", [1], {"values": (1,)}])
MEASURED = drift.Measured("verified", 1.75, 2.0, None, None, 0.5)
RELEASE = drift.Release("2026-01-31", "0" * 16, {}, 1, {"toy-1": MEASURED})
VERDICT = {"claim": {"id": "toy-1"}, "verdict": "verified", "comparison": dataclasses.asdict(MEASURED)}

CASES = [
    Case(
        drift.release_of,
        {"verdicts": [VERDICT], "date": "2026-01-31"},
        {"verdicts": st.sampled_from([[], [3], None, [{}], [{**VERDICT, "comparison": {}}]])},
    ),
    Case(drift.read_releases, {"path": LOG}, {"path": st.just(BROKEN)}),
    Case(
        drift.append_release,
        {"release": RELEASE, "path": LOG},
        {
            "release": OTHER_THINGS | st.just(dataclasses.replace(RELEASE, listed=float("nan"))),
            "path": st.just(BROKEN),
        },
    ),
    Case(drift.movement, {"old": MEASURED, "new": MEASURED}, {"old": OTHER_THINGS, "new": OTHER_THINGS}),
    Case(drift.movements, {"old": RELEASE, "new": RELEASE}, {"old": OTHER_THINGS, "new": OTHER_THINGS}),
]
EXEMPT = {
    "lib.drift.code_digest": "takes no arguments",
    "lib.drift.main": "prints what is wrong and returns 2, as a command does; tested in test_drift",
}
