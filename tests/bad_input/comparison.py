"""Bad arguments of what compares the papers' numbers with ours."""

import dataclasses

from hypothesis import strategies as st

from lib import paper_values, side_by_side
from tests.bad_input.cases import NEGATIVE, NOT_FINITE, NOT_NUMBERS, Case
from tests.bad_input.experiments import NOT_VARIANTS
from tests.folders import kept_folder

FOLDER = kept_folder("bad-comparison")
FILE = FOLDER / "toy.yml"
FILE.write_text("{paper: toy, places: [], without_numbers: []}", encoding="utf-8")
(FOLDER / "empty").mkdir()
(FOLDER / "foreign.yml.txt").write_text("[1, 2]", encoding="utf-8")

NOT_REAL = NOT_FINITE | NOT_NUMBERS
UNKNOWN_CLAIMS = st.sampled_from([("no-such-claim",), (None,), ("",)])
OTHER_THINGS = st.sampled_from([None, 3, "thing", [1], {"values": (1,)}])
MISSING_FILES = st.sampled_from([FOLDER / "missing.yml", FOLDER / "foreign.yml.txt"])
THIRD = paper_values.PaperValue("toy-1", "toy", "Table 1", "A third", "x", 0.33)
ONE = side_by_side.Measurement((1 / 3,))
NUMBER = {"experiment": "boursier2022-figure-6", "value": lambda metrics, config: 1.0}

CASES = [
    Case(
        paper_values.PaperValue,
        {
            **dataclasses.asdict(THIRD),
            "error": 0.005,
            "origin": "rounded",
            "relation": "is",
            "claims": ("combes2018-tab-1",),
        },
        {
            "value": NOT_REAL,
            "error": NEGATIVE,
            "origin": st.just(""),
            "relation": st.sampled_from(["near", None, ""]),
            "claims": UNKNOWN_CLAIMS,
        },
    ),
    Case(
        paper_values.Wordless,
        {"place": "Figure 1", "what": "a drawing", "claims": ()},
        {"claims": UNKNOWN_CLAIMS},
    ),
    Case(paper_values.read_numbers, {"path": FILE}, {"path": MISSING_FILES}),
    Case(paper_values.read_papers, {"folder": FOLDER}, {"folder": st.just(FOLDER / "empty")}),
    Case(
        side_by_side.Measurement,
        {"values": (1.0, None)},
        {"values": st.just(()) | st.tuples(st.just(1.0), NOT_REAL.filter(lambda value: value is not None))},
    ),
    Case(
        side_by_side.Reading,
        {**NUMBER, "variants": ("full",)},
        {
            "experiment": st.just("no-such-experiment"),
            "variants": st.tuples(NOT_VARIANTS.filter(bool)),
            "remarks": st.just({"no-such-variant": "smaller"}),
        },
    ),
    Case(side_by_side.show_number, {"value": 1.0}, {"value": NOT_REAL}),
    Case(side_by_side.show_spread, {"measurement": ONE}, {"measurement": OTHER_THINGS}),
    Case(
        side_by_side.comparison_table,
        {"rows": [side_by_side.Row(THIRD, ONE)]},
        {"rows": st.just([]) | st.lists(OTHER_THINGS, min_size=1, max_size=3)},
    ),
]
EXEMPT = {"lib.recorded_claims.verify_recorded": "needs a record; tested in test_recorded_claims"}
