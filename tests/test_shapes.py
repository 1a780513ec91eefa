"""Closed forms keep the shapes of their arguments: numbers, arrays of any number of axes, and empty ones."""

import inspect

import numpy as np
import pytest

from tests.test_bad_input import CASES, dotted
from tests.test_extremes import numeric

OF_VECTORS = {"labels", "signed_inputs", "total", "inputs", "margins", "w"}  # they have axes of their own


def broadcasting(case):
    """Return the arguments that broadcast, if the document of a closed form says so."""
    if not dotted(case).startswith("lib.theory.") or OF_VECTORS & set(case.valid):
        return []
    if not any(said in case.call.__doc__ for said in ("broadcast", "any shape")):
        return []
    parameters = inspect.signature(case.call).parameters
    return [name for name in case.valid if "ArrayLike" in str(parameters[name].annotation)]


def results(found):
    """Return the arrays of a result, a tuple or dataclass of them."""
    if isinstance(found, tuple):
        return [part for each in found for part in results(each)]
    fields = getattr(found, "__dataclass_fields__", None)
    return [found] if fields is None else [part for name in fields for part in results(getattr(found, name))]


@pytest.mark.parametrize(
    ("case", "name"),
    [pytest.param(case, name, id=f"{dotted(case)}:{name}") for case in CASES for name in broadcasting(case)],
)
def test_results_have_the_shape_of_the_arguments(case, name):
    single = {key: float(numeric(case.valid[key]).flat[0]) for key in broadcasting(case)}
    alone = results(case.call(**{**case.valid, **single}))
    for shape in [(), (2,), (3, 1), (0,), (0, 2)]:
        found = results(case.call(**{**case.valid, **single, name: np.full(shape, single[name])}))
        for one, many in zip(alone, found, strict=True):
            own = np.shape(one)  # axes that the result has for a number, before or behind the shape
            assert np.shape(many) in (shape + own, own + shape)
            if not own:
                np.testing.assert_allclose(many, np.full(shape, one), rtol=1e-9)
