"""The experiments of sarussi2021 at reduced size: their draws and their measures."""

import dataclasses

import numpy as np
import pytest

from lib.data.digits import digits_pair
from lib.experiments import sarussi2021
from lib.experiments.registry import find
from lib.geometry.patterns import agreement, perfect_agreement_margin
from lib.models.two_layer import Start


def test_each_seed_draws_a_start_of_its_own():
    """Angles between neurons at the start depend on nothing else."""
    for name, first in (("sarussi2021-figure-2", "0-1"), ("sarussi2021-figure-9", None)):
        experiment = find(name)
        metrics = experiment.run(experiment.fingerprint_of(experiment.full), (0, 1), "cpu")
        angles = [(one[first] if first else one)["small-start"]["angle"][0] for one in metrics]
        assert angles[0] != angles[1]


class TestDigitPairs:
    def test_examples_are_split_without_loss_or_repetition(self):
        config = sarussi2021.DigitPairs("digits")
        training, test = sarussi2021._split(config, (0, 1), 3)
        x, y = digits_pair(0, 1, centred=False)
        assert len(test[1]) == round(0.3 * len(y))
        together = np.vstack([np.column_stack(part) for part in (training, test)])
        expected = np.column_stack([x, y])
        assert np.array_equal(together[np.lexsort(together.T)], expected[np.lexsort(expected.T)])
        assert not np.array_equal(test[0], sarussi2021._split(config, (0, 1), 4)[1][0])

    def test_a_field_of_a_table_is_the_setting_of_these_sizes(self):
        """And its count does not depend on step and scale."""
        fields = "0.3 0.02 1e-06", "0.3 0.5 0.1"
        config = sarussi2021.DigitPairs("digits", ((3, 5),), ("small-start", *fields), step=0.02, epochs=2)
        [metrics] = sarussi2021.run_digit_pairs(config, [7])
        named, same, other = (metrics["3-5"][setting] for setting in config.settings)
        count = same.pop("count")
        assert same == named and other["count"] == pytest.approx(count, rel=1e-3)


class TestGaussianClasses:
    def test_the_outlier_is_added_to_the_same_classes(self):
        config = find("sarussi2021-figure-9").full
        x, y = sarussi2021._draw(config, 3)
        alone = sarussi2021._draw(dataclasses.replace(config, outlier=None), 3)
        assert np.array_equal(x[:-1], alone[0]) and np.array_equal(y[:-1], alone[1])
        assert not np.array_equal(x, sarussi2021._draw(config, 4)[0])
        assert np.linalg.norm(x[-1]) == pytest.approx(4, rel=1e-15)
        assert y[-1] == 1 and x[-1, 0] < 0 < x[-1, 1]

    def test_what_is_looked_at_agrees_with_the_margins_of_the_regimes(self):
        """On networks of few neurons, random or drawn to a teacher; some agree, some are right."""
        rng = np.random.default_rng(5)
        x, teacher = rng.standard_normal((3, 2)), rng.standard_normal(2)
        y, seen = np.sign(x @ teacher), set()
        for pull in np.linspace(0, 5, 200):
            network = Start.two_sided(2, 2, 0.0, rng=rng).network(0.5)
            network = network.with_weights(network.w + pull * np.outer(network.a, teacher), network.a)
            look = sarussi2021._look_at_regimes(network, x, y)
            w, u = np.split(network.w, 2)
            for neurons, name in ((w, "w"), (u, "u")):
                assert (look[f"disagreements_{name}"] == 0) == (agreement(neurons, x)[1] > 0)
            perfect = perfect_agreement_margin(w, u, x, y) > 0
            assert (look["share_w"] == look["share_u"] == 1) == perfect
            seen.add((perfect, look["disagreements_w"] == 0))
        assert seen == {(False, False), (False, True), (True, True)}

    def test_where_clustered_networks_end_is_known_in_three_cases(self):
        """Symmetric classes; three points whose w neurons stay on the normal of the second; no program."""
        x = np.array([[1.0, 0.2], [-1.0, -0.2]])
        assert sarussi2021._limit(x, np.array([1.0, -1.0]), 0.5)["limit"] == "perfect"
        x = np.array([[1.0, 0.0], [-np.sqrt(0.75), 0.5], [-1.0, 0.0]])
        found = sarussi2021._limit(x, np.array([1.0, 1.0, -1.0]), 0.1)
        assert found["certificate"] <= 0 and found["limit"] == "kink"
        x = np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 1.0]])
        nothing = {"certificate": None, "limit": None}
        assert sarussi2021._limit(x, np.array([1.0, 1.0, -1.0]), 0.5) == nothing
