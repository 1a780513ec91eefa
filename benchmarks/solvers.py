"""The event-driven flow beside what a user would pick instead: scipy on the weights, at equal error."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from lib.data.synthetic import orthonormal_inputs
from lib.flow import gradient_flow
from lib.models.two_layer import Start
from lib.training.losses import SQUARE

ERRORS = (1e-4, 1e-6, 1e-8, 1e-10)
SCIPY = ("RK45", "DOP853")
TOLERANCES = {
    "flow": (1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12),
    "RK45": (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12),
    "DOP853": (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13),
}
LATE = 10.0  # a solver that takes so many times as long as the flow is given up
READ = 200  # times at which outputs are compared


@dataclass(frozen=True)
class Case:
    """A network at its start, what it learns under the sum of square losses, and until when."""

    title: str
    start: Start
    inputs: np.ndarray
    labels: np.ndarray
    until: float

    @property
    def times(self) -> np.ndarray:
        """The times at which outputs are read, (T,)."""
        return np.linspace(0, self.until, READ + 1)

    def flow(self, rtol: float) -> np.ndarray:
        """Return the outputs by the event-driven flow, (T, n)."""
        run = gradient_flow(
            self.start, self.inputs, self.labels, SQUARE, until=self.until, reduction="sum", rtol=rtol
        )
        return run.outputs(self.times)

    def solve(self, method: str, rtol: float, seconds: float = np.inf) -> np.ndarray:
        """Return the outputs by a solver of scipy, (T, n); ``TimeoutError`` after so many seconds."""
        network = self.start.network()
        size, end = network.w.size, time.perf_counter() + seconds
        transposed = np.ascontiguousarray(self.inputs.T)

        def velocity(_time: float, state: np.ndarray) -> np.ndarray:
            """Return minus the gradient of the loss."""
            if time.perf_counter() > end:
                raise TimeoutError
            w, a = state[:size].reshape(network.w.shape), state[size:]
            z = np.maximum(w @ transposed, 0)
            residual = self.labels - a @ z
            in_w = ((z > 0) * residual) @ self.inputs
            return np.concatenate([(a[:, None] * in_w).ravel(), z @ residual])

        first = np.concatenate([network.w.ravel(), network.a])
        atol = 1e-2 * rtol * np.abs(first).max()
        states = solve_ivp(
            velocity, (0, self.until), first, method, t_eval=self.times, rtol=rtol, atol=atol
        ).y.T
        w, a = states[:, :size].reshape(-1, *network.w.shape), states[:, size:]
        return np.einsum("tm,tmn->tn", a, np.maximum(w @ transposed, 0))


def two_points() -> Case:
    """The two points of boursier2022, Figures 2 and 3, with 60 neurons; its time is that of the mean."""
    start = Start.gaussian(60, 2, np.log(1e-6 / np.sqrt(60)), rng=np.random.default_rng(0))
    inputs, labels = np.array([(-0.5, 1.0), (2.0, 1.0)]), np.array([-1.0, 1.0])
    return Case("Two points, 60 neurons", start, inputs, labels, 20.0)


def orthonormal() -> Case:
    """Eight orthonormal inputs in 32 dimensions, 64 neurons."""
    rng = np.random.default_rng(0)
    inputs = orthonormal_inputs(8, 32, rng=rng)
    start = Start.gaussian(64, 32, np.log(0.01), rng=rng)
    return Case("Eight orthonormal inputs, 64 neurons", start, inputs, np.resize([1.0, -1.0], 8), 15.0)


def random_inputs() -> Case:
    """Twenty Gaussian inputs in ten dimensions, 30 neurons."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((20, 10)) / np.sqrt(10)
    start = Start.gaussian(30, 10, np.log(0.01), rng=rng)
    return Case("Twenty Gaussian inputs, 30 neurons", start, inputs, rng.choice([-1.0, 1.0], 20), 15.0)


CASES = (two_points, orthonormal, random_inputs)


def reference(case: Case) -> tuple[np.ndarray, float]:
    """Return outputs (T, n) at a tolerance of 1e-13, and the seconds after which a solver is late.

    They are DOP853's; where that is late, as from units that slide along a boundary, the flow's.
    """
    seconds, outputs = timed(case, "flow", 1e-13)
    try:
        return timed(case, "DOP853", 1e-13, LATE * seconds)[1], LATE * seconds
    except TimeoutError:
        return outputs, LATE * seconds


def cheapest(case: Case, way: str, truth: np.ndarray, limit: float) -> dict[float, float]:
    """Return for each error the tolerance at which a way reaches it in the least time; none if it is late."""
    tried: dict[float, tuple[float, float]] = {}
    for rtol in TOLERANCES[way]:
        try:
            seconds, outputs = timed(case, way, rtol, limit)
        except TimeoutError:
            break
        tried[rtol] = seconds, float(np.abs(outputs - truth).max())
    enough = {
        error: {rtol: seconds for rtol, (seconds, reached) in tried.items() if reached <= error}
        for error in ERRORS
    }
    return {error: min(runs, key=lambda rtol: runs[rtol]) for error, runs in enough.items() if runs}


def timed(case: Case, way: str, rtol: float, limit: float = np.inf) -> tuple[float, np.ndarray]:
    """Return the seconds of a run and its outputs; ``TimeoutError`` after ``limit`` of scipy's."""
    begin = time.perf_counter()
    outputs = case.flow(rtol) if way == "flow" else case.solve(way, rtol, limit)
    return time.perf_counter() - begin, outputs


def least_seconds(
    case: Case, runs: Mapping[str, Mapping[float, float]], rounds: int
) -> dict[tuple[str, float], float]:
    """Return the least time of each way and error, of interleaved rounds."""
    least: dict[tuple[str, float], float] = {}
    for _ in range(rounds):
        for way, tolerances in runs.items():
            for error, rtol in tolerances.items():
                seconds, _ = timed(case, way, rtol)
                least[way, error] = min(seconds, least.get((way, error), np.inf))
    return least


def compared(case: Case, error: float, least: Mapping[tuple[str, float], float]) -> dict[str, Any]:
    """Return the seconds of the flow at an error and of scipy's better method; of one that is late, none."""
    ours = least.get(("flow", error))
    ends = {way: least[way, error] for way in SCIPY if (way, error) in least}
    method = min(ends, key=lambda way: ends[way], default=None)
    plain = ends[method] if method else None
    return {
        **{"case": case.title, "error": error, "method": method},
        "seconds": {"ours": ours, "plain": plain},
        "ratio": plain / ours if ours and plain else None,
    }


def measure(rounds: int) -> list[dict[str, Any]]:
    """Return what is compared of each case and error, of so many rounds."""
    rows = []
    for make in CASES:
        case = make()
        truth, limit = reference(case)
        runs = {way: cheapest(case, way, truth, limit) for way in ("flow", *SCIPY)}
        least = least_seconds(case, runs, rounds)
        rows += [compared(case, error, least) for error in ERRORS]
    return rows
