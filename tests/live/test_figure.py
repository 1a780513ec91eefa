"""What all live figures share: their controls say the state, wherever it comes from."""

from itertools import pairwise

import pytest

from tests.live.scripts import call

THUMBS = """(values, states) => {
  const made = {};
  const create = document.createElement;
  document.createElement = (name) => (made[name] = thing());
  const figure = new m.LiveFigure(thing(), { power: values[0] }, () => "");
  figure.slider("power", { label: "power", values });
  document.createElement = create;
  return states.map((power) => {
    figure.set({ power });
    return made.input.value;
  });
}"""


@pytest.mark.parametrize("values", [[0.5, 1, 1.5, 2, 3, 30], [1, 2, 100]])
def test_a_slider_of_listed_values_stands_at_the_last_one_that_is_not_above_the_state(values):
    """An address may ask for a value between these."""
    states = [*values, *(low + 0.3 * (high - low) for low, high in pairwise(values))]
    for place, state in zip(call("live/figure", THUMBS, values, states), states, strict=True):
        assert values[place] <= state
        assert place == len(values) - 1 or state < values[place + 1]
