"""The papers' experiments at reduced size: draws, independence of seeds, and what their records must show."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from lib.experiments import boursier2022, min2024, sarussi2021
from lib.experiments.comparison import differences
from lib.experiments.records import DIGITS
from lib.experiments.registry import find, load
from tests.images import write_mnist


@pytest.mark.parametrize("name", load())
def test_metrics_are_plain_and_a_seed_alone_gives_what_it_gives_among_others(name):
    """In the configuration of the fingerprint; several experiments train all seeds in one batch."""
    experiment = find(name)
    config = experiment.fingerprint_of(experiment.full)
    together, [alone] = (experiment.run(config, seeds, "cpu") for seeds in ((0, 1), (1,)))
    assert json.loads(json.dumps(together, allow_nan=False)) == together and together[0] != together[1]
    assert not [*differences(together[1], alone, digits=DIGITS)]


@pytest.mark.parametrize(
    ("run", "config"),
    [
        (min2024.run_two_digits, min2024.TwoDigits(images="test", iterations=4, points=2)),
        (sarussi2021.run_digit_pairs, sarussi2021.DigitPairs("test", ((1, 0),), ("small-start",), epochs=1)),
    ],
)
def test_mnist_comes_from_the_folder_of_the_reader(run, config, tmp_path, monkeypatch):
    monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"t10k-images-idx3-ubyte.gz is not in"):
        run(config, [0])
    write_mnist(tmp_path, monkeypatch)
    [metrics] = run(config, [0])
    assert sum(metrics.get("1-0", metrics.get("data"))["examples"]) == 5


class TestHighDimension:
    NAME = "boursier2022-figure-6"

    def test_the_draws_are_those_of_the_published_code(self):
        """Its statements in their order, with torch's own layers and its global seed."""
        config = boursier2022.HighDimension()
        with torch.random.fork_rng():
            torch.manual_seed(4)
            hidden = torch.nn.Linear(150, 6, bias=False)
            torch.nn.init.normal_(hidden.weight.data, std=1 / np.sqrt(6 * 150))
            output = torch.nn.Linear(6, 1, bias=False)
            torch.nn.init.normal_(output.weight.data, std=1 / np.sqrt(6))
            x = torch.randn(75, 150)
            y = output(torch.relu(hidden(x))).detach()[:, 0]
            start = torch.nn.Linear(150, 200, bias=False)
            torch.nn.init.normal_(start.weight.data, std=1e-20 / np.sqrt(200 * 150))
            signs = 2 * torch.bernoulli(0.5 * torch.ones_like(torch.nn.Linear(200, 1, bias=False).weight)) - 1
        drawn = boursier2022.draw(config, 4)
        assert np.array_equal(drawn[0], x.double().numpy())
        # Sums of 150 and 6 products in float32, in an order of its own.
        np.testing.assert_allclose(drawn[1], y.double().numpy(), atol=156 * 2**-24)
        np.testing.assert_allclose(drawn[2] * 1e-20 / np.sqrt(30_000), start.weight.detach(), rtol=2**-22)
        assert np.array_equal(drawn[3], signs[0].double().numpy())
        assert (drawn[1] > 0).sum() == 36

    def test_longer_steps_follow_the_same_flow_to_first_order_and_its_drops_are_at_half_height(self):
        config = find(self.NAME).quick
        curves = []
        for refinement in (1, 2, 4):
            refined = dataclasses.replace(
                config,
                step=config.step / refinement,
                iterations=config.iterations * refinement,
                stages=(),
                points=100,
            )
            metrics = boursier2022._one_seed(refined, 0)
            curves.append(np.array(metrics["mean_squared_error"]))
        errors = [np.abs(curve - curves[2]).max() for curve in curves[:2]]
        # Against a quarter of the step the errors are 3 to 1 in first order; 4 digits are recorded.
        assert errors[0] / errors[1] == pytest.approx(3, rel=0.15)
        assert errors[0] < 0.05 * curves[2][0]
        saddle = metrics["saddle_level"]
        for name, level in (("first", (curves[2][0] + saddle) / 2), ("second", saddle / 2)):
            k = metrics["iterations"].index(metrics[f"{name}_drop"])
            assert curves[2][k] < level <= curves[2][k - 1]

    def test_a_class_without_examples_has_no_cosine_and_no_saddle(self):
        experiment = find(self.NAME)
        config = dataclasses.replace(experiment.fingerprint_of(experiment.full), iterations=5, stages=(0,))
        [metrics] = experiment.run(config, (9,), "cpu")
        assert metrics["positive_labels"] == metrics["saddle_level"] == 0
        assert metrics["second_drop"] is metrics["stages"][0]["median_cosines"][0] is None
        assert metrics["stages"][0]["median_cosines"][1] is not None


class TestTwoDigits:
    NAME = "min2024-figure-5"

    def test_the_time_to_fit_grows_with_the_logarithm_of_the_scale_and_the_alignment_does_not(self):
        config = dataclasses.replace(find(self.NAME).quick, per_class=60, points=210, iterations=2100)
        small, smaller = (
            min2024.run_two_digits(dataclasses.replace(config, deviation=deviation), [0])[0]
            for deviation in (1e-6, 1e-12)
        )
        assert abs(smaller["all_aligned"] - small["all_aligned"]) <= 10  # one point of the curves
        # Along x_+ weights grow by e in n/(eta |x_+|) iterations, of both signs since x_- = -x_+.
        x, y = min2024._data(config)
        fold = len(y) / config.step / np.linalg.norm((y > 0) @ x)
        delay = smaller["loss_falls"] - small["loss_falls"]
        assert delay == pytest.approx(fold * np.log(1e6), rel=0.02)

    def test_facts_of_data_agree_with_all_pairs_at_once(self):
        x, y = min2024._data(min2024.TwoDigits(images="digits", positive=3, negative=8, per_class=120))
        facts = min2024._facts(x, y)
        pairs = ~np.eye(len(y), dtype=bool)
        obeys = (np.outer(y, y) * (x @ x.T) > 0)[pairs]
        assert facts["examples"] == [120, 120]
        np.testing.assert_allclose(facts["inner_products"], [(x @ x.T).min(), (x @ x.T).max()])
        assert facts["pairs_of_right_sign"] == pytest.approx(obeys.mean(), abs=1e-15)
        assert facts["pairs_of_right_sign_by_class"]["same"] == pytest.approx(
            obeys[(np.outer(y, y) > 0)[pairs]].mean(), abs=1e-15
        )
        # Centred: the class sums are opposite up to rounding of sums of 120 numbers below 1.
        assert facts["cosine_of_class_sums"] == pytest.approx(-1, abs=1e-12)


class TestTwoMoons:
    def test_the_curves_of_the_responses_end_at_the_final_ones(self):
        experiment = find("pezeshki2021-figure-2")
        for metrics in experiment.run(experiment.quick, range(3), "cpu"):
            for setting in metrics.values():
                assert [curve[-1] for curve in setting["responses"]] == [
                    setting["final_responses"][k] for k in (1, 6)
                ]
                assert all(curve[0] == 0 for curve in setting["responses"])
