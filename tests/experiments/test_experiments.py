"""The papers' experiments at reduced size: draws, independence of seeds, and what their records must show."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from lib.experiments import boursier2022, min2024, pezeshki2021
from lib.experiments.registry import find
from lib.models.mlps import MlpBatch
from tests.images import write_mnist

NAMES = ["boursier2022-figure-6", "min2024-figure-5", "pezeshki2021-figure-2", "pezeshki2021-figure-3"]
SEEDS = range(3)


@pytest.fixture(scope="module")
def quick():
    """The metrics of the first three seeds of an experiment's quick configuration, computed once."""
    known = {}

    def metrics(name):
        if name not in known:
            experiment = find(name)
            known[name] = experiment.run(experiment.quick, SEEDS, "cpu")
        return known[name]

    return metrics


def close(one, other):
    """Whether two structures of JSON are equal up to rounding in the fourth digit, as they are recorded."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    return one == other or (isinstance(one, float) and abs(one - other) <= 2e-3 * abs(one) + 1e-9)


def shape(metrics):
    """The keys of a structure of JSON, without what is kept of some seeds only."""
    if not isinstance(metrics, dict):
        return None
    return {
        key: shape(value)
        for key, value in metrics.items()
        if key not in ("pictures", "output_signs", "boundary")
    }


@pytest.mark.parametrize("name", NAMES)
def test_metrics_are_plain_finite_and_of_the_same_shape_for_each_seed(name, quick):
    metrics = quick(name)
    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics
    # Ten seeds of a record stay below 200 kB.
    assert len(json.dumps(metrics)) < 20_000 * len(SEEDS)
    assert all(shape(one) == shape(metrics[0]) for one in metrics)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_alone_gives_what_it_gives_among_others(name, quick):
    experiment = find(name)
    assert close(experiment.run(experiment.quick, [2], "cpu"), quick(name)[2:3])


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
        drawn = boursier2022._draw(config, 4)
        assert np.array_equal(drawn[0], x.double().numpy())
        # Sums of 150 and 6 products in float32, in an order of its own.
        np.testing.assert_allclose(drawn[1], y.double().numpy(), atol=156 * 2**-24)
        np.testing.assert_allclose(drawn[2] * 1e-20 / np.sqrt(30_000), start.weight.detach(), rtol=2**-22)
        assert np.array_equal(drawn[3], signs[0].double().numpy())
        assert (drawn[1] > 0).sum() == 36

    def test_longer_steps_follow_the_same_flow_to_first_order(self):
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
            curves.append(np.array(boursier2022._one_seed(refined, 0)["mean_squared_error"]))
        errors = [np.abs(curve - curves[2]).max() for curve in curves[:2]]
        # Against a quarter of the step the errors are 3 to 1 in first order; 4 digits are recorded.
        assert errors[0] / errors[1] == pytest.approx(3, rel=0.15)
        assert errors[0] < 0.05 * curves[2][0]

    def test_balanced_classes_are_fitted_one_after_the_other(self, quick):
        """As Figures 6 and 7 show it, for the draws whose classes pull about equally."""
        for metrics in quick(self.NAME):
            strong, weak = max(metrics["forces"]), min(metrics["forces"])
            errors = np.array(metrics["mean_squared_error"])
            assert (np.diff(errors) <= 1e-3 * errors[0]).all()
            if strong > 2 * weak:
                continue
            first, second = metrics["first_drop"], metrics["second_drop"]
            iterations = np.array(metrics["iterations"])
            between = errors[np.abs(iterations - (first + second) / 2).argmin()]
            assert between == pytest.approx(metrics["saddle_level"], rel=0.2)
            assert errors[-1] < 0.02 * errors[0]
            start, aligned = metrics["stages"][:2]
            assert max(np.abs(start["median_cosines"])) < 0.1 < 0.6 < min(aligned["median_cosines"])
            # Aligned while small: nothing is fitted yet.
            assert max(aligned["squared_norms"]) < 0.01 or aligned["iteration"] >= first

    def test_two_components_explain_less_at_the_end_than_before(self, quick):
        for metrics in quick(self.NAME):
            shares = np.array(metrics["explained_by_two"])
            assert shares[-1] == pytest.approx(sum(metrics["final_explained"][:2]), rel=1e-3)
            assert shares[0] < shares[-1] < shares.max()


class TestTwoDigits:
    NAME = "min2024-figure-5"

    def test_neurons_align_before_norms_grow(self, quick):
        """As Figure 5 shows it; what the paper says of the stable rank comes earlier."""
        for metrics in quick(self.NAME):
            grown = metrics["norm_grows"], metrics["loss_falls"]
            assert metrics["stable_rank_below_two"] < metrics["all_aligned"] < min(grown)
            # One goes with the other: both happen within a tenth of the time until then.
            assert max(grown) < 1.1 * min(grown)
            assert metrics["final"]["stable_rank"] < 1.1
            assert metrics["final"]["accuracy"] == 1
            for name in ("positive", "negative"):
                least, mean = (np.array(metrics[f"{kind}_cosine_{name}"]) for kind in ("least", "mean"))
                # The alignment drops when the loss falls.
                assert least[0] < 0.1 < 0.95 < mean[-1] < mean.max()

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

    def test_a_large_start_is_the_control(self):
        config = dataclasses.replace(find(self.NAME).quick, deviation=0.3, iterations=300)
        [metrics] = min2024.run_two_digits(config, [0])
        assert metrics["all_aligned"] is None
        assert metrics["stable_rank_below_two"] is None
        assert metrics["loss_falls"] < 30

    def test_facts_of_data_agree_with_all_pairs_at_once(self):
        x, y = min2024._data(min2024.TwoDigits(images="digits", positive=3, negative=8, per_class=120))
        facts = min2024._facts(x, y)
        pairs = ~np.eye(len(y), dtype=bool)
        obeys = (np.outer(y, y) * (x @ x.T) > 0)[pairs]
        assert facts["examples"] == [120, 120]
        assert facts["pairs_of_right_sign"] == pytest.approx(obeys.mean(), abs=1e-15)
        assert facts["pairs_of_right_sign_by_class"]["same"] == pytest.approx(
            obeys[(np.outer(y, y) > 0)[pairs]].mean(), abs=1e-15
        )
        # Centred: the class sums are opposite up to rounding of sums of 120 numbers below 1.
        assert facts["cosine_of_class_sums"] == pytest.approx(-1, abs=1e-12)

    def test_mnist_comes_from_the_folder_of_the_reader(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path))
        config = min2024.TwoDigits(images="test")
        with pytest.raises(FileNotFoundError, match=r"t10k-images-idx3-ubyte.gz is not in"):
            min2024.run_two_digits(config, [0])
        write_mnist(tmp_path, monkeypatch)
        small = dataclasses.replace(config, iterations=4, points=2)
        assert min2024.run_two_digits(small, [0])[0]["data"]["examples"] == [3, 2]


class TestTwoMoons:
    def test_a_gap_straightens_the_boundary_and_decoupling_bends_it(self, quick):
        """As Figure 2 (a) to (c) show it."""
        for metrics in quick("pezeshki2021-figure-2"):
            overlap, gap, decoupled = (metrics[name] for name in ("overlap", "gap", "decoupled"))
            assert gap["bend"] < 0.05 < min(overlap["bend"], decoupled["bend"])
            assert decoupled["margin"] > 1.5 * gap["margin"]
            assert gap["loss"] < 0.01
            assert all(setting["accuracy"] == 1 for setting in (gap, decoupled))

    def test_a_gap_starves_the_weaker_feature_and_decoupling_feeds_it(self, quick):
        """As Figure 2, right, shows it, on the mean of the seeds."""
        responses = {
            name: np.abs([one[name]["final_responses"] for one in quick("pezeshki2021-figure-2")]).mean(
                axis=0
            )
            for name in ("overlap", "gap", "decoupled")
        }
        strong, weak = 1, 6
        assert responses["gap"][strong] > 1.3 * responses["overlap"][strong]
        assert responses["decoupled"][strong] < 0.5 * responses["gap"][strong]
        assert responses["gap"][weak] < 0.5 * responses["overlap"][weak]
        assert responses["decoupled"][weak] > 1.3 * responses["gap"][weak]

    def test_the_curves_of_the_responses_end_at_the_final_ones(self, quick):
        for metrics in quick("pezeshki2021-figure-2"):
            for setting in metrics.values():
                assert [curve[-1] for curve in setting["responses"]] == [
                    setting["final_responses"][k] for k in (1, 6)
                ]
                assert all(curve[0] == 0 for curve in setting["responses"])

    def test_of_common_practices_none_bends_the_boundary(self, quick):
        """As Figure 3 shows it: the decoupled one is last and beats all others, for each seed."""
        for metrics in quick("pezeshki2021-figure-3"):
            assert len(metrics) == 10
            bends = {name: one["bend"] for name, one in metrics.items()}
            margins = {name: one["margin"] for name, one in metrics.items()}
            best = bends.pop("decoupled"), margins.pop("decoupled")
            assert best[0] > max(bends.values()) and best[1] > max(margins.values())
            assert bends["gap"] < 0.02

    def test_turned_data_and_network_give_the_same_measures(self):
        """A network that is a linear function of the first coordinate, seen through the turn of the data."""
        config = find("pezeshki2021-figure-2").quick
        kind = {"dtype": torch.float64, "device": "cpu"}
        measures = []
        for setting in ("gap", "rotated"):
            draw = pezeshki2021._draw(config, setting, [5], kind)
            axis = torch.tensor(draw.turn[0], **kind)[None, :, None]
            weights = [torch.cat([axis, -axis], dim=-1), torch.tensor([[[1.0], [-1.0]]], **kind)]
            biases = [torch.zeros(1, 1, width, **kind) for width in (2, 1)]
            measures.append(pezeshki2021._boundary(MlpBatch(weights, biases), draw, kind))
        assert measures[0]["accuracy"] == measures[1]["accuracy"] == 1
        assert measures[1]["margin"] == pytest.approx(measures[0]["margin"], abs=1e-12)
        # Its boundary is the straight line between the moons, which lie 0.1 from it but for the noise.
        assert measures[1]["bend"] < 1e-12 and measures[1]["slope_ratio"] < 1e-12
        assert measures[1]["margin"] == pytest.approx(0.1, abs=0.02)

    def test_a_network_without_a_boundary_has_no_margin(self):
        config = find("pezeshki2021-figure-2").quick
        kind = {"dtype": torch.float64, "device": "cpu"}
        weights = [torch.zeros(1, 2, 3, **kind), torch.zeros(1, 3, 1, **kind)]
        biases = [torch.zeros(1, 1, 3, **kind), torch.ones(1, 1, 1, **kind)]
        draw = pezeshki2021._draw(config, "gap", [0], kind)
        measures = pezeshki2021._boundary(MlpBatch(weights, biases), draw, kind)
        assert (measures["margin"], measures["bend"], measures["slope_ratio"]) == (None, None, None)
        assert measures["boundary"] == []
        assert measures["accuracy"] == 0.5
