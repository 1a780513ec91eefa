"""Random problems of the alignment flow, and what is measured on their exact solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, generator, number, signs, whole
from lib.data.synthetic import cone_data
from lib.flow import gradient_flow
from lib.flow.alignment import AlignmentPhase, alignment_phase
from lib.flow.trajectory import Trajectory
from lib.geometry.patterns import activation_patterns, illegal_changes, least_signed_cosine, regions
from lib.theory import alignment_bounds as bounds
from lib.training.losses import Loss


@dataclass(frozen=True)
class Aligned:
    """Neurons ``w`` (m, d) with output ``signs`` (m,), data (n, d) with ``labels`` (n,), and their flow.

    Example:

    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> run.w.shape, run.log_norms.shape, round(run.constants.mu, 4)
    ((20, 2), (20,), 0.8829)
    """

    w: np.ndarray
    signs: np.ndarray
    inputs: np.ndarray
    labels: np.ndarray
    phase: AlignmentPhase

    @property
    def constants(self) -> bounds.AlignmentConstants:
        """The constants of the theorem; ``ValueError`` when the data are not orthogonally separable."""
        return bounds.alignment_constants(self.w, self.signs, self.inputs, self.labels)

    @property
    def log_norms(self) -> np.ndarray:
        """Logarithms of the norms at the start, (m,)."""
        return np.log(np.linalg.norm(self.w, axis=1))


def align(
    inputs: ArrayLike,
    labels: ArrayLike,
    m: int,
    *,
    rng: np.random.Generator,
    extra: tuple[ArrayLike, ArrayLike] | None = None,
) -> Aligned:
    """Follow m Gaussian neurons of alternating sign, and ``extra`` ones (weights, signs), to their ends.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1, ``extra`` weights (k, d), none of
    them zero, and signs (k,).  Where data outside the theorem hold a unit on a boundary, it slides.  Raises
    ``ValueError`` naming a bad argument.

    Example:

    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> run.phase.settled.all(), run.signs[:4]
    (np.True_, array([ 1., -1.,  1., -1.]))
    """
    x = array("inputs", inputs, ("n", "d"))
    y = signs("labels", labels, (len(x),))
    w, s = generator("rng", rng).standard_normal((whole("m", m, 1), x.shape[1])), np.resize([1.0, -1.0], m)
    if extra is not None:
        more = array("weights of extra", extra[0], ("k", x.shape[1]))
        if (zero := np.flatnonzero(~more.any(axis=1))).size:
            raise ValueError(f"extra holds zero weights for neuron {zero[0]}, allowed: other weights")
        w, s = np.vstack([w, more]), np.append(s, signs("signs of extra", extra[1], (len(more),)))
    return Aligned(w, s, x, y, alignment_phase(w, s, x, y, sliding=True))


def adversaries(
    inputs: ArrayLike, labels: ArrayLike, distances: ArrayLike, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return neurons at about these distances from the class sum that repels them, and their signs.

    ``inputs`` is (n, d), ``labels`` (n,), with +1 and -1 both present; ``distances`` (k,), not negative, are
    those to the class sums divided by their lengths.  The weights are (2k, d), those of k positive neurons,
    then of k negative ones.  Raises ``ValueError`` naming a bad argument.

    Example:

    >>> w, signs = adversaries(np.diag([2.0, 3.0]), [1, -1], [0.0], rng=np.random.default_rng(0))
    >>> w.tolist(), signs.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [1.0, -1.0])
    """
    distances = array("distances", distances, ("k",), 0, ends="[)")
    sums = bounds.class_sums(inputs, labels)
    if not all(total.any() for total in sums):
        raise ValueError("labels holds one class, or inputs of a class sum to zero; allowed: two classes")
    units = [total / np.linalg.norm(total) for total in sums[::-1]]
    w = np.repeat(units, len(distances), axis=0)
    w = w + np.tile(distances, 2)[:, None] * generator("rng", rng).standard_normal(w.shape)
    return w, np.repeat([1.0, -1.0], len(distances))


def draw_problem(
    *,
    rng: np.random.Generator,
    m: int = 50,
    separable: bool = True,
    distances: ArrayLike | None = None,
) -> Aligned:
    """Draw 2 to 12 data of both classes in 2 to 7 dimensions, mu from 1e-3 to 0.9, and align m neurons.

    ``separable=False`` puts Gaussian inputs in place of the cone; ``distances`` (k,) adds those
    of :func:`lib.flow.survey.adversaries`.  Raises ``ValueError`` naming a bad argument.

    Example:

    >>> run = draw_problem(rng=np.random.default_rng(0), m=8)
    >>> run.w.shape, run.inputs.shape, run.constants.mu > 0
    ((8, 7), (9, 7), True)
    """
    generator("rng", rng)
    d, n = int(rng.integers(2, 8)), int(rng.integers(2, 13))
    positive, mu = int(rng.integers(1, n)), 10 ** rng.uniform(-3, -0.05)
    inputs, labels = cone_data(positive, n - positive, d, mu, rng=rng, norms=(0.5, 2.0))
    if not separable:
        inputs = rng.standard_normal((n, d))
    extra = None if distances is None else adversaries(inputs, labels, distances, rng=rng)
    return align(inputs, labels, m, rng=rng, extra=extra)


def count_illegal(run: Aligned) -> int:
    """Return how many activation changes lose an own or gain a foreign datum; none under the theorem.

    Example:

    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> count_illegal(run)
    0
    """
    return int(illegal_changes(run.phase.events, run.signs, run.labels).sum())


def most_changes(run: Aligned) -> int:
    """Return the number of activation changes of the neuron that changes most.

    Example:

    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> most_changes(run)
    3
    """
    return int(np.bincount(run.phase.events.neuron, minlength=1).max())


def count_wrong_ends(run: Aligned) -> tuple[int, int]:
    """Return how many neurons end neither in their own region nor dead, and how many outside of it though
    they start active on an own datum; none under the theorem.

    Example:

    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> count_wrong_ends(run)
    (0, 0)
    """
    end, own = regions(run.phase.patterns, run.labels), np.where(run.signs > 0, "S+", "S-")
    own_data = run.signs[:, None] * run.labels > 0
    began = (activation_patterns(run.w, run.inputs) & own_data).any(axis=1)
    return int(((end != own) & (end != "dead")).sum()), int((began & (end != own)).sum())


def crossing_rates(run: Aligned) -> np.ndarray:
    """Return the rates ``<z_i/|x_i|, x_a>`` at all changes of neurons that are alive after them.

    In units of ``|mu|^(3/2) X_min``, the bound of the paper under Assumption 1; ``|mu| X_min`` is the sharp
    one.  Returns (changes,).  [min2024, App. C.2]

    Example:

    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> (crossing_rates(run) >= 1).all()
    np.True_
    """
    before, after = run.phase.stage_patterns[:-1], run.phase.stage_patterns[1:]
    happens = np.isfinite(run.phase.starts[1:])[..., None] & (before != after)
    stage, neuron, datum = np.nonzero(happens)
    others = (before & after)[stage, neuron]
    signed, lengths = run.labels[:, None] * run.inputs, np.linalg.norm(run.inputs, axis=1)
    rates = np.einsum("ed,ed->e", others @ signed, signed[datum]) / lengths[datum]
    mu = abs(least_signed_cosine(run.inputs, run.labels))
    return rates[others.any(axis=1)] / (mu**1.5 * lengths.min())


def stage_ratios(run: Aligned) -> tuple[float, float]:
    """Return the longest stage over the paper's bound on it, and over the sharp one.

    Both are 0 without changes; ``ValueError`` for data not orthogonally separable.  [min2024, App. C.2]

    Example:

    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> printed, sharp = stage_ratios(run)
    >>> printed < sharp <= 1
    True
    """
    constants, phase = run.constants, run.phase
    ends = np.isfinite(phase.starts[1:])
    durations = phase.starts[1:][ends] - phase.starts[:-1][ends]
    least = min(constants.zeta, constants.xi)
    active = phase.stage_patterns[:-1][ends].sum(axis=1)
    drift = np.linalg.norm(phase.drifts[:-1][ends], axis=1)
    printed = durations / bounds.stage_time(active, least, constants.mu, constants.x_min)
    sharp = durations / bounds.sharp_stage_time(drift, least)
    return float(printed.max(initial=0)), float(sharp.max(initial=0))


def flow_from(run: Aligned, log_scale: float, loss: Loss, until: float, slope: float = 0.0) -> Trajectory:
    """Integrate the full gradient flow of both layers from the same shape, times ``exp(log_scale)``.

    ``log_scale`` is a natural logarithm, ``until`` the last time; the loss is summed over data.  Raises
    ``ValueError`` naming a bad argument.

    Example: at a tiny scale the full flow is the alignment phase.

    >>> from lib.training.losses import TWICE_LOGISTIC
    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> flow = flow_from(run, -2000.0, TWICE_LOGISTIC, until=2.0)
    >>> (np.abs(flow.at([2.0]).directions - run.phase.at([2.0])[0]) < 1e-12).all()
    np.True_
    """
    log_scale = number("log_scale", log_scale)
    directions = run.w / np.linalg.norm(run.w, axis=1)[:, None]
    start = (directions, run.log_norms + log_scale, run.signs)
    return gradient_flow(*start, run.inputs, run.labels, loss, until=until, reduction="sum", slope=slope)


def direction_error(
    flow: Trajectory, labels: ArrayLike, shortfall: Callable[[np.ndarray], np.ndarray], times: ArrayLike
) -> float:
    """Return the largest distance of ``dv_j/dt`` from ``s_j (I - v v^T) x_a`` over neurons and times.

    ``shortfall`` gives ``-y dl/df - 1`` as a function of margins, written so that it keeps its digits near
    margin 0 (``expm1(-q)`` for the exponential loss): the difference of two nearly equal drifts has none.
    ``labels`` (n,) are +1 and -1, ``times`` (k,) within the flow, else ``ValueError``.  [min2024, Lemma 4]

    Example:

    >>> from lib.training.losses import EXPONENTIAL
    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> flow = flow_from(run, -20.0, EXPONENTIAL, until=1.0)
    >>> 0 < direction_error(flow, run.labels, lambda q: np.expm1(-q), [0.0, 1.0]) < 1e-13
    True
    """
    labels = signs("labels", labels, (len(flow.inputs),))
    (v, *_), missing = flow.at(times), labels * shortfall(labels * flow.outputs(times))
    pull = (np.where(v @ flow.inputs.T > 0, 1.0, flow.slope) * missing[:, None]) @ flow.inputs
    across = pull - (pull * v).sum(axis=2, keepdims=True) * v
    return float(np.linalg.norm(across, axis=2).max())


def lemma_ratios(
    run: Aligned,
    log_scale: float,
    loss: Loss,
    shortfall: Callable[[np.ndarray], np.ndarray],
    *,
    slope: float = 0.0,
    stretch: float = 1.0,
) -> tuple[float, float]:
    """Return the largest output and the largest direction error up to ``stretch * T``, over their bounds.

    The bounds are those of Lemmas 3 and 1, and T is the end of their window; ``shortfall`` is that of
    :func:`lib.flow.survey.direction_error`; ``stretch`` is positive.  Raises ``ValueError`` for a scale above
    the one that the lemmas allow, and for other bad arguments.  [min2024, Lemmas 1 and 3]

    Example:

    >>> from lib.training.losses import EXPONENTIAL
    >>> run = align([[1.0, 0.2], [1.0, -0.3], [-1.0, 0.1]], [1, 1, -1], 20, rng=np.random.default_rng(0))
    >>> output, error = lemma_ratios(run, -20.0, EXPONENTIAL, lambda q: np.expm1(-q))
    >>> 0 < output < 1, 0 < error < 1
    (True, True)
    """
    log_scale, stretch = number("log_scale", log_scale), number("stretch", stretch, 0)
    (m, _), n = run.w.shape, len(run.labels)
    x_max, w_max = np.linalg.norm(run.inputs, axis=1).max(), np.exp(run.log_norms.max())
    allowed = -np.log(4 * np.sqrt(m) * x_max * w_max**2)
    if log_scale > allowed:
        raise ValueError(f"log_scale is {log_scale:.3g}; Lemma 3 of min2024 allows at most {allowed:.3g}")
    until = stretch * float(bounds.negligible_window(n, m, x_max, log_scale))
    times, flow = np.linspace(0, until, 60), flow_from(run, log_scale, loss, until, slope)
    output, error = np.abs(flow.outputs(times)).max(), direction_error(flow, run.labels, shortfall, times)
    log_bounds = (
        bounds.log_output_bound(m, x_max, w_max, log_scale),
        bounds.log_direction_error_bound(n, m, x_max, w_max, log_scale),
    )
    with np.errstate(divide="ignore"):  # no output at all: its logarithm is minus infinity, the ratio zero
        ratios = np.exp(np.log([output, error]) - log_bounds)
    return float(ratios[0]), float(ratios[1])
