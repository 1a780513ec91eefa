"""Random problems of the alignment flow, and what is measured on their exact solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lib.datasets import cone_data
from lib.flow import gradient_flow
from lib.flow.alignment import AlignmentPhase, alignment_phase
from lib.flow.trajectory import Trajectory
from lib.geometry import activation_patterns, illegal_changes, least_signed_cosine, regions
from lib.losses import Loss
from lib.theory import alignment_bounds as bounds


@dataclass(frozen=True)
class Aligned:
    """Neurons ``w`` (m, d) with output ``signs`` (m,), data (n, d) with ``labels`` (n,), and their flow."""

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
    inputs: np.ndarray,
    labels: np.ndarray,
    m: int,
    *,
    rng: np.random.Generator,
    extra: tuple[np.ndarray, np.ndarray] | None = None,
) -> Aligned:
    """Follow m Gaussian neurons of alternating sign, and ``extra`` ones (weights, signs), to their ends.

    Where data outside the theorem hold a unit on a boundary, it slides.
    """
    w, signs = rng.standard_normal((m, inputs.shape[1])), np.resize([1.0, -1.0], m)
    if extra is not None:
        w, signs = np.vstack([w, extra[0]]), np.append(signs, extra[1])
    return Aligned(w, signs, inputs, labels, alignment_phase(w, signs, inputs, labels, sliding=True))


def adversaries(
    inputs: np.ndarray, labels: np.ndarray, distances: np.ndarray, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return neurons at about these distances from the class sum that repels them, and their signs."""
    units = [total / np.linalg.norm(total) for total in bounds.class_sums(inputs, labels)[::-1]]
    w = np.repeat(units, len(distances), axis=0)
    w = w + np.tile(distances, 2)[:, None] * rng.standard_normal(w.shape)
    return w, np.repeat([1.0, -1.0], len(distances))


def draw_problem(
    *,
    rng: np.random.Generator,
    m: int = 50,
    separable: bool = True,
    distances: np.ndarray | None = None,
) -> Aligned:
    """Draw 2 to 12 data of both classes in 2 to 7 dimensions, mu from 1e-3 to 0.9, and align m neurons.

    ``separable=False`` puts Gaussian inputs in place of the cone; ``distances`` adds adversaries.
    """
    d, n = int(rng.integers(2, 8)), int(rng.integers(2, 13))
    positive, mu = int(rng.integers(1, n)), 10 ** rng.uniform(-3, -0.05)
    inputs, labels = cone_data(positive, n - positive, d, mu, rng=rng, norms=(0.5, 2.0))
    if not separable:
        inputs = rng.standard_normal((n, d))
    extra = None if distances is None else adversaries(inputs, labels, distances, rng=rng)
    return align(inputs, labels, m, rng=rng, extra=extra)


def count_illegal(run: Aligned) -> int:
    """Return how many activation changes lose an own or gain a foreign datum."""
    return int(illegal_changes(run.phase.events, run.signs, run.labels).sum())


def most_changes(run: Aligned) -> int:
    """Return the number of activation changes of the neuron that changes most."""
    return int(np.bincount(run.phase.events.neuron, minlength=1).max())


def count_wrong_ends(run: Aligned) -> tuple[int, int]:
    """Return how many neurons end neither in their own region nor dead, and how many that start active on an
    own datum end outside their own region."""
    end, own = regions(run.phase.patterns, run.labels), np.where(run.signs > 0, "S+", "S-")
    own_data = run.signs[:, None] * run.labels > 0
    began = (activation_patterns(run.w, run.inputs) & own_data).any(axis=1)
    return int(((end != own) & (end != "dead")).sum()), int((began & (end != own)).sum())


def crossing_rates(run: Aligned) -> np.ndarray:
    """Return the rates ``<z_i/|x_i|, x_a>`` at all changes of neurons that are alive after them.

    In units of ``|mu|^(3/2) X_min``, the bound of the paper under Assumption 1; ``|mu| X_min`` is the sharp
    one.  [min2024, App. C.2]
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
    """Return the longest stage over the paper's bound on it, and over the sharp one."""
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

    ``slope`` is that of the leaky ReLU.
    """
    directions = run.w / np.linalg.norm(run.w, axis=1)[:, None]
    start = (directions, run.log_norms + log_scale, run.signs)
    return gradient_flow(*start, run.inputs, run.labels, loss, until=until, reduction="sum", slope=slope)


def direction_error(
    flow: Trajectory, labels: np.ndarray, shortfall: Callable[[np.ndarray], np.ndarray], times: np.ndarray
) -> float:
    """Return the largest distance of ``dv_j/dt`` from ``s_j (I - v v^T) x_a`` over neurons and times.

    ``shortfall`` gives ``-y dl/df - 1`` as a function of margins, written so that it keeps its digits near
    margin 0 (``expm1(-q)`` for the exponential loss): the difference of two nearly equal drifts has none.
    [min2024, Lemma 4]
    """
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
    :func:`direction_error`.  Raises ``ValueError`` for a scale above the one that the lemmas allow.
    [min2024, Lemmas 1 and 3]
    """
    (m, _), n = run.w.shape, len(run.labels)
    x_max, w_max = np.linalg.norm(run.inputs, axis=1).max(), np.exp(run.log_norms.max())
    allowed = -np.log(4 * np.sqrt(m) * x_max * w_max**2)
    if log_scale > allowed:
        raise ValueError(f"log_scale is {log_scale:.3g}; Lemma 3 of min2024 allows at most {allowed:.3g}")
    until = stretch * bounds.negligible_window(n, m, x_max, log_scale)
    times, flow = np.linspace(0, until, 60), flow_from(run, log_scale, loss, until, slope)
    output, error = np.abs(flow.outputs(times)).max(), direction_error(flow, run.labels, shortfall, times)
    log_bounds = (
        bounds.log_output_bound(m, x_max, w_max, log_scale),
        bounds.log_direction_error_bound(n, m, x_max, w_max, log_scale),
    )
    with np.errstate(divide="ignore"):  # no output at all: its logarithm is minus infinity, the ratio zero
        ratios = np.exp(np.log([output, error]) - log_bounds)
    return float(ratios[0]), float(ratios[1])
