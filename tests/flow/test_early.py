"""The early phase of small starts in closed form, and where the integration takes over."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.flow import gradient_flow
from lib.flow.early import Stage
from lib.flow.trajectory import Weights
from lib.flow.weights import weights_flow
from lib.models.two_layer import Start, TwoLayer
from lib.training.losses import LOGISTIC, SQUARE
from tests.flow.problems import CLOUD, CLOUD_LABELS, DIRECTIONS, SIGNS, TWO_LABELS, TWO_POINTS, unbalanced


def scaled(network, log_scale, train):
    """Return the start of a network times exp(log_scale), of its first layer alone if that is trained."""
    start = Start.of(network)
    outputs = start.log_outputs + (log_scale if train == "both" else 0.0)
    return Start(start.directions, start.log_norms + log_scale, start.signs, outputs)


@pytest.mark.parametrize(("train", "power"), [("both", 8), ("first", 8), ("both", 1000), ("first", 1000)])
def test_the_early_phase_of_unbalanced_starts_is_exact(train, power):
    """In units of the start, and of its time, the early phase is the flow under constant forces."""
    network = unbalanced(6, 3, seed=4, scale=1.0)
    forces = CLOUD_LABELS / (2 * len(CLOUD_LABELS))
    times = np.linspace(0.0, 4.0, 9)[1:]
    log_scale = -power * np.log(10)
    first = scaled(network, log_scale, train)
    run = gradient_flow(first, CLOUD, CLOUD_LABELS, LOGISTIC, train=train, until=5.0)

    def field(_t, state):
        w, a = state[:18].reshape(6, 3), state[18:]
        drive = ((w @ CLOUD.T > 0) * forces) @ CLOUD
        return np.append((a[:, None] * drive).ravel(), (drive * w).sum(1) * (train == "both"))

    start = np.append(network.w.ravel(), network.a)
    end = solve_ivp(field, (0, 4), start, t_eval=times, rtol=1e-9, atol=1e-11, max_step=0.01)
    # With the first layer alone a time is of the size of the weights.
    at = run.at(times) if train == "both" else run.at(log_times=np.log(times) + log_scale)
    reached = np.exp(at.log_norms - log_scale)[..., None] * at.directions
    np.testing.assert_allclose(reached, end.y[:18].T.reshape(-1, 6, 3), atol=1e-6)


@pytest.mark.parametrize("log_scale", [-0.5, -30.0])
@pytest.mark.parametrize("balanced", [True, False])
def test_twins_have_equal_paths(log_scale, balanced):
    """Each neuron is replaced by two, whose squared weights are shares of its own: the same network.

    Every second network begins with neurons on boundaries, where output weights change their signs.
    """
    for seed in range(6):
        network, x = unbalanced(5, 3, seed, scale=1.0), CLOUD[1:]
        w = network.w - (seed % 2) * ((network.w * x).sum(axis=1) / (x**2).sum(axis=1))[:, None] * x
        a = np.copysign(np.linalg.norm(w, axis=1), network.a) if balanced else network.a
        once, share = scaled(TwoLayer(w, a), log_scale, "both"), np.log([0.3, 0.7])[:, None] / 2
        twice = Start(
            np.tile(once.directions, (2, 1)),
            *(
                (np.tile(part, (2, 1)) + change * share).ravel()
                for part, change in ((once.log_norms, 1), (once.signs, 0), (once.log_outputs, 1))
            ),
        )
        until = 3.0 - 4 * log_scale
        one, two = (
            gradient_flow(start, CLOUD, CLOUD_LABELS, LOGISTIC, until=until) for start in (once, twice)
        )
        np.testing.assert_allclose(two.directions[:, :5], two.directions[:, 5:], atol=1e-9)
        apart = np.broadcast_to(share[1] - share[0], two.log_norms[:, :5].shape)
        np.testing.assert_allclose(two.log_norms[:, 5:] - two.log_norms[:, :5], apart, atol=1e-9)
        np.testing.assert_allclose(two.outputs([until]), one.outputs([until]), atol=1e-6)


def test_from_a_boundary_closed_forms_and_integration_go_the_same_way():
    """Starts of size 1e-9 and 1e-5 are alike, while the latter are too large for the early phase."""
    turned = 0
    for seed in range(26):
        rng = np.random.default_rng(seed)
        x, y, w = rng.standard_normal((4, 3)), rng.choice([-1.0, 1.0], 4), rng.standard_normal((3, 3))
        w -= ((w * x[:3]).sum(axis=1) / (x[:3] ** 2).sum(axis=1))[:, None] * x[
            :3
        ]  # the j-th is on boundary j
        a, shares = rng.standard_normal(3), np.sqrt([[0.3], [0.7]])  # of twins, which turn together
        network = TwoLayer(np.vstack(shares[:, :, None] * w), (shares * a).ravel())
        options = {"until": 2.0, "reduction": "sum"}
        tiny, small = (
            gradient_flow(scaled(network, log_scale, "both"), x, y, LOGISTIC, **options)
            for log_scale in np.log([1e-9, 1e-5])
        )
        assert tiny.evaluations == 0 < small.evaluations
        np.testing.assert_allclose(tiny.at([2.0]).directions, small.at([2.0]).directions, atol=1e-6)
        held = np.abs(tiny.directions @ x.T).min(axis=2) < 1e-12
        # A neuron may die, held on two boundaries: its direction is then rounding, but not its weights.
        weights = tiny.directions * np.exp(tiny.log_norms - tiny.log_norms.max(axis=0))[:, :, None]
        np.testing.assert_allclose(weights[:, :3], weights[:, 3:], atol=1e-9)
        np.testing.assert_array_equal(tiny.signs[-1, :3], tiny.signs[-1, 3:])
        turned += (held[1:] & (np.diff(tiny.signs, axis=0) != 0)).any()
    assert turned > 3  # on a boundary the output weight changes its sign


@pytest.mark.parametrize("train", ["both", "first"])
def test_the_scale_of_a_tiny_start_only_shifts_time(train):
    network = unbalanced(6, 3, seed=4, scale=1.0)
    ends = []
    for power in (6, 100, 1000):
        start = scaled(network, -power * np.log(10), train)
        run = gradient_flow(start, CLOUD, CLOUD_LABELS, LOGISTIC, train=train, until=8 * power + 50)
        passed = np.abs(run.outputs()).max(axis=1) > 1e-3
        # The time until outputs are noticed grows with the scale; afterwards all runs are alike.
        ends.append(run.outputs([run.times[np.argmax(passed)] + 10.0])[0])
    np.testing.assert_allclose(ends[1], ends[2], rtol=0.05, atol=1e-4)
    np.testing.assert_allclose(ends[0], ends[2], rtol=0.05, atol=1e-4)


def test_the_exact_early_phase_joins_the_integration():
    start = Start.gaussian(20, 2, -20 * np.log(10), rng=np.random.default_rng(0))
    run = gradient_flow(start, TWO_POINTS, TWO_LABELS, SQUARE, until=70.0)
    # In weights of size 1e-20, where the other integrator loses its order at each activation change.
    how = {"rates": 0.5, "rtol": 1e-10, "atol": 1e-30}
    plain = weights_flow(start.network(), TWO_POINTS, TWO_LABELS, SQUARE, [0.0, 70.0], **how)
    large = run.log_norms[-1] > -20
    log_norms = np.log(np.linalg.norm(plain.w[-1], axis=1))
    np.testing.assert_allclose(run.log_norms[-1][large], log_norms[large], atol=1e-6)
    assert large.sum() > 5


@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("log_outputs", [-22.0, -19.0])
def test_the_weights_at_time_zero_are_those_of_the_start(train, log_outputs):
    first = Start(DIRECTIONS, np.full(5, -20.0), SIGNS, np.full(5, log_outputs))
    start = gradient_flow(first, CLOUD, CLOUD_LABELS, SQUARE, train=train, until=1.0).at([0.0])
    np.testing.assert_allclose(start.directions[0], DIRECTIONS, atol=1e-14)
    np.testing.assert_allclose(start.log_norms[0], -20.0, rtol=1e-14)
    np.testing.assert_allclose(start.log_outputs[0], log_outputs, rtol=1e-14)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_tiny_first_layer_passes_the_origin(slope):
    # The first unit is pushed through zero at a time of 1e-1000; the second has to start from there.
    start = Start([[1.0], [-1.0]], [-2302.0, -2300.0], [1, -1], [0.0, 0.0])
    run = gradient_flow(start, [[1.0]], [-1.0], LOGISTIC, train="first", slope=slope, until=2.0)

    def field(_t, w):
        z = np.where(w > 0, w, slope * w)
        force = -expit(z[0] - z[1])
        return force * np.where(w > 0, 1.0, slope) * [1, -1]

    exact = solve_ivp(field, (0, 2), [-1e-300 * slope, 1e-300 * slope], rtol=1e-10, atol=1e-12).y[:, -1]
    weights = np.exp(run.log_norms[-1]) * run.directions[-1, :, 0]
    np.testing.assert_allclose(weights, exact, atol=1e-8)


@pytest.mark.parametrize("seed", [361, 478])
def test_an_output_weight_of_zero_is_a_start_like_any_other(seed):
    """Two of six hundred draws at which a root finder of a hundred steps gives up."""
    rng = np.random.default_rng(seed)
    network = TwoLayer(np.exp(rng.uniform(-6, 1)) * rng.standard_normal((1, 3)), [0.0])
    x, y = rng.standard_normal((2, 3)), [1.0, -1.0]
    run = gradient_flow(network, x, y, LOGISTIC, until=0.01)
    plain = weights_flow(network, x, y, LOGISTIC, [0.0, 0.01], rates=0.5)
    np.testing.assert_allclose(run.network_at().a, plain.a[-1], rtol=1e-6)


def test_an_output_weight_turns_though_rounding_leaves_it_on_its_old_side():
    """In this draw a neuron held on two boundaries comes to a zero of its output weight that is not exact."""
    rng = np.random.default_rng(3_000_112)
    drawn, outputs = Start.gaussian(200, 6, -30 * np.log(10), rng=rng), rng.standard_normal(200)
    logs = np.log(np.abs(outputs)) - 30 * np.log(10)
    start = Start(drawn.directions, drawn.log_norms, np.sign(outputs), logs)
    run = gradient_flow(start, np.eye(6), [1, 1, 1, -0.7, -0.7, -0.7], SQUARE, until=40.0)
    assert run.times[-1] == 40 and run.signs[0, 31] == -1 and run.signs[-1, 31] == 1


def test_a_tiny_first_layer_below_large_outputs_follows_its_exact_solution_from_the_start():
    run = gradient_flow(Start([[1.0]], [-30.0], [1], [0.0]), [[1.0]], [1.0], SQUARE, train="first", until=1.0)
    times = np.geomspace(1e-9, 1.0, 19)  # f' = 1 - f
    np.testing.assert_allclose(run.outputs(times)[:, 0], np.exp(-30.0) - np.expm1(-times), rtol=1e-8)
    start = Start([[1.0]], [-28.0], [1], [5.0])  # layers that differ by e^33
    both = gradient_flow(start, [[1.0]], [1.0], SQUARE, until=1e-4).network_at()
    plain = weights_flow(start.network(), [[1.0]], [1.0], SQUARE, [0.0, 1e-4])
    np.testing.assert_allclose(both.w, plain.w[-1], rtol=1e-7)


def test_neurons_alike_turn_together_whatever_their_sizes_and_their_order():
    """Of copies of a neuron on a boundary all outputs pass zero at one time, and all go on in one way."""
    turned = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, y, w = rng.standard_normal((4, 3)), rng.choice([-1.0, 1.0], 4), rng.standard_normal(3)
        w, a = w - (w @ x[0]) / (x[0] @ x[0]) * x[0], rng.standard_normal()
        copies = rng.uniform(0.1, 1.0, 5)
        network = TwoLayer(copies[:, None] * w, copies * a)
        run = gradient_flow(scaled(network, np.log(1e-9), "both"), x, y, LOGISTIC, until=4.0)
        sizes = np.exp(run.log_norms - np.log(copies) - run.log_norms.max())[..., None]
        assert np.ptp(sizes * run.directions, axis=1).max() < 1e-9
        assert (run.signs[-1] == run.signs[-1, 0]).all()
        turned += (np.diff(run.signs[:, 0]) != 0).any()
    assert turned > 2


def test_a_stage_resolves_a_neuron_on_its_way_to_zero():
    """One that is balanced, and opposite to its drive D: ``|w| = a`` falls as ``exp(-|D| t)``."""
    start = Weights(np.array([[1.0]]), np.array([-1000.0]), np.array([-1.0]), np.array([-1000.0]))
    end = Stage(start, np.array([[0.5]]), trains_outputs=True).after(np.log([1600.0]))
    assert end.directions[0, 0, 0] == 1.0 and end.signs[0, 0] == -1.0
    np.testing.assert_allclose([end.log_norms[0, 0], end.log_outputs[0, 0]], -1800.0, rtol=1e-12)
