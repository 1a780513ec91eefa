"""`verify`, which decides the claims of the ledger, and the verdicts it returns.

A chapter decides an entry of the ledger with one call of :func:`verify`, which fails if the measurement fails
*or* if its negative control passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from lib.ledger import Claim, Paper, find_claim

MIME = "application/vnd.learning-dynamics.claim+json"


class ClaimFailed(AssertionError):
    """A claim, its negative control or its printed form did not do what the ledger says."""


@dataclass(frozen=True)
class Variant:
    """The same comparison with something changed, which therefore must fail.

    ``what`` says in words what was changed.  Give ``measured`` when a hypothesis was broken, and one of
    ``predicted``, ``at_most``, ``at_least`` when the theory was made wrong; what is not given is taken
    from the claim's own comparison.
    """

    what: str
    measured: ArrayLike | None = None
    predicted: ArrayLike | None = None
    at_most: ArrayLike | None = None
    at_least: ArrayLike | None = None


@dataclass(frozen=True)
class Comparison:
    """The worst entry of a measurement against its target, as plain floats."""

    measured: float
    predicted: float | None
    at_most: float | None
    at_least: float | None
    error: float
    tolerance: float
    size: int
    failing: int

    @property
    def holds(self) -> bool:
        return self.failing == 0


def _numbers(name: str, value: ArrayLike, shape: tuple[int, ...] | None = None) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    if array.size == 0:
        raise ValueError(f"{name} is empty: nothing would be compared")
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(f"{name} holds a value that is not finite, at index {bad} of shape {array.shape}")
    if shape is not None and array.shape not in ((), shape):
        raise ValueError(f"{name} has shape {array.shape}, but measured has shape {shape}")
    return array


def _ratio(error: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    forbidden = np.where(error > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):
        return np.divide(error, allowed, out=forbidden, where=allowed > 0)


def compare(
    measured: ArrayLike,
    *,
    predicted: ArrayLike | None = None,
    at_most: ArrayLike | None = None,
    at_least: ArrayLike | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Comparison:
    """Compare an array with a prediction, or with bounds, entry by entry.

    ``predicted``, ``at_most`` and ``at_least`` are scalars or have the shape of ``measured``; an entry holds
    within ``atol + rtol * |target|``.  Raises ``ValueError`` for empty or non-finite arrays, other shapes,
    and for targets that are missing or given as both a prediction and a bound.
    """
    bounded = at_most is not None or at_least is not None
    if (predicted is not None) == bounded:
        raise ValueError("give either predicted, or at_most and/or at_least")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not 0 <= tolerance < np.inf:
            raise ValueError(f"{name} is {tolerance}, it must be finite and not negative")
    values = _numbers("measured", measured)
    targets = {
        name: np.broadcast_to(_numbers(name, target, values.shape), values.shape)
        for name, target in (("predicted", predicted), ("at_most", at_most), ("at_least", at_least))
        if target is not None
    }
    offset = {"predicted": lambda v, t: abs(v - t), "at_most": np.subtract, "at_least": lambda v, t: t - v}
    errors = {name: np.maximum(offset[name](values, target), 0.0) for name, target in targets.items()}
    allowed = {name: atol + rtol * abs(target) for name, target in targets.items()}
    failing = np.any([errors[name] > allowed[name] for name in targets], axis=0)
    # The entry shown has the largest error in units of its tolerance; among entries without error, the one
    # nearest to its bound.
    excess = {name: _ratio(errors[name], allowed[name]) for name in targets}
    closeness = {name: offset[name](values, target) for name, target in targets.items()}
    name, worst = max(
        ((name, np.lexsort((closeness[name].ravel(), excess[name].ravel()))[-1]) for name in targets),
        key=lambda pair: (excess[pair[0]].flat[pair[1]], closeness[pair[0]].flat[pair[1]]),
    )
    shown = {key: float(target.flat[worst]) for key, target in targets.items()}
    return Comparison(
        measured=float(values.flat[worst]),
        predicted=shown.get("predicted"),
        at_most=shown.get("at_most"),
        at_least=shown.get("at_least"),
        error=float(errors[name].flat[worst]),
        tolerance=float(allowed[name].flat[worst]),
        size=values.size,
        failing=int(failing.sum()),
    )


@dataclass(frozen=True)
class Verdict:
    """What :func:`verify` found: shown as a stable line of text, and as a card on the site."""

    claim: Claim
    verdict: str
    comparison: Comparison
    rtol: float
    atol: float
    because: str
    control: str
    control_comparison: Comparison
    printed: str | None = None
    printed_comparison: Comparison | None = None
    data: str | None = None

    def __repr__(self) -> str:
        target = {
            "predicted": self.comparison.predicted,
            "at most": self.comparison.at_most,
            "at least": self.comparison.at_least,
        }
        shown = ", ".join(f"{name} {value:.2g}" for name, value in target.items() if value is not None)
        if self.comparison.size > 1:
            shown = f"{', '.join(name for name, value in target.items() if value is not None)}, each entry"
        lines = [
            f"{self.verdict}: {self.claim.id} ({self.claim.place})",
            f"  {shown} (rtol {self.rtol:.1g}, atol {self.atol:.1g}: {self.because})",
            f"  control fails, as it must: {self.control}",
        ]
        if self.printed:
            lines.append(f"  as printed it fails: {self.printed}")
        if self.data:
            lines.append(f"  shown on stand-in data: {self.data}")
        return "\n".join(lines)

    def record(self) -> dict:
        """Return the verdict as plain values, full digits, for the site and for the drift log."""
        return asdict(self)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        html = f'<pre class="verdict verdict-{escape(self.verdict)}">{escape(repr(self))}</pre>'
        return {"text/plain": repr(self), "text/html": html, MIME: self.record()}


def _vary(
    variant: Variant, measured: ArrayLike, targets: Mapping, tolerances: Mapping, role: str
) -> Comparison:
    own = {name: getattr(variant, name) for name in targets if getattr(variant, name) is not None}
    if not variant.what.strip():
        raise ValueError(f"{role} does not say in words what was changed")
    if not own and variant.measured is None:
        raise ValueError(f"{role} {variant.what!r} changes neither the measurement nor the theory")
    changed = measured if variant.measured is None else variant.measured
    try:
        return compare(changed, **(own or targets), **tolerances)
    except ValueError as error:
        raise ValueError(f"{role} {variant.what!r}: {error}") from None


def _describe(comparison: Comparison) -> str:
    target = ", ".join(
        f"{name} {getattr(comparison, key):.6g}"
        for key, name in (("predicted", "predicted"), ("at_most", "at most"), ("at_least", "at least"))
        if getattr(comparison, key) is not None
    )
    return (
        f"measured {comparison.measured:.6g}, {target}, off by {comparison.error:.3g} where "
        f"{comparison.tolerance:.3g} is allowed ({comparison.failing} of {comparison.size} entries outside)"
    )


def verify(
    claim_id: str,
    *,
    measured: ArrayLike,
    predicted: ArrayLike | None = None,
    at_most: ArrayLike | None = None,
    at_least: ArrayLike | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    because: str,
    control: Variant,
    printed: Variant | None = None,
    data: str | None = None,
    ledger: tuple[Paper, ...] | None = None,
) -> Verdict:
    """Decide one claim of the ledger by a measurement and a negative control.

    ``measured`` is compared with ``predicted`` or with bounds as in :func:`compare`; ``because`` says where
    the tolerance comes from.  ``control`` must fail.  For a claim that the ledger expects to be corrected or
    refuted, the comparison is the repaired statement or the evidence, and ``printed`` is the statement as
    the paper has it, which must fail.  For a stand-in, ``data`` names the data used instead of the paper's.

    Raises :class:`ClaimFailed` when the claim fails, when the control passes, or when the verdict differs
    from the ledger's; ``ValueError`` for an unknown id, a missing reason, or numbers that cannot be compared.
    """
    claim = find_claim(claim_id, ledger)
    if not because.strip():
        raise ValueError(f"{claim_id}: because is empty; say where the tolerance comes from")
    targets = {"predicted": predicted, "at_most": at_most, "at_least": at_least}
    tolerances = {"rtol": rtol, "atol": atol}
    try:
        main = compare(measured, **targets, **tolerances)
        control_comparison = _vary(control, measured, targets, tolerances, "control")
        printed_comparison = printed and _vary(printed, measured, targets, tolerances, "printed")
    except ValueError as error:
        raise ValueError(f"{claim_id}: {error}") from None
    if not main.holds:
        raise ClaimFailed(f"{claim_id} ({claim.place}) fails: {_describe(main)}; tolerance: {because}")
    if control_comparison.holds:
        raise ClaimFailed(
            f"{claim_id} ({claim.place}): the control passes, so the check could not have failed: "
            f"{control.what}: {_describe(control_comparison)}"
        )
    if printed_comparison and printed_comparison.holds:
        raise ClaimFailed(
            f"{claim_id} ({claim.place}): the printed statement holds after all: {printed.what}: "
            f"{_describe(printed_comparison)}"
        )
    found = ("corrected" if claim.corrected else "refuted") if printed else "stand-in" if data else "verified"
    if found != claim.expected:
        raise ClaimFailed(
            f"{claim_id} ({claim.place}): the ledger expects {claim.expected!r}, the cell found {found!r}; "
            "if the cell is right, change the ledger"
        )
    return Verdict(
        claim=claim,
        verdict=found,
        comparison=main,
        rtol=float(rtol),
        atol=float(atol),
        because=because,
        control=control.what,
        control_comparison=control_comparison,
        printed=printed.what if printed else None,
        printed_comparison=printed_comparison,
        data=data,
    )
