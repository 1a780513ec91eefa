"""Arguments at the edges of the range of floats are computed with or refused by name, without a warning."""

import numpy as np
import pytest

from lib.least_norm import Infeasible
from tests.test_bad_input import CASES, dotted

AREAS = ("lib.theory.", "lib.programs.", "lib.separation.", "lib.least_norm.", "lib.geometry.")
SIZES = [5e-324, 1e-300, 1e-150, 1e150, 1e300, 1e308, -1e-300, -1e300]
# What integrates a flow takes ever more steps for huge times and stiff starts.
SLOW = (
    "capture",
    "captors",
    "forgetting_flow",
    "leading_ratio",
    "largest_cosine_outside",
)


def numeric(value):
    """Return an argument as an array if it is numbers."""
    try:
        return None if isinstance(value, str) else np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None


NAMED = [
    (case, name)
    for case in CASES
    for name, value in case.valid.items()
    if dotted(case).startswith(AREAS) and case.call.__name__ not in SLOW and numeric(value) is not None
]


@pytest.mark.parametrize(("case", "name"), NAMED, ids=[f"{dotted(case)}:{name}" for case, name in NAMED])
def test_extreme_arguments_are_computed_with_or_refused(case, name):
    given = numeric(case.valid[name])
    for size in SIZES:
        with np.errstate(over="ignore", under="ignore"):
            changed = [np.full(given.shape, size), given * size] if given.ndim else [size]
        for value in changed:
            try:
                case.call(**{**case.valid, name: value})
            except Infeasible:
                continue
            except ValueError as error:
                assert any(argument in str(error) for argument in (*case.valid, "Assumption"))
