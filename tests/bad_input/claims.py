"""Bad arguments of the ledger, of claims, and of what shows them."""

import numpy as np
from hypothesis import strategies as st
from matplotlib.figure import Figure

from lib import claims, comparisons, figures, ledger, prose
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_FINITE,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
)

MEASURED = np.array([[0.9, 1.0, 1.1], [1.0, 1.0, 1.0]])
NOT_MEASURED = NOT_NUMBERS | holding(MEASURED, NOT_FINITE) | st.just([])
NOT_TARGETS = NOT_NUMBERS.filter(lambda value: value is not None) | NOT_FINITE | misshapen(MEASURED)
NOT_TOLERANCES = NEGATIVE | NOT_FINITE | NOT_NUMBERS | st.just([0.1])
NOT_WORDS = st.sampled_from(["", " \n", None, 3])
NOT_REAL = NOT_FINITE | NOT_NUMBERS | st.just([1.0, 2.0])

CLAIM = ledger.Claim("toy-1", "toy", "Eq. (1)", "identity", "Statement.", "verified")
TOY = ledger.Paper("toy", "Title", "Authors", 2020, "0000.00000", (CLAIM,), ())
AXES = Figure().add_subplot()

COMPARED = {"measured": NOT_MEASURED, "rtol": NOT_TOLERANCES, "atol": NOT_TOLERANCES}
CASES = [
    Case(
        comparisons.compare,
        {"measured": MEASURED, "at_most": 2.0, "at_least": 0.5, "rtol": 0.1, "atol": 0.0},
        {**COMPARED, "at_most": NOT_TARGETS, "at_least": NOT_TARGETS},
    ),
    Case(claims.Variant, {"what": "a dropped factor", "predicted": 2.0}, {"what": NOT_WORDS}),
    Case(
        claims.verify,
        {
            "claim_id": "toy-1",
            "measured": MEASURED,
            "predicted": np.ones((2, 3)),
            "rtol": 0.1,
            "atol": 0.01,
            "because": "rounded",
            "control": claims.Variant("half of it", predicted=0.5),
            "printed": None,
            "ledger": (TOY,),
        },
        {
            **COMPARED,
            "claim_id": NOT_WORDS | st.text(max_size=4),
            "predicted": NOT_TARGETS,
            "because": NOT_WORDS,
            "control": NOT_NUMBERS,
            "printed": NOT_NUMBERS.filter(lambda value: value is not None),
            "data": NOT_WORDS.filter(lambda value: value is not None),
        },
    ),
    Case(
        ledger.find_claim,
        {"claim_id": "toy-1", "ledger": (TOY,)},
        {"claim_id": NOT_WORDS | st.text(max_size=4)},
    ),
    Case(prose.say, {"width": 1.0}, {"width": NOT_FINITE | st.sampled_from([1j, None, [1.0, 2.0]])}),
    Case(
        figures.panels,
        {"columns": 1, "rows": 1, "height": 1.0},
        {
            "columns": NOT_WHOLE | st.just(0),
            "rows": NOT_WHOLE | st.just(0),
            "height": NOT_POSITIVE | NOT_FINITE | NOT_NUMBERS,
        },
    ),
    Case(
        figures.label_curve,
        {"axes": AXES, "x": 0.5, "y": 0.5, "text": "loss", "colour": figures.SIMULATION},
        {"x": NOT_REAL, "y": NOT_REAL, "colour": st.sampled_from(["blau", "", None, "#12", 3.0])},
    ),
    Case(figures.mark_time, {"axes": AXES, "time": 0.5, "text": "death"}, {"time": NOT_REAL}),
    Case(
        figures.live,
        {"name": "neuron_orbits", "rates": [1.0, 2.0]},
        {"name": NOT_WORDS | st.just("../plot"), "rates": NOT_NUMBERS | holding([1.0, 2.0], NOT_FINITE)},
    ),
]
EXEMPT = {
    "lib.ledger.read_paper": "a file is its only argument; mistaken files are tested in test_claims",
    "lib.figures.use_style": "takes no argument",
}
