"""The fifteen paths of Figure 6 of pezeshki2021: integrated, against 5,000 steps of gradient descent each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from scipy.integrate import odeint, solve_ivp
from scipy.special import expit, logit

from benchmarks.measure import Comparison
from lib.theory.dual import FeatureProblem, rotation, two_features

STEPS, PRIMAL_STEP, DUAL_STEP = 5_000, 0.05, 3e-6
RIDGE, PENALTY, COUPLING, DUAL_START = 0.01, 0.002, 0.5, 1e-8
U = rotation(COUPLING)
PROBLEMS = [two_features(COUPLING, s, 2.0, RIDGE) for s in (2.0, 3.0, 4.0, 5.0, 6.0)]
PRIMAL_TIMES, DUAL_TIMES = (step * np.arange(STEPS + 1) for step in (PRIMAL_STEP, DUAL_STEP))


def integrate(
    velocity: Callable[[float, np.ndarray], np.ndarray], start: float, times: np.ndarray
) -> np.ndarray:
    """One path by LSODA, at the tolerance of the chapter."""
    return odeint(velocity, np.full(2, start), times, tfirst=True, rtol=1e-10, atol=1e-10, mxstep=100_000)


def responses(problem: FeatureProblem, ridge: float, penalty: float) -> np.ndarray:
    """The flow of the parameters, read in the responses."""
    squares = problem.strengths**2

    def velocity(_: float, z: np.ndarray) -> np.ndarray:
        return squares * (U.T @ expit(-U @ z) - penalty * z) - ridge * z

    return integrate(velocity, 0.0, PRIMAL_TIMES)


def dual(problem: FeatureProblem) -> np.ndarray:
    """The dual flow in log p, read in the responses."""
    coupling = problem.coupling

    def velocity(_: float, log_p: np.ndarray) -> np.ndarray:
        p = np.exp(log_p)
        return (np.log1p(-p) - log_p - coupling @ p) / p

    return problem.responses(np.exp(integrate(velocity, np.log(DUAL_START), DUAL_TIMES)))


def ours() -> np.ndarray:
    """Responses (3, 5, times, 2) of the primal, the decoupled and the dual flow."""
    return np.array(
        [
            [responses(problem, RIDGE, 0.0) for problem in PROBLEMS],
            [responses(problem, 0.0, PENALTY) for problem in PROBLEMS],
            [dual(problem) for problem in PROBLEMS],
        ]
    )


def descend(
    objective: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], strengths: np.ndarray
) -> np.ndarray:
    """Gradient descent on the parameters of a linear model with features ``U S``; returns the responses."""
    u = torch.tensor(U)
    features = u * torch.tensor(strengths)
    theta = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.SGD([theta], lr=PRIMAL_STEP)
    margins = [torch.zeros(2, dtype=torch.float64)]
    for _ in range(STEPS):
        optimiser.zero_grad()
        objective(features @ theta, theta).backward()
        optimiser.step()
        margins.append((features @ theta).detach())
    return (torch.stack(margins) @ u).numpy()


def ascend(coupling: np.ndarray) -> np.ndarray:
    """Explicit steps of the dual; returns p."""
    couplings, p = torch.tensor(coupling), torch.full((2,), DUAL_START, dtype=torch.float64)
    path = [p]
    for _ in range(STEPS):
        p = p + DUAL_STEP * (torch.log((1 - p) / p) - couplings @ p)
        path.append(p)
    return torch.stack(path).numpy()


def plain() -> np.ndarray:
    softplus = torch.nn.functional.softplus

    def ridged(q: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return softplus(-q).sum() + RIDGE / 2 * theta.square().sum()

    def decoupled(q: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return softplus(-q).sum() + PENALTY / 2 * q.square().sum()

    return np.array(
        [
            [descend(ridged, problem.strengths) for problem in PROBLEMS],
            [descend(decoupled, problem.strengths) for problem in PROBLEMS],
            [problem.responses(ascend(problem.coupling)) for problem in PROBLEMS],
        ]
    )


@cache
def reference() -> np.ndarray:
    """The flows of the parameters, and of the logit of p, by another method of scipy at rounding."""

    def solve(velocity: Callable, start: np.ndarray, times: np.ndarray) -> np.ndarray:
        options = dict(method="DOP853", t_eval=times, rtol=3e-14, atol=1e-14, first_step=1e-14)
        return solve_ivp(velocity, (0, times[-1]), start, **options).y.T

    def primal(problem: FeatureProblem, ridge: float, penalty: float) -> np.ndarray:
        features = U * problem.strengths

        def velocity(_: float, theta: np.ndarray) -> np.ndarray:
            q = features @ theta
            return features.T @ (expit(-q) - penalty * q) - ridge * theta

        return solve(velocity, np.zeros(2), PRIMAL_TIMES) @ features.T @ U

    def dual(problem: FeatureProblem) -> np.ndarray:
        coupling = problem.coupling

        def velocity(_: float, w: np.ndarray) -> np.ndarray:
            p = expit(w)
            return (-w - coupling @ p) / (p * (1 - p))

        return problem.responses(expit(solve(velocity, np.full(2, logit(DUAL_START)), DUAL_TIMES)))

    return np.array(
        [
            [primal(problem, RIDGE, 0.0) for problem in PROBLEMS],
            [primal(problem, 0.0, PENALTY) for problem in PROBLEMS],
            [dual(problem) for problem in PROBLEMS],
        ]
    )


def error(paths: np.ndarray) -> float:
    return float(np.abs(paths - reference()).max())


three_kinds = Comparison(
    title="Fifteen paths of Figure 6, integrated",
    plain_title="15 times 5,000 steps of gradient descent in torch",
    ours=ours,
    plain=plain,
    error=error,
    error_of="responses, largest difference over all paths",
    goal="at least 100",
    needed=100,
    plain_rounds=2,
)
